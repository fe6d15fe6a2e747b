//! A claim as an object of its own, which the store creates for one writer only.
use crate::{
    left,
    place::{self, away},
};
use fdconvert_core::{Error, Result};
use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

/// Dropped, it is removed if this run has made it.
#[derive(Debug)]
pub(super) struct ClaimObject {
    path: PathBuf,
    is_ours: AtomicBool,
}

impl ClaimObject {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, is_ours: AtomicBool::new(false) }
    }

    /// Writes the mark, in the place of that of another run if it is to be replaced.
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

    /// Writes the record. The claim goes first, so that none is left beside a record; what stands
    /// for the objects of the shard in between is their mark.
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
