//! `segue list`.

use std::fs;
use std::path::Path;

use segue_proto::params::Param;
use segue_proto::tcp::{profile, variant};
use segue_proto::{queue, schemes};
use segue_sim::table::{Cell, Table};
use segue_sim::{loss, reproduce, scenario};
use serde_json::{Map, Value, json};

use crate::args::{Format, Kind, ListArgs};
use crate::error::Refusal;
use crate::{DONE, output, run};

/// Where scenarios are looked for.
const SCENARIOS: &str = "scenarios";

/// One line of a list.
struct Entry {
    name: String,
    summary: String,
    parameters: Option<&'static [Param]>,
}

impl Entry {
    fn new(name: impl Into<String>, summary: impl Into<String>) -> Self {
        Entry { name: name.into(), summary: summary.into(), parameters: None }
    }
}

/// Runs the command.
///
/// # Errors
/// If there is no entry of the given name, or no folder of scenarios.
pub fn list(args: &ListArgs) -> Result<u8, Refusal> {
    let mut entries = entries(args.what)?;
    if let Some(wanted) = &args.name {
        let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        entries.retain(|entry| entry.name == *wanted);
        if entries.is_empty() {
            let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let noun = args.what.names().1;
            return Err(Refusal::new(format!("there is no {noun} \"{wanted}\"; allowed: {allowed}")));
        }
    }
    if entries.is_empty() {
        tell_that_there_is_none(args.what);
    }
    let with_parameters = args.verbose || args.name.is_some();
    match args.format {
        Format::Json => output::print_json(&document(args.what, &entries))?,
        Format::Csv if with_parameters && entries.iter().all(|entry| entry.parameters.is_some()) => {
            output::print(&all_parameters(args.what.names().1, &entries).csv())?;
        }
        Format::Csv => output::print(&summaries(&entries).csv())?,
        Format::Table => output::print(&text(&entries, with_parameters))?,
    }
    Ok(DONE)
}

fn entries(kind: Kind) -> Result<Vec<Entry>, Refusal> {
    let pairs = |table: &[(&str, &str)]| table.iter().map(|(name, what)| Entry::new(*name, *what)).collect();
    Ok(match kind {
        Kind::Schemes => schemes::ALL
            .iter()
            .map(|spec| Entry { parameters: Some(spec.params), ..Entry::new(spec.name, spec.summary) })
            .collect(),
        Kind::Tcp => variant::ALL
            .iter()
            .map(|tcp| Entry::new(tcp.name, format!("{}; {}", tcp.recovery().summary, tcp.cc().summary)))
            .collect(),
        Kind::Profiles => profile::ALL.iter().map(|p| Entry::new(p.name, p.summary)).collect(),
        Kind::Queues => queue::ALL
            .iter()
            .map(|spec| Entry { parameters: Some(spec.params), ..Entry::new(spec.name, spec.summary) })
            .collect(),
        Kind::Losses => pairs(loss::ALL),
        Kind::Scenarios => scenarios()?,
        Kind::Papers => reproduce::paper_keys()
            .into_iter()
            .map(|key| {
                let title = reproduce::paper_title(&key).unwrap_or_default();
                Entry::new(key, title)
            })
            .collect(),
    })
}

/// An empty list is an answer, not an error.
fn tell_that_there_is_none(kind: Kind) {
    if kind == Kind::Scenarios {
        output::note(format_args!("there is no scenario file in ./{SCENARIOS}; segue run takes any file"));
    } else {
        output::note(format_args!("there is no {}", kind.names().1));
    }
}

fn scenarios() -> Result<Vec<Entry>, Refusal> {
    let folder = Path::new(SCENARIOS);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let failed = |error: std::io::Error| Refusal::new(format!("{SCENARIOS}: {error}"));
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".toml") {
            names.push(format!("{SCENARIOS}/{name}"));
        }
    }
    names.sort();
    Ok(names
        .into_iter()
        .map(|name| {
            let summary = match scenario::load(&name, &run::read, &[]) {
                Ok(scenario) => scenario.title,
                Err(refusal) => format!("refused: {refusal}"),
            };
            Entry::new(name, summary)
        })
        .collect())
}

fn summaries(entries: &[Entry]) -> Table {
    let row = |entry: &Entry| vec![Cell::Text(entry.name.clone()), Cell::Text(entry.summary.clone())];
    Table {
        columns: ["name", "summary"].map(str::to_owned).to_vec(),
        rows: entries.iter().map(row).collect(),
        ..Table::default()
    }
}

fn parameter_row(parameter: &Param) -> Vec<Cell> {
    let kind = parameter.kind.to_string();
    [parameter.name, parameter.default, &kind, parameter.doc].map(|text| Cell::Text(text.to_owned())).to_vec()
}

fn parameters(parameters: &[Param]) -> Table {
    Table {
        columns: ["parameter", "default", "allowed", "meaning"].map(str::to_owned).to_vec(),
        rows: parameters.iter().map(parameter_row).collect(),
        ..Table::default()
    }
}

/// The parameters of all entries in one table; `noun` names an entry.
fn all_parameters(noun: &str, entries: &[Entry]) -> Table {
    let rows = entries.iter().flat_map(|entry| {
        let name = Cell::Text(entry.name.clone());
        let own = entry.parameters.unwrap_or_default();
        own.iter().map(move |p| [vec![name.clone()], parameter_row(p)].concat())
    });
    Table {
        columns: [noun, "parameter", "default", "allowed", "meaning"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
        ..Table::default()
    }
}

fn text(entries: &[Entry], with_parameters: bool) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let name_width = entries.iter().map(|entry| entry.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for entry in entries {
        text.push_str(format!("{:name_width$}  {}", entry.name, entry.summary).trim_end());
        text.push('\n');
        if let Some(own) = entry.parameters.filter(|_| with_parameters) {
            text.push('\n');
            text.push_str(&match own {
                [] => "no parameters\n".to_owned(),
                _ => output::wrapped_table(&parameters(own), output::text_width()),
            });
            text.push('\n');
        }
    }
    format!("{}\n", text.trim_end())
}

fn document(kind: Kind, entries: &[Entry]) -> Value {
    let parameter = |p: &Param| json!({ "name": p.name, "default": p.default, "allowed": p.kind.to_string(), "meaning": p.doc });
    let entry = |entry: &Entry| {
        let mut object = json!({ "name": entry.name, "summary": entry.summary });
        if let Some(own) = entry.parameters {
            object["parameters"] = own.iter().map(parameter).collect();
        }
        object
    };
    Value::Object(Map::from_iter([(kind.names().0.to_owned(), entries.iter().map(entry).collect())]))
}

#[cfg(test)]
mod tests {
    use segue_proto::params;

    use super::*;

    #[test]
    fn a_parameter_is_shown_with_its_default_what_is_allowed_and_its_meaning() {
        let wait =
            Param { name: "wait", doc: "Whether it waits.", kind: params::Kind::Bool, default: "true" };
        let own: &'static [Param] = Box::leak(Box::new([wait]));
        let entries = [
            Entry { parameters: Some(own), ..Entry::new("patient", "waits") },
            Entry { parameters: Some(&[]), ..Entry::new("plain", "does not") },
        ];
        let expected = "\
patient  waits

parameter  default  allowed        meaning
----------------------------------------------------
wait       true     true or false  Whether it waits.

plain    does not

no parameters
";
        assert_eq!(text(&entries, true), expected);
        assert_eq!(text(&entries, false), "patient  waits\nplain    does not\n");
    }
}
