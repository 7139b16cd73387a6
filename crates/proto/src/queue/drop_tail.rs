//! Drop-tail: first in, first out; who finds `limit` packets waiting is dropped.
//!
//! ## Shadow RED
//! A router without active queue management has no drop probability to report: with drop-tail alone every packet that
//! survives has met a probability of 0, and congestion stays unseen (boosted-tcp B4). `shadow_red = true` runs RED beside
//! the queue: its probability is reported, its drops are not carried out. A packet that RED would have dropped starts its
//! count anew, as if it had been.
//!
//! ## Not modelled
//! Limits in bytes.

use super::{Admission, Any, Arrival, Discipline, LIMIT, Misfit, Outcome, Place, Spec, red};
use crate::params::{Kind, Param, Params};

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "drop-tail",
    summary: "first in, first out; a packet that finds `limit` packets waiting is lost",
    params: PARAMS,
    check,
    build: |params, place| Any::DropTail(DropTail::new(params, place)),
};

/// The parameters.
pub const PARAMS: &[Param] = &[
    LIMIT,
    Param {
        name: "shadow_red",
        doc: "Report the probability with which RED would drop, and drop only what finds the queue full (boosted-tcp B4). What follows are the parameters of that RED.",
        kind: Kind::Bool,
        default: "false",
    },
    red::PARAMS[1],
    red::PARAMS[2],
    red::PARAMS[3],
    red::PARAMS[4],
    red::PARAMS[5],
    red::PARAMS[6],
    red::PARAMS[7],
    red::PARAMS[8],
    red::PARAMS[9],
    red::PARAMS[10],
];

fn check(params: &Params) -> Result<(), Misfit> {
    (red::SPEC.check)(params)
}

/// A drop-tail queue.
#[derive(Clone, Debug)]
pub struct DropTail {
    limit: usize,
    shadow: Option<Box<red::Red>>,
}

impl DropTail {
    fn new(params: &Params, place: Place) -> Self {
        let shadow = params.bool("shadow_red").then(|| Box::new(red::Red::new(params, place)));
        DropTail { limit: params.integer("limit") as usize, shadow }
    }

    /// The limit, if nothing is reported beside it.
    pub(super) fn plain_limit(&self) -> Option<usize> {
        self.shadow.is_none().then_some(self.limit)
    }
}

impl Discipline for DropTail {
    fn admit(&mut self, arrival: Arrival) -> Admission {
        let drop_probability = self.shadow.as_mut().map_or(0.0, |red| red.toss(arrival).1);
        let outcome = if arrival.overflows(self.limit) { Outcome::Full } else { Outcome::Taken };
        Admission { outcome, drop_probability }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;
    use crate::units::BitRate;

    fn built(spec: &Spec, settings: &[(&str, &str)]) -> Any {
        let mut params = Params::defaults(spec.params);
        settings.iter().for_each(|(name, text)| params.set(name, text).unwrap());
        let rate = BitRate::from_bps(8_000_000).unwrap();
        (spec.build)(&params, Place { rate, stream: Streams::new(1).stream("queue") })
    }

    #[test]
    fn without_a_shadow_it_reports_nothing() {
        let mut queue = built(&SPEC, &[]);
        let admission = queue.admit(Arrival { waiting: 49, idle: None, bytes: 1000 });
        assert_eq!(admission, Admission { outcome: Outcome::Taken, drop_probability: 0.0 });
    }

    #[test]
    fn the_shadow_reports_what_red_would_do_and_drops_nothing_itself() {
        let mut shadow = built(&SPEC, &[("shadow_red", "true"), ("weight", "0.02")]);
        let mut red = built(&red::SPEC, &[("weight", "0.02")]);
        let mut early = 0;
        for i in 0..5_000 {
            let arrival = Arrival { waiting: 5 + i / 100 % 20, idle: None, bytes: 1000 };
            let (of_shadow, of_red) = (shadow.admit(arrival), red.admit(arrival));
            assert_eq!(of_shadow.outcome, Outcome::Taken);
            assert_eq!(of_shadow.drop_probability.to_bits(), of_red.drop_probability.to_bits());
            early += u32::from(of_red.outcome == Outcome::Early);
        }
        assert!(early > 100, "{early}");
    }
}
