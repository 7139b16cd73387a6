//! Snoop: the base station keeps what it sends to mobile hosts, repeats it locally, and hides the loss from the sender.
//!
//! ## What it does
//! Segments with data on their way to a mobile host are kept until they are acknowledged. A duplicate ACK for a segment
//! that is kept shows a loss on the radio: the segment is repeated from the base station, and this ACK and those that must
//! follow it are taken away, so that the sender neither repeats the segment nor cuts its window. A local timer, twice the
//! round-trip time of the last hop, repeats what no duplicate ACK shows.
//!
//! | segment with data | what is done |
//! |---|---|
//! | new | kept, forwarded |
//! | acknowledged already | not forwarded: the last ACK is repeated to the sender, which seems to have missed it |
//! | older, kept | the sender has repeated it: forwarded, and no longer hidden |
//! | older, not kept | was lost before it came here: kept, forwarded, not hidden |
//!
//! | ACK | what is done |
//! |---|---|
//! | new | the cache is cleaned, the last hop's round-trip time measured; forwarded |
//! | older than the last | taken away |
//! | duplicate, segment not kept or repeated by the sender | forwarded: the sender must act |
//! | duplicate, unexpected | the segment is repeated; as many duplicates are expected as segments are kept behind it |
//! | duplicate, expected | taken away |
//!
//! ## Signals it reads
//! None of the layers below; the departure of a host.
//!
//! ## What it changes in TCP
//! Nothing.
//!
//! ## Where it runs
//! At base stations, for data towards mobile hosts. No host is changed. It must be able to read TCP headers.
//!
//! ## Parameters
//! See [`PARAMS`].
//!
//! ## Differences from the paper
//! * The paper's base stations near the host keep segments too, by multicast, before a handover, and synchronise on it.
//!   Here the old station throws its cache away and the new one begins with an empty one; losses of the handover are the
//!   sender's.
//! * The paper repeats "at high priority". The queue of the radio has one priority here: a repetition waits its turn.
//! * The paper has a round-trip timer (twice the smoothed time, 40 ms at least) and a persist timer (200 ms). One timer is
//!   both: it begins with 200 ms, is never below 220 ms (see `MIN_TIMER`), and doubles at each expiry. After `attempts` repetitions the
//!   segment is left to the sender.
//! * For data from the mobile host the paper has selective negative ACKs, which change the host; see [`eln`](super::eln)
//!   for what its authors made of it later.
//!
//! ## References
//! H. Balakrishnan, S. Seshan, E. Amir, R. H. Katz: Improving TCP/IP Performance over Wireless Networks, ACM MobiCom 1995.
//! H. Balakrishnan, S. Seshan, R. H. Katz: Improving Reliable Transport and Handoff Performance in Cellular Wireless
//! Networks, ACM Wireless Networks 1(4), 1995.

use std::collections::{BTreeMap, VecDeque};

use super::{Helps, Spec};
use crate::base_station::{BaseStation, Fate, Flow, Output, StationEvent, Towards};
use crate::params::{Kind, Param, Params};
use crate::tcp::{Flags, Segment, SeqNumber};
use crate::time::{Duration, Instant};

/// The table entry.
pub const SPEC: Spec = Spec {
    name: "snoop",
    summary: "a base station repeats what the radio loses and hides the duplicate ACKs from the sender",
    params: PARAMS,
    helps: Helps::DOWNLOADS,
    mobile: None,
    fixed: None,
    base_station: Some(|params| Box::new(Snoop::new(params))),
};

/// The parameters.
pub const PARAMS: &[Param] = &[
    Param {
        name: "cache",
        doc: "Segments kept of each connection; what does not fit is forwarded and left to the sender.",
        kind: Kind::Integer(1, 100_000),
        default: "100",
    },
    Param {
        name: "attempts",
        doc: "Local repetitions of a segment before it is left to the sender.",
        kind: Kind::Integer(1, 32),
        default: "8",
    },
];

/// Bounds and begin of the local timer \[Balakrishnan 1995 §4\]. It must not expire while a host delays its ACK, which most do
/// for 200 ms (RFC 1122 §4.2.3.2): the duplicate would have it acknowledge at once, and win the flow a share of a congested
/// queue that is not its own.
const MIN_TIMER: Duration = Duration::from_millis(220);
const FIRST_TIMER: Duration = Duration::from_millis(200);

/// The part at a base station.
#[derive(Debug)]
pub struct Snoop {
    limit: usize,
    attempts: u32,
    flows: BTreeMap<Flow, Cache>,
    outputs: VecDeque<Output>,
}

/// What is kept of one connection.
#[derive(Debug)]
struct Cache {
    /// Ascending, without overlap.
    kept: VecDeque<Kept>,
    /// The number after the highest that was forwarded.
    next: SeqNumber,
    /// The last pure ACK of the mobile host with a new number.
    last_ack: Option<Segment>,
    /// Duplicate ACKs that must come of a loss that is being repaired.
    expected: usize,
    /// Smoothed round-trip time of the last hop.
    rtt: Option<Duration>,
    /// When the first segment is repeated without being asked for.
    deadline: Instant,
    /// Expiries in a row.
    expiries: u32,
}

#[derive(Debug)]
struct Kept {
    segment: Segment,
    forwarded: Instant,
    /// Repetitions from here.
    repeated: u32,
    /// The sender acts on it: nothing may be hidden.
    is_senders: bool,
}

impl Kept {
    fn end(&self) -> SeqNumber {
        self.segment.seq.add(self.segment.sequence_length())
    }
}

impl Cache {
    fn new(next: SeqNumber) -> Self {
        Cache {
            kept: VecDeque::new(),
            next,
            last_ack: None,
            expected: 0,
            rtt: None,
            deadline: Instant::MAX,
            expiries: 0,
        }
    }

    fn timer(&self) -> Duration {
        let timer = self.rtt.map_or(FIRST_TIMER, |rtt| (rtt * 2).max(MIN_TIMER));
        timer.saturating_mul(1 << self.expiries.min(16))
    }

    fn start_timer(&mut self, now: Instant) {
        self.deadline = if self.kept.is_empty() { Instant::MAX } else { now + self.timer() };
    }

    /// Data for the mobile host; says what becomes of it.
    fn take_data(&mut self, segment: &Segment, limit: usize, now: Instant) -> Data {
        let end = segment.seq.add(segment.sequence_length());
        if let Some(ack) = self.last_ack.filter(|last| end.distance_from(last.ack) <= 0) {
            return Data::Acknowledged(ack);
        }
        let is_new = segment.seq.distance_from(self.next) >= 0;
        if end.distance_from(self.next) > 0 {
            self.next = end;
        }
        let place = self.kept.partition_point(|kept| kept.segment.seq.distance_from(segment.seq) < 0);
        let is_full = self.kept.len() >= limit;
        match self.kept.get_mut(place).filter(|kept| kept.segment.seq == segment.seq) {
            Some(kept) => (kept.is_senders, kept.repeated) = (true, 0),
            None if !is_full => {
                let kept = Kept { segment: *segment, forwarded: now, repeated: 0, is_senders: !is_new };
                self.kept.insert(place, kept);
            }
            None => return Data::Forwarded,
        }
        if self.kept.front().is_some_and(|first| first.repeated > 0) {
            self.expected += 1;
        }
        if self.deadline == Instant::MAX {
            self.start_timer(now);
        }
        Data::Forwarded
    }

    /// An ACK with a new number.
    fn clean(&mut self, ack: SeqNumber, now: Instant) {
        let mut sample = None;
        let mut is_ambiguous = false;
        while let Some(first) = self.kept.front().filter(|first| ack.distance_from(first.end()) >= 0) {
            is_ambiguous |= first.repeated > 0 || first.is_senders;
            // Of the oldest, which may have waited for a delayed ACK.
            sample = sample.or(Some(now.since(first.forwarded)));
            self.kept.pop_front();
        }
        if let Some(sample) = sample.filter(|_| !is_ambiguous) {
            self.rtt = Some(self.rtt.map_or(sample, |rtt| (rtt * 7 + sample) / 8));
        }
        (self.expected, self.expiries) = (0, 0);
        self.start_timer(now);
    }

    /// The first segment kept, to be repeated; `None` if that is not for us.
    fn repeat_first(&mut self, attempts: u32, now: Instant) -> Option<Segment> {
        let behind = self.kept.len().saturating_sub(1);
        let missed = self.last_ack.map(|last| last.ack);
        // Behind a hole that was there before the segments came here, the host has them already.
        let is_missed = |first: &&mut Kept| missed.is_none_or(|ack| first.segment.seq == ack);
        let first = self.kept.front_mut().filter(is_missed).filter(|first| !first.is_senders)?;
        if first.repeated >= attempts {
            first.is_senders = true;
            return None;
        }
        first.repeated += 1;
        let segment = first.segment;
        self.expected = behind;
        self.start_timer(now);
        Some(segment)
    }
}

/// What becomes of data for the mobile host.
enum Data {
    Forwarded,
    /// The host has it; this is its last ACK.
    Acknowledged(Segment),
}

impl Snoop {
    /// A part with an empty cache.
    pub fn new(params: &Params) -> Self {
        Snoop {
            // The declared ranges are far inside 32 bits.
            limit: params.integer("cache") as usize,
            attempts: params.integer("attempts") as u32,
            flows: BTreeMap::new(),
            outputs: VecDeque::new(),
        }
    }

    fn handle_data(&mut self, flow: Flow, segment: &Segment, now: Instant) -> Fate {
        let cache = self.flows.entry(flow).or_insert_with(|| Cache::new(segment.seq));
        match cache.take_data(segment, self.limit, now) {
            Data::Forwarded => Fate::Forward,
            Data::Acknowledged(segment) => {
                self.outputs.push_back(Output::Segment { flow, towards: Towards::Fixed, segment });
                Fate::Take
            }
        }
    }

    fn handle_ack(&mut self, flow: Flow, segment: &Segment, now: Instant) -> Fate {
        let Some(cache) = self.flows.get_mut(&flow) else { return Fate::Forward };
        let is_pure = segment.is_pure_ack();
        let advance = cache.last_ack.map_or(1, |last| segment.ack.distance_from(last.ack));
        if advance > 0 {
            cache.last_ack = Some(Segment { len: 0, flags: Flags::ACK, ..*segment });
            cache.clean(segment.ack, now);
            return Fate::Forward;
        }
        if !is_pure {
            return Fate::Forward;
        }
        if advance < 0 {
            return Fate::Take;
        }
        let has_new_window = cache.last_ack.is_some_and(|last| last.window != segment.window);
        cache.last_ack = Some(*segment);
        let is_hidden =
            cache.kept.front().is_some_and(|first| first.segment.seq == segment.ack && !first.is_senders);
        if has_new_window || !is_hidden {
            return Fate::Forward;
        }
        if cache.kept.front().is_some_and(|first| first.repeated > 0) && cache.expected > 0 {
            cache.expected -= 1;
            return Fate::Take;
        }
        match cache.repeat_first(self.attempts, now) {
            Some(segment) => {
                self.outputs.push_back(Output::Segment { flow, towards: Towards::Mobile, segment });
                Fate::Take
            }
            None => Fate::Forward,
        }
    }
}

impl BaseStation for Snoop {
    fn handle_segment(&mut self, flow: Flow, towards: Towards, segment: &mut Segment, now: Instant) -> Fate {
        if segment.flags.contains(Flags::SYN) || segment.flags.contains(Flags::RST) {
            self.flows.remove(&flow);
            return Fate::Forward;
        }
        match towards {
            Towards::Mobile if segment.sequence_length() > 0 => self.handle_data(flow, segment, now),
            Towards::Fixed if segment.flags.contains(Flags::ACK) => self.handle_ack(flow, segment, now),
            _ => Fate::Forward,
        }
    }

    fn handle_event(&mut self, event: &StationEvent, _now: Instant) {
        if let StationEvent::Departed { mobile, .. } = event {
            self.flows.retain(|flow, _| flow.mobile.address != *mobile);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for (flow, cache) in self.flows.iter_mut().filter(|(_, cache)| cache.deadline <= now) {
            cache.deadline = Instant::MAX;
            cache.expiries += 1;
            if let Some(segment) = cache.repeat_first(self.attempts, now) {
                self.outputs.push_back(Output::Segment { flow: *flow, towards: Towards::Mobile, segment });
            }
        }
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let next = self.flows.values().map(|cache| cache.deadline).min()?;
        (next != Instant::MAX).then_some((next, "local repetition"))
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base_station::Endpoint;
    use crate::mobile_ip::Address;

    const FLOW: Flow = Flow {
        mobile: Endpoint { address: Address::new(10, 0, 0, 1), port: 1 },
        fixed: Endpoint { address: Address::new(10, 0, 0, 2), port: 2 },
    };
    /// The numbers wrap on the way.
    const BASE: u32 = u32::MAX - 250;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn station() -> Snoop {
        Snoop::new(&Params::defaults(PARAMS))
    }

    fn data(number: u32) -> Segment {
        let seq = SeqNumber(BASE.wrapping_add(100 * number));
        Segment { seq, len: 100, flags: Flags::ACK, ..Segment::default() }
    }

    fn send(station: &mut Snoop, numbers: impl IntoIterator<Item = u32>, now: Instant) -> Vec<Fate> {
        let fate = |number| station.handle_segment(FLOW, Towards::Mobile, &mut data(number), now);
        numbers.into_iter().map(fate).collect()
    }

    /// An ACK of all before segment `number`.
    fn ack(station: &mut Snoop, number: u32, now: Instant) -> Fate {
        let ack = SeqNumber(BASE.wrapping_add(100 * number));
        let mut segment = Segment { ack, window: 1_000, flags: Flags::ACK, ..Segment::default() };
        station.handle_segment(FLOW, Towards::Fixed, &mut segment, now)
    }

    /// The segments repeated since the last call.
    fn repeated(station: &mut Snoop) -> Vec<Segment> {
        let segment = |output| match output {
            Output::Segment { segment, towards: Towards::Mobile, .. } => Some(segment),
            _ => None,
        };
        std::iter::from_fn(|| station.poll_output()).filter_map(segment).collect()
    }

    #[test]
    fn a_loss_is_repeated_once_and_its_duplicate_acks_are_hidden() {
        let mut station = station();
        send(&mut station, 0..6, at(0));
        assert_eq!(ack(&mut station, 1, at(10)), Fate::Forward);
        // Segment 1 is lost, four behind it arrive.
        let fates = [(); 4].map(|()| ack(&mut station, 1, at(11)));
        assert_eq!(fates, [Fate::Take; 4]);
        assert_eq!(repeated(&mut station), [data(1)]);
        assert_eq!(ack(&mut station, 6, at(20)), Fate::Forward);
        assert_eq!(station.poll_timeout(), None);
    }

    #[test]
    fn a_loss_in_the_wires_is_the_senders() {
        let mut station = station();
        send(&mut station, [0, 2, 3, 4], at(0));
        ack(&mut station, 1, at(10));
        assert_eq!([(); 3].map(|()| ack(&mut station, 1, at(11))), [Fate::Forward; 3]);
        // Its repetition is not hidden either: it may be lost again.
        send(&mut station, [1], at(100));
        assert_eq!(ack(&mut station, 1, at(110)), Fate::Forward);
        assert!(repeated(&mut station).is_empty());
    }

    #[test]
    fn what_has_been_acknowledged_is_answered_in_place_of_the_host() {
        let mut station = station();
        send(&mut station, 0..3, at(0));
        ack(&mut station, 3, at(10));
        assert_eq!(send(&mut station, [0, 2, 3], at(300)), [Fate::Take, Fate::Take, Fate::Forward]);
        let Some(Output::Segment { towards: Towards::Fixed, segment, .. }) = station.poll_output() else {
            panic!("an ACK to the sender")
        };
        assert_eq!(segment.ack, data(3).seq);
    }

    #[test]
    fn an_old_ack_is_taken_away_and_a_window_update_is_not() {
        let mut station = station();
        send(&mut station, 0..4, at(0));
        ack(&mut station, 2, at(10));
        assert_eq!(ack(&mut station, 1, at(11)), Fate::Take);
        let mut update = Segment { ack: data(2).seq, window: 500, flags: Flags::ACK, ..Segment::default() };
        assert_eq!(station.handle_segment(FLOW, Towards::Fixed, &mut update, at(12)), Fate::Forward);
    }

    #[test]
    fn the_timer_repeats_what_no_duplicate_shows_and_leaves_it_to_the_sender_in_the_end() {
        let mut station = station();
        // 10 ms of round trip: twice that is below the bound.
        send(&mut station, [0], at(0));
        ack(&mut station, 1, at(10));
        send(&mut station, [1], at(20));
        let mut times = Vec::new();
        while let Some((deadline, _)) = station.poll_timeout() {
            station.handle_timeout(deadline);
            if !repeated(&mut station).is_empty() {
                times.push(deadline.as_nanos() / 1_000_000);
            }
        }
        assert_eq!(times, [240, 680, 1_560, 3_320, 6_840, 13_880, 27_960, 56_120]);
        assert_eq!(ack(&mut station, 1, at(200_000)), Fate::Forward, "duplicates pass from now on");
    }

    #[test]
    fn a_host_that_departs_is_forgotten() {
        let mut station = station();
        send(&mut station, 0..4, at(0));
        let mobile = FLOW.mobile.address;
        station.handle_event(&StationEvent::Departed { mobile, to: None }, at(5));
        assert_eq!(station.poll_timeout(), None);
        assert_eq!(ack(&mut station, 1, at(10)), Fate::Forward);
    }

    #[test]
    fn a_full_cache_forwards_the_rest() {
        let mut params = Params::defaults(PARAMS);
        params.set("cache", "2").expect("a valid value");
        let mut station = Snoop::new(&params);
        assert_eq!(send(&mut station, 0..5, at(0)), [Fate::Forward; 5]);
        ack(&mut station, 2, at(10));
        assert_eq!(ack(&mut station, 2, at(11)), Fate::Forward);
    }
}
