//! A run: connections, links and the order of their events.
//!
//! ## Events
//! Every link direction, connection end, scheme and source of datagrams has at most one useful event in the queue; all
//! that is known beforehand (flow starts, outages, beacons, signals under way) stands in the agenda, which has one more.
//! Timers are lazy: a deadline that moves later leaves its event where it is, and an event that comes too early is moved.
//!
//! ## Plain path
//! A packet is a small record in a slab, named by its index. Forwarding, queueing and an ordinary TCP exchange allocate
//! nothing and call nothing through a vtable; schemes and observers cost one test where there are none.

mod agenda;
mod base_stations;
pub(crate) mod datagrams;
mod flows;
mod layers;
mod mobile_ip;
mod movement;
mod packets;
mod roaming;
mod unreachable;
pub(crate) mod wifi;

use std::collections::BTreeMap;

use segue_proto::base_station::{BaseStation, Endpoint};
use segue_proto::ip_state::IpState;
use segue_proto::link_state::{LinkStateDetector, Thresholds};
use segue_proto::queue;
use segue_proto::rng::Streams;
use segue_proto::schemes::{Scheme, none};
use segue_proto::signal::SignalKind;
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::{DropCause, Event};

use self::agenda::{Agenda, Appointment};
use self::datagrams::SourceState;
use self::flows::FlowEnd;
use self::movement::Mover;
pub use self::packets::PacketId;
use self::packets::{Content, Control, Packets};
use self::roaming::{Roamer, wired_anchors};
use self::wifi::{CellState, Hop};
use crate::event_queue::{Component, EventQueue};
use crate::link::{LinkDirection, Offer};
use crate::loss::LossProcess;
use crate::outage::OutageProcess;
use crate::results::{EndSummary, LinkSummary, Observer, Place, Results};
use crate::routing::{Exit, Routes};
use crate::scenario::check::check;
use crate::scenario::{LinkNews, NodeKind, Scenario};

/// What a node does besides forwarding.
#[derive(Debug)]
struct NodeState {
    scheme: Option<Box<dyn Scheme>>,
    /// The scheme's part at this base station.
    base_station: Option<Box<dyn BaseStation>>,
    /// When the pending event of either comes.
    pending: Instant,
    /// What the scheme did here but to TCP: orders to MACs, segments taken, changed or made, messages.
    interventions: u64,
    link_state: LinkStateDetector,
    ip_state: IpState,
    link_news: LinkNews,
    mobile: bool,
    /// Whether it forwards for others.
    is_router: bool,
    /// Until when each sender gets no further report of unreachable packets from here.
    reported_until: BTreeMap<u32, Instant>,
    /// Outages of this node's links under way; they may overlap.
    links_down: u32,
    /// Outages of its registration under way.
    ip_down: u32,
}

impl NodeState {
    /// Whether its scheme hears the power of each frame.
    fn hears_powers(&self) -> bool {
        self.scheme.as_ref().is_some_and(|scheme| scheme.hears(&SignalKind::ReceivedPower(0.0)))
    }
}

/// A run in progress.
pub struct World<'a> {
    scenario: &'a Scenario,
    now: Instant,
    queue: EventQueue,
    links: Vec<LinkDirection>,
    /// What is at the far end of each direction that routing knows: links, then hops into and out of media.
    direction_to: Vec<u32>,
    routes: Routes,
    ends: Vec<FlowEnd>,
    nodes: Vec<NodeState>,
    /// Whether the scheme has a part at any base station.
    has_base_stations: bool,
    /// The ends by their names, own end first; empty if the scheme needs none.
    end_names: BTreeMap<(Endpoint, Endpoint), u32>,
    /// By node; empty if all nodes stay where they are.
    roamers: Vec<Roamer>,
    movers: Vec<Mover>,
    packets: Packets,
    agenda: Agenda,
    agenda_pending: Instant,
    outages: Vec<OutageProcess>,
    cells: Vec<CellState>,
    /// Who speaks to everybody in its cell, in the order of their directions.
    hops: Vec<Hop>,
    /// Stations that were given something to do in the present event.
    to_serve: Vec<(u32, u32)>,
    absences: Vec<OutageProcess>,
    sources: Vec<SourceState>,
    /// Component of the first of them.
    first_source: u32,
    /// As `hit`, for each absence.
    absence_hit: Vec<Vec<u32>>,
    /// For each outage, the sending ends of the flows that it hits.
    hit: Vec<Vec<u32>>,
    thrown_out: Vec<PacketId>,
    /// Flows that have still to finish; the run ends with the last, if all are of fixed size.
    unfinished: usize,
    observer: Option<&'a mut dyn Observer>,
    /// The observer hears of each frame.
    observes_frames: bool,
    progress: Option<&'a mut dyn FnMut(Instant)>,
    /// When `progress` is told next.
    next_report: Instant,
}

impl<'a> World<'a> {
    /// The world of `scenario` at time zero.
    ///
    /// # Panics
    /// If the scenario was built in code and breaks a rule of [`check`]; what is read
    /// from a file has passed it.
    pub fn new(scenario: &'a Scenario, seed: u64) -> Self {
        if let Err(broken) = check(scenario) {
            panic!("a scenario that breaks a rule: {broken}");
        }
        let streams = Streams::new(seed);
        let mut world = World {
            scenario,
            now: Instant::ZERO,
            queue: EventQueue::default(),
            links: Vec::with_capacity(scenario.links.len() * 2),
            direction_to: Vec::with_capacity(scenario.links.len() * 2),
            routes: Routes::new(&exits(scenario), &forwards(scenario)),
            ends: Vec::with_capacity(scenario.flows.len() * 2),
            nodes: scenario.nodes.iter().map(|node| new_node(scenario, &node.kind)).collect(),
            has_base_stations: false,
            end_names: BTreeMap::new(),
            roamers: Vec::new(),
            movers: Vec::new(),
            packets: Packets::default(),
            agenda: Agenda::default(),
            agenda_pending: Instant::MAX,
            outages: Vec::new(),
            cells: Vec::new(),
            hops: wifi::hops(scenario),
            to_serve: Vec::new(),
            absences: Vec::new(),
            sources: Vec::new(),
            first_source: 0,
            absence_hit: Vec::new(),
            hit: Vec::new(),
            thrown_out: Vec::new(),
            unfinished: scenario.flows.len(),
            observer: None,
            observes_frames: false,
            progress: None,
            next_report: Instant::MAX,
        };
        world.add_links(streams);
        // Before anything else happens at time zero.
        world.agenda.add(Instant::ZERO, Appointment::PowerOn);
        world.add_flows();
        world.add_base_stations();
        let first = world.links.len() + world.ends.len() + world.nodes.len() + 1;
        world.add_cells(first as u32, streams);
        world.add_movers(streams);
        world.add_roamers(streams);
        world.add_datagrams(first as u32 + wifi::components(scenario));
        world.add_outages(streams);
        world.add_absences(streams);
        world.add_beacons();
        world
    }

    fn add_links(&mut self, streams: Streams) {
        for link in &self.scenario.links {
            for (side, direction) in link.directions.iter().enumerate() {
                let [from, to] = if side == 0 { link.ends } else { [link.ends[1], link.ends[0]] };
                let name = |node: usize| &self.scenario.nodes[node].name;
                let stream = streams.stream(&format!("link {}->{}/loss", name(from), name(to)));
                let loss = LossProcess::new(direction.loss.clone(), stream);
                let stream = streams.stream(&format!("link {}->{}/queue", name(from), name(to)));
                let queue = direction.queue.build(queue::Place { rate: direction.rate, stream });
                self.links.push(LinkDirection::new(
                    direction.rate,
                    direction.delay,
                    queue,
                    loss,
                    direction.loss_place,
                ));
                self.direction_to.push(to as u32);
            }
        }
        for hop in &self.hops {
            let member = self.scenario.cells[hop.cell as usize].members[hop.station as usize];
            self.direction_to.extend([medium_node(self.scenario, hop.cell), member.node as u32]);
        }
    }

    /// Hands every typed event to `observer`.
    #[must_use]
    pub fn observed(mut self, observer: &'a mut dyn Observer) -> Self {
        for end in &mut self.ends {
            end.connection.enable_trace();
        }
        self.observes_frames = observer.wants_frames();
        self.observer = Some(observer);
        self
    }

    /// Tells `progress` the simulated time, some hundred times in the course of the run.
    #[must_use]
    pub fn with_progress(mut self, progress: &'a mut dyn FnMut(Instant)) -> Self {
        self.progress = Some(progress);
        self.next_report = Instant::ZERO;
        self
    }

    /// Runs to the end.
    pub fn run(mut self) -> Results {
        self.run_loop();
        self.into_results()
    }

    fn run_loop(&mut self) {
        let end = Instant::ZERO + self.scenario.duration;
        let flows = &self.scenario.flows;
        let fixed_sizes = !flows.is_empty() && flows.iter().all(|flow| flow.bytes.is_some());
        let links = self.links.len() as u32;
        let ends = self.ends.len() as u32;
        let nodes = self.nodes.len() as u32;
        let agenda = links + ends + nodes;
        self.schedule_agenda();
        while let Some((at, component)) = self.queue.peek().filter(|(at, _)| *at <= end) {
            self.now = at;
            if at >= self.next_report {
                self.report_progress();
            }
            let number = component.0;
            let again = if number < links {
                self.handle_arrival(number)
            } else if number < links + ends {
                self.handle_connection_timer(number - links)
            } else if number < links + ends + nodes {
                self.handle_scheme_timer(number - links - ends)
            } else if number == agenda {
                self.handle_agenda()
            } else if number < self.first_source {
                self.handle_wifi(number)
            } else {
                self.handle_source(number - self.first_source)
            };
            match again {
                Some(next) => self.queue.reschedule(next, component),
                None => self.queue.pop(),
            }
            if !self.to_serve.is_empty() {
                self.serve_stations();
            }
            if self.unfinished == 0 && fixed_sizes {
                return;
            }
        }
        self.now = end;
    }

    fn report_progress(&mut self) {
        self.next_report = self.now + self.scenario.duration / 500;
        if let Some(progress) = &mut self.progress {
            progress(self.now);
        }
    }

    /// A packet reaches the far end of a link direction. Gives the time of the next one.
    fn handle_arrival(&mut self, direction: u32) -> Option<Instant> {
        let (id, lost, next) = self.links[direction as usize].arrive(self.now)?;
        let packet = self.packets.get(id);
        if let Some(cause) = lost {
            let bytes = packet.bytes;
            if self.has_base_stations && cause == DropCause::Outage {
                self.note_undelivered(
                    self.direction_from(direction),
                    self.direction_to[direction as usize],
                    id,
                );
            }
            self.packets.remove(id);
            self.observe_drop(direction, cause, bytes);
            return next;
        }
        let (to, bytes, is_plain) = (packet.to, packet.bytes, packet.tunnel.is_none());
        self.links[direction as usize].count_arrival(bytes);
        let here = self.direction_to[direction as usize];
        if to == here && is_plain {
            self.deliver_packet(here, id);
        } else if !self.has_base_stations || self.passes_first_hop(direction, id) {
            self.send(here, to, id);
        }
        next
    }

    /// A packet has reached its destination.
    #[inline]
    fn deliver_packet(&mut self, here: u32, id: PacketId) {
        let packet = self.packets.get(id);
        if let Content::Segment { segment, end } = packet.content {
            if self.has_base_stations && self.ends[end as usize].node != here {
                return self.deliver_addressed(here, id);
            }
            let (from, p_max) = (packet.from, packet.p_max);
            self.packets.free(id);
            self.handle_segment(end, from, &segment, p_max);
        } else {
            self.deliver_other(here, id);
        }
    }

    /// A packet without a segment has reached its destination.
    #[inline(never)]
    fn deliver_other(&mut self, here: u32, id: PacketId) {
        let packet = self.packets.get(id);
        match packet.content {
            Content::Segment { .. } => {}
            Content::Datagram { source, number } => {
                self.packets.free(id);
                self.receive_datagram(source, number);
            }
            Content::Message { message, way } => {
                let from = packet.from;
                let message = self.packets.message(message).clone();
                self.packets.remove(id);
                match message {
                    Control::MobileIp(message) => self.handle_message(here, from, way, &message),
                    Control::Scheme(message) => self.handle_scheme_message(here, from, &message),
                    Control::Unreachable { end, quoted } => self.hear_unreachable(end, quoted),
                }
            }
        }
    }

    fn forward(&mut self, here: u32, to: u32, id: PacketId) {
        let Some(direction) = self.routes.next(here, to) else {
            // The scenario was refused if any flow had no way; an agent may know of a place that has none.
            return self.drop_at_node(here, DropCause::NoAttachment, id);
        };
        if self.has_base_stations && !self.passes_last_hop(here, direction, to, id) {
            return;
        }
        self.forward_by(here, direction, to, id);
    }

    /// A packet for node `to` leaves node `here` by `direction`.
    pub(super) fn forward_by(&mut self, here: u32, direction: u32, to: u32, id: PacketId) {
        let bytes = self.packets.get(id).bytes;
        let Some(link) = self.links.get_mut(direction as usize) else {
            return self.send_by_air(here, direction, to, id);
        };
        match link.offer(id, bytes, self.now) {
            Offer::Taken { first_arrival, drop_probability } => {
                if let Some(at) = first_arrival {
                    self.queue.push(at, Component(direction));
                }
                if drop_probability > 0.0 {
                    self.packets.get_mut(id).stamp(drop_probability);
                }
            }
            Offer::Dropped(cause) => {
                if cause == DropCause::Outage {
                    if self.has_base_stations {
                        self.note_undelivered(here, self.direction_to[direction as usize], id);
                    }
                    self.report_unreachable(here, id);
                }
                self.packets.remove(id);
                self.observe_drop(direction, cause, bytes);
            }
        }
    }

    fn schedule_agenda(&mut self) {
        if let Some(at) = self.agenda.next_time()
            && at < self.agenda_pending
        {
            self.agenda_pending = at;
            let number = self.links.len() + self.ends.len() + self.nodes.len();
            let component = Component(number as u32);
            if at > self.now {
                // What is known beforehand comes first: one more beacon in the agenda must not change the order of the
                // rest.
                self.queue.push_first(at, component);
            } else {
                self.queue.push(at, component);
            }
        }
    }

    fn handle_agenda(&mut self) -> Option<Instant> {
        if self.agenda_pending != self.now {
            return None;
        }
        while let Some(appointment) = self.agenda.take_due(self.now) {
            self.keep(appointment);
        }
        self.agenda_pending = Instant::MAX;
        self.schedule_agenda();
        None
    }

    fn keep(&mut self, appointment: Appointment) {
        match appointment {
            Appointment::PowerOn => {
                self.introduce_stations();
                self.join_strongest();
                self.note_first_cuts();
            }
            Appointment::Open { flow } => {
                self.open_flow(2 * flow);
            }
            Appointment::OutageBegins { outage, until } => self.begin_outage(outage, until),
            Appointment::OutageEnds { outage } => self.end_outage(outage),
            Appointment::AbsenceBegins { absence, until } => self.begin_absence(absence, until),
            Appointment::AbsenceEnds { absence } => self.end_absence(absence),
            Appointment::Beacon { node } => self.hear_beacon(node),
            Appointment::Silence { node } => self.notice_silence(node),
            Appointment::Deliver { node, signal } => self.deliver(node, signal),
            Appointment::StationBeacon { cell, station } => self.send_beacon(cell, station),
            Appointment::Association { cell, station } => self.notice_lost_access_point(cell, station),
            Appointment::Roles { node } => self.handle_roles(node),
            Appointment::Motion { mover } => self.change_motion(mover),
        }
    }

    fn observe(&mut self, place: Place, event: Event) {
        if let Some(observer) = &mut self.observer {
            observer.observe(self.now, place, &event);
        }
    }

    fn observe_drop(&mut self, direction: u32, cause: DropCause, bytes: u32) {
        self.observe(Place::Link(direction as usize), Event::PacketDropped { cause, bytes });
    }

    fn into_results(mut self) -> Results {
        for end in self.ends.iter_mut().filter(|end| end.finished.is_none()) {
            // Who is silent to the end of the run has been so until then.
            end.end_silence(self.now);
        }
        let mobility = self.mobility_summaries();
        let ends = self
            .ends
            .iter()
            .map(|end| EndSummary {
                finished: end.finished,
                acknowledged: end.connection.acknowledged(),
                delivered: end.connection.receiver().delivered(),
                stats: end.connection.stats(),
                state: end.connection.state(),
                end: end.connection.end_reason(),
                idle: end.idle,
                longest_idle: end.longest_idle,
                restorations: end.restorations,
                sent_into_outage: end.sent_into_outage,
            })
            .collect::<Vec<_>>();
        let links = self.links.iter().map(|link| LinkSummary { counts: link.counts }).collect();
        let results = Results::new(
            self.scenario,
            self.now,
            self.queue.insertions(),
            &ends,
            links,
            self.station_stats(),
            mobility,
        );
        let node_interventions = self.nodes.iter().map(|node| node.interventions).collect();
        Results { datagrams: self.datagram_summaries(), node_interventions, ..results }
    }
}

/// The medium of a cell without access points is a node for routing, numbered after the others: everybody in the cell is
/// one hop from it, and nobody needs a way to each of the others.
fn medium_node(scenario: &Scenario, cell: u32) -> u32 {
    scenario.nodes.len() as u32 + cell
}

/// The directions that leave each node, in ascending order.
fn exits(scenario: &Scenario) -> Vec<Vec<Exit>> {
    let mut exits = vec![Vec::new(); scenario.nodes.len() + scenario.cells.len()];
    for (index, link) in scenario.links.iter().enumerate() {
        let [a, b] = link.ends;
        let direction = 2 * index as u32;
        exits[a].push(Exit { to: b as u32, direction, cost: link.cost });
        exits[b].push(Exit { to: a as u32, direction: direction + 1, cost: link.cost });
    }
    let first = 2 * scenario.links.len();
    for (index, hop) in wifi::hops(scenario).iter().enumerate() {
        let node = scenario.cells[hop.cell as usize].members[hop.station as usize].node;
        let medium = medium_node(scenario, hop.cell);
        let direction = (first + 2 * index) as u32;
        exits[node].push(Exit { to: medium, direction, cost: 1 });
        exits[medium as usize].push(Exit { to: node as u32, direction: direction + 1, cost: 0 });
    }
    exits
}

/// Which nodes forward: routers and media do, hosts do not.
fn forwards(scenario: &Scenario) -> Vec<bool> {
    let nodes = scenario.nodes.iter().map(|node| matches!(node.kind, NodeKind::Router));
    nodes.chain(scenario.cells.iter().map(|_| true)).collect()
}

/// Whether every flow of `scenario` has a way there and back: the index of the first that has not.
pub(crate) fn first_unreachable_flow(scenario: &Scenario) -> Option<usize> {
    let exits = exits(scenario);
    let forwards = forwards(scenario);
    let routes = Routes::new(&exits, &forwards);
    let anchors = wired_anchors(scenario);
    scenario.flows.iter().position(|flow| {
        let [from, to] = [flow.from, flow.to].map(|node| anchors[node]);
        !(routes.is_reachable(from, to, &exits, &forwards)
            && routes.is_reachable(to, from, &exits, &forwards))
    })
}

/// What the packets of a flow go through there and back, as far as that stays the same.
#[derive(Debug, Default)]
pub(crate) struct Way {
    /// Links, by index.
    pub(crate) links: Vec<usize>,
    /// Stations, by cell and number.
    pub(crate) stations: Vec<(usize, usize)>,
}

/// The way of flow number `flow`.
pub(crate) fn way_of(scenario: &Scenario, flow: usize) -> Way {
    let exits = exits(scenario);
    let routes = Routes::new(&exits, &forwards(scenario));
    let hops = wifi::hops(scenario);
    let flow = &scenario.flows[flow];
    let anchors = wired_anchors(scenario);
    let [from, to] = [flow.from, flow.to].map(|node| anchors[node]);
    let mut way = Way::default();
    for (mut at, to) in [(from, to), (to, from)] {
        while at != to {
            let Some(direction) = routes.next(at, to) else { break };
            let Some(exit) = exits[at as usize].iter().find(|exit| exit.direction == direction) else {
                break;
            };
            match (direction as usize).checked_sub(2 * scenario.links.len()) {
                // A station has two directions: into the medium, and out of it.
                Some(hop) => {
                    let Hop { cell, station } = hops[hop / 2];
                    way.stations.push((cell as usize, station as usize));
                }
                None => way.links.push(direction as usize / 2),
            }
            at = exit.to;
        }
    }
    way
}

fn thresholds(silence_limit: Duration) -> Thresholds {
    Thresholds { power_dbm: -64.0, hysteresis_db: 3.0, silence_limit }
}

fn new_node(scenario: &Scenario, kind: &NodeKind) -> NodeState {
    let (mobile, link_news) = match kind {
        NodeKind::Host { mobile, link_news } => (*mobile, *link_news),
        NodeKind::Router => (false, LinkNews::AtOnce),
    };
    let thresholds = match link_news {
        LinkNews::Radio(thresholds) => thresholds,
        // A beacon on a working link has full power; a threshold only matters where a radio gives the power.
        LinkNews::AtOnce => thresholds(Duration::MAX),
        LinkNews::Beacons { period, missed, .. } => thresholds(period * u64::from(missed)),
    };
    let choice = &scenario.scheme;
    let part = match kind {
        // The trace is the same with it, and the run faster without.
        _ if choice.spec.name == none::SPEC.name => None,
        NodeKind::Router => None,
        NodeKind::Host { mobile: true, .. } => choice.spec.mobile,
        NodeKind::Host { mobile: false, .. } => choice.spec.fixed,
    };
    NodeState {
        scheme: part.map(|build| build(&choice.params)),
        base_station: None,
        pending: Instant::MAX,
        interventions: 0,
        link_state: LinkStateDetector::new(thresholds, Instant::ZERO),
        ip_state: IpState::new(true),
        link_news,
        mobile,
        is_router: matches!(kind, NodeKind::Router),
        reported_until: BTreeMap::new(),
        links_down: 0,
        ip_down: 0,
    }
}
