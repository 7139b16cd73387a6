//! One straight line: stands at a place, moves from `start` to `stop` with a constant velocity, stands again.

use segue_proto::time::Instant;

use super::legs::Builder;
use super::{Legs, MAX_SPEED, MobilityError, Motion, Velocity, check_place};
use crate::radio::Position;

/// A straight line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    legs: Legs,
}

impl Line {
    /// From `from`, with `velocity` from `start` to `stop`; [`Instant::MAX`] for no stop.
    ///
    /// # Errors
    /// If a number is none or absurd, or it stops before it starts.
    pub fn new(
        from: Position,
        velocity: Velocity,
        start: Instant,
        stop: Instant,
    ) -> Result<Self, MobilityError> {
        check_place("from", from)?;
        let speed = velocity.speed();
        if !speed.le(&MAX_SPEED) {
            let message = format!("found {speed} m/s; allowed: up to {MAX_SPEED} m/s");
            return Err(MobilityError::new("velocity", message));
        }
        if stop < start {
            let message = format!("found {stop}; allowed: from the start at {start} on");
            return Err(MobilityError::new("stop", message));
        }
        let mut legs = Builder::new(from);
        let motion = Motion { since: start, from, velocity };
        legs.push(motion);
        if stop < Instant::MAX {
            legs.stop(stop, motion.position(stop));
        }
        Ok(Line { legs: legs.build() })
    }

    /// Its motions.
    pub fn legs(&self) -> &Legs {
        &self.legs
    }
}
