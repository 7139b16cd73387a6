//! Measuring the round trip, and the retransmission timeout (RFC 6298, RFC 7323).

use segue_proto::tcp::rtt::Estimator;
use segue_proto::tcp::{Command, EndReason, Flags, Profile, Segment, Timestamps};
use segue_proto::testing::{End, Pair};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;

use crate::{Solo, at, millis, plain, rfc};

#[test]
fn the_estimator_follows_rfc_6298_to_the_tick() {
    let mut estimator = Estimator::new(&Profile { min_rto: Duration::from_millis(1), ..rfc() });
    assert_eq!(estimator.rto(), Duration::from_secs(1), "before any sample");
    // Times in ms; SRTT keeps three binary places, RTTVAR two, as BSD does.
    // 100: SRTT = 100, RTTVAR = 50, RTO = 100 + 4·50.
    // 180: RTTVAR = 3/4·50 + 1/4·80 = 57.5, SRTT = 7/8·100 + 1/8·180 = 110, RTO = 110 + 230.
    // 110: RTTVAR = 3/4·57.5 = 43.125 (→ 43.25), SRTT = 110, RTO = 110 + 173.
    for (sample, srtt, rto) in [(100, 100, 300), (180, 110, 340), (110, 110, 283)] {
        estimator.sample(Duration::from_millis(sample), Instant::ZERO);
        assert_eq!(estimator.srtt(), Some(Duration::from_millis(srtt)));
        assert_eq!(estimator.rto(), Duration::from_millis(rto));
    }
}

#[test]
fn the_timeout_stays_between_its_bounds() {
    let mut estimator = Estimator::new(&rfc());
    estimator.sample(Duration::from_millis(1), Instant::ZERO);
    assert_eq!(estimator.rto(), Duration::from_secs(1));
    estimator.sample(Duration::from_secs(500), Instant::ZERO);
    assert_eq!(estimator.rto(), Duration::from_secs(60));
}

#[test]
fn the_timer_starts_with_the_first_segment_and_again_with_each_ack_of_new_data() {
    // RFC 6298 §5.1 and §5.3.
    let mut solo = Solo::sending(&plain(), "reno", 20);
    assert_eq!(solo.connection.poll_timeout(), Some((at(1_020), "retransmission")));
    solo.wait(30);
    solo.ack(1);
    assert_eq!(solo.connection.poll_timeout(), Some((at(1_050), "retransmission")));
    solo.wait(30);
    solo.ack(1);
    assert_eq!(
        solo.connection.poll_timeout(),
        Some((at(1_050), "retransmission")),
        "a duplicate does not count"
    );
}

#[test]
fn the_timer_stops_when_all_is_acknowledged() {
    let mut solo = Solo::sending(&plain(), "reno", 2);
    solo.ack(2);
    assert_eq!(solo.connection.poll_timeout(), None);
}

#[test]
fn each_timeout_doubles_the_next_up_to_the_largest() {
    let mut pair = Pair::with_profile(&Profile { user_timeout: Duration::from_secs(400), ..plain() }, "reno");
    pair.client.write(1_000);
    pair.set_fate(|by, _, _, segment| (by == End::Server || segment.len == 0).then_some(Duration::ZERO));
    pair.run_until(at(1_000_000));
    let sent: Vec<_> =
        pair.wire.iter().filter(|s| s.by == End::Client && s.segment.len > 0).map(|s| millis(s.at)).collect();
    let gaps: Vec<_> = sent.windows(2).map(|w| (w[1] - w[0]) / 1000).collect();
    assert_eq!(gaps, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]);
    assert_eq!(pair.client.end_reason(), Some(EndReason::UserTimeout));
}

#[test]
fn the_doubling_ends_with_a_sample_of_a_segment_sent_once() {
    let mut solo = Solo::sending(&plain(), "reno", 20);
    solo.expire("retransmission");
    solo.expire("retransmission");
    assert_eq!(solo.connection.rtt().backoff(), 2);
    // Segment 4 is the last that was sent before; its ACK is ambiguous and keeps the doubled timer (Karn).
    for n in 1..=4 {
        solo.wait(20);
        solo.ack(n);
        assert_eq!(solo.connection.rtt().backoff(), 2, "after the ACK of segment {n}");
    }
    solo.wait(20);
    solo.ack(5);
    assert_eq!(solo.connection.rtt().backoff(), 0);
}

#[test]
fn a_retransmitted_segment_gives_no_sample() {
    let mut solo = Solo::sending(&plain(), "reno", 4);
    solo.expire("retransmission");
    let samples = samples(&mut solo);
    solo.wait(500);
    solo.ack(4);
    assert_eq!(self::samples(&mut solo), []);
    assert_eq!(samples.len(), 1, "that of the handshake");
}

#[test]
fn a_segment_resent_by_command_gives_no_sample() {
    let mut solo = Solo::sending(&plain(), "reno", 1);
    samples(&mut solo);
    solo.wait(300);
    solo.connection.execute(Command::RetransmitNow { segments: 1 }, solo.now);
    assert_eq!(solo.transmit().len(), 1);
    solo.wait(20);
    solo.ack(1);
    assert_eq!(samples(&mut solo), []);
}

#[test]
fn one_segment_is_timed_per_round_trip() {
    let mut solo = Solo::sending(&plain(), "reno", 100);
    samples(&mut solo);
    solo.wait(40);
    solo.ack_each_up_to(4);
    // Segment 1 was timed; its ACK let 5 and 6 go, of which 5 is timed next.
    assert_eq!(samples(&mut solo), [41]);
    solo.wait(40);
    solo.ack(6);
    assert_eq!(samples(&mut solo), [43]);
}

#[test]
fn with_timestamps_every_ack_of_new_data_is_a_sample_even_of_a_retransmission() {
    let mut solo = Solo::sending(&Profile { timestamps: true, ..plain() }, "reno", 4);
    samples(&mut solo);
    solo.expire("retransmission");
    let resent = solo.now;
    solo.wait(70);
    let mut ack = solo.segment(1, 0, 1_001, Flags::ACK);
    ack.options.timestamps = Some(Timestamps { value: 2, echo: millis(resent) as u32 });
    solo.receive(&ack);
    assert_eq!(samples(&mut solo), [70]);
    assert_eq!(solo.connection.rtt().backoff(), 0);
}

#[test]
fn timestamps_are_used_only_if_both_ends_offer_them() {
    let mut both = Pair::with_profile(&Profile { timestamps: true, ..plain() }, "reno");
    both.client.write(50_000);
    both.run_until(at(1_000));
    assert!(both.wire.iter().all(|s| s.segment.options.timestamps.is_some()));
    let mut solo = Solo::connecting(&Profile { timestamps: true, ..plain() }, "reno");
    solo.transmit();
    let answer = solo.segment(0, 0, 1, Flags::SYN | Flags::ACK);
    let sent = solo.receive(&answer);
    assert!(sent.iter().all(|s| s.options.timestamps.is_none()));
}

#[test]
fn timestamps_measure_the_wire_in_both_directions() {
    let mut pair = Pair::with_profile(&Profile { timestamps: true, ..plain() }, "reno");
    pair.client.write(400_000);
    pair.run_until(at(60_000));
    assert_eq!(pair.delivered(), 400_000);
    assert_eq!(pair.client.rtt().srtt(), Some(Duration::from_millis(20)));
}

#[test]
fn the_echo_of_a_delayed_ack_is_that_of_the_first_segment_it_covers() {
    // RFC 7323 §4.3: so that the sender's sample includes the delay.
    let mut solo = stamped();
    solo.receive(&data(&solo, 1, 500));
    let sent = solo.receive(&data(&solo, 1_001, 510));
    assert_eq!((sent.len(), echo(&sent[0])), (1, 500));
}

#[test]
fn the_echo_is_not_taken_from_data_beyond_a_hole() {
    let mut solo = stamped();
    let sent = solo.receive(&data(&solo, 1_001, 500));
    assert_eq!(echo(&sent[0]), 1);
    let sent = solo.receive(&data(&solo, 1, 510));
    assert_eq!(echo(&sent[0]), 510);
}

#[test]
fn a_segment_with_an_older_timestamp_is_dropped_and_acknowledged() {
    // PAWS, RFC 7323 §5.3: the number fits, the time does not.
    let mut solo = stamped();
    solo.receive(&data(&solo, 1, 500));
    let refused = solo.connection.stats().refused;
    let sent = solo.receive(&data(&solo, 1_001, 400));
    assert_eq!(solo.connection.receiver().delivered(), 1_000);
    assert_eq!(solo.connection.stats().refused, refused + 1);
    assert_eq!(sent.len(), 1);
}

#[test]
fn the_comparison_of_timestamps_survives_their_wrap() {
    let mut solo = Solo::open(&Profile { timestamps: true, ..plain() }, "reno");
    for (start, value) in [(1, u32::MAX / 2), (1_001, u32::MAX - 5), (2_001, 3)] {
        solo.receive(&data(&solo, start, value));
    }
    assert_eq!(solo.connection.receiver().delivered(), 3_000);
}

#[test]
fn a_segment_outside_the_window_does_not_set_the_timestamp_to_echo() {
    // RFC 7323 §5.3: the window is checked before TS.Recent changes. Otherwise one stray segment with a large value
    // would make every true one look old.
    let mut solo = stamped();
    solo.receive(&data(&solo, 1, 500));
    let mut stray = data(&solo, 1, 1_000_000);
    stray.len = 500;
    solo.receive(&stray);
    solo.receive(&data(&solo, 1_001, 510));
    assert_eq!(solo.connection.receiver().delivered(), 2_000);
}

#[test]
fn a_reset_needs_no_timestamp() {
    let mut solo = stamped();
    let mut reset = solo.segment(1, 0, 1, Flags::RST);
    reset.options.timestamps = Some(Timestamps { value: 0, echo: 0 });
    solo.receive(&reset);
    assert_eq!(solo.connection.end_reason(), Some(EndReason::Reset));
}

#[test]
fn a_policy_may_refuse_a_sample() {
    struct Refuses;
    impl segue_proto::tcp::Hooks for Refuses {
        fn on_rtt_sample(&mut self, _: &segue_proto::tcp::Connection, _: Duration, _: Instant) -> bool {
            false
        }
    }
    let mut solo = Solo::sending(&plain(), "reno", 4);
    let before = solo.connection.rtt().srtt();
    solo.wait(300);
    let ack = solo.segment(1, 0, 1_001, Flags::ACK);
    solo.receive_with(&ack, &mut Refuses);
    assert_eq!(solo.connection.rtt().srtt(), before);
}

/// An open connection that uses timestamps and acknowledges every second segment; the peer's last value was 1.
fn stamped() -> Solo {
    Solo::open(
        &Profile { timestamps: true, delayed_ack: Some(Duration::from_millis(200)), ..plain() },
        "reno",
    )
}

fn data(solo: &Solo, start: u64, value: u32) -> Segment {
    let mut segment = solo.segment(start, 1_000, 1, Flags::ACK);
    segment.options.timestamps = Some(Timestamps { value, echo: 0 });
    segment
}

fn echo(segment: &Segment) -> u32 {
    segment.options.timestamps.expect("timestamps are on").echo
}

/// The samples taken since the last call, in milliseconds.
fn samples(solo: &mut Solo) -> Vec<u64> {
    let events: Vec<_> = solo.connection.drain_trace().collect();
    events
        .iter()
        .filter_map(|event| match event {
            Event::RttMeasured { rtt, .. } => Some(rtt.as_nanos() / 1_000_000),
            _ => None,
        })
        .collect()
}
