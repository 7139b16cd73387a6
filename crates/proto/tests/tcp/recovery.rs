//! What leaves after a loss, and the window afterwards (RFC 5681 §3, RFC 6582, RFC 3042).

use segue_proto::tcp::Profile;
use segue_proto::tcp::cc::Window;
use segue_proto::tcp::profile::{Cut, NewRenoRules};
use segue_proto::tcp::variant;
use segue_proto::testing::{End, Pair};
use segue_proto::time::Duration;

use crate::{Solo, at, lose_once, plain};

const NOTHING: [u64; 0] = [];

#[test]
fn two_duplicate_acks_send_nothing_again() {
    for variant in variant::ALL {
        let mut solo = ten_in_flight(variant.name);
        assert_eq!(dup_acks(&mut solo, 2), NOTHING, "{}", variant.name);
        assert_eq!(solo.window(), Window { cwnd: 10.0, ssthresh: f64::INFINITY });
    }
}

#[test]
fn tahoe_goes_back_to_slow_start_on_the_third_duplicate_ack() {
    let mut solo = ten_in_flight("tahoe");
    assert_eq!(dup_acks(&mut solo, 3), [1]);
    assert_eq!(solo.window(), Window { cwnd: 1.0, ssthresh: 5.0 });
    assert_eq!(dup_acks(&mut solo, 6), NOTHING);
    // All but the first had arrived.
    assert_eq!(solo.ack(10), [11, 12]);
    assert_eq!(solo.window(), Window { cwnd: 2.0, ssthresh: 5.0 });
}

#[test]
fn tahoe_sends_all_that_followed_the_loss_again_until_an_ack_says_otherwise() {
    let mut solo = ten_in_flight("tahoe");
    dup_acks(&mut solo, 3);
    assert_eq!(solo.ack(1), [2, 3]);
    assert_eq!(solo.ack(2), [4, 5]);
    assert_eq!(solo.ack(10), [11, 12, 13, 14]);
}

#[test]
fn reno_inflates_the_window_by_each_further_duplicate_ack_and_deflates_it_at_the_end() {
    let mut solo = ten_in_flight("reno");
    assert_eq!(dup_acks(&mut solo, 3), [1]);
    assert_eq!(solo.window(), Window { cwnd: 5.0, ssthresh: 5.0 });
    // 5 + 3 … 5 + 9 against the ten in flight: the sixth is the first that lets a new segment go.
    let released: Vec<_> = (4..=9).map(|_| solo.ack(0)).collect();
    assert_eq!(released, [vec![], vec![], vec![11], vec![12], vec![13], vec![14]]);
    assert_eq!(solo.ack(10), [15]);
    assert_eq!(solo.window(), Window { cwnd: 5.0 + 1.0 / 5.0, ssthresh: 5.0 });
}

#[test]
fn reno_leaves_recovery_by_a_partial_ack_and_leaves_the_second_loss_to_the_timer() {
    let mut solo = ten_in_flight("reno");
    // Segments 1 and 4 are lost: eight duplicates.
    assert_eq!(dup_acks(&mut solo, 8), [1, 11, 12, 13]);
    assert_eq!(solo.ack(3), NOTHING);
    assert_eq!(solo.connection.sender().inflation, 0);
    // Those that 11, 12 and 13 bring: `recover` is not passed.
    assert_eq!(dup_acks_of(&mut solo, 3, 3), NOTHING);
    assert_eq!(solo.connection.stats().fast_retransmits, 1);
    assert_eq!(solo.expire("retransmission"), [4]);
}

#[test]
fn new_reno_answers_a_partial_ack_with_the_next_hole_and_stays() {
    let mut solo = ten_in_flight("new-reno");
    assert_eq!(dup_acks(&mut solo, 8), [1, 11, 12, 13]);
    // RFC 6582 §3.2 step 3: deflated by the three acknowledged, less one: 5 + 8 - 3 + 1 = 11 against ten in flight.
    assert_eq!(solo.ack(3), [4, 14]);
    assert_eq!(solo.connection.sender().inflation, 6);
    assert_eq!(dup_acks_of(&mut solo, 3, 3), [15, 16, 17]);
    assert_eq!(solo.window(), Window { cwnd: 5.0, ssthresh: 5.0 });
    // 13 is beyond all that was outstanding at the start: recovery is over.
    assert_eq!(solo.ack(13), [18]);
    assert_eq!(solo.connection.sender().inflation, 0);
    assert_eq!(solo.connection.stats().fast_retransmits, 1);
}

#[test]
fn new_reno_does_not_fast_retransmit_again_before_recover_is_passed() {
    let mut solo = ten_in_flight("new-reno");
    dup_acks(&mut solo, 9);
    solo.ack(10);
    let ssthresh = solo.window().ssthresh;
    // Exactly `recover`: these may be echoes of the recovery (RFC 6582 §3.2 step 1).
    dup_acks_of(&mut solo, 10, 3);
    assert_eq!(solo.connection.stats().fast_retransmits, 1);
    assert_eq!(solo.window().ssthresh.to_bits(), ssthresh.to_bits());
    solo.ack(11);
    assert!(dup_acks_of(&mut solo, 11, 3).contains(&12));
    assert_eq!(solo.connection.stats().fast_retransmits, 2);
}

#[test]
fn after_a_timeout_no_variant_fast_retransmits_before_recover_is_passed() {
    for variant in variant::ALL {
        let name = variant.name;
        let mut solo = ten_in_flight(name);
        assert_eq!(solo.expire("retransmission"), [1], "{name}");
        assert_eq!(solo.ack(1), [2, 3], "{name}");
        dup_acks_of(&mut solo, 1, 5);
        assert_eq!(solo.connection.stats().fast_retransmits, 0, "{name}");
        assert_eq!(solo.window(), Window { cwnd: 2.0, ssthresh: 5.0 }, "{name}");
        solo.ack(10);
        solo.ack(11);
        dup_acks_of(&mut solo, 11, 3);
        assert_eq!(solo.connection.stats().fast_retransmits, 1, "{name}");
    }
}

#[test]
fn a_timeout_means_slow_start_and_go_back_n() {
    for variant in variant::ALL {
        let mut solo = ten_in_flight(variant.name);
        assert_eq!(solo.expire("retransmission"), [1]);
        assert_eq!(solo.window(), Window { cwnd: 1.0, ssthresh: 5.0 }, "{}", variant.name);
        assert_eq!(solo.ack(1), [2, 3]);
        assert_eq!(solo.ack(2), [4, 5]);
        assert_eq!(solo.window(), Window { cwnd: 3.0, ssthresh: 5.0 });
    }
}

#[test]
fn a_timeout_ends_fast_recovery() {
    for variant in ["reno", "new-reno"] {
        let mut solo = ten_in_flight(variant);
        dup_acks(&mut solo, 9);
        assert_eq!(solo.expire("retransmission"), [1], "{variant}");
        let sender = solo.connection.sender();
        assert_eq!((sender.inflation, sender.dupacks), (0, 0));
        assert_eq!(sender.window, Window { cwnd: 1.0, ssthresh: 7.0 }, "half of the fourteen in flight");
        assert_eq!(solo.ack(1), [2, 3], "{variant}: no partial ACK any more");
    }
}

#[test]
fn a_second_timeout_of_the_same_segment_does_not_halve_again_by_rfc_5681_and_does_in_ns() {
    for (cut, ssthresh) in [(Cut::FlightSize, 5.0), (Cut::Window, 2.0), (Cut::WindowWhole, 2.0)] {
        let mut solo = Solo::sending(&Profile { initial_window: 10, cut, ..plain() }, "reno", 100);
        solo.expire("retransmission");
        assert_eq!(solo.window(), Window { cwnd: 1.0, ssthresh: 5.0 }, "{cut:?}");
        solo.expire("retransmission");
        assert_eq!(solo.window(), Window { cwnd: 1.0, ssthresh }, "{cut:?}");
    }
}

#[test]
fn each_way_to_cut_rounds_as_it_says() {
    for (cut, cwnd, ssthresh) in
        [(Cut::WindowWhole, 3.0, 3.0), (Cut::Window, 3.5, 3.0), (Cut::FlightSize, 3.5, 3.5)]
    {
        let mut solo = Solo::sending(&Profile { initial_window: 7, cut, ..plain() }, "reno", 100);
        dup_acks(&mut solo, 3);
        assert_eq!(solo.window(), Window { cwnd, ssthresh }, "{cut:?}");
    }
}

#[test]
fn the_window_that_ns_halves_is_the_smaller_of_the_two() {
    let mut solo = Solo::open(&Profile { initial_window: 50, cut: Cut::WindowWhole, ..plain() }, "reno");
    solo.offered = 8;
    solo.ack(0);
    solo.connection.write(100_000);
    solo.transmit();
    assert_eq!(dup_acks(&mut solo, 3), [1]);
    assert_eq!(solo.window(), Window { cwnd: 4.0, ssthresh: 4.0 });
}

#[test]
fn no_cut_goes_below_two_segments() {
    for cut in [Cut::FlightSize, Cut::Window, Cut::WindowWhole] {
        let mut solo = Solo::sending(&Profile { initial_window: 2, cut, ..plain() }, "tahoe", 2);
        solo.expire("retransmission");
        assert_eq!(solo.window(), Window { cwnd: 1.0, ssthresh: 2.0 }, "{cut:?}");
    }
}

#[test]
fn limited_transmit_sends_new_segments_on_the_first_two_duplicate_acks() {
    for variant in variant::ALL {
        let profile = Profile { limited_transmit: true, ..plain() };
        let mut solo = Solo::sending(&profile, variant.name, 100);
        assert_eq!(solo.ack(0), [5], "{}", variant.name);
        assert_eq!(solo.ack(0), [6], "{}", variant.name);
        assert_eq!(solo.ack(0)[0], 1, "{}", variant.name);
        // Half of the four that were in flight before (RFC 5681 §3.2 step 2).
        assert_eq!(solo.window().ssthresh as u32, 2, "{}", variant.name);
    }
}

#[test]
fn limited_transmit_keeps_within_the_peer_s_window() {
    let mut solo = Solo::open(&Profile { limited_transmit: true, initial_window: 8, ..plain() }, "reno");
    solo.offered = 8;
    solo.ack(0);
    solo.connection.write(100_000);
    solo.transmit();
    assert_eq!(dup_acks(&mut solo, 2), NOTHING);
}

#[test]
fn only_the_first_partial_ack_restarts_the_timer_if_new_reno_is_impatient() {
    for (impatient, expected) in [(true, [true, false]), (false, [true, true])] {
        let new_reno = NewRenoRules { impatient, ..plain().new_reno };
        let mut solo = Solo::sending(&Profile { initial_window: 10, new_reno, ..plain() }, "new-reno", 100);
        dup_acks(&mut solo, 3);
        let restarted = [2, 4].map(|n| {
            solo.wait(50);
            let before = solo.connection.poll_timeout();
            solo.ack(n);
            solo.connection.poll_timeout() > before
        });
        assert_eq!(restarted, expected, "impatient: {impatient}");
    }
}

#[test]
fn without_deflation_by_steps_a_partial_ack_takes_all_inflation_away() {
    let new_reno = NewRenoRules { deflate: false, ..plain().new_reno };
    let mut solo = Solo::sending(&Profile { initial_window: 10, new_reno, ..plain() }, "new-reno", 100);
    dup_acks(&mut solo, 8);
    assert_eq!(solo.ack(3), [4]);
    assert_eq!(solo.connection.sender().inflation, 0);
    assert_eq!(solo.window(), Window { cwnd: 5.0, ssthresh: 5.0 });
}

#[test]
fn a_full_ack_sets_the_window_by_what_is_in_flight_only_if_the_profile_says_so() {
    // Nothing is in flight after the full ACK: RFC 6582 would burst otherwise.
    for (full_ack_by_flight, least, most) in [(true, 2.0, 3.0), (false, 5.0, 6.0)] {
        let new_reno = NewRenoRules { full_ack_by_flight, ..plain().new_reno };
        let mut solo = Solo::sending(&Profile { initial_window: 10, new_reno, ..plain() }, "new-reno", 10);
        dup_acks(&mut solo, 9);
        solo.ack(10);
        let cwnd = solo.window().cwnd;
        assert!((least..=most).contains(&cwnd), "{cwnd}");
    }
}

#[test]
fn in_recovery_an_ack_of_new_reno_releases_at_most_two_segments() {
    let mut solo = Solo::open(&Profile { initial_window: 20, ..plain() }, "new-reno");
    solo.connection.write(20_000);
    solo.transmit();
    // Nineteen duplicates with nothing to send, then a lot is written: the window has room for nine.
    dup_acks(&mut solo, 19);
    solo.connection.write(80_000);
    assert!(solo.ack(0).len() <= 2);
    assert!(solo.ack(5).iter().filter(|n| **n > 20).count() <= 2);
}

#[test]
fn a_recovery_starts_the_retransmission_timer_anew() {
    let mut solo = ten_in_flight("reno");
    solo.wait(500);
    dup_acks(&mut solo, 3);
    assert_eq!(solo.connection.poll_timeout(), Some((solo.now + Duration::from_secs(1), "retransmission")));
}

#[test]
fn duplicate_acks_with_nothing_outstanding_do_not_count() {
    let mut solo = Solo::sending(&plain(), "reno", 4);
    solo.ack(4);
    dup_acks_of(&mut solo, 4, 5);
    assert_eq!(solo.connection.stats().dup_acks, 0);
}

#[test]
fn data_of_the_peer_is_no_duplicate_ack() {
    let mut solo = ten_in_flight("reno");
    for i in 0..5 {
        let data = solo.segment(1 + i * 100, 100, 1, segue_proto::tcp::Flags::ACK);
        solo.receive(&data);
    }
    assert_eq!(solo.connection.stats().dup_acks, 0);
}

#[test]
fn on_the_wire_one_loss_costs_one_retransmission_without_a_timeout() {
    for variant in ["reno", "new-reno"] {
        let mut pair = Pair::with_profile(&Profile { initial_window: 10, ..plain() }, variant);
        lose_once(&mut pair, &[12]);
        pair.client.write(100_000);
        pair.run_until(at(30_000));
        let stats = pair.client.stats();
        assert_eq!((stats.retransmissions, stats.timeouts, stats.fast_retransmits), (1, 0, 1), "{variant}");
        assert_eq!(pair.delivered(), 100_000);
    }
}

#[test]
fn on_the_wire_new_reno_repairs_several_losses_of_one_window_one_per_round_trip() {
    let mut pair = Pair::with_profile(&Profile { initial_window: 20, ..plain() }, "new-reno");
    lose_once(&mut pair, &[3, 8, 13]);
    pair.client.write(60_000);
    pair.run_until(at(30_000));
    let stats = pair.client.stats();
    assert_eq!((stats.retransmissions, stats.timeouts, stats.fast_retransmits), (3, 0, 1));
    let mut seen = 0;
    let again: Vec<_> = pair
        .wire
        .iter()
        .filter(|s| s.by == End::Client && s.segment.len > 0)
        .filter(|s| {
            let end = s.segment.seq.0.wrapping_sub(crate::CLIENT_ISS.0);
            let highest = seen;
            seen = seen.max(end);
            end <= highest
        })
        .map(|s| crate::millis(s.at))
        .collect();
    assert_eq!(again, [40, 60, 80]);
}

fn ten_in_flight(variant: &str) -> Solo {
    Solo::sending(&Profile { initial_window: 10, ..plain() }, variant, 100)
}

/// `count` duplicates of the ACK of nothing; the numbers of all that leaves.
fn dup_acks(solo: &mut Solo, count: u32) -> Vec<u64> {
    dup_acks_of(solo, 0, count)
}

fn dup_acks_of(solo: &mut Solo, number: u64, count: u32) -> Vec<u64> {
    (0..count).flat_map(|_| solo.ack(number)).collect()
}
