//! Claims of shards: they identify the run that the files of an unfinished shard belong to.
use crate::{
    Scratch, left, partial_path,
    place::{self, is_url},
    read_if_there,
    record::{MARK_BYTES, is_marked, is_of_run, mark},
    seal_json, store, take_back,
};
use fdconvert_core::{Error, Result, option};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// Limit for an object with the name of a claim.
const MAX_BYTES: u64 = 1 << 30;

/// State of a claim on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Nothing, or the start of a mark: no file of a shard was opened after it.
    Nothing,
    Same,
    /// A claim of another run.
    Other,
}

/// The right to write a shard: the unfinished form of its record, which already identifies the run.
/// It is written and synced before any file of the shard is opened, so that it accounts for all
/// files a killed process leaves. It is also a lock.
///
/// In a store it is no lock, because a store cannot tell whether the writer of an object is still
/// alive: two runs of the same fingerprint may write the same shard, both with the same bytes. A
/// run of another fingerprint is refused.
#[derive(Debug)]
pub struct Claim {
    /// The claim as a file, which is also locked; an object is not.
    file: Option<Scratch>,
    /// True if drop removes the object.
    is_ours: AtomicBool,
    record: PathBuf,
    fingerprint: [u8; 16],
    found: Found,
}

impl Claim {
    /// Takes the shard of the record `record`. Checks for obstacles, and writes nothing yet.
    ///
    /// # Errors
    /// `Usage` when the claim belongs to another run (unless `overwrite`), is held by a running
    /// process, or was not written by fdconvert; `Io`.
    pub fn open(record: &Path, fingerprint: [u8; 16], overwrite: bool) -> Result<Self> {
        let path = partial_path(record);
        let (file, start) = if is_url(&path) {
            let found = read_if_there(&path, MAX_BYTES)?.unwrap_or_default();
            let start = found.get(..MARK_BYTES).unwrap_or(&found).to_vec();
            (None, start)
        } else {
            let scratch = Scratch::open(&path)?;
            let len = scratch.existing().min(MARK_BYTES as u64);
            let mut start = vec![0; len as usize];
            scratch.read_exact_at(&mut start, 0)?;
            (Some(scratch), start)
        };
        let refuse = |why: &str| Error::usage("output", format!("{} {why}", path.display()));
        let found = match is_marked(&start) {
            Some(true) if is_of_run(&start, fingerprint) => Found::Same,
            Some(true) => Found::Other,
            Some(false) => Found::Nothing,
            None => {
                return Err(refuse("exists and is not a claim of fdconvert; move it away"));
            }
        };
        if found == Found::Other && !overwrite {
            let why =
                "is of an unfinished run with another source or other options; finish that run";
            return Err(refuse(why).cure("to replace it", option::OVERWRITE.on()));
        }
        let (is_ours, record) = (AtomicBool::new(false), record.to_path_buf());
        Ok(Self { file, is_ours, record, fingerprint, found })
    }

    /// Returns true if an interrupted run of the same fingerprint held the shard before.
    #[must_use]
    pub fn resumes(&self) -> bool {
        self.found == Found::Same
    }

    /// Returns true if unfinished files of the shard are leftovers of a run of fdconvert.
    #[must_use]
    pub fn stands_for_leftovers(&self) -> bool {
        self.found != Found::Nothing
    }

    /// Writes the claim durably: from now on, existing files may be replaced.
    ///
    /// # Errors
    /// `Io`.
    pub fn hold(&self) -> Result<()> {
        let mark = mark(self.fingerprint);
        if let Some(file) = &self.file {
            file.write_all_at(&mark, 0)?;
            file.set_len(mark.len() as u64)?;
            return file.sync();
        }
        let path = partial_path(&self.record);
        match self.found {
            Found::Same => return Ok(()),
            Found::Other => store::put(&path, mark.into())?,
            Found::Nothing if place::put_new(&path, &mark)? => {}
            Found::Nothing => {
                let what = format!("{} was taken by another run meanwhile", path.display());
                return Err(Error::usage("output", what));
            }
        }
        self.is_ours.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Commits the record with this JSON object, which has one member for each line and begins with
    /// the fingerprint: from now on the shard is complete. On failure, `undo` removes the files of the shard and returns whether all
    /// are gone; otherwise the claim stays and accounts for them.
    ///
    /// # Errors
    /// `Io`.
    pub fn commit(self, json: &[u8], undo: impl FnOnce() -> bool) -> Result<()> {
        let text = seal_json(json);
        debug_assert!(is_of_run(&text, self.fingerprint));
        let Some(scratch) = &self.file else {
            // First, so that no claim stays beside a record; in between, the objects of the shard
            // are identified by their marks.
            self.is_ours.store(false, Ordering::Relaxed);
            place::remove(&partial_path(&self.record))?;
            return store::put(&self.record, text.into());
        };
        let written = scratch.write_all_at(&text, 0);
        let written = written.and_then(|()| scratch.set_len(text.len() as u64));
        written.and_then(|()| scratch.commit_in_place(&self.record, true)).inspect_err(|_| {
            if undo() {
                // If it stays: a record without its shard identifies the run that may write the
                // shard again.
                let _ = take_back(&self.record, scratch.identity());
            } else {
                scratch.disown();
            }
        })
    }

    /// Removes the claim, once its files are complete or gone.
    pub fn remove(self) {
        match &self.file {
            Some(file) => file.own(),
            None => self.is_ours.store(true, Ordering::Relaxed),
        }
    }

    /// Leaves the claim and its files to the next run.
    pub fn leave(self) {
        match &self.file {
            Some(file) => file.disown(),
            None => self.is_ours.store(false, Ordering::Relaxed),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let path = partial_path(&self.record);
        if *self.is_ours.get_mut()
            && let Err(error) = place::remove(&path)
        {
            left::note(&path, &error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_claim_is_told_from_anything_else_at_every_length() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("train-000000.json");
        let whole = mark([7; 16]);
        for len in 0..=whole.len() {
            fs::write(partial_path(&record), &whole[..len]).unwrap();
            let claim = Claim::open(&record, [7; 16], false).unwrap();
            assert_eq!(claim.resumes(), len == whole.len(), "{len}");
            let other = Claim::open(&record, [8; 16], false);
            assert!(matches!(other, Err(Error::Usage { .. })), "held: {other:?}");
            drop(claim);
            assert_eq!(Claim::open(&record, [8; 16], false).is_ok(), len < whole.len(), "{len}");
        }
        assert!(Claim::open(&record, [8; 16], true).unwrap().stands_for_leftovers());
        let foreign = [&b"precious"[..], b"{\n  \"xxh3\": \"precious", b"{\"a\":1}"];
        for foreign in foreign {
            fs::write(partial_path(&record), foreign).unwrap();
            for overwrite in [false, true] {
                assert!(Claim::open(&record, [7; 16], overwrite).is_err());
            }
            assert_eq!(fs::read(partial_path(&record)).unwrap(), foreign);
        }
    }
}
