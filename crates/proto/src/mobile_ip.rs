//! Mobile IPv4 with route optimisation: a host keeps its address while it moves between networks.
//!
//! RFC 5944, and for route optimisation draft-ietf-mobileip-optim (expired in 2001, last version 11).
//!
//! ```text
//!  correspondent ───plain───► home agent ───tunnel───► foreign agent ───radio───► mobile node
//!        └──────────── tunnel, once it knows the binding ───────┘
//! ```
//!
//! One machine a file, all driven by the same verbs:
//!
//! | verb | meaning |
//! |---|---|
//! | `handle_message(from, &message, now)` | a control message from the address `from` |
//! | `handle_packet(header, now) -> Decision` | where a data packet is to go; the driver carries it there |
//! | `handle_timeout(now)` | a deadline has passed; harmless if called early |
//! | `poll_message() -> Option<Outgoing>` | control messages to send |
//! | `poll_event()` | what happened, for the layers above |
//! | `poll_timeout() -> Option<(Instant, &'static str)>` | when to call `handle_timeout`, and why |
//!
//! No machine holds a packet: buffering is a decision, and [`foreign_agent::Event::Released`] says later what is to
//! become of the packets that the driver kept.
//!
//! ## Not modelled
//! * Authentication. The identification field is carried and checked for order; the MD5 authenticators are neither
//!   computed nor checked. Only a study of attacks would notice; a live agent must not be built on this alone.
//! * Co-located care-of addresses, reverse tunnels, minimal and GRE encapsulation, several bindings at a time.
//! * Home agent discovery, ARP on the home link (the driver delivers to a host at home), broadcast datagrams.

use std::fmt;

use crate::time::{Duration, Instant};

pub mod beacon;
pub mod correspondent;
pub mod delay;
pub mod foreign_agent;
pub mod home_agent;
pub mod message;
pub mod mobile_node;
mod recent;
pub mod update;

pub use correspondent::Correspondent;
pub use delay::Delay;
pub use foreign_agent::ForeignAgent;
pub use home_agent::HomeAgent;
pub use message::{Lifetime, Message};
pub use mobile_node::MobileNode;

/// Bytes that IP-in-IP encapsulation adds to a packet (RFC 2003 §3.1: one more IP header).
pub const TUNNEL_HEADER_BYTES: u32 = 20;

/// An IPv4 address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u32);

impl Address {
    /// `0.0.0.0`: not known.
    pub const UNSPECIFIED: Address = Address(0);
    /// All systems on the link, `224.0.0.1`: where advertisements go (RFC 5944 §2.3).
    pub const ALL_SYSTEMS: Address = Address::new(224, 0, 0, 1);
    /// All mobility agents on the link, `224.0.0.11`: where registration requests may go (RFC 5944 §3.3).
    pub const ALL_AGENTS: Address = Address::new(224, 0, 0, 11);
    /// All routers on the link, `224.0.0.2`: where solicitations go (RFC 5944 §2.4).
    pub const ALL_ROUTERS: Address = Address::new(224, 0, 0, 2);

    /// The address `a.b.c.d`.
    pub const fn new(a: u8, b: u8, c: u8, d: u8) -> Self {
        Address(u32::from_be_bytes([a, b, c, d]))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.0.to_be_bytes();
        write!(f, "{a}.{b}.{c}.{d}")
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a control message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// One hop on the link that the agent serves. A host away from home cannot be reached by routing to its home
    /// address, so its agent speaks to it on the link.
    Link,
    /// By ordinary routing.
    Routed,
}

/// A control message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Destination; a multicast address only with [`Way::Link`].
    pub to: Address,
    /// How it gets there.
    pub way: Way,
    /// What it says.
    pub message: Message,
}

impl Outgoing {
    /// A message by ordinary routing.
    pub fn routed(to: Address, message: impl Into<Message>) -> Self {
        Outgoing { to, way: Way::Routed, message: message.into() }
    }

    /// A message on the link.
    pub fn link(to: Address, message: impl Into<Message>) -> Self {
        Outgoing { to, way: Way::Link, message: message.into() }
    }
}

/// The addresses of a data packet, as far as mobility looks at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source of the (inner) packet.
    pub src: Address,
    /// Destination of the (inner) packet: a home address, if the destination is a mobile host.
    pub dst: Address,
    /// Who put it in the tunnel whose end this is: the outer source address. `None` for a plain packet.
    pub tunnelled_by: Option<Address>,
}

/// What is to be done with a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Give it to the host on the link served here (without tunnel header).
    Deliver,
    /// Put it in a tunnel to this care-of address ([`TUNNEL_HEADER_BYTES`] longer).
    TunnelTo(Address),
    /// Route it by its (inner) destination address.
    Forward,
    /// Keep it until [`foreign_agent::Event::Released`] names its destination.
    Buffer,
    /// Discard it.
    Drop(DropReason),
}

/// Why an agent discards a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The host is not here, and where it is, is not known.
    NotHere,
    /// The buffer for this host is full.
    BufferFull,
    /// The packet was buffered, and the host did not turn up in time.
    WaitedTooLong,
}

impl DropReason {
    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            DropReason::NotHere => "not-here",
            DropReason::BufferFull => "buffer-full",
            DropReason::WaitedTooLong => "waited-too-long",
        }
    }
}

/// The identification of a request sent at `now`, above all earlier ones: seconds in the upper half, a binary fraction
/// in the lower one, as an NTP timestamp (RFC 5944 §5.7.1) that counts from the start of the run.
fn next_identification(previous: u64, now: Instant) -> u64 {
    let (secs, nanos) = (now.as_nanos() / 1_000_000_000, now.as_nanos() % 1_000_000_000);
    let fraction = (nanos << 32) / 1_000_000_000;
    ((secs << 32) | fraction).max(previous.saturating_add(1))
}

/// The earlier of the deadlines that are set; at the same instant the one named first.
fn earliest(deadlines: &[(Instant, &'static str)]) -> Option<(Instant, &'static str)> {
    deadlines.iter().copied().filter(|(at, _)| *at != Instant::MAX).min_by_key(|(at, _)| *at)
}

/// The first instant later than `now` on the grid `phase`, `phase + period`, …
fn next_tick(phase: Duration, period: Duration, now: Instant) -> Instant {
    let first = Instant::ZERO + phase;
    if now < first {
        return first;
    }
    let period_nanos = period.as_nanos().max(1);
    let ticks = now.since(first).as_nanos() / period_nanos + 1;
    first + Duration::from_nanos(period_nanos).saturating_mul(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_with_dots() {
        assert_eq!(Address::new(10, 0, 2, 255).to_string(), "10.0.2.255");
    }

    #[test]
    fn identifications_grow_even_at_the_same_instant() {
        let now = Instant::ZERO + Duration::from_millis(1_500);
        let first = next_identification(0, now);
        assert_eq!(first, (1 << 32) | (1 << 31));
        assert_eq!(next_identification(first, now), first + 1);
    }

    #[test]
    fn a_tick_is_always_in_the_future() {
        let (phase, period) = (Duration::from_millis(300), Duration::from_secs(1));
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        assert_eq!(next_tick(phase, period, at(0)), at(300));
        assert_eq!(next_tick(phase, period, at(300)), at(1_300));
        assert_eq!(next_tick(phase, period, at(1_299)), at(1_300));
    }
}
