//! Schemes: the policies that let layers talk to one another. One file each; [`ALL`] is the table.
//!
//! A scheme hears [`Signal`]s and TCP's questions ([`Hooks`]) and answers with [`Verdict`](crate::tcp::Verdict)s and
//! [`Action`]s; it never touches a connection itself. One instance serves all connections of a host. The driver calls
//! `poll_action` after every signal, timeout and hook until it gives `None`.
//!
//! A new scheme is one new file with a [`Spec`] and one `mod` line with one entry of [`ALL`] here. Scenarios, the
//! command line, the reference pages and the conformance tests work from the table.

pub mod ilc_tcp;
pub mod none;

use std::fmt;

use crate::params::{Param, Params};
use crate::signal::{Signal, SignalKind};
use crate::tcp::{Command, ConnectionId, Hooks};
use crate::time::{Duration, Instant};
use crate::wifi::{Limits, RateControl};

/// All schemes.
pub const ALL: &[&Spec] = &[&none::SPEC, &ilc_tcp::SPEC];

/// An entry of the table.
#[derive(Debug)]
pub struct Spec {
    /// The name in scenarios, on the command line and in traces.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// A new instance for one host.
    pub build: fn(&Params) -> Box<dyn Scheme>,
}

impl Spec {
    /// The entry called `name`.
    pub fn named(name: &str) -> Option<&'static Spec> {
        ALL.iter().find(|spec| spec.name == name).copied()
    }
}

/// What a scheme orders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// An order to one connection of this host.
    Tcp {
        /// Which one.
        connection: ConnectionId,
        /// What.
        command: Command,
    },
    /// An order to the MAC of each of this host's radios.
    Mac(MacCommand),
}

/// What a scheme may order a MAC to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacCommand {
    /// Give frames up after so many attempts.
    SetRetryLimits(Limits),
    /// Choose the rate of data frames in this way, and forget what was learned.
    SetRateControl(RateControl),
    /// Precede data frames longer than this by RTS and CTS, in bytes.
    SetRtsThreshold(u32),
}

impl MacCommand {
    /// The name in traces.
    pub fn name(&self) -> &'static str {
        match self {
            MacCommand::SetRetryLimits(_) => "set-retry-limits",
            MacCommand::SetRateControl(_) => "set-rate-control",
            MacCommand::SetRtsThreshold(_) => "set-rts-threshold",
        }
    }
}

/// A policy for one host.
pub trait Scheme: Hooks + fmt::Debug + Send {
    /// A layer has something to say.
    fn handle_signal(&mut self, signal: &Signal, now: Instant);

    /// A deadline of the scheme has passed.
    fn handle_timeout(&mut self, now: Instant) {
        let _ = now;
    }

    /// The next deadline, and why.
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        None
    }

    /// The next order, if any.
    fn poll_action(&mut self) -> Option<Action>;

    /// Whether it has a use for signals of this kind. Those that come with every frame are not sent unless asked for.
    fn hears(&self, kind: &SignalKind) -> bool {
        !matches!(kind, SignalKind::FrameSent { .. } | SignalKind::ReceivedPower(_))
    }

    /// How long news takes to reach the scheme; the driver delivers signals so much later.
    fn notify_delay(&self) -> Duration {
        Duration::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_defaults_are_valid() {
        for (i, spec) in ALL.iter().enumerate() {
            assert!(ALL[..i].iter().all(|other| other.name != spec.name), "{} twice", spec.name);
            assert_eq!(Spec::named(spec.name).map(|found| found.summary), Some(spec.summary));
            let _built = (spec.build)(&Params::defaults(spec.params));
        }
    }
}
