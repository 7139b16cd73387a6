//! `segue reproduce`.

use std::time::Instant;

use segue_sim::reproduce::{self as papers, Criterion, PaperReport, Verdict};
use segue_sim::table::{Cell, Table};
use serde_json::{Value, json};

use crate::args::{Format, ReproduceArgs};
use crate::error::Refusal;
use crate::{CRITERION_FAILED, DONE, files, output, report};

/// Runs the command.
///
/// # Errors
/// If there is no such paper, an experiment cannot be run, or a file cannot be written.
pub fn reproduce(args: &ReproduceArgs) -> Result<u8, Refusal> {
    let keys = chosen(&args.papers)?;
    let begin = Instant::now();
    let mut reports = Vec::new();
    for key in &keys {
        let report = with_progress(key, args.quiet)?;
        if args.format == Format::Table {
            output::print(&paper_text(&report, output::terminal_width(), output::text_width()))?;
        }
        reports.push(report);
    }
    let tally = Tally::of(&reports);
    match args.format {
        Format::Table => {
            let seconds = begin.elapsed().as_secs_f64();
            output::print(&format!("{}, {seconds:.1} s\n", tally.text(reports.len())))?;
        }
        Format::Json => output::print_json(&document(&reports))?,
        Format::Csv => output::print(&criteria_csv(&reports).csv())?,
    }
    if let Some(folder) = &args.report {
        let path = folder.join("index.html");
        files::write_whole(&path, &report::page(&reports))?;
        if !args.quiet {
            output::note(format_args!("wrote {}", path.display()));
        }
    }
    Ok(tally.exit_code())
}

/// The papers to run, each once, in the order given; all if none is given.
fn chosen(wanted: &[String]) -> Result<Vec<String>, Refusal> {
    let known = papers::paper_keys();
    if wanted.is_empty() {
        return Ok(known);
    }
    let mut keys: Vec<String> = Vec::new();
    for key in wanted {
        if !known.contains(key) {
            let message = format!("there is no paper \"{key}\"; allowed: {}", known.join(", "));
            return Err(Refusal::new(message).with_hint("segue list papers"));
        }
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    Ok(keys)
}

/// Runs one paper with a bar on standard error, if that is a terminal.
fn with_progress(key: &str, quiet: bool) -> Result<PaperReport, Refusal> {
    let bar = output::runs_bar(key, quiet);
    let outcome = papers::reproduce(key, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    outcome.map_err(|error| Refusal::new(error.to_string()))
}

/// How many criteria have which verdict.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) negative: usize,
}

impl Tally {
    /// Counts all criteria of `reports`.
    pub(crate) fn of(reports: &[PaperReport]) -> Self {
        let mut tally = Tally::default();
        for criterion in reports.iter().flat_map(|report| &report.criteria) {
            match criterion.verdict {
                Verdict::Pass => tally.passed += 1,
                Verdict::Fail => tally.failed += 1,
                Verdict::Negative => tally.negative += 1,
            }
        }
        tally
    }

    fn exit_code(self) -> u8 {
        if self.failed > 0 { CRITERION_FAILED } else { DONE }
    }

    /// In words.
    pub(crate) fn text(self, papers: usize) -> String {
        let Tally { passed, failed, negative } = self;
        let plural = if papers == 1 { "" } else { "s" };
        format!("{papers} paper{plural}: {passed} passed, {failed} failed, {negative} negative")
    }
}

/// One paper for people: `width` is that of the terminal, `text_width` that of running text.
fn paper_text(report: &PaperReport, width: Option<usize>, text_width: usize) -> String {
    let heading = format!("{}: {}", report.key, report.title);
    let mut text = output::paragraph(&heading, 0, text_width);
    text.push_str(&"=".repeat(heading.chars().count().min(text_width)));
    text.push_str("\n\n");
    for table in &report.tables {
        text.push_str(&output::paragraph(&table.caption, 0, text_width));
        text.push('\n');
        text.push_str(&output::text_table(table, width));
        text.push('\n');
    }
    for criterion in &report.criteria {
        text.push_str(&criterion_text(criterion, text_width));
    }
    text.push('\n');
    text
}

fn criterion_text(criterion: &Criterion, width: usize) -> String {
    // As wide as the longest verdict and a gap.
    const INDENT: usize = 10;
    let body = |text: &str| output::paragraph(text, INDENT, width);
    let first = body(&format!("{}: {}", criterion.id, criterion.text));
    let mut text = format!("{:INDENT$}{}", criterion.verdict.name(), first.trim_start());
    for (word, value) in [("expected", &criterion.expected), ("measured", &criterion.measured)] {
        if !value.is_empty() {
            text.push_str(&body(&format!("{word}: {value}")));
        }
    }
    text
}

/// The JSON document; its form is a promise.
fn document(reports: &[PaperReport]) -> Value {
    let criterion = |c: &Criterion| {
        json!({
            "id": c.id,
            "text": c.text,
            "verdict": c.verdict.name(),
            "expected": c.expected,
            "measured": c.measured,
        })
    };
    let table = |t: &Table| {
        let rows = t.rows.iter().map(|row| row.iter().map(Cell::json).collect::<Value>());
        json!({ "id": t.id, "caption": t.caption, "columns": t.columns, "rows": rows.collect::<Value>() })
    };
    let paper = |report: &PaperReport| {
        json!({
            "key": report.key,
            "title": report.title,
            "criteria": report.criteria.iter().map(criterion).collect::<Value>(),
            "tables": report.tables.iter().map(table).collect::<Value>(),
        })
    };
    json!({ "papers": reports.iter().map(paper).collect::<Value>() })
}

fn criteria_csv(reports: &[PaperReport]) -> Table {
    let row = |report: &PaperReport, c: &Criterion| {
        [&report.key, &c.id, c.verdict.name(), &c.expected, &c.measured, &c.text]
            .map(|text: &str| Cell::Text(text.to_owned()))
            .to_vec()
    };
    Table {
        columns: ["paper", "criterion", "verdict", "expected", "measured", "text"]
            .map(str::to_owned)
            .to_vec(),
        rows: reports.iter().flat_map(|r| r.criteria.iter().map(move |c| row(r, c))).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A report with one criterion of each verdict and a table.
    pub(crate) fn sample() -> PaperReport {
        let criterion = |id: &str, verdict| Criterion {
            id: id.to_owned(),
            text: "gain of <both> layers at each disconnection time".to_owned(),
            verdict,
            expected: "over 40 %".to_owned(),
            measured: "41.2 %".to_owned(),
        };
        let row = |x: u64, printed: f64, measured: f64| {
            vec![Cell::Integer(x), Cell::Number(printed, 1), Cell::Number(measured, 1)]
        };
        PaperReport {
            key: "ilc-tcp".to_owned(),
            title: "ILC-TCP".to_owned(),
            criteria: vec![
                criterion("c1", Verdict::Pass),
                criterion("c2", Verdict::Fail),
                criterion("c3", Verdict::Negative),
            ],
            tables: vec![Table {
                id: "table1".to_owned(),
                caption: "Table 1".to_owned(),
                columns: ["disconnect_s", "normal_s printed", "normal_s measured"]
                    .map(str::to_owned)
                    .to_vec(),
                rows: vec![row(1, 30.5, 30.75), row(5, 42.0, 41.0), row(10, 60.0, 63.5)],
            }],
        }
    }

    #[test]
    fn a_paper_is_a_heading_tables_and_criteria() {
        let expected = "\
ilc-tcp: ILC-TCP
================

Table 1

disconnect_s  normal_s printed  normal_s measured
-------------------------------------------------
           1              30.5               30.8
           5              42.0               41.0
          10              60.0               63.5

pass      c1: gain of <both> layers at
          each disconnection time
          expected: over 40 %
          measured: 41.2 %
";
        let text = paper_text(&sample(), None, 40);
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn the_json_document_keeps_its_form() {
        let expected = json!({"papers": [{
            "key": "ilc-tcp",
            "title": "ILC-TCP",
            "criteria": [{
                "id": "c2",
                "text": "gain of <both> layers at each disconnection time",
                "verdict": "fail",
                "expected": "over 40 %",
                "measured": "41.2 %",
            }],
            "tables": [{
                "id": "table1",
                "caption": "Table 1",
                "columns": ["disconnect_s", "normal_s printed", "normal_s measured"],
                "rows": [[5, 42.0, 41.0]],
            }],
        }]});
        let mut report = sample();
        report.criteria.retain(|c| c.id == "c2");
        report.tables[0].rows.retain(|row| row[0] == Cell::Integer(5));
        assert_eq!(document(&[report]), expected);
    }

    #[test]
    fn the_tally_counts_each_verdict() {
        let reports = [sample(), sample()];
        assert_eq!(Tally::of(&reports).text(2), "2 papers: 2 passed, 2 failed, 2 negative");
    }

    #[test]
    fn only_a_failed_criterion_changes_the_exit_code() {
        let code = |failed, negative| Tally { passed: 3, failed, negative }.exit_code();
        assert_eq!([code(0, 0), code(0, 2), code(1, 0)], [DONE, DONE, CRITERION_FAILED]);
    }
}
