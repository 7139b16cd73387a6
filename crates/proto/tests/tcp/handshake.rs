//! Opening (RFC 9293 §3.5).

use segue_proto::tcp::{EndReason, Flags, NoHooks, Options, Profile, State};
use segue_proto::testing::{End, Pair};
use segue_proto::time::Duration;
use segue_proto::trace::Event;

use crate::{CLIENT_ISS, Solo, at, millis, plain, rfc};

#[test]
fn three_segments_open_both_ends() {
    let mut pair = Pair::new("rfc", "new-reno");
    pair.run_until(at(100));
    let sent: Vec<_> = pair.wire.iter().map(|s| (millis(s.at), s.by, s.segment.flags)).collect();
    let (syn, ack) = (Flags::SYN, Flags::ACK);
    assert_eq!(sent, [(0, End::Client, syn), (10, End::Server, syn | ack), (20, End::Client, ack)]);
    assert_eq!(pair.wire[1].segment.ack, CLIENT_ISS.add(1));
    assert_eq!(pair.wire[2].segment.seq, CLIENT_ISS.add(1));
    assert_eq!((pair.client.state(), pair.server.state()), (State::Established, State::Established));
    assert!(pair.is_idle());
}

#[test]
fn both_ends_measure_the_round_trip_of_the_handshake() {
    let mut pair = Pair::new("rfc", "new-reno");
    pair.run_until(at(100));
    assert_eq!(pair.client.rtt().srtt(), Some(Duration::from_millis(20)));
    assert_eq!(pair.server.rtt().srtt(), Some(Duration::from_millis(20)));
}

#[test]
fn the_window_after_the_handshake_is_the_initial_one() {
    for profile in segue_proto::tcp::profile::ALL {
        let mut pair = Pair::new(profile.name, "reno");
        pair.run_until(at(100));
        assert_eq!(pair.client.sender().window.cwnd as u32, profile.initial_window, "{}", profile.name);
    }
}

#[test]
fn a_lost_syn_is_sent_again_with_doubled_timeouts() {
    let mut pair = Pair::new("rfc", "new-reno");
    pair.set_fate(|by, count, _, _| (by == End::Server || count >= 3).then_some(Duration::ZERO));
    pair.run_until(at(20_000));
    let syns: Vec<_> =
        pair.wire.iter().filter(|s| s.segment.flags == Flags::SYN).map(|s| millis(s.at)).collect();
    assert_eq!(syns, [0, 1_000, 3_000, 7_000]);
    assert_eq!(pair.client.state(), State::Established);
}

#[test]
fn after_a_lost_syn_data_starts_with_one_segment_and_three_seconds() {
    // RFC 5681 §3.1 and RFC 6298 §5.7.
    let mut pair = Pair::new("rfc", "new-reno");
    pair.set_fate(|by, count, _, _| (by == End::Server || count > 0).then_some(Duration::ZERO));
    pair.run_until(at(5_000));
    assert_eq!(pair.client.sender().window.cwnd as u32, 1);
    assert_eq!(pair.client.rtt().srtt(), None, "the answer to a repeated SYN is no sample (Karn)");
    assert_eq!(pair.client.rtt().rto(), Duration::from_secs(3));
}

#[test]
fn a_lost_syn_ack_is_sent_again_and_the_connection_opens() {
    let mut pair = Pair::new("rfc", "new-reno");
    pair.set_fate(|by, count, _, _| (by == End::Client || count > 0).then_some(Duration::ZERO));
    pair.client.write(5_000);
    pair.run_until(at(10_000));
    assert_eq!((pair.client.state(), pair.server.state()), (State::Established, State::Established));
    assert_eq!(pair.delivered(), 5_000);
    assert!(pair.is_idle());
}

#[test]
fn a_lost_last_ack_is_replaced_when_the_syn_ack_comes_again() {
    let mut pair = Pair::new("rfc", "new-reno");
    pair.set_fate(|by, count, _, _| (by == End::Server || count != 1).then_some(Duration::ZERO));
    pair.run_until(at(500));
    assert_eq!((pair.client.state(), pair.server.state()), (State::Established, State::SynReceived));
    pair.run_until(at(5_000));
    assert_eq!(pair.server.state(), State::Established);
    assert!(pair.is_idle());
}

#[test]
fn data_completes_the_handshake_when_the_last_ack_is_lost() {
    let mut pair = Pair::new("rfc", "new-reno");
    pair.client.write(100);
    pair.set_fate(|by, _, _, segment| {
        (by == End::Server || segment.flags != Flags::ACK || segment.len > 0).then_some(Duration::ZERO)
    });
    pair.run_until(at(100));
    assert_eq!(pair.server.state(), State::Established);
    assert_eq!(pair.delivered(), 100);
}

#[test]
fn a_repeated_syn_is_answered_again_and_gives_no_round_trip_sample() {
    // The first SYN takes 950 ms: its answer leaves just before the second SYN arrives. Which of the two answers the
    // ACK belongs to cannot be told.
    let mut pair = Pair::new("rfc", "new-reno");
    pair.set_fate(|by, count, _, _| match (by, count) {
        (End::Client, 0) => Some(Duration::from_millis(950)),
        (End::Server, 0) => None,
        _ => Some(Duration::ZERO),
    });
    pair.run_until(at(1_100));
    let answers = pair.wire.iter().filter(|s| s.by == End::Server).map(|s| millis(s.at));
    assert_eq!(answers.collect::<Vec<_>>(), [960, 1_010]);
    assert_eq!(pair.server.state(), State::Established);
    assert_eq!(pair.server.rtt().srtt(), None);
}

#[test]
fn a_syn_answered_by_a_reset_ends_the_connection() {
    let mut solo = Solo::connecting(&rfc(), "reno");
    solo.transmit();
    let reset = solo.segment(0, 0, 1, Flags::RST | Flags::ACK);
    solo.receive(&reset);
    assert_eq!(solo.connection.end_reason(), Some(EndReason::Reset));
    assert_eq!(solo.connection.state(), State::Closed);
    assert_eq!(solo.connection.poll_timeout(), None);
}

#[test]
fn a_reset_that_does_not_acknowledge_the_syn_is_ignored() {
    let mut solo = Solo::connecting(&rfc(), "reno");
    solo.transmit();
    for (ack, flags) in [(2, Flags::RST | Flags::ACK), (0, Flags::RST | Flags::ACK), (1, Flags::RST)] {
        let reset = solo.segment(0, 0, ack, flags);
        solo.receive(&reset);
    }
    assert_eq!(solo.connection.state(), State::SynSent);
    assert_eq!(solo.connection.stats().refused, 3);
}

#[test]
fn a_syn_ack_for_another_syn_does_not_open() {
    let mut solo = Solo::connecting(&rfc(), "reno");
    solo.transmit();
    let answer = solo.segment(0, 0, 900, Flags::SYN | Flags::ACK);
    solo.receive(&answer);
    assert_eq!(solo.connection.state(), State::SynSent);
}

#[test]
fn a_syn_that_nobody_answers_ends_by_the_user_timeout() {
    let mut pair =
        Pair::with_profile(&Profile { user_timeout: Duration::from_secs(20), ..rfc() }, "new-reno");
    pair.set_fate(|_, _, _, _| None);
    pair.run_until(at(60_000));
    assert_eq!(pair.client.end_reason(), Some(EndReason::UserTimeout));
    assert!(pair.trace.contains(&(at(20_000), Event::Ended { reason: EndReason::UserTimeout })));
    assert!(pair.is_idle());
}

#[test]
fn the_smaller_maximum_segment_size_counts() {
    let mut solo = Solo::connecting(&rfc(), "reno");
    solo.transmit();
    let mut answer = solo.segment(0, 0, 1, Flags::SYN | Flags::ACK);
    answer.options.mss = Some(700);
    solo.connection.write(2_000);
    let sent: Vec<_> = solo.receive(&answer).iter().map(|s| s.len).collect();
    // The last piece waits for Nagle.
    assert_eq!(sent, [700, 700]);
}

#[test]
fn a_peer_that_names_no_segment_size_gets_536_bytes() {
    let mut solo = Solo::connecting(&rfc(), "reno");
    solo.transmit();
    let mut answer = solo.segment(0, 0, 1, Flags::SYN | Flags::ACK);
    answer.options = Options::default();
    solo.connection.write(536);
    assert_eq!(solo.receive(&answer)[0].len, 536);
    assert_eq!(solo.connection.sender().mss, 536);
}

#[test]
fn without_the_scale_option_windows_are_taken_as_they_stand() {
    let mut solo = Solo::connecting(&Profile { window: 1_000, ..plain() }, "reno");
    let syn = solo.transmit()[0];
    assert_eq!((syn.options.window_scale, syn.window), (Some(4), 65_535));
    let mut answer = solo.segment(0, 0, 1, Flags::SYN | Flags::ACK);
    answer.options.mss = Some(1_000);
    answer.window = 5_000;
    let ack = solo.receive(&answer)[0];
    assert_eq!(ack.window, 65_535, "not shifted");
    assert_eq!(solo.connection.sender().snd_wnd, 5_000);
}

#[test]
fn the_window_of_a_syn_is_never_scaled_and_later_ones_are() {
    let mut pair = Pair::with_profile(&Profile { window: 1_000, ..plain() }, "reno");
    pair.client.write(1);
    pair.run_until(at(25));
    assert_eq!(pair.client.sender().snd_wnd, 65_535);
    pair.run_until(at(100));
    assert_eq!(pair.client.sender().snd_wnd, 1_000_000);
}

#[test]
fn an_old_syn_in_an_open_connection_is_only_acknowledged() {
    // RFC 5961 §4.2: any SYN in a synchronised state is challenged.
    let mut solo = Solo::open(&rfc(), "reno");
    for start in [0, 1, 500] {
        let syn = solo.segment(start, 0, 0, Flags::SYN);
        let sent = solo.receive(&syn);
        assert_eq!((sent.len(), sent[0].flags), (1, Flags::ACK), "SYN at {start}");
    }
    assert_eq!(solo.connection.state(), State::Established);
}

#[test]
fn a_listener_takes_nothing_but_a_syn() {
    let mut pair = Pair::new("rfc", "reno");
    for flags in [Flags::ACK, Flags::RST, Flags::FIN | Flags::ACK, Flags::SYN | Flags::ACK, Flags::NONE] {
        let segment = segue_proto::tcp::Segment { flags, ..Default::default() };
        pair.server.handle_segment(&segment, pair.now, &mut NoHooks);
    }
    assert_eq!(pair.server.state(), State::Listen);
    assert_eq!(pair.server.stats().refused, 5);
}
