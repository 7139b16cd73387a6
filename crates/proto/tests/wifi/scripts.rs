//! What leaves when. Times are microseconds; DSSS with a long preamble: slot 20, SIFS 10, DIFS 50, an ACK or CTS
//! lasts 304, an RTS 352, a data frame of 1000 bytes at 11 Mb/s 192 + 752 = 944.

use segue_proto::time::Duration;
use segue_proto::wifi::dcf::AfterCts;
use segue_proto::wifi::{Body, DropCause, Event, Frame, Limits, Rate, RateControl, StationId};

use crate::script::{ME, OTHER, PEER, PHY, Script, at, data, frame, packet};

const DATA: u64 = 944;

#[test]
fn airtimes_of_one_exchange_add_up() {
    assert_eq!(PHY.airtime(1034, Rate::Dsss11), Duration::from_micros(DATA));
    let mut s = Script::new(|_| ());
    s.send_at(1_000, 1);
    s.run_until(1_944);
    s.hear(1_000 + DATA + 10, frame(PEER, ME, Body::Ack));
    assert_eq!(s.log(), [(1_000, "data")]);
    assert_eq!(s.fates(), [(true, 1)]);
    // NAV of those who overhear the data: SIFS and the ACK.
    assert_eq!(s.sent[0].1.frame.duration, Duration::from_micros(10 + 304));
}

#[test]
fn a_station_that_finds_the_medium_idle_for_difs_sends_at_once() {
    let mut s = Script::new(|_| ());
    s.send_at(777, 1);
    s.run_until(800);
    assert_eq!(s.log(), [(777, "data")]);
}

#[test]
fn a_packet_that_comes_within_difs_waits_for_its_end_only() {
    let mut s = Script::new(|_| ());
    s.hear(100, frame(OTHER, PEER, Body::Ack));
    s.send_at(404 + 20, 1);
    s.run_until(500);
    assert_eq!(s.log(), [(404 + 50, "data")]);
}

#[test]
fn a_station_that_finds_the_medium_busy_counts_slots_after_difs() {
    let mut s = Script::new(|_| ());
    s.run_until(100);
    s.station.handle_channel(true, at(100));
    s.send_at(200, 1);
    s.run_until(1_000);
    s.station.handle_channel(false, at(1_000));
    s.run_until(2_000);
    let (sent, _) = s.log()[0];
    let slots = (sent - 1_050) / 20;
    assert!(sent == 1_050 + slots * 20 && slots <= 31, "{sent}");
    assert!(slots > 0, "the seed of the script draws zero: the test shows nothing");
}

#[test]
fn the_counter_is_frozen_while_the_medium_is_busy() {
    let mut reference = Script::new(|_| ());
    let mut s = Script::new(|_| ());
    for script in [&mut reference, &mut s] {
        script.station.handle_channel(true, at(0));
        script.send_at(10, 1);
        script.run_until(100);
        script.station.handle_channel(false, at(100));
    }
    reference.run_until(5_000);
    let slots = (reference.log()[0].0 - 150) / 20;
    assert!(slots >= 3, "the seed of the script draws {slots}: too few for the test");
    // Two whole slots and a half pass; then the medium is busy from 200 to 504.
    s.hear(200, frame(OTHER, PEER, Body::Ack));
    s.run_until(5_000);
    assert_eq!(s.log()[0], (504 + 50 + (slots - 2) * 20, "data"));
}

#[test]
fn a_frame_that_was_not_decoded_is_followed_by_eifs() {
    for (use_eifs, space) in [(true, 364), (false, 50)] {
        let mut s = Script::new(|config| config.use_eifs = use_eifs);
        s.hear_corrupted(100, frame(OTHER, PEER, Body::Ack));
        s.send_at(410, 1);
        s.run_until(2_000);
        assert_eq!(s.log(), [(404 + space, "data")], "EIFS {use_eifs}");
    }
}

#[test]
fn a_difs_follows_eifs_only_where_that_is_chosen() {
    for (difs_after_eifs, space) in [(false, 364), (true, 414)] {
        let mut s = Script::new(|config| config.difs_after_eifs = difs_after_eifs);
        s.hear_corrupted(100, frame(OTHER, PEER, Body::Ack));
        s.send_at(410, 1);
        s.run_until(1_000);
        assert_eq!(s.log(), [(404 + space, "data")]);
    }
}

#[test]
fn a_frame_that_was_decoded_ends_eifs() {
    let mut s = Script::new(|_| ());
    s.hear_corrupted(100, frame(OTHER, PEER, Body::Ack));
    s.hear(414, frame(OTHER, PEER, Body::Ack));
    s.send_at(720, 1);
    s.run_until(2_000);
    assert_eq!(s.log(), [(718 + 50, "data")]);
}

#[test]
fn rts_cts_data_ack_follow_each_other_by_sifs() {
    let mut s = Script::new(|config| config.rts_threshold = 0);
    s.send_at(1_000, 1);
    s.hear(1_352 + 10, frame(PEER, ME, Body::Cts));
    let data_at = 1_362 + 304 + 10;
    s.hear(data_at + DATA + 10, frame(PEER, ME, Body::Ack));
    assert_eq!(s.log(), [(1_000, "rts"), (data_at, "data")]);
    // The RTS reserves all that follows it.
    assert_eq!(s.sent[0].1.frame.duration, Duration::from_micros(10 + 304 + 10 + DATA + 10 + 304));
    assert_eq!(s.fates(), [(true, 1)]);
}

#[test]
fn data_not_above_the_threshold_goes_without_rts() {
    for (threshold, first) in [(1034, "data"), (1033, "rts")] {
        let mut s = Script::new(|config| config.rts_threshold = threshold);
        s.send_at(1_000, 1);
        s.run_until(1_100);
        assert_eq!(s.log(), [(1_000, first)]);
    }
}

#[test]
fn an_rts_is_answered_and_reserves_the_rest() {
    let mut s = Script::new(|_| ());
    let mut rts = frame(PEER, ME, Body::Rts);
    rts.duration = Duration::from_micros(5_000);
    s.hear(1_000, rts);
    s.run_until(2_000);
    assert_eq!(s.log(), [(1_352 + 10, "cts")]);
    assert_eq!(s.sent[0].1.frame.duration, Duration::from_micros(5_000 - 10 - 304));
}

#[test]
fn a_third_station_keeps_silent_while_the_medium_is_reserved() {
    let mut s = Script::new(|_| ());
    let mut rts = frame(PEER, OTHER, Body::Rts);
    rts.duration = Duration::from_micros(5_000);
    s.hear(1_000, rts);
    s.send_at(1_400, 1);
    // An RTS to this station is not answered while others have the medium.
    s.hear(2_000, frame(StationId(3), ME, Body::Rts));
    s.run_until(20_000);
    let (sent, kind) = s.log()[0];
    assert_eq!(kind, "data");
    let slots = (sent - 6_352 - 50) / 20;
    assert!(sent == 6_352 + 50 + slots * 20 && slots <= 31, "{sent}");
}

#[test]
fn data_is_acknowledged_after_sifs_whatever_the_medium_does() {
    let mut s = Script::new(|_| ());
    let first = data(PEER, ME, 7, false);
    s.run_until(100);
    s.station.handle_channel(true, at(100));
    s.station.handle_frame(&first, 1e-8, at(1_000));
    s.run_until(2_000);
    assert_eq!(s.log(), [(1_010, "ack")]);
    assert_eq!(s.events, [Event::Received { packet: packet(7), from: PEER, power_w: 1e-8 }]);
}

#[test]
fn a_lost_ack_makes_the_sender_repeat_and_the_receiver_discard() {
    let mut sender = Script::new(|_| ());
    sender.send_at(1_000, 1);
    sender.run_until(100_000);
    assert_eq!((sender.log()[0].1, sender.log()[1].1), ("data", "data again"));
    let copies: Vec<_> = sender.sent.iter().take(2).map(|(_, sent)| sent.frame).collect();

    let mut receiver = Script::new(|config| config.station = PEER);
    copies.iter().zip([10_000, 20_000]).for_each(|(copy, start)| receiver.hear(start, *copy));
    receiver.run_until(30_000);
    assert_eq!(receiver.log().iter().filter(|(_, kind)| *kind == "ack").count(), 2);
    assert_eq!(receiver.events.len(), 1);
    assert_eq!(receiver.station.stats().duplicates, 1);
}

#[test]
fn attempts_without_ack_double_the_window_until_the_limit_and_then_the_packet_is_dropped() {
    let mut s = Script::new(|_| ());
    s.send_at(1_000, 1);
    s.run_until(1_000_000);
    let times: Vec<u64> = s.log().iter().map(|(micros, _)| *micros).collect();
    assert_eq!(times.len(), 7);
    // From one attempt to the next: data, SIFS + ACK, DIFS, slots.
    let mut window = 63;
    for pair in times.windows(2) {
        let first_slot = pair[0] + DATA + 10 + 304 + 50;
        let slots = (pair[1] - first_slot) / 20;
        assert!(
            slots <= window && pair[1] == first_slot + slots * 20,
            "{slots} slots in a window of {window}"
        );
        window = (2 * window + 1).min(1023);
    }
    let dropped = Event::Dropped { packet: packet(1), to: PEER, tries: 7, cause: DropCause::RetryLimit };
    assert_eq!(s.events.last(), Some(&dropped));
    assert_eq!(s.station.cw(), 31);
}

#[test]
fn rts_counts_in_the_short_limit_and_data_above_the_threshold_in_the_long_one() {
    let mut unanswered = Script::new(|config| config.rts_threshold = 0);
    unanswered.send_at(1_000, 1);
    unanswered.run_until(1_000_000);
    assert_eq!(unanswered.log().iter().filter(|(_, kind)| *kind == "rts").count(), 7);
    assert_eq!(unanswered.fates(), [(false, 7)]);

    let mut cts_only = Script::new(|config| config.rts_threshold = 0);
    cts_only.send_at(1_000, 1);
    let mut micros = 1_000;
    for attempt in 1..=4 {
        while cts_only.log().iter().filter(|(_, kind)| *kind == "rts").count() < attempt {
            micros += 1;
            cts_only.run_until(micros);
        }
        let (rts_at, _) = *cts_only.log().last().unwrap();
        cts_only.hear(rts_at + 352 + 10, frame(PEER, ME, Body::Cts));
        micros = rts_at + 352 + 10 + 304 + 20;
        cts_only.run_until(micros);
    }
    cts_only.run_until(1_000_000);
    assert_eq!(cts_only.log().iter().filter(|(_, kind)| kind.starts_with("data")).count(), 4);
    assert_eq!(cts_only.fates(), [(false, 4)]);
}

/// An RTS that allows 1000 bytes at 11 Mb/s, repeated 2 ms later. Without the data, the answers are these.
fn answers_to_a_repeated_rts(after_cts: AfterCts) -> Script {
    let rest = Duration::from_micros(10 + 304 + 10 + DATA + 10 + 304);
    let rts = Frame { duration: rest, ..frame(PEER, ME, Body::Rts) };
    let mut s = Script::new(|config| config.after_cts = after_cts);
    s.hear(1_000, rts);
    s.run_until(1_352 + 10 + 304);
    s.hear(1_700, rts);
    s.run_until(2_400);
    s.hear(4_000, rts);
    s.run_until(5_000);
    s
}

#[test]
fn a_station_free_after_its_cts_answers_an_rts_that_is_repeated() {
    let s = answers_to_a_repeated_rts(AfterCts::Free);
    assert_eq!(s.log(), [(1_362, "cts"), (2_062, "cts"), (4_362, "cts")]);
}

#[test]
fn a_station_that_waits_for_the_data_it_allowed_answers_no_rts_until_then() {
    // The data would end at 1362 + 304 + 10 + 944 = 2620.
    let s = answers_to_a_repeated_rts(AfterCts::Wait);
    assert_eq!(s.log(), [(1_362, "cts"), (4_362, "cts")]);
}

#[test]
fn a_station_that_waits_for_data_takes_it_and_contends_only_after_it_should_have_come() {
    let rest = Duration::from_micros(10 + 304 + 10 + DATA + 10 + 304);
    let rts = Frame { duration: rest, ..frame(PEER, ME, Body::Rts) };
    let mut s = Script::new(|config| config.after_cts = AfterCts::Wait);
    s.hear(1_000, rts);
    s.run_until(1_676);
    s.hear(1_676, Frame { rate: Rate::Dsss11, ..data(PEER, ME, 1, false) });
    s.run_until(5_000);
    assert_eq!(s.log(), [(1_362, "cts"), (1_676 + DATA + 10, "ack")]);

    let mut alone = Script::new(|config| config.after_cts = AfterCts::Wait);
    alone.hear(1_000, rts);
    alone.send_at(1_700, 1);
    alone.run_until(10_000);
    let (sent, kind) = alone.log()[1];
    // A slot for the response to come, DIFS, and the backoff of a station that found the medium in use.
    let earliest = 1_676 + DATA + 20 + 50;
    assert!(kind == "data" && sent >= earliest && (sent - earliest).is_multiple_of(20), "{sent}");
}

#[test]
fn a_scheme_may_raise_the_limit_while_the_frame_is_being_tried() {
    let mut s = Script::new(|_| ());
    s.send_at(1_000, 1);
    s.run_until(5_000);
    s.station.set_retry_limits(Limits { short: 13, long: 13 });
    s.run_until(1_000_000);
    assert_eq!(s.fates(), [(false, 13)]);
}

#[test]
fn a_scheme_may_set_the_rate_and_the_rts_threshold_from_the_next_frame_on() {
    let mut s = Script::new(|_| ());
    s.send_at(1_000, 1);
    s.run_until(1_001);
    s.station.set_rate_control(RateControl::Fixed(Rate::Dsss1));
    s.run_until(5_000);
    s.station.set_rts_threshold(0);
    s.run_until(20_000);
    let rates: Vec<Rate> = s.sent.iter().map(|(_, sent)| sent.frame.rate).collect();
    assert_eq!((rates[0], rates[1]), (Rate::Dsss11, Rate::Dsss1));
    let kinds: Vec<_> = s.log().iter().map(|(_, kind)| *kind).collect();
    assert_eq!((kinds[0], kinds.last()), ("data", Some(&"rts")), "{kinds:?}");
}

#[test]
fn a_scheme_may_lower_the_rate_and_take_all_back() {
    let mut s = Script::new(|config| config.rate_control = RateControl::Fixed(Rate::Dsss5_5));
    s.station.reduce_rate(40, 30);
    s.station.set_retry_limits(Limits { short: 2, long: 2 });
    s.send_at(1_000, 1);
    s.run_until(100_000);
    s.station.restore_defaults();
    s.send_at(200_000, 2);
    s.run_until(1_000_000);
    let rates: Vec<Rate> = s.sent.iter().map(|(_, sent)| sent.frame.rate).collect();
    assert_eq!(rates[..2], [Rate::Dsss2; 2]);
    assert_eq!(rates[2..], [Rate::Dsss5_5; 7]);
    assert_eq!(s.fates(), [(false, 2), (false, 7)]);
}

#[test]
fn a_rate_is_not_lowered_below_the_floor_nor_where_the_station_chooses_it_itself() {
    for control in [RateControl::Fixed(Rate::Dsss11), RateControl::Arf(Rate::Dsss11)] {
        let mut s = Script::new(|config| config.rate_control = control);
        s.station.reduce_rate(89, 67);
        s.send_at(1_000, 1);
        s.run_until(1_001);
        assert_eq!(s.sent[0].1.frame.rate, Rate::Dsss11);
    }
    let percent = |rate: Rate, to| rate.reduced(to, 67);
    assert_eq!([89, 78, 67].map(|to| percent(Rate::Ofdm54, to)), [Some(Rate::Ofdm48), None, None]);
    assert_eq!(
        [89, 78, 67].map(|to| percent(Rate::Ofdm48, to)),
        [Some(Rate::Ofdm36), Some(Rate::Ofdm36), None]
    );
    assert_eq!(percent(Rate::Dsss1, 89), None);
}

#[test]
fn giving_a_frame_up_takes_as_long_as_the_sum_of_its_attempts_and_mean_backoffs() {
    // [Dalal Eq. 2]: (RL + 1)·T_LINK and the sum of the mean backoffs. A frame of 1034 bytes, SIFS, ACK and DIFS.
    for (rate, link, retries) in [
        (Rate::Dsss11, 1_308, 6),
        (Rate::Dsss11, 1_308, 12),
        (Rate::Dsss2, 4_692, 6),
        (Rate::Dsss2, 4_692, 12),
    ] {
        let mut s = Script::new(|config| {
            config.rate_control = RateControl::Fixed(rate);
            config.retry_limits = Limits { short: retries + 1, long: retries + 1 };
            config.queue_limit = 1_000;
        });
        let frames = 600;
        (0..frames).for_each(|handle| s.send_at(0, handle));
        s.run_until(600_000_000);
        let backoffs: u64 = (0..=u32::from(retries)).map(|k| 20 * ((32u64 << k).min(1024) - 1) / 2).sum();
        let expected = (u64::from(retries + 1) * link + backoffs) as f64;
        let last = s.log().last().expect("all were tried").0;
        let mean = last as f64 / f64::from(frames);
        assert!((mean / expected - 1.0).abs() < 0.03, "{rate:?} {retries}: {mean} for {expected}");
    }
}

#[test]
fn each_attempt_that_fails_is_reported_before_the_fate_of_the_frame() {
    let mut s = Script::new(|config| config.retry_limits = Limits { short: 3, long: 3 });
    s.send_at(1_000, 1);
    s.run_until(100_000);
    let tries = s.events.iter().map(|event| match event {
        Event::AttemptFailed { tries } => (false, *tries),
        Event::Dropped { tries, .. } => (true, *tries),
        other => panic!("{other:?}"),
    });
    assert_eq!(tries.collect::<Vec<_>>(), [(false, 1), (false, 2), (false, 3), (true, 3)]);
}

#[test]
fn after_a_success_the_next_packet_waits_for_a_backoff() {
    let mut s = Script::new(|_| ());
    s.send_at(1_000, 1);
    s.send_at(1_001, 2);
    s.hear(1_000 + DATA + 10, frame(PEER, ME, Body::Ack));
    let ack_end = 1_000 + DATA + 10 + 304;
    s.run_until(ack_end + 50 + 31 * 20);
    let (second, _) = s.log()[1];
    assert_eq!((second - ack_end - 50) % 20, 0);
    assert!(second >= ack_end + 50);
}

#[test]
fn frames_to_all_are_not_acknowledged_and_never_repeated() {
    let mut s = Script::new(|_| ());
    s.run_until(1_000);
    s.station.send(packet(1), StationId::BROADCAST, at(1_000)).unwrap();
    s.station.send_beacon(50, at(1_000));
    s.run_until(100_000);
    let kinds: Vec<_> = s.log().iter().map(|(_, kind)| *kind).collect();
    assert_eq!(kinds, ["data", "beacon"]);
    assert!(s.sent.iter().all(|(_, sent)| sent.frame.rate == Rate::Dsss1));
    assert_eq!(s.fates(), [(true, 1)]);

    let mut hearer = Script::new(|config| config.station = OTHER);
    s.sent.iter().zip([1_000, 20_000]).for_each(|((_, sent), start)| hearer.hear(start, sent.frame));
    hearer.run_until(50_000);
    assert_eq!(hearer.log(), []);
    let packet_heard = Event::Received { packet: packet(1), from: ME, power_w: 1e-9 };
    assert_eq!(hearer.events, [packet_heard, Event::BeaconHeard { from: ME, power_w: 1e-9 }]);
}

#[test]
fn a_beacon_passes_the_packets_that_wait_and_never_piles_up() {
    let mut s = Script::new(|config| config.queue_limit = 2);
    s.run_until(1_000);
    for handle in 0..3 {
        s.station.send(packet(handle), StationId::BROADCAST, at(1_000)).unwrap();
    }
    s.station.send_beacon(50, at(1_000));
    s.station.send_beacon(50, at(1_000));
    s.run_until(100_000);
    let kinds: Vec<_> = s.log().iter().map(|(_, kind)| *kind).collect();
    assert_eq!(kinds, ["data", "beacon", "data", "data"]);
}

#[test]
fn the_queue_refuses_what_it_cannot_hold() {
    let mut s = Script::new(|config| config.queue_limit = 2);
    for handle in 0..3 {
        s.send_at(1_000, handle);
    }
    assert!(s.station.send(packet(3), PEER, at(1_000)).is_err());
    assert_eq!((s.station.queue_len(), s.station.stats().refused), (3, 1));
    s.station.flush_queue();
    s.run_until(1_001);
    assert_eq!(s.fates(), [(false, 0), (false, 0)]);
}

#[test]
fn a_medium_busy_within_the_turnaround_does_not_stop_the_station() {
    let mut s = Script::new(|_| ());
    s.hear(100, frame(OTHER, PEER, Body::Ack));
    s.send_at(410, 1);
    // Its slot begins at 454; it has turned its radio round before 450.
    s.run_until(450);
    s.station.handle_channel(true, at(450));
    s.run_until(500);
    assert_eq!(s.log(), [(454, "data")]);

    let mut stopped = Script::new(|_| ());
    stopped.hear(100, frame(OTHER, PEER, Body::Ack));
    stopped.send_at(410, 1);
    stopped.run_until(448);
    stopped.station.handle_channel(true, at(448));
    stopped.run_until(5_000);
    assert_eq!(stopped.log(), []);
}
