//! Packets under way.

use segue_proto::tcp::Segment;

/// Names a packet under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketId(pub(crate) u32);

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) segment: Segment,
    /// Node it goes to.
    pub(super) to: u32,
    /// Connection end it goes to.
    pub(super) end: u32,
    pub(super) bytes: u32,
}

/// Packets under way, in slots that are used again.
#[derive(Debug, Default)]
pub(super) struct Packets {
    slots: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    pub(super) fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = packet;
            PacketId(slot)
        } else {
            self.slots.push(packet);
            PacketId((self.slots.len() - 1) as u32)
        }
    }

    pub(super) fn get(&self, id: PacketId) -> &Packet {
        &self.slots[id.0 as usize]
    }

    pub(super) fn remove(&mut self, id: PacketId) {
        self.free.push(id.0);
    }
}
