//! What a segment does to a connection (RFC 9293 §3.10.7).

use super::SeqNumber;
use super::cc::CongestionControl;
use super::connection::{Connection, Control, EndReason, State};
use super::hooks::{Hooks, Loss, Verdict};
use super::receive::AckWhen;
use super::recovery::{DUP_THRESH, NewAck, Recovery};
use super::segment::{Flags, Segment};
use crate::time::{Duration, Instant};
use crate::trace::Event;

impl Connection {
    /// Takes a segment. Whatever it holds, it cannot do more harm than a network can: what does not fit is counted
    /// in [`Stats::refused`](super::Stats::refused) and dropped.
    pub fn handle_segment<H: Hooks + ?Sized>(&mut self, segment: &Segment, now: Instant, hooks: &mut H) {
        if self.moving {
            return;
        }
        self.start_round();
        match self.state {
            State::Closed => {}
            State::Listen => self.handle_listen(segment, now, hooks),
            State::SynSent => self.handle_syn_sent(segment, now, hooks),
            _ => self.handle_synchronised(segment, now, hooks),
        }
    }

    fn handle_synchronised<H: Hooks + ?Sized>(&mut self, segment: &Segment, now: Instant, hooks: &mut H) {
        let Some(start) = segment.seq.unwrap_near(self.rcv.rcv_nxt, self.irs) else {
            self.refuse();
            return;
        };
        if segment.len > 0 && self.rcv.holds(start, u64::from(segment.len)) {
            self.stats.duplicate_segments += 1;
        }
        if !self.is_in_window(segment, start) {
            self.refuse();
            let repeated_syn = segment.flags.contains(Flags::SYN) && self.state == State::SynReceived;
            if repeated_syn {
                self.syn_due = true;
            } else if !segment.flags.contains(Flags::RST) {
                let timer = self.timers.delayed_ack != Instant::MAX;
                let end = start + segment.sequence_length();
                let when = self.rcv.acknowledge_refused(end, timer, now);
                self.owe_ack(when);
                // A closed window refuses data, not the acknowledgement that comes with it (RFC 9293 §3.10.7.4).
                if start == self.rcv.rcv_nxt && segment.flags.contains(Flags::ACK) && segment.len > 0 {
                    self.handle_ack(segment, start, now, hooks);
                }
                if segment.flags.contains(Flags::FIN) && self.state == State::TimeWait {
                    self.fin_received(now, hooks);
                }
            }
            return;
        }
        if segment.flags.contains(Flags::RST) {
            // Only an exact match resets; anything else in the window is challenged (RFC 5961 §3.2).
            if start == self.rcv.rcv_nxt {
                self.finish(EndReason::Reset, now, hooks);
            } else {
                self.acks_due = self.acks_due.max(1);
            }
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            self.refuse();
            self.acks_due = self.acks_due.max(1);
            return;
        }
        if !segment.flags.contains(Flags::ACK) {
            self.refuse();
            return;
        }
        if !self.handle_ack(segment, start, now, hooks) {
            return;
        }
        if segment.sequence_length() > 0 && self.state.is_synchronised() {
            self.handle_data(segment, start, now, hooks);
        }
    }

    /// Sequence number and timestamp checks (RFC 9293 §3.10.7.4, RFC 7323 §5).
    fn is_in_window(&mut self, segment: &Segment, start: u64) -> bool {
        let in_use = self.timestamps && !segment.flags.contains(Flags::RST);
        let stamps = segment.options.timestamps.filter(|_| in_use);
        if stamps.is_some_and(|stamps| (stamps.value.wrapping_sub(self.ts_recent) as i32) < 0) {
            return false;
        }
        if !self.rcv.is_acceptable(start, segment.sequence_length()) {
            return false;
        }
        if let Some(stamps) = stamps.filter(|_| start <= self.last_ack_sent) {
            self.ts_recent = stamps.value;
        }
        true
    }

    fn refuse(&mut self) {
        self.stats.refused += 1;
    }

    /// Refuses a segment whose acknowledgement belongs to no connection of ours: the peer is told by a reset with the
    /// number that it will believe (RFC 9293 §3.10.7.2–3.10.7.4).
    pub(super) fn refuse_with_reset(&mut self, segment: &Segment) {
        self.refuse();
        if segment.flags.contains(Flags::ACK) && !segment.flags.contains(Flags::RST) {
            self.reset_reply = Some(segment.ack);
        }
    }

    /// The acknowledgement field. `false`: the rest of the segment does not count either.
    fn handle_ack<H: Hooks + ?Sized>(
        &mut self,
        segment: &Segment,
        start: u64,
        now: Instant,
        hooks: &mut H,
    ) -> bool {
        let ack = segment.ack.unwrap_near(self.snd.snd_una, self.iss);
        if self.state == State::SynReceived && ack != Some(1) {
            self.refuse_with_reset(segment);
            return false;
        }
        let Some(ack) = ack else {
            self.refuse();
            return false;
        };
        // RFC 5961 §5.2: no honest peer is further behind than its window is wide.
        if ack > self.snd.snd_max || ack.saturating_add(self.snd.max_snd_wnd) < self.snd.snd_una {
            self.refuse();
            self.acks_due = self.acks_due.max(1);
            return false;
        }
        if self.state == State::SynReceived {
            self.complete_handshake(segment, now, hooks);
            self.change_state(State::Established, now, hooks);
        }
        let window_changed = self.update_send_window(segment, start, ack, now, hooks);
        if hooks.on_ack_options(self, &segment.options, segment.is_pure_ack(), now) {
            self.stats.interventions += 1;
            return true;
        }
        if ack < self.snd.snd_una {
            return true;
        }
        let acked = ack - self.snd.snd_una;
        hooks.on_ack(self, acked, now);
        if acked > 0 {
            self.handle_new_ack(segment, ack, now, hooks);
        } else if segment.is_pure_ack()
            && !window_changed
            && self.snd.outstanding() > 0
            // With a closed window it answers a probe.
            && self.snd.snd_wnd > 0
        {
            self.handle_dup_ack(now, hooks);
        }
        true
    }

    /// RFC 9293 §3.10.7.4, "SND.WND should be updated". Says whether the window changed.
    fn update_send_window<H: Hooks + ?Sized>(
        &mut self,
        segment: &Segment,
        start: u64,
        ack: u64,
        now: Instant,
        hooks: &mut H,
    ) -> bool {
        if ack < self.snd.snd_una || start < self.snd_wl1 || (start == self.snd_wl1 && ack < self.snd_wl2) {
            return false;
        }
        (self.snd_wl1, self.snd_wl2) = (start, ack);
        let window = u64::from(segment.window) << self.snd_scale;
        let closed = self.snd.snd_wnd == 0;
        if closed || self.probes > 0 || self.timers.persist != Instant::MAX {
            // The peer lives: patience starts anew, if anything is waited for. A window that only opens and closes, with
            // nothing acknowledged between, lives on nobody's patience.
            let is_news = self.snd.opened_at != Some(ack);
            if self.timers.user != Instant::MAX && is_news {
                self.timers.user = now + self.profile.user_timeout;
            }
            if closed && window > 0 {
                self.snd.opened_at = Some(ack);
            }
            if window >= self.snd.mss.min(self.snd.max_snd_wnd / 2).max(1) {
                self.probes = 0;
                self.timers.persist = Instant::MAX;
            }
        }
        if window == self.snd.snd_wnd {
            return false;
        }
        self.snd.snd_wnd = window;
        if window == 0 && self.snd.outstanding() > 0 {
            self.window_withdrawn();
        }
        self.snd.max_snd_wnd = self.snd.max_snd_wnd.max(window);
        hooks.on_window_update(self, window, now);
        true
    }

    fn handle_new_ack<H: Hooks + ?Sized>(
        &mut self,
        segment: &Segment,
        ack: u64,
        now: Instant,
        hooks: &mut H,
    ) {
        match self.control {
            Control::Running => {}
            // ilc-tcp A5: the path works, so the freeze was a false alarm or is over.
            Control::Frozen { .. } => {
                self.control = Control::Running;
                self.emit(|| Event::Thawed);
            }
            Control::Suspended { .. } => {
                self.advance(ack);
                let waiting = self.snd.outstanding() > 0;
                self.timers.user = if waiting { now + self.profile.user_timeout } else { Instant::MAX };
                if self.snd.fin_queued && ack == self.snd.end() {
                    self.fin_acknowledged(now, hooks);
                }
                return;
            }
        }
        let acked_segments = (ack - self.snd.snd_una) as f64 / self.snd.mss as f64;
        match self.recovery.on_new_ack(&mut self.snd, ack) {
            NewAck::Full { grow } => {
                self.snd.dupacks = 0;
                self.snd.extra_bytes = 0;
                self.advance(ack);
                self.take_rtt_sample(segment, ack, now, hooks);
                self.arm_after_ack(now, hooks);
                if grow {
                    self.cc.on_ack(&mut self.snd.window, acked_segments, now);
                }
            }
            NewAck::Partial { restart_timer } => {
                self.advance(ack);
                if self.snd.timed.is_some_and(|(end, _)| ack >= end) {
                    self.snd.timed = None;
                    self.rtt.clear_backoff();
                }
                if restart_timer {
                    self.arm_after_ack(now, hooks);
                }
                self.timers.user = now + self.profile.user_timeout;
                self.snd.resend(1);
            }
        }
        self.snd.burst = self.recovery.burst_limit(&self.snd).min(self.snd.burst_cap);
        let (window, rto) = (self.snd.window, self.rtt.rto());
        self.emit(|| Event::AckReceived { ack, cwnd: window.cwnd, ssthresh: window.ssthresh, rto });
        if self.snd.fin_queued && ack == self.snd.end() {
            self.fin_acknowledged(now, hooks);
        }
    }

    fn advance(&mut self, ack: u64) {
        self.snd.snd_una = ack;
        self.snd.snd_nxt = self.snd.snd_nxt.max(ack);
        if self.snd.resend_next < ack {
            self.snd.resend_left = 0;
        }
    }

    /// A round-trip sample if `ack` acknowledges what is being timed, or by timestamps (Karn; RFC 6298 §3, RFC 7323 §4).
    pub(super) fn take_rtt_sample<H: Hooks + ?Sized>(
        &mut self,
        segment: &Segment,
        ack: u64,
        now: Instant,
        hooks: &mut H,
    ) {
        let stamped = segment.options.timestamps.filter(|_| self.timestamps).map(|stamps| {
            let millis = self.timestamp(now).wrapping_sub(stamps.echo);
            Instant::from_nanos(now.as_nanos().saturating_sub(u64::from(millis) * 1_000_000))
        });
        let timed = self.snd.timed.filter(|(end, _)| ack >= *end).map(|(_, sent_at)| sent_at);
        if timed.is_some() {
            self.snd.timed = None;
        }
        let Some(sent_at) = stamped.or(timed) else { return };
        let rtt: Duration = now.since(sent_at);
        if !hooks.on_rtt_sample(self, rtt, sent_at) {
            self.stats.interventions += 1;
            return;
        }
        self.rtt.clear_backoff();
        self.rtt.sample(rtt, sent_at);
        let rto = self.rtt.rto();
        self.emit(|| Event::RttMeasured { rtt, rto });
    }

    fn handle_dup_ack<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) {
        self.stats.dup_acks += 1;
        if self.control != Control::Running {
            return;
        }
        self.snd.dupacks += 1;
        if self.snd.dupacks < DUP_THRESH {
            self.snd.extra = u32::from(self.profile.limited_transmit);
        } else {
            let entered = self.snd.dupacks == DUP_THRESH && self.enter_recovery(now, hooks);
            self.recovery.on_further_dup_ack(&mut self.snd, entered);
        }
        self.snd.burst = self.recovery.burst_limit(&self.snd).min(self.snd.burst_cap);
    }

    /// The third duplicate ACK: says whether recovery starts.
    fn enter_recovery<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) -> bool {
        if !self.recovery.may_enter(&self.snd) {
            return false;
        }
        let start = self.snd.snd_una;
        let loss = Loss { start, end: (start + self.snd.mss).min(self.snd.snd_max) };
        let verdict = hooks.on_loss_detected(self, loss, now);
        self.note_verdict(verdict);
        self.emit(|| Event::LossDetected { snd_una: start, verdict });
        match verdict {
            Verdict::Proceed => {
                let halved = self.cut_ssthresh(now);
                self.recovery.enter(&mut self.snd, halved, false);
            }
            Verdict::RetransmitKeep { .. } => {
                let cwnd = self.snd.window.cwnd;
                self.recovery.enter(&mut self.snd, cwnd, true);
            }
            Verdict::Freeze => {
                self.stats.freezes += 1;
                self.control = Control::Frozen { since: now };
                self.timers.rto = Instant::MAX;
                self.snd.timed = None;
                return false;
            }
            Verdict::Suppress => return false,
        }
        self.stats.fast_retransmits += 1;
        self.snd.timed = None;
        self.arm_rto(now, hooks);
        true
    }

    fn handle_data<H: Hooks + ?Sized>(&mut self, segment: &Segment, start: u64, now: Instant, hooks: &mut H) {
        hooks.on_data(self, segment, now);
        let was_at_end = self.rcv.at_end();
        let timer = self.timers.delayed_ack != Instant::MAX;
        let fin = segment.flags.contains(Flags::FIN);
        let when = self.rcv.accept(start, u64::from(segment.len), fin, timer, now);
        let rcv_nxt = self.rcv.rcv_nxt;
        self.emit(|| Event::DataReceived { start, len: segment.len, rcv_nxt });
        self.owe_ack(when);
        if self.rcv.at_end() && !was_at_end {
            self.fin_received(now, hooks);
        }
    }

    fn owe_ack(&mut self, when: AckWhen) {
        match when {
            AckWhen::By(deadline) => self.timers.delayed_ack = deadline,
            AckWhen::Now => self.acks_due = self.acks_due.max(1),
        }
    }

    /// The network reports a packet as undeliverable, quoting sequence number `quoted` (RFC 5927 §4.1: believed only
    /// if it lies within what is outstanding).
    pub fn handle_unreachable<H: Hooks + ?Sized>(&mut self, quoted: SeqNumber, now: Instant, hooks: &mut H) {
        if self.moving {
            return;
        }
        let position = quoted.unwrap_near(self.snd.snd_una, self.iss);
        let outstanding = self.snd.snd_una..self.snd.snd_max;
        if position.is_some_and(|p| outstanding.contains(&p)) {
            hooks.on_unreachable(self, quoted, now);
        } else {
            self.refuse();
        }
    }
}
