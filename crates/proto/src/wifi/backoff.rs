//! The backoff of the DCF: IEEE 802.11-2020 §10.3.3 (contention window) and §10.3.4.3 (procedure).
//!
//! The counter is a number of slots that must pass on an idle medium. It is not decremented by events: while the
//! medium is idle the moment at which it reaches zero is known, and when the medium becomes busy the slots that
//! have passed are taken off. One deadline per access therefore suffices.
//!
//! ## The last slot
//! A station that sends at a slot boundary has turned its radio round before it. A medium that becomes busy less
//! than `turnaround` before a boundary does not stop the slot from counting, nor the station from sending in it:
//! this is how two stations collide whose clocks differ by the time light needs between them.

use crate::rng::Stream;
use crate::time::{Duration, Instant};

use super::phy::Phy;

/// Contention window and counter of one station.
#[derive(Clone, Debug)]
pub struct Backoff {
    stream: Stream,
    slot: Duration,
    turnaround: Duration,
    cw_min: u32,
    cw_max: u32,
    /// The contention window: the largest number that may be drawn.
    #[doc(alias = "CW")]
    cw: u32,
    /// Slots left when counting began.
    slots: u32,
    /// When the first slot began, while counting; `None` while frozen.
    counting_from: Option<Instant>,
}

impl Backoff {
    /// A station that has nothing to count; it draws from `stream`.
    pub fn new(phy: Phy, stream: Stream) -> Self {
        Backoff {
            stream,
            slot: phy.slot(),
            turnaround: phy.turnaround(),
            cw_min: phy.cw_min(),
            cw_max: phy.cw_max(),
            cw: phy.cw_min(),
            slots: 0,
            counting_from: None,
        }
    }

    /// Draws a new counter from `0..=cw`. The counter is frozen then.
    pub fn draw(&mut self) {
        self.slots = self.stream.below(u64::from(self.cw) + 1) as u32;
        self.counting_from = None;
    }

    /// Doubles the window after a failure.
    pub fn widen(&mut self) {
        self.cw = (2 * self.cw + 1).min(self.cw_max);
    }

    /// The window of a first attempt, after a success or when a frame is given up.
    pub fn reset(&mut self) {
        self.cw = self.cw_min;
    }

    /// The medium is idle and the interframe space ends at `from`. Does nothing while counting.
    pub fn resume(&mut self, from: Instant) {
        self.counting_from.get_or_insert(from);
    }

    /// The medium is busy: takes off the slots that have passed.
    pub fn freeze(&mut self, now: Instant) {
        let passed = self.passed(now);
        self.slots -= passed.unwrap_or(0).min(self.slots);
        self.counting_from = None;
    }

    /// Whole slots since counting began, the one about to end included; `None` before the first has begun.
    fn passed(&self, now: Instant) -> Option<u32> {
        let until = now + self.turnaround;
        let from = self.counting_from.filter(|from| *from <= until)?;
        let slots = until.since(from).as_nanos() / self.slot.as_nanos();
        Some(u32::try_from(slots).unwrap_or(u32::MAX))
    }

    /// Whether the counter has reached zero, or will too soon for a busy medium to stop the station.
    pub fn is_over(&self, now: Instant) -> bool {
        self.passed(now).is_some_and(|passed| passed >= self.slots)
    }

    /// When the counter reaches zero, if nothing stops it.
    pub fn deadline(&self) -> Option<Instant> {
        self.counting_from.map(|from| from + self.slot * u64::from(self.slots))
    }

    /// Slots left when counting began.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// The contention window.
    pub fn cw(&self) -> u32 {
        self.cw
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;
    use crate::wifi::phy::Preamble;

    fn backoff() -> Backoff {
        Backoff::new(Phy::Dsss(Preamble::Long), Streams::new(1).stream("backoff"))
    }

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn the_window_doubles_up_to_its_limit_and_falls_back() {
        let mut b = backoff();
        let mut windows = Vec::new();
        for _ in 0..7 {
            windows.push(b.cw());
            b.widen();
        }
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023]);
        b.reset();
        assert_eq!(b.cw(), 31);
    }

    #[test]
    fn draws_are_uniform_from_zero_to_the_window() {
        let mut b = backoff();
        let mut counts = [0u32; 32];
        for _ in 0..64_000 {
            b.draw();
            counts[b.slots() as usize] += 1;
        }
        assert!(counts.iter().all(|count| (1_800..2_200).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_frozen_counter_keeps_the_slots_that_have_not_passed() {
        let mut b = backoff();
        b.slots = 10;
        b.resume(at(50));
        assert_eq!(b.deadline(), Some(at(250)));
        b.freeze(at(114));
        assert_eq!((b.slots(), b.deadline()), (7, None));
        // A slot that is about to end counts: its end is nearer than the turnaround.
        b.resume(at(1_000));
        b.freeze(at(1_016));
        assert_eq!(b.slots(), 6);
    }

    #[test]
    fn a_medium_busy_within_the_turnaround_comes_too_late() {
        let mut b = backoff();
        b.slots = 2;
        b.resume(at(50));
        assert!(!b.is_over(at(84)));
        assert!(b.is_over(at(85)));
    }
}
