//! From `position` and `mobility = { … }` to [`Mobility`]. Each movement file is read once, however many are in it.

use std::collections::BTreeMap;

use segue_proto::time::{Duration, Instant};

use super::check::CheckError;
use super::file::{self, MobilityModel};
use super::quantity::{Quantity, Range};
use crate::mobility::route::Repeat;
use crate::mobility::{
    Line, Mobility, MobilityError, RandomWaypoint, Route, TraceError, Velocity, Waypoints, setdest, sumo_fcd,
};
use crate::radio::Position;

/// Where movement files come from.
pub(super) trait MovementFiles {
    /// The path of the file called `name` at `key`.
    fn path(&self, key: &str, name: &str) -> String;

    /// The text of the file at a path.
    fn read(&self, path: &str) -> Result<String, String>;
}

/// The movement of the nodes, one after the other.
pub(super) struct Movements<'a> {
    files: &'a dyn MovementFiles,
    /// Nodes so far.
    count: usize,
    /// By path: who is wanted from it.
    setdest: BTreeMap<String, Vec<Wanted<u32>>>,
    sumo_fcd: BTreeMap<String, Vec<Wanted<&'a str>>>,
}

/// A node that moves as a file says.
struct Wanted<T> {
    node: usize,
    /// Of its `mobility`.
    key: String,
    /// What it is called in the file.
    name: T,
}

impl<'a> Movements<'a> {
    pub(super) fn new(files: &'a dyn MovementFiles) -> Self {
        Movements { files, count: 0, setdest: BTreeMap::new(), sumo_fcd: BTreeMap::new() }
    }

    /// The movement of the next node, whose key is `key`; `None` if nothing is said of it, or if it is in a file:
    /// see [`Movements::read_files`].
    pub(super) fn node(
        &mut self,
        key: &str,
        position: Option<[f64; 2]>,
        mobility: Option<&'a file::Mobility>,
    ) -> Result<Option<Mobility>, CheckError> {
        let node = self.count;
        self.count += 1;
        let Some(form) = mobility else { return Ok(position.map(|place| Mobility::Fixed(at(place)))) };
        let key = format!("{key}.mobility");
        if position.is_some() {
            return Err(CheckError::new(key, "found together with position; allowed: one of them"));
        }
        check_fields(&key, form)?;
        let missing = |name: &str| {
            let message = format!("the key \"{name}\" of this mobility model is missing");
            CheckError::new(&key, message)
        };
        let path = |form: &file::Mobility| {
            let name = form.file.as_ref().ok_or_else(|| missing("file"))?;
            Ok(self.files.path(&format!("{key}.file"), name))
        };
        match form.model {
            MobilityModel::Setdest => {
                let (path, name) = (path(form)?, form.node.ok_or_else(|| missing("node"))?);
                self.setdest.entry(path).or_default().push(Wanted { node, key, name });
                Ok(None)
            }
            MobilityModel::SumoFcd => {
                let (path, name) = (path(form)?, form.id.as_deref().ok_or_else(|| missing("id"))?);
                self.sumo_fcd.entry(path).or_default().push(Wanted { node, key, name });
                Ok(None)
            }
            MobilityModel::Fixed => {
                Ok(Some(Mobility::Fixed(at(form.position.ok_or_else(|| missing("position"))?))))
            }
            MobilityModel::Line => line(&key, form, missing).map(Some),
            MobilityModel::Waypoints => {
                let points = form.points.as_ref().ok_or_else(|| missing("points"))?;
                let point = |(time, x, y): &(_, f64, f64)| (instant(Some(*time)), Position { x: *x, y: *y });
                let points: Vec<_> = points.iter().map(point).collect();
                Waypoints::new(&points).map(|points| Some(Mobility::Waypoints(points))).map_err(below(&key))
            }
            MobilityModel::Route => route(&key, form, missing).map(Some),
            MobilityModel::RandomWaypoint => random_waypoint(&key, form, missing).map(Some),
        }
    }

    /// Reads the movement files: nodes, and how they move.
    pub(super) fn read_files(&self) -> Result<Vec<(usize, Mobility)>, CheckError> {
        let mut found = Vec::new();
        for (path, wanted) in &self.setdest {
            let legs = self.read(path, wanted, "node", setdest::parse)?;
            found.extend(wanted.iter().map(|w| w.node).zip(legs.into_iter().map(Mobility::Setdest)));
        }
        for (path, wanted) in &self.sumo_fcd {
            let tracks = self.read(path, wanted, "id", sumo_fcd::parse)?;
            found.extend(wanted.iter().map(|w| w.node).zip(tracks.into_iter().map(Mobility::SumoFcd)));
        }
        Ok(found)
    }

    fn read<T: Copy, R>(
        &self,
        path: &str,
        wanted: &[Wanted<T>],
        name_key: &str,
        parse: impl Fn(&str, &[T]) -> Result<R, TraceError>,
    ) -> Result<R, CheckError> {
        let text = self.files.read(path).map_err(|message| {
            // What the reader allows are scenarios.
            let problem = message.split(';').next().unwrap_or_default();
            let message = format!("\"{path}\": {problem}; allowed: the name of a movement file");
            CheckError::new(format!("{}.file", wanted[0].key), message)
        })?;
        let names: Vec<T> = wanted.iter().map(|wanted| wanted.name).collect();
        parse(&text, &names).map_err(|error| {
            let (wanted, key) = match error.missing {
                Some(index) => (&wanted[index], name_key),
                None => (&wanted[0], "file"),
            };
            let separator = if error.line.is_some() { ":" } else { ": " };
            CheckError::new(format!("{}.{key}", wanted.key), format!("{path}{separator}{error}"))
        })
    }
}

fn line(
    key: &str,
    form: &file::Mobility,
    missing: impl Fn(&str) -> CheckError,
) -> Result<Mobility, CheckError> {
    let from = at(form.from.ok_or_else(|| missing("from"))?);
    let [x, y] = form.velocity.ok_or_else(|| missing("velocity"))?;
    let stop = form.stop.map_or(Instant::MAX, |stop| instant(Some(stop)));
    let line = Line::new(from, Velocity { x, y }, instant(form.start), stop);
    line.map(Mobility::Line).map_err(below(key))
}

fn route(
    key: &str,
    form: &file::Mobility,
    missing: impl Fn(&str) -> CheckError,
) -> Result<Mobility, CheckError> {
    let places: Vec<Position> =
        form.places.as_ref().ok_or_else(|| missing("places"))?.iter().copied().map(at).collect();
    let Range([speed, greatest]) = form.speed.ok_or_else(|| missing("speed"))?;
    if speed < greatest || greatest < speed {
        let message = format!("found a range from {speed} to {greatest}; allowed: one number");
        return Err(CheckError::new(format!("{key}.speed"), message));
    }
    let pause = form.pause.map_or(Duration::ZERO, |pause| pause.0);
    let repeat = match form.repeat {
        None | Some(file::Repeat::Once) => Repeat::Once,
        Some(file::Repeat::Loop) => Repeat::Loop,
        Some(file::Repeat::Shuttle) => Repeat::Shuttle,
    };
    Route::new(&places, speed, pause, instant(form.start), repeat).map(Mobility::Route).map_err(below(key))
}

fn random_waypoint(
    key: &str,
    form: &file::Mobility,
    missing: impl Fn(&str) -> CheckError,
) -> Result<Mobility, CheckError> {
    let [west, south, east, north] = form.area.ok_or_else(|| missing("area"))?;
    let Range(speed) = form.speed.ok_or_else(|| missing("speed"))?;
    let pause = form.pause.map_or(Duration::ZERO, |pause| pause.0);
    let build = || {
        let mut model = RandomWaypoint::new([at([west, south]), at([east, north])], speed, pause)?;
        if let Some(from) = form.from {
            model = model.starting_at(at(from))?;
        }
        if form.warm_up == Some(true) { model.warm_up() } else { Ok(model) }
    };
    build().map(Mobility::RandomWaypoint).map_err(below(key))
}

/// Refuses the fields of other models.
fn check_fields(key: &str, form: &file::Mobility) -> Result<(), CheckError> {
    let given = [
        ("position", form.position.is_some()),
        ("points", form.points.is_some()),
        ("from", form.from.is_some()),
        ("velocity", form.velocity.is_some()),
        ("start", form.start.is_some()),
        ("stop", form.stop.is_some()),
        ("places", form.places.is_some()),
        ("repeat", form.repeat.is_some()),
        ("area", form.area.is_some()),
        ("speed", form.speed.is_some()),
        ("pause", form.pause.is_some()),
        ("warm_up", form.warm_up.is_some()),
        ("file", form.file.is_some()),
        ("node", form.node.is_some()),
        ("id", form.id.is_some()),
    ];
    let allowed: &[&str] = match form.model {
        MobilityModel::Fixed => &["position"],
        MobilityModel::Line => &["from", "velocity", "start", "stop"],
        MobilityModel::Waypoints => &["points"],
        MobilityModel::Route => &["places", "speed", "pause", "start", "repeat"],
        MobilityModel::RandomWaypoint => &["area", "speed", "pause", "from", "warm_up"],
        MobilityModel::Setdest => &["file", "node"],
        MobilityModel::SumoFcd => &["file", "id"],
    };
    match given.iter().find(|(name, is_given)| *is_given && !allowed.contains(name)) {
        Some((name, _)) => {
            let message = format!("not a field of this mobility model; allowed: {}", allowed.join(", "));
            Err(CheckError::new(format!("{key}.{name}"), message))
        }
        None => Ok(()),
    }
}

fn at([x, y]: [f64; 2]) -> Position {
    Position { x, y }
}

fn instant(time: Option<Quantity<Duration>>) -> Instant {
    Instant::ZERO + time.map_or(Duration::ZERO, |time| time.0)
}

/// An error of a model as one of the scenario.
fn below(key: &str) -> impl Fn(MobilityError) -> CheckError + '_ {
    move |error| CheckError::new(format!("{key}.{}", error.key), error.message)
}
