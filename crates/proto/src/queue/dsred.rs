//! DSRED: RED whose probability has two slopes \[ZA00\].
//!
//! ## What it does
//! As [`red`](super::red), with another function of the average. Between the thresholds Kl and Kh, with Km half-way:
//!
//! | average | p_b |
//! |---|---|
//! | below Kl | none |
//! | from Kl to Km | α·(avg − Kl), α = 2(1 − γ)/(Kh − Kl) |
//! | from Km to Kh | 1 − γ + β·(avg − Km), β = 2γ/(Kh − Kl) |
//! | from Kh on | 1: forced drop |
//!
//! γ above 0.5 is mild first and steep then. The two pieces meet at Km with 1 − γ, and reach 1 at Kh.
//!
//! ## Differences from the paper
//! The full text was not at hand when this was written: the function is the one that \[ZA00\] is known for, the defaults are
//! ours, and whether its authors correct by the count is not known to us. We do, as RED does; `spacing = "geometric"` does not.
//!
//! ## References
//! \[ZA00\] B. Zheng, M. Atiquzzaman: DSRED: An Active Queue Management Scheme for Next Generation Networks, 25th IEEE
//! Conference on Local Computer Networks, 2000, pp. 242–251; IEICE Transactions on Communications E89-B(3), 2006,
//! pp. 764–774.

use super::average::{Average, Coin, MEAN_PACKET, SPACING, WEIGHT};
use super::{Admission, Any, Arrival, Discipline, LIMIT, Misfit, Outcome, Place, Spec};
use crate::params::{Kind, Param, Params};

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "dsred",
    summary: "double slope RED: mild below the middle of its thresholds, steep above",
    params: PARAMS,
    check,
    build: |params, place| Any::Dsred(Dsred::new(params, place)),
};

/// The parameters.
pub const PARAMS: &[Param] = &[
    LIMIT,
    Param {
        name: "low_threshold",
        doc: "Kl: average queue in packets from which packets may be dropped.",
        kind: Kind::Number(0.0, 1e6),
        default: "5",
    },
    Param {
        name: "high_threshold",
        doc: "Kh: average queue in packets from which all are dropped.",
        kind: Kind::Number(0.0, 1e6),
        default: "30",
    },
    Param {
        name: "gamma",
        doc: "γ: the probability half-way between the thresholds is 1 − γ.",
        kind: Kind::Number(0.0, 1.0),
        default: "0.9",
    },
    WEIGHT,
    SPACING,
    MEAN_PACKET,
];

fn check(params: &Params) -> Result<(), Misfit> {
    let (low, high) = (params.number("low_threshold"), params.number("high_threshold"));
    if high > low {
        return Ok(());
    }
    let message = format!("found {high}; allowed: more than the low_threshold of {low}");
    Err(Misfit { name: "high_threshold", message })
}

/// A DSRED queue.
#[derive(Clone, Debug)]
pub struct Dsred {
    limit: usize,
    low: f64,
    high: f64,
    gamma: f64,
    average: Average,
    coin: Coin,
}

impl Dsred {
    fn new(params: &Params, place: Place) -> Self {
        Dsred {
            limit: params.integer("limit") as usize,
            low: params.number("low_threshold"),
            high: params.number("high_threshold"),
            gamma: params.number("gamma"),
            average: Average::new(params, place.rate),
            coin: Coin::new(params, place.stream),
        }
    }

    /// p_b for this average; `None` below the lower threshold.
    fn base(&self, average: f64) -> Option<f64> {
        let Dsred { low, high, gamma, .. } = *self;
        let middle = f64::midpoint(low, high);
        if average < low {
            None
        } else if average < middle {
            Some(2.0 * (1.0 - gamma) * (average - low) / (high - low))
        } else if average < high {
            Some(1.0 - gamma + 2.0 * gamma * (average - middle) / (high - low))
        } else {
            Some(1.0)
        }
    }
}

impl Discipline for Dsred {
    fn admit(&mut self, arrival: Arrival) -> Admission {
        let average = self.average.update(arrival);
        let (drops, drop_probability) = self.coin.toss(self.base(average));
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

    #[test]
    fn the_two_slopes_meet_half_way_at_one_minus_gamma_and_end_at_one() {
        let mut params = Params::defaults(PARAMS);
        for (name, text) in [
            ("weight", "1"),
            ("spacing", "geometric"),
            ("low_threshold", "10"),
            ("high_threshold", "30"),
            ("gamma", "0.8"),
        ] {
            params.set(name, text).unwrap();
        }
        let rate = BitRate::from_bps(8_000_000).unwrap();
        let mut queue = Dsred::new(&params, Place { rate, stream: Streams::new(1).stream("queue") });
        for (waiting, expected) in
            [(9, 0.0), (10, 0.0), (15, 0.1), (20, 0.2), (25, 0.6), (30, 1.0), (40, 1.0)]
        {
            let admission = queue.admit(Arrival { waiting, idle: None, bytes: 1000 });
            assert!(
                (f64::from(admission.drop_probability) - expected).abs() < 1e-6,
                "{waiting}: {admission:?}"
            );
        }
    }

    #[test]
    fn thresholds_out_of_order_are_refused() {
        let mut params = Params::defaults(PARAMS);
        params.set("high_threshold", "5").unwrap();
        assert_eq!(check(&params).map_err(|misfit| misfit.name), Err("high_threshold"));
    }
}
