//! Line charts of tables that hold measured columns: x is the first column, measured values are joined by
//! a line, what they are compared with are dots of the same colour. One chart per unit.

use std::fmt::Write;

use segue_sim::table::{Cell, Table};

use super::escape;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 310.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 52.0;
/// Height of a line of the legend.
const LEGEND_LINE: f64 = 20.0;
/// Colours in the style sheet.
const COLOURS: usize = 6;
/// A line is known by its dashes too.
const DASHES: [&str; 4] = ["none", "7 4", "2 3", "9 3 2 3"];
/// Ticks that an axis has about.
const TICKS: f64 = 6.0;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// What ours is compared with.
    Reference,
    /// Ours.
    Measured,
}

impl Role {
    /// Name and role of the column `heading`, such as `normal_s measured` or `normal_s printed`, if it states any.
    fn split(heading: &str) -> Option<(&str, Role)> {
        let (name, source) = heading.rsplit_once(' ')?;
        Some((name, if source == "measured" { Role::Measured } else { Role::Reference }))
    }

    /// The class of such a column in the style sheet.
    pub(crate) fn class(heading: &str) -> &'static str {
        match Role::split(heading) {
            Some((_, Role::Reference)) => "printed",
            Some((_, Role::Measured)) => "measured",
            None => "",
        }
    }
}

/// One thing that was measured, and what it is compared with.
#[derive(Debug, Default)]
struct Series {
    unit: String,
    /// Pairs of x and y.
    measured: Points,
    /// Column by column.
    references: Vec<Points>,
}

/// The points of one column.
#[derive(Debug, Default)]
struct Points {
    name: String,
    at: Vec<(f64, f64)>,
}

/// The horizontal axis: numbers, or the words of the first column one after the other.
#[derive(Debug)]
struct Axis {
    label: String,
    values: Vec<f64>,
    /// Position and text of each tick.
    ticks: Vec<(f64, String)>,
}

/// The charts of `table`; none if nothing in it was measured.
pub(crate) fn charts(table: &Table) -> String {
    let Some(axis) = x_axis(table) else { return String::new() };
    let all = series(table, &axis);
    let mut units: Vec<&str> = Vec::new();
    for series in &all {
        if !units.contains(&series.unit.as_str()) {
            units.push(&series.unit);
        }
    }
    let charts: String = units
        .into_iter()
        .map(|unit| {
            let of_unit: Vec<&Series> = all.iter().filter(|series| series.unit == unit).collect();
            chart(&table.caption, unit, &axis, &of_unit)
        })
        .collect();
    if charts.is_empty() { charts } else { format!("<div class=\"charts\">\n{charts}</div>\n") }
}

/// Splits a name such as `normal_s` or `goodput_KB_per_s` into what it is and its unit.
fn name_and_unit(name: &str) -> (String, String) {
    const UNITS: &[&str] = &["s", "ms", "pct", "kbps", "mbps", "bytes", "packets", "segments"];
    let words: Vec<&str> = name.split('_').collect();
    match words.as_slice() {
        [rest @ .., what, "per", each] => (rest.join(" "), format!("{what}/{each}")),
        [rest @ .., "pct"] => (rest.join(" "), "%".to_owned()),
        [rest @ .., unit] if UNITS.contains(unit) => (rest.join(" "), (*unit).to_owned()),
        _ => (words.join(" "), String::new()),
    }
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Integer(value) => Some(*value as f64),
        Cell::Number(value, _) => Some(*value),
        Cell::Text(text) => text.trim().parse().ok().filter(|value: &f64| value.is_finite()),
        Cell::Empty => None,
    }
}

fn x_axis(table: &Table) -> Option<Axis> {
    let (name, unit) = name_and_unit(table.columns.first()?);
    let label = if unit.is_empty() { name } else { format!("{name} ({unit})") };
    let numbers: Option<Vec<f64>> = table.rows.iter().map(|row| number(&row[0])).collect();
    if table.rows.len() < 2 {
        return None;
    }
    Some(match numbers.filter(|values| span(values.iter().copied()).is_some_and(|(low, high)| low < high)) {
        Some(values) => {
            let (low, high) = span(values.iter().copied())?;
            let ticks = ticks(low, high).into_iter().filter(|t| (low..=high).contains(t));
            Axis { label, ticks: ticks.map(|t| (t, tick_text(t))).collect(), values }
        }
        None => {
            let values: Vec<f64> = (0..table.rows.len()).map(|row| row as f64).collect();
            let ticks = table.rows.iter().zip(&values).map(|(row, x)| (*x, row[0].text())).collect();
            Axis { label, values, ticks }
        }
    })
}

fn series(table: &Table, axis: &Axis) -> Vec<Series> {
    let points = |column: usize, name: &str| {
        let source = table.columns[column].rsplit(' ').next().unwrap_or_default();
        let cells = table.rows.iter().map(|row| number(&row[column]));
        let at = axis.values.iter().zip(cells).filter_map(|(x, y)| y.map(|y| (*x, y)));
        Points { name: format!("{name} {source}"), at: at.collect() }
    };
    let roles: Vec<Option<(&str, Role)>> = table.columns.iter().map(|heading| Role::split(heading)).collect();
    let mut all = Vec::new();
    for (column, role) in roles.iter().enumerate() {
        let Some((heading, Role::Measured)) = role else { continue };
        let (name, unit) = name_and_unit(heading);
        let references =
            roles.iter().enumerate().filter(|(_, role)| **role == Some((*heading, Role::Reference)));
        let references = references.map(|(column, _)| points(column, &name)).collect();
        all.push(Series { unit, measured: points(column, &name), references });
    }
    all
}

/// Smallest and largest of `values`.
fn span(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .fold(None, |span, v| Some(span.map_or((v, v), |(low, high): (f64, f64)| (low.min(v), high.max(v)))))
}

/// Round numbers from at or below `low` to at or above `high`.
pub(super) fn ticks(low: f64, high: f64) -> Vec<f64> {
    let raw = (high - low) / TICKS;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= raw).unwrap_or(raw);
    let first = (low / step).floor();
    let count = ((high / step).ceil() - first) as usize;
    (0..=count).map(|i| (first + i as f64) * step).collect()
}

/// The shortest text of a round number.
pub(super) fn tick_text(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// From values to places on the page.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let share = |value: f64, (low, high): (f64, f64)| (value - low) / (high - low);
        let across = WIDTH - LEFT - RIGHT;
        let down = HEIGHT - TOP - BOTTOM;
        (LEFT + share(x, self.x) * across, TOP + (1.0 - share(y, self.y)) * down)
    }
}

fn chart(caption: &str, unit: &str, axis: &Axis, series: &[&Series]) -> String {
    let values =
        series.iter().flat_map(|s| s.references.iter().chain([&s.measured])).flat_map(|points| &points.at);
    let values = values.map(|(_, y)| *y);
    let (Some((low, high)), Some((left, right))) = (span(values), span(axis.values.iter().copied())) else {
        return String::new();
    };
    // From zero, so that heights can be compared; a flat line at zero needs some height.
    let y_ticks = ticks(low.min(0.0), if high > low.min(0.0) { high.max(0.0) } else { low + 1.0 });
    let margin = (right - left) * 0.03;
    let frame =
        Frame { x: (left - margin, right + margin), y: (y_ticks[0], y_ticks.last().copied().unwrap_or(1.0)) };
    let height = HEIGHT + LEGEND_LINE * series.len() as f64;
    let mut svg = format!(
        "<figure><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}: lines are measured, dots are \
         what they are compared with\">\n",
        escape(caption)
    );
    draw_axes(&mut svg, &frame, axis, &y_ticks, unit);
    for (index, one) in series.iter().enumerate() {
        draw_series(&mut svg, &frame, index, one);
        draw_legend(&mut svg, index, one);
    }
    svg.push_str("</svg></figure>\n");
    svg
}

fn draw_axes(svg: &mut String, frame: &Frame, axis: &Axis, y_ticks: &[f64], unit: &str) {
    let bottom = HEIGHT - BOTTOM;
    let right = WIDTH - RIGHT;
    for tick in y_ticks {
        let (_, y) = frame.place((0.0, *tick));
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + 4.0,
            tick_text(*tick)
        );
    }
    for (value, text) in &axis.ticks {
        let (x, _) = frame.place((*value, 0.0));
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{x:.1}\" y1=\"{bottom}\" x2=\"{x:.1}\" y2=\"{:.1}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 5.0,
            bottom + 19.0,
            escape(text)
        );
    }
    let middle = TOP + (bottom - TOP) / 2.0;
    let unit = if unit.is_empty() { "value" } else { unit };
    let _ = writeln!(
        svg,
        "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{bottom}\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
         <text x=\"14\" y=\"{middle:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {middle:.1})\">{}</text>",
        LEFT + (right - LEFT) / 2.0,
        bottom + 40.0,
        escape(&axis.label),
        escape(unit)
    );
}

fn draw_series(svg: &mut String, frame: &Frame, index: usize, series: &Series) {
    let colour = index % COLOURS;
    let mut line = series.measured.at.clone();
    line.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places: Vec<String> = line
        .iter()
        .map(|point| {
            let (x, y) = frame.place(*point);
            format!("{x:.1},{y:.1}")
        })
        .collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--c{colour})\" stroke-width=\"2\" \
         stroke-dasharray=\"{}\"/>",
        places.join(" "),
        DASHES[index % DASHES.len()]
    );
    for (number, points) in series.references.iter().enumerate() {
        for point in &points.at {
            let (x, y) = frame.place(*point);
            draw_dot(svg, (x, y), colour, number, &format!("{}: {}", points.name, tick_text(point.1)));
        }
    }
}

/// A dot; those of a second reference are hollow.
fn draw_dot(svg: &mut String, (x, y): (f64, f64), colour: usize, number: usize, title: &str) {
    let fill = if number == 0 { format!("var(--c{colour})") } else { "none".to_owned() };
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"var(--c{colour})\">\
         <title>{}</title></circle>",
        escape(title)
    );
}

fn draw_legend(svg: &mut String, index: usize, series: &Series) {
    const STEP: f64 = 190.0;
    let colour = index % COLOURS;
    let y = HEIGHT + LEGEND_LINE * (index as f64 + 0.5);
    let text_y = y + 4.0;
    let _ = writeln!(
        svg,
        "<line x1=\"{LEFT}\" y1=\"{y}\" x2=\"{:.1}\" y2=\"{y}\" stroke=\"var(--c{colour})\" stroke-width=\"2\" \
         stroke-dasharray=\"{}\"/><text x=\"{:.1}\" y=\"{text_y}\">{}</text>",
        LEFT + 30.0,
        DASHES[index % DASHES.len()],
        LEFT + 38.0,
        escape(&series.measured.name),
    );
    for (number, points) in series.references.iter().enumerate() {
        let x = LEFT + STEP * (number + 1) as f64;
        draw_dot(svg, (x, y), colour, number, &points.name);
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{text_y}\">{}</text>", x + 10.0, escape(&points.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_in_its_unit() {
        let parts = |name: &str| {
            let (name, unit) = name_and_unit(name);
            format!("{name}|{unit}")
        };
        assert_eq!(parts("ilc1_s"), "ilc1|s");
        assert_eq!(parts("gain_pct"), "gain|%");
        assert_eq!(parts("tahoe_KB_per_s"), "tahoe|KB/s");
        assert_eq!(parts("drops"), "drops|");
    }

    #[test]
    fn what_is_compared_with_has_the_same_name_and_another_source() {
        let columns = ["timeout", "at_s ns-2", "at_s measured", "of ns-2"].map(str::to_owned).to_vec();
        let row =
            |x: u64| vec![Cell::Integer(x), Cell::Number(1.5, 1), Cell::Number(1.6, 1), Cell::Integer(9)];
        let charts = charts(&Table { columns, rows: vec![row(1), row(2)], ..Table::default() });
        assert!(charts.contains(">at ns-2</text>") && charts.contains(">at measured</text>"), "{charts}");
        assert!(!charts.contains(">of ns-2</text>"));
    }

    #[test]
    fn ticks_are_round_and_cover_the_range() {
        assert_eq!(ticks(0.0, 63.0), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(ticks(-3.0, 9.0), [-4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(tick_text(0.1 + 0.2), "0.3");
    }

    #[test]
    fn units_do_not_share_a_chart() {
        let columns = ["x", "a_s printed", "a_s measured", "gain_pct measured", "other_kbps printed"];
        let row = |x: u64| {
            vec![Cell::Integer(x), Cell::Integer(1), Cell::Integer(2), Cell::Integer(3), Cell::Integer(4)]
        };
        let table = Table {
            columns: columns.map(str::to_owned).to_vec(),
            rows: vec![row(1), row(2)],
            ..Table::default()
        };
        let charts = charts(&table);
        assert_eq!(charts.matches("<svg").count(), 2);
        assert!(!charts.contains("other"));
    }

    #[test]
    fn words_in_the_first_column_become_the_ticks() {
        let row = |word: &str| vec![Cell::Text(word.into()), Cell::Integer(1)];
        let table = Table {
            columns: ["case", "a_s measured"].map(str::to_owned).to_vec(),
            rows: vec![row("near"), row("far")],
            ..Table::default()
        };
        assert!(charts(&table).contains(">near</text>"));
    }
}
