//! Reads a whole dataset from the first sample to the last, with several threads.
use fdconvert_core::{Ahead, Reader};
use std::ops::Range;

/// Number of samples between two checks of the cancel switch.
pub(crate) const CHUNK: u64 = 4096;
/// Approximate bytes of a dataset in a store that are fetched at a time.
pub(crate) const AHEAD_BYTES: u64 = 16 << 20;

/// Samples that threads read in parallel.
pub(crate) struct Chunk {
    pub(crate) samples: Range<u64>,
    _ahead: Ahead,
}

impl Chunk {
    /// Creates the chunk from `start` on, for reads without image bytes.
    pub(crate) fn of_tables(reader: &dyn Reader, start: u64) -> Self {
        Self { samples: start..reader.len().min(start + CHUNK), _ahead: Ahead::default() }
    }

    /// Creates the chunk from `start` on; empty after the last sample.
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
