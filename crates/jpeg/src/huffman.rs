//! Huffman tables, as the file defines them and fused for decoding.
//!
//! To skip a code, a decoder needs two numbers: its length in bits, including the value after it,
//! and how many places of the block it fills. An entry of a [`Lookup`] holds both. The next ten
//! bits find it; longer codes lead to one of the second tables, which the following six bits index:
//! no code has more than 16.
use std::fmt;

/// Class of a Huffman table: the values of a block that it codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Codes of the first value of each block.
    Dc,
    /// Codes of the other 63 values.
    Ac,
}

impl fmt::Display for Class {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Dc => "DC",
            Self::Ac => "AC",
        })
    }
}

/// A Huffman table as a JPEG defines it (T.81, B.2.4.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HuffmanTable {
    /// Number of codes of 1, 2, ... 16 bits.
    pub counts: [u8; 16],
    /// Values of the codes, shortest code first: as many as the sum of the counts, at most 256.
    pub values: Vec<u8>,
}

/// An entry of a [`Lookup`]: a code together with the bits of the value after it.
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 5 | bits of code and value together, 1 to 31 |
/// | 6 to 10 | bits of the code, 1 to 16 |
/// | 11 to 14 | bits of the value, 0 to 15 |
/// | 16 to 22 | places of the block it fills: 1 for DC, run + 1 for AC, 64 for the end of the block |
/// | 30 | no code of the table, or without a meaning in a sequential scan |
/// | 31 | the rest is where the 64 entries of a second table start |
///
/// An invalid code takes 1 bit and ends the block, so that a decoder that ignores bit 30
/// terminates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub u32);

/// A Huffman table prepared for decoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    first: Box<[u32; 1 << FIRST_BITS]>,
    second: Vec<u32>,
}

const FIRST_BITS: u32 = 10;
const SECOND_BITS: u32 = 6;
const MAX_CODE_BITS: u32 = FIRST_BITS + SECOND_BITS;
const SECOND: u32 = 1 << 31;
const NO_CODE: u32 = 1 << 30 | 64 << 16 | 1 << 6 | 1;
/// Advance at the end of a block: beyond any place of it.
const WHOLE_BLOCK: u32 = 64;

impl HuffmanTable {
    /// Yields every code in order: its bits, its number of bits, and its value. The algorithm is
    /// that of T.81, C.2.
    pub fn codes(&self) -> impl Iterator<Item = (u32, u32, u8)> {
        let lengths = (1..).zip(self.counts);
        let lengths = lengths.flat_map(|(bits, n)| std::iter::repeat_n(bits, n.into()));
        let mut next = (0u32, 0u32);
        lengths.zip(&self.values).map(move |(bits, &value)| {
            let code = next.0 << (bits - next.1);
            next = (code + 1, bits);
            (code, bits, value)
        })
    }

    /// Checks that the table is a prefix code as libjpeg requires: not empty, no code of only ones
    /// (so that fill bits are no code), and for DC no value above 15.
    ///
    /// # Errors
    /// The fault, as the end of a sentence.
    pub fn check(&self, class: Class) -> Result<(), &'static str> {
        if self.values.is_empty() {
            return Err("is empty");
        }
        if self.codes().any(|(code, bits, _)| code + 1 >= 1 << bits) {
            return Err("has more codes than there are bits for");
        }
        if class == Class::Dc && self.values.iter().any(|value| *value > 15) {
            return Err("has values above 15");
        }
        Ok(())
    }
}

impl Lookup {
    /// Creates the tables; codes that violate [`HuffmanTable::check`] are left out.
    #[must_use]
    pub fn new(table: &HuffmanTable, class: Class) -> Self {
        let mut first = Box::new([NO_CODE; 1 << FIRST_BITS]);
        let mut second = Vec::new();
        for (code, bits, value) in table.codes().filter(|(code, bits, _)| *code < 1 << *bits) {
            let entry = entry(bits, value, class);
            if bits <= FIRST_BITS {
                let start = (code << (FIRST_BITS - bits)) as usize;
                if let Some(places) = first.get_mut(start..start + (1 << (FIRST_BITS - bits))) {
                    places.fill(entry);
                }
                continue;
            }
            let rest = bits - FIRST_BITS;
            let Some(lead) = first.get_mut((code >> rest) as usize) else { continue };
            if *lead & SECOND == 0 {
                *lead = SECOND | second.len() as u32;
                second.resize(second.len() + (1 << SECOND_BITS), NO_CODE);
            }
            let within = (code & ((1 << rest) - 1)) << (SECOND_BITS - rest);
            let start = ((*lead & !SECOND) + within) as usize;
            if let Some(places) = second.get_mut(start..start + (1 << (SECOND_BITS - rest))) {
                places.fill(entry);
            }
        }
        Self { first, second }
    }

    /// Returns the code at the start of 64 bits, the first of them uppermost.
    #[inline]
    #[must_use]
    pub fn find(&self, bits: u64) -> Code {
        let entry = self.first[(bits >> (64 - FIRST_BITS)) as usize];
        if entry & SECOND == 0 { Code(entry) } else { self.find_long(entry, bits) }
    }

    /// Returns the entries by the first ten bits, for other decoders; see [`Code`].
    #[must_use]
    pub fn first(&self) -> &[u32] {
        &self.first[..]
    }

    /// Returns the second tables, 64 entries each.
    #[must_use]
    pub fn second(&self) -> &[u32] {
        &self.second
    }

    #[cold]
    fn find_long(&self, entry: u32, bits: u64) -> Code {
        let within = (bits >> (64 - MAX_CODE_BITS)) as usize & ((1 << SECOND_BITS) - 1);
        Code(self.second.get((entry & !SECOND) as usize + within).copied().unwrap_or(NO_CODE))
    }
}

impl Code {
    /// Returns the bits of code and value together.
    #[inline]
    #[must_use]
    pub fn total_bits(self) -> u32 {
        self.0 & 63
    }

    /// Returns the bits of the code alone.
    #[must_use]
    pub fn code_bits(self) -> u32 {
        self.0 >> 6 & 31
    }

    /// Returns the bits of the value.
    #[must_use]
    pub fn value_bits(self) -> u32 {
        self.0 >> 11 & 15
    }

    /// Returns the number of filled places of the block: zeros and a value, or all remaining ones
    /// (64).
    #[inline]
    #[must_use]
    pub fn advance(self) -> u32 {
        self.0 >> 16 & 127
    }

    /// Returns true if it ends the block.
    #[inline]
    #[must_use]
    pub fn ends_block(self) -> bool {
        self.advance() == WHOLE_BLOCK
    }

    /// Returns true if the table has such a code.
    #[inline]
    #[must_use]
    pub fn is_valid(self) -> bool {
        self.0 >> 30 == 0
    }
}

fn entry(bits: u32, value: u8, class: Class) -> u32 {
    let (run, size) = (u32::from(value >> 4), u32::from(value & 15));
    let advance = match (class, run, size) {
        (Class::Dc, 0, _) => 1,
        (Class::Ac, 0, 0) => WHOLE_BLOCK,
        // Runs of 1 to 14 zeros without a value have a meaning in progressive scans only.
        (Class::Dc, ..) | (Class::Ac, 1..=14, 0) => return NO_CODE,
        (Class::Ac, ..) => run + 1,
    };
    (bits + size) | bits << 6 | size << 11 | advance << 16
}
