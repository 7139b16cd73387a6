//! The state of a flow at a moment.

use std::collections::BTreeMap;

use segue_proto::params::{Kind, Param};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;

use super::{Measure, Probe, Subject};
use crate::results::{Place, Results};

const AT: Param = Param {
    name: "at",
    doc: "The moment.",
    kind: Kind::Duration(Duration::ZERO, Duration::MAX),
    default: "0 s",
};

/// What of a window is lost.
pub(super) const UNHEARD: Measure = Measure {
    name: "unheard",
    doc: "segments that the other end does not know of at a moment: data sent and not received in order, data received \
          and not known by the sender to be",
    params: &[
        AT,
        Param {
            name: "what",
            doc: "Data on its way or lost, acknowledgements on their way or lost, or both.",
            kind: Kind::Choice(&["both", "data", "acks"]),
            default: "both",
        },
    ],
    watches: true,
    probe: |subject| {
        let what = subject.params.choice("what");
        of(subject, move |state| {
            let data = state.sent_end.saturating_sub(state.received);
            let acks = state.received.saturating_sub(state.acknowledged.max(1));
            let bytes = match what {
                "data" => data,
                "acks" => acks,
                _ => data + acks,
            };
            Some(bytes as f64 / f64::from(state.mss))
        })
    },
};

/// When the first segment was sent that is missing.
pub(super) const FIRST_MISSING: Measure = Measure {
    name: "first-missing-sent",
    doc: "when the segment that the receiver waits for at a moment was first sent, in s",
    params: &[AT],
    watches: true,
    probe: |subject| of(subject, |state| state.sent.get(&state.received).map(|at| at.as_secs_f64())),
};

/// The congestion window.
pub(super) const WINDOW: Measure = Measure {
    name: "window",
    doc: "congestion window or slow-start threshold after the last acknowledgement up to a moment, or the first from it, \
          in segments",
    params: &[
        AT,
        Param { name: "of", doc: "Which.", kind: Kind::Choice(&["cwnd", "ssthresh"]), default: "cwnd" },
        Param {
            name: "side",
            doc: "Before or after the moment.",
            kind: Kind::Choice(&["before", "after"]),
            default: "before",
        },
    ],
    watches: true,
    probe: |subject| {
        let [of, side] = ["of", "side"].map(|name| subject.params.choice(name));
        Box::new(WindowAt {
            sender: subject.sender(),
            at: Instant::ZERO + subject.params.duration("at"),
            after: side == "after",
            threshold: of == "ssthresh",
            value: None,
        })
    },
};

fn of(subject: &Subject<'_>, value: impl Fn(&State) -> Option<f64> + 'static) -> Box<dyn Probe> {
    Box::new(StateAt {
        sender: subject.sender(),
        receiver: subject.receiver(),
        at: Instant::ZERO + subject.params.duration("at"),
        state: State {
            mss: subject.scenario.flows[subject.flow].profile.mss,
            sent: BTreeMap::new(),
            sent_end: 1,
            received: 1,
            acknowledged: 1,
        },
        value: Box::new(value),
    })
}

/// What is taken of a connection's state.
type ValueOf = Box<dyn Fn(&State) -> Option<f64>>;

struct State {
    mss: u32,
    /// First sending of each segment from the one that the receiver waits for on.
    sent: BTreeMap<u64, Instant>,
    sent_end: u64,
    received: u64,
    acknowledged: u64,
}

struct StateAt {
    sender: Place,
    receiver: Place,
    at: Instant,
    state: State,
    value: ValueOf,
}

impl Probe for StateAt {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if at > self.at {
            return;
        }
        let state = &mut self.state;
        match *event {
            Event::SegmentSent { start, len, .. } if place == self.sender => {
                state.sent.entry(start).or_insert(at);
                state.sent_end = state.sent_end.max(start + u64::from(len));
            }
            Event::AckReceived { ack, .. } if place == self.sender => state.acknowledged = ack,
            Event::DataReceived { rcv_nxt, .. } if place == self.receiver => {
                state.received = rcv_nxt;
                state.sent = state.sent.split_off(&rcv_nxt);
            }
            _ => {}
        }
    }

    fn value(&self, _results: &Results) -> Option<f64> {
        (self.value)(&self.state)
    }
}

struct WindowAt {
    sender: Place,
    at: Instant,
    after: bool,
    threshold: bool,
    value: Option<f64>,
}

impl Probe for WindowAt {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        let counts = if self.after { at >= self.at && self.value.is_none() } else { at <= self.at };
        if let (true, Event::AckReceived { cwnd, ssthresh, .. }) = (counts && place == self.sender, event) {
            self.value = Some(if self.threshold { *ssthresh } else { *cwnd });
        }
    }

    fn value(&self, _results: &Results) -> Option<f64> {
        self.value
    }
}
