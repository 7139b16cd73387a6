//! ILC-TCP row by row: the state tables and the resolutions A1–A16 of `papers/ilc-tcp/README.md` that concern TCP and the State
//! Manager. (A14 and A16 belong to `link_state` and `ip_state`.)

use segue_proto::params::Params;
use segue_proto::schemes::{Action, Scheme, Spec};
use segue_proto::signal::{Scope, Signal, SignalKind, Source};
use segue_proto::tcp::cc::Window;
use segue_proto::tcp::{
    Command, Config, Connection, ConnectionId, Control, EndReason, Flags, NoHooks, Options, Profile, Segment,
    SeqNumber, State, Timestamps, Variant, Verdict,
};
use segue_proto::testing::{End, Pair};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;

const DEFAULTS: Knobs = &[];
const LINK_ONLY: Knobs = &[("layers", "link")];

/// When the link fails in most tests, and when it is back. The timeout between falls at [`FROZEN_AT`].
const DOWN: u64 = 210;
const FROZEN_AT: u64 = 1_200;
const UP: u64 = 3_000;

// ---- State Manager -------------------------------------------------------------------------------------------------

#[test]
fn bad_news_is_recorded_and_nothing_is_said_to_tcp() {
    for kind in [SignalKind::LinkNotOk, SignalKind::IpNotOk] {
        let mut host = Host::new(DEFAULTS, 1);
        assert_eq!(host.hear(kind), []);
    }
}

#[test]
fn good_news_without_a_frozen_connection_says_nothing_to_tcp() {
    for kind in [SignalKind::LinkOk, SignalKind::IpOk] {
        let mut host = Host::new(DEFAULTS, 1);
        assert_eq!(host.hear(kind), []);
    }
}

#[test]
fn a_timeout_in_good_times_proceeds_normally() {
    let mut host = Host::new(DEFAULTS, 1);
    assert_eq!(host.expire(1), Verdict::Proceed);
}

#[test]
fn a_timeout_in_bad_times_freezes() {
    for kind in [SignalKind::LinkNotOk, SignalKind::IpNotOk] {
        let mut host = Host::new(DEFAULTS, 1);
        host.hear(kind);
        assert_eq!(host.expire(1), Verdict::Freeze);
    }
}

#[test]
fn with_link_only_news_of_ip_does_not_count() {
    let mut host = Host::new(LINK_ONLY, 1);
    host.hear(SignalKind::IpNotOk);
    assert_eq!(host.expire(1), Verdict::Proceed);
}

#[test]
fn a_restore_is_said_once_for_each_freeze() {
    let mut host = Host::new(DEFAULTS, 1);
    host.hear(SignalKind::LinkNotOk);
    host.expire(1);
    assert_eq!(host.hear(SignalKind::LinkOk), [1]);
    assert_eq!(host.hear(SignalKind::LinkOk), []);
    assert_eq!(host.hear(SignalKind::IpOk), []);
}

#[test]
fn news_heard_twice_is_harmless() {
    let mut host = Host::new(DEFAULTS, 1);
    for _ in 0..3 {
        host.hear(SignalKind::LinkNotOk);
    }
    assert_eq!(host.expire(1), Verdict::Freeze);
    assert_eq!(host.hear(SignalKind::LinkNotOk), []);
    assert_eq!(host.hear(SignalKind::LinkOk), [1], "one good report outweighs any number of bad ones");
}

#[test]
fn signals_of_other_schemes_are_ignored() {
    let mut host = Host::new(DEFAULTS, 1);
    for kind in
        [SignalKind::HandoverStarted, SignalKind::LinkLoss { lost: None }, SignalKind::DropProbability(1.0)]
    {
        host.hear(kind);
    }
    assert_eq!(host.expire(1), Verdict::Proceed);
    host.hear(SignalKind::LinkNotOk);
    host.expire(1);
    for kind in [SignalKind::HandoverCompleted, SignalKind::ReceivedPower(-40.0)] {
        assert_eq!(host.hear(kind), []);
    }
}

#[test]
fn ack_progress_deregisters() {
    let mut host = Host::new(DEFAULTS, 1);
    host.hear(SignalKind::LinkNotOk);
    host.expire(1);
    host.ack(1, 1_001);
    assert_eq!(host.connection(1).control(), Control::Running);
    assert_eq!(host.hear(SignalKind::LinkOk), []);
}

#[test]
fn a_connection_that_ends_is_deregistered() {
    for stagger in ["0 s", "1 s"] {
        let mut host = Host::new(&[("stagger", stagger)], 2);
        host.hear(SignalKind::LinkNotOk);
        host.expire(1);
        host.expire(2);
        host.abort(2);
        assert_eq!(host.hear(SignalKind::LinkOk), [1]);
        assert_eq!(host.scheme.poll_timeout(), None);
    }
}

// ---- TCP sender ----------------------------------------------------------------------------------------------------

#[test]
fn proceed_is_the_ordinary_timeout() {
    let (mut plain, mut ilc) = (plain_pair(), pair(DEFAULTS));
    for pair in [&mut plain, &mut ilc] {
        lose_all_between(pair, DOWN, UP);
        pair.run_until(at(60_000));
    }
    assert!(plain.client.stats().timeouts > 0);
    assert_eq!(plain.wire, ilc.wire);
    assert_eq!(plain.trace, ilc.trace);
}

#[test]
fn a_freeze_leaves_the_window_the_threshold_and_the_backoff_as_they_were_and_stops_the_timer() {
    let mut pair = outage(DEFAULTS);
    pair.run_until(at(FROZEN_AT - 10));
    let before = (pair.client.sender().window, pair.client.rtt().backoff(), pair.client.rtt().rto());
    pair.run_until(at(FROZEN_AT + 10));
    assert!(is_frozen(&pair));
    assert_eq!((pair.client.sender().window, pair.client.rtt().backoff(), pair.client.rtt().rto()), before);
    assert_eq!(pair.client.poll_timeout().map(|(_, why)| why), Some("user timeout"), "no other timer runs");
    pair.run_until(at(UP - 1));
    assert_eq!((pair.client.sender().window, pair.client.rtt().backoff(), pair.client.rtt().rto()), before);
}

#[test]
fn nothing_leaves_during_a_freeze() {
    let mut pair = outage(DEFAULTS);
    pair.run_until(at(FROZEN_AT + 10));
    let so_far = pair.wire.len();
    pair.client.write(50_000);
    pair.run_until(at(UP - 1));
    assert_eq!(pair.wire.len(), so_far);
}

#[test]
fn idle_after_restore_is_zero() {
    for knobs in [DEFAULTS, LINK_ONLY, &[("restore_mode", "first-only")]] {
        let mut pair = outage(knobs);
        pair.run_until(at(60_000));
        let next = pair.wire.iter().find(|s| s.by == End::Client && s.at > at(FROZEN_AT + 10)).unwrap();
        assert_eq!(next.at, at(UP), "{knobs:?}");
        assert!(next.segment.len > 0);
    }
}

#[test]
fn without_the_scheme_the_sender_idles_after_the_outage() {
    // The contrast that gives the tests above their sense.
    let mut pair = plain_pair();
    lose_all_between(&mut pair, DOWN, UP);
    pair.run_until(at(60_000));
    assert!(data_at(&pair, UP).is_empty());
    assert!(pair.client.rtt().rto() >= Duration::from_secs(1));
}

#[test]
fn what_the_application_writes_during_a_freeze_is_queued_and_arrives() {
    let mut pair = outage(DEFAULTS);
    pair.run_until(at(FROZEN_AT + 10));
    pair.client.write(50_000);
    pair.run_until(at(60_000));
    assert_eq!(pair.delivered(), 450_000);
    assert!(pair.is_idle());
}

#[test]
fn duplicate_acks_during_a_freeze_count_nothing_and_send_nothing() {
    let mut pair = outage(DEFAULTS);
    pair.run_until(at(FROZEN_AT + 10));
    let (window, so_far) = (pair.client.sender().window, pair.wire.len());
    let duplicate = last_ack_received(&pair);
    for _ in 0..5 {
        pair.inject_to_client(&duplicate, &mut NoHooks);
    }
    assert!(is_frozen(&pair));
    assert_eq!(pair.client.sender().dupacks, 0);
    assert_eq!(pair.client.sender().window, window);
    assert_eq!(pair.wire.len(), so_far);
}

#[test]
fn data_of_the_peer_is_received_and_acknowledged_during_a_freeze() {
    // ilc-tcp A7 too: the receiving half is neither helped nor hindered.
    let mut pair = pair(DEFAULTS);
    // Only the client's data is lost: the peer has nothing to acknowledge that the client does not know of.
    pair.set_fate(|by, _, now, segment| {
        (by == End::Server || segment.len == 0 || now < at(DOWN - 10)).then_some(Duration::ZERO)
    });
    flap(&mut pair, DOWN, UP);
    pair.run_until(at(FROZEN_AT + 10));
    pair.server.write(5_000);
    pair.run_until(at(FROZEN_AT + 500));
    assert_eq!(pair.client.receiver().delivered(), 5_000);
    assert!(pair.server.all_acknowledged());
    assert!(is_frozen(&pair));
}

#[test]
fn closing_during_a_freeze_sends_the_fin_after_the_restore() {
    let mut pair = outage(DEFAULTS);
    pair.run_until(at(FROZEN_AT + 10));
    pair.client.close();
    pair.run_until(at(UP - 1));
    assert_eq!(pair.client.state(), State::Established);
    pair.run_until(at(60_000));
    assert_eq!((pair.client.state(), pair.server.state()), (State::FinWait2, State::CloseWait));
    assert_eq!(pair.delivered(), 400_000);
}

// ---- Resolutions -----------------------------------------------------------------------------------------------------

#[test]
fn a1_as_printed_link_only_hangs_after_its_first_freeze() {
    let mut pair = outage(&[("layers", "link"), ("bug_link_only_noreg", "true")]);
    pair.run_until(at(60_000));
    assert!(is_frozen(&pair));
    assert!(pair.delivered() < 400_000);
    assert!(!has_command(&pair, "restore"));
}

#[test]
fn a1_registered_in_both_branches_link_only_resumes() {
    let mut pair = outage(LINK_ONLY);
    pair.run_until(at(60_000));
    assert_eq!(pair.delivered(), 400_000);
}

#[test]
fn a1_as_printed_link_and_ip_does_register() {
    let mut pair = outage(&[("bug_link_only_noreg", "true")]);
    pair.run_until(at(60_000));
    assert_eq!(pair.delivered(), 400_000);
}

#[test]
fn a2_an_outage_without_a_timeout_changes_nothing() {
    let (mut plain, mut ilc) = (plain_pair(), pair(DEFAULTS));
    for pair in [&mut plain, &mut ilc] {
        lose_all_between(pair, DOWN, DOWN + 300);
        flap(pair, DOWN, DOWN + 300);
        pair.run_until(at(60_000));
    }
    assert_eq!(plain.wire, ilc.wire);
    assert_eq!(plain.delivered(), 400_000);
}

#[test]
fn a2_grace_takes_a_timeout_soon_after_the_outage_for_its_loss() {
    // The link is back 100 ms before the timeout.
    let back = FROZEN_AT - 100;
    for (grace, kept) in [("0 s", false), ("50 ms", false), ("200 ms", true)] {
        let mut pair = pair(&[("grace", grace)]);
        lose_all_between(&mut pair, DOWN, back);
        flap(&mut pair, DOWN, back);
        pair.run_until(at(FROZEN_AT - 10));
        let before = pair.client.sender().window;
        pair.run_until(at(FROZEN_AT));
        assert_eq!(pair.client.sender().window == before, kept, "grace {grace}");
        assert_eq!(data_at(&pair, FROZEN_AT).len() > 1, kept, "grace {grace}");
        pair.run_until(at(60_000));
        assert_eq!(pair.delivered(), 400_000);
    }
}

#[test]
fn a2_grace_does_not_count_before_any_outage() {
    let mut host = Host::new(&[("grace", "1 h")], 1);
    assert_eq!(host.expire(1), Verdict::Proceed);
}

#[test]
fn a3_going_back_n_sends_the_whole_window_again_at_once() {
    let mut pair = outage(DEFAULTS);
    pair.run_until(at(UP - 1));
    let lost: Vec<u64> = outstanding(&pair);
    assert!(lost.len() > 10);
    pair.run_until(at(UP));
    assert_eq!(data_at(&pair, UP), lost);
    let sender = pair.client.sender();
    assert_eq!((sender.recover, sender.dupacks), (sender.snd_max, 0));
    assert_eq!(pair.client.rtt().backoff(), 0);
    assert_eq!(pair.client.poll_timeout(), Some((at(UP + 1_000), "retransmission")));
}

#[test]
fn a3_the_literal_restore_sends_the_first_segment_only() {
    let mut pair = outage(&[("restore_mode", "first-only")]);
    pair.run_until(at(UP - 1));
    let first = outstanding(&pair)[0];
    let snd_nxt = pair.client.sender().snd_nxt;
    pair.run_until(at(UP));
    assert_eq!(data_at(&pair, UP), [first]);
    assert_eq!(pair.client.sender().snd_nxt, snd_nxt);
    assert_eq!(pair.client.poll_timeout(), Some((at(UP + 1_000), "retransmission")));
    pair.run_until(at(60_000));
    assert_eq!(pair.delivered(), 400_000);
}

#[test]
fn a3_a_burst_cap_bounds_what_restore_sends_at_once() {
    let mut pair = outage(&[("max_burst", "4")]);
    pair.run_until(at(UP - 1));
    let lost = outstanding(&pair);
    pair.run_until(at(UP));
    assert_eq!(data_at(&pair, UP), lost[..4]);
    pair.run_until(at(60_000));
    assert_eq!(pair.delivered(), 400_000);
}

#[test]
fn a3_duplicates_that_going_back_n_provokes_start_no_recovery() {
    // Only ACKs were lost: the receiver has it all and answers each repeated segment with a duplicate ACK.
    let mut pair = pair(DEFAULTS);
    pair.set_fate(|by, _, now, _| {
        (by == End::Client || !(at(DOWN)..at(UP)).contains(&now)).then_some(Duration::ZERO)
    });
    flap(&mut pair, DOWN, UP);
    pair.run_until(at(60_000));
    assert_eq!(pair.delivered(), 400_000);
    assert_eq!(pair.client.stats().freezes, 1);
    assert_eq!(pair.client.stats().fast_retransmits, 0);
}

#[test]
fn a4_all_layers_are_good_until_told_otherwise() {
    for knobs in [DEFAULTS, LINK_ONLY] {
        let mut host = Host::new(knobs, 1);
        assert_eq!(host.expire(1), Verdict::Proceed);
    }
}

#[test]
fn a5_an_ack_of_new_data_ends_the_freeze_and_counts_as_usual() {
    // A false alarm: the link is fine, the ACKs are only late.
    let mut pair = pair(DEFAULTS);
    pair.set_fate(|by, _, now, _| {
        let late = by == End::Server && (at(DOWN)..at(DOWN + 100)).contains(&now);
        Some(Duration::from_millis(if late { 1_500 } else { 0 }))
    });
    pair.signal_at(at(DOWN), SignalKind::LinkNotOk);
    pair.run_until(at(FROZEN_AT + 10));
    assert!(is_frozen(&pair));
    let (window, una) = (pair.client.sender().window, pair.client.sender().snd_una);
    let first_ack = pair.wire.iter().find(|s| s.by == End::Server && s.at >= at(DOWN)).unwrap().at;
    let thaw = first_ack + Duration::from_millis(1_510);
    pair.run_until(thaw);
    assert_eq!(pair.client.control(), Control::Running);
    assert!(pair.trace.contains(&(thaw, Event::Thawed)));
    assert!(pair.client.sender().snd_una > una);
    assert!(pair.client.sender().window.cwnd > window.cwnd, "the window grows as after any ACK");
    assert_eq!(pair.client.poll_timeout().map(|(_, why)| why), Some("retransmission"));
    pair.run_until(at(60_000));
    assert_eq!(pair.delivered(), 400_000, "although LINK_OK never came");
}

#[test]
fn a5_after_a_thaw_the_next_good_news_restores_nothing() {
    let mut pair = outage(DEFAULTS);
    pair.run_until(at(FROZEN_AT + 10));
    pair.set_fate(|_, _, _, _| Some(Duration::ZERO));
    let una = pair.client.sender().snd_una;
    let mut ack = last_ack_received(&pair);
    ack.ack = ack.ack.add(1_000);
    let mut scheme = pair.scheme.take().unwrap();
    pair.client.handle_segment(&ack, pair.now, &mut *scheme);
    pair.scheme = Some(scheme);
    assert_eq!(pair.client.sender().snd_una, una + 1_000);
    pair.run_until(at(60_000));
    assert!(!has_command(&pair, "restore"));
}

#[test]
fn a6_every_frozen_connection_is_restored_and_no_other() {
    let mut host = Host::new(DEFAULTS, 3);
    host.hear(SignalKind::LinkNotOk);
    host.expire(1);
    host.expire(3);
    assert_eq!(host.hear(SignalKind::LinkOk), [1, 3]);
    for id in 1..=3 {
        assert_eq!(host.connection(id).control(), Control::Running);
    }
}

#[test]
fn a6_stagger_spreads_the_restores_evenly() {
    let mut host = Host::new(&[("stagger", "90 ms")], 3);
    host.hear(SignalKind::LinkNotOk);
    (1..=3).for_each(|id| assert_eq!(host.expire(id), Verdict::Freeze));
    let up = host.now;
    let mut restored = vec![(0, host.hear(SignalKind::LinkOk))];
    while let Some((deadline, why)) = host.scheme.poll_timeout() {
        assert_eq!(why, "staggered restore");
        host.now = deadline;
        host.scheme.handle_timeout(deadline);
        restored.push((millis(deadline.since(up)), host.carry_out()));
    }
    assert_eq!(restored, [(0, vec![1]), (30, vec![2]), (60, vec![3])]);
}

#[test]
fn a6_a_relapse_during_the_stagger_keeps_the_rest_frozen_until_the_next_good_news() {
    let mut host = Host::new(&[("stagger", "90 ms")], 2);
    host.hear(SignalKind::LinkNotOk);
    host.expire(1);
    host.expire(2);
    assert_eq!(host.hear(SignalKind::LinkOk), [1]);
    host.hear(SignalKind::LinkNotOk);
    assert_eq!(host.scheme.poll_timeout(), None);
    assert!(matches!(host.connection(2).control(), Control::Frozen { .. }));
    assert_eq!(host.hear(SignalKind::LinkOk), [2]);
}

#[test]
fn a6_an_ack_while_waiting_for_the_turn_gives_the_turn_up() {
    let mut host = Host::new(&[("stagger", "90 ms")], 2);
    host.hear(SignalKind::LinkNotOk);
    host.expire(1);
    host.expire(2);
    host.hear(SignalKind::LinkOk);
    host.ack(2, 1_001);
    assert_eq!(host.connection(2).control(), Control::Running);
    assert_eq!(host.scheme.poll_timeout(), None);
}

#[test]
fn a8_without_a_watchdog_a_lost_link_ok_freezes_until_the_user_timeout() {
    let profile = Profile { user_timeout: Duration::from_secs(100), ..profile() };
    let mut pair = pair_of(&profile, DEFAULTS);
    lose_all_between(&mut pair, DOWN, UP);
    pair.signal_at(at(DOWN), SignalKind::LinkNotOk);
    pair.run_until(at(90_000));
    assert!(is_frozen(&pair));
    pair.run_until(at(200_000));
    assert_eq!(pair.client.end_reason(), Some(EndReason::UserTimeout));
    assert!(pair.wire.last().unwrap().segment.flags.contains(Flags::RST));
    assert!(pair.is_idle());
}

#[test]
fn a8_the_watchdog_sends_one_probe_each_time_and_keeps_the_freeze() {
    let mut pair = pair(&[("freeze_max", "700 ms")]);
    lose_all_between(&mut pair, DOWN, UP);
    pair.signal_at(at(DOWN), SignalKind::LinkNotOk);
    pair.run_until(at(FROZEN_AT + 10));
    let first = outstanding(&pair)[0];
    let window = pair.client.sender().window;
    pair.run_until(at(UP - 1));
    let probes: Vec<_> = pair
        .wire
        .iter()
        .filter(|s| s.by == End::Client && s.at > at(FROZEN_AT + 10))
        .map(|s| (millis(s.at.since(at(FROZEN_AT))), number(&pair, &s.segment)))
        .collect();
    assert_eq!(probes, [(700, first), (1_400, first)]);
    assert_eq!(pair.client.sender().window, window);
    assert!(is_frozen(&pair));
}

#[test]
fn a8_a_probe_that_gets_through_ends_the_freeze_though_link_ok_is_lost() {
    let mut pair = pair(&[("freeze_max", "700 ms")]);
    lose_all_between(&mut pair, DOWN, UP);
    pair.signal_at(at(DOWN), SignalKind::LinkNotOk);
    pair.run_until(at(60_000));
    let (thawed, _) = pair.trace.iter().find(|(_, event)| *event == Event::Thawed).unwrap();
    assert_eq!(*thawed, at(FROZEN_AT + 3 * 700 + 20));
    assert_eq!(pair.delivered(), 400_000);
}

#[test]
fn a9_with_both_layers_down_the_order_of_good_news_does_not_matter() {
    for order in [[SignalKind::LinkOk, SignalKind::IpOk], [SignalKind::IpOk, SignalKind::LinkOk]] {
        let mut host = Host::new(DEFAULTS, 1);
        host.hear(SignalKind::LinkNotOk);
        host.hear(SignalKind::IpNotOk);
        assert_eq!(host.expire(1), Verdict::Freeze);
        assert_eq!(host.hear(order[0]), []);
        assert_eq!(host.hear(order[1]), [1]);
    }
}

#[test]
fn a10_link_only_restores_while_ip_is_still_down_and_the_next_timeout_is_ordinary() {
    let mut host = Host::new(LINK_ONLY, 1);
    host.hear(SignalKind::LinkNotOk);
    host.hear(SignalKind::IpNotOk);
    assert_eq!(host.expire(1), Verdict::Freeze);
    assert_eq!(host.hear(SignalKind::LinkOk), [1]);
    assert_eq!(host.expire(1), Verdict::Proceed);
    assert_eq!(host.connection(1).sender().window, Window { cwnd: 1.0, ssthresh: 5.0 });
}

#[test]
fn a11_a_syn_timeout_is_not_asked() {
    let mut pair = pair(DEFAULTS);
    pair.signal_at(at(0), SignalKind::LinkNotOk);
    lose_all_between(&mut pair, 0, 2_000);
    pair.run_until(at(5_000));
    assert_eq!(pair.client.stats().freezes, 0);
    assert_eq!(pair.client.state(), State::Established);
    let syns = pair.wire.iter().filter(|s| s.segment.flags == Flags::SYN).map(|s| millis(s.at.since(at(0))));
    assert_eq!(syns.collect::<Vec<_>>(), [0, 1_000, 3_000]);
}

#[test]
fn a11_a_closed_window_is_probed_in_bad_times_too() {
    let mut pair = pair_with_closed_window();
    pair.signal_at(at(100), SignalKind::LinkNotOk);
    pair.run_until(at(20_000));
    assert_eq!(pair.client.stats().freezes, 0);
    let probes = pair.trace.iter().filter(|(_, event)| *event == Event::WindowProbed).count();
    assert!(probes >= 3, "{probes}");
}

#[test]
fn a12_duplicate_acks_in_bad_times_are_handled_as_ever() {
    let mut host = Host::new(DEFAULTS, 1);
    host.hear(SignalKind::LinkNotOk);
    for _ in 0..3 {
        host.ack(1, 1);
    }
    assert_eq!(host.connection(1).stats().fast_retransmits, 1);
    assert_eq!(host.connection(1).sender().window, Window { cwnd: 5.0, ssthresh: 5.0 });
}

#[test]
fn a13_a_round_trip_that_spans_a_freeze_is_not_measured() {
    let mut pair = outage(DEFAULTS);
    pair.run_until(at(60_000));
    let longest = pair.trace.iter().filter_map(|(_, event)| match event {
        Event::RttMeasured { rtt, .. } => Some(*rtt),
        _ => None,
    });
    assert_eq!(longest.max(), Some(Duration::from_millis(20)));
}

#[test]
fn a13_with_timestamps_an_echo_from_before_the_freeze_is_dropped() {
    let mut host = Host::with_profile(&Profile { timestamps: true, ..profile() }, DEFAULTS, 1);
    host.hear(SignalKind::LinkNotOk);
    host.expire(1);
    let (frozen_at, srtt) = (host.now, host.connection(1).rtt().srtt());
    host.now += Duration::from_secs(5);
    host.hear(SignalKind::LinkOk);
    host.now += Duration::from_millis(20);
    host.ack_echoing(1, 1_001, at(30));
    assert_eq!(host.connection(1).rtt().srtt(), srtt);
    let samples =
        |host: &mut Host| host.events(1).iter().filter(|e| matches!(e, Event::RttMeasured { .. })).count();
    assert_eq!(samples(&mut host), 0);
    host.ack_echoing(1, 2_001, frozen_at + Duration::from_secs(5));
    assert_eq!(samples(&mut host), 1, "sent after the freeze");
}

#[test]
fn a15_the_window_after_restore_is_the_one_asked_for() {
    let old = 10.0;
    for (choice, cwnd, ssthresh, sent) in [
        ("keep", old, f64::INFINITY, 10),
        ("half", old / 2.0, old / 2.0, 5),
        ("slow-start-to-old", 1.0, old, 1),
    ] {
        let mut host = Host::new(&[("restore_cwnd", choice)], 1);
        host.hear(SignalKind::LinkNotOk);
        host.expire(1);
        host.hear(SignalKind::LinkOk);
        assert_eq!(host.connection(1).sender().window, Window { cwnd, ssthresh }, "{choice}");
        assert_eq!(host.transmit(1).len(), sent, "{choice}");
    }
}

#[test]
fn a_second_outage_is_handled_like_the_first() {
    let mut pair = pair(DEFAULTS);
    pair.client.write(20_000_000);
    pair.set_fate(|_, _, now, _| {
        let lost = [DOWN..UP, 4_000..8_000].iter().any(|outage| outage.contains(&millis(now.since(at(0)))));
        (!lost).then_some(Duration::ZERO)
    });
    flap(&mut pair, DOWN, UP);
    flap(&mut pair, 4_000, 8_000);
    pair.run_until(at(9_000));
    let stats = pair.client.stats();
    assert_eq!((stats.timeouts, stats.freezes, stats.fast_retransmits), (2, 2, 0));
    assert!(!data_at(&pair, 8_000).is_empty());
}

// ---- Helpers ---------------------------------------------------------------------------------------------------------

type Knobs = &'static [(&'static str, &'static str)];

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn millis(span: Duration) -> u64 {
    span.as_nanos() / 1_000_000
}

fn build(knobs: &[(&str, &str)]) -> Box<dyn Scheme> {
    let spec = Spec::named("ilc-tcp").expect("an entry of the table");
    let mut params = Params::defaults(spec.params);
    for (name, value) in knobs {
        params.set(name, value).expect("a declared parameter");
    }
    spec.mobile.expect("a part on the mobile host")(&params)
}

fn profile() -> Profile {
    Profile {
        mss: 1000,
        window: 20,
        initial_window: 10,
        limited_transmit: false,
        delayed_ack: None,
        nagle: false,
        ..Profile::named("rfc").expect("a profile of the table").clone()
    }
}

fn pair_of(profile: &Profile, knobs: &[(&str, &str)]) -> Pair {
    let mut pair = Pair::with_profile(profile, "new-reno");
    pair.scheme = Some(build(knobs));
    pair.client.write(400_000);
    pair
}

fn pair(knobs: &[(&str, &str)]) -> Pair {
    pair_of(&profile(), knobs)
}

fn plain_pair() -> Pair {
    let mut pair = pair(DEFAULTS);
    pair.scheme = None;
    pair
}

/// A transfer through an outage that is announced truly and at once.
fn outage(knobs: &[(&str, &str)]) -> Pair {
    let mut pair = pair(knobs);
    lose_all_between(&mut pair, DOWN, UP);
    flap(&mut pair, DOWN, UP);
    pair
}

fn lose_all_between(pair: &mut Pair, from: u64, to: u64) {
    pair.set_fate(move |_, _, now, _| (!(at(from)..at(to)).contains(&now)).then_some(Duration::ZERO));
}

fn flap(pair: &mut Pair, down: u64, up: u64) {
    pair.signal_at(at(down), SignalKind::LinkNotOk);
    pair.signal_at(at(up), SignalKind::LinkOk);
}

/// A pair whose server takes ten segments and reads none.
fn pair_with_closed_window() -> Pair {
    let profile = Profile { window: 10, ..profile() };
    let mut pair = pair_of(&profile, DEFAULTS);
    pair.server = Connection::listen(Config {
        id: ConnectionId(2),
        profile,
        variant: Variant::named("reno").expect("a variant of the table"),
        iss: SeqNumber(77),
        auto_read: false,
    });
    pair
}

/// The last ACK of the server that was not lost.
fn last_ack_received(pair: &Pair) -> Segment {
    pair.wire.iter().rfind(|s| s.by == End::Server && !s.lost).expect("the handshake at least").segment
}

fn is_frozen(pair: &Pair) -> bool {
    matches!(pair.client.control(), Control::Frozen { .. })
}

fn has_command(pair: &Pair, name: &str) -> bool {
    pair.trace
        .iter()
        .any(|(_, event)| matches!(event, Event::CommandExecuted { command } if *command == name))
}

fn number(pair: &Pair, segment: &Segment) -> u64 {
    pair.client.sent_offset(segment.seq).expect("a segment of the stream") / 1_000 + 1
}

/// The numbers of the data segments that the client sent at this time.
fn data_at(pair: &Pair, millis: u64) -> Vec<u64> {
    let data = pair.wire.iter().filter(|s| s.by == End::Client && s.at == at(millis) && s.segment.len > 0);
    data.map(|s| number(pair, &s.segment)).collect()
}

/// The numbers of the client's segments that wait for an ACK.
fn outstanding(pair: &Pair) -> Vec<u64> {
    let sender = pair.client.sender();
    (sender.snd_una / 1_000 + 1..=(sender.snd_max - 1) / 1_000).collect()
}

/// A host with several connections, each with ten segments in flight, and one State Manager.
struct Host {
    scheme: Box<dyn Scheme>,
    connections: Vec<Connection>,
    now: Instant,
}

impl Host {
    fn new(knobs: &[(&str, &str)], connections: u32) -> Self {
        Host::with_profile(&profile(), knobs, connections)
    }

    fn with_profile(profile: &Profile, knobs: &[(&str, &str)], connections: u32) -> Self {
        let connections = (1..=connections).map(|id| sending(profile, id)).collect();
        Host { scheme: build(knobs), connections, now: at(30) }
    }

    fn connection(&self, id: u32) -> &Connection {
        &self.connections[id as usize - 1]
    }

    /// Tells the scheme; the connections that it restores.
    fn hear(&mut self, kind: SignalKind) -> Vec<u32> {
        let (scope, source) = (Scope::Interface, Source::Link);
        let signal = Signal { kind, scope, source, origin: self.now, delivered: self.now };
        self.scheme.handle_signal(&signal, self.now);
        self.carry_out()
    }

    fn carry_out(&mut self) -> Vec<u32> {
        let mut restored = Vec::new();
        while let Some(action) = self.scheme.poll_action() {
            let Action::Tcp { connection, command } = action else { panic!("{action:?}") };
            self.connections[connection.0 as usize - 1].execute(command, self.now);
            if matches!(command, Command::Restore { .. }) {
                restored.push(connection.0);
            }
        }
        restored
    }

    fn transmit(&mut self, id: u32) -> Vec<Segment> {
        let (connection, scheme) = (&mut self.connections[id as usize - 1], &mut *self.scheme);
        std::iter::from_fn(|| connection.poll_transmit(self.now, scheme)).collect()
    }

    /// The retransmission timer of one connection expires; what the scheme answers.
    fn expire(&mut self, id: u32) -> Verdict {
        self.transmit(id);
        let (deadline, why) = self.connection(id).poll_timeout().expect("a timer runs");
        assert_eq!(why, "retransmission");
        self.now = self.now.max(deadline);
        self.connections[id as usize - 1].handle_timeout(self.now, &mut *self.scheme);
        let verdict = self.connections[id as usize - 1].drain_trace().find_map(|event| match event {
            Event::TimeoutExpired { verdict, .. } => Some(verdict),
            _ => None,
        });
        verdict.expect("the timer expired")
    }

    fn ack(&mut self, id: u32, position: u64) {
        self.receive(id, &segment(position, Flags::ACK));
    }

    fn ack_echoing(&mut self, id: u32, position: u64, sent: Instant) {
        let mut segment = segment(position, Flags::ACK);
        let echo = (sent.as_nanos() / 1_000_000) as u32;
        segment.options.timestamps = Some(Timestamps { value: 5, echo });
        self.receive(id, &segment);
    }

    fn receive(&mut self, id: u32, segment: &Segment) {
        self.connections[id as usize - 1].handle_segment(segment, self.now, &mut *self.scheme);
        self.carry_out();
        self.transmit(id);
    }

    fn abort(&mut self, id: u32) {
        self.connections[id as usize - 1].abort(self.now, &mut *self.scheme);
    }

    fn events(&mut self, id: u32) -> Vec<Event> {
        self.connections[id as usize - 1].drain_trace().collect()
    }
}

fn segment(ack: u64, flags: Flags) -> Segment {
    let seq = SeqNumber(if flags.contains(Flags::SYN) { 500 } else { 501 });
    Segment {
        seq,
        ack: SeqNumber(1_000).add(ack),
        len: 0,
        window: 20_000,
        flags,
        options: Options::default(),
    }
}

/// An open connection with ten segments in flight.
fn sending(profile: &Profile, id: u32) -> Connection {
    let config = Config {
        id: ConnectionId(id),
        profile: profile.clone(),
        variant: Variant::named("new-reno").expect("a variant of the table"),
        iss: SeqNumber(1_000),
        auto_read: true,
    };
    let mut connection = Connection::connect(config);
    connection.enable_trace();
    let syn = connection.poll_transmit(at(0), &mut NoHooks).expect("the SYN");
    let mut answer = segment(1, Flags::SYN | Flags::ACK);
    answer.options.mss = Some(1_000);
    answer.options.window_scale = Some(0);
    answer.options.timestamps = syn.options.timestamps.map(|s| Timestamps { value: 1, echo: s.value });
    connection.handle_segment(&answer, at(20), &mut NoHooks);
    connection.write(100_000);
    while connection.poll_transmit(at(20), &mut NoHooks).is_some() {}
    assert_eq!(connection.sender().snd_max, 10_001);
    connection
}
