//! In which order the kernels run, wherever they run.
use crate::{
    Output, Plan, Tensor,
    layout::BatchLayout,
    plan::{Chunk, Sections, Workspace},
};
use std::ops::Range;

/// The kernels.
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
}

impl Kernel {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Tables,
        Self::Unstuff,
        Self::Huffman,
        Self::Idct,
        Self::Pixels,
        Self::Across,
        Self::Down,
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
        }
    }

    /// Threads of a block, as the kernels' source has it.
    #[must_use]
    pub fn n_threads(self) -> u32 {
        match self {
            Self::Tables | Self::Huffman | Self::Idct => 128,
            Self::Unstuff | Self::Pixels | Self::Across | Self::Down => 256,
        }
    }
}

/// What runs kernels: a stream of the driver, or the CPU in tests. Everything is done in the order
/// it is asked for.
pub trait Machine {
    /// How it fails.
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
}

/// Where the memory of a batch lies on the machine.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    /// What [`Plan::fill`] has written: [`Plan::upload_bytes`].
    pub upload: u64,
    /// [`Plan::workspace_bytes`], with any content.
    pub workspace: u64,
    /// [`Plan::output_bytes`], with any content.
    pub output: u64,
}

/// Blocks of 8x8 values that a block of threads of `Idct` does.
const IDCT_BLOCKS: u32 = 16;

impl Plan {
    /// Runs all kernels of the batch.
    ///
    /// # Errors
    /// When the machine fails. What is in the output then is unspecified.
    pub fn run<M: Machine>(&self, at: Addresses, machine: &mut M) -> Result<(), M::Error> {
        for Range { start, end } in self.untouched() {
            machine.clear(at.output + start, end - start)?;
        }
        if self.images.is_empty() {
            return Ok(());
        }
        let mut batch = self.batch(at);
        let states = self.state_range();
        machine.clear(at.workspace + states.start, states.end - states.start)?;
        machine.launch(Kernel::Tables, &batch, batch.n_tables, 1)?;
        for chunk in &self.chunks {
            batch.first_image = chunk.first_image;
            self.run_chunk(chunk, &batch, machine)?;
        }
        Ok(())
    }

    /// The bytes of the workspace that hold a [`StateLayout`](crate::layout::StateLayout) for
    /// each image, once the kernels have run.
    #[must_use]
    pub fn state_range(&self) -> Range<u64> {
        let n_bytes = self.images.len() * size_of::<crate::layout::StateLayout>();
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
        if let Output::Tensor(tensor) = self.output {
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
            ..BatchLayout::default()
        };
        match self.output {
            Output::Native => batch.pixels = at.output,
            Output::Tensor(tensor) => {
                tensor.describe(&mut batch);
            }
        }
        batch
    }
}

impl Tensor {
    /// Says what the last two kernels make.
    pub(crate) fn describe(&self, batch: &mut BatchLayout) {
        (batch.out_width, batch.out_height) = (self.width, self.height);
        batch.dtype = self.sample_type as u32;
        batch.order = self.order as u32;
        let channels = self.mean.iter().zip(&self.deviation);
        let to = batch.factor.iter_mut().zip(&mut batch.offset);
        for ((factor, offset), (mean, deviation)) in to.zip(channels) {
            (*factor, *offset) = (1.0 / (255.0 * deviation), -mean / deviation);
        }
    }
}
