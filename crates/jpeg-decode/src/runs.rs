//! The runs of blocks of a scan: where decoding may start, and must end.
use crate::Error;
use fdconvert_jpeg::{EntryPoints, Jpeg, Segment, Unstuffed};

/// Consecutive blocks. Bits count in the un-stuffed scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) bit: u64,
    pub(crate) block: u32,
    pub(crate) n_blocks: u32,
    /// Approximate number of bits of its blocks.
    pub(crate) n_bits: u64,
    /// The bit at which the blocks after this run start, or the restart interval ends.
    pub(crate) end: u64,
    pub(crate) ending: Ending,
}

/// Position of the last block's end relative to the end of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Exactly there.
    Exact,
    /// Fewer than 8 bits before it.
    Padded,
    /// Anywhere before it: the run was cut, and continues later.
    Open,
}

impl Run {
    pub(crate) fn may_end_at(&self, bit: u64) -> bool {
        match self.ending {
            Ending::Exact => bit == self.end,
            Ending::Padded => bit <= self.end && self.end - bit < 8,
            Ending::Open => bit <= self.end,
        }
    }
}

/// The runs of a scan in order, to be taken window by window. The rest of a run after the end of a
/// window comes first in the next one.
#[derive(Debug)]
pub(crate) struct Runs {
    all: std::vec::IntoIter<Run>,
    next: Option<Run>,
    rest: Option<Run>,
}

/// A block at which decoding may start, and the DC predictions there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) block: u32,
    pub(crate) dc: [i16; 3],
}

impl Runs {
    /// Returns the restart intervals of a scan, a single one without restarts, starting with that
    /// of `block`.
    pub(crate) fn of_restarts(jpeg: &Jpeg, data: &Unstuffed, block: u32) -> (Start, Self) {
        let per_restart = jpeg.blocks_per_restart().unwrap_or(jpeg.n_blocks).max(1);
        let n_before = (block / per_restart) as usize;
        let starts = (0..jpeg.n_blocks).step_by(per_restart as usize);
        let runs = intervals(data).zip(starts).skip(n_before).map(|((bit, end), block)| {
            let n_blocks = per_restart.min(jpeg.n_blocks - block);
            let n_bits = end.saturating_sub(bit);
            Run { bit, block, n_blocks, n_bits, end, ending: Ending::Padded }
        });
        let start = Start { block: block / per_restart * per_restart, dc: [0; 3] };
        (start, Self::new(runs.collect()))
    }

    /// Returns the segments between entry points, starting with the last one at or before `block`
    /// where the DC predictions are known.
    ///
    /// # Errors
    /// `OtherEntryPoints` when they leave blocks out, or have a restart where there is none.
    pub(crate) fn of_entry_points(
        jpeg: &Jpeg,
        data: &Unstuffed,
        entry_points: &EntryPoints,
        block: u32,
    ) -> Result<(Start, Self), Error> {
        let per_restart = jpeg.blocks_per_restart().unwrap_or(jpeg.n_blocks);
        let mut intervals = intervals(data);
        let segments = entry_points.segments();
        let last = segments.partition_point(|it| it.block <= block).saturating_sub(1);
        let anchor = entry_points.anchor_before(last);
        let anchor = anchor.ok_or(Error::OtherEntryPoints { segment: last })?;
        let first = anchor.segment as usize;
        let mut start = Start { block: 0, dc: anchor.dc };
        let mut runs = Vec::with_capacity(segments.len().saturating_sub(first));
        let (mut behind, mut interval_end) = (0_u32, 0);
        for (number, segment) in segments.iter().enumerate() {
            let other = Error::OtherEntryPoints { segment: number };
            let Segment { block, n_blocks, .. } = *segment;
            let at_restart = behind % per_restart.max(1) == 0;
            if block != behind || n_blocks == 0 || segment.resets != at_restart {
                return Err(other);
            }
            let bit = u64::from(segment.bit);
            if segment.resets {
                let interval = intervals.next().filter(|(start, _)| *start == bit);
                interval_end = interval.ok_or(other)?.1;
            }
            behind = behind.saturating_add(n_blocks);
            if number == first {
                start.block = block;
            }
            if number >= first {
                let (end, ending) = match segments.get(number + 1) {
                    Some(next) if !next.resets => (next.bit.into(), Ending::Exact),
                    _ => (interval_end, Ending::Padded),
                };
                let n_bits = end.saturating_sub(bit);
                runs.push(Run { bit, block, n_blocks, n_bits, end, ending });
            }
        }
        match behind == jpeg.n_blocks && intervals.next().is_none() {
            true => Ok((start, Self::new(runs))),
            false => Err(Error::OtherEntryPoints { segment: segments.len() }),
        }
    }

    fn new(runs: Vec<Run>) -> Self {
        let mut all = runs.into_iter();
        let next = all.next();
        Self { all, next, rest: None }
    }

    /// Returns the next run that starts before `block`, cut there if it ends later.
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
        let n_bits = taken.n_bits * u64::from(n_before) / u64::from(taken.n_blocks);
        let n_bits_behind = taken.n_bits - n_bits;
        let n_behind = taken.n_blocks - n_before;
        self.rest = Some(Run { block, n_blocks: n_behind, n_bits: n_bits_behind, ..taken });
        Some(Run { n_blocks: n_before, n_bits, ending: Ending::Open, ..taken })
    }

    /// Sets the end of the blocks of a cut run.
    pub(crate) fn resume_at(&mut self, bit: u64) {
        if let Some(rest) = &mut self.rest {
            rest.bit = bit;
        }
    }
}

/// Yields the first bit of every restart interval, and the bit after its last byte.
fn intervals(data: &Unstuffed) -> impl Iterator<Item = (u64, u64)> {
    let starts = data.starts().iter().map(|start| u64::from(*start) * 8);
    let ends = starts.clone().skip(1).chain([data.bytes().len() as u64 * 8]);
    starts.zip(ends)
}
