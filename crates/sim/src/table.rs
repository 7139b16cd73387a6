//! Tables as data: the command line prints them as text, JSON or CSV.

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing to say.
    Empty,
    /// Words.
    Text(String),
    /// A whole number.
    Integer(u64),
    /// A number, to be shown with so many decimals.
    Number(f64, usize),
}

impl Cell {
    /// A number, or nothing.
    pub fn number(value: Option<f64>, decimals: usize) -> Cell {
        value.filter(|v| v.is_finite()).map_or(Cell::Empty, |v| Cell::Number(v, decimals))
    }

    /// As a person reads it.
    pub fn text(&self) -> String {
        match self {
            Cell::Empty => String::new(),
            Cell::Text(text) => text.clone(),
            Cell::Integer(value) => value.to_string(),
            Cell::Number(value, decimals) => format!("{value:.decimals$}"),
        }
    }

    /// As a JSON value.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Cell::Empty => serde_json::Value::Null,
            Cell::Text(text) => text.as_str().into(),
            Cell::Integer(value) => (*value).into(),
            // What is shown is what is meant: no digits beyond the stated ones.
            Cell::Number(value, decimals) => {
                format!("{value:.decimals$}").parse::<f64>().ok().map_or(serde_json::Value::Null, Into::into)
            }
        }
    }
}

/// A table with a heading per column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Short name, such as `table2`.
    pub id: String,
    /// One line above it.
    pub caption: String,
    /// Headings, with units.
    pub columns: Vec<String>,
    /// One cell per column in each.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// As comma-separated values (RFC 4180), heading first.
    pub fn csv(&self) -> String {
        let mut out = String::new();
        let mut line = |cells: &mut dyn Iterator<Item = String>| {
            for (i, cell) in cells.enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&csv_field(&cell));
            }
            out.push('\n');
        };
        line(&mut self.columns.iter().cloned());
        for row in &self.rows {
            line(&mut row.iter().map(Cell::text));
        }
        out
    }

    /// As a list of objects, one per row.
    pub fn json_rows(&self) -> serde_json::Value {
        let object = |row: &Vec<Cell>| {
            let fields = self.columns.iter().cloned().zip(row.iter().map(Cell::json));
            serde_json::Value::Object(fields.collect())
        };
        serde_json::Value::Array(self.rows.iter().map(object).collect())
    }
}

/// A field of a CSV file, quoted where it must be.
pub fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_only_what_must_be_quoted() {
        let table = Table {
            columns: vec!["name".into(), "value_s".into()],
            rows: vec![
                vec![Cell::Text("a, \"b\"".into()), Cell::Number(1.23456, 2)],
                vec![Cell::Empty, Cell::Integer(7)],
            ],
            ..Table::default()
        };
        assert_eq!(table.csv(), "name,value_s\n\"a, \"\"b\"\"\",1.23\n,7\n");
    }

    #[test]
    fn json_holds_the_digits_that_are_shown() {
        assert_eq!(Cell::Number(1.0 / 3.0, 3).json().to_string(), "0.333");
        assert_eq!(Cell::number(Some(f64::NAN), 3), Cell::Empty);
    }
}
