//! Pages in one HTML file that needs nothing else. This one is that of `segue reproduce --report`: tables, criteria and
//! charts; [`run_page`] is that of `segue run --report`, [`compare_page`] that of `segue compare
//! --report`.

mod chart;
pub mod compare_page;
pub mod run_page;
mod timeline;

use std::fmt::Write;

use segue_sim::reproduce::{Criterion, PaperReport};
use segue_sim::table::Table;

use crate::output;
use crate::reproduce::Tally;

/// Colours, light and dark; they hold in an SVG file too.
const PALETTE: &str = include_str!("report/palette.css");
const STYLE: &str = include_str!("report/report.css");

/// Text that is longer than this gets a column of a useful width.
const LONG_TEXT: usize = 24;

/// The page for `reports`.
pub fn page(reports: &[PaperReport]) -> String {
    let body: String = reports.iter().map(paper).collect();
    let version = env!("CARGO_PKG_VERSION");
    let summary = Tally::of(reports).text(reports.len());
    let overview = overview(reports);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Segue: the papers reproduced</title>\n<style>\n{PALETTE}{STYLE}</style>\n</head>\n<body>\n\
         <h1>The papers reproduced</h1>\n\
         <p class=\"faint\">segue {version}. {summary}.</p>\n{overview}\
         <p>Printed values are the paper's own, measured values are from this run. In charts a line is what was measured, \
         dots are what it is compared with. A negative is a criterion that \
         nothing can meet because the paper contradicts itself; it is recorded, not tuned away.</p>\n\
         {body}</body>\n</html>\n"
    )
}

/// The papers with their counts.
fn overview(reports: &[PaperReport]) -> String {
    let rows: String = reports
        .iter()
        .map(|report| {
            let tally = Tally::of(std::slice::from_ref(report));
            format!(
                "<tr><td><a href=\"#{key}\">{key}</a></td><td>{title}</td><td class=\"number\">{}</td>\
                 <td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
                tally.passed,
                tally.failed,
                tally.negative,
                key = escape(&report.key),
                title = escape(&report.title),
            )
        })
        .collect();
    format!(
        "<div class=\"wide\"><table>\n<thead><tr><th>paper</th><th>title</th><th class=\"number\">passed</th>\
         <th class=\"number\">failed</th><th class=\"number\">negative</th></tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

fn paper(report: &PaperReport) -> String {
    let key = escape(&report.key);
    let title = escape(&report.title);
    let criteria: String = report.criteria.iter().map(criterion).collect();
    let tables: String = report.tables.iter().map(|t| table(&report.key, t)).collect();
    format!(
        "<section id=\"{key}\">\n<h2>{title} <small>{key}</small></h2>\n\
         <h3>Criteria</h3>\n<div class=\"wide\"><table>\n\
         <thead><tr><th>verdict</th><th>criterion</th><th>expected</th><th>measured</th></tr></thead>\n\
         <tbody>\n{criteria}</tbody>\n</table></div>\n{tables}</section>\n"
    )
}

fn criterion(criterion: &Criterion) -> String {
    let verdict = criterion.verdict.name();
    let long = |text: &str| {
        let class = if text.chars().count() > LONG_TEXT { " class=\"long\"" } else { "" };
        format!("<td{class}>{}</td>", escape(text))
    };
    format!(
        "<tr><td><span class=\"badge {verdict}\">{verdict}</span></td>\
         <td class=\"long\"><b>{}</b> {}</td>{}{}</tr>\n",
        escape(&criterion.id),
        escape(&criterion.text),
        long(&criterion.expected),
        long(&criterion.measured),
    )
}

fn table(paper: &str, table: &Table) -> String {
    let classes: Vec<String> = table
        .columns
        .iter()
        .enumerate()
        .map(|(column, name)| {
            let number = if output::holds_numbers(table, column) { "number" } else { "" };
            [number, chart::Role::class(name)].join(" ").trim().to_owned()
        })
        .collect();
    let mut head = String::new();
    for (class, name) in classes.iter().zip(&table.columns) {
        // Headings may break at their underscores.
        let name = escape(name).replace('_', "_<wbr>");
        let _ = write!(head, "<th class=\"{class}\">{name}</th>");
    }
    let mut body = String::new();
    for row in &table.rows {
        body.push_str("<tr>");
        for (class, cell) in classes.iter().zip(row) {
            let _ = write!(body, "<td class=\"{class}\">{}</td>", escape(&cell.text()));
        }
        body.push_str("</tr>\n");
    }
    let charts = chart::charts(table);
    let (id, caption) = (escape(&table.id), escape(&table.caption));
    format!(
        "<h3 id=\"{}-{id}\">{caption}</h3>\n<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n\
         <tbody>\n{body}</tbody>\n</table></div>\n{charts}",
        escape(paper)
    )
}

/// `text` as HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::tests::sample;

    #[test]
    fn the_page_needs_nothing_from_outside_and_has_no_script() {
        let page = page(&[sample()]);
        for outside in ["<script", "http:", "https:", "src=", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn texts_of_the_report_are_escaped() {
        let page = page(&[sample()]);
        assert!(page.contains("gain of &lt;both&gt; layers"));
        assert!(!page.contains("<both>"));
    }

    #[test]
    fn a_table_with_measured_columns_has_a_chart() {
        let with = sample();
        assert_eq!(page(std::slice::from_ref(&with)).matches("<svg").count(), 1);
        let mut without = with;
        without.tables[0].columns = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(page(&[without]).matches("<svg").count(), 0);
    }
}
