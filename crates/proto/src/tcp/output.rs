//! What leaves a connection, segment by segment.

use super::connection::{Connection, Control, State};
use super::hooks::{Hooks, Verdict};
use super::segment::{Flags, Options, Segment, Timestamps};
use super::send::{Budget, Piece};
use crate::time::Instant;
use crate::trace::Event;

impl Connection {
    /// The next segment to send, if any.
    pub fn poll_transmit<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) -> Option<Segment> {
        if self.moving {
            return None;
        }
        if self.reset_due {
            self.reset_due = false;
            return Some(self.bare_segment(self.snd.snd_max, Flags::RST | Flags::ACK, now));
        }
        if let Some(seq) = self.reset_reply.take() {
            return Some(Segment { seq, flags: Flags::RST, ..Segment::default() });
        }
        if self.syn_due {
            return Some(self.syn_segment(now, hooks));
        }
        if !self.state.is_synchronised() {
            return None;
        }
        if let Some(segment) = self.next_data(now, hooks) {
            return Some(segment);
        }
        if self.acks_due > 0 {
            return self.next_ack(now, hooks);
        }
        if self.probe_due {
            return self.next_probe(now, hooks);
        }
        if self.snd.outstanding() == 0 || self.snd.snd_wnd == 0 {
            self.arm_persist(now);
        }
        if self.snd.burst > 0 && self.control == Control::Running {
            // The window is full, or everything is sent: the burst after a restore is over.
            self.snd.burst_cap = u32::MAX;
        }
        None
    }

    fn next_data<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) -> Option<Segment> {
        let piece = self.snd.next_piece()?;
        if self.control != Control::Running && piece.budget != Budget::Resend {
            return None;
        }
        let mut segment = self.data_segment(&piece, now);
        if !self.may_leave(&mut segment, now, hooks) {
            return None;
        }
        let was_idle = self.snd.outstanding() == 0;
        let first_fin = piece.fin && piece.end() > self.snd.snd_max;
        let retransmission = self.snd.commit(&piece, now);
        self.acknowledged_by(&segment);
        self.acks_due = self.acks_due.saturating_sub(1);
        self.stats.data_segments += u64::from(piece.len > 0);
        self.stats.data_bytes += u64::from(piece.len);
        self.stats.retransmissions += u64::from(retransmission);
        self.emit(|| Event::SegmentSent { start: piece.start, len: piece.len, retransmission });
        if (was_idle || self.timers.rto == Instant::MAX) && self.control == Control::Running {
            self.arm_rto(now, hooks);
        }
        if was_idle {
            self.timers.user = now + self.profile.user_timeout;
            self.timers.persist = Instant::MAX;
        }
        if first_fin {
            self.fin_sent(now, hooks);
        }
        Some(segment)
    }

    /// Asks the policy about a segment.
    fn may_leave<H: Hooks + ?Sized>(&mut self, segment: &mut Segment, now: Instant, hooks: &mut H) -> bool {
        let plain = *segment;
        let may_leave = hooks.on_send(self, segment, now);
        self.stats.interventions += u64::from(!may_leave || *segment != plain);
        may_leave
    }

    /// Counts an answer that is not TCP's own.
    pub(super) fn note_verdict(&mut self, verdict: Verdict) {
        self.stats.interventions += u64::from(verdict != Verdict::Proceed);
    }

    fn data_segment(&self, piece: &Piece, now: Instant) -> Segment {
        let flags = if piece.fin { Flags::ACK | Flags::FIN } else { Flags::ACK };
        Segment { len: piece.len, ..self.bare_segment(piece.start, flags, now) }
    }

    fn next_ack<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) -> Option<Segment> {
        // `SND.NXT` of RFC 9293, which never goes back: the peer would drop an ACK below its `RCV.NXT`.
        let mut segment = self.bare_segment(self.snd.snd_max, Flags::ACK, now);
        if !self.may_leave(&mut segment, now, hooks) {
            return None;
        }
        self.acks_due -= 1;
        self.stats.acks += 1;
        self.acknowledged_by(&segment);
        let ack = self.rcv.rcv_nxt;
        self.emit(|| Event::AckSent { ack });
        Some(segment)
    }

    /// The persist timer has expired: the data that fits, or a segment that the peer must answer (its sequence number
    /// lies just before the window; RFC 9293 §3.8.6.1 would send a byte of data instead).
    fn next_probe<H: Hooks + ?Sized>(&mut self, now: Instant, hooks: &mut H) -> Option<Segment> {
        self.probe_due = false;
        if self.snd.snd_wnd > 0 {
            self.snd.force_small = true;
            let segment = self.next_data(now, hooks);
            if segment.is_none() {
                self.snd.force_small = false;
                self.arm_persist(now);
            }
            return segment;
        }
        self.probes += 1;
        self.arm_persist(now);
        self.emit(|| Event::WindowProbed);
        Some(self.bare_segment(self.snd.snd_una - 1, Flags::ACK, now))
    }

    /// A segment without payload at position `start`.
    fn bare_segment(&self, start: u64, flags: Flags, now: Instant) -> Segment {
        let window = (self.rcv.window() >> self.rcv_scale).min(65_535);
        Segment {
            seq: self.iss.add(start),
            ack: self.irs.add(self.rcv.rcv_nxt),
            len: 0,
            window: window as u16,
            flags,
            options: Options {
                timestamps: self
                    .timestamps
                    .then(|| Timestamps { value: self.timestamp(now), echo: self.ts_recent }),
                ..Options::default()
            },
        }
    }

    /// `segment` tells the peer all we know: no ACK is owed, and its window holds.
    fn acknowledged_by(&mut self, segment: &Segment) {
        self.timers.delayed_ack = Instant::MAX;
        self.last_ack_sent = self.rcv.rcv_nxt;
        let edge = self.rcv.rcv_nxt + (u64::from(segment.window) << self.rcv_scale);
        self.rcv.rcv_edge = self.rcv.rcv_edge.max(edge);
    }

    /// Bytes that `segment` takes on the wire, by the profile.
    pub fn wire_bytes(&self, segment: &Segment) -> u32 {
        let stamps = if segment.options.timestamps.is_some() { 12 } else { 0 };
        let experimental = segment.options.experimental.map_or(0, |option| option.wire_bytes());
        if segment.len > 0 {
            segment.len + self.profile.data_header_bytes + stamps + experimental
        } else {
            self.profile.control_bytes + stamps + experimental
        }
    }

    /// Whether nothing more will be sent or received.
    pub fn is_over(&self) -> bool {
        self.state == State::Closed && self.end.is_some() && !self.reset_due
    }
}
