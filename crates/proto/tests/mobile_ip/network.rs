//! A small deterministic network of the machines: cells, delays, losses, numbered packets and their fates.

use std::collections::{BTreeMap, BTreeSet};

use segue_proto::ip_state::IpEvent;
use segue_proto::mobile_ip::correspondent::{self, Correspondent};
use segue_proto::mobile_ip::foreign_agent::{self, ForeignAgent};
use segue_proto::mobile_ip::home_agent::{self, HomeAgent, RouteOptimisation};
use segue_proto::mobile_ip::mobile_node::{self, MobileNode, Start};
use segue_proto::mobile_ip::{
    Address, Decision, Delay, DropReason, Header, Lifetime, Message, Outgoing, Way, beacon,
};
use segue_proto::rng::Streams;
use segue_proto::time::{Duration, Instant};
use segue_proto::wire::mobile_ip as wire;

pub const HOME: Address = Address::new(10, 0, 0, 1);
pub const FA1: Address = Address::new(10, 1, 0, 1);
pub const FA2: Address = Address::new(10, 2, 0, 1);
pub const FA3: Address = Address::new(10, 3, 0, 1);
pub const HOST: Address = Address::new(10, 0, 0, 9);
pub const OTHER_HOST: Address = Address::new(10, 0, 0, 10);
pub const SENDER: Address = Address::new(10, 9, 0, 1);

const LINK_DELAY: Duration = Duration::from_millis(2);
const ROUTE_DELAY: Duration = Duration::from_millis(10);

pub fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    OnItsWay,
    Buffered,
    Delivered,
    /// Sent on a link whose cell the host had left.
    LostOnRadio,
    Dropped(DropReason),
}

/// One control message as it was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Instant,
    pub from: Address,
    pub to: Address,
    pub name: &'static str,
}

enum Item {
    Control { from: Address, to: Address, way: Way, message: Message },
    Packet { number: usize, at: Address, header: Header, hops: u32 },
    Move { host: Address, cells: Vec<Address> },
    Send { host: Address, every: Duration, until: Instant },
}

/// How the network is set up.
#[derive(Clone, Debug)]
pub struct Setup {
    pub node: mobile_node::Config,
    pub start: Start,
    pub beacon: beacon::Config,
    pub registration_delay: Delay,
    pub route_optimisation: Option<RouteOptimisation>,
    pub forward: bool,
    pub unreachable: foreign_agent::Unreachable,
    pub warn: foreign_agent::Warn,
    pub while_asking: correspondent::WhileAsking,
    pub max_visitors: usize,
    pub max_lifetime: Lifetime,
}

impl Setup {
    pub fn ns2() -> Self {
        Setup {
            node: mobile_node::Config::ns2(HOST, HOME),
            start: Start::AtHome,
            beacon: beacon::Config::ns2(Duration::ZERO),
            registration_delay: Delay::NONE,
            route_optimisation: None,
            forward: true,
            unreachable: foreign_agent::Unreachable::Drop,
            warn: foreign_agent::Warn::Correspondent,
            while_asking: correspondent::WhileAsking::KeepUsing,
            max_visitors: usize::MAX,
            max_lifetime: Lifetime(1_800),
        }
    }

    pub fn rfc5944() -> Self {
        Setup {
            node: mobile_node::Config::rfc5944(HOST, HOME),
            beacon: beacon::Config::rfc5944(Duration::ZERO),
            ..Setup::ns2()
        }
    }

    pub fn route_optimised(mut self) -> Self {
        self.route_optimisation = Some(RouteOptimisation::default());
        self.node.notify_previous_agent = Some(Lifetime(10));
        self
    }
}

pub struct Network {
    pub now: Instant,
    pub home: HomeAgent,
    pub agents: BTreeMap<Address, ForeignAgent>,
    pub hosts: BTreeMap<Address, MobileNode>,
    pub sender: Correspondent,
    pub cells: BTreeMap<Address, BTreeSet<Address>>,
    pub control: Vec<Sent>,
    pub fates: Vec<Fate>,
    pub ip_events: Vec<(Instant, Address, IpEvent)>,
    pub home_events: Vec<(Instant, home_agent::Event)>,
    pub agent_events: Vec<(Instant, Address, foreign_agent::Event)>,
    pub sender_events: Vec<(Instant, correspondent::Event)>,
    lose: Box<dyn FnMut(usize, Instant) -> bool>,
    queue: BTreeMap<(Instant, u64), Item>,
    inserted: u64,
    kept: BTreeMap<(Address, Address), Vec<usize>>,
    at_this_instant: u32,
}

impl Network {
    pub fn new(setup: &Setup) -> Self {
        let phased = |millis| beacon::Config { phase: Duration::from_millis(millis), ..setup.beacon };
        let agents = [(FA1, 200), (FA2, 500), (FA3, 800)].map(|(address, phase)| {
            let config = foreign_agent::Config {
                forward: setup.forward,
                unreachable: setup.unreachable,
                warn: setup.warn,
                max_visitors: setup.max_visitors,
                max_lifetime: setup.max_lifetime,
                ..foreign_agent::Config::new(address, phased(phase))
            };
            (address, ForeignAgent::new(config, Instant::ZERO))
        });
        let hosts = [HOST, OTHER_HOST].map(|home_address| {
            let config = mobile_node::Config { home_address, ..setup.node };
            (home_address, MobileNode::new(config, setup.start, Instant::ZERO))
        });
        let home = home_agent::Config {
            address: HOME,
            hosts: vec![HOST, OTHER_HOST],
            max_lifetime: Lifetime(1_800),
            registration_delay: setup.registration_delay,
            beacon: Some(phased(100)),
            route_optimisation: setup.route_optimisation,
        };
        let sender =
            correspondent::Config { while_asking: setup.while_asking, ..correspondent::Config::default() };
        Network {
            now: Instant::ZERO,
            home: HomeAgent::new(home, Streams::new(1).stream("home agent/registration"), Instant::ZERO),
            agents: agents.into(),
            hosts: hosts.into(),
            sender: Correspondent::new(sender),
            cells: [(HOST, [HOME].into()), (OTHER_HOST, [HOME].into())].into(),
            control: Vec::new(),
            fates: Vec::new(),
            ip_events: Vec::new(),
            home_events: Vec::new(),
            agent_events: Vec::new(),
            sender_events: Vec::new(),
            lose: Box::new(|_, _| false),
            queue: BTreeMap::new(),
            inserted: 0,
            kept: BTreeMap::new(),
            at_this_instant: 0,
        }
    }

    /// Loses the control transmissions (numbered from 0) for which `lose` says so.
    pub fn lose(&mut self, lose: impl FnMut(usize, Instant) -> bool + 'static) {
        self.lose = Box::new(lose);
    }

    /// From `when`, `host` hears exactly the agents of `cells`.
    pub fn move_at(&mut self, when: Instant, host: Address, cells: &[Address]) {
        self.push(when, Item::Move { host, cells: cells.to_vec() });
    }

    /// The correspondent sends a packet to `host` each `every`.
    pub fn traffic(&mut self, host: Address, start: Instant, every: Duration, until: Instant) {
        self.push(start, Item::Send { host, every, until });
    }

    pub fn run_until(&mut self, end: Instant) {
        self.pump();
        while let Some(next) = self.next_time().filter(|next| *next <= end) {
            self.at_this_instant = if next == self.now { self.at_this_instant + 1 } else { 0 };
            assert!(self.at_this_instant < 1_000, "time stands still at {next}");
            self.now = next;
            self.handle_timeouts();
            self.pump();
            while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= next) {
                let item = entry.remove();
                self.handle_item(item);
                self.pump();
            }
            self.check_deadlines();
        }
        self.now = end;
    }

    pub fn count(&self, fate: Fate) -> usize {
        self.fates.iter().filter(|f| **f == fate).count()
    }

    pub fn control_named(&self, name: &str) -> Vec<Sent> {
        self.control.iter().filter(|sent| sent.name == name).cloned().collect()
    }

    fn push(&mut self, when: Instant, item: Item) {
        self.queue.insert((when, self.inserted), item);
        self.inserted += 1;
    }

    fn next_time(&self) -> Option<Instant> {
        let mut times = vec![self.queue.keys().next().map(|(at, _)| *at)];
        times.push(self.home.poll_timeout().map(|(at, _)| at));
        times.push(self.sender.poll_timeout().map(|(at, _)| at));
        times.extend(self.agents.values().map(|agent| agent.poll_timeout().map(|(at, _)| at)));
        times.extend(self.hosts.values().map(|host| host.poll_timeout().map(|(at, _)| at)));
        times.into_iter().flatten().min().map(|at| at.max(self.now))
    }

    fn handle_timeouts(&mut self) {
        let now = self.now;
        self.home.handle_timeout(now);
        self.sender.handle_timeout(now);
        self.agents.values_mut().for_each(|agent| agent.handle_timeout(now));
        self.hosts.values_mut().for_each(|host| host.handle_timeout(now));
    }

    /// Carries away all that the machines have to say.
    fn pump(&mut self) {
        let now = self.now;
        let mut out: Vec<(Address, Outgoing)> = Vec::new();
        out.extend(std::iter::from_fn(|| self.home.poll_message()).map(|o| (HOME, o)));
        out.extend(std::iter::from_fn(|| self.sender.poll_message()).map(|o| (SENDER, o)));
        for (address, agent) in &mut self.agents {
            out.extend(std::iter::from_fn(|| agent.poll_message()).map(|o| (*address, o)));
        }
        for (address, host) in &mut self.hosts {
            out.extend(std::iter::from_fn(|| host.poll_message()).map(|o| (*address, o)));
            while let Some(event) = host.poll_event() {
                self.ip_events.push((now, *address, event));
            }
        }
        for (from, outgoing) in out {
            self.transmit(from, &outgoing);
        }
        self.home_events.extend(std::iter::from_fn(|| self.home.poll_event()).map(|e| (now, e)));
        self.sender_events.extend(std::iter::from_fn(|| self.sender.poll_event()).map(|e| (now, e)));
        let mut released = Vec::new();
        for (address, agent) in &mut self.agents {
            while let Some(event) = agent.poll_event() {
                self.agent_events.push((now, *address, event));
                if let foreign_agent::Event::Released { host, decision } = event {
                    released.push((*address, host, decision));
                }
            }
        }
        for (agent, host, decision) in released {
            let header = Header { src: SENDER, dst: host, tunnelled_by: Some(HOME) };
            let packets = self.kept.remove(&(agent, host)).unwrap_or_default();
            assert!(!packets.is_empty(), "released nothing");
            for number in packets {
                self.carry(number, agent, header, decision, 0);
            }
        }
    }

    fn transmit(&mut self, from: Address, outgoing: &Outgoing) {
        let receivers: Vec<Address> = match outgoing.to {
            Address::ALL_SYSTEMS => {
                self.cells.iter().filter(|(_, cells)| cells.contains(&from)).map(|(host, _)| *host).collect()
            }
            Address::ALL_ROUTERS => self.cells[&from].iter().copied().collect(),
            to => vec![to],
        };
        // What travels is bytes: each message must survive them.
        let bytes = wire::emit(&outgoing.message);
        let message = match wire::carrier(&outgoing.message) {
            wire::Carrier::Icmp => wire::parse_icmp(&bytes),
            wire::Carrier::Udp => wire::parse_udp(&bytes),
        }
        .expect("a message of ours parses");
        for to in receivers {
            let sent = Sent { at: self.now, from, to, name: message.name() };
            self.control.push(sent);
            if (self.lose)(self.control.len() - 1, self.now) {
                continue;
            }
            let delay = if outgoing.way == Way::Link { LINK_DELAY } else { ROUTE_DELAY };
            let item = Item::Control { from, to, way: outgoing.way, message: message.clone() };
            self.push(self.now + delay, item);
        }
    }

    fn handle_item(&mut self, item: Item) {
        let now = self.now;
        match item {
            Item::Move { host, cells } => {
                self.cells.insert(host, cells.into_iter().collect());
            }
            Item::Send { host, every, until } => {
                if now < until {
                    self.send(host);
                    self.push(now + every, Item::Send { host, every, until });
                }
            }
            Item::Control { from, to, way, message } => {
                let host = if self.hosts.contains_key(&to) { to } else { from };
                let agent = if host == to { from } else { to };
                if way == Way::Link && !self.cells[&host].contains(&agent) {
                    return;
                }
                if let Some(host) = self.hosts.get_mut(&to) {
                    host.handle_message(from, &message, now);
                } else if let Some(agent) = self.agents.get_mut(&to) {
                    agent.handle_message(from, &message, now);
                } else if to == HOME {
                    self.home.handle_message(from, &message, now);
                } else {
                    assert_eq!(to, SENDER, "{message:?}");
                    self.sender.handle_message(from, &message, now);
                }
            }
            Item::Packet { number, at, header, hops } => {
                let decision = match self.agents.get_mut(&at) {
                    Some(agent) => agent.handle_packet(header, now),
                    None => self.home.handle_packet(header, now),
                };
                self.carry(number, at, header, decision, hops);
            }
        }
    }

    fn send(&mut self, host: Address) {
        let number = self.fates.len();
        self.fates.push(Fate::OnItsWay);
        let header = Header { src: SENDER, dst: host, tunnelled_by: None };
        let decision = self.sender.handle_packet(header, self.now);
        self.carry(number, SENDER, header, decision, 0);
    }

    /// Does with a packet what the machine at `at` decided.
    fn carry(&mut self, number: usize, at: Address, header: Header, decision: Decision, hops: u32) {
        assert!(hops < 8, "packet {number} runs in a circle");
        assert!(
            matches!(self.fates[number], Fate::OnItsWay | Fate::Buffered),
            "packet {number} is handled after its end: {:?}",
            self.fates[number]
        );
        self.fates[number] = Fate::OnItsWay;
        match decision {
            Decision::TunnelTo(care_of) => {
                assert!(self.agents.contains_key(&care_of), "tunnel to {care_of}");
                let header = Header { tunnelled_by: Some(at), ..header };
                let item = Item::Packet { number, at: care_of, header, hops: hops + 1 };
                self.push(self.now + ROUTE_DELAY, item);
            }
            Decision::Forward => {
                let header = Header { tunnelled_by: None, ..header };
                self.push(self.now + ROUTE_DELAY, Item::Packet { number, at: HOME, header, hops: hops + 1 });
            }
            Decision::Buffer => {
                self.fates[number] = Fate::Buffered;
                self.kept.entry((at, header.dst)).or_default().push(number);
            }
            Decision::Drop(reason) => self.fates[number] = Fate::Dropped(reason),
            Decision::Deliver => {
                let heard = self.cells[&header.dst].contains(&at);
                self.fates[number] = if heard { Fate::Delivered } else { Fate::LostOnRadio };
            }
        }
    }

    /// Nobody waits without a deadline, and no deadline is left in the past.
    fn check_deadlines(&self) {
        let mut deadlines = vec![self.home.poll_timeout()];
        deadlines.extend(self.agents.values().map(ForeignAgent::poll_timeout));
        deadlines.extend(self.hosts.values().map(MobileNode::poll_timeout));
        for deadline in deadlines {
            let (at, reason) = deadline.expect("a host or agent always waits for something");
            assert!(at > self.now && !reason.is_empty(), "{reason} at {at}, now {}", self.now);
        }
        for host in self.hosts.keys() {
            if self.sender.care_of(*host, self.now).is_some() {
                assert!(self.sender.poll_timeout().is_some(), "a cached binding must end");
            }
        }
    }
}
