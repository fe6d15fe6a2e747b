use crate::{Ignored, InnerClasses, Remark, Schema, Splits};
use std::{fmt, sync::Arc};

/// Properties of a [`Source`](crate::Source) as a whole, known without reading a sample.
///
/// What wraps a source has its facts but for those that it changes:
/// `SourceFacts { schema, ..inner.facts().clone() }`.
#[derive(Debug, Clone)]
pub struct SourceFacts {
    /// A short name for people and for the record of how a dataset was made: the last part of a
    /// path, never the whole (the bytes written must not depend on where the source lies).
    pub name: String,
    /// Fields of every sample.
    pub schema: Schema,
    /// Properties of each field; of those behind the last, what the default says.
    pub fields: Vec<FieldFacts>,
    /// Names of fields that it has and leaves out because that was asked for when it was
    /// [opened](crate::OpenOptions::drop_fields).
    pub dropped_fields: Vec<String>,
    /// Number of samples; of an [open](Self::is_open) source only a bound of it.
    pub len: u64,
    /// Of an [open](Self::is_open) source the number of samples, from the first on, that can be read
    /// before the plan is made, which looks at no others. `None` for all other sources.
    pub n_given: Option<u64>,
    /// True where samples are read sooner that are [announced](crate::Source::read_ahead).
    pub reads_ahead: bool,
    /// Parts that the source itself has, such as its folders or its shards `train` and `val`. Empty
    /// for none.
    pub splits: Splits,
    /// Sentences of what a user should know of how the source was taken: for the summary.
    pub remarks: Remarks,
    /// Origin of the labels, or why there are none, as the end of a sentence: `from folders`. `None`
    /// where the samples have them as fields.
    pub label_origin: Option<String>,
    /// Content of the source that is no sample, so that nothing is left out in silence.
    pub ignored: Ignored,
}

impl SourceFacts {
    /// A source with nothing to tell but these.
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
            ignored: Ignored::default(),
        }
    }

    /// With these fields as [labels](FieldFacts::keeps_pixels).
    #[must_use]
    pub fn keep_pixels(mut self, fields: &[usize]) -> Self {
        for (at, field) in self.fields.iter_mut().enumerate() {
            field.keeps_pixels |= fields.contains(&at);
        }
        self
    }

    /// Properties of a field.
    #[must_use]
    pub fn field(&self, field: usize) -> &FieldFacts {
        const PLAIN: &FieldFacts =
            &FieldFacts { keeps_pixels: false, is_known: false, inner: Vec::new(), member: None };
        self.fields.get(field).unwrap_or(PLAIN)
    }

    /// Returns whether [`len`](Self::len) is only a bound: how many samples there are turns out when
    /// they are read, one after another.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.n_given.is_some()
    }

    /// Number of samples, from the first on, that can be read before the plan is made.
    #[must_use]
    pub fn n_ready(&self) -> u64 {
        self.n_given.unwrap_or(self.len)
    }
}

/// Properties of a field of a [`Source`](crate::Source).
#[derive(Debug, Clone, Default)]
pub struct FieldFacts {
    /// True where the images are labels, such as masks, whose pixels must stay what they are whatever
    /// becomes of other images.
    pub keeps_pixels: bool,
    /// True where a [value](crate::Source::value) is known without reading the sample.
    pub is_known: bool,
    /// Names of the classes that numbers within the field stand for, where the dataset has such
    /// beside those of its schema. They are compared where sources are taken together.
    pub inner: Vec<InnerClasses>,
    /// Name of the field in the source's own files, where a dataset of the same kind would not call
    /// it so by itself: `txt`, not `txt.txt`, in the shards of others. Packing into that kind keeps it.
    pub member: Option<String>,
}

/// Sentences for the user about how a source was taken. Some are found only as samples are read.
#[derive(Clone, Default)]
pub struct Remarks(Vec<Entry>);

#[derive(Clone)]
enum Entry {
    Known(Remark),
    Found(Arc<dyn Fn() -> Vec<Remark> + Send + Sync>),
}

impl Remarks {
    /// Adds one.
    pub fn push(&mut self, remark: Remark) {
        self.0.push(Entry::Known(remark));
    }

    /// Adds what reading finds: `found` is called whenever someone asks.
    pub fn push_found(&mut self, found: impl Fn() -> Vec<Remark> + Send + Sync + 'static) {
        self.0.push(Entry::Found(Arc::new(found)));
    }

    /// Adds those of another source.
    pub fn append(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    /// All of them, with what was found so far.
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
