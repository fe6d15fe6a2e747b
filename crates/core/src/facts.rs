use crate::{Ignored, InnerClasses, Remark, Schema, Splits};
use std::{fmt, path::PathBuf, sync::Arc};

/// Properties of a [`Source`](crate::Source) as a whole, known without reading a sample.
///
/// A wrapper of a source copies its facts except those it changes:
/// `SourceFacts { schema, ..inner.facts().clone() }`.
#[derive(Debug, Clone)]
pub struct SourceFacts {
    /// A short name for people and for the provenance of datasets: the last part of a path, never
    /// the whole (the bytes written must not depend on the place of the source).
    pub name: String,
    /// Fields of every sample.
    pub schema: Schema,
    /// Properties of each field; fields beyond the end have the default.
    pub fields: Vec<FieldFacts>,
    /// Names of fields that were dropped on request when the source was
    /// [opened](crate::OpenOptions::drop_fields).
    pub dropped_fields: Vec<String>,
    /// Number of samples; an upper bound for an [open](Self::is_open) source.
    pub len: u64,
    /// For an [open](Self::is_open) source, the number of samples from the first on that can be
    /// read before the plan is made; planning reads no others. `None` for all other sources.
    pub n_given: Option<u64>,
    /// True if [announcing](crate::Source::read_ahead) samples makes reads faster.
    pub reads_ahead: bool,
    /// Splits of the source itself, such as its folders or shards `train` and `val`. Empty if there
    /// are none.
    pub splits: Splits,
    /// Remarks for the user on how the source was interpreted: for the summary.
    pub remarks: Remarks,
    /// Origin of the labels, or why there are none, as the end of a sentence: `from folders`.
    /// `None` if the samples have them as fields.
    pub label_origin: Option<String>,
    /// Number of the version of a dataset of shards that can be [edited](crate::Edit); `None` for
    /// other sources.
    pub version: Option<u64>,
    /// Folders of which each sample is a file, at the path that its key stands for: of one folder,
    /// or of several that are joined. Empty for other sources.
    pub roots: Vec<PathBuf>,
    /// Contents of the source that are not samples, so that nothing is skipped silently.
    pub ignored: Ignored,
}

impl SourceFacts {
    /// Creates facts with defaults for everything else.
    pub fn new(name: impl Into<String>, schema: Schema, len: u64) -> Self {
        Self {
            name: name.into(),
            fields: vec![FieldFacts::default(); schema.fields.len()],
            schema,
            dropped_fields: Vec::new(),
            len,
            n_given: None,
            reads_ahead: false,
            splits: Splits::new(),
            remarks: Remarks::default(),
            label_origin: None,
            version: None,
            roots: Vec::new(),
            ignored: Ignored::default(),
        }
    }

    /// Marks these fields as [labels](FieldFacts::keeps_pixels).
    #[must_use]
    pub fn keep_pixels(mut self, fields: &[usize]) -> Self {
        for (at, field) in self.fields.iter_mut().enumerate() {
            field.keeps_pixels |= fields.contains(&at);
        }
        self
    }

    /// Returns the properties of a field.
    #[must_use]
    pub fn field(&self, field: usize) -> &FieldFacts {
        const PLAIN: &FieldFacts =
            &FieldFacts { keeps_pixels: false, is_known: false, inner: Vec::new(), member: None };
        self.fields.get(field).unwrap_or(PLAIN)
    }

    /// Returns true if [`len`](Self::len) is only an upper bound: the number of samples becomes
    /// known by reading them in sequence.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.n_given.is_some()
    }

    /// Returns the number of samples, from the first on, that can be read before the plan is made.
    #[must_use]
    pub fn n_ready(&self) -> u64 {
        self.n_given.unwrap_or(self.len)
    }
}

/// Properties of a field of a [`Source`](crate::Source).
#[derive(Debug, Clone, Default)]
pub struct FieldFacts {
    /// True if the images are labels, such as masks, with pixels that must not change whatever
    /// happens to other images.
    pub keeps_pixels: bool,
    /// True if a [value](crate::Source::value) is known without reading the sample.
    pub is_known: bool,
    /// Class names of the numbers inside the field, if the dataset has any besides those of its
    /// schema. They are compared when sources are combined.
    pub inner: Vec<InnerClasses>,
    /// Name of the field in the source's own files, if it differs from the default of that kind of
    /// dataset: `txt`, not `txt.txt`, in shards of other tools. Packing into the same kind keeps
    /// it.
    pub member: Option<String>,
}

/// Remarks for the user on how a source was interpreted. Some only arise while samples are read.
#[derive(Clone, Default)]
pub struct Remarks(Vec<Entry>);

#[derive(Clone)]
enum Entry {
    Known(Remark),
    Found(Arc<dyn Fn() -> Vec<Remark> + Send + Sync>),
}

impl Remarks {
    /// Adds a remark.
    pub fn push(&mut self, remark: Remark) {
        self.0.push(Entry::Known(remark));
    }

    /// Adds remarks that arise from reading: `found` is called for every list.
    pub fn push_found(&mut self, found: impl Fn() -> Vec<Remark> + Send + Sync + 'static) {
        self.0.push(Entry::Found(Arc::new(found)));
    }

    /// Adds the remarks of another source.
    pub fn append(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    /// Returns all remarks so far.
    #[must_use]
    pub fn list(&self) -> Vec<Remark> {
        let one = |entry: &Entry| match entry {
            Entry::Known(remark) => vec![remark.clone()],
            Entry::Found(found) => found(),
        };
        self.0.iter().flat_map(one).collect()
    }
}

impl Extend<Remark> for Remarks {
    fn extend<I: IntoIterator<Item = Remark>>(&mut self, remarks: I) {
        self.0.extend(remarks.into_iter().map(Entry::Known));
    }
}

impl FromIterator<Remark> for Remarks {
    fn from_iter<I: IntoIterator<Item = Remark>>(remarks: I) -> Self {
        Self(remarks.into_iter().map(Entry::Known).collect())
    }
}

impl fmt::Debug for Remarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}
