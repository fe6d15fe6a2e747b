use crate::{
    Damage, Fallback, Gpu, GpuError, Output, Request, Status, Stored, Tensor,
    builder::Builder,
    drawings::DrawingPlan,
    layout::{ChangeLayout, ImageLayout, RowLayout, SegmentLayout, StateLayout, TableLayout},
};
use std::ops::Range;
use zerocopy::IntoBytes;

/// Limits on the work done at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Blocks of 8x8 values that are decoded together, unless one image has more. 2^18 of them keep
    /// the coefficients (128 bytes each) and samples (64 bytes) within the caches of large GPUs; a
    /// photograph of 500x375 pixels has about 4500 to 9000.
    pub chunk_blocks: u32,
    /// Blocks of the largest image that is accepted.
    pub max_image_blocks: u32,
}

impl Limits {
    /// Limits for images of any usual size.
    pub const DEFAULT: Self = Self { chunk_blocks: 1 << 18, max_image_blocks: 1 << 22 };
}

/// The work for a batch: the images that the kernels decode, their chunks, and the memory they
/// take. Needs no GPU; the images of the requests are parsed, not copied.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(crate) output: Output,
    pub(crate) images: Vec<ImageLayout>,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) sections: Sections,
    pub(crate) workspace: Workspace,
    pub(crate) segments: Vec<SegmentLayout>,
    pub(crate) restarts: Vec<u32>,
    pub(crate) huffman: Vec<TableLayout>,
    pub(crate) quantisation: Vec<[u16; 64]>,
    /// For each image that travels with the batch: its request, and the range of its scan.
    pub(crate) scans: Vec<Option<(usize, Range<usize>)>>,
    /// The stored images, which must live as long as the batch.
    pub(crate) stored: Vec<Stored>,
    /// Images that become output by way of 8-bit rows: all if there are changes, else only the
    /// drawn ones.
    pub(crate) rows: Vec<RowLayout>,
    pub(crate) changes: Vec<ChangeLayout>,
    pub(crate) drawings: DrawingPlan,
    pub(crate) work: Work,
    /// For each request: its image, or why there is none.
    pub(crate) outcomes: Vec<Result<Made, Fallback>>,
    pub(crate) output_bytes: u64,
}

/// Origin of the image of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// Position among the decoded images.
    Image(usize),
    /// Position among the drawn images.
    Drawing(usize),
}

/// Images in flight together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) first_image: u32,
    pub(crate) n_images: u32,
    pub(crate) n_blocks: u32,
    /// Blocks of MCUs that crops need.
    pub(crate) n_wanted: u32,
    /// The maximum over all images: wanted blocks, pixels of the window, rows of the window.
    pub(crate) max_wanted: u32,
    pub(crate) max_pixels: u64,
    pub(crate) max_rows: u32,
    pub(crate) pixels_bytes: u64,
    pub(crate) across_samples: u64,
}

/// Offsets of the arrays in the upload, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sections {
    pub(crate) scans: u64,
    pub(crate) images: u64,
    pub(crate) segments: u64,
    pub(crate) restarts: u64,
    pub(crate) tables: u64,
    pub(crate) quantisation: u64,
    pub(crate) systems: u64,
    pub(crate) drawn: u64,
    pub(crate) drawings: u64,
    pub(crate) rows: u64,
    pub(crate) changes: u64,
    pub(crate) end: u64,
}

/// Offsets of the kernels' arrays, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Workspace {
    pub(crate) states: u64,
    pub(crate) words: u64,
    pub(crate) lookups: u64,
    pub(crate) second: u64,
    pub(crate) coefficients: u64,
    pub(crate) samples: u64,
    pub(crate) pixels: u64,
    pub(crate) across: u64,
    pub(crate) bitmaps: u64,
    pub(crate) rows: u64,
    pub(crate) spare_rows: u64,
    pub(crate) end: u64,
}

/// The value in `kernels/fractal.cuh`.
const FRACTAL_EMPTY: u32 = 2;

impl Plan {
    /// Parses the images and lays out the batch. An image that the kernels cannot decode never
    /// fails the others: [`Plan::statuses`] has its reason. For a tensor, only the parts that the
    /// crops need are decoded.
    #[must_use]
    pub fn new(requests: &[Request<'_>], output: Output, limits: Limits) -> Self {
        Builder::new(output, limits, true).build(requests)
    }

    /// Plans the same batch with every image decoded in full, as a reference for [`Plan::new`].
    #[doc(hidden)]
    #[must_use]
    pub fn of_whole_images(requests: &[Request<'_>], output: Output, limits: Limits) -> Self {
        Builder::new(output, limits, false).build(requests)
    }

    /// Returns how much of the images is decoded.
    #[must_use]
    pub fn work(&self) -> Work {
        self.work
    }

    /// Returns the bytes that [`Plan::fill`] writes and the kernels read.
    #[must_use]
    pub fn upload_bytes(&self) -> u64 {
        self.sections.end
    }

    /// Returns the bytes of the kernels' working memory.
    #[must_use]
    pub fn workspace_bytes(&self) -> u64 {
        self.workspace.end
    }

    /// Returns the bytes of the output.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        self.output_bytes
    }

    /// Returns how many images the kernels decode.
    #[must_use]
    pub fn n_images(&self) -> usize {
        self.images.len()
    }

    /// Number of images that the kernels report on: decoded ones, then drawn ones.
    pub(crate) fn n_states(&self) -> usize {
        self.images.len() + self.drawings.images.len()
    }

    /// Returns the place of a request's image in the output, its width, height and channels, or
    /// `None` if it has none: in the native output, only images that the kernels decode have one.
    #[must_use]
    pub fn place(&self, request: usize) -> Option<Place> {
        let outcome = self.outcomes.get(request)?;
        if let Some(tensor) = self.output.tensor() {
            let n_bytes = tensor.image_bytes();
            let (width, height) = (tensor.width, tensor.height);
            let start = n_bytes * request as u64;
            return Some(Place { bytes: start..start + n_bytes, width, height, channels: 3 });
        }
        let Ok(Made::Image(image)) = *outcome else { return None };
        let image = self.images.get(image)?;
        let (width, height, channels) = (image.width, image.height, image.n_components);
        let n_bytes = u64::from(width) * u64::from(height) * u64::from(channels);
        let bytes = image.pixels_at..image.pixels_at + n_bytes;
        Some(Place { bytes, width, height, channels })
    }

    /// Writes the upload into `slab`, given the plan's requests and the address to which it is
    /// copied. Bytes of `slab` after [`Plan::upload_bytes`] are not written.
    pub fn fill(&self, requests: &[Request<'_>], slab: &mut [u8], upload_address: u64) {
        let mut write = |at: u64, bytes: &[u8]| {
            if let Some(to) = slab.get_mut(at as usize..).and_then(|it| it.get_mut(..bytes.len())) {
                to.copy_from_slice(bytes);
            }
        };
        let mut at = self.sections.images;
        for (image, scan) in self.images.iter().zip(&self.scans) {
            let mut image = *image;
            if let Some((request, scan)) = scan {
                let bytes = requests.get(*request).and_then(|request| request.image.bytes());
                let place = self.sections.scans + image.scan;
                write(place, bytes.and_then(|bytes| bytes.get(scan.clone())).unwrap_or_default());
                image.scan = upload_address + place;
            }
            write(at, image.as_bytes());
            at += size_of::<ImageLayout>() as u64;
        }
        write(self.sections.segments, self.segments.as_bytes());
        write(self.sections.restarts, self.restarts.as_bytes());
        write(self.sections.tables, self.huffman.as_bytes());
        write(self.sections.quantisation, self.quantisation.as_bytes());
        write(self.sections.systems, self.drawings.systems.as_bytes());
        write(self.sections.drawn, self.drawings.images.as_bytes());
        write(self.sections.drawings, self.drawings.drawings.as_bytes());
        write(self.sections.rows, self.rows.as_bytes());
        write(self.sections.changes, self.changes.as_bytes());
    }

    /// Returns the outcome of each request, given the kernels' findings.
    #[must_use]
    pub fn statuses(&self, states: &[StateLayout]) -> Vec<Status> {
        // Without a finding, nothing is known of the pixels.
        let flags = |at: usize| states.get(at).map_or(u32::MAX, |state| state.flags);
        let status = |outcome: &Result<Made, Fallback>| match *outcome {
            Err(ref fallback) => Status::Fallback(fallback.clone()),
            Ok(Made::Image(image)) => match flags(image) {
                0 => Status::Decoded,
                flags => Status::Damaged(Damage { flags }),
            },
            Ok(Made::Drawing(drawing)) => match flags(self.images.len() + drawing) {
                0 => Status::Decoded,
                FRACTAL_EMPTY => Status::Fallback(Fallback::Empty),
                _ => Status::Fallback(Fallback::Orbit),
            },
        };
        self.outcomes.iter().map(status).collect()
    }

    /// Checks that all stored images are in the memory of this GPU.
    pub(crate) fn check_gpu(&self, gpu: &Gpu) -> Result<(), GpuError> {
        let all_there = self.stored.iter().all(|stored| stored.is_on(gpu));
        if all_there { Ok(()) } else { Err(GpuError::OtherGpu) }
    }

    /// Returns the bytes of the decoded output that no kernel writes, because the images are left
    /// to the caller. Neighbours are merged.
    pub(crate) fn untouched(&self) -> Vec<Range<u64>> {
        let output = self.output.decoded();
        let n_bytes = output.tensor().map_or(0, Tensor::image_bytes);
        let left = self.outcomes.iter().enumerate().filter(|(_, outcome)| outcome.is_err());
        let places = left
            .map(|(request, _)| n_bytes * request as u64..n_bytes * (request as u64 + 1))
            .filter(|bytes| !bytes.is_empty());
        places.fold(Vec::new(), |mut ranges: Vec<Range<u64>>, bytes| {
            match ranges.last_mut() {
                Some(last) if last.end == bytes.start => last.end = bytes.end,
                _ => ranges.push(bytes),
            }
            ranges
        })
    }
}

/// Numbers of segments and blocks of a batch, in total and decoded; the others lie outside the
/// crops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of segments of all images.
    pub n_segments: u64,
    /// Number of decoded segments.
    pub n_decoded_segments: u64,
    /// Number of blocks of 8x8 values of all images.
    pub n_blocks: u64,
    /// Number of blocks that become samples.
    pub n_transformed_blocks: u64,
}

/// Place of an image in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Byte range in the output.
    pub bytes: Range<u64>,
    /// Columns of pixels.
    pub width: u32,
    /// Rows of pixels.
    pub height: u32,
    /// Samples per pixel: 1 or 3.
    pub channels: u32,
}
