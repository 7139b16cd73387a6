//! The sender: stops on an EHO-ACK, goes on after an EHC-ACK.

use std::collections::{BTreeMap, VecDeque};

use crate::mobile_ip::Address;
use crate::params::Params;
use crate::rng::split_mix;
use crate::schemes::Action;
use crate::tcp::cc::Window;
use crate::tcp::{Command, Connection, ConnectionId, Experimental, Flags, Handover, HandoverNotice, Segment};
use crate::time::{Duration, Instant};

/// One connection.
#[derive(Clone, Copy, Debug)]
struct State {
    /// What notices for it must carry.
    nonce: u32,
    /// Since when it is stopped, and when it is probed.
    suspended: Option<(Instant, Instant)>,
    /// The pair before the timeouts since the last ACK of new data.
    before_cut: Option<Window>,
}

/// The sending part of one host.
#[derive(Debug)]
pub(super) struct Sender {
    secret: u64,
    susp_max: Duration,
    restore_pre_cut: bool,
    connections: BTreeMap<ConnectionId, State>,
    /// The other end of each connection.
    peers: BTreeMap<ConnectionId, Address>,
    actions: VecDeque<Action>,
}

impl Sender {
    pub(super) fn new(params: &Params) -> Self {
        Sender {
            secret: params.integer("secret"),
            susp_max: params.duration("susp_max"),
            restore_pre_cut: params.bool("restore_pre_cut"),
            connections: BTreeMap::new(),
            peers: BTreeMap::new(),
            actions: VecDeque::new(),
        }
    }

    pub(super) fn handle_peer(&mut self, connection: ConnectionId, peer: Address) {
        self.peers.insert(connection, peer);
    }

    /// Puts the nonce on a SYN.
    pub(super) fn handle_sent(&mut self, connection: ConnectionId, segment: &mut Segment, now: Instant) {
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        let of_connection = split_mix(u64::from(connection.0) ^ split_mix(now.as_nanos()));
        // The upper half is as good as the whole.
        let nonce = (split_mix(self.secret ^ of_connection) >> 32) as u32;
        let fresh = State { nonce, suspended: None, before_cut: None };
        let state = self.connections.entry(connection).or_insert(fresh);
        segment.options.experimental = Some(Experimental::HandoverAware { nonce: state.nonce });
    }

    /// Whether the ACK that carried `notice` is used up by it.
    pub(super) fn handle_notice(
        &mut self,
        connection: &Connection,
        notice: HandoverNotice,
        now: Instant,
    ) -> bool {
        let id = connection.id();
        let Some(state) = self.connections.get_mut(&id).filter(|state| state.nonce == notice.nonce) else {
            // A forgery is not even a duplicate ACK.
            return true;
        };
        match (notice.moment, state.suspended) {
            (Handover::Started, None) => {
                state.suspended = Some((now, now + self.susp_max));
                let before_cut = state.before_cut.filter(|_| self.restore_pre_cut);
                self.push(id, Command::Suspend);
                if let Some(window) = before_cut {
                    self.push(id, Command::SetWindow(window));
                }
                true
            }
            (Handover::Completed, Some(_)) => {
                state.suspended = None;
                if let (Some(care_of), Some(host)) = (notice.care_of, self.peers.get(&id)) {
                    self.actions.push_back(Action::Bind { host: *host, care_of });
                }
                self.push(id, Command::Resume);
                false
            }
            _ => true,
        }
    }

    pub(super) fn handle_ack(&mut self, connection: &Connection, acked: u64, now: Instant) {
        if acked == 0 {
            return;
        }
        let id = connection.id();
        let Some(state) = self.connections.get_mut(&id) else { return };
        state.before_cut = None;
        let patience = connection.rtt().rto() * 2;
        if state.suspended.is_some_and(|(since, _)| now.since(since) >= patience) {
            state.suspended = None;
            self.push(id, Command::Resume);
        }
    }

    /// The timer has expired, and `cwnd` and `ssthresh` are about to be cut.
    pub(super) fn note_cut(&mut self, connection: &Connection) {
        if let Some(state) = self.connections.get_mut(&connection.id()) {
            state.before_cut.get_or_insert(connection.sender().window);
        }
    }

    pub(super) fn forget(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        let mut due = Vec::new();
        for (id, state) in &mut self.connections {
            if let Some((_, probe_at)) = state.suspended.as_mut().filter(|(_, probe_at)| *probe_at <= now) {
                *probe_at = now + self.susp_max;
                due.push(*id);
            }
        }
        for id in due {
            self.push(id, Command::Probe);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let probes = self.connections.values().filter_map(|state| state.suspended).map(|(_, at)| at);
        probes.min().filter(|at| *at != Instant::MAX).map(|at| (at, "suspension watchdog"))
    }

    pub(super) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn push(&mut self, connection: ConnectionId, command: Command) {
        self.actions.push_back(Action::Tcp { connection, command });
    }
}
