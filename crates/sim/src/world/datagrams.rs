//! Datagram sources in the world: packets at a constant bit rate, counted where they arrive.
//!
//! Each source has one event, its next packet. Nothing is acknowledged and nothing is sent again.

use segue_proto::time::{Duration, Instant};

use super::packets::{Content, Packet};
use super::{World, exits, forwards, wired_anchors};
use crate::event_queue::Component;
use crate::results::DatagramSummary;
use crate::routing::Routes;
use crate::scenario::{DatagramSource, Scenario};

/// A source at work.
#[derive(Debug, Default)]
pub(super) struct SourceState {
    sent: u64,
    received: u64,
    /// Of those received, summed.
    delay_ns: u128,
}

impl World<'_> {
    /// Plans the first packet of each source; their components begin at `first`.
    pub(super) fn add_datagrams(&mut self, first: u32) {
        self.first_source = first;
        for (index, source) in self.scenario.datagrams.iter().enumerate() {
            self.sources.push(SourceState::default());
            self.queue.push(source.start, Component(first + index as u32));
        }
    }

    /// The next packet of a source. Gives when the one after it is due.
    pub(super) fn handle_source(&mut self, index: u32) -> Option<Instant> {
        let source = &self.scenario.datagrams[index as usize];
        let state = &mut self.sources[index as usize];
        let content = Content::Datagram { source: index, number: state.sent };
        state.sent += 1;
        let next = source.due(state.sent).filter(|at| source.stop.is_none_or(|stop| *at < stop));
        let (here, to, bytes) = (source.from as u32, source.to as u32, source.packet_bytes());
        let id = self.packets.insert(Packet { content, from: here, to, bytes, tunnel: None, p_max: 0.0 });
        self.route(here, id);
        next
    }

    /// Packet `number` of a source has arrived.
    pub(super) fn receive_datagram(&mut self, index: u32, number: u64) {
        let sent = self.scenario.datagrams[index as usize].due(number);
        let state = &mut self.sources[index as usize];
        state.received += 1;
        let delay = sent.map_or(Duration::ZERO, |sent| self.now.since(sent));
        state.delay_ns += u128::from(delay.as_nanos());
    }

    /// What is known of the sources when the run is over.
    pub(super) fn datagram_summaries(&self) -> Vec<DatagramSummary> {
        let summary = |(source, state): (&DatagramSource, &SourceState)| DatagramSummary {
            name: source.name.clone(),
            from: self.scenario.nodes[source.from].name.clone(),
            to: self.scenario.nodes[source.to].name.clone(),
            start: source.start,
            sent: state.sent,
            received: state.received,
            received_bytes: state.received * u64::from(source.bytes),
            mean_delay: (state.received > 0)
                .then(|| Duration::from_nanos((state.delay_ns / u128::from(state.received)) as u64)),
            goodput_bps: source.goodput_bps(state.received, self.now),
        };
        self.scenario.datagrams.iter().zip(&self.sources).map(summary).collect()
    }
}

/// The first source whose packets have no way to their receiver.
pub(crate) fn first_unreachable_source(scenario: &Scenario) -> Option<usize> {
    let exits = exits(scenario);
    let forwards = forwards(scenario);
    let routes = Routes::new(&exits, &forwards);
    let anchors = wired_anchors(scenario);
    let is_reachable = |source: &DatagramSource| {
        let [from, to] = [source.from, source.to].map(|node| anchors[node]);
        routes.is_reachable(from, to, &exits, &forwards)
    };
    scenario.datagrams.iter().position(|source| !is_reachable(source))
}
