//! The LL/PHY side of ILC-TCP: turns evidence about the link into `LINK_OK` and `LINK_NOT_OK`.
//!
//! \[Chinta §3.3.2, Fig. 4\]. The paper judges the link by the power of received frames and does not say what
//! happens when no frame comes at all; ilc-tcp A14 resolves that with a watchdog over beacons.
//!
//! ## Evidence
//! * a frame with power below the threshold is bad;
//! * a frame with power of at least threshold + hysteresis is good;
//! * a frame in between leaves the state as it is;
//! * no frame for `silence_limit` is bad, and bad again after each further `silence_limit`;
//! * [`LinkStateDetector::handle_evidence`] takes a verdict that another layer has already reached (carrier, association).
//!
//! ## State table (as printed: no edge filter on bad news)
//! | state × evidence | says | next |
//! |---|---|---|
//! | OK × bad | `LINK_NOT_OK` | NOT_OK |
//! | NOT_OK × bad | `LINK_NOT_OK` again | NOT_OK |
//! | NOT_OK × good | `LINK_OK` | OK |
//! | OK × good | nothing | OK |

use crate::signal::SignalKind;
use crate::time::{Duration, Instant};

/// How the evidence is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Frames weaker than this are bad news, in dBm.
    pub power_dbm: f64,
    /// How far above the threshold a frame must be to count as good again, in dB (ilc-tcp A14: 3 dB).
    pub hysteresis_db: f64,
    /// Silence that counts as bad news; [`Duration::MAX`] switches the watchdog off (ilc-tcp A14: two beacon periods).
    pub silence_limit: Duration,
}

/// One interface's link-state detector.
#[derive(Clone, Debug)]
pub struct LinkStateDetector {
    thresholds: Thresholds,
    ok: bool,
    deadline: Instant,
}

impl LinkStateDetector {
    /// A detector that takes the link for good and has just heard a frame.
    pub fn new(thresholds: Thresholds, now: Instant) -> Self {
        LinkStateDetector { thresholds, ok: true, deadline: now + thresholds.silence_limit }
    }

    /// A frame was received with `power_dbm`.
    pub fn handle_frame(&mut self, power_dbm: f64, now: Instant) -> Option<SignalKind> {
        self.deadline = now + self.thresholds.silence_limit;
        if power_dbm < self.thresholds.power_dbm {
            self.handle_evidence(false)
        } else if power_dbm >= self.thresholds.power_dbm + self.thresholds.hysteresis_db {
            self.handle_evidence(true)
        } else {
            None
        }
    }

    /// Another layer has judged the link.
    pub fn handle_evidence(&mut self, good: bool) -> Option<SignalKind> {
        let was_ok = std::mem::replace(&mut self.ok, good);
        match (was_ok, good) {
            (_, false) => Some(SignalKind::LinkNotOk),
            (false, true) => Some(SignalKind::LinkOk),
            (true, true) => None,
        }
    }

    /// The silence has lasted too long, if it has.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<SignalKind> {
        if now < self.deadline {
            return None;
        }
        self.deadline = now + self.thresholds.silence_limit;
        self.handle_evidence(false)
    }

    /// When to call [`Self::handle_timeout`], and why.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        (self.deadline != Instant::MAX).then_some((self.deadline, "no frame heard"))
    }

    /// Whether the link is taken for good.
    pub fn is_ok(&self) -> bool {
        self.ok
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detector() -> LinkStateDetector {
        let thresholds =
            Thresholds { power_dbm: -64.0, hysteresis_db: 3.0, silence_limit: Duration::from_secs(2) };
        LinkStateDetector::new(thresholds, Instant::ZERO)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_four_cells_of_the_state_table() {
        let mut d = detector();
        assert_eq!(d.handle_frame(-60.0, at(1)), None);
        assert_eq!(d.handle_frame(-70.0, at(2)), Some(SignalKind::LinkNotOk));
        assert_eq!(d.handle_frame(-70.0, at(3)), Some(SignalKind::LinkNotOk));
        assert_eq!(d.handle_frame(-60.0, at(4)), Some(SignalKind::LinkOk));
    }

    #[test]
    fn a_frame_inside_the_hysteresis_changes_nothing() {
        let mut d = detector();
        assert_eq!(d.handle_frame(-63.0, at(1)), None);
        d.handle_frame(-70.0, at(2));
        assert_eq!(d.handle_frame(-63.0, at(3)), None);
        assert!(!d.is_ok());
        assert_eq!(d.handle_frame(-61.0, at(4)), Some(SignalKind::LinkOk));
    }

    #[test]
    fn silence_is_bad_news_and_one_good_frame_ends_it() {
        let mut d = detector();
        d.handle_frame(-50.0, at(100));
        assert_eq!(d.poll_timeout().unwrap().0, at(2100));
        assert_eq!(d.handle_timeout(at(2099)), None);
        assert_eq!(d.handle_timeout(at(2100)), Some(SignalKind::LinkNotOk));
        assert_eq!(d.handle_frame(-50.0, at(2500)), Some(SignalKind::LinkOk));
    }
}
