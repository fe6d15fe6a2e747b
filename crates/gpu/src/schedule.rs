//! In which order the kernels run, wherever they run.
use crate::{
    Output, Plan, Tensor,
    builder::MAX_CHUNK_IMAGES,
    drawings::DrawingAddresses,
    layout::{BatchLayout, FractalsLayout},
    plan::{Chunk, Sections, Workspace},
};
use std::ops::Range;

/// The kernels that work on a batch. There is another one, which draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Makes tables for decoding.
    Tables,
    /// Takes stuffed zeros and restart markers out of the scans.
    Unstuff,
    /// Decodes coefficients.
    Huffman,
    /// Makes samples of coefficients.
    Idct,
    /// Makes pixels of samples.
    Pixels,
    /// Resizes rows.
    Across,
    /// Resizes columns, normalises and writes the output.
    Down,
    /// Makes whole levels of drawings.
    Expand,
    /// Changes images of whole levels.
    Change,
    /// Flips and normalises whole levels, and writes the output.
    Write,
}

impl Kernel {
    /// All of them.
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

    /// Its name in the program.
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

    /// Threads of a block, as the kernels' source has it.
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

/// A machine that runs kernels: a stream of the driver, or the CPU in tests. Everything is done in
/// the order it is asked for.
pub trait Machine {
    /// Its error.
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

    /// Runs the kernel that draws, with a block of threads for each image.
    ///
    /// # Errors
    /// When the machine fails.
    fn draw(&mut self, fractals: &FractalsLayout, n_images: u32) -> Result<(), Self::Error>;
}

/// Addresses of the memory of a batch on the machine.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    /// [`Plan::upload_bytes`], as [`Plan::fill`] has written them.
    pub upload: u64,
    /// [`Plan::workspace_bytes`], with any content.
    pub workspace: u64,
    /// [`Plan::output_bytes`], with any content.
    pub output: u64,
}

/// Blocks of 8x8 values that a block of threads of `Idct` does.
const IDCT_BLOCKS: u32 = 16;

impl Plan {
    /// Decodes and draws the batch. [`finish`](Self::finish) is to follow.
    ///
    /// # Errors
    /// When the machine fails. What is in the output then is unspecified.
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

    /// Makes the output of what [`run`](Self::run) and others have made, where that is not the output
    /// yet: images that are drawn or changed.
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

    /// Returns what is decoded, and where it goes.
    pub(crate) fn decoded(&self, at: Addresses) -> (Output, u64) {
        let to = match self.output {
            Output::Changed(_) => at.workspace + self.workspace.rows,
            Output::Native | Output::Tensor(_) => at.output,
        };
        (self.output.decoded(), to)
    }

    /// Draws bitmaps, and makes whole levels of them.
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

    /// The bytes of the workspace that hold a [`StateLayout`](crate::layout::StateLayout) for
    /// each image that is decoded, then for each that is drawn, once the kernels have run.
    #[must_use]
    pub fn state_range(&self) -> Range<u64> {
        let n_bytes = self.n_states() * size_of::<crate::layout::StateLayout>();
        self.workspace.states..self.workspace.states + n_bytes as u64
    }

    /// The bytes of the workspace that hold the coefficients of the last chunk's images, one after
    /// the other, once the kernels have run: for tests.
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
        // Kernels write only the coefficients that are not 0.
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

/// Launches over so many images: the first of each, and how many.
fn launches(n_images: usize) -> impl Iterator<Item = (u32, u32)> {
    let end = n_images as u32;
    (0..end)
        .step_by(MAX_CHUNK_IMAGES as usize)
        .map(move |first| (first, (end - first).min(MAX_CHUNK_IMAGES)))
}

/// Blocks of threads for all pixels of an image, one each.
fn n_pixel_blocks(tensor: &Tensor) -> u32 {
    let n_pixels = u64::from(tensor.width) * u64::from(tensor.height);
    n_pixels.div_ceil(Kernel::Write.n_threads().into()).try_into().unwrap_or(u32::MAX)
}

impl Tensor {
    /// Says what the kernels that write the output make.
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
