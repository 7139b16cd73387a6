//! How long the home agent takes before it acts on a registration.
//!
//! In ns-2 the routing protocol below Mobile IP dominates the time that a re-registration takes (DSDV: a median of
//! 12 s with its 15 s period, 0.9 s with a period of 1 s). There is no DSDV here; this delay stands for it.

use crate::rng::Stream;
use crate::time::Duration;

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
}

/// The names of the distributions, with one line each.
pub const ALL: &[(&str, &str)] = &[
    ("constant", "always the same"),
    ("uniform", "uniform between min and max"),
    ("exponential", "exponential with the given mean"),
];

impl Delay {
    /// No delay.
    pub const NONE: Delay = Delay::Constant(Duration::ZERO);

    /// The next delay.
    pub fn draw(&self, stream: &mut Stream) -> Duration {
        match self {
            Delay::Constant(delay) => *delay,
            Delay::Uniform { min, max } => {
                *min + Duration::from_nanos(stream.below((*max - *min).as_nanos()))
            }
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
            (0..20_000).map(|_| delay.draw(stream).as_secs_f64()).sum::<f64>() / 20_000.0
        };
        let secs = Duration::from_secs;
        let uniform = Delay::Uniform { min: secs(1), max: secs(3) };
        assert!((mean_of(uniform, &mut stream) - 2.0).abs() < 0.02);
        assert!((mean_of(Delay::Exponential { mean: secs(2) }, &mut stream) - 2.0).abs() < 0.05);
        assert_eq!(Delay::Constant(secs(2)).draw(&mut stream), secs(2));
        assert_eq!(Delay::Uniform { min: secs(1), max: secs(1) }.draw(&mut stream), secs(1));
    }
}
