//! What a station tells its driver: frames that leave, packets delivered, dropped and received, counts.

use crate::signal::SignalKind;
use crate::time::Duration;

use super::frame::{Frame, Packet, StationId};

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// The retry limit was reached.
    RetryLimit,
    /// The driver emptied the queue.
    Flushed,
}

/// The queue had no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the interface queue is full")]
pub struct QueueFull;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A packet is done with: acknowledged, or sent if it was for all.
    Delivered {
        /// Which.
        packet: Packet,
        /// To whom.
        to: StationId,
        /// Attempts it took.
        tries: u16,
    },
    /// An attempt has failed; the packet is tried again, or dropped.
    AttemptFailed {
        /// Attempts so far.
        tries: u16,
    },
    /// A packet is lost.
    Dropped {
        /// Which.
        packet: Packet,
        /// To whom.
        to: StationId,
        /// Attempts that failed.
        tries: u16,
        /// Why.
        cause: DropCause,
    },
    /// A packet came; duplicates are not reported.
    Received {
        /// Which.
        packet: Packet,
        /// From whom.
        from: StationId,
        /// Power of its frame in watts.
        power_w: f64,
    },
    /// A beacon was heard.
    BeaconHeard {
        /// Whose.
        from: StationId,
        /// Its power in watts.
        power_w: f64,
    },
}

impl Event {
    /// What the layers above hear of an attempt that failed, or of the fate of a frame, if the event is one.
    pub fn signal(&self) -> Option<SignalKind> {
        let (delivered, tries) = match self {
            Event::AttemptFailed { tries } => {
                return Some(SignalKind::AttemptFailed { tries: narrow(*tries) });
            }
            Event::Delivered { tries, .. } => (true, *tries),
            Event::Dropped { tries, cause: DropCause::RetryLimit, .. } => (false, *tries),
            _ => return None,
        };
        Some(SignalKind::FrameSent { delivered, tries: narrow(tries) })
    }
}

fn narrow(tries: u16) -> u8 {
    u8::try_from(tries).unwrap_or(u8::MAX)
}

/// A frame that leaves now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transmission {
    /// The frame; its rate is in it.
    pub frame: Frame,
    /// How long it is on air.
    pub airtime: Duration,
}

/// Counts since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Exchanges begun, by RTS or by data for one station.
    pub attempts: u64,
    /// Exchanges that failed.
    pub failures: u64,
    /// Packets acknowledged.
    pub delivered: u64,
    /// Packets given up.
    pub dropped: u64,
    /// Packets refused by a full queue.
    pub refused: u64,
    /// Data frames received again.
    pub duplicates: u64,
}
