//! The commit of an edit, and what follows it.
use super::{STAGE, TODO, files, kept, log, stage};
use crate::shards::{RECORDS, existing::list_if_there};
use fdconvert_core::{Error, LogEntry, Result};
use fdconvert_storage::{
    SEALED_START, Scratch, make_folder, open_all, partial_path, place, read_if_there, refuse_link,
    replace, sync_folder_of,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// A version that is ready to become the current one.
pub(crate) struct Commit<'a> {
    pub(crate) out: &'a Path,
    /// Name of the manifest.
    pub(crate) name: &'static str,
    /// The current manifest.
    pub(crate) before: &'a [u8],
    /// Number of the current version.
    pub(crate) number: u64,
    /// The new manifest.
    pub(crate) after: &'a [u8],
    pub(crate) fingerprint: &'a str,
    /// Names of files of the current version that the new one does not have.
    pub(crate) removes: Vec<String>,
    pub(crate) keep_versions: u64,
    pub(crate) samples: u64,
    pub(crate) entry: LogEntry,
}

/// What is left to do after the commit.
#[derive(Debug, Serialize, Deserialize)]
struct Todo {
    removes: Vec<String>,
    /// The oldest version that stays.
    oldest: u64,
    log: Vec<LogEntry>,
}

/// Name of the lock, without the ending.
const LOCK: &str = "edit";
/// Longest time to wait for another edit's commit.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

impl Commit<'_> {
    /// Makes it the current version, and returns its entry in the log.
    ///
    /// # Errors
    /// `Usage` if another edit was faster; `Io`: the dataset is then the version before, or after
    /// the commit the new one, which the next edit completes.
    pub(crate) fn run(self) -> Result<LogEntry> {
        let Self { out, name, before, number, after, fingerprint, .. } = self;
        let _lock = lock(out)?;
        let stage = stage(out, fingerprint);
        let path = out.join(name);
        let faster = || -> Result<Error> {
            let found = read_if_there(&path, u64::MAX)?.unwrap_or_default();
            Ok(faster(out, files::version_of(&found)))
        };
        // A store compares in the end.
        let is_away = place::is_url(out);
        if !is_away && read_if_there(&path, u64::MAX)?.is_none_or(|found| found != before) {
            return Err(faster()?);
        }
        make_stage(&stage)?;
        let oldest = (number + 2).saturating_sub(self.keep_versions.max(1));
        let first = packed(before, self.samples, &self.entry);
        let root = root(after);
        let entry = LogEntry { version: number + 1, samples: self.samples, root, ..self.entry };
        let log = if number == 1 { vec![first, entry.clone()] } else { vec![entry.clone()] };
        let todo = Todo { removes: self.removes, oldest, log };
        // Strings and numbers cannot fail.
        let text = serde_json::to_vec_pretty(&todo).unwrap_or_default();
        if !is_away {
            // That of an interrupted run has another time.
            place::remove(&stage.join(TODO))?;
            place::remove(&partial_path(&stage.join(TODO)))?;
        }
        replace(&stage.join(TODO), &text)?;
        let moved = moved(&stage, name)?;
        if oldest <= number {
            set_aside(out, name, before, number, moved.iter().chain(&todo.removes))?;
        }
        if !place::swap(&path, before, after)? {
            return Err(faster()?);
        }
        settle(out, &stage, &moved, &todo)?;
        Ok(entry)
    }
}

/// The entry of a dataset as it was packed, from its manifest and the edit that follows.
fn packed(manifest: &[u8], samples: u64, edit: &LogEntry) -> LogEntry {
    let samples = (samples + edit.removed).saturating_sub(edit.added);
    let command = "pack".to_owned();
    LogEntry {
        version: 1,
        command,
        samples,
        added: samples,
        root: root(manifest),
        ..LogEntry::default()
    }
}

/// Returns the checksum of a manifest.
fn root(manifest: &[u8]) -> String {
    let digits = manifest.get(SEALED_START.len()..).and_then(|rest| rest.get(..32));
    String::from_utf8_lossy(digits.unwrap_or_default()).into_owned()
}

/// Two commits of files follow each other. A store has no locks: it compares the manifests.
fn lock(out: &Path) -> Result<Option<Scratch>> {
    if place::is_url(out) {
        return Ok(None);
    }
    refuse_link(out)?;
    refuse_link(&out.join(RECORDS))?;
    make_folder(&out.join(RECORDS))?;
    let path = partial_path(&out.join(RECORDS).join(LOCK));
    let began = Instant::now();
    loop {
        match Scratch::open(&path) {
            Err(Error::Usage { .. }) if began.elapsed() < PATIENCE => thread::sleep(PAUSE),
            Ok(lock) => {
                lock.own();
                return Ok(Some(lock));
            }
            Err(error) => return Err(error),
        }
    }
}

/// The error of an edit of a version that is not the current one any more: that is `version`.
pub(crate) fn faster(out: &Path, version: u64) -> Error {
    // The log follows the commit.
    let last = log::read(out).ok().and_then(|log| log.last().cloned());
    let who = last.filter(|entry| entry.version == version);
    let who = who.map_or_else(String::new, |entry| format!(", by `{}`", entry.command));
    let what = format!(
        "another edit of {} was faster, and made version {version}{who}; nothing was changed: run the command again, which \
         edits that version",
        out.display()
    );
    Error::usage("dataset", what)
}

/// Refuses to edit shards that another tool has made.
pub(crate) fn without_manifest(out: &Path) -> Error {
    let what = format!(
        "{} has no manifest, and is not a dataset of fdconvert that can be edited: pack it, and \
         edit that",
        out.display()
    );
    Error::usage("dataset", what)
}

/// Writes a file about all shards of the next version to its stage. Packing may write one of the same
/// name there, and must not find half of this one.
pub(crate) fn stage_file(stage: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    make_stage(stage)?;
    make_folders(stage, name)?;
    if place::is_url(stage) {
        return replace(&stage.join(name), bytes);
    }
    let beside = stage.join(format!("{name}.new"));
    replace(&beside, bytes)?;
    place::rename_to(&beside, &stage.join(name)).map(|_| ())
}

/// Creates a stage, and the folders that it is in.
fn make_stage(stage: &Path) -> Result<()> {
    if place::is_url(stage) || place::is_folder(stage) {
        return Ok(());
    }
    stage.parent().map_or(Ok(()), make_stage)?;
    make_folder(stage).map(|_| ())
}

/// Creates the folders of a file below the dataset.
fn make_folders(out: &Path, name: &str) -> Result<()> {
    let mut folder = out.to_path_buf();
    let parts: Vec<&str> = name.split('/').collect();
    for part in parts.iter().take(parts.len() - 1) {
        folder.push(part);
        make_folder(&folder)?;
    }
    Ok(())
}

/// The staged files of the version: all but what only packing needed. Documents for other readers
/// last.
fn moved(stage: &Path, manifest: &str) -> Result<Vec<String>> {
    let mut names = place::files_below(stage)?;
    let stamp = format!("{RECORDS}/source.stamp");
    names.retain(|name| {
        name != manifest && name != TODO && *name != stamp && !name.ends_with(".partial")
    });
    names.sort_by_key(|name| is_document(name));
    Ok(names)
}

/// Returns true for files about all shards.
fn is_document(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    !name.contains(RECORDS) && ["json", "md", "yaml", "csv"].contains(&extension)
}

/// Keeps what the current version would lose.
fn set_aside<'a>(
    out: &Path,
    manifest: &str,
    before: &[u8],
    number: u64,
    names: impl Iterator<Item = &'a String>,
) -> Result<()> {
    let folder = kept(out, number);
    let within = format!("{RECORDS}/versions/{number}/");
    make_folders(out, &within)?;
    for name in names {
        if place::exists(&out.join(name))? {
            make_folders(out, &format!("{within}{name}"))?;
            place::keep_as(&out.join(name), &folder.join(name))?;
        }
    }
    replace(&folder.join(manifest), before)
}

/// Gives the staged files their names, and removes what the version no longer has.
fn settle(out: &Path, stage: &Path, moved: &[String], todo: &Todo) -> Result<()> {
    // Shards before the documents that list them; in a store many at a time.
    let n_shards = moved.partition_point(|name| !is_document(name));
    let (shards, documents) = moved.split_at(n_shards);
    for names in [shards, documents] {
        names.iter().try_for_each(|name| make_folders(out, name))?;
        let rename = |name: &String| place::rename_to(&stage.join(name), &out.join(name));
        open_all(out, names, rename).into_iter().collect::<Result<Vec<_>>>()?;
    }
    let remove = |name: &String| place::remove(&out.join(name));
    open_all(out, &todo.removes, remove).into_iter().collect::<Result<Vec<_>>>()?;
    let mut synced = BTreeSet::new();
    for name in moved.iter().chain(&todo.removes) {
        let file = out.join(name);
        let folder = file.parent().filter(|folder| folder.is_dir()).map(Path::to_path_buf);
        if folder.is_some_and(|folder| synced.insert(folder)) {
            sync_folder_of(&file)?;
        }
    }
    log::add(out, &todo.log)?;
    log::drop_before(out, todo.oldest)?;
    let mut left = place::files_below(stage)?;
    left.retain(|name| name != TODO);
    let remove = |name: &String| place::remove(&stage.join(name));
    open_all(out, &left, remove).into_iter().collect::<Result<Vec<_>>>()?;
    place::remove(&stage.join(TODO))?;
    remove_stage(stage)
}

/// Removes the folder of a stage, which has no file any more. The next command tries again.
fn remove_stage(stage: &Path) -> Result<()> {
    log::remove_folder(stage);
    if place::is_url(stage) || !stage.is_dir() {
        return Ok(());
    }
    std::fs::remove_dir(stage).map_err(Error::io("remove", stage))
}

/// Completes an edit that was interrupted behind its commit; returns true if there was one.
///
/// # Errors
/// `Corrupt` for its description, `Io`.
pub(crate) fn recover(out: &Path, manifest: &'static str) -> Result<bool> {
    let path = out.join(manifest);
    let current = || -> Result<Option<PathBuf>> {
        let text = read_if_there(&path, u64::MAX)?;
        let fingerprint = text.and_then(|text| files::staged_fingerprint(&text));
        let Some(stage) = fingerprint.map(|fingerprint| stage(out, &fingerprint)) else {
            return Ok(None);
        };
        // Its last file, and then its folder.
        let is_left = place::exists(&stage.join(TODO))? || stage.is_dir();
        Ok(is_left.then_some(stage))
    };
    if current()?.is_none() {
        remove_lock(out);
        return Ok(false);
    }
    let _lock = lock(out)?;
    let Some(stage) = current()? else { return Ok(false) };
    if let Some(text) = read_if_there(&stage.join(TODO), u64::MAX)? {
        let todo: Todo = serde_json::from_slice(&text)
            .map_err(|cause| Error::corrupt("edit", stage.join(TODO), 0, cause.to_string()))?;
        settle(out, &stage, &moved(&stage, manifest)?, &todo)?;
    }
    remove_stage(&stage)?;
    Ok(true)
}

/// Removes the lock of a killed process.
fn remove_lock(out: &Path) {
    let path = partial_path(&out.join(RECORDS).join(LOCK));
    if !place::is_url(out)
        && path.exists()
        && let Ok(lock) = Scratch::open(&path)
    {
        lock.own();
    }
}

/// Lists the stages of edits that were given up before their commit, without those of running
/// processes; unless `dry`, removes them.
///
/// # Errors
/// `Io`.
pub(crate) fn remove_stages(out: &Path, manifest: &'static str, dry: bool) -> Result<Vec<PathBuf>> {
    let text = read_if_there(&out.join(manifest), u64::MAX)?;
    let current = text.and_then(|text| files::staged_fingerprint(&text));
    let current = current.map(|fingerprint| stage(out, &fingerprint));
    let mut found = Vec::new();
    for (path, _) in list_if_there(&out.join(RECORDS))? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.starts_with(STAGE) || Some(&path) == current.as_ref() || is_held(&path)? {
            continue;
        }
        if !dry {
            log::remove_all(&path)?;
        }
        found.push(path);
    }
    Ok(found)
}

/// Returns true if a process writes to a stage.
fn is_held(stage: &Path) -> Result<bool> {
    if place::is_url(stage) {
        return Ok(false);
    }
    for name in place::files_below(stage)?.iter().filter(|name| name.ends_with(".partial")) {
        match Scratch::open(&stage.join(name)) {
            Ok(scratch) => scratch.leave(),
            Err(Error::Usage { .. }) => return Ok(true),
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}
