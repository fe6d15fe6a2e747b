//! Layout of a batch: the parts of each image, one after the other in each array.
use crate::{
    Change, Fallback, Limits, Output, Plan, Request, Source, Stored, Tensor,
    drawings::{DrawingPlan, Drawings},
    image::{ImageTables, Parsed, Read, check_size, read},
    layout::{
        ChangeLayout, FIRST_ENTRIES, ImageLayout, RowLayout, SKIPPED, SegmentLayout, StateLayout,
    },
    plan::{Chunk, Made, Sections, Work, Workspace},
    tables::Tables,
    window,
};
use fdconvert_core::LanesImage;
use std::ops::Range;
use zerocopy::IntoBytes;

/// The longest side of a JPEG, and so of an output.
const MAX_SIDE: u32 = 65535;

/// Scans start at multiples of this many bytes.
pub(crate) const SCAN_UNIT: u64 = 16;
/// Arrays start at multiples of this many bytes, as allocations of the driver do.
const ALIGNMENT: u64 = 256;
/// Blocks of threads count images in a dimension that has 65535 at most.
pub(crate) const MAX_CHUNK_IMAGES: u32 = 1 << 15;
/// Limit of 32-bit positions, with room for one more image: no image has more than half of it.
const MAX_COUNT: u64 = 1 << 31;

pub(crate) struct Builder {
    output: Output,
    limits: Limits,
    only_needed: bool,
    images: Vec<ImageLayout>,
    chunks: Vec<Chunk>,
    chunk: Chunk,
    segments: Vec<SegmentLayout>,
    restarts: Vec<u32>,
    tables: Tables,
    scans: Vec<Option<(usize, Range<usize>)>>,
    stored: Vec<Stored>,
    rows: Vec<RowLayout>,
    changes: Vec<ChangeLayout>,
    drawings: Drawings,
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
            rows: Vec::new(),
            changes: Vec::new(),
            drawings: Drawings::default(),
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

    fn add_request(&mut self, number: usize, request: &Request<'_>) -> Result<Made, Fallback> {
        if let Some(&Tensor { width, height, .. }) = self.output.tensor()
            && ![width, height].iter().all(|side| (1..=MAX_SIDE).contains(side))
        {
            return Err(Fallback::OutputSize { width, height });
        }
        if matches!(self.output, Output::Changed(_)) {
            // All of them, so that a row has the number of its request.
            self.add_row(number, request);
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
            Source::Drawn { image, corner } => {
                return self.add_drawing(number, request, (image, corner));
            }
        }
        Ok(Made::Image(self.images.len() - 1))
    }

    /// Adds an image drawn into an 8-bit row, whatever the outcome.
    fn add_drawing(
        &mut self,
        number: usize,
        request: &Request<'_>,
        (image, corner): (&LanesImage, (u32, u32)),
    ) -> Result<Made, Fallback> {
        let tensor = *self.output.tensor().ok_or(Fallback::Canvas)?;
        let has_row = matches!(self.output, Output::Changed(_));
        let row = if has_row { number } else { self.rows.len() };
        let drawing = self.drawings.add(image, corner, row, &tensor)?;
        if !has_row {
            self.add_row(number, request);
        }
        Ok(Made::Drawing(drawing))
    }

    /// Adds an 8-bit row, with its changes and its output.
    fn add_row(&mut self, number: usize, request: &Request<'_>) {
        let n_samples = self.output.tensor().map_or(0, Tensor::n_samples);
        let first_change = self.changes.len();
        self.changes.extend(request.changes.iter().map(Change::layout));
        let added = self.changes.get(first_change..).unwrap_or_default();
        let n_moves = added.iter().filter(|change| change.moves()).count();
        self.rows.push(RowLayout {
            first_change: first_change as u32,
            n_changes: request.changes.len() as u32,
            is_moved: (n_moves % 2) as u32,
            flip: request.flip.into(),
            output_at: n_samples * number as u64,
        });
    }

    /// Adds an image and uploads its scan with the batch.
    fn add_scan(&mut self, number: usize, mut layout: ImageLayout, scan: Range<usize>) {
        layout.scan = self.scan_bytes;
        self.scan_bytes += u64::from(layout.scan_bytes).next_multiple_of(SCAN_UNIT);
        self.images.push(layout);
        self.scans.push(Some((number, scan)));
    }

    /// Adds an image to all arrays except that of scans.
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

    /// Adds the segments that the crop needs. One entry marked as skipped replaces those left out
    /// between two others.
    fn add_segments(&mut self, image: &Parsed, layout: &mut ImageLayout) {
        let n_segments = image.segments.len().saturating_sub(1);
        let is_part = self.only_needed && self.output.tensor().is_some();
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
            // One more gives the end of the last one; it is the skipped entry.
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

    /// Gives the image its place in the memory that every chunk reuses, and in the output.
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
        match self.output.tensor() {
            None => {
                layout.pixels_at = self.native_bytes;
                self.native_bytes += n_bytes;
            }
            Some(tensor) => {
                layout.pixels_at = chunk.pixels_bytes;
                chunk.pixels_bytes += n_bytes;
                layout.across_at = chunk.across_samples;
                chunk.across_samples +=
                    u64::from(tensor.width) * u64::from(rows) * u64::from(layout.n_components);
                layout.output_at = tensor.n_samples() * request as u64;
            }
        }
    }

    fn finish(mut self, mut outcomes: Vec<Result<Made, Fallback>>) -> Plan {
        if self.chunk.n_images > 0 {
            self.chunks.push(self.chunk);
        }
        let output_bytes = match self.output.tensor() {
            None => self.native_bytes,
            Some(tensor) => tensor.image_bytes() * outcomes.len() as u64,
        };
        let drawings = std::mem::take(&mut self.drawings).finish();
        for outcome in &mut outcomes {
            if let Ok(Made::Drawing(number)) = outcome {
                *number = drawings.positions.get(*number).copied().unwrap_or_default();
            }
        }
        let (sections, workspace) = (self.sections(&drawings), self.workspace(&drawings));
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
            rows: self.rows,
            changes: self.changes,
            drawings,
            work: self.work,
            outcomes,
            output_bytes,
        }
    }

    fn sections(&self, drawings: &DrawingPlan) -> Sections {
        let mut places = Places::default();
        Sections {
            scans: places.next(self.scan_bytes),
            images: places.next(self.images.as_bytes().len() as u64),
            segments: places.next(self.segments.as_bytes().len() as u64),
            restarts: places.next(self.restarts.as_bytes().len() as u64),
            tables: places.next(self.tables.huffman.as_bytes().len() as u64),
            quantisation: places.next(self.tables.quantisation.as_bytes().len() as u64),
            systems: places.next(drawings.systems.as_bytes().len() as u64),
            drawn: places.next(drawings.images.as_bytes().len() as u64),
            drawings: places.next(drawings.drawings.as_bytes().len() as u64),
            rows: places.next(self.rows.as_bytes().len() as u64),
            changes: places.next(self.changes.as_bytes().len() as u64),
            end: places.end,
        }
    }

    fn workspace(&self, drawings: &DrawingPlan) -> Workspace {
        let n_states = self.images.len() + drawings.images.len();
        let levels = self.output.tensor().map_or(0, |tensor| tensor.of_levels().image_bytes());
        let rows_bytes = self.rows.len() as u64 * levels;
        let is_moving = self.changes.iter().any(ChangeLayout::moves);
        let most = |of: fn(&Chunk) -> u64| self.chunks.iter().map(of).max().unwrap_or(0);
        let mut places = Places::default();
        Workspace {
            states: places.next((n_states * size_of::<StateLayout>()) as u64),
            words: places.next(u64::from(self.n_words) * 4),
            lookups: places.next(self.tables.huffman.len() as u64 * FIRST_ENTRIES * 4),
            second: places.next(u64::from(self.tables.n_second) * 4),
            coefficients: places.next(most(|chunk| chunk.n_blocks.into()) * 128),
            samples: places.next(most(|chunk| chunk.n_wanted.into()) * 64),
            pixels: places.next(most(|chunk| chunk.pixels_bytes)),
            across: places.next(most(|chunk| chunk.across_samples) * 2),
            bitmaps: places.next(drawings.bitmap_bytes),
            rows: places.next(rows_bytes),
            spare_rows: places.next(if is_moving { rows_bytes } else { 0 }),
            end: places.end,
        }
    }
}

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
