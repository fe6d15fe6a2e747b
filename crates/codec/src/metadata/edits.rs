//! Pieces of a file to remove or replace, and the resulting file.
use std::ops::Range;

/// Edits in file order, without overlaps.
#[derive(Default)]
pub(super) struct Edits(Vec<(Range<usize>, Vec<u8>)>);

impl Edits {
    pub(super) fn cut(&mut self, range: Range<usize>) {
        self.replace(range, Vec::new());
    }

    pub(super) fn replace(&mut self, range: Range<usize>, with: Vec<u8>) {
        self.0.push((range, with));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for (range, with) in &self.0 {
            out.extend_from_slice(bytes.get(at..range.start).unwrap_or_default());
            out.extend_from_slice(with);
            at = range.end;
        }
        out.extend_from_slice(bytes.get(at..).unwrap_or_default());
        out
    }
}
