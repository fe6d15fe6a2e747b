//! Skipping several AC codes at a time.
//!
//! Of a skipped code only its bits and its places matter, and these add up: an entry of the table
//! holds up to two codes that are complete within the next [`INDEX_BITS`] bits, of which the values
//! may reach farther. In photographs these are 1.5 to 2 codes. The sum of the places tells
//! whether the block ends, so that a step needs a single comparison:
//!
//! ```text
//! 1 to 63      the block continues
//! 64           it is full, and ends
//! 65 to 127    it was full before the last of two codes, or has too many values
//! 128 to 191   it ends with the code for that
//! from 192     it was full before that code; or there is no entry
//! ```
use crate::{Code, Lookup};
use std::ops::{AddAssign, SubAssign};

/// Bits that index a table. With more, making the tables takes longer than they save.
const INDEX_BITS: u32 = 11;
const SIZE: usize = 1 << INDEX_BITS;
/// Number of steps for which 57 bits suffice.
pub(crate) const PER_WORD: usize = 3;
/// Most bits of a step.
pub(crate) const MOST_BITS: u32 = 19;
const _: () = assert!(MOST_BITS as usize * PER_WORD <= 57);

/// Places of a block.
pub(crate) const PLACES: u32 = 64;
/// Places of the code that ends a block, and of a missing entry.
const END: u32 = 128;
const NO_ENTRY: u32 = 192;

/// Bits of some codes with their values, in the lower 8 bits, and their places above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken(u32);

impl Taken {
    #[inline(always)]
    pub(crate) fn new(n_bits: u32, n_places: u32) -> Self {
        Self(n_bits | n_places << 8)
    }

    #[inline(always)]
    pub(crate) fn n_bits(self) -> u32 {
        self.0 & 255
    }

    #[inline(always)]
    pub(crate) fn n_places(self) -> u32 {
        self.0 >> 8
    }

    /// Returns true if no code of the block follows, or if it must be looked at closer.
    #[inline(always)]
    pub(crate) fn fills_block(self) -> bool {
        self.0 >= PLACES << 8
    }

    /// Returns true if the last code is the last of the block.
    #[inline(always)]
    pub(crate) fn ends_block(self) -> bool {
        self.n_places() == PLACES || (END..END + PLACES).contains(&self.n_places())
    }
}

impl AddAssign for Taken {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl SubAssign for Taken {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

/// The steps of an AC table, by the next bits.
#[derive(Debug, Clone)]
pub(crate) struct Strides([u16; SIZE]);

impl Strides {
    pub(crate) fn new(ac: &Lookup) -> Self {
        let at = |index: usize| (index as u64) << (u64::BITS - INDEX_BITS);
        let mut steps = [Taken::new(0, NO_ENTRY).0 as u16; SIZE];
        let mut start = 0;
        while start < SIZE {
            let first = ac.find(at(start));
            if !first.is_valid() || first.code_bits() > INDEX_BITS {
                start += 1;
                continue;
            }
            let end = start + (SIZE >> first.code_bits());
            let places = (start..).zip(steps.get_mut(start..end).unwrap_or_default());
            for (index, place) in places {
                *place = step(first, ac.find(at(index) << first.total_bits())).0 as u16;
            }
            start = end;
        }
        Self(steps)
    }

    /// Takes the next codes from the bits of a word.
    #[inline(always)]
    pub(crate) fn step(&self, word: &mut u64) -> Taken {
        let taken = u32::from(self.0[(*word >> (u64::BITS - INDEX_BITS)) as usize]);
        // Only the lower 6 bits count: the places need not be removed.
        *word = word.wrapping_shl(taken);
        Taken(taken)
    }
}

/// Returns the step over a code within the index, and over the next one if that is there, too.
fn step(first: Code, second: Code) -> Taken {
    let taken = |code: Code| {
        let n_places = if code.ends_block() { END } else { code.advance() };
        Taken::new(code.total_bits(), n_places)
    };
    let mut both = taken(first);
    let is_there = second.is_valid() && first.total_bits() + second.code_bits() <= INDEX_BITS;
    if is_there && !first.ends_block() {
        both += taken(second);
    }
    match both.n_bits() {
        ..=MOST_BITS => both,
        _ if first.total_bits() <= MOST_BITS => taken(first),
        _ => Taken::new(0, NO_ENTRY),
    }
}
