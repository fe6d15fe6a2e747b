//! A shuffle for storage with slow random reads: whole chunks are read one after the other, and
//! samples leave at most a window away from the position where they came in.
//!
//! Chunks of consecutive ids are put into a random order. That alone leaves neighbours together, so
//! that each sample is also moved by a random amount below the window. Drawing that amount for each
//! sample and sorting by it (MosaicML's py1e) finds position `p` only after the samples before it.
//! Here the line is cut into blocks of half a window and each block is shuffled, then it is cut
//! again, half a block further, and those blocks are shuffled too:
//!
//! ```text
//! chunk order |c4 . . . . |c1 . . . . |c7 . . . . |c2 ...
//! pass 0      |  block 0    |  block 1    |  block 2 ...
//! pass 1      | 0  |   block 1   |   block 2   | ...
//! ```
//!
//! Each pass is a bijection, so that every sample comes once; each moves a sample by less than a
//! block, so that both together move it by less than the window; each is computed for one position
//! alone. One pass would separate samples of different blocks forever; with two, samples can cross
//! every border.
//!
//! Memory: a sample with read number `q` leaves at a position above `q - window`. A reader along
//! the chunks therefore never holds more than `window` waiting samples.
use super::key::{Purpose, derive};
use super::permutation::Permutation;

#[derive(Debug, Clone)]
pub(crate) struct Windowed {
    n: u64,
    /// Samples per chunk; at least 1 and at most `n`.
    chunk: u64,
    /// Samples per block; at least 1 and at most `n`.
    block: u64,
    key: u64,
    chunks: Permutation,
    /// The last chunk, which may be shorter than the others.
    short: Short,
}

#[derive(Debug, Clone, Copy)]
struct Short {
    first_id: u64,
    len: u64,
    /// Position of its first sample in the order of the chunks.
    start: u64,
}

impl Windowed {
    pub(crate) fn new(n: u64, chunk: u64, window: u64, key: u64) -> Self {
        let within = |size: u64| size.min(n).max(1);
        let (chunk, block) = (within(chunk), within(window.div_ceil(2)));
        let n_chunks = n.div_ceil(chunk);
        let chunks = Permutation::new(n_chunks, derive(key, Purpose::Chunks, [0, 0]));
        let last = n_chunks.saturating_sub(1);
        let first_id = last * chunk;
        let short = Short { first_id, len: n - first_id, start: chunks.position_of(last) * chunk };
        Self { n, chunk, block, key, chunks, short }
    }

    /// Returns the id at a position below `n`.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> u64 {
        self.in_chunk_order(self.displaced(position))
    }

    /// Returns the place of the sample at a position in the order of the chunks.
    #[inline]
    fn displaced(&self, position: u64) -> u64 {
        self.in_block(self.in_block(position, 1, self.block / 2), 0, 0)
    }

    /// Makes one pass: shuffles within the block of the grid that begins `offset` before zero.
    #[inline]
    fn in_block(&self, position: u64, pass: u64, offset: u64) -> u64 {
        let number = (position + offset) / self.block;
        let start = (number * self.block).saturating_sub(offset);
        // With blocks near 2^63 the end of the grid is too far to count.
        let end = ((number + 1).saturating_mul(self.block) - offset).min(self.n);
        let key = derive(self.key, Purpose::Block, [pass, number]);
        start + Permutation::new(end.saturating_sub(start), key).at(position - start)
    }

    #[inline]
    fn in_chunk_order(&self, position: u64) -> u64 {
        let Short { first_id, len, start } = self.short;
        let position = match position.checked_sub(start) {
            None => position,
            Some(within) if within < len => return first_id + within,
            // From here on all counts treat the short chunk as a whole one.
            Some(_) => position + (self.chunk - len),
        };
        self.chunks.at(position / self.chunk) * self.chunk + position % self.chunk
    }
}

#[cfg(test)]
mod tests {
    use super::Windowed;

    const CASES: [(u64, u64, u64); 12] = [
        (1, 1, 1),
        (2, 1, 2),
        (7, 3, 1),
        (7, 3, 2),
        (100, 10, 3),
        (100, 7, 30),
        (101, 100, 8),
        (101, 102, 500),
        (1000, 64, 200),
        (1000, 1, 7),
        (1000, 1000, 1000),
        (4097, 256, 1024),
    ];

    #[test]
    fn every_sample_comes_once_and_not_far_from_its_place() {
        for (n, chunk, window) in CASES {
            for key in 0..5 {
                let windowed = Windowed::new(n, chunk, window, key);
                let mut ids: Vec<u64> = (0..n).map(|position| windowed.at(position)).collect();
                ids.sort_unstable();
                assert!(ids.into_iter().eq(0..n), "{n} {chunk} {window}");
                let far = (0..n).map(|position| windowed.displaced(position).abs_diff(position));
                assert!(far.max().unwrap() < window, "{n} {chunk} {window}");
            }
        }
    }

    #[test]
    fn the_largest_sizes_do_not_overflow() {
        let n = 1 << 63;
        for size in [1, 1000, n - 1, n, u64::MAX] {
            for (chunk, window) in [(size, size), (size, 10), (10, size)] {
                let windowed = Windowed::new(n, chunk, window, 4);
                assert!([0, 1, n / 2, n - 2, n - 1].into_iter().all(|at| windowed.at(at) < n));
            }
        }
    }

    #[test]
    fn chunks_are_whole_and_in_another_order() {
        let windowed = Windowed::new(103, 10, 1, 3);
        let ids: Vec<u64> = (0..103).map(|position| windowed.at(position)).collect();
        // With a window of one, only the order of the chunks changes.
        let starts: Vec<u64> = ids.iter().copied().filter(|id| id % 10 == 0).collect();
        assert_eq!(starts.len(), 11);
        assert!(!starts.is_sorted());
        assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1 || pair[1] % 10 == 0));
    }

    #[test]
    fn a_reader_along_the_chunks_holds_no_more_than_the_window() {
        for (n, chunk, window) in CASES {
            let windowed = Windowed::new(n, chunk, window, 8);
            let mut n_read = 0;
            for position in 0..n {
                n_read = n_read.max(windowed.displaced(position) + 1);
                assert!(n_read - position <= window);
            }
        }
    }

    #[test]
    fn samples_meet_across_every_border() {
        // Displacements over many keys: from everywhere to both sides.
        let (n, window) = (400, 80);
        for border in (20..n - 20).step_by(20) {
            let crosses = (0..40).any(|key| {
                let windowed = Windowed::new(n, 400, window, key);
                (0..border).any(|position| windowed.displaced(position) >= border)
            });
            assert!(crosses, "{border}");
        }
    }
}
