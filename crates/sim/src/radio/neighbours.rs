//! Who can hear whom: for each station, the stations within carrier-sense reach, nearest first.
//!
//! Stations stand in a grid whose cells are as wide as the reach, so that a move looks at nine cells and not at all
//! stations.

use std::collections::BTreeMap;

use segue_proto::rng::Streams;
use segue_proto::time::Duration;

use super::propagation::{Position, Propagation, SPEED_OF_LIGHT, Transmitter};

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
    /// Width of a cell of the grid in metres.
    cell_m: f64,
    positions: Vec<Position>,
    grid: BTreeMap<(i64, i64), Vec<u32>>,
    /// By station; sorted by delay, then by number.
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
            positions: Vec::new(),
            grid: BTreeMap::new(),
            lists: Vec::new(),
        }
    }

    /// Adds a station; its number is the count of those before.
    pub fn add(&mut self, position: Position) -> u32 {
        let station = self.positions.len() as u32;
        self.positions.push(position);
        self.lists.push(Vec::new());
        self.grid.entry(self.cell(position)).or_default().push(station);
        self.link(station);
        station
    }

    /// Moves a station. Frames on air keep the powers they began with.
    pub fn set_position(&mut self, station: u32, position: Position) {
        let before = self.positions[station as usize];
        if before == position {
            return;
        }
        self.unlink(station);
        let (from, to) = (self.cell(before), self.cell(position));
        if from != to {
            if let Some(cell) = self.grid.get_mut(&from) {
                cell.retain(|other| *other != station);
            }
            self.grid.entry(to).or_default().push(station);
        }
        self.positions[station as usize] = position;
        self.link(station);
    }

    /// Where a station is.
    pub fn position(&self, station: u32) -> Position {
        self.positions[station as usize]
    }

    /// How many stations there are.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Who hears `station`, nearest first.
    pub fn of(&self, station: u32) -> &[Neighbour] {
        &self.lists[station as usize]
    }

    fn cell(&self, position: Position) -> (i64, i64) {
        ((position.x / self.cell_m).floor() as i64, (position.y / self.cell_m).floor() as i64)
    }

    /// Puts `station` into the lists of all that hear it, and them into its own.
    fn link(&mut self, station: u32) {
        let position = self.positions[station as usize];
        let (column, row) = self.cell(position);
        let mut own = std::mem::take(&mut self.lists[station as usize]);
        for dx in -1..=1 {
            for dy in -1..=1 {
                let others = self.grid.get(&(column + dx, row + dy)).map_or(&[][..], Vec::as_slice);
                for &other in others.iter().filter(|other| **other != station) {
                    let Some(neighbour) = self.signal(station, other) else { continue };
                    own.push(neighbour);
                    insert_sorted(&mut self.lists[other as usize], Neighbour { station, ..neighbour });
                }
            }
        }
        own.sort_by_key(|neighbour| (neighbour.delay, neighbour.station));
        self.lists[station as usize] = own;
    }

    fn unlink(&mut self, station: u32) {
        let mut own = std::mem::take(&mut self.lists[station as usize]);
        for neighbour in own.drain(..) {
            self.lists[neighbour.station as usize].retain(|other| other.station != station);
        }
        self.lists[station as usize] = own;
    }

    /// What `other` hears of `station`, if anything.
    fn signal(&self, station: u32, other: u32) -> Option<Neighbour> {
        let distance = self.positions[station as usize].distance(self.positions[other as usize]);
        let mean = self.propagation.received_w(self.transmitter, distance);
        let power_w = mean * self.propagation.shadowing(self.streams, station, other);
        let delay =
            if self.with_delay { Duration::from_secs_f64(distance / SPEED_OF_LIGHT) } else { Duration::ZERO };
        (power_w >= self.threshold_w).then_some(Neighbour { station: other, power_w, delay })
    }
}

fn insert_sorted(list: &mut Vec<Neighbour>, neighbour: Neighbour) {
    let key = |n: &Neighbour| (n.delay, n.station);
    let index = list.partition_point(|other| key(other) < key(&neighbour));
    list.insert(index, neighbour);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(positions: &[f64]) -> Neighbours {
        let range = Propagation::FixedRange { range_m: 100.0 };
        let mut all = Neighbours::new(range, Transmitter::default(), 1e-12, true, Streams::new(1));
        positions.iter().for_each(|x| {
            all.add(Position { x: *x, y: 0.0 });
        });
        all
    }

    fn heard_by(all: &Neighbours, station: u32) -> Vec<u32> {
        all.of(station).iter().map(|neighbour| neighbour.station).collect()
    }

    #[test]
    fn neighbours_are_those_in_reach_nearest_first() {
        let all = line(&[0.0, 90.0, 30.0, 150.0, -250.0]);
        assert_eq!(heard_by(&all, 0), [2, 1]);
        assert_eq!(heard_by(&all, 1), [2, 3, 0]);
        assert_eq!(heard_by(&all, 4), [0u32; 0]);
    }

    #[test]
    fn a_move_changes_the_lists_of_both_sides() {
        let mut all = line(&[0.0, 90.0, 400.0]);
        all.set_position(2, Position { x: 50.0, y: 10.0 });
        assert_eq!(heard_by(&all, 2), [1, 0]);
        assert_eq!(heard_by(&all, 0), [2, 1]);
        all.set_position(2, Position { x: -1_000.0, y: 0.0 });
        assert_eq!(heard_by(&all, 0), [1]);
        assert_eq!(heard_by(&all, 2), [0u32; 0]);
    }

    #[test]
    fn lists_after_many_moves_are_those_of_a_fresh_start() {
        let mut stream = Streams::new(3).stream("places");
        let mut place = || Position { x: stream.uniform() * 500.0, y: stream.uniform() * 500.0 };
        let mut moved = line(&[0.0; 40]);
        let mut last = vec![Position::default(); 40];
        for step in 0..400 {
            let station = step % 40;
            last[station] = place();
            moved.set_position(station as u32, last[station]);
        }
        let mut fresh = line(&[]);
        for position in &last {
            fresh.add(*position);
        }
        (0..40).for_each(|station| assert_eq!(moved.of(station), fresh.of(station)));
    }
}
