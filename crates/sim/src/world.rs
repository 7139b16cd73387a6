//! A run: connections, links and the order of their events.
//!
//! ## Events
//! Every link direction, every connection end and every scheme has at most one useful event in the queue; all that is
//! known beforehand (flow starts, outages, beacons, signals under way) stands in the agenda, which has one more. Timers
//! are lazy: a deadline that moves later leaves its event where it is, and an event that comes too early is moved.
//!
//! ## Plain path
//! A packet is a small record in a slab, named by its index. Forwarding, queueing and an ordinary TCP exchange allocate
//! nothing and call nothing through a vtable; schemes and observers cost one test where there are none.

mod agenda;
mod layers;
mod packets;
pub(crate) mod wifi;

use segue_proto::ip_state::IpState;
use segue_proto::link_state::{LinkStateDetector, Thresholds};
use segue_proto::rng::Streams;
use segue_proto::schemes::{Action, Scheme, none};
use segue_proto::tcp::{Config, Connection, ConnectionId, NoHooks, Segment, SeqNumber, State};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::{DropCause, Event};

use self::agenda::{Agenda, Appointment};
pub use self::packets::PacketId;
use self::packets::{Packet, Packets};
use self::wifi::{CellState, Hop};
use crate::event_queue::{Component, EventQueue};
use crate::link::{LinkDirection, Offer};
use crate::loss::LossProcess;
use crate::outage::OutageProcess;
use crate::results::{EndSummary, LinkSummary, Observer, Place, Results};
use crate::routing::{Exit, Routes};
use crate::scenario::check::check;
use crate::scenario::{LinkNews, NodeKind, Scenario};

/// One end of a flow.
#[derive(Debug)]
struct FlowEnd {
    connection: Connection,
    /// The host it lives on.
    node: u32,
    /// The other end.
    peer: u32,
    peer_node: u32,
    /// When its pending event comes; [`Instant::MAX`] if there is none.
    pending: Instant,
    opened: bool,
    /// When all data was acknowledged.
    finished: Option<Instant>,
    /// Nothing more is expected of the flow.
    done: bool,
    /// End of the last outage, if nothing has been sent since.
    outage_ended: Option<Instant>,
    /// Silence after outages, summed, and the longest.
    idle: Duration,
    longest_idle: Duration,
}

/// What a node does besides forwarding.
#[derive(Debug)]
struct NodeState {
    scheme: Option<Box<dyn Scheme>>,
    /// When the scheme's pending event comes.
    pending: Instant,
    link_state: LinkStateDetector,
    ip_state: IpState,
    link_news: LinkNews,
    mobile: bool,
    /// Outages of this node's links under way; they may overlap.
    links_down: u32,
    /// Outages of its registration under way.
    ip_down: u32,
}

/// A run in progress.
pub struct World<'a> {
    scenario: &'a Scenario,
    now: Instant,
    queue: EventQueue,
    links: Vec<LinkDirection>,
    /// Node at the far end of each direction that routing knows: links, then hops through the air.
    direction_to: Vec<u32>,
    routes: Routes,
    ends: Vec<FlowEnd>,
    nodes: Vec<NodeState>,
    packets: Packets,
    agenda: Agenda,
    agenda_pending: Instant,
    outages: Vec<OutageProcess>,
    cells: Vec<CellState>,
    /// Ways through the air, in the order of their directions.
    hops: Vec<Hop>,
    /// Stations that were given something to do in the present event.
    to_serve: Vec<(u32, u32)>,
    absences: Vec<OutageProcess>,
    /// As `hit`, for each absence.
    absence_hit: Vec<Vec<u32>>,
    /// For each outage, the sending ends of the flows that it hits.
    hit: Vec<Vec<u32>>,
    thrown_out: Vec<PacketId>,
    /// Flows that have still to finish; the run ends with the last, if all are of fixed size.
    unfinished: usize,
    observer: Option<&'a mut dyn Observer>,
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
            packets: Packets::default(),
            agenda: Agenda::default(),
            agenda_pending: Instant::MAX,
            outages: Vec::new(),
            cells: Vec::new(),
            hops: wifi::hops(scenario),
            to_serve: Vec::new(),
            absences: Vec::new(),
            absence_hit: Vec::new(),
            hit: Vec::new(),
            thrown_out: Vec::new(),
            unfinished: scenario.flows.len(),
            observer: None,
            progress: None,
            next_report: Instant::MAX,
        };
        world.add_links(streams);
        world.add_flows();
        let first = world.links.len() + world.ends.len() + world.nodes.len() + 1;
        world.add_cells(first as u32, streams);
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
                self.links.push(LinkDirection::new(
                    direction.rate,
                    direction.delay,
                    direction.queue_limit,
                    loss,
                    direction.loss_place,
                ));
                self.direction_to.push(to as u32);
            }
        }
        for hop in &self.hops {
            let member = self.scenario.cells[hop.cell as usize].members[hop.to as usize];
            self.direction_to.push(member.node as u32);
        }
    }

    fn add_flows(&mut self) {
        for (index, flow) in self.scenario.flows.iter().enumerate() {
            let number = 2 * index as u32;
            for side in 0..2 {
                let config = Config {
                    id: ConnectionId(number + side),
                    profile: flow.profile.clone(),
                    variant: flow.variant,
                    iss: SeqNumber(0),
                    auto_read: true,
                };
                let is_sender = side == 0;
                let (node, peer_node) = if is_sender { (flow.from, flow.to) } else { (flow.to, flow.from) };
                let mut connection =
                    if is_sender { Connection::connect(config) } else { Connection::listen(config) };
                if is_sender {
                    connection.write(flow.bytes.unwrap_or(u64::MAX >> 1));
                    if flow.profile.close && flow.bytes.is_some() {
                        connection.close();
                    }
                }
                self.ends.push(FlowEnd {
                    connection,
                    node: node as u32,
                    peer: number + 1 - side,
                    peer_node: peer_node as u32,
                    pending: Instant::MAX,
                    opened: !is_sender,
                    finished: None,
                    done: false,
                    outage_ended: None,
                    idle: Duration::ZERO,
                    longest_idle: Duration::ZERO,
                });
            }
            self.agenda.add(flow.start, Appointment::Open { flow: index as u32 });
        }
    }

    /// Hands every typed event to `observer`.
    #[must_use]
    pub fn observed(mut self, observer: &'a mut dyn Observer) -> Self {
        for end in &mut self.ends {
            end.connection.enable_trace();
        }
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
        let fixed_sizes = self.scenario.flows.iter().all(|flow| flow.bytes.is_some());
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
            } else {
                self.handle_wifi(number)
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
            self.packets.remove(id);
            self.observe_drop(direction, cause, bytes);
            return next;
        }
        let (to, bytes) = (packet.to, packet.bytes);
        self.links[direction as usize].count_arrival(bytes);
        let here = self.direction_to[direction as usize];
        if to == here {
            let Packet { segment, end, .. } = *self.packets.get(id);
            self.packets.remove(id);
            self.handle_segment(end, &segment);
        } else {
            self.forward(here, to, id, bytes);
        }
        next
    }

    fn forward(&mut self, here: u32, to: u32, id: PacketId, bytes: u32) {
        // The scenario was refused if any flow had no way; a packet only ever goes along a flow.
        let direction = self.routes.next(here, to).expect("every flow has a route");
        let Some(link) = self.links.get_mut(direction as usize) else {
            self.send_by_air(direction - self.links.len() as u32, id, bytes);
            return;
        };
        match link.offer(id, bytes, self.now) {
            Offer::Taken { first_arrival: Some(at) } => self.queue.push(at, Component(direction)),
            Offer::Taken { first_arrival: None } => {}
            Offer::Dropped(cause) => {
                self.packets.remove(id);
                self.observe_drop(direction, cause, bytes);
            }
        }
    }

    fn handle_segment(&mut self, end: u32, segment: &Segment) {
        let flow_end = &mut self.ends[end as usize];
        match &mut self.nodes[flow_end.node as usize].scheme {
            None => flow_end.connection.handle_segment(segment, self.now, &mut NoHooks),
            Some(scheme) => flow_end.connection.handle_segment(segment, self.now, scheme.as_mut()),
        }
        self.after(end);
    }

    fn handle_connection_timer(&mut self, end: u32) -> Option<Instant> {
        let flow_end = &mut self.ends[end as usize];
        if flow_end.pending != self.now {
            // A newer event has taken this one's place.
            return None;
        }
        flow_end.pending = Instant::MAX;
        let due = flow_end.connection.poll_timeout().is_some_and(|(at, _)| at <= self.now);
        if due {
            match &mut self.nodes[flow_end.node as usize].scheme {
                None => flow_end.connection.handle_timeout(self.now, &mut NoHooks),
                Some(scheme) => flow_end.connection.handle_timeout(self.now, scheme.as_mut()),
            }
            self.after(end);
        } else {
            self.schedule_connection(end);
        }
        None
    }

    fn handle_scheme_timer(&mut self, node: u32) -> Option<Instant> {
        let state = &mut self.nodes[node as usize];
        if state.pending != self.now {
            return None;
        }
        state.pending = Instant::MAX;
        if let Some(scheme) = &mut state.scheme {
            if scheme.poll_timeout().is_some_and(|(at, _)| at <= self.now) {
                scheme.handle_timeout(self.now);
            }
            self.carry_out_actions(node);
        }
        None
    }

    /// What follows every input to a connection: orders of its scheme, segments, timers, bookkeeping.
    fn after(&mut self, end: u32) {
        let node = self.ends[end as usize].node;
        self.transmit(end);
        if self.nodes[node as usize].scheme.is_some() {
            self.carry_out_actions(node);
        }
        self.note_progress(end & !1);
        if !end.is_multiple_of(2) && self.ends[end as usize].connection.receiver().at_end() {
            // The application on the far side closes when it has read everything.
            self.ends[end as usize].connection.close();
            self.transmit(end);
        }
        self.schedule_connection(end);
        if self.observer.is_some() {
            self.observe_connection(end);
        }
    }

    /// Notes when the data of the sending end is acknowledged, and when nothing more is to be expected of its flow: it
    /// is closed, or all is acknowledged and the peer has given up and will never close.
    fn note_progress(&mut self, sender: u32) {
        let peer_over = self.ends[sender as usize + 1].connection.end_reason().is_some();
        let flow_end = &mut self.ends[sender as usize];
        let connection = &flow_end.connection;
        if flow_end.done || !flow_end.opened {
            return;
        }
        let over = connection.end_reason().is_some();
        if flow_end.finished.is_none() && (connection.all_acknowledged() || over) {
            flow_end.finished = Some(self.now);
        }
        let closed =
            over || peer_over || connection.state() == State::TimeWait || !connection.profile().close;
        if flow_end.finished.is_some() && closed {
            flow_end.done = true;
            self.unfinished -= 1;
        }
    }

    fn transmit(&mut self, end: u32) {
        loop {
            let flow_end = &mut self.ends[end as usize];
            let segment = match &mut self.nodes[flow_end.node as usize].scheme {
                None => flow_end.connection.poll_transmit(self.now, &mut NoHooks),
                Some(scheme) => flow_end.connection.poll_transmit(self.now, scheme.as_mut()),
            };
            let Some(segment) = segment else { return };
            if segment.len > 0
                && let Some(ended) = flow_end.outage_ended.take()
            {
                let idle = self.now.since(ended);
                flow_end.idle = flow_end.idle + idle;
                flow_end.longest_idle = flow_end.longest_idle.max(idle);
            }
            let bytes = flow_end.connection.wire_bytes(&segment);
            let (here, to, peer) = (flow_end.node, flow_end.peer_node, flow_end.peer);
            let id = self.packets.insert(Packet { segment, to, end: peer, bytes });
            self.forward(here, to, id, bytes);
        }
    }

    fn schedule_connection(&mut self, end: u32) {
        let flow_end = &mut self.ends[end as usize];
        if let Some((at, _)) = flow_end.connection.poll_timeout()
            && at < flow_end.pending
        {
            // A deadline in the past is served at once.
            let at = at.max(self.now);
            flow_end.pending = at;
            self.queue.push(at, Component(self.links.len() as u32 + end));
        }
    }

    /// Carries out what the scheme on `node` orders, and sets its timer.
    fn carry_out_actions(&mut self, node: u32) {
        while let Some(Action::Tcp { connection, command }) =
            self.nodes[node as usize].scheme.as_mut().and_then(|scheme| scheme.poll_action())
        {
            let end = connection.0;
            self.ends[end as usize].connection.execute(command, self.now);
            self.transmit(end);
            self.schedule_connection(end);
            if self.observer.is_some() {
                self.observe_connection(end);
            }
        }
        let state = &mut self.nodes[node as usize];
        if let Some((at, _)) = state.scheme.as_ref().and_then(|scheme| scheme.poll_timeout())
            && at < state.pending
        {
            let at = at.max(self.now);
            state.pending = at;
            let first = (self.links.len() + self.ends.len()) as u32;
            self.queue.push(at, Component(first + node));
        }
    }

    fn schedule_agenda(&mut self) {
        if let Some(at) = self.agenda.next_time()
            && at < self.agenda_pending
        {
            self.agenda_pending = at;
            let number = self.links.len() + self.ends.len() + self.nodes.len();
            self.queue.push(at, Component(number as u32));
        }
    }

    fn handle_agenda(&mut self) -> Option<Instant> {
        if self.agenda_pending != self.now {
            return None;
        }
        while let Some(appointment) = self.agenda.take_due(self.now) {
            self.keep(appointment);
        }
        self.agenda_pending = self.agenda.next_time().unwrap_or(Instant::MAX);
        (self.agenda_pending != Instant::MAX).then_some(self.agenda_pending)
    }

    fn keep(&mut self, appointment: Appointment) {
        match appointment {
            Appointment::Open { flow } => {
                self.ends[2 * flow as usize].opened = true;
                self.after(2 * flow);
            }
            Appointment::OutageBegins { outage, until } => self.begin_outage(outage, until),
            Appointment::OutageEnds { outage } => self.end_outage(outage),
            Appointment::AbsenceBegins { absence, until } => self.begin_absence(absence, until),
            Appointment::AbsenceEnds { absence } => self.end_absence(absence),
            Appointment::Beacon { node } => self.hear_beacon(node),
            Appointment::Silence { node } => self.notice_silence(node),
            Appointment::Deliver { node, signal } => self.deliver(node, signal),
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

    fn observe_connection(&mut self, end: u32) {
        let connection = &mut self.ends[end as usize].connection;
        if let (Some(observer), true) = (&mut self.observer, connection.has_trace()) {
            for event in connection.drain_trace() {
                observer.observe(self.now, Place::End(end as usize), &event);
            }
        }
    }

    fn into_results(self) -> Results {
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
            })
            .collect::<Vec<_>>();
        let links = self.links.iter().map(|link| LinkSummary { counts: link.counts }).collect();
        Results::new(self.scenario, self.now, self.queue.insertions(), &ends, links, self.station_stats())
    }
}

fn exits(scenario: &Scenario) -> Vec<Vec<Exit>> {
    let mut exits = vec![Vec::new(); scenario.nodes.len()];
    for (index, link) in scenario.links.iter().enumerate() {
        let [a, b] = link.ends;
        let direction = 2 * index as u32;
        exits[a].push(Exit { to: b as u32, direction, cost: link.cost });
        exits[b].push(Exit { to: a as u32, direction: direction + 1, cost: link.cost });
    }
    let first = 2 * scenario.links.len();
    for (index, hop) in wifi::hops(scenario).iter().enumerate() {
        let node = |station: u32| scenario.cells[hop.cell as usize].members[station as usize].node;
        let direction = (first + index) as u32;
        exits[node(hop.from)].push(Exit { to: node(hop.to) as u32, direction, cost: 1 });
    }
    exits
}

/// Which nodes forward: routers do, hosts do not.
fn forwards(scenario: &Scenario) -> Vec<bool> {
    scenario.nodes.iter().map(|node| matches!(node.kind, NodeKind::Router)).collect()
}

/// Whether every flow of `scenario` has a way there and back: the index of the first that has not.
pub(crate) fn first_unreachable_flow(scenario: &Scenario) -> Option<usize> {
    let exits = exits(scenario);
    let forwards = forwards(scenario);
    let routes = Routes::new(&exits, &forwards);
    scenario.flows.iter().position(|flow| {
        let (from, to) = (flow.from as u32, flow.to as u32);
        !(routes.is_reachable(from, to, &exits, &forwards)
            && routes.is_reachable(to, from, &exits, &forwards))
    })
}

fn new_node(scenario: &Scenario, kind: &NodeKind) -> NodeState {
    let (mobile, link_news) = match kind {
        NodeKind::Host { mobile, link_news } => (*mobile, *link_news),
        NodeKind::Router => (false, LinkNews::AtOnce),
    };
    let silence_limit = match link_news {
        LinkNews::AtOnce => Duration::MAX,
        LinkNews::Beacons { period, missed, .. } => period * u64::from(missed),
    };
    // A beacon on a working link has full power; its threshold only matters where a radio gives the power.
    let thresholds = Thresholds { power_dbm: -64.0, hysteresis_db: 3.0, silence_limit };
    let choice = &scenario.scheme;
    let plain = choice.spec.name == none::SPEC.name;
    NodeState {
        scheme: (mobile && !plain).then(|| (choice.spec.build)(&choice.params)),
        pending: Instant::MAX,
        link_state: LinkStateDetector::new(thresholds, Instant::ZERO),
        ip_state: IpState::new(true),
        link_news,
        mobile,
        links_down: 0,
        ip_down: 0,
    }
}
