//! ICMP destination unreachable: what a router says of a TCP segment that it cannot deliver, and to whom.
//!
//! A report costs a packet, so only senders whose scheme has a use for it get any. It answers a segment for which there
//! is no way: the link is down (`flush`), the host speaks through nobody, or the radio has given it up. What is thrown out
//! of a queue when a link goes down, and what an overflowing queue refuses, is lost without a word, as routers do it.

use segue_proto::mobile_ip::Way;
use segue_proto::signal::{Scope, Signal, SignalKind, Source};
use segue_proto::tcp::SeqNumber;
use segue_proto::time::Duration;
use segue_proto::trace::Event;

use super::World;
use super::packets::{Content, Control, PacketId};
use super::roaming::Anchor;
use crate::results::Place;
use crate::scenario::mobile_ip::address_of;

/// Shortest time between two reports of a router to one sender. RFC 1812 §4.3.2.8 asks for a limit; 500 ms is the default
/// of Cisco's IOS.
const INTERVAL: Duration = Duration::from_millis(500);

impl World<'_> {
    /// The router `here` cannot deliver a packet, which is about to be removed: its sender may hear of it.
    #[cold]
    pub(super) fn report_unreachable(&mut self, here: u32, id: PacketId) {
        let packet = *self.packets.get(id);
        let Content::Segment { segment, end } = packet.content else { return };
        let kind = SignalKind::Unreachable { quoted_seq: segment.seq.0 };
        let listens =
            self.nodes[packet.from as usize].scheme.as_ref().is_some_and(|scheme| scheme.hears(&kind));
        if !listens || !self.nodes[here as usize].is_router || self.came_by_tunnel(here, id) {
            return;
        }
        let allowed_at = self.nodes[here as usize].reported_until.entry(packet.from).or_default();
        if self.now < *allowed_at {
            return;
        }
        *allowed_at = self.now + INTERVAL;
        let to = address_of(packet.from as usize);
        self.observe(
            Place::Node(here as usize),
            Event::MessageSent { message: "destination-unreachable", to },
        );
        // An end belongs to the destination; the report is for its peer.
        let report = Control::Unreachable { end: self.ends[end as usize].peer, quoted: segment.seq };
        let report = self.packets.insert_message(here, packet.from, Way::Routed, report);
        self.route(here, report);
    }

    /// Of what comes by a tunnel a foreign agent must not report anything (RFC 5944 §4.2.2).
    fn came_by_tunnel(&self, here: u32, id: PacketId) -> bool {
        let packet = self.packets.get(id);
        let anchor = self.roamers.get(packet.to as usize).map(|roamer| roamer.anchor);
        packet.tunnel.is_some() || matches!(anchor, Some(Anchor::HomeAgent(agent)) if agent != here)
    }

    /// A report has reached the host of the connection end that had sent the segment.
    pub(super) fn hear_unreachable(&mut self, end: u32, quoted: SeqNumber) {
        let flow_end = &mut self.ends[end as usize];
        let node = flow_end.node;
        let Some(scheme) = &mut self.nodes[node as usize].scheme else { return };
        flow_end.connection.handle_unreachable(quoted, self.now, scheme.as_mut());
        let kind = SignalKind::Unreachable { quoted_seq: quoted.0 };
        let now = self.now;
        let signal =
            Signal { kind, scope: Scope::Flow(end), source: Source::Network, origin: now, delivered: now };
        self.observe(Place::Node(node as usize), Event::SignalHeard(signal));
        self.after(end);
    }
}
