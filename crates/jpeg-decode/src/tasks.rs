//! Assignment of runs of blocks to the streams of [`crate::interleaved`], and to cells.
//!
//! A window is cut into as many tasks as there are streams, of about as many bits each: a task is
//! several consecutive runs, of which only the last one has its end checked. Runs between restarts
//! cannot be joined; then there may be more tasks than streams, and a stream at its end takes the
//! next one.
use crate::{
    instructions::Base,
    interleaved::{MAX_STREAMS, Marks, Stream, finish, run},
    plans::{Plans, SLACK},
    runs::{Ending, Run, Runs},
    window::Window,
};
use fdconvert_jpeg::{Jpeg, Unstuffed};
use std::ops::Range;

/// Decodes windows with several streams; keeps its tables and memory.
#[derive(Debug)]
pub(crate) struct Interleaved {
    pub(crate) proof: Base,
    pub(crate) plans: Plans,
    tasks: Vec<Task>,
    /// Used by the last [`Guesses`](crate::guess::Guesses).
    pub(crate) marks: Vec<Marks>,
}

#[derive(Debug, Clone, Copy)]
struct Task {
    run: Run,
    cell: usize,
}

impl Interleaved {
    pub(crate) fn new(proof: Base) -> Self {
        Self { proof, plans: Plans::default(), tasks: Vec::new(), marks: Vec::new() }
    }

    /// Prepares for an image, or only for the averages of its blocks. `None` when its tables are
    /// missing, which the parser does not allow.
    pub(crate) fn prepare(&mut self, jpeg: &Jpeg, data: &Unstuffed, averages: bool) -> Option<()> {
        self.plans.prepare(jpeg, data.bytes().len() as u64 * 8, averages)
    }

    /// Decodes some blocks to the end of an empty window. `None` when they are damaged; the
    /// portable decoder finds the fault.
    pub(crate) fn decode(
        &mut self,
        data: &Unstuffed,
        runs: &mut Runs,
        blocks: &Range<u32>,
        n_places: usize,
        window: &mut Window,
    ) -> Option<()> {
        let n_places = n_places.clamp(1, MAX_STREAMS);
        self.cut(runs, blocks, n_places);
        self.place(blocks, window)?;
        let mut waiting = self.tasks.iter();
        let mut busy = Vec::with_capacity(MAX_STREAMS);
        let mut tasks = Vec::with_capacity(MAX_STREAMS);
        loop {
            while busy.len() < n_places
                && let Some(task) = waiting.next()
            {
                let Run { bit, n_blocks, .. } = task.run;
                busy.push(Stream::new(&self.plans, data, bit, task.cell, n_blocks as usize));
                tasks.push(task);
            }
            if busy.is_empty() {
                return Some(());
            }
            if !busy.iter().any(Stream::is_near_end) {
                run(self.proof, &mut self.plans, window, &mut busy, &mut []);
            }
            while let Some(number) = busy.iter().position(Stream::is_near_end) {
                let (mut stream, task) = (busy.swap_remove(number), tasks.swap_remove(number));
                let bit = finish(self.proof, &mut self.plans, window, &mut stream)?;
                if !task.run.may_end_at(bit) {
                    return None;
                }
                if task.run.ending == Ending::Open {
                    runs.resume_at(bit);
                }
            }
        }
    }

    /// Joins the runs of a window to tasks.
    fn cut(&mut self, runs: &mut Runs, blocks: &Range<u32>, n_places: usize) {
        self.tasks.clear();
        let runs: Vec<_> = std::iter::from_fn(|| runs.next_before(blocks.end)).collect();
        let n_bits: u64 = runs.iter().map(|run| run.n_bits).sum();
        let mut taken = 0;
        let mut open: Option<Run> = None;
        for run in runs {
            let whole = match open {
                Some(open) if open.ending == Ending::Exact => Run {
                    bit: open.bit,
                    block: open.block,
                    n_blocks: open.n_blocks + run.n_blocks,
                    n_bits: open.n_bits + run.n_bits,
                    ..run
                },
                _ => run,
            };
            taken += run.n_bits;
            let due = n_bits * (self.tasks.len() as u64 + 1) / n_places as u64;
            // Taking the next run would exceed the due bits by more than stopping here misses.
            let is_full = taken + run.n_bits / 2 >= due;
            open = (whole.ending == Ending::Exact && !is_full).then_some(whole);
            if open.is_none() {
                self.tasks.push(Task { run: whole, cell: 0 });
            }
        }
        self.tasks.extend(open.map(|run| Task { run, cell: 0 }));
    }

    /// Assigns cells to every task. `None` when they are not the blocks of the window in order.
    fn place(&mut self, blocks: &Range<u32>, window: &mut Window) -> Option<()> {
        let per_mcu = self.plans.blocks_per_mcu().max(1);
        let (mut cell, mut block) = (0, blocks.start);
        for task in &mut self.tasks {
            let n_blocks = task.run.n_blocks as usize;
            // The number of a block's cell determines its tables.
            let phase = task.run.block as usize % per_mcu;
            cell += (phase + per_mcu - cell % per_mcu) % per_mcu;
            if task.run.block != block || n_blocks == 0 {
                return None;
            }
            task.cell = cell;
            window.add_cells(cell..cell + n_blocks);
            cell += n_blocks + SLACK;
            block = block.checked_add(task.run.n_blocks)?;
        }
        (block == blocks.end).then(|| window.cells.reach(cell))
    }
}
