//! Giving the files of a finished shard their names in the dataset.
use crate::{
    Claim, Scratch, folders::make_folder, partial_path, read_file, record::is_of_run, stamp,
    sync_folder_of,
};
use fdconvert_core::{Error, Result, message, named};
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

/// The folder of records and times.
const RECORDS: &str = ".fdconvert";
const MAX_RECORD_BYTES: u64 = 1 << 30;

/// Renames the files of a finished shard from a worker's place `from`, where they form a dataset of
/// their own, into the dataset `to`: the files themselves, then their records, those of the
/// dataset itself last. Each is complete and synced already. `is_begun` tells whether files of this
/// very shard may be there from a worker before; `begin` is called before the first of them is.
///
/// A worker whose place was taken away fails at the next file, with `Io` and `NotFound`.
///
/// # Errors
/// `Usage` when a file of another run is in the way, or the source was written to since the dataset
/// was begun; `Io`.
pub(super) fn publish(
    from: &Path,
    to: &Path,
    fingerprint: [u8; 16],
    is_begun: bool,
    begin: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let mut files = Vec::new();
    collect(from, Path::new(""), &mut files)?;
    let is_of_records = |file: &&PathBuf| file.parent().is_some_and(|it| it.ends_with(RECORDS));
    let (own, data): (Vec<_>, Vec<_>) = files.iter().partition(is_of_records);
    let (stamps, mut records): (Vec<_>, Vec<_>) =
        own.into_iter().partition(|file| file.file_name() == Some(OsStr::new(stamp::NAME)));
    // Deeper ones first: the record of the dataset says that all others are there.
    records.sort_by_key(|file| std::cmp::Reverse(file.components().count()));

    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.parent()).collect();
    let of_records: BTreeSet<&Path> = folders
        .iter()
        .copied()
        .filter(|it| it.ends_with(RECORDS))
        .filter_map(Path::parent)
        .collect();
    let mut claims = Vec::new();
    for folder in of_records {
        let (of_folder, records) =
            (in_folder(&data, folder), in_folder(&records, &folder.join(RECORDS)));
        let claimed = claims_of(&records, &of_folder, to, fingerprint, &mut claims)?;
        if !is_begun && !claimed {
            refuse_others(&of_folder, to)?;
        }
    }
    begin()?;
    for folder in &folders {
        folder
            .ancestors()
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .try_for_each(|folder| make_folder(&to.join(folder)).map(drop))?;
    }
    for file in stamps {
        stamp::hand_over(&from.join(file), &to.join(file), fingerprint)?;
    }
    for files in [&data, &records] {
        for file in files.iter() {
            let target = to.join(file);
            fs::rename(from.join(file), &target).map_err(Error::io("rename into place", target))?;
        }
        let folders: BTreeSet<PathBuf> = files.iter().map(|file| to.join(file)).collect();
        folders.iter().try_for_each(|file| sync_folder_of(file))?;
    }
    claims.into_iter().for_each(Claim::remove);
    Ok(())
}

/// Opens the claims that an interrupted run without leases has left of a shard, and removes its
/// unfinished files; the result tells whether a claim or record stands for what is there.
fn claims_of(
    records: &[&PathBuf],
    data: &[&PathBuf],
    to: &Path,
    fingerprint: [u8; 16],
    claims: &mut Vec<Claim>,
) -> Result<bool> {
    let mut stands = false;
    for record in records.iter().map(|file| to.join(file)) {
        if is_there(&partial_path(&record)) {
            let claim = Claim::open(&record, fingerprint, false)?;
            if claim.stands_for_leftovers() {
                for file in data {
                    drop(Scratch::start(&partial_path(&to.join(file)), true)?);
                }
            }
            stands |= claim.resumes();
            claims.push(claim);
        }
        stands |= match read_file(&record, MAX_RECORD_BYTES) {
            Ok(text) => is_of_run(&text, fingerprint),
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
    }
    Ok(stands)
}

fn refuse_others(files: &[&PathBuf], to: &Path) -> Result<()> {
    match files.iter().map(|file| to.join(file)).find(|file| is_there(file)) {
        None => Ok(()),
        Some(file) => {
            let what = message!(
                "{} exists and has no record of this run; move it away or name another folder",
                file.display()
            );
            Err(Error::usage(named::OUTPUT, what))
        }
    }
}

fn in_folder<'a>(files: &[&'a PathBuf], folder: &Path) -> Vec<&'a PathBuf> {
    files.iter().copied().filter(|file| file.parent() == Some(folder)).collect()
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// All files below a folder, by their paths within it, sorted.
fn collect(root: &Path, below: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let folder = root.join(below);
    let entries = fs::read_dir(&folder).map_err(Error::io("list", &folder))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::io("list", &folder))?;
        let kind = entry.file_type().map_err(Error::io("look at", entry.path()))?;
        found.push((below.join(entry.file_name()), kind.is_dir()));
    }
    found.sort();
    for (path, is_folder) in found {
        if is_folder {
            collect(root, &path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
