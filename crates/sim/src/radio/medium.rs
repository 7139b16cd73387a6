//! The shared medium: who senses a frame, who decodes it, who is disturbed.
//!
//! ## Driving it
//! [`Medium::transmit`] puts a frame on air and [`Medium::advance`] carries it on: both push [`Report`]s for
//! stations, to be handed over in order, and give the moment at which the frame is to be advanced next, which is
//! its one pending event. The medium knows nothing of the stations but their numbers.
//!
//! ## Movement
//! Powers and delays are those of the places at the moment at which a frame begins ([`super::neighbours`]), and hold
//! for all of it: within a frame of 10 ms a car at 30 m/s moves by 0.3 m.
//!
//! ## Reception
//! A signal at or above the carrier-sense threshold makes the medium busy. A station that is not sending locks to
//! the first signal; it decodes the frame if its power reaches the receive threshold and nothing disturbs it. A
//! second signal is harmless if it is weaker by the capture ratio; otherwise neither is decoded, and the station
//! stays locked to the one that ends later. There is no capture by a stronger frame that comes second (as in ns-2).
//! Whoever sends hears nothing: a frame whose beginning or middle was missed that way is energy only.
//!
//! ## Differences
//! * Disturbers are compared with one by one, as in ns-2, not summed up.
//! * A frame above the carrier-sense and below the receive threshold is reported as corrupted, so that EIFS
//!   follows, as in ns-2; a radio that detects no preamble there would not report it.
//!
//! ## Not modelled
//! Bit errors that depend on the signal-to-noise ratio and the rate: reception is a threshold. Who studies rate
//! control by distance gives each rate a threshold of its own by the error models, or would notice.

use segue_proto::rng::{Stream, Streams};
use segue_proto::time::{Duration, Instant};
use segue_proto::wifi::power::{dbm, from_db};
use segue_proto::wifi::{Body, Frame, Kind, Rate, StationId, Transmission};

use super::neighbours::{Neighbour, Neighbours};
use super::propagation::{Position, Propagation, Transmitter};
use crate::mobility::Motion;

/// What a medium is made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Power by distance.
    pub propagation: Propagation,
    /// The transmitters.
    pub transmitter: Transmitter,
    /// Power from which a frame is decoded, in watts.
    pub receive_w: f64,
    /// Power from which the medium is busy, in watts.
    pub carrier_sense_w: f64,
    /// By how much the frame locked to must be stronger to survive, in dB; `None`: every overlap destroys.
    pub capture_db: Option<f64>,
    /// Whether signals take time.
    pub propagation_delay: bool,
    /// What nature does to frames that would be decoded.
    pub errors: FrameErrors,
}

impl Default for Config {
    /// The 914 MHz WaveLAN card of ns-2: decoded up to 250 m, sensed up to 550 m.
    fn default() -> Self {
        Config {
            propagation: Propagation::TwoRayGround { antenna_height_m: 1.5 },
            transmitter: Transmitter::default(),
            receive_w: 3.652e-10,
            carrier_sense_w: 1.559e-11,
            capture_db: Some(10.0),
            propagation_delay: true,
            errors: FrameErrors::default(),
        }
    }
}

/// Probabilities with which a frame that would be decoded is lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameErrors {
    /// By kind, in the order of [`Kind::ALL`].
    pub by_kind: [f64; Kind::ALL.len()],
    /// By sender, receiver and kind; the first that fits a frame replaces `by_kind` for it.
    pub by_pair: Vec<PairError>,
    /// Whether a lost frame goes unnoticed but for its energy, or is reported as corrupted, so that EIFS follows (as
    /// ns-2 does with `-IncomingErrProc`).
    pub silent: bool,
}

/// Frames of one direction, or of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairError {
    /// The sender; `None`: any.
    pub from: Option<u32>,
    /// The receiver; `None`: any.
    pub to: Option<u32>,
    /// Which frames; `None`: all.
    pub kind: Option<Kind>,
    /// In `0..=1`.
    pub p: f64,
}

impl FrameErrors {
    /// Every frame of every kind is lost with probability `p`.
    pub fn uniform(p: f64) -> Self {
        FrameErrors { by_kind: [p; Kind::ALL.len()], ..FrameErrors::default() }
    }

    fn probability(&self, from: u32, to: u32, kind: Kind) -> f64 {
        let applies = |error: &&PairError| {
            error.from.is_none_or(|its| its == from)
                && error.to.is_none_or(|its| its == to)
                && error.kind.is_none_or(|its| its == kind)
        };
        self.by_pair.iter().find(applies).map_or(self.by_kind[kind as usize], |error| error.p)
    }
}

/// Something a station perceives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Who.
    pub station: u32,
    /// What.
    pub what: What,
}

/// What a station perceives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// The energy of others appears.
    Busy,
    /// The energy of others is gone.
    Idle,
    /// A frame was decoded.
    Decoded {
        /// Which.
        frame: Frame,
        /// Its power in watts: most hearers never ask, so nobody takes its logarithm here.
        power_w: f64,
    },
    /// A frame ended that could not be decoded.
    Corrupted,
    /// The station's own frame has left.
    Transmitted,
}

/// Names a frame on air: an index that is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OnAirId(pub u32);

/// A frame on air, with those who will hear it.
#[derive(Debug)]
struct OnAir {
    frame: Frame,
    from: u32,
    start: Instant,
    end: Instant,
    /// Nearest first.
    hearers: Vec<Neighbour>,
    /// Hearers whose reception has begun, and has ended.
    begun: usize,
    ended: usize,
    /// The sender knows that it has left.
    reported: bool,
}

/// What a station's radio is doing.
#[derive(Debug, Default)]
struct Radio {
    /// Frames whose energy is here, with their powers.
    present: Vec<(OnAirId, f64)>,
    locked: Option<Lock>,
    is_sending: bool,
}

/// The frame a radio tries to decode.
#[derive(Clone, Copy, Debug)]
struct Lock {
    id: OnAirId,
    power_w: f64,
    end: Instant,
    intact: bool,
}

/// The medium.
#[derive(Debug)]
pub struct Medium {
    receive_w: f64,
    /// Ratio of powers; infinite if every overlap destroys.
    capture: f64,
    errors: FrameErrors,
    neighbours: Neighbours,
    radios: Vec<Radio>,
    /// By station: nobody decodes what it sends.
    is_mute: Vec<bool>,
    /// By station: it decodes nothing.
    is_deaf: Vec<bool>,
    /// By receiver: which frames nature takes.
    error_streams: Vec<Stream>,
    on_air: Vec<OnAir>,
    free: Vec<u32>,
    streams: Streams,
}

impl Medium {
    /// A medium without stations.
    pub fn new(config: Config, streams: Streams) -> Self {
        let Config { propagation, transmitter, carrier_sense_w, propagation_delay, .. } = config;
        Medium {
            receive_w: config.receive_w,
            capture: config.capture_db.map_or(f64::INFINITY, from_db),
            errors: config.errors,
            neighbours: Neighbours::new(
                propagation,
                transmitter,
                carrier_sense_w,
                propagation_delay,
                streams,
            ),
            radios: Vec::new(),
            is_mute: Vec::new(),
            is_deaf: Vec::new(),
            error_streams: Vec::new(),
            on_air: Vec::new(),
            free: Vec::new(),
            streams,
        }
    }

    /// Adds a station; its number is the count of those before.
    pub fn add_station(&mut self, position: Position) -> u32 {
        let station = self.neighbours.add(position);
        self.radios.push(Radio::default());
        self.is_mute.push(false);
        self.is_deaf.push(false);
        self.error_streams.push(self.streams.stream(&format!("radio {station}/errors")));
        station
    }

    /// Puts a station somewhere, where it stays; frames on air keep the powers they began with.
    pub fn set_position(&mut self, station: u32, position: Position) {
        self.neighbours.set_position(station, position);
    }

    /// Sets a station in motion, or stops it, from `now` on; frames on air keep the powers they began with. The
    /// medium needs no further call until the motion itself changes: see [`super::neighbours`].
    pub fn set_motion(&mut self, station: u32, motion: Motion, now: Instant) {
        self.neighbours.set_motion(station, motion, now);
    }

    /// Where a station is at `now`.
    pub fn position(&self, station: u32, now: Instant) -> Position {
        self.neighbours.position(station, now)
    }

    /// Fills `receivers` with the stations that would decode a frame that `from` sent at `now`, and its power there
    /// in dBm. Time must not go back from call to call.
    pub fn receivers(&mut self, from: u32, receivers: &mut Vec<(u32, f64)>, now: Instant) {
        let mut hearers = Vec::new();
        self.neighbours.hearers(from, now, &mut hearers);
        receivers.clear();
        let in_range = hearers.iter().filter(|hearer| hearer.power_w >= self.receive_w);
        receivers.extend(in_range.map(|hearer| (hearer.station, dbm(hearer.power_w))));
    }

    /// Who hears whom.
    pub fn neighbours(&self) -> &Neighbours {
        &self.neighbours
    }

    /// Changes what nature does to frames.
    pub fn set_errors(&mut self, errors: FrameErrors) {
        self.errors = errors;
    }

    /// From now on nobody decodes the frames of `station` that end, or somebody does again. They are lost as by an error.
    pub fn set_mute(&mut self, station: u32, is_mute: bool) {
        self.is_mute[station as usize] = is_mute;
    }

    /// From now on `station` decodes none of the frames that end, or does again. They are lost as by an error.
    pub fn set_deaf(&mut self, station: u32, is_deaf: bool) {
        self.is_deaf[station as usize] = is_deaf;
    }

    /// `from` puts a frame on air. Gives its name and when to advance it.
    pub fn transmit(
        &mut self,
        from: u32,
        transmission: &Transmission,
        reports: &mut Vec<Report>,
        now: Instant,
    ) -> (OnAirId, Instant) {
        let radio = &mut self.radios[from as usize];
        debug_assert!(!radio.is_sending, "station {from} sends while it sends");
        radio.is_sending = true;
        radio.locked = None;
        let id = self.take_slot();
        let entry = &mut self.on_air[id.0 as usize];
        entry.frame = transmission.frame;
        entry.from = from;
        (entry.start, entry.end) = (now, now + transmission.airtime);
        self.neighbours.hearers(from, now, &mut entry.hearers);
        (entry.begun, entry.ended, entry.reported) = (0, 0, false);
        let next = self.advance(id, reports, now).expect("a frame that has just begun has not ended");
        (id, next)
    }

    fn take_slot(&mut self) -> OnAirId {
        if let Some(slot) = self.free.pop() {
            return OnAirId(slot);
        }
        self.on_air.push(OnAir {
            frame: Frame {
                from: StationId(0),
                to: StationId(0),
                body: Body::Ack,
                rate: Rate::Dsss1,
                duration: Duration::ZERO,
            },
            from: 0,
            start: Instant::ZERO,
            end: Instant::ZERO,
            hearers: Vec::new(),
            begun: 0,
            ended: 0,
            reported: true,
        });
        OnAirId((self.on_air.len() - 1) as u32)
    }

    /// Carries frame `id` on to `now`. Gives when to do so next; `None`: it is over everywhere.
    pub fn advance(&mut self, id: OnAirId, reports: &mut Vec<Report>, now: Instant) -> Option<Instant> {
        loop {
            let entry = &mut self.on_air[id.0 as usize];
            let begins = entry.hearers.get(entry.begun).map(|hearer| entry.start + hearer.delay);
            let ends = entry.hearers.get(entry.ended).map(|hearer| entry.end + hearer.delay);
            let leaves = (!entry.reported).then_some(entry.end);
            // Everybody is nearer than a frame is long, so beginnings come before ends; the sender is nearest of all.
            let Some(next) = begins.or(leaves).or(ends) else {
                self.free.push(id.0);
                return None;
            };
            if next > now {
                return Some(next);
            }
            if begins.is_some() {
                let hearer = entry.hearers[entry.begun];
                entry.begun += 1;
                let end = entry.end + hearer.delay;
                self.begin_reception(id, hearer, end, reports);
            } else if leaves.is_some() {
                entry.reported = true;
                let station = entry.from;
                self.radios[station as usize].is_sending = false;
                reports.push(Report { station, what: What::Transmitted });
            } else {
                let hearer = entry.hearers[entry.ended];
                entry.ended += 1;
                self.end_reception(id, hearer, reports);
            }
        }
    }

    fn begin_reception(&mut self, id: OnAirId, hearer: Neighbour, end: Instant, reports: &mut Vec<Report>) {
        let Neighbour { station, power_w, .. } = hearer;
        let radio = &mut self.radios[station as usize];
        if radio.present.is_empty() {
            reports.push(Report { station, what: What::Busy });
        }
        if !radio.is_sending {
            radio.locked = Some(match radio.locked {
                None => {
                    let is_clear = |other: &(OnAirId, f64)| power_w >= self.capture * other.1;
                    let intact = power_w >= self.receive_w && radio.present.iter().all(is_clear);
                    Lock { id, power_w, end, intact }
                }
                Some(lock) if lock.power_w >= self.capture * power_w => lock,
                Some(lock) if lock.end >= end => Lock { intact: false, ..lock },
                Some(_) => Lock { id, power_w, end, intact: false },
            });
        }
        radio.present.push((id, power_w));
    }

    fn end_reception(&mut self, id: OnAirId, hearer: Neighbour, reports: &mut Vec<Report>) {
        let Neighbour { station, power_w, .. } = hearer;
        let radio = &mut self.radios[station as usize];
        radio.present.retain(|(other, _)| *other != id);
        let is_last = radio.present.is_empty();
        if let Some(lock) = radio.locked.take_if(|lock| lock.id == id) {
            let OnAir { frame, from, .. } = &self.on_air[id.0 as usize];
            let p = self.errors.probability(*from, station, frame.kind());
            let is_cut_off = self.is_mute[*from as usize] || self.is_deaf[station as usize];
            let drawn = lock.intact && p > 0.0 && self.error_streams[station as usize].chance(p);
            let is_taken = drawn || lock.intact && is_cut_off;
            if lock.intact && !is_taken {
                let what = What::Decoded { frame: *frame, power_w };
                reports.push(Report { station, what });
            } else if !(is_taken && self.errors.silent) {
                reports.push(Report { station, what: What::Corrupted });
            }
        }
        if is_last {
            reports.push(Report { station, what: What::Idle });
        }
    }
}
