//! Hosts that do not stay at one place of the topology: how packets find them, and how they find their access point.
//!
//! A host is found at its anchor: itself if it stays, the home agent if it speaks Mobile IP, its present access point if
//! it is a member of a cell with access points and nothing more. A host of the last two kinds sends all it has to its
//! agent or access point. The wires behind the access points of one cell are taken to know at once where a host is, as
//! the bridges of a WLAN learn from its first frame.

use std::collections::VecDeque;

use segue_proto::base_station::Towards;
use segue_proto::mobile_ip::{Decision, Header};
use segue_proto::rng::Streams;
use segue_proto::signal::{SignalKind, Source};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::{DropCause, Event};
use segue_proto::wifi::StationId;
use segue_proto::wifi::association::Change;
use segue_proto::wifi::power::dbm;

use super::World;
use super::agenda::Appointment;
use super::mobile_ip::Roles;
use super::packets::{EVERYBODY, PacketId};
use crate::results::{MobilitySummary, Place};
use crate::scenario::mobile_ip::{address_of, node_of};
use crate::scenario::{Cell, LinkNews, Scenario};

/// Where packets for a node go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// To the node.
    Itself,
    /// To its home agent's node.
    HomeAgent(u32),
    /// To the node of its present access point.
    AccessPoint,
}

/// The access point of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccessPoint {
    pub(super) cell: u32,
    pub(super) node: u32,
}

/// What a node has to do with mobility.
#[derive(Debug)]
pub(super) struct Roamer {
    pub(super) anchor: Anchor,
    /// Its stations: cell and number there.
    pub(super) stations: Vec<(u32, u32)>,
    /// Set by association; cells without leave it empty.
    access_point: Option<AccessPoint>,
    pub(super) roles: Roles,
    /// Packets that its foreign agent keeps, with the hosts they are for.
    pub(super) kept: VecDeque<(u32, PacketId)>,
    /// Sending ends of the flows that begin or end here.
    flows: Vec<u32>,
    /// The agent or access point that was reported last.
    attached: Option<u32>,
    /// Since when it has been cut off, if it is.
    pub(super) cut_off: Option<Instant>,
    pub(super) counts: MobilitySummary,
}

/// Where packets for each node go as far as wires are concerned: for checks, and for what an outage hits.
pub(super) fn wired_anchors(scenario: &Scenario) -> Vec<u32> {
    let mut anchors: Vec<u32> = (0..scenario.nodes.len() as u32).collect();
    // Of several cells the first counts, and the home agent before all.
    for cell in scenario.cells.iter().rev() {
        for client in cell.clients() {
            anchors[client.node] = cell.members[0].node as u32;
        }
    }
    for host in scenario.mobile_ip.iter().flat_map(|mobile_ip| &mobile_ip.hosts) {
        anchors[host.node] = host.home_agent as u32;
    }
    anchors
}

impl World<'_> {
    /// Notes who roams; leaves nothing if nobody does.
    pub(super) fn add_roamers(&mut self, streams: Streams) {
        let scenario = self.scenario;
        let any_infrastructure = scenario.cells.iter().any(|cell| cell.infrastructure.is_some());
        if scenario.mobile_ip.is_none() && !any_infrastructure {
            return;
        }
        let mut anchors = vec![Anchor::Itself; scenario.nodes.len()];
        for client in scenario.cells.iter().flat_map(Cell::clients) {
            anchors[client.node] = Anchor::AccessPoint;
        }
        for host in scenario.mobile_ip.iter().flat_map(|mobile_ip| &mobile_ip.hosts) {
            anchors[host.node] = Anchor::HomeAgent(host.home_agent as u32);
        }
        let roamer = |(anchor, stations): (Anchor, Vec<(u32, u32)>)| Roamer {
            anchor,
            stations,
            access_point: None,
            roles: Roles::default(),
            kept: VecDeque::new(),
            flows: Vec::new(),
            attached: None,
            cut_off: (anchor == Anchor::AccessPoint).then_some(Instant::ZERO),
            counts: MobilitySummary::default(),
        };
        self.roamers = anchors.into_iter().zip(scenario.stations()).map(roamer).collect();
        for end in (0..self.ends.len() as u32).step_by(2) {
            for side in [end, end + 1] {
                let node = self.ends[side as usize].node;
                self.roamers[node as usize].flows.push(end);
            }
        }
        self.add_agents(streams);
    }

    /// A packet is at node `here`, on its way or new: it is delivered, tunnelled, kept, or sent on.
    #[inline]
    pub(super) fn route(&mut self, here: u32, id: PacketId) {
        let packet = self.packets.get(id);
        let to = packet.to;
        if to == here && self.roamers.is_empty() {
            self.deliver_packet(here, id);
        } else {
            self.send(here, to, id);
        }
    }

    /// As [`World::route`], for a packet to another node, or in a tunnel.
    #[inline]
    pub(super) fn send(&mut self, here: u32, to: u32, id: PacketId) {
        if self.roamers.is_empty() {
            self.forward(here, to, id);
        } else {
            self.route_among_roamers(here, id);
        }
    }

    #[inline(never)]
    fn route_among_roamers(&mut self, here: u32, id: PacketId) {
        let mut tunnelled_by = None;
        let packet = self.packets.get_mut(id);
        if let Some(tunnel) = packet.tunnel {
            if tunnel.exit != here {
                return self.forward(here, tunnel.exit, id);
            }
            tunnelled_by = packet.decapsulate();
        }
        let (from, to) = (packet.from, packet.to);
        if to == here {
            return self.deliver_packet(here, id);
        }
        let header = Header {
            src: address_of(from as usize),
            dst: address_of(to as usize),
            tunnelled_by: tunnelled_by.map(|node| address_of(node as usize)),
        };
        let is_new = from == here && tunnelled_by.is_none();
        let decision = self.roamers[here as usize].roles.decide(header, is_new, self.now);
        self.carry_out(decision, here, to, id);
        self.serve_roles(here);
    }

    /// Does with a packet what its agent decided.
    pub(super) fn carry_out(&mut self, decision: Decision, here: u32, to: u32, id: PacketId) {
        match decision {
            Decision::Deliver => self.send_on_link(here, to, id),
            Decision::Forward => self.send_towards(here, to, id),
            Decision::Buffer => self.roamers[here as usize].kept.push_back((to, id)),
            Decision::Drop(reason) => self.drop_at_node(here, DropCause::Agent(reason), id),
            Decision::TunnelTo(care_of) => match node_of(care_of) {
                Some(exit) => {
                    self.packets.get_mut(id).encapsulate(here, exit as u32);
                    self.roamers[here as usize].counts.tunnelled += 1;
                    self.route(here, id);
                }
                None => self.drop_at_node(here, DropCause::NoAttachment, id),
            },
        }
    }

    /// By ordinary routing: a roaming host speaks through its agent or access point, all others by the wires.
    fn send_towards(&mut self, here: u32, to: u32, id: PacketId) {
        let roamer = &self.roamers[here as usize];
        let gateway = match roamer.anchor {
            Anchor::Itself => None,
            Anchor::HomeAgent(_) | Anchor::AccessPoint => Some(self.gateway(here)),
        };
        match gateway {
            Some(Some(gateway)) => return self.send_on_link(here, gateway, id),
            Some(None) => return self.drop_at_node(here, DropCause::NoAttachment, id),
            None => {}
        }
        let anchor = match self.roamers[to as usize].anchor {
            Anchor::Itself => Some(to),
            Anchor::HomeAgent(agent) => Some(agent),
            Anchor::AccessPoint => self.gateway(to),
        };
        match anchor {
            Some(anchor) if anchor == here => self.send_on_link(here, to, id),
            Some(anchor) => self.forward(here, anchor, id),
            None => self.drop_at_node(here, DropCause::NoAttachment, id),
        }
    }

    /// The node through which a roaming host speaks at present.
    fn gateway(&self, host: u32) -> Option<u32> {
        let roamer = &self.roamers[host as usize];
        match &roamer.roles.client {
            Some(client) => client.agent().and_then(node_of).map(|node| node as u32),
            None => roamer.access_point.map(|access_point| access_point.node),
        }
    }

    /// One hop through the air, from node `here` to node `to`.
    pub(super) fn send_on_link(&mut self, here: u32, to: u32, id: PacketId) {
        if !self.has_base_stations || self.passes_station(here, to, Towards::Mobile, id) {
            self.send_by_radio(here, to, id);
        }
    }

    /// As [`World::send_on_link`], behind the base station's part of the scheme.
    pub(super) fn send_by_radio(&mut self, here: u32, to: u32, id: PacketId) {
        let theirs = &self.roamers[to as usize].stations;
        let common = self.roamers[here as usize].stations.iter().find_map(|(cell, station)| {
            let at = theirs.binary_search_by_key(cell, |(cell, _)| *cell).ok()?;
            Some((*cell, *station, theirs[at].1))
        });
        match common {
            Some((cell, from, to)) => self.send_on_air(cell, from, StationId(to), id),
            None => {
                if self.has_base_stations {
                    self.note_undelivered(here, to, id);
                }
                self.drop_at_node(here, DropCause::NoAttachment, id);
            }
        }
    }

    #[cold]
    pub(super) fn drop_at_node(&mut self, node: u32, cause: DropCause, id: PacketId) {
        if cause == DropCause::NoAttachment {
            self.report_unreachable(node, id);
        }
        let bytes = self.packets.get(id).bytes;
        self.packets.remove(id);
        if let Some(roamer) = self.roamers.get_mut(node as usize) {
            roamer.counts.dropped += 1;
        }
        self.observe(Place::Node(node as usize), Event::PacketDropped { cause, bytes });
    }

    /// A station has changed its access point, or lost it.
    pub(super) fn handle_association(&mut self, cell: u32, node: u32, change: Change) {
        let member =
            |station: StationId| self.scenario.cells[cell as usize].members[station.0 as usize].node as u32;
        let (lost, found) = match change {
            Change::Associated { with, before } => (before.map(member), Some(member(with))),
            Change::Lost { from } => (Some(member(from)), None),
        };
        let now = self.now;
        let roamer = &mut self.roamers[node as usize];
        if roamer.access_point.is_none_or(|present| present.cell == cell) {
            roamer.access_point = found.map(|node| AccessPoint { cell, node });
        }
        if let Some(client) = &mut roamer.roles.client {
            if client.agent().is_some() && client.agent() == lost.map(|node| address_of(node as usize)) {
                client.handle_link_lost(now);
            }
            if found.is_some() {
                client.handle_link_found(now);
            }
            self.wake_roles(node);
        } else if roamer.anchor == Anchor::AccessPoint {
            self.note_handover(node, lost, found);
            self.note_attachment(node, found);
            self.note_cut(node, found.is_none());
        }
    }

    /// Whether `station` takes frames of `from` for those of its own access point, or has none.
    pub(super) fn belongs_to(&self, node: u32, cell: u32, from: StationId) -> bool {
        let cell = &self.scenario.cells[cell as usize];
        let is_access_point = cell
            .infrastructure
            .is_some_and(|infrastructure| (from.0 as usize) < infrastructure.access_points);
        let sender = cell.members[from.0 as usize].node as u32;
        is_access_point && self.gateway(node).is_none_or(|gateway| gateway == sender)
    }

    /// A frame was decoded at a host that judges its link by them.
    pub(super) fn hear_frame(&mut self, node: u32, cell: u32, from: StationId, power_w: f64) {
        if !matches!(self.nodes[node as usize].link_news, LinkNews::Radio(_))
            || !self.belongs_to(node, cell, from)
        {
            return;
        }
        let link_state = &mut self.nodes[node as usize].link_state;
        let was_ok = link_state.is_ok();
        let news = link_state.handle_frame(dbm(power_w), self.now);
        if was_ok != link_state.is_ok() {
            // The paper repeats bad news; here it would come with each of a thousand weak frames.
            self.send_news(node, news, Source::Link);
        }
    }

    /// Reports that a host speaks through another node, if that is new.
    pub(super) fn note_attachment(&mut self, host: u32, gateway: Option<u32>) {
        let roamer = &mut self.roamers[host as usize];
        if roamer.attached == gateway {
            return;
        }
        roamer.attached = gateway;
        roamer.counts.attachments += u64::from(gateway.is_some());
        let to = gateway.map(|node| address_of(node as usize));
        self.observe(Place::Node(host as usize), Event::AttachmentChanged { to });
        if let Some(station) = to {
            self.send_news(host, Some(SignalKind::Attached { station }), Source::Link);
        }
    }

    /// Notes when a host is cut off from the network, and when that is over: what its flows send next ends their
    /// silence. Says whether it was news.
    pub(super) fn note_cut(&mut self, host: u32, cut: bool) -> bool {
        let now = self.now;
        let roamer = &mut self.roamers[host as usize];
        match (roamer.cut_off, cut) {
            (None, true) => {
                roamer.cut_off = Some(now);
                let flows = std::mem::take(&mut roamer.flows);
                self.note_outage_began(&flows);
                self.roamers[host as usize].flows = flows;
                self.observe(Place::Node(host as usize), Event::OutageBegan);
            }
            (Some(_), false) if now == Instant::ZERO => roamer.cut_off = None,
            (Some(since), false) => {
                roamer.cut_off = None;
                let lasted = now.since(since);
                roamer.counts.cut_off = roamer.counts.cut_off + lasted;
                roamer.counts.longest_cut = roamer.counts.longest_cut.max(lasted);
                let flows = std::mem::take(&mut roamer.flows);
                self.note_outage_ended(&flows);
                self.roamers[host as usize].flows = flows;
                self.observe(Place::Node(host as usize), Event::OutageEnded);
            }
            _ => return false,
        }
        true
    }

    /// Reports who begins cut off. Whoever found an access point in the first instant never was.
    pub(super) fn note_first_cuts(&mut self) {
        for host in 0..self.roamers.len() {
            if self.roamers[host].cut_off.is_some() {
                let flows = std::mem::take(&mut self.roamers[host].flows);
                self.note_outage_began(&flows);
                self.roamers[host].flows = flows;
                self.observe(Place::Node(host), Event::OutageBegan);
            }
        }
    }

    /// The sending ends of the flows of a roaming host.
    pub(super) fn flows_of(&self, node: usize) -> Option<&[u32]> {
        let roamer = self.roamers.get(node)?;
        (roamer.anchor != Anchor::Itself).then_some(roamer.flows.as_slice())
    }

    /// Sends a message to all on every link of `node`; the first copy is `id`.
    pub(super) fn broadcast(&mut self, node: u32, id: PacketId) {
        debug_assert_eq!(self.packets.get(id).to, EVERYBODY);
        for i in 0..self.roamers[node as usize].stations.len() {
            let (cell, station) = self.roamers[node as usize].stations[i];
            // A host with an access point speaks to nobody else (IEEE 802.11-2020 §10.3.6), one without to nobody.
            let Some(hearer) = self.hearer_of_all(cell, station) else { continue };
            let copy = self.packets.copy(id);
            self.send_on_air(cell, station, hearer, copy);
        }
        self.packets.remove(id);
    }

    /// Sets the agenda to a deadline of a node's agents, unless it comes to it earlier.
    pub(super) fn schedule_roles(&mut self, node: u32) {
        let roles = &mut self.roamers[node as usize].roles;
        let Some(at) = roles.deadline().map(|at| at.max(self.now)).filter(|at| *at < roles.wake_at) else {
            return;
        };
        roles.wake_at = at;
        self.agenda.add(at, Appointment::Roles { node });
        self.schedule_agenda();
    }

    /// What each roaming host and agent did, by node; empty if nobody roams.
    pub(super) fn mobility_summaries(&mut self) -> Vec<(usize, MobilitySummary)> {
        let now = self.now;
        let takes_part =
            |(_, roamer): &(usize, &Roamer)| roamer.anchor != Anchor::Itself || !roamer.roles.is_empty();
        let summary = |(node, roamer): (usize, &Roamer)| {
            let unfinished = roamer.cut_off.map_or(Duration::ZERO, |since| now.since(since));
            let counts = roamer.counts;
            let cut_off = counts.cut_off + unfinished;
            let longest_cut = counts.longest_cut.max(unfinished);
            (node, MobilitySummary { cut_off, longest_cut, roles: roamer.roles.names(), ..counts })
        };
        self.roamers.iter().enumerate().filter(takes_part).map(summary).collect()
    }
}
