//! Stores in builds without them: all URLs are refused.
use crate::place::{Below, Kind, StoreTotals};
use bytes::Bytes;
use fdconvert_core::{Ahead, Error, Result, option};
use std::path::{Path, PathBuf};

pub(crate) fn refuse<T>(path: &Path) -> Result<T> {
    let what = format!("{} is a URL, and this build lacks the feature `stores`", path.display());
    Err(Error::usage("location", what))
}

pub(crate) fn look(path: &Path) -> Result<Option<Kind>> {
    refuse(path)
}

pub(crate) fn list(path: &Path) -> Result<Vec<(PathBuf, Kind)>> {
    refuse(path)
}

pub(crate) fn list_below(path: &Path, _: &mut dyn FnMut(Below) -> Result<()>) -> Result<()> {
    refuse(path)
}

pub(crate) fn left_out(_: &Path) -> Option<String> {
    None
}

pub(crate) fn read_start(path: &Path, _: u64) -> Result<Bytes> {
    refuse(path)
}

pub(crate) fn read(path: &Path, _: u64) -> Result<Bytes> {
    refuse(path)
}

pub(crate) fn read_if_there(path: &Path, _: u64) -> Result<Option<Bytes>> {
    refuse(path)
}

pub(crate) struct Stat {
    pub(crate) len: u64,
    pub(crate) mark: Option<String>,
}

pub(crate) fn stat(path: &Path) -> Result<Option<Stat>> {
    refuse(path)
}

/// Returns the totals of all requests to stores since the process started.
#[must_use]
pub fn totals() -> StoreTotals {
    StoreTotals::default()
}

/// There are no requests.
#[derive(Debug)]
#[must_use = "requests continue when this is dropped"]
pub struct RequestsStopped(());

/// Stops nothing.
pub fn stop_requests() -> RequestsStopped {
    RequestsStopped(())
}

/// Refuses all options.
///
/// # Errors
/// `Usage`, unless there are none.
pub fn set_options(options: impl IntoIterator<Item = (String, String)>) -> Result<()> {
    if options.into_iter().next().is_none() {
        return Ok(());
    }
    let what = "this build lacks the feature `stores`";
    Err(Error::usage(option::STORE_OPTION, what))
}

/// Never exists.
#[derive(Debug)]
pub(crate) enum Object {}

impl Object {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        refuse(path)
    }

    pub(crate) fn with_len(path: &Path, _: u64) -> Result<Self> {
        refuse(path)
    }

    pub(crate) fn len(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn read(&self, _: u64, _: u64) -> Result<Bytes> {
        match *self {}
    }

    pub(crate) fn whole(&self) -> Result<Bytes> {
        match *self {}
    }

    pub(crate) fn announce(&self, _: impl IntoIterator<Item = (u64, u64)>) -> Ahead {
        match *self {}
    }
}

/// Files that will be read soon. Nothing happens for local files.
#[derive(Debug, Default)]
pub struct Wholes(());

impl Wholes {
    /// Announces files.
    pub fn read_ahead(
        &self,
        _: impl IntoIterator<Item = (PathBuf, Option<u64>)>,
        _max_bytes: u64,
    ) -> Ahead {
        Ahead::default()
    }

    /// Returns nothing.
    #[must_use]
    pub fn get(&self, _: &Path) -> Option<Bytes> {
        None
    }
}

#[cfg(feature = "write")]
mod writing {
    use super::{Bytes, Path, PathBuf, Result, refuse};
    use std::{fs::File, time::Duration};

    /// Never exists.
    #[derive(Debug)]
    pub(crate) enum Upload {}

    impl Upload {
        pub(crate) fn start(path: &Path, _: Option<&str>) -> Result<Self> {
            refuse(path)
        }

        pub(crate) fn append(&mut self, _: &[u8]) -> Result<()> {
            match *self {}
        }

        pub(crate) fn finish(self, _: bool) -> Result<()> {
            match self {}
        }
    }

    pub(crate) fn abort_unfinished(path: &Path, _: Duration, _: bool) -> Result<Vec<PathBuf>> {
        refuse(path)
    }

    pub(crate) fn refuse_read_only(path: &Path) -> Result<()> {
        refuse(path)
    }

    pub(crate) fn put(path: &Path, _: Bytes) -> Result<()> {
        refuse(path)
    }

    pub(crate) fn put_new(path: &Path, _: &Bytes) -> Result<bool> {
        refuse(path)
    }

    pub(crate) fn swap(path: &Path, _: &[u8], _: Bytes) -> Result<bool> {
        refuse(path)
    }

    pub(crate) fn copy(path: &Path, _: &Path) -> Result<bool> {
        refuse(path)
    }

    pub(crate) fn delete(path: &Path) -> Result<()> {
        refuse(path)
    }

    pub(crate) fn staging_file(path: &Path) -> Result<File> {
        refuse(path)
    }
}
#[cfg(feature = "write")]
pub(crate) use writing::{
    Upload, abort_unfinished, copy, delete, put, put_new, refuse_read_only, staging_file, swap,
};
