//! The sending half: stream positions, windows and what may leave now.
//!
//! Positions are 64-bit and count sequence space from the SYN: the SYN is position 0, the first byte position 1, the
//! FIN follows the last byte. [`SeqNumber`](super::SeqNumber) maps them to the wire.

use super::cc::Window;
use crate::time::Instant;

/// The sending half of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Oldest unacknowledged position (`SND.UNA`).
    pub snd_una: u64,
    /// Next position to send (`SND.NXT`); goes back on go-back-N.
    pub snd_nxt: u64,
    /// Highest position ever sent, plus one.
    pub snd_max: u64,
    /// Position after the last byte that the application has written.
    pub stream_end: u64,
    /// Whether a FIN follows the last byte.
    pub fin_queued: bool,
    /// Peer's window in bytes (`SND.WND`).
    pub snd_wnd: u64,
    /// Largest window the peer ever offered, in bytes.
    pub max_snd_wnd: u64,
    /// Sender's maximum segment size in bytes.
    pub mss: u64,
    /// `cwnd` and `ssthresh`, in segments.
    pub window: Window,
    /// Segments known to have left the network during recovery, on top of `cwnd` (RFC 5681 §3.2 step 4).
    pub inflation: u64,
    /// Duplicate ACKs in a row.
    pub dupacks: u32,
    /// `snd_max` when the last loss was handled (RFC 6582 `recover`).
    pub recover: u64,
    /// Why the window was last cut.
    pub last_cut: LastCut,
    /// The window before a recovery that does not cut it, while that goes on.
    pub kept: Option<Window>,
    /// The segment being timed: position after it, and when it left.
    pub timed: Option<(u64, Instant)>,
    /// Segments still to be sent again, from `resend_next`, outside of `snd_nxt`.
    pub(super) resend_left: u32,
    pub(super) resend_next: u64,
    /// Segments allowed by limited transmit in this round.
    pub(super) extra: u32,
    /// Bytes that limited transmit has sent since the first duplicate ACK; they are not part of the flight that a loss
    /// halves (RFC 5681 §3.2 step 2).
    pub(super) extra_bytes: u64,
    /// Data may leave although it is less than silly-window avoidance wants (RFC 9293 §3.8.6.2.1 override).
    pub(super) force_small: bool,
    /// Segments that may still leave in this round.
    pub(super) burst: u32,
    /// What `burst` starts from in each round, until the window has been filled once.
    pub(super) burst_cap: u32,
    /// `snd_una` when the retransmission timer last expired: its next expiry there is a repetition (RFC 5681 §3.1).
    pub(super) timed_out_at: Option<u64>,
    /// `snd_una` when the peer's window last opened after it was closed.
    pub(super) opened_at: Option<u64>,
    pub(super) nagle: bool,
}

/// Why the window was last cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastCut {
    /// It never was.
    None,
    /// Duplicate ACKs.
    DupAcks,
    /// The retransmission timer.
    Timeout,
    /// Duplicate ACKs, and recovery from it is complete.
    Recovered,
}

/// A piece of the stream to put into a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First position.
    pub start: u64,
    /// Payload bytes.
    pub len: u32,
    /// Whether the FIN follows.
    pub fin: bool,
    /// Which of the sender's budgets pays for it.
    pub(super) budget: Budget,
}

/// Why a piece may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Budget {
    /// It is sent again without moving `snd_nxt`.
    Resend,
    /// Limited transmit.
    Extra,
    /// The window allows it.
    Window,
}

impl Piece {
    /// Position after it.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len) + u64::from(self.fin)
    }
}

impl Sender {
    /// A sender before its SYN.
    pub(super) fn new(mss: u64, window: Window, nagle: bool) -> Self {
        Sender {
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            stream_end: 1,
            fin_queued: false,
            snd_wnd: mss,
            max_snd_wnd: mss,
            mss,
            window,
            inflation: 0,
            dupacks: 0,
            recover: 0,
            last_cut: LastCut::None,
            kept: None,
            timed: None,
            resend_left: 0,
            resend_next: 0,
            extra: 0,
            extra_bytes: 0,
            force_small: false,
            burst: u32::MAX,
            burst_cap: u32::MAX,
            timed_out_at: None,
            opened_at: None,
            nagle,
        }
    }

    /// Bytes sent and not acknowledged, as far as `snd_max`.
    pub fn outstanding(&self) -> u64 {
        self.snd_max - self.snd_una
    }

    /// Position after all that is to be sent so far, FIN included.
    pub fn end(&self) -> u64 {
        self.stream_end + u64::from(self.fin_queued)
    }

    /// min(`cwnd` + inflation, peer's window) in segments, with its fraction: ns-2's `windowd()`.
    pub fn window_segments(&self) -> f64 {
        (self.window.cwnd + self.inflation as f64).min(self.snd_wnd as f64 / self.mss as f64)
    }

    /// Data in flight in segments, without what limited transmit added.
    pub fn flight_segments(&self) -> f64 {
        self.outstanding().saturating_sub(self.extra_bytes) as f64 / self.mss as f64
    }

    /// Bytes that may be in flight.
    fn limit(&self) -> u64 {
        (self.window.cwnd as u64 + self.inflation).saturating_mul(self.mss).min(self.snd_wnd)
    }

    /// Recovery by duplicate ACKs is over, because all that is outstanding will be sent again.
    pub(super) fn end_recovery(&mut self) {
        self.dupacks = 0;
        self.inflation = 0;
        self.end_kept();
        if self.last_cut == LastCut::DupAcks {
            self.last_cut = LastCut::Recovered;
        }
    }

    /// Whether duplicate ACKs have started a recovery that is not over.
    pub(super) fn in_fast_recovery(&self) -> bool {
        self.last_cut == LastCut::DupAcks || self.kept.is_some()
    }

    /// Ends a recovery that does not cut: the window is what it was before. Says whether there was one.
    pub(super) fn end_kept(&mut self) -> bool {
        let kept = self.kept.take();
        self.window = kept.unwrap_or(self.window);
        kept.is_some()
    }

    /// Orders the first `segments` segments to be sent again.
    pub(super) fn resend(&mut self, segments: u32) {
        self.resend_left = segments;
        self.resend_next = self.snd_una;
    }

    /// What may leave now, if anything. [`Sender::commit`] books it.
    pub(super) fn next_piece(&self) -> Option<Piece> {
        if self.resend_left > 0 {
            let start = self.resend_next.max(self.snd_una);
            if start < self.snd_max {
                // No further than `snd_max`: what was never sent is not sent again.
                return Some(self.cut_piece(start, self.snd_max - start, Budget::Resend));
            }
        }
        if self.snd_nxt >= self.end() {
            return None;
        }
        let in_flight = self.snd_nxt - self.snd_una;
        if self.extra > 0 {
            let limit = ((self.window.cwnd + f64::from(self.dupacks)) as u64)
                .saturating_mul(self.mss)
                .min(self.snd_wnd);
            if in_flight < limit {
                return self.whole_piece(limit - in_flight, Budget::Extra);
            }
        }
        let limit = self.limit();
        if self.burst > 0 && in_flight < limit {
            return self.whole_piece(limit - in_flight, Budget::Window);
        }
        None
    }

    /// The next piece at `snd_nxt` within `room` bytes, unless silly-window avoidance or Nagle holds it back
    /// (RFC 9293 §3.8.6.2.1).
    fn whole_piece(&self, room: u64, budget: Budget) -> Option<Piece> {
        let piece = self.cut_piece(self.snd_nxt, room, budget);
        let len = u64::from(piece.len);
        if len == self.mss || piece.fin || self.snd_nxt < self.snd_max {
            return Some(piece);
        }
        let is_all = piece.end() == self.stream_end;
        let idle = self.snd_una == self.snd_nxt;
        let send = if is_all { idle || !self.nagle } else { 2 * len >= self.max_snd_wnd };
        (send || self.force_small).then_some(piece)
    }

    fn cut_piece(&self, start: u64, room: u64, budget: Budget) -> Piece {
        let left = self.stream_end.saturating_sub(start);
        let len = left.min(self.mss).min(room);
        let fin = self.fin_queued && start + len == self.stream_end && len < room;
        // A segment is at most `mss` long, which is a 32-bit number.
        Piece { start, len: len as u32, fin, budget }
    }

    /// Books `piece` as sent at `now`; says whether it is a retransmission.
    pub(super) fn commit(&mut self, piece: &Piece, now: Instant) -> bool {
        let end = piece.end();
        let again = piece.start < self.snd_max;
        match piece.budget {
            Budget::Resend => {
                self.resend_left -= 1;
                self.resend_next = end;
                // Karn: what is sent twice cannot be timed.
                self.timed = self.timed.filter(|(timed, _)| !(piece.start + 1..=end).contains(timed));
                return true;
            }
            Budget::Extra => {
                self.extra -= 1;
                self.extra_bytes += u64::from(piece.len);
            }
            Budget::Window => self.burst -= 1,
        }
        self.force_small = false;
        self.snd_nxt = end;
        if end > self.snd_max {
            self.snd_max = end;
            if !again && self.timed.is_none() {
                self.timed = Some((end, now));
            }
        }
        again
    }
}
