//! Comparisons as tables.

use super::estimate::Estimate;
use super::measure::{Direction, Quantity};
use super::{Comparison, Mark, Row};
use crate::table::{Cell, Table};

/// What the table of one scenario shows.
const COLUMNS: [Quantity; 9] = [
    Quantity::GoodputKbps,
    Quantity::TransferS,
    Quantity::IdleS,
    Quantity::LongestIdleS,
    Quantity::Useless,
    Quantity::Timeouts,
    Quantity::Freezes,
    Quantity::Fairness,
    Quantity::Interventions,
];

/// The quantities of which there is a matrix, the most important first.
pub const OF_MATRIX: [Quantity; 4] =
    [Quantity::GainPct, Quantity::IdleS, Quantity::Useless, Quantity::Fairness];

/// One scenario: a row for each scheme, with the interval of the gain. Quantities that no row has are left out.
pub fn scenario_table(comparison: &Comparison) -> Table {
    let rows = &comparison.rows;
    let shown: Vec<Quantity> = COLUMNS
        .into_iter()
        .filter(|quantity| rows.iter().any(|row| row.value(*quantity).is_some()))
        .collect();
    let mut columns: Vec<String> =
        ["scheme", "flows", "mark", "gain_pct", "low", "high"].map(str::to_owned).to_vec();
    columns.extend(shown.iter().map(|quantity| quantity.name().to_owned()));
    let line = |row: &Row| {
        let mut cells = vec![text(row.scheme), text(row.direction.name()), mark(row)];
        cells.extend(with_interval(row.value(Quantity::GainPct), Quantity::GainPct.decimals()));
        cells.extend(shown.iter().map(|quantity| {
            Cell::number(row.value(*quantity).map(|estimate| estimate.mean), quantity.decimals())
        }));
        cells
    };
    Table {
        id: comparison.situation.clone(),
        caption: format!("{}, {} seeds", comparison.title, comparison.seeds.len()),
        columns,
        rows: rows.iter().map(line).collect(),
    }
}

/// Everything, one line for each situation, direction, scheme and quantity.
pub fn tidy_table(comparisons: &[Comparison]) -> Table {
    let columns = ["situation", "direction", "scheme", "mark", "quantity", "mean", "low", "high", "seeds"];
    let mut rows = Vec::new();
    for comparison in comparisons {
        for row in &comparison.rows {
            for (quantity, estimate) in &row.values {
                let mut cells = vec![
                    text(&comparison.situation),
                    text(row.direction.name()),
                    text(row.scheme),
                    mark(row),
                    text(quantity.name()),
                ];
                cells.extend(with_interval(Some(*estimate), TIDY_DECIMALS));
                cells.push(Cell::Integer(estimate.count as u64));
                rows.push(cells);
            }
        }
    }
    Table {
        id: "comparison".into(),
        caption: "Schemes against plain TCP".into(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    }
}

/// Enough to compute on.
const TIDY_DECIMALS: usize = 4;

/// The directions of which there is a matrix.
pub fn directions(comparisons: &[Comparison]) -> Vec<Direction> {
    let has = |direction: &Direction| {
        comparisons.iter().any(|comparison| comparison.rows.iter().any(|row| row.direction == *direction))
    };
    Direction::ALL.into_iter().filter(has).collect()
}

/// A row of a situation, or nothing where it has none of that scheme.
#[derive(Clone, Debug)]
pub struct MatrixRow<'a> {
    /// The scheme.
    pub scheme: &'static str,
    /// One for each situation of the matrix.
    pub cells: Vec<Option<&'a Row>>,
}

/// Schemes and situations of one direction.
#[derive(Clone, Debug)]
pub struct Matrix<'a> {
    /// The situations, in their order.
    pub situations: Vec<&'a str>,
    /// One for each scheme, in the order of their table, plain TCP first.
    pub rows: Vec<MatrixRow<'a>>,
}

impl<'a> Matrix<'a> {
    /// All of a direction.
    pub fn new(comparisons: &'a [Comparison], direction: Direction) -> Self {
        let rows_of =
            |comparison: &'a Comparison| comparison.rows.iter().filter(move |row| row.direction == direction);
        let here: Vec<&Comparison> =
            comparisons.iter().filter(|comparison| rows_of(comparison).next().is_some()).collect();
        let mut schemes = Vec::new();
        for row in here.iter().flat_map(|comparison| rows_of(comparison)) {
            if !schemes.contains(&row.scheme) {
                schemes.push(row.scheme);
            }
        }
        let row = |scheme: &'static str| MatrixRow {
            scheme,
            cells: here.iter().map(|of| rows_of(of).find(|row| row.scheme == scheme)).collect(),
        };
        Matrix {
            situations: here.iter().map(|comparison| comparison.situation.as_str()).collect(),
            rows: schemes.into_iter().map(row).collect(),
        }
    }

    /// One quantity of it. Rows in which no cell has it, as the gain of plain TCP over itself, are left out.
    pub fn table(&self, quantity: Quantity) -> Table {
        let columns = ["scheme"].iter().chain(&self.situations).map(|name| (*name).to_owned()).collect();
        let has =
            |row: &&MatrixRow<'_>| row.cells.iter().flatten().any(|cell| cell.value(quantity).is_some());
        let line = |row: &MatrixRow<'_>| {
            let cells = row.cells.iter().map(|cell| match cell {
                Some(cell) => text(&cell_text(cell, quantity)),
                None => Cell::Empty,
            });
            [text(row.scheme)].into_iter().chain(cells).collect()
        };
        Table {
            id: quantity.name().to_owned(),
            caption: quantity.title().to_owned(),
            columns,
            rows: self.rows.iter().filter(has).map(line).collect(),
        }
    }
}

/// What stands in a cell of a matrix: marks with the gain, intervals with the gain and the fairness, else the mean.
pub fn cell_text(row: &Row, quantity: Quantity) -> String {
    let is_gain = quantity == Quantity::GainPct;
    if let (Some(mark @ Mark::CannotAct), true) = (row.mark, is_gain) {
        return mark.name().to_owned();
    }
    let Some(Estimate { mean, half, .. }) = row.value(quantity) else { return "–".to_owned() };
    let decimals = quantity.decimals();
    let mut cell = if is_gain { format!("{mean:+.decimals$}") } else { format!("{mean:.decimals$}") };
    if let (Some(half), true) = (half, is_gain || quantity == Quantity::Fairness) {
        cell.push_str(&format!(" ± {half:.decimals$}"));
    }
    if let (Some(mark), true) = (row.mark, is_gain) {
        cell.push_str(&format!(" {}", mark.name()));
    }
    cell
}

fn with_interval(estimate: Option<Estimate>, decimals: usize) -> [Cell; 3] {
    let interval = estimate.and_then(|estimate| estimate.interval());
    [
        Cell::number(estimate.map(|estimate| estimate.mean), decimals),
        Cell::number(interval.map(|(low, _)| low), decimals),
        Cell::number(interval.map(|(_, high)| high), decimals),
    ]
}

fn mark(row: &Row) -> Cell {
    row.mark.map_or(Cell::Empty, |mark| text(mark.name()))
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scheme: &'static str, mark: Option<Mark>, gain: Option<f64>) -> Row {
        let estimate = |mean| Estimate { mean, half: Some(0.25), count: 10 };
        let mut values: Vec<(Quantity, Estimate)> =
            gain.map(|gain| (Quantity::GainPct, estimate(gain))).into_iter().collect();
        values.push((Quantity::IdleS, estimate(1.5)));
        Row { scheme, direction: Direction::Upload, mark, values }
    }

    fn comparison(situation: &str) -> Comparison {
        let rows = vec![
            row("none", None, None),
            row("one", Some(Mark::CannotAct), Some(0.0)),
            row("two", Some(Mark::Harms), Some(-3.0)),
        ];
        Comparison { situation: situation.into(), title: "A title".into(), seeds: vec![1, 2], rows }
    }

    #[test]
    fn the_matrix_has_situations_as_columns_and_marks_with_the_gain() {
        let comparisons = [comparison("a"), comparison("b")];
        assert_eq!(directions(&comparisons), [Direction::Upload]);
        let matrix = Matrix::new(&comparisons, Direction::Upload);
        let gain = matrix.table(Quantity::GainPct);
        assert_eq!(
            gain.csv(),
            "scheme,a,b\none,cannot act,cannot act\ntwo,-3.0 ± 0.2 harms,-3.0 ± 0.2 harms\n"
        );
        assert_eq!(
            matrix.table(Quantity::IdleS).csv(),
            "scheme,a,b\nnone,1.50,1.50\none,1.50,1.50\ntwo,1.50,1.50\n"
        );
    }

    #[test]
    fn the_tidy_table_has_a_line_for_each_quantity() {
        let csv = tidy_table(&[comparison("a")]).csv();
        let expected = "\
situation,direction,scheme,mark,quantity,mean,low,high,seeds
a,upload,none,,idle_s,1.5000,1.2500,1.7500,10
a,upload,one,cannot act,gain_pct,0.0000,-0.2500,0.2500,10
a,upload,one,cannot act,idle_s,1.5000,1.2500,1.7500,10
a,upload,two,harms,gain_pct,-3.0000,-3.2500,-2.7500,10
a,upload,two,harms,idle_s,1.5000,1.2500,1.7500,10
";
        assert_eq!(csv, expected);
    }

    #[test]
    fn the_table_of_a_scenario_leaves_out_what_no_row_has() {
        let table = scenario_table(&comparison("a"));
        let columns = ["scheme", "flows", "mark", "gain_pct", "low", "high", "idle_s"];
        assert_eq!(table.columns, columns);
    }
}
