//! Several AC codes at a time, for those who only want to get over them.
//!
//! Of a code that is skipped only the bits and the places that it fills matter, and both add up:
//! so an entry holds all codes that the next [`BITS`] bits hold whole, with their values. In
//! photographs these are 1.5 to 2 codes. Where the codes might fill the block, or none of them is
//! whole, they are taken one by one.
use crate::Lookup;

/// Bits that index the table.
pub(crate) const BITS: u32 = 12;
/// No code, by more places than a block has left.
const NONE: u16 = 127 << PLACES_AT;
const PLACES_AT: u32 = 4;
const ENDS: u16 = 1 << 11;

/// What the next bits skip.
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 3 | bits of all codes and their values |
/// | 4 to 10 | places of the block that they fill, without the end of the block |
/// | 11 | the last code ends the block |
#[derive(Debug, Clone)]
pub(crate) struct Skips(Box<[u16; 1 << BITS]>);

impl Skips {
    /// Those of an AC table.
    pub(crate) fn new(table: &Lookup) -> Self {
        let mut entries = Box::new([NONE; 1 << BITS]);
        for (index, entry) in (0u64..).zip(entries.iter_mut()) {
            let (mut word, mut left) = (index << (64 - BITS), BITS);
            let (mut places, mut ends) = (0, 0);
            while places < 63 {
                let code = table.find(word);
                // A code is known by its bits, those behind the index being unknown.
                if !code.is_valid() || code.total_bits() > left {
                    break;
                }
                word <<= code.total_bits();
                left -= code.total_bits();
                if code.ends_block() {
                    ends = ENDS;
                    break;
                }
                places += code.advance();
            }
            if left < BITS {
                *entry = (BITS - left) as u16 | (places as u16) << PLACES_AT | ends;
            }
        }
        Self(entries)
    }

    /// Bits and places of the codes at the start of 64 bits, and whether they end the block; so many
    /// places that no block has them where there are none.
    #[inline]
    pub(crate) fn find(&self, word: u64) -> (u32, u32, bool) {
        let entry = self.0[(word >> (64 - BITS)) as usize];
        (u32::from(entry & 15), u32::from(entry >> PLACES_AT & 127), entry & ENDS != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Code, HuffmanTable};

    /// Whatever the bits, what is skipped at once is what codes one by one skip.
    #[test]
    fn it_is_what_codes_one_by_one_are() {
        let counts = [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 20];
        let values = (0..57).map(|i: u32| (i * 37 % 251) as u8).collect();
        let table = Lookup::new(&HuffmanTable { counts, values }, Class::Ac);
        let skips = Skips::new(&table);
        let (mut n_several, mut n_none) = (0, 0);
        for index in 0..1u64 << BITS {
            // The bits behind the index are anything.
            let start = index << (64 - BITS) | (index * 0x9E37_79B9) >> BITS;
            let (bits, places, ends) = skips.find(start);
            if places == 127 {
                n_none += 1;
                let code = table.find(start);
                assert!(!code.is_valid() || code.total_bits() > BITS);
                continue;
            }
            let (mut word, mut taken, mut filled, mut ended) = (start, 0, 0, false);
            while taken < bits {
                let code: Code = table.find(word);
                assert!(code.is_valid() && !ended);
                ended = code.ends_block();
                filled += if ended { 0 } else { code.advance() };
                taken += code.total_bits();
                word <<= code.total_bits();
            }
            n_several += u32::from(filled > 0 && ended);
            assert_eq!((taken, filled, ended), (bits, places, ends));
        }
        assert!(n_several > 100 && n_none > 0, "{n_several} with several codes, {n_none} without");
    }
}
