//! Why a command ends without doing what was asked.

use std::fmt;

/// A refusal: one message, and what to do about it if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Begins with the place: a file, a key, an option.
    pub message: String,
    /// A command or an option that helps.
    pub hint: Option<String>,
}

impl Refusal {
    /// A refusal without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Refusal { message: message.into(), hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}
