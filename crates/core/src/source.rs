use crate::{Ahead, Codec, Encoded, Image, Remark, Result, Sample, Schema, SourceFacts, Value};
use std::{convert::Infallible, ops::Range};

/// A finite, indexable dataset that many threads may read at the same time.
///
/// Properties of the dataset as a whole are its [facts](SourceFacts). The methods after
/// [`end`](Self::end) are shorthands for these and other methods, and sources do not override them.
pub trait Source: Send + Sync {
    /// Returns the properties of the dataset as a whole.
    fn facts(&self) -> &SourceFacts;

    /// Reads sample `index`, the same on every call.
    ///
    /// # Errors
    /// `Sample` when this sample is bad and others may be fine; `Io` or `Corrupt` when the dataset
    /// as a whole is bad; `Usage` when `index` is not below [`len`](Self::len), or below the
    /// [end](Self::end) of an open source.
    fn read(&self, index: u64) -> Result<Sample<Image>>;

    /// Returns the key of sample `index`, even if the sample cannot be read: skip lists contain it.
    fn key(&self, index: u64) -> String;

    /// Returns sixteen bytes that change with the listing of the source: the keys, and for files
    /// the property `look`. Resuming an interrupted run compares them; no content is read for this.
    ///
    /// # Errors
    /// Those of [`Look`]; none if no file has to be checked.
    fn fingerprint(&self, look: Look) -> Result<[u8; 16]>;

    /// Returns the value of an integer, float, text or JSON field of sample `index`, as
    /// [`read`](Self::read) does; `None` for other fields. The default reads the sample; sources
    /// with faster access override it.
    ///
    /// # Errors
    /// As for [`read`](Self::read), as far as this value is concerned: another value of the sample
    /// may be bad.
    fn value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        read_value(self, index, field)
    }

    /// Returns the probable stored codec of the first image of sample `index`, without reading it:
    /// from its name, the default, or its row. A hint for plans, not a promise.
    ///
    /// # Errors
    /// As for [`read`](Self::read), if the file has to be checked.
    fn codec_hint(&self, index: u64) -> Result<Option<Codec>> {
        let key = self.key(index);
        Ok(key.rsplit_once('.').and_then(|(_, extension)| Codec::from_extension(extension)))
    }

    /// Returns the bytes of sample `index`, if known without reading it.
    ///
    /// # Errors
    /// `Sample` when the file is missing or may not be read; `Io` for other system failures.
    fn bytes(&self, _index: u64, _amount: Amount) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Returns width and height of the first image of sample `index`, if known without reading it:
    /// from its row or an index.
    ///
    /// # Errors
    /// As for [`value`](Self::value).
    fn image_size(&self, _index: u64) -> Result<Option<(u32, u32)>> {
        Ok(None)
    }

    /// Announces samples that will be read soon, for sources with slow reads, such as those in
    /// stores: fetches the data, merges nearby ranges, and keeps it until the result is dropped.
    /// Returns at once and cannot fail; reads have the same results, announced or not. The default
    /// does nothing.
    fn read_ahead(&self, _indices: &[u64]) -> Ahead {
        Ahead::default()
    }

    /// Returns the number of samples of an [open](SourceFacts::is_open) source, once known; `None`
    /// before that, and for all other sources.
    fn end(&self) -> Option<u64> {
        None
    }

    /// Returns the fields of every sample.
    fn schema(&self) -> &Schema {
        &self.facts().schema
    }

    /// Returns the number of samples.
    fn len(&self) -> u64 {
        self.facts().len
    }

    /// Returns true if there are no samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the [name](SourceFacts::name).
    fn name(&self) -> &str {
        &self.facts().name
    }

    /// Returns the [splits](SourceFacts::splits).
    fn splits(&self) -> &[(String, Range<u64>)] {
        &self.facts().splits
    }

    /// Returns the [remarks](SourceFacts::remarks) so far.
    fn remarks(&self) -> Vec<Remark> {
        self.facts().remarks.list()
    }

    /// Returns the class of sample `index` (see [`Schema::label`]), `None` without one.
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

    /// Estimates the bytes that an announcement of sample `index` keeps in memory.
    fn ahead_bytes(&self, index: u64) -> u64 {
        self.bytes(index, Amount::Announced).ok().flatten().unwrap_or(0)
    }
}

/// Reads a sample to return one [value](Source::value).
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

/// Property of files for [`Source::fingerprint`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Size. A missing or forbidden file is an error of its sample (`Sample`), any other failure
    /// one of the whole (`Io`).
    Sizes,
    /// Size; a missing or forbidden file counts as such: runs that skip bad samples skip it. Any
    /// other failure is an error (`Io`).
    SizesSparing,
    /// Modification time, if known, whether or not the size changed. It is never stored in a
    /// finished output. A missing file counts as such; any other failure is an error (`Io`).
    Times,
}

/// Bytes of a sample for [`Source::bytes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Stored bytes of its images, if known without a request to a store.
    Known,
    /// Stored bytes of its images: for plans by size, which must not change because of a failed
    /// check.
    Planned,
    /// Estimated bytes that an announcement keeps in memory.
    Announced,
}

impl From<Encoded> for Image {
    fn from(encoded: Encoded) -> Self {
        Self::Encoded(encoded)
    }
}

impl From<Value<Encoded>> for Value<Image> {
    fn from(value: Value<Encoded>) -> Self {
        match value.try_map_image(|image| Ok::<_, Infallible>(Image::Encoded(image))) {
            Ok(value) => value,
            Err(never) => match never {},
        }
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
