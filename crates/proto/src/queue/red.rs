//! RED: random early detection \[FJ93\].
//!
//! ## What it does
//! Each arriving packet updates the average queue length, avg ← (1 − w)·avg + w·q, where q counts the packets that wait;
//! an idle time counts as the packets that could have left in it. Then, with p_b the probability that the average asks for:
//!
//! | average | p_b |
//! |---|---|
//! | below `min_threshold` | none |
//! | from `min_threshold` to `max_threshold` | max_p · (avg − min) / (max − min) |
//! | from `max_threshold` on, `gentle` off | 1: forced drop |
//! | from `max_threshold` to twice that, `gentle` on | max_p + (1 − max_p) · (avg − max) / max |
//! | from twice `max_threshold` on, `gentle` on | 1 |
//!
//! The packet is dropped with p_a = p_b / (1 − count·p_b), where `count` packets were let through since the last drop, so
//! that drops lie evenly apart (`spacing`). p_a is what [`Admission::drop_probability`] reports: the number of the coin toss
//! (boosted-tcp B5). With the usual max_p of 0.1 it passes 75 % only at the end of a long run without a drop, or beyond
//! `max_threshold`.
//!
//! The average lags behind: after a burst of drops it is above `min_threshold` while the queue is empty already, and RED as
//! published goes on dropping. `early_from` = 2 ends that, as ns-2 does.
//!
//! ## Differences from the paper
//! * `gentle` is on, as S. Floyd recommended in 2000 (Recommendation on using the "gentle_" variant of RED); `max_p` is
//!   0.1 and not 0.02, her recommendation of 1997.
//! * A full queue drops whatever the coin says.
//!
//! ## Not modelled
//! Marking (ECN), queues measured in bytes. `byte_mode` makes the probability follow the size of the packet, as in
//! \[FJ93 §4\], and nothing else.
//!
//! ## References
//! \[FJ93\] S. Floyd, V. Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM Transactions on
//! Networking 1(4), 1993. \[FGS01\] S. Floyd, R. Gummadi, S. Shenker: Adaptive RED, 2001 (thresholds and weight from the rate
//! of the link, which ns-2 takes over).

use super::average::{Average, Coin, MEAN_PACKET, SPACING, WEIGHT, packets_per_second};
use super::{Admission, Any, Arrival, Discipline, LIMIT, Misfit, Outcome, Place, Spec};
use crate::params::{Kind, Param, Params};
use crate::time::Duration;

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "red",
    summary: "random early detection: drops by the average queue, before the queue is full",
    params: PARAMS,
    check,
    build: |params, place| Any::Red(Red::new(params, place)),
};

/// The parameters.
pub const PARAMS: &[Param] = &[
    LIMIT,
    Param {
        name: "min_threshold",
        doc: "Average queue in packets from which packets may be dropped; 0 takes half of target_delay's worth, at least 5 [FGS01].",
        kind: Kind::Number(0.0, 1e6),
        default: "5",
    },
    Param {
        name: "max_threshold",
        doc: "Average queue in packets at which max_p is reached; 0 takes three times min_threshold.",
        kind: Kind::Number(0.0, 1e6),
        default: "15",
    },
    Param {
        name: "max_p",
        doc: "Drop probability at max_threshold, before the correction by the count.",
        kind: Kind::Number(0.0, 1.0),
        default: "0.1",
    },
    Param {
        name: "gentle",
        doc: "Beyond max_threshold the probability rises to 1 at twice max_threshold; false: at once.",
        kind: Kind::Bool,
        default: "true",
    },
    WEIGHT,
    SPACING,
    MEAN_PACKET,
    Param {
        name: "byte_mode",
        doc: "Large packets are dropped more often than small ones: the probability is multiplied by their size over mean_packet.",
        kind: Kind::Bool,
        default: "false",
    },
    Param {
        name: "target_delay",
        doc: "Queueing delay that an automatic min_threshold aims at.",
        kind: Kind::Duration(Duration::from_micros(1), Duration::from_secs(60)),
        default: "5 ms",
    },
    Param {
        name: "early_from",
        doc: "Packets that must wait for one to be dropped early; 0 as published, 2 in ns-2.",
        kind: Kind::Integer(0, u32::MAX as u64),
        default: "0",
    },
];

fn check(params: &Params) -> Result<(), Misfit> {
    let (min, max) = (params.number("min_threshold"), params.number("max_threshold"));
    let automatic = max <= 0.0;
    if automatic || (min > 0.0 && max > min) {
        return Ok(());
    }
    let allowed = if min > 0.0 {
        format!("more than the min_threshold of {min}, or 0")
    } else {
        "0, as min_threshold is".to_owned()
    };
    Err(Misfit { name: "max_threshold", message: format!("found {max}; allowed: {allowed}") })
}

/// A RED queue.
#[derive(Clone, Debug)]
pub struct Red {
    limit: usize,
    min_threshold: f64,
    max_threshold: f64,
    max_p: f64,
    gentle: bool,
    early_from: usize,
    /// Size that counts as 1, if the size counts.
    unit_bytes: Option<f64>,
    average: Average,
    coin: Coin,
}

impl Red {
    pub(super) fn new(params: &Params, place: Place) -> Self {
        let target = params.duration("target_delay").as_secs_f64();
        let min_threshold = match params.number("min_threshold") {
            given if given > 0.0 => given,
            _ => (target * packets_per_second(params, place.rate) / 2.0).max(5.0),
        };
        let max_threshold = match params.number("max_threshold") {
            given if given > 0.0 => given,
            _ => 3.0 * min_threshold,
        };
        Red {
            limit: params.integer("limit") as usize,
            min_threshold,
            max_threshold,
            max_p: params.number("max_p"),
            gentle: params.bool("gentle"),
            early_from: params.integer("early_from") as usize,
            unit_bytes: params.bool("byte_mode").then_some(params.integer("mean_packet") as f64),
            average: Average::new(params, place.rate),
            coin: Coin::new(params, place.stream),
        }
    }

    /// p_b for this average; `None` below the lower threshold.
    fn base(&self, average: f64) -> Option<f64> {
        let Red { min_threshold: min, max_threshold: max, max_p, gentle, .. } = *self;
        if average < min {
            None
        } else if average < max {
            Some(max_p * (average - min) / (max - min))
        } else if gentle && average < 2.0 * max {
            Some(max_p + (1.0 - max_p) * (average - max) / max)
        } else {
            Some(1.0)
        }
    }

    /// Whether RED drops the packet, room or not, and the probability of that.
    pub(super) fn toss(&mut self, arrival: Arrival) -> (bool, f32) {
        let average = self.average.update(arrival);
        let size = self.unit_bytes.map_or(1.0, |unit| f64::from(arrival.bytes) / unit);
        // What is forced is forced for small packets too.
        let base = self.base(average).filter(|_| arrival.waiting >= self.early_from);
        let base = base.map(|base| if base < 1.0 { (base * size).min(1.0) } else { base });
        self.coin.toss(base)
    }
}

impl Discipline for Red {
    fn admit(&mut self, arrival: Arrival) -> Admission {
        let (drops, drop_probability) = self.toss(arrival);
        let outcome = match drops {
            _ if arrival.overflows(self.limit) => Outcome::Full,
            true => Outcome::Early,
            false => Outcome::Taken,
        };
        Admission { outcome, drop_probability }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;
    use crate::units::BitRate;

    /// A queue whose average is the length that it saw last, and whose coin has no memory.
    fn plain(settings: &[(&str, &str)]) -> Red {
        let mut params = Params::defaults(PARAMS);
        for (name, text) in [("weight", "1"), ("spacing", "geometric")].iter().chain(settings) {
            params.set(name, text).unwrap();
        }
        let rate = BitRate::from_bps(8_000_000).unwrap();
        Red::new(&params, Place { rate, stream: Streams::new(1).stream("queue") })
    }

    fn probability(red: &mut Red, waiting: usize, bytes: u32) -> f64 {
        f64::from(red.admit(Arrival { waiting, idle: None, bytes }).drop_probability)
    }

    fn is_near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn the_probability_rises_between_the_thresholds_and_gently_beyond_them() {
        let mut red = plain(&[]);
        for (waiting, expected) in
            [(4, 0.0), (5, 0.0), (10, 0.05), (15, 0.1), (20, 0.4), (30, 1.0), (40, 1.0)]
        {
            let found = probability(&mut red, waiting, 1000);
            assert!(is_near(found, expected), "{waiting}: {found}");
        }
    }

    #[test]
    fn without_gentle_the_upper_threshold_forces_every_drop() {
        let mut red = plain(&[("gentle", "false")]);
        assert!(probability(&mut red, 14, 1000) < 0.1);
        for _ in 0..100 {
            let admission = red.admit(Arrival { waiting: 15, idle: None, bytes: 1000 });
            assert_eq!(admission, Admission { outcome: Outcome::Early, drop_probability: 1.0 });
        }
    }

    #[test]
    fn the_count_since_the_last_drop_raises_the_probability_that_is_reported() {
        let mut red = plain(&[("spacing", "uniform")]);
        let mut count = 0;
        for _ in 0..1000 {
            let admission = red.admit(Arrival { waiting: 10, idle: None, bytes: 1000 });
            let expected = (0.05 / (1.0 - f64::from(count) * 0.05)).min(1.0);
            assert!((f64::from(admission.drop_probability) - expected).abs() < 1e-5, "{count}");
            count = if admission.outcome == Outcome::Early { 0 } else { count + 1 };
            assert!(count < 20);
        }
    }

    #[test]
    fn in_byte_mode_a_small_packet_is_dropped_less_often() {
        let mut red = plain(&[("byte_mode", "true")]);
        assert!(is_near(probability(&mut red, 10, 40), 0.05 * 0.04));
        assert!(is_near(probability(&mut red, 10, 1500), 0.05 * 1.5));
    }

    #[test]
    fn nobody_is_dropped_early_who_finds_fewer_packets_than_asked_for() {
        let mut params = Params::defaults(PARAMS);
        params.set("early_from", "2").unwrap();
        let rate = BitRate::from_bps(8_000_000).unwrap();
        let mut red = Red::new(&params, Place { rate, stream: Streams::new(1).stream("queue") });
        (0..5_000).for_each(|_| _ = red.admit(Arrival { waiting: 10, idle: None, bytes: 1000 }));
        assert!(red.average.value > 9.9);
        assert_eq!(probability(&mut red, 1, 1000).to_bits(), 0.0f64.to_bits());
        assert!(probability(&mut red, 2, 1000) > 0.04);
    }

    #[test]
    fn automatic_thresholds_follow_the_rate_and_the_target_delay() {
        // 1000 packets a second: 5 ms are 5 packets, half of which is less than 5; 40 ms are 40.
        let automatic = [("min_threshold", "0"), ("max_threshold", "0")];
        let small = plain(&automatic);
        assert!(is_near(small.min_threshold, 5.0) && is_near(small.max_threshold, 15.0));
        let large = plain(&[&automatic[..], &[("target_delay", "40 ms")]].concat());
        assert!(is_near(large.min_threshold, 20.0) && is_near(large.max_threshold, 60.0));
    }

    #[test]
    fn thresholds_out_of_order_are_refused() {
        for (min, max, fits) in [("5", "5", false), ("5", "0", true), ("0", "9", false), ("0", "0", true)] {
            let mut params = Params::defaults(PARAMS);
            params.set("min_threshold", min).unwrap();
            params.set("max_threshold", max).unwrap();
            assert_eq!(check(&params).is_ok(), fits, "{min} {max}");
        }
    }
}
