use crate::Block;

/// A block and what lies in front of it: 256 bytes, so that a position in a row of cells says by
/// one bit whether a DC code comes next or an AC code (see [`crate::interleaved`]).
#[derive(Debug, Clone)]
#[repr(C, align(256))]
pub(crate) struct Cell {
    /// Values that lie behind the last place of the block before; zeros for sound data.
    pub(crate) spill: Block,
    pub(crate) values: Block,
}

pub(crate) const ZERO_CELL: Cell = Cell { spill: [0; 64], values: [0; 64] };

/// Blocks of the scan that were decoded and not yet taken, each in some cell. Cells are zero before
/// values are put into them, and again when their block was taken.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) cells: Vec<Cell>,
    /// The cells of these blocks, in order.
    pub(crate) cell_of: Vec<u32>,
}

impl Window {
    /// Gets ready for blocks that lie in the first cells, in order.
    pub(crate) fn in_order(&mut self, n_blocks: usize) {
        self.reach(n_blocks);
        self.cell_of.clear();
        self.cell_of.extend(0..n_blocks as u32);
    }

    /// Cells one behind the other that no block is in: the first of them.
    pub(crate) fn free(&self, n_cells: usize) -> usize {
        let taken = self.cell_of.iter().min().zip(self.cell_of.iter().max());
        match taken {
            Some((first, last)) if n_cells > *first as usize => *last as usize + 1,
            _ => 0,
        }
    }

    /// Forgets the first blocks, whose cells are zero.
    pub(crate) fn take(&mut self, n_blocks: usize) {
        self.cell_of.drain(..n_blocks.min(self.cell_of.len()));
    }

    /// Has some number of cells at least.
    pub(crate) fn reach(&mut self, n_cells: usize) {
        if self.cells.len() < n_cells {
            self.cells.resize(n_cells, ZERO_CELL);
        }
    }

    /// A block of the window.
    #[inline]
    pub(crate) fn block_mut(&mut self, block: usize) -> Option<&mut Block> {
        let cell = *self.cell_of.get(block)?;
        self.cells.get_mut(cell as usize).map(|cell| &mut cell.values)
    }

    /// Makes all cells zero, after an image that was not decoded to its end.
    pub(crate) fn clear(&mut self) {
        self.cells.fill(ZERO_CELL);
    }
}

/// Makes blocks zero that are not taken.
pub(crate) fn clear(cell_of: &[u32], cells: &mut [Cell]) {
    for cell in cell_of {
        if let Some(cell) = cells.get_mut(*cell as usize) {
            cell.values = [0; 64];
        }
    }
}

/// Makes blocks zero of which only averages were read, that is, all but the first value and the last
/// quarter were left out.
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

/// Makes cells zero that hold no blocks.
pub(crate) fn wipe(cells: &mut [Cell]) {
    cells.fill(ZERO_CELL);
}
