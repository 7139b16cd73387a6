//! How a scenario is refused: where, what was found, what is allowed.

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
