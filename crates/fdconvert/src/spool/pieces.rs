//! Bytes in pieces: what is small is copied behind what came before, and what is large is a piece of
//! its own, which stays where it is.
use bytes::{Bytes, BytesMut};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// From here on a value is a piece of its own: to copy less costs as much as to account for it.
pub(super) const LARGE_BYTES: usize = 4 << 10;

/// Memory for small values is taken in blocks of this size, of many samples.
const BLOCK_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Pieces {
    /// The piece that grows, and room behind it.
    block: BytesMut,
    complete: Vec<Piece>,
}

pub(super) struct Piece {
    pub(super) bytes: Bytes,
    /// Of what was taken over.
    xxh3: Option<u64>,
}

impl Piece {
    /// Adds to a hash the checksum of what was taken over, and else the bytes, so that it does not
    /// depend on where blocks end.
    pub(super) fn add_to(&self, hash: &mut Xxh3) {
        match self.xxh3 {
            Some(xxh3) => hash.update(&xxh3.to_le_bytes()),
            None => hash.update(&self.bytes),
        }
    }
}

impl Pieces {
    /// Keeps what is put next, up to so many bytes, in one piece.
    pub(super) fn keep_together(&mut self, n_bytes: usize) {
        if self.block.capacity() - self.block.len() < n_bytes {
            self.end_piece();
            self.block = BytesMut::with_capacity(n_bytes.max(BLOCK_BYTES));
        }
    }

    /// Copies bytes, which stay together.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.keep_together(bytes.len());
        self.block.extend_from_slice(bytes);
    }

    /// Takes bytes over, whose checksum may be known. They stay together.
    pub(super) fn take_over(&mut self, bytes: Bytes, xxh3: Option<u64>) {
        if bytes.len() < LARGE_BYTES {
            return self.put(&bytes);
        }
        self.end_piece();
        // While they lie in a cache.
        let xxh3 = xxh3.unwrap_or_else(|| xxh3_64(&bytes));
        self.complete.push(Piece { bytes, xxh3: Some(xxh3) });
    }

    /// The same for bytes that have no other owner.
    pub(super) fn take_over_vec(&mut self, bytes: Vec<u8>) {
        match bytes.len() {
            ..LARGE_BYTES => self.put(&bytes),
            // Without the room behind them, which might be as large.
            LARGE_BYTES.. => self.take_over(bytes.into_boxed_slice().into(), None),
        }
    }

    /// All pieces since the last call, to be drained.
    pub(super) fn end(&mut self) -> &mut Vec<Piece> {
        self.end_piece();
        &mut self.complete
    }

    /// Forgets what was put since the last call of [`end`](Self::end).
    pub(super) fn forget(&mut self) {
        self.block.clear();
        self.complete.clear();
    }

    fn end_piece(&mut self) {
        if !self.block.is_empty() {
            self.complete.push(Piece { bytes: self.block.split().freeze(), xxh3: None });
        }
    }
}

/// Reads what was put, in the same portions, from pieces in which they lie as they were put, or all
/// in one.
pub(super) struct Reading<'a> {
    pieces: &'a [Bytes],
    /// Place in the first of the pieces.
    at: usize,
}

impl<'a> Reading<'a> {
    pub(super) fn new(pieces: &'a [Bytes]) -> Self {
        Self { pieces, at: 0 }
    }

    /// Returns whether nothing is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.piece().is_none()
    }

    /// The next `N` bytes; `None` where the piece ends before.
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = self.piece()?.get(self.at..)?.first_chunk().copied()?;
        self.at += N;
        Some(array)
    }

    /// The next `len` bytes, without copying them; `None` where the piece ends before.
    pub(super) fn slice(&mut self, len: usize) -> Option<Bytes> {
        if len == 0 {
            return Some(Bytes::new());
        }
        let piece = self.piece()?;
        let end = self.at.checked_add(len).filter(|end| *end <= piece.len())?;
        let bytes = piece.slice(self.at..end);
        self.at = end;
        Some(bytes)
    }

    /// All that is left of the piece.
    pub(super) fn rest(&mut self) -> Bytes {
        let Some(piece) = self.piece() else { return Bytes::new() };
        let rest = piece.slice(self.at..);
        self.at = piece.len();
        rest
    }

    /// The piece that has the next byte.
    fn piece(&mut self) -> Option<&'a Bytes> {
        while let Some((first, others)) = self.pieces.split_first() {
            if self.at < first.len() {
                return Some(first);
            }
            (self.pieces, self.at) = (others, 0);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(pieces: &mut Pieces) -> Vec<Bytes> {
        pieces.end().drain(..).map(|piece| piece.bytes).collect()
    }

    #[test]
    fn small_values_share_blocks_and_large_ones_stay_where_they_are() {
        let mut pieces = Pieces::default();
        let large = Bytes::from(vec![7; LARGE_BYTES]);
        pieces.put(b"ab");
        pieces.take_over(large.clone(), None);
        pieces.put(b"c");
        pieces.take_over(large.slice(1..), None);
        let first = ended(&mut pieces);
        assert_eq!(first.iter().map(Bytes::len).collect::<Vec<_>>(), [2, LARGE_BYTES, LARGE_BYTES]);
        assert_eq!(first[1].as_ptr(), large.as_ptr());
        assert_eq!((first[2][0], first[2][1]), (b'c', 7));
        pieces.put(b"forgotten");
        pieces.forget();
        pieces.put(b"d");
        let second = ended(&mut pieces);
        assert_eq!(second, [&b"d"[..]]);
        // The same block, one piece behind the other.
        assert_eq!(second[0].as_ptr(), first[2].as_ptr().wrapping_add(LARGE_BYTES));
        assert!(pieces.end().is_empty());
    }

    #[test]
    fn what_stays_together_moves_to_the_next_block() {
        let mut pieces = Pieces::default();
        for _ in 0..3 {
            pieces.keep_together(BLOCK_BYTES / 2 + 1);
            pieces.put(&[1; 3]);
            pieces.put(&[2; BLOCK_BYTES / 2 - 2]);
        }
        let lens: Vec<_> = ended(&mut pieces).iter().map(Bytes::len).collect();
        assert_eq!(lens, [BLOCK_BYTES / 2 + 1; 3]);
        pieces.put(&[3; BLOCK_BYTES + 1]);
        assert_eq!(ended(&mut pieces).last().map(Bytes::len), Some(BLOCK_BYTES + 1));
    }

    #[test]
    fn portions_are_read_over_pieces_and_no_further() {
        let pieces = [&b"abc"[..], b"", b"defgh"].map(Bytes::from_static);
        let mut reading = Reading::new(&pieces);
        assert_eq!(reading.array::<2>(), Some(*b"ab"));
        assert_eq!(reading.array::<2>(), None);
        assert_eq!(reading.slice(1), Some(Bytes::from_static(b"c")));
        assert_eq!(reading.slice(0), Some(Bytes::new()));
        assert_eq!(reading.slice(6), None);
        assert_eq!(reading.slice(usize::MAX), None);
        assert_eq!(reading.slice(4), Some(Bytes::from_static(b"defg")));
        assert!(!reading.is_at_end());
        assert_eq!(reading.rest(), &b"h"[..]);
        assert!(reading.is_at_end() && reading.rest().is_empty());
        assert_eq!(reading.array::<1>(), None);
    }
}
