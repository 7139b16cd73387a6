//! `segue compare`.

use std::fs;
use std::path::Path;

use segue_proto::schemes::{self, none};
use segue_sim::compare::measure::Quantity;
use segue_sim::compare::tables::{self, Matrix};
use segue_sim::compare::{self as schemes_compared, Case, Comparison, Mark, Prepared, Row};
use segue_sim::scenario::{self, CheckError, Setting};
use segue_sim::table::Cell;
use serde_json::{Value, json};

use crate::args::{CompareArgs, Format};
use crate::error::Refusal;
use crate::report::compare_page;
use crate::{DONE, files, output, run};

/// Runs the command.
///
/// # Errors
/// If a scenario is refused, or a file cannot be written.
pub fn compare(args: &CompareArgs) -> Result<u8, Refusal> {
    let cases = cases(&args.scenario, &args.settings)?;
    let prepared = prepare(cases, &args.schemes, args.quiet)?;
    let comparisons = run_all(&prepared, args.seeds, args.quiet);
    let width = output::terminal_width();
    match args.format {
        Format::Table if Path::new(&args.scenario).is_dir() => {
            output::print(&matrix_text(&comparisons, width))?;
        }
        Format::Table => {
            let texts = comparisons.iter().map(|comparison| scenario_text(comparison, width));
            output::print(&texts.collect::<Vec<_>>().join("\n"))?;
        }
        Format::Json => output::print_json(&document(&comparisons))?,
        Format::Csv => output::print(&tables::tidy_table(&comparisons).csv())?,
    }
    if let Some(folder) = &args.report {
        let path = folder.join(files::INDEX);
        files::write_whole(&path, &compare_page::page(&args.scenario, &comparisons))?;
        if !args.quiet {
            output::note(format_args!("wrote {}", path.display()));
        }
    }
    Ok(DONE)
}

/// Compares with a bar on standard error, if that is a terminal.
pub fn run_all(prepared: &[Prepared], seeds: u64, quiet: bool) -> Vec<Comparison> {
    let bar = output::runs_bar("compare", quiet);
    let comparisons = schemes_compared::compare(prepared, seeds, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    comparisons
}

/// The scenario called `name`, or all of the folder.
///
/// # Errors
/// If there is none, or one is refused.
pub fn cases(name: &str, settings: &[Setting]) -> Result<Vec<(String, Case)>, Refusal> {
    let files = if Path::new(name).is_dir() { scenario_files(name)? } else { vec![name.to_owned()] };
    let case = |file: String| {
        let scenario = scenario::load(&file, &run::read, settings).map_err(|error| {
            let refusal = Refusal::new(error.to_string());
            let is_missing = error.file == file && !Path::new(&file).is_file();
            if is_missing { refusal.with_hint("segue list scenarios") } else { refusal }
        })?;
        Ok((file.clone(), Case { situation: situation(&file), scenario }))
    };
    files.into_iter().map(case).collect()
}

/// The scenario files of a folder, in the order of their names.
fn scenario_files(folder: &str) -> Result<Vec<String>, Refusal> {
    let failed = |error: std::io::Error| Refusal::new(format!("{folder}: {error}"));
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".toml") {
            names.push(format!("{}/{name}", folder.trim_end_matches('/')));
        }
    }
    if names.is_empty() {
        return Err(Refusal::new(format!(
            "{folder}: holds no file NAME.toml; allowed: a folder of scenarios"
        )));
    }
    names.sort();
    Ok(names)
}

/// The name of the file, without what says the direction.
fn situation(file: &str) -> String {
    let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_else(|| file.to_owned());
    let without = ["-upload", "-download"].iter().find_map(|direction| stem.strip_suffix(direction));
    without.map_or(stem.clone(), str::to_owned)
}

/// Puts schemes and scenarios together. Schemes that were asked for must fit; of all schemes those that do not fit are
/// left out, with a note.
///
/// # Errors
/// If a scheme that was asked for does not fit, or none does.
pub fn prepare(cases: Vec<(String, Case)>, wanted: &[String], quiet: bool) -> Result<Vec<Prepared>, Refusal> {
    let all = schemes::ALL.iter().map(|spec| spec.name);
    let names: Vec<&'static str> = if wanted.is_empty() {
        all.collect()
    } else {
        all.filter(|name| wanted.iter().any(|wanted| wanted == name)).collect()
    };
    let refuse =
        |file: &str, error: &CheckError| Refusal::new(format!("{file}: {}: {}", error.key, error.message));
    let mut prepared = Vec::new();
    for (file, case) in cases {
        let mut fitting = Vec::new();
        let mut first = None;
        for name in &names {
            match Prepared::new(case.clone(), &[*name]) {
                Ok(_) => fitting.push(*name),
                Err((_, error)) if wanted.is_empty() => {
                    if !quiet {
                        output::note(format_args!("without {name}: {}", refuse(&file, &error)));
                    }
                    first.get_or_insert(error);
                }
                Err((_, error)) => return Err(refuse(&file, &error)),
            }
        }
        let plain_only = fitting.iter().all(|name| *name == none::SPEC.name);
        if let (true, Some(error)) = (plain_only, first) {
            return Err(refuse(&file, &error));
        }
        prepared.push(Prepared::new(case, &fitting).map_err(|(_, error)| refuse(&file, &error))?);
    }
    Ok(prepared)
}

/// One scenario for people.
fn scenario_text(comparison: &Comparison, width: Option<usize>) -> String {
    let title = if comparison.title.is_empty() { &comparison.situation } else { &comparison.title };
    format!(
        "{title}\n{}\n\n{}",
        seeds_text(comparison),
        output::text_table(&tables::scenario_table(comparison), width)
    )
}

/// Which seeds, in words.
pub(crate) fn seeds_text(comparison: &Comparison) -> String {
    match &comparison.seeds[..] {
        [only] => format!("seed {only}"),
        [first, .., last] => format!("seeds {first} to {last}"),
        [] => String::new(),
    }
}

/// The gains of a folder for people.
fn matrix_text(comparisons: &[Comparison], width: Option<usize>) -> String {
    let mut text = String::new();
    for direction in tables::directions(comparisons) {
        let table = Matrix::new(comparisons, direction).table(Quantity::GainPct);
        let caption = format!("{}: {}", direction.name(), table.caption);
        text.push_str(&format!("{caption}\n\n{}\n", output::text_table(&table, width)));
    }
    text.push_str("--format csv has all quantities, --report DIR a page with more matrices\n");
    text
}

/// The matrices as Markdown, for a page of the documentation.
pub fn markdown(comparisons: &[Comparison]) -> String {
    let mut text = String::new();
    for quantity in tables::OF_MATRIX {
        for direction in tables::directions(comparisons) {
            let table = Matrix::new(comparisons, direction).table(quantity);
            text.push_str(&format!("\n### {}: {}\n\n", table.caption, direction.name()));
            let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
            text.push_str(&line(table.columns.clone()));
            text.push_str(&line(vec!["---".to_owned(); table.columns.len()]));
            for row in &table.rows {
                let cells = row.iter().enumerate().map(|(column, cell)| match column {
                    0 => format!("`{}`", cell.text()),
                    _ => cell.text(),
                });
                text.push_str(&line(cells.collect()));
            }
        }
    }
    text
}

/// The JSON document; its form is a promise.
fn document(comparisons: &[Comparison]) -> Value {
    let number = |value: f64| Cell::number(Some(value), 4).json();
    let row = |row: &Row| {
        let values = row.values.iter().map(|(quantity, estimate)| {
            let interval = estimate.interval();
            let value = json!({
                "mean": number(estimate.mean),
                "low": interval.map(|(low, _)| number(low)),
                "high": interval.map(|(_, high)| number(high)),
                "seeds": estimate.count,
            });
            (quantity.name().to_owned(), value)
        });
        json!({
            "scheme": row.scheme,
            "direction": row.direction.name(),
            "mark": row.mark.map(Mark::name),
            "quantities": Value::Object(values.collect()),
        })
    };
    let comparison = |comparison: &Comparison| {
        json!({
            "situation": comparison.situation,
            "title": comparison.title,
            "seeds": comparison.seeds,
            "rows": comparison.rows.iter().map(row).collect::<Value>(),
        })
    };
    json!({ "comparisons": comparisons.iter().map(comparison).collect::<Value>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_situation_is_the_file_without_its_direction() {
        assert_eq!(situation("scenarios/compare/long-outage-upload.toml"), "long-outage");
        assert_eq!(situation("long-outage-download.toml"), "long-outage");
        assert_eq!(situation("scenarios/roam.toml"), "roam");
    }
}
