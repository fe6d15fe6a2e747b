//! Records that stay in memory, one behind the other in large blocks.
//!
//! They are copied there, also those that could be kept where they are: an allocator gives what is
//! kept pages that were never touched, and where a page is 4 KiB, the system takes longer to clear
//! them one by one than a copy into huge pages takes.
use super::pieces::Piece;
use bytes::Bytes;
use memmap2::MmapMut;
use std::io;

/// Memory for a record beside its bytes.
const RECORD_BYTES: u64 = 32;

/// Blocks are of this size, or of that of a larger record.
const BLOCK_BYTES: usize = 32 << 20;

#[derive(Default)]
pub(super) struct Kept {
    blocks: Vec<Block>,
    /// Block, start and end of each record.
    places: Vec<(usize, usize, usize)>,
    n_bytes: u64,
}

struct Block {
    memory: MmapMut,
    used: usize,
}

impl Block {
    fn new(n_bytes: usize) -> io::Result<Self> {
        // Pages that are not used take nothing.
        let memory = MmapMut::map_anon(n_bytes)?;
        // A system that has none continues with small ones.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Ok(Self { memory, used: 0 })
    }

    fn room(&self) -> usize {
        self.memory.len() - self.used
    }

    fn append(&mut self, bytes: &[u8]) {
        let end = self.used + bytes.len();
        if let Some(place) = self.memory.get_mut(self.used..end) {
            place.copy_from_slice(bytes);
            self.used = end;
        }
    }
}

impl Kept {
    /// Keeps a record if all of them then take no more than `budget` bytes. Returns whether it does;
    /// also not where the system has no more memory.
    pub(super) fn push(&mut self, record: &[Piece], budget: u64) -> bool {
        let len: usize = record.iter().map(|piece| piece.bytes.len()).sum();
        let n_bytes = self.n_bytes + RECORD_BYTES + len as u64;
        if n_bytes > budget {
            return false;
        }
        if self.blocks.last().is_none_or(|block| block.room() < len) {
            match Block::new(len.max(BLOCK_BYTES)) {
                Ok(block) => self.blocks.push(block),
                Err(_) => return false,
            }
        }
        let number = self.blocks.len() - 1;
        let Some(block) = self.blocks.last_mut() else { return false };
        let start = block.used;
        for piece in record {
            block.append(&piece.bytes);
        }
        self.places.push((number, start, block.used));
        self.n_bytes = n_bytes;
        true
    }

    /// Number of records.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The records, to be read.
    pub(super) fn finish(self) -> KeptRecords {
        let blocks = self.blocks.into_iter().map(|block| Bytes::from_owner(block.memory));
        KeptRecords { blocks: blocks.collect(), places: self.places }
    }
}

/// Records that are all there.
pub(super) struct KeptRecords {
    blocks: Vec<Bytes>,
    places: Vec<(usize, usize, usize)>,
}

impl KeptRecords {
    /// Number of records.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// A record.
    pub(super) fn get(&self, index: usize) -> Option<Bytes> {
        let (block, start, end) = *self.places.get(index)?;
        Some(self.blocks.get(block)?.slice(start..end))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::pieces::Pieces, *};

    fn piece(bytes: &[u8]) -> Piece {
        let mut pieces = Pieces::default();
        pieces.put(bytes);
        pieces.end().remove(0)
    }

    #[test]
    fn records_are_kept_within_the_budget() {
        let mut kept = Kept::default();
        let record = [&b"head"[..], b"image"].map(piece);
        let takes = RECORD_BYTES + 9;
        assert!(!kept.push(&record, takes - 1));
        assert!(kept.push(&record, takes));
        assert!(kept.push(&record[..1], 2 * takes));
        assert!(!kept.push(&record, 2 * takes));
        let large = vec![7; BLOCK_BYTES + 1];
        assert!(kept.push(&[piece(&large)], u64::MAX));
        assert!(kept.push(&record[1..], u64::MAX));
        assert_eq!(
            kept.blocks.iter().map(|block| block.used).collect::<Vec<_>>(),
            [13, large.len(), 5]
        );
        let kept = kept.finish();
        assert_eq!(kept.len(), 4);
        let expected: [&[u8]; 4] = [b"headimage", b"head", &large, b"image"];
        for (index, expected) in expected.into_iter().enumerate() {
            assert!(kept.get(index).unwrap() == expected);
        }
        assert_eq!(kept.get(4), None);
    }
}
