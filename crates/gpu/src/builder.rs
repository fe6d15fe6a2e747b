//! How a batch is laid out: each image's parts one behind the other, array by array.
use crate::{
    Fallback, Limits, Output, Plan, Request, Source, Stored, Tensor,
    image::{ImageTables, Parsed, Read, check_size, read},
    layout::{FIRST_ENTRIES, ImageLayout, SKIPPED, SegmentLayout, StateLayout},
    plan::{Chunk, Sections, Work, Workspace},
    tables::Tables,
    window,
};
use std::ops::Range;
use zerocopy::IntoBytes;

/// What the sides of a JPEG have at most, and so those of an output.
const MAX_SIDE: u32 = 65535;

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
    /// True if what no crop needs is left out.
    only_needed: bool,
    images: Vec<ImageLayout>,
    chunks: Vec<Chunk>,
    chunk: Chunk,
    segments: Vec<SegmentLayout>,
    restarts: Vec<u32>,
    tables: Tables,
    scans: Vec<Option<(usize, Range<usize>)>>,
    stored: Vec<Stored>,
    work: Work,
    scan_bytes: u64,
    n_words: u32,
    native_bytes: u64,
}

impl Builder {
    pub(crate) fn new(output: Output, limits: Limits, only_needed: bool) -> Self {
        Self {
            output,
            limits,
            only_needed,
            images: Vec::new(),
            chunks: Vec::new(),
            chunk: Chunk::default(),
            segments: Vec::new(),
            restarts: Vec::new(),
            tables: Tables::default(),
            scans: Vec::new(),
            stored: Vec::new(),
            work: Work::default(),
            scan_bytes: 0,
            n_words: 0,
            native_bytes: 0,
        }
    }

    pub(crate) fn build(mut self, requests: &[Request<'_>]) -> Plan {
        let outcomes = requests.iter().enumerate();
        let outcomes = outcomes.map(|(number, request)| self.add_request(number, request));
        let outcomes = outcomes.collect();
        self.finish(outcomes)
    }

    /// Adds the image of a request and returns its number.
    fn add_request(&mut self, number: usize, request: &Request<'_>) -> Result<usize, Fallback> {
        if let Output::Tensor(Tensor { width, height, .. }) = self.output
            && ![width, height].iter().all(|side| (1..=MAX_SIDE).contains(side))
        {
            return Err(Fallback::OutputSize { width, height });
        }
        let max_blocks = self.limits.max_image_blocks;
        match request.image {
            Source::Bytes { bytes, entry_points } => {
                let Read { parsed, tables, scan } = read(bytes, entry_points, max_blocks)?;
                let layout = self.add(number, request, &parsed, &tables)?;
                self.add_scan(number, layout, scan);
            }
            Source::Prepared { image, .. } => {
                check_size(image.parsed().layout.n_blocks, max_blocks)?;
                let layout = self.add(number, request, image.parsed(), image.tables())?;
                self.add_scan(number, layout, image.scan());
            }
            Source::Stored(stored) => {
                check_size(stored.parsed().layout.n_blocks, max_blocks)?;
                let mut layout = self.add(number, request, stored.parsed(), stored.tables())?;
                layout.scan = stored.address();
                self.images.push(layout);
                self.scans.push(None);
                self.stored.push(stored.clone());
            }
        }
        Ok(self.images.len() - 1)
    }

    /// Adds an image whose scan travels with the batch.
    fn add_scan(&mut self, number: usize, mut layout: ImageLayout, scan: Range<usize>) {
        layout.scan = self.scan_bytes;
        self.scan_bytes += u64::from(layout.scan_bytes).next_multiple_of(SCAN_UNIT);
        self.images.push(layout);
        self.scans.push(Some((number, scan)));
    }

    /// Adds all of an image to the arrays but its scan.
    fn add(
        &mut self,
        number: usize,
        request: &Request<'_>,
        image: &Parsed,
        tables: &ImageTables,
    ) -> Result<ImageLayout, Fallback> {
        let mut layout = image.layout;
        layout.crop = window::crop((layout.width, layout.height), request, &self.output)
            .ok_or(Fallback::Crop)?;
        let counts = [
            u64::from(self.n_words),
            self.segments.len() as u64,
            u64::from(self.tables.n_second),
            self.tables.huffman.len() as u64 * FIRST_ENTRIES,
        ];
        if counts.iter().any(|count| *count >= MAX_COUNT) {
            return Err(Fallback::BatchFull);
        }
        self.tables.add(tables, &mut layout);
        layout.words_at = self.n_words;
        self.n_words += layout.scan_bytes.div_ceil(4);
        layout.first_restart = self.restarts.len() as u32;
        self.restarts.extend(image.restarts());
        self.add_segments(image, &mut layout);
        self.add_to_chunk(number, &mut layout);
        Ok(layout)
    }

    /// Adds the segments that the crop needs. An entry that is marked as skipped stands for those
    /// that are left out between two others.
    fn add_segments(&mut self, image: &Parsed, layout: &mut ImageLayout) {
        let n_segments = image.segments.len().saturating_sub(1);
        let is_part = self.only_needed && matches!(self.output, Output::Tensor(_));
        let all = window::all_mcus(layout);
        let mcus = if is_part { window::mcus(layout, &layout.crop) } else { all };
        let runs = window::walked(image, &mcus);
        layout.mcus = mcus;
        layout.first_dc = window::first_dc(image, &runs);
        let first = self.segments.len();
        for run in &runs {
            if let Some(skipped) = self.segments.get_mut(first..).and_then(<[_]>::last_mut) {
                skipped.block |= SKIPPED;
            }
            // One more tells where the last one ends; it is the one that is skipped.
            let with_end = image.segments.get(run.start..=run.end).unwrap_or_default();
            self.segments.extend_from_slice(with_end);
            self.work.n_decoded_segments += run.len() as u64;
        }
        let added = self.segments.get(first..).unwrap_or_default();
        layout.first_segment = first as u32;
        layout.n_segments = added.len().saturating_sub(1) as u32;
        if let (Some(start), Some(end)) = (added.first(), added.last()) {
            let start = start.first_block();
            layout.base_block = start - start % layout.blocks_per_mcu.max(1);
            layout.end_block = end.first_block();
            let is_all = runs.last().is_some_and(|run| run.end == n_segments);
            layout.needed_bytes = if is_all { u32::MAX } else { end.bit.div_ceil(8) };
        }
        self.work.n_segments += n_segments as u64;
    }

    /// Gives the image its place in what is used again by every chunk, and in the output.
    fn add_to_chunk(&mut self, request: usize, layout: &mut ImageLayout) {
        let n_decoded = layout.end_block - layout.base_block;
        let n_blocks = u64::from(self.chunk.n_blocks) + u64::from(n_decoded);
        let full = n_blocks > self.limits.chunk_blocks.into();
        if self.chunk.n_images > 0 && (full || self.chunk.n_images == MAX_CHUNK_IMAGES) {
            self.chunks.push(self.chunk);
            let first_image = self.images.len() as u32;
            self.chunk = Chunk { first_image, ..Chunk::default() };
        }
        let (chunk, crop, mcus) = (&mut self.chunk, layout.crop, layout.mcus);
        let rows = crop.end_y - crop.first_y;
        let pixels = u64::from(crop.end_x - crop.first_x) * u64::from(rows);
        let n_bytes = pixels * u64::from(layout.n_components);
        let n_mcus = (mcus.end_x - mcus.first_x) * (mcus.end_y - mcus.first_y);
        let n_wanted = n_mcus * layout.blocks_per_mcu;
        chunk.n_images += 1;
        chunk.max_wanted = chunk.max_wanted.max(n_wanted);
        chunk.max_pixels = chunk.max_pixels.max(pixels);
        chunk.max_rows = chunk.max_rows.max(rows);
        layout.coefficients_at = chunk.n_blocks;
        chunk.n_blocks += n_decoded;
        layout.samples_at = chunk.n_wanted;
        chunk.n_wanted += n_wanted;
        self.work.n_blocks += u64::from(layout.n_blocks);
        self.work.n_transformed_blocks += u64::from(n_wanted);
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
            stored: self.stored,
            work: self.work,
            outcomes,
            output_bytes,
        }
    }

    fn sections(&self) -> Sections {
        let mut places = Places::default();
        Sections {
            scans: places.next(self.scan_bytes),
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
        let mut places = Places::default();
        Workspace {
            states: places.next((self.images.len() * size_of::<StateLayout>()) as u64),
            words: places.next(u64::from(self.n_words) * 4),
            lookups: places.next(self.tables.huffman.len() as u64 * FIRST_ENTRIES * 4),
            second: places.next(u64::from(self.tables.n_second) * 4),
            coefficients: places.next(most(|chunk| chunk.n_blocks.into()) * 128),
            samples: places.next(most(|chunk| chunk.n_wanted.into()) * 64),
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
