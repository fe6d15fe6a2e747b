//! Rows that the loader's threads leave to a GPU to decode or draw.
use super::cache::{CacheIndex, CachedImage};
use crate::{
    batch::RowFacts,
    buffer::RowBuffers,
    dataset::Fetched,
    device::DeviceProgram,
    engine::{Epoch, RowMaker},
    options::DeviceDecoder,
    order::Row,
    transform::{self, Rect, Resample, first_level, upper_bits},
};
use fdconvert_core::{Codec, Error, LanesImage, Result};
use fdconvert_gpu::{Change, Crop, Limits, Prepared, Request};
use std::sync::Arc;

/// Decides for the loader's threads which rows the GPU decodes.
pub(crate) struct Offload {
    decoder: DeviceDecoder,
    /// True if nvJPEG decodes JPEGs without entry points.
    has_library: bool,
    pub(super) cached: CacheIndex,
}

pub(crate) enum Decoding {
    /// Our kernels, with the parsed image.
    Kernels(Prepared),
    /// nvJPEG, which parses the image itself.
    Library,
}

/// A row for the GPU: an image, the shown part, and the changes to it.
pub(crate) struct DeviceRow {
    pub(super) image: RowImage,
    resample: Resample,
    changes: Vec<Change>,
}

/// The image of such a row: encoded, or the numbers to draw it from and the corner of the shown
/// part.
pub(super) enum RowImage {
    Read(Fetched, Decoding),
    Cached(CachedImage),
    Drawn(Box<LanesImage>, (u32, u32)),
}

pub(crate) struct DeviceRows {
    pub(super) rows: Vec<Option<DeviceRow>>,
    /// Positions of all rows in the epoch.
    positions: Vec<Row>,
    epoch: Arc<Epoch>,
}

impl Offload {
    pub(super) fn new(decoder: DeviceDecoder, has_library: bool) -> Self {
        Self { decoder, has_library, cached: CacheIndex::default() }
    }

    /// Returns a sample in the GPU's cache, which need not be read.
    pub(crate) fn cached(&self, sample: u64) -> Option<CachedImage> {
        self.cached.get(sample)
    }

    /// Returns the GPU's decoder for an image; `None` leaves it to the host.
    pub(crate) fn decoding(&self, fetched: &Fetched) -> Option<Decoding> {
        let Fetched { image, .. } = fetched;
        if image.codec != Codec::Jpeg || self.decoder == DeviceDecoder::Cpu {
            return None;
        }
        if self.decoder == DeviceDecoder::NvJpeg {
            return Some(Decoding::Library);
        }
        match Prepared::new(
            &image.bytes,
            image.entry_points.as_ref().map(|stored| &stored[..]),
            Limits::DEFAULT,
        ) {
            // Crops are drawn for the size in the dataset's tables.
            Ok(it) if (it.width(), it.height()) == (image.width, image.height) => {
                Some(Decoding::Kernels(it))
            }
            Err(_) if self.has_library => Some(Decoding::Library),
            _ => None,
        }
    }

    /// Returns true if the GPU draws the images that it can.
    pub(crate) fn draws(&self) -> bool {
        self.decoder != DeviceDecoder::Cpu
    }

    /// Returns the rows of a batch that are left to the GPU.
    pub(crate) fn rows(
        &self,
        rows: Vec<Option<DeviceRow>>,
        positions: Vec<Row>,
        epoch: Arc<Epoch>,
    ) -> DeviceRows {
        DeviceRows { rows, positions, epoch }
    }
}

impl DeviceRow {
    /// Creates a row of an image that was read.
    pub(crate) fn read(fetched: Fetched, decoding: Decoding, program: DeviceProgram) -> Self {
        Self::new(RowImage::Read(fetched, decoding), program)
    }

    fn new(image: RowImage, DeviceProgram { resample, changes }: DeviceProgram) -> Self {
        Self { image, resample, changes: changes.iter().filter_map(in_kernels).collect() }
    }

    /// Creates a row of an image in the GPU's cache.
    pub(crate) fn cached(image: CachedImage, program: DeviceProgram) -> Self {
        Self::new(RowImage::Cached(image), program)
    }

    /// Creates a row of an image that the GPU draws from a corner on. Without an offload there is
    /// no GPU.
    pub(crate) fn drawn(
        _offload: &Offload,
        (image, corner): (LanesImage, (u32, u32)),
        program: DeviceProgram,
    ) -> Self {
        Self::new(RowImage::Drawn(Box::new(image), corner), program)
    }

    fn request(&self) -> Request<'_> {
        let (flip, changes) = (self.resample.mirrored, &*self.changes);
        let (image, (width, height)) = match &self.image {
            RowImage::Drawn(image, corner) => {
                return Request { flip, changes, ..Request::drawn(image, *corner) };
            }
            RowImage::Cached(image) => (Request::stored(&image.stored), image.size()),
            RowImage::Read(Fetched { image, .. }, decoding) => {
                let request = match decoding {
                    Decoding::Kernels(prepared) => Request::prepared(prepared, &image.bytes),
                    Decoding::Library => Request::whole(&image.bytes, None),
                };
                (request, (image.width, image.height))
            }
        };
        let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
        let rect = self.resample.rect;
        let crop = Crop {
            left: (rect.x / width) as f32,
            top: (rect.y / height) as f32,
            width: (rect.width / width) as f32,
            height: (rect.height / height) as f32,
        };
        // The filter reaches beyond the rectangle, so that the geometry needs more than the
        // rectangle.
        let reach = rect != Rect::from(self.resample.needed);
        Request { crop, reach, flip, changes, ..image }
    }
}

impl DeviceRows {
    /// Returns the GPU's request for each row of the batch: empty for rows made by the host.
    pub(super) fn requests(&self) -> Vec<Request<'_>> {
        let nothing = || Request::whole(&[], None);
        self.rows.iter().map(|row| row.as_ref().map_or_else(nothing, DeviceRow::request)).collect()
    }

    /// Returns true if the GPU makes a row.
    pub(super) fn contains(&self, row: usize) -> bool {
        self.rows.get(row).is_some_and(Option::is_some)
    }

    /// Returns true if the GPU draws a row.
    pub(super) fn is_drawn(&self, row: usize) -> bool {
        let row = self.rows.get(row).and_then(Option::as_ref);
        row.is_some_and(|row| matches!(row.image, RowImage::Drawn(..)))
    }

    /// Counts a row that the GPU decoded.
    pub(super) fn count(&self, row: usize) {
        if let Some(sample) =
            self.positions.get(row).and_then(|row| self.epoch.at(row.position).ok())
        {
            self.epoch.count(&sample);
        }
    }

    /// Makes a row on the host that failed on the GPU, on the calling thread and under the policy
    /// for failures; returns its facts and bytes.
    ///
    /// # Errors
    /// The errors of the sample, subject to the policy.
    pub(super) fn make_on_host(
        &mut self,
        row: usize,
        maker: &mut Option<RowMaker>,
    ) -> Result<(RowFacts, RowBuffers)> {
        let no_row = || Error::usage("row", format!("there is no {row} in the batch"));
        let position = *self.positions.get(row).ok_or_else(no_row)?;
        let fetched = match self.rows.get_mut(row).and_then(Option::take) {
            Some(DeviceRow { image: RowImage::Read(fetched, _), .. }) => Some(Ok(fetched)),
            _ => None,
        };
        let maker = match maker {
            Some(maker) => maker,
            none => none.insert(RowMaker::new(self.epoch.clone())),
        };
        maker.make_alone(position, fetched)
    }
}

/// Converts a change to that of the kernels; `None` if they lack it.
fn in_kernels(change: &transform::Change) -> Option<Change> {
    Some(match *change {
        transform::Change::AdjustBrightness(factor) => Change::Brightness(factor as f32),
        transform::Change::Posterize(n_bits) => Change::Posterize(upper_bits(n_bits.into())),
        transform::Change::Solarize(threshold) => Change::Solarize(first_level(threshold)),
        transform::Change::Invert => Change::Invert,
        transform::Change::Equalize => Change::Equalize,
        _ => return None,
    })
}
