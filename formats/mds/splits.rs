//! Finds the splits of a dataset.
use crate::mds::{MdsReader, layout::INDEX, open::with_index, shard::ShardFile};
use fdconvert_core::{
    Error, Remark, Remarks, Result, Shard, Source as _, Splits, packed_splits, split_of_folder,
};
use fdconvert_storage::place;
use std::{
    collections::BTreeSet,
    io::ErrorKind,
    path::{Component, Path, PathBuf},
};

/// The splits of the manifest; without one, the folders of the shards, if all have names of splits.
pub(crate) fn of(reader: &MdsReader) -> Splits {
    let lens = reader.shards.iter().map(|shard| shard.entry.samples);
    match &reader.manifest {
        Some(manifest) => {
            packed_splits(manifest.shards.iter().map(|shard| shard.split.as_str()).zip(lens))
        }
        None => {
            let named = reader.shards.iter().map(|shard| match folder(&reader.path, shard) {
                None => Some(Shard::DEFAULT_SPLIT.to_owned()),
                Some(folder) => split_of_folder(&folder).map(|_| folder.to_ascii_lowercase()),
            });
            let named: Option<Vec<String>> = named.collect();
            let named = named.unwrap_or_default();
            packed_splits(named.iter().map(String::as_str).zip(lens))
        }
    }
}

/// Warns about folders that are not used as splits, or not read at all.
pub(crate) fn remarks(reader: &MdsReader, unread: &BTreeSet<String>) -> Remarks {
    let mut remarks: Vec<Remark> = Vec::new();
    let join = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    if !unread.is_empty() {
        let remark = format!(
            "{} names no shard in its folders {}, which have their own {INDEX}: they are not read",
            reader.path.join(INDEX).display(),
            join(unread)
        );
        remarks.push(remark.into());
    }
    let folders = reader.shards.iter().filter_map(|shard| folder(&reader.path, shard));
    let folders: BTreeSet<String> = folders.collect();
    if folders.len() > 1 && reader.manifest.is_none() && reader.splits().is_empty() {
        let remark = format!(
            "the folders {} of {} are not called as splits are (train, val, test): all are taken \
             as one",
            join(&folders),
            reader.name()
        );
        remarks.push(remark.into());
    }
    remarks.into_iter().collect()
}

/// The shard's folder below the dataset; `None` for a shard directly in the dataset.
fn folder(root: &Path, shard: &ShardFile) -> Option<String> {
    let path = shard.path();
    let mut parts = path.strip_prefix(root).ok()?.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(folder)), Some(_)) => Some(folder.to_string_lossy().into_owned()),
        _ => None,
    }
}

/// Folders with an unused index, because the dataset's own index lists only `shards`.
pub(crate) fn unread(root: &Path, shards: &[ShardFile]) -> Result<BTreeSet<String>> {
    if !place::is_file(&root.join(INDEX)) {
        return Ok(BTreeSet::new());
    }
    let read: BTreeSet<String> = shards.iter().filter_map(|shard| folder(root, shard)).collect();
    let mut folders = match place::list_folders(root) {
        Ok(folders) => folders,
        // A web server cannot list its files.
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::Unsupported => {
            return Ok(BTreeSet::new());
        }
        Err(error) => return Err(error),
    };
    let name =
        |folder: &PathBuf| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    folders.retain(|folder| !read.contains(&name(folder)));
    Ok(with_index(root, folders).iter().map(name).collect())
}
