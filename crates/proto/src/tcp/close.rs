//! Closing, resetting and giving up (RFC 9293 §3.6, §3.10.4–3.10.5).

use super::connection::{Connection, EndReason, State, TIME_WAIT, Timers};
use super::hooks::Hooks;
use crate::time::Instant;
use crate::trace::Event;

impl Connection {
    /// No more data will be written: a FIN follows the last byte.
    pub fn close(&mut self) {
        if self.end.is_none() && self.state != State::Listen && !self.moving {
            self.start_round();
            self.snd.fin_queued = true;
        }
    }

    /// Ends at once; the peer is told by a reset.
    pub fn abort<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) {
        if self.end.is_none() && !self.moving {
            self.reset_due = self.state.is_synchronised() || self.state == State::SynReceived;
            self.finish(EndReason::Aborted, now, hooks);
        }
    }

    /// The connection is over.
    pub(super) fn finish<H: Hooks + ?Sized>(&mut self, reason: EndReason, now: Instant, hooks: &mut H) {
        self.stop_timers();
        self.end = Some(reason);
        self.syn_due = false;
        self.acks_due = 0;
        self.probe_due = false;
        self.emit(|| Event::Ended { reason });
        self.change_state(State::Closed, now, hooks);
    }

    /// No deadline any more.
    pub(super) fn stop_timers(&mut self) {
        self.timers = Timers::OFF;
    }

    /// Our FIN has been sent for the first time.
    pub(super) fn fin_sent<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) {
        match self.state {
            State::Established => self.change_state(State::FinWait1, now, hooks),
            State::CloseWait => self.change_state(State::LastAck, now, hooks),
            _ => {}
        }
    }

    /// Our FIN has been acknowledged.
    pub(super) fn fin_acknowledged<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) {
        match self.state {
            State::FinWait1 => self.change_state(State::FinWait2, now, hooks),
            State::Closing => self.enter_time_wait(now, hooks),
            State::LastAck => self.finish(EndReason::Closed, now, hooks),
            _ => {}
        }
    }

    /// The peer's FIN has been received in order.
    pub(super) fn fin_received<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) {
        match self.state {
            State::Established => self.change_state(State::CloseWait, now, hooks),
            State::FinWait1 => self.change_state(State::Closing, now, hooks),
            State::FinWait2 => self.enter_time_wait(now, hooks),
            // Sent again because our ACK was lost: wait the full time anew.
            State::TimeWait => self.timers.time_wait = now + TIME_WAIT,
            _ => {}
        }
    }

    fn enter_time_wait<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) {
        self.timers.time_wait = now + TIME_WAIT;
        self.timers.user = Instant::MAX;
        self.change_state(State::TimeWait, now, hooks);
    }
}
