//! What is there already: finished shards, those of other runs, and what an interrupted run left.
use crate::{
    layout,
    manifest::Manifest,
    record::{Proof, Record},
};
use fdconvert_core::{Create, Error, Message, Result, Shard, ShardSummary, message, named};
use fdconvert_storage::{
    Claim, SourceStamp, fingerprint_hex, partial_path, refuse_foreign_partial, refuse_link,
};
use std::{fs, io, path::Path};

/// Which files of a shard that are there may be replaced or removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ours {
    /// The shard itself.
    pub(crate) tar: bool,
    /// The index beside it.
    pub(crate) index: bool,
}

/// Refuses to replace a shard, unless asked to, or an interrupted run of the same fingerprint left
/// it without its record, or it is no longer what the record of such a run says; and whatever no
/// record or claim of ours stands for.
pub(crate) fn make_way(
    request: &Create<'_>,
    stem: &str,
    claim: &Claim,
    with_index: bool,
) -> Result<Ours> {
    let Create { out, overwrite, .. } = *request;
    let (tar, record) = (layout::tar_path(out, stem), layout::record_path(out, stem));
    let index = layout::index_path(&tar);
    let exists = |path: &Path, cure: &Message| {
        let what = message!("{} exists; {cure}", path.display());
        Err(Error::usage("output", what))
    };
    let (has_tar, has_record) = (is_there(&tar), is_there(&record));
    let is_free = match Record::proof(&record, request.fingerprint)? {
        Proof::Missing => !has_tar || claim.resumes(),
        Proof::Record(found) => {
            found.is_of(request.fingerprint) && finished(request, with_index)?.is_none()
        }
        Proof::OfThisRun => true,
        Proof::Damaged(error) if !overwrite => {
            let what = message!(
                "{error}; it does not say any more whose shard it is: remove it and {}, or replace \
                 both with {}",
                tar.display(),
                named::OVERWRITE
            );
            return Err(Error::usage("output", what));
        }
        Proof::Damaged(_) => false,
    };
    if !overwrite && !is_free {
        let cure = message!("name another folder or replace it with {}", named::OVERWRITE);
        return exists(&tar, &cure);
    }
    let is_known = has_record || claim.stands_for_leftovers();
    if is_there(&index) && !is_known && !(overwrite && with_index) {
        let cure = "no record says that fdconvert has made it; move it away".into();
        return exists(&index, &cure);
    }
    if !claim.stands_for_leftovers() {
        refuse_foreign_partial(&tar)?;
        refuse_foreign_partial(&index)?;
    }
    Ok(Ours { tar: overwrite || has_record || claim.resumes(), index: is_known || overwrite })
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// A manifest goes when the first shard is replaced: only one of our own may.
pub(crate) fn refuse_other_dataset(request: &Create<'_>) -> Result<()> {
    let Some(manifest) = Manifest::read(request.out)? else { return Ok(()) };
    if request.overwrite || manifest.fingerprint == fingerprint_hex(request.fingerprint) {
        return Ok(());
    }
    let what = message!(
        "{} holds another dataset; name another folder or replace it with {}",
        request.out.display(),
        named::OVERWRITE
    );
    Err(Error::usage("output", what))
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
    Ok(paths.iter().any(|path| is_there(path)))
}

/// Whether a dataset has a shard, be it finished or left by an interrupted run.
///
/// # Errors
/// `Usage` when the split's name cannot be part of a file name.
pub fn has_shard(out: &Path, shard: &Shard) -> Result<bool> {
    let stem = layout::stem(shard)?;
    let paths = [layout::tar_path(out, &stem), layout::record_path(out, &stem)];
    Ok(paths.iter().any(|path| is_there(path)))
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
pub(crate) fn finished(request: &Create<'_>, with_index: bool) -> Result<Option<ShardSummary>> {
    let stem = layout::stem(request.shard)?;
    let path = layout::tar_path(request.out, &stem);
    let record_path = layout::record_path(request.out, &stem);
    let records = request.out.join(layout::RECORDS);
    refuse_link(request.out)?;
    refuse_link(&records)?;
    let record = match Record::proof(&record_path, request.fingerprint)? {
        Proof::Record(record) => record,
        // What cannot be read is no proof; `create` refuses it if it may be of another run.
        Proof::Missing | Proof::OfThisRun | Proof::Damaged(_) => return Ok(None),
    };
    if !record.is_of(request.fingerprint) {
        if request.overwrite {
            return Ok(None);
        }
        let what = message!(
            "{} is of a run with another source or other options; name another folder or replace \
             it with {}",
            path.display(),
            named::OVERWRITE
        );
        return Err(Error::usage("output", what));
    }
    let source = SourceStamp::new(&records, request.fingerprint, request.stamp);
    match source.check() {
        Ok(()) => {}
        // All of it is written again.
        Err(Error::Usage { .. }) if request.overwrite => return Ok(None),
        Err(error) => return Err(error),
    }
    if !record.agrees(&path, with_index)? {
        return Ok(None);
    }
    let Record { samples, bytes, skipped, .. } = record;
    Ok(Some(ShardSummary { path, samples, bytes, skipped }))
}
