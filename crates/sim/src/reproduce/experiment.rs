//! One table of a paper: a scenario, what varies from row to row and from column to column, and what is measured.

use std::collections::BTreeMap;

use rayon::prelude::*;
use segue_proto::time::Instant;
use segue_proto::trace::Event;
use serde::Deserialize;

use super::{ReproduceError, read};
use crate::results::{Observer, Place, Results};
use crate::scenario::{self, Scenario, Setting};
use crate::table::{Cell, Table};
use crate::{run, run_observed};

/// `[[tables]]` of `criteria.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Experiment {
    id: String,
    caption: String,
    /// Scenario file.
    scenario: String,
    /// CSV of printed numbers; its first column names the rows.
    printed: Option<String>,
    /// Where those numbers come from, if not from the paper.
    #[serde(default = "printed_word")]
    source: String,
    /// Rows without a printed table: name of the first column, and its values.
    rows: Option<Rows>,
    /// Set for each row; `{}` stands for the row's value, `{-0.5}` and `{+0.5}` for that less or plus 0.5.
    #[serde(default)]
    each_row: BTreeMap<String, String>,
    /// Set for one row only, after `each_row`.
    #[serde(default)]
    one_row: Vec<OneRow>,
    /// How many runs each value is the mean of, with seeds from 1; without, one run with the scenario's own seed.
    seeds: Option<u64>,
    /// Measured columns.
    columns: Vec<Column>,
    /// Columns computed from measured ones.
    #[serde(default)]
    gains: Vec<Gain>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    column: String,
    values: Vec<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneRow {
    row: f64,
    set: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    name: String,
    #[serde(default)]
    measure: Measure,
    /// Set for this column.
    #[serde(default)]
    set: BTreeMap<String, String>,
}

fn printed_word() -> String {
    "printed".to_owned()
}

/// What is measured of the first flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Measure {
    /// Simulated time at which its last byte was acknowledged, in s.
    #[default]
    FinishS,
    /// Instant of the timeout whose number (from 1) is the row's value, in s.
    TimeoutS,
}

/// A column `name` = 100 · (against − of) / against.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Gain {
    name: String,
    of: String,
    against: String,
}

/// A table whose scenarios have been accepted.
pub(super) struct Prepared<'a> {
    experiment: &'a Experiment,
    row_column: String,
    rows: Vec<f64>,
    printed: BTreeMap<String, Vec<Option<f64>>>,
    /// By row, then by column.
    scenarios: Vec<Scenario>,
}

/// A table after its runs.
pub(super) struct Measured {
    id: String,
    caption: String,
    source: String,
    row_column: String,
    rows: Vec<f64>,
    printed: BTreeMap<String, Vec<Option<f64>>>,
    measured: Vec<(String, Vec<Option<f64>>)>,
}

/// Reads the scenario and the printed numbers of `experiment`, and checks every variation.
pub(super) fn prepare<'a>(key: &str, experiment: &'a Experiment) -> Result<Prepared<'a>, ReproduceError> {
    let (row_column, rows, printed) = rows_of(key, experiment)?;
    let mut scenarios = Vec::with_capacity(rows.len() * experiment.columns.len());
    for row in &rows {
        for column in &experiment.columns {
            let settings: Vec<Setting> = experiment
                .each_row
                .iter()
                .chain(
                    experiment
                        .one_row
                        .iter()
                        .filter(|one| one.row.total_cmp(row).is_eq())
                        .flat_map(|one| &one.set),
                )
                .chain(&column.set)
                .map(|(path, value)| Setting { path: path.clone(), value: fill(value, *row) })
                .collect();
            let file = format!("{key}/{}", experiment.scenario);
            scenarios.push(scenario::load(&file, &read, &settings)?);
        }
    }
    Ok(Prepared { experiment, row_column, rows, printed, scenarios })
}

/// Puts the row's value into a setting.
fn fill(template: &str, row: f64) -> String {
    let Some((before, rest)) = template.split_once('{') else { return template.to_owned() };
    let Some((shift, after)) = rest.split_once('}') else { return template.to_owned() };
    let value = row + shift.parse::<f64>().unwrap_or(0.0);
    // Six decimals are microseconds; more would be noise of the addition.
    let digits = format!("{value:.6}");
    format!("{before}{}{after}", digits.trim_end_matches('0').trim_end_matches('.'))
}

type Printed = BTreeMap<String, Vec<Option<f64>>>;

fn rows_of(key: &str, experiment: &Experiment) -> Result<(String, Vec<f64>, Printed), ReproduceError> {
    let refuse = |file: String, message: &str| ReproduceError::File { file, message: message.to_owned() };
    match (&experiment.printed, &experiment.rows) {
        (Some(name), None) => {
            let file = format!("{key}/{name}");
            let text = read(&file).map_err(|message| refuse(file.clone(), &message))?;
            parse_printed(&text).ok_or_else(|| refuse(file, "not a table of numbers with a heading"))
        }
        (None, Some(rows)) => Ok((rows.column.clone(), rows.values.clone(), BTreeMap::new())),
        _ => Err(refuse(format!("{key}/criteria.toml"), "a table needs either printed or rows")),
    }
}

fn parse_printed(text: &str) -> Option<(String, Vec<f64>, Printed)> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let heading: Vec<&str> = lines.next()?.split(',').collect();
    let cells: Vec<Vec<Option<f64>>> =
        lines.map(|line| line.split(',').map(|cell| cell.trim().parse().ok()).collect()).collect();
    if cells.iter().any(|row| row.len() != heading.len()) {
        return None;
    }
    let rows = cells.iter().map(|row| row[0]).collect::<Option<Vec<f64>>>()?;
    let columns = heading.iter().enumerate().skip(1);
    let printed =
        columns.map(|(i, name)| ((*name).to_owned(), cells.iter().map(|row| row[i]).collect())).collect();
    Some((heading[0].to_owned(), rows, printed))
}

impl Prepared<'_> {
    /// How many runs the table takes.
    pub(super) fn runs(&self) -> usize {
        self.scenarios.len() * self.seeds().len()
    }

    /// The seeds of each value.
    fn seeds(&self) -> Vec<Option<u64>> {
        self.experiment.seeds.map_or(vec![None], |count| (1..=count).map(Some).collect())
    }

    /// Runs everything, on all cores; `count` is called after each run.
    pub(super) fn run(self, count: &(dyn Fn() + Sync)) -> Measured {
        let columns = &self.experiment.columns;
        let seeds = self.seeds();
        let singles: Vec<Option<f64>> = (0..self.runs())
            .into_par_iter()
            .map(|run| {
                let (i, seed) = (run / seeds.len(), seeds[run % seeds.len()]);
                let scenario = &self.scenarios[i];
                let row = self.rows[i / columns.len()];
                let value =
                    columns[i % columns.len()].measure.of(scenario, seed.unwrap_or(scenario.seed), row);
                count();
                value
            })
            .collect();
        let values: Vec<Option<f64>> = singles.chunks_exact(seeds.len()).map(mean).collect();
        let column_values = |c: usize| values.iter().skip(c).step_by(columns.len()).copied().collect();
        let mut measured: Vec<(String, Vec<Option<f64>>)> =
            columns.iter().enumerate().map(|(c, column)| (column.name.clone(), column_values(c))).collect();
        for gain in &self.experiment.gains {
            let find = |name: &str| {
                measured
                    .iter()
                    .find(|(n, _)| n == name)
                    .map_or(vec![None; self.rows.len()], |(_, v)| v.clone())
            };
            let percent =
                |(of, against): (Option<f64>, Option<f64>)| Some(100.0 * (against? - of?) / against?);
            let column = find(&gain.of).into_iter().zip(find(&gain.against)).map(percent).collect();
            measured.push((gain.name.clone(), column));
        }
        Measured {
            id: self.experiment.id.clone(),
            caption: self.experiment.caption.clone(),
            source: self.experiment.source.clone(),
            row_column: self.row_column,
            rows: self.rows,
            printed: self.printed,
            measured,
        }
    }
}

/// The mean; none if one is missing.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let sum: Option<f64> = values.iter().copied().sum();
    sum.map(|sum| sum / values.len() as f64)
}

impl Measure {
    fn of(self, scenario: &Scenario, seed: u64, row: f64) -> Option<f64> {
        match self {
            Measure::FinishS => finish_s(&run(scenario, seed)),
            Measure::TimeoutS => {
                let mut timeouts = Timeouts(Vec::new());
                run_observed(scenario, seed, &mut timeouts);
                // Rows are numbered from 1.
                timeouts.0.get((row as usize).checked_sub(1)?).map(|at| at.as_secs_f64())
            }
        }
    }
}

fn finish_s(results: &Results) -> Option<f64> {
    results.flows[0].finished.map(Instant::as_secs_f64)
}

/// Instants of the first flow's timeouts.
struct Timeouts(Vec<Instant>);

impl Observer for Timeouts {
    fn observe(&mut self, at: Instant, place: Place, event: &Event) {
        if place == Place::End(0) && matches!(event, Event::TimeoutExpired { .. }) {
            self.0.push(at);
        }
    }
}

impl Measured {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// A measured column.
    pub(super) fn measured(&self, column: &str) -> Option<&[Option<f64>]> {
        self.measured.iter().find(|(name, _)| name == column).map(|(_, values)| values.as_slice())
    }

    /// A printed column.
    pub(super) fn printed(&self, column: &str) -> Option<&[Option<f64>]> {
        self.printed.get(column).map(Vec::as_slice)
    }

    /// Printed and measured columns side by side.
    pub(super) fn table(&self) -> Table {
        let mut columns = vec![self.row_column.clone()];
        let mut series: Vec<&[Option<f64>]> = Vec::new();
        for (name, values) in &self.measured {
            if let Some(printed) = self.printed(name) {
                columns.push(format!("{name} {}", self.source));
                series.push(printed);
            }
            columns.push(format!("{name} measured"));
            series.push(values);
        }
        let rows = self
            .rows
            .iter()
            .enumerate()
            .map(|(i, row)| {
                let decimals = row.to_string().split_once('.').map_or(0, |(_, fraction)| fraction.len());
                let label = Cell::Number(*row, decimals);
                std::iter::once(label).chain(series.iter().map(|s| Cell::number(s[i], 2))).collect()
            })
            .collect();
        Table { id: self.id.clone(), caption: self.caption.clone(), columns, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_goes_into_the_setting_with_its_shift() {
        assert_eq!(fill("{} s", 9.0), "9 s");
        assert_eq!(fill("{-0.034} s", 5.0), "4.966 s");
        assert_eq!(fill("{+0.5}", 1.0), "1.5");
        assert_eq!(fill("off", 1.0), "off");
    }

    #[test]
    fn a_printed_table_needs_as_many_cells_as_headings() {
        let (row_column, rows, printed) = parse_printed("d,a,b\n1,2,\n3,4,5\n").unwrap();
        assert_eq!((row_column.as_str(), rows), ("d", vec![1.0, 3.0]));
        assert_eq!(printed["b"], [None, Some(5.0)]);
        assert!(parse_printed("d,a\n1\n").is_none());
    }
}
