//! The page of `segue compare --report`: the matrices, then each situation with all its numbers.

use std::fmt::Write;

use segue_sim::compare::measure::{Direction, Quantity};
use segue_sim::compare::tables::{self, Matrix};
use segue_sim::compare::{Comparison, Mark, Row};

use super::{PALETTE, STYLE, escape, table};
use crate::compare::seeds_text;

/// What only this page needs.
const OWN_STYLE: &str = include_str!("compare.css");

const READING: &str = "<p>A gain is the mean of the paired differences to plain TCP on the same seeds, with its 95&nbsp;% \
     confidence interval (Student): more goodput, or less time where all flows are of fixed size and finish. \
     <span class=\"gains\">Green</span>: the interval lies above zero. <span class=\"harms\">Red</span>: it lies below \
     zero, and the gain below &minus;0.5&nbsp;%. <i>cannot act</i>: the scheme did nothing in any run. Useless \
     retransmissions are segments that brought the receiver nothing, and segments sent again into an outage. The share \
     is what a flow with the scheme has of what a plain flow beside it has; 1 is as with plain TCP only.</p>\n";

/// The page.
pub fn page(scenario: &str, comparisons: &[Comparison]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let name = escape(scenario);
    let seeds = comparisons.first().map(seeds_text).unwrap_or_default();
    let mut body = String::new();
    for quantity in tables::OF_MATRIX {
        for direction in tables::directions(comparisons) {
            body.push_str(&matrix(comparisons, direction, quantity));
        }
    }
    for comparison in comparisons {
        body.push_str(&situation(comparison));
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Segue: schemes compared</title>\n<style>\n{PALETTE}{STYLE}{OWN_STYLE}</style>\n</head>\n<body>\n\
         <h1>Schemes compared</h1>\n<p class=\"faint\">segue {version}, {name}, {seeds}.</p>\n{READING}{body}\
         </body>\n</html>\n"
    )
}

/// One quantity of all schemes in all situations.
fn matrix(comparisons: &[Comparison], direction: Direction, quantity: Quantity) -> String {
    let matrix = Matrix::new(comparisons, direction);
    let mut head = String::from("<th>scheme</th>");
    for situation in &matrix.situations {
        let name = escape(situation);
        let _ = write!(head, "<th class=\"number\"><a href=\"#{name}-{}\">{name}</a></th>", direction.name());
    }
    let mut body = String::new();
    for row in &matrix.rows {
        if row.cells.iter().flatten().all(|cell| cell.value(quantity).is_none()) {
            continue;
        }
        let _ = write!(body, "<tr><td>{}</td>", escape(row.scheme));
        for cell in &row.cells {
            let text = cell.map_or(String::new(), |cell| tables::cell_text(cell, quantity));
            let class = cell.map_or("", |cell| class(cell, quantity));
            let _ = write!(body, "<td class=\"number {class}\">{}</td>", escape(&text));
        }
        body.push_str("</tr>\n");
    }
    format!(
        "<h3>{}: {}</h3>\n<div class=\"wide\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n\
         </table></div>\n",
        quantity.title(),
        direction.name()
    )
}

fn class(row: &Row, quantity: Quantity) -> &'static str {
    if quantity != Quantity::GainPct {
        return "";
    }
    let is_gain = || row.value(quantity).and_then(|gain| gain.interval()).is_some_and(|(low, _)| low > 0.0);
    match row.mark {
        Some(Mark::CannotAct) => "idle",
        Some(Mark::Harms) => "harms",
        None if is_gain() => "gains",
        None => "",
    }
}

/// One situation with all its numbers, once for each of its directions.
fn situation(comparison: &Comparison) -> String {
    let name = escape(&comparison.situation);
    let directions = tables::directions(std::slice::from_ref(comparison));
    let names: Vec<&str> = directions.iter().map(|direction| direction.name()).collect();
    let anchors: String =
        names.iter().map(|direction| format!("<a id=\"{name}-{direction}\"></a>")).collect();
    // Two files may be one situation, each with its own direction.
    let section = format!("all-{}", names.join("-"));
    format!("{anchors}{}", table(&section, &tables::scenario_table(comparison)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use segue_sim::compare::estimate::Estimate;

    fn sample() -> Comparison {
        let row = |scheme, mark, gain: Option<f64>| Row {
            scheme,
            direction: Direction::Upload,
            mark,
            values: gain
                .map(|mean| (Quantity::GainPct, Estimate { mean, half: Some(0.5), count: 10 }))
                .into_iter()
                .collect(),
        };
        Comparison {
            situation: "gap".into(),
            title: "A <gap>".into(),
            seeds: vec![1, 2],
            rows: vec![
                row("none", None, None),
                row("better", None, Some(7.0)),
                row("worse", Some(Mark::Harms), Some(-7.0)),
                row("idle", Some(Mark::CannotAct), Some(0.0)),
            ],
        }
    }

    #[test]
    fn the_page_needs_nothing_from_outside_and_has_no_script() {
        let page = page("a <folder>", &[sample()]);
        for outside in ["<script", "http:", "https:", "src=", "url(", "<folder>", "<gap>"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn gains_and_marks_have_their_colours() {
        let page = page("a", &[sample()]);
        assert!(page.contains("<td class=\"number gains\">+7.0 ± 0.5</td>"), "{page}");
        assert!(page.contains("<td class=\"number harms\">-7.0 ± 0.5 harms</td>"));
        assert!(page.contains("<td class=\"number idle\">cannot act</td>"));
    }
}
