//! What the results of a run say about a link.

use segue_proto::params::{Kind, Param};

use super::{Measure, Probe};
use crate::link::LinkCounts;
use crate::results::Results;

const PARAMS: &[Param] = &[
    Param {
        name: "link",
        doc: "Which of the [[links]], from 0.",
        kind: Kind::Integer(0, u32::MAX as u64),
        default: "0",
    },
    Param {
        name: "reverse",
        doc: "Whether the direction from its second end to its first is meant.",
        kind: Kind::Bool,
        default: "false",
    },
];

/// Share of packets that the queue dropped.
pub(super) const DROPS: Measure = Measure {
    name: "queue-drops",
    doc: "packets that the queue of a link direction dropped, full or early, in % of those offered",
    params: PARAMS,
    watches: false,
    probe: |subject| {
        let side = usize::from(subject.params.bool("reverse"));
        let value = |counts: &LinkCounts| {
            100.0 * (counts.dropped_queue + counts.dropped_early) as f64 / counts.offered as f64
        };
        Box::new(OfLink { direction: 2 * subject.params.integer("link") as usize + side, value })
    },
};

struct OfLink {
    direction: usize,
    value: fn(&LinkCounts) -> f64,
}

impl Probe for OfLink {
    fn value(&self, results: &Results) -> Option<f64> {
        results.links.get(self.direction).map(|link| (self.value)(&link.counts))
    }
}
