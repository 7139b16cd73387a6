//! 802.11 cells in the world: TCP over the real MAC, hosts that leave and come back, refusals.

use segue_sim::Scenario;
use segue_sim::results::{CsvTrace, Results};
use segue_sim::scenario::{Setting, load_text};

#[test]
fn one_tcp_flow_over_the_mac_reaches_what_the_airtimes_allow() {
    // 1040-byte packets and 40-byte ACKs, one mean backoff per frame: the arithmetic of the exchanges gives these.
    for (rate, basic, rts, packets_per_s) in [
        ("2 Mb/s", "2 Mb/s", "0 B", 138.0),
        ("1 Mb/s", "1 Mb/s", "0 B", 82.2),
        ("2 Mb/s", "2 Mb/s", "off", 162.0),
    ] {
        let results =
            run(&[("cells[0].rate", rate), ("cells[0].basic_rate", basic), ("cells[0].rts_threshold", rts)]);
        let measured = results.flows[0].acknowledged as f64 / 1000.0 / results.ended.as_secs_f64();
        assert!(
            (measured / packets_per_s - 1.0).abs() < 0.03,
            "{rate}, RTS {rts}: {measured:.1} packets/s, expected {packets_per_s}"
        );
    }
}

#[test]
fn a_packet_crosses_air_and_wire_and_every_byte_arrives_once() {
    let results = run(&[("flows[0].bytes", "300 kB"), ("flows[0].to", "server")]);
    let flow = &results.flows[0];
    assert_eq!((flow.acknowledged, flow.delivered), (300_000, 300_000));
    assert_eq!(flow.stats.retransmissions, 0);
}

#[test]
fn frame_errors_are_repaired_by_the_mac_before_tcp_sees_them() {
    let results = run(&[("cells[0].frame_error", "0.05"), ("flows[0].bytes", "500 kB")]);
    let mobile = results.stations[0][0];
    assert!(mobile.failures > 50, "{mobile:?}");
    assert_eq!(results.flows[0].acknowledged, 500_000);
    assert!(results.flows[0].stats.retransmissions <= 2, "{:?}", results.flows[0].stats);
}

#[test]
fn an_absent_host_loses_packets_at_its_retry_limit_and_tcp_backs_off() {
    let results = run(&absence());
    let mobile = results.stations[0][0];
    assert!(mobile.dropped > 0, "{mobile:?}");
    let flow = &results.flows[0];
    assert!(flow.stats.timeouts >= 2 && flow.idle.as_secs_f64() > 0.2, "{flow:?}");
    assert_eq!(flow.acknowledged, 500_000);
}

#[test]
fn ilc_tcp_resumes_at_the_moment_the_host_is_back_in_range() {
    let mut settings = absence();
    settings.push(("scheme.name", "ilc-tcp"));
    let results = run(&settings);
    let flow = &results.flows[0];
    assert_eq!(flow.stats.freezes, 1);
    assert!(flow.idle.as_secs_f64() < 1e-6, "{flow:?}");
    assert_eq!(flow.acknowledged, 500_000);
}

#[test]
fn ten_stations_share_one_medium_and_all_get_through() {
    let mut text = "duration = \"20 s\"\ntcp = { profile = \"ns-2.35\" }\n".to_owned();
    let names: Vec<String> = (0..10).map(|i| format!("s{i}")).collect();
    for name in names.iter().chain([&"sink".to_owned()]) {
        text += &format!("[hosts.{name}]\n");
    }
    let members = names.iter().map(|n| format!("\"{n}\", ")).collect::<String>();
    text +=
        &format!("[[cells]]\nmembers = [{members}\"sink\"]\nrate = \"2 Mb/s\"\nbasic_rate = \"1 Mb/s\"\n");
    for name in &names {
        text += &format!("[[flows]]\nfrom = \"{name}\"\nto = \"sink\"\n");
    }
    let scenario = Scenario::from_toml("ten.toml", &text).expect("a valid scenario");
    let results = segue_sim::run(&scenario, 1);
    let total: u64 = results.flows.iter().map(|f| f.acknowledged).sum();
    assert!(results.flows.iter().all(|f| f.acknowledged > 0), "a station starves");
    let kbps = total as f64 * 8e-3 / results.ended.as_secs_f64();
    assert!((600.0..1_200.0).contains(&kbps), "{kbps} kb/s");
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let trace = |seed| {
        let scenario = scenario(&[("cells[0].frame_error", "0.1"), ("flows[0].bytes", "100 kB")]);
        let mut trace = CsvTrace::new(&scenario, Vec::new());
        segue_sim::run_observed(&scenario, seed, &mut trace);
        trace.finish().expect("writing to memory")
    };
    assert_eq!(trace(1), trace(1));
    assert_ne!(trace(1), trace(2));
}

#[test]
fn a_cell_that_makes_no_sense_is_refused_with_its_line_and_key() {
    for (setting, message) in [
        (("cells[0].rate", "3 Mb/s"), "cells[0].rate: found \"3 Mb/s\"; allowed: \"1 Mb/s\", \"2 Mb/s\""),
        (
            ("cells[0].basic_rate", "6 Mb/s"),
            "cells[0].basic_rate: found 6000 kb/s, of the other family than the rate of",
        ),
        (("cells[0].members", "[\"mobile\"]"), "cells[0].members: found 1; allowed: 2 to 1000"),
        (("cells[0].members", "[\"mobile\", \"mobile\"]"), "cells[0].members[1]: \"mobile\" twice"),
        (("cells[0].members", "[\"mobile\", \"moon\"]"), "cells[0].members[1]: there is no node \"moon\""),
        (("cells[0].short_retry_limit", "0"), "cells[0].short_retry_limit: found 0; allowed: 1 or more"),
        (("cells[0].frame_error", "1.5"), "cells[0].frame_error: found 1.5; allowed: 0 to 1"),
        (("cells[0].antenna", "big"), "cells[0].antenna: there is no such key"),
        (("absences[0].node", "server"), "absences[0].node: \"server\" is in 0 of the cells meant"),
        (("absences[0].count", "0"), "absences[0].count: found count without every"),
    ] {
        let mut settings = absence();
        settings.push(setting);
        let error = try_scenario(&settings).expect_err("a refusal").to_string();
        assert!(error.contains(message), "{error}\nshould contain\n{message}");
    }
}

const PATH: &str = r#"
duration = "60 s"
tcp = { profile = "ns-2.35", variant = "tahoe" }
hosts = { mobile = { mobile = true }, server = {}, near = {} }
routers = { base = {} }
cells = [{ members = ["mobile", "base", "near"], rate = "2 Mb/s", basic_rate = "2 Mb/s" }]
links = [{ between = ["base", "server"], rate = "10 Mb/s", delay = "5 ms" }]
flows = [{ from = "mobile", to = "near" }]
"#;

fn absence() -> Vec<(&'static str, &'static str)> {
    let absences = "[{ node = \"mobile\", start = \"2 s\", duration = \"3 s\" }]";
    vec![("absences", absences), ("flows[0].bytes", "500 kB")]
}

fn try_scenario(settings: &[(&str, &str)]) -> Result<Scenario, segue_sim::scenario::ScenarioError> {
    let settings: Vec<Setting> = settings
        .iter()
        .map(|(path, value)| Setting { path: (*path).to_owned(), value: (*value).to_owned() })
        .collect();
    load_text("cell.toml", PATH, &settings)
}

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    try_scenario(settings).unwrap_or_else(|e| panic!("{e}"))
}

fn run(settings: &[(&str, &str)]) -> Results {
    let scenario = scenario(settings);
    segue_sim::run(&scenario, scenario.seed)
}
