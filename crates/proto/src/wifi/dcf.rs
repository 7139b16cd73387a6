//! The distributed coordination function: one 802.11 station, sans-IO.
//!
//! IEEE 802.11-2020 §10.3 (DCF), <https://standards.ieee.org/ieee/802.11/7028/>; where it leaves a choice, ns-2.35.
//!
//! ## Driving it
//! [`Dcf::send`] puts a packet into the interface queue. The radio calls [`Dcf::handle_channel`] when the energy of
//! others appears and when it is gone, [`Dcf::handle_frame`] at the end of each frame that was decoded,
//! [`Dcf::handle_corrupted`] at the end of one that was not (both before `handle_channel(false)` of the same
//! instant), and [`Dcf::handle_transmitted`] when the station's own frame has left. After each call:
//! [`Dcf::poll_transmit`], [`Dcf::poll_event`] until `None`, [`Dcf::poll_timeout`].
//!
//! ## Access
//! A station that finds the medium idle for DIFS sends at once; one that finds it busy, or has just sent, counts a
//! random number of idle slots first ([`Backoff`]). Idle means: no energy (physical carrier sense), no reservation
//! (NAV) and no exchange of its own under way.
//!
//! ## Exchange
//! `[RTS, CTS,] data, ACK`, each a SIFS after the one before. A response that does not come is an attempt that
//! failed: the window doubles, the retry count of its length goes up ([`Retries`]), and the frame is tried again or
//! given up.
//!
//! ## Differences
//! * The time in which a response must come is SIFS, the response, and one slot for propagation; the standard
//!   (§10.3.2.11) needs only its beginning, which ends a failed attempt 92 µs earlier (DSSS, long preamble). The
//!   interframe space after a failure runs from the end of the response that did not come, so that with EIFS the
//!   stations that collided and those that heard the collision go on at the same time.
//! * ns-2 lets a whole DIFS follow EIFS, which contains one already: [`Config::difs_after_eifs`], off by default.
//! * After a CTS the standard leaves the station free and ns-2 makes it wait for the data: [`AfterCts`]. To whom retry
//!   counts belong differs too: [`CountsOf`]. Without losses neither shows; where each frame is lost with probability
//!   0.2, a saturated TCP flow is 16 % slower with ns-2's.
//! * Sequence numbers are counted per destination, not per station.
//! * A reservation by an RTS that is followed by nothing is kept (the standard allows a station to drop it).
//! * Frames addressed to all need no beacon interval: a beacon is the next frame, with the backoff of any other.
//!
//! ## Not modelled
//! EDCA (one queue, one access category), fragments, power save, block acknowledgement. Who studies voice beside
//! data or rates above 54 Mb/s would notice.

mod actuators;

use std::collections::VecDeque;

use crate::rng::Stream;
use crate::time::{Duration, Instant};

use super::backoff::Backoff;
use super::exchange::{AfterGap, Exchange, InService, Payload, Queued, Response, Sent};
use super::frame::{Body, Frame, Packet, StationId};
use super::peers::Peers;
use super::phy::{Phy, Rate};
use super::rate::RateControl;
use super::report::{DropCause, Event, QueueFull, Stats, Transmission};
use super::retry::{CountsOf, Length, Limits, Retries, Verdict};

/// What a station is made from.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its name.
    pub station: StationId,
    /// Its physical layer.
    pub phy: Phy,
    /// The rate of control frames and of frames to all.
    pub basic_rate: Rate,
    /// How the rate of data frames is chosen.
    pub rate_control: RateControl,
    /// Data frames longer than this, header included, are preceded by RTS and CTS.
    #[doc(alias = "dot11RTSThreshold")]
    pub rts_threshold: u32,
    /// When a frame is given up.
    pub retry_limits: Limits,
    /// To whom the retry counts belong.
    pub retry_counts_of: CountsOf,
    /// Packets that may wait, besides the one in service.
    pub queue_limit: usize,
    /// Whether a frame that could not be decoded is followed by EIFS in place of DIFS.
    pub use_eifs: bool,
    /// Whether a whole DIFS follows EIFS, which contains one already (ns-2: 414 µs in place of 364 µs with DSSS).
    pub difs_after_eifs: bool,
    /// What the station does between its CTS and the data.
    pub after_cts: AfterCts,
}

/// What a station does that has sent a CTS, while the data does not come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterCts {
    /// What it would do without: its own CTS reserves the medium for others only (IEEE 802.11-2020 §10.3.2.4), so it
    /// answers an RTS that is repeated, and contends for its own frames.
    #[default]
    Free,
    /// Until the data should have ended it sends nothing and answers no RTS (ns-2). When a CTS is lost, the attempts
    /// that follow within that time are in vain.
    Wait,
}

impl Config {
    /// The defaults of ns-2: RTS always, limits 7 and 4, 50 packets.
    pub fn new(station: StationId, phy: Phy, data_rate: Rate) -> Self {
        Config {
            station,
            phy,
            basic_rate: phy.lowest_rate(),
            rate_control: RateControl::Fixed(data_rate),
            rts_threshold: 0,
            retry_limits: Limits::default(),
            retry_counts_of: CountsOf::default(),
            queue_limit: 50,
            use_eifs: true,
            difs_after_eifs: false,
            after_cts: AfterCts::default(),
        }
    }
}

/// One station.
#[derive(Clone, Debug)]
pub struct Dcf {
    config: Config,
    backoff: Backoff,
    retries: Retries,
    peers: Peers,
    queue: VecDeque<Queued>,
    in_service: Option<InService>,
    /// In force; a scheme may have put it into the place of the configured one.
    rate_control: RateControl,
    exchange: Exchange,
    /// Energy of others is on the medium.
    is_busy: bool,
    /// When the medium last became idle, this station's own exchanges included.
    idle_at: Instant,
    /// Until when others have reserved the medium.
    #[doc(alias = "NAV")]
    nav_until: Instant,
    /// When EIFS began, if the last frame heard was not decoded.
    corrupted_at: Option<Instant>,
    due: Option<Transmission>,
    events: VecDeque<Event>,
    stats: Stats,
}

impl Dcf {
    /// A station with an empty queue on an idle medium; its backoff draws from `stream`.
    pub fn new(config: Config, stream: Stream) -> Self {
        let mut station = Dcf {
            backoff: Backoff::new(config.phy, stream),
            retries: Retries::new(config.retry_limits, config.retry_counts_of),
            peers: Peers::default(),
            queue: VecDeque::with_capacity(config.queue_limit.min(1024)),
            in_service: None,
            rate_control: config.rate_control,
            exchange: Exchange::None,
            is_busy: false,
            idle_at: Instant::ZERO,
            nav_until: Instant::ZERO,
            corrupted_at: None,
            due: None,
            events: VecDeque::with_capacity(4),
            stats: Stats::default(),
            config,
        };
        station.count_slots();
        station
    }

    /// Queues a packet for `to`, which may be [`StationId::BROADCAST`].
    ///
    /// # Errors
    /// If the queue is full.
    pub fn send(&mut self, packet: Packet, to: StationId, now: Instant) -> Result<(), QueueFull> {
        if self.in_service.is_some() && self.queue.len() >= self.config.queue_limit {
            self.stats.refused += 1;
            return Err(QueueFull);
        }
        self.enqueue(Queued { to, payload: Payload::Packet(packet) }, now);
        Ok(())
    }

    /// Queues a beacon of `bytes` bytes before all packets. If one is waiting already, that will do.
    pub fn send_beacon(&mut self, bytes: u32, now: Instant) {
        let waits = self.queue.front().is_some_and(|first| matches!(first.payload, Payload::Beacon { .. }));
        if !waits {
            self.enqueue(Queued { to: StationId::BROADCAST, payload: Payload::Beacon { bytes } }, now);
        }
    }

    fn enqueue(&mut self, queued: Queued, now: Instant) {
        match queued.payload {
            Payload::Packet(_) => self.queue.push_back(queued),
            // A beacon does not wait behind data.
            Payload::Beacon { .. } => self.queue.push_front(queued),
        }
        if self.in_service.is_none() {
            self.serve_next();
            // Whoever finds the medium busy must count; a counter that is still running will do.
            let finds_busy = self.is_busy || self.nav_until > now || self.exchange != Exchange::None;
            if finds_busy && self.backoff.slots() == 0 {
                self.backoff.draw();
                self.count_slots();
            }
        }
    }

    fn serve_next(&mut self) {
        self.in_service = self.queue.pop_front().map(|Queued { to, payload }| InService {
            to,
            payload,
            sequence: match payload {
                Payload::Packet(_) => self.peers.take_sequence(to, self.rate_control),
                Payload::Beacon { .. } => 0,
            },
            tries: 0,
            data_sent: 0,
            rate: self.config.basic_rate,
            uses_rts: false,
        });
    }

    /// The energy of others appears (`true`) or is gone.
    pub fn handle_channel(&mut self, busy: bool, now: Instant) {
        if busy == self.is_busy {
            return;
        }
        self.is_busy = busy;
        if !busy {
            self.idle_at = self.idle_at.max(now);
            self.count_slots();
            return;
        }
        // A station whose slot comes too soon to be stopped keeps its deadline.
        let committed = self.in_service.is_some() && self.backoff.is_over(now);
        if committed && self.exchange == Exchange::None {
            return;
        }
        self.backoff.freeze(now);
        if self.in_service.is_some() && self.backoff.slots() == 0 && self.exchange == Exchange::None {
            // It was about to send without backoff and has been interrupted.
            self.backoff.draw();
        }
    }

    /// A frame was decoded; its last bit arrives now. The power is handed on as it is.
    pub fn handle_frame(&mut self, frame: &Frame, power_w: f64, now: Instant) {
        if matches!(self.exchange, Exchange::OnAir(_)) {
            return;
        }
        self.backoff.freeze(now);
        self.corrupted_at = None;
        if frame.to == self.config.station {
            self.handle_mine(frame, power_w, now);
        } else {
            if frame.to == StationId::BROADCAST {
                self.handle_for_all(frame, power_w);
            }
            self.nav_until = self.nav_until.max(now + frame.duration);
        }
        self.count_slots();
    }

    /// A frame ended that could not be decoded.
    pub fn handle_corrupted(&mut self, now: Instant) {
        if self.config.use_eifs && !matches!(self.exchange, Exchange::OnAir(_)) {
            self.backoff.freeze(now);
            self.corrupted_at = Some(now);
            self.count_slots();
        }
    }

    fn handle_for_all(&mut self, frame: &Frame, power_w: f64) {
        match frame.body {
            Body::Data { packet, .. } => {
                self.events.push_back(Event::Received { packet, from: frame.from, power_w });
            }
            Body::Beacon { .. } => {
                self.events.push_back(Event::BeaconHeard { from: frame.from, power_w });
            }
            Body::Rts | Body::Cts | Body::Ack => {}
        }
    }

    fn handle_mine(&mut self, frame: &Frame, power_w: f64, now: Instant) {
        let awaited = match self.exchange {
            Exchange::Awaiting { response, .. } => Some(response),
            Exchange::Gap { .. } => return,
            Exchange::None | Exchange::OnAir(_) | Exchange::Promised { .. } => None,
        };
        match (frame.body, awaited) {
            (Body::Cts, Some(Response::Cts)) => {
                self.retries.clear_short();
                let until = now + self.config.phy.sifs();
                self.exchange = Exchange::Gap { until, then: AfterGap::Data };
            }
            (Body::Ack, Some(Response::Ack)) => self.succeed(now),
            (Body::Cts | Body::Ack, _) => {}
            (Body::Beacon { .. }, _) => self.handle_for_all(frame, power_w),
            (Body::Rts, _) if matches!(self.exchange, Exchange::Promised { .. }) => {}
            (Body::Rts | Body::Data { .. }, awaited) => {
                if awaited.is_some() {
                    // Another frame in place of the response: the attempt has failed (§10.3.2.11).
                    self.fail(now);
                }
                self.answer(frame, power_w, now);
            }
        }
    }

    /// An RTS or a data frame for this station: the response leaves a SIFS later, whatever the medium does.
    fn answer(&mut self, frame: &Frame, power_w: f64, now: Instant) {
        let sifs = self.config.phy.sifs();
        let rate = self.config.basic_rate.min(frame.rate);
        let ack = self.config.phy.ack(rate);
        let (body, duration, sent) = match frame.body {
            // An RTS is not answered while others have reserved the medium (§10.3.2.9).
            Body::Rts if self.nav_until > now => return,
            Body::Rts => {
                let duration = frame.duration - sifs - self.config.phy.cts(rate);
                (Body::Cts, duration, Sent::Cts(duration - sifs - ack))
            }
            Body::Data { packet, sequence, retry } => {
                let control = self.rate_control;
                if self.peers.is_duplicate(frame.from, sequence, retry, control) {
                    self.stats.duplicates += 1;
                } else {
                    self.events.push_back(Event::Received { packet, from: frame.from, power_w });
                }
                (Body::Ack, Duration::ZERO, Sent::Ack)
            }
            Body::Cts | Body::Ack | Body::Beacon { .. } => return,
        };
        let response = Frame { from: self.config.station, to: frame.from, body, rate, duration };
        self.exchange = Exchange::Gap { until: now + sifs, then: AfterGap::Respond(response, sent) };
    }

    /// This station's frame has left.
    pub fn handle_transmitted(&mut self, now: Instant) {
        let Exchange::OnAir(sent) = self.exchange else { return };
        self.idle_at = self.idle_at.max(now);
        self.exchange = Exchange::None;
        match sent {
            Sent::Rts => self.exchange = self.awaiting(Response::Cts, now),
            Sent::Data => self.exchange = self.awaiting(Response::Ack, now),
            Sent::ToAll => self.succeed(now),
            Sent::Cts(data) if self.config.after_cts == AfterCts::Wait => {
                self.exchange = Exchange::Promised { until: now + data + self.config.phy.slot() };
            }
            Sent::Cts(_) | Sent::Ack => self.count_slots(),
        }
    }

    fn awaiting(&self, response: Response, now: Instant) -> Exchange {
        let phy = self.config.phy;
        let rate = self.response_rate(response);
        let airtime = match response {
            Response::Cts => phy.cts(rate),
            Response::Ack => phy.ack(rate),
        };
        let expected_end = now + phy.sifs() + airtime;
        Exchange::Awaiting { response, until: expected_end + phy.slot(), expected_end }
    }

    fn response_rate(&self, response: Response) -> Rate {
        let basic = self.config.basic_rate;
        match (response, self.in_service) {
            (Response::Ack, Some(frame)) => basic.min(frame.rate),
            _ => basic,
        }
    }

    /// The deadline may have passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self.exchange {
            Exchange::None => {
                let is_due = self.backoff.deadline().is_some_and(|at| at <= now);
                if is_due && self.in_service.is_some() {
                    self.begin_attempt(now);
                }
            }
            Exchange::Gap { until, then } if until <= now => match then {
                AfterGap::Data => self.transmit_data(now),
                AfterGap::Respond(frame, sent) => self.transmit(frame, sent, now),
            },
            Exchange::Awaiting { until, expected_end, .. } if until <= now => self.fail(expected_end),
            Exchange::Promised { until } if until <= now => {
                self.exchange = Exchange::None;
                self.idle_at = self.idle_at.max(until);
                self.count_slots();
            }
            Exchange::Gap { .. }
            | Exchange::Awaiting { .. }
            | Exchange::Promised { .. }
            | Exchange::OnAir(_) => {}
        }
    }

    fn begin_attempt(&mut self, now: Instant) {
        let Some(frame) = &mut self.in_service else { return };
        if frame.to == StationId::BROADCAST {
            frame.tries += 1;
            self.transmit_data(now);
            return;
        }
        frame.tries = frame.tries.saturating_add(1);
        frame.rate = self.peers.rate(frame.to, self.rate_control).rate();
        frame.uses_rts = frame.payload.frame_bytes() > self.config.rts_threshold;
        self.stats.attempts += 1;
        if !frame.uses_rts {
            self.transmit_data(now);
            return;
        }
        let (to, bytes, rate) = (frame.to, frame.payload.frame_bytes(), frame.rate);
        let Config { phy, basic_rate, station, .. } = self.config;
        let duration =
            phy.sifs() * 3 + phy.cts(basic_rate) + phy.airtime(bytes, rate) + phy.ack(basic_rate.min(rate));
        self.transmit(
            Frame { from: station, to, body: Body::Rts, rate: basic_rate, duration },
            Sent::Rts,
            now,
        );
    }

    fn transmit_data(&mut self, now: Instant) {
        let Config { phy, basic_rate, station, .. } = self.config;
        let Some(frame) = &mut self.in_service else { return };
        let retry = frame.data_sent > 0;
        frame.data_sent = frame.data_sent.saturating_add(1);
        let body = match frame.payload {
            Payload::Packet(packet) => Body::Data { packet, sequence: frame.sequence, retry },
            Payload::Beacon { bytes } => Body::Beacon { bytes },
        };
        let for_all = frame.to == StationId::BROADCAST;
        let (rate, duration, sent) = if for_all {
            (basic_rate, Duration::ZERO, Sent::ToAll)
        } else {
            (frame.rate, phy.sifs() + phy.ack(basic_rate.min(frame.rate)), Sent::Data)
        };
        let frame = Frame { from: station, to: frame.to, body, rate, duration };
        self.transmit(frame, sent, now);
    }

    fn transmit(&mut self, frame: Frame, sent: Sent, now: Instant) {
        self.backoff.freeze(now);
        self.exchange = Exchange::OnAir(sent);
        let airtime = self.config.phy.airtime(frame.bytes(), frame.rate);
        self.due = Some(Transmission { frame, airtime });
    }

    /// The frame in service is delivered.
    fn succeed(&mut self, now: Instant) {
        self.exchange = Exchange::None;
        self.idle_at = self.idle_at.max(now);
        let Some(frame) = self.in_service.take() else { return };
        self.retries.reset();
        if frame.to != StationId::BROADCAST {
            self.stats.delivered += 1;
            let control = self.rate_control;
            self.peers.rate(frame.to, control).on_attempt(control, true);
        }
        if let Payload::Packet(packet) = frame.payload {
            self.events.push_back(Event::Delivered { packet, to: frame.to, tries: frame.tries });
        }
        self.backoff.reset();
        self.leave_to_others();
    }

    /// The attempt under way has failed; the medium counts as idle from `idle_from`.
    fn fail(&mut self, idle_from: Instant) {
        let (Exchange::Awaiting { response, .. }, Some(frame)) = (self.exchange, self.in_service) else {
            return;
        };
        self.exchange = Exchange::None;
        self.idle_at = self.idle_at.max(idle_from);
        self.stats.failures += 1;
        self.events.push_back(Event::AttemptFailed { tries: frame.tries });
        let is_long = response == Response::Ack && frame.uses_rts;
        if response == Response::Ack {
            let control = self.rate_control;
            self.peers.rate(frame.to, control).on_attempt(control, false);
        }
        match self.retries.fail(if is_long { Length::Long } else { Length::Short }) {
            Verdict::Retry => {
                self.backoff.widen();
                self.backoff.draw();
                self.count_slots();
            }
            Verdict::GiveUp => {
                self.in_service = None;
                self.stats.dropped += 1;
                self.report_drop(frame, DropCause::RetryLimit);
                self.backoff.reset();
                self.leave_to_others();
            }
        }
    }

    fn report_drop(&mut self, frame: InService, cause: DropCause) {
        if let Payload::Packet(packet) = frame.payload {
            self.events.push_back(Event::Dropped { packet, to: frame.to, tries: frame.tries, cause });
        }
    }

    /// The backoff after each packet, whether another one waits or not: nobody sends twice without giving others a
    /// chance.
    fn leave_to_others(&mut self) {
        self.backoff.draw();
        self.serve_next();
        self.count_slots();
    }

    /// Lets the counter run from the end of the interframe space, if the medium is idle.
    fn count_slots(&mut self) {
        if self.is_busy || self.exchange != Exchange::None {
            return;
        }
        let phy = self.config.phy;
        let after_difs = self.idle_at.max(self.nav_until) + phy.difs();
        let eifs = if self.config.difs_after_eifs { phy.eifs() + phy.difs() } else { phy.eifs() };
        let after_eifs = self.corrupted_at.map_or(Instant::ZERO, |at| at + eifs);
        self.backoff.resume(after_difs.max(after_eifs));
    }

    /// The frame that leaves now, if there is one.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<Transmission> {
        self.due.take()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next deadline and what it is for. It may lie in the past, and is then to be served at once.
    pub fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match self.exchange {
            Exchange::None => {
                self.in_service?;
                self.backoff.deadline().map(|at| (at, "backoff"))
            }
            Exchange::Gap { until, .. } => Some((until, "interframe space")),
            Exchange::Promised { until } => Some((until, "data after cts")),
            Exchange::OnAir(_) => None,
            Exchange::Awaiting { response: Response::Cts, until, .. } => Some((until, "cts timeout")),
            Exchange::Awaiting { response: Response::Ack, until, .. } => Some((until, "ack timeout")),
        }
    }

    /// Throws out all packets that wait; the one in service is finished.
    pub fn flush_queue(&mut self) {
        while let Some(Queued { to, payload }) = self.queue.pop_front() {
            if let Payload::Packet(packet) = payload {
                let cause = DropCause::Flushed;
                self.events.push_back(Event::Dropped { packet, to, tries: 0, cause });
            }
        }
    }

    /// Attempts at the frame in service, the one under way included.
    pub fn tries(&self) -> u16 {
        self.in_service.map_or(0, |frame| frame.tries)
    }

    /// Its name.
    pub fn station(&self) -> StationId {
        self.config.station
    }

    /// The retry limits in force.
    pub fn retry_limits(&self) -> Limits {
        self.retries.limits()
    }

    /// Until when others have reserved the medium.
    pub fn nav_until(&self) -> Instant {
        self.nav_until
    }

    /// The contention window.
    pub fn cw(&self) -> u32 {
        self.backoff.cw()
    }

    /// Size of the packet in service, 0 if there is none.
    pub fn packet_bytes(&self) -> u32 {
        match self.in_service.map(|frame| frame.payload) {
            Some(Payload::Packet(packet)) => packet.bytes,
            _ => 0,
        }
    }

    /// Packets that wait, the one in service included.
    pub fn queue_len(&self) -> usize {
        self.queue.len() + usize::from(self.in_service.is_some())
    }

    /// Counts since the start.
    pub fn stats(&self) -> Stats {
        self.stats
    }
}
