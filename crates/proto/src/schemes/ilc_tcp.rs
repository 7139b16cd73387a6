//! ILC-TCP: a State Manager on the mobile sender freezes TCP while a lower layer is away, and restores it.
//!
//! ## What it does
//! LL/PHY and IP tell the State Manager when they are and are not usable. On a retransmission timeout TCP asks it
//! what to do (`WHAT_SHOULD_TCP_DO`). If a layer is down the answer is FREEZE: no cut, no backoff, no timer. When all
//! configured layers are up again, every frozen connection gets RESTORE and resumes at its old rate.
//!
//! ## Signals it reads
//! `LINK_OK`, `LINK_NOT_OK`; with `layers = "link+ip"` also `IP_OK`, `IP_NOT_OK`.
//!
//! ## What it changes in TCP
//! The retransmission timeout of data in synchronised states. SYN, persist and user timeouts and the reaction to
//! duplicate ACKs stay as they are (ilc-tcp A11, A12).
//!
//! ## Where it runs
//! On the mobile host, as sender. Peer, routers and segments are unchanged; data towards the mobile host is not helped
//! (ilc-tcp A7).
//!
//! ## Parameters
//! See [`PARAMS`].
//!
//! ## Differences from the paper
//! * Fig. 7 as printed answers FREEZE under LINK_ONLY without registering TCP, so that it is never restored (ilc-tcp A1).
//!   We register in both branches; `bug_link_only_noreg = true` shows the hang.
//! * Fig. 6 retransmits the first unacknowledged segment only. A whole window was usually lost, so the default goes back
//!   N (`restore_mode`, ilc-tcp A3).
//! * An ACK of new data during a freeze ends it: the path works (ilc-tcp A5).
//! * A set of connections in place of one flag (ilc-tcp A6); RESTORE may be spread over `stagger`.
//! * A watchdog (`freeze_max`, ilc-tcp A8), a grace time (`grace`, ilc-tcp A2), a choice of the window after RESTORE
//!   (`restore_cwnd`, ilc-tcp A15) and a burst cap (`max_burst`), all off by default.
//! * Round-trip samples of segments sent before a freeze are discarded (ilc-tcp A13).
//!
//! ## References
//! \[Chinta\] M. Chinta, A. Helal: ILC-TCP: An Interlayer Collaboration Protocol for TCP Performance Improvement in
//! Mobile and Wireless Environments, §3.

use std::collections::{BTreeMap, VecDeque};

use super::{Action, Helps, Scheme, Spec};
use crate::params::{Kind, Param, Params};
use crate::signal::{Level, Signal, SignalKind};
use crate::tcp::{Command, Connection, ConnectionId, Hooks, RestoreMode, RestoreWindow, State, Verdict};
use crate::time::{Duration, Instant};

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "ilc-tcp",
    summary: "a State Manager freezes TCP while a lower layer is away, and restores it",
    params: PARAMS,
    helps: Helps::UPLOADS,
    mobile: Some(|params| Box::new(IlcTcp::new(params))),
    fixed: None,
    base_station: None,
};

/// Longest delay that a parameter may ask for: longer than any user waits.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The parameters.
pub const PARAMS: &[Param] = &[
    Param {
        name: "layers",
        doc: "Layers that report: \"link\" is LINK_ONLY (ILC-TCP1), \"link+ip\" is LINK_IP (ILC-TCP2).",
        kind: Kind::Choice(&["link+ip", "link"]),
        default: "link+ip",
    },
    Param {
        name: "notify_delay",
        doc: "Time from an event in a layer to the State Manager's hearing of it (criterion ILC-P10).",
        kind: Kind::Duration(Duration::ZERO, LONGEST_WAIT),
        default: "0 s",
    },
    Param {
        name: "restore_mode",
        doc: "What RESTORE sends first: all that is outstanding, or the first segment only as printed (ilc-tcp A3).",
        kind: Kind::Choice(&["go-back-n", "first-only"]),
        default: "go-back-n",
    },
    Param {
        name: "restore_cwnd",
        doc: "The window after RESTORE (ilc-tcp A15).",
        kind: Kind::Choice(&["keep", "half", "slow-start-to-old"]),
        default: "keep",
    },
    Param {
        name: "max_burst",
        doc: "Segments that RESTORE may send at once; 0 is no cap (ilc-tcp A3).",
        kind: Kind::Integer(0, 1_000_000),
        default: "0",
    },
    Param {
        name: "freeze_max",
        doc: "A freeze of this length is probed with one segment and judged again (ilc-tcp A8).",
        // With no time between probes the run would never get beyond the first.
        kind: Kind::Duration(Duration::from_millis(1), Duration::MAX),
        default: "for ever",
    },
    Param {
        name: "grace",
        doc: "A timeout this soon after all layers came up is taken for a loss of the outage (ilc-tcp A2).",
        kind: Kind::Duration(Duration::ZERO, LONGEST_WAIT),
        default: "0 s",
    },
    Param {
        name: "stagger",
        doc: "RESTORE of several connections is spread over this time (ilc-tcp A6).",
        kind: Kind::Duration(Duration::ZERO, LONGEST_WAIT),
        default: "0 s",
    },
    Param {
        name: "bug_link_only_noreg",
        doc: "Do as Fig. 7 is printed: with layers = \"link\" do not register on FREEZE (ilc-tcp A1).",
        kind: Kind::Bool,
        default: "false",
    },
];

/// The State Manager of one host.
#[derive(Debug)]
pub struct IlcTcp {
    link_and_ip: bool,
    notify_delay: Duration,
    restore: Command,
    freeze_max: Duration,
    grace: Duration,
    stagger: Duration,
    forgets_to_register: bool,
    /// Last link notification: `LINK_OK` or `LINK_NOT_OK`.
    link: Level,
    /// Last IP notification.
    ip: Level,
    /// When the layers last became good after they were not.
    good_since: Instant,
    /// `TCP_REGISTERED`: frozen connections, and when the watchdog looks at each.
    registered: BTreeMap<ConnectionId, Instant>,
    /// Restores that wait for their turn.
    staggered: VecDeque<(Instant, ConnectionId)>,
    /// When each connection was last frozen.
    frozen_at: BTreeMap<ConnectionId, Instant>,
    actions: VecDeque<Action>,
}

impl IlcTcp {
    /// A State Manager that takes all layers for good until told otherwise (ilc-tcp A4).
    pub fn new(params: &Params) -> Self {
        let mode = match params.choice("restore_mode") {
            "first-only" => RestoreMode::FirstOnly,
            _ => RestoreMode::GoBackN,
        };
        let window = match params.choice("restore_cwnd") {
            "half" => RestoreWindow::Half,
            "slow-start-to-old" => RestoreWindow::SlowStartToOld,
            _ => RestoreWindow::Keep,
        };
        // The declared range is far inside 32 bits.
        let max_burst = params.integer("max_burst") as u32;
        let link_and_ip = params.choice("layers") == "link+ip";
        IlcTcp {
            link_and_ip,
            notify_delay: params.duration("notify_delay"),
            restore: Command::Restore { mode, window, max_burst },
            freeze_max: params.duration("freeze_max"),
            grace: params.duration("grace"),
            stagger: params.duration("stagger"),
            forgets_to_register: params.bool("bug_link_only_noreg") && !link_and_ip,
            link: Level::good(),
            ip: Level::good(),
            good_since: Instant::ZERO,
            registered: BTreeMap::new(),
            staggered: VecDeque::new(),
            frozen_at: BTreeMap::new(),
            actions: VecDeque::new(),
        }
    }

    fn is_good(&self) -> bool {
        self.link.is_good() && (!self.link_and_ip || self.ip.is_good())
    }

    /// `restore_if_needed` of \[Chinta Fig. 7\].
    fn restore_if_needed(&mut self, now: Instant) {
        if !self.is_good() {
            return;
        }
        let waiting = std::mem::take(&mut self.registered);
        let count = waiting.len() as u64;
        for (turn, connection) in waiting.into_keys().enumerate() {
            let at = now + self.stagger * turn as u64 / count;
            if at == now {
                self.push(connection, self.restore);
            } else {
                self.staggered.push_back((at, connection));
            }
        }
    }

    /// A layer went down before their turn came: those connections are frozen still.
    fn take_back_staggered(&mut self, now: Instant) {
        for (_, connection) in self.staggered.drain(..) {
            self.registered.insert(connection, now + self.freeze_max);
        }
    }

    fn push(&mut self, connection: ConnectionId, command: Command) {
        self.actions.push_back(Action::Tcp { connection, command });
    }

    fn forget(&mut self, connection: ConnectionId) {
        self.registered.remove(&connection);
        self.staggered.retain(|(_, waiting)| *waiting != connection);
    }
}

impl Hooks for IlcTcp {
    /// `WHAT_SHOULD_TCP_DO`.
    fn on_timeout(&mut self, connection: &Connection, now: Instant) -> Verdict {
        let id = connection.id();
        if self.is_good() {
            let within_grace = self.good_since != Instant::ZERO && now.since(self.good_since) < self.grace;
            if !within_grace {
                return Verdict::Proceed;
            }
            self.push(id, self.restore);
        } else if !self.forgets_to_register {
            self.registered.insert(id, now + self.freeze_max);
        }
        self.frozen_at.insert(id, now);
        Verdict::Freeze
    }

    fn on_ack(&mut self, connection: &Connection, acked: u64, _now: Instant) {
        if acked > 0 && !(self.registered.is_empty() && self.staggered.is_empty()) {
            self.forget(connection.id());
        }
    }

    fn on_rtt_sample(&mut self, connection: &Connection, _rtt: Duration, sent_at: Instant) -> bool {
        self.frozen_at.get(&connection.id()).is_none_or(|frozen_at| sent_at >= *frozen_at)
    }

    fn on_state_change(&mut self, connection: &Connection, _from: State, _now: Instant) {
        if connection.state() == State::Closed {
            self.forget(connection.id());
            self.frozen_at.remove(&connection.id());
        }
    }
}

impl Scheme for IlcTcp {
    fn handle_signal(&mut self, signal: &Signal, now: Instant) {
        let was_good = self.is_good();
        match signal.kind {
            SignalKind::LinkNotOk => self.link.set(false, now),
            SignalKind::LinkOk => self.link.set(true, now),
            SignalKind::IpNotOk => self.ip.set(false, now),
            SignalKind::IpOk => self.ip.set(true, now),
            _ => return,
        };
        match (was_good, self.is_good()) {
            (false, true) => self.good_since = now,
            (true, false) => self.take_back_staggered(now),
            _ => {}
        }
        self.restore_if_needed(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while self.staggered.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, connection)) = self.staggered.pop_front() {
                self.push(connection, self.restore);
            }
        }
        let due: Vec<ConnectionId> =
            self.registered.iter().filter(|(_, at)| **at <= now).map(|(id, _)| *id).collect();
        for connection in due {
            self.registered.insert(connection, now + self.freeze_max);
            self.push(connection, Command::Probe);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let watchdog = self.registered.values().min().map(|at| (*at, "freeze watchdog"));
        let turn = self.staggered.front().map(|(at, _)| (*at, "staggered restore"));
        watchdog.into_iter().chain(turn).filter(|(at, _)| *at != Instant::MAX).min()
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn hears(&self, kind: &SignalKind) -> bool {
        use SignalKind::{IpNotOk, IpOk, LinkNotOk, LinkOk};
        matches!(kind, LinkOk | LinkNotOk | IpOk | IpNotOk)
    }

    fn notify_delay(&self) -> Duration {
        self.notify_delay
    }
}
