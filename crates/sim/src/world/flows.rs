//! The flows of a run: connections, what they send, their timers, and what their scheme orders.

use segue_proto::schemes::{Action, Peer};
use segue_proto::signal::{Scope, Signal, SignalKind, Source};
use segue_proto::tcp::{Config, Connection, ConnectionId, NoHooks, Segment, SeqNumber, State};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::{DropCause, Event};

use super::World;
use super::agenda::Appointment;
use super::packets::{Content, Packet};
use crate::event_queue::Component;
use crate::results::Place;
use crate::scenario::mobile_ip::node_of;

/// With whom the socket of an end is connected ([`Peer`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Socket {
    OtherEnd,
    /// A router's node.
    Router(u32),
    Nobody,
}

/// One end of a flow.
#[derive(Debug)]
pub(super) struct FlowEnd {
    pub(super) connection: Connection,
    /// The host it lives on.
    pub(super) node: u32,
    /// The other end.
    pub(super) peer: u32,
    pub(super) peer_node: u32,
    /// With whom its socket is connected.
    pub(super) socket: Socket,
    /// Plain TCP, whatever scheme its host carries.
    pub(super) plain: bool,
    /// When its pending event comes; [`Instant::MAX`] if there is none.
    pub(super) pending: Instant,
    pub(super) opened: bool,
    /// When all data was delivered and acknowledged.
    pub(super) finished: Option<Instant>,
    /// Nothing more is expected of the flow.
    pub(super) done: bool,
    /// End of the last outage, if nothing has been sent since.
    pub(super) outage_ended: Option<Instant>,
    /// Silence after outages, summed, and the longest.
    pub(super) idle: Duration,
    pub(super) longest_idle: Duration,
    /// How many silences that were.
    pub(super) restorations: u64,
    /// Outages of its way there or back under way; they may overlap.
    pub(super) cuts: u32,
    /// Segments sent again during one.
    pub(super) sent_into_outage: u64,
}

impl FlowEnd {
    /// The silence after the last outage is over.
    pub(super) fn end_silence(&mut self, now: Instant) {
        let Some(ended) = self.outage_ended.take() else { return };
        let idle = now.since(ended);
        self.idle = self.idle + idle;
        self.longest_idle = self.longest_idle.max(idle);
        self.restorations += 1;
    }
}

impl World<'_> {
    pub(super) fn add_flows(&mut self) {
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
                    socket: Socket::OtherEnd,
                    plain: flow.plain,
                    pending: Instant::MAX,
                    opened: !is_sender,
                    finished: None,
                    done: false,
                    outage_ended: None,
                    idle: Duration::ZERO,
                    longest_idle: Duration::ZERO,
                    restorations: 0,
                    cuts: 0,
                    sent_into_outage: 0,
                });
            }
            self.agenda.add(flow.start, Appointment::Open { flow: index as u32 });
        }
    }

    /// A segment arrives from node `from`; no queue on its way was more likely to drop it than with `p_max`.
    pub(super) fn handle_segment(&mut self, end: u32, from: u32, segment: &Segment, p_max: f32) {
        let node = self.ends[end as usize].node;
        if self.nodes[node as usize].scheme.is_some() && !self.ends[end as usize].plain {
            if !self.is_of_peer(end, from) {
                let bytes = self.ends[end as usize].connection.wire_bytes(segment);
                let event = Event::PacketDropped { cause: DropCause::NoSocket, bytes };
                return self.observe(Place::Node(node as usize), event);
            }
            self.tell_drop_probability(end, p_max);
        }
        let flow_end = &mut self.ends[end as usize];
        match &mut self.nodes[node as usize].scheme {
            Some(scheme) if !flow_end.plain => {
                flow_end.connection.handle_segment(segment, self.now, scheme.as_mut());
            }
            _ => flow_end.connection.handle_segment(segment, self.now, &mut NoHooks),
        }
        self.after(end);
    }

    /// Whether the socket of `end` takes what comes from node `from`.
    fn is_of_peer(&self, end: u32, from: u32) -> bool {
        match self.ends[end as usize].socket {
            Socket::OtherEnd => true,
            Socket::Router(router) => from == router,
            Socket::Nobody => false,
        }
    }

    /// The application of an end connects.
    pub(super) fn open_flow(&mut self, end: u32) {
        let flow_end = &mut self.ends[end as usize];
        flow_end.opened = true;
        let node = flow_end.node;
        if let (Some(scheme), false) = (&mut self.nodes[node as usize].scheme, flow_end.plain) {
            scheme.handle_connect(ConnectionId(end), self.now);
            self.carry_out_actions(node);
        }
        self.after(end);
    }

    /// The scheme of a connection hears what the segment that is about to be handled has collected on its way. The number
    /// comes with the segment, so that no delay of news applies to it.
    fn tell_drop_probability(&mut self, end: u32, p_max: f32) {
        let node = self.ends[end as usize].node;
        let Some(scheme) = &mut self.nodes[node as usize].scheme else { return };
        let kind = SignalKind::DropProbability(f64::from(p_max));
        if !scheme.hears(&kind) {
            return;
        }
        let scope = Scope::Flow(end);
        let signal = Signal { kind, scope, source: Source::Queue, origin: self.now, delivered: self.now };
        scheme.handle_signal(&signal, self.now);
        self.observe(Place::Node(node as usize), Event::SignalHeard(signal));
    }

    pub(super) fn handle_connection_timer(&mut self, end: u32) -> Option<Instant> {
        let flow_end = &mut self.ends[end as usize];
        if flow_end.pending != self.now {
            // A newer event has taken this one's place.
            return None;
        }
        flow_end.pending = Instant::MAX;
        let due = flow_end.connection.poll_timeout().is_some_and(|(at, _)| at <= self.now);
        if due {
            match &mut self.nodes[flow_end.node as usize].scheme {
                Some(scheme) if !flow_end.plain => {
                    flow_end.connection.handle_timeout(self.now, scheme.as_mut());
                }
                _ => flow_end.connection.handle_timeout(self.now, &mut NoHooks),
            }
            self.after(end);
        } else {
            self.schedule_connection(end);
        }
        None
    }

    pub(super) fn handle_scheme_timer(&mut self, node: u32) -> Option<Instant> {
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
        self.wake_base_station(node);
        None
    }

    /// What follows every input to a connection: orders of its scheme, segments, timers, bookkeeping.
    pub(super) fn after(&mut self, end: u32) {
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

    /// Notes when the data of the sending end is delivered and acknowledged, and when nothing more is to be expected of its flow: it
    /// is closed, or all is acknowledged and the peer has given up and will never close.
    pub(super) fn note_progress(&mut self, sender: u32) {
        let peer = &self.ends[sender as usize + 1].connection;
        let (peer_over, arrived) = (peer.end_reason().is_some(), peer.receiver().delivered());
        let flow_end = &mut self.ends[sender as usize];
        let connection = &flow_end.connection;
        if flow_end.done || !flow_end.opened {
            return;
        }
        let over = connection.end_reason().is_some();
        // Where a base station acknowledges for the peer, the data has still to arrive.
        let complete = connection.all_acknowledged() && connection.acknowledged() <= arrived;
        if flow_end.finished.is_none() && (complete || over) {
            flow_end.finished = Some(self.now);
        }
        let closed =
            over || peer_over || connection.state() == State::TimeWait || !connection.profile().close;
        if flow_end.finished.is_some() && closed {
            flow_end.done = true;
            self.unfinished -= 1;
        }
    }

    pub(super) fn transmit(&mut self, end: u32) {
        loop {
            let flow_end = &mut self.ends[end as usize];
            let to = match flow_end.socket {
                Socket::OtherEnd => flow_end.peer_node,
                Socket::Router(router) => router,
                Socket::Nobody => return,
            };
            let retransmissions = flow_end.connection.stats().retransmissions;
            let segment = match &mut self.nodes[flow_end.node as usize].scheme {
                Some(scheme) if !flow_end.plain => {
                    flow_end.connection.poll_transmit(self.now, scheme.as_mut())
                }
                _ => flow_end.connection.poll_transmit(self.now, &mut NoHooks),
            };
            let Some(segment) = segment else { return };
            if segment.len > 0 {
                flow_end.end_silence(self.now);
                if flow_end.cuts > 0 {
                    let again = flow_end.connection.stats().retransmissions - retransmissions;
                    flow_end.sent_into_outage += again;
                }
            }
            let bytes = flow_end.connection.wire_bytes(&segment);
            let (here, peer) = (flow_end.node, flow_end.peer);
            let content = Content::Segment { segment, end: peer };
            let id = self.packets.insert(Packet { content, from: here, to, bytes, tunnel: None, p_max: 0.0 });
            self.send(here, to, id);
        }
    }

    pub(super) fn schedule_connection(&mut self, end: u32) {
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
    pub(super) fn carry_out_actions(&mut self, node: u32) {
        while let Some(action) =
            self.nodes[node as usize].scheme.as_mut().and_then(|scheme| scheme.poll_action())
        {
            let (connection, command) = match action {
                // The connection counts what it obeys.
                Action::Tcp { connection, command } => (connection, command),
                Action::Mac(command) => {
                    self.nodes[node as usize].interventions += 1;
                    self.command_macs(node, command);
                    continue;
                }
                Action::Send { to, message } => {
                    self.nodes[node as usize].interventions += 1;
                    self.send_scheme_message(node, to, message);
                    continue;
                }
                Action::Bind { host, care_of } => {
                    self.learn_binding(node, host, care_of);
                    continue;
                }
                Action::SetPeer { connection, peer } => {
                    self.connect_socket(connection.0, peer);
                    continue;
                }
            };
            let end = connection.0;
            self.ends[end as usize].connection.execute(command, self.now);
            self.transmit(end);
            self.note_progress(end & !1);
            self.schedule_connection(end);
            if self.observer.is_some() {
                self.observe_connection(end);
            }
        }
        let deadline = self.nodes[node as usize].scheme.as_ref().and_then(|scheme| scheme.poll_timeout());
        self.schedule_parts(node, deadline);
    }

    /// The socket of an end has another peer; what waited for one leaves.
    fn connect_socket(&mut self, end: u32, peer: Peer) {
        self.ends[end as usize].socket = match peer {
            Peer::OtherEnd => Socket::OtherEnd,
            Peer::Nobody => Socket::Nobody,
            Peer::Router(router) => match node_of(router).filter(|node| *node < self.nodes.len()) {
                Some(node) => Socket::Router(node as u32),
                None => Socket::Nobody,
            },
        };
        if self.ends[end as usize].opened {
            self.transmit(end);
            self.schedule_connection(end);
        }
    }

    /// Sets the event of a node's parts of the scheme, unless it comes earlier.
    pub(super) fn schedule_parts(&mut self, node: u32, deadline: Option<(Instant, &'static str)>) {
        let state = &mut self.nodes[node as usize];
        if let Some((at, _)) = deadline.filter(|(at, _)| *at < state.pending) {
            let at = at.max(self.now);
            state.pending = at;
            let first = (self.links.len() + self.ends.len()) as u32;
            self.queue.push(at, Component(first + node));
        }
    }

    pub(super) fn observe_connection(&mut self, end: u32) {
        let connection = &mut self.ends[end as usize].connection;
        if let (Some(observer), true) = (&mut self.observer, connection.has_trace()) {
            for event in connection.drain_trace() {
                observer.observe(self.now, Place::End(end as usize), &event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use segue_proto::schemes::Scheme;
    use segue_proto::tcp::Hooks;

    use super::*;
    use crate::scenario::Scenario;

    /// Notes the drop probabilities that come with segments.
    #[derive(Debug)]
    struct Listener(Arc<Mutex<Vec<Signal>>>);

    impl Hooks for Listener {}

    impl Scheme for Listener {
        fn handle_signal(&mut self, signal: &Signal, _now: Instant) {
            self.0.lock().unwrap().push(*signal);
        }

        fn poll_action(&mut self) -> Option<Action> {
            None
        }

        fn hears(&self, kind: &SignalKind) -> bool {
            matches!(kind, SignalKind::DropProbability(_))
        }
    }

    /// With a weight of 1 and no memory RED's probability depends on the queue alone, and a queue of two has room for
    /// nobody who finds other than none or one packet waiting: `for_one` is what such a one meets.
    fn heard(first: &str, second: &str) -> Vec<Signal> {
        let queue = |thresholds: &str| {
            format!(
                "{{ discipline = \"red\", limit = 2, weight = 1, spacing = \"geometric\", max_p = 1, {thresholds} }}"
            )
        };
        let text = format!(
            "duration = \"600 s\"\n\
             tcp = {{ profile = \"ns-2.35\", window = 20 }}\n\
             hosts = {{ a = {{}}, b = {{ mobile = true }} }}\n\
             routers = {{ m = {{}} }}\n\
             links = [\n\
             {{ between = [\"a\", \"m\"], rate = \"1.4 Mb/s\", delay = \"10 ms\", queue = {} }},\n\
             {{ between = [\"m\", \"b\"], rate = \"1 Mb/s\", delay = \"10 ms\", queue = {} }}]\n\
             flows = [{}]",
            queue(first),
            queue(second),
            "{ from = \"a\", to = \"b\" },".repeat(6)
        );
        let scenario = Scenario::from_toml("queues.toml", &text).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut world = World::new(&scenario, 1);
        let b = scenario.nodes.iter().position(|node| node.name == "b").unwrap();
        world.nodes[b].scheme = Some(Box::new(Listener(heard.clone())));
        let _results = world.run();
        heard.lock().unwrap().clone()
    }

    /// (1 − min)/(max − min) is the probability for who finds one packet waiting.
    const FIFTH: &str = "min_threshold = 0.8, max_threshold = 1.8";
    const FOUR_FIFTHS: &str = "min_threshold = 0.2, max_threshold = 1.2";

    #[test]
    fn the_higher_of_two_drop_probabilities_arrives_with_the_segment() {
        for (first, second) in [(FIFTH, FOUR_FIFTHS), (FOUR_FIFTHS, FIFTH)] {
            let heard = heard(first, second);
            let values: Vec<f64> = heard
                .iter()
                .map(|signal| match signal.kind {
                    SignalKind::DropProbability(p) => p,
                    other => panic!("{other:?}"),
                })
                .collect();
            let count = |p: f64| values.iter().filter(|value| (**value - p).abs() < 1e-6).count();
            assert!(count(0.8) > 5 && count(0.2) > 5, "0.8 {}, 0.2 {}", count(0.8), count(0.2));
            assert_eq!(count(0.0) + count(0.2) + count(0.8), values.len());
            assert!(heard.iter().all(|s| matches!(s.scope, Scope::Flow(end) if end % 2 == 1) && s.source == Source::Queue));
        }
    }
}
