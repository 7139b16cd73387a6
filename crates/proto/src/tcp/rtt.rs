//! Round-trip estimation and the retransmission timeout (RFC 6298), in clock ticks as BSD and ns-2 keep them.
//!
//! `srtt` is kept ×8 and `rttvar` ×4, so that the gains 1/8 and 1/4 are shifts. A sample is the number of clock
//! ticks seen between sending and acknowledgement, at least one; it therefore depends on where in a tick the segment
//! left ([`Profile::clock_phase`]).
//!
//! ## Differences from RFC 6298
//! * The granularity term `G` of §2.3 is a floor of two ticks on the result.
//! * With [`Profile::forget_srtt_above`] the estimate is dropped after long backoff (§5, closing note, allows it).

use super::{Profile, RttState};
use crate::time::{Duration, Instant};

/// The estimator of one connection.
#[derive(Clone, Debug)]
pub struct Estimator {
    tick: u64,
    clock_phase: u64,
    min_rto: Duration,
    max_rto: Duration,
    min_before_backoff: bool,
    forget_srtt_above: u64,
    /// Smoothed round-trip time in ticks, ×8; 0 = no sample.
    srtt: u64,
    /// Mean deviation in ticks, ×4.
    rttvar: u64,
    /// SRTT + 4·RTTVAR, before limits and backoff.
    rto_base: Duration,
    /// 1, 2, 4, …
    multiplier: u64,
}

impl Estimator {
    /// An estimator without samples.
    pub fn new(profile: &Profile) -> Self {
        Estimator {
            tick: profile.tick.as_nanos().max(1),
            clock_phase: profile.clock_phase.as_nanos(),
            min_rto: profile.min_rto,
            max_rto: profile.max_rto,
            min_before_backoff: profile.min_rto_before_backoff,
            forget_srtt_above: profile.forget_srtt_above.unwrap_or(u64::MAX),
            srtt: 0,
            rttvar: 0,
            rto_base: profile.initial_rto,
            multiplier: 1,
        }
    }

    /// Takes a sample: a segment sent at `sent_at` was acknowledged `rtt` later (RFC 6298 §2).
    pub fn sample(&mut self, rtt: Duration, sent_at: Instant) {
        let into_tick = (sent_at.as_nanos().wrapping_add(self.clock_phase)) % self.tick;
        let ticks = ((rtt.as_nanos() + into_tick) / self.tick).max(1);
        if self.srtt == 0 {
            self.srtt = ticks << 3;
            self.rttvar = ticks << 1;
        } else {
            let error = ticks as i64 - (self.srtt >> 3) as i64;
            self.srtt = self.srtt.saturating_add_signed(error).max(1);
            let spread = error.unsigned_abs() as i64 - (self.rttvar >> 2) as i64;
            self.rttvar = self.rttvar.saturating_add_signed(spread).max(1);
        }
        let rto_ticks = ((self.rttvar << 3) + self.srtt) >> 3;
        self.rto_base = Duration::from_nanos(rto_ticks.saturating_mul(self.tick));
    }

    /// The retransmission timeout with limits and backoff.
    pub fn rto(&self) -> Duration {
        let rto = if self.min_before_backoff {
            self.rto_base.max(self.min_rto).saturating_mul(self.multiplier)
        } else {
            self.rto_base.saturating_mul(self.multiplier).max(self.min_rto)
        };
        rto.min(self.max_rto).max(Duration::from_nanos(2 * self.tick))
    }

    /// Doubles the timeout (RFC 6298 §5.5), up to a factor of 64 or as long as `max_rto` is not reached.
    pub fn back_off(&mut self) {
        if self.multiplier < 64 || (self.min_before_backoff && self.rto() < self.max_rto) {
            self.multiplier <<= 1;
        }
        if self.multiplier > self.forget_srtt_above {
            self.rttvar += self.srtt >> 3;
            self.srtt = 0;
        }
    }

    /// Ends the backoff.
    pub fn clear_backoff(&mut self) {
        self.multiplier = 1;
    }

    /// Takes `times` doublings back (RFC 6069 §4.2).
    pub fn undo_backoff(&mut self, times: u32) {
        self.multiplier = self.multiplier.checked_shr(times).unwrap_or(0).max(1);
    }

    /// How often the timeout has been doubled.
    pub fn backoff(&self) -> u32 {
        self.multiplier.trailing_zeros()
    }

    /// Starts again from `initial_rto`, as after a retransmitted SYN (RFC 6298 §5.7).
    pub fn restart(&mut self, initial_rto: Duration) {
        (self.srtt, self.rttvar, self.rto_base, self.multiplier) = (0, 0, initial_rto, 1);
    }

    /// The estimate, for another host.
    pub(super) fn capture(&self) -> RttState {
        RttState {
            srtt: self.srtt(),
            rttvar: Duration::from_nanos(self.rttvar * self.tick / 4),
            rto_base: self.rto_base,
            backoff: self.backoff(),
        }
    }

    /// Goes on from another host's estimate, in ticks of this one's clock.
    pub(super) fn establish(&mut self, state: &RttState) {
        let ticks = |time: Duration, scale: u64| time.as_nanos().saturating_mul(scale) / self.tick;
        let srtt = state.srtt.map_or(0, |srtt| ticks(srtt, 8).max(1));
        let rttvar = ticks(state.rttvar, 4);
        (self.srtt, self.rttvar, self.rto_base) = (srtt, rttvar, state.rto_base);
        self.multiplier = 1 << state.backoff.min(62);
    }

    /// The smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Duration> {
        (self.srtt > 0).then(|| Duration::from_nanos(self.srtt * self.tick / 8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(name: &str) -> Estimator {
        Estimator::new(Profile::named(name).unwrap())
    }

    #[test]
    fn the_first_sample_sets_srtt_and_half_of_it_as_deviation() {
        let mut e = estimator("rfc");
        e.sample(Duration::from_millis(500), Instant::ZERO);
        assert_eq!(e.srtt(), Some(Duration::from_millis(500)));
        // SRTT + 4 · R/2 = 3 R (RFC 6298 §2.2).
        assert_eq!(e.rto(), Duration::from_millis(1500));
    }

    #[test]
    fn a_sample_counts_clock_ticks_and_so_depends_on_the_phase() {
        let mut late = Profile::named("ns-2.1b8").unwrap().clone();
        late.clock_phase = Duration::from_millis(90);
        let mut e = Estimator::new(&late);
        e.sample(Duration::from_millis(250), Instant::ZERO);
        assert_eq!(e.srtt(), Some(Duration::from_millis(300)));
        let mut e = estimator("ns-2.1b8");
        e.sample(Duration::from_millis(250), Instant::ZERO);
        assert_eq!(e.srtt(), Some(Duration::from_millis(200)));
    }

    #[test]
    fn the_floor_before_backoff_is_doubled_and_the_floor_after_it_is_not() {
        let mut b9 = estimator("ns-2.1b9");
        let mut b8 = estimator("ns-2.1b8");
        for e in [&mut b9, &mut b8] {
            e.sample(Duration::from_millis(100), Instant::ZERO);
            e.back_off();
        }
        assert_eq!(b9.rto(), Duration::from_secs(2));
        assert_eq!(b8.rto(), Duration::from_secs(1));
    }

    #[test]
    fn backoff_is_capped_by_factor_64_or_by_the_largest_timeout() {
        let mut e = estimator("ns-2.1b8");
        e.sample(Duration::from_millis(200), Instant::ZERO);
        (0..20).for_each(|_| e.back_off());
        assert_eq!(e.backoff(), 6);
        let mut e = estimator("ns-2.35");
        (0..20).for_each(|_| e.back_off());
        assert_eq!(e.rto(), Duration::from_secs(60));
    }

    #[test]
    fn undoing_more_doublings_than_were_made_leaves_none() {
        let mut e = estimator("rfc");
        e.back_off();
        e.undo_backoff(100);
        assert_eq!(e.backoff(), 0);
    }
}
