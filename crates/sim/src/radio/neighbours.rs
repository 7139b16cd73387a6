//! Who can hear whom: for each station, the stations within carrier-sense reach, nearest first.
//!
//! Stations stand in a grid whose cells are as wide as the reach, so that only nine cells matter to a station.
//! Those that stand still have lists of one another, made when one of them is put somewhere. Those that move are in
//! no list: each is filed under the grid cell it is in, and when a frame begins, the powers and delays between it
//! and the others of the nine cells are computed from where it is at that moment.
//!
//! A mover leaves its grid cell at an instant that is computed when it enters it. [`Neighbours::hearers`] first
//! refiles those whose instant has come; nobody else needs to know the grid, and a mover costs nothing while no
//! frame is sent. A frame of a station that stands costs one look-up more than before as long as nobody moves in
//! the nine cells around.

use std::collections::{BTreeMap, BTreeSet};

use segue_proto::rng::Streams;
use segue_proto::time::{Duration, Instant};

use super::propagation::{Position, Propagation, SPEED_OF_LIGHT, Transmitter};
use crate::mobility::Motion;
use crate::mobility::crossing::first_instant;

/// A station that hears another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Who.
    pub station: u32,
    /// Received power in watts.
    pub power_w: f64,
    /// Time the signal needs.
    pub delay: Duration,
}

/// A cell of the grid: column and row.
type CellId = (i64, i64);

/// Who is in a cell of the grid.
#[derive(Debug, Default)]
struct GridCell {
    standing: Vec<u32>,
    /// Whoever computes powers goes through these, so the motions lie side by side.
    moving: Vec<(u32, Motion)>,
    /// How many move in this cell and the eight around it.
    moving_around: u32,
}

/// Where a station is filed.
#[derive(Clone, Copy, Debug)]
struct Place {
    motion: Motion,
    cell: CellId,
    /// When it leaves its cell; `None`: never.
    border: Option<Instant>,
}

/// All stations and their neighbours.
#[derive(Debug)]
pub struct Neighbours {
    propagation: Propagation,
    transmitter: Transmitter,
    /// The least power that counts.
    threshold_w: f64,
    /// Whether signals take time.
    with_delay: bool,
    streams: Streams,
    /// Width of a cell of the grid in metres; nothing is heard beyond.
    cell_m: f64,
    places: Vec<Place>,
    /// Without cells in and around which there is nobody.
    grid: BTreeMap<CellId, GridCell>,
    /// How many move.
    movers: u32,
    /// When movers leave their cells.
    borders: BTreeSet<(Instant, u32)>,
    /// By station: those that stand still and hear it, if it stands still; sorted by delay, then by number.
    lists: Vec<Vec<Neighbour>>,
}

impl Neighbours {
    /// No stations yet.
    pub fn new(
        propagation: Propagation,
        transmitter: Transmitter,
        threshold_w: f64,
        with_delay: bool,
        streams: Streams,
    ) -> Self {
        // A reach of zero would put every station into a cell of its own without end; a metre does no harm.
        let cell_m = propagation.reach_m(transmitter, threshold_w).max(1.0);
        Neighbours {
            propagation,
            transmitter,
            threshold_w,
            with_delay,
            streams,
            cell_m,
            places: Vec::new(),
            grid: BTreeMap::new(),
            movers: 0,
            borders: BTreeSet::new(),
            lists: Vec::new(),
        }
    }

    /// Adds a station; its number is the count of those before.
    pub fn add(&mut self, position: Position) -> u32 {
        let station = self.places.len() as u32;
        let motion = Motion::fixed(position);
        self.places.push(Place { motion, cell: self.cell(position), border: None });
        self.lists.push(Vec::new());
        self.file(station);
        station
    }

    /// Puts a station somewhere, where it stays. Frames on air keep the powers they began with.
    pub fn set_position(&mut self, station: u32, position: Position) {
        // It is in the same place at any time.
        self.set_motion(station, Motion::fixed(position), Instant::ZERO);
    }

    /// Sets a station in motion, or stops it, from `now` on. The motion may have begun before. Frames on air keep
    /// the powers they began with.
    pub fn set_motion(&mut self, station: u32, motion: Motion, now: Instant) {
        let before = self.places[station as usize].motion;
        if !before.is_moving() && !motion.is_moving() && before.from == motion.from {
            return;
        }
        self.unfile(station);
        let cell = self.cell(motion.position(now));
        self.places[station as usize] = Place { motion, cell, border: self.border(&motion, cell, now) };
        self.file(station);
    }

    /// Where a station is.
    pub fn position(&self, station: u32, now: Instant) -> Position {
        self.places[station as usize].motion.position(now)
    }

    /// How many stations there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Who hears `station`, nearest first, if neither moves.
    pub fn of(&self, station: u32) -> &[Neighbour] {
        &self.lists[station as usize]
    }

    /// Fills `hearers` with those who hear a frame that `station` begins to send at `now`, nearest first. Time must
    /// not go back from call to call.
    pub fn hearers(&mut self, station: u32, now: Instant, hearers: &mut Vec<Neighbour>) {
        self.refile(now);
        hearers.clear();
        hearers.extend_from_slice(&self.lists[station as usize]);
        let Place { motion, cell, .. } = self.places[station as usize];
        let is_moving = motion.is_moving();
        if !is_moving && (self.movers == 0 || self.grid[&cell].moving_around == 0) {
            return;
        }
        let sender = (station, motion.position(now));
        for cell in self.cells_around(cell) {
            let movers = cell.moving.iter().map(|(other, motion)| (*other, motion.position(now)));
            hearers.extend(
                movers.filter(|(other, _)| *other != station).filter_map(|other| self.signal(sender, other)),
            );
            if is_moving {
                let standing = cell.standing.iter().map(|&other| (other, self.position(other, now)));
                hearers.extend(standing.filter_map(|other| self.signal(sender, other)));
            }
        }
        hearers.sort_unstable_by_key(key);
    }

    /// Files those that have left their cells by `now` under the cells they are in.
    fn refile(&mut self, now: Instant) {
        while let Some(&(_, station)) = self.borders.first().filter(|(at, _)| *at <= now) {
            self.unfile(station);
            let motion = self.places[station as usize].motion;
            let cell = self.cell(motion.position(now));
            self.places[station as usize] = Place { motion, cell, border: self.border(&motion, cell, now) };
            self.file(station);
        }
    }

    /// When `motion`, which is in `cell` at `now`, leaves it.
    fn border(&self, motion: &Motion, cell: CellId, now: Instant) -> Option<Instant> {
        let position = motion.position(now);
        let axis = |place: f64, speed: f64, index: i64| {
            let edge = if speed > 0.0 { index + 1 } else { index } as f64 * self.cell_m;
            if speed == 0.0 { f64::INFINITY } else { (edge - place) / speed }
        };
        let seconds =
            axis(position.x, motion.velocity.x, cell.0).min(axis(position.y, motion.velocity.y, cell.1));
        let guess = now + Duration::from_secs_f64(seconds);
        first_instant(now, Instant::MAX, guess, |at| self.cell(motion.position(at)) != cell)
    }

    fn cell(&self, position: Position) -> CellId {
        ((position.x / self.cell_m).floor() as i64, (position.y / self.cell_m).floor() as i64)
    }

    /// A cell and the eight around it, as far as anybody is in or around them.
    fn cells_around(&self, (column, row): CellId) -> impl Iterator<Item = &GridCell> {
        let column_of = move |dx: i64| self.grid.range((column + dx, row - 1)..=(column + dx, row + 1));
        (-1..=1).flat_map(column_of).map(|(_, cell)| cell)
    }

    /// Enters a station into the grid, and into the lists if it stands still.
    fn file(&mut self, station: u32) {
        let Place { motion, cell, border } = self.places[station as usize];
        if !motion.is_moving() {
            self.grid.entry(cell).or_default().standing.push(station);
            self.link(station);
            return;
        }
        self.movers += 1;
        self.grid.entry(cell).or_default().moving.push((station, motion));
        around(cell).for_each(|cell| self.grid.entry(cell).or_default().moving_around += 1);
        self.borders.extend(border.map(|at| (at, station)));
    }

    /// Takes a station out of the grid and the lists.
    fn unfile(&mut self, station: u32) {
        let Place { motion, cell, border } = self.places[station as usize];
        let entry = self.grid.entry(cell).or_default();
        if !motion.is_moving() {
            entry.standing.retain(|other| *other != station);
            self.forget_if_empty(cell);
            self.unlink(station);
            return;
        }
        self.movers -= 1;
        entry.moving.retain(|(other, _)| *other != station);
        for cell in around(cell) {
            self.grid.entry(cell).or_default().moving_around -= 1;
            self.forget_if_empty(cell);
        }
        if let Some(at) = border {
            self.borders.remove(&(at, station));
        }
    }

    fn forget_if_empty(&mut self, cell: CellId) {
        let is_empty = |entry: &GridCell| entry.standing.is_empty() && entry.moving_around == 0;
        if self.grid.get(&cell).is_some_and(is_empty) {
            self.grid.remove(&cell);
        }
    }

    /// Puts `station` into the lists of all that stand and hear it, and them into its own.
    fn link(&mut self, station: u32) {
        let Place { motion, cell, .. } = self.places[station as usize];
        let mut own = std::mem::take(&mut self.lists[station as usize]);
        for cell in around(cell) {
            let others = self.grid.get(&cell).map_or(&[][..], |cell| &cell.standing);
            for &other in others.iter().filter(|other| **other != station) {
                let place = self.places[other as usize].motion.from;
                let Some(neighbour) = self.signal((station, motion.from), (other, place)) else { continue };
                own.push(neighbour);
                insert_sorted(&mut self.lists[other as usize], Neighbour { station, ..neighbour });
            }
        }
        own.sort_by_key(key);
        self.lists[station as usize] = own;
    }

    fn unlink(&mut self, station: u32) {
        let mut own = std::mem::take(&mut self.lists[station as usize]);
        for neighbour in own.drain(..) {
            self.lists[neighbour.station as usize].retain(|other| other.station != station);
        }
        self.lists[station as usize] = own;
    }

    /// What `other` hears of `station`, if anything; each with its place.
    fn signal(&self, station: (u32, Position), other: (u32, Position)) -> Option<Neighbour> {
        let distance = station.1.distance(other.1);
        if distance > self.cell_m {
            return None;
        }
        let mean = self.propagation.received_w(self.transmitter, distance);
        let power_w = mean * self.propagation.shadowing(self.streams, station.0, other.0);
        let delay =
            if self.with_delay { Duration::from_secs_f64(distance / SPEED_OF_LIGHT) } else { Duration::ZERO };
        (power_w >= self.threshold_w).then_some(Neighbour { station: other.0, power_w, delay })
    }
}

/// A cell and the eight around it.
fn around((column, row): CellId) -> impl Iterator<Item = CellId> {
    (-1..=1).flat_map(move |dx| (-1..=1).map(move |dy| (column + dx, row + dy)))
}

fn key(neighbour: &Neighbour) -> (Duration, u32) {
    (neighbour.delay, neighbour.station)
}

fn insert_sorted(list: &mut Vec<Neighbour>, neighbour: Neighbour) {
    let index = list.partition_point(|other| key(other) < key(&neighbour));
    list.insert(index, neighbour);
}

#[cfg(test)]
mod tests;
