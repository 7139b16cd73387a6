//! How long the home agent takes before it acts on a registration.
//!
//! In ns-2 the routing protocol below Mobile IP dominates the time that a re-registration takes (DSDV: a median of
//! 12 s with its 15 s period, 0.9 s with a period of 1 s). There is no DSDV here; this delay stands for it: `Periodic`
//! with the period of its updates, or another distribution for what they add.

use super::next_tick;
use crate::rng::Stream;
use crate::time::{Duration, Instant};

/// A distribution of delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// Always the same.
    Constant(Duration),
    /// Uniform in `min..max`.
    Uniform {
        /// Shortest.
        min: Duration,
        /// Longest.
        max: Duration,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        mean: Duration,
    },
    /// Until the next of the instants `phase`, `phase + period`, …: the updates of a routing protocol.
    Periodic {
        /// From update to update; more than zero.
        period: Duration,
        /// Time of the first.
        phase: Duration,
    },
}

/// The names of the distributions, with one line each.
pub const ALL: &[(&str, &str)] = &[
    ("constant", "always the same"),
    ("uniform", "uniform between min and max"),
    ("exponential", "exponential with the given mean"),
    ("periodic", "until the next of a protocol's periodic updates"),
];

impl Delay {
    /// No delay.
    pub const NONE: Delay = Delay::Constant(Duration::ZERO);

    /// The delay of what comes at `now`.
    pub fn draw(&self, stream: &mut Stream, now: Instant) -> Duration {
        match self {
            Delay::Constant(delay) => *delay,
            Delay::Uniform { min, max } => {
                *min + Duration::from_nanos(stream.below((*max - *min).as_nanos()))
            }
            Delay::Periodic { period, phase } => next_tick(*phase, *period, now).since(now),
            Delay::Exponential { mean } => Duration::from_secs_f64(stream.exponential(mean.as_secs_f64())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    #[test]
    fn the_means_are_those_asked_for() {
        let mut stream = Streams::new(5).stream("delay");
        let mean_of = |delay: Delay, stream: &mut Stream| {
            (0..20_000).map(|_| delay.draw(stream, Instant::ZERO).as_secs_f64()).sum::<f64>() / 20_000.0
        };
        let secs = Duration::from_secs;
        let uniform = Delay::Uniform { min: secs(1), max: secs(3) };
        assert!((mean_of(uniform, &mut stream) - 2.0).abs() < 0.02);
        assert!((mean_of(Delay::Exponential { mean: secs(2) }, &mut stream) - 2.0).abs() < 0.05);
        let now = Instant::ZERO + secs(20);
        assert_eq!(Delay::Constant(secs(2)).draw(&mut stream, now), secs(2));
        assert_eq!(Delay::Uniform { min: secs(1), max: secs(1) }.draw(&mut stream, now), secs(1));
    }

    #[test]
    fn a_periodic_delay_ends_with_the_next_update() {
        let mut stream = Streams::new(5).stream("delay");
        let secs = Duration::from_secs;
        let updates = Delay::Periodic { period: secs(15), phase: secs(8) };
        let mut after = |seconds| updates.draw(&mut stream, Instant::ZERO + secs(seconds));
        assert_eq!([after(0), after(8), after(31)], [secs(8), secs(15), secs(7)]);
    }
}
