//! The order of the kernels, on any machine.
use crate::{
    Output, Plan, Tensor,
    builder::MAX_CHUNK_IMAGES,
    drawings::DrawingAddresses,
    layout::{BatchLayout, FractalsLayout},
    plan::{Chunk, Sections, Workspace},
};
use std::ops::Range;

/// The kernels that work on a batch. The drawing kernel is not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Makes decoding tables.
    Tables,
    /// Takes stuffed zeros and restart markers out of the scans.
    Unstuff,
    /// Decodes coefficients.
    Huffman,
    /// Turns coefficients into samples.
    Idct,
    /// Turns samples into pixels.
    Pixels,
    /// Resizes rows.
    Across,
    /// Resizes columns, normalises and writes the output.
    Down,
    /// Turns drawings into 8-bit rows.
    Expand,
    /// Changes 8-bit rows.
    Change,
    /// Flips and normalises 8-bit rows, and writes the output.
    Write,
}

impl Kernel {
    /// All kernels, in order.
    pub const ALL: [Self; 10] = [
        Self::Tables,
        Self::Unstuff,
        Self::Huffman,
        Self::Idct,
        Self::Pixels,
        Self::Across,
        Self::Down,
        Self::Expand,
        Self::Change,
        Self::Write,
    ];

    /// Returns its name in the program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tables => "fdconvert_tables",
            Self::Unstuff => "fdconvert_unstuff",
            Self::Huffman => "fdconvert_huffman",
            Self::Idct => "fdconvert_idct",
            Self::Pixels => "fdconvert_pixels",
            Self::Across => "fdconvert_across",
            Self::Down => "fdconvert_down",
            Self::Expand => "fdconvert_expand",
            Self::Change => "fdconvert_change",
            Self::Write => "fdconvert_write",
        }
    }

    /// Returns the threads of a block, as in the kernels' source.
    #[must_use]
    pub fn n_threads(self) -> u32 {
        match self {
            Self::Tables | Self::Huffman | Self::Idct => 128,
            Self::Unstuff | Self::Pixels | Self::Across | Self::Down => 256,
            Self::Expand | Self::Write => 256,
            Self::Change => 512,
        }
    }
}

/// A machine that runs kernels: a stream of the driver, or the CPU in tests. Work is done in the
/// order of the calls.
pub trait Machine {
    /// Error of the machine.
    type Error;

    /// Sets memory to zeros.
    ///
    /// # Errors
    /// When the machine fails.
    fn clear(&mut self, address: u64, n_bytes: u64) -> Result<(), Self::Error>;

    /// Runs a kernel with `n_items` times `n_images` blocks of threads.
    ///
    /// # Errors
    /// When the machine fails.
    fn launch(
        &mut self,
        kernel: Kernel,
        batch: &BatchLayout,
        n_items: u32,
        n_images: u32,
    ) -> Result<(), Self::Error>;

    /// Runs the drawing kernel, with a block of threads for each image.
    ///
    /// # Errors
    /// When the machine fails.
    fn draw(&mut self, fractals: &FractalsLayout, n_images: u32) -> Result<(), Self::Error>;
}

/// Addresses of the memory of a batch on the machine.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    /// Address of [`Plan::upload_bytes`] bytes, as written by [`Plan::fill`].
    pub upload: u64,
    /// Address of [`Plan::workspace_bytes`] bytes, with any content.
    pub workspace: u64,
    /// Address of [`Plan::output_bytes`] bytes, with any content.
    pub output: u64,
}

/// Blocks of 8x8 values per block of threads of `Idct`.
const IDCT_BLOCKS: u32 = 16;

impl Plan {
    /// Decodes and draws the batch. Call [`finish`](Self::finish) afterwards.
    ///
    /// # Errors
    /// When the machine fails. The content of the output is then unspecified.
    pub fn run<M: Machine>(&self, at: Addresses, machine: &mut M) -> Result<(), M::Error> {
        let (_, decoded) = self.decoded(at);
        for Range { start, end } in self.untouched() {
            machine.clear(decoded + start, end - start)?;
        }
        let states = self.state_range();
        if states.is_empty() {
            return Ok(());
        }
        let mut batch = self.batch(at);
        machine.clear(at.workspace + states.start, states.end - states.start)?;
        if !self.images.is_empty() {
            machine.launch(Kernel::Tables, &batch, batch.n_tables, 1)?;
        }
        for chunk in &self.chunks {
            batch.first_image = chunk.first_image;
            self.run_chunk(chunk, &batch, machine)?;
        }
        self.draw(at, batch, machine)
    }

    /// Completes the output of [`run`](Self::run) and other decoders for images that are drawn or
    /// changed.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn finish<M: Machine>(&self, at: Addresses, machine: &mut M) -> Result<(), M::Error> {
        let (Some(tensor), false) = (self.output.tensor(), self.rows.is_empty()) else {
            return Ok(());
        };
        let mut batch = BatchLayout { output: at.output, ..self.batch(at) };
        tensor.describe(&mut batch);
        for (first, n_images) in launches(self.rows.len()) {
            batch.first_image = first;
            if !self.changes.is_empty() {
                machine.launch(Kernel::Change, &batch, 1, n_images)?;
            }
            machine.launch(Kernel::Write, &batch, n_pixel_blocks(tensor), n_images)?;
        }
        Ok(())
    }

    pub(crate) fn decoded(&self, at: Addresses) -> (Output, u64) {
        let to = match self.output {
            Output::Changed(_) => at.workspace + self.workspace.rows,
            Output::Native | Output::Tensor(_) => at.output,
        };
        (self.output.decoded(), to)
    }

    fn draw<M: Machine>(
        &self,
        at: Addresses,
        mut batch: BatchLayout,
        machine: &mut M,
    ) -> Result<(), M::Error> {
        let Some(tensor) = self.output.tensor() else { return Ok(()) };
        let addresses = DrawingAddresses {
            systems: at.upload + self.sections.systems,
            images: batch.drawn,
            bitmaps: batch.bitmaps,
        };
        let drawings = &self.drawings;
        for (fractals, n_images) in drawings.launches(&addresses, MAX_CHUNK_IMAGES as usize) {
            machine.draw(&fractals, n_images)?;
        }
        for (first, n_images) in launches(drawings.images.len()) {
            batch.first_image = first;
            machine.launch(Kernel::Expand, &batch, n_pixel_blocks(tensor), n_images)?;
        }
        Ok(())
    }

    /// Returns the range of the workspace that holds, after the kernels have run, a
    /// [`StateLayout`](crate::layout::StateLayout) for each decoded image, then for each drawn one.
    #[must_use]
    pub fn state_range(&self) -> Range<u64> {
        let n_bytes = self.n_states() * size_of::<crate::layout::StateLayout>();
        self.workspace.states..self.workspace.states + n_bytes as u64
    }

    /// Returns the range of the workspace that holds, after the kernels have run, the coefficients
    /// of the last chunk's images, for tests.
    #[must_use]
    pub fn coefficient_range(&self) -> Range<u64> {
        let n_blocks = self.chunks.last().map_or(0, |chunk| u64::from(chunk.n_blocks));
        self.workspace.coefficients..self.workspace.coefficients + n_blocks * 128
    }

    fn run_chunk<M: Machine>(
        &self,
        chunk: &Chunk,
        batch: &BatchLayout,
        machine: &mut M,
    ) -> Result<(), M::Error> {
        // Kernels write only nonzero coefficients.
        machine.clear(batch.coefficients, u64::from(chunk.n_blocks) * 128)?;
        let mut launch = |kernel: Kernel, n_items: u64| {
            let n_items = n_items.try_into().unwrap_or(u32::MAX);
            machine.launch(kernel, batch, n_items, chunk.n_images)
        };
        launch(Kernel::Unstuff, 1)?;
        launch(Kernel::Huffman, 1)?;
        launch(Kernel::Idct, chunk.max_wanted.div_ceil(IDCT_BLOCKS).into())?;
        let blocks_for = |kernel: Kernel, n: u64| n.div_ceil(kernel.n_threads().into());
        launch(Kernel::Pixels, blocks_for(Kernel::Pixels, chunk.max_pixels))?;
        if let Some(tensor) = self.output.tensor() {
            let (width, height) = (u64::from(tensor.width), u64::from(tensor.height));
            launch(Kernel::Across, blocks_for(Kernel::Across, width * u64::from(chunk.max_rows)))?;
            launch(Kernel::Down, blocks_for(Kernel::Down, width * height))?;
        }
        Ok(())
    }

    fn batch(&self, at: Addresses) -> BatchLayout {
        let Sections { images, segments, restarts, tables, quantisation, .. } = self.sections;
        let Workspace { states, words, lookups, second, coefficients, samples, .. } =
            self.workspace;
        let mut batch = BatchLayout {
            images: at.upload + images,
            segments: at.upload + segments,
            restarts: at.upload + restarts,
            tables: at.upload + tables,
            quantisation: at.upload + quantisation,
            words: at.workspace + words,
            lookups: at.workspace + lookups,
            second: at.workspace + second,
            coefficients: at.workspace + coefficients,
            samples: at.workspace + samples,
            pixels: at.workspace + self.workspace.pixels,
            across: at.workspace + self.workspace.across,
            output: at.output,
            states: at.workspace + states,
            n_tables: self.huffman.len() as u32,
            rows: at.workspace + self.workspace.rows,
            spare_rows: at.workspace + self.workspace.spare_rows,
            row_table: at.upload + self.sections.rows,
            changes: at.upload + self.sections.changes,
            drawings: at.upload + self.sections.drawings,
            drawn: at.upload + self.sections.drawn,
            bitmaps: at.workspace + self.workspace.bitmaps,
            n_decoded: self.images.len() as u32,
            ..BatchLayout::default()
        };
        let (decoded, to) = self.decoded(at);
        match decoded.tensor() {
            None => batch.pixels = to,
            Some(tensor) => {
                batch.output = to;
                tensor.describe(&mut batch);
            }
        }
        batch
    }
}

/// Splits a number of images into launches: the first image of each, and their number.
fn launches(n_images: usize) -> impl Iterator<Item = (u32, u32)> {
    let end = n_images as u32;
    (0..end)
        .step_by(MAX_CHUNK_IMAGES as usize)
        .map(move |first| (first, (end - first).min(MAX_CHUNK_IMAGES)))
}

/// Blocks of threads for all pixels of an image, one thread per pixel.
fn n_pixel_blocks(tensor: &Tensor) -> u32 {
    let n_pixels = u64::from(tensor.width) * u64::from(tensor.height);
    n_pixels.div_ceil(Kernel::Write.n_threads().into()).try_into().unwrap_or(u32::MAX)
}

impl Tensor {
    /// Describes the output to the kernels that write it.
    pub(crate) fn describe(&self, batch: &mut BatchLayout) {
        (batch.out_width, batch.out_height) = (self.width, self.height);
        batch.dtype = self.sample_type as u32;
        batch.order = self.order as u32;
        let channels = self.mean.iter().zip(&self.deviation);
        let to = batch.factor.iter_mut().zip(&mut batch.offset);
        for ((factor, offset), (mean, deviation)) in to.zip(channels) {
            (*factor, *offset) = (1.0 / (255.0 * deviation), -mean / deviation);
        }
        (batch.mean, batch.deviation) = (self.mean, self.deviation);
    }
}
