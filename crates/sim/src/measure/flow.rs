//! What the results of a run say about a flow.

use segue_proto::time::Instant;

use super::{Measure, Probe, Subject};
use crate::results::{FlowSummary, Results};

/// Simulated time at which its last byte was acknowledged.
pub(super) const FINISH: Measure = Measure {
    name: "finish",
    doc: "simulated time at which the last byte was acknowledged, in s",
    params: &[],
    watches: false,
    probe: |subject| of(subject, |flow| flow.finished.map(Instant::as_secs_f64)),
};

/// Acknowledged payload over the time it took.
pub(super) const GOODPUT: Measure = Measure {
    name: "goodput",
    doc: "payload acknowledged between start and finish, or the end of the run, in kB/s",
    params: &[],
    watches: false,
    probe: |subject| of(subject, |flow| Some(flow.goodput_bps / 8000.0)),
};

/// Segments sent again.
pub(super) const RETRANSMISSIONS: Measure = Measure {
    name: "retransmissions",
    doc: "segments sent again",
    params: &[],
    watches: false,
    probe: |subject| of(subject, |flow| Some(flow.stats.retransmissions as f64)),
};

/// Expiries of the retransmission timer.
pub(super) const TIMEOUTS: Measure = Measure {
    name: "timeouts",
    doc: "expiries of the retransmission timer",
    params: &[],
    watches: false,
    probe: |subject| of(subject, |flow| Some(flow.stats.timeouts as f64)),
};

/// Silence after outages.
pub(super) const IDLE: Measure = Measure {
    name: "idle",
    doc: "time from the end of each outage on the path to the next data segment, summed, in s",
    params: &[],
    watches: false,
    probe: |subject| of(subject, |flow| Some(flow.idle.as_secs_f64())),
};

struct OfResults {
    flow: usize,
    value: fn(&FlowSummary) -> Option<f64>,
}

impl Probe for OfResults {
    fn value(&self, results: &Results) -> Option<f64> {
        results.flows.get(self.flow).and_then(self.value)
    }
}

fn of(subject: &Subject<'_>, value: fn(&FlowSummary) -> Option<f64>) -> Box<dyn Probe> {
    Box::new(OfResults { flow: subject.flow, value })
}
