use crate::{
    Damage, Fallback, Gpu, GpuError, Output, Request, Status, Stored, Tensor,
    builder::Builder,
    drawings::DrawingPlan,
    layout::{ChangeLayout, ImageLayout, RowLayout, SegmentLayout, StateLayout, TableLayout},
};
use std::ops::Range;
use zerocopy::IntoBytes;

/// Limits on the work that is done at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Blocks of 8x8 values that are decoded together, unless one image has more. 2^18 of them
    /// keep the coefficients (128 bytes each) and samples (64 bytes) within the caches of large
    /// GPUs; a photograph of 500x375 pixels has about 4500 to 9000.
    pub chunk_blocks: u32,
    /// Larger images are left to the caller.
    pub max_image_blocks: u32,
}

impl Limits {
    /// For images of any usual size.
    pub const DEFAULT: Self = Self { chunk_blocks: 1 << 18, max_image_blocks: 1 << 22 };
}

/// The work for a batch: which images the kernels decode, in which chunks, and how much memory that
/// takes. Made without any GPU; the images of the requests are parsed, not copied.
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
    /// For each image that travels with the batch: the request, and the part of its bytes.
    pub(crate) scans: Vec<Option<(usize, Range<usize>)>>,
    /// The others, which must live as long as the batch.
    pub(crate) stored: Vec<Stored>,
    /// Images that become output by way of whole levels: all where they are changed, else those
    /// that are drawn.
    pub(crate) rows: Vec<RowLayout>,
    pub(crate) changes: Vec<ChangeLayout>,
    pub(crate) drawings: DrawingPlan,
    pub(crate) work: Work,
    /// For each request: where its image is, or why it is none.
    pub(crate) outcomes: Vec<Result<Made, Fallback>>,
    pub(crate) output_bytes: u64,
}

/// Origin of the image of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// That image is decoded.
    Image(usize),
    /// That image is drawn.
    Drawing(usize),
}

/// Images that are in flight together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) first_image: u32,
    pub(crate) n_images: u32,
    pub(crate) n_blocks: u32,
    /// Blocks of MCUs that crops need.
    pub(crate) n_wanted: u32,
    /// The most of any image: wanted blocks, pixels of the window, rows of the window.
    pub(crate) max_wanted: u32,
    pub(crate) max_pixels: u64,
    pub(crate) max_rows: u32,
    pub(crate) pixels_bytes: u64,
    pub(crate) across_samples: u64,
}

/// Starts of the arrays in the memory that is uploaded, in bytes.
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

/// Starts of the kernels' own arrays, in bytes.
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

/// As `kernels/fractal.cuh` has it.
const FRACTAL_EMPTY: u32 = 2;

impl Plan {
    /// Parses the images and lays out the batch. An image that cannot be decoded by the kernels
    /// never fails the others: it has its reason in [`Plan::statuses`]. Of crops for a tensor no
    /// more is decoded than they need.
    #[must_use]
    pub fn new(requests: &[Request<'_>], output: Output, limits: Limits) -> Self {
        Builder::new(output, limits, true).build(requests)
    }

    /// The same, but all of every image is decoded: what [`Plan::new`] is compared with.
    #[doc(hidden)]
    #[must_use]
    pub fn of_whole_images(requests: &[Request<'_>], output: Output, limits: Limits) -> Self {
        Builder::new(output, limits, false).build(requests)
    }

    /// Returns how much of its images is decoded.
    #[must_use]
    pub fn work(&self) -> Work {
        self.work
    }

    /// Bytes that [`Plan::fill`] writes and the kernels read.
    #[must_use]
    pub fn upload_bytes(&self) -> u64 {
        self.sections.end
    }

    /// Bytes of memory that the kernels work in.
    #[must_use]
    pub fn workspace_bytes(&self) -> u64 {
        self.workspace.end
    }

    /// Bytes of the output.
    #[must_use]
    pub fn output_bytes(&self) -> u64 {
        self.output_bytes
    }

    /// Returns how many images the kernels decode.
    #[must_use]
    pub fn n_images(&self) -> usize {
        self.images.len()
    }

    /// Images that the kernels have something to say about: those they decode, then those they draw.
    pub(crate) fn n_states(&self) -> usize {
        self.images.len() + self.drawings.images.len()
    }

    /// Returns where in the output a request's image lies, its width, height and channels; `None`
    /// where it has no place: in the native output only what the kernels decode has one.
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

    /// Writes what is uploaded into `slab`, given the requests that the plan was made for and the
    /// address that it is uploaded to. Bytes of `slab` behind [`Plan::upload_bytes`] are left alone.
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

    /// Returns what became of each request, given what the kernels say about their images.
    #[must_use]
    pub fn statuses(&self, states: &[StateLayout]) -> Vec<Status> {
        // Without a word about an image, nothing is known of its pixels.
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

    /// Returns whether the stored images lie in the memory of that GPU.
    pub(crate) fn check_gpu(&self, gpu: &Gpu) -> Result<(), GpuError> {
        let all_there = self.stored.iter().all(|stored| stored.is_on(gpu));
        if all_there { Ok(()) } else { Err(GpuError::OtherGpu) }
    }

    /// The bytes of what is decoded that no kernel writes, because the images are left to the caller:
    /// those of neighbours together.
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

/// Counts of the segments and blocks of a batch, and of those that are decoded; the rest lies
/// outside of what the crops need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Segments of the images.
    pub n_segments: u64,
    /// Those that are decoded.
    pub n_decoded_segments: u64,
    /// Blocks of 8x8 values of the images.
    pub n_blocks: u64,
    /// Those that are made to samples.
    pub n_transformed_blocks: u64,
}

/// Place of an image in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its bytes.
    pub bytes: Range<u64>,
    /// Columns of pixels.
    pub width: u32,
    /// Rows of pixels.
    pub height: u32,
    /// Samples per pixel: 1 or 3.
    pub channels: u32,
}
