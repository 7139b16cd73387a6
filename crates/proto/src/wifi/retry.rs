//! When a station gives a frame up: IEEE 802.11-2020 §10.3.4.4 (recovery procedures and retransmit limits).
//!
//! An RTS and a data frame that is not longer than the RTS threshold count in the short retry count, a longer data
//! frame in the long one. The frame is given up when its count reaches its limit, which is therefore the number of
//! attempts, not of repetitions. A CTS resets the short count (802.11-1999 §9.2.5.3: "when a MAC frame of length less
//! than or equal to RTSThreshold succeeds"; ns-2 reads it so too), but not the contention window.
//!
//! ## Differences
//! The standard has one pair of counts per frame (SRC, LRC), which decide when it is given up, and one per station
//! (SSRC, SLRC), which reset the contention window. A station here serves one frame at a time, and one pair is kept. It
//! is the frame's unless [`CountsOf::Station`] says otherwise; the window falls back whenever a frame is given up.

/// The limits, in attempts; a scheme may change them at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For RTS and for data not above the RTS threshold.
    #[doc(alias = "dot11ShortRetryLimit")]
    pub short: u16,
    /// For data above the RTS threshold.
    #[doc(alias = "dot11LongRetryLimit")]
    pub long: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { short: 7, long: 4 }
    }
}

/// To whom the counts belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountsOf {
    /// To the frame: each begins with zero.
    #[default]
    Frame,
    /// To the station: a frame given up clears the count that reached its limit, and the next one inherits the other
    /// (ns-2). Frames that fail by their RTS thus shorten the life of those that come after.
    Station,
}

/// Which count an attempt belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// RTS, or data not above the RTS threshold.
    Short,
    /// Data above the RTS threshold.
    Long,
}

/// What follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Try again.
    Retry,
    /// Drop the frame.
    GiveUp,
}

/// The retry counts of one station.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retries {
    limits: Limits,
    counts_of: CountsOf,
    #[doc(alias = "SSRC")]
    #[doc(alias = "SRC")]
    short: u16,
    #[doc(alias = "SLRC")]
    #[doc(alias = "LRC")]
    long: u16,
}

impl Retries {
    /// Nothing has failed yet.
    pub fn new(limits: Limits, counts_of: CountsOf) -> Self {
        Retries { limits, counts_of, short: 0, long: 0 }
    }

    /// New limits; they count from the next failure on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// The limits in force.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// An attempt failed.
    pub fn fail(&mut self, length: Length) -> Verdict {
        let (count, limit) = match length {
            Length::Short => (&mut self.short, self.limits.short),
            Length::Long => (&mut self.long, self.limits.long),
        };
        *count = count.saturating_add(1);
        if *count < limit {
            return Verdict::Retry;
        }
        *count = 0;
        if self.counts_of == CountsOf::Frame {
            self.reset();
        }
        Verdict::GiveUp
    }

    /// A CTS came.
    pub fn clear_short(&mut self) {
        self.short = 0;
    }

    /// The frame is delivered, or another one begins.
    pub fn reset(&mut self) {
        (self.short, self.long) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_number_of_attempts() {
        let mut retries = Retries::new(Limits { short: 3, long: 1 }, CountsOf::Frame);
        let verdicts: Vec<_> = (0..3).map(|_| retries.fail(Length::Short)).collect();
        assert_eq!(verdicts, [Verdict::Retry, Verdict::Retry, Verdict::GiveUp]);
        assert_eq!(retries.fail(Length::Long), Verdict::GiveUp);
    }

    #[test]
    fn a_cts_clears_the_short_count_and_leaves_the_long_one() {
        let mut retries = Retries::new(Limits { short: 2, long: 2 }, CountsOf::Frame);
        retries.fail(Length::Short);
        retries.fail(Length::Long);
        retries.clear_short();
        assert_eq!(retries.fail(Length::Short), Verdict::Retry);
        assert_eq!(retries.fail(Length::Long), Verdict::GiveUp);
    }

    #[test]
    fn a_frame_inherits_the_other_count_only_where_counts_belong_to_the_station() {
        for (counts_of, verdict) in [(CountsOf::Frame, Verdict::Retry), (CountsOf::Station, Verdict::GiveUp)]
        {
            let mut retries = Retries::new(Limits { short: 1, long: 2 }, counts_of);
            retries.fail(Length::Long);
            assert_eq!(retries.fail(Length::Short), Verdict::GiveUp);
            assert_eq!(retries.fail(Length::Long), verdict);
        }
    }

    #[test]
    fn a_limit_lowered_below_the_count_ends_the_frame_at_the_next_failure() {
        let mut retries = Retries::new(Limits { short: 13, long: 4 }, CountsOf::Frame);
        (0..8).for_each(|_| assert_eq!(retries.fail(Length::Short), Verdict::Retry));
        retries.set_limits(Limits { short: 7, long: 4 });
        assert_eq!(retries.fail(Length::Short), Verdict::GiveUp);
    }
}
