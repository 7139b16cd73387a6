//! Moving data, and when it is acknowledged (RFC 9293 §3.8.6, RFC 5681 §4.2, RFC 896).

use segue_proto::tcp::{Flags, State, profile, variant};
use segue_proto::testing::{End, Pair};
use segue_proto::time::Duration;

use crate::{CLIENT_ISS, Solo, at, millis, plain, rfc, sent_since};

#[test]
fn any_amount_around_one_segment_arrives_and_the_end_with_it() {
    for profile in profile::ALL {
        let mss = u64::from(profile.mss);
        for bytes in [0, 1, mss - 1, mss, mss + 1, 2 * mss, 2 * mss + 1] {
            let mut pair = Pair::with_profile(profile, "new-reno");
            pair.client.write(bytes);
            pair.client.close();
            pair.run_until(at(5_000));
            assert_eq!(pair.delivered(), bytes, "{}", profile.name);
            assert_eq!(pair.server.state(), State::CloseWait, "{}: {bytes} bytes", profile.name);
            let pieces = pair.client.stats().data_segments;
            assert_eq!(pieces, bytes.div_ceil(mss), "{}: {bytes} bytes", profile.name);
        }
    }
}

#[test]
fn five_megabytes_arrive_across_the_wrap_of_the_sequence_numbers() {
    for variant in variant::ALL {
        let mut pair = Pair::new("rfc", variant.name);
        pair.set_fate(|_, count, _, _| (count % 97 != 50).then_some(Duration::ZERO));
        pair.client.write(5_000_000);
        pair.run_until(at(600_000));
        assert_eq!(pair.delivered(), 5_000_000, "{}", variant.name);
        assert!(pair.client.all_acknowledged());
        assert!(pair.is_idle());
        let wrapped = pair.wire.iter().any(|s| s.by == End::Client && s.segment.seq.0 < CLIENT_ISS.0);
        assert!(wrapped, "the test does not cross the wrap");
    }
}

#[test]
fn data_flows_both_ways_at_once_through_losses() {
    for variant in variant::ALL {
        let mut pair = Pair::new("rfc", variant.name);
        pair.set_fate(|_, count, _, _| (count % 23 != 20).then_some(Duration::ZERO));
        pair.client.write(500_000);
        pair.server.write(700_000);
        pair.run_until(at(600_000));
        assert_eq!(pair.delivered(), 500_000, "{}", variant.name);
        assert_eq!(pair.client.receiver().delivered(), 700_000, "{}", variant.name);
        assert!(pair.is_idle());
    }
}

#[test]
fn reordered_segments_are_put_in_order() {
    let mut pair = Pair::new("rfc", "new-reno");
    pair.set_fate(|_, count, _, _| Some(Duration::from_millis(count * 7919 % 13)));
    pair.client.write(300_000);
    pair.run_until(at(60_000));
    assert_eq!(pair.delivered(), 300_000);
}

#[test]
fn a_segment_that_comes_twice_counts_once() {
    let mut solo = Solo::open(&plain(), "reno");
    let data = solo.segment(1, 1000, 1, Flags::ACK);
    let first = solo.receive(&data);
    let again = solo.receive(&data);
    assert_eq!(solo.connection.receiver().delivered(), 1000);
    assert_eq!((first.len(), again.len()), (1, 1), "the repeat is acknowledged too");
    assert_eq!(first[0].ack, again[0].ack);
}

#[test]
fn an_overlapping_segment_adds_only_what_is_new() {
    let mut solo = Solo::open(&plain(), "reno");
    for (start, len) in [(1, 500), (301, 400), (201, 100), (601, 400)] {
        let data = solo.segment(start, len, 1, Flags::ACK);
        solo.receive(&data);
    }
    assert_eq!(solo.connection.receiver().delivered(), 1000);
}

#[test]
fn a_single_segment_is_acknowledged_when_the_delay_is_over() {
    let mut pair = Pair::new("rfc", "reno");
    pair.client.write(100);
    pair.run_until(at(1_000));
    let acks: Vec<_> = sent_since(&pair, End::Server, at(20)).iter().map(|s| millis(s.at)).collect();
    assert_eq!(acks, [30 + 200]);
}

#[test]
fn every_second_segment_is_acknowledged_at_once() {
    let mut solo = Solo::open(&rfc(), "reno");
    let mut acks = Vec::new();
    for i in 0..6 {
        let data = solo.segment(1 + i * 1460, 1460, 1, Flags::ACK);
        acks.push(solo.receive(&data).len());
    }
    assert_eq!(acks, [0, 1, 0, 1, 0, 1]);
}

#[test]
fn data_beyond_a_hole_is_acknowledged_at_once_and_so_is_what_fills_it() {
    let mut solo = Solo::open(&rfc(), "reno");
    let mut acks = Vec::new();
    for start in [2921, 4381, 1, 1461, 5841] {
        let data = solo.segment(start, 1460, 1, Flags::ACK);
        acks.extend(solo.receive(&data).iter().map(|s| s.ack.0.wrapping_sub(solo.peer_iss.0)));
    }
    // The last segment is in order and without holes: its ACK waits.
    assert_eq!(acks, [1, 1, 1461, 5841]);
}

#[test]
fn progress_before_a_hole_that_remains_is_acknowledged_at_once() {
    // RFC 5681 §4.2.
    let mut solo = Solo::open(&rfc(), "reno");
    let acks = [4381, 1, 1461].map(|start| {
        let data = solo.segment(start, 1460, 1, Flags::ACK);
        solo.receive(&data).len()
    });
    assert_eq!(acks, [1, 1, 1]);
}

#[test]
fn without_delayed_acks_every_segment_is_acknowledged() {
    let mut pair = Pair::new("ns-2.35", "reno");
    pair.client.write(50_000);
    pair.run_until(at(5_000));
    assert_eq!(sent_since(&pair, End::Server, at(20)).len(), 50);
}

#[test]
fn data_carries_the_ack_that_was_held_back() {
    let mut solo = Solo::open(&rfc(), "reno");
    let data = solo.segment(1, 100, 1, Flags::ACK);
    assert_eq!(solo.receive(&data), []);
    assert_eq!(solo.connection.poll_timeout().map(|(_, why)| why), Some("delayed ACK"));
    solo.connection.write(10);
    let sent = solo.transmit();
    assert_eq!((sent.len(), sent[0].ack, sent[0].len), (1, solo.peer_iss.add(101), 10));
    assert_eq!(solo.connection.poll_timeout().map(|(_, why)| why), Some("retransmission"));
}

#[test]
fn nagle_holds_a_small_segment_back_until_all_before_it_is_acknowledged() {
    let mut solo = Solo::open(&rfc(), "reno");
    let mut sent = Vec::new();
    for _ in 0..3 {
        solo.connection.write(100);
        sent.extend(solo.transmit().iter().map(|s| s.len));
    }
    assert_eq!(sent, [100]);
    let ack = solo.segment(1, 0, 101, Flags::ACK);
    assert_eq!(solo.receive(&ack).iter().map(|s| s.len).collect::<Vec<_>>(), [200]);
}

#[test]
fn nagle_lets_a_full_segment_go() {
    let mut solo = Solo::open(&rfc(), "reno");
    solo.connection.write(100);
    solo.transmit();
    solo.connection.write(1460);
    assert_eq!(solo.transmit().iter().map(|s| s.len).collect::<Vec<_>>(), [1460]);
}

#[test]
fn nagle_does_not_hold_the_last_segment_of_a_closed_stream() {
    let mut solo = Solo::open(&rfc(), "reno");
    solo.connection.write(100);
    solo.transmit();
    solo.connection.write(50);
    assert_eq!(solo.transmit(), []);
    solo.connection.close();
    let last = solo.transmit();
    assert_eq!((last.len(), last[0].len, last[0].flags), (1, 50, Flags::ACK | Flags::FIN));
}

#[test]
fn without_nagle_small_segments_leave_at_once() {
    let mut solo = Solo::open(&plain(), "reno");
    let mut sent = Vec::new();
    for _ in 0..3 {
        solo.connection.write(100);
        sent.extend(solo.transmit().iter().map(|s| s.len));
    }
    assert_eq!(sent, [100, 100, 100]);
}

#[test]
fn a_retransmission_of_a_small_segment_takes_nothing_unsent_along() {
    // What is resent beside `SND.NXT` is not booked as new: were it longer than what was sent, the peer's ACK would
    // cover data that the sender believes unsent, and be refused.
    for variant in ["reno", "new-reno"] {
        let mut solo = Solo::open(&plain(), variant);
        let mut ack = solo.segment(1, 0, 1, Flags::ACK);
        ack.window = 400;
        solo.receive(&ack);
        for _ in 0..4 {
            solo.connection.write(100);
            solo.transmit();
        }
        // More is written; the peer's window is full.
        solo.connection.write(5_000);
        solo.connection.close();
        assert_eq!(solo.transmit(), []);
        solo.receive(&ack);
        solo.receive(&ack);
        let resent = solo.receive(&ack);
        assert_eq!(
            resent.iter().map(|s| (s.len, s.flags)).collect::<Vec<_>>(),
            [(400, Flags::ACK)],
            "{variant}"
        );
    }
}

#[test]
fn a_fin_that_was_not_sent_does_not_leave_with_a_retransmission() {
    let mut solo = Solo::open(&plain(), "reno");
    let mut ack = solo.segment(1, 0, 1, Flags::ACK);
    ack.window = 300;
    solo.receive(&ack);
    for _ in 0..3 {
        solo.connection.write(100);
        solo.transmit();
    }
    solo.connection.close();
    for _ in 0..3 {
        let sent = solo.receive(&ack);
        assert!(sent.iter().all(|s| !s.flags.contains(Flags::FIN)), "{sent:?}");
    }
    assert_eq!(solo.connection.state(), State::Established);
}

#[test]
fn acks_sent_while_going_back_n_are_acceptable_to_the_peer() {
    // A pure ACK bears the highest number sent, not the one that a retransmission has gone back to: the peer has
    // received past that and would drop the ACK.
    let mut solo = Solo::sending(&plain(), "reno", 4);
    solo.expire("retransmission");
    let data = solo.segment(1, 1000, 1, Flags::ACK);
    let sent = solo.receive(&data);
    assert_eq!((sent.len(), sent[0].len), (1, 0));
    assert_eq!(solo.connection.sent_offset(sent[0].seq), Some(4_000));
}

#[test]
fn two_ends_that_both_go_back_n_agree_again() {
    let mut pair = Pair::with_profile(&plain(), "reno");
    pair.client.write(40_000);
    pair.server.write(40_000);
    // Both windows arrive, no ACK does.
    pair.set_fate(|_, _, now, _| (now < at(45) || now > at(2_000)).then_some(Duration::ZERO));
    pair.run_until(at(20_000));
    assert_eq!(pair.delivered(), 40_000);
    assert_eq!(pair.client.receiver().delivered(), 40_000);
    assert!(pair.wire.len() < 400, "{} segments: the ends answer each other's ACKs", pair.wire.len());
}
