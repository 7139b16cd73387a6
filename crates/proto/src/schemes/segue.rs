//! Segue: the parts of the five systems that go together, under one policy.
//!
//! ## What it does
//! * A sender whose path is away is frozen at its timeout and restored when the path is back (ILC-TCP). What it lost before
//!   the news came is undone: window and timer go back to what they were before the first timeout of the silence.
//! * The good news acts at once. ILC-TCP only hears of an outage at a timeout; here every connection that has been silent
//!   for longer than a round trip, or whose data the MAC has dropped, starts again when the path is back.
//! * The MAC persists, and what it drops is repaired without a cut (link-loss, approach B), by a timeout as by duplicate
//!   ACKs.
//! * A mobile receiver that is back, and to which no data has come since it went, says so in options of ACKs (Boosted TCP's
//!   second handover notice). It says so three times, as duplicate ACKs, so that a sender that knows nothing of the
//!   option does what Cáceres and Iftode have it do: a fast retransmit.
//! * Congestion has the last word: while a receiver reports a `p_max` above `veto`, losses are cut for, and a restored
//!   connection starts slowly (Boosted TCP, turned round: a low `p_max` excuses nothing, for a path without active
//!   queue management always reports one).
//!
//! ## Signals it reads
//! `LINK_OK`, `LINK_NOT_OK`, `IP_OK`, `IP_NOT_OK`, `link-loss`, `frame-sent`, `drop-probability`.
//!
//! ## What it changes in TCP
//! The answers to timeouts and to the third duplicate ACK; what is sent when the path comes back. Nothing while the path
//! is there and the MAC drops nothing.
//!
//! ## Where it runs
//! On mobile hosts; on fixed hosts for downloads. Each part is of use without the other. A base station that persists too
//! was tried and left out: it waits for the host that is away while others could be served, and what it kept is what the
//! restored sender sends again. With it the gain in frequent outages fell from 113 to 68 % (uploads) and from 83 to 44 %
//! (downloads), and a noisy link gained nothing.
//!
//! ## Parameters
//! See [`PARAMS`].
//!
//! ## Precedence
//! Freeze before repair without a cut before plain TCP; evidence of congestion before repair and before restoring at the
//! full rate.
//!
//! ## References
//! The headers of `ilc_tcp`, `link_loss` and `boosted_tcp` in this folder. R. Ludwig, A. Gurtov: RFC 4015, §3.2, for undoing
//! a cut. R. Cáceres, L. Iftode: Improving the Performance of Reliable Transport Protocols in Mobile Computing Environments,
//! IEEE JSAC 13(5), 1995, §5.

mod half;

use std::collections::{BTreeMap, VecDeque};

use self::half::Conversation;
use super::link_loss::{self, LinkLoss};
use super::{Action, Helps, Scheme, Spec};
use crate::params::{Kind, Param, Params};
use crate::signal::{Level, Scope, Signal, SignalKind};
use crate::tcp::{
    Command, Connection, ConnectionId, Experimental, Hooks, Loss, Options, RestoreMode, RestoreWindow,
    Segment, State, Verdict,
};
use crate::time::{Duration, Instant};

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "segue",
    summary: "freeze, restore, undo, persist and tell: what goes together of the five systems",
    params: PARAMS,
    helps: Helps::BOTH,
    mobile: Some(|params| Box::new(Segue::new(params, true))),
    fixed: Some(|params| Box::new(Segue::new(params, false))),
    base_station: None,
};

/// The parameters.
pub const PARAMS: &[Param] = &[
    Param {
        name: "persist",
        doc: "Whether the MAC of the mobile host persists, and what it drops is excused (link-loss).",
        kind: Kind::Bool,
        default: "true",
    },
    Param {
        name: "notices",
        doc: "Whether a mobile receiver tells its senders that it is back.",
        kind: Kind::Bool,
        default: "true",
    },
    Param {
        name: "veto",
        doc: "A reported drop probability above this is congestion, whatever else is known (boosted-tcp B2).",
        kind: Kind::Number(0.0, 1.0),
        default: "0.75",
    },
    Param {
        name: "notify_delay",
        doc: "Time from an event in a layer to the scheme's hearing of it.",
        kind: Kind::Duration(Duration::ZERO, Duration::from_secs(3600)),
        default: "0 s",
    },
];

/// Copies of the good news: all three may be needed for a fast retransmit of a plain sender (RFC 5681 §3.2).
const COPIES: u32 = 3;

/// The part on one host.
#[derive(Debug)]
pub struct Segue {
    mac: Option<LinkLoss>,
    tells: bool,
    veto: f64,
    notify_delay: Duration,
    link: Level,
    ip: Level,
    /// When the path of this host went away, the last time that it did.
    bad_since: Instant,
    conversations: BTreeMap<ConnectionId, Conversation>,
    actions: VecDeque<Action>,
}

impl Segue {
    /// A host whose path is there.
    pub fn new(params: &Params, mobile: bool) -> Self {
        let persists = mobile && params.bool("persist");
        Segue {
            mac: persists.then(|| LinkLoss::new(&Params::defaults(link_loss::PARAMS))),
            tells: mobile && params.bool("notices"),
            veto: params.number("veto"),
            notify_delay: params.duration("notify_delay"),
            link: Level::good(),
            ip: Level::good(),
            bad_since: Instant::ZERO,
            conversations: BTreeMap::new(),
            actions: VecDeque::new(),
        }
    }

    fn is_good(&self) -> bool {
        self.link.is_good() && self.ip.is_good()
    }

    fn conversation(&mut self, connection: &Connection) -> &mut Conversation {
        self.conversations.entry(connection.id()).or_default()
    }

    fn push(&mut self, connection: ConnectionId, command: Command) {
        self.actions.push_back(Action::Tcp { connection, command });
    }

    /// Whether the MAC dropped the first segment that is outstanding. What else it dropped will be sent again with it.
    fn was_dropped(&mut self, connection: &Connection, now: Instant) -> bool {
        let Some(mac) = &mut self.mac else { return false };
        let start = connection.sender().snd_una;
        let first = Loss { start, end: start + 1 };
        let dropped = mac.on_loss_detected(connection, first, now) != Verdict::Proceed;
        mac.on_timeout(connection, now);
        dropped
    }

    /// The path of this host is back.
    fn begin_again(&mut self, now: Instant) {
        let ids: Vec<ConnectionId> = self.conversations.keys().copied().collect();
        for id in ids {
            let bad_since = self.bad_since;
            let Some(conversation) = self.conversations.get_mut(&id) else { continue };
            let is_stalled = conversation.is_stalled(now);
            if self.tells && conversation.listens_in_vain(bad_since) {
                conversation.tell(COPIES);
                self.push(id, Command::SendDupAcks { copies: COPIES });
            }
            if is_stalled {
                self.restart(id, now);
            }
        }
    }

    /// Sends what is outstanding again, with the window of before the silence.
    fn restart(&mut self, id: ConnectionId, now: Instant) {
        let veto = self.veto;
        let Some(conversation) = self.conversations.get_mut(&id) else { return };
        let congested = conversation.is_congested(veto, now);
        let (frozen, before_cut) = conversation.take_up(now);
        match (frozen, congested) {
            (true, true) => self.push_restore(id, RestoreWindow::SlowStartToOld),
            (true, false) => {
                if let Some(window) = before_cut {
                    self.push(id, Command::SetWindow(window));
                }
                self.push_restore(id, RestoreWindow::Keep);
            }
            (false, true) => {}
            (false, false) => {
                self.push(id, Command::Suspend);
                if let Some(window) = before_cut {
                    self.push(id, Command::SetWindow(window));
                }
                self.push(id, Command::Resume);
            }
        }
    }

    fn push_restore(&mut self, id: ConnectionId, window: RestoreWindow) {
        self.push(id, Command::Restore { mode: RestoreMode::GoBackN, window, max_burst: 0 });
    }
}

impl Hooks for Segue {
    fn on_timeout(&mut self, connection: &Connection, now: Instant) -> Verdict {
        let dropped = self.was_dropped(connection, now);
        let (is_good, veto) = (self.is_good(), self.veto);
        let window = connection.sender().window;
        let conversation = self.conversation(connection);
        if is_good {
            if dropped && !conversation.is_congested(veto, now) {
                return Verdict::RetransmitKeep { backoff: true };
            }
            conversation.note_cut(window);
            return Verdict::Proceed;
        }
        conversation.freeze(now);
        Verdict::Freeze
    }

    fn on_loss_detected(&mut self, connection: &Connection, loss: Loss, now: Instant) -> Verdict {
        let verdict =
            self.mac.as_mut().map_or(Verdict::Proceed, |mac| mac.on_loss_detected(connection, loss, now));
        let veto = self.veto;
        if self.conversation(connection).is_congested(veto, now) { Verdict::Proceed } else { verdict }
    }

    fn on_ack(&mut self, connection: &Connection, acked: u64, now: Instant) {
        if let Some(mac) = &mut self.mac {
            mac.on_ack(connection, acked, now);
        }
        let sender = connection.sender();
        let remains = sender.snd_una + acked < sender.snd_max;
        let srtt = connection.rtt().srtt();
        let conversation = self.conversation(connection);
        let restarts = conversation.peer_is_back() && conversation.is_stalled(now) && remains;
        if acked > 0 && !restarts {
            conversation.note_progress(remains, srtt, now);
        }
        if restarts {
            self.restart(connection.id(), now);
        }
    }

    fn on_ack_options(
        &mut self,
        connection: &Connection,
        options: &Options,
        _pure_ack: bool,
        now: Instant,
    ) -> bool {
        if let Some(Experimental::PathReport(report)) = options.experimental {
            self.conversation(connection).hear(report, now);
        }
        false
    }

    fn on_rtt_sample(&mut self, connection: &Connection, _rtt: Duration, sent_at: Instant) -> bool {
        self.conversation(connection).believes_sample_of(sent_at)
    }

    fn on_send(&mut self, connection: &Connection, segment: &mut Segment, now: Instant) -> bool {
        let conversation = self.conversation(connection);
        if segment.len > 0 {
            conversation.note_sent(now);
        }
        if segment.options.experimental.is_none() {
            segment.options.experimental = conversation.report().map(Experimental::PathReport);
        }
        true
    }

    fn on_data(&mut self, connection: &Connection, segment: &Segment, now: Instant) {
        if segment.len > 0 {
            self.conversation(connection).note_data(now);
        }
    }

    fn on_state_change(&mut self, connection: &Connection, from: State, now: Instant) {
        if let Some(mac) = &mut self.mac {
            mac.on_state_change(connection, from, now);
        }
        if matches!(connection.state(), State::Closed | State::TimeWait) {
            self.conversations.remove(&connection.id());
        }
    }
}

impl Scheme for Segue {
    fn handle_signal(&mut self, signal: &Signal, now: Instant) {
        if let Some(mac) = &mut self.mac {
            mac.handle_signal(signal, now);
        }
        let was_good = self.is_good();
        match signal.kind {
            SignalKind::LinkNotOk => _ = self.link.set(false, now),
            SignalKind::LinkOk => _ = self.link.set(true, now),
            SignalKind::IpNotOk => _ = self.ip.set(false, now),
            SignalKind::IpOk => _ = self.ip.set(true, now),
            SignalKind::LinkLoss { lost: Some(lost) } => {
                self.conversations.entry(lost.connection).or_default().note_dropped();
            }
            // Less than that would change nothing at the other end.
            SignalKind::DropProbability(p) => {
                if let Scope::Flow(id) = signal.scope {
                    let alarming = (p > self.veto).then_some(p);
                    self.conversations.entry(ConnectionId(id)).or_default().note_p_max(alarming);
                }
            }
            _ => {}
        }
        match (was_good, self.is_good()) {
            (true, false) => {
                self.bad_since = now;
            }
            (false, true) => self.begin_again(now),
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for (id, conversation) in &mut self.conversations {
            if conversation.probe_is_due(now) {
                self.actions.push_back(Action::Tcp { connection: *id, command: Command::Probe });
            }
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let probes = self.conversations.values().filter_map(Conversation::probe_at);
        probes.min().map(|at| (at, "freeze watchdog"))
    }

    fn poll_action(&mut self) -> Option<Action> {
        let of_mac = self.mac.as_mut().and_then(Scheme::poll_action);
        of_mac.or_else(|| self.actions.pop_front())
    }

    fn hears(&self, kind: &SignalKind) -> bool {
        use SignalKind::{DropProbability, IpNotOk, IpOk, LinkNotOk, LinkOk};
        let own = matches!(kind, LinkOk | LinkNotOk | IpOk | IpNotOk | DropProbability(_));
        own || self.mac.as_ref().is_some_and(|mac| mac.hears(kind))
    }

    fn notify_delay(&self) -> Duration {
        self.notify_delay
    }
}
