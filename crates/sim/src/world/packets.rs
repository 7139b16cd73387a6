//! Packets under way.

use segue_proto::base_station;
use segue_proto::mobile_ip::{self, TUNNEL_HEADER_BYTES, Way};
use segue_proto::tcp::{Segment, SeqNumber};

/// Names a packet under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketId(pub(crate) u32);

/// The destination of packets for all on the link.
pub(super) const EVERYBODY: u32 = u32::MAX;

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// A TCP segment for a connection end.
    Segment { segment: Segment, end: u32 },
    /// Packet `number`, counted from 0, of a datagram source.
    Datagram { source: u32, number: u64 },
    /// A control message, by its place among [`Packets::messages`].
    Message { message: u32, way: Way },
}

/// The outer header of a tunnelled packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tunnel {
    /// Node that put the packet in.
    pub(super) by: u32,
    /// Node that takes it out.
    pub(super) exit: u32,
}

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) content: Content,
    /// Node it comes from.
    pub(super) from: u32,
    /// Node it goes to, or [`EVERYBODY`].
    pub(super) to: u32,
    /// Its size as IP sees it, tunnel header included.
    pub(super) bytes: u32,
    pub(super) tunnel: Option<Tunnel>,
    /// The highest drop probability that a queue on its way has computed for it (Boosted TCP's `p_max`).
    pub(super) p_max: f32,
}

impl Packet {
    /// A queue has computed this drop probability for it.
    pub(super) fn stamp(&mut self, drop_probability: f32) {
        self.p_max = self.p_max.max(drop_probability);
    }

    /// Puts the packet into a tunnel from `by` to `exit`.
    pub(super) fn encapsulate(&mut self, by: u32, exit: u32) {
        self.tunnel = Some(Tunnel { by, exit });
        self.bytes += TUNNEL_HEADER_BYTES;
    }

    /// Takes the packet out of its tunnel; gives the node that had put it in.
    pub(super) fn decapsulate(&mut self) -> Option<u32> {
        let tunnel = self.tunnel.take()?;
        self.bytes -= TUNNEL_HEADER_BYTES;
        Some(tunnel.by)
    }
}

/// A control message.
#[derive(Clone, Debug)]
pub(super) enum Control {
    /// Of Mobile IP.
    MobileIp(mobile_ip::Message),
    /// From one part of the scheme to another.
    Scheme(base_station::Message),
    /// ICMP destination unreachable, for a connection end.
    Unreachable { end: u32, quoted: SeqNumber },
}

/// IP header and ICMP header, with the quoted IP header and eight bytes behind it (RFC 792).
const UNREACHABLE_BYTES: u32 = 56;

impl Control {
    fn packet_bytes(&self) -> u32 {
        match self {
            Control::MobileIp(message) => message.packet_bytes(),
            Control::Scheme(message) => message.packet_bytes(),
            Control::Unreachable { .. } => UNREACHABLE_BYTES,
        }
    }
}

/// A control message that one or more packets carry: a broadcast frame leaves a copy at each hearer.
#[derive(Debug)]
struct Shared {
    message: Control,
    packets: u32,
}

/// Packets under way, in slots that are used again.
#[derive(Debug, Default)]
pub(super) struct Packets {
    slots: Vec<Packet>,
    vacant: Vec<u32>,
    messages: Vec<Shared>,
    free_messages: Vec<u32>,
}

impl Packets {
    pub(super) fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(slot) = self.vacant.pop() {
            self.slots[slot as usize] = packet;
            PacketId(slot)
        } else {
            self.slots.push(packet);
            PacketId((self.slots.len() - 1) as u32)
        }
    }

    /// A packet of `bytes` with a control message.
    pub(super) fn insert_message(&mut self, from: u32, to: u32, way: Way, message: Control) -> PacketId {
        let bytes = message.packet_bytes();
        let shared = Shared { message, packets: 1 };
        let slot = if let Some(slot) = self.free_messages.pop() {
            self.messages[slot as usize] = shared;
            slot
        } else {
            self.messages.push(shared);
            (self.messages.len() - 1) as u32
        };
        let content = Content::Message { message: slot, way };
        self.insert(Packet { content, from, to, bytes, tunnel: None, p_max: 0.0 })
    }

    /// A second packet like `id`: the sender of a frame keeps its own until it knows the fate of the frame.
    pub(super) fn copy(&mut self, id: PacketId) -> PacketId {
        let packet = *self.get(id);
        if let Content::Message { message, .. } = packet.content {
            self.messages[message as usize].packets += 1;
        }
        self.insert(packet)
    }

    pub(super) fn get(&self, id: PacketId) -> &Packet {
        &self.slots[id.0 as usize]
    }

    pub(super) fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slots[id.0 as usize]
    }

    /// The message at a place that a packet under way names.
    pub(super) fn message(&self, place: u32) -> &Control {
        &self.messages[place as usize].message
    }

    pub(super) fn remove(&mut self, id: PacketId) {
        if let Content::Message { message, .. } = self.get(id).content {
            let shared = &mut self.messages[message as usize];
            shared.packets -= 1;
            if shared.packets == 0 {
                self.free_messages.push(message);
            }
        }
        self.vacant.push(id.0);
    }

    /// As [`Packets::remove`], for a packet without a message.
    #[inline]
    pub(super) fn free(&mut self, id: PacketId) {
        debug_assert!(!matches!(self.get(id).content, Content::Message { .. }), "a message is left behind");
        self.vacant.push(id.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_keeps_the_highest_drop_probability_of_its_way() {
        let content = Content::Datagram { source: 0, number: 0 };
        let mut packet = Packet { content, from: 0, to: 1, bytes: 1000, tunnel: None, p_max: 0.0 };
        let p_max_after = [0.2, 0.8, 0.5].map(|p| {
            packet.stamp(p);
            packet.p_max.to_bits()
        });
        assert_eq!(p_max_after, [0.2f32, 0.8, 0.8].map(f32::to_bits));
    }
}
