//! Outages: when a link, or the path above it, does not work.

use segue_proto::rng::Stream;
use segue_proto::time::{Duration, Instant};

/// What an outage does to packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// The sender goes on sending into the void: whatever is on air during the outage is lost, the queue drains.
    /// A dead path behind a live carrier.
    #[default]
    BlackHole,
    /// As ns-2's `rtmodel`: all that is queued, on air or on the wire is lost when the outage begins, and packets are
    /// refused while it lasts.
    Flush,
}

/// The layer that an outage belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layer {
    /// The radio or wire: mobile hosts at its ends hear `LINK_NOT_OK` and `LINK_OK`.
    #[default]
    Link,
    /// Registration: mobile hosts at its ends hear `IP_NOT_OK` and `IP_OK`.
    Ip,
}

/// When outages happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// `count` outages of `duration`, the first at `start`, then each `every`.
    Periodic {
        /// Begin of the first.
        start: Instant,
        /// Length of each.
        duration: Duration,
        /// From begin to begin, longer than `duration`.
        every: Duration,
        /// How many; `u64::MAX` until the end of the run.
        count: u64,
    },
    /// Up and down times are exponentially distributed; the first up time begins at `start`.
    Random {
        /// Begin of the first up time.
        start: Instant,
        /// Mean up time.
        mean_up: Duration,
        /// Mean down time.
        mean_down: Duration,
    },
}

/// Gives the outages of one schedule, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct OutageProcess {
    schedule: Schedule,
    stream: Stream,
    given: u64,
    previous_end: Instant,
}

impl OutageProcess {
    pub(crate) fn new(schedule: Schedule, stream: Stream) -> Self {
        let previous_end = match schedule {
            Schedule::Random { start, .. } | Schedule::Periodic { start, .. } => start,
        };
        OutageProcess { schedule, stream, given: 0, previous_end }
    }

    /// Begin and end of the next outage.
    pub(crate) fn next(&mut self) -> Option<(Instant, Instant)> {
        let (begin, end) = match self.schedule {
            Schedule::Periodic { start, duration, every, count } => {
                if self.given == count {
                    return None;
                }
                let begin = start + every.saturating_mul(self.given);
                (begin, begin + duration)
            }
            Schedule::Random { mean_up, mean_down, .. } => {
                let mut draw = |mean: Duration| {
                    Duration::from_secs_f64(self.stream.exponential(mean.as_secs_f64()))
                        .max(Duration::from_nanos(1))
                };
                let begin = self.previous_end + draw(mean_up);
                (begin, begin + draw(mean_down))
            }
        };
        self.given += 1;
        self.previous_end = end;
        Some((begin, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use segue_proto::rng::Streams;

    #[test]
    fn random_outages_follow_one_another_with_the_given_means() {
        let schedule = Schedule::Random {
            start: Instant::ZERO,
            mean_up: Duration::from_secs(10),
            mean_down: Duration::from_secs(2),
        };
        let mut process = OutageProcess::new(schedule, Streams::new(3).stream("outage"));
        let (mut previous, mut down) = (Instant::ZERO, 0.0);
        for _ in 0..20_000 {
            let (begin, end) = process.next().unwrap();
            assert!(previous < begin && begin < end);
            down += end.since(begin).as_secs_f64();
            previous = end;
        }
        assert!((down / 20_000.0 - 2.0).abs() < 0.05);
        assert!((previous.as_secs_f64() / 20_000.0 - 12.0).abs() < 0.3);
    }
}
