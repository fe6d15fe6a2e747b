//! A whole dataset read from the first sample to the last, by several threads.
use fdconvert_core::{Ahead, Reader};
use std::ops::Range;

/// Samples between two looks at the cancel switch.
pub(crate) const CHUNK: u64 = 4096;
/// About how many bytes of a dataset in a store are fetched at a time.
pub(crate) const AHEAD_BYTES: u64 = 16 << 20;

/// Samples that threads read side by side.
pub(crate) struct Chunk {
    pub(crate) samples: Range<u64>,
    _ahead: Ahead,
}

impl Chunk {
    /// Those from `start` on, of which no bytes of images are read.
    pub(crate) fn of_tables(reader: &dyn Reader, start: u64) -> Self {
        Self { samples: start..reader.len().min(start + CHUNK), _ahead: Ahead::default() }
    }

    /// Those from `start` on; none behind the last.
    pub(crate) fn of(reader: &dyn Reader, start: u64) -> Self {
        let mut end = reader.len().min(start + CHUNK);
        let mut ahead = Ahead::default();
        if reader.facts().reads_ahead && start < end {
            let mut left = AHEAD_BYTES;
            let fits = |&index: &u64| {
                let fits = left > 0;
                left = left.saturating_sub(reader.ahead_bytes(index));
                fits
            };
            let indices: Vec<u64> = (start..end).take_while(fits).collect();
            end = start + indices.len() as u64;
            ahead = reader.read_ahead(&indices);
        }
        Self { samples: start..end, _ahead: ahead }
    }
}
