use crate::{
    idct::{self, Factors},
    instructions::Loops,
    part::{Part, Shape},
    reduced::{self, Side},
    upsample::Method,
    window::Cells,
};
use fdconvert_jpeg::Jpeg;
use std::ops::Range;

/// The length of rows of samples is a multiple of this, and they are longer by as much: vectors
/// read and write whole ones.
pub(crate) const ROW_UNIT: usize = 64;

/// The samples of a component in a row of MCUs, and the last row of samples above it, which pixels
/// on both sides use.
#[derive(Debug)]
pub(crate) struct Plane {
    samples: Vec<u8>,
    /// Bytes from one row to the next.
    stride: usize,
    mcu_rows: usize,
    /// Blocks across and down in an MCU.
    blocks: (usize, usize),
    /// The first of them among the blocks of an MCU in scan order.
    first_slot: usize,
    mcus_x: Range<usize>,
    /// Number of columns of samples, without the padding of the last MCUs.
    n_columns: usize,
    shape: Shape,
    factors: Factors,
    row: Vec<u32>,
}

/// Memory that planes reuse between images.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    samples: Vec<u8>,
    row: Vec<u32>,
}

impl Plane {
    /// Creates a plane in the memory of another one.
    pub(crate) fn new(jpeg: &Jpeg, component: usize, part: &Part, memory: Memory) -> Option<Self> {
        let first_slot =
            jpeg.slots.iter().position(|slot| usize::from(slot.component) == component)?;
        let component = jpeg.components.get(component)?;
        let blocks = (usize::from(component.h), usize::from(component.v));
        let shape = Shape::new(jpeg, component, part.scale);
        let mcus_x = part.mcus_x.clone();
        let mcu_columns = blocks.0 * shape.side;
        let from = mcus_x.start * mcu_columns;
        let n_columns = shape.width.min(mcus_x.end * mcu_columns).saturating_sub(from);
        let stride = (mcus_x.len() * mcu_columns).next_multiple_of(ROW_UNIT) + ROW_UNIT;
        let mcu_rows = blocks.1 * shape.side;
        let Memory { mut samples, row } = memory;
        // All used samples are written before they are read.
        samples.resize((1 + mcu_rows) * stride, 0);
        let table = jpeg.quant_tables.get(usize::from(component.quant_table));
        let factors = table.copied().flatten().unwrap_or([0; 64]).map(|factor| factor as i16);
        Some(Self {
            samples,
            stride,
            mcu_rows,
            blocks,
            first_slot,
            mcus_x,
            n_columns,
            shape,
            factors,
            row,
        })
    }

    pub(crate) fn method(&self) -> Method {
        self.shape.method
    }

    pub(crate) fn n_columns(&self) -> usize {
        self.n_columns
    }

    pub(crate) fn into_memory(self) -> Memory {
        Memory { samples: self.samples, row: self.row }
    }

    /// Moves on to the next row of MCUs.
    fn advance(&mut self) {
        let last = self.mcu_rows * self.stride;
        self.samples.copy_within(last.., 0);
    }

    /// Records the half cells of a row of blocks, given those of the row of MCUs.
    fn note_row(&mut self, jpeg: &Jpeg, half_of: &[u32], y: usize) {
        let n_slots = jpeg.slots.len().max(1);
        let mcus = self.mcus_x.start * n_slots..self.mcus_x.end * n_slots;
        let from = self.first_slot + y * self.blocks.0;
        self.row.clear();
        let mcus = half_of.get(mcus).unwrap_or_default().chunks_exact(n_slots);
        if self.blocks.0 == 1 {
            self.row.extend(mcus.map(|mcu| mcu.get(from).copied().unwrap_or_default()));
            return;
        }
        for mcu in mcus {
            // Mostly one or two: too few for a call that copies.
            for half in mcu.get(from..from + self.blocks.0).unwrap_or_default() {
                self.row.push(*half);
            }
        }
    }

    /// As [`fill`](Self::fill), for blocks that are reduced to their averages; the cells are not
    /// cleared.
    pub(crate) fn fill_averages(&mut self, jpeg: &Jpeg, half_of: &[u32], cells: &Cells) {
        self.advance();
        for y in 0..self.blocks.1 {
            self.note_row(jpeg, half_of, y);
            let at = (1 + y) * self.stride;
            let out = self.samples.get_mut(at..).unwrap_or_default();
            reduced::averages(cells, &self.row, &self.factors, out);
        }
    }

    /// Fills it with the next row of MCUs from these half cells, and clears the cells.
    pub(crate) fn fill(&mut self, loops: Loops, jpeg: &Jpeg, half_of: &[u32], cells: &mut Cells) {
        self.advance();
        for y in 0..self.blocks.1 {
            self.note_row(jpeg, half_of, y);
            let at = (1 + y * self.shape.side) * self.stride;
            let out = self.samples.get_mut(at..).unwrap_or_default();
            let (row, factors, stride) = (&self.row, &self.factors, self.stride);
            let side = match self.shape.side {
                1 => Side::One,
                2 => Side::Two,
                4 => Side::Four,
                _ => {
                    match loops {
                        Loops::Portable => idct::block_row(cells, row, factors, out, stride),
                        #[cfg(target_arch = "x86_64")]
                        Loops::Avx2(avx2) => {
                            crate::simd::block_row_256(avx2, cells, row, factors, out, stride);
                        }
                        #[cfg(target_arch = "x86_64")]
                        Loops::Avx512(_, avx512) => {
                            crate::simd::block_row_512(avx512, cells, row, factors, out, stride);
                        }
                        #[cfg(target_arch = "aarch64")]
                        Loops::Neon(neon) => {
                            crate::simd::block_row_128(neon, cells, row, factors, out, stride);
                        }
                    }
                    continue;
                }
            };
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            if let Some(base) = loops.base() {
                crate::simd::reduced_row(base, side, cells, row, factors, out, stride);
                continue;
            }
            reduced::block_row(side, cells, row, factors, out, stride);
        }
    }

    /// Returns the nearest row of the component to a row of the image, and the second nearest if
    /// the method uses it, as far as they are in row `mcu_y` of the MCUs or the last one above;
    /// both with their padding.
    pub(crate) fn near_and_far(&self, y: usize, mcu_y: usize) -> (&[u8], Option<&[u8]>) {
        let near_y = y / self.shape.down;
        let near = self.row(near_y, mcu_y);
        if !self.method().looks_down() {
            return (near, None);
        }
        // The first and the last row have no neighbour outside, and use themselves.
        let far_y = match y % 2 {
            1 => (near_y + 1).min(self.shape.height.saturating_sub(1)),
            _ => near_y.saturating_sub(1),
        };
        (near, Some(self.row(far_y, mcu_y)))
    }

    /// Returns a row of the image, in `scratch` unless it is in the plane.
    pub(crate) fn image_row<'a>(
        &'a self,
        y: usize,
        mcu_y: usize,
        scratch: &'a mut [u8],
    ) -> &'a [u8] {
        let (near, far) = self.near_and_far(y, mcu_y);
        if self.method() == Method::Keep {
            return near;
        }
        let columns = |row: &'a [u8]| row.get(..self.n_columns).unwrap_or_default();
        self.method().row(columns(near), columns(far.unwrap_or(near)), y % 2 == 1, scratch);
        scratch
    }

    /// Returns a row of the component, one of those in memory.
    fn row(&self, y: usize, mcu_y: usize) -> &[u8] {
        let y = (y + 1).saturating_sub(mcu_y * self.mcu_rows);
        let start = y * self.stride;
        self.samples.get(start..start + self.stride).unwrap_or_default()
    }
}
