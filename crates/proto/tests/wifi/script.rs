//! One station and a scripted medium.

use segue_proto::rng::Streams;
use segue_proto::time::{Duration, Instant};
use segue_proto::wifi::{
    Body, Config, Dcf, Event, Frame, Packet, Phy, Preamble, Rate, StationId, Transmission,
};

pub const PHY: Phy = Phy::Dsss(Preamble::Long);
/// The station under test, its peer and a third one.
pub const ME: StationId = StationId(0);
pub const PEER: StationId = StationId(1);
pub const OTHER: StationId = StationId(2);

pub struct Script {
    pub station: Dcf,
    now: Instant,
    /// When its own frame has left.
    leaves_at: Option<Instant>,
    /// What left, and when, in microseconds.
    pub sent: Vec<(u64, Transmission)>,
    pub events: Vec<Event>,
}

pub fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

pub fn packet(handle: u32) -> Packet {
    Packet { handle, bytes: 1000 }
}

impl Script {
    /// A station at 11 Mb/s with basic rate 1 Mb/s.
    pub fn new(adjust: impl Fn(&mut Config)) -> Self {
        let mut config = Config::new(ME, PHY, Rate::Dsss11);
        config.rts_threshold = u32::MAX;
        adjust(&mut config);
        let station = Dcf::new(config, Streams::new(1).stream("backoff"));
        Script { station, now: Instant::ZERO, leaves_at: None, sent: Vec::new(), events: Vec::new() }
    }

    /// Runs until `micros`, serving deadlines.
    pub fn run_until(&mut self, micros: u64) {
        loop {
            self.poll();
            let deadline = self.station.poll_timeout().map(|(when, _)| when.max(self.now));
            let next = [deadline, self.leaves_at].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= at(micros)) else { break };
            self.now = next;
            if self.leaves_at == Some(next) {
                self.leaves_at = None;
                self.station.handle_transmitted(next);
            } else {
                self.station.handle_timeout(next);
            }
        }
        self.now = at(micros);
    }

    fn poll(&mut self) {
        if let Some(transmission) = self.station.poll_transmit(self.now) {
            self.leaves_at = Some(self.now + transmission.airtime);
            self.sent.push((self.now.as_nanos() / 1_000, transmission));
        }
        while let Some(event) = self.station.poll_event() {
            self.events.push(event);
        }
    }

    pub fn send_at(&mut self, micros: u64, handle: u32) {
        self.run_until(micros);
        self.station.send(packet(handle), PEER, self.now).unwrap();
        self.poll();
    }

    /// A frame is on air from `start` on, and is decoded.
    pub fn hear(&mut self, start: u64, frame: Frame) {
        self.noise(start, frame, true);
    }

    /// A frame is on air from `start` on, and is not decoded.
    pub fn hear_corrupted(&mut self, start: u64, frame: Frame) {
        self.noise(start, frame, false);
    }

    fn noise(&mut self, start: u64, frame: Frame, intact: bool) {
        self.run_until(start);
        self.station.handle_channel(true, self.now);
        self.poll();
        let end = start + PHY.airtime(frame.bytes(), frame.rate).as_nanos() / 1_000;
        self.run_until(end);
        if intact {
            self.station.handle_frame(&frame, 1e-9, self.now);
        } else {
            self.station.handle_corrupted(self.now);
        }
        self.station.handle_channel(false, self.now);
        self.poll();
    }

    /// When the frames left, and of which kind they were.
    pub fn log(&self) -> Vec<(u64, &'static str)> {
        let name = |body: Body| match body {
            Body::Data { retry: false, .. } => "data",
            Body::Data { retry: true, .. } => "data again",
            Body::Rts => "rts",
            Body::Cts => "cts",
            Body::Ack => "ack",
            Body::Beacon { .. } => "beacon",
        };
        self.sent.iter().map(|(micros, sent)| (*micros, name(sent.frame.body))).collect()
    }

    /// Attempts that ended well or badly, as (delivered, tries).
    pub fn fates(&self) -> Vec<(bool, u16)> {
        let fate = |event: &Event| match event {
            Event::Delivered { tries, .. } => Some((true, *tries)),
            Event::Dropped { tries, .. } => Some((false, *tries)),
            Event::AttemptFailed { .. } | Event::Received { .. } | Event::BeaconHeard { .. } => None,
        };
        self.events.iter().filter_map(fate).collect()
    }
}

/// A frame at the basic rate that reserves nothing.
pub fn frame(from: StationId, to: StationId, body: Body) -> Frame {
    Frame { from, to, body, rate: Rate::Dsss1, duration: Duration::ZERO }
}

pub fn data(from: StationId, to: StationId, sequence: u16, retry: bool) -> Frame {
    frame(from, to, Body::Data { packet: packet(u32::from(sequence)), sequence, retry })
}
