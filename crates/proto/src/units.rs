//! Quantities as people write them: `10 Mb/s`, `20 ms`, `500 kB`. Parsing is exact (decimal, no floats).

use std::fmt;
use std::str::FromStr;

use crate::time::Duration;

/// A bit rate in bits per second, at least 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BitRate(u64);

impl BitRate {
    /// A rate of `bits_per_second`, or `None` for zero.
    pub const fn from_bps(bits_per_second: u64) -> Option<Self> {
        if bits_per_second == 0 { None } else { Some(BitRate(bits_per_second)) }
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The time `bytes` bytes take at this rate, to the nearest nanosecond.
    pub const fn transmission_time(self, bytes: u32) -> Duration {
        // 2^32 bytes · 8 · 10^9 exceeds 64 bits only above 2.3 GB, which no packet reaches: saturate there.
        let bit_nanos = (bytes as u64).saturating_mul(8_000_000_000);
        Duration::from_nanos(bit_nanos.saturating_add(self.0 / 2) / self.0)
    }
}

/// An amount of data in bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bytes(pub u64);

/// Why a quantity could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseUnitError {
    /// There is no number at the start.
    #[error("no number in \"{0}\"")]
    NoNumber(String),
    /// The unit is not one of the allowed ones.
    #[error("\"{found}\" is not a unit of {what}")]
    UnknownUnit {
        /// What was being read.
        what: &'static str,
        /// What stood after the number.
        found: String,
    },
    /// There is no unit.
    #[error("no unit in \"{0}\"")]
    NoUnit(String),
    /// The value does not fit in 64 bits, or is finer than the smallest step.
    #[error("\"{0}\" is too large or too finely divided")]
    OutOfRange(String),
    /// Zero where only a positive value makes sense.
    #[error("a {0} of zero")]
    Zero(&'static str),
}

/// Splits `text` into a decimal number and a unit, and returns number × multiplier, exactly.
fn parse_scaled(text: &str, what: &'static str, units: &[(&str, u64)]) -> Result<u64, ParseUnitError> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (&text[..split], text[split..].trim());
    if !number.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(ParseUnitError::NoNumber(text.to_owned()));
    }
    if unit.is_empty() {
        return Err(ParseUnitError::NoUnit(text.to_owned()));
    }
    let &(_, multiplier) = units
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(|| ParseUnitError::UnknownUnit { what, found: unit.to_owned() })?;
    let out_of_range = || ParseUnitError::OutOfRange(text.to_owned());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') {
        return Err(ParseUnitError::NoNumber(text.to_owned()));
    }
    let mut mantissa: u128 = 0;
    for digit in whole.chars().chain(fraction.chars()).filter_map(|c| c.to_digit(10)) {
        mantissa = mantissa * 10 + u128::from(digit);
        if mantissa > u128::from(u64::MAX) * 1_000_000_000 {
            return Err(out_of_range());
        }
    }
    let decimals = fraction.chars().filter(char::is_ascii_digit).count() as u32;
    let divisor = 10u128.checked_pow(decimals).ok_or_else(out_of_range)?;
    let product = mantissa * u128::from(multiplier);
    if !product.is_multiple_of(divisor) {
        return Err(out_of_range());
    }
    u64::try_from(product / divisor).map_err(|_| out_of_range())
}

impl FromStr for BitRate {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let units = [
            ("b/s", 1),
            ("bit/s", 1),
            ("kb/s", 1_000),
            ("kbit/s", 1_000),
            ("Mb/s", 1_000_000),
            ("Mbit/s", 1_000_000),
            ("Gb/s", 1_000_000_000),
            ("Gbit/s", 1_000_000_000),
        ];
        let bps = parse_scaled(text, "a bit rate", &units)?;
        BitRate::from_bps(bps).ok_or(ParseUnitError::Zero("bit rate"))
    }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let units = [
            ("B", 1),
            ("kB", 1_000),
            ("MB", 1_000_000),
            ("GB", 1_000_000_000),
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
        ];
        parse_scaled(text, "an amount of data", &units).map(Bytes)
    }
}

impl FromStr for Duration {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        if text.trim() == "for ever" {
            return Ok(Duration::MAX);
        }
        let units = [
            ("ns", 1),
            ("us", 1_000),
            ("µs", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
            ("min", 60_000_000_000),
            ("h", 3_600_000_000_000),
        ];
        parse_scaled(text, "a time", &units).map(Duration::from_nanos)
    }
}

/// Writes `value` in the largest unit in which it is a whole number.
fn write_in_units(value: u64, units: &[(&str, u64)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (name, multiplier) in units {
        if value >= *multiplier && value.is_multiple_of(*multiplier) {
            return write!(f, "{} {name}", value / multiplier);
        }
    }
    let (name, multiplier) = units[units.len() - 1];
    write!(f, "{} {name}", value / multiplier)
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in_units(
            self.0,
            &[("Gb/s", 1_000_000_000), ("Mb/s", 1_000_000), ("kb/s", 1_000), ("b/s", 1)],
            f,
        )
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in_units(self.0, &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)], f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_values_are_exact() {
        assert_eq!("0.5 Mb/s".parse(), Ok(BitRate(500_000)));
        assert_eq!("11Mb/s".parse(), Ok(BitRate(11_000_000)));
        assert_eq!("20.003 ms".parse(), Ok(Duration::from_nanos(20_003_000)));
        assert_eq!("1_000 B".parse(), Ok(Bytes(1_000)));
    }

    #[test]
    fn a_wrong_or_missing_unit_is_refused() {
        assert!(matches!("10".parse::<BitRate>(), Err(ParseUnitError::NoUnit(_))));
        assert!(matches!("10 ms".parse::<BitRate>(), Err(ParseUnitError::UnknownUnit { .. })));
        assert!(matches!("10 mb/s".parse::<BitRate>(), Err(ParseUnitError::UnknownUnit { .. })));
        assert!(matches!("fast".parse::<BitRate>(), Err(ParseUnitError::NoNumber(_))));
        assert!(matches!("-1 s".parse::<Duration>(), Err(ParseUnitError::NoNumber(_))));
    }

    #[test]
    fn zero_rate_and_overflow_are_refused() {
        assert_eq!("0 b/s".parse::<BitRate>(), Err(ParseUnitError::Zero("bit rate")));
        assert!(matches!("99999999999999999999 GB".parse::<Bytes>(), Err(ParseUnitError::OutOfRange(_))));
        assert!(matches!("0.5 ns".parse::<Duration>(), Err(ParseUnitError::OutOfRange(_))));
    }

    #[test]
    fn transmission_time_is_to_the_nanosecond() {
        let rate: BitRate = "10 Mb/s".parse().unwrap();
        assert_eq!(rate.transmission_time(1040), Duration::from_micros(832));
        assert_eq!(rate.transmission_time(0), Duration::ZERO);
    }

    #[test]
    fn display_is_readable_back() {
        for text in ["10 Mb/s", "500 kb/s", "1 b/s", "1500 kb/s"] {
            let rate: BitRate = text.parse().unwrap();
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
    }
}
