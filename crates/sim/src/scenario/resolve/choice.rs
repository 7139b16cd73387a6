//! What a scenario names out of a table, with the parameters of the entry: schemes and queue disciplines.

use std::collections::BTreeMap;

use segue_proto::params::{Param, Params};
use segue_proto::{queue, schemes};
use toml::Value;

use super::super::check::CheckError;
use super::super::{QueueChoice, SchemeChoice, file};

/// Packets that may wait if nothing is said.
const DEFAULT_QUEUE: u32 = 50;

pub(super) fn scheme(words: &BTreeMap<String, Value>) -> Result<SchemeChoice, CheckError> {
    if words.is_empty() {
        return Ok(SchemeChoice::default());
    }
    let name = name("scheme", "name", "the name of a scheme", words)?;
    let spec = schemes::Spec::named(name).ok_or_else(|| {
        CheckError::not_one_of("scheme.name", "scheme", name, schemes::ALL.iter().map(|s| s.name))
    })?;
    Ok(SchemeChoice { spec, params: params("scheme", "name", spec.params, words)? })
}

/// The queue that `key` names.
pub(super) fn queue(key: &str, form: Option<&file::Queue>) -> Result<QueueChoice, CheckError> {
    let words = match form {
        None => return Ok(QueueChoice::drop_tail(DEFAULT_QUEUE)),
        Some(file::Queue::Packets(limit)) => return Ok(QueueChoice::drop_tail(*limit)),
        Some(file::Queue::Table(words)) => words,
    };
    let name = name(key, "discipline", "the name of a queue discipline", words)?;
    let spec = queue::Spec::named(name).ok_or_else(|| {
        let names = queue::ALL.iter().map(|spec| spec.name);
        CheckError::not_one_of(&format!("{key}.discipline"), "queue discipline", name, names)
    })?;
    Ok(QueueChoice { spec, params: params(key, "discipline", spec.params, words)? })
}

/// The word at `word` of the table at `key`.
fn name<'a>(
    key: &str,
    word: &str,
    what: &str,
    words: &'a BTreeMap<String, Value>,
) -> Result<&'a str, CheckError> {
    match words.get(word) {
        Some(Value::String(name)) => Ok(name),
        other => {
            let found = other.map_or("nothing".to_owned(), ToString::to_string);
            let message = format!("found {found}; allowed: {what}, in quotes");
            Err(CheckError::new(format!("{key}.{word}"), message))
        }
    }
}

/// The parameters in the table at `key`: all but the word that names the entry.
fn params(
    key: &str,
    word: &str,
    declared: &'static [Param],
    words: &BTreeMap<String, Value>,
) -> Result<Params, CheckError> {
    let mut params = Params::defaults(declared);
    for (name, value) in words.iter().filter(|(name, _)| *name != word) {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        params.set(name, &text).map_err(|e| CheckError::new(format!("{key}.{name}"), e.to_string()))?;
    }
    Ok(params)
}
