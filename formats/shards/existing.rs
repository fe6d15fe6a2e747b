//! Existing outputs: when they count as finished, may be replaced, or are refused.
use super::{
    RECORDS,
    record::{Proof, Record, is_missing, proof},
    record_path,
};
use fdconvert_core::{Create, Error, Existing, Format, Reader, Result, ShardSummary, option};
use fdconvert_storage::{
    SourceStamp, fingerprint_hex, open_all,
    place::{self, Kind, is_url},
    refuse_link,
    sigbus::caught,
    sync_folder_of,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Refuses what is finished and in the way, with the cures.
pub(crate) fn name_another(what: String) -> Error {
    Error::usage("output", format!("{what}; name another folder"))
        .cure("to replace it", option::OVERWRITE.on())
}

/// Refuses a folder with a dataset of another run.
pub(crate) fn holds_another<T>(out: &Path) -> Result<T> {
    Err(name_another(format!("{} holds another dataset", out.display())))
}

/// Returns the summary of a separate file that this same run has completed, if reading it shows the
/// `run` and no damage. An object has the mark of its run, and is not read.
///
/// # Errors
/// `Usage` if the file is of this run and damaged, `Io`.
pub(crate) fn complete_file<R: Reader>(
    request: &Create<'_>,
    open: impl FnOnce() -> Result<R>,
    run: impl FnOnce(&R) -> Option<String>,
) -> Result<Option<ShardSummary>> {
    let is_marked = place::is_object_of_run(request.out, None, &fingerprint_hex(request.stamp))?;
    if is_marked == Some(false) || !place::is_file(request.out) {
        return Ok(None);
    }
    // Any other file is an obstacle, which its writer reports.
    let Ok(reader) = open() else { return Ok(None) };
    let skipped = reader.provenance().map_or_else(Vec::new, |made| made.skipped.clone());
    let (path, samples) = (request.out.to_owned(), reader.len());
    if is_marked.is_none() {
        let planned = &request.shard.samples;
        let is_of_shard = request.is_open
            || planned.end.saturating_sub(planned.start) == samples + skipped.len() as u64;
        if !is_of_shard || run(&reader) != Some(fingerprint_hex(request.fingerprint)) {
            return Ok(None);
        }
        let damage = reader.verify_layout().into_iter().next();
        let of_sample = |index| caught(|| reader.verify_sample(index)).err();
        if let Some(error) = damage.or_else(|| (0..samples).find_map(of_sample)) {
            let what = "is what this run has written, and it is damaged";
            let what = format!("{} {what}: {}", path.display(), error.chain());
            return Err(Error::usage("output", what).cure("to replace it", option::OVERWRITE.on()));
        }
    }
    let bytes = place::file_len(&path)?.unwrap_or_default();
    Ok(Some(ShardSummary { path, samples, bytes, skipped }))
}

/// Returns true if other processes of this same run may write the same shard: in a store, which has
/// no locks. All of them write the same bytes, so the output of one does not obstruct another, and
/// none removes its description.
pub(crate) fn is_shared(request: &Create<'_>) -> bool {
    is_url(request.out) && !request.overwrite
}

/// Refuses to replace a separate file. An object that another process of the same run (same stamp)
/// wrote is identical.
///
/// # Errors
/// `Usage`, `Io`.
pub(crate) fn refuse_existing(out: &Path, overwrite: bool, stamp: [u8; 16]) -> Result<()> {
    if !overwrite && place::is_foreign(out, stamp)? {
        return Err(Error::exists("output", out));
    }
    Ok(())
}

/// Returns true if a process of this same run wrote an object.
///
/// # Errors
/// `Io`.
pub(crate) fn is_of_run(path: &Path, request: &Create<'_>) -> Result<bool> {
    let fingerprint = fingerprint_hex(request.fingerprint);
    Ok(place::is_object_of_run(path, None, &fingerprint)? == Some(true))
}

/// See [`Format::finished_together`].
pub(crate) fn finished_together(
    format: &dyn Format,
    requests: &[Create<'_>],
) -> Vec<Result<Option<ShardSummary>>> {
    match requests {
        [] => Vec::new(),
        [first, ..] if is_url(first.out) => {
            open_all(first.out, requests, |request| format.finished(request))
        }
        [first, ..] => vec![format.finished(first)],
    }
}

/// Returns the stems of the shards that have records in a folder.
///
/// # Errors
/// `Io`.
pub(crate) fn recorded(folder: &Path) -> Result<Vec<String>> {
    let records = list_if_there(&folder.join(RECORDS))?;
    let names = records.iter().filter_map(|(path, _)| path.file_name()?.to_str());
    Ok(names.filter_map(|name| name.strip_suffix(".json")).map(str::to_owned).collect())
}

/// Lists a folder; empty if it does not exist.
///
/// # Errors
/// `Io`.
pub(crate) fn list_if_there(folder: &Path) -> Result<Vec<(PathBuf, Kind)>> {
    match place::list(folder) {
        Err(error) if is_missing(&error) => Ok(Vec::new()),
        listed => listed,
    }
}

/// Refuses a record that no longer shows its run.
pub(crate) fn unreadable(error: &Error, cure: &str) -> Error {
    Error::usage("output", format!("{error}; it has no readable owner record: {cure}"))
}

/// Returns the state in which a run that overwrites finds its output; its dataset has that
/// manifest.
///
/// # Errors
/// `Io`.
pub(crate) fn existing(request: &Create<'_>, manifest: &Path) -> Result<Existing> {
    if place::exists(manifest)? {
        return Ok(Existing::Complete);
    }
    let records = request.out.join(RECORDS);
    let source = SourceStamp::new(&records, request.fingerprint, request.stamp);
    Ok(if source.is_left()? { Existing::Resumable } else { Existing::Unfinished })
}

/// Removes done-records durably, before anything else is removed. No link is followed.
///
/// # Errors
/// `Usage` for links; `Io`.
pub(crate) fn remove_records(records: &[PathBuf]) -> Result<()> {
    let mut folders = BTreeMap::new();
    for record in records {
        record.parent().map_or(Ok(()), refuse_link)?;
        if place::exists(record)? {
            place::remove(record)?;
            folders.insert(record.parent(), record);
        }
    }
    folders.into_values().try_for_each(|record| sync_folder_of(record))
}

/// Returns the record of a shard that may count for this run: with the same fingerprint, and of an
/// unchanged source. The format compares the shard with it. `shown` is the subject of errors about
/// another run's record.
///
/// # Errors
/// `Usage` when it belongs to another run, unless `overwrite`, and for links; `Io`.
pub(crate) fn record_of_run<R: Record>(
    request: &Create<'_>,
    stem: &str,
    shown: &Path,
) -> Result<Option<R>> {
    let records = request.out.join(RECORDS);
    refuse_link(request.out)?;
    refuse_link(&records)?;
    let record: R = match proof(&record_path(request.out, stem), request.fingerprint)? {
        Proof::Record(record) => record,
        // An unreadable record is no proof; creating the shard refuses it if it may belong to
        // another run.
        Proof::Missing | Proof::OfThisRun | Proof::Damaged(_) => return Ok(None),
    };
    if !record.is_of(request.fingerprint) {
        if request.overwrite {
            return Ok(None);
        }
        let what = "is of a run with another source or other options";
        return Err(name_another(format!("{} {what}", shown.display())));
    }
    match SourceStamp::new(&records, request.fingerprint, request.stamp).check() {
        Ok(()) => Ok(Some(record)),
        // Everything is written again.
        Err(Error::Usage { .. }) if request.overwrite => Ok(None),
        Err(error) => Err(error),
    }
}
