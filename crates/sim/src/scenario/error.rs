//! How a scenario is refused: where, what was found, what is allowed.

use std::borrow::Cow;
use std::fmt;

/// Why a scenario was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The file, or `--set`.
    pub file: String,
    /// Line in it, from 1, if known.
    pub line: Option<usize>,
    /// Key, such as `links[0].rate`; empty for the file as a whole.
    pub key: String,
    /// What was found and what is allowed.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// What serde says of `key`, in the words of all other refusals: what was found and what is allowed.
pub(super) fn from_serde(key: &str, message: &str) -> String {
    let plain = message.replace('`', "");
    let (problem, expected) = plain.split_once(", expected ").unwrap_or((&plain, ""));
    let allowed = expected.strip_prefix("one of ").unwrap_or(expected);
    if plain.starts_with("unknown field ") {
        let allowed = if allowed.is_empty() { "none".into() } else { allowed.replace(" or ", ", ") };
        return format!("there is no such key; allowed: {allowed}");
    }
    if let Some(word) = problem.strip_prefix("unknown variant ") {
        return format!("there is no \"{word}\"; allowed: {}", allowed.replace(" or ", ", "));
    }
    if let Some(key) = plain.strip_prefix("missing field ") {
        return format!("the key \"{key}\" is missing");
    }
    if let Some(count) = problem.strip_prefix("invalid length ") {
        return format!("found {count} in the list; allowed: {}", list_of(key));
    }
    let found = problem.strip_prefix("invalid type: ").or_else(|| problem.strip_prefix("invalid value: "));
    let Some(found) = found else { return message.to_owned() };
    let words = ["integer ", "floating point ", "boolean ", "string "];
    let found = words.iter().find_map(|word| found.strip_prefix(word)).unwrap_or(found);
    let found = match found {
        "map" => "a table",
        "sequence" => "a list",
        other => other,
    };
    let allowed: Cow<'_, str> = match allowed {
        "u16" => format!("a whole number from 0 to {}", u16::MAX).into(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX).into(),
        "u64" => "a whole number from 0 up".into(),
        "f64" => "a number".into(),
        "a boolean" => "true or false".into(),
        "a string" => "text in quotes".into(),
        "a sequence" => "a list".into(),
        array if array.starts_with("an array of") || array.starts_with("a tuple of") => {
            format!("a list of {}", list_of(key)).into()
        }
        other if other.starts_with("struct ") || other == "a map" => "a table".into(),
        other => other.into(),
    };
    format!("found {found}; allowed: {allowed}")
}

/// What the list of fixed length at `key` holds.
fn list_of(key: &str) -> &'static str {
    let is_waypoint = key.ends_with(']');
    match key.rsplit('.').next() {
        Some("between" | "link") => "two nodes",
        Some("area") => "four numbers",
        _ if is_waypoint => "a time and two numbers, such as \"10 s\", 100, 0",
        _ => "two numbers",
    }
}
