//! M-TCP: the base station stops the sender by a zero window while the mobile host is away, and holds back the ACK of the
//! last byte to have something to say it with.
//!
//! ## What it does
//! The supervisor at the base station passes the ACKs of the mobile host on, but as long as more data is on its way over
//! the radio it acknowledges one byte less than the host has. When the host falls silent, it acknowledges that byte with a
//! window of zero. The sender goes into persist mode: no timeout, no backoff, no cut of the window. When the host is back
//! it says so with an ACK, which carries the real window, and the sender goes on at full speed from the first byte not
//! acknowledged.
//!
//! ## Signals it reads
//! * At the base station: data without an ACK for `silence`, or `losses` packets given up by the MAC without one delivered
//!   between them.
//! * On the mobile host: `LINK_OK`, `IP_OK`, `HANDOVER_COMPLETED` and `ATTACHED`, for the greeting.
//!
//! ## What it changes in TCP
//! Nothing at the sender. The mobile host sends one ACK when it is back.
//!
//! ## Where it runs
//! At base stations, for data towards mobile hosts; on mobile hosts, for the greeting. It must be able to read and to
//! write TCP headers.
//!
//! ## Parameters
//! See [`PARAMS`]. `silence` must be shorter than the sender's retransmission timeout and longer than the mobile host may
//! delay an ACK.
//!
//! ## Differences from the paper
//! * The paper splits the connection: the sender's TCP ends at the supervisor, and a TCP of its own (faster recovery, no
//!   slow start, a bandwidth manager) runs over the radio; yet nothing is acknowledged that the mobile host has not. Here
//!   there is one connection, and the supervisor changes the ACKs that pass. Losses of the radio that are no disconnection
//!   are repaired by the sender, as in the paper.
//! * The byte is held back only while more is on its way. With everything acknowledged no later ACK would ever release it;
//!   the paper's supervisor lets it go by a timer. A sender by RFC 9293 §3.10.7.4 heeds a window that closes without a new
//!   byte as well; the senders of 1997 did not.
//! * Round-trip samples grow by the time to the next ACK, since a segment counts as acknowledged with its last byte.
//! * The greeting is an ACK of each connection with its real window. It opens the window through any base station, so no
//!   state is handed from the old supervisor to the new one.
//! * The probes of a stopped sender are forwarded and not answered by the supervisor: one that gets through opens the
//!   window even if the greeting was lost, and a host that never returns is given up by the sender's user timeout.
//!
//! ## References
//! K. Brown, S. Singh: M-TCP: TCP for Mobile Cellular Networks, ACM Computer Communication Review 27(5), 1997.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Action, Helps, Scheme, Spec};
use crate::base_station::{BaseStation, Fate, Flow, Output, StationEvent, Towards};
use crate::mobile_ip::Address;
use crate::params::{Kind, Param, Params};
use crate::signal::{Level, Signal, SignalKind};
use crate::tcp::{Command, Connection, ConnectionId, Flags, Hooks, Segment, SeqNumber, State};
use crate::time::{Duration, Instant};

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "m-tcp",
    summary: "a base station stops the sender by a zero window while the mobile host is away",
    params: PARAMS,
    helps: Helps::DOWNLOADS,
    mobile: Some(|_| Box::new(Greeter::default())),
    fixed: None,
    base_station: Some(|params| Box::new(Supervisor::new(params))),
};

/// The parameters.
pub const PARAMS: &[Param] = &[
    Param {
        name: "silence",
        doc: "Data for a mobile host without an ACK from it for so long: it is taken for away.",
        kind: Kind::Duration(Duration::from_millis(1), Duration::from_secs(60)),
        default: "500 ms",
    },
    Param {
        name: "losses",
        doc: "Packets for a mobile host given up in a row by the MAC: it is taken for away.",
        kind: Kind::Integer(1, 1_000),
        default: "2",
    },
];

/// The part at a base station.
#[derive(Debug)]
pub struct Supervisor {
    silence: Duration,
    losses: u32,
    flows: BTreeMap<Flow, Supervised>,
    outputs: VecDeque<Output>,
}

/// One connection.
#[derive(Debug)]
struct Supervised {
    /// The number after the highest sent to the mobile host.
    sent: SeqNumber,
    /// The last ACK of the mobile host, without data.
    last: Option<Segment>,
    /// What the sender was told last.
    told: Option<SeqNumber>,
    is_stopped: bool,
    /// Packets given up since the host was last reached.
    losses: u32,
    /// When the silence has lasted too long.
    deadline: Instant,
}

impl Supervised {
    fn is_waiting(&self) -> bool {
        self.last.is_some_and(|last| self.sent.distance_from(last.ack) > 0)
    }

    /// The mobile host speaks: the ACK that the sender is to see.
    fn hear(&mut self, segment: &mut Segment, deadline: Instant) {
        self.is_stopped = false;
        self.losses = 0;
        let seq = segment.seq.add(segment.sequence_length());
        if self.last.is_none_or(|last| segment.ack.distance_from(last.ack) >= 0) {
            self.last = Some(Segment { seq, len: 0, flags: Flags::ACK, ..*segment });
        }
        let is_waiting = self.is_waiting();
        self.deadline = if is_waiting { deadline } else { Instant::MAX };
        let Some(told) = self.told else {
            self.told = Some(segment.ack);
            return;
        };
        if segment.ack.distance_from(told) > 0 {
            if is_waiting {
                segment.ack = SeqNumber(segment.ack.0.wrapping_sub(1));
            }
            self.told = Some(segment.ack);
        }
    }

    /// The ACK that stops the sender, unless it is stopped or has nothing on its way.
    fn stop(&mut self) -> Option<Segment> {
        self.deadline = Instant::MAX;
        let last = self.last.filter(|_| !self.is_stopped && self.is_waiting())?;
        self.is_stopped = true;
        self.told = Some(last.ack);
        Some(Segment { window: 0, ..last })
    }
}

impl Supervisor {
    /// A supervisor of nobody yet.
    pub fn new(params: &Params) -> Self {
        Supervisor {
            silence: params.duration("silence"),
            // The declared range is far inside 32 bits.
            losses: params.integer("losses") as u32,
            flows: BTreeMap::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Stops the senders of all connections that `is_away` picks.
    fn stop(&mut self, mut is_away: impl FnMut(&Flow, &mut Supervised) -> bool) {
        for (flow, supervised) in &mut self.flows {
            if is_away(flow, supervised)
                && let Some(segment) = supervised.stop()
            {
                self.outputs.push_back(Output::Segment { flow: *flow, towards: Towards::Fixed, segment });
            }
        }
    }
}

impl BaseStation for Supervisor {
    fn handle_segment(&mut self, flow: Flow, towards: Towards, segment: &mut Segment, now: Instant) -> Fate {
        if segment.flags.contains(Flags::SYN) || segment.flags.contains(Flags::RST) {
            self.flows.remove(&flow);
            return Fate::Forward;
        }
        let deadline = now + self.silence;
        match towards {
            Towards::Mobile => {
                let end = segment.seq.add(segment.sequence_length());
                let supervised = self.flows.entry(flow).or_insert(Supervised {
                    sent: end,
                    last: None,
                    told: None,
                    is_stopped: false,
                    losses: 0,
                    deadline: Instant::MAX,
                });
                if end.distance_from(supervised.sent) > 0 {
                    supervised.sent = end;
                }
                if supervised.deadline == Instant::MAX && !supervised.is_stopped && supervised.is_waiting() {
                    supervised.deadline = deadline;
                }
            }
            Towards::Fixed if segment.flags.contains(Flags::ACK) => {
                if let Some(supervised) = self.flows.get_mut(&flow) {
                    supervised.hear(segment, deadline);
                }
            }
            Towards::Fixed => {}
        }
        Fate::Forward
    }

    fn handle_event(&mut self, event: &StationEvent, _now: Instant) {
        match *event {
            StationEvent::Delivered { mobile } => {
                for (_, supervised) in self.flows.iter_mut().filter(|(f, _)| f.mobile.address == mobile) {
                    supervised.losses = 0;
                }
            }
            StationEvent::Undelivered { mobile, .. } => {
                let most = self.losses;
                self.stop(|flow, supervised| {
                    let is_its = flow.mobile.address == mobile;
                    supervised.losses += u32::from(is_its);
                    is_its && supervised.losses >= most
                });
            }
            // Its own ACKs open the window there; one of ours might close it behind them.
            StationEvent::Departed { mobile, to: Some(_) } => {
                self.flows.retain(|flow, _| flow.mobile.address != mobile);
            }
            StationEvent::Departed { mobile, to: None } => {
                self.stop(|flow, _| flow.mobile.address == mobile);
                self.flows.retain(|flow, _| flow.mobile.address != mobile);
            }
            StationEvent::Arrived { .. } | StationEvent::HomeOf { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.stop(|_, supervised| supervised.deadline <= now);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let next = self.flows.values().map(|supervised| supervised.deadline).min()?;
        (next != Instant::MAX).then_some((next, "silence of a mobile host"))
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
}

/// The part on a mobile host: greets when it is back.
#[derive(Debug)]
pub struct Greeter {
    link: Level,
    ip: Level,
    handover: Level,
    station: Option<Address>,
    was_away: bool,
    receiving: BTreeSet<ConnectionId>,
    actions: VecDeque<Action>,
}

impl Default for Greeter {
    fn default() -> Self {
        Greeter {
            link: Level::good(),
            ip: Level::good(),
            handover: Level::good(),
            station: None,
            was_away: false,
            receiving: BTreeSet::new(),
            actions: VecDeque::new(),
        }
    }
}

impl Hooks for Greeter {
    fn on_data(&mut self, connection: &Connection, _segment: &Segment, _now: Instant) {
        if !self.receiving.contains(&connection.id()) {
            self.receiving.insert(connection.id());
        }
    }

    fn on_state_change(&mut self, connection: &Connection, _from: State, _now: Instant) {
        if connection.state() == State::Closed {
            self.receiving.remove(&connection.id());
        }
    }
}

impl Scheme for Greeter {
    fn handle_signal(&mut self, signal: &Signal, now: Instant) {
        match signal.kind {
            SignalKind::LinkNotOk => self.was_away |= self.link.set(false, now),
            SignalKind::LinkOk => drop(self.link.set(true, now)),
            SignalKind::IpNotOk => self.was_away |= self.ip.set(false, now),
            SignalKind::IpOk => drop(self.ip.set(true, now)),
            SignalKind::HandoverStarted => self.was_away |= self.handover.set(false, now),
            SignalKind::HandoverCompleted => drop(self.handover.set(true, now)),
            SignalKind::Attached { station } => {
                self.was_away |= self.station.is_some_and(|before| before != station);
                self.station = Some(station);
            }
            _ => return,
        }
        let is_good = self.link.is_good() && self.ip.is_good() && self.handover.is_good();
        if is_good && std::mem::take(&mut self.was_away) {
            let command = Command::SendDupAcks { copies: 1 };
            let greet = |id: &ConnectionId| Action::Tcp { connection: *id, command };
            self.actions.extend(self.receiving.iter().map(greet));
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base_station::Endpoint;

    const FLOW: Flow = Flow {
        mobile: Endpoint { address: Address::new(10, 0, 0, 1), port: 1 },
        fixed: Endpoint { address: Address::new(10, 0, 0, 2), port: 2 },
    };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn supervisor() -> Supervisor {
        Supervisor::new(&Params::defaults(PARAMS))
    }

    /// The sender sends 100 bytes from `seq` on.
    fn data(station: &mut Supervisor, seq: u32, now: Instant) {
        let mut segment = Segment { seq: SeqNumber(seq), len: 100, flags: Flags::ACK, ..Segment::default() };
        assert_eq!(station.handle_segment(FLOW, Towards::Mobile, &mut segment, now), Fate::Forward);
    }

    /// The mobile host acknowledges; what the sender sees.
    fn ack(station: &mut Supervisor, ack: u32, now: Instant) -> (u32, u16) {
        let mut segment = Segment {
            seq: SeqNumber(7),
            ack: SeqNumber(ack),
            window: 500,
            flags: Flags::ACK,
            ..Segment::default()
        };
        assert_eq!(station.handle_segment(FLOW, Towards::Fixed, &mut segment, now), Fate::Forward);
        (segment.ack.0, segment.window)
    }

    /// The ACKs that the supervisor has made.
    fn made(station: &mut Supervisor) -> Vec<(u32, u16)> {
        let number = |output| match output {
            Output::Segment { segment, towards: Towards::Fixed, .. } => (segment.ack.0, segment.window),
            other => panic!("{other:?}"),
        };
        std::iter::from_fn(|| station.poll_output()).map(number).collect()
    }

    /// Three segments on their way, the first acknowledged.
    fn one_of_three(station: &mut Supervisor) {
        for seq in [100, 200, 300] {
            data(station, seq, at(0));
        }
        assert_eq!(ack(station, 100, at(5)), (100, 500), "the handshake's");
        assert_eq!(ack(station, 200, at(10)), (199, 500));
    }

    #[test]
    fn the_last_byte_is_held_back_until_nothing_is_on_its_way() {
        let mut station = supervisor();
        one_of_three(&mut station);
        assert_eq!(ack(&mut station, 300, at(20)).0, 299);
        assert_eq!(ack(&mut station, 300, at(21)).0, 299, "a duplicate stays one");
        assert_eq!(ack(&mut station, 400, at(30)).0, 400);
        assert_eq!(station.poll_timeout(), None);
    }

    #[test]
    fn a_silent_host_stops_its_sender_with_the_byte_held_back() {
        let mut station = supervisor();
        one_of_three(&mut station);
        assert_eq!(station.poll_timeout().map(|(at, _)| at), Some(at(510)));
        station.handle_timeout(at(510));
        assert_eq!(made(&mut station), [(200, 0)]);
        // A probe of the sender passes and changes nothing.
        let mut probe = Segment { seq: SeqNumber(199), flags: Flags::ACK, ..Segment::default() };
        station.handle_segment(FLOW, Towards::Mobile, &mut probe, at(2_000));
        assert_eq!(station.poll_timeout(), None);
        // The greeting opens the window; no number goes back.
        assert_eq!(ack(&mut station, 200, at(9_000)), (200, 500));
        assert_eq!(ack(&mut station, 300, at(9_010)), (299, 500));
    }

    #[test]
    fn packets_given_up_in_a_row_stop_the_sender_too() {
        let mut station = supervisor();
        one_of_three(&mut station);
        let mobile = FLOW.mobile.address;
        let lost = StationEvent::Undelivered { mobile, segment: None };
        station.handle_event(&lost, at(20));
        station.handle_event(&StationEvent::Delivered { mobile }, at(21));
        station.handle_event(&lost, at(22));
        assert_eq!(made(&mut station), []);
        station.handle_event(&lost, at(23));
        assert_eq!(made(&mut station), [(200, 0)]);
        station.handle_event(&lost, at(24));
        assert_eq!(made(&mut station), [], "once");
    }

    #[test]
    fn a_host_that_departs_leaves_a_stopped_sender_only_if_it_went_nowhere() {
        let mobile = FLOW.mobile.address;
        for (to, expected) in [(None, vec![(200, 0)]), (Some(Address::new(10, 0, 0, 9)), vec![])] {
            let mut station = supervisor();
            one_of_three(&mut station);
            station.handle_event(&StationEvent::Departed { mobile, to }, at(20));
            assert_eq!(made(&mut station), expected);
            assert_eq!(station.poll_timeout(), None);
        }
    }
}
