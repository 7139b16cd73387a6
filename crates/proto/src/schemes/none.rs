//! Plain TCP: hears everything, does nothing.
//!
//! ## What it does
//! Nothing. A run with this scheme gives the same trace as a core without hooks; a test holds that.
//!
//! ## Signals it reads
//! None.
//!
//! ## What it changes in TCP
//! Nothing.
//!
//! ## Where it runs
//! Anywhere.
//!
//! ## Parameters
//! None.

use super::{Action, Helps, Scheme, Spec};
use crate::signal::Signal;
use crate::tcp::Hooks;
use crate::time::Instant;

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "none",
    summary: "plain TCP",
    params: &[],
    helps: Helps::NOTHING,
    mobile: Some(|_| Box::new(PlainTcp)),
    fixed: None,
    base_station: None,
};

/// The policy that always proceeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainTcp;

impl Hooks for PlainTcp {}

impl Scheme for PlainTcp {
    fn handle_signal(&mut self, _signal: &Signal, _now: Instant) {}

    fn poll_action(&mut self) -> Option<Action> {
        None
    }
}
