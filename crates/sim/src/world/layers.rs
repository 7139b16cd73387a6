//! Outages and beacons, and the news of them: from the layers below TCP to the scheme.

use segue_proto::ip_state::IpEvent;
use segue_proto::rng::Streams;
use segue_proto::signal::{Scope, Signal, SignalKind, Source};
use segue_proto::time::Instant;
use segue_proto::trace::{DropCause, Event};

use super::World;
use super::agenda::Appointment;
use super::flows::FlowEnd;
use super::roaming::wired_anchors;
use crate::outage::{Layer, OutageProcess};
use crate::results::Place;
use crate::scenario::LinkNews;

impl World<'_> {
    pub(super) fn add_outages(&mut self, streams: Streams) {
        for (index, outage) in self.scenario.outages.iter().enumerate() {
            let stream = streams.stream(&format!("outage {index}"));
            self.outages.push(OutageProcess::new(outage.schedule, stream));
            let hit = self.flows_that_use(&|direction| direction as usize / 2 == outage.link);
            self.hit.push(hit);
            self.plan_next_outage(index as u32);
        }
    }

    /// The sending ends of the flows whose way there or back uses a direction that `uses` names.
    pub(super) fn flows_that_use(&self, uses: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let anchors = wired_anchors(self.scenario);
        let crosses = |end: &u32| {
            let FlowEnd { node, peer_node, .. } = self.ends[*end as usize];
            let [node, peer_node] = [node, peer_node].map(|node| anchors[node as usize]);
            self.crosses(uses, node, peer_node) || self.crosses(uses, peer_node, node)
        };
        (0..self.ends.len() as u32).step_by(2).filter(crosses).collect()
    }

    /// Whether the way from node `from` to node `to` uses a direction that `uses` names.
    fn crosses(&self, uses: &dyn Fn(u32) -> bool, from: u32, to: u32) -> bool {
        let mut at = from;
        while at != to {
            let Some(direction) = self.routes.next(at, to) else { return false };
            if uses(direction) {
                return true;
            }
            at = self.direction_to[direction as usize];
        }
        false
    }

    pub(super) fn plan_next_outage(&mut self, outage: u32) {
        if let Some((begin, until)) = self.outages[outage as usize].next() {
            self.agenda.add(begin, Appointment::OutageBegins { outage, until });
        }
    }

    pub(super) fn add_beacons(&mut self) {
        for (index, node) in self.nodes.iter().enumerate() {
            let node_number = index as u32;
            match node.link_news {
                LinkNews::Beacons { phase, .. } if node.mobile => {
                    self.agenda.add(Instant::ZERO + phase, Appointment::Beacon { node: node_number });
                }
                LinkNews::Radio(_) if node.mobile => {}
                _ => continue,
            }
            if let Some((at, _)) = node.link_state.poll_timeout() {
                self.agenda.add(at, Appointment::Silence { node: node_number });
            }
        }
    }

    pub(super) fn begin_outage(&mut self, number: u32, until: Instant) {
        self.agenda.add(until, Appointment::OutageEnds { outage: number });
        let outage = &self.scenario.outages[number as usize];
        for side in (0..2).filter(|side| outage.directions[*side]) {
            let direction = outage.link * 2 + side;
            self.links[direction].go_down(outage.effect, self.now, &mut self.thrown_out);
            while let Some(id) = self.thrown_out.pop() {
                let bytes = self.packets.get(id).bytes;
                self.packets.remove(id);
                self.observe_drop(direction as u32, DropCause::Outage, bytes);
            }
        }
        let hit = std::mem::take(&mut self.hit[number as usize]);
        self.note_outage_began(&hit);
        self.hit[number as usize] = hit;
        self.observe(Place::Link(outage.link * 2), Event::OutageBegan);
        self.tell_ends(number, false);
    }

    pub(super) fn end_outage(&mut self, number: u32) {
        let outage = &self.scenario.outages[number as usize];
        for side in (0..2).filter(|side| outage.directions[*side]) {
            self.links[outage.link * 2 + side].come_up(outage.effect, self.now);
        }
        let hit = std::mem::take(&mut self.hit[number as usize]);
        self.note_outage_ended(&hit);
        self.hit[number as usize] = hit;
        self.observe(Place::Link(outage.link * 2), Event::OutageEnded);
        self.tell_ends(number, true);
        self.plan_next_outage(number);
    }

    /// An outage begins for the flows of these sending ends. Who has been silent since the last one was so until now.
    pub(super) fn note_outage_began(&mut self, ends: &[u32]) {
        for end in ends {
            let end = &mut self.ends[*end as usize];
            end.end_silence(self.now);
            end.cuts += 1;
        }
    }

    /// An outage is over for the flows of these sending ends: unless there is another one, what they send next ends
    /// their silence.
    pub(super) fn note_outage_ended(&mut self, ends: &[u32]) {
        for end in ends {
            let end = &mut self.ends[*end as usize];
            end.cuts = end.cuts.saturating_sub(1);
            let has_work = end.opened && end.finished.is_none();
            end.outage_ended = (has_work && end.cuts == 0).then_some(self.now);
        }
    }

    /// The mobile hosts at the ends of the link learn about it.
    pub(super) fn tell_ends(&mut self, number: u32, good: bool) {
        let outage = &self.scenario.outages[number as usize];
        for node in self.scenario.links[outage.link].ends {
            self.tell_node(node as u32, outage.layer, good);
        }
    }

    /// A node learns that `layer` stopped working, or works again; it matters to mobile hosts.
    pub(super) fn tell_node(&mut self, node: u32, layer: Layer, good: bool) {
        let state = &mut self.nodes[node as usize];
        if !state.mobile {
            return;
        }
        let kind = match layer {
            Layer::Ip => {
                state.ip_down = if good { state.ip_down.saturating_sub(1) } else { state.ip_down + 1 };
                let event = if good { IpEvent::RegistrationConfirmed } else { IpEvent::AttachmentLost };
                if good && state.ip_down > 0 { None } else { state.ip_state.handle_event(event) }
            }
            Layer::Link => {
                state.links_down =
                    if good { state.links_down.saturating_sub(1) } else { state.links_down + 1 };
                match state.link_news {
                    LinkNews::AtOnce => state.link_state.handle_evidence(state.links_down == 0),
                    LinkNews::Beacons { .. } | LinkNews::Radio(_) => None,
                }
            }
        };
        let source = if layer == Layer::Ip { Source::Ip } else { Source::Link };
        self.send_news(node, kind, source);
    }

    /// Sends a signal on its way to the scheme on `node`.
    pub(super) fn send_news(&mut self, node: u32, kind: Option<SignalKind>, source: Source) {
        let Some(kind) = kind else { return };
        let Some(scheme) = &self.nodes[node as usize].scheme else { return };
        if !scheme.hears(&kind) {
            return;
        }
        let delays = self.scenario.signal_delays;
        let of_layer = match source {
            Source::Link => delays.link,
            Source::Mac => delays.mac,
            Source::Ip | Source::Queue | Source::Network => delays.ip,
        };
        let delivered = self.now + scheme.notify_delay() + of_layer;
        let signal = Signal { kind, scope: Scope::Interface, source, origin: self.now, delivered };
        self.agenda.add(delivered, Appointment::Deliver { node, signal });
        self.schedule_agenda();
    }

    pub(super) fn deliver(&mut self, node: u32, signal: Signal) {
        if let Some(scheme) = &mut self.nodes[node as usize].scheme {
            scheme.handle_signal(&signal, self.now);
        }
        self.observe(Place::Node(node as usize), Event::SignalHeard(signal));
        self.carry_out_actions(node);
    }

    pub(super) fn hear_beacon(&mut self, node: u32) {
        let state = &mut self.nodes[node as usize];
        let LinkNews::Beacons { period, .. } = state.link_news else { return };
        self.agenda.add(self.now + period, Appointment::Beacon { node });
        if state.links_down == 0 {
            let news = state.link_state.handle_frame(0.0, self.now);
            self.send_news(node, news, Source::Link);
        }
    }

    pub(super) fn notice_silence(&mut self, node: u32) {
        let state = &mut self.nodes[node as usize];
        let news = state.link_state.handle_timeout(self.now);
        if let Some((at, _)) = state.link_state.poll_timeout() {
            self.agenda.add(at, Appointment::Silence { node });
        }
        self.send_news(node, news, Source::Link);
    }
}
