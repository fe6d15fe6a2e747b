//! Entropy decoding with a lane of vectors for each place of a scan.
//!
//! Sixteen lanes take one code each in a step, from the runs between entry points or restarts; a
//! lane at the end of its run takes the next one of a [`Queue`]. There are no branches for the ends
//! of blocks, as there are none in [`crate::interleaved`]; see [`kernel`] for a step.
mod constants;
mod group;
mod kernel;
mod queue;
mod tables;

use crate::{
    instructions::Avx512,
    runs::{Ending, Runs},
    window::Window,
};
use fdconvert_jpeg::{Jpeg, Unstuffed};
use queue::Queue;
use std::ops::Range;
use tables::Tables;

/// Number of runs below which streams are faster: most lanes would be idle.
pub(crate) const LEAST_RUNS: usize = 20;
/// The same threshold for runs between restart markers, whose decoding times vary widely.
pub(crate) const LEAST_RESTARTS: usize = 64;

/// The half cell in which idle lanes write zeros.
const NOWHERE: u32 = 0;
/// The half cell of the first block.
const FIRST: u32 = 1;

/// Decodes windows with lanes; keeps its tables and memory.
#[derive(Debug)]
pub(crate) struct Lanes {
    proof: Avx512,
    tables: Tables,
    queue: Queue,
}

impl Lanes {
    pub(crate) fn new(proof: Avx512) -> Self {
        Self { proof, tables: Tables::default(), queue: Queue::default() }
    }

    /// Prepares for an image; `None` when its MCUs have too many blocks.
    pub(crate) fn prepare(&mut self, jpeg: &Jpeg) -> Option<()> {
        self.tables.prepare(jpeg)
    }

    /// Decodes some blocks to an empty window, with 1 or 2 groups of lanes. `None` when they are
    /// damaged; the portable decoder finds the fault.
    pub(crate) fn decode(
        &mut self,
        data: &Unstuffed,
        runs: &mut Runs,
        blocks: &Range<u32>,
        n_groups: usize,
        window: &mut Window,
    ) -> Option<()> {
        let per_mcu = self.tables.per_mcu();
        self.queue.clear();
        let mut block = blocks.start;
        while let Some(run) = runs.next_before(blocks.end) {
            if run.block != block || run.n_blocks == 0 {
                return None;
            }
            block = block.checked_add(run.n_blocks)?;
            let half = FIRST + run.block - blocks.start;
            self.queue.push(run, half..half + run.n_blocks, run.block.checked_rem(per_mcu)?);
        }
        if block != blocks.end {
            return None;
        }
        window.in_order(FIRST, blocks.len());
        if !kernel::decode(self.proof, &self.tables, data, &mut self.queue, n_groups, window) {
            return None;
        }
        for (run, reached) in self.queue.runs.iter().zip(&self.queue.reached) {
            if !run.may_end_at((*reached).into()) {
                return None;
            }
            if run.ending == Ending::Open {
                runs.resume_at((*reached).into());
            }
        }
        Some(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::{
        entropy::{self, Scan},
        instructions::{Instructions, Loops},
        table,
    };
    use fdconvert_jpeg::{EntryPoints, parse, unstuff};
    use fdconvert_testkit::fixtures::{JPEG_420, JPEG_444, JPEG_GRAY};

    /// The decoder would hide a failure of lanes, as the portable code decodes what they refuse.
    #[test]
    fn lanes_decode_sound_images_themselves() {
        let Some(avx512) = Loops::new(Instructions::Avx512).and_then(Loops::avx512) else { return };
        let mut lanes = Lanes::new(avx512);
        for bytes in [JPEG_420, JPEG_444, JPEG_GRAY] {
            let jpeg = parse(bytes).unwrap();
            let data = unstuff(&jpeg, bytes).unwrap();
            let entry_points = EntryPoints::build(&jpeg, bytes, 512).unwrap();
            let runs = || Runs::of_entry_points(&jpeg, &data, &entry_points, 0).unwrap().1;
            let blocks = 0..jpeg.n_blocks;
            let mut expected = Window::default();
            let tables = table::Tables::new(&jpeg);
            let scan = Scan::new(&jpeg, &data, &tables);
            entropy::decode::<1>(&scan, &mut runs(), &blocks, &mut expected).unwrap();
            for n_groups in [1, 2] {
                let mut found = Window::default();
                lanes.prepare(&jpeg).unwrap();
                lanes.decode(&data, &mut runs(), &blocks, n_groups, &mut found).unwrap();
                for block in 0..jpeg.n_blocks as usize {
                    assert_eq!(found.block_mut(block), expected.block_mut(block), "{block}");
                }
                // What is not a block stays clear.
                found.cells.clear(&found.half_of);
                assert!(
                    (0..expected.half_of.len() as u32 + 1)
                        .all(|half| found.cells.half(half).is_none_or(|it| *it == [0; 64]))
                );
            }
        }
    }
}
