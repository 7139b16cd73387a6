//! Time as integer nanoseconds, so that the same inputs give the same instants on every machine.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// A point in time: nanoseconds since the start of the run. The driver gives it; nobody reads a clock.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A span of time in nanoseconds, never negative. Additions saturate: [`Duration::MAX`] stands for "never".
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// Later than anything that happens; stands for "never".
    pub const MAX: Instant = Instant(u64::MAX);

    /// The instant `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Instant(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time since `earlier`; zero if `earlier` is later than `self`.
    pub const fn since(self, earlier: Instant) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// Longer than any run; stands for "for ever".
    pub const MAX: Duration = Duration(u64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Duration(nanos)
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Duration(micros * 1_000)
    }

    /// A span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Duration(millis * 1_000_000)
    }

    /// A span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Duration(secs * 1_000_000_000)
    }

    /// The nearest span to `secs` seconds; negative values and NaN give zero, too large ones [`Duration::MAX`].
    pub fn from_secs_f64(secs: f64) -> Self {
        Duration((secs * 1e9).round() as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds, for output only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self * factor`, saturating.
    pub const fn saturating_mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, span: Duration) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl Sub for Duration {
    type Output = Duration;
    /// The difference; zero if `other` is longer.
    fn sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, factor: u64) -> Duration {
        self.saturating_mul(factor)
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0 / divisor)
    }
}

/// Seconds with all nine decimals, trailing zeros removed: `1.5 s`.
fn write_seconds(nanos: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (secs, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    if rest == 0 {
        return write!(f, "{secs} s");
    }
    let digits = format!("{rest:09}");
    write!(f, "{secs}.{} s", digits.trim_end_matches('0'))
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(self.0, f)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(self.0, f)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Duration::MAX { f.write_str("for ever") } else { write_seconds(self.0, f) }
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_plus_anything_is_never() {
        assert_eq!(Instant::MAX + Duration::from_secs(1), Instant::MAX);
        assert_eq!(Instant::from_nanos(5) + Duration::MAX, Instant::MAX);
    }

    #[test]
    fn since_a_later_instant_is_zero() {
        assert_eq!(Instant::ZERO.since(Instant::from_nanos(7)), Duration::ZERO);
    }

    #[test]
    fn display_keeps_every_nanosecond() {
        assert_eq!(Instant::from_nanos(1_500_000_001).to_string(), "1.500000001 s");
        assert_eq!(Duration::from_millis(250).to_string(), "0.25 s");
        assert_eq!(Duration::from_secs(3).to_string(), "3 s");
    }
}
