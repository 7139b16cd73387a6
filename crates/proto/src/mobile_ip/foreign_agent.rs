//! The foreign agent: care-of address and last hop of the hosts that visit its link.
//!
//! RFC 5944 §3.7 (registration), §4.2.2 (routing); draft-ietf-mobileip-optim for smooth handoff (previous foreign agent
//! notification), forwarding by the binding cache, and binding warnings.
//!
//! ## State table, for each host
//! | state × event | action | next |
//! |---|---|---|
//! | any × request | relay to the home agent; tell the previous agent if asked | pending (beside what it was) |
//! | pending × reply accepted | relay to the host, event `Registered` | VISITOR |
//! | pending × reply denied, or no reply in time | relay if there is one | VISITOR if it was, else GONE |
//! | VISITOR × newer binding update | acknowledge, event `Departed`, release the buffer into the tunnel | FORWARDED |
//! | VISITOR × lifetime over | event `Expired` | GONE |
//! | FORWARDED × cache lifetime over | – | GONE |
//! | GONE × 120 s over | forget the host | – |
//!
//! | packet for a host that is | goes |
//! |---|---|
//! | VISITOR or pending, link up | to the host |
//! | VISITOR or pending, link down | buffer or drop (choice); now and then one to the host, to see whether it is back |
//! | FORWARDED | into a tunnel to the new agent; home: by routing |
//! | GONE, or unknown but tunnelled here | buffer or drop (choice), unknown: drop |
//! | unknown and not tunnelled | by routing |
//!
//! A correspondent that itself tunnelled a packet for a host that is not here gets a binding warning.
//!
//! ## Why forwarding makes no loops
//! A binding update is only believed if its identification is above that of the last request of the host that was seen
//! here, and a request clears the forwarding entry. Along any chain of forwarding agents the identification grows.
//! GONE keeps the identification for longer than any packet lives (RFC 793: 2 minutes).
//!
//! ## Differences
//! * The previous agent is told when the request passes, as the Wi-TCP paper has it, not when the reply does; packets
//!   may arrive before the reply, so a pending host is served.
//! * The acknowledgement of the previous agent ends here; the draft relays it to the host.
//! * There is no special tunnel back to the home agent: a packet that cannot be forwarded is buffered or dropped.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::beacon::{self, Beacon};
use super::message::{
    AgentAdvertisement, AgentFlags, BindingAcknowledgement, BindingUpdate, BindingWarning, Lifetime, Message,
    RegistrationReply, RegistrationRequest, ReplyCode,
};
use super::recent::Recent;
use super::update::UpdateSender;
use super::{Address, Decision, DropReason, Header, Outgoing, earliest};
use crate::time::{Duration, Instant};

/// What happens to packets for a host that cannot be reached and is not known to be elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreachable {
    /// They are dropped.
    #[default]
    Drop,
    /// They wait until the host is back, is known to be elsewhere, or `patience` is over.
    Buffer {
        /// Most packets kept for one host.
        packets: u32,
        /// Longest time that the oldest one waits.
        patience: Duration,
        /// How often a packet is sent to a host out of reach, to see whether it is back; `None` if the link layer says
        /// so by itself. A host that only receives would otherwise never be found again.
        probe: Option<Duration>,
    },
}

/// Who is told that a correspondent uses an old binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Warn {
    /// Nobody.
    Nobody,
    /// The correspondent (the Wi-TCP paper).
    #[default]
    Correspondent,
    /// The home agent, which then updates the correspondent (late versions of the draft).
    HomeAgent,
}

/// How a foreign agent behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Its address: on the link, in the network, and as care-of address.
    pub address: Address,
    /// How it advertises.
    pub beacon: beacon::Config,
    /// The longest registration that it accepts.
    pub max_lifetime: Lifetime,
    /// Most hosts at a time.
    pub max_visitors: usize,
    /// How long it waits for a reply to a relayed request.
    pub pending_timeout: Duration,
    /// Forwards packets to where a binding update said that the host went; otherwise the update only ends the visit.
    pub forward: bool,
    /// Packets for hosts out of reach.
    pub unreachable: Unreachable,
    /// Binding warnings.
    pub warn: Warn,
    /// At most one warning per correspondent, host and interval.
    pub warning_interval: Duration,
}

impl Config {
    /// An agent that advertises as `beacon` says, forwards, drops what it cannot forward, and warns correspondents.
    pub fn new(address: Address, beacon: beacon::Config) -> Self {
        Config {
            address,
            beacon,
            max_lifetime: beacon.registration_lifetime,
            max_visitors: usize::MAX,
            pending_timeout: Duration::from_secs(7),
            forward: true,
            unreachable: Unreachable::Drop,
            warn: Warn::Correspondent,
            warning_interval: Duration::from_secs(1),
        }
    }
}

/// What happened to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Its registration here was accepted; said again at each renewal.
    Registered {
        /// The host.
        host: Address,
        /// Where it was before, if it said so.
        previous_agent: Option<Address>,
    },
    /// It has gone to `care_of`.
    Departed {
        /// The host.
        host: Address,
        /// Its new agent; its home address if it went home.
        care_of: Address,
    },
    /// It was not heard of until its lifetime was over.
    Expired {
        /// The host.
        host: Address,
    },
    /// All packets that were buffered for it are to be treated so.
    Released {
        /// The host.
        host: Address,
        /// Never [`Decision::Buffer`].
        decision: Decision,
    },
}

/// GONE is kept for so long.
const REMEMBER: Duration = Duration::from_secs(120);

/// Where a host is, as this agent knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Visitor { expires: Instant },
    Forwarded { care_of: Address, expires: Instant },
    Gone { forget_at: Instant },
}

impl Place {
    fn deadline(self) -> Instant {
        match self {
            Place::Visitor { expires } | Place::Forwarded { expires, .. } => expires,
            Place::Gone { forget_at } => forget_at,
        }
    }
}

/// A relayed request without reply.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Identifications of its first and last transmission.
    first: u64,
    last: u64,
    until: Instant,
    previous_agent: Option<Address>,
}

/// One host.
#[derive(Clone, Copy, Debug)]
struct Host {
    home_agent: Address,
    place: Place,
    pending: Option<Pending>,
    /// Of its last request or of the binding update that ended its visit.
    identification: u64,
    link_up: bool,
    /// When the next packet is sent although the link is down, to see whether the host is back.
    probe_at: Instant,
    /// Packets that the driver keeps for it.
    buffered: u32,
    release_at: Instant,
    /// The deadline that the agent knows of.
    deadline: Instant,
}

impl Host {
    /// When it wants [`ForeignAgent::age`], and why.
    fn next_deadline(&self) -> (Instant, &'static str) {
        let unanswered = self.pending.map_or(Instant::MAX, |pending| pending.until);
        let deadlines = [
            (unanswered, "registration unanswered"),
            (self.place.deadline(), "visitor or forwarding entry expires"),
            (self.release_at, "buffered packets wait too long"),
        ];
        earliest(&deadlines).unwrap_or((Instant::MAX, ""))
    }

    fn is_here(&self) -> bool {
        self.pending.is_some() || matches!(self.place, Place::Visitor { .. })
    }
}

/// One foreign agent.
#[derive(Clone, Debug)]
pub struct ForeignAgent {
    config: Config,
    hosts: BTreeMap<Address, Host>,
    /// The deadlines of the hosts, so that nobody needs to ask them all at each packet.
    deadlines: BTreeSet<(Instant, Address)>,
    beacon: Beacon,
    updates: UpdateSender,
    /// Of which correspondents somebody was warned.
    warned: Recent<()>,
    outbox: VecDeque<Outgoing>,
    events: VecDeque<Event>,
}

impl ForeignAgent {
    /// An agent without visitors.
    pub fn new(config: Config, now: Instant) -> Self {
        let advertisement = AgentAdvertisement {
            agent: config.address,
            lifetime_secs: 0,
            sequence: 0,
            registration_lifetime: Lifetime::ZERO,
            flags: AgentFlags { foreign_agent: true, registration_required: true, ..AgentFlags::default() },
            care_of: vec![config.address],
        };
        ForeignAgent {
            config,
            hosts: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            beacon: Beacon::new(config.beacon, advertisement, now),
            updates: UpdateSender::default(),
            warned: Recent::new(config.warning_interval),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Takes a control message that came from the (outer) address `from`.
    pub fn handle_message(&mut self, from: Address, message: &Message, now: Instant) {
        match message {
            Message::AgentSolicitation => {
                let busy = self.is_busy();
                self.outbox.push_back(self.beacon.advertise(from, busy));
            }
            Message::RegistrationRequest(request) => self.handle_request(request, now),
            Message::RegistrationReply(reply) => self.handle_reply(reply, now),
            Message::BindingUpdate(update) => self.handle_update(from, update, now),
            Message::BindingAcknowledgement(acknowledgement) => {
                self.updates.handle_acknowledgement(from, *acknowledgement);
            }
            Message::AgentAdvertisement(_) | Message::BindingRequest(_) | Message::BindingWarning(_) => {}
        }
    }

    /// Where a packet goes that came out of a tunnel here, or passes by.
    pub fn handle_packet(&mut self, header: Header, now: Instant) -> Decision {
        let Some(host) = self.hosts.get_mut(&header.dst) else {
            if header.tunnelled_by.is_none() {
                return Decision::Forward;
            }
            self.warn(header, None, now);
            return Decision::Drop(DropReason::NotHere);
        };
        if host.is_here() && host.link_up {
            return Decision::Deliver;
        }
        if host.is_here() {
            return self.keep(header.dst, now);
        }
        let (home_agent, place) = (host.home_agent, host.place);
        self.warn(header, Some(home_agent), now);
        match place {
            Place::Forwarded { care_of, expires } if now < expires && care_of == header.dst => {
                Decision::Forward
            }
            Place::Forwarded { care_of, expires } if now < expires => Decision::TunnelTo(care_of),
            // A plain packet for a host that is not here is no business of ours.
            _ if header.tunnelled_by.is_none() => Decision::Forward,
            _ => self.keep(header.dst, now),
        }
    }

    /// The link layer says whether it can reach `host`. Without such reports a visitor is taken to be in reach.
    pub fn handle_link(&mut self, host: Address, up: bool, now: Instant) {
        let probe = match self.config.unreachable {
            Unreachable::Buffer { probe, .. } => probe,
            Unreachable::Drop => None,
        };
        if let Some(entry) = self.hosts.get_mut(&host) {
            if entry.link_up && !up {
                entry.probe_at = probe.map_or(Instant::MAX, |interval| now + interval);
            }
            entry.link_up = up;
            if up && entry.is_here() {
                self.release(host, Decision::Deliver);
            }
        }
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let busy = self.is_busy();
        self.outbox.extend(self.beacon.handle_timeout(busy, now));
        self.updates.handle_timeout(&mut self.outbox, now);
        while let Some(&(_, host)) = self.deadlines.first().filter(|(at, _)| *at <= now) {
            self.age(host, now);
            self.note_deadline(host);
        }
    }

    /// The next control message.
    pub fn poll_message(&mut self) -> Option<Outgoing> {
        self.outbox.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call [`Self::handle_timeout`], and why.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let first = self.deadlines.first().and_then(|(_, host)| self.hosts.get(host));
        let of_hosts = first.map_or((Instant::MAX, ""), Host::next_deadline);
        earliest(&[self.beacon.deadline(), of_hosts, self.updates.deadline()])
    }

    /// Whether it keeps packets for hosts out of reach, and so has a use for [`Self::handle_link`].
    pub fn keeps_packets(&self) -> bool {
        self.config.unreachable != Unreachable::Drop
    }

    /// Whether `host` is registered here.
    pub fn is_visited_by(&self, host: Address) -> bool {
        self.hosts.get(&host).is_some_and(|host| matches!(host.place, Place::Visitor { .. }))
    }

    /// Hosts with an entry of any kind.
    pub fn entries(&self) -> usize {
        self.hosts.len()
    }

    fn is_busy(&self) -> bool {
        let most = self.config.max_visitors;
        self.hosts.len() >= most && self.hosts.values().filter(|host| host.is_here()).count() >= most
    }

    /// RFC 5944 §3.7.2: checks a request, remembers it and relays it.
    fn handle_request(&mut self, request: &RegistrationRequest, now: Instant) {
        let host = request.home_address;
        let here = self.hosts.get(&host).is_some_and(Host::is_here);
        let refusal = if request.lifetime > self.config.max_lifetime {
            Some(ReplyCode::LIFETIME_TOO_LONG)
        } else if request.flags.minimal_encapsulation || request.flags.gre_encapsulation {
            Some(ReplyCode::ENCAPSULATION_UNAVAILABLE)
        } else if request.care_of != self.config.address {
            Some(ReplyCode::INVALID_CARE_OF_ADDRESS)
        } else if !here && self.is_busy() {
            Some(ReplyCode::AGENT_FULL)
        } else {
            None
        };
        if let Some(code) = refusal {
            let reply = RegistrationReply {
                code,
                lifetime: self.config.max_lifetime,
                home_address: host,
                home_agent: request.home_agent,
                identification: request.identification,
            };
            self.outbox.push_back(Outgoing::link(host, reply));
            return;
        }
        if self.hosts.get(&host).is_some_and(|entry| request.identification <= entry.identification) {
            return; // A copy, or older than what is known.
        }
        self.note_request(request, now);
        self.outbox.push_back(Outgoing::routed(request.home_agent, *request));
        if let Some(previous) = request.previous_agent.filter(|p| p.agent != self.config.address) {
            let update = BindingUpdate {
                acknowledge: true,
                minimal_encapsulation: false,
                gre_encapsulation: false,
                lifetime: previous.cache_lifetime,
                home_address: host,
                care_of: self.config.address,
                identification: Some(request.identification),
            };
            self.updates.send(previous.agent, update, &mut self.outbox, now);
        }
    }

    /// Enters a relayed request into the list of hosts.
    fn note_request(&mut self, request: &RegistrationRequest, now: Instant) {
        let forget_at = now + REMEMBER;
        let host = self.hosts.entry(request.home_address).or_insert(Host {
            home_agent: request.home_agent,
            place: Place::Gone { forget_at },
            pending: None,
            identification: 0,
            link_up: true,
            probe_at: Instant::ZERO,
            buffered: 0,
            release_at: Instant::MAX,
            deadline: Instant::MAX,
        });
        host.home_agent = request.home_agent;
        host.identification = request.identification;
        host.link_up = true;
        if !matches!(host.place, Place::Visitor { .. }) {
            host.place = Place::Gone { forget_at };
        }
        host.pending = Some(Pending {
            first: host.pending.map_or(request.identification, |pending| pending.first),
            last: request.identification,
            until: now + self.config.pending_timeout,
            previous_agent: request.previous_agent.map(|previous| previous.agent),
        });
        self.release(request.home_address, Decision::Deliver);
    }

    /// RFC 5944 §3.7.3: relays a reply to the host that waits for it.
    fn handle_reply(&mut self, reply: &RegistrationReply, now: Instant) {
        let address = reply.home_address;
        let Some(host) = self.hosts.get_mut(&address) else { return };
        let Some(pending) = host.pending else { return };
        if !(pending.first..=pending.last).contains(&reply.identification) {
            return;
        }
        host.pending = None;
        if reply.code.is_accepted() {
            if reply.lifetime == Lifetime::ZERO {
                host.place = Place::Gone { forget_at: now + REMEMBER };
            } else {
                host.place = Place::Visitor { expires: now + reply.lifetime.as_duration() };
                let previous_agent = pending.previous_agent;
                self.events.push_back(Event::Registered { host: address, previous_agent });
            }
        }
        self.note_deadline(address);
        self.outbox.push_back(Outgoing::link(address, *reply));
    }

    /// The host's new agent, or its home agent, says where it went.
    fn handle_update(&mut self, from: Address, update: &BindingUpdate, now: Instant) {
        let address = update.home_address;
        let identification = update.identification.unwrap_or(0);
        if update.acknowledge {
            let acknowledgement = BindingAcknowledgement { status: 0, home_address: address, identification };
            self.outbox.push_back(Outgoing::routed(from, acknowledgement));
        }
        let Some(host) = self.hosts.get_mut(&address) else { return };
        if identification <= host.identification {
            return;
        }
        host.identification = identification;
        host.pending = None;
        let forwards = self.config.forward && update.lifetime > Lifetime::ZERO;
        let decision = if !forwards {
            host.place = Place::Gone { forget_at: now + REMEMBER };
            None
        } else {
            let expires = now + update.lifetime.as_duration();
            host.place = Place::Forwarded { care_of: update.care_of, expires };
            let goes_home = update.care_of == address;
            Some(if goes_home { Decision::Forward } else { Decision::TunnelTo(update.care_of) })
        };
        self.events.push_back(Event::Departed { host: address, care_of: update.care_of });
        match decision {
            Some(decision) => self.release(address, decision),
            None => self.note_deadline(address),
        }
    }

    /// Buffers or drops a packet for a known host that cannot be reached.
    fn keep(&mut self, address: Address, now: Instant) -> Decision {
        let Unreachable::Buffer { packets, patience, probe } = self.config.unreachable else {
            return Decision::Drop(DropReason::NotHere);
        };
        let Some(host) = self.hosts.get_mut(&address) else { return Decision::Drop(DropReason::NotHere) };
        if let Some(interval) = probe.filter(|_| host.is_here() && host.probe_at <= now) {
            host.probe_at = now + interval;
            return Decision::Deliver;
        }
        if host.buffered >= packets {
            return Decision::Drop(DropReason::BufferFull);
        }
        if host.buffered == 0 {
            host.release_at = now + patience;
        }
        host.buffered += 1;
        self.note_deadline(address);
        Decision::Buffer
    }

    /// Enters the deadline of a host into the list, if it has changed.
    fn note_deadline(&mut self, address: Address) {
        let Some(host) = self.hosts.get_mut(&address) else { return };
        let (at, _) = host.next_deadline();
        let before = std::mem::replace(&mut host.deadline, at);
        if before != at {
            self.deadlines.remove(&(before, address));
            self.deadlines.insert((at, address));
        }
    }

    fn forget(&mut self, address: Address) {
        if let Some(host) = self.hosts.remove(&address) {
            self.deadlines.remove(&(host.deadline, address));
        }
    }

    /// Says what becomes of the packets buffered for a host.
    fn release(&mut self, address: Address, decision: Decision) {
        if let Some(host) = self.hosts.get_mut(&address).filter(|host| host.buffered > 0) {
            host.buffered = 0;
            host.release_at = Instant::MAX;
            self.events.push_back(Event::Released { host: address, decision });
        }
        self.note_deadline(address);
    }

    /// Serves the deadlines of one host.
    fn age(&mut self, address: Address, now: Instant) {
        let Some(host) = self.hosts.get_mut(&address) else { return };
        if host.pending.is_some_and(|pending| pending.until <= now) {
            host.pending = None;
        }
        let gives_up_packets = host.release_at <= now;
        let over = host.place.deadline() <= now;
        match host.place {
            Place::Gone { .. } if over && host.pending.is_none() => {
                self.release(address, Decision::Drop(DropReason::WaitedTooLong));
                self.forget(address);
                return;
            }
            Place::Visitor { .. } if over => {
                host.place = Place::Gone { forget_at: now + REMEMBER };
                self.events.push_back(Event::Expired { host: address });
            }
            Place::Forwarded { .. } | Place::Gone { .. } if over => {
                host.place = Place::Gone { forget_at: now + REMEMBER };
            }
            _ => {}
        }
        if gives_up_packets {
            self.release(address, Decision::Drop(DropReason::WaitedTooLong));
        }
    }

    /// Warns of a correspondent that has tunnelled a packet here by an old binding.
    fn warn(&mut self, header: Header, home_agent: Option<Address>, now: Instant) {
        // A packet from another tunnel was sent by an agent, which learns where the host is in its own ways.
        if header.tunnelled_by != Some(header.src) {
            return;
        }
        let (to, targets) = match (self.config.warn, home_agent) {
            (Warn::Correspondent, _) => (header.src, Vec::new()),
            (Warn::HomeAgent, Some(home_agent)) => (home_agent, vec![header.src]),
            (Warn::HomeAgent, None) | (Warn::Nobody, _) => return,
        };
        if !self.warned.is_news((header.src, header.dst), (), now) {
            return;
        }
        self.outbox.push_back(Outgoing::routed(to, BindingWarning { home_address: header.dst, targets }));
    }
}
