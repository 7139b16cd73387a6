//! What the comparisons with ns-2 share: the tables of `validation/ns2`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// One line of a table, by the headings of its columns.
pub type Row = BTreeMap<String, String>;

/// The table called `name`.
pub fn read_csv(name: &str) -> Vec<Row> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../validation/ns2").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut lines = text.lines();
    let heading: Vec<&str> = lines.next().expect("a heading").split(',').collect();
    lines
        .map(|line| heading.iter().map(|h| (*h).to_owned()).zip(line.split(',').map(str::to_owned)).collect())
        .collect()
}
