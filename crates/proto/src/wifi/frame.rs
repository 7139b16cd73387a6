//! The frames of IEEE 802.11-2020 §9.3 that a station needs, as meaning and size; their bytes are never built.
//!
//! ## Differences
//! * Sizes are those of ns-2: a data frame has 34 bytes of header and check sequence (30 + 4; the standard has 24 +
//!   4 with three addresses, and LLC/SNAP adds 8).
//! * Every frame names its transmitter. A CTS and an ACK on air do not; the machine never reads it there.
//!
//! ## Not modelled
//! Fragments, power save, encryption, management frames other than beacons. Who studies sleeping stations or the time
//! that authentication takes would notice; the latter belongs to the scenario's registration delay.

use crate::time::Duration;

use super::phy::Rate;

/// Header and check sequence of a data frame.
pub const DATA_HEADER_BYTES: u32 = 34;
/// A request to send.
pub const RTS_BYTES: u32 = 20;
/// A clear to send.
pub const CTS_BYTES: u32 = 14;
/// An acknowledgement.
pub const ACK_BYTES: u32 = 14;

/// Names a station; the simulator's index, in place of a MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u32);

impl StationId {
    /// All stations.
    pub const BROADCAST: StationId = StationId(u32::MAX);
}

/// What a data frame carries, opaque here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The driver's name for it.
    pub handle: u32,
    /// Its size without any header of 802.11.
    pub bytes: u32,
}

/// What a frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Data for a station, or for all.
    Data {
        /// What it carries.
        packet: Packet,
        /// Sequence number, modulo 4096; counted per destination.
        sequence: u16,
        /// It was sent before.
        retry: bool,
    },
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
    /// An access point makes itself known.
    Beacon {
        /// Size of its body.
        bytes: u32,
    },
}

/// The kinds of frame, for error models and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "see `Body`")]
pub enum Kind {
    Data,
    Rts,
    Cts,
    Ack,
    Beacon,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Kind; 5] = [Kind::Data, Kind::Rts, Kind::Cts, Kind::Ack, Kind::Beacon];
}

/// A frame on air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Who sends it.
    pub from: StationId,
    /// Who is to receive it.
    pub to: StationId,
    /// What it says.
    pub body: Body,
    /// The rate it is sent at, which its header tells.
    pub rate: Rate,
    /// How long the medium stays reserved after it: the NAV of those who overhear it.
    pub duration: Duration,
}

impl Frame {
    /// Its size, header and check sequence included.
    pub const fn bytes(&self) -> u32 {
        match self.body {
            Body::Data { packet, .. } => DATA_HEADER_BYTES + packet.bytes,
            Body::Rts => RTS_BYTES,
            Body::Cts => CTS_BYTES,
            Body::Ack => ACK_BYTES,
            Body::Beacon { bytes } => DATA_HEADER_BYTES + bytes,
        }
    }

    /// Its kind.
    pub const fn kind(&self) -> Kind {
        match self.body {
            Body::Data { .. } => Kind::Data,
            Body::Rts => Kind::Rts,
            Body::Cts => Kind::Cts,
            Body::Ack => Kind::Ack,
            Body::Beacon { .. } => Kind::Beacon,
        }
    }
}
