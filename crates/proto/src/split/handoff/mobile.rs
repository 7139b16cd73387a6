//! The mobile host's part: greets the router of each new cell.

use super::super::Endpoints;
use super::super::message::{Greeting, Message, Outgoing};
use crate::mobile_ip::Address;
use crate::time::{Duration, Instant};

/// Routers remembered at most: a host that passes more without an answer has lost its connections.
const MAX_TRAIL: usize = 16;

/// What the host is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MobileState {
    /// It has not heard a router yet.
    Searching,
    /// It has greeted this router and waits for the answer.
    Greeting(Address),
    /// This router has answered.
    InCell(Address),
}

/// The greeting side of one mobile host.
#[derive(Clone, Debug)]
pub struct MobileHost {
    address: Address,
    /// Time between greetings without an answer.
    resend: Duration,
    state: MobileState,
    endpoints: Endpoints,
    sequence: u32,
    /// Routers that may have the connections, latest first, without the one greeted now.
    trail: Vec<Address>,
    resend_at: Instant,
    due: bool,
}

impl MobileHost {
    /// A host that has heard nobody; it greets again every `resend` (ours: 0.5 s).
    pub fn new(address: Address, resend: Duration) -> Self {
        MobileHost {
            address,
            resend,
            state: MobileState::Searching,
            endpoints: Endpoints::default(),
            sequence: 0,
            trail: Vec::new(),
            resend_at: Instant::MAX,
            due: false,
        }
    }

    /// What the host has open changed.
    pub fn set_endpoints(&mut self, endpoints: Endpoints) {
        self.endpoints = endpoints;
    }

    /// A beacon of `router`. Where cells overlap, the driver passes only those of the router that the mobility layer has
    /// chosen.
    pub fn handle_beacon(&mut self, router: Address, now: Instant) {
        match self.state {
            MobileState::InCell(current) | MobileState::Greeting(current) if current == router => return,
            MobileState::InCell(left) | MobileState::Greeting(left) => {
                self.trail.retain(|known| *known != left);
                self.trail.insert(0, left);
                self.trail.truncate(MAX_TRAIL);
            }
            MobileState::Searching => {}
        }
        self.state = MobileState::Greeting(router);
        self.sequence += 1;
        self.due = true;
        self.resend_at = now + self.resend;
    }

    /// Takes a greeting's answer; other messages are not for a host.
    pub fn handle_message<S>(&mut self, from: Address, message: &Message<S>, _now: Instant) {
        let Message::GreetingAck { mobile, sequence } = message else { return };
        if (*mobile, *sequence, self.state) == (self.address, self.sequence, MobileState::Greeting(from)) {
            self.state = MobileState::InCell(from);
            self.trail.clear();
            self.resend_at = Instant::MAX;
        }
    }

    /// Greets again if nobody has answered in time.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.resend_at <= now {
            self.due = true;
            self.resend_at = now + self.resend;
        }
    }

    /// The greeting, if one is due.
    pub fn poll_message<S>(&mut self) -> Option<Outgoing<S>> {
        let MobileState::Greeting(router) = self.state else { return None };
        if !std::mem::take(&mut self.due) {
            return None;
        }
        let greeting = Greeting {
            mobile: self.address,
            sequence: self.sequence,
            previous: self.trail.clone(),
            endpoints: self.endpoints.clone(),
        };
        Some(Outgoing { to: router, message: Message::Greeting(greeting) })
    }

    /// When to call [`Self::handle_timeout`], and why.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        (self.resend_at != Instant::MAX).then_some((self.resend_at, "greeting unanswered"))
    }

    /// What the host is doing.
    pub fn state(&self) -> MobileState {
        self.state
    }

    /// The number of its last move; 0 before the first.
    pub fn sequence(&self) -> u32 {
        self.sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Address = Address::new(10, 0, 0, 9);
    const A: Address = Address::new(10, 1, 0, 1);
    const B: Address = Address::new(10, 2, 0, 1);
    const C: Address = Address::new(10, 3, 0, 1);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn host() -> MobileHost {
        MobileHost::new(HOST, Duration::from_millis(500))
    }

    fn greeting(host: &mut MobileHost) -> (Address, u32, Vec<Address>) {
        match host.poll_message::<()>() {
            Some(Outgoing { to, message: Message::Greeting(greeting) }) => {
                (to, greeting.sequence, greeting.previous)
            }
            other => panic!("a greeting, not {other:?}"),
        }
    }

    fn answer(host: &mut MobileHost, from: Address, sequence: u32) {
        host.handle_message::<()>(from, &Message::GreetingAck { mobile: HOST, sequence }, at(0));
    }

    #[test]
    fn a_new_router_is_greeted_until_it_answers_and_a_known_one_is_not() {
        let mut host = host();
        host.handle_beacon(A, at(0));
        assert_eq!(greeting(&mut host), (A, 1, vec![]));
        assert_eq!(host.poll_message::<()>(), None);
        host.handle_timeout(at(500));
        assert_eq!(greeting(&mut host), (A, 1, vec![]));
        answer(&mut host, A, 1);
        assert_eq!((host.state(), host.poll_timeout()), (MobileState::InCell(A), None));
        host.handle_beacon(A, at(1_000));
        assert_eq!(host.poll_message::<()>(), None);
    }

    #[test]
    fn a_greeting_names_every_router_that_may_have_the_connections_latest_first() {
        let mut host = host();
        host.handle_beacon(A, at(0));
        answer(&mut host, A, 1);
        host.handle_beacon(B, at(0));
        host.handle_beacon(C, at(0));
        assert_eq!(greeting(&mut host), (C, 3, vec![B, A]));
        answer(&mut host, B, 2);
        assert_eq!(host.state(), MobileState::Greeting(C), "an old answer counts for nothing");
        answer(&mut host, C, 3);
        host.handle_beacon(A, at(0));
        assert_eq!(greeting(&mut host), (A, 4, vec![C]));
    }
}
