//! From text to a checked scenario.
//!
//! A file may build on another one (`extends = "base.toml"`): tables are merged key by key, arrays are replaced.
//! Settings (`--set path=value`) come last. Whatever is refused is traced back to the file and line it came from.

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::check;
use super::error::{self, ScenarioError};
use super::mobility::MovementFiles;
use super::resolve::Resolver;
use super::{Scenario, file};

/// One key of a scenario set from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Such as `links[0].rate` or `scheme.layers`.
    pub path: String,
    /// As one would write it in the file; a word or a quantity needs no quotes.
    pub value: String,
}

impl std::str::FromStr for Setting {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => {
                Ok(Setting { path: path.trim().to_owned(), value: value.trim().to_owned() })
            }
            _ => Err("expected PATH=VALUE, such as links[0].rate=2 Mb/s".to_owned()),
        }
    }
}

/// Gives the text of a file by name.
pub type Reader<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// How deep files may build on one another.
const MAX_EXTENDS: usize = 16;

/// Reads and checks a scenario that has no base file.
///
/// # Errors
/// See [`ScenarioError`].
pub fn load_text(name: &str, text: &str, settings: &[Setting]) -> Result<Scenario, ScenarioError> {
    let reader = |wanted: &str| {
        if wanted == name { Ok(text.to_owned()) } else { Err("no other file can be read here".to_owned()) }
    };
    load(name, &reader, settings)
}

/// Reads and checks the scenario called `name`, with its base files, through `reader`.
///
/// # Errors
/// See [`ScenarioError`].
pub fn load(name: &str, reader: Reader<'_>, settings: &[Setting]) -> Result<Scenario, ScenarioError> {
    let (mut table, mut sources) = read_chain(name, reader)?;
    for setting in settings {
        apply(setting, &mut table)?;
        sources.set_paths.push(segments(&setting.path));
    }
    sources.written.clone_from(&table);
    let file: file::File = serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let key = error.path().to_string();
        let key = if key == "." { String::new() } else { key };
        let message = error::from_serde(&key, error.into_inner().message());
        sources.error(&key, message)
    })?;
    let files = Files { sources: &sources, reader };
    let scenario = Resolver::new(&file, &files).resolve().map_err(|e| sources.error(&e.key, e.message))?;
    check::check(&scenario).map_err(|e| sources.error(&e.key, e.message))?;
    Ok(scenario)
}

/// The movement files of a scenario: beside the file that names them, or beside the scenario if a setting does.
struct Files<'a> {
    sources: &'a Sources,
    reader: Reader<'a>,
}

impl MovementFiles for Files<'_> {
    fn path(&self, key: &str, name: &str) -> String {
        let scenario = &self.sources.files[0].0;
        if self.sources.files.len() == 1 {
            return beside(scenario, name);
        }
        let owner = self.sources.error(key, String::new()).file;
        let is_file = self.sources.files.iter().any(|(file, _)| *file == owner);
        beside(if is_file { &owner } else { scenario }, name)
    }

    fn read(&self, path: &str) -> Result<String, String> {
        (self.reader)(path)
    }
}

/// The path of a file called `name` in the file `from`.
fn beside(from: &str, name: &str) -> String {
    match from.rsplit_once('/') {
        Some((folder, _)) if !name.starts_with('/') => format!("{folder}/{name}"),
        _ => name.to_owned(),
    }
}

/// The files that a scenario is made of, most specific first.
struct Sources {
    files: Vec<(String, String)>,
    set_paths: Vec<Vec<String>>,
    /// All that was written, in files and settings.
    written: Table,
}

impl Sources {
    /// An error at `key`, in the file that gave it.
    fn error(&self, key: &str, message: String) -> ScenarioError {
        let key = self.where_written(key);
        let segments = segments(&key);
        if self.set_paths.iter().any(|path| segments.starts_with(path)) {
            return ScenarioError { file: "--set".to_owned(), line: None, key, message };
        }
        let found = |(name, text): &(String, String)| Some((name.clone(), locate(text, &segments)?));
        let mut best: Option<(String, Located)> = None;
        for (name, located) in self.files.iter().filter_map(found) {
            // A list replaces the one in the base file as a whole: nothing of that is left.
            let is_owner = located.inside_list;
            if best.as_ref().is_none_or(|(_, best)| located.depth > best.depth) {
                best = Some((name, located));
            }
            if is_owner {
                break;
            }
        }
        let (file, line) = match best {
            Some((name, located)) => (name, Some(located.line)),
            None => (self.files[0].0.clone(), None),
        };
        ScenarioError { file, line, key, message }
    }

    /// The last file read builds on something that cannot be built on.
    fn refuse_base(&self, message: String) -> ScenarioError {
        let (file, text) = self.files.last().expect("only a file that was read builds on another");
        let line = locate(text, &segments("extends")).map(|located| located.line);
        ScenarioError { file: file.clone(), line, key: "extends".to_owned(), message }
    }

    /// A constant of a flow's TCP may stand in the flow or in `[tcp]`: the key under which it was written.
    fn where_written(&self, key: &str) -> String {
        let Some((flow, constant)) = key.split_once(".tcp.").filter(|(flow, _)| flow.starts_with("flows["))
        else {
            return key.to_owned();
        };
        let index: Option<usize> = segments(flow).get(1).and_then(|index| index.parse().ok());
        let own = index.and_then(|index| self.written.get("flows")?.get(index)?.get("tcp"));
        let common = self.written.get("tcp");
        let has = |table: Option<&Value>| table.is_some_and(|table| table.get(constant).is_some());
        // What neither says comes from the profile; what clashes with it stands in the flow if the flow has a table.
        let in_flow = has(own) || (!has(common) && own.is_some());
        if in_flow { key.to_owned() } else { format!("tcp.{constant}") }
    }
}

fn read_chain(name: &str, reader: Reader<'_>) -> Result<(Table, Sources), ScenarioError> {
    let mut sources = Sources { files: Vec::new(), set_paths: Vec::new(), written: Table::new() };
    let mut tables = Vec::new();
    let mut next = Some(name.to_owned());
    while let Some(name) = next.take() {
        let refuse =
            |line, key: &str, message| ScenarioError { file: name.clone(), line, key: key.into(), message };
        if sources.files.iter().any(|(seen, _)| *seen == name) {
            let chain: Vec<&str> = sources.files.iter().map(|(seen, _)| seen.as_str()).collect();
            let message = format!(
                "a cycle: {} → {name}; allowed: a file that does not build on this one",
                chain.join(" → ")
            );
            return Err(sources.refuse_base(message));
        }
        if sources.files.len() == MAX_EXTENDS {
            let message = format!(
                "found a {}th file; allowed: up to {MAX_EXTENDS} files that build on one another",
                MAX_EXTENDS + 1
            );
            return Err(sources.refuse_base(message));
        }
        let text = reader(&name).map_err(|e| match sources.files.is_empty() {
            true => refuse(None, "", e),
            false => sources.refuse_base(format!("\"{name}\": {e}")),
        })?;
        let mut table: Table = toml::from_str(&text).map_err(|e| {
            let line = e.span().map(|span| line_of(&text, span.start));
            refuse(line, "", format!("not TOML: {}", e.message().replace('\n', "; ")))
        })?;
        if let Some(base) = table.remove("extends") {
            let Value::String(base) = base else {
                let line = locate(&text, &segments("extends")).map(|located| located.line);
                let message = format!("found {base}; allowed: the name of a file, in quotes");
                return Err(refuse(line, "extends", message));
            };
            next = Some(beside(&name, &base));
        }
        sources.files.push((name, text));
        tables.push(table);
    }
    let mut merged = Table::new();
    for table in tables.into_iter().rev() {
        merge(&mut merged, table);
    }
    Ok((merged, sources))
}

fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// `links[0].rate` and `links.0.rate` alike as `links`, `0`, `rate`.
fn segments(path: &str) -> Vec<String> {
    path.split(['.', '['])
        .map(|part| part.trim_end_matches(']').to_owned())
        .filter(|s| !s.is_empty())
        .collect()
}

fn apply(setting: &Setting, table: &mut Table) -> Result<(), ScenarioError> {
    let refuse = |message: String| ScenarioError {
        file: "--set".to_owned(),
        line: None,
        key: setting.path.clone(),
        message,
    };
    let parsed: Option<Table> = toml::from_str(&format!("value = {}", setting.value)).ok();
    let value = parsed
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(setting.value.clone()));
    let segments = segments(&setting.path);
    let Some((last, parents)) = segments.split_last() else {
        return Err(refuse("an empty path".to_owned()));
    };
    let mut root = Value::Table(std::mem::take(table));
    let mut at = &mut root;
    for (segment, next) in parents.iter().zip(&segments[1..]) {
        at = match at {
            Value::Table(inner) if !inner.contains_key(segment) && next.parse::<usize>().is_ok() => {
                return Err(refuse(format!(
                    "there is no list \"{segment}\" to change; allowed: to set all of it"
                )));
            }
            Value::Table(inner) => inner.entry(segment.clone()).or_insert_with(|| Value::Table(Table::new())),
            Value::Array(items) => {
                let count = items.len();
                let index: Option<usize> = segment.parse().ok();
                index.and_then(|i| items.get_mut(i)).ok_or_else(|| {
                    refuse(format!("no element \"{segment}\"; allowed: 0 to {}", count.saturating_sub(1)))
                })?
            }
            _ => return Err(refuse(format!("nothing lies below \"{segment}\""))),
        };
    }
    match at {
        Value::Table(inner) => {
            inner.insert(last.clone(), value);
        }
        Value::Array(items) => {
            let count = items.len();
            let slot = last.parse().ok().and_then(|i: usize| items.get_mut(i)).ok_or_else(|| {
                refuse(format!("no element \"{last}\"; allowed: 0 to {}", count.saturating_sub(1)))
            })?;
            *slot = value;
        }
        _ => return Err(refuse(format!("\"{last}\" lies below something that is not a table"))),
    }
    if let Value::Table(changed) = root {
        *table = changed;
    }
    Ok(())
}

/// Where a key stands in a file, as far as the file has it.
struct Located {
    /// How many of its segments exist.
    depth: usize,
    /// The line of the last of them.
    line: usize,
    /// Whether an element of a list was passed.
    inside_list: bool,
}

/// Follows `segments` into `text`; `None` if it has not even the first.
fn locate(text: &str, segments: &[String]) -> Option<Located> {
    let document = DeTable::parse(text).ok()?;
    let root = Spanned::new(0..0, DeValue::Table(document.into_inner()));
    let mut located = Located { depth: 0, line: 1, inside_list: false };
    let mut at = &root;
    while located.depth < segments.len() {
        let rest = &segments[located.depth..];
        let (taken, start, next) = match at.get_ref() {
            DeValue::Table(table) => {
                // A name in quotes may hold dots.
                let entry = |n: usize| Some((n, table.get_key_value(rest[..n].join(".").as_str())?));
                let Some((n, (key, value))) = (1..=rest.len()).rev().find_map(entry) else { break };
                (n, key.span().start, value)
            }
            DeValue::Array(items) => {
                let Some(value) = rest[0].parse().ok().and_then(|i: usize| items.get(i)) else { break };
                located.inside_list = true;
                (1, value.span().start, value)
            }
            _ => break,
        };
        located.depth += taken;
        located.line = line_of(text, start);
        at = next;
    }
    (located.depth > 0).then_some(located)
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}
