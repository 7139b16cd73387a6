//! Small scenarios whose outcome follows from arithmetic that needs no simulator.
//!
//! Most run on the link of [`ONE_HOP`]: 1 Mb/s and 10 ms, on which a segment of 1000 + 40 bytes takes 8.32 ms and a
//! segment without data, 40 bytes, 0.32 ms.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use segue_proto::signal::SignalKind;
use segue_proto::tcp::{EndReason, State};
use segue_proto::time::{Duration, Instant};
use segue_proto::trace::{DropCause, Event};
use segue_sim::results::{CsvTrace, Observer, Place};
use segue_sim::scenario::{Setting, load_text};
use segue_sim::{Results, Scenario};

// ---- Links, queues, routes --------------------------------------------------------------------------------------

#[test]
fn one_segment_over_one_hop_takes_two_round_trips_and_its_transmission() {
    let scenario = one_hop(&["flows[0].bytes=1000 B"]);
    // SYN, SYN-ACK and ACK take 10.32 ms each, the segment 18.32 ms.
    assert_eq!(finish(&scenario), micros(3 * 10_320 + 18_320));
}

#[test]
fn one_segment_over_three_hops_is_stored_and_forwarded_at_each() {
    let text = r#"
        duration = "10 s"
        tcp = { profile = "ns-2.35" }
        hosts = { a = {}, b = {} }
        routers = { r = {}, s = {} }
        links = [
            { between = ["a", "r"], rate = "10 Mb/s", delay = "1 ms" },
            { between = ["s", "r"], rate = "1 Mb/s", delay = "20 ms", reverse = { rate = "2 Mb/s", delay = "30 ms" } },
            { between = ["s", "b"], rate = "100 Mb/s", delay = "3 ms" },
        ]
        flows = [{ from = "a", to = "b", bytes = "1000 B" }]
    "#;
    // Towards b the middle link is used from its second end: 2 Mb/s and 30 ms.
    // A byte takes 8000/R ns at R Mb/s.
    let there = |bytes: u64| bytes * 800 + bytes * 4_000 + bytes * 80 + 34_000_000;
    let back = 40 * 800 + 40 * 8_000 + 40 * 80 + 24_000_000;
    let expected = 2 * back + there(40) + there(1040);
    assert_eq!(finish(&parse(text, &[])), Instant::from_nanos(expected));
}

#[test]
fn a_zero_byte_transfer_finishes_with_the_handshake() {
    let results = run(&one_hop(&["flows[0].bytes=0 B"]));
    assert_eq!(results.flows[0].finished, Some(micros(2 * 10_320)));
    assert_eq!((results.flows[0].acknowledged, results.flows[0].delivered), (0, 0));
}

#[test]
fn a_saturated_link_carries_one_segment_per_transmission_time_without_a_gap() {
    let (results, events) = observe(&one_hop(&["duration=20 s"]));
    let arrivals = data_arrivals(&events);
    let late: Vec<Instant> = arrivals.into_iter().filter(|at| *at > seconds(2.0)).collect();
    assert!(late.len() > 2_000);
    assert!(late.windows(2).all(|pair| pair[1].since(pair[0]) == Duration::from_micros(8_320)));
    // 1 Mb/s times the payload's share.
    let goodput = results.flows[0].goodput_bps;
    assert!((goodput - 1e6 * 1000.0 / 1040.0).abs() < 0.01 * 1e6, "{goodput}");
}

#[test]
fn a_burst_into_a_short_queue_leaves_one_in_transmission_and_the_queue() {
    let text = r#"
        duration = "200 ms"
        tcp = { profile = "ns-2.35", initial_window = 20 }
        hosts = { a = {}, b = {} }
        routers = { r = {} }
        links = [
            { between = ["a", "r"], rate = "1 Gb/s", delay = "1 ms" },
            { between = ["r", "b"], rate = "1 Mb/s", delay = "10 ms", queue = 5 },
        ]
        flows = [{ from = "a", to = "b" }]
    "#;
    let (results, events) = observe(&parse(text, &[]));
    // The handshake takes 2·(11 + 0.32 + 0.00032) ms; the burst meets the slow link a millisecond later.
    let burst = drops(&events, Instant::ZERO, micros(24_000));
    assert_eq!(burst, vec![DropCause::QueueFull; 14]);
    assert_eq!(
        data_arrivals(&events).iter().filter(|at| **at < micros(24_000 + 6 * 8_320 + 10_000)).count(),
        6
    );
    assert_eq!(
        results.links[2].counts.dropped_queue,
        drops(&events, Instant::ZERO, Instant::MAX).len() as u64
    );
}

#[test]
fn a_queue_of_zero_holds_only_the_packet_in_transmission() {
    let (_, events) = observe(&one_hop(&["links[0].queue=0", "tcp.initial_window=3", "duration=50 ms"]));
    assert_eq!(drops(&events, Instant::ZERO, micros(21_000)), [DropCause::QueueFull; 2]);
    let (_, events) = observe(&one_hop(&["links[0].queue=1", "tcp.initial_window=3", "duration=50 ms"]));
    assert_eq!(drops(&events, Instant::ZERO, micros(21_000)), [DropCause::QueueFull; 1]);
}

#[test]
fn the_way_around_a_ring_of_routers_follows_the_costs() {
    let text = r#"
        duration = "30 s"
        hosts = { a = {}, b = {} }
        routers = { n = {}, e = {}, s = {}, w = {} }
        links = [
            { between = ["a", "n"], rate = "10 Mb/s", delay = "1 ms" },
            { between = ["b", "s"], rate = "10 Mb/s", delay = "1 ms" },
            { between = ["n", "e"], rate = "10 Mb/s", delay = "1 ms" },
            { between = ["e", "s"], rate = "10 Mb/s", delay = "1 ms" },
            { between = ["s", "w"], rate = "10 Mb/s", delay = "1 ms" },
            { between = ["w", "n"], rate = "10 Mb/s", delay = "1 ms" },
        ]
        flows = [{ from = "a", to = "b", bytes = "100 kB" }]
    "#;
    let used = |settings: &[&str]| -> Vec<usize> {
        let results = run(&parse(text, settings));
        assert!(results.flows[0].finished.is_some());
        (0..12).filter(|link| results.links[*link].counts.arrived > 0).collect()
    };
    // Links 0 and 1 at the hosts both ways; the rest is the way taken, both ways.
    assert_eq!(used(&["links[2].cost=2"]), [0, 1, 2, 3, 8, 9, 10, 11]);
    assert_eq!(used(&["links[4].cost=2"]), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(used(&["links[4].cost=9", "links[3].cost=10"]), [0, 1, 2, 3, 8, 9, 10, 11]);
}

#[test]
fn the_longer_way_with_the_lower_cost_wins() {
    let text = r#"
        duration = "30 s"
        hosts = { a = {}, b = {} }
        routers = { r = {}, s = {}, t = {} }
        links = [
            { between = ["a", "r"], rate = "10 Mb/s", delay = "1 ms" },
            { between = ["r", "s"], rate = "10 Mb/s", delay = "1 ms", cost = 3 },
            { between = ["r", "t"], rate = "10 Mb/s", delay = "1 ms" },
            { between = ["t", "s"], rate = "10 Mb/s", delay = "1 ms" },
            { between = ["s", "b"], rate = "10 Mb/s", delay = "1 ms" },
        ]
        flows = [{ from = "a", to = "b", bytes = "10 kB" }]
    "#;
    let results = run(&parse(text, &[]));
    assert_eq!(results.links[2].counts.offered, 0);
    assert!(results.links[4].counts.arrived > 5);
}

#[test]
fn flows_in_both_directions_of_a_symmetric_link_fare_alike() {
    let settings = [
        "flows=[{ from = \"a\", to = \"b\", bytes = \"500 kB\" }, { from = \"b\", to = \"a\", bytes = \"500 kB\" }]",
    ];
    let results = run(&one_hop(&settings));
    assert_eq!(results.flows[0].finished.is_some(), results.flows[1].finished.is_some());
    assert_eq!(results.flows[0].stats, results.flows[1].stats);
    assert_eq!(results.links[0].counts, results.links[1].counts);
    assert_eq!((results.flows[0].delivered, results.flows[1].delivered), (500_000, 500_000));
}

#[test]
fn flows_with_the_same_round_trip_share_a_bottleneck_fairly() {
    let text = r#"
        duration = "300 s"
        tcp = { profile = "rfc" }
        hosts = { a = {}, b = {}, c = {}, d = {}, z = {} }
        routers = { r = {} }
        links = [
            { between = ["a", "r"], rate = "100 Mb/s", delay = "1 ms" },
            { between = ["b", "r"], rate = "100 Mb/s", delay = "1 ms" },
            { between = ["c", "r"], rate = "100 Mb/s", delay = "1 ms" },
            { between = ["d", "r"], rate = "100 Mb/s", delay = "1 ms" },
            { between = ["r", "z"], rate = "4 Mb/s", delay = "20 ms", queue = 40 },
        ]
        flows = [
            { from = "a", to = "z" },
            { from = "b", to = "z", start = "1 s" },
            { from = "c", to = "z", start = "2 s" },
            { from = "d", to = "z", start = "3 s" },
        ]
    "#;
    let results = run(&parse(text, &[]));
    let goodputs: Vec<f64> = results.flows.iter().map(|flow| flow.goodput_bps).collect();
    let sum: f64 = goodputs.iter().sum();
    let jain = sum * sum / (4.0 * goodputs.iter().map(|g| g * g).sum::<f64>());
    assert!(jain > 0.95, "{jain} {goodputs:?}");
    assert!(sum > 0.9 * 4e6 * 1460.0 / 1500.0, "{sum}");
}

// ---- Losses -----------------------------------------------------------------------------------------------------

#[test]
fn a_packet_lost_on_the_wire_takes_its_time_and_one_lost_at_the_entrance_does_not() {
    // Number 0 is the SYN; numbers 1 and 2 are the first two segments.
    let second_arrival = |place: &str| {
        let loss = format!("links[0].loss={{ model = \"list\", packets = [1], place = \"{place}\" }}");
        let (results, events) = observe(&one_hop(&[&loss, "flows[0].bytes=2000 B"]));
        assert_eq!(results.links[0].counts.dropped_loss, 1);
        data_arrivals(&events)[0]
    };
    assert_eq!(second_arrival("entrance"), micros(2 * 10_320 + 8_320 + 10_000));
    assert_eq!(second_arrival("wire"), micros(2 * 10_320 + 2 * 8_320 + 10_000));
}

#[test]
fn a_gilbert_elliott_link_that_always_changes_state_takes_every_second_packet() {
    let loss = "links[0].loss={ model = \"gilbert-elliott\", p_good_to_bad = 1, p_bad_to_good = 1 }";
    let counts = run(&one_hop(&[loss, "duration=100 s"])).links[0].counts;
    assert!(counts.offered > 20);
    assert_eq!(counts.dropped_loss, counts.offered / 2);
}

#[test]
fn a_bernoulli_link_takes_its_share_of_the_packets_of_its_direction() {
    let loss = "links[0].loss={ model = \"bernoulli\", p = 0.02 }";
    let results = run(&one_hop(&[loss, "duration=1000 s", "links[0].rate=10 Mb/s"]));
    let counts = results.links[0].counts;
    let (n, p) = (counts.offered as f64, 0.02);
    // Five standard deviations.
    assert!((counts.dropped_loss as f64 - n * p).abs() < 5.0 * (n * p * (1.0 - p)).sqrt(), "{counts:?}");
    assert!(n > 50_000.0);
    assert_eq!(results.links[1].counts.dropped_loss, 0);
}

#[test]
fn a_loss_model_of_the_reverse_direction_takes_only_acknowledgements() {
    let loss = "links[0].reverse={ loss = { model = \"bernoulli\", p = 0.3 } }";
    let results = run(&one_hop(&[loss, "flows[0].bytes=100 kB", "duration=1000 s"]));
    assert_eq!(results.links[0].counts.dropped_loss, 0);
    assert!(results.links[1].counts.dropped_loss > 5);
    assert_eq!(results.flows[0].delivered, 100_000);
}

#[test]
fn a_link_that_loses_everything_ends_in_the_user_timeout() {
    let settings =
        ["links[0].loss={ model = \"bernoulli\", p = 1 }", "tcp.user_timeout=30 s", "flows[0].bytes=1 B"];
    let results = run(&one_hop(&settings));
    assert_eq!(results.flows[0].end, Some(EndReason::UserTimeout));
    assert_eq!(results.ended, seconds(30.0));
    assert_eq!(results.links[0].counts.arrived, 0);
}

// ---- Outages ----------------------------------------------------------------------------------------------------

#[test]
fn a_black_hole_takes_what_is_on_air_while_it_lasts() {
    let (_, events) = observe(&one_hop(&[&outage("start = \"2 s\", duration = \"60 ms\", from = \"a\"")]));
    // Lost is each segment of which a part was on air in 2 .. 2.06 s; it would have arrived 10 ms after its end.
    let silent = seconds(2.010)..seconds(2.060 + 0.00832 + 0.010);
    assert!(data_arrivals(&events).iter().all(|at| !(*at > silent.start && *at < silent.end)));
    let lost = drops(&events, Instant::ZERO, seconds(2.2));
    // 60 ms hold between 7 and 9 segments of 8.32 ms, wherever the first begins.
    assert!((7..=9).contains(&lost.len()), "{}", lost.len());
    assert!(lost.iter().all(|cause| *cause == DropCause::Outage));
    // They are missed when they should have arrived, one after the other.
    let at: Vec<Instant> = drop_times(&events).into_iter().take(lost.len()).collect();
    assert!(at.windows(2).all(|pair| pair[1].since(pair[0]) == Duration::from_micros(8_320)));
}

#[test]
fn a_flush_takes_all_that_is_under_way_at_once_and_refuses_the_rest() {
    let flush = outage("start = \"2 s\", duration = \"1 s\", from = \"a\", effect = \"flush\"");
    let (_, events) = observe(&one_hop(&[&flush]));
    let at_once = drop_times(&events).iter().filter(|at| **at == seconds(2.0)).count();
    // The window is 20 segments. Those not on this direction are ACKs on the wire: one each 8.32 ms of 10.32 ms.
    assert!((18..=19).contains(&at_once), "{at_once}");
    assert!(data_arrivals(&events).iter().all(|at| !(*at > seconds(2.0) && *at < seconds(3.0))));
}

#[test]
fn an_outage_from_one_end_leaves_the_other_direction_alone() {
    let (results, events) =
        observe(&one_hop(&[&outage("start = \"2 s\", duration = \"1 s\", from = \"b\"")]));
    assert_eq!(results.links[0].counts.dropped_outage, 0);
    assert!(results.links[1].counts.dropped_outage > 0);
    // The window's worth of data that is under way still arrives.
    let arrived =
        data_arrivals(&events).iter().filter(|at| **at > seconds(2.0) && **at < seconds(3.0)).count();
    assert!(arrived >= 18, "{arrived}");
}

#[test]
fn periodic_outages_come_as_often_as_they_are_counted() {
    let periodic = outage("start = \"1 s\", duration = \"100 ms\", every = \"2 s\", count = 3");
    let (_, events) = observe(&one_hop(&[&periodic, "duration=20 s"]));
    let (begins, ends) = outage_times(&events);
    assert_eq!(begins, [seconds(1.0), seconds(3.0), seconds(5.0)]);
    assert_eq!(ends, [seconds(1.1), seconds(3.1), seconds(5.1)]);

    let endless = outage("start = \"1 s\", duration = \"100 ms\", every = \"2 s\"");
    let (_, events) = observe(&one_hop(&[&endless, "duration=20 s"]));
    assert_eq!(outage_times(&events).0.len(), 10);
}

#[test]
fn random_outages_alternate_with_up_times_and_depend_on_the_seed_alone() {
    let random = outage("mean_up = \"2 s\", mean_down = \"500 ms\"");
    let scenario = one_hop(&[&random, "duration=2000 s"]);
    let times = |seed: u64| {
        let mut recorder = Recorder::default();
        segue_sim::run_observed(&scenario, seed, &mut recorder);
        outage_times(&recorder.0)
    };
    let (begins, ends) = times(1);
    assert!(begins.iter().zip(&ends).all(|(begin, end)| begin < end));
    assert!(ends.iter().zip(&begins[1..]).all(|(end, begin)| end < begin));
    // 800 outages are expected; the count's deviation is about that of its square root.
    assert!((700..900).contains(&begins.len()), "{}", begins.len());
    let down: f64 = ends.iter().zip(&begins).map(|(end, begin)| end.since(*begin).as_secs_f64()).sum();
    assert!((down / 400.0 - 1.0).abs() < 0.2, "{down}");
    assert_eq!(times(1), (begins.clone(), ends));
    assert_ne!(times(2).0, begins);
}

#[test]
fn a_black_hole_goes_on_taking_packets_when_a_flush_overlaps_its_end() {
    let black = "{ link = [\"a\", \"b\"], start = \"1 s\", duration = \"2 s\", from = \"a\" }";
    let flush = "{ link = [\"a\", \"b\"], start = \"2500 ms\", duration = \"100 ms\", from = \"a\", effect = \"flush\" }";
    let list = format!("outages=[{black}, {flush}]");
    let (_, events) = observe(&one_hop(&[
        &list,
        "tcp.min_rto=100 ms",
        "tcp.initial_rto=100 ms",
        "tcp.max_rto=100 ms",
        "duration=4 s",
    ]));
    let lost_span = seconds(1.02)..seconds(3.0);
    assert!(data_arrivals(&events).iter().all(|at| !lost_span.contains(at)));
    // Between the flush's end and the black hole's end segments vanish on air again, they are not refused at once.
    assert!(!drops(&events, seconds(2.61), seconds(3.0)).is_empty());
}

#[test]
fn two_registrations_lost_at_the_same_time_are_restored_with_the_later() {
    let first = "{ link = [\"a\", \"b\"], layer = \"ip\", start = \"2 s\", duration = \"2 s\" }";
    let second = "{ link = [\"a\", \"b\"], layer = \"ip\", start = \"3 s\", duration = \"4 s\" }";
    let list = format!("outages=[{first}, {second}]");
    let (_, events) = observe(&mobile(&[&list]));
    assert_eq!(signals(&events), [("ip-not-ok", seconds(2.0)), ("ip-ok", seconds(7.0))]);
}

// ---- Signals and schemes ----------------------------------------------------------------------------------------

#[test]
fn a_mobile_host_hears_of_its_link_and_of_its_registration_at_once() {
    let link = outage("start = \"2 s\", duration = \"3 s\"");
    let (_, events) = observe(&mobile(&[&link]));
    assert_eq!(signals(&events), [("link-not-ok", seconds(2.0)), ("link-ok", seconds(5.0))]);
    let ip = outage("start = \"2 s\", duration = \"3 s\", layer = \"ip\"");
    let (_, events) = observe(&mobile(&[&ip]));
    assert_eq!(signals(&events), [("ip-not-ok", seconds(2.0)), ("ip-ok", seconds(5.0))]);
}

#[test]
fn a_notification_delay_makes_all_news_late_by_just_that() {
    let link = outage("start = \"2 s\", duration = \"3 s\"");
    let (_, events) = observe(&mobile(&[&link, "scheme.notify_delay=250 ms"]));
    assert_eq!(signals(&events), [("link-not-ok", seconds(2.25)), ("link-ok", seconds(5.25))]);
}

#[test]
fn two_outages_of_one_link_that_overlap_are_one_to_the_host() {
    let two = "outages=[{ link = [\"a\", \"b\"], start = \"2 s\", duration = \"3 s\" }, \
               { link = [\"a\", \"b\"], start = \"4 s\", duration = \"3 s\" }]";
    let (_, events) = observe(&mobile(&[two]));
    let heard = signals(&events);
    assert_eq!(heard.first(), Some(&("link-not-ok", seconds(2.0))));
    assert_eq!(
        heard.iter().filter(|(name, _)| *name == "link-ok").collect::<Vec<_>>(),
        [&("link-ok", seconds(7.0))]
    );
}

#[test]
fn news_by_beacons_comes_with_the_lateness_of_the_beacons() {
    let link = outage("start = \"2500 ms\", duration = \"7700 ms\"");
    let beacons = "hosts.a.beacons={ period = \"1 s\", missed = 2 }";
    let (_, events) = observe(&mobile(&[&link, beacons]));
    // The last beacon came at 2 s: two periods later it is bad news, and again after each two. The link is back at
    // 10.2 s, and the next beacon comes at 11 s.
    let bad = [4.0, 6.0, 8.0, 10.0].map(|at| ("link-not-ok", seconds(at)));
    let expected: Vec<(&str, Instant)> = bad.into_iter().chain([("link-ok", seconds(11.0))]).collect();
    assert_eq!(signals(&events), expected);
}

#[test]
fn an_outage_shorter_than_the_missed_beacons_is_not_noticed() {
    let link = outage("start = \"2100 ms\", duration = \"1500 ms\"");
    let beacons = "hosts.a.beacons={ period = \"1 s\", phase = \"500 ms\", missed = 2 }";
    let (_, events) = observe(&mobile(&[&link, beacons]));
    // Beacons at 1.5 s and, the one at 2.5 s being lost and the one at 3.5 s too, at 4.5 s: bad news at 3.5 s.
    assert_eq!(signals(&events), [("link-not-ok", seconds(3.5)), ("link-ok", seconds(4.5))]);
    let shorter = outage("start = \"2100 ms\", duration = \"1 s\"");
    let (_, events) = observe(&mobile(&[&shorter, beacons]));
    assert_eq!(signals(&events), []);
}

#[test]
fn only_mobile_hosts_hear_anything() {
    let link = outage("start = \"2 s\", duration = \"3 s\"");
    let receiver_only = ["hosts.a.mobile=false", "hosts.b.mobile=true"];
    let (_, events) = observe(&mobile(&[&link, receiver_only[0], receiver_only[1]]));
    let places: Vec<Place> =
        events.iter().filter(|(_, _, e)| matches!(e, Event::SignalHeard(_))).map(|(_, p, _)| *p).collect();
    assert_eq!(places, [Place::Node(1); 2]);
}

#[test]
fn with_ilc_tcp_a_transfer_resumes_when_the_news_of_the_link_s_return_comes() {
    let link = outage("start = \"2 s\", duration = \"8 s\"");
    let at_once = run(&mobile(&[&link]));
    assert_eq!(at_once.flows[0].stats.freezes, 1);
    assert_eq!(at_once.flows[0].idle, Duration::ZERO);
    let late = run(&mobile(&[&link, "scheme.notify_delay=50 ms"]));
    assert_eq!(late.flows[0].idle, Duration::from_millis(50));
    let ip = run(&mobile(&[&outage("start = \"2 s\", duration = \"8 s\", layer = \"ip\"")]));
    assert_eq!(ip.flows[0].idle, Duration::ZERO);
}

#[test]
fn plain_tcp_is_idle_after_an_outage_until_its_backed_off_timer_expires() {
    let link = outage("start = \"2 s\", duration = \"8 s\"");
    let (results, events) = observe(&mobile(&[&link, "scheme={ name = \"none\" }"]));
    let expiries: Vec<(Instant, Duration, u32)> = events
        .iter()
        .filter_map(|(at, _, event)| match event {
            Event::TimeoutExpired { rto, backoff, .. } => Some((*at, *rto, *backoff)),
            _ => None,
        })
        .collect();
    // Each expiry doubles the time to the next.
    let during: Vec<_> = expiries.iter().take_while(|(at, _, _)| *at < seconds(10.0)).collect();
    assert!(during.len() >= 4);
    for (i, pair) in during.windows(2).enumerate() {
        assert_eq!(pair[0].2 as usize, i);
        assert_eq!(pair[1].1, pair[0].1 * 2);
        assert_eq!(pair[1].0, pair[0].0 + pair[1].1);
    }
    let last = during[during.len() - 1];
    let resumed = last.0 + last.1 * 2;
    assert_eq!(results.flows[0].idle, resumed.since(seconds(10.0)));
    assert_eq!(results.flows[0].longest_idle, results.flows[0].idle);
    assert!(results.flows[0].idle > Duration::from_millis(100));
}

#[test]
fn the_idle_times_of_several_outages_are_added_and_the_longest_is_kept() {
    let periodic = outage("start = \"2 s\", duration = \"5 s\", every = \"15 s\", count = 2");
    let (results, events) = observe(&mobile(&[&periodic, "scheme={ name = \"none\" }", "duration=60 s"]));
    let sent: Vec<Instant> = events
        .iter()
        .filter(|(_, _, event)| matches!(event, Event::SegmentSent { len: 1.., .. }))
        .map(|(at, _, _)| *at)
        .collect();
    let idle =
        [7.0, 22.0].map(|end| sent.iter().find(|at| **at >= seconds(end)).unwrap().since(seconds(end)));
    assert_eq!(results.flows[0].idle, idle[0] + idle[1]);
    assert_eq!(results.flows[0].longest_idle, idle[0].max(idle[1]));
}

#[test]
fn link_only_ilc_tcp_does_not_hear_of_the_registration() {
    let ip = outage("start = \"2 s\", duration = \"8 s\", layer = \"ip\"");
    let results = run(&mobile(&[&ip, "scheme.layers=link"]));
    assert_eq!(results.flows[0].stats.freezes, 0);
    assert!(results.flows[0].stats.timeouts >= 4);
}

// ---- The life of a flow -----------------------------------------------------------------------------------------

#[test]
fn a_flow_that_closes_goes_through_time_wait_to_closed() {
    let long = "flows=[{ from = \"a\", to = \"b\", bytes = \"1000 B\", tcp = { close = true } }, \
                { name = \"long\", from = \"a\", to = \"b\" }]";
    let early = run(&one_hop(&[long, "duration=30 s"]));
    assert_eq!(early.flows[0].state, State::TimeWait);
    let late = run(&one_hop(&[long, "duration=100 s"]));
    assert_eq!(late.flows[0].end, Some(EndReason::Closed));
    assert_eq!(late.flow_table().rows[0].last().unwrap().text(), "closed");
    assert_eq!(late.flow_table().rows[1].last().unwrap().text(), "established");
}

#[test]
fn a_flow_that_does_not_close_stays_established() {
    let long = "flows=[{ from = \"a\", to = \"b\", bytes = \"1000 B\" }, { name = \"long\", from = \"a\", to = \"b\" }]";
    let results = run(&one_hop(&[long, "duration=100 s"]));
    assert_eq!((results.flows[0].state, results.flows[0].end), (State::Established, None));
    assert_eq!(results.ended, seconds(100.0));
}

#[test]
fn a_run_ends_with_its_last_flow_of_fixed_size() {
    let two = "flows=[{ from = \"a\", to = \"b\", bytes = \"1000 B\" }, \
               { name = \"later\", from = \"a\", to = \"b\", start = \"5 s\", bytes = \"1000 B\" }]";
    let results = run(&one_hop(&[two]));
    assert_eq!(results.ended, seconds(5.0) + Duration::from_micros(3 * 10_320 + 18_320));
    assert_eq!(results.flows[1].start, seconds(5.0));
}

#[test]
fn today_s_profile_begins_with_ten_segments_and_delays_the_acknowledgement_of_a_single_one() {
    let burst = ["tcp={ profile = \"rfc\" }", "links[0].rate=100 Mb/s", "duration=35 ms"];
    let (_, events) = observe(&one_hop(&burst));
    let sent =
        events.iter().filter(|(_, _, event)| matches!(event, Event::SegmentSent { len: 1460, .. })).count();
    assert_eq!(sent, 10);
    // 1 Mb/s: 1500 bytes take 12 ms. With close the FIN comes along and is acknowledged at once.
    let single = |close: &str| {
        let settings = ["tcp={ profile = \"rfc\" }", &format!("tcp.close={close}"), "flows[0].bytes=1460 B"];
        finish(&one_hop(&settings))
    };
    assert_eq!(single("true"), micros(3 * 10_320 + 22_000));
    assert_eq!(single("false"), micros(3 * 10_320 + 22_000 + 200_000));
}

// ---- Output -----------------------------------------------------------------------------------------------------

#[test]
fn the_trace_of_a_one_segment_transfer_in_full() {
    let scenario = one_hop(&["flows[0].bytes=1000 B", "flows[0].name=one, \"two\""]);
    insta::assert_snapshot!(trace(&scenario), @r#"
    time_ns,place,event,start,len_bytes,ack,retransmission,cwnd_segments,ssthresh_segments,rto_ns,detail
    0,"one, ""two""/sender",segment-sent,0,0,,false,,,,
    10320000,"one, ""two""/receiver",state-changed,,,,,,,,listen to syn-received
    10320000,"one, ""two""/receiver",segment-sent,0,0,,false,,,,
    20640000,"one, ""two""/sender",rtt-measured,,,,,,,200000000,rtt 20640000
    20640000,"one, ""two""/sender",state-changed,,,,,,,,syn-sent to established
    20640000,"one, ""two""/sender",segment-sent,1,1000,,false,,,,
    38960000,"one, ""two""/receiver",rtt-measured,,,,,,,200000000,rtt 28640000
    38960000,"one, ""two""/receiver",state-changed,,,,,,,,syn-received to established
    38960000,"one, ""two""/receiver",data-received,1,1000,1001,,,,,
    38960000,"one, ""two""/receiver",ack-sent,,,1001,,,,,
    49280000,"one, ""two""/sender",rtt-measured,,,,,,,200000000,rtt 28640000
    49280000,"one, ""two""/sender",ack-received,,,1001,,3.0000,20.0000,200000000,
    "#);
}

#[test]
fn every_line_of_a_trace_has_the_fields_of_the_heading_and_time_never_goes_back() {
    let link = outage("start = \"2 s\", duration = \"8 s\"");
    let text = trace(&mobile(&[&link, "links[0].loss={ model = \"bernoulli\", p = 0.01 }"]));
    let mut lines = text.lines();
    let fields = lines.next().unwrap().split(',').count();
    let mut previous = 0;
    for line in lines {
        assert_eq!(line.split(',').count(), fields, "{line}");
        let at: u64 = line.split(',').next().unwrap().parse().unwrap();
        assert!(previous <= at, "{line}");
        previous = at;
    }
    for event in ["timeout-expired", "signal-heard", "outage-began", "packet-dropped", "command-executed"] {
        assert!(text.contains(event), "{event}");
    }
}

#[test]
fn the_tables_of_a_small_run_in_full() {
    let scenario = one_hop(&["flows[0].bytes=3000 B", "links[0].loss={ model = \"list\", packets = [2] }"]);
    let results = run(&scenario);
    insta::assert_snapshot!(results.flow_table().csv(), @r"
    flow,from,to,scheme,tcp,start_s,finish_s,acked_bytes,goodput_kbps,segments,retransmissions,timeouts,fast_retransmits,freezes,idle_s,longest_idle_s,state
    a-b,a,b,none,new-reno,0.000000,0.277920,3000,86.356,4,1,1,0,0,0.000000,0.000000,established
    ");
    insta::assert_snapshot!(results.link_table(&scenario).csv(), @r"
    from,to,offered,arrived,arrived_bytes,dropped_queue,dropped_early,dropped_loss,dropped_outage,mean_queue
    a,b,5,4,3160,0,0,1,0,0.030
    b,a,4,4,160,0,0,0,0,0.000
    ");
}

#[test]
fn a_flow_of_unlimited_size_never_finishes_and_its_goodput_counts_to_the_end_of_the_run() {
    let results = run(&one_hop(&["duration=10 s"]));
    let flow = &results.flows[0];
    assert_eq!((flow.finished, results.ended), (None, seconds(10.0)));
    assert!((flow.goodput_bps - flow.acknowledged as f64 * 8.0 / 10.0).abs() < 1e-6);
    assert_eq!(results.flow_table().rows[0][6].text(), "");
}

#[test]
fn an_observer_changes_nothing() {
    let scenario = mobile(&[&outage("start = \"2 s\", duration = \"3 s\"")]);
    let (observed, _) = observe(&scenario);
    assert_eq!(run(&scenario).flow_table(), observed.flow_table());
}

const ONE_HOP: &str = r#"
    duration = "30 s"
    tcp = { profile = "ns-2.35" }
    hosts = { a = {}, b = {} }
    links = [{ between = ["a", "b"], rate = "1 Mb/s", delay = "10 ms" }]
    flows = [{ from = "a", to = "b" }]
"#;

fn one_hop(settings: &[&str]) -> Scenario {
    parse(ONE_HOP, settings)
}

/// One hop with a mobile sender that runs ILC-TCP.
fn mobile(settings: &[&str]) -> Scenario {
    let mut all = vec!["hosts.a.mobile=true", "scheme.name=ilc-tcp"];
    all.extend(settings);
    one_hop(&all)
}

fn outage(fields: &str) -> String {
    format!("outages=[{{ link = [\"a\", \"b\"], {fields} }}]")
}

fn parse(text: &str, settings: &[&str]) -> Scenario {
    let settings: Vec<Setting> = settings.iter().map(|text| text.parse().unwrap()).collect();
    load_text("test.toml", text, &settings).unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario) -> Results {
    segue_sim::run(scenario, 1)
}

fn finish(scenario: &Scenario) -> Instant {
    run(scenario).flows[0].finished.expect("the flow finishes")
}

fn micros(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}

fn seconds(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

#[derive(Default)]
struct Recorder(Vec<(Instant, Place, Event)>);

impl Observer for Recorder {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        self.0.push((at, place, *event));
    }
}

type Events = [(Instant, Place, Event)];

fn observe(scenario: &Scenario) -> (Results, Vec<(Instant, Place, Event)>) {
    let mut recorder = Recorder::default();
    let results = segue_sim::run_observed(scenario, 1, &mut recorder);
    (results, recorder.0)
}

fn trace(scenario: &Scenario) -> String {
    let mut trace = CsvTrace::new(scenario, Vec::new());
    segue_sim::run_observed(scenario, 1, &mut trace);
    String::from_utf8(trace.finish().unwrap()).unwrap()
}

fn data_arrivals(events: &Events) -> Vec<Instant> {
    let is_data = |event: &Event| matches!(event, Event::DataReceived { len: 1.., .. });
    events.iter().filter(|(_, _, event)| is_data(event)).map(|(at, _, _)| *at).collect()
}

fn drop_times(events: &Events) -> Vec<Instant> {
    let is_drop = |event: &Event| matches!(event, Event::PacketDropped { .. });
    events.iter().filter(|(_, _, event)| is_drop(event)).map(|(at, _, _)| *at).collect()
}

fn drops(events: &Events, from: Instant, to: Instant) -> Vec<DropCause> {
    let cause = |(at, _, event): &(Instant, Place, Event)| match event {
        Event::PacketDropped { cause, .. } if *at >= from && *at < to => Some(*cause),
        _ => None,
    };
    events.iter().filter_map(cause).collect()
}

fn outage_times(events: &Events) -> (Vec<Instant>, Vec<Instant>) {
    let times = |wanted: Event| {
        events.iter().filter(|(_, _, event)| *event == wanted).map(|(at, _, _)| *at).collect::<Vec<_>>()
    };
    (times(Event::OutageBegan), times(Event::OutageEnded))
}

fn signals(events: &Events) -> Vec<(&'static str, Instant)> {
    let heard = |(at, _, event): &(Instant, Place, Event)| match event {
        Event::SignalHeard(signal) => Some((SignalKind::name(&signal.kind), *at)),
        _ => None,
    };
    events.iter().filter_map(heard).collect()
}
