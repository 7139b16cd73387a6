//! What the RED family shares: the average of the queue, and the coin.
//!
//! ## References
//! \[FJ93\] S. Floyd, V. Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM Transactions on
//! Networking 1(4), 1993. \[FGS01\] S. Floyd, R. Gummadi, S. Shenker: Adaptive RED, 2001, for the automatic values.

use super::Arrival;
use crate::params::{Kind, Param, Params};
use crate::rng::Stream;
use crate::units::BitRate;

/// See its text.
pub(super) const WEIGHT: Param = Param {
    name: "weight",
    doc: "Weight w of the newest queue length in the average [FJ93 §4]; 0 takes 1 − exp(−1/C) with C packets per second, so that the average follows in one second [FGS01].",
    kind: Kind::Number(0.0, 1.0),
    default: "0.002",
};

/// See its text.
pub(super) const MEAN_PACKET: Param = Param {
    name: "mean_packet",
    doc: "Typical packet in bytes: how many could have left in an idle time, and what byte_mode compares with.",
    kind: Kind::Integer(1, 65_535),
    default: "1000",
};

/// See its text.
pub(super) const SPACING: Param = Param {
    name: "spacing",
    doc: "How drops are spaced: \"uniform\" over 1 to 1/p packets by the count since the last (method 2 of [FJ93 §7]), \"uniform-wait\" over 1/p to 2/p (ns-2's wait_), \"geometric\" by p alone (method 1).",
    kind: Kind::Choice(&["uniform", "uniform-wait", "geometric"]),
    default: "uniform",
};

/// Packets of `mean_packet` bytes that a transmitter of `rate` sends in a second.
pub(super) fn packets_per_second(params: &Params, rate: BitRate) -> f64 {
    rate.as_bps() as f64 / (8.0 * params.integer("mean_packet") as f64)
}

/// The exponentially weighted average of the queue length.
#[derive(Clone, Debug)]
pub(super) struct Average {
    pub(super) value: f64,
    weight: f64,
    packets_per_second: f64,
}

impl Average {
    pub(super) fn new(params: &Params, rate: BitRate) -> Self {
        let packets_per_second = packets_per_second(params, rate);
        let weight = match params.number("weight") {
            given if given > 0.0 => given,
            _ => 1.0 - libm::exp(-1.0 / packets_per_second),
        };
        Average { value: 0.0, weight, packets_per_second }
    }

    /// Takes the queue that `arrival` finds into account. An idle time counts as if so many small packets had arrived at
    /// an empty queue as could have been sent \[FJ93 §4\].
    pub(super) fn update(&mut self, arrival: Arrival) -> f64 {
        if let Some(idle) = arrival.idle
            && self.value > 0.0
        {
            let missed = idle.as_secs_f64() * self.packets_per_second;
            self.value *= libm::pow(1.0 - self.weight, missed);
        }
        self.value += self.weight * (arrival.waiting as f64 - self.value);
        self.value
    }
}

/// How drops are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    Uniform,
    UniformWait,
    Geometric,
}

/// The coin, with what it remembers.
#[derive(Clone, Debug)]
pub(super) struct Coin {
    spacing: Spacing,
    /// Packets let through since the last drop, or since the probability rose above 0; the present one not counted.
    count: u64,
    stream: Stream,
}

impl Coin {
    pub(super) fn new(params: &Params, stream: Stream) -> Self {
        let spacing = match params.choice("spacing") {
            "uniform-wait" => Spacing::UniformWait,
            "geometric" => Spacing::Geometric,
            _ => Spacing::Uniform,
        };
        Coin { spacing, count: 0, stream }
    }

    /// The probability with which the present packet is dropped if `base` is the one that the average asks for.
    fn corrected(&self, base: f64) -> f64 {
        let expected = self.count as f64 * base;
        let probability = match self.spacing {
            Spacing::Geometric => base,
            Spacing::Uniform if expected < 1.0 => base / (1.0 - expected),
            Spacing::UniformWait if expected < 1.0 => 0.0,
            Spacing::UniformWait if expected < 2.0 => base / (2.0 - expected),
            Spacing::Uniform | Spacing::UniformWait => 1.0,
        };
        probability.clamp(0.0, 1.0)
    }

    /// Tosses: whether the packet is dropped, and the probability of that. `None`: there is no reason to.
    pub(super) fn toss(&mut self, base: Option<f64>) -> (bool, f32) {
        let Some(base) = base else {
            self.count = 0;
            return (false, 0.0);
        };
        let probability = self.corrected(base);
        let drops = self.stream.chance(probability);
        self.count = if drops { 0 } else { self.count + 1 };
        (drops, probability as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;
    use crate::time::Duration;

    const ALL: &[Param] = &[WEIGHT, MEAN_PACKET, SPACING];

    fn params(settings: &[(&str, &str)]) -> Params {
        let mut params = Params::defaults(ALL);
        settings.iter().for_each(|(name, text)| params.set(name, text).unwrap());
        params
    }

    /// 1000 packets of 1000 bytes a second.
    fn rate() -> BitRate {
        BitRate::from_bps(8_000_000).unwrap()
    }

    fn busy(waiting: usize) -> Arrival {
        Arrival { waiting, idle: None, bytes: 1000 }
    }

    #[test]
    fn the_average_approaches_a_constant_queue_as_one_minus_the_power_of_its_weight() {
        let mut average = Average::new(&params(&[("weight", "0.002")]), rate());
        (0..500).for_each(|_| _ = average.update(busy(20)));
        // 20 · (1 − 0.998^500) = 12.649.
        assert!((average.value - 12.649).abs() < 1e-3, "{}", average.value);
    }

    #[test]
    fn an_idle_time_counts_as_the_packets_that_could_have_left_in_it() {
        let mut average = Average::new(&params(&[("weight", "0.002")]), rate());
        average.value = 10.0;
        let idle = Some(Duration::from_millis(300));
        average.update(Arrival { waiting: 0, idle, bytes: 1000 });
        // 300 packets missed, and the present one: 10 · 0.998^301 = 5.4735.
        assert!((average.value - 5.4735).abs() < 1e-3, "{}", average.value);
    }

    #[test]
    fn an_automatic_weight_has_a_time_constant_of_a_second() {
        let mut average = Average::new(&params(&[("weight", "0")]), rate());
        (0..1000).for_each(|_| _ = average.update(busy(10)));
        assert!((average.value - 10.0 * (1.0 - libm::exp(-1.0))).abs() < 1e-6, "{}", average.value);
    }

    #[test]
    fn uniform_spacing_drops_one_packet_in_each_run_of_one_to_one_over_p() {
        let gaps = gaps("uniform");
        assert!(gaps.iter().all(|gap| (1..=10).contains(gap)));
        // Uniform over 1..=10: mean 5.5, each length a tenth.
        for length in 1..=10 {
            let share = gaps.iter().filter(|gap| **gap == length).count() as f64 / gaps.len() as f64;
            assert!((share - 0.1).abs() < 0.01, "{length}: {share}");
        }
    }

    #[test]
    fn waiting_drops_one_packet_in_each_run_of_one_to_two_over_p() {
        let gaps = gaps("uniform-wait");
        assert!(gaps.iter().all(|gap| (11..=20).contains(gap)));
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((mean - 15.5).abs() < 0.1, "{mean}");
    }

    #[test]
    fn geometric_spacing_forgets_and_has_the_mean_of_one_over_p() {
        let gaps = gaps("geometric");
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((mean - 10.0).abs() < 0.2 && gaps.iter().any(|gap| *gap > 20), "{mean}");
    }

    /// Packets from drop to drop with a probability of a tenth.
    fn gaps(spacing: &str) -> Vec<u64> {
        let mut coin = Coin::new(&params(&[("spacing", spacing)]), Streams::new(1).stream("coin"));
        let mut gaps = vec![0];
        while gaps.len() <= 20_000 {
            *gaps.last_mut().unwrap() += 1;
            if coin.toss(Some(0.1)).0 {
                gaps.push(0);
            }
        }
        gaps.pop();
        gaps
    }
}
