//! Opening a connection (RFC 9293 §3.5, §3.10.7.2–3.10.7.4).

use super::connection::{Connection, EndReason, State};
use super::hooks::Hooks;
use super::segment::{Flags, Options, Segment, Timestamps};
use crate::time::Instant;

impl Connection {
    /// The SYN or SYN-ACK that is due.
    pub(super) fn syn_segment<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) -> Segment {
        self.syn_due = false;
        let answer = self.state == State::SynReceived;
        if self.snd.snd_max > 0 {
            self.stats.retransmissions += 1;
            // Which of the two the answer belongs to cannot be told (Karn).
            self.snd.timed = None;
        } else {
            self.snd.timed = Some((1, now));
        }
        self.snd.snd_nxt = 1;
        self.snd.snd_max = 1;
        if self.timers.rto == Instant::MAX {
            self.arm_rto(now, hooks);
        }
        if self.timers.user == Instant::MAX {
            self.timers.user = now + self.profile.user_timeout;
        }
        let repeated = self.syn_repeated;
        self.emit(|| crate::trace::Event::SegmentSent { start: 0, len: 0, retransmission: repeated });
        let offer_timestamps = self.timestamps;
        let mut segment = Segment {
            seq: self.iss,
            ack: if answer { self.irs.add(self.rcv.rcv_nxt) } else { Default::default() },
            len: 0,
            // The window of a SYN is never scaled (RFC 7323 §2.2).
            window: self.rcv.window().min(65_535) as u16,
            flags: if answer { Flags::SYN | Flags::ACK } else { Flags::SYN },
            options: Options {
                mss: Some(self.profile.mss.min(65_535) as u16),
                window_scale: Some(self.rcv_scale),
                timestamps: offer_timestamps.then(|| Timestamps {
                    value: self.timestamp(now),
                    echo: if answer { self.ts_recent } else { 0 },
                }),
                experimental: None,
            },
        };
        hooks.on_send(self, &mut segment, now);
        segment
    }

    /// SYN or SYN-ACK lost: again, with backoff. `cwnd` will start at one segment (RFC 5681 §3.1).
    pub(super) fn handle_syn_timeout<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) {
        self.syn_due = true;
        self.syn_repeated = true;
        self.snd.timed = None;
        if self.profile.syn_timeout_cuts {
            self.cut_on_timeout(now);
        }
        self.rtt.back_off();
        self.arm_rto(now, hooks);
    }

    /// LISTEN: only a SYN counts.
    pub(super) fn handle_listen<H: Hooks + ?Sized>(
        &mut self,
        segment: &Segment,
        now: Instant,
        hooks: &mut H,
    ) {
        if segment.flags != Flags::SYN {
            self.refuse_with_reset(segment);
            return;
        }
        self.take_peer_syn(segment);
        hooks.on_syn(self, &segment.options, now);
        self.syn_due = true;
        self.change_state(State::SynReceived, now, hooks);
    }

    /// SYN-SENT: a SYN-ACK for our SYN opens, a reset for it ends.
    pub(super) fn handle_syn_sent<H: Hooks + ?Sized>(
        &mut self,
        segment: &Segment,
        now: Instant,
        hooks: &mut H,
    ) {
        let acks_syn = segment.flags.contains(Flags::ACK) && segment.ack == self.iss.add(1);
        if !acks_syn {
            self.refuse_with_reset(segment);
            return;
        }
        if segment.flags.contains(Flags::RST) {
            self.finish(EndReason::Reset, now, hooks);
            return;
        }
        if !segment.flags.contains(Flags::SYN) {
            self.stats.refused += 1;
            return;
        }
        self.take_peer_syn(segment);
        hooks.on_syn(self, &segment.options, now);
        self.complete_handshake(segment, now, hooks);
        self.acks_due = self.acks_due.max(1);
        self.change_state(State::Established, now, hooks);
    }

    /// What the peer's SYN says about itself.
    fn take_peer_syn(&mut self, segment: &Segment) {
        self.irs = segment.seq;
        self.rcv.rcv_nxt = 1;
        self.last_ack_sent = 1;
        let options = &segment.options;
        // Without the option the peer takes 536 bytes (RFC 9293 §3.7.1).
        let peer_mss = u64::from(options.mss.unwrap_or(536)).max(1);
        self.snd.mss = self.snd.mss.min(peer_mss);
        match options.window_scale {
            Some(scale) => self.snd_scale = scale.min(14),
            None => self.rcv_scale = 0,
        }
        match options.timestamps {
            Some(stamps) if self.timestamps => self.ts_recent = stamps.value,
            _ => self.timestamps = false,
        }
        self.rcv.rcv_edge = 1 + self.rcv.window().min(65_535);
        self.snd.snd_wnd = u64::from(segment.window);
        self.snd.max_snd_wnd = self.snd.snd_wnd;
        self.snd_wl1 = 0;
    }

    /// Our SYN is acknowledged: first round-trip sample, initial window, timers off.
    pub(super) fn complete_handshake<H: Hooks + ?Sized>(
        &mut self,
        segment: &Segment,
        now: Instant,
        hooks: &mut H,
    ) {
        self.snd.snd_una = 1;
        self.snd.snd_nxt = self.snd.snd_nxt.max(1);
        self.snd_wl2 = 1;
        self.take_rtt_sample(segment, 1, now, hooks);
        let repeated = std::mem::replace(&mut self.syn_repeated, false);
        let profile = &self.profile;
        let segments = if repeated { profile.initial_window_after_lost_syn } else { profile.initial_window };
        self.snd.window.cwnd = f64::from(segments);
        if repeated && !self.timestamps && !self.profile.syn_timeout_cuts {
            // RFC 6298 §5.7: the SYN's timeout leaves no valid sample; data starts with 3 s.
            self.rtt.restart(crate::time::Duration::from_secs(3));
        }
        self.arm_after_ack(now, hooks);
    }

    /// Our clock of the timestamps option.
    pub(super) fn timestamp(&self, now: Instant) -> u32 {
        timestamp(now).wrapping_add(self.clock_offset)
    }
}

/// The clock of the timestamps option: milliseconds, modulo 2^32.
pub(super) fn timestamp(now: Instant) -> u32 {
    // Truncation is the wrap that RFC 7323 §5.4 expects.
    (now.as_nanos() / 1_000_000) as u32
}
