//! TCP as a sans-IO state machine with hooks where a lower layer may have a say.
//!
//! [`Connection`] is one end. It knows ranges of the stream, not bytes: the simulator carries no payload, and a
//! real stack keeps the bytes beside it. How much to send ([`cc`]) and what to resend ([`recovery`]) are two axes;
//! `tahoe`, `reno`, `new-reno` are named pairs ([`variant`]). A [`Profile`] is a named set of constants, so the same
//! machine behaves like the simulators of the papers' era and like today's standards.

pub mod cc;
mod close;
mod command;
mod connection;
mod experimental;
mod handshake;
mod hooks;
mod input;
mod migrate;
mod output;
pub mod profile;
pub mod receive;
pub mod recovery;
pub mod rtt;
mod segment;
pub mod send;
mod seq;
pub mod variant;

pub use command::{Command, RestoreMode, RestoreWindow};
pub use connection::{Config, Connection, ConnectionId, Control, EndReason, State, Stats};
pub use experimental::{Experimental, Handover, HandoverNotice, PathReport, Probability};
pub use hooks::{Hooks, Loss, NoHooks, Verdict};
pub use migrate::{ConnectionState, ReceiveState, Restart, RttState, SendState, TimestampState};
pub use profile::Profile;
pub use segment::{Flags, Options, Segment, Timestamps};
pub use seq::SeqNumber;
pub use variant::Variant;
