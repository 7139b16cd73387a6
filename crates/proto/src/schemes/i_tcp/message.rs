//! What the parts of I-TCP send each other through the network.

use crate::base_station::{Body, Message};
use crate::mobile_ip::TUNNEL_HEADER_BYTES;
use crate::split;
use crate::split::msr::{Packet, SplitState};

/// A control message.
#[derive(Debug)]
pub(super) struct Control(pub(super) split::Message<SplitState>);

impl Body for Control {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn packet_bytes(&self) -> u32 {
        u32::try_from(self.0.packet_bytes()).unwrap_or(u32::MAX)
    }
}

/// A segment of a moving connection, in a tunnel between routers (i-tcp I5).
#[derive(Debug)]
pub(super) struct Tunnelled {
    pub(super) packet: Packet,
    /// Of the segment, with its own headers.
    pub(super) bytes: u32,
}

impl Body for Tunnelled {
    fn name(&self) -> &'static str {
        "tunnelled-segment"
    }

    fn packet_bytes(&self) -> u32 {
        self.bytes + TUNNEL_HEADER_BYTES
    }
}

/// As a control message of the network.
pub(super) fn control(message: split::Message<SplitState>) -> Message {
    Message::new(Control(message))
}
