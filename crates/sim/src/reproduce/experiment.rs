//! One table of a paper: a scenario, what varies from row to row and from column to column, and what is measured.

use std::collections::BTreeMap;

use rayon::prelude::*;
use segue_proto::params::Params;
use serde::Deserialize;

use super::{ReproduceError, read};
use crate::measure::{self, Measure, Order};
use crate::scenario::{self, Scenario, Setting};
use crate::table::{Cell, Table};

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
    /// Set for each row; `{}` stands for the row's value, `{-0.5}`, `{+0.5}` and `{*0.5}` for that less, plus or times 0.5.
    #[serde(default)]
    each_row: BTreeMap<String, String>,
    /// Set for one row only, after `each_row`.
    #[serde(default)]
    one_row: Vec<OneRow>,
    /// How many runs each value is made of, with seeds from 1; without, one run with the scenario's own seed.
    seeds: Option<u64>,
    /// How a value is made of several runs.
    #[serde(default)]
    average: Average,
    /// Measured columns. Those with the same settings are measured of the same runs.
    columns: Vec<Column>,
    /// Columns computed from columns before them.
    #[serde(default)]
    derived: Vec<Derived>,
}

/// How one value is made of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Average {
    #[default]
    Mean,
    Median,
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
    /// Default: the finish of the first flow.
    measure: Option<MeasureWord>,
    /// Set for this column.
    #[serde(default)]
    set: BTreeMap<String, String>,
}

/// A measure of the table [`measure::ALL`]: its name alone, or `name`, `flow` (default the first) and its parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum MeasureWord {
    Name(String),
    Detailed(BTreeMap<String, String>),
}

fn printed_word() -> String {
    "printed".to_owned()
}

/// A column computed from two others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Derived {
    name: String,
    #[serde(default)]
    kind: Computation,
    of: String,
    against: String,
    /// What the result is multiplied by.
    #[serde(default = "one")]
    factor: f64,
}

fn one() -> f64 {
    1.0
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Computation {
    /// 100 · (against − of) / against: what less of something is better by.
    #[default]
    GainPercent,
    /// 100 · (of − against) / against: what more of something is better by.
    RisePercent,
    /// of / against.
    Ratio,
    /// of − against.
    Difference,
    /// log₁₀ of the ratio.
    Log10Ratio,
}

impl Computation {
    fn of(self, of: f64, against: f64) -> f64 {
        match self {
            Computation::GainPercent => 100.0 * (against - of) / against,
            Computation::RisePercent => 100.0 * (of - against) / against,
            Computation::Ratio => of / against,
            Computation::Difference => of - against,
            Computation::Log10Ratio => libm::log10(of / against),
        }
    }
}

/// A table whose scenarios have been accepted.
pub(super) struct Prepared<'a> {
    experiment: &'a Experiment,
    row_column: String,
    rows: Vec<f64>,
    printed: BTreeMap<String, Vec<Option<f64>>>,
    /// The columns of each group: those with the same settings.
    groups: Vec<Vec<usize>>,
    /// By row, then by group.
    runs: Vec<PlannedRun>,
}

/// A scenario, and what is to be measured of it, by the columns of its group.
struct PlannedRun {
    scenario: Scenario,
    orders: Vec<Order>,
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
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (i, column) in experiment.columns.iter().enumerate() {
        match groups.iter_mut().find(|group| experiment.columns[group[0]].set == column.set) {
            Some(group) => group.push(i),
            None => groups.push(vec![i]),
        }
    }
    let mut runs = Vec::with_capacity(rows.len() * groups.len());
    for row in &rows {
        for group in &groups {
            let ones = experiment.one_row.iter().filter(|one| one.row.total_cmp(row).is_eq());
            let set = &experiment.columns[group[0]].set;
            let settings: Vec<Setting> = experiment
                .each_row
                .iter()
                .chain(ones.flat_map(|one| &one.set))
                .chain(set)
                .map(|(path, value)| Setting { path: path.clone(), value: fill(value, *row) })
                .collect();
            let scenario = scenario::load(&format!("{key}/{}", experiment.scenario), &read, &settings)?;
            let refuse = |name: &str, message: String| ReproduceError::File {
                file: format!("{key}/criteria.toml"),
                message: format!("column {name} of table {}: {message}", experiment.id),
            };
            let order = |i: &usize| {
                let column = &experiment.columns[*i];
                order_of(column, &scenario, *row).map_err(|message| refuse(&column.name, message))
            };
            let orders = group.iter().map(order).collect::<Result<Vec<Order>, _>>()?;
            runs.push(PlannedRun { scenario, orders });
        }
    }
    Ok(Prepared { experiment, row_column, rows, printed, groups, runs })
}

/// What `column` wants to know of a run.
fn order_of(column: &Column, scenario: &Scenario, row: f64) -> Result<Order, String> {
    let none = BTreeMap::new();
    let (name, words) = match &column.measure {
        None => ("finish", &none),
        Some(MeasureWord::Name(name)) => (name.as_str(), &none),
        Some(MeasureWord::Detailed(words)) => {
            (words.get("name").map(String::as_str).ok_or("a measure needs a name")?, words)
        }
    };
    let measure = Measure::named(name).ok_or_else(|| {
        let all: Vec<&str> = measure::ALL.iter().map(|measure| measure.name).collect();
        format!("there is no measure \"{name}\"; allowed: {}", all.join(", "))
    })?;
    let mut params = Params::defaults(measure.params);
    let mut flow = 0;
    for (key, value) in words.iter().filter(|(key, _)| *key != "name") {
        if key == "flow" {
            let named = scenario.flows.iter().position(|flow| flow.name == *value);
            flow = named.ok_or_else(|| format!("there is no flow \"{value}\""))?;
        } else {
            params.set(key, &fill(value, row)).map_err(|error| format!("{key}: {error}"))?;
        }
    }
    Ok(Order { measure, flow, params })
}

/// Two decimals, or four where two would leave one digit.
fn decimals_of(value: Option<f64>) -> usize {
    if value.is_some_and(|value| value != 0.0 && value.abs() < 0.1) { 4 } else { 2 }
}

/// Puts the row's value into a setting.
fn fill(template: &str, row: f64) -> String {
    let Some((before, rest)) = template.split_once('{') else { return template.to_owned() };
    let Some((shift, after)) = rest.split_once('}') else { return template.to_owned() };
    let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
    let value = match shift.strip_prefix('*') {
        Some(factor) => row * number(factor),
        None => row + number(shift),
    };
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
        self.runs.len() * self.seeds().len()
    }

    /// The seeds of each value.
    fn seeds(&self) -> Vec<Option<u64>> {
        self.experiment.seeds.map_or(vec![None], |count| (1..=count).map(Some).collect())
    }

    /// Runs everything, on all cores; `count` is called after each run.
    pub(super) fn run(self, count: &(dyn Fn() + Sync)) -> Measured {
        let seeds = self.seeds();
        let singles: Vec<Vec<Option<f64>>> = (0..self.runs())
            .into_par_iter()
            .map(|run| {
                let PlannedRun { scenario, orders } = &self.runs[run / seeds.len()];
                let seed = seeds[run % seeds.len()].unwrap_or(scenario.seed);
                let values = measure::take(scenario, seed, orders);
                count();
                values
            })
            .collect();
        let of_seeds: Vec<&[Vec<Option<f64>>]> = singles.chunks_exact(seeds.len()).collect();
        let mut columns = vec![Vec::with_capacity(self.rows.len()); self.experiment.columns.len()];
        for (run, values) in of_seeds.iter().enumerate() {
            for (place, column) in self.groups[run % self.groups.len()].iter().enumerate() {
                let of_column: Vec<Option<f64>> = values.iter().map(|values| values[place]).collect();
                columns[*column].push(self.experiment.average.of(&of_column));
            }
        }
        let names = self.experiment.columns.iter().map(|column| column.name.clone());
        let mut measured: Vec<(String, Vec<Option<f64>>)> = names.zip(columns).collect();
        for derived in &self.experiment.derived {
            let find = |name: &str| {
                let found = measured.iter().find(|(n, _)| n == name);
                found.map_or(vec![None; self.rows.len()], |(_, values)| values.clone())
            };
            let compute = |(of, against): (Option<f64>, Option<f64>)| {
                Some(derived.factor * derived.kind.of(of?, against?))
            };
            let column = find(&derived.of).into_iter().zip(find(&derived.against)).map(compute).collect();
            measured.push((derived.name.clone(), column));
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

impl Average {
    /// The average; none if one value is missing.
    fn of(self, values: &[Option<f64>]) -> Option<f64> {
        let mut values: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
        match self {
            Average::Mean => Some(values.iter().sum::<f64>() / values.len() as f64),
            Average::Median => {
                values.sort_by(f64::total_cmp);
                let upper = *values.get(values.len() / 2)?;
                let lower = values[(values.len() - 1) / 2];
                Some((lower + upper) / 2.0)
            }
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
                std::iter::once(label)
                    .chain(series.iter().map(|s| Cell::number(s[i], decimals_of(s[i]))))
                    .collect()
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
        assert_eq!(fill("{*0.21} s", 2.5), "0.525 s");
        assert_eq!(fill("off", 1.0), "off");
    }

    #[test]
    fn an_average_needs_all_values() {
        let values = [Some(1.0), Some(2.0), Some(9.0)];
        assert_eq!(Average::Mean.of(&values), Some(4.0));
        assert_eq!(Average::Median.of(&values), Some(2.0));
        assert_eq!(Average::Median.of(&values[..2]), Some(1.5));
        assert_eq!(Average::Mean.of(&[Some(1.0), None]), None);
    }

    #[test]
    fn a_printed_table_needs_as_many_cells_as_headings() {
        let (row_column, rows, printed) = parse_printed("d,a,b\n1,2,\n3,4,5\n").unwrap();
        assert_eq!((row_column.as_str(), rows), ("d", vec![1.0, 3.0]));
        assert_eq!(printed["b"], [None, Some(5.0)]);
        assert!(parse_printed("d,a\n1\n").is_none());
    }
}
