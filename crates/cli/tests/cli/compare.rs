//! `segue compare`.

use std::collections::BTreeSet;

use segue_proto::schemes;
use segue_sim::compare::measure::Quantity;

use crate::Sandbox;

const ROAM: &str = "scenarios/roam.toml";
const SMALL: &str = "scenarios/small.toml";
/// Leaves the second flow of [`ROAM`] out of the comparison, as the one beside.
const BESIDE: &str = "flows[1].scheme=none";

#[test]
fn one_scenario_is_a_row_for_each_scheme() {
    let words = ["compare", ROAM, "--schemes", "ilc-tcp", "--seeds", "3", "--set", BESIDE];
    insta::assert_snapshot!("compare_table", Sandbox::new().segue(&words));
}

#[test]
fn the_csv_has_a_line_for_each_quantity() {
    let words = ["compare", ROAM, "--schemes", "ilc-tcp", "--seeds", "3", "--set", BESIDE, "--format", "csv"];
    insta::assert_snapshot!("compare_csv", Sandbox::new().segue(&words));
}

#[test]
fn all_schemes_of_the_table_are_compared_unless_some_are_chosen() {
    let words = ["compare", ROAM, "--seeds", "1", "--format", "json", "--set", "duration=6 s"];
    let document = Sandbox::new().segue(&words).json();
    let [comparison] = document["comparisons"].as_array().unwrap().as_slice() else { panic!("one scenario") };
    let rows = comparison["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["scheme"].as_str().unwrap()).collect();
    let table: Vec<&str> = schemes::ALL.iter().map(|spec| spec.name).collect();
    assert_eq!(names, table);
}

#[test]
fn the_json_document_has_the_promised_form() {
    let words =
        ["compare", ROAM, "--schemes", "ilc-tcp", "--seeds", "2", "--set", BESIDE, "--format", "json"];
    let document = Sandbox::new().segue(&words).json();
    let comparison = &document["comparisons"][0];
    let keys = |value: &serde_json::Value| -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(keys(&document), set(&["comparisons"]));
    assert_eq!(keys(comparison), set(&["situation", "title", "seeds", "rows"]));
    assert_eq!(comparison["seeds"], serde_json::json!([7, 8]));
    let row = &comparison["rows"][1];
    assert_eq!(keys(row), set(&["scheme", "direction", "mark", "quantities"]));
    let known: BTreeSet<String> = Quantity::ALL.iter().map(|quantity| quantity.name().to_owned()).collect();
    assert!(keys(&row["quantities"]).is_subset(&known));
    let gain = &row["quantities"]["gain_pct"];
    assert_eq!(keys(gain), set(&["mean", "low", "high", "seeds"]));
    let value = |key: &str| gain[key].as_f64().unwrap();
    assert!(value("low") <= value("mean") && value("mean") <= value("high"));
}

#[test]
fn a_folder_is_a_matrix_of_its_scenarios() {
    let sandbox = Sandbox::new();
    let words = ["compare", "scenarios", "--schemes", "ilc-tcp", "--seeds", "2", "--report", "page"];
    let outcome = sandbox.segue(&words);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), "segue: wrote page/index.html\n"));
    insta::assert_snapshot!("compare_folder", outcome.stdout);
    assert_eq!(sandbox.names("page"), ["index.html"]);
    let page = sandbox.read("page/index.html");
    for situation in ["roam", "scheme", "small"] {
        assert!(page.contains(&format!("id=\"{situation}-upload\"")), "{situation}");
    }
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an id twice: {ids:?}");
}

#[test]
fn two_runs_give_the_same_bytes() {
    let words = ["compare", ROAM, "--seeds", "2", "--format", "csv", "--quiet", "--set", "duration=10 s"];
    assert_eq!(Sandbox::new().segue(&words).data(), Sandbox::new().segue(&words).data());
}

#[test]
fn a_scenario_without_a_host_for_any_scheme_is_refused() {
    let outcome = Sandbox::new().segue(&["compare", SMALL, "--quiet", "--set", "flows[0].scheme=none"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
    assert!(outcome.stderr.contains("no flow may use a scheme"), "{}", outcome.stderr);
}

#[test]
fn refusals_say_where_and_what_is_allowed() {
    let refused: &[&[&str]] = &[
        &["no-such.toml"],
        &["wrong-name.toml"],
        &["empty"],
        &[SMALL, "--schemes", "ilc"],
        &[SMALL, "--schemes", "none,ilc-tcp", "--set", "hosts.a.mobile=false"],
        &[SMALL, "--schemes", "ilc-tcp", "--set", "flows[0].scheme=none"],
        &[SMALL, "--set", "links[0].rat=2 Mb/s"],
        &[SMALL, "--seeds", "0"],
    ];
    let refusals: Vec<String> = refused
        .iter()
        .map(|words| {
            let sandbox = Sandbox::new();
            std::fs::create_dir(sandbox.path().join("empty")).unwrap();
            let words = &[*words, &["--format", "json"]].concat();
            let outcome = sandbox.segue(&[&["compare"], words.as_slice()].concat());
            assert_eq!(outcome.code, Some(2), "{words:?}");
            format!("$ segue compare {}\n{}", words.join(" "), outcome.stderr)
        })
        .collect();
    insta::assert_snapshot!("compare_refusals", refusals.join("\n"));
}
