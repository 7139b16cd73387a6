//! Whatever the medium does: no panic, no frame into a busy or reserved medium, an end to every packet.

use proptest::prelude::*;
use segue_proto::rng::Streams;
use segue_proto::time::{Duration, Instant};
use segue_proto::wifi::{Body, Config, Dcf, Event, Frame, Packet, Rate, StationId};

use crate::script::{ME, OTHER, PEER, PHY, packet};

/// Something that happens to the station, after a pause.
#[derive(Clone, Copy, Debug)]
enum Input {
    Send {
        to: StationId,
    },
    Channel(bool),
    Frame(Frame),
    Corrupted,
    /// A deadline is served, though perhaps too early.
    Timeout,
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let station = prop_oneof![Just(ME), Just(PEER), Just(OTHER), Just(StationId::BROADCAST)];
    let body = prop_oneof![
        (0u16..4, any::<bool>()).prop_map(|(sequence, retry)| Body::Data {
            packet: Packet { handle: 9, bytes: 100 },
            sequence,
            retry
        }),
        Just(Body::Rts),
        Just(Body::Cts),
        Just(Body::Ack),
        Just(Body::Beacon { bytes: 40 }),
    ];
    (station, body, 0u64..40_000, any::<bool>()).prop_map(|(to, body, micros, fast)| Frame {
        from: PEER,
        to,
        body,
        rate: if fast { Rate::Dsss11 } else { Rate::Dsss1 },
        duration: Duration::from_micros(micros),
    })
}

fn any_input() -> impl Strategy<Value = Input> {
    prop_oneof![
        2 => prop_oneof![Just(PEER), Just(OTHER), Just(StationId::BROADCAST)]
            .prop_map(|to| Input::Send { to }),
        4 => any::<bool>().prop_map(Input::Channel),
        4 => any_frame().prop_map(Input::Frame),
        1 => Just(Input::Corrupted),
        1 => Just(Input::Timeout),
    ]
}

/// A station among random inputs, and what the medium looks like from outside.
struct Harness {
    station: Dcf,
    rts: bool,
    now: Instant,
    leaves_at: Option<Instant>,
    busy_since: Option<Instant>,
    /// Until when frames for others have reserved the medium.
    reserved_until: Instant,
    sent_into_queue: u64,
    finished: u64,
}

impl Harness {
    fn new(rts: bool, use_eifs: bool) -> Self {
        let config = Config {
            rts_threshold: if rts { 0 } else { u32::MAX },
            use_eifs,
            ..Config::new(ME, PHY, Rate::Dsss11)
        };
        let station = Dcf::new(config, Streams::new(3).stream("backoff"));
        let (busy_since, leaves_at) = (None, None);
        Harness {
            station,
            rts,
            now: Instant::ZERO,
            leaves_at,
            busy_since,
            reserved_until: Instant::ZERO,
            sent_into_queue: 0,
            finished: 0,
        }
    }

    fn poll(&mut self) -> Result<(), TestCaseError> {
        if let Some(sent) = self.station.poll_transmit(self.now) {
            prop_assert!(self.leaves_at.is_none(), "sends while it sends");
            self.leaves_at = Some(self.now + sent.airtime);
            // Responses, and data that a CTS has allowed, follow a frame by SIFS whatever the medium does.
            let begins_an_exchange = match sent.frame.body {
                Body::Rts | Body::Beacon { .. } => true,
                Body::Data { .. } => sent.frame.to == StationId::BROADCAST || !self.rts,
                Body::Cts | Body::Ack => false,
            };
            if begins_an_exchange {
                prop_assert!(self.reserved_until <= self.now, "sends while others have reserved the medium");
                let busy_for = self.busy_since.map(|since| self.now.since(since));
                prop_assert!(busy_for <= Some(PHY.turnaround()), "sends into a medium busy for {busy_for:?}");
            }
        }
        while let Some(event) = self.station.poll_event() {
            self.finished += u64::from(matches!(event, Event::Delivered { .. } | Event::Dropped { .. }));
        }
        Ok(())
    }

    fn run_until(&mut self, end: Instant) -> Result<(), TestCaseError> {
        for _ in 0..100_000 {
            self.poll()?;
            let deadline = self.station.poll_timeout().map(|(when, reason)| {
                assert!(!reason.is_empty());
                when.max(self.now)
            });
            let next = [deadline, self.leaves_at].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else {
                self.now = end;
                return Ok(());
            };
            self.now = next;
            if self.leaves_at == Some(next) {
                self.leaves_at = None;
                self.station.handle_transmitted(next);
            } else {
                self.station.handle_timeout(next);
            }
        }
        Err(TestCaseError::fail("deadlines that never end"))
    }

    fn apply(&mut self, input: Input) -> Result<(), TestCaseError> {
        match input {
            Input::Send { to } => {
                let accepted = self.station.send(packet(1), to, self.now).is_ok();
                self.sent_into_queue += u64::from(accepted);
            }
            Input::Channel(busy) => {
                self.busy_since = busy.then(|| self.busy_since.unwrap_or(self.now));
                self.station.handle_channel(busy, self.now);
            }
            Input::Frame(frame) => {
                if frame.to != ME && self.leaves_at.is_none() {
                    self.reserved_until = self.reserved_until.max(self.now + frame.duration);
                }
                self.station.handle_frame(&frame, 1e-10, self.now);
            }
            Input::Corrupted => self.station.handle_corrupted(self.now),
            Input::Timeout => self.station.handle_timeout(self.now),
        }
        self.poll()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn no_input_makes_a_station_panic_or_send_into_a_busy_medium(
        inputs in prop::collection::vec((0u64..3_000, any_input()), 1..200),
        rts in any::<bool>(),
        use_eifs in any::<bool>(),
    ) {
        let mut harness = Harness::new(rts, use_eifs);
        for (pause, input) in inputs {
            let next = harness.now + Duration::from_micros(pause);
            harness.run_until(next)?;
            harness.apply(input)?;
        }
        // The medium falls silent: every packet is delivered to all or dropped after its last attempt.
        harness.apply(Input::Channel(false))?;
        harness.run_until(harness.now + Duration::from_secs(60))?;
        prop_assert_eq!(harness.finished, harness.sent_into_queue);
        prop_assert_eq!(harness.station.queue_len(), 0);
    }
}
