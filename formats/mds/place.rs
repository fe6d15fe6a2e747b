//! Places of a shard's files, and the run that each file belongs to.
use crate::mds::{
    layout::{INDEX, split_folder},
    manifest::is_of,
    record::Record,
    sidecar,
};
use crate::shards::{
    RECORDS, combined,
    existing::{holds_another, is_shared, list_if_there, recorded, remove_records},
    manifest,
    record::{MAX_BYTES, Proof, Record as _, proof},
    record_path, versions,
};
use fdconvert_core::{Create, Error, Result, Shard, option};
use fdconvert_storage::{
    Claim, Folders, SourceStamp, is_of_run, partial_path,
    place::{Kind, exists, file_len, is_foreign, remove},
    read_if_there, refuse_foreign_partial, refuse_link,
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// File names of one shard.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) out: PathBuf,
    pub(crate) folder: PathBuf,
    stem: String,
}

/// State of a shard on disk.
pub(crate) enum Found {
    /// Nothing, or leftovers of an interrupted run of the same fingerprint.
    Nothing,
    /// Finished by this run.
    Finished(Box<Record>),
    /// Something that needs permission to be replaced.
    Foreign(String),
}

impl Place {
    pub(crate) fn new(out: &Path, shard: &Shard) -> Result<Self> {
        let stem = format!("shard.{:05}", shard.number);
        Ok(Self { out: out.to_path_buf(), folder: split_folder(out, &shard.split)?, stem })
    }

    pub(crate) fn raw_name(&self) -> String {
        format!("{}.mds", self.stem)
    }

    pub(crate) fn zip_name(&self) -> String {
        format!("{}.mds.zstd", self.stem)
    }

    /// Name of fdconvert's index block, beside the shard.
    pub(crate) fn index_name(&self) -> String {
        format!("{}.fdx", self.stem)
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.folder.join(self.index_name())
    }

    pub(crate) fn record(&self) -> PathBuf {
        record_path(&self.folder, &self.stem)
    }

    /// The folder of the done-records.
    fn records(&self) -> PathBuf {
        self.out.join(RECORDS)
    }

    fn source(&self, request: &Create<'_>) -> SourceStamp {
        SourceStamp::new(&self.records(), request.fingerprint, request.stamp)
    }

    /// Finds the state for a run that may resume: no links, and a source that has not changed
    /// since.
    pub(crate) fn find(&self, request: &Create<'_>) -> Result<Found> {
        refuse_link(&self.out)?;
        refuse_link(&self.records())?;
        refuse_link(&self.folder)?;
        refuse_link(&self.folder.join(RECORDS))?;
        match self.source(request).check() {
            Ok(()) => self.look(request.fingerprint, true),
            // Everything is written again.
            Err(Error::Usage { .. }) if request.overwrite => Ok(Found::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Finds the state for a run of that fingerprint. With `compare` the shard is compared with its
    /// record byte for byte, and its index with its checksums; otherwise only the lengths are.
    pub(crate) fn look(&self, fingerprint: [u8; 16], compare: bool) -> Result<Found> {
        let path = self.record();
        match proof::<Record>(&path, fingerprint)? {
            Proof::Record(record) if !record.is_of(fingerprint) => {
                return Ok(Found::Foreign(format!(
                    "{} was written by another run",
                    path.display()
                )));
            }
            Proof::Record(record) => {
                // An empty shard: all its samples were skipped.
                let is_empty = record.samples == 0 && !exists(&self.folder.join(&record.file))?;
                let is_whole = is_empty
                    || [self.raw_name(), self.zip_name()].contains(&record.file)
                        && has_len(&self.folder.join(&record.file), Some(record.bytes))?
                        && has_len(&self.index_path(), None)?
                        && (!compare
                            || record.agrees(&self.folder)?
                                && sidecar::is_whole(&self.index_path(), record.fingerprint())?);
                return Ok(if is_whole { Found::Finished(record.into()) } else { Found::Nothing });
            }
            // The start of the damaged record still identifies the run.
            Proof::OfThisRun => return Ok(Found::Nothing),
            Proof::Damaged(error) => {
                let error = match error {
                    Error::Corrupt { what, .. } => what.to_string(),
                    error => error.to_string(),
                };
                return Ok(Found::Foreign(format!(
                    "{} has no readable owner record ({error})",
                    path.display()
                )));
            }
            Proof::Missing => {}
        }
        let claim = read_if_there(&partial_path(&path), MAX_BYTES)?;
        let is_ours = claim.is_some_and(|claim| is_of_run(&claim, fingerprint));
        for name in [self.raw_name(), self.zip_name(), self.index_name()] {
            let path = self.folder.join(name);
            // In a store, another process of this run may have removed the claim.
            if !is_ours && is_foreign(&path, fingerprint)? {
                let what = format!("{} exists without a record of fdconvert", path.display());
                return Ok(Found::Foreign(what));
            }
        }
        Ok(Found::Nothing)
    }

    /// Returns true if the run of that fingerprint has begun this split: with a record of this
    /// shard (perhaps damaged after its start), or with a record of another shard of the split,
    /// because with an unknown number of samples there may be one after the last.
    fn is_of_begun(&self, fingerprint: [u8; 16]) -> Result<bool> {
        for stem in recorded(&self.folder)? {
            match proof::<Record>(&record_path(&self.folder, &stem), fingerprint)? {
                Proof::Record(record) if record.is_of(fingerprint) => return Ok(true),
                Proof::OfThisRun => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Refuses to overwrite files that this run did not make, unless permitted.
    pub(crate) fn check_free(&self, request: &Create<'_>) -> Result<()> {
        if request.overwrite {
            return Ok(());
        }
        let refuse = |what: String| {
            let what = format!("{what}; move it away, or name another folder");
            Err(Error::usage("output", what).cure("to replace it", option::OVERWRITE.on()))
        };
        match self.find(request)? {
            Found::Nothing => {}
            // Another process of this run has finished it since the check.
            Found::Finished(_) if is_shared(request) => {}
            Found::Finished(_) => {
                let what = format!("{} is finished already", self.record().display());
                return refuse(what);
            }
            Found::Foreign(what) => return refuse(what),
        }
        let index = self.folder.join(INDEX);
        let has_manifest = exists(&self.out.join(manifest::NAME))?;
        let is_complete = has_manifest || exists(&index)?;
        // Its indexes were written, but not the manifest.
        let is_begun = !has_manifest && is_complete && self.is_of_begun(request.fingerprint)?;
        // A finished dataset of this run that lost a shard may be repaired.
        if is_complete && !is_begun && !is_of(&self.out, request.fingerprint) {
            return refuse(format!("{} holds a dataset", self.folder.display()));
        }
        Ok(())
    }

    /// Takes the shard for this run: makes the folders and holds the claim. `names` are the files
    /// to be written.
    pub(crate) fn claim_for(&self, request: &Create<'_>, names: &[String]) -> Result<Held> {
        let mut tries = 3;
        // Folders first, so that they are dropped last.
        let (mut folders, claim) = loop {
            let (records, state) = (self.records(), self.folder.join(RECORDS));
            let folders = Folders::make(&[&self.out, &self.folder, &state], &records)?;
            match Claim::open(&self.record(), request.fingerprint, request.overwrite) {
                Ok(claim) => break (folders, claim),
                // Another writer has removed the empty folders that it had made.
                Err(Error::Io { source, .. })
                    if source.kind() == io::ErrorKind::NotFound && tries > 0 =>
                {
                    tries -= 1;
                }
                Err(error) => return Err(error),
            }
        };
        let found = proof::<Record>(&self.record(), request.fingerprint)?;
        let had_record = !matches!(found, Proof::Missing);
        let record = if let Proof::Record(record) = found { Some(record) } else { None };
        let ours = [self.raw_name(), self.zip_name()];
        let listed = record.map(|record| record.file).filter(|file| ours.contains(file));
        if !claim.stands_for_leftovers() {
            names.iter().try_for_each(|name| refuse_foreign_partial(&self.folder.join(name)))?;
        }
        folders.stamp(self.source(request))?;
        claim.hold()?;
        Ok(Held { had_record, listed, is_shared: is_shared(request), claim, folders })
    }

    /// Removes the proofs that shard and dataset are finished, before that stops being true.
    pub(crate) fn withdraw(&self) -> Result<()> {
        remove_manifest(&self.out)?;
        remove(&self.folder.join(INDEX))?;
        remove(&self.record())
    }
}

/// Returns true if the manifest of a run of that fingerprint exists; refuses that of another run.
pub(crate) fn completed(out: &Path, fingerprint: [u8; 16]) -> Result<bool> {
    let is_there = exists(&out.join(manifest::NAME))?;
    if is_there && !is_of(out, fingerprint) { holds_another(out) } else { Ok(is_there) }
}

/// See [`Format::withdraw`](fdconvert_core::Format::withdraw). Streaming relies on the indexes.
pub(crate) fn withdraw(out: &Path, shards: &[Shard]) -> Result<()> {
    let places = shards.iter().map(|shard| Place::new(out, shard)).collect::<Result<Vec<_>>>()?;
    let records: Vec<_> = places.iter().map(Place::record).collect();
    remove_records(&records)?;
    places.iter().try_for_each(|place| remove(&place.folder.join(INDEX)))?;
    remove_manifest(out)
}

/// Removes the combined index, then the manifest, if there is one.
fn remove_manifest(out: &Path) -> Result<()> {
    let path = out.join(manifest::NAME);
    if exists(&path)? {
        versions::forget(out)?;
        combined::remove(out)?;
        remove(&path)?;
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) struct Held {
    /// True if there was a record, which is being replaced.
    pub(crate) had_record: bool,
    /// The file listed in that record.
    pub(crate) listed: Option<String>,
    /// True if other processes of this run may write it, too: see [`is_shared`].
    pub(crate) is_shared: bool,
    pub(crate) claim: Claim,
    // Dropped after the files in them.
    pub(crate) folders: Folders,
}

/// Returns true if `path` is a file, of that length if given. A failed check is an error, not
/// `false`.
fn has_len(path: &Path, bytes: Option<u64>) -> Result<bool> {
    Ok(file_len(path)?.is_some_and(|found| bytes.is_none_or(|bytes| found == bytes)))
}

/// Shards other than `shards` in the folders of splits. A folder with its own manifest is another
/// dataset.
pub(crate) fn leftovers(out: &Path, shards: &[Shard]) -> Result<Vec<PathBuf>> {
    let ours = shards.iter().map(|shard| Ok(Place::new(out, shard)?.record()));
    let ours = ours.collect::<Result<Vec<_>>>()?;
    let mut folders = vec![out.to_path_buf()];
    for (path, kind) in list_if_there(out)? {
        if kind == Kind::Folder && !exists(&path.join(manifest::NAME))? {
            folders.push(path);
        }
    }
    let mut leftovers = Vec::new();
    for folder in folders {
        for stem in recorded(&folder)?.iter().filter(|stem| stem.starts_with("shard.")) {
            let files = ["mds", "mds.zstd"].map(|end| folder.join(format!("{stem}.{end}")));
            if !ours.contains(&record_path(&folder, stem)) {
                for file in files {
                    if exists(&file)? {
                        leftovers.push(file);
                        break;
                    }
                }
            }
        }
    }
    leftovers.sort();
    Ok(leftovers)
}
