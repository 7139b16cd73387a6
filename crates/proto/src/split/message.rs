//! The control messages of I-TCP, by meaning \[Bakre §5.3–5.4\]; a wire form does not exist yet, only sizes.
//!
//! Moves are numbered by the mobile host; every message of a handoff bears the number of the move that it serves
//! (`sequence`), so that late and repeated ones are told apart. MHIn and MHOut, with which the two processes of one
//! router talk, are [`Action`](super::handoff::Action)s, not messages.

use super::{Endpoint, Endpoints, Flow};
use crate::mobile_ip::Address;

/// What a captured connection must tell about itself.
pub trait Captured: Clone {
    /// Bytes that it takes in a message, buffered data included.
    fn wire_bytes(&self) -> u64;
}

/// A message to send.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing<S> {
    /// Destination.
    pub to: Address,
    /// What it says.
    pub message: Message<S>,
}

/// One control message; `S` is the captured state of one split connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<S> {
    /// The library of a mobile host asks its router for something.
    Request(Request),
    /// The router answers.
    Reply(Reply),
    /// A mobile host is new here \[step 2\].
    Greeting(Greeting),
    /// It was heard \[step 3\].
    GreetingAck {
        /// The host.
        mobile: Address,
        /// Which move.
        sequence: u32,
    },
    /// The new router tells the previous one where the host is \[step 6\].
    ForwardingPointer {
        /// The host.
        mobile: Address,
        /// Which move.
        sequence: u32,
    },
    /// The previous router has taken note \[step 7\].
    ForwardingAck {
        /// The host.
        mobile: Address,
        /// Which move.
        sequence: u32,
        /// Where the connections are.
        answer: Whereabouts,
    },
    /// The previous router has frozen the connections and asks whether the new one is ready \[step 9\].
    HandoffRequest {
        /// The host.
        mobile: Address,
        /// Which move.
        sequence: u32,
        /// The connections.
        flows: Vec<Flow>,
    },
    /// It is.
    HandoffReady {
        /// The host.
        mobile: Address,
        /// Which move.
        sequence: u32,
    },
    /// The state of one connection \[step 9\].
    State {
        /// The host.
        mobile: Address,
        /// Which move.
        sequence: u32,
        /// Which of `count`, from 0.
        index: u16,
        /// How many there are, at least 1.
        count: u16,
        /// The connection; `None` if the host has none open.
        entry: Option<(Flow, S)>,
    },
    /// All connections run at the new router \[step 10\].
    HandoffComplete {
        /// The host.
        mobile: Address,
        /// Which move.
        sequence: u32,
    },
    /// The new router has given the connections up and will never run them.
    HandoffRefused {
        /// The host.
        mobile: Address,
        /// Which move.
        sequence: u32,
    },
}

/// A mobile host's greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The host.
    pub mobile: Address,
    /// Counts its moves, from 1.
    pub sequence: u32,
    /// Routers that may hold its connections, latest first: those greeted since one answered, and the one that did.
    pub previous: Vec<Address>,
    /// What it has open.
    pub endpoints: Endpoints,
}

/// Where a router believes a host's connections to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Here: they will be handed over.
    Here,
    /// Expected here: they will be handed over when they come.
    Expected,
    /// Given to that router.
    GoneTo(Address),
    /// Never heard of.
    Unknown,
    /// The pointer is out of date: the host has moved on.
    Superseded {
        /// By this move.
        by: u32,
        /// To this router.
        at: Address,
    },
}

/// A call of the library, carried to the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The host.
    pub mobile: Address,
    /// Counts its requests; a repetition bears the same number.
    pub id: u32,
    /// What it asks for.
    pub call: Call,
}

/// What a library may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Connect the host's port to a fixed host (active open).
    Connect {
        /// Port of the mobile host.
        port: u16,
        /// The fixed host.
        fixed: Endpoint,
    },
    /// Listen on the host's port (passive open).
    Listen {
        /// Port of the mobile host.
        port: u16,
    },
    /// The next connection that was made to this port.
    Accept {
        /// Port of the mobile host.
        port: u16,
    },
    /// The application has closed this connection.
    Close {
        /// The connection.
        flow: Flow,
    },
    /// No more connections to this port.
    Unlisten {
        /// Port of the mobile host.
        port: u16,
    },
}

/// The router's answer to a [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The host.
    pub mobile: Address,
    /// The request's number.
    pub id: u32,
    /// What came of it.
    pub result: Result<Granted, Refusal>,
}

/// A request was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// The fixed part is open; the application's socket is to connect to the wireless end.
    Opened(Flow),
    /// The router listens, or does so no more, or has taken note of the close.
    Done,
    /// The accept call will be answered when there is a connection.
    Waits,
}

/// Why a request came to nothing, i-tcp I11: what a socket call would have said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// The fixed host refused (`ECONNREFUSED`).
    ConnectionRefused,
    /// The fixed host did not answer (`ETIMEDOUT`).
    TimedOut,
    /// There is no way to the fixed host (`EHOSTUNREACH`).
    Unreachable,
    /// The port is taken, or nobody listens there (`EADDRINUSE`, `EINVAL`).
    BadPort,
}

impl Refusal {
    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Refusal::ConnectionRefused => "connection-refused",
            Refusal::TimedOut => "timed-out",
            Refusal::Unreachable => "unreachable",
            Refusal::BadPort => "bad-port",
        }
    }
}

impl<S> Message<S> {
    /// The name in traces.
    pub fn name(&self) -> &'static str {
        match self {
            Message::Request(request) => match request.call {
                Call::Connect { .. } => "open-active",
                Call::Listen { .. } => "open-passive",
                Call::Accept { .. } => "accept",
                Call::Close { .. } => "close",
                Call::Unlisten { .. } => "close-passive",
            },
            Message::Reply(_) => "reply",
            Message::Greeting(_) => "greeting",
            Message::GreetingAck { .. } => "greeting-ack",
            Message::ForwardingPointer { .. } => "forwarding-pointer",
            Message::ForwardingAck { .. } => "forwarding-ack",
            Message::HandoffRequest { .. } => "handoff-request",
            Message::HandoffReady { .. } => "handoff-ready",
            Message::State { .. } => "connection-state",
            Message::HandoffComplete { .. } => "handoff-complete",
            Message::HandoffRefused { .. } => "handoff-refused",
        }
    }

    /// The host that it is about.
    pub fn mobile(&self) -> Address {
        match self {
            Message::Request(request) => request.mobile,
            Message::Reply(reply) => reply.mobile,
            Message::Greeting(greeting) => greeting.mobile,
            Message::GreetingAck { mobile, .. }
            | Message::ForwardingPointer { mobile, .. }
            | Message::ForwardingAck { mobile, .. }
            | Message::HandoffRequest { mobile, .. }
            | Message::HandoffReady { mobile, .. }
            | Message::State { mobile, .. }
            | Message::HandoffComplete { mobile, .. }
            | Message::HandoffRefused { mobile, .. } => *mobile,
        }
    }
}

impl<S: Captured> Message<S> {
    /// Size of the IP packet that carries it, in bytes: IP, UDP, a head of 12 bytes (kind, host, number) and the rest.
    /// States that do not fit one packet are counted as one of the full size.
    pub fn packet_bytes(&self) -> u64 {
        const HEAD: u64 = 20 + 8 + 12;
        const ADDRESS: u64 = 4;
        const ENDPOINT: u64 = 6;
        const FLOW: u64 = 3 * ENDPOINT;
        HEAD + match self {
            Message::Request(request) => match request.call {
                Call::Connect { .. } => 2 + ENDPOINT,
                Call::Listen { .. } | Call::Accept { .. } | Call::Unlisten { .. } => 2,
                Call::Close { .. } => FLOW,
            },
            Message::Reply(reply) => match reply.result {
                Ok(Granted::Opened(_)) => 1 + FLOW,
                Ok(Granted::Done | Granted::Waits) | Err(_) => 1,
            },
            Message::Greeting(greeting) => {
                let endpoints = &greeting.endpoints;
                3 + ADDRESS * greeting.previous.len() as u64
                    + FLOW * endpoints.flows.len() as u64
                    + 2 * endpoints.listeners.len() as u64
            }
            Message::ForwardingAck { .. } => 1 + 4 + ADDRESS,
            Message::HandoffRequest { flows, .. } => 2 + FLOW * flows.len() as u64,
            Message::State { entry, .. } => {
                4 + entry.as_ref().map_or(0, |(_, state)| FLOW + state.wire_bytes())
            }
            Message::GreetingAck { .. }
            | Message::ForwardingPointer { .. }
            | Message::HandoffReady { .. }
            | Message::HandoffComplete { .. }
            | Message::HandoffRefused { .. } => 0,
        }
    }
}
