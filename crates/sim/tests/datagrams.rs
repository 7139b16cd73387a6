//! Datagram sources: constant bit rate, counted where they arrive.

use segue_proto::time::{Duration, Instant};
use segue_sim::scenario::{Setting, load_text};
use segue_sim::{Results, Scenario};

#[test]
fn packets_leave_at_the_rate_and_are_counted_where_they_arrive() {
    let results = run(&[]);
    let source = &results.datagrams[0];
    // 1 Mb/s for one second in packets of 8000 bits.
    assert_eq!((source.sent, source.received, source.lost()), (125, 125, 0));
    assert_eq!(source.received_bytes, 125_000);
    // 1020 bytes at 10 Mb/s, and the way.
    assert_eq!(source.mean_delay, Some(Duration::from_micros(816 + 5_000)));
    assert!((source.goodput_bps - 1e6).abs() < 1e-6);
}

#[test]
fn a_run_without_flows_lasts_until_its_end() {
    assert_eq!(run(&[]).ended, Instant::ZERO + Duration::from_secs(5));
}

#[test]
fn a_run_with_flows_of_fixed_size_ends_with_them() {
    let results = run(&[("flows", "[{ from = \"a\", to = \"b\", bytes = \"10 kB\" }]")]);
    assert!(results.ended < Instant::ZERO + Duration::from_secs(1));
    assert_eq!((results.datagrams[0].sent, results.datagrams[0].mean_delay), (0, None));
}

#[test]
fn what_a_link_cannot_carry_is_lost() {
    let results = run(&[("datagrams[0].rate", "20 Mb/s"), ("links[0].queue", "10")]);
    let source = &results.datagrams[0];
    assert_eq!((source.sent, source.lost()), (2500, results.links[0].counts.dropped_queue));
    // 1000 of 1020 bytes are payload; ten packets wait when the source stops.
    let carried = source.received_bytes as f64 * 8.0 / 1e6;
    assert!((carried - 10.0 / 1.02).abs() < 0.1, "{carried} Mb");
}

#[test]
fn datagrams_and_flows_share_the_air() {
    let cell = "[{ members = [\"a\", \"b\"], rate = \"2 Mb/s\" }]";
    let flow = "[{ from = \"b\", to = \"a\" }]";
    let results = run(&[("links", "[]"), ("cells", cell), ("flows", flow)]);
    let source = &results.datagrams[0];
    assert!(source.received > 0 && results.flows[0].delivered > 0, "{source:?}");
    assert!(source.mean_delay > Some(Duration::from_millis(4)), "{source:?}");
}

#[test]
fn sources_that_make_no_sense_are_refused() {
    for (setting, message) in [
        (("datagrams[0].to", "nobody"), "there is no node \"nobody\""),
        (("datagrams[0].to", "a"), "datagrams from \"a\" to itself"),
        (("datagrams[0].to", "middle"), "\"middle\" is a router; allowed: a host"),
        (("datagrams[0].bytes", "0 B"), "found 0 B; allowed: 1 to 65515 B"),
        (("datagrams[0].bytes", "5 GB"), "allowed: 1 to 65515 B"),
        (("datagrams[0].start", "5 s"), "after the end of the run"),
        (("datagrams[0].stop", "1 s"), "allowed: after the start"),
        (("datagrams[0].colour", "red"), "there is no such key"),
        (("links", "[]"), "at least one [[links]]"),
    ] {
        let error = try_scenario(&[setting]).expect_err("a refusal").to_string();
        assert!(error.contains(message), "{error}\nshould contain\n{message}");
    }
    let to_island = [("hosts.island", "{}"), ("datagrams[0].to", "island")];
    let error = try_scenario(&to_island).expect_err("a refusal").to_string();
    assert!(error.contains("no way from \"a\" to \"island\""), "{error}");
}

const BASE: &str = r#"
duration = "5 s"
hosts = { a = {}, b = {} }
routers = { middle = {} }
links = [{ between = ["a", "b"], rate = "10 Mb/s", delay = "5 ms" }]
datagrams = [{ from = "a", to = "b", rate = "1 Mb/s", start = "1 s", stop = "2 s" }]
"#;

fn try_scenario(settings: &[(&str, &str)]) -> Result<Scenario, segue_sim::scenario::ScenarioError> {
    let settings: Vec<Setting> = settings
        .iter()
        .map(|(path, value)| Setting { path: (*path).to_owned(), value: (*value).to_owned() })
        .collect();
    load_text("datagrams.toml", BASE, &settings)
}

fn run(settings: &[(&str, &str)]) -> Results {
    let scenario = try_scenario(settings).unwrap_or_else(|e| panic!("{e}"));
    segue_sim::run(&scenario, scenario.seed)
}
