//! Split connections whose middle moves with the mobile host: I-TCP \[Bakre §3\].
//!
//! ```text
//!  fixed host ◄─── TCP ───► mobile support router ◄─── TCP ───► mobile host
//!                 as the mobile host's image    over the radio
//! ```
//!
//! The router speaks with the fixed host under the mobile host's own address and port, and with the mobile host on a
//! second connection; a daemon copies between the two. When the host changes cells, both ends of the middle move to the
//! new router, and neither peer sees another endpoint.
//!
//! | machine | where it runs | file |
//! |---|---|---|
//! | [`relay::Relay`] | daemon: copies between the two sockets of one connection | `relay.rs` |
//! | [`library::Library`] | mobile host: connect, listen, accept, close | `library.rs` |
//! | [`handoff::MobileHost`] | mobile host: greets the router of a new cell | `handoff/mobile.rs` |
//! | [`handoff::Handoff`] | router: takes connections over and gives them away | `handoff/router.rs` |
//!
//! None of them knows a socket: the relay sees how much can be read and written, the handoff carries states of a type of
//! the driver's choosing. A daemon over kernel sockets can run them as they are. [`Msr`] is such a daemon over our own TCP.
//!
//! ## Not modelled
//! Urgent data; authentication of the control messages; a mobile host that restarts and counts its moves anew.

use std::fmt;

use crate::mobile_ip::Address;

mod guest;
pub mod handoff;
pub mod library;
pub mod message;
pub mod msr;
pub mod relay;

pub use message::{Message, Outgoing};
pub use msr::Msr;

/// An address and a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The host.
    pub address: Address,
    /// The port; 0: not known yet.
    pub port: u16,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.address, self.port)
    }
}

/// One split connection: the four-tuples of both of its parts. They never change, wherever its middle is (i-tcp I1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// The mobile host, as both peers of the middle know it.
    pub mobile: Endpoint,
    /// The fixed host.
    pub fixed: Endpoint,
    /// The middle's end of the wireless part: the address of the router at which the connection was opened.
    pub wireless: Endpoint,
}

/// The two sides of the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Toward the fixed host.
    Fixed,
    /// Toward the mobile host.
    Wireless,
}

impl Side {
    /// Both.
    pub const BOTH: [Side; 2] = [Side::Fixed, Side::Wireless];

    /// The other one.
    pub const fn other(self) -> Side {
        match self {
            Side::Fixed => Side::Wireless,
            Side::Wireless => Side::Fixed,
        }
    }

    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Fixed => "fixed",
            Side::Wireless => "wireless",
        }
    }
}

/// What a mobile host has open: where its new router must expect segments \[Bakre §5.4 step 2\].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// Connections, also those still being opened (their wireless end is not known yet).
    pub flows: Vec<Flow>,
    /// Ports on which it listens.
    pub listeners: Vec<u16>,
}
