//! The papers' experiments: run, put beside the printed numbers, judged.
//!
//! A paper is a folder `papers/<key>/`: `criteria.toml` (its title, its tables, its criteria), scenarios, and the
//! printed tables as CSV. Nothing about a paper is in the code.

mod criterion;
mod experiment;

use std::sync::atomic::{AtomicUsize, Ordering};

use include_dir::{Dir, include_dir};
use serde::Deserialize;

use crate::scenario::ScenarioError;
use crate::table::Table;

pub use criterion::Verdict;

static PAPERS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../papers");

/// `criteria.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    title: String,
    tables: Vec<experiment::Experiment>,
    criteria: Vec<criterion::Rule>,
}

/// What a paper's experiments gave.
#[derive(Clone, Debug)]
pub struct PaperReport {
    /// Folder name.
    pub key: String,
    /// Authors, title, place.
    pub title: String,
    /// Judged, in the order of the file.
    pub criteria: Vec<Criterion>,
    /// Printed and measured, in the order of the file.
    pub tables: Vec<Table>,
}

/// A judged criterion.
#[derive(Clone, Debug)]
pub struct Criterion {
    /// Such as `ILC-P2`.
    pub id: String,
    /// What is demanded.
    pub text: String,
    /// Whether it is met.
    pub verdict: Verdict,
    /// The limits.
    pub expected: String,
    /// What the runs gave.
    pub measured: String,
}

/// Why a paper could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// There is no such paper.
    #[error("there is no paper \"{found}\"; allowed: {allowed}")]
    Unknown {
        /// What was asked for.
        found: String,
        /// The keys there are.
        allowed: String,
    },
    /// A file of the paper is missing or malformed.
    #[error("papers/{file}: {message}")]
    File {
        /// Path below `papers/`.
        file: String,
        /// What is wrong with it.
        message: String,
    },
    /// A scenario of the paper was refused.
    #[error("papers/{0}")]
    Scenario(#[from] ScenarioError),
}

/// The keys of all papers, in alphabetical order.
pub fn paper_keys() -> Vec<String> {
    let mut keys: Vec<String> =
        PAPERS.dirs().filter_map(|dir| dir.path().to_str()).map(str::to_owned).collect();
    keys.sort();
    keys
}

/// The title of a paper.
pub fn paper_title(key: &str) -> Option<String> {
    plan(key).ok().map(|plan| plan.title)
}

/// Runs the experiments of paper `key` on all cores and judges them. `progress` hears how many runs are done, of how
/// many; it may be called from any thread.
///
/// # Errors
/// See [`ReproduceError`].
pub fn reproduce(key: &str, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<PaperReport, ReproduceError> {
    let plan = plan(key)?;
    let prepared =
        plan.tables.iter().map(|table| experiment::prepare(key, table)).collect::<Result<Vec<_>, _>>()?;
    let total = prepared.iter().map(experiment::Prepared::runs).sum();
    let done = AtomicUsize::new(0);
    progress(0, total);
    let count = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
    let measured: Vec<experiment::Measured> = prepared.into_iter().map(|table| table.run(&count)).collect();
    let criteria = plan
        .criteria
        .into_iter()
        .map(|rule| criterion::judge(rule, &measured))
        .collect::<Result<Vec<_>, String>>()
        .map_err(|message| ReproduceError::File { file: format!("{key}/criteria.toml"), message })?;
    let tables = measured.iter().map(experiment::Measured::table).collect();
    Ok(PaperReport { key: key.to_owned(), title: plan.title, criteria, tables })
}

fn plan(key: &str) -> Result<Plan, ReproduceError> {
    let file = format!("{key}/criteria.toml");
    let text = read(&file)
        .map_err(|_| ReproduceError::Unknown { found: key.to_owned(), allowed: paper_keys().join(", ") })?;
    toml::from_str(&text).map_err(|e| ReproduceError::File { file, message: e.to_string() })
}

/// The text of a file below `papers/`.
fn read(file: &str) -> Result<String, String> {
    PAPERS
        .get_file(file)
        .and_then(include_dir::File::contents_utf8)
        .map(str::to_owned)
        .ok_or_else(|| format!("there is no file papers/{file}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_has_a_readable_plan_and_scenarios_that_are_accepted() {
        assert!(!paper_keys().is_empty());
        for key in paper_keys() {
            let plan = plan(&key).unwrap_or_else(|e| panic!("{e}"));
            for table in &plan.tables {
                experiment::prepare(&key, table).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }

    #[test]
    fn an_unknown_paper_is_refused_with_the_known_ones() {
        let error = reproduce("no-such", &|_, _| {}).unwrap_err().to_string();
        assert!(error.contains("no-such") && error.contains("ilc-tcp"), "{error}");
    }
}
