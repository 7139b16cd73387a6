//! Fast retransmission after a handoff, by Cáceres and Iftode: the mobile host starts both directions again at once.
//!
//! ## What it does
//! Segments are lost while a host changes cells, and both ends then wait for their retransmission timers. When the host
//! has registered at its new place, its mobility software tells TCP. As a sender it enters fast retransmission as if the
//! third duplicate ACK had come; as a receiver it sends its last ACK and three duplicates, so that the peer, an ordinary
//! TCP, does so too.
//!
//! ## Signals it reads
//! `ATTACHED`, `IP_OK`, `LINK_OK`, `HANDOVER_COMPLETED`; of their opposites it learns that there is something to resume
//! from, and what to wait for. A handoff is over when nothing of it is missing, and acted on once.
//!
//! ## What it changes in TCP
//! Nothing but that moment: one fast retransmission, with its one cut of the window, and four more ACKs. Timeouts during
//! the handoff, and their backoff, happen as ever.
//!
//! ## Where it runs
//! On the mobile host, for both directions.
//!
//! ## Parameters
//! See [`PARAMS`].
//!
//! ## Differences from the paper
//! * The paper changes a TCP with Tahoe's fast retransmission (slow start after it). Here it is that of the variant in
//!   use; with NewReno a window lost as a whole is repaired by one segment in each round-trip time.
//! * The paper's host hears from its Mobile IP when the new base station has acknowledged the greeting. A host without
//!   Mobile IP resumes when it is attached, or when its link is good again.
//! * The paper sends three ACKs. Where the last one was delayed, or lost in the handoff, the first of them would be new to
//!   the peer and the two after it would start nothing: hence four (`acks`).
//! * If the timer has expired during the handoff, the window has been cut already and the first segment is sent again
//!   without another cut (RFC 6582 §3.2 step 1).
//!
//! ## References
//! R. Cáceres, L. Iftode: Improving the Performance of Reliable Transport Protocols in Mobile Computing Environments, IEEE
//! Journal on Selected Areas in Communications 13(5), 1995.

use std::collections::{BTreeSet, VecDeque};

use super::{Action, Helps, Scheme, Spec};
use crate::mobile_ip::Address;
use crate::params::{Kind, Param, Params};
use crate::signal::{Level, Signal, SignalKind};
use crate::tcp::{Command, Connection, ConnectionId, Hooks, Segment, State};
use crate::time::Instant;

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "caceres-iftode",
    summary: "a mobile host retransmits at once after a handoff, and has its peer do so by duplicate ACKs",
    params: PARAMS,
    helps: Helps::BOTH,
    mobile: Some(|params| Box::new(CaceresIftode::new(params))),
    fixed: None,
    base_station: None,
};

/// The parameters.
pub const PARAMS: &[Param] = &[Param {
    name: "acks",
    doc: "ACKs sent for each connection that receives: the last one, and its duplicates.",
    kind: Kind::Integer(0, 16),
    default: "4",
}];

/// The part of a mobile host.
#[derive(Debug)]
pub struct CaceresIftode {
    copies: u32,
    link: Level,
    ip: Level,
    handover: Level,
    station: Option<Address>,
    /// Something has happened that segments may have been lost by.
    is_disturbed: bool,
    open: BTreeSet<ConnectionId>,
    receiving: BTreeSet<ConnectionId>,
    actions: VecDeque<Action>,
}

impl CaceresIftode {
    /// A part that takes all layers for good until told otherwise.
    pub fn new(params: &Params) -> Self {
        CaceresIftode {
            // The declared range is far inside 32 bits.
            copies: params.integer("acks") as u32,
            link: Level::good(),
            ip: Level::good(),
            handover: Level::good(),
            station: None,
            is_disturbed: false,
            open: BTreeSet::new(),
            receiving: BTreeSet::new(),
            actions: VecDeque::new(),
        }
    }

    fn resume(&mut self) {
        for connection in &self.open {
            let connection = *connection;
            self.actions.push_back(Action::Tcp { connection, command: Command::FastRetransmit });
            if self.copies > 0 && self.receiving.contains(&connection) {
                let command = Command::SendDupAcks { copies: self.copies };
                self.actions.push_back(Action::Tcp { connection, command });
            }
        }
    }
}

impl Hooks for CaceresIftode {
    fn on_data(&mut self, connection: &Connection, _segment: &Segment, _now: Instant) {
        if !self.receiving.contains(&connection.id()) {
            self.receiving.insert(connection.id());
        }
    }

    fn on_state_change(&mut self, connection: &Connection, _from: State, _now: Instant) {
        if connection.state() == State::Closed {
            self.open.remove(&connection.id());
            self.receiving.remove(&connection.id());
        } else {
            self.open.insert(connection.id());
        }
    }
}

impl Scheme for CaceresIftode {
    fn handle_signal(&mut self, signal: &Signal, now: Instant) {
        match signal.kind {
            SignalKind::LinkNotOk => self.is_disturbed |= self.link.set(false, now),
            SignalKind::LinkOk => drop(self.link.set(true, now)),
            SignalKind::IpNotOk => self.is_disturbed |= self.ip.set(false, now),
            SignalKind::IpOk => drop(self.ip.set(true, now)),
            SignalKind::HandoverStarted => self.is_disturbed |= self.handover.set(false, now),
            SignalKind::HandoverCompleted => drop(self.handover.set(true, now)),
            SignalKind::Attached { station } => {
                // The first is where the host has always been.
                self.is_disturbed |= self.station.is_some_and(|before| before != station);
                self.station = Some(station);
            }
            _ => return,
        }
        let is_good = self.link.is_good() && self.ip.is_good() && self.handover.is_good();
        if is_good && std::mem::take(&mut self.is_disturbed) {
            self.resume();
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{End, Pair, Sent};
    use crate::time::Duration;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A handoff from 1 s to 1.3 s, shorter than any timeout.
    fn handoff(signals: &[(u64, SignalKind)]) -> Pair {
        let mut pair = Pair::new("rfc", "new-reno");
        pair.scheme = Some(Box::new(CaceresIftode::new(&Params::defaults(PARAMS))));
        pair.set_fate(|_, _, now, _| (!(at(1_000)..at(1_300)).contains(&now)).then_some(Duration::ZERO));
        for (millis, kind) in signals {
            pair.signal_at(at(*millis), *kind);
        }
        pair
    }

    const FLAP: [(u64, SignalKind); 2] = [(1_000, SignalKind::LinkNotOk), (1_300, SignalKind::LinkOk)];

    fn data(by: End) -> impl Fn(&&Sent) -> bool {
        move |sent| sent.by == by && sent.segment.len > 0
    }

    #[test]
    fn a_mobile_sender_retransmits_at_once_and_halves_its_window_once() {
        let mut pair = handoff(&FLAP);
        pair.client.write(50_000_000);
        pair.run_until(at(1_299));
        let flight = pair.client.sender().flight_segments();
        pair.run_until(at(1_300));
        let first = pair.wire.iter().rfind(data(End::Client)).map(|s| (s.at, s.segment.seq));
        assert_eq!(first.map(|(at, _)| at), Some(at(1_300)));
        assert_eq!(pair.client.stats().fast_retransmits, 1);
        assert_eq!(pair.client.stats().timeouts, 0);
        assert!((pair.client.sender().window.ssthresh - flight / 2.0).abs() < 1.0);
    }

    #[test]
    fn the_sender_at_the_other_end_is_made_to_retransmit_by_duplicate_acks() {
        let mut pair = handoff(&FLAP);
        pair.server.write(50_000_000);
        pair.run_until(at(1_311));
        let acks = pair.wire.iter().filter(|s| s.by == End::Client && s.at == at(1_300)).count();
        assert_eq!(acks, 4);
        assert_eq!(pair.server.stats().fast_retransmits, 1);
        assert_eq!(pair.wire.iter().rfind(data(End::Server)).map(|s| s.at), Some(at(1_310)));
    }

    #[test]
    fn a_handoff_is_over_when_the_host_is_registered_and_acted_on_once() {
        let [west, east] = [1, 2].map(|n| SignalKind::Attached { station: Address::new(10, 0, 0, n) });
        let mut pair = handoff(&[
            (0, west),
            (1_000, SignalKind::IpNotOk),
            (1_100, east),
            (1_400, SignalKind::IpOk),
            (1_410, SignalKind::LinkOk),
        ]);
        pair.client.write(50_000_000);
        pair.run_until(at(1_399));
        assert_eq!(pair.client.stats().fast_retransmits, 0);
        pair.run_until(at(1_500));
        assert_eq!(pair.client.stats().fast_retransmits, 1);
    }

    #[test]
    fn the_first_station_is_no_handoff() {
        let mut pair = handoff(&[(500, SignalKind::Attached { station: Address::new(10, 0, 0, 1) })]);
        pair.client.write(50_000_000);
        pair.run_until(at(900));
        assert_eq!(pair.client.stats().fast_retransmits, 0);
    }

    #[test]
    fn after_a_timeout_nothing_more_is_cut() {
        let mut pair = Pair::new("rfc", "new-reno");
        pair.scheme = Some(Box::new(CaceresIftode::new(&Params::defaults(PARAMS))));
        pair.set_fate(|_, _, now, _| (!(at(1_000)..at(4_500)).contains(&now)).then_some(Duration::ZERO));
        pair.signal_at(at(1_000), SignalKind::LinkNotOk);
        pair.signal_at(at(4_500), SignalKind::LinkOk);
        pair.client.write(50_000_000);
        pair.run_until(at(4_499));
        assert!(pair.client.stats().timeouts > 0);
        let before = pair.client.sender().window;
        pair.run_until(at(4_500));
        assert_eq!(pair.wire.iter().rfind(data(End::Client)).map(|s| s.at), Some(at(4_500)));
        assert_eq!(pair.client.sender().window, before);
    }
}
