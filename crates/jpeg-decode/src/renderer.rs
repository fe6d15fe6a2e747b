//! From coefficients to pixels, window by window.
use crate::{
    Damage, Error, PixelFormat,
    dc::Predictions,
    instructions::Loops,
    part::Part,
    plane::{Memory, Plane},
    rows::{self, Row, Scratch},
    runs::{Runs, Start},
    window::{Cells, Window},
};
use fdconvert_jpeg::{EntryPoints, Jpeg, Unstuffed};
use std::ops::Range;

/// What is decoded of an image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) jpeg: &'a Jpeg,
    pub(crate) data: &'a Unstuffed,
    pub(crate) entry_points: Option<&'a EntryPoints>,
    pub(crate) part: &'a Part,
    pub(crate) format: PixelFormat,
    /// True to read only the averages of blocks.
    pub(crate) averages: bool,
}

impl Work<'_> {
    /// Returns the runs from the last place before the part at which decoding may start.
    pub(crate) fn runs(&self) -> Result<(Start, Runs), Error> {
        let block = self.part.first_block(self.jpeg);
        match self.entry_points {
            None => Ok(Runs::of_restarts(self.jpeg, self.data, block)),
            Some(it) => Runs::of_entry_points(self.jpeg, self.data, it, block),
        }
    }

    /// Returns true if the scan is a single run, in which other starts can only be guessed.
    pub(crate) fn is_single_run(&self) -> bool {
        self.entry_points.is_none() && self.jpeg.n_restarts() == 0
    }

    /// Returns the approximate number of runs of the part, or of that number of blocks if it has
    /// more.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn n_runs_within(&self, n_blocks: usize) -> usize {
        let n_runs = match self.entry_points {
            None => self.jpeg.n_restarts() as usize + 1,
            Some(it) => it.segments().len(),
        };
        let Range { start, end } = self.part.mcus_y;
        let of_part = n_runs * (end - start) / (self.jpeg.mcus_y as usize).max(1);
        of_part.min(n_runs * n_blocks / (self.jpeg.n_blocks as usize).max(1))
    }
}

/// Makes pixels; keeps its memory between images.
#[derive(Debug)]
pub(crate) struct Renderer {
    loops: Loops,
    window: Window,
    planes: Vec<Memory>,
    scratch: Scratch,
}

impl Renderer {
    pub(crate) fn new(loops: Loops) -> Self {
        let (window, scratch) = (Window::default(), Scratch::default());
        Self { loops, window, planes: Vec::new(), scratch }
    }

    pub(crate) fn loops(&self) -> Loops {
        self.loops
    }

    /// Clears all cells, after an image that was not decoded to its end.
    pub(crate) fn clear(&mut self) {
        self.window.clear();
    }

    /// Gives back the memory of all cells.
    pub(crate) fn forget(&mut self) {
        self.window = Window::default();
    }

    /// Makes pixels window by window: a few rows of MCUs, of about `window_blocks` blocks.
    /// `decode` fills a window with the coefficients of some blocks, the first of which is that of
    /// `start`.
    pub(crate) fn render(
        &mut self,
        work: &Work<'_>,
        start: Start,
        window_blocks: usize,
        out: &mut [u8],
        mut decode: impl FnMut(&Range<u32>, &mut Window) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Work { jpeg, part, .. } = *work;
        let row_blocks = ((jpeg.mcus_x * jpeg.blocks_per_mcu()) as usize).max(1);
        let window_mcus = (window_blocks / row_blocks).max(1);
        let mut image = Image::new(work, start, self);
        let mut mcu_y = part.mcus_y.start;
        // Blocks before the first row, from the place where decoding could start.
        let mut n_lead = part.first_block(jpeg).saturating_sub(start.block) as usize;
        let mut from = start.block;
        // Taken, so that a panic cannot leave cells that become pixels of the next image.
        let mut window = std::mem::take(&mut self.window);
        window.half_of.clear();
        window.cells.has_sums = false;
        let mut decoded = Ok(());
        while mcu_y < part.mcus_y.end {
            let behind = (mcu_y + window_mcus).min(part.mcus_y.end);
            let blocks = from..(behind * row_blocks) as u32;
            from = blocks.end;
            decoded = decode(&blocks, &mut window);
            if decoded.is_err() {
                break;
            }
            let Window { cells, half_of } = &mut window;
            let (lead, rest) = half_of.split_at(n_lead.min(half_of.len()));
            let mut is_sound = image.predictions.add_up(lead, cells);
            cells.clear(lead);
            n_lead -= lead.len();
            let mut n_taken = lead.len();
            for row in rest.chunks_exact(row_blocks).take(part.mcus_y.end - mcu_y) {
                is_sound &= image.samples(self.loops, row, cells);
                image.pixels(self.loops, mcu_y, &mut self.scratch, out);
                mcu_y += 1;
                n_taken += row_blocks;
            }
            window.take(n_taken);
            if !is_sound {
                let (block, bit) = (blocks.start, 0);
                decoded = Err(Error::Damaged { block, bit, what: Damage::TooManyValues });
                break;
            }
        }
        // Blocks after the last row.
        let Window { cells, half_of } = &mut window;
        cells.clear(half_of);
        self.window = window;
        self.planes = image.planes.into_iter().map(Plane::into_memory).collect();
        decoded
    }
}

/// An image being decoded.
struct Image<'a> {
    jpeg: &'a Jpeg,
    part: &'a Part,
    format: PixelFormat,
    averages: bool,
    predictions: Predictions,
    planes: Vec<Plane>,
    y: usize,
}

impl<'a> Image<'a> {
    fn new(work: &Work<'a>, start: Start, memory: &mut Renderer) -> Self {
        let Work { jpeg, part, format, averages, .. } = *work;
        let mut memories = std::mem::take(&mut memory.planes).into_iter();
        let planes = (0..format.n_components(jpeg)).filter_map(|component| {
            Plane::new(jpeg, component, part, memories.next().unwrap_or_default())
        });
        let planes = planes.collect();
        memory.scratch.reach(part.mcus_x.len() * part.mcu_size.0);
        let predictions = Predictions::new(jpeg, start.block, start.dc);
        Self { jpeg, part, format, averages, predictions, planes, y: part.y.start }
    }

    /// Fills the planes with the next row of MCUs from these half cells, and clears the cells. Returns
    /// whether the blocks are sound.
    fn samples(&mut self, loops: Loops, half_of: &[u32], cells: &mut Cells) -> bool {
        let is_sound = self.predictions.add_up(half_of, cells);
        for plane in &mut self.planes {
            match self.averages {
                true => plane.fill_averages(self.jpeg, half_of, cells),
                false => plane.fill(loops, self.jpeg, half_of, cells),
            }
        }
        if self.averages {
            cells.clear_averages(half_of);
            return is_sound;
        }
        let n_slots = self.jpeg.slots.len();
        let Range { start, end } = self.part.mcus_x;
        if self.planes.len() < self.jpeg.components.len() {
            cells.clear(half_of);
        } else {
            cells.clear(half_of.get(..start * n_slots).unwrap_or_default());
            cells.clear(half_of.get(end * n_slots..).unwrap_or_default());
        }
        is_sound
    }

    /// Writes the rows of pixels that the planes allow: the last one of a row of MCUs waits for the
    /// next one if it depends on the row below.
    fn pixels(&mut self, loops: Loops, mcu_y: usize, scratch: &mut Scratch, out: &mut [u8]) {
        let Part { x, y, mcus_x, mcus_y, mcu_size, .. } = self.part;
        let waits = self.planes.iter().any(|plane| plane.method().looks_down());
        let until = match mcu_y + 1 == mcus_y.end {
            true => y.end,
            false => ((mcu_y + 1) * mcu_size.1 - usize::from(waits)).min(y.end),
        };
        let left = mcus_x.start * mcu_size.0;
        let columns = x.start - left..x.end - left;
        let rows = out.chunks_mut((x.len() * self.format.n_channels()).max(1));
        for (y, out) in (self.y..until).zip(rows.skip(self.y - y.start)) {
            let row = Row { y, x: columns.clone(), mcu_y };
            match self.format {
                PixelFormat::Rgb => {
                    rows::rgb(loops, self.jpeg.color, &self.planes, &row, scratch, out);
                }
                PixelFormat::Luma => rows::luma(&self.planes, &row, scratch, out),
            }
        }
        self.y = self.y.max(until);
    }
}
