//! The home agent: knows where its hosts are and tunnels to them.
//!
//! RFC 5944 §3.8 (registration), §4.2.3 (routing), RFC 2003 (IP-in-IP); draft-ietf-mobileip-optim for binding updates.
//!
//! ## State table, for each host that it serves
//! | state × event | action | next |
//! |---|---|---|
//! | BOUND × request for the same care-of address | as a held request, at once | – |
//! | any × other request | hold it for `registration_delay` | – |
//! | any × held request, accepted | reply, event `Registered` | BOUND |
//! | any × held deregistration | reply, event `Deregistered` | AT_HOME |
//! | any × held request, identification not newer | reply 133 | unchanged |
//! | BOUND × lifetime over | event `Expired` | AT_HOME |
//! | BOUND × packet for the host | tunnel to the care-of address; update the sender, at most once per interval | BOUND |
//! | AT_HOME × packet for the host | deliver on the home link | AT_HOME |
//! | any × binding request or warning | send a binding update to who asks or is named | unchanged |
//!
//! ## Differences
//! * The binding takes effect when the reply is sent, after the delay: the delay stands for a network that does not
//!   yet know the way (see [`super::delay`]). A retransmission of a held request does not restart the delay.
//! * A host that is bound and whose packets arrive is not looked for on the home link: one binding or none.
//!
//! ## Not modelled
//! Authentication, simultaneous bindings (answered with code 1), home networks with several home agents.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::beacon::{self, Beacon};
use super::message::{
    AgentAdvertisement, AgentFlags, BindingUpdate, Lifetime, Message, RegistrationReply, RegistrationRequest,
    ReplyCode,
};
use super::recent::Recent;
use super::update::UpdateSender;
use super::{Address, Decision, Delay, Header, Outgoing, Way, earliest};
use crate::rng::Stream;
use crate::time::{Duration, Instant};

/// How a home agent behaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Its address, on the home link and in the network.
    pub address: Address,
    /// The home addresses that it serves.
    pub hosts: Vec<Address>,
    /// The longest registration granted.
    pub max_lifetime: Lifetime,
    /// Time from a request to its effect and reply.
    pub registration_delay: Delay,
    /// How it advertises on the home link; without, hosts do not notice that they are home.
    pub beacon: Option<beacon::Config>,
    /// Tells correspondents where hosts are.
    pub route_optimisation: Option<RouteOptimisation>,
}

/// How a home agent tells correspondents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteOptimisation {
    /// Sends an update to the source of a packet that it tunnels; otherwise only on request or warning.
    pub update_on_tunnel: bool,
    /// At most one such update per correspondent, host and interval, as long as the host stays where it is.
    pub update_interval: Duration,
    /// The longest lifetime in an update; the binding's remaining lifetime if that is shorter. It bounds how long a
    /// correspondent goes on sending to an agent that was never told that the host left.
    pub max_lifetime: Lifetime,
    /// Asks for acknowledgements, and repeats updates without.
    pub acknowledge: bool,
}

impl Default for RouteOptimisation {
    fn default() -> Self {
        RouteOptimisation {
            update_on_tunnel: true,
            update_interval: Duration::from_secs(1),
            max_lifetime: Lifetime::FOR_EVER,
            acknowledge: false,
        }
    }
}

/// What happened to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is at `care_of` now (said again at each renewal).
    Registered {
        /// The host.
        host: Address,
        /// Where.
        care_of: Address,
    },
    /// It is at home.
    Deregistered {
        /// The host.
        host: Address,
    },
    /// It was not heard of until its lifetime was over.
    Expired {
        /// The host.
        host: Address,
    },
}

#[derive(Clone, Copy, Debug)]
struct Binding {
    care_of: Address,
    expires: Instant,
}

/// One host that it serves.
#[derive(Clone, Copy, Debug, Default)]
struct Host {
    binding: Option<Binding>,
    /// Of the last request acted on.
    identification: u64,
}

/// A request that waits for its delay.
#[derive(Clone, Copy, Debug)]
struct Held {
    from: Address,
    way: Way,
    request: RegistrationRequest,
}

/// One home agent.
#[derive(Clone, Debug)]
pub struct HomeAgent {
    config: Config,
    hosts: BTreeMap<Address, Host>,
    /// When bindings expire: an agent serves a whole town, and is asked for its next deadline at each packet.
    expiries: BTreeSet<(Instant, Address)>,
    /// In the order in which they are due; of those due together the first that came goes first.
    held: BTreeMap<(Instant, u64), Held>,
    /// Where in `held` the request is that a retransmission repeats.
    places: BTreeMap<(Address, Address, Address, Lifetime), (Instant, u64)>,
    requests: u64,
    stream: Stream,
    beacon: Option<Beacon>,
    updates: UpdateSender,
    /// The care-of addresses that correspondents were told unasked.
    told: Recent<Address>,
    outbox: VecDeque<Outgoing>,
    events: VecDeque<Event>,
}

impl HomeAgent {
    /// A home agent whose hosts are all at home; `stream` is for its registration delays.
    pub fn new(config: Config, stream: Stream, now: Instant) -> Self {
        let advertisement = AgentAdvertisement {
            agent: config.address,
            lifetime_secs: 0,
            sequence: 0,
            registration_lifetime: Lifetime::ZERO,
            flags: AgentFlags { home_agent: true, ..AgentFlags::default() },
            care_of: Vec::new(),
        };
        HomeAgent {
            hosts: config.hosts.iter().map(|host| (*host, Host::default())).collect(),
            expiries: BTreeSet::new(),
            held: BTreeMap::new(),
            places: BTreeMap::new(),
            requests: 0,
            stream,
            beacon: config.beacon.map(|beacon| Beacon::new(beacon, advertisement, now)),
            updates: UpdateSender::default(),
            told: Recent::new(config.route_optimisation.map_or(Duration::ZERO, |o| o.update_interval)),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            config,
        }
    }

    /// Takes a control message that came from the (outer) address `from`.
    pub fn handle_message(&mut self, from: Address, message: &Message, now: Instant) {
        match message {
            Message::AgentSolicitation => {
                let answer = self.beacon.as_mut().map(|beacon| beacon.advertise(from, false));
                self.outbox.extend(answer);
            }
            Message::RegistrationRequest(request) => self.hold(from, *request, now),
            Message::BindingRequest(request) => self.update(from, request.home_address, now),
            Message::BindingWarning(warning) => {
                if warning.targets.is_empty() {
                    self.update(from, warning.home_address, now);
                }
                for target in &warning.targets {
                    self.update(*target, warning.home_address, now);
                }
            }
            Message::BindingAcknowledgement(acknowledgement) => {
                self.updates.handle_acknowledgement(from, *acknowledgement);
            }
            Message::AgentAdvertisement(_) | Message::RegistrationReply(_) | Message::BindingUpdate(_) => {}
        }
        self.act_on_due(now);
    }

    /// Where a packet goes that reached the home network.
    pub fn handle_packet(&mut self, header: Header, now: Instant) -> Decision {
        let Some(host) = self.hosts.get(&header.dst) else { return Decision::Forward };
        let Some(binding) = host.binding.filter(|binding| now < binding.expires) else {
            return Decision::Deliver;
        };
        // Only the sender of a plain packet has no binding; who tunnels to the home agent has been told already.
        if header.tunnelled_by.is_none()
            && let Some(optimisation) = self.config.route_optimisation
            && optimisation.update_on_tunnel
            && self.told.is_news((header.src, header.dst), binding.care_of, now)
        {
            self.update(header.src, header.dst, now);
        }
        Decision::TunnelTo(binding.care_of)
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let advertisement = self.beacon.as_mut().and_then(|beacon| beacon.handle_timeout(false, now));
        self.outbox.extend(advertisement);
        self.act_on_due(now);
        while let Some(&(_, host)) = self.expiries.first().filter(|(at, _)| *at <= now) {
            self.bind(host, None);
            self.events.push_back(Event::Expired { host });
        }
        self.updates.handle_timeout(&mut self.outbox, now);
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
        let held = self.held.first_key_value().map_or(Instant::MAX, |((due, _), _)| *due);
        let expires = self.expiries.first().map_or(Instant::MAX, |(at, _)| *at);
        earliest(&[
            self.beacon.as_ref().map_or((Instant::MAX, ""), Beacon::deadline),
            (held, "registration delay over"),
            (expires, "binding expires"),
            self.updates.deadline(),
        ])
    }

    /// Where `host` is registered, if it is away and its registration is valid.
    pub fn care_of(&self, host: Address, now: Instant) -> Option<Address> {
        let binding = self.hosts.get(&host)?.binding?;
        (now < binding.expires).then_some(binding.care_of)
    }

    /// Holds a request for its delay, or takes it for a retransmission of one that is held.
    fn hold(&mut self, from: Address, request: RegistrationRequest, now: Instant) {
        let key = (request.home_address, from, request.care_of, request.lifetime);
        if let Some(held) = self.places.get(&key).and_then(|place| self.held.get_mut(place)) {
            held.request.identification = held.request.identification.max(request.identification);
            return;
        }
        // A network that has not to find a new way has nothing to wait for.
        let is_renewal = self.care_of(request.home_address, now) == Some(request.care_of);
        let delay = if is_renewal {
            Duration::ZERO
        } else {
            self.config.registration_delay.draw(&mut self.stream, now)
        };
        let due = now + delay;
        // A host at home speaks for itself, on the link; all others speak through an agent.
        let way = if from == request.home_address { Way::Link } else { Way::Routed };
        self.requests += 1;
        self.held.insert((due, self.requests), Held { from, way, request });
        self.places.insert(key, (due, self.requests));
    }

    /// Acts on held requests whose time has come, the one that was due first before the others.
    fn act_on_due(&mut self, now: Instant) {
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= now) {
            let held = entry.remove();
            let Held { from, request, .. } = held;
            self.places.remove(&(request.home_address, from, request.care_of, request.lifetime));
            self.register(&held, now);
        }
    }

    /// Changes the binding of a host that is served.
    fn bind(&mut self, address: Address, binding: Option<Binding>) {
        let Some(host) = self.hosts.get_mut(&address) else { return };
        if let Some(before) = std::mem::replace(&mut host.binding, binding) {
            self.expiries.remove(&(before.expires, address));
        }
        self.expiries.extend(binding.map(|binding| (binding.expires, address)));
    }

    /// Acts on one request and replies.
    fn register(&mut self, held: &Held, now: Instant) {
        let request = held.request;
        let granted = request.lifetime.min(self.config.max_lifetime);
        let code = self.judge(&request);
        if code.is_accepted() {
            let host = self.hosts.entry(request.home_address).or_default();
            host.identification = request.identification;
            if request.lifetime == Lifetime::ZERO {
                self.bind(request.home_address, None);
                self.events.push_back(Event::Deregistered { host: request.home_address });
                self.tell_previous_agent(&request, now);
            } else {
                let expires = now + granted.as_duration();
                self.bind(request.home_address, Some(Binding { care_of: request.care_of, expires }));
                let (host, care_of) = (request.home_address, request.care_of);
                self.events.push_back(Event::Registered { host, care_of });
            }
        }
        let message = RegistrationReply {
            code,
            lifetime: granted,
            home_address: request.home_address,
            home_agent: self.config.address,
            identification: request.identification,
        }
        .into();
        self.outbox.push_back(Outgoing { to: held.from, way: held.way, message });
    }

    /// The checks of RFC 5944 §3.8.2, without authentication.
    fn judge(&self, request: &RegistrationRequest) -> ReplyCode {
        if request.home_agent != self.config.address {
            return ReplyCode::UNKNOWN_HOME_AGENT;
        }
        match self.hosts.get(&request.home_address) {
            None => ReplyCode::PROHIBITED,
            Some(host) if request.identification <= host.identification => ReplyCode::IDENTIFICATION_MISMATCH,
            Some(_) if request.flags.simultaneous_bindings => ReplyCode::ACCEPTED_WITHOUT_SIMULTANEOUS,
            Some(_) => ReplyCode::ACCEPTED,
        }
    }

    /// A host that came home left an agent behind: packets on their way there are to come home too.
    fn tell_previous_agent(&mut self, request: &RegistrationRequest, now: Instant) {
        let Some(previous) = request.previous_agent else { return };
        let update = BindingUpdate {
            acknowledge: true,
            minimal_encapsulation: false,
            gre_encapsulation: false,
            lifetime: previous.cache_lifetime,
            home_address: request.home_address,
            care_of: request.home_address,
            identification: Some(request.identification),
        };
        self.updates.send(previous.agent, update, &mut self.outbox, now);
    }

    /// Tells `to` where `host` is; lifetime zero and its home address if it is at home.
    fn update(&mut self, to: Address, host_address: Address, now: Instant) {
        let Some(optimisation) = self.config.route_optimisation else { return };
        let Some(host) = self.hosts.get(&host_address) else { return };
        let binding = host.binding.filter(|binding| now < binding.expires);
        let update = BindingUpdate {
            acknowledge: optimisation.acknowledge,
            minimal_encapsulation: false,
            gre_encapsulation: false,
            lifetime: binding.map_or(Lifetime::ZERO, |binding| {
                Lifetime::until(binding.expires, now).min(optimisation.max_lifetime)
            }),
            home_address: host_address,
            care_of: binding.map_or(host_address, |binding| binding.care_of),
            identification: Some(host.identification),
        };
        self.updates.send(to, update, &mut self.outbox, now);
    }
}
