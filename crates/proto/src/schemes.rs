//! Schemes: the policies that let layers talk to one another. One file each; [`ALL`] is the table.
//!
//! A scheme may have a part in up to three seats: on mobile hosts, on fixed hosts, and at the base station where the
//! radio of a mobile host ends ([`BaseStation`]). The parts of one scheme speak to each other by what they add to
//! segments ([`Experimental`](crate::tcp::Experimental)) and by messages of their own ([`Message`]).
//!
//! The part on a host hears [`Signal`]s and TCP's questions ([`Hooks`]) and answers with
//! [`Verdict`](crate::tcp::Verdict)s and [`Action`]s; it never touches a connection itself. One instance serves all
//! connections of a host. The driver calls `poll_action` after every signal, message, timeout and hook until it gives
//! `None`.
//!
//! A new scheme is one new file with a [`Spec`] and one `mod` line with one entry of [`ALL`] here. Scenarios, the
//! command line, the reference pages and the conformance tests work from the table.

pub mod boosted_tcp;
pub mod caceres_iftode;
pub mod eln;
pub mod freeze_tcp;
pub mod i_tcp;
pub mod ilc_tcp;
pub mod link_loss;
pub mod m_tcp;
pub mod none;
pub mod segue;
pub mod snoop;
pub mod tcp_lcd;
pub mod wi_tcp;

use std::fmt;

use crate::base_station::{BaseStation, Flow, Message};
use crate::mobile_ip::Address;
use crate::params::{Param, Params};
use crate::signal::{Signal, SignalKind};
use crate::tcp::{Command, ConnectionId, Hooks};
use crate::time::{Duration, Instant};
use crate::wifi::{Limits, RateControl};

/// All schemes.
pub const ALL: &[&Spec] = &[
    &none::SPEC,
    &ilc_tcp::SPEC,
    &boosted_tcp::SPEC,
    &wi_tcp::SPEC,
    &link_loss::SPEC,
    &freeze_tcp::SPEC,
    &m_tcp::SPEC,
    &snoop::SPEC,
    &eln::SPEC,
    &caceres_iftode::SPEC,
    &tcp_lcd::SPEC,
    &i_tcp::SPEC,
    &segue::SPEC,
];

/// An entry of the table.
#[derive(Debug)]
pub struct Spec {
    /// The name in scenarios, on the command line and in traces.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Which way the data must flow for it to help; lists and comparisons say so.
    pub helps: Helps,
    /// Its part on a mobile host.
    pub mobile: Option<BuildHost>,
    /// Its part on any other host.
    pub fixed: Option<BuildHost>,
    /// Its part at a base station.
    pub base_station: Option<BuildBaseStation>,
}

/// Makes the part for one host.
pub type BuildHost = fn(&Params) -> Box<dyn Scheme>;

/// Makes the part for one base station.
pub type BuildBaseStation = fn(&Params) -> Box<dyn BaseStation>;

/// Directions of data, seen from the mobile host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Helps {
    /// Data that a mobile host sends.
    pub uploads: bool,
    /// Data that it receives.
    pub downloads: bool,
}

impl Helps {
    /// Neither.
    pub const NOTHING: Helps = Helps { uploads: false, downloads: false };
    /// Data that a mobile host sends.
    pub const UPLOADS: Helps = Helps { uploads: true, downloads: false };
    /// Data that it receives.
    pub const DOWNLOADS: Helps = Helps { uploads: false, downloads: true };
    /// Both.
    pub const BOTH: Helps = Helps { uploads: true, downloads: true };

    /// For lists.
    pub fn name(self) -> &'static str {
        match (self.uploads, self.downloads) {
            (true, true) => "both",
            (true, false) => "uploads",
            (false, true) => "downloads",
            (false, false) => "nothing",
        }
    }
}

impl Spec {
    /// The entry called `name`.
    pub fn named(name: &str) -> Option<&'static Spec> {
        ALL.iter().find(|spec| spec.name == name).copied()
    }

    /// Its parts on hosts, mobile before fixed.
    pub fn host_parts(&self) -> impl Iterator<Item = BuildHost> + use<> {
        self.mobile.into_iter().chain(self.fixed)
    }
}

/// What a scheme orders.
#[derive(Clone, Debug, PartialEq)]
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
    /// A message to another part of the scheme.
    Send {
        /// A host or base station.
        to: Address,
        /// What.
        message: Message,
    },
    /// News of a mobile host for this host's binding cache, if it keeps one.
    Bind {
        /// The mobile host.
        host: Address,
        /// Where it is to be reached; its own address: at home.
        care_of: Address,
    },
    /// With whom the socket of a connection of this host is connected.
    SetPeer {
        /// Which one.
        connection: ConnectionId,
        /// With whom.
        peer: Peer,
    },
}

/// With whom a socket is connected: to whom its segments go, and whose it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The other end of the connection, as with plain TCP.
    OtherEnd,
    /// A router that stands for it.
    Router(Address),
    /// Nobody yet: nothing leaves, not even a SYN, and what arrives is discarded.
    Nobody,
}

/// What a scheme may order a MAC to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacCommand {
    /// Give frames up after so many attempts.
    SetRetryLimits(Limits),
    /// Choose the rate of data frames in this way, and forget what was learned.
    SetRateControl(RateControl),
    /// Send data at the highest rate of the family that is at most `to_percent` of the configured one. If that is below
    /// `floor_percent` of it, or if the station chooses its rate itself, the rate stays.
    ReduceRate {
        /// Percent of the configured rate.
        to_percent: u8,
        /// The least to go down to, in percent of the configured rate.
        floor_percent: u8,
    },
    /// Take the configured retry limits and rate again.
    RestoreDefaults,
    /// Precede data frames longer than this by RTS and CTS, in bytes.
    SetRtsThreshold(u32),
}

impl MacCommand {
    /// The name in traces.
    pub fn name(&self) -> &'static str {
        match self {
            MacCommand::SetRetryLimits(_) => "set-retry-limits",
            MacCommand::SetRateControl(_) => "set-rate-control",
            MacCommand::ReduceRate { .. } => "reduce-rate",
            MacCommand::RestoreDefaults => "restore-defaults",
            MacCommand::SetRtsThreshold(_) => "set-rts-threshold",
        }
    }
}

/// A scheme's part on one host.
pub trait Scheme: Hooks + fmt::Debug + Send {
    /// A layer has something to say.
    fn handle_signal(&mut self, signal: &Signal, now: Instant);

    /// A connection of this host is about to open, or listens; this is what others call it.
    fn handle_flow(&mut self, connection: ConnectionId, flow: Flow, now: Instant) {
        let _ = (connection, flow, now);
    }

    /// As [`Scheme::handle_flow`], for a connection that listens.
    fn handle_listener(&mut self, connection: ConnectionId, flow: Flow, now: Instant) {
        self.handle_flow(connection, flow, now);
    }

    /// The application of this connection connects: its SYN leaves now, unless the answer is [`Action::SetPeer`].
    fn handle_connect(&mut self, connection: ConnectionId, now: Instant) {
        let _ = (connection, now);
    }

    /// Another part of the scheme, at `from`, has sent a message.
    fn handle_message(&mut self, from: Address, message: &Message, now: Instant) {
        let _ = (from, message, now);
    }

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

    /// Whether it has a use for signals of this kind. Those that come with every frame or packet, and those that cost
    /// packets of their own, are not sent unless asked for.
    fn hears(&self, kind: &SignalKind) -> bool {
        !matches!(
            kind,
            SignalKind::AttemptFailed { .. }
                | SignalKind::FrameSent { .. }
                | SignalKind::ReceivedPower(_)
                | SignalKind::DropProbability(_)
                | SignalKind::Unreachable { .. }
        )
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
            let params = Params::defaults(spec.params);
            let parts = spec.host_parts().map(|build| drop(build(&params))).count();
            let at_stations = spec.base_station.map(|build| drop(build(&params))).into_iter().count();
            assert!(parts + at_stations > 0, "{} has no part anywhere", spec.name);
        }
    }
}
