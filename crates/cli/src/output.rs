//! What reaches the user: data on standard output, everything else on standard error.

use std::fmt::Display;
use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, TableStyle};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use segue_sim::table::Table;

use crate::error::Refusal;

/// Columns apart by two spaces, a line below the heading, nothing else: easy to read and to cut.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction(' '))
    .header_separator(LineStyle::none().fill('-').junction('-'))
    .content_lines(ContentLineStyle::none().junction(' '));

/// Running text is not set wider than this.
const TEXT_WIDTH: usize = 100;

/// Columns may not be squeezed below this many characters; a narrower terminal wraps lines by itself.
const LEAST_WIDTH: usize = 40;

/// Writes `text` to standard output. A reader that has seen enough (`| head`) is not an error.
///
/// # Errors
/// If standard output cannot be written for another reason.
pub fn print(text: &str) -> Result<(), Refusal> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Refusal::new(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes JSON to standard output.
///
/// # Errors
/// See [`print()`].
pub fn print_json(value: &serde_json::Value) -> Result<(), Refusal> {
    print(&format!("{value:#}\n"))
}

/// A bar on standard error that counts runs, if that is a terminal and nobody wants quiet.
pub fn runs_bar(label: &str, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(None, target);
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {elapsed}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(label.to_owned());
    bar
}

/// Tells something in passing, on standard error.
pub fn note(text: impl Display) {
    // Nobody is left to tell if this fails.
    let _ = writeln!(io::stderr(), "segue: {text}");
}

/// Tells why the command ends, on standard error.
pub fn refuse(refusal: &Refusal) {
    note(refusal);
}

/// Width of the terminal that standard output is, if it is one.
pub fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0).max(LEAST_WIDTH))
}

/// How wide running text is set.
pub fn text_width() -> usize {
    terminal_width().unwrap_or(TEXT_WIDTH).min(TEXT_WIDTH)
}

/// Sets `table` for people, without its caption. What does not fit into `width` goes into further blocks of columns,
/// each of which begins with the first column again; without a width nothing is broken.
pub fn text_table(table: &Table, width: Option<usize>) -> String {
    let widths: Vec<usize> = (0..table.columns.len()).map(|column| column_width(table, column)).collect();
    let blocks = column_blocks(&widths, width.unwrap_or(usize::MAX));
    let texts: Vec<String> = blocks.iter().map(|columns| text_block(table, columns)).collect();
    texts.join("\n")
}

/// Sets `table` with lines broken inside cells so that it is at most `width` wide: for columns of running text.
pub fn wrapped_table(table: &Table, width: usize) -> String {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let mut set = set_columns(table, &all);
    set.set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    format!("{}\n", set.trim_fmt())
}

/// Breaks `text` into lines of at most `width`, each after `indent` spaces.
pub fn paragraph(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let word_length = word.chars().count();
        if length == 0 || length + 1 + word_length > width {
            if length > 0 {
                out.push('\n');
            }
            out.push_str(&" ".repeat(indent));
            length = indent;
        } else {
            out.push(' ');
            length += 1;
        }
        out.push_str(word);
        length += word_length;
    }
    out.push('\n');
    out
}

/// Which columns stand side by side.
fn column_blocks(widths: &[usize], width: usize) -> Vec<Vec<usize>> {
    const GAP: usize = 2;
    let mut blocks = vec![Vec::new()];
    let mut used = 0;
    for (column, needed) in widths.iter().enumerate() {
        let block = blocks.last().map_or(0, Vec::len);
        if block > 1 && used + GAP + needed > width {
            blocks.push(vec![0]);
            used = widths[0];
        }
        used += needed + if used == 0 { 0 } else { GAP };
        if let Some(block) = blocks.last_mut() {
            block.push(column);
        }
    }
    blocks
}

fn column_width(table: &Table, column: usize) -> usize {
    let cells = table.rows.iter().map(|row| row[column].text().chars().count());
    cells.chain([table.columns[column].chars().count()]).max().unwrap_or(0)
}

/// Whether all that stands in a column, and something does, is a number.
pub(crate) fn holds_numbers(table: &Table, column: usize) -> bool {
    let mut texts =
        table.rows.iter().map(|row| row[column].text()).filter(|text| !text.is_empty()).peekable();
    texts.peek().is_some() && texts.all(|text| text.parse::<f64>().is_ok())
}

fn text_block(table: &Table, columns: &[usize]) -> String {
    format!("{}\n", set_columns(table, columns).trim_fmt())
}

fn set_columns(table: &Table, columns: &[usize]) -> comfy_table::Table {
    let mut set = comfy_table::Table::new();
    set.load_style(STYLE);
    set.set_header(columns.iter().map(|&column| table.columns[column].clone()));
    for row in &table.rows {
        set.add_row(columns.iter().map(|&column| row[column].text()));
    }
    for (position, &column) in columns.iter().enumerate() {
        let is_last = position + 1 == columns.len();
        let Some(set_column) = set.column_mut(position) else { continue };
        set_column.set_padding((0, u16::from(!is_last)));
        if holds_numbers(table, column) {
            set_column.set_cell_alignment(CellAlignment::Right);
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use segue_sim::table::Cell;

    fn table() -> Table {
        let row = |name: &str, a: u64, b: f64| {
            vec![Cell::Text(name.into()), Cell::Integer(a), Cell::Number(b, 2), Cell::Empty]
        };
        Table {
            columns: ["name", "count", "time_s", "nothing"].map(str::to_owned).to_vec(),
            rows: vec![row("first", 1, 2.0), row("second", 2000, 0.125)],
            ..Table::default()
        }
    }

    #[test]
    fn numbers_stand_on_the_right_and_words_on_the_left() {
        let expected = "\
name    count  time_s  nothing
------------------------------
first       1    2.00
second   2000    0.12
";
        assert_eq!(text_table(&table(), None), expected);
    }

    #[test]
    fn what_is_too_wide_goes_into_a_block_that_repeats_the_first_column() {
        let expected = "\
name    count
-------------
first       1
second   2000

name    time_s
--------------
first     2.00
second    0.12

name    nothing
---------------
first
second
";
        assert_eq!(text_table(&table(), Some(20)), expected);
    }

    #[test]
    fn a_paragraph_is_broken_at_words_only() {
        assert_eq!(paragraph("one two  three fours", 2, 10), "  one two\n  three\n  fours\n");
    }
}
