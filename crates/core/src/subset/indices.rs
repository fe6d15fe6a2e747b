use crate::{
    Error, Result,
    bytes::{u32_at, u64_at},
};
use std::ops::Range;

/// Indices of samples in an order of choice, with repeats.
///
/// Even steps take 24 bytes for each run, so a range costs nothing per sample. Anything else takes
/// 4 bytes for each index, or 8 if one is 2^32 or above.
///
/// ```
/// use fdconvert_core::Indices;
///
/// let chosen = Indices::from_iter([7, 0, 7]);
/// assert_eq!((chosen.len(), chosen.at(2), chosen.at(3)), (3, Some(7), None));
/// assert_eq!(Indices::from(2..5), Indices::from_iter([2, 3, 4]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Indices {
    len: u64,
    kept: Kept,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kept {
    /// Ascending by `start`; each ends where the next one starts.
    Runs(Vec<Run>),
    Short(Vec<u32>),
    Long(Vec<u64>),
}

/// Indices `first`, `first + step`, ... at the positions from `start` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    start: u64,
    first: u64,
    step: i64,
}

/// `len` indices in even steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Steps {
    pub(super) first: u64,
    pub(super) step: i64,
    pub(super) len: u64,
}

/// As long as there are no more runs than that, a list would hardly be smaller.
const FEW_RUNS: usize = 8;
/// Indices of a list that take as much memory as one run.
const INDICES_PER_RUN: u64 = 6;

impl Default for Kept {
    fn default() -> Self {
        Self::Runs(Vec::new())
    }
}

impl Steps {
    fn at(self, position: u64) -> u64 {
        step_from(self.first, self.step, position)
    }

    fn last(self) -> u64 {
        self.at(self.len.saturating_sub(1))
    }
}

/// Exact for every index of a run, because the first and the last one are no overflow.
fn step_from(first: u64, step: i64, position: u64) -> u64 {
    first.wrapping_add_signed(step.wrapping_mul(position.cast_signed()))
}

impl Indices {
    /// Creates `len` indices in even steps, up or down; `None` if one is below 0 or beyond 64 bits.
    #[must_use]
    pub fn stepped(first: u64, step: i64, len: u64) -> Option<Self> {
        let last = i128::from(first) + i128::from(step) * i128::from(len.saturating_sub(1));
        u64::try_from(last).ok()?;
        let mut indices = Self::default();
        indices.push(Steps { first, step, len });
        Some(indices)
    }

    /// Creates the indices of the true values.
    pub fn of_mask(mask: impl IntoIterator<Item = bool>) -> Self {
        (0..).zip(mask).filter_map(|(index, taken)| taken.then_some(index)).collect()
    }

    /// Returns the number of indices.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the index at a position; `None` beyond the end.
    #[must_use]
    pub fn at(&self, position: u64) -> Option<u64> {
        match &self.kept {
            Kept::Runs(runs) if position < self.len => {
                let behind = runs.partition_point(|run| run.start <= position);
                let run = runs.get(behind.checked_sub(1)?)?;
                Some(step_from(run.first, run.step, position - run.start))
            }
            Kept::Runs(_) => None,
            Kept::Short(list) => list.get(usize::try_from(position).ok()?).copied().map(u64::from),
            Kept::Long(list) => list.get(usize::try_from(position).ok()?).copied(),
        }
    }

    /// Yields the indices.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.steps().flat_map(|steps| (0..steps.len).map(move |position| steps.at(position)))
    }

    /// Returns the largest index; `None` if there are none.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.steps().map(|steps| steps.first.max(steps.last())).max()
    }

    /// Returns start, step and number of indices in even steps; `None` for any others.
    #[must_use]
    pub fn as_steps(&self) -> Option<(u64, i64, u64)> {
        let mut steps = self.steps();
        let only = steps.next().unwrap_or(Steps { first: 0, step: 1, len: 0 });
        steps.next().is_none().then_some((only.first, only.step, only.len))
    }

    /// Returns the indices as bytes, about as many as they take in memory.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let words = |words: [u64; 3]| words.map(u64::to_le_bytes).concat();
        let (kind, bytes): (u8, Vec<u8>) = match &self.kept {
            Kept::Runs(_) => {
                let runs = self.steps();
                let runs =
                    runs.flat_map(|run| words([run.first, run.step.cast_unsigned(), run.len]));
                (0, runs.collect())
            }
            Kept::Short(list) => (1, list.iter().flat_map(|index| index.to_le_bytes()).collect()),
            Kept::Long(list) => (2, list.iter().flat_map(|index| index.to_le_bytes()).collect()),
        };
        [&[kind], &bytes[..]].concat()
    }

    /// Reads [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// `Usage` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = || Error::usage("indices", "these bytes are no indices");
        let (kind, bytes) = bytes.split_first().ok_or_else(wrong)?;
        let n_bytes = *[24, 4, 8].get(usize::from(*kind)).ok_or_else(wrong)?;
        if bytes.len() % n_bytes != 0 {
            return Err(wrong());
        }
        let mut found = Self::default();
        for item in bytes.chunks_exact(n_bytes) {
            let word = |at| u64_at(item, at).unwrap_or_default();
            match kind {
                0 => {
                    let (first, step, len) = (word(0), word(8).cast_signed(), word(16));
                    let run = Self::stepped(first, step, len).ok_or_else(wrong)?;
                    found.len.checked_add(len).ok_or_else(wrong)?;
                    run.steps().for_each(|steps| found.push(steps));
                }
                1 => found.extend(u32_at(item, 0).map(u64::from)),
                _ => found.extend([word(0)]),
            }
        }
        found.shrink();
        Ok(found)
    }

    /// Returns the bytes of memory that the indices take.
    #[must_use]
    pub fn memory(&self) -> u64 {
        (match &self.kept {
            Kept::Runs(runs) => size_of_val(&runs[..]),
            Kept::Short(list) => size_of_val(&list[..]),
            Kept::Long(list) => size_of_val(&list[..]),
        }) as u64
    }

    /// Chooses among chosen samples: the indices in `outer` that are at these positions.
    ///
    /// # Errors
    /// `Usage` for a position beyond the end of `outer`.
    pub fn within(&self, outer: &Self) -> Result<Self> {
        self.check(outer.len)?;
        let mut found = Self::default();
        let list = |position| outer.at(position).unwrap_or(u64::MAX);
        match &outer.kept {
            Kept::Runs(runs) => {
                let starts: Vec<u64> = runs.iter().map(|run| run.start).collect();
                self.cut(&starts, |number, steps| {
                    if let Some(run) = runs.get(number) {
                        let first = step_from(run.first, run.step, steps.first - run.start);
                        // The product of one index's step is never used.
                        let step = run.step.wrapping_mul(steps.step);
                        found.push(Steps { first, step, ..steps });
                    }
                    true
                });
            }
            Kept::Short(_) | Kept::Long(_) => found.extend(self.iter().map(list)),
        }
        found.shrink();
        Ok(found)
    }

    /// Refuses indices that samples of that number do not have.
    ///
    /// # Errors
    /// `Usage`, with the index.
    pub fn check(&self, n_samples: u64) -> Result<()> {
        match self.max().filter(|max| *max >= n_samples) {
            Some(max) => {
                let what = format!("{max} is out of range for {n_samples} samples");
                Err(Error::usage("indices", what))
            }
            None => Ok(()),
        }
    }

    /// Calls `piece` with parts that lie between two borders, and the number of the border before
    /// them, until it returns false. Borders ascend, the first is 0.
    pub(super) fn cut(&self, borders: &[u64], mut piece: impl FnMut(usize, Steps) -> bool) {
        for mut left in self.steps() {
            while left.len > 0 {
                let behind = borders.partition_point(|border| *border <= left.first);
                let number = behind.saturating_sub(1);
                let room = match left.step.signum() {
                    1 => borders.get(number + 1).map(|end| end - 1 - left.first),
                    -1 => borders.get(number).map(|start| left.first - start),
                    _ => None,
                };
                let most = room.map_or(u64::MAX, |room| room / left.step.unsigned_abs() + 1);
                let len = left.len.min(most);
                if !piece(number, Steps { len, ..left }) {
                    return;
                }
                left = Steps { first: left.at(len), len: left.len - len, ..left };
            }
        }
    }

    /// Yields the runs, or each index of a list as one.
    pub(super) fn steps(&self) -> impl Iterator<Item = Steps> + '_ {
        let (runs, short, long): (&[Run], &[u32], &[u64]) = match &self.kept {
            Kept::Runs(runs) => (runs, &[], &[]),
            Kept::Short(list) => (&[], list, &[]),
            Kept::Long(list) => (&[], &[], list),
        };
        let ends = runs.iter().skip(1).map(|run| run.start).chain([self.len]);
        let runs = runs.iter().zip(ends).map(|(run, end)| {
            let Run { start, first, step } = *run;
            Steps { first, step, len: end - start }
        });
        let listed = short.iter().map(|index| u64::from(*index)).chain(long.iter().copied());
        runs.chain(listed.map(|first| Steps { first, step: 0, len: 1 }))
    }

    /// Adds a run, as part of the last one if it continues it.
    pub(super) fn push(&mut self, steps: Steps) {
        if steps.len == 0 {
            return;
        }
        let Kept::Runs(runs) = &mut self.kept else {
            (0..steps.len).for_each(|position| self.push_listed(steps.at(position)));
            return;
        };
        let start = self.len;
        self.len += steps.len;
        if let Some(last) = runs.last_mut() {
            let n_last = start - last.start;
            // The step of one index alone is any.
            let step = match (n_last, steps.len) {
                (1, 1) => difference(last.first, steps.first),
                (1, _) => Some(steps.step),
                (_, 1) => Some(last.step),
                _ => (last.step == steps.step).then_some(steps.step),
            };
            if let Some(step) = step
                && difference(step_from(last.first, step, n_last - 1), steps.first) == Some(step)
            {
                last.step = step;
                return;
            }
        }
        let step = if steps.len == 1 { 1 } else { steps.step };
        runs.push(Run { start, first: steps.first, step });
        if runs.len() > FEW_RUNS && runs.len() as u64 * INDICES_PER_RUN > self.len {
            let mut listed = Self { len: 0, kept: Kept::Short(Vec::new()) };
            self.iter().for_each(|index| listed.push_listed(index));
            *self = listed;
        }
    }

    fn push_listed(&mut self, index: u64) {
        self.len += 1;
        match (&mut self.kept, u32::try_from(index)) {
            (Kept::Short(list), Ok(index)) => list.push(index),
            (Kept::Short(list), Err(_)) => {
                let long = list.iter().map(|index| u64::from(*index)).chain([index]).collect();
                self.kept = Kept::Long(long);
            }
            (Kept::Long(list), _) => list.push(index),
            (Kept::Runs(_), _) => {}
        }
    }

    fn shrink(&mut self) {
        match &mut self.kept {
            Kept::Runs(runs) => runs.shrink_to_fit(),
            Kept::Short(list) => list.shrink_to_fit(),
            Kept::Long(list) => list.shrink_to_fit(),
        }
    }
}

/// Returns the step from one index to another, if it fits.
fn difference(from: u64, to: u64) -> Option<i64> {
    i64::try_from(i128::from(to) - i128::from(from)).ok()
}

impl From<Range<u64>> for Indices {
    fn from(range: Range<u64>) -> Self {
        let len = range.end.saturating_sub(range.start);
        Self::stepped(range.start, 1, len).unwrap_or_default()
    }
}

impl From<Vec<u64>> for Indices {
    fn from(list: Vec<u64>) -> Self {
        list.into_iter().collect()
    }
}

impl Extend<u64> for Indices {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, indices: I) {
        indices.into_iter().for_each(|first| self.push(Steps { first, step: 1, len: 1 }));
    }
}

impl FromIterator<u64> for Indices {
    fn from_iter<I: IntoIterator<Item = u64>>(indices: I) -> Self {
        let mut found = Self::default();
        found.extend(indices);
        found.shrink();
        found
    }
}
