//! I-TCP: a mobile support router ends the connection over the radio and opens another one to the fixed host.
//!
//! ## What it does
//! The fixed host's connection ends at the router, which speaks with it under the mobile host's own address; a second
//! connection serves the radio, and a daemon copies between them. When the mobile host comes to another router, both
//! ends of the middle move there, with all that they hold. Neither peer sees another endpoint, a SYN, a FIN or a RST.
//!
//! ## Signals it reads
//! `Attached`: the beacon of a new router, as the mobility layer has chosen it. Greeting, handoff and what the library
//! of the mobile host asks for are messages of their own ([`split::Message`](crate::split::Message)).
//!
//! ## What it changes in TCP
//! Nothing inside a connection of the two peers. The mobile host's library connects the application's socket to the
//! router in place of the fixed host, once the router has opened the other part; a refusal reaches the application.
//! Acknowledgements are not end to end: the router has acknowledged what its peer may never get.
//!
//! ## Where it runs
//! On the mobile host (greeting, library), and at each router that a mobile host reaches in one hop. The fixed host is
//! unchanged.
//!
//! ## Parameters
//! See [`PARAMS`].
//!
//! ## Differences from the paper
//! * Greetings ride on what Mobile IP does here, beside its registration, where the paper makes them one. A segment that
//!   a router delivers before it has heard the greeting is lost at the host, which has no socket for it.
//! * A mobile host whose router does not answer `tries` greetings speaks plain TCP, end to end, with the connections
//!   that it opens then. So does one that has no router.
//! * Lost messages are repeated, and a router that waits in vain for connections resets them (i-tcp I4).
//! * `mh_kick` (i-tcp I7) is off, as in the paper.
//! * A fixed part that nobody claims for `connect_timeout` is reset; the paper leaves it open for ever.
//!
//! ## References
//! \[Bakre\] A. Bakre, B. R. Badrinath: I-TCP: Indirect TCP for Mobile Hosts, DCS-TR-314, 1994.

mod message;
mod mobile;
mod router;

use super::{Helps, Spec};
use crate::params::{Kind, Param};
use crate::time::Duration;

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "i-tcp",
    summary: "routers end the radio's connection, and hand it on when the host moves",
    params: PARAMS,
    helps: Helps::BOTH,
    mobile: Some(|params| Box::new(mobile::Mobile::new(params))),
    fixed: None,
    base_station: Some(|params| Box::new(router::Router::new(params))),
};

/// Longest time that a parameter may ask for: longer than any user waits.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The parameters.
pub const PARAMS: &[Param] = &[
    Param {
        name: "buffer",
        doc: "Send and receive buffer of each of a router's sockets, in bytes (i-tcp I9; [Bakre §4.1]: 16 KB).",
        kind: Kind::Integer(2048, 1 << 24),
        default: "16384",
    },
    Param {
        name: "copy_buffer",
        doc: "What a router's daemon itself holds in each direction, in bytes (i-tcp I2).",
        kind: Kind::Integer(1, 1 << 24),
        default: "4096",
    },
    Param {
        name: "mss",
        doc: "Largest payload of a segment of a router's connections, in bytes.",
        kind: Kind::Integer(64, 9000),
        default: "1460",
    },
    Param {
        name: "profile",
        doc: "Constants of a router's connections, but for mss and buffer.",
        kind: Kind::Choice(&["rfc", "bsd-net2"]),
        default: "rfc",
    },
    Param {
        name: "variant",
        doc: "Recovery of a router's connections.",
        kind: Kind::Choice(&["reno", "new-reno", "tahoe"]),
        default: "reno",
    },
    Param {
        name: "reset_timer",
        doc: "After a handoff the radio's side retransmits at once, in slow start (i-tcp I6; [Bakre §4.2]).",
        kind: Kind::Bool,
        default: "true",
    },
    Param {
        name: "mh_kick",
        doc: "After a handoff the router sends three duplicate ACKs to a mobile host that sends (i-tcp I7).",
        kind: Kind::Bool,
        default: "false",
    },
    Param {
        name: "processing",
        doc: "Time that a router takes to establish one connection of a handoff.",
        kind: Kind::Duration(Duration::ZERO, LONGEST_WAIT),
        default: "0 s",
    },
    Param {
        name: "tries",
        doc: "Greetings without an answer, 0.5 s apart, before a host without split connections speaks plain TCP.",
        kind: Kind::Integer(1, 1_000_000),
        default: "3",
    },
    Param {
        name: "connect_timeout",
        doc: "A connect that no router answers fails after this time, and so does one that its host never takes up.",
        kind: Kind::Duration(Duration::from_millis(1), LONGEST_WAIT),
        default: "75 s",
    },
];
