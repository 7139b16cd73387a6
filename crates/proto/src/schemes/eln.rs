//! Explicit Loss Notification: the base station tells a mobile sender which losses were the radio's.
//!
//! ## What it does
//! The base station keeps a list of the holes in the sequence space of what it hears from a mobile sender: these segments
//! were lost on the first hop, not by congestion. An ACK on its way to the mobile host whose number lies in such a hole is
//! marked. The sender sends the segment again at once, at most once in a round-trip time, and leaves `cwnd` alone.
//!
//! ## Signals it reads
//! None. The mark is [`Experimental::RadioLoss`]; the original takes a reserved bit of the TCP header.
//!
//! ## What it changes in TCP
//! The reaction to duplicate ACKs: for a loss that was marked no recovery starts, whether two, three or more of them come.
//! Timeouts are those of any TCP, with their cut.
//!
//! ## Where it runs
//! On the mobile host as sender, and at its base station. The original is made for data that the mobile host sends; for
//! the other direction its authors have [`snoop`](super::snoop).
//!
//! ## Parameters
//! None.
//!
//! ## Differences from the paper
//! * The base station of the paper takes no hole down while its input queue is nearly full, since it may have lost the
//!   segment itself. Ours loses nothing between radio and routing. What the mobile host's own queue refuses looks like a
//!   loss of the radio to it.
//! * The mark is an option, 4 bytes more on the air. It is set on every ACK into a hole, not on duplicates only, so that
//!   of several losses in a window each is repaired one round-trip time after the other without waiting for duplicates.
//! * A hole is kept until it is acknowledged, as in the paper; a repetition that is lost by congestion behind the base
//!   station is taken for another loss of the radio.
//! * After a handover the new station knows no holes: losses at the old one cut the window.
//!
//! ## References
//! H. Balakrishnan, R. Katz: Explicit Loss Notification and Wireless Web Performance, IEEE GLOBECOM Global Internet
//! Mini-Conference 1998.

use std::collections::{BTreeMap, VecDeque};

use super::{Action, Helps, Scheme, Spec};
use crate::base_station::{BaseStation, Fate, Flow, Output, StationEvent, Towards};
use crate::signal::{Signal, SignalKind};
use crate::tcp::{
    Command, Connection, ConnectionId, Experimental, Flags, Hooks, Loss, Options, Segment, SeqNumber, State,
    Verdict,
};
use crate::time::Instant;

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "eln",
    summary: "a base station marks ACKs of what the radio lost, and the mobile sender repairs it without a cut",
    params: &[],
    helps: Helps::UPLOADS,
    mobile: Some(|_| Box::new(Sender::default())),
    fixed: None,
    base_station: Some(|_| Box::new(Station::default())),
};

/// Holes that a station remembers of one connection; no window has more.
const MAX_HOLES: usize = 1024;

/// The part at a base station.
#[derive(Debug, Default)]
pub struct Station {
    flows: BTreeMap<Flow, Heard>,
}

/// What a station has heard of one mobile sender.
#[derive(Debug)]
struct Heard {
    /// The number after the last that was heard.
    next: SeqNumber,
    /// What was skipped, ascending: first number missing, and the one after the last.
    holes: VecDeque<(SeqNumber, SeqNumber)>,
}

impl Station {
    /// The mobile host has sent `segment`.
    fn note_data(&mut self, flow: Flow, segment: &Segment) {
        let end = segment.seq.add(segment.sequence_length());
        if segment.flags.contains(Flags::RST) {
            self.flows.remove(&flow);
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            self.flows.insert(flow, Heard { next: end, holes: VecDeque::new() });
            return;
        }
        if segment.sequence_length() == 0 {
            return;
        }
        // Whoever comes from another station is known from its first segment here on.
        let heard =
            self.flows.entry(flow).or_insert_with(|| Heard { next: segment.seq, holes: VecDeque::new() });
        if segment.seq.distance_from(heard.next) > 0 && heard.holes.len() < MAX_HOLES {
            heard.holes.push_back((heard.next, segment.seq));
        }
        if end.distance_from(heard.next) > 0 {
            heard.next = end;
        }
    }

    /// `segment` goes to the mobile host.
    fn mark(&mut self, flow: Flow, segment: &mut Segment) {
        let Some(heard) = self.flows.get_mut(&flow).filter(|_| segment.flags.contains(Flags::ACK)) else {
            return;
        };
        while heard.holes.front().is_some_and(|(_, end)| segment.ack.distance_from(*end) >= 0) {
            heard.holes.pop_front();
        }
        let is_in_hole = heard.holes.front().is_some_and(|(start, _)| segment.ack.distance_from(*start) >= 0);
        if is_in_hole && segment.options.experimental.is_none() {
            segment.options.experimental = Some(Experimental::RadioLoss);
        }
    }
}

impl BaseStation for Station {
    fn handle_segment(&mut self, flow: Flow, towards: Towards, segment: &mut Segment, _now: Instant) -> Fate {
        match towards {
            Towards::Fixed => self.note_data(flow, segment),
            Towards::Mobile => self.mark(flow, segment),
        }
        Fate::Forward
    }

    fn handle_event(&mut self, event: &StationEvent, _now: Instant) {
        if let StationEvent::Departed { mobile, .. } = event {
            self.flows.retain(|flow, _| flow.mobile.address != *mobile);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        None
    }
}

/// The part on a mobile host.
#[derive(Debug, Default)]
pub struct Sender {
    /// The ACK being dealt with is marked.
    is_marked: bool,
    /// The loss that was repaired last on each connection.
    repairs: BTreeMap<ConnectionId, Repair>,
    actions: VecDeque<Action>,
}

/// A loss of the radio, repaired.
#[derive(Clone, Copy, Debug)]
struct Repair {
    /// First position missing.
    position: u64,
    /// When it was last sent again.
    at: Instant,
}

impl Hooks for Sender {
    fn on_ack_options(
        &mut self,
        _connection: &Connection,
        options: &Options,
        _pure_ack: bool,
        _now: Instant,
    ) -> bool {
        self.is_marked = options.experimental == Some(Experimental::RadioLoss);
        false
    }

    fn on_ack(&mut self, connection: &Connection, acked: u64, now: Instant) {
        if !std::mem::take(&mut self.is_marked) {
            return;
        }
        let id = connection.id();
        let position = connection.sender().snd_una + acked;
        let rtt = connection.rtt().srtt().unwrap_or(connection.rtt().rto());
        let is_repaired = |repair: &Repair| repair.position == position && now.since(repair.at) < rtt;
        if !self.repairs.get(&id).is_some_and(is_repaired) {
            self.repairs.insert(id, Repair { position, at: now });
            let command = Command::RetransmitNow { segments: 1 };
            self.actions.push_back(Action::Tcp { connection: id, command });
        }
    }

    fn on_loss_detected(&mut self, connection: &Connection, loss: Loss, _now: Instant) -> Verdict {
        match self.repairs.get(&connection.id()) {
            Some(repair) if repair.position == loss.start => Verdict::Suppress,
            _ => Verdict::Proceed,
        }
    }

    fn on_state_change(&mut self, connection: &Connection, _from: State, _now: Instant) {
        if connection.state() == State::Closed {
            self.repairs.remove(&connection.id());
        }
    }
}

impl Scheme for Sender {
    fn handle_signal(&mut self, _signal: &Signal, _now: Instant) {}

    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn hears(&self, _kind: &SignalKind) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base_station::Endpoint;
    use crate::mobile_ip::Address;
    use crate::testing::{End, Pair};
    use crate::time::Duration;

    const FLOW: Flow = Flow {
        mobile: Endpoint { address: Address::new(10, 0, 0, 1), port: 1 },
        fixed: Endpoint { address: Address::new(10, 0, 0, 2), port: 2 },
    };

    fn segment(seq: u32, len: u32) -> Segment {
        Segment { seq: SeqNumber(seq), len, flags: Flags::ACK, ..Segment::default() }
    }

    fn hears(station: &mut Station, seqs: &[u32]) {
        for seq in seqs {
            station.handle_segment(FLOW, Towards::Fixed, &mut segment(*seq, 100), Instant::ZERO);
        }
    }

    fn marks(station: &mut Station, ack: u32) -> bool {
        let mut segment = Segment { ack: SeqNumber(ack), flags: Flags::ACK, ..Segment::default() };
        station.handle_segment(FLOW, Towards::Mobile, &mut segment, Instant::ZERO);
        segment.options.experimental == Some(Experimental::RadioLoss)
    }

    #[test]
    fn acks_into_a_hole_are_marked_until_it_is_acknowledged() {
        let mut station = Station::default();
        // 200 and 500 are missing; the numbers wrap.
        let base = u32::MAX - 250;
        hears(&mut station, &[0, 100, 300, 400, 600].map(|offset| base.wrapping_add(offset)));
        let acks = [100, 200, 200, 300, 500, 700].map(|ack| marks(&mut station, base.wrapping_add(ack)));
        assert_eq!(acks, [false, true, true, false, true, false]);
    }

    #[test]
    fn what_is_lost_behind_the_station_is_not_marked() {
        let mut station = Station::default();
        hears(&mut station, &[0, 100, 200, 300]);
        assert!(!marks(&mut station, 100));
    }

    #[test]
    fn a_host_that_departs_is_forgotten() {
        let mut station = Station::default();
        hears(&mut station, &[0, 200]);
        station
            .handle_event(&StationEvent::Departed { mobile: FLOW.mobile.address, to: None }, Instant::ZERO);
        assert!(!marks(&mut station, 100));
    }

    /// The same ACK five times over data in flight, marked or not; the sender's part, and how its connection stands.
    fn five_duplicates(marked: bool, apart: Duration) -> (Sender, Pair) {
        let mut pair = Pair::new("rfc", "new-reno");
        pair.client.write(400_000);
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        pair.set_fate(move |_, _, now, _| (now < at(95)).then_some(Duration::ZERO));
        pair.run_until(at(140));
        assert!(pair.client.sender().outstanding() > 0);
        let mut ack = pair.wire.iter().rfind(|s| s.by == End::Server && !s.lost).expect("an ACK").segment;
        ack.options.experimental = marked.then_some(Experimental::RadioLoss);
        let mut sender = Sender::default();
        for _ in 0..5 {
            pair.now += apart;
            pair.inject_to_client(&ack, &mut sender);
        }
        (sender, pair)
    }

    #[test]
    fn a_marked_loss_is_repaired_once_in_a_round_trip_time_and_cuts_nothing() {
        let (sender, pair) = five_duplicates(true, Duration::from_millis(1));
        let command = Command::RetransmitNow { segments: 1 };
        assert_eq!(sender.actions, [Action::Tcp { connection: pair.client.id(), command }]);
        assert_eq!(pair.client.stats().fast_retransmits, 0);
        let (sender, _) = five_duplicates(true, Duration::from_millis(21));
        assert!(sender.actions.len() >= 2, "a repetition that is lost too is made good: {sender:?}");
    }

    #[test]
    fn a_loss_that_is_not_marked_cuts_the_window_as_ever() {
        let (sender, pair) = five_duplicates(false, Duration::from_millis(1));
        assert!(sender.actions.is_empty());
        assert_eq!(pair.client.stats().fast_retransmits, 1);
    }
}
