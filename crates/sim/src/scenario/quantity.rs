//! Quantities with units in scenario files: text, never bare numbers.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use segue_proto::time::Duration;
use segue_proto::units::{BitRate, Bytes};
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// A quantity that a file may hold.
pub trait Readable: FromStr<Err: fmt::Display> {
    /// What is allowed, for messages.
    const ALLOWED: &'static str;
}

impl Readable for BitRate {
    const ALLOWED: &'static str = "a bit rate such as \"10 Mb/s\" (b/s, kb/s, Mb/s, Gb/s)";
}

impl Readable for Duration {
    const ALLOWED: &'static str = "a time such as \"20 ms\" (ns, us, ms, s, min, h)";
}

impl Readable for Bytes {
    const ALLOWED: &'static str = "an amount of data such as \"5 MB\" (B, kB, MB, GB, KiB, MiB, GiB)";
}

/// A quantity read from text.
#[derive(Clone, Copy, Debug)]
pub struct Quantity<T>(pub T);

impl<'de, T: Readable> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor<T>(PhantomData<T>);
        impl<T: Readable> Visitor<'_> for TextVisitor<T> {
            type Value = Quantity<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::ALLOWED)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity<T>, E> {
                text.parse()
                    .map(Quantity)
                    .map_err(|e| E::custom(format_args!("{e}; allowed: {}", T::ALLOWED)))
            }
        }
        deserializer.deserialize_any(TextVisitor(PhantomData))
    }
}

/// A quantity, or `"off"`.
#[derive(Clone, Copy, Debug)]
pub struct OrOff<T>(pub Option<T>);

impl<'de, T: Readable> Deserialize<'de> for OrOff<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OffVisitor<T>(PhantomData<T>);
        impl<T: Readable> Visitor<'_> for OffVisitor<T> {
            type Value = OrOff<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}, or \"off\"", T::ALLOWED)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OrOff<T>, E> {
                if text == "off" {
                    return Ok(OrOff(None));
                }
                let refuse = |e| E::custom(format_args!("{e}; allowed: {}, or \"off\"", T::ALLOWED));
                text.parse().map(|value| OrOff(Some(value))).map_err(refuse)
            }
        }
        deserializer.deserialize_any(OffVisitor(PhantomData))
    }
}

/// A number, or the least and greatest of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range(pub [f64; 2]);

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RangeVisitor;
        impl<'de> Visitor<'de> for RangeVisitor {
            type Value = Range;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a list of the least and the greatest")
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Range, E> {
                Ok(Range([value, value]))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Range, E> {
                self.visit_f64(value as f64)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Range, A::Error> {
                let mut next =
                    |index| list.next_element()?.ok_or_else(|| de::Error::invalid_length(index, &self));
                let range = Range([next(0)?, next(1)?]);
                match list.next_element::<de::IgnoredAny>()? {
                    None => Ok(range),
                    Some(_) => Err(de::Error::invalid_length(3, &self)),
                }
            }
        }
        deserializer.deserialize_any(RangeVisitor)
    }
}
