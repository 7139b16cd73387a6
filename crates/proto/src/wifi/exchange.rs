//! The frame a station has in service and where its exchange stands; the states of [`Dcf`](super::Dcf).

use crate::time::{Duration, Instant};

use super::frame::{DATA_HEADER_BYTES, Frame, Packet, StationId};
use super::phy::Rate;

/// What waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Payload {
    Packet(Packet),
    Beacon { bytes: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) to: StationId,
    pub(super) payload: Payload,
}

/// The frame in service.
#[derive(Clone, Copy, Debug)]
pub(super) struct InService {
    pub(super) to: StationId,
    pub(super) payload: Payload,
    pub(super) sequence: u16,
    /// Attempts so far.
    pub(super) tries: u16,
    /// Times the data frame itself was sent: what comes after the first carries the retry flag.
    pub(super) data_sent: u16,
    /// Chosen when the attempt began.
    pub(super) rate: Rate,
    /// This attempt began with an RTS.
    pub(super) uses_rts: bool,
}

/// Where an exchange stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Exchange {
    /// None under way: the station counts slots, or has nothing to do.
    None,
    /// A SIFS passes before this frame.
    Gap { until: Instant, then: AfterGap },
    /// A frame of this station is on air.
    OnAir(Sent),
    /// A response must come before `until`.
    Awaiting { response: Response, until: Instant, expected_end: Instant },
    /// A CTS of this station was for data that must come before `until` ([`AfterCts::Wait`](super::dcf::AfterCts)).
    Promised { until: Instant },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AfterGap {
    /// The data frame that a CTS allowed.
    Data,
    /// A CTS or an ACK.
    Respond(Frame, Sent),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sent {
    Rts,
    Data,
    ToAll,
    /// A CTS after which the data must end within this time.
    Cts(Duration),
    Ack,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Response {
    Cts,
    Ack,
}

impl Payload {
    /// Size of the frame that carries it.
    pub(super) fn frame_bytes(self) -> u32 {
        DATA_HEADER_BYTES
            + match self {
                Payload::Packet(packet) => packet.bytes,
                Payload::Beacon { bytes } => bytes,
            }
    }
}
