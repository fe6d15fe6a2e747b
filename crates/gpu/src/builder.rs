//! How a batch is laid out: each image's parts one behind the other, array by array.
use crate::{
    Fallback, Limits, Output, Plan, Request,
    image::{Parsed, Tables, read},
    layout::{FIRST_ENTRIES, ImageLayout, SegmentLayout, StateLayout},
    plan::{Chunk, Sections, Workspace},
};
use std::ops::Range;
use zerocopy::IntoBytes;

/// Scans start at multiples of this many bytes.
pub(crate) const SCAN_UNIT: u64 = 16;
/// Arrays start at multiples of this many bytes, as allocations of the driver do.
const ALIGNMENT: u64 = 256;
/// Blocks of threads count images in a dimension that has 65535 at most.
const MAX_CHUNK_IMAGES: u32 = 1 << 15;
/// What positions of 32 bits can count, with room for one image more: no image has more than
/// half of it.
const MAX_COUNT: u64 = 1 << 31;

/// A batch that grows image by image.
pub(crate) struct Builder {
    output: Output,
    limits: Limits,
    images: Vec<ImageLayout>,
    chunks: Vec<Chunk>,
    chunk: Chunk,
    segments: Vec<SegmentLayout>,
    restarts: Vec<u32>,
    tables: Tables,
    scans: Vec<(usize, Range<usize>)>,
    scan_units: u32,
    n_words: u32,
    native_bytes: u64,
}

impl Builder {
    pub(crate) fn new(output: Output, limits: Limits) -> Self {
        Self {
            output,
            limits,
            images: Vec::new(),
            chunks: Vec::new(),
            chunk: Chunk::default(),
            segments: Vec::new(),
            restarts: Vec::new(),
            tables: Tables::default(),
            scans: Vec::new(),
            scan_units: 0,
            n_words: 0,
            native_bytes: 0,
        }
    }

    pub(crate) fn build(mut self, requests: &[Request<'_>]) -> Plan {
        let max_blocks = self.limits.max_image_blocks.min(1 << 30);
        let mut outcomes = Vec::with_capacity(requests.len());
        for (number, request) in requests.iter().enumerate() {
            let parsed = read(request, &self.output, max_blocks);
            outcomes.push(parsed.and_then(|image| self.add(number, image)));
        }
        self.finish(outcomes)
    }

    /// Adds an image to the arrays and returns its number.
    fn add(&mut self, request: usize, mut image: Parsed) -> Result<usize, Fallback> {
        let counts = [
            u64::from(self.n_words),
            self.segments.len() as u64,
            u64::from(self.tables.n_second),
            self.tables.huffman.len() as u64 * FIRST_ENTRIES,
        ];
        if counts.iter().any(|count| *count >= MAX_COUNT) {
            return Err(Fallback::BatchFull);
        }
        self.tables.add(&mut image);
        let mut layout = image.layout;
        layout.scan_at = self.scan_units;
        self.scan_units += layout.scan_bytes.div_ceil(SCAN_UNIT as u32);
        layout.words_at = self.n_words;
        self.n_words += layout.scan_bytes.div_ceil(4);
        layout.first_segment = self.segments.len() as u32;
        self.segments.append(&mut image.segments);
        layout.first_restart = self.restarts.len() as u32;
        self.restarts.append(&mut image.restarts);
        self.add_to_chunk(request, &mut layout);
        self.images.push(layout);
        self.scans.push((request, image.scan));
        Ok(self.images.len() - 1)
    }

    /// Gives the image its place in what is used anew by every chunk, and in the output.
    fn add_to_chunk(&mut self, request: usize, layout: &mut ImageLayout) {
        let n_blocks = u64::from(self.chunk.n_blocks) + u64::from(layout.n_blocks);
        let full = n_blocks > self.limits.chunk_blocks.into();
        if self.chunk.n_images > 0 && (full || self.chunk.n_images == MAX_CHUNK_IMAGES) {
            self.chunks.push(self.chunk);
            let first_image = self.images.len() as u32;
            self.chunk = Chunk { first_image, ..Chunk::default() };
        }
        let (chunk, crop) = (&mut self.chunk, layout.crop);
        let rows = crop.end_y - crop.first_y;
        let pixels = u64::from(crop.end_x - crop.first_x) * u64::from(rows);
        let n_bytes = pixels * u64::from(layout.n_components);
        chunk.n_images += 1;
        chunk.max_blocks = chunk.max_blocks.max(layout.n_blocks);
        chunk.max_pixels = chunk.max_pixels.max(pixels);
        chunk.max_rows = chunk.max_rows.max(rows);
        layout.first_block = chunk.n_blocks;
        chunk.n_blocks += layout.n_blocks;
        match self.output {
            Output::Native => {
                layout.pixels_at = self.native_bytes;
                self.native_bytes += n_bytes;
            }
            Output::Tensor(tensor) => {
                layout.pixels_at = chunk.pixels_bytes;
                chunk.pixels_bytes += n_bytes;
                layout.across_at = chunk.across_samples;
                chunk.across_samples +=
                    u64::from(tensor.width) * u64::from(rows) * u64::from(layout.n_components);
                layout.output_at = tensor.n_samples() * request as u64;
            }
        }
    }

    fn finish(mut self, outcomes: Vec<Result<usize, Fallback>>) -> Plan {
        if self.chunk.n_images > 0 {
            self.chunks.push(self.chunk);
        }
        let output_bytes = match self.output {
            Output::Native => self.native_bytes,
            Output::Tensor(tensor) => tensor.image_bytes() * outcomes.len() as u64,
        };
        let (sections, workspace) = (self.sections(), self.workspace());
        Plan {
            output: self.output,
            images: self.images,
            chunks: self.chunks,
            sections,
            workspace,
            segments: self.segments,
            restarts: self.restarts,
            huffman: self.tables.huffman,
            quantisation: self.tables.quantisation,
            scans: self.scans,
            outcomes,
            output_bytes,
        }
    }

    fn sections(&self) -> Sections {
        let mut places = Places::default();
        Sections {
            scans: places.next(u64::from(self.scan_units) * SCAN_UNIT),
            images: places.next(self.images.as_bytes().len() as u64),
            segments: places.next(self.segments.as_bytes().len() as u64),
            restarts: places.next(self.restarts.as_bytes().len() as u64),
            tables: places.next(self.tables.huffman.as_bytes().len() as u64),
            quantisation: places.next(self.tables.quantisation.as_bytes().len() as u64),
            end: places.end,
        }
    }

    fn workspace(&self) -> Workspace {
        let most = |of: fn(&Chunk) -> u64| self.chunks.iter().map(of).max().unwrap_or(0);
        let n_blocks = most(|chunk| chunk.n_blocks.into());
        let mut places = Places::default();
        Workspace {
            states: places.next((self.images.len() * size_of::<StateLayout>()) as u64),
            words: places.next(u64::from(self.n_words) * 4),
            lookups: places.next(self.tables.huffman.len() as u64 * FIRST_ENTRIES * 4),
            second: places.next(u64::from(self.tables.n_second) * 4),
            coefficients: places.next(n_blocks * 128),
            samples: places.next(n_blocks * 64),
            pixels: places.next(most(|chunk| chunk.pixels_bytes)),
            across: places.next(most(|chunk| chunk.across_samples) * 2),
            end: places.end,
        }
    }
}

/// Arrays one behind the other.
#[derive(Default)]
struct Places {
    end: u64,
}

impl Places {
    fn next(&mut self, n_bytes: u64) -> u64 {
        let start = self.end;
        self.end = (start + n_bytes).next_multiple_of(ALIGNMENT);
        start
    }
}
