//! Records that stay in memory.
use bytes::Bytes;

/// About what a record takes beside its pieces, and a piece beside its bytes.
const RECORD_BYTES: u64 = 16;
const PIECE_BYTES: u64 = 128;

#[derive(Default)]
pub(super) struct Kept {
    pieces: Vec<Bytes>,
    /// Where the pieces of each record end.
    ends: Vec<usize>,
    n_bytes: u64,
}

impl Kept {
    /// Keeps a record if all of them then take no more than `budget` bytes. Returns whether it does.
    pub(super) fn push(&mut self, record: &[Bytes], budget: u64) -> bool {
        let takes = |piece: &Bytes| PIECE_BYTES + piece.len() as u64;
        let n_bytes = self.n_bytes + RECORD_BYTES + record.iter().map(takes).sum::<u64>();
        if n_bytes > budget {
            return false;
        }
        self.n_bytes = n_bytes;
        self.pieces.extend_from_slice(record);
        self.ends.push(self.pieces.len());
        true
    }

    /// Number of records.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The pieces of a record.
    pub(super) fn get(&self, index: usize) -> Option<&[Bytes]> {
        let start =
            index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.pieces.get(start..*self.ends.get(index)?)
    }

    /// Those of all records.
    pub(super) fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_kept_within_the_budget() {
        let mut kept = Kept::default();
        let record = [&b"head"[..], b"image"].map(Bytes::from_static);
        let takes = RECORD_BYTES + 2 * PIECE_BYTES + 9;
        assert!(!kept.push(&record, takes - 1));
        assert!(kept.push(&record, takes));
        assert!(kept.push(&record[..1], 2 * takes));
        assert!(!kept.push(&record, 2 * takes));
        assert_eq!((kept.len(), kept.pieces().len()), (2, 3));
        assert_eq!(kept.get(0), Some(&record[..]));
        assert_eq!(kept.get(1), Some(&record[..1]));
        assert_eq!(kept.get(2), None);
    }
}
