//! What is there already: what counts as finished, what may go, and what is refused.
use super::{
    RECORDS,
    record::{Proof, Record, proof},
    record_path,
};
use fdconvert_core::{Create, Error, Message, Result, message, named};
use fdconvert_storage::{SourceStamp, refuse_link};
use std::{fs, io, path::Path};

/// Returns whether there is anything of that name, be it a link that leads nowhere.
pub(crate) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Removes a file, if it is there.
///
/// # Errors
/// `Io`.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(cause))
        }
        _ => Ok(()),
    }
}

/// The refusal of a file in the way, with the cure.
pub(crate) fn exists<T>(path: &Path, cure: &Message) -> Result<T> {
    Err(Error::usage("output", message!("{} exists; {cure}", path.display())))
}

/// The cure for a finished shard in the way.
pub(crate) fn replace_it() -> Message {
    message!("name another folder or replace it with {}", named::OVERWRITE)
}

/// The refusal of a folder with a dataset of another run.
pub(crate) fn holds_another<T>(out: &Path) -> Result<T> {
    let what = message!("{} holds another dataset; {}", out.display(), replace_it());
    Err(Error::usage("output", what))
}

/// The stems of the shards that records in a folder are about.
///
/// # Errors
/// `Io`.
pub(crate) fn recorded(folder: &Path) -> Result<Vec<String>> {
    let records = folder.join(RECORDS);
    let entries = match fs::read_dir(&records) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(Error::io("list", &records)(cause)),
    };
    let mut stems = Vec::new();
    for entry in entries {
        let name = entry.map_err(Error::io("list", &records))?.file_name();
        stems.extend(name.to_str().and_then(|it| it.strip_suffix(".json")).map(str::to_owned));
    }
    Ok(stems)
}

/// The refusal of a record that does not say any more of which run it is.
pub(crate) fn unreadable<T>(error: &Error, cure: &Message) -> Result<T> {
    let what = message!("{error}; it does not say any more whose shard it is: {cure}");
    Err(Error::usage("output", what))
}

/// The record of a shard that may count for this run: of the same fingerprint, and of a source
/// that was not written to since. Whether the shard is as it says is for the format to compare.
/// `shown` is what a record of another run is said to be about.
///
/// # Errors
/// `Usage` when it is of another run, unless `overwrite`, and for links; `Io`.
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
        // What cannot be read is not proof; creating the shard refuses it if it may be of another
        // run.
        Proof::Missing | Proof::OfThisRun | Proof::Damaged(_) => return Ok(None),
    };
    if !record.is_of(request.fingerprint) {
        if request.overwrite {
            return Ok(None);
        }
        let what = message!(
            "{} is of a run with another source or other options; {}",
            shown.display(),
            replace_it()
        );
        return Err(Error::usage("output", what));
    }
    match SourceStamp::new(&records, request.fingerprint, request.stamp).check() {
        Ok(()) => Ok(Some(record)),
        // All of it is written again.
        Err(Error::Usage { .. }) if request.overwrite => Ok(None),
        Err(error) => Err(error),
    }
}
