//! Places and times: straight from each place to the next one with the speed that makes it arrive in time. Before the
//! first time the node stands at the first place, after the last time at the last one.

use segue_proto::time::Instant;

use super::legs::Builder;
use super::{Legs, MAX_SPEED, MobilityError, Motion, check_place};
use crate::radio::Position;

/// Places with the times at which they are reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Waypoints {
    legs: Legs,
}

impl Waypoints {
    /// Reaches each place at its time.
    ///
    /// # Errors
    /// If there is no point, if a coordinate is no number or absurd, if times do not ascend, or if the next place
    /// cannot be reached in time.
    pub fn new(points: &[(Instant, Position)]) -> Result<Self, MobilityError> {
        let Some((first, rest)) = points.split_first() else {
            return Err(MobilityError::new("points", "found none; allowed: one or more"));
        };
        check_place("points[0]", first.1)?;
        let mut legs = Builder::new(first.1);
        let mut before = *first;
        for (i, &(at, place)) in rest.iter().enumerate() {
            let key = format!("points[{}]", i + 1);
            check_place(&key, place)?;
            let leg = leg(before, (at, place)).map_err(|message| MobilityError::new(key, message))?;
            legs.push(leg);
            before = (at, place);
        }
        legs.stop(before.0, before.1);
        Ok(Waypoints { legs: legs.build() })
    }

    /// Its motions.
    pub fn legs(&self) -> &Legs {
        &self.legs
    }

    /// Of motions that were checked elsewhere.
    pub(super) fn from_legs(legs: Legs) -> Self {
        Waypoints { legs }
    }
}

/// From one point to the next, or why not.
pub(super) fn leg(from: (Instant, Position), to: (Instant, Position)) -> Result<Motion, String> {
    if to.0 <= from.0 {
        return Err(format!("found {} after {}; allowed: ascending times", to.0, from.0));
    }
    let leg = Motion::between(from.0, from.1, to.0, to.1);
    if leg.velocity.speed() > MAX_SPEED {
        let speed = leg.velocity.speed();
        return Err(format!("found a way that takes {speed:.0} m/s; allowed: up to {MAX_SPEED} m/s"));
    }
    Ok(leg)
}
