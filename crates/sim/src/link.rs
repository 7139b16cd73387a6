//! One direction of a link: a transmitter of fixed rate with a queue, and a wire of fixed delay.
//!
//! A FIFO with a fixed rate knows on entry when a packet will leave and arrive, so each packet costs one event. The
//! packets that are queued, on air or on the wire stand in one ring in order of arrival; only the first has an event.
//! How many of them still wait is derived when somebody enters.
//!
//! ## Queue
//! Who may wait is the business of a [discipline](segue_proto::queue). `limit` packets may wait besides the one in
//! transmission. (ns-2's DropTail with `limit_` L holds L − 1.)
//!
//! ## Outages
//! See [`Effect`]. A packet is lost in a black hole if any part of its transmission falls into it.

use std::collections::VecDeque;

use segue_proto::queue::{self, Arrival, Discipline, Outcome};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::DropCause;
use segue_proto::units::BitRate;

use crate::loss::LossProcess;
use crate::outage::Effect;
use crate::world::PacketId;

/// A packet between entry and arrival.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// When its transmission begins.
    start: Instant,
    /// When it arrives.
    arrival: Instant,
    packet: PacketId,
    /// It will not arrive, but takes its time.
    lost: Option<DropCause>,
}

/// Where the loss model stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPlace {
    /// On the wire: a lost packet takes its place in the queue and its time on air.
    #[default]
    Wire,
    /// Before the queue, as ns-2's `lossmodel`.
    Entrance,
}

/// Counts of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Packets that were offered.
    pub offered: u64,
    /// Packets that arrived.
    pub arrived: u64,
    /// Bytes that arrived.
    pub arrived_bytes: u64,
    /// Packets lost to a full queue.
    pub dropped_queue: u64,
    /// Packets that the queue's discipline dropped although there was room.
    pub dropped_early: u64,
    /// Packets lost to the loss model.
    pub dropped_loss: u64,
    /// Packets lost to outages.
    pub dropped_outage: u64,
    /// Time that packets were to wait when they entered, summed.
    pub waiting: Duration,
}

impl LinkCounts {
    fn count_drop(&mut self, cause: DropCause) {
        match cause {
            DropCause::QueueFull => self.dropped_queue += 1,
            DropCause::QueueEarly => self.dropped_early += 1,
            DropCause::Loss => self.dropped_loss += 1,
            DropCause::Outage => self.dropped_outage += 1,
            // Not on a wire.
            DropCause::RetryLimit | DropCause::NoAttachment | DropCause::Agent(_) | DropCause::NoSocket => {}
        }
    }
}

/// One direction of a link.
#[derive(Debug)]
pub(crate) struct LinkDirection {
    rate: BitRate,
    delay: Duration,
    queue: queue::Any,
    /// The limit of a queue that does nothing but keep to it, which needs not be asked.
    plain_limit: Option<usize>,
    loss: LossProcess,
    loss_place: LossPlace,
    ring: VecDeque<InFlight>,
    /// Entries before this one have begun their transmission.
    begun: usize,
    /// When the transmitter is free.
    free_at: Instant,
    /// Bytes and transmission time of the last packet: most have the same size.
    last_size: (u32, Duration),
    /// Begin of the black hole, if there is one.
    hole_since: Option<Instant>,
    /// Outages of each effect under way; they may overlap.
    holes: u32,
    flushes: u32,
    pub(crate) counts: LinkCounts,
}

/// What became of a packet that was offered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Offer {
    /// It is under way; if it is now the first, its arrival needs an event.
    Taken {
        /// Arrival of the first, if that is this packet.
        first_arrival: Option<Instant>,
        /// The drop probability that the queue computed for it.
        drop_probability: f32,
    },
    /// It is lost.
    Dropped(DropCause),
}

impl LinkDirection {
    pub(crate) fn new(
        rate: BitRate,
        delay: Duration,
        queue: queue::Any,
        loss: LossProcess,
        loss_place: LossPlace,
    ) -> Self {
        LinkDirection {
            rate,
            delay,
            plain_limit: queue.plain_limit(),
            queue,
            loss,
            loss_place,
            ring: VecDeque::new(),
            begun: 0,
            free_at: Instant::ZERO,
            last_size: (0, Duration::ZERO),
            hole_since: None,
            holes: 0,
            flushes: 0,
            counts: LinkCounts::default(),
        }
    }

    /// `packet` of `bytes` bytes enters.
    pub(crate) fn offer(&mut self, packet: PacketId, bytes: u32, now: Instant) -> Offer {
        self.counts.offered += 1;
        let taken_by_nature = self.loss.takes_next().then_some(DropCause::Loss);
        if let Some(cause) = self.refusal(taken_by_nature) {
            self.counts.count_drop(cause);
            return Offer::Dropped(cause);
        }
        let is_idle = !self.is_busy(now);
        let plain_limit = self.plain_limit;
        let admitted = match plain_limit {
            None => self.ask_queue(is_idle, bytes, now),
            Some(limit) if !is_idle && self.waiting(now) >= limit => Err(DropCause::QueueFull),
            Some(_) => Ok(0.0),
        };
        let drop_probability = match admitted {
            Ok(drop_probability) => drop_probability,
            Err(cause) => {
                self.counts.count_drop(cause);
                return Offer::Dropped(cause);
            }
        };
        if self.last_size.0 != bytes {
            self.last_size = (bytes, self.rate.transmission_time(bytes));
        }
        let start = now.max(self.free_at);
        self.counts.waiting = self.counts.waiting + start.since(now);
        self.free_at = start + self.last_size.1;
        let arrival = self.free_at + self.delay;
        let was_empty = self.ring.is_empty();
        self.ring.push_back(InFlight { start, arrival, packet, lost: taken_by_nature });
        if is_idle {
            // Its transmission begins at once: it never waits.
            self.begun = self.ring.len();
        }
        let first_arrival = was_empty.then_some(arrival);
        Offer::Taken { first_arrival, drop_probability }
    }

    /// What the discipline says of a packet of `bytes`.
    #[inline(never)]
    fn ask_queue(&mut self, is_idle: bool, bytes: u32, now: Instant) -> Result<f32, DropCause> {
        let waiting = self.waiting(now);
        let idle = is_idle.then(|| now.since(self.free_at));
        let admission = self.queue.admit(Arrival { waiting, idle, bytes });
        match admission.outcome {
            Outcome::Taken => Ok(admission.drop_probability),
            Outcome::Full => Err(DropCause::QueueFull),
            Outcome::Early => Err(DropCause::QueueEarly),
        }
    }

    /// Why a packet does not even reach the queue.
    fn refusal(&self, taken_by_nature: Option<DropCause>) -> Option<DropCause> {
        if self.flushes > 0 {
            return Some(DropCause::Outage);
        }
        taken_by_nature.filter(|_| self.loss_place == LossPlace::Entrance)
    }

    /// Whoever arrives at the very instant at which a transmission ends still finds the transmitter busy: as in ns-2,
    /// where that arrival was scheduled before the transmission began.
    fn is_busy(&self, now: Instant) -> bool {
        self.free_at >= now && self.free_at > Instant::ZERO
    }

    /// Packets whose transmission has not begun.
    fn waiting(&mut self, now: Instant) -> usize {
        while self.ring.get(self.begun).is_some_and(|entry| entry.start < now) {
            self.begun += 1;
        }
        self.ring.len() - self.begun
    }

    /// The first packet reaches the far end, or would have. Gives it, its fate, and the arrival of the next. `None` if
    /// the packet that was expected now is gone with a flush.
    pub(crate) fn arrive(&mut self, now: Instant) -> Option<(PacketId, Option<DropCause>, Option<Instant>)> {
        if self.ring.front()?.arrival > now {
            return None;
        }
        let entry = self.ring.pop_front()?;
        self.begun = self.begun.saturating_sub(1);
        let in_black_hole = self.hole_since.is_some_and(|since| self.end_of_transmission(&entry) > since);
        let lost = entry.lost.or(in_black_hole.then_some(DropCause::Outage));
        if let Some(cause) = lost {
            self.counts.count_drop(cause);
        }
        Some((entry.packet, lost, self.ring.front().map(|next| next.arrival)))
    }

    fn end_of_transmission(&self, entry: &InFlight) -> Instant {
        Instant::from_nanos(entry.arrival.as_nanos() - self.delay.as_nanos())
    }

    /// An outage begins. Packets that it throws out go to `thrown_out`.
    pub(crate) fn go_down(&mut self, effect: Effect, now: Instant, thrown_out: &mut Vec<PacketId>) {
        match effect {
            Effect::BlackHole => {
                self.holes += 1;
                self.hole_since.get_or_insert(now);
            }
            Effect::Flush => {
                self.flushes += 1;
                // As in ns-2, the transmitter stays busy until the packet on it would have left.
                self.waiting(now);
                let on_air = self.begun.checked_sub(1).and_then(|last| self.ring.get(last));
                self.free_at = on_air.map_or(now, |entry| self.end_of_transmission(entry)).max(now);
                for entry in self.ring.drain(..) {
                    self.counts.count_drop(DropCause::Outage);
                    thrown_out.push(entry.packet);
                }
                self.begun = 0;
            }
        }
    }

    /// An outage of this effect ends.
    pub(crate) fn come_up(&mut self, effect: Effect, now: Instant) {
        if effect == Effect::Flush {
            self.flushes -= 1;
            return;
        }
        self.holes -= 1;
        if self.holes > 0 {
            return;
        }
        if let Some(since) = self.hole_since.take() {
            let delay = self.delay.as_nanos();
            for entry in &mut self.ring {
                let sent = Instant::from_nanos(entry.arrival.as_nanos() - delay);
                if sent > since && entry.start < now {
                    entry.lost.get_or_insert(DropCause::Outage);
                }
            }
        }
    }

    pub(crate) fn count_arrival(&mut self, bytes: u32) {
        self.counts.arrived += 1;
        self.counts.arrived_bytes += u64::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Loss;
    use segue_proto::rng::Streams;

    fn direction(limit: usize, loss: Loss, place: LossPlace) -> LinkDirection {
        let process = LossProcess::new(loss, Streams::new(1).stream("loss"));
        // 1000 bytes take 1 ms.
        let rate = BitRate::from_bps(8_000_000).unwrap();
        LinkDirection::new(rate, Duration::from_millis(5), drop_tail(limit), process, place)
    }

    fn drop_tail(limit: usize) -> queue::Any {
        let choice = crate::scenario::QueueChoice::drop_tail(limit as u32);
        let rate = BitRate::from_bps(8_000_000).unwrap();
        choice.build(queue::Place { rate, stream: Streams::new(1).stream("queue") })
    }

    fn taken(first_arrival: Option<Instant>) -> Offer {
        Offer::Taken { first_arrival, drop_probability: 0.0 }
    }

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    fn drain(d: &mut LinkDirection) -> Vec<(u32, Option<DropCause>)> {
        std::iter::from_fn(|| d.arrive(Instant::MAX)).map(|(packet, lost, _)| (packet.0, lost)).collect()
    }

    #[test]
    fn arrival_is_known_on_entry() {
        let mut d = direction(10, Loss::None, LossPlace::Wire);
        assert_eq!(d.offer(PacketId(1), 1000, at(0)), taken(Some(at(6_000))));
        assert_eq!(d.offer(PacketId(2), 1000, at(10)), taken(None));
        assert_eq!(d.arrive(at(6_000)), Some((PacketId(1), None, Some(at(7_000)))));
    }

    #[test]
    fn the_queue_holds_its_limit_besides_the_one_in_transmission() {
        let mut d = direction(2, Loss::None, LossPlace::Wire);
        for i in 0..3 {
            assert!(matches!(d.offer(PacketId(i), 1000, at(0)), Offer::Taken { .. }));
        }
        assert_eq!(d.offer(PacketId(3), 1000, at(0)), Offer::Dropped(DropCause::QueueFull));
        // After 1 ms the first has left, so one may wait again; not yet at that very moment.
        assert_eq!(d.offer(PacketId(3), 1000, at(1_000)), Offer::Dropped(DropCause::QueueFull));
        assert!(matches!(d.offer(PacketId(4), 1000, at(1_001)), Offer::Taken { .. }));
        assert_eq!(d.offer(PacketId(5), 1000, at(1_001)), Offer::Dropped(DropCause::QueueFull));
    }

    #[test]
    fn a_black_hole_takes_what_is_on_air_and_the_queue_drains_into_it() {
        let mut d = direction(10, Loss::None, LossPlace::Wire);
        for i in 0..5 {
            d.offer(PacketId(i), 1000, at(0));
        }
        d.go_down(Effect::BlackHole, at(1_500), &mut Vec::new());
        d.come_up(Effect::BlackHole, at(3_000));
        // Packet 0 was sent before, packet 1 was on air, packet 2 fell into it, 3 and 4 come after.
        let fates: Vec<bool> = drain(&mut d).iter().map(|(_, lost)| lost.is_some()).collect();
        assert_eq!(fates, [false, true, true, false, false]);
    }

    #[test]
    fn what_arrives_during_a_black_hole_is_lost_only_if_it_was_sent_into_it() {
        let mut d = direction(10, Loss::None, LossPlace::Wire);
        d.offer(PacketId(0), 1000, at(0));
        d.offer(PacketId(1), 1000, at(0));
        d.go_down(Effect::BlackHole, at(1_200), &mut Vec::new());
        assert_eq!(drain(&mut d), [(0, None), (1, Some(DropCause::Outage))]);
    }

    #[test]
    fn a_flush_empties_queue_and_wire_and_refuses_until_the_end() {
        let mut d = direction(10, Loss::None, LossPlace::Wire);
        for i in 0..3 {
            d.offer(PacketId(i), 1000, at(0));
        }
        let mut thrown_out = Vec::new();
        d.go_down(Effect::Flush, at(1_500), &mut thrown_out);
        assert_eq!(thrown_out, [PacketId(0), PacketId(1), PacketId(2)]);
        assert_eq!(d.offer(PacketId(7), 1000, at(1_600)), Offer::Dropped(DropCause::Outage));
        d.come_up(Effect::Flush, at(1_900));
        d.offer(PacketId(8), 1000, at(1_950));
        assert_eq!(drain(&mut d), [(8, None)]);
    }

    #[test]
    fn a_loss_on_the_wire_takes_time_and_a_loss_at_the_entrance_does_not() {
        let list = || Loss::List { packets: vec![0] };
        let mut wire = direction(10, list(), LossPlace::Wire);
        wire.offer(PacketId(0), 1000, at(0));
        wire.offer(PacketId(1), 1000, at(0));
        assert_eq!(wire.arrive(at(6_000)).unwrap().2, Some(at(7_000)));
        let mut entrance = direction(10, list(), LossPlace::Entrance);
        assert_eq!(entrance.offer(PacketId(0), 1000, at(0)), Offer::Dropped(DropCause::Loss));
        let second = entrance.offer(PacketId(1), 1000, at(0));
        assert_eq!(second, taken(Some(at(6_000))));
    }
}
