//! Where the files of a shard lie, and which of them are whose.
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
    record_path,
};
use fdconvert_core::{Create, Error, Result, Shard, option};
use fdconvert_storage::{
    Claim, Folders, SourceStamp, fingerprint_hex, is_of_run, partial_path,
    place::{Kind, exists, file_len, is_object_of_run, remove},
    read_if_there, refuse_foreign_partial, refuse_link,
};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The names of one shard.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) out: PathBuf,
    pub(crate) folder: PathBuf,
    stem: String,
}

/// State in which a shard is found.
pub(crate) enum Found {
    /// Nothing, or what an interrupted run of the same fingerprint left.
    Nothing,
    /// This run has finished it.
    Finished(Box<Record>),
    /// Something that is not to be touched without being told to.
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

    /// Of our index block, which lies beside the shard.
    pub(crate) fn index_name(&self) -> String {
        format!("{}.fdx", self.stem)
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.folder.join(self.index_name())
    }

    pub(crate) fn record(&self) -> PathBuf {
        record_path(&self.folder, &self.stem)
    }

    /// The folder of the dataset's own records.
    fn records(&self) -> PathBuf {
        self.out.join(RECORDS)
    }

    fn source(&self, request: &Create<'_>) -> SourceStamp {
        SourceStamp::new(&self.records(), request.fingerprint, request.stamp)
    }

    /// The same for a run that may go on here: no links, and a source that was not written to since.
    pub(crate) fn find(&self, request: &Create<'_>) -> Result<Found> {
        refuse_link(&self.out)?;
        refuse_link(&self.records())?;
        refuse_link(&self.folder)?;
        refuse_link(&self.folder.join(RECORDS))?;
        match self.source(request).check() {
            Ok(()) => self.look(request.fingerprint, true),
            // All of it is written again.
            Err(Error::Usage { .. }) if request.overwrite => Ok(Found::Nothing),
            Err(error) => Err(error),
        }
    }

    /// Returns what is there, for a run of that fingerprint. With `compare` a shard is read as a
    /// whole and compared with its record, and its index with its checksums, else only lengths are.
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
                // All samples of an empty one were left out.
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
            // Its start still says whose it is.
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
            // In a store the claim may be gone with another process of this run.
            let fingerprint = fingerprint_hex(fingerprint);
            if !is_ours
                && exists(&path)?
                && is_object_of_run(&path, None, &fingerprint)? != Some(true)
            {
                let what = format!("{} exists without a record of fdconvert", path.display());
                return Ok(Found::Foreign(what));
            }
        }
        Ok(Found::Nothing)
    }

    /// Returns whether this shard has a record of that run, be it damaged behind its start, or
    /// another one of its split: of samples whose number is not known there may be one behind the
    /// last.
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

    /// Refuses to write over what this run did not make, if not told to.
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
            // By another process of this run, since it was asked whether it is.
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
        // Its indexes were written, and the manifest was not.
        let is_begun = !has_manifest && is_complete && self.is_of_begun(request.fingerprint)?;
        // A finished dataset of this run that has lost a shard may be mended.
        if is_complete && !is_begun && !is_of(&self.out, request.fingerprint) {
            return refuse(format!("{} holds a dataset", self.folder.display()));
        }
        Ok(())
    }

    /// Takes the shard for this run: makes the folders and holds the claim. `names` are the files
    /// that will be written.
    pub(crate) fn claim_for(&self, request: &Create<'_>, names: &[String]) -> Result<Held> {
        let mut tries = 3;
        // The folders first, so that they go last.
        let (mut folders, claim) = loop {
            let (records, state) = (self.records(), self.folder.join(RECORDS));
            let folders = Folders::make(&[&self.out, &self.folder, &state], &records)?;
            match Claim::open(&self.record(), request.fingerprint, request.overwrite) {
                Ok(claim) => break (folders, claim),
                // Another writer has removed the folders it had made, now empty.
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

    /// Removes what says that there is a finished shard or dataset, before that stops being true.
    pub(crate) fn withdraw(&self) -> Result<()> {
        remove_manifest(&self.out)?;
        remove(&self.folder.join(INDEX))?;
        remove(&self.record())
    }
}

/// Returns whether there is the manifest of a run of that fingerprint; that of another is refused.
pub(crate) fn completed(out: &Path, fingerprint: [u8; 16]) -> Result<bool> {
    let is_there = exists(&out.join(manifest::NAME))?;
    if is_there && !is_of(out, fingerprint) { holds_another(out) } else { Ok(is_there) }
}

/// See [`Format::withdraw`](fdconvert_core::Format::withdraw). Streaming goes by the indexes.
pub(crate) fn withdraw(out: &Path, shards: &[Shard]) -> Result<()> {
    let places = shards.iter().map(|shard| Place::new(out, shard)).collect::<Result<Vec<_>>>()?;
    let records: Vec<_> = places.iter().map(Place::record).collect();
    remove_records(&records)?;
    places.iter().try_for_each(|place| remove(&place.folder.join(INDEX)))?;
    remove_manifest(out)
}

/// The manifest, if there is one, and first the combined index.
fn remove_manifest(out: &Path) -> Result<()> {
    let path = out.join(manifest::NAME);
    if exists(&path)? {
        combined::remove(out)?;
        remove(&path)?;
    }
    Ok(())
}

/// A shard that this process may write.
#[derive(Debug)]
pub(crate) struct Held {
    /// True if there was a record, which is being replaced.
    pub(crate) had_record: bool,
    /// The file that it listed.
    pub(crate) listed: Option<String>,
    /// True if other processes of this run may write it, too: see [`is_shared`].
    pub(crate) is_shared: bool,
    pub(crate) claim: Claim,
    // After what lies in them.
    pub(crate) folders: Folders,
}

/// Returns whether this is a file, of that length if one is given. A look that failed is not an
/// answer.
fn has_len(path: &Path, bytes: Option<u64>) -> Result<bool> {
    Ok(file_len(path)?.is_some_and(|found| bytes.is_none_or(|bytes| found == bytes)))
}

/// Shards in the folders of splits that are none of these. A folder with a manifest of its own is
/// another dataset.
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
