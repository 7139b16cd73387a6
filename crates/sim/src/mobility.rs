//! How nodes move: positions that are exact at any time, and range crossings that are computed.
//!
//! All movement is piecewise linear. A [`Motion`] is one piece: a place, a velocity and since when. A [`Mobility`] is
//! a checked description of what a node does; [`Mobility::build`] makes a [`Trajectory`] of it, which gives the
//! motion in force and when the next one begins.
//!
//! ## Driving it
//! A driver takes [`Trajectory::motion`], hands it to whoever needs positions, and has one event pending at
//! [`Trajectory::next_change`], at which it calls [`Trajectory::advance`] and takes the new motion. Between these
//! instants nothing needs to happen: [`Motion::position`] gives the place at any time, and [`crossings`] when two
//! nodes come into range of each other or leave it.
//!
//! ## Not modelled
//! Height, acceleration, and curves between two given points. Who compares link budgets of drones, or the moment of
//! a crossing within a braking manoeuvre, would notice.

pub(crate) mod crossing;
mod legs;
pub mod line;
pub mod random_waypoint;
pub mod route;
pub mod setdest;
pub mod sumo_fcd;
pub mod waypoints;

pub use crossing::{Change, Crossing, crossings, in_range};
pub use legs::Legs;
pub use line::Line;
pub use random_waypoint::RandomWaypoint;
pub use route::Route;
pub use waypoints::Waypoints;

use segue_proto::rng::Stream;
use segue_proto::time::Instant;

use crate::radio::Position;
use random_waypoint::Walk;
use route::Ride;

/// The names of the models, with one line each.
pub const ALL: &[(&str, &str)] = &[
    ("fixed", "stays where it is"),
    ("line", "one straight line at a constant velocity, from a start to a stop time"),
    ("waypoints", "straight from place to place, each reached at its time"),
    ("route", "from place to place at a constant speed, once, in a loop or to and fro"),
    ("random-waypoint", "to a random place in a rectangle at a random speed, a pause, and again"),
    ("setdest", "a node of an ns-2 movement file"),
    ("sumo-fcd", "a vehicle or person of SUMO's floating car data"),
];

/// No node is farther from the origin than this when it starts, in metres, on either axis.
pub const MAX_COORDINATE_M: f64 = 1e8;

/// No node is faster than this, in metres per second.
pub const MAX_SPEED: f64 = 1e5;

/// A velocity in metres per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Velocity {
    /// To the east.
    pub x: f64,
    /// To the north.
    pub y: f64,
}

impl Velocity {
    /// Standing still.
    pub const ZERO: Velocity = Velocity { x: 0.0, y: 0.0 };

    /// Its magnitude.
    pub fn speed(self) -> f64 {
        (self.x * self.x + self.y * self.y).sqrt()
    }
}

/// One straight piece of movement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// When it began.
    pub since: Instant,
    /// Where.
    pub from: Position,
    /// How it goes on.
    pub velocity: Velocity,
}

impl Motion {
    /// Stays at `position`.
    pub fn fixed(position: Position) -> Self {
        Motion { since: Instant::ZERO, from: position, velocity: Velocity::ZERO }
    }

    /// From `from` at `since` to `to` at `until`; the velocity is such that it arrives in time.
    pub(crate) fn between(since: Instant, from: Position, until: Instant, to: Position) -> Self {
        let seconds = until.since(since).as_secs_f64();
        let velocity = match from == to || seconds <= 0.0 {
            true => Velocity::ZERO,
            false => Velocity { x: (to.x - from.x) / seconds, y: (to.y - from.y) / seconds },
        };
        Motion { since, from, velocity }
    }

    /// The place at `now`; before [`Motion::since`] the one it begins at.
    pub fn position(&self, now: Instant) -> Position {
        let seconds = now.since(self.since).as_secs_f64();
        Position { x: self.from.x + self.velocity.x * seconds, y: self.from.y + self.velocity.y * seconds }
    }

    /// Whether it goes anywhere.
    pub fn is_moving(&self) -> bool {
        self.velocity != Velocity::ZERO
    }
}

/// What a node does over time. Everything in it has been checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Mobility {
    /// Stays where it is.
    Fixed(Position),
    /// See [`mod@line`].
    Line(Line),
    /// See [`waypoints`].
    Waypoints(Waypoints),
    /// See [`mod@route`].
    Route(Route),
    /// See [`random_waypoint`].
    RandomWaypoint(RandomWaypoint),
    /// See [`setdest`].
    Setdest(Legs),
    /// See [`sumo_fcd`].
    SumoFcd(Waypoints),
}

impl Mobility {
    /// Its name in [`ALL`].
    pub fn name(&self) -> &'static str {
        match self {
            Mobility::Fixed(_) => "fixed",
            Mobility::Line(_) => "line",
            Mobility::Waypoints(_) => "waypoints",
            Mobility::Route(_) => "route",
            Mobility::RandomWaypoint(_) => "random-waypoint",
            Mobility::Setdest(_) => "setdest",
            Mobility::SumoFcd(_) => "sumo-fcd",
        }
    }

    /// Whether it ever moves.
    pub fn is_fixed(&self) -> bool {
        match self {
            Mobility::Fixed(_) => true,
            Mobility::Line(line) => line.legs().is_fixed(),
            Mobility::Waypoints(points) | Mobility::SumoFcd(points) => points.legs().is_fixed(),
            Mobility::Setdest(legs) => legs.is_fixed(),
            Mobility::Route(_) | Mobility::RandomWaypoint(_) => false,
        }
    }

    /// Begins at time zero. `stream` is drawn from by [`Mobility::RandomWaypoint`] only; it should be named after the
    /// node.
    pub fn build(&self, stream: Stream) -> Trajectory {
        let along = |legs: &Legs| Trajectory(Course::Legs { legs: legs.clone(), index: 0 });
        match self {
            Mobility::Fixed(position) => Trajectory(Course::Fixed(*position)),
            Mobility::Line(line) => along(line.legs()),
            Mobility::Waypoints(points) | Mobility::SumoFcd(points) => along(points.legs()),
            Mobility::Setdest(legs) => along(legs),
            Mobility::Route(route) => Trajectory(Course::Ride(Ride::new(route.clone()))),
            Mobility::RandomWaypoint(model) => Trajectory(Course::Walk(Walk::new(*model, stream))),
        }
    }
}

/// A node under way.
#[derive(Clone, Debug)]
pub struct Trajectory(Course);

#[derive(Clone, Debug)]
enum Course {
    Fixed(Position),
    Legs { legs: Legs, index: usize },
    Ride(Ride),
    Walk(Walk),
}

impl Trajectory {
    /// The motion in force, until [`Trajectory::next_change`].
    pub fn motion(&self) -> Motion {
        match &self.0 {
            Course::Fixed(position) => Motion::fixed(*position),
            Course::Legs { legs, index } => legs.as_slice()[*index],
            Course::Ride(ride) => ride.motion(),
            Course::Walk(walk) => walk.motion(),
        }
    }

    /// When the next motion begins; `None`: never.
    pub fn next_change(&self) -> Option<Instant> {
        match &self.0 {
            Course::Fixed(_) => None,
            Course::Legs { legs, index } => legs.as_slice().get(index + 1).map(|leg| leg.since),
            Course::Ride(ride) => ride.next_change(),
            Course::Walk(walk) => walk.next_change(),
        }
    }

    /// Goes over to the motion in force at `now`. Does nothing before [`Trajectory::next_change`]; may pass over
    /// several motions.
    pub fn advance(&mut self, now: Instant) {
        match &mut self.0 {
            Course::Fixed(_) => {}
            Course::Legs { legs, index } => {
                while legs.as_slice().get(*index + 1).is_some_and(|leg| leg.since <= now) {
                    *index += 1;
                }
            }
            Course::Ride(ride) => ride.advance(now),
            Course::Walk(walk) => walk.advance(now),
        }
    }
}

/// A description that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct MobilityError {
    /// The key as in a scenario, such as `points[3]`.
    pub key: String,
    /// What was found and what is allowed.
    pub message: String,
}

impl MobilityError {
    fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        MobilityError { key: key.into(), message: message.into() }
    }
}

/// A movement file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", .line.map(|line| format!("{line}: ")).unwrap_or_default())]
pub struct TraceError {
    /// From 1; `None` if it is about the file as a whole.
    pub line: Option<usize>,
    /// Index of the one who was asked for and does not occur.
    pub missing: Option<usize>,
    /// What was found and what is allowed.
    pub message: String,
}

impl TraceError {
    fn at(line: usize, message: impl Into<String>) -> Self {
        TraceError { line: Some(line), missing: None, message: message.into() }
    }

    fn missing(index: Option<usize>, message: String) -> Self {
        TraceError { line: None, missing: index, message }
    }
}

/// A coordinate that is a number and not absurd.
fn is_near(position: Position) -> bool {
    position.x.abs() <= MAX_COORDINATE_M && position.y.abs() <= MAX_COORDINATE_M
}

fn check_place(key: &str, position: Position) -> Result<(), MobilityError> {
    if is_near(position) {
        return Ok(());
    }
    let Position { x, y } = position;
    let message = format!("found [{x}, {y}]; allowed: coordinates from -10^8 to 10^8 m");
    Err(MobilityError::new(key, message))
}

/// The instant so many seconds after the start; `None` for negative ones and for what is no number.
fn instant_at(seconds: f64) -> Option<Instant> {
    // A run of a century is none that anybody waits for, and the sum of two such times still fits.
    (0.0..=3e9).contains(&seconds).then(|| Instant::from_nanos((seconds * 1e9).round() as u64))
}

#[cfg(test)]
mod tests;
