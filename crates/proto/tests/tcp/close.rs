//! Closing, resetting and giving up (RFC 9293 §3.6, RFC 5961).

use segue_proto::tcp::{EndReason, Flags, NoHooks, Profile, Segment, State};
use segue_proto::testing::{End, Pair};
use segue_proto::time::Duration;

use crate::{Solo, at, plain, rfc, sent_since};

#[test]
fn both_ends_close_one_after_the_other() {
    let mut pair = open_pair();
    pair.client.close();
    pair.run_until(at(150));
    assert_eq!((pair.client.state(), pair.server.state()), (State::FinWait2, State::CloseWait));
    pair.server.close();
    pair.run_until(at(200));
    assert_eq!((pair.client.state(), pair.server.state()), (State::TimeWait, State::Closed));
    assert_eq!(pair.server.end_reason(), Some(EndReason::Closed));
}

#[test]
fn time_wait_lasts_a_minute_and_then_the_connection_is_gone() {
    let mut pair = open_pair();
    pair.client.close();
    pair.server.close();
    pair.run_until(at(60_000));
    assert_eq!(pair.client.state(), State::TimeWait);
    pair.run_until(at(61_000));
    assert_eq!(pair.client.end_reason(), Some(EndReason::Closed));
    assert!(pair.client.is_over());
    assert!(pair.is_idle());
}

#[test]
fn a_half_closed_connection_still_carries_data_the_other_way() {
    let mut pair = open_pair();
    pair.client.close();
    pair.run_until(at(150));
    pair.server.write(100_000);
    pair.run_until(at(5_000));
    assert_eq!(pair.client.receiver().delivered(), 100_000);
    assert_eq!(pair.client.state(), State::FinWait2);
    pair.server.close();
    pair.run_until(at(6_000));
    assert_eq!(pair.server.state(), State::Closed);
}

#[test]
fn ends_that_close_at_the_same_time_both_wait_out_old_segments() {
    let mut pair = open_pair();
    pair.client.close();
    pair.server.close();
    pair.run_until(at(115));
    assert_eq!((pair.client.state(), pair.server.state()), (State::Closing, State::Closing));
    pair.run_until(at(150));
    assert_eq!((pair.client.state(), pair.server.state()), (State::TimeWait, State::TimeWait));
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut pair = open_pair();
    pair.client.close();
    pair.set_fate(|by, _, now, _| (by == End::Server || now > at(100)).then_some(Duration::ZERO));
    pair.run_until(at(1_050));
    assert_eq!(pair.server.state(), State::Established);
    pair.run_until(at(2_000));
    assert_eq!((pair.client.state(), pair.server.state()), (State::FinWait2, State::CloseWait));
    assert_eq!(pair.client.stats().retransmissions, 1);
}

#[test]
fn a_fin_sent_again_into_time_wait_is_acknowledged_and_starts_the_wait_anew() {
    let mut pair = open_pair();
    pair.client.close();
    pair.run_until(at(150));
    pair.server.close();
    // The ACK of the server's FIN is lost.
    pair.set_fate(|by, _, now, _| (by == End::Server || now > at(200)).then_some(Duration::ZERO));
    pair.run_until(at(180));
    assert_eq!((pair.client.state(), pair.server.state()), (State::TimeWait, State::LastAck));
    assert_eq!(pair.client.poll_timeout(), Some((at(60_160), "TIME-WAIT")));
    pair.run_until(at(3_000));
    assert_eq!(pair.server.state(), State::Closed);
    assert_eq!(pair.client.poll_timeout(), Some((at(61_160), "TIME-WAIT")));
}

#[test]
fn a_fin_beyond_a_hole_counts_when_the_hole_is_filled() {
    let mut solo = Solo::open(&plain(), "reno");
    let fin = solo.segment(1_001, 500, 1, Flags::ACK | Flags::FIN);
    solo.receive(&fin);
    assert_eq!(solo.connection.state(), State::Established);
    let rest = solo.segment(1, 1_000, 1, Flags::ACK);
    let ack = solo.receive(&rest);
    assert_eq!(solo.connection.state(), State::CloseWait);
    assert_eq!(solo.connection.receiver().delivered(), 1_500);
    assert_eq!(ack[0].ack, solo.peer_iss.add(1_502));
}

#[test]
fn data_behind_a_fin_is_not_delivered() {
    // RFC 9293 §3.10.7.4: "this should not occur … ignore the segment text".
    let mut solo = Solo::open(&plain(), "reno");
    for (start, len, flags) in [
        (1, 100, Flags::ACK | Flags::FIN),
        (102, 500, Flags::ACK),
        (50, 900, Flags::ACK),
        (101, 500, Flags::ACK),
    ] {
        let segment = solo.segment(start, len, 1, flags);
        solo.receive(&segment);
        assert_eq!(solo.connection.receiver().delivered(), 100, "after {start}+{len}");
        assert_eq!(solo.connection.receiver().rcv_nxt, 102);
    }
}

#[test]
fn a_fin_below_data_already_received_is_not_believed() {
    let mut solo = Solo::open(&plain(), "reno");
    for (start, len, flags) in
        [(501, 500, Flags::ACK), (301, 100, Flags::ACK | Flags::FIN), (1, 500, Flags::ACK)]
    {
        let segment = solo.segment(start, len, 1, flags);
        solo.receive(&segment);
    }
    assert_eq!(solo.connection.state(), State::Established);
    assert_eq!(solo.connection.receiver().delivered(), 1_000);
}

#[test]
fn a_fin_waits_for_all_data_before_it() {
    let mut pair = Pair::with_profile(&plain(), "new-reno");
    pair.set_fate(|_, count, _, _| (count % 11 != 7).then_some(Duration::ZERO));
    pair.client.write(200_000);
    pair.client.close();
    pair.client.write(1_000_000);
    pair.run_until(at(300_000));
    assert_eq!(pair.delivered(), 200_000, "what is written after closing does not count");
    assert_eq!(pair.server.state(), State::CloseWait);
}

#[test]
fn a_reset_with_the_very_next_number_ends_the_connection() {
    let mut solo = Solo::open(&rfc(), "reno");
    let reset = solo.segment(1, 0, 0, Flags::RST);
    assert_eq!(solo.receive(&reset), []);
    assert_eq!(solo.connection.end_reason(), Some(EndReason::Reset));
}

#[test]
fn a_reset_elsewhere_in_the_window_is_challenged() {
    // RFC 5961 §3.2: the true peer answers the challenge with a reset that fits.
    let mut solo = Solo::open(&rfc(), "reno");
    let reset = solo.segment(2, 0, 0, Flags::RST);
    let challenge = solo.receive(&reset);
    assert_eq!(
        (challenge.len(), challenge[0].flags, challenge[0].ack),
        (1, Flags::ACK, solo.peer_iss.add(1))
    );
    assert_eq!(solo.connection.state(), State::Established);
}

#[test]
fn a_reset_outside_of_the_window_is_dropped_in_silence() {
    let mut solo = Solo::open(&rfc(), "reno");
    for start in [0, 1_000_000] {
        let reset = solo.segment(start, 0, 0, Flags::RST);
        assert_eq!(solo.receive(&reset), []);
    }
    assert_eq!(solo.connection.state(), State::Established);
}

#[test]
fn an_abort_tells_the_peer() {
    let mut pair = open_pair();
    pair.client.write(50_000);
    pair.run_until(at(115));
    pair.client.abort(pair.now, &mut NoHooks);
    pair.run_until(at(200));
    assert_eq!(pair.client.end_reason(), Some(EndReason::Aborted));
    assert_eq!(pair.server.end_reason(), Some(EndReason::Reset));
    assert!(pair.is_idle());
}

#[test]
fn the_reset_of_a_sender_that_has_gone_back_still_fits() {
    // The window arrived, its ACKs did not: the peer expects what follows the window, not what is being sent again.
    let mut pair = open_pair();
    pair.client.write(4_000);
    pair.set_fate(|by, _, _, _| (by == End::Client).then_some(Duration::ZERO));
    pair.run_until(at(1_200));
    assert_eq!(pair.client.stats().timeouts, 1);
    pair.client.abort(pair.now, &mut NoHooks);
    pair.run_until(at(1_300));
    assert_eq!(pair.server.end_reason(), Some(EndReason::Reset));
}

#[test]
fn a_dead_path_ends_by_the_user_timeout_and_a_reset_goes_out() {
    let mut pair =
        Pair::with_profile(&Profile { user_timeout: Duration::from_secs(30), ..plain() }, "new-reno");
    pair.run_until(at(100));
    pair.client.write(10_000);
    pair.set_fate(|_, _, _, _| None);
    pair.run_until(at(100_000));
    assert_eq!(pair.client.end_reason(), Some(EndReason::UserTimeout));
    let last = pair.wire.last().unwrap();
    assert_eq!((last.at, last.segment.flags), (at(30_100), Flags::RST | Flags::ACK));
    assert!(pair.is_idle());
}

#[test]
fn every_ack_of_new_data_starts_the_user_s_patience_anew() {
    let mut pair =
        Pair::with_profile(&Profile { user_timeout: Duration::from_secs(5), ..plain() }, "new-reno");
    // The path works for 1.1 s of every 3 s, so that progress is slow and never stops for the user's 5 s.
    pair.set_fate(|by, _, now, _| {
        (by == End::Server || now.as_nanos() / 1_000_000 % 3_000 < 1_100).then_some(Duration::ZERO)
    });
    pair.client.write(2_000_000);
    pair.run_until(at(100_000));
    assert_eq!(pair.client.end_reason(), None);
}

#[test]
fn partial_acks_start_the_user_s_patience_anew_too() {
    let profile = Profile { initial_window: 20, user_timeout: Duration::from_secs(5), ..plain() };
    let mut solo = Solo::sending(&profile, "new-reno", 100);
    for _ in 0..3 {
        solo.ack(0);
    }
    for n in 1..=4 {
        solo.wait(200);
        solo.ack(n);
        let (deadline, _) = solo.connection.poll_timeout().unwrap();
        assert!(deadline > solo.now);
    }
    solo.expire("retransmission");
    let mut last = Vec::new();
    while solo.connection.end_reason().is_none() {
        let (deadline, why) = solo.connection.poll_timeout().unwrap();
        last = vec![(deadline, why)];
        solo.now = deadline;
        solo.connection.handle_timeout(deadline, &mut NoHooks);
        solo.transmit();
    }
    assert_eq!(last, [(at(20 + 4 * 200 + 5_000), "user timeout")]);
}

#[test]
fn an_idle_connection_lives_for_ever() {
    let mut pair = open_pair();
    pair.client.write(10_000);
    pair.run_until(at(1_000));
    assert!(pair.is_idle());
    assert_eq!(pair.client.poll_timeout(), None);
}

#[test]
fn a_connection_that_is_over_answers_nothing() {
    let mut solo = Solo::open(&rfc(), "reno");
    solo.connection.abort(solo.now, &mut NoHooks);
    assert_eq!(solo.transmit().len(), 1, "the reset");
    let data = solo.segment(1, 100, 1, Flags::ACK);
    assert_eq!(solo.receive(&data), Vec::<Segment>::new());
    solo.connection.write(1_000);
    solo.connection.close();
    assert_eq!(solo.transmit(), []);
    assert_eq!(solo.connection.poll_timeout(), None);
    assert!(solo.connection.is_over());
}

#[test]
fn closing_before_the_handshake_is_complete_sends_the_fin_after_it() {
    let mut pair = Pair::with_profile(&plain(), "reno");
    pair.client.close();
    pair.run_until(at(100));
    assert_eq!(pair.server.state(), State::CloseWait);
}

#[test]
fn an_end_that_closes_last_is_gone_at_once() {
    let mut pair = open_pair();
    pair.server.close();
    pair.run_until(at(150));
    pair.client.close();
    pair.run_until(at(200));
    assert_eq!((pair.client.state(), pair.server.state()), (State::Closed, State::TimeWait));
    assert_eq!(sent_since(&pair, End::Client, at(150)).len(), 1, "its FIN carries the ACK");
}

/// A pair whose handshake is over, at 100 ms.
fn open_pair() -> Pair {
    let mut pair = Pair::with_profile(&plain(), "new-reno");
    pair.run_until(at(100));
    pair
}
