//! The mobile host's half of Mobile IPv4: which agent to use, and telling the home agent.
//!
//! RFC 5944 §2.4 (agent discovery and movement detection), §3.6 (registration), \[Chinta §3.3.3\] for what it reports.
//!
//! ## State table
//! | state × event | action | next |
//! |---|---|---|
//! | SEARCHING × advertisement | request registration (home: deregistration) | REGISTERING |
//! | SEARCHING × solicitation timer, or link found | solicit | SEARCHING |
//! | REGISTERING × reply accepted | `RegistrationConfirmed` | REGISTERED, at home AT_HOME |
//! | REGISTERING × retransmission timer | request with a new identification | REGISTERING |
//! | REGISTERING × reply denied | try again at the retransmission timer; lifetime too long: at once with the one offered | REGISTERING |
//! | REGISTERED × refresh due | request; the state holds | REGISTERED |
//! | REGISTERED × lifetime over | `AttachmentLost`, request | REGISTERING |
//! | any × advertisement of a new agent, eager | `AttachmentLost`, request there | REGISTERING |
//! | any × advertisement of a new agent, lazy | remember it | – |
//! | any × current agent forgotten, another known | `AttachmentLost`, request there | REGISTERING |
//! | any × current agent forgotten, none known | `AttachmentLost`, solicit | SEARCHING |
//! | SEARCHING × home advertisement, never registered since home | `RegistrationConfirmed` | AT_HOME |
//!
//! Every state has a deadline: SEARCHING the next solicitation, REGISTERING the next transmission, REGISTERED and
//! AT_HOME the end of the agent's advertisement.
//!
//! ## Differences
//! * A reply to any transmission of the outstanding request is accepted; RFC 5944 §3.6.2 knows only the latest. With
//!   ns-2's fixed retry of 0.5 s and a home agent that takes longer, no registration would ever succeed.
//! * Retransmissions have no upper number; the longest wait is the requested lifetime (RFC 5944 §3.6.3).
//! * The previous agent is that of the last accepted registration. An agent whose reply was lost on the link believes
//!   in its visitor until the lifetime ends; registration revocation (RFC 3543) would help, and is not modelled.
//! * Eager switching is ns-2's: on an advertisement of an agent that is not remembered. Between two agents that are
//!   both heard the host stays where it is until one is forgotten.
//!
//! ## Not modelled
//! Network prefixes as movement hints (RFC 5944 §2.4.2.2), co-located care-of addresses, home agent discovery,
//! resynchronisation of clocks by a reply with code 133: all clocks are one. A live client would need the last two.

use std::collections::{BTreeMap, VecDeque};

use super::message::{
    AgentAdvertisement, Lifetime, Message, PreviousAgentNotification, RegistrationReply, RegistrationRequest,
    ReplyCode, RequestFlags,
};
use super::{Address, Decision, DropReason, Header, Outgoing, earliest, next_identification, next_tick};
use crate::ip_state::IpEvent;
use crate::time::{Duration, Instant};

/// When the host changes agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detection {
    /// As soon as an agent is heard that was not known (ns-2).
    #[default]
    Eager,
    /// When the current agent is lost (RFC 5944 §2.4.2.1).
    Lazy,
}

/// When an agent that is no longer heard is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentTimeout {
    /// After the lifetime in its last advertisement (RFC 5944 §2.4.2.1).
    Advertised,
    /// This long after its last advertisement.
    After(Duration),
    /// At the first test more than `after` from its last advertisement; tests are at `phase`, `phase + every`, … (ns-2).
    Tested {
        /// Age at which a test forgets it.
        after: Duration,
        /// Time between tests.
        every: Duration,
        /// Time of the first test.
        phase: Duration,
    },
}

impl AgentTimeout {
    /// After `count` beacons in a row did not come; half a period of grace keeps a late one from counting as lost.
    pub fn missed_beacons(count: u64, period: Duration) -> Self {
        AgentTimeout::After(period * count + period / 2)
    }
}

/// How often the host solicits while it knows no agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solicitation {
    /// Time between solicitations.
    pub interval: Duration,
    /// Solicitations at this interval; then it doubles up to a minute (RFC 5944 §2.4: three). `u32::MAX`: never.
    pub before_backoff: u32,
}

/// How a request without reply is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retransmission {
    /// The wait doubles each time (RFC 5944 §3.6.3, where the first is at least 1 s).
    Doubling {
        /// First wait.
        first: Duration,
    },
    /// Always the same wait (ns-2: 0.5 s).
    Fixed(Duration),
}

/// When a registration is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// At each advertisement of the current agent (ns-2).
    EachAdvertisement,
    /// When three quarters of its lifetime are over.
    BeforeExpiry,
}

/// How a mobile node behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The address that it keeps.
    pub home_address: Address,
    /// Its home agent.
    pub home_agent: Address,
    /// When it changes agents.
    pub detection: Detection,
    /// When it forgets agents.
    pub agent_timeout: AgentTimeout,
    /// How it looks for agents.
    pub solicitation: Solicitation,
    /// How it repeats requests.
    pub retransmission: Retransmission,
    /// The lifetime that it asks for, unless the agent offers less. Not zero.
    pub lifetime: Lifetime,
    /// When it renews.
    pub refresh: Refresh,
    /// Asks the new agent to tell the previous one, which may forward for so long.
    pub notify_previous_agent: Option<Lifetime>,
}

impl Config {
    /// ns-2's values: eager, beacons of 1 s tested once per second, solicitation and retry each 0.5 s, lifetime 2 s.
    pub fn ns2(home_address: Address, home_agent: Address) -> Self {
        let second = Duration::from_secs(1);
        let half = Duration::from_millis(500);
        Config {
            home_address,
            home_agent,
            detection: Detection::Eager,
            agent_timeout: AgentTimeout::Tested { after: second, every: second, phase: Duration::ZERO },
            solicitation: Solicitation { interval: half, before_backoff: u32::MAX },
            retransmission: Retransmission::Fixed(half),
            lifetime: Lifetime(2),
            refresh: Refresh::EachAdvertisement,
            notify_previous_agent: None,
        }
    }

    /// The values of RFC 5944: lazy, advertised lifetimes, first retransmission after 1 s, lifetime half an hour.
    pub fn rfc5944(home_address: Address, home_agent: Address) -> Self {
        let second = Duration::from_secs(1);
        Config {
            detection: Detection::Lazy,
            agent_timeout: AgentTimeout::Advertised,
            solicitation: Solicitation { interval: second, before_backoff: 3 },
            retransmission: Retransmission::Doubling { first: second },
            lifetime: Lifetime(1_800),
            refresh: Refresh::BeforeExpiry,
            ..Config::ns2(home_address, home_agent)
        }
    }
}

/// Where a host begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// On its home link.
    AtHome,
    /// Somewhere, with no agent heard yet.
    Away,
}

/// What a host is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// On the home link, with no binding.
    AtHome,
    /// No agent is heard.
    Searching,
    /// A request (or a deregistration at home) is out, and no registration is valid here.
    Registering,
    /// The home agent knows the current care-of address.
    Registered,
}

/// Longest wait between solicitations (RFC 5944 §2.4).
const MAX_SOLICITATION_INTERVAL: Duration = Duration::from_secs(60);
/// How long the home agent is believed to be there at a start at home when only advertisements tell lifetimes: three
/// periods of a second (RFC 5944 §2.3).
const INITIAL_ADVERTISEMENT_LIFETIME: Duration = Duration::from_secs(3);

/// An agent that was heard.
#[derive(Clone, Copy, Debug)]
struct Agent {
    care_of: Address,
    last_heard: Instant,
    forget_at: Instant,
    registration_lifetime: Lifetime,
    sequence: u16,
}

/// A request without reply.
#[derive(Clone, Copy, Debug)]
struct Pending {
    /// Identification of its first transmission.
    first: u64,
    /// Identification of its last transmission.
    last: u64,
    /// Lifetime asked for; zero to deregister.
    lifetime: Lifetime,
    wait: Duration,
    resend_at: Instant,
}

/// An accepted registration.
#[derive(Clone, Copy, Debug)]
struct Registration {
    expires: Instant,
    refresh_at: Instant,
}

/// One mobile host's client.
#[derive(Clone, Debug)]
pub struct MobileNode {
    config: Config,
    state: State,
    /// Agents heard and not yet forgotten.
    agents: BTreeMap<Address, Agent>,
    /// The agent in use; the home agent at home.
    current: Option<Address>,
    /// Care-of address of the last accepted registration.
    previous: Option<Address>,
    /// Whether the home agent may hold a binding, so that coming home needs a deregistration.
    may_be_bound: bool,
    pending: Option<Pending>,
    registration: Option<Registration>,
    solicit_at: Instant,
    solicitations: u32,
    solicitation_wait: Duration,
    last_identification: u64,
    outbox: VecDeque<Outgoing>,
    events: VecDeque<IpEvent>,
}

impl MobileNode {
    /// A host that starts at home or away.
    pub fn new(config: Config, start: Start, now: Instant) -> Self {
        let mut node = MobileNode {
            config,
            state: State::Searching,
            agents: BTreeMap::new(),
            current: None,
            previous: None,
            may_be_bound: start == Start::Away,
            pending: None,
            registration: None,
            solicit_at: now,
            solicitations: 0,
            solicitation_wait: config.solicitation.interval,
            last_identification: 0,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        };
        if start == Start::AtHome {
            let home = Agent {
                care_of: config.home_address,
                last_heard: now,
                forget_at: node.forget_at(INITIAL_ADVERTISEMENT_LIFETIME, now),
                registration_lifetime: Lifetime::FOR_EVER,
                sequence: 0,
            };
            node.agents.insert(config.home_agent, home);
            node.current = Some(config.home_agent);
            node.state = State::AtHome;
            node.solicit_at = Instant::MAX;
        }
        node
    }

    /// Takes an advertisement or a reply; other messages are not for a host.
    pub fn handle_message(&mut self, _from: Address, message: &Message, now: Instant) {
        match message {
            Message::AgentAdvertisement(advertisement) => self.handle_advertisement(advertisement, now),
            Message::RegistrationReply(reply) => self.handle_reply(reply, now),
            _ => {}
        }
    }

    /// What to do with a packet that reached this host.
    pub fn handle_packet(&self, header: Header, _now: Instant) -> Decision {
        if header.dst == self.config.home_address {
            Decision::Deliver
        } else {
            Decision::Drop(DropReason::NotHere)
        }
    }

    /// The link layer says that the current agent is out of reach: no need to wait for missing beacons.
    pub fn handle_link_lost(&mut self, now: Instant) {
        if let Some(current) = self.current {
            self.agents.remove(&current);
            self.change_agent(now);
        }
    }

    /// The link layer has joined a network: a host that searches asks at once who is there.
    pub fn handle_link_found(&mut self, now: Instant) {
        if self.state == State::Searching {
            self.solicit_at = now;
        }
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.agents.retain(|_, agent| now < agent.forget_at);
        if self.current.is_some_and(|current| !self.agents.contains_key(&current)) {
            self.change_agent(now);
        }
        if let Some(registration) = self.registration {
            if registration.expires <= now {
                self.registration = None;
                self.state = State::Registering;
                self.events.push_back(IpEvent::AttachmentLost);
                if self.pending.is_none() {
                    self.request(now);
                }
            } else if registration.refresh_at <= now && self.pending.is_none() {
                self.request(now);
            }
        }
        if self.pending.is_some_and(|pending| pending.resend_at <= now) {
            self.retransmit(now);
        }
        if self.solicit_at <= now {
            self.solicit(now);
        }
    }

    /// The next control message.
    pub fn poll_message(&mut self) -> Option<Outgoing> {
        self.outbox.pop_front()
    }

    /// The next report for [`crate::ip_state::IpState`].
    pub fn poll_event(&mut self) -> Option<IpEvent> {
        self.events.pop_front()
    }

    /// When to call [`Self::handle_timeout`], and why.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let forget = self.agents.values().map(|agent| agent.forget_at).min();
        let refresh = self.registration.filter(|_| self.pending.is_none()).map(|r| r.refresh_at);
        earliest(&[
            (forget.unwrap_or(Instant::MAX), "agent not heard"),
            (self.registration.map_or(Instant::MAX, |r| r.expires), "registration expires"),
            (refresh.unwrap_or(Instant::MAX), "registration to renew"),
            (self.pending.map_or(Instant::MAX, |p| p.resend_at), "registration request unanswered"),
            (self.solicit_at, "no agent heard"),
        ])
    }

    /// What the host is doing.
    pub fn state(&self) -> State {
        self.state
    }

    /// The agent in use, to which the host sends all its packets; the home agent at home.
    pub fn agent(&self) -> Option<Address> {
        self.current
    }

    /// Whether IP is stable: at home, or registered.
    pub fn is_stable(&self) -> bool {
        matches!(self.state, State::AtHome | State::Registered)
    }

    fn handle_advertisement(&mut self, advertisement: &AgentAdvertisement, now: Instant) {
        let agent = advertisement.agent;
        let is_home = agent == self.config.home_agent;
        let care_of = if is_home {
            self.config.home_address
        } else {
            match advertisement.care_of.first() {
                Some(care_of) if advertisement.flags.foreign_agent => *care_of,
                _ => return,
            }
        };
        let known = self.agents.get(&agent).copied();
        let is_current = self.current == Some(agent);
        // RFC 5944 §2.1.1: a busy agent serves those that are registered, and nobody else.
        if advertisement.flags.busy && !is_current && !is_home {
            return;
        }
        let lifetime = Duration::from_secs(u64::from(advertisement.lifetime_secs));
        let heard = Agent {
            care_of,
            last_heard: now,
            forget_at: self.forget_at(lifetime, now),
            registration_lifetime: advertisement.registration_lifetime,
            sequence: advertisement.sequence,
        };
        self.agents.insert(agent, heard);
        // RFC 5944 §2.3.2: a number that falls below 256 is a restart; a roll-over goes to 256.
        let restarted =
            known.is_some_and(|k| advertisement.sequence < k.sequence && advertisement.sequence < 256);
        if !is_current {
            let is_new = known.is_none();
            if self.current.is_none() || (is_new && self.config.detection == Detection::Eager) {
                self.attach(agent, now);
            }
        } else if restarted && self.state == State::Registered {
            self.attach(agent, now);
        } else if self.state == State::Registered
            && self.config.refresh == Refresh::EachAdvertisement
            && self.pending.is_none()
        {
            self.request(now);
        }
    }

    fn handle_reply(&mut self, reply: &RegistrationReply, now: Instant) {
        let Some(pending) = self.pending else { return };
        let Some(current) = self.current else { return };
        if reply.home_address != self.config.home_address
            || reply.home_agent != self.config.home_agent
            || !(pending.first..=pending.last).contains(&reply.identification)
        {
            return;
        }
        let deregisters = pending.lifetime == Lifetime::ZERO;
        if reply.code.is_accepted() && deregisters {
            self.pending = None;
            self.registration = None;
            self.state = State::AtHome;
            self.may_be_bound = false;
            self.previous = None;
            self.events.push_back(IpEvent::RegistrationConfirmed);
        } else if reply.code.is_accepted() && reply.lifetime > Lifetime::ZERO {
            let lifetime = reply.lifetime.as_duration();
            self.pending = None;
            let refresh_at = match self.config.refresh {
                Refresh::EachAdvertisement => Instant::MAX,
                Refresh::BeforeExpiry if lifetime == Duration::MAX => Instant::MAX,
                Refresh::BeforeExpiry => now + lifetime / 4 * 3,
            };
            self.registration = Some(Registration { expires: now + lifetime, refresh_at });
            self.previous = self.agents.get(&current).map(|agent| agent.care_of);
            self.state = State::Registered;
            self.events.push_back(IpEvent::RegistrationConfirmed);
        } else if reply.code == ReplyCode::LIFETIME_TOO_LONG
            && reply.lifetime > Lifetime::ZERO
            && reply.lifetime < pending.lifetime
        {
            self.pending = Some(Pending { lifetime: reply.lifetime, ..pending });
            self.retransmit(now);
        }
    }

    /// The current agent is gone: uses the one heard last, or searches.
    fn change_agent(&mut self, now: Instant) {
        let best = self.agents.iter().max_by_key(|(address, agent)| (agent.last_heard, **address));
        if let Some((&agent, _)) = best {
            self.attach(agent, now);
            return;
        }
        self.current = None;
        self.pending = None;
        self.registration = None;
        self.state = State::Searching;
        self.solicitations = 0;
        self.solicitation_wait = self.config.solicitation.interval;
        self.solicit_at = now;
        self.events.push_back(IpEvent::AttachmentLost);
    }

    /// Takes `agent` for the current one and registers there.
    fn attach(&mut self, agent: Address, now: Instant) {
        self.current = Some(agent);
        self.registration = None;
        self.pending = None;
        self.solicit_at = Instant::MAX;
        if agent == self.config.home_agent && !self.may_be_bound {
            self.state = State::AtHome;
            self.events.push_back(IpEvent::RegistrationConfirmed);
            return;
        }
        self.state = State::Registering;
        self.events.push_back(IpEvent::AttachmentLost);
        self.request(now);
    }

    /// Sends the first transmission of a request to the current agent.
    fn request(&mut self, now: Instant) {
        let Some(agent) = self.current.and_then(|current| self.agents.get(&current)) else { return };
        let at_home = self.current == Some(self.config.home_agent);
        let lifetime =
            if at_home { Lifetime::ZERO } else { self.config.lifetime.min(agent.registration_lifetime) };
        let wait = match self.config.retransmission {
            Retransmission::Doubling { first } => first,
            Retransmission::Fixed(wait) => wait,
        };
        let identification = next_identification(self.last_identification, now);
        self.pending = Some(Pending {
            first: identification,
            last: identification,
            lifetime,
            wait,
            resend_at: now + wait,
        });
        self.transmit(identification);
    }

    /// Sends the outstanding request again, with a new identification (RFC 5944 §3.6.3).
    fn retransmit(&mut self, now: Instant) {
        let longest = self.config.lifetime.as_duration().min(MAX_SOLICITATION_INTERVAL);
        let identification = next_identification(self.last_identification, now);
        let Some(pending) = &mut self.pending else { return };
        if matches!(self.config.retransmission, Retransmission::Doubling { .. }) {
            pending.wait = (pending.wait * 2).min(longest).max(pending.wait);
        }
        pending.last = identification;
        pending.resend_at = now + pending.wait;
        self.transmit(identification);
    }

    fn transmit(&mut self, identification: u64) {
        let (Some(pending), Some(current)) = (self.pending, self.current) else { return };
        let Some(agent) = self.agents.get(&current) else { return };
        self.last_identification = identification;
        self.may_be_bound = true;
        let previous_agent = match (self.config.notify_previous_agent, self.previous) {
            (Some(cache_lifetime), Some(previous)) if previous != agent.care_of => {
                Some(PreviousAgentNotification { agent: previous, cache_lifetime })
            }
            _ => None,
        };
        let request = RegistrationRequest {
            flags: RequestFlags::default(),
            lifetime: pending.lifetime,
            home_address: self.config.home_address,
            home_agent: self.config.home_agent,
            care_of: agent.care_of,
            identification,
            previous_agent,
        };
        self.outbox.push_back(Outgoing::link(current, request));
    }

    fn solicit(&mut self, now: Instant) {
        self.outbox.push_back(Outgoing::link(Address::ALL_ROUTERS, Message::AgentSolicitation));
        self.solicitations = self.solicitations.saturating_add(1);
        if self.solicitations >= self.config.solicitation.before_backoff {
            self.solicitation_wait = (self.solicitation_wait * 2).min(MAX_SOLICITATION_INTERVAL);
        }
        self.solicit_at = now + self.solicitation_wait;
    }

    /// When an agent that was heard now is forgotten if nothing more is heard.
    fn forget_at(&self, advertised: Duration, now: Instant) -> Instant {
        match self.config.agent_timeout {
            AgentTimeout::Advertised => now + advertised,
            AgentTimeout::After(after) => now + after,
            AgentTimeout::Tested { after, every, phase } => next_tick(phase, every, now + after),
        }
    }
}
