//! The calls of a mobile host's application: connect, listen, accept and close through the router \[Bakre §3.3, §5.3\].
//!
//! A call becomes a request to the present router, repeated until it is answered, also at the next router if the host
//! moves meanwhile. Once [`Event::Opened`] names the connection, the application's ordinary socket connects to its
//! wireless end; everything after that is ordinary TCP.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::message::{Call, Granted, Message, Outgoing, Refusal, Reply, Request};
use super::{Endpoint, Endpoints, Flow};
use crate::mobile_ip::Address;
use crate::time::{Duration, Instant};

/// Names a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallId(pub u32);

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Connect or accept: the fixed part is open.
    Opened {
        /// The call.
        call: CallId,
        /// The connection: from its mobile to its wireless end the application's socket is to connect.
        flow: Flow,
    },
    /// Listen, close: it is done.
    Done {
        /// The call.
        call: CallId,
    },
    /// It came to nothing.
    Refused {
        /// The call.
        call: CallId,
        /// As the socket call would have said.
        refusal: Refusal,
    },
}

/// A call without an answer.
#[derive(Clone, Copy, Debug)]
struct Pending {
    call: Call,
    resend_at: Instant,
}

/// The library of one mobile host.
#[derive(Clone, Debug)]
pub struct Library {
    mobile: Address,
    resend: Duration,
    router: Option<Address>,
    last_id: u32,
    pending: BTreeMap<u32, Pending>,
    flows: BTreeSet<Flow>,
    listeners: BTreeSet<u16>,
    outbox: VecDeque<Request>,
    events: VecDeque<Event>,
}

impl Library {
    /// A library without a router; requests are repeated every `resend`.
    pub fn new(mobile: Address, resend: Duration) -> Self {
        Library {
            mobile,
            resend,
            router: None,
            last_id: 0,
            pending: BTreeMap::new(),
            flows: BTreeSet::new(),
            listeners: BTreeSet::new(),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Connects the host's `port` to a fixed host.
    pub fn connect(&mut self, port: u16, fixed: Endpoint, now: Instant) -> CallId {
        self.call(Call::Connect { port, fixed }, now)
    }

    /// Listens on the host's `port`.
    pub fn listen(&mut self, port: u16, now: Instant) -> CallId {
        self.listeners.insert(port);
        self.call(Call::Listen { port }, now)
    }

    /// Waits for the next connection to `port`.
    pub fn accept(&mut self, port: u16, now: Instant) -> CallId {
        self.call(Call::Accept { port }, now)
    }

    /// The application has closed its socket. The connection stays known until [`Library::forget`]: data may still drain.
    pub fn close(&mut self, flow: Flow, now: Instant) -> CallId {
        self.call(Call::Close { flow }, now)
    }

    /// Listens on `port` no more.
    pub fn close_listener(&mut self, port: u16, now: Instant) -> CallId {
        self.listeners.remove(&port);
        self.pending.retain(|_, pending| pending.call != Call::Accept { port });
        self.call(Call::Unlisten { port }, now)
    }

    /// The application waits for this call no longer.
    pub fn cancel(&mut self, call: CallId) {
        self.pending.remove(&call.0);
    }

    /// The application's socket of this connection is over.
    pub fn forget(&mut self, flow: Flow) {
        self.flows.remove(&flow);
    }

    /// What a greeting must name.
    pub fn endpoints(&self) -> Endpoints {
        let opening = self.pending.values().filter_map(|pending| match pending.call {
            Call::Connect { port, fixed } => Some(Flow {
                mobile: Endpoint { address: self.mobile, port },
                fixed,
                wireless: Endpoint { address: Address::UNSPECIFIED, port: 0 },
            }),
            _ => None,
        });
        let flows = self.flows.iter().copied().chain(opening).collect();
        Endpoints { flows, listeners: self.listeners.iter().copied().collect() }
    }

    /// The host speaks through this router from now on: what is not answered is asked again there.
    pub fn handle_router(&mut self, router: Address, now: Instant) {
        if self.router.replace(router) != Some(router) {
            self.pending.values_mut().for_each(|pending| pending.resend_at = now);
            self.handle_timeout(now);
        }
    }

    /// Takes an answer; other messages are not for a library.
    pub fn handle_message<S>(&mut self, message: &Message<S>, _now: Instant) {
        let Message::Reply(Reply { mobile, id, result }) = message else { return };
        if *mobile != self.mobile {
            return;
        }
        if *result == Ok(Granted::Waits) {
            // Only another router must be asked.
            if let Some(pending) = self.pending.get_mut(id) {
                pending.resend_at = Instant::MAX;
            }
            return;
        }
        if self.pending.remove(id).is_none() {
            return;
        }
        let call = CallId(*id);
        self.events.push_back(match *result {
            Ok(Granted::Opened(flow)) => {
                self.flows.insert(flow);
                Event::Opened { call, flow }
            }
            Ok(Granted::Done | Granted::Waits) => Event::Done { call },
            Err(refusal) => Event::Refused { call, refusal },
        });
    }

    /// Asks again where no answer came.
    pub fn handle_timeout(&mut self, now: Instant) {
        let mobile = self.mobile;
        for (id, pending) in self.pending.iter_mut().filter(|(_, pending)| pending.resend_at <= now) {
            pending.resend_at = now + self.resend;
            self.outbox.push_back(Request { mobile, id: *id, call: pending.call });
        }
    }

    /// The next request, if there is a router to send it to.
    pub fn poll_message<S>(&mut self) -> Option<Outgoing<S>> {
        let to = self.router?;
        Some(Outgoing { to, message: Message::Request(self.outbox.pop_front()?) })
    }

    /// What has come of the calls.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When to call [`Self::handle_timeout`], and why.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let next = self.pending.values().map(|pending| pending.resend_at).min()?;
        (next != Instant::MAX).then_some((next, "request unanswered"))
    }

    fn call(&mut self, call: Call, now: Instant) -> CallId {
        self.last_id += 1;
        self.pending.insert(self.last_id, Pending { call, resend_at: now + self.resend });
        self.outbox.push_back(Request { mobile: self.mobile, id: self.last_id, call });
        CallId(self.last_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Address = Address::new(10, 0, 0, 9);
    const A: Address = Address::new(10, 1, 0, 1);
    const B: Address = Address::new(10, 2, 0, 1);
    const FIXED: Endpoint = Endpoint { address: Address::new(10, 9, 0, 1), port: 80 };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn requests(library: &mut Library) -> Vec<(Address, Call)> {
        let next = || match library.poll_message::<()>() {
            Some(Outgoing { to, message: Message::Request(request) }) => Some((to, request.call)),
            _ => None,
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_call_is_asked_again_until_it_is_answered_and_at_the_next_router_too() {
        let mut library = Library::new(HOST, Duration::from_millis(500));
        let connect = Call::Connect { port: 5_000, fixed: FIXED };
        library.handle_router(A, at(0));
        let call = library.connect(5_000, FIXED, at(0));
        assert_eq!(requests(&mut library), [(A, connect)]);
        assert_eq!(library.endpoints().flows.len(), 1, "a connection being opened is named in greetings");
        library.handle_timeout(at(500));
        assert_eq!(requests(&mut library), [(A, connect)]);
        library.handle_router(B, at(600));
        assert_eq!(requests(&mut library), [(B, connect)]);
        let reply = Reply { mobile: HOST, id: call.0, result: Err(Refusal::ConnectionRefused) };
        library.handle_message::<()>(&Message::Reply(reply), at(700));
        library.handle_message::<()>(&Message::Reply(reply), at(700));
        assert_eq!(library.poll_event(), Some(Event::Refused { call, refusal: Refusal::ConnectionRefused }));
        assert_eq!((library.poll_event(), library.poll_timeout()), (None, None));
        assert_eq!(library.endpoints(), Endpoints::default());
    }
}
