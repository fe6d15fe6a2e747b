use crate::{
    Ahead, Codec, Encoded, Error, Ignored, Image, InnerClasses, LanesImage, Provenance, Remark,
    Result, Sample, Schema, Splits, Value,
};
use bytes::Bytes;
use std::{convert::Infallible, path::Path, sync::Arc};

/// A finite, indexable dataset that many threads may read at the same time.
pub trait Source: Send + Sync {
    /// Fields of every sample.
    fn schema(&self) -> &Schema;

    /// Names of fields that it has and leaves out because that was asked for when it was
    /// [opened](crate::OpenOptions::drop_fields).
    fn dropped_fields(&self) -> &[String] {
        &[]
    }

    /// Number of samples.
    fn len(&self) -> u64;

    /// True when there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of samples, from the first on, that can be read before the plan is made, which looks at
    /// no others. The default is all of them; an [open](Self::is_open) source has fewer.
    fn n_ready(&self) -> u64 {
        self.len()
    }

    /// Returns whether [`len`](Self::len) is only a bound: how many samples there are turns out when
    /// they are read, one after another.
    fn is_open(&self) -> bool {
        false
    }

    /// Number of samples of an [open](Self::is_open) source, when it is known; `None` before that, and
    /// for all others.
    fn end(&self) -> Option<u64> {
        None
    }

    /// Sample `index`, the same on every call.
    ///
    /// # Errors
    /// `Sample` when this one is bad and the others may be fine; `Io` or `Corrupt` when the
    /// dataset as a whole is; `Usage` when `index` is not below [`len`](Self::len), or
    /// below the [end](Self::end) of an open source.
    fn read(&self, index: u64) -> Result<Sample<Image>>;

    /// Returns whether the source reads samples sooner that are [announced](Self::read_ahead).
    fn reads_ahead(&self) -> bool {
        false
    }

    /// Announces samples that will be read soon, for sources where a read takes its time, such as
    /// those in stores: what they need is fetched, near ranges together, and kept until the result
    /// is dropped. It returns at once and cannot fail; reads give the same, announced or not. The
    /// default does nothing.
    fn read_ahead(&self, _indices: &[u64]) -> Ahead {
        Ahead::default()
    }

    /// About how many bytes an announcement of sample `index` keeps in memory.
    fn ahead_bytes(&self, index: u64) -> u64 {
        self.image_bytes(index).unwrap_or(0)
    }

    /// The key of sample `index`, also where the sample itself cannot be read: skip lists name it.
    fn key(&self, index: u64) -> String;

    /// The class of sample `index` (see [`Schema::label`]), `None` without one. The default reads
    /// the sample; sources that know it otherwise override it.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    fn label(&self, index: u64) -> Result<Option<i64>> {
        let Some(field) = self.schema().label() else { return Ok(None) };
        let sample = self.read(index)?;
        Ok(match sample.values.get(field) {
            Some(Value::Int(label)) => Some(*label),
            _ => None,
        })
    }

    /// The value of a field of integers, floats or texts of sample `index`, `None` for other fields.
    /// The default reads the sample; sources that know it otherwise override it.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    fn plain_value(&self, index: u64, field: usize) -> Result<Option<Value<Image>>> {
        let value = self.read(index)?.values.into_iter().nth(field);
        Ok(value.filter(|it| matches!(it, Value::Int(_) | Value::Float(_) | Value::Text(_))))
    }

    /// Returns whether [`plain_value`](Self::plain_value) is known without reading the sample.
    fn knows_plain_values(&self) -> bool {
        false
    }

    /// Returns whether the images of a field are labels, such as masks, whose pixels must stay what
    /// they are whatever becomes of other images.
    fn keeps_pixels(&self, _field: usize) -> bool {
        false
    }

    /// Names of the classes that numbers within a field stand for, where the dataset has such beside
    /// those of its [schema](Self::schema). They are compared where sources are taken together.
    fn inner_classes(&self, _field: usize) -> Vec<InnerClasses> {
        Vec::new()
    }

    /// Returns what the first image of sample `index` is probably stored as, without reading it:
    /// from its name or its row. A hint for plans, no promise.
    fn codec_hint(&self, index: u64) -> Option<Codec> {
        let key = self.key(index);
        let (_, extension) = key.rsplit_once('.')?;
        Codec::from_extension(extension)
    }

    /// Returns what the source's own files call a field of the schema, where a dataset of the same
    /// kind would not call it so by itself: `txt`, not `txt.txt`, in the shards of others. Packing
    /// into that kind keeps the name.
    fn member_name(&self, _field: usize) -> Option<String> {
        None
    }

    /// Bytes of the images of sample `index` as stored in the source, where they are known without
    /// reading them; for plans by size.
    fn image_bytes(&self, _index: u64) -> Option<u64> {
        None
    }

    /// [`image_bytes`](Self::image_bytes) for plans, which must not change because a look failed.
    /// The default is for sources that know it without looking.
    ///
    /// # Errors
    /// `Sample` when the file is missing or may not be read; `Io` when the system fails otherwise.
    fn planned_bytes(&self, index: u64) -> Result<Option<u64>> {
        Ok(self.image_bytes(index))
    }

    /// Parts that the source itself has, such as its folders or its shards `train` and `val`. Empty,
    /// the default, for none.
    fn splits(&self) -> Splits {
        Vec::new()
    }

    /// Returns what a user should know of how the source was taken, in sentences: for the summary.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }

    /// Returns where the labels come from, or why there are none, as the end of a sentence: `from
    /// folders`. `None`, the default, where the samples have them as fields.
    fn label_origin(&self) -> Option<String> {
        None
    }

    /// Returns what lies in the source and is not a sample, so that nothing is left out in silence.
    fn left_out(&self) -> Ignored {
        Ignored::default()
    }

    /// A short name for people and for the record of how a dataset was made: the last part of a
    /// path, never the whole (the bytes written must not depend on where the source lies).
    fn name(&self) -> String;

    /// Sixteen bytes that change when the listing of the source changes: the keys, and for files
    /// their sizes. Resuming an interrupted run compares them; no content is read for this.
    fn fingerprint(&self) -> [u8; 16];

    /// Sixteen bytes that also change when a file of the source is written to and keeps its size,
    /// where that is known: by its modification time. Resuming compares them; nothing stores them
    /// in a finished output. The default is the [`fingerprint`](Self::fingerprint) alone.
    ///
    /// # Errors
    /// `Io` when a file cannot be looked at; one that is missing counts as such.
    fn stamp(&self) -> Result<[u8; 16]> {
        Ok(self.fingerprint())
    }

    /// [`fingerprint`](Self::fingerprint) for runs, which must not take a failed look for a change.
    /// With `spare_samples`, a file that is missing or may not be read counts as such and does not
    /// fail the whole: the run leaves that sample out. The default is for sources that know it
    /// without looking.
    ///
    /// # Errors
    /// `Sample` without `spare_samples`; `Io` when the system fails otherwise.
    fn checked_fingerprint(&self, _spare_samples: bool) -> Result<[u8; 16]> {
        Ok(self.fingerprint())
    }
}

/// Place of bytes in a file: for loaders that read past the page cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The file.
    pub path: Arc<Path>,
    /// Offset of the first of them, in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Their XXH3-64, seed 0, where it was recorded.
    pub xxh3: Option<u64>,
}

/// Size of the images of a dataset that draws them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// Columns of an image, which are as many as its rows.
    pub side: u32,
    /// True if that is a default, and no one has asked for it: images may be shown at another side.
    pub is_free: bool,
}

/// A stored dataset: a [`Source`] whose images are already encoded.
pub trait Reader: Source {
    /// Sample `index`; bytes borrow the underlying storage where there is a map to borrow from.
    ///
    /// # Errors
    /// As for [`Source::read`].
    fn get(&self, index: u64) -> Result<Sample<Encoded>>;

    /// Several samples at once, results in the order asked for. The default asks one by one;
    /// storage with high latency overrides it.
    fn get_many(&self, indices: &[u64]) -> Vec<Result<Sample<Encoded>>> {
        indices.iter().map(|&index| self.get(index)).collect()
    }

    /// The dataset as it is in that epoch of a training run, for datasets that make new samples of
    /// the same classes every epoch; `None` where all epochs are the same. Number and labels of
    /// the samples stay.
    ///
    /// # Errors
    /// What opening it again may say.
    fn at_epoch(&self, _epoch: u64) -> Result<Option<Box<dyn Reader>>> {
        Ok(None)
    }

    /// Returns how images are drawn that are not stored anywhere, but made when they are read; `None`,
    /// the default, for stored ones. Of drawn images [`read`](Source::read) gives the pixels in
    /// their smallest form, and [`get`](Self::get) the same pixels as raw RGB.
    fn drawn(&self) -> Option<Drawn> {
        None
    }

    /// The dataset with its images drawn at another side; `None`, the default, for stored images.
    /// Number, keys and labels of the samples stay.
    ///
    /// # Errors
    /// `Usage` for a side at which nothing can be drawn.
    fn drawn_at(&self, _side: u32) -> Result<Option<Box<dyn Reader>>> {
        Ok(None)
    }

    /// The numbers that image `index` is drawn from, for those who draw it elsewhere, to the same
    /// pixels as [`read`](Source::read) gives; key and label are those of the sample. `None`, the
    /// default, for images that are drawn in any other way, and for stored ones.
    ///
    /// # Errors
    /// As for [`Source::read`].
    fn lanes(&self, _index: u64) -> Result<Option<LanesImage>> {
        Ok(None)
    }

    /// Sizes of the groups of samples that cost alike to read and to decode, such as those of one
    /// codec; they add up to [`len`](Source::len). Loaders spread each group evenly over an epoch.
    /// They are the same in every epoch of a dataset. The default is one group of all samples.
    fn strata(&self) -> Vec<u64> {
        vec![self.len()]
    }

    /// The number in the dataset of the sample at `position` of a group of
    /// [`strata`](Self::strata): each sample is at one position of one group. What the result is
    /// for a group or a position that does not exist is left open, but no such call may panic.
    fn stratum_sample(&self, _stratum: usize, position: u64) -> u64 {
        position
    }

    /// Returns where the bytes of the first image of sample `index` lie, exactly those that
    /// [`get`](Self::get) gives, for datasets that know it without looking at them. To find it
    /// takes the dataset's tables and never the page of an image. `None`, the default, where there
    /// is no such file: bytes that are compressed, made when they are read, or found by reading.
    ///
    /// # Errors
    /// As for [`get`](Self::get), for what its tables say.
    fn image_extent(&self, _index: u64) -> Result<Option<Extent>> {
        Ok(None)
    }

    /// Returns where a decoder may start inside the JPEG in field `field` of sample `index`, where
    /// that was recorded: bytes that are whole and belong to that image, to be read together with
    /// it. `None`, the default, where there are none, and for fields that are no images.
    ///
    /// # Errors
    /// As for [`get`](Self::get); `Sample` also when what was recorded is damaged or of another
    /// image. The image itself may still be sound.
    fn entry_points(&self, _index: u64, _field: usize) -> Result<Option<Bytes>> {
        Ok(None)
    }

    /// Returns how the dataset was made, where that was recorded.
    fn provenance(&self) -> Option<&Provenance> {
        None
    }

    /// Facts about the stored form, for `inspect`: an object, keys in the order to show them.
    fn details(&self) -> serde_json::Map<String, serde_json::Value>;

    /// Checks every rule of the layout that concerns the dataset as a whole. Empty when all hold.
    fn verify_layout(&self) -> Vec<Error>;

    /// Checks sample `index` without decoding it: bounds, sizes, and checksums where recorded.
    ///
    /// # Errors
    /// `Sample` or `Corrupt`, naming what is wrong.
    fn verify_sample(&self, index: u64) -> Result<()>;

    /// Checks what the dataset's tables say of sample `index` against recorded checksums: its key,
    /// its numbers such as the label, and where its values lie, but none of the values. The tables
    /// are read as a whole by the first call (about 100 bytes per sample), and not again.
    /// [`verify_layout`](Self::verify_layout) covers it. The default, for datasets without such
    /// checksums, finds nothing.
    ///
    /// # Errors
    /// `Sample`, also when checksums were recorded and cannot be read any more; `Usage` when
    /// `index` is not below [`len`](Source::len).
    fn verify_row(&self, _index: u64) -> Result<()> {
        Ok(())
    }

    /// Returns whether every sample has checksums of its own, by which
    /// [`verify_sample`](Self::verify_sample) sees a changed value.
    fn has_checksums(&self) -> bool {
        false
    }
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
