//! The 802.11 station: packet scripts (what leaves when) and properties under any input.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod properties;
mod script;
mod scripts;
