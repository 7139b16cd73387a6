//! 802.11 stations on the radio medium: collisions, capture, hidden stations, dead links, speed by size.

use proptest::prelude::*;
use segue_proto::time::{Duration, Instant};
use segue_proto::wifi::dcf::Config as StationConfig;
use segue_proto::wifi::{DropCause, Event, Kind, Limits, Packet, Phy, Preamble, Rate, StationId};
use segue_sim::radio::cell::{Cell, Seen, Source};
use segue_sim::radio::medium::{Config as MediumConfig, FrameErrors, PairError};
use segue_sim::radio::{Position, Propagation};

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

fn station(number: u32, data: Rate) -> StationConfig {
    let config = StationConfig::new(StationId(number), Phy::Dsss(Preamble::Long), data);
    StationConfig { rts_threshold: u32::MAX, ..config }
}

/// Stations without sources at these places on a line, at 2 Mb/s.
fn line(medium: MediumConfig, places_m: &[f64], adjust: impl Fn(&mut StationConfig)) -> Cell {
    let mut cell = Cell::new(medium, 1);
    for (number, x) in places_m.iter().enumerate() {
        let mut config = station(number as u32, Rate::Dsss2);
        adjust(&mut config);
        cell.add(config, Position { x: *x, y: 0.0 }, None);
    }
    cell.watch();
    cell
}

fn packet(handle: u32) -> Packet {
    Packet { handle, bytes: 1000 }
}

fn sent_at(cell: &Cell, station: u32) -> Vec<u64> {
    let sent = |(when, who, seen): &(Instant, u32, Seen)| {
        (*who == station && matches!(seen, Seen::Sent(_))).then_some(when.as_nanos() / 1_000)
    };
    cell.log().iter().filter_map(sent).collect()
}

#[test]
fn one_exchange_takes_exactly_the_sum_of_its_parts() {
    let medium = MediumConfig { propagation_delay: false, ..MediumConfig::default() };
    let mut cell = line(medium, &[0.0, 100.0], |_| ());
    cell.run_until(at(1_000));
    cell.send(0, packet(1), StationId(1));
    cell.run_until(at(50_000));
    let data = 192 + 1034 * 8 / 2;
    let log: Vec<_> =
        cell.log().iter().map(|(when, who, seen)| (when.as_nanos() / 1_000, *who, *seen)).collect();
    assert_eq!(log.len(), 4);
    assert_eq!((log[0].0, log[0].1), (1_000, 0));
    // The receiver has the packet when the data ends, its ACK leaves SIFS later and takes 304 µs.
    assert_eq!((log[1].0, log[1].1), (1_000 + data, 1));
    assert_eq!((log[2].0, log[2].1), (1_000 + data + 10, 1));
    assert_eq!((log[3].0, log[3].1), (1_000 + data + 10 + 304, 0));
    let delivered = Event::Delivered { packet: packet(1), to: StationId(1), tries: 1 };
    assert_eq!(log[3].2, Seen::Event(delivered));
}

#[test]
fn the_delay_of_the_signal_is_the_distance_at_the_speed_of_light() {
    let mut cell = line(MediumConfig::default(), &[0.0, 240.0], |_| ());
    cell.run_until(at(1_000));
    cell.send(0, packet(1), StationId(1));
    cell.run_until(at(50_000));
    let (when, ..) = *cell.log().last().unwrap();
    // 240 m are 800 ns, there and back.
    assert_eq!(when, at(1_000 + 4_328 + 10 + 304) + Duration::from_nanos(1_600));
}

#[test]
fn frames_of_equal_power_destroy_each_other() {
    let mut cell = line(MediumConfig::default(), &[-100.0, 0.0, 100.0], |_| ());
    cell.run_until(at(1_000));
    cell.send(0, packet(1), StationId(1));
    cell.send(2, packet(2), StationId(1));
    cell.run_until(at(1_000_000));
    // Both sent at once and had to try again.
    assert_eq!((sent_at(&cell, 0)[0], sent_at(&cell, 2)[0]), (1_000, 1_000));
    assert_eq!(cell.counts(1).received, 2);
    assert!(cell.station(0).stats().failures >= 1 && cell.station(2).stats().failures >= 1);
}

#[test]
fn a_frame_ten_decibels_stronger_survives_if_capture_is_on() {
    for (capture_db, failures) in [(Some(10.0), 0), (None, 1)] {
        // 50 m against 200 m: more than 20 dB. Stations 0 and 2 hear each other only as energy, 250 m apart.
        let medium = MediumConfig { capture_db, propagation_delay: false, ..MediumConfig::default() };
        let mut cell = line(medium, &[-50.0, 0.0, 200.0], |_| ());
        cell.run_until(at(1_000));
        cell.send(0, packet(1), StationId(1));
        cell.send(2, packet(2), StationId(1));
        cell.run_until(at(6_000));
        assert_eq!(sent_at(&cell, 2)[0], 1_000);
        assert_eq!(cell.station(0).stats().failures, failures, "capture {capture_db:?}");
        assert_eq!(cell.counts(1).received, 1 - failures);
    }
}

#[test]
fn hidden_stations_collide_and_rts_protects_the_data() {
    let collisions = |rts_threshold| {
        // Carrier sense reaches as far as decoding: the outer two do not hear each other at all.
        let medium = MediumConfig {
            propagation: Propagation::FixedRange { range_m: 250.0 },
            capture_db: None,
            ..MediumConfig::default()
        };
        let mut cell = Cell::new(medium, 1);
        for (number, x) in [-200.0, 0.0, 200.0].into_iter().enumerate() {
            let config = StationConfig { rts_threshold, ..station(number as u32, Rate::Dsss2) };
            let source = (number != 1).then_some(Source { to: StationId(1), bytes: 1000 });
            cell.add(config, Position { x, y: 0.0 }, source);
        }
        cell.run_until(at(20_000_000));
        (cell.counts(1).received, cell.station(0).stats())
    };
    let (unprotected, basic) = collisions(u32::MAX);
    let (protected, rts) = collisions(0);
    let share = |failures: u64, attempts: u64| failures as f64 / attempts as f64;
    assert!(share(basic.failures, basic.attempts) > 0.5, "{basic:?}");
    assert!(protected > 2 * unprotected, "{protected} packets with RTS, {unprotected} without");
    assert!(rts.dropped * 20 < rts.delivered, "{rts:?}");
}

#[test]
fn a_station_beyond_carrier_sense_is_not_disturbed() {
    let mut cell = line(MediumConfig::default(), &[0.0, 100.0, 1_000.0, 1_100.0], |_| ());
    cell.run_until(at(1_000));
    cell.send(0, packet(1), StationId(1));
    cell.run_until(at(1_100));
    cell.send(2, packet(2), StationId(3));
    cell.run_until(at(20_000));
    assert_eq!(sent_at(&cell, 2), [1_100]);
    assert_eq!((cell.counts(1).received, cell.counts(3).received), (1, 1));
}

#[test]
fn a_station_that_leaves_is_not_heard_and_one_that_returns_is() {
    let mut cell = line(MediumConfig::default(), &[0.0, 100.0], |_| ());
    cell.medium_mut().set_position(1, Position { x: 5_000.0, y: 0.0 });
    cell.send(0, packet(1), StationId(1));
    cell.run_until(at(1_000_000));
    assert_eq!((cell.counts(1).received, cell.station(0).stats().dropped), (0, 1));
    cell.medium_mut().set_position(1, Position { x: 200.0, y: 0.0 });
    cell.send(0, packet(2), StationId(1));
    cell.run_until(at(2_000_000));
    assert_eq!(cell.counts(1).received, 1);
}

#[test]
fn frame_errors_strike_the_kind_and_direction_they_are_given_for() {
    let acks_back = PairError { from: Some(1), to: Some(0), kind: Some(Kind::Ack), p: 1.0 };
    let errors = FrameErrors { by_pair: vec![acks_back], ..FrameErrors::default() };
    let mut cell = line(MediumConfig { errors, ..MediumConfig::default() }, &[0.0, 100.0], |_| ());
    cell.send(0, packet(1), StationId(1));
    cell.run_until(at(1_000_000));
    // Every copy arrives, one is delivered, the sender learns nothing.
    assert_eq!((cell.counts(1).received, cell.station(1).stats().duplicates), (1, 6));
    assert_eq!(cell.station(0).stats().dropped, 1);
    cell.send(1, packet(2), StationId(0));
    cell.run_until(at(2_000_000));
    assert_eq!((cell.counts(0).received, cell.station(1).stats().delivered), (1, 1));
}

#[test]
fn each_frame_is_lost_with_the_given_probability() {
    let p = 0.2;
    let medium = MediumConfig { errors: FrameErrors::uniform(p), ..MediumConfig::default() };
    let mut cell = Cell::new(medium, 1);
    cell.add(station(0, Rate::Dsss2), Position::default(), Some(Source { to: StationId(1), bytes: 1000 }));
    cell.add(station(1, Rate::Dsss2), Position { x: 100.0, y: 0.0 }, None);
    cell.run_until(at(200_000_000));
    let stats = cell.station(0).stats();
    // An attempt succeeds if both its data and its ACK do.
    let share = stats.failures as f64 / stats.attempts as f64;
    let expected = 1.0 - (1.0 - p) * (1.0 - p);
    assert!((share - expected).abs() < 0.01, "{share} of the attempts failed, expected {expected}");
}

/// \[Dalal §4\], link-loss D2: RL is the number of repetitions, so a limit of RL + 1 attempts.
#[test]
fn the_time_to_exhaust_the_retries_against_a_dead_link_is_that_of_the_spec() {
    let cases = [
        (Rate::Dsss2, 6, 64.1),
        (Rate::Dsss11, 6, 39.7),
        (Rate::Dsss2, 12, 154.5),
        (Rate::Dsss11, 12, 109.0),
    ];
    for (rate, repetitions, expected_ms) in cases {
        let mut cell = Cell::new(MediumConfig::default(), 1);
        let limits = Limits { short: repetitions + 1, long: repetitions + 1 };
        let config = StationConfig { retry_limits: limits, ..station(0, rate) };
        // A TCP segment of 1000 bytes with its 40 bytes of headers.
        cell.add(config, Position::default(), Some(Source { to: StationId(1), bytes: 1040 }));
        cell.watch();
        cell.run_until(at(200_000_000));
        let dropped: Vec<Instant> = cell
            .log()
            .iter()
            .filter(|(.., seen)| {
                matches!(seen, Seen::Event(Event::Dropped { cause: DropCause::RetryLimit, .. }))
            })
            .map(|(when, ..)| *when)
            .collect();
        assert!(dropped.len() > 1_000);
        let span = dropped[dropped.len() - 1].since(dropped[0]);
        let mean_ms = span.as_secs_f64() * 1e3 / (dropped.len() - 1) as f64;
        let difference = mean_ms / expected_ms - 1.0;
        println!(
            "{rate:?} RL {repetitions}: {mean_ms:.2} ms, expected {expected_ms} ({:+.2} %)",
            100.0 * difference
        );
        assert!(
            difference.abs() < 0.03,
            "{rate:?} RL {repetitions}: {mean_ms} ms, expected {expected_ms} ms"
        );
    }
}

#[test]
fn the_cost_of_a_frame_does_not_grow_with_the_number_of_other_cells() {
    // Cells of four stations and one receiver, 2 km apart, far beyond carrier sense.
    let events_per_packet = |cells: u32| {
        let mut cell = Cell::new(MediumConfig::default(), 1);
        for number in 0..cells * 5 {
            let (home, place) = (number / 5, number % 5);
            let x = 2_000.0 * f64::from(home % 10) + 20.0 * f64::from(place);
            let y = 2_000.0 * f64::from(home / 10);
            let source = (place > 0).then_some(Source { to: StationId(home * 5), bytes: 1000 });
            cell.add(station(number, Rate::Dsss2), Position { x, y }, source);
        }
        let most = (0..cells * 5).map(|station| cell.medium_mut().neighbours().of(station).len()).max();
        assert_eq!(most, Some(4));
        cell.run_until(at(5_000_000));
        let received: u64 = (0..cells).map(|home| cell.counts(home * 5).received).sum();
        cell.events() as f64 / received as f64
    };
    let (one, hundred) = (events_per_packet(1), events_per_packet(100));
    println!("events per packet: {one:.2} in one cell, {hundred:.2} in a hundred");
    assert!((hundred / one - 1.0).abs() < 0.05);
}

/// Something that happens in a cell of six stations.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send { from: u32, to: u32 },
    Move { station: u32, x: f64 },
    Pause { micros: u64 },
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u32..6, 0u32..7).prop_map(|(from, to)| Step::Send { from, to }),
        (0u32..6, 0.0..1_500.0f64).prop_map(|(station, x)| Step::Move { station, x }),
        (0u64..20_000).prop_map(|micros| Step::Pause { micros }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn however_stations_move_every_packet_has_one_end_and_none_arrives_twice(
        steps in prop::collection::vec(any_step(), 1..120),
        rts in any::<bool>(),
        loss in 0.0..0.5f64,
    ) {
        let medium = MediumConfig { errors: FrameErrors::uniform(loss), ..MediumConfig::default() };
        let places = [0.0, 50.0, 200.0, 400.0, 600.0, 1_200.0];
        let mut cell = line(medium, &places, |config| config.rts_threshold = if rts { 0 } else { u32::MAX });
        let (mut now, mut accepted) = (0, 0);
        for (number, step) in steps.iter().enumerate() {
            match *step {
                Step::Send { from, to } => {
                    let to = if to == 6 { StationId::BROADCAST } else { StationId(to) };
                    accepted += usize::from(to != StationId(from) && cell.send(from, packet(number as u32), to));
                }
                Step::Move { station, x } => cell.medium_mut().set_position(station, Position { x, y: 0.0 }),
                Step::Pause { micros } => {
                    now += micros;
                    cell.run_until(at(now));
                }
            }
        }
        cell.run_until(at(now + 120_000_000));
        let ends = cell.log().iter().filter(|(.., seen)| {
            matches!(seen, Seen::Event(Event::Delivered { .. } | Event::Dropped { .. }))
        });
        prop_assert_eq!(ends.count(), accepted);
        let mut arrivals: Vec<(u32, u32)> = cell
            .log()
            .iter()
            .filter_map(|(_, who, seen)| match seen {
                Seen::Event(Event::Received { packet, .. }) => Some((*who, packet.handle)),
                _ => None,
            })
            .collect();
        arrivals.sort_unstable();
        let all = arrivals.len();
        arrivals.dedup();
        prop_assert_eq!(arrivals.len(), all, "a packet arrived twice");
    }
}
