//! Splits of the unpacked samples, for the metadata beside the images.
use fdconvert_core::{Splits, split_ranges};

/// The splits of the samples written so far.
pub(crate) struct WrittenSplits {
    /// Splits of all planned samples; empty if there are no splits.
    planned: Splits,
    /// Position of the next sample, written or skipped.
    position: u64,
    /// Runs of written samples: the index of the planned range, and their number.
    written: Vec<(usize, u64)>,
}

impl WrittenSplits {
    pub(crate) fn new(planned: Splits) -> Self {
        Self { planned, position: 0, written: Vec::new() }
    }

    /// Advances to the next sample; `is_written` is false for a skipped one.
    pub(crate) fn note(&mut self, is_written: bool) {
        let at = self.planned.partition_point(|(_, range)| range.end <= self.position);
        self.position += 1;
        match self.written.last_mut() {
            _ if !is_written || self.planned.is_empty() => {}
            Some((last, n)) if *last == at => *n += 1,
            _ => self.written.push((at, 1)),
        }
    }

    /// The split of the next sample.
    pub(crate) fn next(&self) -> Option<&str> {
        let at = self.planned.partition_point(|(_, range)| range.end <= self.position);
        self.planned.get(at).map(|(name, _)| name.as_str())
    }

    pub(crate) fn into_splits(self) -> Splits {
        let planned = &self.planned;
        let named = self.written.into_iter().filter_map(|(at, n)| Some((&*planned.get(at)?.0, n)));
        split_ranges(named)
    }
}
