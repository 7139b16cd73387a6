//! 802.11 cells in the world: packets in and out of stations, frames on air, absences.
//!
//! Every station has at most one useful event, every frame on air one. A station that was given something to do is noted
//! and served when the present event has been dealt with, so that no station is entered while it speaks.

use segue_proto::base_station::Towards;
use segue_proto::rng::Streams;
use segue_proto::schemes::MacCommand;
use segue_proto::signal::{LostData, SignalKind, Source};
use segue_proto::tcp::ConnectionId;
use segue_proto::time::Instant;
use segue_proto::trace::{DropCause, Event};
use segue_proto::wifi::association::Association;
use segue_proto::wifi::power::dbm;
use segue_proto::wifi::{self, Dcf, StationId};

use super::World;
use super::agenda::Appointment;
use super::packets::{Content, EVERYBODY, PacketId};
use crate::event_queue::Component;
use crate::mobility::Motion;
use crate::outage::{Layer, OutageProcess};
use crate::radio::Position;
use crate::radio::medium::{Medium, OnAirId, Report, What};
use crate::results::Place;
use crate::scenario::{AbsenceDirection, LinkNews, Scenario};

/// A cell at work.
#[derive(Debug)]
pub(super) struct CellState {
    pub(super) medium: Medium,
    pub(super) stations: Vec<Station>,
    /// Component of the first station, and of the first frame on air.
    first_station: u32,
    first_frame: u32,
    /// What the medium reported and the stations have not heard yet.
    reports: Vec<Report>,
    /// Packets for all on air: their senders have done with them before the last hearer has them.
    for_all: Vec<(OnAirId, PacketId)>,
}

#[derive(Debug)]
pub(super) struct Station {
    dcf: Dcf,
    node: u32,
    /// Where it is when it is not absent.
    pub(super) motion: Motion,
    /// Absences under way, by [`AbsenceDirection`]; they may overlap.
    pub(super) absences: [u32; 3],
    /// When its pending event comes.
    pending: Instant,
    /// Chooses an access point, if the station speaks through one and beacons tell of it.
    association: Option<Association>,
    /// When the agenda looks after a lost access point.
    lost_at: Instant,
    /// Its host judges its link by frames.
    judges_frames: bool,
    /// Its host's scheme hears the power of each frame.
    hears_powers: bool,
}

/// Beacon bodies carry time, interval, capabilities, rates and a name; some seventy bytes.
const BEACON_BYTES: u32 = 70;

/// A station that speaks to everybody in its cell. Routing sees two directions: from the station into the medium of
/// the cell, and out of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) cell: u32,
    pub(super) station: u32,
}

/// Frames that may be on air at once for each station: its own, and one whose tail still travels.
const FRAMES_PER_STATION: u32 = 2;

/// A place that no radio reaches, for each station another one.
fn far_away(station: usize) -> Position {
    Position { x: 1e9 * (1.0 + station as f64), y: 1e9 }
}

/// All hops of `scenario`, in the order in which routing numbers their directions after those of the links.
pub(super) fn hops(scenario: &Scenario) -> Vec<Hop> {
    let mut hops = Vec::new();
    for (cell, state) in scenario.cells.iter().enumerate() {
        if state.infrastructure.is_some() {
            // Who speaks to whom there changes: see `roaming`.
            continue;
        }
        let stations = 0..state.members.len() as u32;
        hops.extend(stations.map(|station| Hop { cell: cell as u32, station }));
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
            let mut state_of = |(number, member): (usize, &crate::scenario::Member)| {
                // Who moves is put into its place when it sets off.
                let moves = self.scenario.nodes[member.node].mobility.is_some();
                let number = medium.add_station(if moves { far_away(number) } else { member.position });
                let name = format!("cell {}/{}/backoff", cell.name, self.scenario.nodes[member.node].name);
                let config = wifi::Config { station: StationId(number), ..cell.station.clone() };
                Station {
                    dcf: Dcf::new(config, streams.stream(&name)),
                    node: member.node as u32,
                    motion: Motion::fixed(member.position),
                    absences: [0; 3],
                    pending: Instant::MAX,
                    association: None,
                    lost_at: Instant::MAX,
                    hears_powers: self.nodes[member.node].hears_powers(),
                    judges_frames: matches!(self.nodes[member.node].link_news, LinkNews::Radio(_)),
                }
            };
            let mut stations: Vec<Station> = cell.members.iter().enumerate().map(&mut state_of).collect();
            let count = stations.len() as u32;
            if let Some((access_points, policy)) =
                cell.infrastructure.and_then(|i| Some((i.access_points, i.association?)))
            {
                for (number, station) in stations.iter_mut().enumerate() {
                    if number >= access_points {
                        station.association = Some(Association::new(policy));
                        continue;
                    }
                    let node = &self.scenario.nodes[station.node as usize].name;
                    let name = format!("cell {}/{node}/beacon-phase", cell.name);
                    let phase = streams.stream(&name).below(policy.beacon_period.as_nanos());
                    let beacon =
                        Appointment::StationBeacon { cell: self.cells.len() as u32, station: number as u32 };
                    self.agenda.add(Instant::from_nanos(phase), beacon);
                }
            }
            self.cells.push(CellState {
                medium,
                stations,
                first_station,
                first_frame,
                reports: Vec::new(),
                for_all: Vec::new(),
            });
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
                let hop = self.hop(direction);
                hop.is_some_and(|hop| hop.cell as usize == absence.cell && hop.station == station)
            };
            let node = self.cells[absence.cell].stations[absence.member].node;
            let hit = self.flows_of(node as usize).map(<[u32]>::to_vec);
            let hit = hit.unwrap_or_else(|| self.flows_that_use(&uses));
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
        station.absences[absence.direction as usize] += 1;
        let (node, member) = (station.node, absence.member as u32);
        match absence.direction {
            AbsenceDirection::Both => cell.medium.set_position(member, far_away(absence.member)),
            AbsenceDirection::Up => cell.medium.set_mute(member, true),
            AbsenceDirection::Down => cell.medium.set_deaf(member, true),
        }
        let hit = std::mem::take(&mut self.absence_hit[number as usize]);
        self.note_outage_began(&hit);
        self.absence_hit[number as usize] = hit;
        self.observe(Place::Station { cell: absence.cell, station: absence.member }, Event::OutageBegan);
        self.tell_of_absence(node, number, false);
    }

    /// A host that goes by beacons hears them still while only its own frames are lost.
    fn tell_of_absence(&mut self, node: u32, number: u32, good: bool) {
        let is_up = self.scenario.absences[number as usize].direction == AbsenceDirection::Up;
        let hears_beacons = matches!(self.nodes[node as usize].link_news, LinkNews::Beacons { .. });
        if !(is_up && hears_beacons) {
            self.tell_node(node, Layer::Link, good);
        }
    }

    pub(super) fn end_absence(&mut self, number: u32) {
        let absence = &self.scenario.absences[number as usize];
        let cell = &mut self.cells[absence.cell];
        let station = &mut cell.stations[absence.member];
        let left = &mut station.absences[absence.direction as usize];
        *left -= 1;
        if *left == 0 {
            let member = absence.member as u32;
            match absence.direction {
                AbsenceDirection::Both => cell.medium.set_motion(member, station.motion, self.now),
                AbsenceDirection::Up => cell.medium.set_mute(member, false),
                AbsenceDirection::Down => cell.medium.set_deaf(member, false),
            }
        }
        let node = cell.stations[absence.member].node;
        let hit = std::mem::take(&mut self.absence_hit[number as usize]);
        self.note_outage_ended(&hit);
        self.absence_hit[number as usize] = hit;
        self.observe(Place::Station { cell: absence.cell, station: absence.member }, Event::OutageEnded);
        self.tell_of_absence(node, number, true);
        self.plan_next_absence(number);
    }

    /// The hop that a direction of routing belongs to, unless it is one of a link.
    fn hop(&self, direction: u32) -> Option<Hop> {
        let number = direction.checked_sub(self.links.len() as u32)?;
        self.hops.get(number as usize / 2).copied()
    }

    /// A packet for node `to` leaves node `here` by a direction into a medium.
    pub(super) fn send_by_air(&mut self, here: u32, direction: u32, to: u32, id: PacketId) {
        let medium = self.direction_to[direction as usize];
        let out = self.routes.next(medium, to).and_then(|out| self.hop(out));
        match (self.hop(direction), out) {
            (Some(hop), Some(out)) => self.send_on_air(hop.cell, hop.station, StationId(out.station), id),
            _ => self.drop_at_node(here, DropCause::NoAttachment, id),
        }
    }

    /// A station of a cell gets a packet for another one, or for all.
    pub(super) fn send_on_air(&mut self, cell: u32, from: u32, to: StationId, id: PacketId) {
        let station = &mut self.cells[cell as usize].stations[from as usize];
        let bytes = self.packets.get(id).bytes;
        let packet = wifi::Packet { handle: id.0, bytes };
        if station.dcf.send(packet, to, self.now).is_err() {
            self.packets.remove(id);
            self.observe_station_drop(cell, from, DropCause::QueueFull, bytes);
        }
        self.to_serve.push((cell, from));
    }

    /// An access point's beacon is due.
    pub(super) fn send_beacon(&mut self, cell: u32, station: u32) {
        let infrastructure = self.scenario.cells[cell as usize].infrastructure;
        let Some(policy) = infrastructure.and_then(|infrastructure| infrastructure.association) else {
            return;
        };
        let again = Appointment::StationBeacon { cell, station };
        self.agenda.add(self.now + policy.beacon_period, again);
        let dcf = &mut self.cells[cell as usize].stations[station as usize].dcf;
        dcf.send_beacon(BEACON_BYTES, self.now);
        self.to_serve.push((cell, station));
    }

    /// At the start every host belongs to the strongest access point in range, as if it had been there before.
    pub(super) fn join_strongest(&mut self) {
        for cell in 0..self.cells.len() {
            let Some(infrastructure) = self.scenario.cells[cell].infrastructure else { continue };
            if infrastructure.association.is_none() {
                continue;
            }
            let mut best: Vec<Option<(StationId, f64)>> = vec![None; self.cells[cell].stations.len()];
            let mut hearers = Vec::new();
            for access_point in 0..infrastructure.access_points as u32 {
                self.cells[cell].medium.receivers(access_point, &mut hearers, self.now);
                for (station, power_dbm) in &hearers {
                    let best = &mut best[*station as usize];
                    if best.is_none_or(|(_, power)| power < *power_dbm) {
                        *best = Some((StationId(access_point), *power_dbm));
                    }
                }
            }
            for (number, best) in best.into_iter().enumerate() {
                if let Some((from, power_dbm)) = best {
                    self.hear_beacon_of(cell, number as u32, from, power_dbm);
                }
            }
        }
    }

    fn hear_beacon_of(&mut self, cell: usize, number: u32, from: StationId, power_dbm: f64) {
        let now = self.now;
        let station = &mut self.cells[cell].stations[number as usize];
        let Some(association) = &mut station.association else { return };
        let change = association.handle_beacon(from, power_dbm, now);
        let node = station.node;
        self.watch_access_point(cell, number);
        if let Some(change) = change {
            self.handle_association(cell as u32, node, change);
        }
    }

    /// Sets the agenda to the moment at which a station would lose its access point, unless it looks there earlier.
    fn watch_access_point(&mut self, cell: usize, number: u32) {
        let station = &mut self.cells[cell].stations[number as usize];
        let deadline = station.association.as_ref().and_then(Association::poll_timeout);
        if let Some((at, _)) = deadline.filter(|(at, _)| *at < station.lost_at) {
            station.lost_at = at;
            self.agenda.add(at, Appointment::Association { cell: cell as u32, station: number });
            self.schedule_agenda();
        }
    }

    pub(super) fn notice_lost_access_point(&mut self, cell: u32, number: u32) {
        let now = self.now;
        let station = &mut self.cells[cell as usize].stations[number as usize];
        if station.lost_at != now {
            return;
        }
        station.lost_at = Instant::MAX;
        let change = station.association.as_mut().and_then(|association| association.handle_timeout(now));
        let node = station.node;
        self.watch_access_point(cell as usize, number);
        if let Some(change) = change {
            self.handle_association(cell, node, change);
        }
    }

    /// To whom a station sends what is for all; `None`: it belongs to no access point.
    pub(super) fn hearer_of_all(&self, cell: u32, number: u32) -> Option<StationId> {
        let association = &self.cells[cell as usize].stations[number as usize].association;
        association.as_ref().map_or(Some(StationId::BROADCAST), Association::access_point)
    }

    /// Whether a station takes what `from` says to all: with association only its own access point may speak so.
    fn heeds(&self, cell: usize, number: u32, from: StationId) -> bool {
        let association = &self.cells[cell].stations[number as usize].association;
        association.as_ref().is_none_or(|association| association.access_point() == Some(from))
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
        let id = OnAirId(component - state.first_frame);
        let next = state.medium.advance(id, &mut state.reports, self.now);
        self.hand_over_reports(cell);
        if next.is_none() {
            self.forget_for_all(cell, id);
        }
        next
    }

    /// A frame is over everywhere; if it was for all, so is its packet.
    fn forget_for_all(&mut self, cell: usize, id: OnAirId) {
        let for_all = &mut self.cells[cell].for_all;
        if let Some(place) = for_all.iter().position(|(on_air, _)| *on_air == id) {
            let (_, packet) = for_all.swap_remove(place);
            self.packets.remove(packet);
        }
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
            let station = &mut self.cells[cell].stations[report.station as usize];
            let dcf = &mut station.dcf;
            match report.what {
                What::Busy => dcf.handle_channel(true, self.now),
                What::Idle => dcf.handle_channel(false, self.now),
                What::Decoded { frame, power_w } => {
                    dcf.handle_frame(&frame, power_w, self.now);
                    let (node, hears_powers) = (station.node, station.hears_powers);
                    if station.judges_frames {
                        self.hear_frame(node, cell as u32, frame.from, power_w);
                    }
                    if hears_powers {
                        let power = SignalKind::ReceivedPower(dbm(power_w));
                        self.send_news(node, Some(power), Source::Link);
                    }
                }
                What::Corrupted => dcf.handle_corrupted(self.now),
                What::Transmitted => dcf.handle_transmitted(self.now),
            }
            self.serve(cell, report.station);
        }
        self.cells[cell].reports.clear();
    }

    /// What follows every input to a station: its frame, its events, its deadline.
    fn serve(&mut self, cell: usize, number: u32) {
        let CellState { medium, stations, first_frame, reports, for_all, .. } = &mut self.cells[cell];
        let station = &mut stations[number as usize];
        if let Some(transmission) = station.dcf.poll_transmit(self.now) {
            let (id, next) = medium.transmit(number, &transmission, reports, self.now);
            self.queue.push(next, Component(*first_frame + id.0));
            if let (StationId::BROADCAST, wifi::Body::Data { packet, .. }) =
                (transmission.frame.to, transmission.frame.body)
            {
                for_all.push((id, PacketId(packet.handle)));
            }
            if self.observes_frames {
                self.observe_frame(cell, number, transmission.frame);
            }
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
            wifi::Event::Received { packet, from, .. } => {
                self.receive(cell, number, PacketId(packet.handle), from);
            }
            // Its hearers have still to get it.
            wifi::Event::Delivered { to: StationId::BROADCAST, .. } => {}
            wifi::Event::AttemptFailed { .. } => self.send_news(node, event.signal(), Source::Mac),
            wifi::Event::Delivered { packet, to, .. } => {
                if self.has_base_stations {
                    self.note_delivered(node, self.node_of_station(cell, to));
                }
                self.packets.remove(PacketId(packet.handle));
                self.send_news(node, event.signal(), Source::Mac);
                self.note_reach_of(cell, node, to, true);
            }
            wifi::Event::Dropped { packet, to, cause, .. } => {
                if self.has_base_stations {
                    self.note_undelivered(node, self.node_of_station(cell, to), PacketId(packet.handle));
                }
                let lost = self.data_of(node, PacketId(packet.handle));
                self.report_unreachable(node, PacketId(packet.handle));
                self.packets.remove(PacketId(packet.handle));
                self.observe_station_drop(cell as u32, number, DropCause::RetryLimit, packet.bytes);
                self.send_news(node, event.signal(), Source::Mac);
                let given_up = cause == wifi::DropCause::RetryLimit;
                self.send_news(node, given_up.then_some(SignalKind::LinkLoss { lost }), Source::Mac);
                self.note_reach_of(cell, node, to, false);
            }
            wifi::Event::BeaconHeard { from, power_w } => {
                self.hear_beacon_of(cell, number, from, dbm(power_w));
            }
        }
    }

    fn observe_frame(&mut self, cell: usize, number: u32, frame: wifi::Frame) {
        let dcf = &self.cells[cell].stations[number as usize].dcf;
        let is_data = matches!(frame.body, wifi::Body::Data { .. });
        if frame.to != StationId::BROADCAST && (is_data || frame.body == wifi::Body::Rts) {
            let (tries, bytes) = (dcf.tries(), dcf.packet_bytes());
            let place = Place::Station { cell, station: number as usize };
            self.observe(place, Event::FrameOnAir { tries, bytes, is_data });
        }
    }

    /// The data that a packet carries, if a connection of `node` has sent it.
    fn data_of(&self, node: u32, id: PacketId) -> Option<LostData> {
        let packet = self.packets.get(id);
        let Content::Segment { segment, end } = packet.content else { return None };
        let connection = ConnectionId(self.ends[end as usize].peer);
        let is_ours = packet.from == node && segment.len > 0;
        is_ours.then_some(LostData { connection, seq: segment.seq, len: segment.len })
    }

    /// A scheme's order to the MAC of each station of its host.
    pub(super) fn command_macs(&mut self, node: u32, command: MacCommand) {
        let stations = self.cells.iter_mut().flat_map(|cell| &mut cell.stations);
        for station in stations.filter(|station| station.node == node) {
            match command {
                MacCommand::SetRetryLimits(limits) => station.dcf.set_retry_limits(limits),
                MacCommand::SetRateControl(control) => station.dcf.set_rate_control(control),
                MacCommand::ReduceRate { to_percent, floor_percent } => {
                    station.dcf.reduce_rate(to_percent, floor_percent);
                }
                MacCommand::RestoreDefaults => station.dcf.restore_defaults(),
                MacCommand::SetRtsThreshold(bytes) => station.dcf.set_rts_threshold(bytes),
            }
        }
        self.observe(Place::Node(node as usize), Event::CommandExecuted { command: command.name() });
    }

    /// The node of a station that a frame was for.
    fn node_of_station(&self, cell: usize, to: StationId) -> u32 {
        self.cells[cell].stations.get(to.0 as usize).map_or(EVERYBODY, |station| station.node)
    }

    /// The MAC of `node` has learned whether it reaches the station `to`.
    fn note_reach_of(&mut self, cell: usize, node: u32, to: StationId, up: bool) {
        if !self.roamers.is_empty()
            && let Some(station) = self.cells[cell].stations.get(to.0 as usize)
        {
            let host = station.node;
            self.note_reach(node, host, up);
        }
    }

    /// A station has received a packet; the sender keeps its own until it knows the fate of the frame.
    fn receive(&mut self, cell: usize, number: u32, id: PacketId, from: StationId) {
        let [node, sender] = [number, from.0].map(|s| self.cells[cell].stations[s as usize].node);
        self.note_reach(node, sender, true);
        let packet = self.packets.get(id);
        match packet.content {
            Content::Segment { segment, end }
                if self.ends[end as usize].node == node && packet.tunnel.is_none() =>
            {
                let (from, p_max) = (packet.from, packet.p_max);
                self.handle_segment(end, from, &segment, p_max);
            }
            _ if packet.to == EVERYBODY => {
                if self.heeds(cell, number, from) {
                    let copy = self.packets.copy(id);
                    self.deliver_packet(node, copy);
                }
            }
            _ => {
                let copy = self.packets.copy(id);
                if !self.has_base_stations || self.passes_station(node, sender, Towards::Fixed, copy) {
                    self.route(node, copy);
                }
            }
        }
    }

    /// Counts of all stations, cell by cell.
    pub(super) fn station_stats(&self) -> Vec<Vec<wifi::Stats>> {
        self.cells.iter().map(|cell| cell.stations.iter().map(|s| s.dcf.stats()).collect()).collect()
    }
}
