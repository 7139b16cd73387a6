//! A route at a constant speed, once or again and again: a shuttle between two stops, a bus line, a robot's rounds.

use std::sync::Arc;

use segue_proto::time::{Duration, Instant};

use super::{MAX_SPEED, MobilityError, Motion, check_place};
use crate::radio::Position;

/// What comes after the last point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// It stays there.
    #[default]
    Once,
    /// Straight to the first point, and again.
    Loop,
    /// Back by the way it came, and again.
    Shuttle,
}

/// A route.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    points: Arc<[Position]>,
    speed: f64,
    pause: Duration,
    start: Instant,
    repeat: Repeat,
}

impl Route {
    /// From point to point with `speed` in metres per second, standing for `pause` at each but the first; it leaves the
    /// first point at `start`.
    ///
    /// # Errors
    /// If there are fewer than two points, two in a row are the same, or a number is none or absurd.
    pub fn new(
        points: &[Position],
        speed: f64,
        pause: Duration,
        start: Instant,
        repeat: Repeat,
    ) -> Result<Self, MobilityError> {
        if points.len() < 2 {
            let message = format!("found {}; allowed: two or more", points.len());
            return Err(MobilityError::new("places", message));
        }
        if !(speed > 0.0 && speed <= MAX_SPEED) {
            let message = format!("found {speed} m/s; allowed: more than 0 and up to {MAX_SPEED} m/s");
            return Err(MobilityError::new("speed", message));
        }
        for (i, point) in points.iter().enumerate() {
            let key = format!("places[{i}]");
            check_place(&key, *point)?;
            // A loop goes from the last point to the first.
            let before = i.checked_sub(1).or((repeat == Repeat::Loop).then_some(points.len() - 1));
            if before.is_some_and(|before| points[before] == *point) {
                let message = "found the place of the point before; allowed: another one";
                return Err(MobilityError::new(key, message));
            }
        }
        Ok(Route { points: points.into(), speed, pause, start, repeat })
    }

    /// Index of the point that follows the `n`-th stop (the first point is stop 0); `None` at the end.
    fn stop(&self, n: u64) -> Option<usize> {
        let count = self.points.len() as u64;
        match self.repeat {
            Repeat::Once => (n < count).then_some(n as usize),
            Repeat::Loop => Some((n % count) as usize),
            Repeat::Shuttle => {
                let along = n % (2 * (count - 1));
                Some(along.min(2 * (count - 1) - along) as usize)
            }
        }
    }
}

/// Somebody on a route.
#[derive(Clone, Debug)]
pub(super) struct Ride {
    route: Route,
    /// Number of the stop that it stands at or left last.
    stop: u64,
    motion: Motion,
    next: Option<Instant>,
}

impl Ride {
    pub(super) fn new(route: Route) -> Self {
        let motion = Motion::fixed(route.points[0]);
        Ride { stop: 0, motion, next: Some(route.start), route }
    }

    pub(super) fn motion(&self) -> Motion {
        self.motion
    }

    pub(super) fn next_change(&self) -> Option<Instant> {
        self.next
    }

    pub(super) fn advance(&mut self, now: Instant) {
        while let Some(at) = self.next.filter(|at| *at <= now) {
            self.go_on(at);
        }
    }

    /// Leaves a stop, or arrives at one.
    fn go_on(&mut self, at: Instant) {
        let stands = !self.motion.is_moving();
        if !stands {
            self.stop += 1;
        }
        let here = self.route.stop(self.stop).map_or(self.motion.from, |point| self.route.points[point]);
        if !stands && self.route.pause > Duration::ZERO {
            self.motion = Motion { since: at, ..Motion::fixed(here) };
            self.next = self.route.stop(self.stop + 1).map(|_| at + self.route.pause);
            return;
        }
        let Some(there) = self.route.stop(self.stop + 1).map(|point| self.route.points[point]) else {
            self.motion = Motion { since: at, ..Motion::fixed(here) };
            self.next = None;
            return;
        };
        // A leg of no length in time would be left before it begins.
        let seconds = here.distance(there) / self.route.speed;
        let arrival = at + Duration::from_secs_f64(seconds).max(Duration::from_nanos(1));
        self.motion = Motion::between(at, here, arrival, there);
        self.next = Some(arrival);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ride(repeat: Repeat, pause_secs: u64) -> Ride {
        let points = [0.0, 100.0, 300.0].map(|x| Position { x, y: 0.0 });
        let (pause, start) = (Duration::from_secs(pause_secs), Instant::ZERO + Duration::from_secs(5));
        Ride::new(Route::new(&points, 10.0, pause, start, repeat).expect("a route that makes sense"))
    }

    fn place(ride: &mut Ride, secs: u64) -> i64 {
        let at = Instant::ZERO + Duration::from_secs(secs);
        ride.advance(at);
        ride.motion().position(at).x.round() as i64
    }

    #[test]
    fn a_shuttle_comes_back_by_the_way_it_went() {
        let mut shuttle = ride(Repeat::Shuttle, 0);
        let at = [0, 5, 10, 15, 25, 35, 45, 55, 65, 75].map(|secs| place(&mut shuttle, secs));
        assert_eq!(at, [0, 0, 50, 100, 200, 300, 200, 100, 0, 100]);
    }

    #[test]
    fn a_loop_goes_straight_from_the_last_point_to_the_first() {
        let mut bus = ride(Repeat::Loop, 0);
        let at = [35, 50, 65, 75].map(|secs| place(&mut bus, secs));
        assert_eq!(at, [300, 150, 0, 100]);
    }

    #[test]
    fn a_route_that_is_travelled_once_ends_at_its_last_point() {
        let mut robot = ride(Repeat::Once, 2);
        let at = [15, 16, 17, 27, 37, 1_000].map(|secs| place(&mut robot, secs));
        assert_eq!(at, [100, 100, 100, 200, 300, 300]);
        assert_eq!(robot.next_change(), None);
    }

    #[test]
    fn a_route_that_goes_nowhere_is_refused() {
        let here = Position::default();
        let there = Position { x: 1.0, y: 0.0 };
        let refused = |points: &[Position], speed: f64, repeat: Repeat| {
            Route::new(points, speed, Duration::ZERO, Instant::ZERO, repeat).map_err(|e| e.key).err()
        };
        assert_eq!(refused(&[here], 1.0, Repeat::Once).as_deref(), Some("places"));
        assert_eq!(refused(&[here, here], 1.0, Repeat::Once).as_deref(), Some("places[1]"));
        assert_eq!(refused(&[here, there, here], 1.0, Repeat::Loop).as_deref(), Some("places[0]"));
        assert_eq!(refused(&[here, there], f64::NAN, Repeat::Once).as_deref(), Some("speed"));
        assert_eq!(refused(&[here, there, here], 1.0, Repeat::Shuttle), None);
    }
}
