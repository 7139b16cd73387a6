//! What a flow does in a part of the run.

use segue_proto::params::{Kind, Param};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;

use super::{Measure, Probe, Subject};
use crate::results::{Place, Results};

const INTERVAL: &[Param] = &[
    Param {
        name: "from",
        doc: "Where the interval begins.",
        kind: Kind::Duration(Duration::ZERO, Duration::MAX),
        default: "0 s",
    },
    Param {
        name: "until",
        doc: "Where it ends; what happens then counts.",
        kind: Kind::Duration(Duration::ZERO, Duration::MAX),
        default: "for ever",
    },
];

/// Data acknowledged in an interval.
pub(super) const ACKNOWLEDGED: Measure = Measure {
    name: "acknowledged-between",
    doc: "payload acknowledged in an interval, in segments of the flow's size",
    params: INTERVAL,
    watches: true,
    probe: |subject| of(subject, |sums| Some(sums.acknowledged_segments())),
};

/// Retransmissions in an interval.
pub(super) const RETRANSMISSIONS: Measure = Measure {
    name: "retransmissions-between",
    doc: "segments sent again in an interval",
    params: INTERVAL,
    watches: true,
    probe: |subject| of(subject, |sums| Some(sums.retransmissions as f64)),
};

/// Mean of the round-trip samples of an interval.
pub(super) const ROUND_TRIP: Measure = Measure {
    name: "round-trip-between",
    doc: "mean of the sender's round-trip samples in an interval, in s",
    params: INTERVAL,
    watches: true,
    probe: |subject| of(subject, |sums| (sums.samples > 0).then(|| sums.round_trips / sums.samples as f64)),
};

/// Data sent while a policy holds the sender.
pub(super) const SENT_WHILE_SUSPENDED: Measure = Measure {
    name: "sent-while-suspended",
    doc: "data segments that left between the commands \"suspend\" and \"resume\" in an interval",
    params: INTERVAL,
    watches: true,
    probe: |subject| of(subject, |sums| Some(sums.sent_while_suspended as f64)),
};

fn of(subject: &Subject<'_>, value: fn(&Sums) -> Option<f64>) -> Box<dyn Probe> {
    Box::new(Between {
        sender: subject.sender(),
        from: Instant::ZERO + subject.params.duration("from"),
        until: Instant::ZERO + subject.params.duration("until"),
        sums: Sums { mss: subject.scenario.flows[subject.flow].profile.mss, ..Sums::default() },
        value,
    })
}

#[derive(Debug, Default)]
struct Sums {
    mss: u32,
    /// Highest position acknowledged before the interval, and in it.
    before: u64,
    highest: u64,
    retransmissions: u64,
    round_trips: f64,
    samples: u64,
    suspended: bool,
    sent_while_suspended: u64,
}

impl Sums {
    fn acknowledged_segments(&self) -> f64 {
        // The first position is that of the SYN.
        self.highest.saturating_sub(self.before.max(1)) as f64 / f64::from(self.mss)
    }
}

struct Between {
    sender: Place,
    from: Instant,
    until: Instant,
    sums: Sums,
    value: fn(&Sums) -> Option<f64>,
}

impl Probe for Between {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if place != self.sender || at > self.until {
            return;
        }
        let (sums, inside) = (&mut self.sums, at >= self.from);
        match *event {
            Event::AckReceived { ack, .. } if inside => sums.highest = ack,
            Event::AckReceived { ack, .. } => (sums.before, sums.highest) = (ack, ack),
            Event::CommandExecuted { command: "suspend" } => sums.suspended = true,
            Event::CommandExecuted { command: "resume" } => sums.suspended = false,
            Event::SegmentSent { len, retransmission, .. } if inside => {
                sums.retransmissions += u64::from(retransmission);
                sums.sent_while_suspended += u64::from(sums.suspended && len > 0);
            }
            Event::RttMeasured { rtt, .. } if inside => {
                sums.round_trips += rtt.as_secs_f64();
                sums.samples += 1;
            }
            _ => {}
        }
    }

    fn value(&self, _results: &Results) -> Option<f64> {
        (self.value)(&self.sums)
    }
}
