use crate::Block;

/// A block and its spill: 256 bytes, so that one bit of a position in a row of cells says whether a
/// DC code comes next or an AC code (see [`crate::interleaved`]).
#[derive(Debug, Clone)]
#[repr(C, align(256))]
pub(crate) struct Cell {
    /// Values after the last place of the previous block; zeros for sound data.
    pub(crate) spill: Block,
    pub(crate) values: Block,
}

pub(crate) const ZERO_CELL: Cell = Cell { spill: [0; 64], values: [0; 64] };

/// Decoded blocks of the scan that are not yet taken, each in some cell. Cells are zero before they
/// are filled, and are cleared when their block is taken.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) cells: Vec<Cell>,
    /// The cells of these blocks, in order.
    pub(crate) cell_of: Vec<u32>,
}

impl Window {
    /// Prepares for blocks in the first cells, in order.
    pub(crate) fn in_order(&mut self, n_blocks: usize) {
        self.reach(n_blocks);
        self.cell_of.clear();
        self.cell_of.extend(0..n_blocks as u32);
    }

    /// Returns the first of `n_cells` consecutive free cells.
    pub(crate) fn free(&self, n_cells: usize) -> usize {
        let taken = self.cell_of.iter().min().zip(self.cell_of.iter().max());
        match taken {
            Some((first, last)) if n_cells > *first as usize => *last as usize + 1,
            _ => 0,
        }
    }

    /// Removes the first blocks, with cleared cells.
    pub(crate) fn take(&mut self, n_blocks: usize) {
        self.cell_of.drain(..n_blocks.min(self.cell_of.len()));
    }

    /// Extends to at least `n_cells` cells.
    pub(crate) fn reach(&mut self, n_cells: usize) {
        if self.cells.len() < n_cells {
            self.cells.resize(n_cells, ZERO_CELL);
        }
    }

    #[inline]
    pub(crate) fn block_mut(&mut self, block: usize) -> Option<&mut Block> {
        let cell = *self.cell_of.get(block)?;
        self.cells.get_mut(cell as usize).map(|cell| &mut cell.values)
    }

    /// Clears all cells, after an image that was not decoded to its end.
    pub(crate) fn clear(&mut self) {
        self.cells.fill(ZERO_CELL);
    }
}

/// Clears the cells of blocks that are not taken.
pub(crate) fn clear(cell_of: &[u32], cells: &mut [Cell]) {
    for cell in cell_of {
        if let Some(cell) = cells.get_mut(*cell as usize) {
            cell.values = [0; 64];
        }
    }
}

/// Clears blocks of which only averages were read: only the first value and the last quarter were
/// written.
pub(crate) fn clear_averages(cell_of: &[u32], cells: &mut [Cell]) {
    for cell in cell_of {
        if let Some(cell) = cells.get_mut(*cell as usize) {
            cell.values[0] = 0;
            if let Some(last) = cell.values.last_chunk_mut::<16>() {
                *last = [0; 16];
            }
        }
    }
}

pub(crate) fn wipe(cells: &mut [Cell]) {
    cells.fill(ZERO_CELL);
}
