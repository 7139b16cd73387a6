//! `segue run`.

use segue_proto::schemes;
use segue_proto::tcp::variant;
use serde_json::Value;

use crate::{Outcome, Sandbox};

const SMALL: &str = "scenarios/small.toml";
const ROAM: &str = "scenarios/roam.toml";

fn segue(words: &[&str]) -> Outcome {
    Sandbox::new().segue(words)
}

/// The document of a run of `scenario` with `more` words, which must have nothing else to say.
fn document(scenario: &str, more: &[&str]) -> Value {
    segue(&[&["run", scenario, "--format", "json", "--quiet"], more].concat()).json()
}

/// The words in one column of the flow table.
fn column<'a>(document: &'a Value, name: &str) -> Vec<&'a str> {
    document["flows"].as_array().unwrap().iter().map(|flow| flow[name].as_str().unwrap()).collect()
}

#[test]
fn a_run_can_be_printed_in_three_formats() {
    for format in ["table", "json", "csv"] {
        let outcome = segue(&["run", SMALL, "--format", format]);
        insta::assert_snapshot!(format!("run_{format}"), outcome);
    }
}

#[test]
fn links_are_printed_if_asked_for() {
    for format in ["table", "json", "csv"] {
        let outcome = segue(&["run", SMALL, "--links", "--format", format]);
        insta::assert_snapshot!(format!("run_links_{format}"), outcome);
    }
}

#[test]
fn the_same_seed_gives_the_same_output_and_another_one_another() {
    let with = |seed: &str| segue(&["run", ROAM, "--seed", seed, "--format", "json"]).data();
    assert_eq!(with("3"), with("3"));
    assert_ne!(with("3"), with("4"));
    assert_eq!(document(ROAM, &[])["seed"], 7);
    // More than TOML can hold.
    assert_eq!(document(SMALL, &["--seed", "18446744073709551615"])["seed"], u64::MAX);
}

#[test]
fn set_changes_the_scenario() {
    let slow = document(SMALL, &["--set", "links[0].rate=100 kb/s"]);
    let fast = document(SMALL, &[]);
    let finish = |document: &Value| document["flows"][0]["finish_s"].as_f64().unwrap();
    assert!(finish(&slow) > 2.0 * finish(&fast));
    let twice = document(SMALL, &["--set", "tcp.variant=reno", "--set", "title=Other words"]);
    assert_eq!((column(&twice, "tcp"), &twice["title"]), (vec!["reno"], &Value::from("Other words")));
}

#[test]
fn every_scheme_and_every_tcp_can_be_chosen_by_name() {
    for spec in schemes::ALL {
        assert_eq!(column(&document(SMALL, &["--scheme", spec.name]), "scheme"), [spec.name]);
    }
    for tcp in variant::ALL {
        assert_eq!(column(&document(SMALL, &["--tcp", tcp.name]), "tcp"), [tcp.name]);
    }
}

#[test]
fn the_scheme_of_the_scenario_keeps_its_parameters_and_another_one_has_its_defaults() {
    let record = |words: &[&str]| {
        let sandbox = Sandbox::new();
        let all = [&["run", "scenarios/scheme.toml", "--out", "out", "--quiet"], words].concat();
        sandbox.segue(&all).data();
        let record: Value = serde_json::from_str(&sandbox.read("out/run.json")).unwrap();
        (record["scheme"].clone(), record["settings"].as_array().unwrap().len())
    };
    assert_eq!(record(&["--scheme", "ilc-tcp"]), ("ilc-tcp".into(), 0));
    // `layers` of the file would be refused if it were left to `none`.
    assert_eq!(record(&["--scheme", "none"]), ("none".into(), 1));
    let set = ["--scheme", "ilc-tcp", "--set", "scheme.layers=link+ip"];
    assert_eq!(document(ROAM, &set)["scheme"], "ilc-tcp");
}

#[test]
fn a_flow_with_a_tcp_of_its_own_keeps_it_and_a_note_says_so() {
    let outcome = segue(&["run", ROAM, "--tcp", "reno", "--format", "json"]);
    assert_eq!(outcome.code, Some(0));
    assert_eq!(outcome.stderr, "segue: flow \"rival\" keeps its own TCP, tahoe (flows[1].tcp.variant)\n");
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(column(&document, "tcp"), ["reno", "tahoe"]);
}

#[test]
fn out_writes_a_complete_folder() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(
        "run_out",
        sandbox.segue(&["run", SMALL, "--out", "results/small", "--seed", "9"])
    );
    assert_eq!(sandbox.names("results"), ["small"]);
    assert_eq!(
        sandbox.names("results/small"),
        ["datagrams.csv", "events.csv", "flows.csv", "links.csv", "mobility.csv", "run.json", "stations.csv"]
    );

    let printed =
        |words: &[&str]| sandbox.segue(&[&["run", SMALL, "--format", "csv"], words].concat()).data();
    assert_eq!(sandbox.read("results/small/flows.csv"), printed(&[]));
    assert_eq!(sandbox.read("results/small/links.csv"), printed(&["--links"]));
    let events = sandbox.read("results/small/events.csv");
    assert!(events.starts_with("time_ns,place,event,"), "{events}");
    assert!(events.lines().count() > 10, "{events}");

    let record: Value = serde_json::from_str(&sandbox.read("results/small/run.json")).unwrap();
    assert_eq!(record["segue"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&record["seed"], &record["scheme"]), (&Value::from(9), &Value::from("none")));
    assert_eq!(record["files"][0]["name"], SMALL);
    assert_eq!(record["files"][0]["text"], sandbox.read(SMALL).as_str());
}

#[test]
fn datagrams_have_a_table_and_without_flows_the_only_one() {
    let source = "datagrams=[{ from = \"a\", to = \"b\", rate = \"80 kb/s\", name = \"voice\" }]";
    let mut words = vec!["run", SMALL, "--set", source, "--set", "flows=[]"];
    let expected = "\
source,from,to,start_s,sent,received,lost,received_bytes,goodput_kbps,mean_delay_s
voice,a,b,0.000000,101,100,1,100000,80.000,0.018160
";
    assert_eq!(segue(&[&words[..], &["--format", "csv"]].concat()).data(), expected);
    assert!(segue(&words).data().contains("voice"));
    words.truncate(4);
    let document = segue(&[&words[..], &["--format", "json"]].concat()).json();
    assert_eq!(document["datagrams"][0]["source"], "voice");
    assert_eq!(column(&document, "flow").len(), 1);
}

#[test]
fn the_record_of_a_run_has_the_base_files_too() {
    let sandbox = Sandbox::new();
    sandbox.segue(&["run", "scenarios/scheme.toml", "--out", "out", "--quiet"]).data();
    let record: Value = serde_json::from_str(&sandbox.read("out/run.json")).unwrap();
    let names: Vec<&str> =
        record["files"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["scenarios/scheme.toml", ROAM]);
}

#[test]
fn a_folder_that_is_not_empty_is_replaced_only_by_force() {
    let sandbox = Sandbox::new();
    let run = |more: &[&str]| sandbox.segue(&[&["run", SMALL, "--quiet", "--out", "out"], more].concat());
    run(&["--seed", "1"]).data();
    insta::assert_snapshot!("run_out_exists", run(&["--seed", "2"]));
    assert!(sandbox.read("out/run.json").contains("\"seed\": 1,"));
    run(&["--seed", "2", "--force"]).data();
    assert!(sandbox.read("out/run.json").contains("\"seed\": 2,"));

    std::fs::write(sandbox.path().join("out/notes.txt"), "mine").unwrap();
    insta::assert_snapshot!("run_out_foreign", run(&["--force"]));
    assert_eq!(sandbox.read("out/notes.txt"), "mine");
    assert_eq!(sandbox.names("."), ["out", "scenarios", "wrong-name.toml"]);
}

#[test]
fn report_writes_a_page_with_the_picture_and_the_picture_beside_it() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!("run_report", sandbox.segue(&["run", SMALL, "--report", "page"]));
    assert_eq!(sandbox.names("page"), ["index.html", "timeline.svg"]);
    insta::assert_snapshot!("run_report_page", without_style(&sandbox.read("page/index.html")));
    insta::assert_snapshot!("run_report_timeline", without_style(&sandbox.read("page/timeline.svg")));
}

#[test]
fn the_page_of_a_run_needs_nothing_from_outside_and_says_which_scheme() {
    let sandbox = Sandbox::new();
    let words = ["run", ROAM, "--scheme", "ilc-tcp", "--report", "page", "--flow", "rival", "--quiet"];
    sandbox.segue(&words).data();
    let page = sandbox.read("page/index.html");
    for outside in ["<script", "http:", "https:", "src=", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("Scheme <b>ilc-tcp</b>, flow <b>rival</b> from phone to server, tahoe."), "{page}");
    let picture = sandbox.read("page/timeline.svg");
    assert!(picture.contains("Upload from a host that roams: scheme ilc-tcp, flow rival</text>"));
    assert_eq!(page.matches("class=\"cut\"").count(), 1);
}

#[test]
fn a_run_can_write_its_files_and_its_report_at_once() {
    let sandbox = Sandbox::new();
    let alone = |words: &[&str]| {
        sandbox.segue(&[&["run", ROAM, "--quiet"], words].concat()).data();
    };
    alone(&["--out", "files"]);
    alone(&["--report", "page"]);
    alone(&["--out", "both/files", "--report", "both/page"]);
    for name in ["files/events.csv", "files/run.json", "page/index.html", "page/timeline.svg"] {
        assert!(sandbox.read(name) == sandbox.read(&format!("both/{name}")), "{name}");
    }
}

#[test]
fn a_report_replaces_an_earlier_one_only_by_force() {
    let sandbox = Sandbox::new();
    let run = |more: &[&str]| sandbox.segue(&[&["run", SMALL, "--quiet", "--report", "page"], more].concat());
    run(&[]).data();
    insta::assert_snapshot!("run_report_exists", run(&["--scheme", "ilc-tcp"]));
    assert!(sandbox.read("page/index.html").contains("Scheme <b>none</b>"));
    run(&["--scheme", "ilc-tcp", "--force"]).data();
    assert!(sandbox.read("page/index.html").contains("Scheme <b>ilc-tcp</b>"));
    assert_eq!(sandbox.names("."), ["page", "scenarios", "wrong-name.toml"]);
}

#[test]
fn a_refused_scenario_leaves_no_folder() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.segue(&["run", "wrong-name.toml", "--out", "out"]).code, Some(2));
    assert_eq!(sandbox.names("."), ["scenarios", "wrong-name.toml"]);
}

#[test]
fn refusals_say_where_and_what_is_allowed() {
    let refused: &[&[&str]] = &[
        &["wrong-name.toml"],
        &["no-such.toml"],
        &["scenarios"],
        &[SMALL, "--set", "links[0].rat=2 Mb/s"],
        &[SMALL, "--set", "links[0].rate=2 Mb"],
        &[SMALL, "--set", "links[4].rate=2 Mb/s"],
        &[SMALL, "--set", "tcp.variant=vegas"],
        &[SMALL, "--set", "scheme.name=ilc"],
        &[SMALL, "--scheme", "ilc-tcp", "--set", "scheme.layer=link"],
        &[SMALL, "--scheme", "ilc-tcp", "--set", "hosts.a.mobile=false"],
        &[SMALL, "--set", "duration"],
        &[SMALL, "--seed", "-1"],
        &[SMALL, "--force"],
        &[SMALL, "--out", SMALL],
        &[SMALL, "--out", "."],
        &[SMALL, "--report", SMALL],
        &[SMALL, "--report", "out", "--out", "out"],
        &[SMALL, "--report", "out/page", "--out", "out"],
        &[SMALL, "--report", "page", "--flow", "b-a"],
        &[SMALL, "--flow", "a-b"],
        &[
            SMALL,
            "--report",
            "page",
            "--set",
            "flows=[]",
            "--set",
            "datagrams=[{ from = \"a\", to = \"b\", rate = \"1 kb/s\" }]",
        ],
    ];
    let refusals: Vec<String> = refused
        .iter()
        .map(|words| {
            let sandbox = Sandbox::new();
            let outcome = sandbox.segue(&[&["run"], *words].concat());
            assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{words:?}");
            format!("$ segue run {}\n{}", words.join(" "), outcome.stderr)
        })
        .collect();
    insta::assert_snapshot!("run_refusals", refusals.join("\n"));
}

/// A page or a picture without its style sheet, which is a file of the repository.
fn without_style(text: &str) -> String {
    let (before, rest) = text.split_once("<style>").unwrap();
    let (_, after) = rest.split_once("</style>").unwrap();
    format!("{before}[STYLE]{after}").replace(env!("CARGO_PKG_VERSION"), "[VERSION]")
}
