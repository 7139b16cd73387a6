//! Help, version, completions, and words that are not understood.

use std::io;

use crate::Sandbox;

#[test]
fn every_command_has_a_full_help() {
    for command in ["run", "compare", "reproduce", "list", "completions"] {
        let outcome = Sandbox::empty().segue(&[command, "--help"]);
        insta::assert_snapshot!(format!("help_{command}"), outcome);
        for section in ["EXAMPLES", "EXIT CODES"] {
            assert!(outcome.stdout.contains(section), "{command}: {section}");
        }
    }
}

#[test]
fn the_command_itself_has_a_short_and_a_full_help() {
    insta::assert_snapshot!("help", Sandbox::empty().segue(&["--help"]));
    insta::assert_snapshot!("help_short", Sandbox::empty().segue(&["-h"]));
}

#[test]
fn no_words_at_all_give_the_short_help_as_a_refusal() {
    let outcome = Sandbox::empty().segue(&[]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
    assert_eq!(outcome.stderr, Sandbox::empty().segue(&["-h"]).stdout);
}

#[test]
fn the_version_is_one_line() {
    assert_eq!(Sandbox::empty().segue(&["--version"]).data(), "segue [VERSION]\n");
}

#[test]
fn there_are_completions_for_the_usual_shells() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = Sandbox::empty().segue(&["completions", shell]).data();
        assert!(script.contains("segue") && script.contains("reproduce"), "{shell}");
    }
}

#[test]
fn words_that_are_not_understood_are_refused() {
    let refusals: Vec<String> =
        [&["rum"][..], &["list", "papes"], &["run"], &["run", "a.toml", "--scheme", "ilc"]]
            .iter()
            .map(|words| format!("$ segue {}\n{}", words.join(" "), Sandbox::empty().segue(words)))
            .collect();
    insta::assert_snapshot!("words_not_understood", refusals.join("\n"));
}

#[test]
fn a_reader_that_has_seen_enough_is_not_an_error() {
    for words in [
        &["list", "schemes"][..],
        &["list", "tcp", "--format", "json"],
        &["--help"],
        &["completions", "bash"],
    ] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let outcome = Sandbox::empty().command(words).stdout(writer).output().unwrap();
        assert_eq!((outcome.status.code(), outcome.stderr.as_slice()), (Some(0), &b""[..]), "{words:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let outcome = Sandbox::empty().command(&["list", "schemes"]).stdout(full).output().unwrap();
    assert_eq!(outcome.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&outcome.stderr).starts_with("segue: standard output: "));
}
