//! Existing files: finished shards, those of other runs, and leftovers of an interrupted run.
use crate::shards::{
    existing::{
        holds_another, is_of_run, is_shared, name_another, record_of_run, remove_records,
        unreadable,
    },
    manifest,
    record::{Proof, Record as _, proof},
    record_path, versions,
};
use crate::wds::{layout, manifest::Manifest, record::Record};
use fdconvert_core::{Create, Error, Result, Shard, ShardSummary, option};
use fdconvert_storage::{
    Claim, fingerprint_hex, partial_path,
    place::{exists, remove},
    refuse_foreign_partial,
};
use std::path::{Path, PathBuf};

/// The files of a shard that may be replaced or removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ours {
    pub(crate) tar: bool,
    pub(crate) index: bool,
    /// True if other processes of this run may write it, too: see [`is_shared`].
    pub(crate) is_shared: bool,
}

/// Checks that a shard may be written. Existing files may be replaced when the caller asks for it,
/// when an interrupted run of the same fingerprint left them without a record, or when they no
/// longer match the record of such a run. Also refuses an index or partial file that no record or
/// claim of fdconvert accounts for.
pub(crate) fn make_way(
    request: &Create<'_>,
    stem: &str,
    claim: &Claim,
    with_index: bool,
) -> Result<Ours> {
    let Create { out, overwrite, .. } = *request;
    let (tar, record) = (layout::tar_path(out, stem), record_path(out, stem));
    let index = layout::index_path(&tar);
    let (has_tar, has_record) = (exists(&tar)?, exists(&record)?);
    let is_shared = is_shared(request);
    let has_ours = is_shared && has_tar && is_of_run(&tar, request)?;
    let is_free = match proof::<Record>(&record, request.fingerprint)? {
        Proof::Missing => !has_tar || has_ours || claim.resumes(),
        Proof::Record(found) => {
            found.is_of(request.fingerprint)
                && (is_shared || finished(request, with_index)?.is_none())
        }
        Proof::OfThisRun => true,
        Proof::Damaged(error) if !overwrite => {
            let cure = format!("remove it and {}", tar.display());
            return Err(unreadable(&error, &cure).cure("to replace both", option::OVERWRITE.on()));
        }
        Proof::Damaged(_) => false,
    };
    if !overwrite && !is_free {
        return Err(name_another(format!("{} exists", tar.display())));
    }
    let is_known = has_record || claim.stands_for_leftovers();
    let may_go = is_known || overwrite && with_index;
    let is_ours = || Ok(is_shared && is_of_run(&index, request)?);
    if !may_go && exists(&index)? && !is_ours()? {
        let cure = "no record says that fdconvert has made it; move it away";
        return Err(Error::usage("output", format!("{} exists; {cure}", index.display())));
    }
    if !claim.stands_for_leftovers() {
        refuse_foreign_partial(&tar)?;
        refuse_foreign_partial(&index)?;
    }
    // Replace an object of this run, too: its mark does not cover the contents of the source's
    // files.
    let tar = overwrite || has_record || claim.resumes() || has_ours;
    Ok(Ours { tar, index: is_known || overwrite || is_shared, is_shared })
}

/// The manifest is deleted when the first shard is replaced, so it must be one of fdconvert.
pub(crate) fn refuse_other_dataset(request: &Create<'_>) -> Result<()> {
    let Some(manifest) = Manifest::read(request.out)? else { return Ok(()) };
    if request.overwrite || manifest.fingerprint == fingerprint_hex(request.fingerprint) {
        return Ok(());
    }
    holds_another(request.out)
}

/// Returns true if the manifest of a run of that fingerprint exists; refuses that of another run.
pub(crate) fn completed(out: &Path, fingerprint: [u8; 16]) -> Result<bool> {
    match Manifest::read(out)? {
        Some(manifest) if manifest.fingerprint != fingerprint_hex(fingerprint) => {
            holds_another(out)
        }
        found => Ok(found.is_some()),
    }
}

/// See [`Format::withdraw`](fdconvert_core::Format::withdraw).
pub(crate) fn withdraw(out: &Path, shards: &[Shard]) -> Result<()> {
    let records = shards.iter().map(|shard| Ok(record_path(out, &layout::stem(shard)?)));
    remove_records(&records.collect::<Result<Vec<_>>>()?)?;
    remove_manifest(out)
}

/// Removes the sidecars and the combined index that the manifest lists, then the manifest.
pub(crate) fn remove_manifest(out: &Path) -> Result<()> {
    let Some(manifest) = Manifest::read(out)? else { return Ok(()) };
    versions::forget(out)?;
    manifest.sidecars.iter().try_for_each(|file| remove(&out.join(&file.name)))?;
    manifest.combined.iter().try_for_each(|combined| remove(&out.join(&combined.name)))?;
    remove(&out.join(manifest::NAME))
}

fn any_exists(paths: &[PathBuf]) -> Result<bool> {
    for path in paths {
        if exists(path)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if a dataset has any file of a shard, finished or not, or a manifest that would be
/// removed with it.
///
/// # Errors
/// `Usage` when the split's name cannot be part of a file name.
pub(crate) fn has_traces(out: &Path, shard: &Shard) -> Result<bool> {
    let stem = layout::stem(shard)?;
    let record = record_path(out, &stem);
    let unfinished = partial_path(&record);
    let paths = [layout::tar_path(out, &stem), record, unfinished, out.join(manifest::NAME)];
    any_exists(&paths)
}

/// Returns true if a dataset has a shard, finished or left by an interrupted run.
///
/// # Errors
/// `Usage` when the split's name cannot be part of a file name.
pub(crate) fn has_shard(out: &Path, shard: &Shard) -> Result<bool> {
    let stem = layout::stem(shard)?;
    let paths = [layout::tar_path(out, &stem), record_path(out, &stem)];
    any_exists(&paths)
}

/// Removes a shard that its dataset no longer has, with its index and record, and the dataset's
/// manifest with the files that it lists. The caller has checked that this is allowed.
///
/// # Errors
/// `Io`; `Corrupt` or `Version` for a manifest that cannot be read.
pub(crate) fn remove_shard(out: &Path, shard: &Shard) -> Result<()> {
    let stem = layout::stem(shard)?;
    let tar = layout::tar_path(out, &stem);
    remove_manifest(out)?;
    remove(&record_path(out, &stem))?;
    remove(&layout::index_path(&tar))?;
    remove(&tar)
}

/// Returns the shard if its record is of this run: see
/// [`Format::finished`](fdconvert_core::Format::finished).
pub(crate) fn finished(request: &Create<'_>, with_index: bool) -> Result<Option<ShardSummary>> {
    let stem = layout::stem(request.shard)?;
    let path = layout::tar_path(request.out, &stem);
    let Some(record) = record_of_run::<Record>(request, &stem, &path)? else { return Ok(None) };
    let is_whole = match record.samples {
        // All its samples were skipped.
        0 => !exists(&path)?,
        _ => record.agrees(&path, with_index)?,
    };
    if !is_whole {
        return Ok(None);
    }
    let Record { samples, bytes, skipped, .. } = record;
    Ok(Some(ShardSummary { path, samples, bytes, skipped }))
}
