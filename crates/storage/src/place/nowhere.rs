//! URLs in builds without stores: all are refused.
use super::{Below, Kind, StoreTotals};
use bytes::Bytes;
use fdconvert_core::{Error, Result, option};
use std::path::{Path, PathBuf};

pub(crate) fn refuse<T>(path: &Path) -> Result<T> {
    let what = format!("{} is a URL, and this build lacks the feature `stores`", path.display());
    Err(Error::usage("location", what))
}

pub(super) fn look(path: &Path) -> Result<Option<Kind>> {
    refuse(path)
}

pub(super) fn list(path: &Path) -> Result<Vec<(PathBuf, Kind)>> {
    refuse(path)
}

pub(super) fn list_below(path: &Path, _: &mut dyn FnMut(Below) -> Result<()>) -> Result<()> {
    refuse(path)
}

pub(super) fn left_out(_: &Path) -> Option<String> {
    None
}

pub(super) fn read_start(path: &Path, _: usize) -> Result<Bytes> {
    refuse(path)
}

pub(super) fn whole(path: &Path) -> Result<Bytes> {
    refuse(path)
}

pub(crate) fn read(path: &Path, _: u64) -> Result<Bytes> {
    refuse(path)
}

pub(crate) fn read_if_there(path: &Path, _: u64) -> Result<Option<Bytes>> {
    refuse(path)
}

pub(super) fn totals() -> StoreTotals {
    StoreTotals::default()
}

pub(crate) fn stat(path: &Path) -> Result<Option<(u64, Option<String>)>> {
    refuse(path)
}

/// Nothing is read.
#[derive(Debug)]
#[must_use = "reading continues when this is dropped"]
pub struct ReadingStopped(());

pub(super) fn stop_reading() -> ReadingStopped {
    ReadingStopped(())
}

pub(super) fn set_options(options: Vec<(String, String)>) -> Result<()> {
    if options.is_empty() {
        return Ok(());
    }
    let what = "this build lacks the feature `stores`";
    Err(Error::usage(option::STORE_OPTION, what))
}

#[cfg(feature = "write")]
mod writing {
    use super::{Bytes, Path, PathBuf, Result, refuse};
    use std::time::Duration;

    /// Never exists.
    #[derive(Debug)]
    pub(crate) struct Upload;

    impl Upload {
        pub(crate) fn start(path: &Path, _: Option<&str>) -> Result<Self> {
            refuse(path)
        }

        pub(crate) fn append(&mut self, _: &[u8]) -> Result<()> {
            Ok(())
        }

        pub(crate) fn finish(self, _: bool) -> Result<bool> {
            Ok(true)
        }
    }

    pub(crate) fn abort_unfinished(path: &Path, _: Duration, _: bool) -> Result<Vec<PathBuf>> {
        refuse(path)
    }

    pub(crate) fn refuse_read_only(path: &Path) -> Result<()> {
        refuse(path)
    }

    pub(crate) fn put(path: &Path, _: Bytes, _: Option<&str>) -> Result<()> {
        refuse(path)
    }

    pub(crate) fn put_new(path: &Path, _: &Bytes, _: Option<&str>) -> Result<bool> {
        refuse(path)
    }

    pub(crate) fn delete(path: &Path) -> Result<()> {
        refuse(path)
    }
}
#[cfg(feature = "write")]
pub(crate) use writing::{Upload, abort_unfinished, delete, put, put_new, refuse_read_only};
