use crate::{Ahead, Codec, Encoded, Image, Remark, Result, Sample, Schema, SourceFacts, Value};
use std::{convert::Infallible, ops::Range};

/// A finite, indexable dataset that many threads may read at the same time.
///
/// What is the same for all samples is one of the [facts](SourceFacts). The methods below
/// [`end`](Self::end) are short for these and for others, and no source has its own.
pub trait Source: Send + Sync {
    /// Properties of the dataset as a whole.
    fn facts(&self) -> &SourceFacts;

    /// Sample `index`, the same on every call.
    ///
    /// # Errors
    /// `Sample` when this one is bad and the others may be fine; `Io` or `Corrupt` when the
    /// dataset as a whole is; `Usage` when `index` is not below [`len`](Self::len), or
    /// below the [end](Self::end) of an open source.
    fn read(&self, index: u64) -> Result<Sample<Image>>;

    /// The key of sample `index`, also where the sample itself cannot be read: skip lists name it.
    fn key(&self, index: u64) -> String;

    /// Sixteen bytes that change when the listing of the source changes: the keys, and for files
    /// what `look` says. Resuming an interrupted run compares them; no content is read for this.
    ///
    /// # Errors
    /// Those of [`Look`]; none where nothing has to be looked at.
    fn fingerprint(&self, look: Look) -> Result<[u8; 16]>;

    /// The value of a field of integers, floats or texts of sample `index`, `None` for other fields.
    /// The default reads the sample; sources that know it otherwise override it.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        read_value(self, index, field)
    }

    /// Returns what the first image of sample `index` is probably stored as, without reading it:
    /// from its name, the default, or its row. A hint for plans, no promise.
    ///
    /// # Errors
    /// As for [`read`](Self::read), where it takes a look.
    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        let key = self.key(index);
        Ok(key.rsplit_once('.').and_then(|(_, extension)| Codec::from_extension(extension)))
    }

    /// Bytes of sample `index`, where they are known without reading it.
    ///
    /// # Errors
    /// `Sample` when the file is missing or may not be read; `Io` when the system fails otherwise.
    fn bytes(&self, _index: u64, _amount: Amount) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Announces samples that will be read soon, for sources where a read takes its time, such as
    /// those in stores: what they need is fetched, near ranges together, and kept until the result
    /// is dropped. It returns at once and cannot fail; reads give the same, announced or not. The
    /// default does nothing.
    fn read_ahead(&self, _indices: &[u64]) -> Ahead {
        Ahead::default()
    }

    /// Number of samples of an [open](SourceFacts::is_open) source, when it is known; `None` before that,
    /// and for all others.
    fn end(&self) -> Option<u64> {
        None
    }

    /// Fields of every sample.
    fn schema(&self) -> &Schema {
        &self.facts().schema
    }

    /// Number of samples.
    fn len(&self) -> u64 {
        self.facts().len
    }

    /// True when there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The [name](SourceFacts::name).
    fn name(&self) -> &str {
        &self.facts().name
    }

    /// The [splits](SourceFacts::splits).
    fn splits(&self) -> &[(String, Range<u64>)] {
        &self.facts().splits
    }

    /// The [remarks](SourceFacts::remarks), as many as there are by now.
    fn remarks(&self) -> Vec<Remark> {
        self.facts().remarks.list()
    }

    /// The class of sample `index` (see [`Schema::label`]), `None` without one.
    ///
    /// # Errors
    /// As for [`value`](Self::value).
    fn label(&self, index: u64) -> Result<Option<i64>> {
        let Some(field) = self.schema().label() else { return Ok(None) };
        Ok(match self.value(index, field)? {
            Some(Value::Int(label)) => Some(label),
            _ => None,
        })
    }

    /// About how many bytes an announcement of sample `index` keeps in memory.
    fn ahead_bytes(&self, index: u64) -> u64 {
        self.bytes(index, Amount::Announced).ok().flatten().unwrap_or(0)
    }
}

/// A [value](Source::value) of a sample, which is read for it.
///
/// # Errors
/// As for [`Source::read`].
pub fn read_value(
    source: &(impl Source + ?Sized),
    index: u64,
    field: usize,
) -> Result<Option<Value<Image>>> {
    Ok(source.read(index)?.values.into_iter().nth(field).filter(Value::is_plain))
}

/// Property of files that [`Source::fingerprint`] looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Their sizes. A file that is missing or may not be read is an error of its sample (`Sample`),
    /// and all else that fails one of the whole (`Io`).
    Sizes,
    /// Their sizes; one that is missing or may not be read counts as such: runs that leave samples
    /// out leave that one out. All else that fails is an error (`Io`).
    SizesSparing,
    /// The times at which they were written to, where they are known: another size or not. Nothing
    /// stores them in a finished output. One that is missing counts as such; all else that fails is
    /// an error (`Io`).
    Times,
}

/// Bytes of a sample that [`Source::bytes`] counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Those of its images as stored, where no store has to be asked.
    Known,
    /// Those of its images as stored: for plans by size, which must not change because a look failed.
    Planned,
    /// About those that an announcement keeps in memory.
    Announced,
}

impl From<Encoded> for Image {
    fn from(encoded: Encoded) -> Self {
        Self::Encoded(encoded)
    }
}

impl From<Sample<Encoded>> for Sample<Image> {
    fn from(sample: Sample<Encoded>) -> Self {
        match sample.try_map_image(|image| Ok::<_, Infallible>(Image::Encoded(image))) {
            Ok(sample) => sample,
            Err(never) => match never {},
        }
    }
}
