//! The peer's window: closing, probing, opening, and silly windows (RFC 9293 §3.8.6).

use segue_proto::tcp::{Command, EndReason, Flags, Profile};
use segue_proto::testing::{End, Pair};
use segue_proto::time::Duration;
use segue_proto::trace::Event;

use crate::{Solo, at, millis, pair_with_slow_reader, plain, rfc};

#[test]
fn a_receiver_that_does_not_read_stops_the_sender() {
    let mut pair = pair_with_slow_reader(&Profile { window: 10, ..plain() });
    pair.client.write(30_000);
    pair.run_until(at(900));
    assert_eq!(pair.delivered(), 10_000);
    assert_eq!(pair.server.receiver().unread(), 10_000);
    assert_eq!(pair.client.sender().snd_wnd, 0);
    assert_eq!(pair.client.poll_timeout().map(|(_, why)| why), Some("zero-window probe"));
}

#[test]
fn a_closed_window_is_probed_at_growing_intervals() {
    let mut pair = pair_with_slow_reader(&Profile { window: 10, ..plain() });
    pair.client.write(30_000);
    pair.run_until(at(260_000));
    let gaps: Vec<_> = probes(&pair).windows(2).map(|w| (w[1] - w[0]) / 1000).collect();
    assert_eq!(gaps, [2, 4, 8, 16, 32, 60, 60, 60]);
}

#[test]
fn reading_reopens_the_window_at_once() {
    let mut pair = pair_with_slow_reader(&Profile { window: 10, ..plain() });
    pair.client.write(30_000);
    pair.run_until(at(900));
    pair.server.read(10_000);
    pair.run_until(at(950));
    assert_eq!(pair.delivered(), 20_000);
    assert_eq!(probes(&pair), []);
}

#[test]
fn a_lost_window_update_is_made_good_by_a_probe() {
    let mut pair = pair_with_slow_reader(&Profile { window: 10, ..plain() });
    pair.client.write(30_000);
    pair.run_until(at(900));
    pair.set_fate(|by, _, now, _| (by == End::Client || now != at(900)).then_some(Duration::ZERO));
    pair.server.read(10_000);
    pair.run_until(at(5_000));
    assert_eq!(pair.delivered(), 20_000);
    // Once for the lost update; the buffer is full again afterwards and is probed anew from the shortest interval.
    let after: Vec<_> = probes(&pair);
    assert_eq!(after.len(), 3, "{after:?}");
}

#[test]
fn a_peer_that_answers_probes_is_never_given_up() {
    let mut pair =
        pair_with_slow_reader(&Profile { window: 10, user_timeout: Duration::from_secs(90), ..plain() });
    pair.client.write(30_000);
    pair.run_until(at(1_000_000));
    assert_eq!(pair.client.end_reason(), None);
}

#[test]
fn a_peer_that_dies_with_its_window_closed_is_given_up() {
    let mut pair =
        pair_with_slow_reader(&Profile { window: 10, user_timeout: Duration::from_secs(90), ..plain() });
    pair.client.write(30_000);
    pair.run_until(at(900));
    pair.set_fate(|_, _, _, _| None);
    pair.run_until(at(1_000_000));
    assert_eq!(pair.client.end_reason(), Some(EndReason::UserTimeout));
}

#[test]
fn only_a_fin_waits_behind_a_closed_window_and_is_probed_for_too() {
    let mut pair = pair_with_slow_reader(&Profile { window: 10, ..plain() });
    pair.client.write(10_000);
    pair.client.close();
    pair.run_until(at(900));
    assert!(!pair.server.receiver().at_end());
    pair.set_fate(|by, _, now, _| (by == End::Client || now != at(900)).then_some(Duration::ZERO));
    pair.server.read(10_000);
    pair.run_until(at(10_000));
    assert!(pair.server.receiver().at_end());
}

#[test]
fn a_window_that_opens_by_less_than_a_segment_is_not_used() {
    // RFC 9293 §3.8.6.2.1: neither a full segment, nor all there is, nor half of the largest window.
    let mut solo = closed_window();
    let mut opening = solo.segment(1, 0, 60_001, Flags::ACK);
    opening.window = 900;
    assert_eq!(solo.receive(&opening), []);
    opening.window = 1_000;
    assert_eq!(solo.receive(&opening).iter().map(|s| s.len).collect::<Vec<_>>(), [1_000]);
}

#[test]
fn a_small_window_is_used_after_all_when_the_timer_expires() {
    let mut solo = closed_window();
    let mut opening = solo.segment(1, 0, 60_001, Flags::ACK);
    opening.window = 900;
    solo.receive(&opening);
    let (deadline, why) = solo.connection.poll_timeout().unwrap();
    assert_eq!(why, "zero-window probe");
    solo.now = deadline;
    solo.connection.handle_timeout(deadline, &mut segue_proto::tcp::NoHooks);
    assert_eq!(solo.transmit().iter().map(|s| s.len).collect::<Vec<_>>(), [900]);
}

#[test]
fn a_peer_with_a_small_buffer_gets_half_of_it_at_a_time() {
    // RFC 9293 §3.8.6.2.1 condition (3): its buffer will never hold two segments.
    for (opening, expected) in [(500, vec![]), (600, vec![600])] {
        let mut solo = Solo::connecting(&plain(), "reno");
        solo.transmit();
        let mut answer = solo.segment(0, 0, 1, Flags::SYN | Flags::ACK);
        answer.options.mss = Some(1_000);
        answer.window = 1_200;
        solo.connection.write(5_000);
        assert_eq!(solo.receive(&answer).iter().map(|s| s.len).collect::<Vec<_>>(), [1_000]);
        let mut ack = solo.segment(1, 0, 1_001, Flags::ACK);
        ack.window = opening;
        assert_eq!(solo.receive(&ack).iter().map(|s| s.len).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_reader_of_single_bytes_does_not_offer_them_one_by_one() {
    // RFC 9293 §3.8.6.2.2: the right edge moves by a segment or half of the buffer, also in ACKs of data.
    let mut pair = pair_with_slow_reader(&Profile { window: 10, ..plain() });
    pair.client.write(30_000);
    pair.run_until(at(900));
    pair.server.read(300);
    pair.run_until(at(5_000));
    assert_eq!(pair.delivered(), 10_000);
    // A probe has come meanwhile and was answered.
    assert!(!probes(&pair).is_empty());
    assert_eq!(pair.client.sender().snd_wnd, 0);
    pair.server.read(700);
    pair.run_until(at(6_000));
    assert_eq!(pair.delivered(), 11_000);
}

#[test]
fn the_right_edge_of_the_window_never_moves_left() {
    let mut pair = pair_with_slow_reader(&Profile { window: 10, ..plain() });
    pair.client.write(30_000);
    for step in 1..60 {
        pair.run_until(at(step * 97));
        pair.server.read(step * 37 % 1_300);
    }
    let edges: Vec<u64> = pair
        .wire
        .iter()
        .filter(|s| s.by == End::Server)
        .map(|s| u64::from(s.segment.ack.0.wrapping_sub(crate::CLIENT_ISS.0)) + u64::from(s.segment.window))
        .collect();
    assert!(edges.is_sorted(), "{edges:?}");
}

#[test]
fn a_window_withdrawn_over_data_in_flight_is_probed_and_cuts_nothing() {
    // RFC 9293 §3.8.6, MUST-35.
    let mut solo = Solo::sending(&plain(), "reno", 20);
    let outstanding = solo.connection.sender().outstanding();
    let window = solo.connection.sender().window;
    let mut closing = solo.segment(1, 0, 1, Flags::ACK);
    closing.window = 0;
    assert_eq!(solo.receive(&closing), []);
    for _ in 0..5 {
        solo.expire("zero-window probe");
        assert_eq!(solo.receive(&closing), [], "an answer to a probe is no duplicate ACK");
    }
    assert_eq!(solo.connection.stats().timeouts, 0);
    assert_eq!(solo.connection.sender().window, window);
    closing.window = 60_000;
    let again: u64 = solo.receive(&closing).iter().map(|s| u64::from(s.len)).sum();
    assert!(again >= outstanding, "all that was in flight is sent again");
    assert_eq!(solo.connection.poll_timeout().map(|(_, why)| why), Some("retransmission"));
}

#[test]
fn data_in_flight_when_the_window_is_withdrawn_is_sent_again_when_it_opens() {
    // Here the announcement of its reopening is lost as well: a probe finds out.
    let mut pair = Pair::with_profile(&plain(), "reno");
    pair.client.write(200_000);
    pair.run_until(at(45));
    pair.server.execute(Command::ZeroWindow, at(45));
    pair.run_until(at(3_000));
    assert!(pair.client.sender().outstanding() > 0, "data was in flight");
    pair.set_fate(|by, _, now, _| (by == End::Client || now != at(3_000)).then_some(Duration::ZERO));
    pair.server.execute(Command::OpenWindow { dup_acks: 3 }, at(3_000));
    pair.run_until(at(60_000));
    assert_eq!(pair.delivered(), 200_000);
}

#[test]
fn an_old_segment_does_not_change_the_window() {
    // RFC 9293 §3.10.7.4: SND.WL1 and SND.WL2.
    let mut solo = Solo::sending(&plain(), "reno", 20);
    solo.ack(2);
    let mut old = solo.segment(1, 0, 1 + 1_000, Flags::ACK);
    old.window = 7;
    solo.receive(&old);
    assert_eq!(solo.connection.sender().snd_wnd, 60_000);
}

#[test]
fn a_window_update_is_no_duplicate_ack() {
    let mut solo = Solo::sending(&plain(), "reno", 20);
    for window in [50_000, 40_000, 30_000] {
        let mut update = solo.segment(1, 0, 1, Flags::ACK);
        update.window = window;
        solo.receive(&update);
    }
    assert_eq!(solo.connection.stats().dup_acks, 0);
    assert_eq!(solo.connection.stats().fast_retransmits, 0);
}

#[test]
fn data_beyond_the_window_offered_is_not_taken() {
    let mut solo = Solo::open(&rfc(), "reno");
    let beyond = solo.segment(1 + 200_000, 1_000, 1, Flags::ACK);
    assert_eq!(solo.receive(&beyond).len(), 1, "it is answered by an ACK");
    assert!(solo.connection.receiver().beyond().is_empty());
}

/// A connection whose 60 segments are acknowledged, with more to send and a window of zero.
fn closed_window() -> Solo {
    let mut solo = Solo::sending(&Profile { initial_window: 60, ..plain() }, "reno", 70);
    let mut ack = solo.segment(1, 0, 60_001, Flags::ACK);
    ack.window = 0;
    assert_eq!(solo.receive(&ack), []);
    solo
}

/// When the client probed, in milliseconds.
fn probes(pair: &Pair) -> Vec<u64> {
    pair.trace
        .iter()
        .filter(|(_, event)| *event == Event::WindowProbed)
        .map(|(when, _)| millis(*when))
        .collect()
}
