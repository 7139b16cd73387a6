//! The parts of a scheme at base stations: what passes them, what they hear, what they send.
//!
//! A base station is a router that a mobile host reaches in one hop: through a cell, or over a link. Its part of the
//! scheme sees the segments of its mobile hosts on their last and first hop; what the part itself sends is not shown to
//! it again.

use segue_proto::base_station::{Endpoint, Fate, Flow, Message, Output, StationEvent, Towards};
use segue_proto::mobile_ip::{Address, Way};
use segue_proto::schemes::none;
use segue_proto::signal::{SignalKind, Source};
use segue_proto::tcp::{ConnectionId, Segment};
use segue_proto::time::Instant;
use segue_proto::trace::{DropCause, Event};

use super::World;
use super::flows::Socket;
use super::packets::{Content, Control, EVERYBODY, Packet, PacketId};
use super::roaming::Anchor;
use crate::results::Place;
use crate::scenario::mobile_ip::{address_of, node_of};
use crate::scenario::{NodeKind, Scenario};

/// Ports of the ends that open, in the order of the flows; the other end listens at [`SERVER_PORT`].
const FIRST_PORT: u32 = 1024;
const PORTS: u32 = 65_536 - FIRST_PORT;
const SERVER_PORT: u16 = 80;

impl World<'_> {
    /// Builds the parts at base stations, and tells all parts on hosts what their connections are called.
    pub(super) fn add_base_stations(&mut self) {
        let choice = &self.scenario.scheme;
        if choice.spec.name == none::SPEC.name {
            return;
        }
        if let Some(build) = choice.spec.base_station {
            for node in neighbours(self.scenario).into_iter().flatten() {
                let part = &mut self.nodes[node as usize].base_station;
                if part.is_none() {
                    part.insert(build(&choice.params)).handle_address(address_of(node as usize));
                }
                self.has_base_stations = true;
            }
        }
        for end in 0..self.ends.len() as u32 {
            if self.ends[end as usize].plain {
                continue;
            }
            let flow = self.flow_of(end);
            let node = self.ends[end as usize].node as usize;
            self.end_names.insert((flow.mobile, flow.fixed), end);
            let is_mobile = self.nodes[node].mobile;
            if let Some(scheme) = &mut self.nodes[node].scheme {
                let flow = if is_mobile { flow } else { Flow { mobile: flow.fixed, fixed: flow.mobile } };
                if end.is_multiple_of(2) {
                    scheme.handle_flow(ConnectionId(end), flow, Instant::ZERO);
                } else {
                    scheme.handle_listener(ConnectionId(end), flow, Instant::ZERO);
                }
            }
        }
    }

    /// At the start everybody who does not roam knows the base station that it will always have.
    pub(super) fn introduce_stations(&mut self) {
        if self.scenario.scheme.spec.name == none::SPEC.name {
            return;
        }
        for host in self.scenario.mobile_ip.iter().flat_map(|mobile_ip| &mobile_ip.hosts) {
            let mobile = address_of(host.node);
            self.tell_station(host.home_agent as u32, StationEvent::HomeOf { mobile });
        }
        for (host, stations) in neighbours(self.scenario).into_iter().enumerate() {
            let roams = self.roamers.get(host).is_some_and(|roamer| roamer.anchor != Anchor::Itself);
            let (Some(station), false) = (stations.first(), roams) else { continue };
            let attached = SignalKind::Attached { station: address_of(*station as usize) };
            self.send_news(host as u32, Some(attached), Source::Link);
            self.tell_station(*station, StationEvent::Arrived { mobile: address_of(host), previous: None });
        }
    }

    /// What the connection of an end is called if that end is on a mobile host.
    fn flow_of(&self, end: u32) -> Flow {
        let endpoint = |end: u32| Endpoint {
            address: address_of(self.ends[end as usize].node as usize),
            // In range by the remainder.
            port: if end.is_multiple_of(2) { (FIRST_PORT + end / 2 % PORTS) as u16 } else { SERVER_PORT },
        };
        Flow { mobile: endpoint(end), fixed: endpoint(self.ends[end as usize].peer) }
    }

    /// The end of `flow` on its mobile host.
    fn mobile_end(&self, flow: Flow) -> Option<u32> {
        self.end_names.get(&(flow.mobile, flow.fixed)).copied()
    }

    /// The node at which a direction of a link begins.
    pub(super) fn direction_from(&self, direction: u32) -> u32 {
        self.scenario.links[direction as usize / 2].ends[direction as usize % 2] as u32
    }

    /// A packet has come over a link; if that was its first hop, the part there has a say. Whether it goes on.
    pub(super) fn passes_first_hop(&mut self, direction: u32, id: PacketId) -> bool {
        let here = self.direction_to[direction as usize];
        let from = self.direction_from(direction);
        from != self.packets.get(id).from || self.passes_station(here, from, Towards::Fixed, id)
    }

    /// A packet leaves `here` by `direction`; if that is its last hop, the part here has a say. Whether it goes on.
    pub(super) fn passes_last_hop(&mut self, here: u32, direction: u32, to: u32, id: PacketId) -> bool {
        if self.nodes[here as usize].base_station.is_none() {
            return true;
        }
        let far_end = if (direction as usize) < self.links.len() {
            self.direction_to[direction as usize]
        } else {
            let medium = self.direction_to[direction as usize];
            let out = self.routes.next(medium, to);
            out.map_or(EVERYBODY, |out| self.direction_to[out as usize])
        };
        far_end != to || self.passes_station(here, to, Towards::Mobile, id)
    }

    /// A packet of or for the mobile host `host` passes the base station `here`. Whether it goes on.
    pub(super) fn passes_station(&mut self, here: u32, host: u32, towards: Towards, id: PacketId) -> bool {
        if !self.nodes[host as usize].mobile {
            return true;
        }
        let packet = self.packets.get(id);
        let to = packet.to;
        let (Content::Segment { segment, end }, None) = (packet.content, packet.tunnel) else { return true };
        let mobile_end = match towards {
            Towards::Mobile => end,
            Towards::Fixed => self.ends[end as usize].peer,
        };
        let flow_end = &self.ends[mobile_end as usize];
        if flow_end.node != host || flow_end.plain {
            return true;
        }
        let flow = self.flow_of(mobile_end);
        let is_addressed = towards == Towards::Fixed && to != flow_end.peer_node;
        let Some(part) = &mut self.nodes[here as usize].base_station else { return true };
        if is_addressed {
            return self.show_addressed(here, to, flow, &segment, id);
        }
        let mut changed = segment;
        let fate = part.handle_segment(flow, towards, &mut changed, self.now);
        if fate == Fate::Take {
            self.packets.remove(id);
        } else if changed != segment {
            let sender = &self.ends[self.ends[end as usize].peer as usize].connection;
            let longer = sender.wire_bytes(&changed) as i64 - i64::from(sender.wire_bytes(&segment));
            let packet = self.packets.get_mut(id);
            packet.content = Content::Segment { segment: changed, end };
            packet.bytes = packet.bytes.saturating_add_signed(longer as i32);
        }
        self.nodes[here as usize].interventions += u64::from(fate == Fate::Take || changed != segment);
        self.serve_base_station(here);
        fate == Fate::Forward
    }

    /// The part at `here` is shown a segment that a mobile host has addressed to the router `to`. Whether it goes on.
    fn show_addressed(&mut self, here: u32, to: u32, flow: Flow, segment: &Segment, id: PacketId) -> bool {
        let Some(part) = &mut self.nodes[here as usize].base_station else { return true };
        let fate = part.handle_addressed(address_of(to as usize), flow, segment, self.now);
        if fate == Fate::Take {
            self.packets.remove(id);
            self.nodes[here as usize].interventions += 1;
        }
        self.serve_base_station(here);
        fate == Fate::Forward
    }

    /// A segment has reached a router that a mobile host has addressed it to.
    #[cold]
    pub(super) fn deliver_addressed(&mut self, here: u32, id: PacketId) {
        let Content::Segment { segment, end } = self.packets.get(id).content else { return };
        let flow = self.flow_of(self.ends[end as usize].peer);
        if self.show_addressed(here, here, flow, &segment, id) {
            self.drop_at_node(here, DropCause::NoSocket, id);
        }
    }

    /// A part at a base station hears of an event there.
    pub(super) fn tell_station(&mut self, node: u32, event: StationEvent) {
        if let Some(part) = &mut self.nodes[node as usize].base_station {
            part.handle_event(&event, self.now);
            self.serve_base_station(node);
        }
    }

    /// The MAC of `here` has delivered a packet to `host`.
    pub(super) fn note_delivered(&mut self, here: u32, host: u32) {
        if self.nodes.get(host as usize).is_some_and(|node| node.mobile) {
            self.tell_station(here, StationEvent::Delivered { mobile: address_of(host as usize) });
        }
    }

    /// A packet from `here` to `host` is given up.
    #[cold]
    pub(super) fn note_undelivered(&mut self, here: u32, host: u32, id: PacketId) {
        if !self.nodes.get(host as usize).is_some_and(|node| node.mobile) {
            return;
        }
        let packet = self.packets.get(id);
        let segment = match packet.content {
            Content::Segment { segment, end } if packet.to == host && !self.ends[end as usize].plain => {
                Some((self.flow_of(end), segment))
            }
            _ => None,
        };
        self.tell_station(here, StationEvent::Undelivered { mobile: address_of(host as usize), segment });
    }

    /// A host has changed its access point, or lost it.
    pub(super) fn note_handover(&mut self, host: u32, lost: Option<u32>, found: Option<u32>) {
        let mobile = address_of(host as usize);
        let [to, previous] = [found, lost].map(|node| node.map(|node| address_of(node as usize)));
        if let Some(lost) = lost {
            self.tell_station(lost, StationEvent::Departed { mobile, to });
        }
        if let Some(found) = found {
            self.tell_station(found, StationEvent::Arrived { mobile, previous });
        }
    }

    /// A home agent has another binding, or none any more.
    pub(super) fn note_home(&mut self, agent: u32, host: Address, care_of: Option<Address>) {
        let event = match care_of {
            Some(_) => StationEvent::Departed { mobile: host, to: care_of },
            None => StationEvent::Arrived { mobile: host, previous: None },
        };
        self.tell_station(agent, event);
    }

    /// A message for a part of the scheme has reached node `here`.
    pub(super) fn handle_scheme_message(&mut self, here: u32, from: u32, message: &Message) {
        let from = address_of(from as usize);
        if let Some(scheme) = &mut self.nodes[here as usize].scheme {
            scheme.handle_message(from, message, self.now);
            self.carry_out_actions(here);
        }
        if let Some(part) = &mut self.nodes[here as usize].base_station {
            part.handle_message(from, message, self.now);
            self.serve_base_station(here);
        }
    }

    /// A deadline of the part at `node` may have come.
    pub(super) fn wake_base_station(&mut self, node: u32) {
        if let Some(part) = &mut self.nodes[node as usize].base_station {
            if part.poll_timeout().is_some_and(|(at, _)| at <= self.now) {
                part.handle_timeout(self.now);
            }
            self.serve_base_station(node);
        }
    }

    /// What follows every input to a part at a base station: what it sends, and its deadline.
    fn serve_base_station(&mut self, node: u32) {
        while let Some(output) =
            self.nodes[node as usize].base_station.as_mut().and_then(|part| part.poll_output())
        {
            self.nodes[node as usize].interventions += 1;
            match output {
                Output::Segment { flow, towards, segment } => {
                    self.send_segment_of_station(node, flow, towards, segment);
                }
                Output::Tunnel { to, flow, segment } => self.tunnel_segment(node, to, flow, segment),
                Output::Send { to, message } => self.send_scheme_message(node, to, message),
                Output::Mac(command) => self.command_macs(node, command),
            }
        }
        let deadline = self.nodes[node as usize].base_station.as_ref().and_then(|part| part.poll_timeout());
        self.schedule_parts(node, deadline);
    }

    /// A packet with `segment`, as if the end that `towards` does not name had sent it.
    fn packet_of(&mut self, flow: Flow, towards: Towards, segment: Segment) -> Option<PacketId> {
        let mobile_end = self.mobile_end(flow)?;
        let fixed_end = self.ends[mobile_end as usize].peer;
        let (from, to) = match towards {
            Towards::Mobile => (fixed_end, mobile_end),
            Towards::Fixed => (mobile_end, fixed_end),
        };
        let sender = &self.ends[from as usize];
        let source = match self.ends[mobile_end as usize].socket {
            Socket::Router(router) if towards == Towards::Mobile => router,
            _ => sender.node,
        };
        let packet = Packet {
            content: Content::Segment { segment, end: to },
            from: source,
            to: sender.peer_node,
            bytes: sender.connection.wire_bytes(&segment),
            tunnel: None,
            p_max: 0.0,
        };
        Some(self.packets.insert(packet))
    }

    fn send_segment_of_station(&mut self, here: u32, flow: Flow, towards: Towards, segment: Segment) {
        let Some(id) = self.packet_of(flow, towards, segment) else { return };
        let to = self.packets.get(id).to;
        match towards {
            Towards::Mobile => self.send_over_last_hop(here, to, id),
            Towards::Fixed => self.send(here, to, id),
        }
    }

    fn tunnel_segment(&mut self, here: u32, to: Address, flow: Flow, segment: Segment) {
        let known = node_of(to).filter(|node| *node < self.nodes.len());
        let (Some(exit), Some(id)) = (known, self.packet_of(flow, Towards::Mobile, segment)) else { return };
        if self.roamers.is_empty() {
            // Nobody could take it out of the tunnel, and nobody can have gone anywhere.
            self.packets.remove(id);
            return;
        }
        self.packets.get_mut(id).encapsulate(here, exit as u32);
        self.route(here, id);
    }

    /// From a base station straight to one of its hosts.
    fn send_over_last_hop(&mut self, here: u32, to: u32, id: PacketId) {
        if self.roamers.get(to as usize).is_some_and(|roamer| roamer.anchor != Anchor::Itself) {
            return self.send_by_radio(here, to, id);
        }
        match self.routes.next(here, to) {
            Some(direction) => self.forward_by(here, direction, to, id),
            None => self.packets.remove(id),
        }
    }

    /// A message from one part of the scheme to another.
    pub(super) fn send_scheme_message(&mut self, here: u32, to: Address, message: Message) {
        let Some(node) = node_of(to).filter(|node| *node < self.nodes.len()) else { return };
        self.observe(Place::Node(here as usize), Event::MessageSent { message: message.name(), to });
        let id = self.packets.insert_message(here, node as u32, Way::Routed, Control::Scheme(message));
        let is_neighbour =
            self.nodes[here as usize].base_station.is_some() != self.nodes[node].base_station.is_some();
        let roams =
            |node: usize| self.roamers.get(node).is_some_and(|roamer| roamer.anchor != Anchor::Itself);
        if is_neighbour && (roams(here as usize) || roams(node)) {
            // A host away from home cannot be reached by routing, and speaks to its station on the link.
            self.send_by_radio(here, node as u32, id);
        } else {
            self.route(here, id);
        }
    }
}

/// The base stations of each mobile host, by node: routers that it reaches in one hop.
fn neighbours(scenario: &Scenario) -> Vec<Vec<u32>> {
    let is_mobile = |node: usize| matches!(scenario.nodes[node].kind, NodeKind::Host { mobile: true, .. });
    let is_router = |node: usize| matches!(scenario.nodes[node].kind, NodeKind::Router);
    let mut neighbours = vec![Vec::new(); scenario.nodes.len()];
    for link in &scenario.links {
        for [host, station] in [link.ends, [link.ends[1], link.ends[0]]] {
            if is_mobile(host) && is_router(station) {
                neighbours[host].push(station as u32);
            }
        }
    }
    for cell in &scenario.cells {
        let routers: Vec<u32> =
            cell.members.iter().filter(|m| is_router(m.node)).map(|member| member.node as u32).collect();
        for host in cell.members.iter().filter(|member| is_mobile(member.node)) {
            neighbours[host.node].extend(&routers);
        }
    }
    neighbours
}
