//! What a router's daemon keeps of each mobile host: its split connections, and those that are elsewhere.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::message::Refusal;
use super::msr::Packet;
use super::relay::{Relay, Socket};
use super::{Flow, Side};
use crate::tcp::{Connection, EndReason, State};
use crate::time::{Duration, Instant};

/// One split connection here.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pub(super) fixed: Connection,
    pub(super) wireless: Connection,
    pub(super) relay: Relay,
    pub(super) request: Option<u32>,
    pub(super) passive: bool,
    /// The request has been answered from here.
    pub(super) answered: bool,
    /// When a connection of the fixed host is offered again to the accept call that it was given to.
    pub(super) offer_at: Instant,
}

impl Guest {
    /// `flow` is over here: its late segments are remembered for `span`, as in TIME-WAIT.
    pub(super) fn finish(&mut self, flow: Flow, span: Duration, now: Instant) {
        self.splits.remove(&flow);
        self.known.retain(|_, until| *until > now);
        self.known.insert(flow, now + span);
    }
}

impl Split {
    pub(super) fn side(&mut self, side: Side) -> &mut Connection {
        match side {
            Side::Fixed => &mut self.fixed,
            Side::Wireless => &mut self.wireless,
        }
    }

    /// The accept call that has to be answered again, if it is time: the mobile host has not connected.
    pub(super) fn take_offer(&mut self, resend: Duration, now: Instant) -> Option<u32> {
        let is_open = self.wireless.state() == State::Listen && self.fixed.end_reason().is_none();
        if !is_open {
            self.offer_at = Instant::MAX;
        }
        if self.offer_at > now {
            return None;
        }
        self.offer_at = now + resend;
        self.request
    }

    pub(super) fn is_over(&self) -> bool {
        self.fixed.is_over() && self.wireless.is_over()
    }

    pub(super) fn next_deadline(&self) -> Option<(Instant, &'static str)> {
        let offer = (self.offer_at != Instant::MAX && !self.wireless.is_exported())
            .then_some((self.offer_at, "connection not taken up"));
        let deadlines = [self.fixed.poll_timeout(), self.wireless.poll_timeout(), offer];
        deadlines.into_iter().flatten().min_by_key(|(at, _)| *at)
    }
}

/// One mobile host, as the daemon sees it.
#[derive(Clone, Debug, Default)]
pub(super) struct Guest {
    pub(super) splits: BTreeMap<Flow, Split>,
    /// Connections that run elsewhere, are expected, or are over, and until when they are remembered: late segments of
    /// theirs are not answered.
    pub(super) known: BTreeMap<Flow, Instant>,
    /// Connections that were given up.
    pub(super) dead: BTreeSet<Flow>,
    pub(super) listeners: BTreeSet<u16>,
    /// Accept calls that wait: port and request.
    pub(super) accepts: Vec<(u16, u32)>,
    pub(super) refusals: BTreeMap<u32, Refusal>,
    pub(super) kept: VecDeque<Packet>,
}

/// What of a host's connections a packet belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Running(Flow, Side),
    Elsewhere,
    Dead(Flow, Side),
    Listener,
}

pub(super) fn find_flow(guest: &Guest, meant: impl Fn(&Flow) -> bool, side: Side) -> Option<Match> {
    let running = guest.splits.keys().find(|flow| meant(flow)).map(|flow| Match::Running(*flow, side));
    let dead = || guest.dead.iter().find(|flow| meant(flow)).map(|flow| Match::Dead(*flow, side));
    running.or_else(|| guest.known.keys().any(&meant).then_some(Match::Elsewhere)).or_else(dead)
}

/// What the relay sees of a connection.
pub(super) fn view(connection: &Connection, send_buffer: u64) -> Socket {
    let sender = connection.sender();
    let used = sender.stream_end - sender.snd_una.clamp(1, sender.stream_end);
    let open = connection.state().is_synchronised() && !sender.fin_queued;
    let end = connection.end_reason();
    Socket {
        readable: connection.receiver().unread(),
        writable: if open { send_buffer.saturating_sub(used) } else { 0 },
        at_end: connection.receiver().at_end(),
        failed: matches!(end, Some(EndReason::Reset | EndReason::UserTimeout | EndReason::Aborted)),
    }
}
