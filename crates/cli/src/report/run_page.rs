//! The page of `segue run --report`: what became of one flow, its outages, and the picture of the run.

use segue_sim::Results;
use segue_sim::results::FlowSummary;
use segue_sim::table::{Cell, Table};
use segue_sim::timeline::Timeline;

use super::{PALETTE, STYLE, escape, timeline};
use crate::output;

/// Rows of the table of outages; a page with more would be a list, not a summary.
const OUTAGES: usize = 20;

/// The picture as a file of its own.
pub fn svg(origin: Origin<'_>, timeline: &Timeline, results: &Results) -> String {
    let flow = &results.flows[timeline.flow].name;
    timeline::file(timeline, &format!("{}: scheme {}, flow {flow}", origin.title, results.scheme))
}

/// What the page says about where the run comes from.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The title of the scenario, or its name.
    pub title: &'a str,
    /// The scenario as it was named.
    pub scenario: &'a str,
    /// The seed.
    pub seed: u64,
}

/// The page.
pub fn page(origin: Origin<'_>, timeline: &Timeline, results: &Results) -> String {
    let flow = &results.flows[timeline.flow];
    let title = escape(origin.title);
    let style = timeline::STYLE;
    let picture = timeline::element(timeline, origin.title);
    let facts = html(&facts(flow));
    let outages = outage_section(timeline);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Segue: {title}</title>\n<style>\n{PALETTE}{STYLE}{style}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n\
         <p>Scheme <b>{scheme}</b>, flow <b>{flow}</b> from {from} to {to}, {tcp}.</p>\n\
         <p class=\"faint\">segue {version}, {scenario}, seed {seed}, {ended:.3} s simulated.</p>\n\
         {facts}<figure class=\"whole\">{picture}</figure>\n{reading}{outages}</body>\n</html>\n",
        scheme = escape(results.scheme),
        flow = escape(&flow.name),
        from = escape(&flow.from),
        to = escape(&flow.to),
        tcp = escape(flow.tcp),
        version = env!("CARGO_PKG_VERSION"),
        scenario = escape(origin.scenario),
        seed = origin.seed,
        ended = results.ended.as_secs_f64(),
        reading = READING,
    )
}

const READING: &str = "<p class=\"faint\">Shaded: nothing could get through. A frozen sender waits for its scheme. \
     Windows and the timeout are those after each acknowledgement of new data; between two of them a curve stays as it \
     is, but that a timeout which TCP acts upon sets the congestion window to one segment.</p>\n";

fn facts(flow: &FlowSummary) -> Table {
    let columns = [
        "finish (s)",
        "acknowledged (MB)",
        "goodput (kb/s)",
        "segments",
        "sent again",
        "timeouts",
        "fast retransmits",
        "freezes",
        "idle after outages (s)",
        "longest idle (s)",
    ];
    let row = vec![
        flow.finished.map_or(Cell::Text("not finished".into()), |at| Cell::Number(at.as_secs_f64(), 3)),
        Cell::Number(flow.acknowledged as f64 / 1e6, 3),
        Cell::Number(flow.goodput_bps / 1e3, 1),
        Cell::Integer(flow.stats.data_segments),
        Cell::Integer(flow.stats.retransmissions),
        Cell::Integer(flow.stats.timeouts),
        Cell::Integer(flow.stats.fast_retransmits),
        Cell::Integer(flow.stats.freezes),
        Cell::Number(flow.idle.as_secs_f64(), 3),
        Cell::Number(flow.longest_idle.as_secs_f64(), 3),
    ];
    Table { columns: columns.map(str::to_owned).to_vec(), rows: vec![row], ..Table::default() }
}

fn outage_section(timeline: &Timeline) -> String {
    if timeline.outages.is_empty() {
        return String::new();
    }
    let columns = ["cut off from (s)", "until (s)", "for (s)", "idle after it (s)"];
    let row = |outage: &segue_sim::timeline::Outage| {
        let span = outage.span;
        vec![
            Cell::Number(span.from.as_secs_f64(), 3),
            Cell::Number(span.until.as_secs_f64(), 3),
            Cell::Number(span.duration().as_secs_f64(), 3),
            outage.idle().map_or(Cell::Empty, |idle| Cell::Number(idle.as_secs_f64(), 3)),
        ]
    };
    let table = Table {
        columns: columns.map(str::to_owned).to_vec(),
        rows: timeline.outages.iter().take(OUTAGES).map(row).collect(),
        ..Table::default()
    };
    let more = match timeline.outages.len().saturating_sub(OUTAGES) {
        0 => String::new(),
        more => format!(" {more} more are not listed."),
    };
    format!(
        "<h3>Outages</h3>\n{}<p class=\"faint\">Idle: from the end of an outage to the next data that the sender sent; \
         empty if it sent none before the next outage, or had nothing to send.{more}</p>\n",
        html(&table)
    )
}

fn html(table: &Table) -> String {
    let class = |column: usize| {
        let is_number = output::holds_numbers(table, column);
        if is_number { " class=\"number\"" } else { "" }
    };
    let heads: String =
        table.columns.iter().enumerate().map(|(c, name)| format!("<th{}>{name}</th>", class(c))).collect();
    let row = |row: &Vec<Cell>| {
        let cells: String = row
            .iter()
            .enumerate()
            .map(|(c, cell)| format!("<td{}>{}</td>", class(c), escape(&cell.text())))
            .collect();
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = table.rows.iter().map(row).collect();
    format!(
        "<div class=\"wide\"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}
