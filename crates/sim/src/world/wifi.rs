//! 802.11 cells in the world: packets in and out of stations, frames on air, absences.
//!
//! Every station has at most one useful event, every frame on air one. A station that was given something to do is noted
//! and served when the present event has been dealt with, so that no station is entered while it speaks.

use segue_proto::rng::Streams;
use segue_proto::signal::Source;
use segue_proto::time::Instant;
use segue_proto::trace::{DropCause, Event};
use segue_proto::wifi::{self, Dcf, StationId};

use super::World;
use super::agenda::Appointment;
use super::packets::{Packet, PacketId};
use crate::event_queue::Component;
use crate::outage::{Layer, OutageProcess};
use crate::radio::Position;
use crate::radio::medium::{Medium, OnAirId, Report, What};
use crate::results::Place;
use crate::scenario::Scenario;

/// A cell at work.
#[derive(Debug)]
pub(super) struct CellState {
    medium: Medium,
    stations: Vec<Station>,
    /// Component of the first station, and of the first frame on air.
    first_station: u32,
    first_frame: u32,
    /// What the medium reported and the stations have not heard yet.
    reports: Vec<Report>,
}

#[derive(Debug)]
struct Station {
    dcf: Dcf,
    node: u32,
    home: Position,
    /// Absences under way; they may overlap.
    absences: u32,
    /// When its pending event comes.
    pending: Instant,
}

/// A way through the air, as routing sees it: from a station to another of the same cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) cell: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Frames that may be on air at once for each station: its own, and one whose tail still travels.
const FRAMES_PER_STATION: u32 = 2;

/// All hops of `scenario`, in the order in which routing numbers them after the link directions.
pub(super) fn hops(scenario: &Scenario) -> Vec<Hop> {
    let mut hops = Vec::new();
    for (cell, members) in scenario.cells.iter().map(|cell| cell.members.len() as u32).enumerate() {
        for from in 0..members {
            let others = (0..members).filter(|to| *to != from);
            hops.extend(others.map(|to| Hop { cell: cell as u32, from, to }));
        }
    }
    hops
}

/// How many components the cells of `scenario` take: stations, and frames on air.
pub(crate) fn components(scenario: &Scenario) -> u32 {
    let stations: usize = scenario.cells.iter().map(|cell| cell.members.len()).sum();
    stations as u32 * (1 + FRAMES_PER_STATION)
}

impl World<'_> {
    /// Builds the cells; their components begin at `first`.
    pub(super) fn add_cells(&mut self, first: u32, streams: Streams) {
        let stations: usize = self.scenario.cells.iter().map(|cell| cell.members.len()).sum();
        let (mut first_station, mut first_frame) = (first, first + stations as u32);
        for cell in &self.scenario.cells {
            let mut medium = Medium::new(cell.medium.clone(), streams.within(&format!("cell {}", cell.name)));
            let mut state_of = |member: &crate::scenario::Member| {
                let number = medium.add_station(member.position);
                let name = format!("cell {}/{}/backoff", cell.name, self.scenario.nodes[member.node].name);
                let config = wifi::Config { station: StationId(number), ..cell.station.clone() };
                Station {
                    dcf: Dcf::new(config, streams.stream(&name)),
                    node: member.node as u32,
                    home: member.position,
                    absences: 0,
                    pending: Instant::MAX,
                }
            };
            let stations: Vec<Station> = cell.members.iter().map(&mut state_of).collect();
            let count = stations.len() as u32;
            self.cells.push(CellState { medium, stations, first_station, first_frame, reports: Vec::new() });
            first_station += count;
            first_frame += count * FRAMES_PER_STATION;
        }
    }

    /// Plans the first of each absence.
    pub(super) fn add_absences(&mut self, streams: Streams) {
        for (index, absence) in self.scenario.absences.iter().enumerate() {
            let stream = streams.stream(&format!("absence {index}"));
            self.absences.push(OutageProcess::new(absence.schedule, stream));
            let station = absence.member as u32;
            let uses = |direction: u32| {
                let hop = direction.checked_sub(self.links.len() as u32).map(|hop| self.hops[hop as usize]);
                hop.is_some_and(|h| h.cell as usize == absence.cell && (h.from == station || h.to == station))
            };
            let hit = self.flows_that_use(&uses);
            self.absence_hit.push(hit);
            self.plan_next_absence(index as u32);
        }
    }

    fn plan_next_absence(&mut self, absence: u32) {
        if let Some((begin, until)) = self.absences[absence as usize].next() {
            self.agenda.add(begin, Appointment::AbsenceBegins { absence, until });
        }
    }

    pub(super) fn begin_absence(&mut self, number: u32, until: Instant) {
        self.agenda.add(until, Appointment::AbsenceEnds { absence: number });
        let absence = &self.scenario.absences[number as usize];
        let cell = &mut self.cells[absence.cell];
        let station = &mut cell.stations[absence.member];
        station.absences += 1;
        // Further away than any radio reaches, and each absent station alone.
        let away = Position { x: 1e9 * (1.0 + absence.member as f64), y: 1e9 };
        cell.medium.set_position(absence.member as u32, away);
        let node = station.node;
        self.observe(Place::Station { cell: absence.cell, station: absence.member }, Event::OutageBegan);
        self.tell_node(node, Layer::Link, false);
    }

    pub(super) fn end_absence(&mut self, number: u32) {
        let absence = &self.scenario.absences[number as usize];
        let cell = &mut self.cells[absence.cell];
        let station = &mut cell.stations[absence.member];
        station.absences -= 1;
        if station.absences == 0 {
            let home = station.home;
            cell.medium.set_position(absence.member as u32, home);
        }
        let node = cell.stations[absence.member].node;
        let hit = std::mem::take(&mut self.absence_hit[number as usize]);
        self.note_outage_ended(&hit);
        self.absence_hit[number as usize] = hit;
        self.observe(Place::Station { cell: absence.cell, station: absence.member }, Event::OutageEnded);
        self.tell_node(node, Layer::Link, true);
        self.plan_next_absence(number);
    }

    /// A packet goes through the air by `hop`.
    pub(super) fn send_by_air(&mut self, hop: u32, id: PacketId, bytes: u32) {
        let Hop { cell, from, to } = self.hops[hop as usize];
        let station = &mut self.cells[cell as usize].stations[from as usize];
        let packet = wifi::Packet { handle: id.0, bytes };
        if station.dcf.send(packet, StationId(to), self.now).is_err() {
            self.packets.remove(id);
            self.observe_station_drop(cell, from, DropCause::QueueFull, bytes);
        }
        self.to_serve.push((cell, from));
    }

    fn observe_station_drop(&mut self, cell: u32, station: u32, cause: DropCause, bytes: u32) {
        let place = Place::Station { cell: cell as usize, station: station as usize };
        self.observe(place, Event::PacketDropped { cause, bytes });
    }

    /// An event of a station or of a frame on air. Gives when the frame goes on.
    pub(super) fn handle_wifi(&mut self, component: u32) -> Option<Instant> {
        let first_frame = self.cells[0].first_frame;
        if component < first_frame {
            let cell = self.cells.partition_point(|cell| cell.first_station <= component) - 1;
            let number = component - self.cells[cell].first_station;
            let station = &mut self.cells[cell].stations[number as usize];
            if station.pending == self.now {
                station.pending = Instant::MAX;
                station.dcf.handle_timeout(self.now);
                self.to_serve.push((cell as u32, number));
            }
            return None;
        }
        let cell = self.cells.partition_point(|cell| cell.first_frame <= component) - 1;
        let state = &mut self.cells[cell];
        let next = state.medium.advance(OnAirId(component - state.first_frame), &mut state.reports, self.now);
        self.hand_over_reports(cell);
        next
    }

    /// Serves the stations that were given something to do.
    pub(super) fn serve_stations(&mut self) {
        while let Some((cell, station)) = self.to_serve.pop() {
            self.serve(cell as usize, station);
            self.hand_over_reports(cell as usize);
        }
    }

    fn hand_over_reports(&mut self, cell: usize) {
        let mut next = 0;
        while let Some(report) = self.cells[cell].reports.get(next).copied() {
            next += 1;
            let dcf = &mut self.cells[cell].stations[report.station as usize].dcf;
            match report.what {
                What::Busy => dcf.handle_channel(true, self.now),
                What::Idle => dcf.handle_channel(false, self.now),
                What::Decoded { frame, power_dbm } => dcf.handle_frame(&frame, power_dbm, self.now),
                What::Corrupted => dcf.handle_corrupted(self.now),
                What::Transmitted => dcf.handle_transmitted(self.now),
            }
            self.serve(cell, report.station);
        }
        self.cells[cell].reports.clear();
    }

    /// What follows every input to a station: its frame, its events, its deadline.
    fn serve(&mut self, cell: usize, number: u32) {
        let CellState { medium, stations, first_frame, reports, .. } = &mut self.cells[cell];
        let station = &mut stations[number as usize];
        if let Some(transmission) = station.dcf.poll_transmit(self.now) {
            let (id, next) = medium.transmit(number, &transmission, reports, self.now);
            self.queue.push(next, Component(*first_frame + id.0));
        }
        while let Some(event) = self.cells[cell].stations[number as usize].dcf.poll_event() {
            self.handle_station_event(cell, number, &event);
        }
        let CellState { stations, first_station, .. } = &mut self.cells[cell];
        let station = &mut stations[number as usize];
        if let Some((at, _)) = station.dcf.poll_timeout()
            && at < station.pending
        {
            let at = at.max(self.now);
            station.pending = at;
            self.queue.push(at, Component(*first_station + number));
        }
    }

    fn handle_station_event(&mut self, cell: usize, number: u32, event: &wifi::Event) {
        let node = self.cells[cell].stations[number as usize].node;
        match *event {
            wifi::Event::Received { packet, .. } => {
                // The sender keeps its own until it knows the fate of the frame.
                let Packet { segment, to, end, bytes } = *self.packets.get(PacketId(packet.handle));
                if to == node {
                    self.handle_segment(end, &segment);
                } else {
                    let id = self.packets.insert(Packet { segment, to, end, bytes });
                    self.forward(node, to, id, bytes);
                }
            }
            wifi::Event::Delivered { packet, .. } => self.packets.remove(PacketId(packet.handle)),
            wifi::Event::Dropped { packet, .. } => {
                self.packets.remove(PacketId(packet.handle));
                self.observe_station_drop(cell as u32, number, DropCause::RetryLimit, packet.bytes);
                self.send_news(node, event.link_loss(), Source::Mac);
            }
            wifi::Event::BeaconHeard { .. } => {}
        }
    }

    /// Counts of all stations, cell by cell.
    pub(super) fn station_stats(&self) -> Vec<Vec<wifi::Stats>> {
        self.cells.iter().map(|cell| cell.stations.iter().map(|s| s.dcf.stats()).collect()).collect()
    }
}
