//! Removal of samples.
use super::{
    Edited, keep_versions,
    shards::Shards,
    target::{Target, What},
};
use crate::{Context, PackOptions, choose, keys, options::from_object, request::plan_request};
use fdconvert_core::{Error, Reader, Result, Source, option};
use fdconvert_pipeline::{KeyList, Run};
use fdconvert_storage::place;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use xxhash_rust::xxh3::Xxh3;

/// Removal of samples from a dataset of shards. Only shards that have some of them are written
/// again; afterwards their bytes are in no file of the dataset, unless earlier versions are
/// [kept](Self::keep_versions).
///
/// ```no_run
/// use fdconvert::Remove;
///
/// let edited = Remove::new("photos.wds").keys(["cats/1.jpg", "cats/7.jpg"]).run()?;
/// println!("version {}: {} samples", edited.entry.version, edited.entry.samples);
/// # Ok::<(), fdconvert::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Remove {
    dataset: PathBuf,
    keys: Option<Vec<String>>,
    keys_file: Option<PathBuf>,
    condition: Option<String>,
    keep_versions: u64,
    run: Run,
}

/// Options in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Given {
    keys: Option<Keys>,
    r#where: Option<String>,
    threads: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Keys {
    File(PathBuf),
    List(Vec<String>),
}

impl Remove {
    /// Removes samples of the dataset at this path: [`keys`](Self::keys) or a
    /// [condition](Self::matching) say which.
    pub fn new(dataset: impl AsRef<Path>) -> Self {
        Self {
            dataset: dataset.as_ref().to_owned(),
            keys: None,
            keys_file: None,
            condition: None,
            keep_versions: 1,
            run: Run::default(),
        }
    }

    /// As [`new`](Self::new), with all options from one JSON object: `keys` (a list, or the path of a
    /// file), `where`, `keep_versions` and `threads`.
    ///
    /// # Errors
    /// `Usage` for unknown names and for invalid values.
    pub fn from_json(dataset: PathBuf, mut object: Map<String, Value>) -> Result<Self> {
        let keep_versions = keep_versions(&mut object)?;
        let Given { keys, r#where: condition, threads } = from_object(object)?;
        let (keys, keys_file) = match keys {
            Some(Keys::File(file)) => (None, Some(file)),
            Some(Keys::List(keys)) => (Some(keys), None),
            None => (None, None),
        };
        let run = Run { threads, ..Run::default() };
        Ok(Self { keys, keys_file, condition, keep_versions, run, ..Self::new(dataset) })
    }

    /// Removes the samples with these keys, which must all exist.
    #[must_use]
    pub fn keys<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.keys = Some(keys.into_iter().map(Into::into).collect());
        self
    }

    /// Removes the samples whose keys are in a file, one a line.
    #[must_use]
    pub fn keys_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.keys_file = Some(file.into());
        self
    }

    /// Removes the samples that match an expression like that of [`PackOptions`], e.g.
    /// `width < 32`.
    #[must_use]
    pub fn matching(mut self, expression: impl Into<String>) -> Self {
        self.condition = Some(expression.into());
        self
    }

    /// Sets the number of versions that can be opened afterwards, the new one included; 1 by
    /// default, which removes the bytes of all earlier ones.
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

    /// Removes them.
    ///
    /// # Errors
    /// `Usage` for keys that the dataset does not have, for an invalid expression, if all or no
    /// samples would go, and if another edit was faster; those of reading and packing. The dataset
    /// is then the version that it was.
    pub fn run(&self) -> Result<Edited> {
        self.run_with(Context::default())
    }

    /// Removes them, with progress.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_with(&self, context: Context<'_>) -> Result<Edited> {
        let list = match (&self.keys, &self.keys_file) {
            (None, None) => None,
            (Some(keys), None) => Some(KeyList::parse(keys.join("\n").as_bytes(), "the list")?),
            (None, Some(file)) => {
                Some(KeyList::parse(&place::whole(file)?, &file.display().to_string())?)
            }
            (Some(_), Some(_)) => {
                return Err(Error::usage(option::KEYS, "give a list or a file, not both"));
            }
        };
        if list.is_none() && self.condition.is_none() {
            let what = "say which samples to remove";
            return Err(Error::usage(option::KEYS, what)
                .cure("to remove those that match an expression", option::WHERE));
        }
        let target = Target::open(&self.dataset)?;
        let id = self.id(list.as_ref());
        if let Some(done) = target.done(id)? {
            return Ok(done);
        }
        let reader: Arc<dyn Reader> = fdconvert_reader::open(&self.dataset)?.into();
        let removed = self.removed(list.as_ref(), &*reader, context)?;
        let n_samples = reader.len();
        if removed.is_empty() || removed.len() as u64 == n_samples {
            let which = if removed.is_empty() { "none" } else { "all" };
            let what = format!("{which} of the {n_samples} samples would go");
            return Err(Error::usage("dataset", what));
        }
        let shards = Shards::without(&target.version, &removed);
        let job = target.rewriting(reader, &shards, self.run)?;
        let what = What {
            id,
            command: self.command(list.as_ref()),
            keep_versions: self.keep_versions,
            added: 0,
            removed: removed.len() as u64,
            changed: 0,
        };
        let job = (!job.plan.is_empty()).then_some(job);
        let common = &target.version.common;
        target.carry_out(job, &shards.next(), common, what, context)
    }

    /// Returns the samples to remove, ascending.
    fn removed(
        &self,
        list: Option<&KeyList>,
        reader: &dyn Source,
        context: Context<'_>,
    ) -> Result<Vec<u64>> {
        let options = PackOptions { r#where: self.condition.clone(), ..PackOptions::default() };
        let mut request = plan_request(&options);
        let found = list.map(|list| keys::find(list, reader)).transpose()?;
        request.selection.listed = found.map(|found| found.indices);
        choose::choose(&options, reader, &mut request, context)?;
        Ok(request.selection.listed.unwrap_or_default())
    }

    fn id(&self, list: Option<&KeyList>) -> [u8; 16] {
        let mut hash = Xxh3::new();
        hash.update(b"remove\n");
        hash.update(&list.map_or(0, KeyList::hash).to_le_bytes());
        hash.update(self.condition.as_deref().unwrap_or_default().as_bytes());
        hash.digest128().to_le_bytes()
    }

    fn command(&self, list: Option<&KeyList>) -> String {
        let keys = list.map(|list| format!(" {} keys", list.len())).unwrap_or_default();
        let condition = self.condition.as_ref().map(|text| format!(" where {text}"));
        format!("remove{keys}{}", condition.unwrap_or_default())
    }
}
