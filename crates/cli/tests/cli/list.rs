//! `segue list`. The lists follow the tables in the code, so a new entry needs no change here.

use segue_proto::schemes;
use segue_proto::tcp::{profile, variant};

use crate::Sandbox;

fn names(what: &str) -> Vec<String> {
    let document = Sandbox::new().segue(&["list", what, "--format", "json"]).json();
    let entries = document[what].as_array().unwrap().clone();
    entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_list_has_one_line_per_entry_of_its_table() {
    let listed = |what: &str| {
        let lines = Sandbox::new().segue(&["list", what]).data();
        lines.lines().map(|line| line.split("  ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed("schemes"), schemes::ALL.iter().map(|s| s.name).collect::<Vec<_>>());
    assert_eq!(listed("tcp"), variant::ALL.iter().map(|v| v.name).collect::<Vec<_>>());
    assert_eq!(listed("profiles"), profile::ALL.iter().map(|p| p.name).collect::<Vec<_>>());
    assert_eq!(listed("papers"), segue_sim::reproduce::paper_keys());
    for what in ["schemes", "tcp", "profiles", "queues", "losses", "scenarios", "papers"] {
        assert_eq!(listed(what), names(what), "{what}");
    }
}

#[test]
fn every_entry_has_a_summary() {
    for what in ["schemes", "tcp", "profiles", "queues", "losses", "scenarios", "papers"] {
        let table = Sandbox::new().segue(&["list", what, "--format", "csv"]).data();
        let mut lines = table.lines();
        assert_eq!(lines.next(), Some("name,summary"));
        assert!(lines.all(|line| !line.ends_with(',')), "{what}:\n{table}");
    }
}

#[test]
fn a_list_can_be_printed_in_three_formats() {
    let lists: Vec<String> = ["table", "json", "csv"]
        .map(|format| Sandbox::new().segue(&["list", "losses", "--format", format]).to_string())
        .into();
    insta::assert_snapshot!("list_losses", lists.join("\n"));
}

#[test]
fn scenarios_are_the_files_of_the_folder_with_their_titles() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("scenarios/wrong.toml"), "titel = \"Nobody knows this key\"\n")
        .unwrap();
    insta::assert_snapshot!("list_scenarios", sandbox.segue(&["list", "scenarios"]));
}

#[test]
fn no_folder_of_scenarios_is_an_empty_list_and_a_note() {
    insta::assert_snapshot!("list_no_scenarios", Sandbox::empty().segue(&["list", "scenarios"]));
}

#[test]
fn a_scheme_is_shown_with_its_parameters() {
    let text = Sandbox::new().segue(&["list", "schemes", "ilc-tcp"]).data();
    for parameter in schemes::Spec::named("ilc-tcp").unwrap().params {
        assert!(text.lines().any(|line| line.starts_with(&format!("{} ", parameter.name))), "{text}");
    }
    let csv = Sandbox::new().segue(&["list", "schemes", "--verbose", "--format", "csv"]).data();
    let parameters: usize = schemes::ALL.iter().map(|spec| spec.params.len()).sum();
    assert_eq!(csv.lines().count(), 1 + parameters);
    let document = Sandbox::new().segue(&["list", "schemes", "ilc-tcp", "--format", "json"]).json();
    assert_eq!(document["schemes"][0]["parameters"][0]["name"], "layers");
}

#[test]
fn a_name_that_is_not_there_is_refused_with_those_that_are() {
    insta::assert_snapshot!("list_unknown", Sandbox::new().segue(&["list", "losses", "bernouli"]));
}
