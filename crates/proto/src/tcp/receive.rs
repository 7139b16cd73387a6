//! The receiving half: reassembly, the window offered, and when to acknowledge.
//!
//! Positions are those of the peer's [`Sender`](super::send::Sender): its SYN is 0, its first byte 1.

use super::{Profile, ReceiveState};
use crate::time::{Duration, Instant};

/// When the data just received is to be acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckWhen {
    /// At this instant at the latest.
    By(Instant),
    /// At once.
    Now,
}

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Next position expected (`RCV.NXT`).
    pub rcv_nxt: u64,
    /// Right edge of the window last offered; it never moves left (RFC 9293 §3.8.6.2.2).
    pub(super) rcv_edge: u64,
    /// Buffer in bytes.
    buffer: u64,
    /// In-order bytes that the application has not read.
    unread: u64,
    /// Whether the application takes everything at once.
    auto_read: bool,
    /// What came beyond a hole: disjoint ranges, ascending.
    beyond: Vec<(u64, u64)>,
    /// Position of the peer's FIN, once seen.
    fin: Option<u64>,
    delayed_ack: Option<Duration>,
    delay_ack_of_repeat: bool,
    mss: u64,
    /// A window of zero is offered whatever the buffer holds.
    pub(super) closed_by_command: bool,
}

impl Receiver {
    pub(super) fn new(profile: &Profile, buffer: u64, auto_read: bool) -> Self {
        Receiver {
            rcv_nxt: 0,
            rcv_edge: 0,
            buffer,
            unread: 0,
            auto_read,
            beyond: Vec::new(),
            fin: None,
            delayed_ack: profile.delayed_ack,
            delay_ack_of_repeat: profile.delay_ack_of_repeat,
            mss: u64::from(profile.mss),
            closed_by_command: false,
        }
    }

    /// What another host needs to go on.
    pub(super) fn capture(&self, last_ack_sent: u64, rcv_scale: u8) -> ReceiveState {
        ReceiveState {
            rcv_nxt: self.rcv_nxt,
            rcv_edge: self.rcv_edge,
            unread: self.unread,
            beyond: self.beyond.clone(),
            fin: self.fin,
            last_ack_sent,
            rcv_scale,
        }
    }

    /// Goes on from another host's state, with the buffer of this one.
    pub(super) fn establish(&mut self, state: &ReceiveState) {
        self.rcv_nxt = state.rcv_nxt;
        self.rcv_edge = state.rcv_edge;
        self.unread = state.unread;
        self.beyond.clone_from(&state.beyond);
        self.fin = state.fin;
    }

    /// In-order bytes waiting for the application.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// Payload bytes received in order so far.
    pub fn delivered(&self) -> u64 {
        self.rcv_nxt.saturating_sub(1 + u64::from(self.at_end()))
    }

    /// Whether all up to and including the peer's FIN has arrived.
    pub fn at_end(&self) -> bool {
        self.fin.is_some_and(|fin| self.rcv_nxt > fin)
    }

    /// Ranges held beyond a hole, ascending.
    pub fn beyond(&self) -> &[(u64, u64)] {
        &self.beyond
    }

    /// Whether all `len` positions from `start` on have arrived before.
    pub(super) fn holds(&self, start: u64, len: u64) -> bool {
        let end = start + len;
        end <= self.rcv_nxt
            || self.beyond.iter().any(|range| range.0 <= start.max(self.rcv_nxt) && end <= range.1)
    }

    /// Bytes that may be offered now.
    pub(super) fn window(&self) -> u64 {
        if self.closed_by_command {
            return 0;
        }
        let free = self.buffer.saturating_sub(self.unread);
        let offered = self.rcv_edge.saturating_sub(self.rcv_nxt);
        // The edge may not move left: what was offered stays offered. Nor to the right by a silly step.
        let silly = !self.auto_read && free < offered + self.worth_offering();
        if silly { offered } else { free.max(offered) }
    }

    /// The smallest step of the window's right edge (RFC 9293 §3.8.6.2.2).
    fn worth_offering(&self) -> u64 {
        self.mss.min(self.buffer / 2).max(1)
    }

    /// Whether a segment at `start` of `len` positions overlaps the window (RFC 9293 §3.10.7.4 first check).
    pub(super) fn is_acceptable(&self, start: u64, len: u64) -> bool {
        let window = self.window();
        let edge = self.rcv_nxt + window;
        match (len, window) {
            // The edge included, as in a window of zero: the ACK of a peer that has filled the window and lost all of
            // it bears just this number. (RFC 9293 leaves it out; BSD and Linux take it.)
            (0, _) => self.rcv_nxt <= start && start <= edge,
            (_, 0) => false,
            _ => start < edge && start + len > self.rcv_nxt,
        }
    }

    /// Takes `len` bytes at `start`, and a FIN behind them. `timer` tells whether a delayed ACK is pending.
    pub(super) fn accept(&mut self, start: u64, len: u64, fin: bool, timer: bool, now: Instant) -> AckWhen {
        let edge = self.rcv_nxt + self.window();
        let beyond = self.beyond.last().map_or(0, |range| range.1);
        if fin && start + len <= edge && start + len >= beyond {
            self.fin.get_or_insert(start + len);
        }
        // Nothing follows a FIN, whatever a broken peer sends (RFC 9293 §3.10.7.4, seventh check).
        let end = (start + len).min(edge).min(self.fin.unwrap_or(u64::MAX));
        let before = self.rcv_nxt;
        let had_holes = !self.beyond.is_empty();
        if start > self.rcv_nxt {
            self.insert_beyond(start, end);
            return AckWhen::Now;
        }
        self.rcv_nxt = self.rcv_nxt.max(end);
        if had_holes {
            self.join_beyond();
        }
        let bytes = self.rcv_nxt - before;
        if !self.auto_read {
            self.unread += bytes;
        }
        let reached_fin = self.fin == Some(self.rcv_nxt);
        if reached_fin {
            self.rcv_nxt += 1;
        }
        match self.delayed_ack {
            Some(limit) if !(timer || had_holes || reached_fin || self.rcv_nxt == before) => {
                AckWhen::By(now + limit)
            }
            _ => AckWhen::Now,
        }
    }

    /// When a segment that lies outside the window, up to `end`, is to be acknowledged.
    pub(super) fn acknowledge_refused(&self, end: u64, timer: bool, now: Instant) -> AckWhen {
        let repeats_last = self.delay_ack_of_repeat && end == self.rcv_nxt && self.beyond.is_empty();
        match self.delayed_ack {
            Some(limit) if repeats_last && !timer => AckWhen::By(now + limit),
            _ => AckWhen::Now,
        }
    }

    /// The application has read `bytes`; says whether the peer should hear of the larger window at once
    /// (RFC 9293 §3.8.6.2.2).
    pub(super) fn read(&mut self, bytes: u64) -> bool {
        self.unread = self.unread.saturating_sub(bytes);
        let gain = (self.rcv_nxt + self.window()).saturating_sub(self.rcv_edge);
        gain >= self.worth_offering()
    }

    fn insert_beyond(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        // The ranges that touch [start, end] are one run of the sorted list.
        let first = self.beyond.partition_point(|r| r.1 < start);
        let last = self.beyond.partition_point(|r| r.0 <= end);
        if first == last {
            self.beyond.insert(first, (start, end));
            return;
        }
        let merged = (start.min(self.beyond[first].0), end.max(self.beyond[last - 1].1));
        self.beyond[first] = merged;
        self.beyond.drain(first + 1..last);
    }

    /// Moves `rcv_nxt` over the ranges it has reached.
    fn join_beyond(&mut self) {
        let reached = self.beyond.partition_point(|r| r.0 <= self.rcv_nxt);
        if let Some(last) = self.beyond[..reached].last() {
            self.rcv_nxt = self.rcv_nxt.max(last.1);
        }
        self.beyond.drain(..reached);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn receiver() -> Receiver {
        let mut receiver = Receiver::new(Profile::named("rfc").unwrap(), 10_000, true);
        (receiver.rcv_nxt, receiver.rcv_edge) = (1, 10_001);
        receiver
    }

    #[test]
    fn a_segment_beyond_a_hole_is_kept_and_acknowledged_at_once() {
        let mut r = receiver();
        assert_eq!(r.accept(1001, 500, false, false, Instant::ZERO), AckWhen::Now);
        assert_eq!((r.rcv_nxt, r.beyond()), (1, &[(1001, 1501)][..]));
        assert_eq!(r.accept(1, 1000, false, false, Instant::ZERO), AckWhen::Now);
        assert_eq!((r.rcv_nxt, r.beyond().len()), (1501, 0));
    }

    #[test]
    fn what_has_arrived_is_held_whether_in_order_or_beyond_a_hole() {
        let mut r = receiver();
        r.accept(1, 1000, false, false, Instant::ZERO);
        r.accept(2001, 500, false, false, Instant::ZERO);
        assert!(r.holds(1, 1000) && r.holds(501, 200) && r.holds(2001, 500) && r.holds(2101, 100));
        assert!(!r.holds(501, 501) && !r.holds(1001, 500) && !r.holds(2001, 501) && !r.holds(1901, 200));
    }

    #[test]
    fn in_order_data_is_acknowledged_later_and_the_second_segment_at_once() {
        let mut r = receiver();
        let now = Instant::ZERO;
        assert_eq!(r.accept(1, 100, false, false, now), AckWhen::By(now + Duration::from_millis(200)));
        assert_eq!(r.accept(101, 100, false, true, now), AckWhen::Now);
    }

    #[test]
    fn data_outside_the_buffer_is_cut_off() {
        let mut r = receiver();
        r.accept(9_901, 500, true, false, Instant::ZERO);
        assert_eq!(r.beyond(), &[(9_901, 10_001)]);
        assert!(!r.at_end());
    }

    #[test]
    fn an_unread_buffer_closes_the_window_and_reading_opens_it() {
        let mut r = receiver();
        r.auto_read = false;
        r.accept(1, 10_000, false, false, Instant::ZERO);
        assert_eq!(r.window(), 0);
        assert!(!r.read(100));
        assert!(r.read(5_000));
        assert_eq!(r.window(), 5_100);
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_give_the_whole_stream_once(
            mut order in Just((0u64..20).collect::<Vec<_>>()).prop_shuffle(),
            repeats in proptest::collection::vec(0u64..20, 0..20),
        ) {
            let mut r = receiver();
            order.extend(repeats);
            let mut seen = [false; 20];
            for piece in order {
                r.accept(1 + piece * 100, 100, piece == 19, false, Instant::ZERO);
                seen[piece as usize] = true;
                let in_order = seen.iter().take_while(|s| **s).count() as u64;
                prop_assert_eq!(r.delivered(), in_order * 100);
            }
            prop_assert!(r.at_end());
            prop_assert!(r.beyond().is_empty());
        }
    }
}
