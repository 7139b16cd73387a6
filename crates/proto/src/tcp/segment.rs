//! A TCP segment by its meaning. The payload is a length: the bytes, where there are any, live with the driver.

use std::fmt;
use std::ops::BitOr;

use super::{Experimental, SeqNumber};

/// The control bits of a segment (RFC 9293 §3.1).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// The acknowledgement field counts.
    pub const ACK: Flags = Flags(0x10);
    /// No bit set.
    pub const NONE: Flags = Flags(0);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (flag, letter) in [(Flags::SYN, 'S'), (Flags::FIN, 'F'), (Flags::RST, 'R'), (Flags::ACK, '.')] {
            if self.contains(flag) {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// The timestamps option (RFC 7323 §3), in milliseconds of the sender's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// `TSval`: the sender's clock.
    pub value: u32,
    /// `TSecr`: the value echoed.
    pub echo: u32,
}

/// The options of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size, on SYN (RFC 9293 §3.7.1).
    pub mss: Option<u16>,
    /// Window scale, on SYN (RFC 7323 §2), `0..=14`.
    pub window_scale: Option<u8>,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// What a scheme adds.
    pub experimental: Option<Experimental>,
}

/// A segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte, or of the SYN.
    pub seq: SeqNumber,
    /// Next byte expected; counts if [`Flags::ACK`] is set.
    pub ack: SeqNumber,
    /// Payload in bytes.
    pub len: u32,
    /// Receive window, to be shifted by the negotiated scale except on SYN.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Options.
    pub options: Options,
}

impl Segment {
    /// Sequence space it takes: payload, plus one each for SYN and FIN.
    pub fn sequence_length(&self) -> u64 {
        let controls =
            u64::from(self.flags.contains(Flags::SYN)) + u64::from(self.flags.contains(Flags::FIN));
        u64::from(self.len) + controls
    }

    /// Whether it carries an acknowledgement and nothing else.
    pub fn is_pure_ack(&self) -> bool {
        self.len == 0 && self.flags == Flags::ACK
    }
}
