//! Random waypoint (Johnson and Maltz 1996): a pause, then to a place drawn evenly from a rectangle at a speed drawn
//! evenly from a range, and again.
//!
//! ## Speed decay
//! Slow legs take longer than fast ones, so the nodes seen at a late instant are mostly slow ones: from the mean of
//! the range at the beginning, the mean speed of those under way falls to `(max - min) / ln(max / min)`, and to zero
//! if `min` were zero, which is why it is not allowed (Yoon, Liu and Noble 2003). At the same time the nodes gather
//! in the middle of the rectangle. Numbers taken while this goes on depend on when one looks.
//! [`RandomWaypoint::warm_up`] avoids it: the node begins as if it had been walking for ever. The leg under way at
//! time zero is drawn with a probability in proportion to the time it takes, and time zero evenly within it, which is
//! the steady state itself and not an approach to it (Navidi and Camp 2004; Le Boudec and Vojnović 2005).
//!
//! ## Not modelled
//! Streets, obstacles, groups. Who studies encounters in a city would notice; SUMO has them.

use segue_proto::rng::Stream;
use segue_proto::time::{Duration, Instant};

use super::{MAX_SPEED, MobilityError, Motion, check_place};
use crate::radio::Position;

/// The least speed in metres per second: slower legs would outlast any run.
pub const MIN_SPEED: f64 = 1e-3;

/// A random waypoint model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWaypoint {
    corners: [Position; 2],
    speed: [f64; 2],
    pause: Duration,
    start: Option<Position>,
    warm_up: bool,
}

impl RandomWaypoint {
    /// Within the rectangle from `corners[0]` (south-west) to `corners[1]` (north-east), in metres, with speeds from
    /// `speed[0]` to `speed[1]` in metres per second, and a pause at each place and before the first leg. It begins
    /// at a random place of the rectangle.
    ///
    /// # Errors
    /// If the rectangle is shorter than a metre on both sides or upside down, or the speeds are not from
    /// [`MIN_SPEED`] to [`MAX_SPEED`], ascending.
    pub fn new(corners: [Position; 2], speed: [f64; 2], pause: Duration) -> Result<Self, MobilityError> {
        corners.iter().try_for_each(|corner| check_place("area", *corner))?;
        let (width, height) = (corners[1].x - corners[0].x, corners[1].y - corners[0].y);
        if width < 0.0 || height < 0.0 || width.max(height) < 1.0 {
            let message = format!(
                "found {width} m by {height} m; allowed: [west, south, east, north], at least 1 m on one side"
            );
            return Err(MobilityError::new("area", message));
        }
        let range = MIN_SPEED..=MAX_SPEED;
        if !(range.contains(&speed[0]) && range.contains(&speed[1]) && speed[0] <= speed[1]) {
            let [min, max] = speed;
            let message =
                format!("found [{min}, {max}]; allowed: [min, max] from {MIN_SPEED} to {MAX_SPEED} m/s");
            return Err(MobilityError::new("speed", message));
        }
        Ok(RandomWaypoint { corners, speed, pause, start: None, warm_up: false })
    }

    /// The same, from `place` on.
    ///
    /// # Errors
    /// If it is outside of the rectangle, or the node is to begin in the steady state, which draws its place.
    pub fn starting_at(self, place: Position) -> Result<Self, MobilityError> {
        let [from, to] = self.corners;
        let Position { x, y } = place;
        if !((from.x..=to.x).contains(&x) && (from.y..=to.y).contains(&y)) {
            let message = format!("found [{x}, {y}]; allowed: a place within the area");
            return Err(MobilityError::new("from", message));
        }
        if self.warm_up {
            let message = "found together with warm_up; allowed: one of them";
            return Err(MobilityError::new("from", message));
        }
        Ok(RandomWaypoint { start: Some(place), ..self })
    }

    /// The same, begun in the steady state.
    ///
    /// # Errors
    /// If a place to start is given.
    pub fn warm_up(self) -> Result<Self, MobilityError> {
        if self.start.is_some() {
            let message = "found together with from; allowed: one of them";
            return Err(MobilityError::new("warm_up", message));
        }
        Ok(RandomWaypoint { warm_up: true, ..self })
    }

    fn draw_place(&self, stream: &mut Stream) -> Position {
        let [from, to] = self.corners;
        let between = |low: f64, high: f64, share: f64| (low + (high - low) * share).clamp(low, high);
        Position { x: between(from.x, to.x, stream.uniform()), y: between(from.y, to.y, stream.uniform()) }
    }

    fn draw_speed(&self, stream: &mut Stream) -> f64 {
        self.speed[0] + (self.speed[1] - self.speed[0]) * stream.uniform()
    }
}

/// A node that walks so.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    model: RandomWaypoint,
    stream: Stream,
    motion: Motion,
    /// Where the present leg ends, or the place of the pause.
    target: Position,
    /// When the leg or the pause ends.
    until: Instant,
}

impl Walk {
    pub(super) fn new(model: RandomWaypoint, mut stream: Stream) -> Self {
        if model.warm_up {
            return Walk::in_steady_state(model, stream);
        }
        let place = model.start.unwrap_or_else(|| model.draw_place(&mut stream));
        let mut walk = Walk::standing(model, stream, place, Instant::ZERO + model.pause);
        walk.advance(Instant::ZERO);
        walk
    }

    fn standing(model: RandomWaypoint, stream: Stream, place: Position, until: Instant) -> Self {
        Walk { model, stream, motion: Motion::fixed(place), target: place, until }
    }

    fn in_steady_state(model: RandomWaypoint, mut stream: Stream) -> Self {
        let pause = model.pause.as_secs_f64();
        let longest = model.corners[0].distance(model.corners[1]) / model.speed[0] + pause;
        // An instant falls on a leg with its pause with a probability in proportion to the time that they take.
        let (from, target, leg, total) = loop {
            let (from, target) = (model.draw_place(&mut stream), model.draw_place(&mut stream));
            let leg = from.distance(target) / model.draw_speed(&mut stream);
            if stream.uniform() * longest < leg + pause {
                break (from, target, leg, leg + pause);
            }
        };
        let passed = total * stream.uniform();
        let until = |seconds: f64| Instant::ZERO + Duration::from_secs_f64(seconds);
        if passed >= leg {
            let mut walk = Walk::standing(model, stream, target, until(total - passed));
            walk.advance(Instant::ZERO);
            return walk;
        }
        let share = passed / leg;
        let here =
            Position { x: from.x + (target.x - from.x) * share, y: from.y + (target.y - from.y) * share };
        let arrival = until(leg - passed).max(Instant::from_nanos(1));
        let motion = Motion::between(Instant::ZERO, here, arrival, target);
        Walk { model, stream, motion, target, until: arrival }
    }

    pub(super) fn motion(&self) -> Motion {
        self.motion
    }

    pub(super) fn next_change(&self) -> Option<Instant> {
        (self.until < Instant::MAX).then_some(self.until)
    }

    pub(super) fn advance(&mut self, now: Instant) {
        while self.until <= now && self.until < Instant::MAX {
            let (at, here) = (self.until, self.target);
            if self.motion.is_moving() && self.model.pause > Duration::ZERO {
                self.motion = Motion { since: at, ..Motion::fixed(here) };
                self.until = at + self.model.pause;
                continue;
            }
            self.target = self.model.draw_place(&mut self.stream);
            let seconds = here.distance(self.target) / self.model.draw_speed(&mut self.stream);
            self.until = at + Duration::from_secs_f64(seconds).max(Duration::from_nanos(1));
            self.motion = Motion::between(at, here, self.until, self.target);
        }
    }
}
