//! Parameters of schemes, queues and models, declared once and read by all front ends.
//!
//! A table entry lists its [`Param`]s; the scenario reader, the command line and the reference pages work from
//! that list, so a new parameter is declared in one place.

use std::collections::BTreeMap;
use std::fmt;

use crate::time::Duration;

/// One declared parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The key in a scenario.
    pub name: &'static str,
    /// One sentence: meaning and source.
    pub doc: &'static str,
    /// Type and range.
    pub kind: Kind,
    /// The default, written as a user would write it.
    pub default: &'static str,
}

/// The type and range of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A time such as `"200 ms"` from the first to the second value; up to [`Duration::MAX`] also `"for ever"`.
    Duration(Duration, Duration),
    /// A whole number from the first to the second value.
    Integer(u64, u64),
    /// A decimal number from the first to the second value.
    Number(f64, f64),
    /// `true` or `false`.
    Bool,
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Duration(low, high) if *high == Duration::MAX => {
                write!(f, "a time such as \"200 ms\" from {low} up, or \"for ever\"")
            }
            Kind::Duration(low, high) => write!(f, "a time such as \"200 ms\" from {low} to {high}"),
            Kind::Integer(low, high) if *high == u64::MAX => write!(f, "a whole number from {low} up"),
            Kind::Integer(low, high) => write!(f, "a whole number from {low} to {high}"),
            Kind::Number(low, high) => write!(f, "a number from {low} to {high}"),
            Kind::Bool => f.write_str("true or false"),
            Kind::Choice(words) => {
                f.write_str("one of ")?;
                for (i, word) in words.iter().enumerate() {
                    write!(f, "{}\"{word}\"", if i == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

/// A value of the type its [`Kind`] says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Duration(Duration),
    Integer(u64),
    Number(f64),
    Bool(bool),
    Choice(&'static str),
}

/// Why a parameter was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetParamError {
    /// No parameter has this name.
    #[error("there is no such key; allowed: {allowed}")]
    Unknown {
        /// The names there are.
        allowed: String,
    },
    /// The value has the wrong type or is out of range.
    #[error("found {found}; allowed: {allowed}")]
    Value {
        /// What was given.
        found: String,
        /// What is allowed.
        allowed: String,
    },
}

/// The values of one entry's parameters: the defaults, changed by [`Params::set`].
#[derive(Clone, Debug)]
pub struct Params {
    declared: &'static [Param],
    values: BTreeMap<&'static str, Value>,
}

impl Params {
    /// The defaults of `declared`.
    ///
    /// # Panics
    /// If a declared default does not satisfy its own kind; a test of each table rules that out.
    pub fn defaults(declared: &'static [Param]) -> Self {
        let values = declared
            .iter()
            .map(|p| (p.name, parse(p.kind, p.default).expect("a declared default is of its own kind")))
            .collect();
        Params { declared, values }
    }

    /// Sets `name` from the text a user wrote.
    ///
    /// # Errors
    /// If there is no such parameter, or the text is not of its kind.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), SetParamError> {
        let Some(param) = self.declared.iter().find(|p| p.name == name) else {
            let names: Vec<&str> = self.declared.iter().map(|p| p.name).collect();
            let allowed = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(SetParamError::Unknown { allowed });
        };
        let value = parse(param.kind, text).ok_or_else(|| SetParamError::Value {
            found: format!("\"{text}\""),
            allowed: param.kind.to_string(),
        })?;
        self.values.insert(param.name, value);
        Ok(())
    }

    /// The duration called `name`.
    ///
    /// # Panics
    /// If the entry declares no duration of this name: a mistake in the entry, not of the user. So for all readers.
    pub fn duration(&self, name: &str) -> Duration {
        match self.values.get(name) {
            Some(Value::Duration(v)) => *v,
            other => panic!("parameter {name} is declared as {other:?}, not as a duration"),
        }
    }

    /// The whole number called `name`.
    pub fn integer(&self, name: &str) -> u64 {
        match self.values.get(name) {
            Some(Value::Integer(v)) => *v,
            other => panic!("parameter {name} is declared as {other:?}, not as an integer"),
        }
    }

    /// The number called `name`.
    pub fn number(&self, name: &str) -> f64 {
        match self.values.get(name) {
            Some(Value::Number(v)) => *v,
            other => panic!("parameter {name} is declared as {other:?}, not as a number"),
        }
    }

    /// The truth value called `name`.
    pub fn bool(&self, name: &str) -> bool {
        match self.values.get(name) {
            Some(Value::Bool(v)) => *v,
            other => panic!("parameter {name} is declared as {other:?}, not as a bool"),
        }
    }

    /// The word called `name`.
    pub fn choice(&self, name: &str) -> &'static str {
        match self.values.get(name) {
            Some(Value::Choice(v)) => v,
            other => panic!("parameter {name} is declared as {other:?}, not as a choice"),
        }
    }
}

fn parse(kind: Kind, text: &str) -> Option<Value> {
    match kind {
        Kind::Duration(low, high) => {
            text.parse().ok().filter(|v| (low..=high).contains(v)).map(Value::Duration)
        }
        Kind::Integer(low, high) => {
            text.parse().ok().filter(|v| (low..=high).contains(v)).map(Value::Integer)
        }
        Kind::Number(low, high) => text.parse().ok().filter(|v| (low..=high).contains(v)).map(Value::Number),
        Kind::Bool => text.parse().ok().map(Value::Bool),
        Kind::Choice(words) => words.iter().find(|w| **w == text).map(|w| Value::Choice(w)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[Param] = &[
        Param {
            name: "wait",
            doc: "",
            kind: Kind::Duration(Duration::ZERO, Duration::MAX),
            default: "for ever",
        },
        Param { name: "tries", doc: "", kind: Kind::Integer(1, 9), default: "3" },
        Param { name: "layers", doc: "", kind: Kind::Choice(&["link", "link+ip"]), default: "link+ip" },
    ];

    #[test]
    fn defaults_hold_until_set() {
        let mut params = Params::defaults(DECLARED);
        assert_eq!(params.duration("wait"), Duration::MAX);
        params.set("wait", "2 s").unwrap();
        assert_eq!(params.duration("wait"), Duration::from_secs(2));
        assert_eq!(params.choice("layers"), "link+ip");
    }

    #[test]
    fn a_refusal_names_what_is_allowed() {
        let mut params = Params::defaults(DECLARED);
        let message = |r: Result<(), SetParamError>| r.unwrap_err().to_string();
        assert_eq!(message(params.set("wat", "1")), "there is no such key; allowed: wait, tries, layers");
        assert_eq!(message(params.set("tries", "10")), "found \"10\"; allowed: a whole number from 1 to 9");
        assert_eq!(
            message(params.set("layers", "ip")),
            "found \"ip\"; allowed: one of \"link\", \"link+ip\""
        );
    }
}
