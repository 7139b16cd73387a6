//! SUMO's floating car data (`sumo --fcd-output`): where each vehicle and person is at each time step.
//!
//! ```text
//! <fcd-export>
//!     <timestep time="1.00">
//!         <vehicle id="veh0" x="4.50" y="-1.60" angle="90.00" speed="13.89" lane="in_0"/>
//!         <person id="p0" x="7.00" y="3.20" angle="0.00" speed="1.20" edge="walk"/>
//!     </timestep>
//! </fcd-export>
//! ```
//!
//! Vehicles, persons and containers are known by `id`, `x` and `y` in metres; other attributes and elements are
//! passed over. Between two samples the way is straight, also across time steps that do not name the vehicle. Before
//! its first sample a vehicle stands where that will be, after its last one where that was: SUMO has it only in
//! between, so who counts neighbours must not count these.
//!
//! The file is read in one pass, and only what is asked for is kept.
//!
//! ## Not modelled
//! Geographic coordinates (`--fcd-output.geo`): degrees would be taken for metres. Height (`z`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use segue_proto::time::Instant;

use super::legs::Builder;
use super::{TraceError, Waypoints, instant_at, is_near, waypoints};
use crate::radio::Position;

/// How many names a message lists.
const LISTED: usize = 12;

/// One vehicle or person that is asked for.
#[derive(Debug, Default)]
struct Track {
    last: Option<(Instant, Position)>,
    legs: Option<Builder>,
}

/// Reads the movement of the vehicles and persons called `wanted`, in that order, in one pass over the file.
///
/// # Errors
/// If the text is not such a file, or somebody does not occur.
pub fn parse(text: &str, wanted: &[&str]) -> Result<Vec<Waypoints>, TraceError> {
    let mut file = Parser::new(text, wanted);
    while file.read_element()? {}
    let Parser { tracks, seen, .. } = file;
    let mut found = BTreeMap::new();
    for (id, track) in tracks {
        let (Some((at, place)), Some(mut legs)) = (track.last, track.legs) else {
            let mut names: Vec<&str> = seen.iter().map(AsRef::as_ref).collect();
            if names.len() == LISTED {
                names.push("…");
            }
            let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let message = format!("there is no vehicle or person \"{id}\"; allowed: {allowed}");
            let index = wanted.iter().position(|other| *other == id);
            return Err(TraceError::missing(index, message));
        };
        legs.stop(at, place);
        found.insert(id, Waypoints::from_legs(legs.build()));
    }
    Ok(wanted.iter().map(|id| found[id].clone()).collect())
}

struct Parser<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    tracks: BTreeMap<&'a str, Track>,
    /// The first few names, for messages.
    seen: BTreeSet<String>,
    /// Open elements.
    depth: usize,
    is_begun: bool,
    /// The time step that is open.
    time: Option<Instant>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, wanted: &[&'a str]) -> Self {
        Parser {
            text,
            reader: Reader::from_str(text),
            tracks: wanted.iter().map(|id| (*id, Track::default())).collect(),
            seen: BTreeSet::new(),
            depth: 0,
            is_begun: false,
            time: None,
        }
    }

    /// Reads up to the end of the next tag; false at the end of the file.
    fn read_element(&mut self) -> Result<bool, TraceError> {
        let offset = self.reader.buffer_position() as usize;
        let event = self.reader.read_event().map_err(|error| {
            let at = (self.reader.error_position() as usize).max(offset);
            self.refuse(at, format!("not XML: {error}"))
        })?;
        let result = match event {
            Event::Start(tag) => {
                let result = self.open(&tag);
                self.depth += 1;
                result
            }
            Event::Empty(tag) => {
                let result = self.open(&tag);
                if tag.name().as_ref() == "timestep" {
                    self.time = None;
                }
                result
            }
            Event::End(tag) => {
                self.depth = self.depth.saturating_sub(1);
                if tag.name().as_ref() == "timestep" {
                    self.time = None;
                }
                Ok(())
            }
            Event::Eof if !self.is_begun => Err("found no element; allowed: <fcd-export>".to_owned()),
            Event::Eof if self.depth > 0 => {
                Err("found the end of the file within an element; allowed: a whole file".to_owned())
            }
            Event::Eof => return Ok(false),
            _ => Ok(()),
        };
        result.map(|()| true).map_err(|message| self.refuse(offset, message))
    }

    fn refuse(&self, offset: usize, message: String) -> TraceError {
        let before = self.text.as_bytes().iter().take(offset);
        TraceError::at(before.filter(|byte| **byte == b'\n').count() + 1, message)
    }

    fn open(&mut self, tag: &BytesStart<'a>) -> Result<(), String> {
        let name = tag.name();
        if self.depth == 0 {
            if name.as_ref() != "fcd-export" || self.is_begun {
                let name = name.as_ref();
                return Err(format!("found <{name}>; allowed: one <fcd-export>"));
            }
            self.is_begun = true;
            return Ok(());
        }
        match name.as_ref() {
            "timestep" => {
                let time = attribute(tag, "time")?.ok_or("a timestep without a time; allowed: time=\"…\"")?;
                let at = time.trim().parse().ok().and_then(instant_at);
                let message = || format!("found the time \"{time}\"; allowed: seconds from 0 to 3e9");
                self.time = Some(at.ok_or_else(message)?);
                Ok(())
            }
            "vehicle" | "person" | "container" => self.sample(tag),
            _ => Ok(()),
        }
    }

    fn sample(&mut self, tag: &BytesStart<'a>) -> Result<(), String> {
        let at = self.time.ok_or("found a vehicle outside of a timestep; allowed: within one")?;
        let id = attribute(tag, "id")?.ok_or("found no id; allowed: id=\"…\"")?;
        let track = self.tracks.get_mut(id.as_ref());
        if self.seen.len() < LISTED && !self.seen.contains(id.as_ref()) {
            self.seen.insert(id.clone().into_owned());
        }
        let Some(track) = track else { return Ok(()) };
        let number = |name: &str| {
            let text = attribute(tag, name)?.unwrap_or_default();
            let value = text.trim().parse::<f64>().ok();
            value.ok_or_else(|| format!("found {name}=\"{text}\"; allowed: a number of metres"))
        };
        let place = Position { x: number("x")?, y: number("y")? };
        if !is_near(place) {
            let Position { x, y } = place;
            return Err(format!("found ({x}, {y}); allowed: coordinates from -10^8 to 10^8 m"));
        }
        let legs = track.legs.get_or_insert_with(|| Builder::new(place));
        if let Some(last) = track.last {
            legs.push(waypoints::leg(last, (at, place))?);
        }
        track.last = Some((at, place));
        Ok(())
    }
}

/// The value of an attribute, with its character references replaced.
fn attribute<'t>(tag: &'t BytesStart<'_>, name: &str) -> Result<Option<Cow<'t, str>>, String> {
    let found = tag.try_get_attribute(name).map_err(|error| format!("not XML: {error}"))?;
    let value = |found: Attribute<'t>| found.normalized_value(XmlVersion::default());
    found.map(value).transpose().map_err(|error| format!("not XML: {error}"))
}
