//! The handoff of a mobile host's connections from router to router \[Bakre §5.4\].
//!
//! ```text
//!  mobile host          new router               previous router
//!      │ 2 greeting ───────► │                          │
//!      │ ◄──── 3 ack ─────── │ 4, 5 sockets prepared    │
//!      │                     │ 6 forwarding pointer ──► │
//!      │                     │ ◄──── 7 forwarding ack ─ │ 8 frozen
//!      │                     │ ◄──── 9 handoff request  │
//!      │                     │ ready ─────────────────► │
//!      │                     │ ◄──── 9 connection state │
//!      │                     │ 10 complete ───────────► │ deleted
//! ```
//!
//! ## Safety (i-tcp I4)
//! At most one router has a running copy of a connection. The previous router keeps its frozen copy until the new one has
//! said "complete". Before it has sent the state it may go on by itself, for nobody else can; afterwards it may not.
//!
//! ## Moves that overlap (i-tcp I3)
//! The mobile host numbers its moves, and a greeting names all routers that may have the connections. A router that is
//! still waiting for them answers a pointer with "here" and passes them on when they arrive. A host that comes back
//! before the state was sent finds its connections where they were; later, they make the whole round.
//!
//! ## Differences from the paper
//! Every message that waits for an answer is repeated; a router that waits in vain gives up, and tells its mobile host by
//! resets (the paper says nothing of lost messages).

mod mobile;
mod router;

pub use mobile::{MobileHost, MobileState};
pub use router::Handoff;

use super::{Endpoints, Flow};
use crate::mobile_ip::Address;
use crate::time::Duration;

/// The constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The router.
    pub address: Address,
    /// Time after which an unanswered message is sent again (ours: 0.5 s).
    pub resend: Duration,
    /// Times that a pointer is sent to one router before the next is tried (ours: 10).
    pub pointer_attempts: u32,
    /// Time without the state after which the previous router is asked again (ours: 5 s).
    pub state_timeout: Duration,
    /// After so many of these, and one, without any progress the connections are given up (ours: 3).
    pub state_attempts: u32,
    /// Times that a request or the states are sent before the connections are given up at the old place (ours: 120).
    pub handoff_attempts: u32,
}

impl Config {
    /// The values of the criteria.
    pub fn new(address: Address) -> Self {
        Config {
            address,
            resend: Duration::from_millis(500),
            pointer_attempts: 10,
            state_timeout: Duration::from_secs(5),
            state_attempts: 3,
            handoff_attempts: 120,
        }
    }
}

/// What the driver is to do with the sockets of one mobile host.
#[derive(Clone, Debug, PartialEq)]
pub enum Action<S> {
    /// MHIn: expect segments for these endpoints and keep them unprocessed; then [`Handoff::handle_prepared`].
    Prepare {
        /// The host.
        mobile: Address,
        /// Its endpoints.
        endpoints: Endpoints,
    },
    /// MHOut: freeze all its sockets and capture them; then [`Handoff::handle_frozen`].
    Freeze {
        /// The host.
        mobile: Address,
    },
    /// Let the frozen sockets go on, and process what was kept.
    Thaw {
        /// The host.
        mobile: Address,
    },
    /// Establish these connections and restart them, process what was kept; then [`Handoff::handle_imported`].
    Import {
        /// The host.
        mobile: Address,
        /// The connections.
        entries: Vec<(Flow, S)>,
    },
    /// Delete the frozen sockets without closing them: the new router runs them.
    Delete {
        /// The host.
        mobile: Address,
    },
    /// The connections are lost: drop what was kept and answer what the mobile host sends to them by resets.
    Abandon {
        /// The host.
        mobile: Address,
        /// Where they were expected.
        endpoints: Endpoints,
    },
    /// The host is elsewhere: tunnel what was kept to that router.
    Redirect {
        /// The host.
        mobile: Address,
        /// The router.
        to: Address,
    },
}

/// What to do with a segment of one of a mobile host's split connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// The sockets here run: process it.
    Process,
    /// Keep it, unprocessed, until an action says what becomes of it.
    Keep,
    /// Tunnel it to this router; never answer it.
    Tunnel(Address),
    /// The host has no split connections here.
    NotHere,
}

/// Whether a router has a host's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holding {
    /// It has none.
    Nothing,
    /// They run.
    Active,
    /// They are being frozen.
    Leaving,
    /// They are frozen; the new router is being asked.
    Frozen,
    /// They are frozen and their state has been sent.
    Transfer,
    /// They have been handed over and deleted.
    Gone,
}

/// How far a router is with taking connections over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    /// It is not about to.
    Nothing,
    /// The daemon is being told.
    Prepare,
    /// The forwarding pointer is on its way.
    Ready,
    /// The previous router knows.
    WaitState,
    /// The connections are being established.
    Restarting,
}
