use crate::{Encoded, Error, LanesImage, Provenance, Result, Sample, Source};
use bytes::Bytes;
use std::{path::Path, sync::Arc};

/// Place of bytes in a file, for loaders that read past the page cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The file.
    pub path: Arc<Path>,
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// XXH3-64 of the bytes, seed 0, if recorded.
    pub xxh3: Option<u64>,
}

/// Size of generated images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// Columns and rows of an image.
    pub side: u32,
    /// True if this is a default that the user has not set: images may be shown at another size.
    pub is_free: bool,
}

/// A stored dataset: a [`Source`] with images that are already encoded.
pub trait Reader: Source {
    /// Returns sample `index`; bytes borrow the underlying storage if that is mapped.
    ///
    /// # Errors
    /// As for [`Source::read`].
    fn get(&self, index: u64) -> Result<Sample<Encoded>>;

    /// Returns several samples, in the order of `indices`. The default reads them one by one;
    /// storage with high latency overrides it.
    fn get_many(&self, indices: &[u64]) -> Vec<Result<Sample<Encoded>>> {
        indices.iter().map(|&index| self.get(index)).collect()
    }

    /// Returns the additional interface of datasets that draw their images on reading; `None`, the
    /// default, for stored ones.
    fn as_generated(&self) -> Option<&dyn Generated> {
        None
    }

    /// Returns the sizes of groups of samples with similar costs of reading and decoding, such as
    /// those of one codec; they add up to [`len`](Source::len). Loaders spread each group evenly
    /// over an epoch. They are the same in every epoch of a dataset. The default is one group of
    /// all samples.
    fn strata(&self) -> Vec<u64> {
        vec![self.len()]
    }

    /// Returns the index of the sample at `position` of a group of [`strata`](Self::strata): each
    /// sample is at one position of one group. The result is unspecified for a group or position
    /// that does not exist, but such a call must not panic.
    fn stratum_sample(&self, _stratum: usize, position: u64) -> u64 {
        position
    }

    /// Returns the place of the bytes of the first image of sample `index`, exactly those that
    /// [`get`](Self::get) returns, if it is known without reading them: it takes the dataset's
    /// tables and never the page of an image. `None`, the default, if there is no such file: for
    /// bytes that are compressed, made on reading, or found by reading.
    ///
    /// # Errors
    /// As for [`get`](Self::get), regarding the tables.
    fn image_extent(&self, _index: u64) -> Result<Option<Extent>> {
        Ok(None)
    }

    /// Returns the recorded entry points of the JPEG in field `field` of sample `index`: complete
    /// bytes that belong to that image, to be read together with it. `None`, the default, without
    /// entry points, and for other fields.
    ///
    /// # Errors
    /// As for [`get`](Self::get); `Sample` also when the record is damaged or belongs to another
    /// image. The image itself may still be sound.
    fn entry_points(&self, _index: u64, _field: usize) -> Result<Option<Bytes>> {
        Ok(None)
    }

    /// Returns how the dataset was made, if recorded.
    fn provenance(&self) -> Option<&Provenance> {
        None
    }

    /// Returns facts about the stored form, for `inspect`: an object, with keys in display order.
    fn details(&self) -> serde_json::Map<String, serde_json::Value>;

    /// Checks every rule of the layout for the dataset as a whole. Empty when all hold.
    fn verify_layout(&self) -> Vec<Error>;

    /// Checks sample `index` without decoding it: bounds, sizes, and checksums if recorded.
    ///
    /// # Errors
    /// `Sample` or `Corrupt`, with the fault.
    fn verify_sample(&self, index: u64) -> Result<()>;

    /// Checks the table entries of sample `index` against recorded checksums: its key, its numbers
    /// such as the label, and the places of its values, but not the values. The first call reads
    /// the tables as a whole (about 100 bytes per sample). [`verify_layout`](Self::verify_layout)
    /// covers this check. The default, for datasets without such checksums, finds nothing.
    ///
    /// # Errors
    /// `Sample`, also when recorded checksums cannot be read any more; `Usage` when `index` is not
    /// below [`len`](Source::len).
    fn verify_row(&self, _index: u64) -> Result<()> {
        Ok(())
    }

    /// Returns true if every sample has its own checksums, so that
    /// [`verify_sample`](Self::verify_sample) detects a changed value.
    fn has_checksums(&self) -> bool {
        false
    }
}

/// A [`Reader`] that draws its images. [`read`](Source::read) returns the pixels in their smallest
/// form, and [`get`](Reader::get) the same pixels as raw RGB.
pub trait Generated {
    /// Returns the size of the images.
    fn drawn(&self) -> Drawn;

    /// Returns the dataset with its images drawn at another size, and unchanged number, keys and
    /// labels of samples.
    ///
    /// # Errors
    /// `Usage` for an impossible size.
    fn drawn_at(&self, side: u32) -> Result<Box<dyn Reader>>;

    /// Returns the dataset for that epoch of a training run, if it makes new samples of the same
    /// classes in every epoch; `None` if all epochs are the same. Number and labels of the samples
    /// stay.
    ///
    /// # Errors
    /// Those of opening it again.
    fn at_epoch(&self, epoch: u64) -> Result<Option<Box<dyn Reader>>>;

    /// Returns the numbers that determine image `index`, for callers that draw it themselves, with
    /// the same pixels as [`read`](Source::read); key and label are those of the sample. `None` for
    /// images drawn in any other way.
    ///
    /// # Errors
    /// As for [`Source::read`].
    fn lanes(&self, index: u64) -> Result<Option<LanesImage>>;
}
