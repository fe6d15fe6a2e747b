//! What is there already: finished shards, those of other runs, and what an interrupted run left.
use crate::{
    layout,
    manifest::Manifest,
    record::{Record, hex},
};
use fdconvert_core::{Create, Error, Result, Shard, ShardSummary};
use fdconvert_storage::partial_path;
use std::{fs, io, path::Path};

/// Refuses to replace a shard, unless asked to, or an interrupted run of the same fingerprint left
/// it without its record, or it is no longer what the record of such a run says.
pub(crate) fn make_way(request: &Create<'_>, stem: &str, resumed: bool) -> Result<()> {
    let Create { out, overwrite, .. } = *request;
    let (tar, record) = (layout::tar_path(out, stem), layout::record_path(out, stem));
    let (has_tar, has_record) = (tar.exists(), record.exists());
    let is_free = if has_record {
        finished(request)?.is_none() && ours(request, &record)
    } else {
        !has_tar || resumed
    };
    if !overwrite && !is_free {
        let what =
            format!("{} exists; name another folder or replace it with --overwrite", tar.display());
        return Err(Error::usage("output", what));
    }
    if has_tar && resumed && !has_record {
        remove(&layout::index_path(&tar))?;
        remove(&tar)?;
    }
    Ok(())
}

/// A manifest goes when the first shard is replaced: only one of our own may.
pub(crate) fn refuse_other_dataset(request: &Create<'_>) -> Result<()> {
    let Some(manifest) = Manifest::read(request.out)? else { return Ok(()) };
    if request.overwrite || manifest.fingerprint == hex(request.fingerprint) {
        return Ok(());
    }
    let what = format!(
        "{} holds another dataset; name another folder or replace it with --overwrite",
        request.out.display()
    );
    Err(Error::usage("output", what))
}

/// Whether a record is readable and of the same run.
fn ours(request: &Create<'_>, record: &Path) -> bool {
    let found = Record::read(record).ok().flatten();
    found.is_some_and(|found| found.fingerprint == hex(request.fingerprint))
}

/// The manifest, and first the sidecars that it lists.
pub(crate) fn remove_manifest(out: &Path) -> Result<()> {
    let Some(manifest) = Manifest::read(out)? else { return Ok(()) };
    manifest.sidecars.iter().try_for_each(|file| remove(&out.join(&file.name)))?;
    remove(&out.join(layout::MANIFEST))
}

/// Whether a dataset has anything of a shard, finished or not, or a manifest that would go with it.
///
/// # Errors
/// `Usage` when the split's name cannot be part of a file name.
pub fn has_traces(out: &Path, shard: &Shard) -> Result<bool> {
    let stem = layout::stem(shard)?;
    let record = layout::record_path(out, &stem);
    let unfinished = partial_path(&record);
    let paths = [layout::tar_path(out, &stem), record, unfinished, out.join(layout::MANIFEST)];
    Ok(paths.iter().any(|path| path.exists()))
}

/// Whether a dataset has a shard, be it finished or left by an interrupted run.
///
/// # Errors
/// `Usage` when the split's name cannot be part of a file name.
pub fn has_shard(out: &Path, shard: &Shard) -> Result<bool> {
    let stem = layout::stem(shard)?;
    let paths = [layout::tar_path(out, &stem), layout::record_path(out, &stem)];
    Ok(paths.iter().any(|path| path.exists()))
}

/// Removes a shard that its dataset no longer has, with its index and record, and the dataset's
/// manifest with the files that it lists. Whether that is allowed was asked before.
///
/// # Errors
/// `Io`; `Corrupt` or `Version` for a manifest that cannot be read.
pub fn remove_shard(out: &Path, shard: &Shard) -> Result<()> {
    let stem = layout::stem(shard)?;
    let tar = layout::tar_path(out, &stem);
    remove_manifest(out)?;
    remove(&layout::record_path(out, &stem))?;
    remove(&layout::index_path(&tar))?;
    remove(&tar)
}

/// Removes a file, if it is there.
///
/// # Errors
/// `Io`.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(cause))
        }
        _ => Ok(()),
    }
}

/// The shard, if its record says so: see [`Format::finished`](fdconvert_core::Format::finished).
pub(crate) fn finished(request: &Create<'_>) -> Result<Option<ShardSummary>> {
    let stem = layout::stem(request.shard)?;
    let path = layout::tar_path(request.out, &stem);
    let record_path = layout::record_path(request.out, &stem);
    let record = match Record::read(&record_path) {
        Ok(Some(record)) => record,
        Ok(None) => return Ok(None),
        // What cannot be read is no proof; `create` refuses it.
        Err(Error::Corrupt { .. } | Error::Version { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    if record.fingerprint != hex(request.fingerprint) {
        if request.overwrite {
            return Ok(None);
        }
        let what = format!(
            "{} is of a run with another source or other options; name another folder or replace \
             it with --overwrite",
            path.display()
        );
        return Err(Error::usage("output", what));
    }
    let bytes = match fs::metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(Error::io("look at", &path)(cause)),
    };
    if bytes != record.bytes {
        return Ok(None);
    }
    let Record { samples, skipped, .. } = record;
    Ok(Some(ShardSummary { path, samples, bytes, skipped }))
}
