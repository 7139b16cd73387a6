//! The part of Wi-TCP on a host: every host is a sender, mobile ones list their connections as well.

use super::list::Lister;
use super::sender::Sender;
use crate::base_station::{Flow, Message};
use crate::mobile_ip::Address;
use crate::params::Params;
use crate::schemes::{Action, Scheme};
use crate::signal::{Signal, SignalKind};
use crate::tcp::{Connection, ConnectionId, Experimental, Hooks, Options, Segment, State, Verdict};
use crate::time::Instant;

/// The part on one host.
#[derive(Debug)]
pub(super) struct Host {
    sender: Sender,
    /// Only on mobile hosts.
    lister: Option<Lister>,
}

impl Host {
    pub(super) fn fixed(params: &Params) -> Self {
        Host { sender: Sender::new(params), lister: None }
    }

    pub(super) fn mobile(params: &Params) -> Self {
        Host { sender: Sender::new(params), lister: Some(Lister::default()) }
    }
}

impl Hooks for Host {
    fn on_timeout(&mut self, connection: &Connection, _now: Instant) -> Verdict {
        self.sender.note_cut(connection);
        Verdict::Proceed
    }

    fn on_ack(&mut self, connection: &Connection, acked: u64, now: Instant) {
        self.sender.handle_ack(connection, acked, now);
    }

    fn on_ack_options(
        &mut self,
        connection: &Connection,
        options: &Options,
        pure_ack: bool,
        now: Instant,
    ) -> bool {
        match options.experimental {
            Some(Experimental::Handover(notice)) if pure_ack => {
                self.sender.handle_notice(connection, notice, now)
            }
            _ => false,
        }
    }

    fn on_syn(&mut self, connection: &Connection, options: &Options, _now: Instant) {
        if let (Some(lister), Some(Experimental::HandoverAware { nonce })) =
            (&mut self.lister, options.experimental)
        {
            lister.handle_nonce(connection.id(), nonce);
        }
    }

    fn on_send(&mut self, connection: &Connection, segment: &mut Segment, now: Instant) -> bool {
        self.sender.handle_sent(connection.id(), segment, now);
        if let Some(lister) = &mut self.lister {
            lister.handle_sent(connection.id(), segment, now);
        }
        true
    }

    fn on_state_change(&mut self, connection: &Connection, _from: State, _now: Instant) {
        if connection.state() == State::Closed {
            self.sender.forget(connection.id());
            if let Some(lister) = &mut self.lister {
                lister.forget(connection.id());
            }
        }
    }
}

impl Scheme for Host {
    fn handle_signal(&mut self, signal: &Signal, now: Instant) {
        let Some(lister) = &mut self.lister else { return };
        match signal.kind {
            SignalKind::Attached { station } => lister.handle_attached(station, now),
            SignalKind::LinkOk | SignalKind::IpOk => lister.handle_return(now),
            _ => {}
        }
    }

    fn handle_flow(&mut self, connection: ConnectionId, flow: Flow, _now: Instant) {
        let peer = if self.lister.is_some() { flow.fixed } else { flow.mobile };
        self.sender.handle_peer(connection, peer.address);
        if let Some(lister) = &mut self.lister {
            lister.handle_flow(connection, flow);
        }
    }

    fn handle_message(&mut self, from: Address, message: &Message, _now: Instant) {
        if let Some(lister) = &mut self.lister {
            lister.handle_message(from, message);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.sender.handle_timeout(now);
        if let Some(lister) = &mut self.lister {
            lister.handle_timeout(now);
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let list = self.lister.as_ref().and_then(Lister::poll_timeout);
        self.sender.poll_timeout().into_iter().chain(list).min()
    }

    fn poll_action(&mut self) -> Option<Action> {
        let message = self.lister.as_mut().and_then(Lister::poll_message);
        message.map(|(to, message)| Action::Send { to, message }).or_else(|| self.sender.poll_action())
    }

    fn hears(&self, kind: &SignalKind) -> bool {
        use SignalKind::{Attached, IpOk, LinkOk};
        self.lister.is_some() && matches!(kind, Attached { .. } | IpOk | LinkOk)
    }
}
