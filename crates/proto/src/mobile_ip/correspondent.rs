//! The binding cache of a correspondent: sends straight to where a host is.
//!
//! draft-ietf-mobileip-optim, binding cache maintenance. A correspondent that does not have one sends all by the home
//! agent, as RFC 5944 has it.
//!
//! ## State table, for each host
//! | state × event | action | next |
//! |---|---|---|
//! | NONE × packet to the host | by ordinary routing, that is by its home agent | NONE |
//! | any × newer binding update | acknowledge if asked | FRESH, with lifetime zero NONE |
//! | FRESH × packet to the host | tunnel to the care-of address | FRESH |
//! | FRESH × binding warning | binding request to the home agent | ASKING |
//! | FRESH × used, and little lifetime left | binding request to the home agent | ASKING |
//! | ASKING × packet to the host | as before, or by the home agent (choice) | ASKING |
//! | ASKING × no update for 1, 2, 4 s | binding request again; after the third forget | ASKING, then NONE |
//! | FRESH, ASKING × lifetime over | forget | NONE |
//!
//! ## Differences
//! * The warning comes to the correspondent, as the Wi-TCP paper has it; late versions of the draft send it to the
//!   home agent, which a foreign agent can be set to do.
//! * A binding update is believed from anybody: no authentication.

use std::collections::{BTreeMap, VecDeque};

use super::message::{BindingAcknowledgement, BindingRequest, BindingUpdate, Lifetime, Message};
use super::{Address, Decision, Header, Outgoing, earliest, next_identification};
use crate::time::{Duration, Instant};

/// What a correspondent does with packets while it knows that its binding is old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhileAsking {
    /// Goes on sending to the old place, which may forward (the Wi-TCP paper).
    #[default]
    KeepUsing,
    /// Sends by the home agent.
    ViaHomeAgent,
}

/// How a correspondent behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What it does after a binding warning.
    pub while_asking: WhileAsking,
    /// Asks for a new binding when one in use has less than this left; [`Duration::ZERO`] lets it expire.
    pub refresh_before: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Config { while_asking: WhileAsking::KeepUsing, refresh_before: Duration::from_millis(500) }
    }
}

const FIRST_WAIT: Duration = Duration::from_secs(1);
const MAX_REQUESTS: u32 = 3;
/// How long a binding lasts that is not of the home agent.
const HEARSAY: Duration = Duration::from_secs(10);

/// A cached binding.
#[derive(Clone, Copy, Debug)]
struct Binding {
    care_of: Address,
    /// Who sent the update: who to ask. `None`: it was not the home agent that said so, and it is not known.
    home_agent: Option<Address>,
    expires: Instant,
    refresh_at: Instant,
    /// Whether a packet used it since the last update.
    used: bool,
    identification: u64,
    asking: Option<Asking>,
}

#[derive(Clone, Copy, Debug)]
struct Asking {
    requests: u32,
    wait: Duration,
    again_at: Instant,
    /// The binding is known to be wrong, not merely about to expire.
    warned: bool,
}

/// What happened to a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Packets for `host` go straight to `care_of`.
    Learned {
        /// The host.
        host: Address,
        /// Where it is.
        care_of: Address,
    },
    /// Packets for `host` go by its home agent again.
    Forgotten {
        /// The host.
        host: Address,
    },
}

/// One correspondent.
#[derive(Clone, Debug)]
pub struct Correspondent {
    config: Config,
    bindings: BTreeMap<Address, Binding>,
    last_identification: u64,
    outbox: VecDeque<Outgoing>,
    events: VecDeque<Event>,
}

impl Correspondent {
    /// A correspondent that knows of no binding.
    pub fn new(config: Config) -> Self {
        Correspondent {
            config,
            bindings: BTreeMap::new(),
            last_identification: 0,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Takes a binding update or warning; other messages are not for a correspondent.
    pub fn handle_message(&mut self, from: Address, message: &Message, now: Instant) {
        match message {
            Message::BindingUpdate(update) => self.handle_update(from, *update, now),
            Message::BindingWarning(warning) => self.handle_warning(warning.home_address, now),
            _ => {}
        }
    }

    /// Somebody trusted says that `host` is at `care_of` (wi-tcp W6). What the home agent says later counts for more; if
    /// it has said nothing yet, the binding is short-lived: there is nobody to ask for another.
    pub fn learn(&mut self, host: Address, care_of: Address, now: Instant) {
        if care_of == host {
            if self.bindings.contains_key(&host) {
                self.forget(host);
            }
            return;
        }
        let known = self.bindings.get(&host).copied();
        let unknown = Binding {
            care_of,
            home_agent: None,
            expires: now,
            refresh_at: Instant::MAX,
            used: false,
            identification: 0,
            asking: None,
        };
        let binding = Binding {
            care_of,
            expires: known.map_or(now, |known| known.expires).max(now + HEARSAY),
            asking: None,
            ..known.unwrap_or(unknown)
        };
        self.bindings.insert(host, binding);
        if known.is_none_or(|known| known.care_of != care_of) {
            self.events.push_back(Event::Learned { host, care_of });
        }
    }

    /// How a packet of this host leaves.
    pub fn handle_packet(&mut self, header: Header, now: Instant) -> Decision {
        let Some(binding) = self.bindings.get_mut(&header.dst) else { return Decision::Forward };
        let warned = binding.asking.is_some_and(|asking| asking.warned);
        if binding.expires <= now || (warned && self.config.while_asking == WhileAsking::ViaHomeAgent) {
            return Decision::Forward;
        }
        binding.used = true;
        let (care_of, ask) = (binding.care_of, binding.refresh_at <= now && binding.asking.is_none());
        if ask {
            self.ask(header.dst, false, now);
        }
        Decision::TunnelTo(care_of)
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let hosts: Vec<Address> = self.bindings.keys().copied().collect();
        for host in hosts {
            let Some(binding) = self.bindings.get_mut(&host) else { continue };
            let given_up = binding.asking.is_some_and(|a| a.again_at <= now && a.requests == MAX_REQUESTS);
            if binding.expires <= now || (given_up && binding.asking.is_some_and(|a| a.warned)) {
                self.forget(host);
            } else if given_up {
                // Not known to be wrong: it may be used until it expires, and nobody is asked again.
                binding.asking = None;
                binding.refresh_at = Instant::MAX;
            } else if binding.asking.is_some_and(|a| a.again_at <= now) {
                self.ask(host, false, now);
            } else if binding.refresh_at <= now && binding.asking.is_none() {
                binding.refresh_at = Instant::MAX;
                if binding.used {
                    self.ask(host, false, now);
                }
            }
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
        let first =
            |of: fn(&Binding) -> Instant| self.bindings.values().map(of).min().unwrap_or(Instant::MAX);
        let refresh_at = first(|b| if b.asking.is_none() { b.refresh_at } else { Instant::MAX });
        earliest(&[
            (first(|b| b.expires), "cached binding expires"),
            (refresh_at, "cached binding to renew"),
            (first(|b| b.asking.map_or(Instant::MAX, |a| a.again_at)), "binding request unanswered"),
        ])
    }

    /// Where `host` is believed to be.
    pub fn care_of(&self, host: Address, now: Instant) -> Option<Address> {
        self.bindings.get(&host).filter(|binding| now < binding.expires).map(|binding| binding.care_of)
    }

    fn handle_update(&mut self, from: Address, update: BindingUpdate, now: Instant) {
        let host = update.home_address;
        let identification = update.identification.unwrap_or(0);
        if update.acknowledge {
            let status = 0;
            let acknowledgement = BindingAcknowledgement { status, home_address: host, identification };
            self.outbox.push_back(Outgoing::routed(from, acknowledgement));
        }
        let known = self.bindings.get(&host).copied();
        if known.is_some_and(|known| identification < known.identification) {
            return;
        }
        if update.lifetime == Lifetime::ZERO || update.care_of == host {
            if known.is_some() {
                self.forget(host);
            }
            return;
        }
        let expires = now + update.lifetime.as_duration();
        let refresh_at = match update.lifetime.as_duration() {
            Duration::MAX => Instant::MAX,
            _ if self.config.refresh_before == Duration::ZERO => Instant::MAX,
            lifetime => now + (lifetime - self.config.refresh_before),
        };
        let binding = Binding {
            care_of: update.care_of,
            home_agent: Some(from),
            expires,
            refresh_at,
            used: false,
            identification,
            asking: None,
        };
        self.bindings.insert(host, binding);
        if known.is_none_or(|known| known.care_of != update.care_of) {
            self.events.push_back(Event::Learned { host, care_of: update.care_of });
        }
    }

    fn handle_warning(&mut self, host: Address, now: Instant) {
        let Some(binding) = self.bindings.get_mut(&host) else { return };
        if binding.home_agent.is_none() {
            return self.forget(host);
        }
        match &mut binding.asking {
            // Warnings come once per packet on its way: one request is enough.
            Some(asking) => asking.warned = true,
            None => self.ask(host, true, now),
        }
    }

    /// Sends the first or the next binding request for `host`.
    fn ask(&mut self, host: Address, warned: bool, now: Instant) {
        let Some(binding) = self.bindings.get_mut(&host) else { return };
        let Some(home_agent) = binding.home_agent else { return };
        let before =
            binding.asking.unwrap_or(Asking { requests: 0, wait: FIRST_WAIT / 2, again_at: now, warned });
        let wait = before.wait * 2;
        binding.asking = Some(Asking { requests: before.requests + 1, wait, again_at: now + wait, ..before });
        self.last_identification = next_identification(self.last_identification, now);
        let request = BindingRequest { home_address: host, identification: self.last_identification };
        self.outbox.push_back(Outgoing::routed(home_agent, request));
    }

    fn forget(&mut self, host: Address) {
        self.bindings.remove(&host);
        self.events.push_back(Event::Forgotten { host });
    }
}
