use crate::runs::Run;

/// Runs of blocks, which lanes take one after the other. Places count values from the first of all
/// cells.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) runs: Vec<Run>,
    /// By run: its position in the scan, the first place of its blocks and the one after them, and
    /// the slot of the first block.
    pub(super) positions: Vec<u32>,
    pub(super) starts: Vec<u32>,
    pub(super) ends: Vec<u32>,
    pub(super) slots: Vec<u32>,
    /// By run: the position after its last code.
    pub(super) reached: Vec<u32>,
}

impl Queue {
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.reached.clear();
        for of_runs in [&mut self.positions, &mut self.starts, &mut self.ends, &mut self.slots] {
            of_runs.clear();
        }
    }

    /// Adds a run whose blocks are in these half cells.
    pub(super) fn push(&mut self, run: Run, halves: std::ops::Range<u32>, slot: u32) {
        self.positions.push(run.bit as u32);
        self.starts.push(halves.start * 64);
        self.ends.push(halves.end * 64);
        self.slots.push(slot);
        self.reached.push(0);
        self.runs.push(run);
    }
}
