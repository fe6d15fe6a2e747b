//! Parquet files in a dataset's folder that are not part of the dataset.
use super::files::{Found, is_hidden, is_named, is_parquet};
use fdconvert_core::Remark;
use fdconvert_storage::place::{self, Kind as PlaceKind};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// Limit of folders to search, and of entries to check in each: classes can have millions of
/// images.
const FOLDERS_MOST: usize = 64;
const LOOKED_AT: usize = 16;
/// Names to list.
const LISTED: usize = 3;

/// Reports the excluded files, so that users do not mistake a part for the whole.
pub(crate) fn remark(folder: &Path, found: &[Found]) -> Option<Remark> {
    let taken: BTreeSet<&Path> = found.iter().map(|file| &*file.path).collect();
    let mut left: BTreeMap<String, u64> = BTreeMap::new();
    let (mut folders, mut n_folders) = (vec![(folder.to_path_buf(), None)], 0);
    while let Some((folder, name)) = folders.pop() {
        n_folders += 1;
        if n_folders > FOLDERS_MOST {
            break;
        }
        // A folder that cannot be listed has no files of the dataset either.
        let Ok(entries) = place::list(&folder) else { continue };
        let is_looked_at = name.is_none() || looks_like_tables(&entries);
        for (path, kind) in entries {
            let own = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if is_hidden(&path) || !is_looked_at {
                continue;
            }
            match kind {
                PlaceKind::Folder => {
                    folders.push((path, Some(name.clone().unwrap_or_else(|| format!("{own}/")))));
                }
                _ if !taken.contains(&*path) && is_table(&path) => {
                    *left.entry(name.clone().unwrap_or(own)).or_default() += 1;
                }
                _ => {}
            }
        }
    }
    if left.is_empty() {
        return None;
    }
    let n_left: u64 = left.values().sum();
    let names: Vec<&str> = left.keys().take(LISTED).map(String::as_str).collect();
    let what = format!(
        "{n_left} more Parquet {} in `{}`{} not read: a dataset is the files of one folder, or of \
         its folders `data`, `train`, `test`, `column=value`; give others as separate sources",
        if n_left == 1 { "file" } else { "files" },
        names.join("`, `"),
        match (left.len() > LISTED, n_left) {
            (true, _) => ", ... are",
            (false, 1) => " is",
            (false, _) => " are",
        }
    );
    Some(what.into())
}

fn looks_like_tables(entries: &[(PathBuf, PlaceKind)]) -> bool {
    let seen = entries.iter().filter(|(path, _)| !is_hidden(path)).take(LOOKED_AT);
    seen.clone().any(|(path, kind)| *kind == PlaceKind::Folder || may_be_table(path))
}

/// Returns true if a file is one by its name, or may be one by its content.
fn may_be_table(path: &Path) -> bool {
    is_named(path) || path.extension().is_none()
}

/// In a store, checking the content of each file would cost too many requests.
fn is_table(path: &Path) -> bool {
    is_named(path) || (path.extension().is_none() && !place::is_url(path) && is_parquet(path))
}
