//! Link-loss: a MAC that persists while the link is away (approach A), and a TCP that does not take what the MAC drops for
//! congestion (approach B).
//!
//! ## What it does
//! A: each frame that is given up raises the retry limit RL by its default, 6, 12, 18, 24, and lowers the data rate by 11 %
//! of the full one, so that the MAC is still trying when the link comes back. A delivered frame ends that. B is A and the
//! flag `link_loss`: the MAC raises it when it drops data of a connection, and three duplicate ACKs that find it raised are
//! answered by a repair without a cut of the window; that uses it up.
//!
//! ## Signals it reads
//! `frame-sent` (the fate of each frame), `attempt-failed` with `rl_mode = "within-packet"`, `link-loss` with
//! `approach = "b"`.
//!
//! ## What it changes
//! Retry limits and rate of the host's radios, and TCP's answer to the third duplicate ACK. Timeouts stay conventional
//! (link-loss D4), and so do the contention window and everything on a link that works.
//!
//! ## Where it runs
//! On the mobile host, as sender over a wireless first hop. Peer, routers and segments are unchanged.
//!
//! ## Parameters
//! See [`PARAMS`].
//!
//! ## Differences from the paper
//! * The MAC only raises the flag. As printed it also clears it at the start of a window, which can be before the duplicate
//!   ACKs come. TCP clears it on use, on a timeout and when it is older than `flag_ttl` timeouts (link-loss D1).
//! * RL counts retries: RL + 1 attempts (link-loss D2).
//! * One flag for all connections and losses may excuse a later congestion loss; `exact = true` keeps which data was
//!   dropped and excuses only that (link-loss D3). Other holes of the same recovery are repaired within it.
//! * RL grows with each dropped frame; `rl_mode` has two other readings (link-loss D5).
//! * With a discrete set of rates, the highest rate that is low enough and not below 67 % of the full one; else the rate stays
//!   (link-loss D6).
//! * A drop of a pure ACK, or of somebody else's packet, does not raise the flag (link-loss D10).
//! * Any delivered frame ends the persistence, not only one that was retried: else a link that comes back between two
//!   frames would be used at the lower rate until some frame fails (link-loss D12).
//!
//! ## Not modelled
//! Steps per destination, which a base station with several hosts needs: an order to the MAC is for the station (link-loss
//! D9). Removing a segment that waits in the interface queue when TCP sends it again (link-loss D7). A limit to the burst
//! that follows a repair (link-loss D11).
//!
//! ## References
//! \[Dalal\] P. Dalal, N. Kothari, K. S. Dasgupta: Improving TCP Performance over Wireless Network with Frequent
//! Disconnections, §4.

use std::collections::{BTreeMap, VecDeque};

use super::{Action, Helps, MacCommand, Scheme, Spec};
use crate::params::{Kind, Param, Params};
use crate::signal::{LostData, OneShot, Signal, SignalKind};
use crate::tcp::{Connection, ConnectionId, Hooks, Loss, SeqNumber, State, Verdict};
use crate::time::Instant;
use crate::wifi::Limits;

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "link-loss",
    summary: "the MAC persists while the link is away, and TCP repairs what it drops without a cut",
    params: PARAMS,
    helps: Helps::UPLOADS,
    mobile: Some(|params| Box::new(LinkLoss::new(params))),
    fixed: None,
    base_station: None,
};

/// The default RL, and by how much each step raises it \[Dalal §4.1\].
const RETRIES: u16 = 6;
/// Steps above the default: RL ends at 24 \[Dalal §5.3\].
const STEPS: u16 = 3;
/// Reduction of the rate a step, in percent of the full rate: 33 % in three \[Dalal §4.1\].
const RATE_STEP_PERCENT: u8 = 11;
/// What the three steps leave of the rate, in percent.
const RATE_FLOOR_PERCENT: u8 = 67;

/// The parameters.
pub const PARAMS: &[Param] = &[
    Param {
        name: "approach",
        doc: "\"a\" is the MAC alone, \"b\" the MAC and the flag that TCP reads.",
        kind: Kind::Choice(&["b", "a"]),
        default: "b",
    },
    Param {
        name: "rl_mode",
        doc: "How the retry limit grows: with each dropped frame, always 12, or for the same frame up to 24 (link-loss D5).",
        kind: Kind::Choice(&["per-packet", "fixed12", "within-packet"]),
        default: "per-packet",
    },
    Param {
        name: "reduce_rate",
        doc: "Whether each step also lowers the data rate by 11 % of the full one (link-loss D6).",
        kind: Kind::Bool,
        default: "true",
    },
    Param {
        name: "exact",
        doc: "Excuse only losses of data that the MAC dropped, in place of one flag for all (link-loss D3).",
        kind: Kind::Bool,
        default: "false",
    },
    Param {
        name: "flag_ttl",
        doc: "A flag older than so many retransmission timeouts does not count (link-loss D1).",
        kind: Kind::Number(0.0, 1000.0),
        default: "2",
    },
];

/// How the retry limit grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    PerPacket,
    Fixed12,
    WithinPacket,
}

/// Data that the MAC dropped, and when.
#[derive(Clone, Copy, Debug)]
struct Dropped {
    seq: SeqNumber,
    len: u32,
    at: Instant,
}

/// The scheme of one host.
#[derive(Debug)]
pub struct LinkLoss {
    growth: Growth,
    reduces_rate: bool,
    /// Approach B.
    tells_tcp: bool,
    exact: bool,
    flag_ttl: f64,
    /// Steps taken above the default.
    step: u16,
    /// `link_loss`.
    flag: OneShot,
    /// With `exact`: what was dropped and is not acknowledged.
    dropped: BTreeMap<ConnectionId, Vec<Dropped>>,
    actions: VecDeque<Action>,
}

impl LinkLoss {
    /// A host whose link works.
    pub fn new(params: &Params) -> Self {
        let growth = match params.choice("rl_mode") {
            "fixed12" => Growth::Fixed12,
            "within-packet" => Growth::WithinPacket,
            _ => Growth::PerPacket,
        };
        let mut scheme = LinkLoss {
            growth,
            reduces_rate: params.bool("reduce_rate"),
            tells_tcp: params.choice("approach") == "b",
            exact: params.bool("exact"),
            flag_ttl: params.number("flag_ttl"),
            step: 0,
            flag: OneShot::default(),
            dropped: BTreeMap::new(),
            actions: VecDeque::new(),
        };
        if growth == Growth::Fixed12 {
            scheme.order_limit(2 * RETRIES);
        }
        scheme
    }

    fn order(&mut self, command: MacCommand) {
        self.actions.push_back(Action::Mac(command));
    }

    /// RL retries are RL + 1 attempts (link-loss D2), of an RTS as of data.
    fn order_limit(&mut self, retries: u16) {
        let attempts = retries + 1;
        self.order(MacCommand::SetRetryLimits(Limits { short: attempts, long: attempts }));
    }

    /// The next step of persistence, unless the last one is taken \[Dalal Fig. 3\].
    fn persist(&mut self) {
        if self.step == STEPS {
            return;
        }
        self.step += 1;
        if self.growth != Growth::Fixed12 {
            self.order_limit(RETRIES * (1 + self.step));
        }
        if self.reduces_rate {
            let to_percent = 100 - RATE_STEP_PERCENT * self.step as u8;
            self.order(MacCommand::ReduceRate { to_percent, floor_percent: RATE_FLOOR_PERCENT });
        }
    }

    /// A frame was delivered.
    fn relax(&mut self) {
        if std::mem::take(&mut self.step) == 0 {
            return;
        }
        self.order(MacCommand::RestoreDefaults);
        if self.growth == Growth::Fixed12 {
            self.order_limit(2 * RETRIES);
        }
    }

    fn note_drop(&mut self, lost: LostData, now: Instant) {
        let LostData { connection, seq, len } = lost;
        if self.exact {
            self.dropped.entry(connection).or_default().push(Dropped { seq, len, at: now });
        } else {
            self.flag.raise(now);
        }
    }

    /// Whether the MAC dropped what is missing, as far as it has told; uses that up.
    fn takes_the_blame(&mut self, connection: &Connection, loss: Loss, now: Instant) -> bool {
        let fresh = |at: Instant| {
            let age = now.since(at).as_secs_f64();
            age <= self.flag_ttl * connection.rtt().rto().as_secs_f64()
        };
        if !self.exact {
            return self.flag.take().is_some_and(fresh);
        }
        let Some(dropped) = self.dropped.get_mut(&connection.id()) else { return false };
        let is_missing = |one: &Dropped| {
            // Offsets count from the first byte, positions from the SYN before it.
            let start = connection.sent_offset(one.seq).map(|offset| offset + 1);
            start.is_some_and(|start| start < loss.end && loss.start < start + u64::from(one.len))
        };
        let found = dropped.iter().any(|one| is_missing(one) && fresh(one.at));
        dropped.retain(|one| !is_missing(one));
        found
    }

    fn forget(&mut self, connection: ConnectionId) {
        self.flag.take();
        self.dropped.remove(&connection);
    }
}

impl Hooks for LinkLoss {
    /// Timeouts stay conventional (link-loss D4); what was dropped before is repaired by them (link-loss D1).
    fn on_timeout(&mut self, connection: &Connection, _now: Instant) -> Verdict {
        self.forget(connection.id());
        Verdict::Proceed
    }

    /// \[Dalal Fig. 5\], the side of TCP.
    fn on_loss_detected(&mut self, connection: &Connection, loss: Loss, now: Instant) -> Verdict {
        if self.takes_the_blame(connection, loss, now) {
            Verdict::RetransmitKeep { backoff: false }
        } else {
            Verdict::Proceed
        }
    }

    fn on_ack(&mut self, connection: &Connection, acked: u64, _now: Instant) {
        if acked == 0 {
            return;
        }
        if let Some(dropped) = self.dropped.get_mut(&connection.id()) {
            let una = connection.sender().snd_una + acked;
            let end = |one: &Dropped| connection.sent_offset(one.seq).map(|o| o + 1 + u64::from(one.len));
            dropped.retain(|one| end(one).is_some_and(|end| end > una));
        }
    }

    fn on_state_change(&mut self, connection: &Connection, _from: State, _now: Instant) {
        if connection.state() == State::Closed {
            self.dropped.remove(&connection.id());
        }
    }
}

impl Scheme for LinkLoss {
    fn handle_signal(&mut self, signal: &Signal, _now: Instant) {
        match signal.kind {
            SignalKind::FrameSent { delivered: true, .. } => self.relax(),
            SignalKind::FrameSent { delivered: false, .. } if self.growth != Growth::WithinPacket => {
                self.persist();
            }
            // Before the last attempt that the limit allows, so that the frame goes on.
            SignalKind::AttemptFailed { tries }
                if self.growth == Growth::WithinPacket && u16::from(tries) == RETRIES * (1 + self.step) =>
            {
                self.persist();
            }
            SignalKind::LinkLoss { lost: Some(lost) } if self.tells_tcp => {
                self.note_drop(lost, signal.origin);
            }
            _ => {}
        }
    }

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn hears(&self, kind: &SignalKind) -> bool {
        match kind {
            SignalKind::FrameSent { .. } => true,
            SignalKind::AttemptFailed { .. } => self.growth == Growth::WithinPacket,
            SignalKind::LinkLoss { .. } => self.tells_tcp,
            _ => false,
        }
    }
}
