//! The points at which TCP asks or tells a policy.
//!
//! Each hook gets the connection as it is before the event changes anything. [`NoHooks`] compiles to nothing: with it
//! the core is a plain TCP.

use super::{Connection, Options, Segment, SeqNumber, State};
use crate::time::{Duration, Instant};

/// A policy's answer at a decision point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Do as TCP does.
    Proceed,
    /// Stop: no cut, no backoff, no timer, nothing sent until a command, or an ACK of new data.
    Freeze,
    /// Repair without a cut of `cwnd` or `ssthresh`.
    RetransmitKeep {
        /// Whether the timer still backs off.
        backoff: bool,
    },
    /// Do nothing; after a timeout the timer starts again with the same value.
    Suppress,
}

impl Verdict {
    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Proceed => "proceed",
            Verdict::Freeze => "freeze",
            Verdict::RetransmitKeep { backoff: true } => "retransmit-keep-backoff",
            Verdict::RetransmitKeep { backoff: false } => "retransmit-keep",
            Verdict::Suppress => "suppress",
        }
    }
}

/// How a loss was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// First position missing.
    pub start: u64,
    /// Position after the first missing segment.
    pub end: u64,
}

/// What a policy may hear and decide. Every method has a default that leaves TCP alone.
pub trait Hooks {
    /// The retransmission timer expired with data outstanding in a synchronised state; asked before any change.
    /// Not asked for SYN, persist and user timeouts (ilc-tcp A11).
    fn on_timeout(&mut self, connection: &Connection, now: Instant) -> Verdict {
        let _ = (connection, now);
        Verdict::Proceed
    }

    /// Duplicate ACKs have reached the threshold and recovery may start; asked before the cut.
    fn on_loss_detected(&mut self, connection: &Connection, loss: Loss, now: Instant) -> Verdict {
        let _ = (connection, loss, now);
        Verdict::Proceed
    }

    /// A valid ACK, before the window grows; `acked` positions are new.
    fn on_ack(&mut self, connection: &Connection, acked: u64, now: Instant) {
        let _ = (connection, acked, now);
    }

    /// A valid segment's options, before duplicate ACKs are counted. `true`: the ACK is used up.
    fn on_ack_options(
        &mut self,
        connection: &Connection,
        options: &Options,
        pure_ack: bool,
        now: Instant,
    ) -> bool {
        let _ = (connection, options, pure_ack, now);
        false
    }

    /// The network reports a packet of this connection as undeliverable; `quoted` lies within what is outstanding.
    fn on_unreachable(&mut self, connection: &Connection, quoted: SeqNumber, now: Instant) {
        let _ = (connection, quoted, now);
    }

    /// A round-trip sample, before the estimator; `false` discards it.
    fn on_rtt_sample(&mut self, connection: &Connection, rtt: Duration, sent_at: Instant) -> bool {
        let _ = (connection, rtt, sent_at);
        true
    }

    /// The retransmission timer is being set to `rto`; the answer is used.
    fn on_rto_armed(&mut self, connection: &Connection, rto: Duration) -> Duration {
        let _ = connection;
        rto
    }

    /// The peer's SYN has been taken; `options` are those that it carried.
    fn on_syn(&mut self, connection: &Connection, options: &Options, now: Instant) {
        let _ = (connection, options, now);
    }

    /// A segment is about to leave; it may be given options. `false` holds it back, unless it is a SYN.
    fn on_send(&mut self, connection: &Connection, segment: &mut Segment, now: Instant) -> bool {
        let _ = (connection, segment, now);
        true
    }

    /// The peer's window changed to `window` bytes.
    fn on_window_update(&mut self, connection: &Connection, window: u64, now: Instant) {
        let _ = (connection, window, now);
    }

    /// The connection changed state.
    fn on_state_change(&mut self, connection: &Connection, from: State, now: Instant) {
        let _ = (connection, from, now);
    }

    /// Data arrived at the receiving half, before it is taken.
    fn on_data(&mut self, connection: &Connection, segment: &Segment, now: Instant) {
        let _ = (connection, segment, now);
    }
}

/// No policy at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {}
