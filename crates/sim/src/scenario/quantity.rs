//! Quantities with units in scenario files: text, never bare numbers.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use segue_proto::time::Duration;
use segue_proto::units::{BitRate, Bytes};
use serde::de::{self, Deserialize, Deserializer, Visitor};

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
