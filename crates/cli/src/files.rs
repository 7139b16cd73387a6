//! Results appear under their final name only when they are complete: they are written beside it and renamed.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::Refusal;

/// A file of a run's folder: its name.
pub const FLOWS: &str = "flows.csv";
/// See [`FLOWS`].
pub const DATAGRAMS: &str = "datagrams.csv";
/// See [`FLOWS`].
pub const LINKS: &str = "links.csv";
/// See [`FLOWS`].
pub const STATIONS: &str = "stations.csv";
/// Roaming hosts and agents.
pub const MOBILITY: &str = "mobility.csv";
/// See [`FLOWS`].
pub const EVENTS: &str = "events.csv";
/// See [`FLOWS`].
pub const RUN: &str = "run.json";

/// The page of a report.
pub const INDEX: &str = "index.html";
/// The picture of a run.
pub const TIMELINE: &str = "timeline.svg";

/// All that a run writes, and so all that `--force` may remove.
const OWN_FILES: &[&str] = &[FLOWS, DATAGRAMS, LINKS, STATIONS, MOBILITY, EVENTS, RUN, INDEX, TIMELINE];

/// A folder in the making. Dropped before [`publish`](NewFolder::publish), it leaves nothing behind.
#[derive(Debug)]
pub struct NewFolder {
    partial: TempDir,
    target: PathBuf,
}

impl NewFolder {
    /// Begins the folder that will be called `target`. What stands there stays until the new one is complete.
    ///
    /// # Errors
    /// If `target` exists and is not empty, unless `force` is given and it holds nothing but an earlier run; or if its
    /// parent cannot be written.
    pub fn create(target: &Path, force: bool) -> Result<Self, Refusal> {
        check_target(target, force)?;
        // A link to a folder is followed; the folder itself is replaced.
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let parent = match target.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let failed = |error: io::Error| Refusal::new(format!("{}: {error}", target.display()));
        fs::create_dir_all(parent).map_err(failed)?;
        let partial = folder_beside(&target, parent).map_err(failed)?;
        Ok(NewFolder { partial, target })
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        self.partial.path()
    }

    /// Writes one of its files.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Refusal> {
        fs::write(self.path().join(name), text).map_err(|error| self.failed(name, &error))
    }

    /// What to say if the file `name` could not be written.
    pub fn failed(&self, name: &str, error: &io::Error) -> Refusal {
        Refusal::new(format!("{}/{name}: {error}", self.target.display()))
    }

    /// Gives the folder its name, in place of what stood there.
    ///
    /// # Errors
    /// If it cannot be renamed; the old folder then stands as before.
    pub fn publish(self) -> Result<(), Refusal> {
        let NewFolder { partial, target } = self;
        let failed = |error: io::Error| Refusal::new(format!("{}: {error}", target.display()));
        if !target.exists() {
            fs::rename(partial.path(), &target).map_err(failed)?;
        } else {
            // The old one moves into a folder of its own beside it, which is removed when the new one is in place.
            let parent = target.parent().unwrap_or(Path::new("."));
            let aside = folder_beside(&target, parent).map_err(failed)?;
            let old = aside.path().join("old");
            fs::rename(&target, &old).map_err(failed)?;
            if let Err(error) = fs::rename(partial.path(), &target) {
                fs::rename(&old, &target).map_err(failed)?;
                return Err(failed(error));
            }
        }
        // Renamed: there is nothing left for it to remove.
        let _ = partial.keep();
        Ok(())
    }
}

/// Writes `text` to `path`, all of it or nothing.
///
/// # Errors
/// If it cannot be written or renamed.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Refusal> {
    let failed = |error: io::Error| Refusal::new(format!("{}: {error}", path.display()));
    let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".segue-partial-");
    #[cfg(unix)]
    builder.permissions(usual_permissions(0o666));
    let mut file = builder.tempfile_in(parent).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Whether one of two folders, which need not exist, is the other or holds it: each is replaced as a whole, so they
/// must stand apart.
pub fn overlap(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(resolved);
    one.starts_with(&other) || other.starts_with(&one)
}

/// `path` without links and dots as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    match known {
        Some((part, canonical)) => canonical.join(path.strip_prefix(part).unwrap_or(Path::new(""))),
        None => path,
    }
}

fn check_target(target: &Path, force: bool) -> Result<(), Refusal> {
    let place = target.display();
    if !target.exists() {
        return Ok(());
    }
    if !target.is_dir() {
        return Err(Refusal::new(format!("{place}: is a file; allowed: the name of a new folder")));
    }
    let holds_here = |folder: PathBuf| std::env::current_dir().is_ok_and(|here| here.starts_with(folder));
    if target.canonicalize().is_ok_and(holds_here) {
        return Err(Refusal::new(format!(
            "{place}: holds the current folder; allowed: the name of a new folder"
        )));
    }
    let failed = |error: io::Error| Refusal::new(format!("{place}: {error}"));
    let mut entries = fs::read_dir(target)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    entries.sort();
    let foreign =
        entries.iter().find(|name| !OWN_FILES.iter().any(|own| OsStr::new(own) == name.as_os_str()));
    match foreign {
        _ if entries.is_empty() => Ok(()),
        Some(name) if force => Err(Refusal::new(format!(
            "{place}: holds \"{}\", which segue did not write; --force replaces only the folder of an earlier run",
            name.to_string_lossy()
        ))),
        _ if force => Ok(()),
        Some(_) => Err(Refusal::new(format!("{place}: is not empty; allowed: a new or an empty folder"))),
        None => {
            Err(Refusal::new(format!("{place}: holds an earlier run; allowed: a new or an empty folder"))
                .with_hint("--force replaces it"))
        }
    }
}

fn folder_beside(target: &Path, parent: &Path) -> io::Result<TempDir> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.partial-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    builder.permissions(usual_permissions(0o777));
    builder.tempdir_in(parent)
}

/// Temporary files are private by default; results are as readable as any other file (the umask applies).
#[cfg(unix)]
fn usual_permissions(mode: u32) -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_that_is_not_published_leaves_nothing_behind() {
        let root = tempfile::tempdir().unwrap();
        let new = NewFolder::create(&root.path().join("out"), false).unwrap();
        fs::write(new.path().join(RUN), "half").unwrap();
        drop(new);
        assert_eq!(names(root.path()), Vec::<String>::new());
    }

    #[test]
    fn a_folder_has_its_name_only_when_it_is_complete() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("a/out");
        let new = NewFolder::create(&target, false).unwrap();
        fs::write(new.path().join(RUN), "whole").unwrap();
        assert!(!target.exists());
        new.publish().unwrap();
        assert_eq!(fs::read_to_string(target.join(RUN)).unwrap(), "whole");
        assert_eq!(names(&root.path().join("a")), ["out"]);
    }

    #[test]
    fn force_replaces_an_earlier_run_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("out");
        fs::create_dir(&target).unwrap();
        fs::write(target.join(FLOWS), "old").unwrap();
        assert!(NewFolder::create(&target, false).is_err());
        let new = NewFolder::create(&target, true).unwrap();
        fs::write(new.path().join(RUN), "new").unwrap();
        new.publish().unwrap();
        assert_eq!(names(&target), [RUN]);
        assert_eq!(names(root.path()), ["out"]);

        fs::write(target.join("thesis.tex"), "").unwrap();
        let refusal = NewFolder::create(&target, true).unwrap_err();
        assert!(refusal.message.contains("\"thesis.tex\", which segue did not write"), "{refusal}");
    }

    #[test]
    fn a_folder_overlaps_with_itself_and_with_what_is_in_it() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        assert!(overlap(&at("a"), &at("./a")));
        assert!(overlap(&at("a"), &at("a/b/c")) && overlap(&at("a/b/c"), &at("a")));
        assert!(!overlap(&at("a/b"), &at("a/bc")));
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("report/index.html");
        write_whole(&path, "old").unwrap();
        write_whole(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(&root.path().join("report")), ["index.html"]);
    }
}
