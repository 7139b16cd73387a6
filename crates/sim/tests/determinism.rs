//! Same scenario, same seed: the same bytes, whatever process or neighbourhood they come from.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::process::Command;

use segue_proto::time::Instant;
use segue_proto::trace::{DropCause, Event};
use segue_sim::Scenario;
use segue_sim::results::{CsvTrace, Observer, Place};
use segue_sim::scenario::{Setting, load_text};

/// Names the file into which a child process writes its output.
const OUTPUT_FILE: &str = "SEGUE_TEST_OUTPUT_FILE";

#[test]
fn two_processes_give_the_same_bytes() {
    if let Some(path) = env::var_os(OUTPUT_FILE) {
        fs::write(path, output(&scenario(&[]), 7)).unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let outputs = ["first", "second"].map(|name| {
        let path = folder.path().join(name);
        run_this_test_again("two_processes_give_the_same_bytes", path.as_os_str());
        fs::read(path).unwrap()
    });
    assert!(outputs[0].len() > 100_000, "{} bytes", outputs[0].len());
    assert_eq!(outputs[0], outputs[1]);
    assert_eq!(outputs[0], output(&scenario(&[]), 7));
}

#[test]
fn two_runs_of_one_scenario_do_not_know_of_one_another() {
    let scenario = scenario(&[]);
    let alone = output(&scenario, 7);
    let others: Vec<u64> = vec![8, 7, 9, 7];
    let outputs = std::thread::scope(|scope| {
        let threads: Vec<_> = others.iter().map(|seed| scope.spawn(|| output(&scenario, *seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(outputs[1] == alone && outputs[3] == alone);
    assert!(outputs[0] != alone && outputs[2] != alone && outputs[0] != outputs[2]);
}

#[test]
fn the_seed_decides_which_packets_are_lost() {
    let scenario = scenario(&[]);
    assert_eq!(losses(&scenario, 1, 0), losses(&scenario, 1, 0));
    assert_ne!(losses(&scenario, 1, 0), losses(&scenario, 2, 0));
}

#[test]
fn a_new_link_with_a_loss_model_changes_no_loss_of_the_others() {
    let without = scenario(&[]);
    let first = losses(&without, 3, 0);
    assert!(first.len() > 20);
    // The new link stands first in the file, so that all numbers move by one.
    let with = load_text("with.toml", &format!("{NEW_LINK}{SCENARIO}"), &[]).unwrap();
    assert_eq!(losses(&with, 3, 1), first);
    assert_eq!(losses(&with, 3, 2), losses(&without, 3, 1));
    assert!(!losses(&with, 3, 0).is_empty());
}

#[test]
fn the_two_directions_of_a_link_lose_independently() {
    let both = "links[0].reverse={ loss = { model = \"bernoulli\", p = 0.03 } }";
    let one = losses(&scenario(&[]), 3, 0);
    let two = losses(&scenario(&[both]), 3, 0);
    // Acknowledgements are lost in addition; the draws of the forward direction stay what they were.
    let first = one.iter().zip(&two).take_while(|(a, b)| a == b).count();
    assert!(first >= 1, "{one:?} {two:?}");
}

#[test]
fn a_flow_that_fares_alone_is_not_changed_by_an_outage_elsewhere() {
    let outage = "outages=[{ link = [\"c\", \"d\"], mean_up = \"1 s\", mean_down = \"1 s\" }]";
    let (calm, troubled) = (scenario(&["scheme={ name = \"none\" }", "outages=[]"]), scenario(&[outage]));
    let row = |scenario: &Scenario| segue_sim::run(scenario, 3).flow_table().rows[0].clone();
    let mut expected = row(&calm);
    // Only the name of the scheme differs.
    expected[3] = row(&troubled)[3].clone();
    assert_eq!(row(&troubled), expected);
}

#[test]
fn observing_a_run_does_not_change_it() {
    let scenario = scenario(&[]);
    let mut nobody = Losses { direction: Place::Node(0), numbers: Vec::new() };
    let observed = segue_sim::run_observed(&scenario, 5, &mut nobody);
    let plain = segue_sim::run(&scenario, 5);
    assert_eq!(plain.flow_table().csv(), observed.flow_table().csv());
    assert_eq!(plain.link_table(&scenario).csv(), observed.link_table(&scenario).csv());
    assert_eq!(plain.events, observed.events);
}

const NEW_LINK: &str = r#"
links = [
    { between = ["e", "f"], rate = "1 Mb/s", delay = "5 ms", loss = { model = "bernoulli", p = 0.2 } },
    { between = ["a", "b"], rate = "1 Mb/s", delay = "10 ms", loss = { model = "bernoulli", p = 0.03 } },
    { between = ["c", "d"], rate = "2 Mb/s", delay = "10 ms", loss = { model = "gilbert-elliott", p_good_to_bad = 0.01, p_bad_to_good = 0.3 } },
]
flows = [{ from = "a", to = "b" }, { from = "c", to = "d" }, { from = "e", to = "f" }]
"#;

/// Without its links and flows.
const SCENARIO: &str = r#"
duration = "60 s"
tcp = { profile = "ns-2.35" }
scheme = { name = "ilc-tcp" }
hosts = { a = { mobile = true }, b = {}, c = {}, d = { mobile = true }, e = {}, f = {} }
outages = [{ link = ["a", "b"], mean_up = "5 s", mean_down = "1 s" }]
"#;

const LINKS: &str = r#"
links = [
    { between = ["a", "b"], rate = "1 Mb/s", delay = "10 ms", loss = { model = "bernoulli", p = 0.03 } },
    { between = ["c", "d"], rate = "2 Mb/s", delay = "10 ms", loss = { model = "gilbert-elliott", p_good_to_bad = 0.01, p_bad_to_good = 0.3 } },
]
flows = [{ from = "a", to = "b" }, { from = "c", to = "d" }]
"#;

fn scenario(settings: &[&str]) -> Scenario {
    let settings: Vec<Setting> = settings.iter().map(|text| text.parse().unwrap()).collect();
    load_text("test.toml", &format!("{LINKS}{SCENARIO}"), &settings).unwrap_or_else(|error| panic!("{error}"))
}

fn run_this_test_again(name: &str, output: &OsStr) {
    let exe = env::current_exe().unwrap();
    let run = Command::new(exe).args(["--exact", name]).env(OUTPUT_FILE, output).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// All that a run can give: trace, flows, links.
fn output(scenario: &Scenario, seed: u64) -> Vec<u8> {
    let mut trace = CsvTrace::new(scenario, Vec::new());
    let results = segue_sim::run_observed(scenario, seed, &mut trace);
    let mut bytes = trace.finish().unwrap();
    bytes.extend(results.flow_table().csv().bytes());
    bytes.extend(results.link_table(scenario).csv().bytes());
    bytes
}

/// When the loss model of the first direction of link number `link` struck.
fn losses(scenario: &Scenario, seed: u64, link: usize) -> Vec<Instant> {
    let mut losses = Losses { direction: Place::Link(2 * link), numbers: Vec::new() };
    segue_sim::run_observed(scenario, seed, &mut losses);
    losses.numbers
}

struct Losses {
    direction: Place,
    numbers: Vec<Instant>,
}

impl Observer for Losses {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if place == self.direction && matches!(event, Event::PacketDropped { cause: DropCause::Loss, .. }) {
            self.numbers.push(at);
        }
    }
}
