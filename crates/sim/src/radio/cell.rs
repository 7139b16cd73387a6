//! 802.11 stations on one medium, each a source that always has a packet or never: what theory is compared with.
//!
//! Every station has at most one useful event in the queue (its next deadline), every frame on air one.

use segue_proto::rng::Streams;
use segue_proto::time::Instant;
use segue_proto::wifi::dcf::Config as StationConfig;
use segue_proto::wifi::{Dcf, Event, Packet, StationId, Transmission};

use super::medium::{Config as MediumConfig, Medium, OnAirId, Report, What};
use super::propagation::Position;
use crate::event_queue::{Component, EventQueue};

/// A source that keeps the queue of its station filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// To whom it sends.
    pub to: StationId,
    /// Size of its packets.
    pub bytes: u32,
}

/// Counts of one station's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets received from others, duplicates excluded.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
}

#[derive(Debug)]
struct Station {
    dcf: Dcf,
    source: Option<Source>,
    /// When its pending event comes; [`Instant::MAX`] if there is none.
    pending: Instant,
    counts: Counts,
    next_handle: u32,
}

/// What happened, for those who watch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// A station began to send.
    Sent(Transmission),
    /// An event of a station.
    Event(Event),
}

/// Stations, the medium, and the order of their events.
#[derive(Debug)]
pub struct Cell {
    now: Instant,
    queue: EventQueue,
    medium: Medium,
    stations: Vec<Station>,
    reports: Vec<Report>,
    streams: Streams,
    /// What happened, if somebody watches.
    log: Option<Vec<(Instant, u32, Seen)>>,
}

/// Frames on air come after all stations in the numbering of events.
const FIRST_FRAME: u32 = Component::MAX / 2;

impl Cell {
    /// An empty cell.
    pub fn new(medium: MediumConfig, seed: u64) -> Self {
        let streams = Streams::new(seed);
        Cell {
            now: Instant::ZERO,
            queue: EventQueue::default(),
            medium: Medium::new(medium, streams),
            stations: Vec::new(),
            reports: Vec::new(),
            streams,
            log: None,
        }
    }

    /// Adds a station at `position`. Its name must be the count of those before.
    ///
    /// # Panics
    /// If it is not: the medium and the frames would speak of different stations.
    pub fn add(&mut self, config: StationConfig, position: Position, source: Option<Source>) {
        let number = self.medium.add_station(position);
        assert_eq!(config.station, StationId(number), "stations are numbered in order");
        let stream = self.streams.stream(&format!("station {number}/backoff"));
        let dcf = Dcf::new(config, stream);
        let pending = Instant::MAX;
        self.stations.push(Station { dcf, source, pending, counts: Counts::default(), next_handle: 0 });
        self.serve(number);
    }

    /// Keeps what happens from now on, for [`Cell::log`].
    pub fn watch(&mut self) {
        self.log = Some(Vec::new());
    }

    /// When, at which station, and what, since [`Cell::watch`].
    pub fn log(&self) -> &[(Instant, u32, Seen)] {
        self.log.as_deref().unwrap_or_default()
    }

    /// One packet from `station`; false if its queue is full.
    pub fn send(&mut self, station: u32, packet: Packet, to: StationId) -> bool {
        let sent = self.stations[station as usize].dcf.send(packet, to, self.now).is_ok();
        self.serve(station);
        sent
    }

    /// Runs until `end`.
    pub fn run_until(&mut self, end: Instant) {
        while let Some((at, Component(number))) = self.queue.peek().filter(|(at, _)| *at <= end) {
            self.now = at;
            if number < FIRST_FRAME {
                self.queue.pop();
                self.handle_deadline(number);
                continue;
            }
            match self.medium.advance(OnAirId(number - FIRST_FRAME), &mut self.reports, at) {
                Some(next) => self.queue.reschedule(next, Component(number)),
                None => self.queue.pop(),
            }
            self.hand_over_reports();
        }
        self.now = end;
    }

    fn handle_deadline(&mut self, number: u32) {
        let station = &mut self.stations[number as usize];
        if station.pending != self.now {
            // A newer event has taken this one's place.
            return;
        }
        station.pending = Instant::MAX;
        station.dcf.handle_timeout(self.now);
        self.serve(number);
        self.hand_over_reports();
    }

    /// Hands what the medium reported to the stations. They answer by deadlines, never at once, so nothing is added to
    /// the list meanwhile.
    fn hand_over_reports(&mut self) {
        for index in 0..self.reports.len() {
            let report = self.reports[index];
            let dcf = &mut self.stations[report.station as usize].dcf;
            match report.what {
                What::Busy => dcf.handle_channel(true, self.now),
                What::Idle => dcf.handle_channel(false, self.now),
                What::Decoded { frame, power_w } => dcf.handle_frame(&frame, power_w, self.now),
                What::Corrupted => dcf.handle_corrupted(self.now),
                What::Transmitted => dcf.handle_transmitted(self.now),
            }
            self.serve(report.station);
        }
        self.reports.clear();
    }

    /// What follows every input to a station: its frame, its events, its source, its deadline.
    fn serve(&mut self, number: u32) {
        let station = &mut self.stations[number as usize];
        if let Some(transmission) = station.dcf.poll_transmit(self.now) {
            let (id, next) = self.medium.transmit(number, &transmission, &mut self.reports, self.now);
            self.queue.push(next, Component(FIRST_FRAME + id.0));
            if let Some(log) = &mut self.log {
                log.push((self.now, number, Seen::Sent(transmission)));
            }
        }
        while let Some(event) = station.dcf.poll_event() {
            if let Event::Received { packet, .. } = event {
                station.counts.received += 1;
                station.counts.received_bytes += u64::from(packet.bytes);
            }
            if let Some(log) = &mut self.log {
                log.push((self.now, number, Seen::Event(event)));
            }
        }
        if let Some(source) = station.source {
            // One in service and one that waits: the station never finds its queue empty.
            while station.dcf.queue_len() < 2 {
                let packet = Packet { handle: station.next_handle, bytes: source.bytes };
                station.next_handle = station.next_handle.wrapping_add(1);
                if station.dcf.send(packet, source.to, self.now).is_err() {
                    break;
                }
            }
        }
        if let Some((at, _)) = station.dcf.poll_timeout()
            && at < station.pending
        {
            let at = at.max(self.now);
            station.pending = at;
            self.queue.push(at, Component(number));
        }
    }

    /// Time passed.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// A station's machine.
    pub fn station(&self, number: u32) -> &Dcf {
        &self.stations[number as usize].dcf
    }

    /// A station's counts.
    pub fn counts(&self, number: u32) -> Counts {
        self.stations[number as usize].counts
    }

    /// The medium, to move stations and to change its errors.
    pub fn medium_mut(&mut self) -> &mut Medium {
        &mut self.medium
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.queue.insertions()
    }

    /// How many stations there are.
    pub fn len(&self) -> usize {
        self.stations.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.stations.is_empty()
    }
}
