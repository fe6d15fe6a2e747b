//! The log of a dataset: what made each version, and when. The only file with times.
use super::{KEPT, STAGE, kept};
use crate::shards::RECORDS;
use fdconvert_core::{Error, LogEntry, Result};
use fdconvert_storage::{place, read_if_there, replace};
use std::path::Path;

const NAME: &str = "log.json";
const MAX_BYTES: u64 = 1 << 28;

/// Returns the entries, oldest first; empty for a dataset that was never edited.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(crate) fn read(out: &Path) -> Result<Vec<LogEntry>> {
    let path = out.join(RECORDS).join(NAME);
    let Some(text) = read_if_there(&path, MAX_BYTES)? else { return Ok(Vec::new()) };
    serde_json::from_slice(&text)
        .map_err(|cause| Error::corrupt("log", &path, 0, cause.to_string()))
}

/// Adds the entry of a version, and those before it that the log lacks, unless it is there.
pub(super) fn add(out: &Path, entries: &[LogEntry]) -> Result<()> {
    let mut all = match read(out) {
        // Damage to the log must not keep a version from being completed.
        Err(Error::Corrupt { .. }) => Vec::new(),
        all => all?,
    };
    let last = all.last().map_or(0, |entry| entry.version);
    let n_known = all.len();
    all.extend(entries.iter().filter(|entry| entry.version > last).cloned());
    if all.len() == n_known {
        return Ok(());
    }
    // Numbers and strings cannot fail.
    let mut text = serde_json::to_vec_pretty(&all).unwrap_or_default();
    text.push(b'\n');
    replace(&out.join(RECORDS).join(NAME), &text)
}

/// Removes the versions before `oldest`.
pub(super) fn drop_before(out: &Path, oldest: u64) -> Result<()> {
    let folders = match place::list(&out.join(RECORDS).join(KEPT)) {
        Err(error) if crate::shards::record::is_missing(&error) => return Ok(()),
        folders => folders?,
    };
    for (folder, _) in folders {
        let number = folder.file_name().and_then(|name| name.to_str());
        let Some(number) = number.and_then(|name| name.parse::<u64>().ok()) else { continue };
        if number < oldest && kept(out, number) == folder {
            remove_all(&folder)?;
        }
    }
    remove_folder(&out.join(RECORDS).join(KEPT));
    Ok(())
}

/// Removes all versions, the log and the stages of a dataset that is packed again.
///
/// # Errors
/// `Io`.
pub(crate) fn forget(out: &Path) -> Result<()> {
    let records = out.join(RECORDS);
    drop_before(out, u64::MAX)?;
    for (path, _) in crate::shards::existing::list_if_there(&records)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(STAGE) {
            remove_all(&path)?;
        }
    }
    place::remove(&records.join(NAME))
}

/// Removes the files of a folder that only edits write to, and the folder.
pub(super) fn remove_all(folder: &Path) -> Result<()> {
    for name in place::files_below(folder)? {
        place::remove(&folder.join(name))?;
    }
    remove_folder(folder);
    Ok(())
}

/// Removes a folder with the folders in it, if they are empty.
pub(super) fn remove_folder(folder: &Path) {
    if place::is_url(folder) {
        return;
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_folder(&entry.path());
        }
    }
    // Only empty folders can be removed.
    let _ = std::fs::remove_dir(folder);
}
