//! Nodes that move: their stations follow their trajectories.
//!
//! A motion is handed to the medium when it begins; the medium knows where a station is at any time from then on. So
//! the agenda has one entry per moving node: the next change of its motion.

use segue_proto::rng::Streams;

use super::World;
use super::agenda::Appointment;
use crate::mobility::{Motion, Trajectory};
use crate::scenario::AbsenceDirection;

/// A node that moves.
#[derive(Debug)]
pub(super) struct Mover {
    trajectory: Trajectory,
    /// Its stations: cell and number there.
    stations: Vec<(u32, u32)>,
}

impl World<'_> {
    /// Sets the nodes of the scenario in motion.
    pub(super) fn add_movers(&mut self, streams: Streams) {
        for (state, stations) in self.scenario.nodes.iter().zip(self.scenario.stations()) {
            let Some(mobility) = &state.mobility else { continue };
            let trajectory = mobility.build(streams.stream(&format!("node {}/mobility", state.name)));
            let mover = Mover { trajectory, stations };
            if mover.stations.is_empty() {
                // Where a node without a radio is makes no difference.
                continue;
            }
            let number = self.movers.len() as u32;
            self.movers.push(mover);
            self.follow(number);
        }
    }

    /// A node's motion changes.
    pub(super) fn change_motion(&mut self, mover: u32) {
        self.movers[mover as usize].trajectory.advance(self.now);
        self.follow(mover);
    }

    /// Tells the media of a mover's present motion, and the agenda of the end of it.
    fn follow(&mut self, number: u32) {
        let mover = &self.movers[number as usize];
        let motion = mover.trajectory.motion();
        if let Some(at) = mover.trajectory.next_change() {
            self.agenda.add(at.max(self.now), Appointment::Motion { mover: number });
        }
        for i in 0..self.movers[number as usize].stations.len() {
            let (cell, station) = self.movers[number as usize].stations[i];
            self.set_motion(cell, station, motion);
        }
    }

    fn set_motion(&mut self, cell: u32, number: u32, motion: Motion) {
        let now = self.now;
        let state = &mut self.cells[cell as usize];
        let station = &mut state.stations[number as usize];
        station.motion = motion;
        if station.absences[AbsenceDirection::Both as usize] == 0 {
            state.medium.set_motion(number, motion, now);
        }
    }
}
