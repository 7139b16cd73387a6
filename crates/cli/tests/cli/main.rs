//! The command as users meet it: words in; exit code, standard output and standard error out.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod compare;
mod help;
mod list;
mod reproduce;
mod run;

use std::fmt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use segue_proto::schemes;
use segue_proto::tcp::variant;
use tempfile::TempDir;

/// A folder with the files of `tests/data`, in which the command runs.
struct Sandbox(TempDir);

impl Sandbox {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"), folder.path());
        Sandbox(folder)
    }

    fn empty() -> Self {
        Sandbox(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// The names in `folder`, sorted.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `segue` with `words`.
    fn segue(&self, words: &[&str]) -> Outcome {
        Outcome::from(self.command(words).output().unwrap())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_segue"));
        command.args(words).current_dir(self.path()).stdin(Stdio::null());
        // What is set in the terminal of whoever runs the tests must not matter.
        command.env_remove("COLUMNS").env_remove("LINES").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// What a command left.
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap().replace(env!("CARGO_PKG_VERSION"), "[VERSION]");
        let stderr = without_tables(text(output.stderr));
        Outcome { code: output.status.code(), stdout: text(output.stdout), stderr }
    }
}

/// Puts one word in place of the names of all schemes, of their parameters and of all TCPs, so that a new one needs no
/// change here.
fn without_tables(text: String) -> String {
    let join = |names: Vec<&str>| names.join(", ");
    let tables = [
        ("[SCHEMES]", join(schemes::ALL.iter().map(|spec| spec.name).collect())),
        ("[TCPS]", join(variant::ALL.iter().map(|tcp| tcp.name).collect())),
    ];
    let parameters = schemes::ALL.iter().filter(|spec| spec.params.len() > 1);
    let parameters =
        parameters.map(|spec| ("[PARAMETERS]", join(spec.params.iter().map(|p| p.name).collect())));
    tables.into_iter().chain(parameters).fold(text, |text, (word, names)| text.replace(&names, word))
}

impl Outcome {
    /// Standard output of a command that succeeded and had nothing else to say.
    fn data(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self.stdout
    }

    fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.data()).unwrap()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        write!(f, "exit code: {code}\n----- stdout -----\n{}", self.stdout)?;
        write!(f, "----- stderr -----\n{}", self.stderr)
    }
}
