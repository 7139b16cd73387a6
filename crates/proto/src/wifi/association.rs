//! Which access point a mobile station belongs to: beacons heard, hysteresis, loss.
//!
//! After IEEE 802.11-2020 §11.1.4 (scanning) and §11.3 (association), as far as a link layer tells the layers above.
//!
//! ## Life
//! The station is associated with at most one access point. A beacon of another one, stronger by the hysteresis,
//! makes it move over at once; `missed_beacons` beacon periods without a beacon of its own make it lose the
//! association; the next beacon of anybody then gives it a new one.
//!
//! ## Not modelled
//! Channels and the scan over them, authentication, the exchange of association frames: the move takes no time and no
//! frames. Who studies handoff latency within layer 2 adds it as the delay of the signal.

use crate::time::{Duration, Instant};

use super::frame::StationId;

/// When to move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Time between beacons of an access point.
    pub beacon_period: Duration,
    /// Beacon periods of silence after which the access point is lost.
    pub missed_beacons: u32,
    /// By how much another access point must be stronger.
    pub hysteresis_db: f64,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Associated, after none or after the one given.
    Associated {
        /// The new access point.
        with: StationId,
        /// The one before.
        before: Option<StationId>,
    },
    /// Lost the access point.
    Lost {
        /// Which.
        from: StationId,
    },
}

/// The association of one station.
#[derive(Clone, Copy, Debug)]
pub struct Association {
    policy: Policy,
    current: Option<Current>,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    access_point: StationId,
    /// Power of its last beacon.
    power_dbm: f64,
    /// When it counts as lost.
    lost_at: Instant,
}

impl Association {
    /// Associated with nobody.
    pub fn new(policy: Policy) -> Self {
        Association { policy, current: None }
    }

    /// The access point, if there is one.
    pub fn access_point(&self) -> Option<StationId> {
        self.current.map(|current| current.access_point)
    }

    /// A beacon was heard.
    pub fn handle_beacon(&mut self, from: StationId, power_dbm: f64, now: Instant) -> Option<Change> {
        let before = self.current;
        let stays = before.is_some_and(|current| {
            current.access_point != from && power_dbm < current.power_dbm + self.policy.hysteresis_db
        });
        if stays {
            return None;
        }
        let silence = self.policy.beacon_period * u64::from(self.policy.missed_beacons);
        self.current = Some(Current { access_point: from, power_dbm, lost_at: now + silence });
        let before = before.map(|current| current.access_point);
        (before != Some(from)).then_some(Change::Associated { with: from, before })
    }

    /// The deadline may have passed.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Change> {
        let lost = self.current.filter(|current| current.lost_at <= now)?;
        self.current = None;
        Some(Change::Lost { from: lost.access_point })
    }

    /// When the access point counts as lost.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.current.map(|current| (current.lost_at, "missed beacons"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: StationId = StationId(1);
    const B: StationId = StationId(2);

    fn association() -> Association {
        Association::new(Policy {
            beacon_period: Duration::from_millis(100),
            missed_beacons: 3,
            hysteresis_db: 4.0,
        })
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn the_first_beacon_associates_and_only_a_clearly_stronger_one_moves_the_station() {
        let mut station = association();
        let first = station.handle_beacon(A, -70.0, at(0));
        assert_eq!(first, Some(Change::Associated { with: A, before: None }));
        assert_eq!(station.handle_beacon(B, -67.0, at(10)), None);
        let moved = station.handle_beacon(B, -65.0, at(110));
        assert_eq!(moved, Some(Change::Associated { with: B, before: Some(A) }));
    }

    #[test]
    fn missed_beacons_end_the_association_and_any_beacon_starts_a_new_one() {
        let mut station = association();
        station.handle_beacon(A, -70.0, at(0));
        station.handle_beacon(A, -80.0, at(100));
        assert_eq!(station.handle_timeout(at(399)), None);
        assert_eq!(station.poll_timeout(), Some((at(400), "missed beacons")));
        assert_eq!(station.handle_timeout(at(400)), Some(Change::Lost { from: A }));
        assert_eq!(station.access_point(), None);
        assert!(station.handle_beacon(B, -90.0, at(500)).is_some());
    }
}
