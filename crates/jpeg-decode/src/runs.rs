//! The runs of blocks of a scan: where decoding may start, and where it then has to end.
use crate::Error;
use fdconvert_jpeg::{EntryPoints, Jpeg, Unstuffed};

/// Blocks one after the other. Bits count in the un-stuffed scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) bit: u64,
    pub(crate) block: u32,
    pub(crate) n_blocks: u32,
    /// Where the blocks behind this run start, or the restart interval ends.
    pub(crate) end: u64,
    pub(crate) ending: Ending,
}

/// How the last block of a run lies to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It ends there.
    Exact,
    /// Fewer than 8 bits before it.
    Padded,
    /// Anywhere before it: the run was cut, and the rest comes later.
    Open,
}

impl Run {
    /// Whether the last block of the run may end at this bit.
    pub(crate) fn may_end_at(&self, bit: u64) -> bool {
        match self.ending {
            Ending::Exact => bit == self.end,
            Ending::Padded => bit <= self.end && self.end - bit < 8,
            Ending::Open => bit <= self.end,
        }
    }
}

/// The runs of a scan in order, to be taken window by window. What a run has behind the end of a
/// window comes first in the next one.
#[derive(Debug)]
pub(crate) struct Runs {
    all: std::vec::IntoIter<Run>,
    next: Option<Run>,
    rest: Option<Run>,
}

impl Runs {
    /// The restart intervals of a scan, which is one where it has no restarts.
    pub(crate) fn of_restarts(jpeg: &Jpeg, data: &Unstuffed) -> Self {
        let per_restart = jpeg.blocks_per_restart().unwrap_or(jpeg.n_blocks).max(1);
        let intervals = intervals(data).zip((0..jpeg.n_blocks).step_by(per_restart as usize));
        let runs = intervals.map(|((bit, end), block)| {
            let n_blocks = per_restart.min(jpeg.n_blocks - block);
            Run { bit, block, n_blocks, end, ending: Ending::Padded }
        });
        Self::new(runs.collect())
    }

    /// The segments between entry points.
    ///
    /// # Errors
    /// `OtherEntryPoints` when they leave blocks out, or take a restart to be where none is.
    pub(crate) fn of_entry_points(
        jpeg: &Jpeg,
        data: &Unstuffed,
        entry_points: &EntryPoints,
    ) -> Result<Self, Error> {
        let per_restart = jpeg.blocks_per_restart().unwrap_or(jpeg.n_blocks);
        let mut intervals = intervals(data);
        let segments = entry_points.segments();
        let (mut runs, mut block, mut interval_end) = (Vec::with_capacity(segments.len()), 0, 0);
        for (number, segment) in segments.iter().enumerate() {
            let other = Error::OtherEntryPoints { segment: number };
            let at_restart = block % per_restart.max(1) == 0;
            if segment.block != block || segment.n_blocks == 0 || segment.resets != at_restart {
                return Err(other);
            }
            let bit = u64::from(segment.bit);
            if segment.resets {
                let interval = intervals.next().filter(|(start, _)| *start == bit);
                interval_end = interval.ok_or(other)?.1;
            }
            block = block.saturating_add(segment.n_blocks);
            let (end, ending) = match segments.get(number + 1) {
                Some(next) if !next.resets => (next.bit.into(), Ending::Exact),
                _ => (interval_end, Ending::Padded),
            };
            runs.push(Run { bit, block: segment.block, n_blocks: segment.n_blocks, end, ending });
        }
        match block == jpeg.n_blocks && intervals.next().is_none() {
            true => Ok(Self::new(runs)),
            false => Err(Error::OtherEntryPoints { segment: segments.len() }),
        }
    }

    fn new(runs: Vec<Run>) -> Self {
        let mut all = runs.into_iter();
        let next = all.next();
        Self { all, next, rest: None }
    }

    /// The next run that starts before a block, cut there if it does not end before.
    pub(crate) fn next_before(&mut self, block: u32) -> Option<Run> {
        let starts_before = |run: &mut Run| run.block < block;
        let taken = match self.rest.take_if(starts_before) {
            Some(rest) => rest,
            None => {
                let taken = self.next.take_if(starts_before)?;
                self.next = self.all.next();
                taken
            }
        };
        let n_before = block - taken.block;
        if taken.n_blocks <= n_before {
            return Some(taken);
        }
        self.rest = Some(Run { block, n_blocks: taken.n_blocks - n_before, ..taken });
        Some(Run { n_blocks: n_before, ending: Ending::Open, ..taken })
    }

    /// Tells where the blocks of a run that was cut have ended.
    pub(crate) fn resume_at(&mut self, bit: u64) {
        if let Some(rest) = &mut self.rest {
            rest.bit = bit;
        }
    }
}

/// The first bit of every restart interval, and the one behind its last byte.
fn intervals(data: &Unstuffed) -> impl Iterator<Item = (u64, u64)> {
    let starts = data.starts().iter().map(|start| u64::from(*start) * 8);
    let ends = starts.clone().skip(1).chain([data.bytes().len() as u64 * 8]);
    starts.zip(ends)
}
