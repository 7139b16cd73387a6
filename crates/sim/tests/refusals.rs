//! Malformed scenarios: each is refused, and its message says where, what was found and what is allowed.
//!
//! `refusals/*.toml` holds one mistake a file, named after it; `refusals/refusals.snap` holds all the messages.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use segue_sim::mobility::Mobility;
use segue_sim::scenario::{Scenario, ScenarioError, Setting, load};

#[test]
fn every_malformed_scenario_is_refused_with_a_message_that_helps() {
    let mut table = String::new();
    for name in malformed_files() {
        let refused = load(&name, &read, &[]).map(|_| format!("{name} is not refused"));
        writeln!(table, "{}", refused.map_err(|error| error.to_string()).unwrap_or_else(|message| message))
            .unwrap();
    }
    snapshot("refusals", &table);
}

#[test]
fn there_are_no_fewer_cases_than_there_were() {
    assert!(malformed_files().len() >= 297, "{} cases", malformed_files().len());
}

#[test]
fn a_message_about_a_key_in_a_file_names_its_line() {
    // These speak of something that stands nowhere.
    let of_the_whole_file = ["empty_file", "missing_duration", "no_flows", "no_links"];
    for name in malformed_files() {
        let error = load(&name, &read, &[]).expect_err(&name);
        let has_line = !of_the_whole_file.contains(&name.trim_end_matches(".toml"));
        assert_eq!(error.line.is_some(), has_line, "{error}");
    }
}

#[test]
fn a_setting_that_does_not_fit_is_refused_with_a_message_that_helps() {
    let settings = [
        "links[1].rate=2 Mb/s",
        "links.7.rate=2 Mb/s",
        "links[x].rate=2 Mb/s",
        "links[0].rat=2 Mb/s",
        "links[0].rate=2",
        "links.0.rate=2 ms",
        "links[0].between=3",
        "links[0].between[1]=nobody",
        "links[0].rate.unit=Mb/s",
        "duration=0 s",
        "duration.seconds=3",
        "tcp.mss=0",
        "tcp.mss=large",
        "tcp.variant=vegas",
        "flows[0].tcp.mss=0",
        "flows[0].to=nobody",
        "scheme.name=ilc-tcp",
        "scheme.name=ilc",
        "scheme=ilc-tcp",
        "hosts.laptop.mobil=true",
        "outages[0].link=[\"laptop\", \"server\"]",
        "extends=other.toml",
        "speed=3",
        ".=3",
    ];
    let mut table = String::new();
    for text in settings {
        let error = load_with("parts/base.toml", &[text]).expect_err(text);
        writeln!(table, "{text:40} {error}").unwrap();
    }
    snapshot("settings", &table);
}

#[test]
fn a_setting_without_a_path_or_a_value_is_refused() {
    for text in ["links[0].rate", "=3", "  = 3"] {
        let error = text.parse::<Setting>().expect_err(text);
        assert_eq!(error, "expected PATH=VALUE, such as links[0].rate=2 Mb/s");
    }
}

#[test]
fn a_setting_replaces_a_value_adds_one_and_needs_no_quotes() {
    let settings = [
        "links[0].rate=2 Mb/s",
        "links.0.queue = 7",
        "scheme.name=none",
        "flows[0].tcp.mss=500",
        "title=a=b",
    ];
    let scenario = load_with("parts/base.toml", &settings).unwrap();
    assert_eq!(scenario.links[0].directions[0].rate.as_bps(), 2_000_000);
    assert_eq!(scenario.links[0].directions[1].queue.params.integer("limit"), 7);
    assert_eq!(scenario.flows[0].profile.mss, 500);
    assert_eq!(scenario.title, "a=b");
}

#[test]
fn the_last_of_several_settings_of_one_key_holds() {
    let scenario = load_with("parts/base.toml", &["seed=3", "seed=4"]).unwrap();
    assert_eq!(scenario.seed, 4);
}

#[test]
fn a_setting_may_replace_a_whole_table_or_list() {
    let settings = ["hosts.laptop={ mobile = true }", "scheme={ name = \"ilc-tcp\", layers = \"link\" }"];
    let scenario = load_with("parts/base.toml", &settings).unwrap();
    assert_eq!(scenario.scheme.spec.name, "ilc-tcp");
    assert_eq!(scenario.scheme.params.choice("layers"), "link");
    let ends = load_with("parts/base.toml", &["links[0].between=[\"server\", \"laptop\"]"]).unwrap();
    assert_eq!(ends.nodes[ends.links[0].ends[0]].name, "server");
}

#[test]
fn a_file_that_builds_on_another_merges_tables_and_replaces_lists() {
    let files = [
        ("a/child.toml", "extends = \"../shared/base.toml\"\nduration = \"3 s\"\n[tcp]\nmss = 700\n"),
        (
            "a/other.toml",
            "extends = \"child.toml\"\n[[links]]\nbetween = [\"laptop\", \"server\"]\nrate = \"9 Mb/s\"\ndelay = \"1 ms\"\n",
        ),
    ];
    let reader = |name: &str| match files.iter().find(|(file, _)| *file == name) {
        Some((_, text)) => Ok((*text).to_owned()),
        None if name == "a/../shared/base.toml" => read("parts/base.toml"),
        None => Err(format!("no file {name}")),
    };
    let child = load("a/child.toml", &reader, &[]).unwrap();
    assert_eq!(child.duration.as_nanos(), 3_000_000_000);
    let profile = &child.flows[0].profile;
    assert_eq!((profile.name, profile.mss, profile.window), ("ns-2.35", 700, 40));
    assert_eq!(child.links[0].directions[0].rate.as_bps(), 1_000_000);

    let other = load("a/other.toml", &reader, &[]).unwrap();
    assert_eq!((other.links.len(), other.links[0].directions[0].rate.as_bps()), (1, 9_000_000));
    assert_eq!(other.flows[0].profile.mss, 700);
}

#[test]
fn nodes_move_as_their_keys_and_files_say_and_each_file_is_read_once() {
    let text = r#"
        duration = "10 s"
        cells = [{ members = ["a", "b"], rate = "1 Mb/s" }]
        flows = [{ from = "a", to = "b" }]
        [routers]
        r = { mobility = { model = "setdest", file = "parts/move.tcl", node = 0 } }
        [hosts]
        g.position = [3, 4]
        h = {}
        a.mobility = { model = "waypoints", points = [["0 s", 0, 0], ["10 s", 100, 0]] }
        b.mobility = { model = "line", from = [0, 0], velocity = [1.5, 0], start = "2 s" }
        c.mobility = { model = "random-waypoint", area = [0, 0, 500, 500], speed = [1, 10], pause = "2 s" }
        d.mobility = { model = "setdest", file = "parts/move.tcl", node = 1 }
        e.mobility = { model = "sumo-fcd", file = "parts/fcd.xml", id = "veh0" }
        f.mobility = { model = "sumo-fcd", file = "parts/fcd.xml", id = "walker" }
    "#;
    let read_files = std::cell::RefCell::new(Vec::new());
    let reader = |name: &str| {
        read_files.borrow_mut().push(name.to_owned());
        if name == "scenario.toml" { Ok(text.to_owned()) } else { read(name) }
    };
    let scenario = load("scenario.toml", &reader, &[]).unwrap();
    let models: Vec<_> =
        scenario.nodes.iter().map(|node| node.mobility.as_ref().map(Mobility::name)).collect();
    let expected = [
        Some("waypoints"),
        Some("line"),
        Some("random-waypoint"),
        Some("setdest"),
        Some("sumo-fcd"),
        Some("sumo-fcd"),
        Some("fixed"),
        None,
        Some("setdest"),
    ];
    assert_eq!(models, expected);
    assert_eq!(*read_files.borrow(), ["scenario.toml", "parts/move.tcl", "parts/fcd.xml"]);
}

#[test]
fn a_movement_file_lies_beside_the_file_that_names_it() {
    let base = r#"
        duration = "10 s"
        hosts = { a = { mobility = { model = "setdest", file = "move.tcl", node = 0 } }, b = {} }
        cells = [{ members = ["a", "b"], rate = "1 Mb/s" }]
        flows = [{ from = "a", to = "b" }]
    "#;
    let asked = |child: &str, settings: &[&str]| {
        let reader = |name: &str| match name {
            "run/child.toml" => Ok(format!("extends = \"../shared/base.toml\"\n{child}")),
            "run/../shared/base.toml" => Ok(base.to_owned()),
            _ => Err("no".to_owned()),
        };
        let settings: Vec<Setting> = settings.iter().map(|text| text.parse().unwrap()).collect();
        load("run/child.toml", &reader, &settings).unwrap_err().message
    };
    assert!(asked("", &[]).starts_with("\"run/../shared/move.tcl\": no;"));
    assert!(asked("hosts.a.mobility.file = \"own.tcl\"", &[]).starts_with("\"run/own.tcl\": no;"));
    assert!(asked("", &["hosts.a.mobility.file=set.tcl"]).starts_with("\"run/set.tcl\": no;"));
    assert!(asked("", &["hosts.a.mobility.file=/tmp/set.tcl"]).starts_with("\"/tmp/set.tcl\": no;"));
    let error = Scenario::from_toml("text", base).unwrap_err().to_string();
    assert_eq!(
        error,
        "text:3: hosts.a.mobility.file: \"move.tcl\": no other file can be read here; \
         allowed: the name of a movement file"
    );
}

#[test]
fn a_chain_of_base_files_has_an_end() {
    let reader = |name: &str| {
        let number: u32 = name.parse().map_err(|_| "not a number".to_owned())?;
        Ok(format!("extends = \"{}\"\n", number + 1))
    };
    let error = load("0", &reader, &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "15:1: extends: found a 17th file; allowed: up to 16 files that build on one another"
    );
}

#[test]
fn what_a_flow_does_not_say_it_takes_from_the_common_table_and_then_from_the_profile() {
    let settings = ["tcp.mss=900", "flows[0].tcp.window=7", "tcp.window=9"];
    let profile = load_with("parts/base.toml", &settings).unwrap().flows[0].profile.clone();
    assert_eq!((profile.mss, profile.window, profile.initial_window), (900, 7, 2));
}

fn snapshot(name: &str, table: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("refusals");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, table));
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refusals")
}

fn read(name: &str) -> Result<String, String> {
    fs::read_to_string(folder().join(name)).map_err(|_| "there is no such file".to_owned())
}

fn malformed_files() -> Vec<String> {
    let entries =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|name| name.ends_with(".toml")).collect();
    names.sort();
    names
}

fn load_with(name: &str, settings: &[&str]) -> Result<Scenario, ScenarioError> {
    let settings: Vec<Setting> = settings.iter().map(|text| text.parse().unwrap()).collect();
    load(name, &read, &settings)
}
