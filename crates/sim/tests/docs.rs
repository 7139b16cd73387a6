//! The user's pages keep to the code: their examples run as they are printed, their tables have its keys and constants.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::collections::{BTreeMap, BTreeSet};

use segue_proto::mobile_ip::mobile_node::{AgentTimeout, Retransmission};
use segue_proto::mobile_ip::{Delay, delay};
use segue_proto::queue;
use segue_proto::wifi::phy::{Phy, Preamble};
use segue_proto::wifi::rate;
use segue_sim::radio::propagation;
use segue_sim::scenario::{Scenario, Setting, load};
use segue_sim::{mobility, run};

const MOBILITY: &str = include_str!("../../../docs/mobility.md");
const RADIO: &str = include_str!("../../../docs/radio.md");
const QUEUES: &str = include_str!("../../../docs/queues.md");
const WIFI: &str = include_str!("../../../docs/wifi.md");
const MOBILE_IP: &str = include_str!("../../../docs/mobile-ip.md");

#[test]
fn every_example_of_the_page_on_mobility_is_accepted() {
    let mut models = Vec::new();
    for example in examples(MOBILITY) {
        let name = example.lines().find_map(|line| line.strip_prefix("[hosts.")?.strip_suffix(']')).unwrap();
        let text = format!(
            "duration = \"10 s\"\n\
             cells = [{{ members = [\"{name}\", \"other\"], rate = \"1 Mb/s\" }}]\n\
             flows = [{{ from = \"{name}\", to = \"other\" }}]\n\
             [hosts.other]\n{example}"
        );
        let reader = |file: &str| match file {
            "move.tcl" => Ok("$node_(3) set X_ 83.4\n".to_owned()),
            "fcd.xml" => Ok(FCD.to_owned()),
            _ => Ok(text.clone()),
        };
        let scenario = load("example.toml", &reader, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let node = scenario.nodes.iter().find(|node| node.name == name).unwrap();
        models.push(node.mobility.as_ref().unwrap().name());
    }
    let all: Vec<&str> = mobility::ALL.iter().map(|(name, _)| *name).collect();
    assert_eq!(models, all);
}

#[test]
fn the_page_on_mobility_has_the_table_of_the_code() {
    for (name, text) in mobility::ALL {
        let row = format!("| `{name}` | {text} |");
        assert!(MOBILITY.contains(&row), "{row}");
    }
}

#[test]
fn every_example_of_the_pages_of_whole_files_runs_and_carries_data() {
    for (page, least) in [(QUEUES, 2), (RADIO, 7), (WIFI, 9), (MOBILE_IP, 5)] {
        let files = files(page);
        assert!(files.len() >= least, "{:?}", files.keys());
        for name in files.keys() {
            let scenario = load_file(&files, name, &[]).unwrap_or_else(|error| panic!("{error}"));
            let results = run(&scenario, scenario.seed);
            let arrived: u64 = results.flows.iter().map(|flow| flow.delivered).sum();
            let received: u64 = results.datagrams.iter().map(|source| source.received).sum();
            assert!(arrived + received > 0, "{name}");
        }
    }
}

#[test]
fn the_tables_of_keys_have_the_keys_of_the_code() {
    // What is written for each table, and a place in an example at which a key can be added to it.
    let tables: [(&str, &str, &str, &[&str]); 9] = [
        ("[[cells]]", "corridor.toml", "cells[0]", &[]),
        ("propagation", "shadow.toml", "cells[0].propagation", &[]),
        ("frame_errors", "errors.toml", "cells[0].frame_errors[0]", &[]),
        ("[[absences]]", "absent.toml", "absences[0]", &[]),
        ("[hosts.NAME]", "corridor.toml", "hosts.laptop", &["position", "mobility"]),
        ("beacons", "beacons.toml", "hosts.laptop.beacons", &[]),
        ("link_quality", "quality.toml", "hosts.laptop.link_quality", &[]),
        ("[signals]", "quality.toml", "signals", &[]),
        ("[mobile_ip]", "visit.toml", "mobile_ip", &[]),
    ];
    let all: BTreeMap<&str, &str> = [RADIO, WIFI, MOBILE_IP].into_iter().flat_map(files).collect();
    for (table, file, place, elsewhere) in tables {
        let setting = format!("{place}.no_such_key=1");
        let message = load_file(&all, file, &[&setting]).expect_err(table);
        let (_, allowed) = message.split_once("; allowed: ").unwrap();
        let allowed: BTreeSet<&str> = allowed.split(", ").collect();
        let of_page = |page| keys(page, table);
        let written: Vec<&str> = [RADIO, WIFI, MOBILE_IP].into_iter().flat_map(of_page).collect();
        let set: BTreeSet<&str> = written.iter().chain(elsewhere).copied().collect();
        assert_eq!(set, allowed, "{table}");
        assert_eq!(set.len(), written.len() + elsewhere.len(), "{table}: a key twice");
    }
}

#[test]
fn the_pages_have_the_tables_of_models_of_the_code() {
    let models =
        propagation::ALL.iter().map(|row| (RADIO, row)).chain(rate::ALL.iter().map(|row| (WIFI, row)));
    for (page, (name, text)) in models {
        let row = format!("| `{name}` | {text} |");
        assert!(page.contains(&row), "{row}");
    }
    for (name, _) in delay::ALL {
        assert!(MOBILE_IP.contains(&format!("\n| `{name}` | ")), "{name}");
    }
}

#[test]
fn the_page_on_queues_has_the_disciplines_of_the_code_with_their_parameters_and_defaults() {
    let shared = queue::red::PARAMS.len() - 1;
    for spec in queue::ALL {
        let row = format!("| `{}` | {} |", spec.name, spec.summary);
        assert!(QUEUES.contains(&row), "{row}");
        // Those of the shadow stand with RED.
        let own = spec.params.len() - if spec.name == "drop-tail" { shared } else { 0 };
        let heading = format!("| parameter of `{}` | default |\n|---|---|\n", spec.name);
        let rows: String =
            spec.params[..own].iter().map(|p| format!("| `{}` | `{}` |\n", p.name, p.default)).collect();
        assert!(QUEUES.contains(&format!("{heading}{rows}\n")), "{heading}{rows}");
    }
}

#[test]
fn the_page_on_wifi_has_the_timings_of_the_code() {
    let layers = [
        ("DSSS, long preamble", Phy::Dsss(Preamble::Long)),
        ("DSSS, short preamble", Phy::Dsss(Preamble::Short)),
        ("OFDM", Phy::Ofdm),
    ];
    for (name, phy) in layers {
        let fastest = *phy.rates().last().unwrap();
        let [slot, sifs, difs, eifs, plcp] =
            [phy.slot(), phy.sifs(), phy.difs(), phy.eifs(), phy.plcp(fastest)].map(|d| d.as_nanos() / 1_000);
        let (least, most) = (phy.cw_min(), phy.cw_max());
        let row = format!(
            "| {name} | {slot} µs | {sifs} µs | {difs} µs | {eifs} µs | {least} | {most} | {plcp} µs |"
        );
        assert!(WIFI.contains(&row), "{row}");
    }
}

#[test]
fn the_page_on_mobile_ip_has_the_constants_of_both_profiles() {
    let constants = |profile: &str| {
        let setting = format!("mobile_ip.profile={profile}");
        let scenario = load_file(&files(MOBILE_IP), "visit.toml", &[&setting]).unwrap();
        let mobile_ip = scenario.mobile_ip.unwrap();
        let (host, agent) = (mobile_ip.hosts[0].config, &mobile_ip.home_agents[0].config);
        let beacon = agent.beacon.unwrap();
        let Delay::Constant(delay) = agent.registration_delay else { panic!("not constant") };
        let (Retransmission::Fixed(retry) | Retransmission::Doubling { first: retry }) = host.retransmission;
        let is_tested = matches!(host.agent_timeout, AgentTimeout::Tested { .. });
        assert_eq!(is_tested, profile == "ns-2");
        [
            beacon.period.to_string(),
            format!("{} s", beacon.lifetime_secs),
            format!("{:?}", host.detection).to_lowercase(),
            format!("{} s", host.lifetime.0),
            retry.to_string(),
            delay.to_string(),
        ]
    };
    let rows = [
        "advertisement_interval",
        "advertisement_lifetime",
        "detection",
        "registration_lifetime",
        "registration_retry",
        "registration_delay",
    ];
    for ((key, ns2), rfc) in rows.into_iter().zip(constants("ns-2")).zip(constants("rfc-5944")) {
        let end = format!("| `{key}` |");
        let row = MOBILE_IP.lines().find(|line| line.ends_with(&end)).unwrap_or_else(|| panic!("{key}"));
        let cells: Vec<&str> = row.split('|').collect();
        assert!(cells[2].contains(&ns2) && cells[3].contains(&rfc), "{row}: {ns2}, {rfc}");
    }
}

/// The examples of a page that are whole files, by the name in their first line.
fn files(page: &str) -> BTreeMap<&str, &str> {
    let named = |text| (str::lines(text).next().unwrap().strip_prefix("# ").unwrap(), text);
    examples(page).into_iter().map(named).collect()
}

fn load_file(files: &BTreeMap<&str, &str>, name: &str, settings: &[&str]) -> Result<Scenario, String> {
    let reader = |file: &str| files.get(file).map(|text| (*text).to_owned()).ok_or_else(|| file.to_owned());
    let settings: Vec<Setting> = settings.iter().map(|text| text.parse().unwrap()).collect();
    load(name, &reader, &settings).map_err(|error| error.to_string())
}

/// The first column of the table of keys of `table`, if a page has it.
fn keys<'a>(page: &'a str, table: &str) -> Vec<&'a str> {
    let heading = format!("| key of `{table}` | meaning | default |\n");
    let rows = page.split(&heading).skip(1).flat_map(|rest| rest.lines().skip(1));
    let rows = rows.take_while(|line| line.starts_with("| `"));
    rows.map(|row| row.split('`').nth(1).unwrap()).collect()
}

const FCD: &str =
    r#"<fcd-export><timestep time="0"><vehicle id="veh0" x="0" y="0"/></timestep></fcd-export>"#;

/// What stands between ```` ```toml ```` and ```` ``` ````.
fn examples(page: &str) -> Vec<&str> {
    page.split("```toml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0).collect()
}
