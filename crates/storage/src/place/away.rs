//! URLs.
use super::{Below, Kind, StoreTotals};
pub use crate::store::ReadingStopped;
pub(super) use crate::store::stop_reading;
use crate::store::{self as store, Entry, Found};
pub(crate) use crate::store::{Upload, abort_unfinished, delete, put, put_new, refuse_read_only};
use bytes::Bytes;
use fdconvert_core::Result;
use std::path::{Path, PathBuf};

fn kind(found: Found) -> Kind {
    match found {
        Found::Object => Kind::File,
        Found::Folder => Kind::Folder,
    }
}

pub(super) fn look(path: &Path) -> Result<Option<Kind>> {
    Ok(store::look(path)?.map(kind))
}

pub(super) fn list(path: &Path) -> Result<Vec<(PathBuf, Kind)>> {
    let entries = store::list(path)?.into_iter();
    Ok(entries.map(|Entry { path, found }| (path, kind(found))).collect())
}

pub(super) fn list_below(path: &Path, take: &mut dyn FnMut(Below) -> Result<()>) -> Result<()> {
    store::list_below(path, &mut |store::Below { key, within, len, tag }| {
        take(Below { path: key.into(), within, len, tag })
    })
}

pub(super) fn left_out(path: &Path) -> Option<String> {
    store::left_out(path)
}

pub(super) fn read_start(path: &Path, n_bytes: usize) -> Result<Bytes> {
    store::read_start(path, n_bytes as u64)
}

pub(super) fn whole(path: &Path) -> Result<Bytes> {
    store::read(path, u64::MAX)
}

pub(crate) fn read(path: &Path, max_bytes: u64) -> Result<Bytes> {
    store::read(path, max_bytes)
}

pub(crate) fn read_if_there(path: &Path, max_bytes: u64) -> Result<Option<Bytes>> {
    store::read_if_there(path, max_bytes)
}

pub(super) fn set_options(options: Vec<(String, String)>) -> Result<()> {
    store::set_options(options)
}

pub(super) fn totals() -> StoreTotals {
    let store::Totals { requests, bytes, over_fetched_bytes } = store::totals();
    StoreTotals { requests, bytes, over_fetched_bytes }
}

/// Length and mark of an object.
pub(crate) fn stat(path: &Path) -> Result<Option<(u64, Option<String>)>> {
    Ok(store::stat(path)?.map(|stat| (stat.len, stat.mark)))
}
