//! A claim as a separate object, which the store creates for a single writer.
use crate::{
    left,
    place::{self, away},
};
use fdconvert_core::{Error, Result};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// Removed on drop if this run created it.
#[derive(Debug)]
pub(super) struct ClaimObject {
    path: PathBuf,
    is_ours: AtomicBool,
}

impl ClaimObject {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, is_ours: AtomicBool::new(false) }
    }

    /// Writes the mark; with `replace` it replaces that of another run.
    pub(super) fn hold(&self, mark: &[u8], replace: bool) -> Result<()> {
        if replace {
            away::put(&self.path, mark.to_vec().into(), None)?;
        } else if !place::put_new(&self.path, mark)? {
            let what = format!("{} was taken by another run meanwhile", self.path.display());
            return Err(Error::usage("output", what));
        }
        self.own();
        Ok(())
    }

    /// Writes the record. Removes the claim first, so that none stays beside a record; in between,
    /// the objects of the shard are identified by their marks.
    pub(super) fn commit(&self, record: &Path, text: Vec<u8>) -> Result<()> {
        self.is_ours.store(false, Ordering::Relaxed);
        place::remove(&self.path)?;
        away::put(record, text.into(), None)
    }

    pub(super) fn own(&self) {
        self.is_ours.store(true, Ordering::Relaxed);
    }

    pub(super) fn leave(self) {
        self.is_ours.store(false, Ordering::Relaxed);
    }
}

impl Drop for ClaimObject {
    fn drop(&mut self) {
        if self.is_ours.load(Ordering::Relaxed)
            && let Err(error) = place::remove(&self.path)
        {
            left::note(&self.path, &error);
        }
    }
}
