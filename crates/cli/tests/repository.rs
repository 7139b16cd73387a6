//! The repository keeps its own promises: arrows between crates, the map in ARCHITECTURE.md, the README's scenario.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    let path = root().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn crates_depend_on_one_another_only_downwards() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON of cargo metadata");
    let allowed = BTreeMap::from([
        ("segue-proto", vec![]),
        ("segue-sim", vec!["segue-proto"]),
        ("segue", vec!["segue-proto", "segue-sim"]),
    ]);
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        let allowed = allowed.get(name).unwrap_or_else(|| panic!("crate {name} is not in the layering test"));
        let ours = package["dependencies"]
            .as_array()
            .expect("dependencies")
            .iter()
            .filter(|d| d["kind"].is_null())
            .filter_map(|d| d["name"].as_str())
            .filter(|d| d.starts_with("segue"));
        for dependency in ours {
            assert!(allowed.contains(&dependency), "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn every_row_of_the_map_names_a_file_that_exists() {
    let text = read("ARCHITECTURE.md");
    let section =
        text.split("## Where is …?").nth(1).expect("the map").split("\n## ").next().unwrap_or_default();
    let rows: Vec<&str> =
        section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| question")).collect();
    assert!(rows.len() > 20, "only {} rows", rows.len());
    for row in rows {
        let path = row.split('`').nth(1).unwrap_or_else(|| panic!("no path in: {row}"));
        assert!(root().join(path).exists(), "{path} does not exist: {row}");
    }
}

#[test]
fn every_example_scenario_runs_and_so_does_that_of_the_readme() {
    let folder = tempfile::tempdir().expect("a folder");
    let readme = read("README.md");
    let example =
        readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a scenario");
    let mine = folder.path().join("mine.toml");
    std::fs::write(&mine, example).expect("a file");
    let mut scenarios: Vec<PathBuf> = ["scenarios", "bench", "papers/ilc-tcp"]
        .iter()
        .flat_map(|dir| std::fs::read_dir(root().join(dir)).expect("a folder"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml") && !path.ends_with("criteria.toml"))
        .collect();
    scenarios.sort();
    scenarios.push(mine.clone());
    for scenario in scenarios {
        let output = segue(&["run", "--format", "csv", "--set", "duration=60 s"], &scenario);
        assert!(output.contains("goodput_kbps"), "{}: {output}", scenario.display());
    }
    let idle = |scheme: &str| {
        let table = segue(&["run", "--format", "csv", "--scheme", scheme], &mine);
        let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let column = lines.next().expect("a heading").iter().position(|c| *c == "idle_s").expect("idle_s");
        lines.next().expect("a flow")[column].parse::<f64>().expect("a number")
    };
    // What the README says about the two runs.
    assert!((idle("none") - 5.0).abs() < 0.05, "{}", idle("none"));
    assert!(idle("ilc-tcp") < 0.05, "{}", idle("ilc-tcp"));
}

fn segue(words: &[&str], scenario: &Path) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_segue")).args(words).arg(scenario).output().expect("segue runs");
    assert!(output.status.success(), "{}: {}", scenario.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}
