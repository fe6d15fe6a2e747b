//! Splits of what is unpacked, for the record beside the images.
use fdconvert_core::{Splits, split_ranges};

/// Which of the samples that were written are in which split.
pub(crate) struct WrittenSplits {
    /// Of all that are planned; none where there are no splits.
    planned: Splits,
    /// The next one, written or left out.
    position: u64,
    /// Runs of those that were written: the position of the planned range, and how many.
    written: Vec<(usize, u64)>,
}

impl WrittenSplits {
    pub(crate) fn new(planned: Splits) -> Self {
        Self { planned, position: 0, written: Vec::new() }
    }

    /// The next sample was written, or left out.
    pub(crate) fn note(&mut self, is_written: bool) {
        let at = self.planned.partition_point(|(_, range)| range.end <= self.position);
        self.position += 1;
        match self.written.last_mut() {
            _ if !is_written || self.planned.is_empty() => {}
            Some((last, n)) if *last == at => *n += 1,
            _ => self.written.push((at, 1)),
        }
    }

    pub(crate) fn into_splits(self) -> Splits {
        let planned = &self.planned;
        let named = self.written.into_iter().filter_map(|(at, n)| Some((&*planned.get(at)?.0, n)));
        split_ranges(named)
    }
}
