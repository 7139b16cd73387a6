//! The command `segue`; see [`segue_cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(segue_cli::run(std::env::args_os()))
}
