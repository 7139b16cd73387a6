//! What absences of the sender's station do to it: how long its MAC persists, how long nothing is sent after the return,
//! and what becomes of the window. Each value is the mean over the absences of the run, or a count.
//!
//! The definitions are those of \[Dalal §3\] and §4.1 there, seen from outside: frames on air, drops of the MAC, segments and ACKs.

use segue_proto::tcp::Verdict;
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::{DropCause, Event};

use super::{Measure, Probe, Subject};
use crate::results::{Place, Results};

/// Packets given up by the MAC.
pub(super) const MAC_DROPS: Measure = Measure {
    name: "mac-drops",
    doc: "packets that the MAC of the sender's station gave up",
    params: &[],
    watches: true,
    probe: |subject| Absences::probe(subject, Quantity::MacDrops),
};

/// `T_CRD`.
pub(super) const RETRY_DURATION: Measure = Measure {
    name: "retry-duration",
    doc: "from the first attempt of an absence to the last drop before the MAC has nothing left (T_CRD), in s",
    params: &[],
    watches: true,
    probe: |subject| Absences::probe(subject, Quantity::RetryDuration),
};

/// `T_PAUSE`.
pub(super) const PAUSE: Measure = Measure {
    name: "pause",
    doc: "from the end of an absence to the first data frame on air (T_PAUSE), in s",
    params: &[],
    watches: true,
    probe: |subject| Absences::probe(subject, Quantity::Pause),
};

/// When sending goes on.
pub(super) const RESUMPTION: Measure = Measure {
    name: "resumption",
    doc: "from the beginning of an absence to the first data frame on air after its end, in s",
    params: &[],
    watches: true,
    probe: |subject| Absences::probe(subject, Quantity::Resumption),
};

/// `T_RES`.
pub(super) const RESPONSE_TIME: Measure = Measure {
    name: "response-time",
    doc: "from the first retransmission after an absence until the window is what it was before (T_RES), in s",
    params: &[],
    watches: true,
    probe: |subject| Absences::probe(subject, Quantity::ResponseTime),
};

/// The window before.
pub(super) const WINDOW_BEFORE: Measure = Measure {
    name: "window-before",
    doc: "window before an absence: the lesser of cwnd and the receiver's, in segments",
    params: &[],
    watches: true,
    probe: |subject| Absences::probe(subject, Quantity::WindowBefore),
};

/// The least window after.
pub(super) const WINDOW_LEAST: Measure = Measure {
    name: "window-least",
    doc: "least window between the beginning of an absence and the end of the repair, in segments",
    params: &[],
    watches: true,
    probe: |subject| Absences::probe(subject, Quantity::WindowLeast),
};

/// The window at the end of the repair.
pub(super) const WINDOW_AFTER: Measure = Measure {
    name: "window-after",
    doc: "window with the ACK of all that was outstanding when the repair began, in segments",
    params: &[],
    watches: true,
    probe: |subject| Absences::probe(subject, Quantity::WindowAfter),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    MacDrops,
    RetryDuration,
    Pause,
    Resumption,
    ResponseTime,
    WindowBefore,
    WindowLeast,
    WindowAfter,
}

/// One absence and what followed it.
#[derive(Clone, Debug)]
struct Absence {
    began: Instant,
    window_before: f64,
    ended: Option<Instant>,
    first_attempt: Option<Instant>,
    last_drop: Option<Instant>,
    /// The station has had nothing left to send.
    was_drained: bool,
    first_data: Option<Instant>,
    retransmitted: Option<Instant>,
    window_least: f64,
    /// When the window came back to what it was; none while it is below.
    recovered: Option<Instant>,
    window_after: Option<f64>,
    /// Position whose acknowledgement ends the repair.
    target: u64,
}

struct Absences {
    quantity: Quantity,
    sender: Place,
    station: Option<Place>,
    /// The receiver's window, in segments.
    offered: f64,
    /// A station that is silent for longer has nothing to send.
    longest_backoff: Duration,
    /// As of the last ACK.
    window: f64,
    highest_sent: u64,
    last_frame: Instant,
    drops: u64,
    absences: Vec<Absence>,
}

impl Absences {
    fn probe(subject: &Subject<'_>, quantity: Quantity) -> Box<dyn Probe> {
        let flow = &subject.scenario.flows[subject.flow];
        let stations = subject.scenario.cells.iter().enumerate().flat_map(|(cell, state)| {
            let members = state.members.iter().enumerate();
            members.filter(|(_, member)| member.node == flow.from).map(move |(station, _)| (cell, station))
        });
        let place = stations.map(|(cell, station)| (cell, Place::Station { cell, station })).next();
        // The longest backoff has 1023 slots; frames and interframe spaces are far below 10 ms.
        let slots = |(cell, _): &(usize, Place)| subject.scenario.cells[*cell].station.phy.slot() * 1023;
        let longest_backoff = place.as_ref().map_or(Duration::ZERO, slots) + Duration::from_millis(10);
        Box::new(Absences {
            quantity,
            sender: subject.sender(),
            station: place.map(|(_, place)| place),
            offered: f64::from(flow.profile.window),
            longest_backoff,
            window: 1.0,
            highest_sent: 0,
            last_frame: Instant::ZERO,
            drops: 0,
            absences: Vec::new(),
        })
    }

    fn observe_station(&mut self, at: Instant, event: &Event) {
        match event {
            Event::OutageBegan => self.absences.push(Absence {
                began: at,
                window_before: self.window,
                ended: None,
                first_attempt: None,
                last_drop: None,
                was_drained: false,
                first_data: None,
                retransmitted: None,
                window_least: self.window,
                recovered: Some(at),
                window_after: None,
                target: self.highest_sent,
            }),
            Event::OutageEnded => {
                let highest_sent = self.highest_sent;
                if let Some(absence) = self.absences.last_mut() {
                    absence.ended = Some(at);
                    absence.target = highest_sent;
                }
            }
            Event::FrameOnAir { is_data, .. } => self.observe_frame(at, *is_data),
            Event::PacketDropped { cause: DropCause::RetryLimit, .. } => {
                self.drops += 1;
                if let Some(absence) = self.absences.last_mut().filter(|absence| !absence.was_drained) {
                    absence.last_drop = Some(at);
                }
            }
            _ => {}
        }
    }

    fn observe_frame(&mut self, at: Instant, is_data: bool) {
        let silence = at.since(self.last_frame);
        self.last_frame = at;
        let Some(absence) = self.absences.last_mut() else { return };
        match (absence.ended, absence.first_attempt) {
            (None, None) => absence.first_attempt = Some(at),
            (_, Some(_)) if silence > self.longest_backoff => absence.was_drained = true,
            _ => {}
        }
        if absence.ended.is_some() && is_data && absence.first_data.is_none() {
            absence.first_data = Some(at);
        }
    }

    fn observe_sender(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::SegmentSent { start, len, retransmission } => {
                self.highest_sent = self.highest_sent.max(start + u64::from(len));
                let absence = self.absences.last_mut().filter(|absence| absence.ended.is_some());
                if let Some(absence) = absence.filter(|_| retransmission) {
                    absence.retransmitted = absence.retransmitted.or(Some(at));
                }
            }
            Event::AckReceived { ack, cwnd, .. } => {
                self.window = cwnd.min(self.offered);
                self.note_window(at);
                let window = self.window;
                let over = |absence: &&mut Absence| absence.ended.is_some() && ack >= absence.target;
                if let Some(absence) = self.absences.last_mut().filter(over) {
                    absence.window_after = absence.window_after.or(Some(window));
                }
            }
            // What a policy keeps the window from is no cut.
            Event::TimeoutExpired { verdict, .. } => {
                self.extend_repair();
                if verdict == Verdict::Proceed {
                    self.window = 1.0;
                    self.note_window(at);
                }
            }
            Event::LossDetected { .. } => self.extend_repair(),
            _ => {}
        }
    }

    /// What is outstanding now belongs to the repair too.
    fn extend_repair(&mut self) {
        let highest_sent = self.highest_sent;
        if let Some(absence) = self.absences.last_mut().filter(|absence| absence.window_after.is_none()) {
            absence.target = absence.target.max(highest_sent);
        }
    }

    fn note_window(&mut self, at: Instant) {
        let Some(absence) = self.absences.last_mut() else { return };
        if self.window + 1e-9 < absence.window_before {
            absence.recovered = None;
        } else {
            absence.recovered = absence.recovered.or(Some(at));
        }
        if absence.window_after.is_none() {
            absence.window_least = absence.window_least.min(self.window);
        }
    }
}

impl Absence {
    fn value(&self, quantity: Quantity) -> Option<f64> {
        let seconds = |from: Option<Instant>, to: Option<Instant>| Some(to?.since(from?).as_secs_f64());
        match quantity {
            Quantity::MacDrops => None,
            Quantity::RetryDuration => seconds(self.first_attempt, self.last_drop),
            Quantity::Pause => seconds(self.ended, self.first_data),
            Quantity::Resumption => seconds(Some(self.began), self.first_data),
            Quantity::ResponseTime => {
                let recovered = self.recovered?;
                // Nothing was sent again, or the window never fell: no time.
                let from = self.retransmitted.filter(|from| *from <= recovered).unwrap_or(recovered);
                seconds(Some(from), Some(recovered))
            }
            Quantity::WindowBefore => Some(self.window_before),
            Quantity::WindowLeast => self.window_after.map(|_| self.window_least),
            Quantity::WindowAfter => self.window_after,
        }
    }
}

impl Absences {
    fn observe_at(&mut self, at: Instant, place: Place, event: &Event) {
        if Some(place) == self.station {
            self.observe_station(at, event);
        } else if place == self.sender {
            self.observe_sender(at, event);
        }
    }

    /// The value as far as the run has gone.
    fn so_far(&self) -> Option<f64> {
        if self.quantity == Quantity::MacDrops {
            return Some(self.drops as f64);
        }
        let values: Option<Vec<f64>> =
            self.absences.iter().map(|absence| absence.value(self.quantity)).collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }
}

impl Probe for Absences {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        self.observe_at(at, place, event);
    }

    fn wants_frames(&self) -> bool {
        true
    }

    fn value(&self, _results: &Results) -> Option<f64> {
        self.so_far()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATION: Place = Place::Station { cell: 0, station: 0 };
    const SENDER: Place = Place::End(0);

    fn watch(quantity: Quantity, events: &[(u64, Place, Event)]) -> Option<f64> {
        let mut probe = Absences {
            quantity,
            sender: SENDER,
            station: Some(STATION),
            offered: 20.0,
            longest_backoff: Duration::from_millis(30),
            window: 10.0,
            highest_sent: 0,
            last_frame: Instant::ZERO,
            drops: 0,
            absences: Vec::new(),
        };
        for (millis, place, event) in events {
            probe.observe_at(Instant::ZERO + Duration::from_millis(*millis), *place, event);
        }
        probe.so_far()
    }

    fn frame(at: u64) -> (u64, Place, Event) {
        (at, STATION, Event::FrameOnAir { tries: 1, bytes: 1040, is_data: true })
    }

    fn drop(at: u64) -> (u64, Place, Event) {
        (at, STATION, Event::PacketDropped { cause: DropCause::RetryLimit, bytes: 1040 })
    }

    fn ack(at: u64, ack: u64, cwnd: f64) -> (u64, Place, Event) {
        let (ssthresh, rto) = (2.0, Duration::from_secs(1));
        (at, SENDER, Event::AckReceived { ack, cwnd, ssthresh, rto })
    }

    #[test]
    fn the_mac_has_persisted_until_the_last_drop_before_it_fell_silent() {
        let events = [
            (1000, STATION, Event::OutageBegan),
            frame(1010),
            drop(1030),
            frame(1035),
            drop(1050),
            // A copy by the timer, long after the queue was empty.
            frame(1500),
            drop(1540),
            (2000, STATION, Event::OutageEnded),
            frame(2100),
        ];
        let of = |quantity| watch(quantity, &events).map(|value| (value * 1e3).round() as u64);
        assert_eq!(of(Quantity::RetryDuration), Some(40));
        assert_eq!(of(Quantity::Pause), Some(100));
        assert_eq!(of(Quantity::Resumption), Some(1100));
        assert_eq!(of(Quantity::MacDrops), Some(3000));
        assert_eq!(of(Quantity::WindowAfter), None, "nothing was acknowledged");
    }

    #[test]
    fn the_window_comes_back_when_it_is_again_what_it_was_and_stays_so() {
        let sent =
            |at, start, retransmission| (at, SENDER, Event::SegmentSent { start, len: 1000, retransmission });
        let events = [
            sent(900, 9001, false),
            ack(950, 5001, 10.0),
            (1000, STATION, Event::OutageBegan),
            (2000, STATION, Event::OutageEnded),
            sent(2010, 5001, true),
            // The ACK of what was sent before the loss was noticed: nothing is cut yet.
            ack(2200, 6001, 10.0),
            (2210, SENDER, Event::LossDetected { snd_una: 6001, verdict: Verdict::Proceed }),
            ack(2400, 10_001, 5.0),
            ack(3000, 20_001, 9.9),
            ack(3200, 30_001, 10.1),
            ack(3400, 40_001, 10.2),
        ];
        let of = |quantity| watch(quantity, &events).map(|value| (value * 1e3).round() as u64);
        assert_eq!(of(Quantity::ResponseTime), Some(1190));
        assert_eq!(of(Quantity::WindowBefore), Some(10_000));
        assert_eq!(of(Quantity::WindowLeast), Some(5_000));
        assert_eq!(of(Quantity::WindowAfter), Some(5_000));
    }

    #[test]
    fn a_timeout_that_tcp_acts_upon_is_a_window_of_one() {
        let timeout = Event::TimeoutExpired {
            snd_una: 5001,
            rto: Duration::from_secs(1),
            backoff: 0,
            verdict: Verdict::Proceed,
        };
        let events = [
            (1000, STATION, Event::OutageBegan),
            (1200, SENDER, timeout),
            (2000, STATION, Event::OutageEnded),
            ack(2400, 10_001, 4.0),
        ];
        assert_eq!(watch(Quantity::WindowLeast, &events), Some(1.0));
    }
}
