//! Freeze-TCP: a mobile receiver that foresees a disconnection closes its window, and opens it by three ACKs afterwards.
//!
//! ## What it does
//! A sender that sees a window of zero stops, probes it (persist), and keeps `cwnd` and its timers as they are. The
//! mobile host uses that: when its link is about to go it offers a window of zero, early enough for the ACK to reach the
//! sender and for what is in flight to arrive. When the link is back it sends three copies of its last ACK with the real
//! window at once, so that the sender need not wait for its next probe.
//!
//! ## Signals it reads
//! * Warning: `LINK_NOT_OK`, `HANDOVER_STARTED`, `IP_NOT_OK`. Only a judge that looks ahead is a warning: falling power
//!   (`link_quality` with a threshold above the power at the edge of the cell), or a handover that is announced. News of a
//!   link that has gone already finds no way to the sender.
//! * Reconnection: `LINK_OK`, `HANDOVER_COMPLETED`, `IP_OK`, when nothing of it is missing any more.
//!
//! ## What it changes in TCP
//! The window that the receiving half offers. Segments are those of any TCP, and so is the sender.
//!
//! ## Where it runs
//! On the mobile host, as receiver. As a sender it does nothing.
//!
//! ## Parameters
//! See [`PARAMS`]. \[Goff §3\] finds the best warning time to be one round-trip time: later, and segments in flight or the
//! ACK itself are lost and the sender times out; earlier, and the link stands idle while it still works. Where the layer
//! below warns earlier than that, `lead` says by how much and `warning` when to act.
//!
//! ## Differences from the paper
//! * The paper leaves open how a disconnection is foreseen. We take the signals above, with `lead` and `warning` for the
//!   time between.
//! * A watchdog, `freeze_max`: if good news is lost, the window would stay closed for ever.
//! * Of the three ACKs the first opens the window, so that the sender counts two duplicates, not three. The paper's three
//!   copies do so too under RFC 5681; what makes the sender go on is the window.
//!
//! ## References
//! \[Goff\] T. Goff, J. Moronski, D. S. Phatak, V. Gupta: Freeze-TCP: A true end-to-end TCP enhancement mechanism for mobile
//! environments, IEEE INFOCOM 2000.

use std::collections::{BTreeSet, VecDeque};

use super::{Action, Helps, Scheme, Spec};
use crate::params::{Kind, Param, Params};
use crate::signal::{Level, Signal, SignalKind};
use crate::tcp::{Command, Connection, ConnectionId, Hooks, Segment, State};
use crate::time::{Duration, Instant};

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "freeze-tcp",
    summary: "a mobile receiver closes its window before a disconnection, and opens it by three ACKs after",
    params: PARAMS,
    helps: Helps::DOWNLOADS,
    mobile: Some(|params| Box::new(FreezeTcp::new(params))),
    fixed: None,
    base_station: None,
};

/// The parameters.
pub const PARAMS: &[Param] = &[
    Param {
        name: "lead",
        doc: "How long the link lasts after the layer below has warned, as far as known; 0 s: not known, act at once.",
        kind: Kind::Duration(Duration::ZERO, Duration::from_secs(600)),
        default: "0 s",
    },
    Param {
        name: "warning",
        doc: "How long before the disconnection the window is closed, if `lead` leaves the choice ([Goff §3]: one RTT).",
        kind: Kind::Duration(Duration::ZERO, Duration::from_secs(600)),
        default: "200 ms",
    },
    Param {
        name: "acks",
        doc: "Copies of the last ACK on reconnection.",
        kind: Kind::Integer(1, 16),
        default: "3",
    },
    Param {
        name: "freeze_max",
        doc: "A window closed this long is opened again, whatever has been heard.",
        kind: Kind::Duration(Duration::from_millis(1), Duration::from_secs(600)),
        default: "600 s",
    },
];

/// The part of a mobile host.
#[derive(Debug)]
pub struct FreezeTcp {
    /// From the warning to the closing of the window.
    patience: Duration,
    opening: Command,
    freeze_max: Duration,
    link: Level,
    ip: Level,
    handover: Level,
    /// Connections that receive data.
    receiving: BTreeSet<ConnectionId>,
    freeze: Freeze,
    actions: VecDeque<Action>,
}

/// Whether the windows are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freeze {
    Open,
    /// They will be, at this instant.
    Warned(Instant),
    /// They are, until this instant at the latest.
    Closed(Instant),
    /// They were for too long; nothing happens before the next good news.
    GivenUp,
}

impl FreezeTcp {
    /// A part that takes all layers for good until told otherwise.
    pub fn new(params: &Params) -> Self {
        // The declared range is far inside 32 bits.
        let copies = params.integer("acks") as u32;
        FreezeTcp {
            patience: params.duration("lead") - params.duration("warning"),
            opening: Command::OpenWindow { dup_acks: copies - 1 },
            freeze_max: params.duration("freeze_max"),
            link: Level::good(),
            ip: Level::good(),
            handover: Level::good(),
            receiving: BTreeSet::new(),
            freeze: Freeze::Open,
            actions: VecDeque::new(),
        }
    }

    fn is_good(&self) -> bool {
        self.link.is_good() && self.ip.is_good() && self.handover.is_good()
    }

    fn order_all(&mut self, command: Command) {
        let order = |id: &ConnectionId| Action::Tcp { connection: *id, command };
        self.actions.extend(self.receiving.iter().map(order));
    }

    fn close(&mut self, now: Instant) {
        self.freeze = Freeze::Closed(now + self.freeze_max);
        self.order_all(Command::ZeroWindow);
    }
}

impl Hooks for FreezeTcp {
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

impl Scheme for FreezeTcp {
    fn handle_signal(&mut self, signal: &Signal, now: Instant) {
        match signal.kind {
            SignalKind::LinkNotOk => self.link.set(false, now),
            SignalKind::LinkOk => self.link.set(true, now),
            SignalKind::IpNotOk => self.ip.set(false, now),
            SignalKind::IpOk => self.ip.set(true, now),
            SignalKind::HandoverStarted => self.handover.set(false, now),
            SignalKind::HandoverCompleted => self.handover.set(true, now),
            _ => return,
        };
        match (self.is_good(), self.freeze) {
            (false, Freeze::Open) if self.patience == Duration::ZERO => self.close(now),
            (false, Freeze::Open) => self.freeze = Freeze::Warned(now + self.patience),
            (true, Freeze::Warned(_)) => self.freeze = Freeze::Open,
            (true, Freeze::Closed(_) | Freeze::GivenUp) => {
                self.freeze = Freeze::Open;
                self.order_all(self.opening);
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        match self.freeze {
            Freeze::Warned(at) if at <= now => self.close(now),
            Freeze::Closed(until) if until <= now => {
                self.freeze = Freeze::GivenUp;
                self.order_all(self.opening);
            }
            _ => {}
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match self.freeze {
            Freeze::Warned(at) => Some((at, "close the window")),
            Freeze::Closed(until) => Some((until, "freeze watchdog")),
            Freeze::Open | Freeze::GivenUp => None,
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn hears(&self, kind: &SignalKind) -> bool {
        use SignalKind::{HandoverCompleted, HandoverStarted, IpNotOk, IpOk, LinkNotOk, LinkOk};
        matches!(kind, LinkOk | LinkNotOk | IpOk | IpNotOk | HandoverStarted | HandoverCompleted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{End, Pair};

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// The server sends to a mobile client that is away from 1 s to 4 s and hears `bad` at `warned`.
    fn download(params: &[(&str, &str)], warned: u64, bad: SignalKind, good: SignalKind) -> Pair {
        let mut declared = Params::defaults(PARAMS);
        for (name, value) in params {
            declared.set(name, value).expect("a valid value");
        }
        let mut pair = Pair::new("rfc", "new-reno");
        pair.scheme = Some(Box::new(FreezeTcp::new(&declared)));
        pair.server.write(50_000_000);
        pair.set_fate(|_, _, now, _| (!(at(1_000)..at(4_000)).contains(&now)).then_some(Duration::ZERO));
        pair.signal_at(at(warned), bad);
        pair.signal_at(at(4_000), good);
        pair
    }

    #[test]
    fn a_warned_sender_keeps_its_window_and_resumes_at_once() {
        for (bad, good) in [
            (SignalKind::LinkNotOk, SignalKind::LinkOk),
            (SignalKind::HandoverStarted, SignalKind::HandoverCompleted),
        ] {
            let mut pair = download(&[], 960, bad, good);
            pair.run_until(at(959));
            let before = pair.server.sender().window;
            pair.run_until(at(3_999));
            assert_eq!(pair.server.sender().snd_wnd, 0);
            pair.run_until(at(4_010));
            assert!(pair.server.sender().window.cwnd >= before.cwnd);
            assert_eq!(pair.server.stats().timeouts, 0);
            let data = |s: &&crate::testing::Sent| s.by == End::Server && s.segment.len > 0;
            assert_eq!(pair.wire.iter().rfind(data).map(|s| s.at), Some(at(4_010)));
        }
    }

    #[test]
    fn reconnection_is_told_by_three_equal_acks() {
        let mut pair = download(&[], 960, SignalKind::LinkNotOk, SignalKind::LinkOk);
        pair.run_until(at(4_005));
        let told: Vec<_> = pair.wire.iter().filter(|s| s.by == End::Client && s.at == at(4_000)).collect();
        assert_eq!(told.len(), 3);
        assert!(told.iter().all(|s| s.segment == told[0].segment && s.segment.window > 0));
    }

    #[test]
    fn a_sender_warned_too_late_times_out() {
        let mut pair = download(&[], 1_000, SignalKind::LinkNotOk, SignalKind::LinkOk);
        pair.run_until(at(3_999));
        assert!(pair.server.stats().timeouts > 0);
    }

    #[test]
    fn with_a_known_lead_the_window_is_closed_by_the_warning_time_before_the_end() {
        let params = [("lead", "500 ms"), ("warning", "40 ms")];
        let mut pair = download(&params, 500, SignalKind::LinkNotOk, SignalKind::LinkOk);
        pair.run_until(at(959));
        assert!(pair.server.sender().snd_wnd > 0);
        pair.run_until(at(3_999));
        assert_eq!((pair.server.sender().snd_wnd, pair.server.stats().timeouts), (0, 0));
    }

    #[test]
    fn a_false_alarm_that_ends_in_time_closes_nothing() {
        let params = [("lead", "500 ms"), ("warning", "40 ms")];
        let mut pair = download(&params, 100, SignalKind::LinkNotOk, SignalKind::LinkOk);
        pair.signal_at(at(300), SignalKind::LinkOk);
        pair.run_until(at(900));
        assert!(pair.wire.iter().all(|s| s.segment.window > 0));
    }

    #[test]
    fn a_window_whose_good_news_is_lost_opens_in_the_end() {
        let params = [("freeze_max", "5 s")];
        let mut pair = download(&params, 960, SignalKind::LinkNotOk, SignalKind::LinkNotOk);
        pair.run_until(at(5_959));
        assert_eq!(pair.server.sender().snd_wnd, 0);
        pair.run_until(at(5_980));
        assert!(pair.server.sender().snd_wnd > 0);
    }

    #[test]
    fn a_mobile_sender_is_left_alone() {
        let mut pair = Pair::new("rfc", "new-reno");
        pair.scheme = Some(Box::new(FreezeTcp::new(&Params::defaults(PARAMS))));
        pair.client.write(100_000);
        pair.signal_at(at(50), SignalKind::LinkNotOk);
        pair.run_until(at(2_000));
        assert_eq!(pair.delivered(), 100_000);
        assert!(pair.wire.iter().all(|s| s.segment.window > 0));
    }
}
