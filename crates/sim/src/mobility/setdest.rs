//! Movement files of ns-2, as written by its tools `setdest` and `calcdest`, by BonnMotion and by SUMO.
//!
//! ```text
//! # a comment
//! $node_(3) set X_ 83.4
//! $node_(3) set Y_ 239.4
//! $node_(3) set Z_ 0.0
//! $ns_ at 2.0 "$node_(3) setdest 90.4 44.9 1.37"
//! ```
//!
//! From the given time the node goes straight to a place (x and y in metres) at a speed in metres per second and
//! stands there. A command given on the way redirects the node from where it is; speed 0 makes it stand. A coordinate
//! that is not set is 0. Lines about `$god_`, which knows the shortest paths, are passed over, heights are read and
//! forgotten, and any other line is refused.
//!
//! ## Differences
//! ns-2 refuses a destination outside of its topography; there is none here.

use std::collections::BTreeMap;

use segue_proto::time::{Duration, Instant};

use super::legs::Builder;
use super::{Legs, MAX_COORDINATE_M, MAX_SPEED, Motion, TraceError, Velocity, instant_at};
use crate::radio::Position;

const ALLOWED: &str = "allowed: $node_(i) set X_ v (Y_, Z_), $ns_ at t \"$node_(i) setdest x y speed\", \
                       lines about $god_, comments after #";

/// One `setdest`.
#[derive(Clone, Copy, Debug)]
struct Command {
    at: Instant,
    to: Position,
    speed: f64,
}

/// What a file says of one node.
#[derive(Clone, Debug, Default)]
struct Node {
    start: Position,
    commands: Vec<Command>,
    is_seen: bool,
}

/// Reads the movement of the nodes numbered `wanted`, in that order, in one pass over the file.
///
/// # Errors
/// If a line is none of a movement file, or a node does not occur.
pub fn parse(text: &str, wanted: &[u32]) -> Result<Vec<Legs>, TraceError> {
    let mut nodes: BTreeMap<u32, Node> = wanted.iter().map(|number| (*number, Node::default())).collect();
    let mut highest = None;
    for (i, line) in text.lines().enumerate() {
        let Some((number, what)) = read_line(line).map_err(|message| TraceError::at(i + 1, message))? else {
            continue;
        };
        highest = highest.max(Some(number));
        let Some(node) = nodes.get_mut(&number) else { continue };
        node.is_seen = true;
        match what {
            What::X(x) => node.start.x = x,
            What::Y(y) => node.start.y = y,
            What::Z => {}
            What::SetDest(command) => node.commands.push(command),
        }
    }
    let mut legs = BTreeMap::new();
    for (number, node) in nodes {
        if !node.is_seen {
            let allowed = highest.map_or("none".to_owned(), |highest| format!("0 to {highest}"));
            let message = format!("there is no node {number}; allowed: {allowed}");
            let index = wanted.iter().position(|other| *other == number);
            return Err(TraceError::missing(index, message));
        }
        legs.insert(number, node.legs());
    }
    Ok(wanted.iter().map(|number| legs[number].clone()).collect())
}

impl Node {
    fn legs(mut self) -> Legs {
        // Files need not be in order; of commands at one time the last one holds.
        self.commands.sort_by_key(|command| command.at);
        let mut legs = Builder::new(self.start);
        let mut arrival: Option<(Instant, Position)> = None;
        for Command { at, to, speed } in self.commands {
            if let Some((when, place)) = arrival.take_if(|(when, _)| *when <= at) {
                legs.stop(when, place);
            }
            let here = legs.last().position(at);
            let way = here.distance(to);
            let until = at + if speed > 0.0 { Duration::from_secs_f64(way / speed) } else { Duration::ZERO };
            if until == at {
                arrival = None;
                legs.stop(at, if speed > 0.0 { to } else { here });
            } else if until == Instant::MAX {
                arrival = None;
                let velocity =
                    Velocity { x: (to.x - here.x) / way * speed, y: (to.y - here.y) / way * speed };
                legs.push(Motion { since: at, from: here, velocity });
            } else {
                arrival = Some((until, to));
                legs.push(Motion::between(at, here, until, to));
            }
        }
        if let Some((when, place)) = arrival {
            legs.stop(when, place);
        }
        legs.build()
    }
}

/// What a line says of a node.
enum What {
    X(f64),
    Y(f64),
    Z,
    SetDest(Command),
}

/// Reads one line; `None` if it says nothing of a node.
fn read_line(line: &str) -> Result<Option<(u32, What)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') || line.starts_with("$god_ ") {
        return Ok(None);
    }
    let unknown = || format!("found {line}; {ALLOWED}");
    if let Some(rest) = line.strip_prefix("$ns_ at ").or_else(|| line.strip_prefix("$ns at ")) {
        let (time, order) = rest.trim().split_once(char::is_whitespace).ok_or_else(unknown)?;
        let order = order.trim().strip_prefix('"').and_then(|order| order.strip_suffix('"'));
        let order = order.ok_or_else(unknown)?.trim();
        if order.starts_with("$god_ ") {
            return Ok(None);
        }
        let (number, rest) = node_number(order).ok_or_else(unknown)?;
        let mut words = rest.split_whitespace();
        let (Some("setdest"), Some(x), Some(y), Some(speed), None) =
            (words.next(), words.next(), words.next(), words.next(), words.next())
        else {
            return Err(unknown());
        };
        let at = time.parse().ok().and_then(instant_at);
        let at = at.ok_or_else(|| format!("found the time {time}; allowed: seconds from 0 to 3e9"))?;
        let to = Position { x: coordinate(x)?, y: coordinate(y)? };
        let found = speed.parse().ok().filter(|speed| (0.0..=MAX_SPEED).contains(speed));
        let speed = found.ok_or_else(|| format!("found the speed {speed}; allowed: 0 to {MAX_SPEED} m/s"))?;
        return Ok(Some((number, What::SetDest(Command { at, to, speed }))));
    }
    let (number, rest) = node_number(line).ok_or_else(unknown)?;
    let mut words = rest.split_whitespace();
    let (Some("set"), Some(name), Some(value), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(unknown());
    };
    let what = match name {
        "X_" => What::X(coordinate(value)?),
        "Y_" => What::Y(coordinate(value)?),
        "Z_" => coordinate(value).map(|_| What::Z)?,
        _ => return Err(unknown()),
    };
    Ok(Some((number, what)))
}

/// `$node_(3) rest` as 3 and the rest.
fn node_number(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = text.strip_prefix("$node_(")?.split_once(')')?;
    Some((number.parse().ok()?, rest))
}

fn coordinate(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.abs() <= MAX_COORDINATE_M);
    value.ok_or_else(|| format!("found the coordinate {text}; allowed: -10^8 to 10^8 m"))
}
