//! Rate control: at which rate a data frame is sent. One table entry each.
//!
//! ARF is Kamerman and Monteban, "WaveLAN-II", Bell Labs Technical Journal 2(3), 1997: two failures in a row lower
//! the rate, ten successes in a row or a timer raise it, and if the first frame at the higher rate fails the rate
//! falls back at once.
//!
//! ## Differences
//! The timer counts frames, not time (15 frames sent since the rate was lowered), as in ns-3's ARF: a station that
//! sends nothing learns nothing.

use super::phy::Rate;

/// The names of the controls, with one line each.
pub const ALL: &[(&str, &str)] = &[
    ("fixed", "always the same rate"),
    ("arf", "up after ten frames delivered in a row, down after two lost in a row"),
];

/// Which control, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateControl {
    /// Always this rate.
    Fixed(Rate),
    /// Automatic rate fallback, starting at this rate.
    Arf(Rate),
}

/// Successes in a row that raise the rate.
const SUCCESSES_TO_RAISE: u8 = 10;
/// Failures in a row that lower it.
const FAILURES_TO_LOWER: u8 = 2;
/// Frames after which a higher rate is tried in any case.
const FRAMES_TO_RAISE: u8 = 15;

/// What one station knows about the way to one peer.
#[derive(Clone, Copy, Debug)]
pub struct RateState {
    rate: Rate,
    /// Delivered in a row, and lost in a row; one of them is zero.
    successes: u8,
    failures: u8,
    /// Attempts since the rate last changed.
    frames: u8,
    /// The rate was raised and no frame has been sent at it.
    probing: bool,
}

impl RateState {
    /// Nothing known yet.
    pub fn new(control: RateControl) -> Self {
        let (RateControl::Fixed(rate) | RateControl::Arf(rate)) = control;
        RateState { rate, successes: 0, failures: 0, frames: 0, probing: false }
    }

    /// The rate of the next attempt.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// An attempt was acknowledged, or not.
    pub fn on_attempt(&mut self, control: RateControl, delivered: bool) {
        let RateControl::Arf(_) = control else { return };
        self.frames = self.frames.saturating_add(1);
        let probing = std::mem::take(&mut self.probing);
        if delivered {
            (self.successes, self.failures) = (self.successes.saturating_add(1), 0);
            if self.successes >= SUCCESSES_TO_RAISE || self.frames >= FRAMES_TO_RAISE {
                self.move_by(1);
            }
        } else {
            (self.successes, self.failures) = (0, self.failures.saturating_add(1));
            if probing || self.failures >= FAILURES_TO_LOWER {
                self.move_by(-1);
            }
        }
    }

    fn move_by(&mut self, step: isize) {
        let rates = self.rate.family();
        let here = rates.iter().position(|rate| *rate == self.rate).expect("a rate belongs to its family");
        let there = here.saturating_add_signed(step).min(rates.len() - 1);
        let probing = there > here;
        *self = RateState { rate: rates[there], successes: 0, failures: 0, frames: 0, probing };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARF: RateControl = RateControl::Arf(Rate::Dsss2);

    fn after(outcomes: &[bool]) -> Rate {
        let mut state = RateState::new(ARF);
        outcomes.iter().for_each(|delivered| state.on_attempt(ARF, *delivered));
        state.rate()
    }

    #[test]
    fn ten_successes_in_a_row_raise_the_rate() {
        assert_eq!(after(&[true; 9]), Rate::Dsss2);
        assert_eq!(after(&[true; 10]), Rate::Dsss5_5);
        assert_eq!(after(&[true; 100]), Rate::Dsss11);
    }

    #[test]
    fn two_failures_in_a_row_lower_the_rate() {
        assert_eq!(after(&[false, true, false]), Rate::Dsss2);
        assert_eq!(after(&[false, false]), Rate::Dsss1);
        assert_eq!(after(&[false; 9]), Rate::Dsss1);
    }

    #[test]
    fn a_failed_probe_falls_back_at_once() {
        let mut outcomes = vec![true; 10];
        outcomes.push(false);
        assert_eq!(after(&outcomes), Rate::Dsss2);
    }

    #[test]
    fn a_fixed_rate_stays() {
        let control = RateControl::Fixed(Rate::Ofdm54);
        let mut state = RateState::new(control);
        (0..50).for_each(|_| state.on_attempt(control, false));
        assert_eq!(state.rate(), Rate::Ofdm54);
    }
}
