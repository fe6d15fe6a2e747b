use crate::{Encoded, Error, LanesImage, Provenance, Result, Sample, Source};
use bytes::Bytes;
use std::{path::Path, sync::Arc};

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

    /// Returns what it can do because its images are stored nowhere, but drawn when they are read;
    /// `None`, the default, for stored ones.
    fn as_generated(&self) -> Option<&dyn Generated> {
        None
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

/// A [`Reader`] that draws its images. Of them [`read`](Source::read) gives the pixels in their smallest
/// form, and [`get`](Reader::get) the same pixels as raw RGB.
pub trait Generated {
    /// Returns how images are drawn.
    fn drawn(&self) -> Drawn;

    /// The dataset with its images drawn at another side. Number, keys and labels of the samples
    /// stay.
    ///
    /// # Errors
    /// `Usage` for a side at which nothing can be drawn.
    fn drawn_at(&self, side: u32) -> Result<Box<dyn Reader>>;

    /// The dataset as it is in that epoch of a training run, for datasets that make new samples of
    /// the same classes every epoch; `None` where all epochs are the same. Number and labels of
    /// the samples stay.
    ///
    /// # Errors
    /// What opening it again may say.
    fn at_epoch(&self, epoch: u64) -> Result<Option<Box<dyn Reader>>>;

    /// The numbers that image `index` is drawn from, for those who draw it elsewhere, to the same
    /// pixels as [`read`](Source::read) gives; key and label are those of the sample. `None` for
    /// images that are drawn in any other way.
    ///
    /// # Errors
    /// As for [`Source::read`].
    fn lanes(&self, index: u64) -> Result<Option<LanesImage>>;
}
