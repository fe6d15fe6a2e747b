use crate::Block;

/// Room for two blocks, or for one and its spill, in 256 bytes: then one bit of a value's position
/// tells whether a DC or an AC code follows (see [`crate::interleaved`]).
#[derive(Debug, Clone)]
#[repr(C, align(256))]
struct Cell([Block; 2]);

const ZERO_CELL: Cell = Cell([[0; 64]; 2]);

/// Cells, whose halves are counted from the first one of the first cell.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    cells: Vec<Cell>,
    /// True if blocks are in second halves, and the first ones tell whether they are sound.
    pub(crate) has_spills: bool,
    /// True if the first values of blocks are sums already, and not differences.
    pub(crate) has_sums: bool,
}

impl Cells {
    #[inline]
    pub(crate) fn half(&self, at: u32) -> Option<&Block> {
        self.cells.get(at as usize / 2).map(|Cell(halves)| &halves[at as usize % 2])
    }

    #[inline]
    pub(crate) fn half_mut(&mut self, at: u32) -> Option<&mut Block> {
        self.cells.get_mut(at as usize / 2).map(|Cell(halves)| &mut halves[at as usize % 2])
    }

    /// Returns the first half of a cell, which holds the values of a stream's block that come after
    /// its last place.
    pub(crate) fn spill_mut(&mut self, cell: usize) -> Option<&mut Block> {
        self.cells.get_mut(cell).map(|Cell([spill, _])| spill)
    }

    #[inline]
    pub(crate) fn clear(&mut self, halves: &[u32]) {
        for at in halves {
            if let Some(half) = self.half_mut(*at) {
                *half = [0; 64];
            }
        }
    }

    /// Clears blocks of which only averages were read: only the first value and the last quarter
    /// were written.
    pub(crate) fn clear_averages(&mut self, halves: &[u32]) {
        for at in halves {
            let Some(half) = self.half_mut(*at) else { continue };
            half[0] = 0;
            if let Some(last) = half.last_chunk_mut::<16>() {
                *last = [0; 16];
            }
        }
    }

    /// Clears whole cells, as far as they exist.
    pub(crate) fn wipe(&mut self, cells: std::ops::Range<usize>) {
        let cells = cells.start..cells.end.min(self.cells.len());
        self.cells.get_mut(cells).unwrap_or_default().fill(ZERO_CELL);
    }

    /// Extends to at least `n_cells` cells.
    pub(crate) fn reach(&mut self, n_cells: usize) {
        if self.cells.len() < n_cells {
            self.cells.resize(n_cells, ZERO_CELL);
        }
    }

    /// Number of values of all cells.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn n_values(&self) -> usize {
        self.cells.len() * size_of::<Cell>() / size_of::<i16>()
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut i16 {
        self.cells.as_mut_ptr().cast()
    }
}

/// Decoded blocks of the scan that are not yet taken, each in half a cell. Cells are zero before
/// they are filled, and are cleared when their block is taken.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) cells: Cells,
    /// The half cells of these blocks, in order.
    pub(crate) half_of: Vec<u32>,
}

impl Window {
    /// Prepares for blocks that lie side by side, from a half cell on.
    pub(crate) fn in_order(&mut self, first: u32, n_blocks: usize) {
        self.cells.has_spills = false;
        self.cells.reach((first as usize + n_blocks).div_ceil(2));
        self.half_of.clear();
        self.half_of.extend(first..first + n_blocks as u32);
    }

    /// Adds the blocks of a stream, in consecutive cells.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(crate) fn add_cells(&mut self, cells: std::ops::Range<usize>) {
        self.cells.has_spills = true;
        self.half_of.extend(cells.map(|cell| cell as u32 * 2 + 1));
    }

    /// Returns the first of `n_cells` consecutive free cells.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(crate) fn free(&self, n_cells: usize) -> usize {
        let taken = self.half_of.iter().min().zip(self.half_of.iter().max());
        match taken {
            Some((first, last)) if n_cells > *first as usize / 2 => *last as usize / 2 + 1,
            _ => 0,
        }
    }

    /// Removes the first blocks, with cleared cells.
    pub(crate) fn take(&mut self, n_blocks: usize) {
        self.half_of.drain(..n_blocks.min(self.half_of.len()));
    }

    #[inline]
    pub(crate) fn block_mut(&mut self, block: usize) -> Option<&mut Block> {
        self.cells.half_mut(*self.half_of.get(block)?)
    }

    /// Clears all cells, after an image that was not decoded to its end.
    pub(crate) fn clear(&mut self) {
        self.cells.wipe(0..usize::MAX);
        self.cells.has_sums = false;
    }
}
