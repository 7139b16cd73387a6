//! The largest, longest and emptiest that a user may ask for: nothing hangs, nothing grows with what does not happen.
//!
//! The work of a run is counted in events, not in seconds.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::fmt::Write;

use segue_proto::time::{Duration, Instant};
use segue_proto::trace::Event;
use segue_sim::results::{Observer, Place};
use segue_sim::scenario::{Setting, load_text};
use segue_sim::{Results, Scenario};

#[test]
fn a_gigabyte_over_a_kilobit_per_second_gets_as_far_as_the_run_lasts() {
    let results = run(&pair(&["links[0].rate=1 kb/s", "flows[0].bytes=1 GB", "duration=3600 s"]));
    let (flow, counts) = (&results.flows[0], results.links[0].counts);
    assert_eq!((flow.finished, results.ended), (None, Instant::ZERO + Duration::from_secs(3600)));
    assert!(counts.arrived_bytes * 8 <= 3600 * 1000);
    // All but the handshake is spent sending.
    assert!(counts.arrived_bytes * 8 > 3550 * 1000, "{counts:?}");
    assert!(flow.acknowledged <= flow.delivered && flow.delivered < 450_000);
    assert!(results.events < 20 * counts.offered + 100, "{} events", results.events);
}

#[test]
fn a_transfer_of_the_largest_size_begins_like_any_other() {
    let largest = run(&pair(&["flows[0].bytes=4611686018427387904 B", "duration=10 s"]));
    let unlimited = run(&pair(&["duration=10 s"]));
    assert_eq!(largest.links[0].counts, unlimited.links[0].counts);
    assert_eq!(largest.events, unlimited.events);
}

#[test]
fn zero_bytes_cost_one_handshake() {
    let results = run(&pair(&["flows[0].bytes=0 B"]));
    assert!(results.flows[0].finished.is_some());
    assert!(results.events < 20, "{} events", results.events);
}

#[test]
fn ten_thousand_flows_over_ten_thousand_pairs_cost_ten_thousand_times_one() {
    let one = run(&pairs(1));
    let many = run(&pairs(10_000));
    assert_eq!(many.flows.len(), 10_000);
    assert!(many.flows.iter().all(|flow| flow.finished == one.flows[0].finished && flow.delivered == 10_000));
    assert!(many.events <= 10_000 * one.events, "{} for one, {} for all", one.events, many.events);
}

#[test]
fn a_hundred_flows_between_one_pair_all_end() {
    let flows: Vec<String> =
        (0..100).map(|_| "{ from = \"a\", to = \"b\", bytes = \"20 kB\" }".to_owned()).collect();
    let results = run(&pair(&[&format!("flows=[{}]", flows.join(", ")), "duration=1000 s"]));
    assert_eq!(results.flows[99].name, "a-b-100");
    assert!(results.flows.iter().all(|flow| flow.finished.is_some() && flow.delivered == 20_000));
}

#[test]
fn an_outage_longer_than_the_run_ends_with_the_run() {
    for length in ["for ever", "1000 h"] {
        let outage =
            format!("outages=[{{ link = [\"a\", \"b\"], start = \"2 s\", duration = \"{length}\" }}]");
        let (results, counter) = observe(&pair(&[&outage, "duration=100 s"]));
        assert_eq!((counter.began, counter.ended), (1, 0));
        assert_eq!(results.ended, Instant::ZERO + Duration::from_secs(100));
        assert!(results.links[0].counts.dropped_outage > 0);
    }
}

#[test]
fn an_outage_after_the_run_does_not_happen() {
    let outage = "outages=[{ link = [\"a\", \"b\"], start = \"2000 h\", duration = \"1 s\" }]";
    let (results, counter) = observe(&pair(&[outage, "duration=10 s"]));
    assert_eq!((counter.began, counter.ended), (0, 0));
    assert_eq!(results.links[0].counts.dropped_outage, 0);
}

#[test]
fn a_million_outages_cost_two_events_each() {
    let outages =
        "outages=[{ link = [\"c\", \"d\"], start = \"0 s\", duration = \"100 us\", every = \"1 ms\" }]";
    let with_cd = "links=[{ between = [\"a\", \"b\"], rate = \"1 kb/s\", delay = \"1 ms\" }, \
                   { between = [\"c\", \"d\"], rate = \"1 kb/s\", delay = \"1 ms\" }]";
    let settings =
        ["hosts={ a = {}, b = {}, c = { mobile = true }, d = {} }", with_cd, "duration=999999500 us"];
    let calm = run(&pair(&settings));
    let (results, counter) = observe(&pair(&[settings[0], settings[1], settings[2], outages]));
    assert_eq!((counter.began, counter.ended), (1_000_000, 1_000_000));
    assert!(results.events - calm.events <= 2 * 1_000_000 + 2, "{} events", results.events);
}

#[test]
fn a_million_outages_of_a_busy_link_leave_the_packets_between_them() {
    // A period of which no retransmission timeout is a multiple: otherwise each copy would meet the next outage.
    let outages = "outages=[{ link = [\"a\", \"b\"], start = \"5 us\", duration = \"10 us\", every = \"99997 ns\", count = 1_000_000 }]";
    let (results, counter) = observe(&pair(&[outages, "links[0].rate=1 Gb/s", "duration=100 s"]));
    assert_eq!((counter.began, counter.ended), (1_000_000, 1_000_000));
    assert!(results.flows[0].delivered > 0);
    assert!(results.links[0].counts.dropped_outage > 0);
}

#[test]
fn hosts_without_flows_cost_no_event() {
    let alone = run(&pair(&["duration=100 s"]));
    let mut crowd = String::from("hosts={ a = {}, b = {}");
    for i in 0..20_000 {
        write!(crowd, ", idle{i} = {{ mobile = true }}").unwrap();
    }
    crowd.push_str(" }");
    let crowded = run(&pair(&["duration=100 s", &crowd]));
    assert_eq!(crowded.events, alone.events);
    assert_eq!(crowded.flow_table(), alone.flow_table());
}

#[test]
fn a_beacon_costs_one_event_and_the_watch_for_silence_one_more() {
    let quiet = run(&pair(&["links[0].rate=1 kb/s", "hosts.a.mobile=true", "duration=1000 s"]));
    let beacons = "hosts.a.beacons={ period = \"10 ms\" }";
    let loud = run(&pair(&["links[0].rate=1 kb/s", "hosts.a.mobile=true", "duration=1000 s", beacons]));
    assert!(loud.events - quiet.events <= 2 * 100_000 + 2, "{} events", loud.events - quiet.events);
    assert_eq!(loud.flow_table(), quiet.flow_table());
}

#[test]
fn a_thousand_routers_in_a_row_are_crossed() {
    let mut text = String::from("duration = \"100 s\"\nhosts = { a = {}, b = {} }\nrouters = { r0 = {}");
    for i in 1..1000 {
        write!(text, ", r{i} = {{}}").unwrap();
    }
    text.push_str(" }\nlinks = [\n");
    let link = |from: &str, to: &str| {
        format!("{{ between = [\"{from}\", \"{to}\"], rate = \"1 Gb/s\", delay = \"1 ms\" }},\n")
    };
    text.push_str(&link("a", "r0"));
    for i in 1..1000 {
        text.push_str(&link(&format!("r{}", i - 1), &format!("r{i}")));
    }
    text.push_str(&link("r999", "b"));
    text.push_str("]\nflows = [{ from = \"a\", to = \"b\", bytes = \"0 B\" }]\n");
    let results = run(&load_text("row.toml", &text, &[]).unwrap());
    // 1001 hops of 1 ms and 0.32 us, there and back; the SYN is repeated after 1 s and its copy is answered too.
    let hop = Duration::from_nanos(1_000_320);
    assert_eq!(results.flows[0].finished, Some(Instant::ZERO + hop * 2002));
}

fn pair(settings: &[&str]) -> Scenario {
    let text = r#"
        duration = "30 s"
        tcp = { profile = "ns-2.35" }
        hosts = { a = {}, b = {} }
        links = [{ between = ["a", "b"], rate = "1 Mb/s", delay = "10 ms" }]
        flows = [{ from = "a", to = "b" }]
    "#;
    let settings: Vec<Setting> = settings.iter().map(|text| text.parse().unwrap()).collect();
    load_text("pair.toml", text, &settings).unwrap_or_else(|error| panic!("{error}"))
}

/// So many pairs of hosts, each with a link and a flow of 10 kB.
fn pairs(count: usize) -> Scenario {
    let mut text = String::from("duration = \"100 s\"\n");
    for i in 0..count {
        writeln!(text, "[hosts.a{i}]\n[hosts.b{i}]").unwrap();
        writeln!(text, "[[links]]\nbetween = [\"a{i}\", \"b{i}\"]\nrate = \"1 Mb/s\"\ndelay = \"10 ms\"")
            .unwrap();
        writeln!(text, "[[flows]]\nfrom = \"a{i}\"\nto = \"b{i}\"\nbytes = \"10 kB\"").unwrap();
    }
    load_text("pairs.toml", &text, &[]).unwrap()
}

fn run(scenario: &Scenario) -> Results {
    segue_sim::run(scenario, 1)
}

fn observe(scenario: &Scenario) -> (Results, OutageCounter) {
    let mut counter = OutageCounter::default();
    let results = segue_sim::run_observed(scenario, 1, &mut counter);
    (results, counter)
}

#[derive(Default)]
struct OutageCounter {
    began: u64,
    ended: u64,
}

impl Observer for OutageCounter {
    fn observe(&mut self, _at: Instant, _place: Place, event: &Event) {
        self.began += u64::from(*event == Event::OutageBegan);
        self.ended += u64::from(*event == Event::OutageEnded);
    }
}
