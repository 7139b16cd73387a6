//! The machines of Mobile IP at work: their messages, packets, events and deadlines.

use std::collections::BTreeMap;

use segue_proto::base_station::StationEvent;
use segue_proto::ip_state::{IpEvent, IpState};
use segue_proto::mobile_ip::{
    Address, Correspondent, Decision, DropReason, ForeignAgent, Header, HomeAgent, Message, MobileNode,
    Outgoing, Way, correspondent, foreign_agent, home_agent,
};
use segue_proto::rng::Streams;
use segue_proto::signal::Source;
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;

use super::World;
use super::packets::{Control, EVERYBODY};
use crate::results::Place;
use crate::scenario::mobile_ip::{AdvertisementPhase, address_of, node_of, with_phase};

/// The machines on one node.
#[derive(Debug)]
pub(super) struct Roles {
    pub(super) client: Option<Box<MobileNode>>,
    home_agent: Option<Box<HomeAgent>>,
    foreign_agent: Option<Box<ForeignAgent>>,
    correspondent: Option<Box<Correspondent>>,
    /// What was last said of each host of the home agent: renewals are no news.
    bindings: BTreeMap<Address, Address>,
    /// When the agenda comes to them.
    pub(super) wake_at: Instant,
}

impl Default for Roles {
    fn default() -> Self {
        Roles {
            client: None,
            home_agent: None,
            foreign_agent: None,
            correspondent: None,
            bindings: BTreeMap::new(),
            wake_at: Instant::MAX,
        }
    }
}

impl Roles {
    pub(super) fn is_empty(&self) -> bool {
        self.client.is_none()
            && self.home_agent.is_none()
            && self.foreign_agent.is_none()
            && self.correspondent.is_none()
    }

    /// For tables.
    pub(super) fn names(&self) -> &'static str {
        let is = (self.client.is_some(), self.home_agent.is_some(), self.foreign_agent.is_some());
        match is {
            (true, ..) => "mobile-node",
            (_, true, true) => "home+foreign-agent",
            (_, true, false) => "home-agent",
            (_, false, true) => "foreign-agent",
            (false, false, false) if self.correspondent.is_some() => "correspondent",
            (false, false, false) => "station",
        }
    }

    /// What is to be done with a packet that is not for this node: the visited network is asked before the home network,
    /// and the binding cache only about packets that begin here.
    pub(super) fn decide(&mut self, header: Header, is_new: bool, now: Instant) -> Decision {
        if let Some(agent) = &mut self.foreign_agent {
            let decision = agent.handle_packet(header, now);
            if decision != Decision::Forward {
                return decision;
            }
        }
        if let Some(agent) = &mut self.home_agent {
            return match agent.handle_packet(header, now) {
                // The tunnel would end where it begins, and has just done so.
                Decision::TunnelTo(care_of) if header.tunnelled_by == Some(care_of) => {
                    Decision::Drop(DropReason::NotHere)
                }
                decision => decision,
            };
        }
        match &mut self.correspondent {
            Some(correspondent) if is_new => correspondent.handle_packet(header, now),
            _ => Decision::Forward,
        }
    }

    fn handle_message(&mut self, from: Address, way: Way, message: &Message, now: Instant) {
        // Both agents of one node have one address: a request by radio is for the visited network unless it says that
        // the host is home, and what comes through the network is for the home agent.
        let for_home = match message {
            Message::RegistrationRequest(request) => {
                way == Way::Routed || request.care_of == request.home_address
            }
            _ => true,
        };
        let for_visited = !matches!(message, Message::RegistrationRequest(_)) || !for_home;
        if let Some(client) = &mut self.client {
            client.handle_message(from, message, now);
        }
        if let Some(agent) = self.home_agent.as_mut().filter(|_| for_home) {
            agent.handle_message(from, message, now);
        }
        if let Some(agent) = self.foreign_agent.as_mut().filter(|_| for_visited) {
            agent.handle_message(from, message, now);
        }
        if let Some(correspondent) = &mut self.correspondent {
            correspondent.handle_message(from, message, now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(client) = &mut self.client {
            client.handle_timeout(now);
        }
        if let Some(agent) = &mut self.home_agent {
            agent.handle_timeout(now);
        }
        if let Some(agent) = &mut self.foreign_agent {
            agent.handle_timeout(now);
        }
        if let Some(correspondent) = &mut self.correspondent {
            correspondent.handle_timeout(now);
        }
    }

    fn poll_message(&mut self) -> Option<Outgoing> {
        let from_client = self.client.as_mut().and_then(|client| client.poll_message());
        from_client
            .or_else(|| self.home_agent.as_mut().and_then(|agent| agent.poll_message()))
            .or_else(|| self.foreign_agent.as_mut().and_then(|agent| agent.poll_message()))
            .or_else(|| self.correspondent.as_mut().and_then(|correspondent| correspondent.poll_message()))
    }

    /// When the next of the machines has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.client.as_ref().and_then(|client| client.poll_timeout()),
            self.home_agent.as_ref().and_then(|agent| agent.poll_timeout()),
            self.foreign_agent.as_ref().and_then(|agent| agent.poll_timeout()),
            self.correspondent.as_ref().and_then(|correspondent| correspondent.poll_timeout()),
        ];
        deadlines.into_iter().flatten().map(|(at, _)| at).min()
    }
}

impl World<'_> {
    /// Starts all machines of the scenario.
    pub(super) fn add_agents(&mut self, streams: Streams) {
        let Some(mobile_ip) = &self.scenario.mobile_ip else { return };
        let phase_of = |node: usize, period: Duration| match mobile_ip.phase {
            AdvertisementPhase::At(phase) => phase,
            AdvertisementPhase::Random => {
                let name = format!("mobile-ip {}/advertisement-phase", self.scenario.nodes[node].name);
                Duration::from_nanos(streams.stream(&name).below(period.as_nanos()))
            }
        };
        let now = Instant::ZERO;
        for agent in &mobile_ip.home_agents {
            let name = format!("mobile-ip {}/registration-delay", self.scenario.nodes[agent.node].name);
            let mut config = agent.config.clone();
            config.beacon = config.beacon.map(|b| with_phase(b, phase_of(agent.node, b.period)));
            let machine = HomeAgent::new(config, streams.stream(&name), now);
            self.roamers[agent.node].roles.home_agent = Some(Box::new(machine));
        }
        for agent in &mobile_ip.foreign_agents {
            let mut config = agent.config;
            config.beacon = with_phase(config.beacon, phase_of(agent.node, config.beacon.period));
            let machine = ForeignAgent::new(config, now);
            self.roamers[agent.node].roles.foreign_agent = Some(Box::new(machine));
        }
        for host in &mobile_ip.hosts {
            let client = MobileNode::new(host.config, host.start, now);
            self.nodes[host.node].ip_state = IpState::new(client.is_stable());
            self.roamers[host.node].cut_off = (!client.is_stable()).then_some(now);
            self.roamers[host.node].roles.client = Some(Box::new(client));
        }
        for correspondent in &mobile_ip.correspondents {
            let machine = Correspondent::new(correspondent.config);
            self.roamers[correspondent.node].roles.correspondent = Some(Box::new(machine));
        }
        for node in 0..self.roamers.len() as u32 {
            self.schedule_roles(node);
        }
    }

    /// A control message has reached node `here`.
    pub(super) fn handle_message(&mut self, here: u32, from: u32, way: Way, message: &Message) {
        let from = address_of(from as usize);
        self.roamers[here as usize].roles.handle_message(from, way, message, self.now);
        self.serve_roles(here);
    }

    /// The agenda comes to a node's machines.
    pub(super) fn handle_roles(&mut self, node: u32) {
        if self.roamers[node as usize].roles.wake_at == self.now {
            self.roamers[node as usize].roles.wake_at = Instant::MAX;
            self.wake_roles(node);
        }
    }

    pub(super) fn wake_roles(&mut self, node: u32) {
        self.roamers[node as usize].roles.handle_timeout(self.now);
        self.serve_roles(node);
    }

    /// What follows every input to the machines of a node: their messages, events and deadlines.
    pub(super) fn serve_roles(&mut self, node: u32) {
        if self.roamers[node as usize].roles.is_empty() {
            return;
        }
        while let Some(outgoing) = self.roamers[node as usize].roles.poll_message() {
            self.send_message(node, outgoing);
        }
        self.serve_client(node);
        self.serve_agents(node);
        self.schedule_roles(node);
    }

    fn send_message(&mut self, node: u32, outgoing: Outgoing) {
        let Outgoing { to, way, message } = outgoing;
        self.observe(Place::Node(node as usize), Event::MessageSent { message: message.name(), to });
        self.roamers[node as usize].counts.messages += 1;
        let is_known = |n: &usize| *n < self.roamers.len();
        let destination = node_of(to).filter(is_known).map_or(EVERYBODY, |node| node as u32);
        let id = self.packets.insert_message(node, destination, way, Control::MobileIp(message));
        match (way, destination) {
            (Way::Link, EVERYBODY) => self.broadcast(node, id),
            (Way::Link, host) => self.send_on_link(node, host, id),
            (Way::Routed, EVERYBODY) => self.packets.remove(id),
            (Way::Routed, _) => self.route(node, id),
        }
    }

    fn serve_client(&mut self, node: u32) {
        let Some(client) = &self.roamers[node as usize].roles.client else { return };
        let agent = client.agent();
        self.note_attachment(node, agent.and_then(node_of).map(|node| node as u32));
        while let Some(event) =
            self.roamers[node as usize].roles.client.as_mut().and_then(|client| client.poll_event())
        {
            let confirmed = event == IpEvent::RegistrationConfirmed;
            self.roamers[node as usize].counts.registrations += u64::from(confirmed);
            let changed = self.note_cut(node, !confirmed);
            if let (true, true, Some(with)) = (confirmed, changed, agent) {
                self.observe(Place::Node(node as usize), Event::Registered { with });
            }
            let news = self.nodes[node as usize].ip_state.handle_event(event);
            self.send_news(node, news, Source::Ip);
        }
    }

    fn serve_agents(&mut self, node: u32) {
        while let Some(event) =
            self.roamers[node as usize].roles.home_agent.as_mut().and_then(|agent| agent.poll_event())
        {
            // A host whose registration has run out is not home because of that.
            let is_home = matches!(event, home_agent::Event::Deregistered { .. });
            let (host, care_of) = match event {
                home_agent::Event::Registered { host, care_of } => (host, Some(care_of)),
                home_agent::Event::Deregistered { host } | home_agent::Event::Expired { host } => {
                    (host, None)
                }
            };
            let bindings = &mut self.roamers[node as usize].roles.bindings;
            let before = match care_of {
                Some(care_of) => bindings.insert(host, care_of),
                None => bindings.remove(&host),
            };
            if before != care_of {
                self.observe(Place::Node(node as usize), Event::BindingChanged { host, care_of });
                if care_of.is_some() || is_home {
                    self.note_home(node, host, care_of);
                }
            }
        }
        while let Some(event) =
            self.roamers[node as usize].roles.correspondent.as_mut().and_then(|cache| cache.poll_event())
        {
            let (host, care_of) = match event {
                correspondent::Event::Learned { host, care_of } => (host, Some(care_of)),
                correspondent::Event::Forgotten { host } => (host, None),
            };
            self.observe(Place::Node(node as usize), Event::BindingChanged { host, care_of });
        }
        while let Some(event) =
            self.roamers[node as usize].roles.foreign_agent.as_mut().and_then(|agent| agent.poll_event())
        {
            match event {
                foreign_agent::Event::Released { host, decision } => self.release(node, host, decision),
                foreign_agent::Event::Departed { host, care_of } => {
                    let place = Place::Node(node as usize);
                    self.observe(place, Event::BindingChanged { host, care_of: Some(care_of) });
                    self.tell_station(node, StationEvent::Departed { mobile: host, to: Some(care_of) });
                }
                foreign_agent::Event::Registered { host, previous_agent } => {
                    self.tell_station(node, StationEvent::Arrived { mobile: host, previous: previous_agent });
                }
                foreign_agent::Event::Expired { host } => {
                    self.tell_station(node, StationEvent::Departed { mobile: host, to: None });
                }
            }
        }
    }

    /// A scheme on `node` knows where a mobile host is.
    pub(super) fn learn_binding(&mut self, node: u32, host: Address, care_of: Address) {
        let now = self.now;
        let Some(roamer) = self.roamers.get_mut(node as usize) else { return };
        if let Some(cache) = &mut roamer.roles.correspondent {
            cache.learn(host, care_of, now);
            self.serve_roles(node);
        }
    }

    /// The packets that a foreign agent kept for a host go on.
    fn release(&mut self, node: u32, host: Address, decision: Decision) {
        let Some(host) = node_of(host).map(|host| host as u32) else { return };
        let count = self.roamers[node as usize].kept.len();
        for _ in 0..count {
            let Some((to, id)) = self.roamers[node as usize].kept.pop_front() else { return };
            if to == host {
                self.carry_out(decision, node, to, id);
            } else {
                self.roamers[node as usize].kept.push_back((to, id));
            }
        }
    }

    /// The MAC of an agent's node says whether it reaches a host; an agent that keeps packets acts on it.
    pub(super) fn note_reach(&mut self, node: u32, host: u32, up: bool) {
        let now = self.now;
        let Some(roamer) = self.roamers.get_mut(node as usize) else { return };
        if let Some(agent) = roamer.roles.foreign_agent.as_mut().filter(|agent| agent.keeps_packets()) {
            agent.handle_link(address_of(host as usize), up, now);
            self.serve_roles(node);
        }
    }
}
