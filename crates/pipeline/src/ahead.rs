//! Announces samples to sources in stores before they are read, for shards and for planning.
use crate::PackJob;
use fdconvert_core::{Ahead, Coming, Source, Window};
use std::ops::Range;

/// Returns a window over these positions of the plan, starting with read number 0; `None` if the
/// source cannot use it.
pub(crate) fn window(job: &PackJob, positions: Range<u64>) -> Option<Window<'_, u64>> {
    let source = &*job.source;
    if !source.facts().reads_ahead {
        return None;
    }
    let reads = positions.map(move |position| {
        if job.plan.unreadable.contains_key(&position) {
            return Coming { what: None, bytes: 0 };
        }
        let index = job.plan.source_index(position);
        Coming { what: Some(index), bytes: source.ahead_bytes(index) }
    });
    Some(Window::new(job.run.ahead_bytes(), reads, |indices| source.read_ahead(indices)))
}

/// Number of samples between two checks of the cancel switch.
pub(crate) const PIECE: usize = 4096;
/// Approximate bytes per piece of a source in a store.
const PIECE_BYTES: u64 = 16 << 20;

/// Cuts samples into pieces for parallel reads. While one piece is read, it and the one after it
/// are announced.
pub(crate) struct Pieces<'a> {
    source: &'a dyn Source,
    left: &'a [u64],
    next: Option<(&'a [u64], Ahead)>,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(source: &'a dyn Source, indices: &'a [u64]) -> Self {
        let mut pieces = Self { source, left: indices, next: None };
        pieces.next = pieces.cut();
        pieces
    }

    fn cut(&mut self) -> Option<(&'a [u64], Ahead)> {
        let longest = self.left.len().min(PIECE);
        if !self.source.facts().reads_ahead {
            let (piece, left) = self.left.split_at(longest);
            self.left = left;
            return (!piece.is_empty()).then(|| (piece, Ahead::default()));
        }
        let (mut n_samples, mut bytes) = (0, 0_u64);
        for &index in self.left.iter().take(longest) {
            if bytes >= PIECE_BYTES {
                break;
            }
            bytes = bytes.saturating_add(self.source.ahead_bytes(index));
            n_samples += 1;
        }
        let (piece, left) = self.left.split_at(n_samples);
        self.left = left;
        (!piece.is_empty()).then(|| (piece, self.source.read_ahead(piece)))
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = (&'a [u64], Ahead);

    fn next(&mut self) -> Option<Self::Item> {
        let piece = self.next.take()?;
        self.next = self.cut();
        Some(piece)
    }
}
