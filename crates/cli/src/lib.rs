//! The command `segue`: parses, calls, prints. What is simulated and judged lives in `segue-sim`.
//!
//! * [`args`]: the words of the command line and their help.
//! * [`run`](mod@run), [`compare`], [`reproduce`], [`list`]: one module per command.
//! * [`output`]: tables, JSON and CSV on standard output, notes and refusals on standard error.
//! * [`report`]: the HTML pages of `--report`.
//! * [`files`]: results appear under their final name only when they are complete.

pub mod args;
pub mod compare;
pub mod error;
pub mod files;
pub mod list;
pub mod output;
pub mod report;
pub mod reproduce;
pub mod run;

use std::ffi::OsString;

use clap::{CommandFactory, Parser};

use args::{Args, Command};
use error::Refusal;

/// The command did what was asked.
pub const DONE: u8 = 0;
/// A criterion of a paper failed.
pub const CRITERION_FAILED: u8 = 1;
/// The input was refused, or a file could not be written.
pub const BAD_INPUT: u8 = 2;

/// Runs the command with `words`, the first of which is its own name, and gives its exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> u8 {
    let args = match Args::try_parse_from(words) {
        Ok(args) => args,
        Err(refusal) => {
            // Help and version are not refusals; clap sends them to stdout. A closed pipe is no concern of ours.
            let _ = refusal.print();
            return u8::try_from(refusal.exit_code()).unwrap_or(BAD_INPUT);
        }
    };
    dispatch(&args.command).unwrap_or_else(|refusal| {
        output::refuse(&refusal);
        BAD_INPUT
    })
}

fn dispatch(command: &Command) -> Result<u8, Refusal> {
    match command {
        Command::Run(args) => run::run(args),
        Command::Compare(args) => compare::compare(args),
        Command::Reproduce(args) => reproduce::reproduce(args),
        Command::List(args) => list::list(args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Args::command(), "segue", &mut script);
            output::print(&String::from_utf8_lossy(&script))?;
            Ok(DONE)
        }
    }
}
