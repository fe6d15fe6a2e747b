//! Edits: a dataset of shards gets new samples, loses some, or gets other values for some.
//!
//! An edit is a plan over the shards that are there and new ones: the new ones are packed like any
//! dataset, by the same job, into a folder of their own, and the format makes the next version of
//! kept and new shards (`Format::edit`).
mod append;
mod remove;
mod shards;
mod target;
mod update;

pub use append::Append;
pub use remove::Remove;
pub use update::Update;

use crate::document::document;
use fdconvert_core::{Error, LogEntry, Remark, Result, option};
use fdconvert_formats::edits;
use fdconvert_pipeline::Report;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Result of an edit.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Edited {
    /// The version that it made.
    pub entry: LogEntry,
    /// Number of shards that were written, and of those that the version has.
    pub shards: (u64, u64),
    /// What packing the new shards reported.
    pub report: Report,
    /// True if the current version had been made by this same edit: nothing was done.
    pub was_done: bool,
    /// Remarks on what is beside the dataset.
    pub remarks: Vec<Remark>,
}

/// Takes the option out of a JSON object.
fn keep_versions(object: &mut Map<String, Value>) -> Result<u64> {
    match object.remove("keep_versions") {
        None => Ok(1),
        Some(value) => value.as_u64().filter(|n| *n > 0).ok_or_else(|| {
            Error::usage(option::KEEP_VERSIONS, format!("{value} is not a number from 1 on"))
        }),
    }
}

impl Edited {
    /// Returns the result for the dataset as a document.
    #[must_use]
    pub fn document(&self, dataset: &Path) -> Value {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        put("dataset", json!(dataset.display().to_string()));
        let entry = json!(self.entry);
        for name in ["version", "command", "samples", "added", "removed", "changed", "root"] {
            put(name, entry.get(name).cloned().unwrap_or_default());
        }
        put("shards_written", json!(self.shards.0));
        put("shards", json!(self.shards.1));
        put("skipped", json!(self.report.skipped));
        put("was_done", json!(self.was_done));
        put("remarks", json!(self.remarks));
        put("seconds", json!(self.report.elapsed.as_secs_f64()));
        document("edit", fields)
    }
}

/// Returns the log as a document, with the versions that can be opened.
///
/// # Errors
/// As for [`log`] and [`kept_versions`].
pub fn log_document(dataset: &Path) -> Result<Value> {
    let mut fields = Map::new();
    let entries = log(dataset)?;
    let mut open = kept_versions(dataset)?;
    open.extend(entries.last().map(|entry| entry.version));
    fields.insert("dataset".into(), json!(dataset.display().to_string()));
    fields.insert("versions".into(), json!(entries));
    fields.insert("open".into(), json!(open));
    Ok(document("log", fields))
}

/// Returns the log of a dataset: what made each version, and when; empty if it was never edited.
///
/// # Errors
/// `Corrupt`, `Io`.
pub fn log(dataset: impl AsRef<Path>) -> Result<Vec<LogEntry>> {
    edits::log(dataset.as_ref())
}

/// Returns the numbers of the versions of a dataset that can be opened, ascending, but for the
/// current one.
///
/// # Errors
/// `Io`.
pub fn kept_versions(dataset: impl AsRef<Path>) -> Result<Vec<u64>> {
    edits::kept(dataset.as_ref())
}
