//! `segue reproduce`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{Outcome, Sandbox};

/// The papers that are quick enough to be run here.
const PAPER: &str = "ilc-tcp";

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Checks that exit code and verdicts agree, and gives the document.
fn document(outcome: &Outcome) -> Value {
    let document: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let failed = document["papers"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|paper| paper["criteria"].as_array().unwrap())
        .any(|criterion| criterion["verdict"] == "fail");
    assert_eq!(outcome.code, Some(i32::from(failed)), "{}", outcome.stderr);
    document
}

#[test]
fn the_json_document_has_the_promised_form() {
    let outcome = Sandbox::empty().segue(&["reproduce", PAPER, "--format", "json"]);
    let document = document(&outcome);
    assert_eq!(outcome.stderr, "");
    assert_eq!(keys(&document), BTreeSet::from(["papers"]));
    let [paper] = document["papers"].as_array().unwrap().as_slice() else { panic!("one paper") };
    assert_eq!(keys(paper), BTreeSet::from(["key", "title", "criteria", "tables"]));
    assert_eq!(paper["key"], PAPER);
    for criterion in paper["criteria"].as_array().unwrap() {
        assert_eq!(keys(criterion), BTreeSet::from(["id", "text", "verdict", "expected", "measured"]));
        assert!(["pass", "fail", "negative"].contains(&criterion["verdict"].as_str().unwrap()));
    }
    for table in paper["tables"].as_array().unwrap() {
        assert_eq!(keys(table), BTreeSet::from(["id", "caption", "columns", "rows"]));
        let columns = table["columns"].as_array().unwrap().len();
        assert!(table["rows"].as_array().unwrap().iter().all(|row| row.as_array().unwrap().len() == columns));
    }
}

#[test]
fn the_text_has_the_tables_the_criteria_and_a_last_line_with_the_counts() {
    let document = document(&Sandbox::empty().segue(&["reproduce", PAPER, "--format", "json"]));
    let text = Sandbox::empty().segue(&["reproduce", PAPER]).stdout;
    let criteria = document["papers"][0]["criteria"].as_array().unwrap();
    for criterion in criteria {
        let begin =
            format!("{:10}{}:", criterion["verdict"].as_str().unwrap(), criterion["id"].as_str().unwrap());
        assert!(text.lines().any(|line| line.starts_with(&begin)), "{begin}\n{text}");
    }
    let passed = criteria.iter().filter(|criterion| criterion["verdict"] == "pass").count();
    let last = text.lines().last().unwrap();
    assert!(last.starts_with(&format!("1 paper: {passed} passed, ")) && last.ends_with(" s"), "{last}");
}

#[test]
fn csv_has_one_line_per_criterion() {
    let document = document(&Sandbox::empty().segue(&["reproduce", PAPER, "--format", "json"]));
    let csv = Sandbox::empty().segue(&["reproduce", PAPER, "--format", "csv"]).stdout;
    assert!(csv.starts_with("paper,criterion,verdict,expected,measured,text\n"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + document["papers"][0]["criteria"].as_array().unwrap().len());
}

#[test]
fn the_report_is_one_file_and_may_be_written_again() {
    let sandbox = Sandbox::empty();
    for _ in 0..2 {
        let outcome = sandbox.segue(&["reproduce", PAPER, "--report", "report", "--format", "csv"]);
        assert_eq!(
            outcome.stderr,
            format!("segue: wrote {}\n", std::path::Path::new("report/index.html").display())
        );
    }
    assert_eq!(sandbox.names("report"), ["index.html"]);
    assert!(sandbox.read("report/index.html").ends_with("</html>\n"));
}

#[test]
fn an_unknown_paper_is_refused_before_anything_runs() {
    let outcome = Sandbox::empty().segue(&["reproduce", PAPER, "no-such-paper"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
    let known = segue_sim::reproduce::paper_keys().join(", ");
    let expected =
        format!("segue: there is no paper \"no-such-paper\"; allowed: {known}\nhint: segue list papers\n");
    assert_eq!(outcome.stderr, expected);
}
