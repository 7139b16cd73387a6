//! When retransmission timers expire.

use segue_proto::params::{Kind, Param};
use segue_proto::time::Instant;
use segue_proto::trace::Event;

use super::{Measure, Probe};
use crate::results::{Place, Results};

/// The instant of one expiry.
pub(super) const INSTANT: Measure = Measure {
    name: "timeout-instant",
    doc: "simulated time of one expiry of the sender's retransmission timer, in s",
    params: &[Param {
        name: "number",
        doc: "Which expiry, from 1.",
        kind: Kind::Integer(1, u64::MAX),
        default: "1",
    }],
    watches: true,
    probe: |subject| {
        let number = subject.params.integer("number");
        Box::new(Expiry { sender: subject.sender(), left: number, at: None })
    },
};

struct Expiry {
    sender: Place,
    /// Expiries still to come until the one that is wanted has come.
    left: u64,
    at: Option<Instant>,
}

impl Probe for Expiry {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if place == self.sender && matches!(event, Event::TimeoutExpired { .. }) && self.left > 0 {
            self.left -= 1;
            if self.left == 0 {
                self.at = Some(at);
            }
        }
    }

    fn value(&self, _results: &Results) -> Option<f64> {
        self.at.map(Instant::as_secs_f64)
    }
}
