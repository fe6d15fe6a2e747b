//! Other values for samples that are there.
use super::{
    Edited, keep_versions,
    shards::Shards,
    target::{Target, What},
};
use crate::{Context, options::from_object, relabel};
use fdconvert_core::{Error, Result, Source, option};
use fdconvert_formats::folder::Folder;
use fdconvert_pipeline::Run;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Other values for fields of samples in a dataset of shards: of those in a table, by their keys.
/// Only shards with a changed sample are written again. A new field, which all samples need, or a
/// new class changes all shards.
///
/// ```no_run
/// use fdconvert::Update;
///
/// let edited = Update::new("photos.wds", "corrections.csv").run()?;
/// println!("{} samples changed", edited.entry.changed);
/// # Ok::<(), fdconvert::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Update {
    dataset: PathBuf,
    table: PathBuf,
    keep_versions: u64,
    run: Run,
}

/// Options in JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    labels: PathBuf,
    #[serde(default)]
    threads: Option<usize>,
}

impl Update {
    /// Takes the values of a table (`.csv`, `.tsv`, `.jsonl`) whose first column has keys of the
    /// dataset, and the others fields.
    pub fn new(dataset: impl AsRef<Path>, table: impl AsRef<Path>) -> Self {
        let (dataset, table) = (dataset.as_ref().to_owned(), table.as_ref().to_owned());
        Self { dataset, table, keep_versions: 1, run: Run::default() }
    }

    /// As [`new`](Self::new), with all options from one JSON object: `labels` (the table),
    /// `keep_versions` and `threads`.
    ///
    /// # Errors
    /// `Usage` for unknown names and for invalid values.
    pub fn from_json(dataset: PathBuf, mut object: Map<String, Value>) -> Result<Self> {
        let keep_versions = keep_versions(&mut object)?;
        let Given { labels, threads } = from_object(object)?;
        let run = Run { threads, ..Run::default() };
        Ok(Self { dataset, table: labels, keep_versions, run })
    }

    /// Sets the number of versions that can be opened afterwards, the new one included; 1 by
    /// default.
    #[must_use]
    pub fn keep_versions(mut self, n: u64) -> Self {
        self.keep_versions = n;
        self
    }

    /// Sets the number of worker threads; the default is one per core. The result does not depend
    /// on it.
    #[must_use]
    pub fn threads(mut self, n: impl Into<Option<usize>>) -> Self {
        self.run.threads = n.into();
        self
    }

    /// Changes the values.
    ///
    /// # Errors
    /// `Usage` for keys that the dataset does not have, for values of another kind, and if another
    /// edit was faster; those of reading and packing. The dataset is then the version that it was.
    pub fn run(&self) -> Result<Edited> {
        self.run_with(Context::default())
    }

    /// Changes the values, with progress.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_with(&self, context: Context<'_>) -> Result<Edited> {
        let target = Target::open(&self.dataset)?;
        let reader = fdconvert_reader::open(&self.dataset)?;
        let before = target.version.schema.clone();
        let source = relabel::table(reader, &self.table, &Folder::default())?;
        let id = {
            let mut hash = Xxh3::new();
            hash.update(b"update\n");
            hash.update(&source.table_identity());
            hash.digest128().to_le_bytes()
        };
        if let Some(done) = target.done(id)? {
            return Ok(done);
        }
        let changed = source.changed()?;
        let all = *source.schema() != before;
        if changed.is_empty() && !all {
            let what = format!("{} changes no value", self.table.display());
            return Err(Error::usage(option::LABELS, what));
        }
        let shards = Shards::with_changed(&target.version, &changed, all);
        let job = target.rewriting(std::sync::Arc::new(source), &shards, self.run)?;
        let name = self.table.file_name().unwrap_or_default().to_string_lossy();
        let what = What {
            id,
            command: format!("update {name}"),
            keep_versions: self.keep_versions,
            added: 0,
            removed: 0,
            changed: changed.len() as u64,
        };
        let common = &target.version.common;
        target.carry_out(Some(job), &shards.next(), common, what, context)
    }
}
