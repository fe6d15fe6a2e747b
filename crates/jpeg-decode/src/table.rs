//! Huffman tables for decoding with values: one look-up gives the code, the zeros before its value,
//! and mostly the value itself.
//!
//! The next bits index a table. If a code and the bits of its value fit into the index, the entry
//! holds the value; if only the code fits, the number of the value's bits; longer codes are found
//! by the limits of their lengths (T.81, F.2.2.3, with codes shifted to 16 bits).
use fdconvert_jpeg::{Class, HuffmanTable, Jpeg};

/// Usual number of bits that index a table: 8 KiB, so that the four tables of an image fit the
/// first-level cache.
pub(crate) const INDEX_BITS: u32 = 11;
const MAX_CODE_BITS: u32 = 16;

/// An entry of a table: a code together with the value after it.
///
/// | bits | on aarch64 | meaning |
/// |---|---|---|
/// | 0 to 4 | 0 to 4 | bits of code and value together, 1 to 31; 0 without a code |
/// | 7 | 7 | the entry has no value, or not even a code |
/// | 8 to 15 | 24 to 31 | bytes of the block that it fills, see [`Entry::advance`] |
/// | 16 to 31 | 8 to 23 | the value, if present |
/// | 16 to 20 | 8 to 12 | otherwise the bits of the code, 1 to 16 |
/// | 21 to 24 | 13 to 16 | and the bits of the value, 1 to 15 |
///
/// An instruction of x86-64 takes the second byte of a register; one of aarch64 adds the uppermost
/// bits of a register to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Entry(u32);

const NO_VALUE: u32 = 1 << 7;
/// The first bits of the bytes to fill, and of the value.
const ADVANCE: u32 = if cfg!(target_arch = "aarch64") { 24 } else { 8 };
const VALUE: u32 = if cfg!(target_arch = "aarch64") { 8 } else { 16 };
/// Number of bytes of a block.
const END_OF_BLOCK: u32 = 128;
/// The bytes of a DC value, and two more: see [`crate::interleaved`].
const DC: u32 = 4;

impl Entry {
    /// An index without a code.
    pub(crate) const NONE: Self = Self(NO_VALUE);

    /// Returns the bits of code and value together.
    #[inline(always)]
    pub(crate) fn total_bits(self) -> u32 {
        self.0 & 31
    }

    /// Restores a stored entry.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Returns the raw bits. The lowest ones, which a shift of 64 bits uses, are those of
    /// [`total_bits`](Self::total_bits) for a whole entry.
    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    /// Returns for AC codes the bytes of the block up to the one after the value, 2 bytes each; for
    /// the end of the block those of all values, 128; for DC codes 4.
    #[inline(always)]
    pub(crate) fn advance(self) -> u32 {
        self.0 >> ADVANCE & 255
    }

    /// Returns the places that stay zero before the value, for AC codes except the end of the
    /// block.
    #[inline(always)]
    pub(crate) fn zeros(self) -> usize {
        (self.advance() as usize / 2).saturating_sub(1)
    }

    #[inline(always)]
    pub(crate) fn ends_block(self) -> bool {
        self.advance() == END_OF_BLOCK
    }

    /// Returns true if it holds the code and the value.
    #[inline(always)]
    pub(crate) fn is_whole(self) -> bool {
        self.0 & NO_VALUE == 0
    }

    /// Returns true if it holds at least the code.
    #[inline(always)]
    pub(crate) fn has_code(self) -> bool {
        self.total_bits() != 0
    }

    /// Returns the value of a whole entry.
    #[inline(always)]
    pub(crate) fn value_here(self) -> i16 {
        (self.0 >> VALUE) as i16
    }

    /// Returns the value, given the bits by which the entry was found.
    #[inline(always)]
    pub(crate) fn value(self, word: u64) -> i16 {
        if self.is_whole() {
            return self.value_here();
        }
        let (code_bits, value_bits) = (self.0 >> VALUE & 31, self.0 >> (VALUE + 5) & 15);
        extend(word << code_bits, value_bits)
    }

    /// Creates the entry of a code without its value; `None` if the symbol has no meaning in a
    /// sequential scan: runs of 1 to 14 zeros without a value.
    pub(crate) fn of(symbol: u8, code_bits: u32, class: Class) -> Option<Self> {
        let (zeros, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
        let advance = match (class, zeros, size) {
            (Class::Dc, 0, _) => DC,
            (Class::Ac, 0, 0) => END_OF_BLOCK,
            (Class::Dc, ..) | (Class::Ac, 1..=14, 0) => return None,
            (Class::Ac, ..) => 2 * (zeros + 1),
        };
        let entry = (code_bits + size) | advance << ADVANCE;
        let without_value = NO_VALUE | code_bits << VALUE | size << (VALUE + 5);
        Some(Self(if size == 0 { entry } else { entry | without_value }))
    }

    /// Returns the bits of the code alone, unless the entry holds the value.
    fn code_bits(self) -> u32 {
        if self.is_whole() { self.total_bits() } else { self.0 >> VALUE & 31 }
    }

    pub(crate) fn value_bits(self) -> u32 {
        if self.is_whole() { 0 } else { self.0 >> (VALUE + 5) & 15 }
    }

    /// Returns the entry with the value that these bits stand for.
    fn with(self, bits: u32) -> Self {
        let n_bits = self.value_bits();
        if n_bits == 0 {
            return self;
        }
        let value = extend(u64::from(bits) << (64 - n_bits), n_bits);
        Self(self.0 & (31 | 255 << ADVANCE) | u32::from(value as u16) << VALUE)
    }
}

/// EXTEND of T.81, F.2.2.1, for the number in the first 1 to 15 bits: the lower half of such
/// numbers stands for negative ones.
#[inline(always)]
pub(crate) fn extend(word: u64, n_bits: u32) -> i16 {
    let value = (word >> 1 >> (63 - n_bits)) as i32;
    let negative = (word >> 63) as i32 - 1;
    (value + (negative & (1 - (1 << n_bits)))) as i16
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// A DC code and its value.
    Dc,
    /// An AC code and its value.
    Values,
    /// As many AC codes of a block as fit, without their values.
    Skipped,
}

impl Content {
    pub(crate) fn class(self) -> Class {
        match self {
            Self::Dc => Class::Dc,
            Self::Values | Self::Skipped => Class::Ac,
        }
    }
}

/// Most bits of an entry without values. Only its codes must be in the index, and the values of the
/// last may be beyond.
pub(crate) const MOST_SKIPPED_BITS: u32 = 19;
/// Most bytes of a block filled by codes that are skipped together, apart from the end of the
/// block: those of 16 values, as many as one code may fill.
const MOST_SKIPPED: u32 = 32;

pub(crate) fn fill(
    entries: &mut [Entry],
    index_bits: u32,
    source: &HuffmanTable,
    content: Content,
) {
    entries.fill(Entry::NONE);
    for (code, code_bits, symbol) in source.codes() {
        let Some(rest) = index_bits.checked_sub(code_bits) else { break };
        let Some(entry) = Entry::of(symbol, code_bits, content.class()) else { continue };
        let start = (code << rest) as usize;
        let Some(places) = entries.get_mut(start..start + (1 << rest)) else { break };
        match rest.checked_sub(entry.value_bits()) {
            _ if content == Content::Skipped => places.fill(entry),
            None => places.fill(entry),
            Some(rest) => {
                for (bits, places) in (0..).zip(places.chunks_mut(1 << rest)) {
                    places.fill(entry.with(bits));
                }
            }
        }
    }
    if content == Content::Skipped {
        join(entries, index_bits);
    }
}

/// Extends entries of single codes to as many codes as the index holds.
fn join(entries: &mut [Entry], index_bits: u32) {
    let single = entries.to_vec();
    for (index, entry) in entries.iter_mut().enumerate() {
        let (mut n_bits, mut advance) = (0, 0);
        while advance < END_OF_BLOCK && n_bits < index_bits {
            // Zeros follow the known bits.
            let behind = index << n_bits & ((1 << index_bits) - 1);
            let Some(next) = single.get(behind).filter(|next| next.has_code()) else { break };
            let all_bits = n_bits + next.total_bits();
            let fills = (advance + next.advance()) % END_OF_BLOCK;
            if n_bits + next.code_bits() > index_bits
                || all_bits > MOST_SKIPPED_BITS
                || fills > MOST_SKIPPED
            {
                break;
            }
            (n_bits, advance) = (all_bits, advance + next.advance());
        }
        // A code with too many bits stays as it is: without its value.
        if n_bits > 0 {
            *entry = Entry(n_bits | advance << ADVANCE);
        }
    }
}

/// The codes of a table by their lengths: finds any of them, slowly.
#[derive(Debug, Clone)]
pub(crate) struct Codes {
    class: Class,
    /// By length, from 1 on: the code after the last one of at most that length, shifted to 16
    /// bits.
    limits: [u32; MAX_CODE_BITS as usize],
    /// By length, from 1 on: the offset from a code to its position in `values`; it wraps around.
    offsets: [u32; MAX_CODE_BITS as usize],
    values: [u8; 256],
}

impl Codes {
    pub(crate) fn new(source: &HuffmanTable, class: Class) -> Self {
        const LENGTHS: usize = MAX_CODE_BITS as usize;
        let mut codes =
            Self { class, limits: [0; LENGTHS], offsets: [0; LENGTHS], values: [0; 256] };
        for (position, (code, n_bits, symbol)) in (0u32..).zip(source.codes()) {
            let length = (n_bits as usize).saturating_sub(1) % LENGTHS;
            // Codes come in order of length: this applies to all longer ones, so far.
            codes.limits[length..].fill((code + 1) << (MAX_CODE_BITS - n_bits));
            codes.offsets[length] = position.wrapping_sub(code);
            codes.values[position as usize & 255] = symbol;
        }
        codes
    }

    /// Returns the code at the start of 64 bits.
    pub(crate) fn find(&self, word: u64) -> Option<Entry> {
        let (symbol, n_bits) = self.symbol(word)?;
        Entry::of(symbol, n_bits, self.class)
    }

    /// Returns the symbol of the code at the start of 64 bits, and the length of the code in bits.
    pub(crate) fn symbol(&self, word: u64) -> Option<(u8, u32)> {
        let code = (word >> (64 - MAX_CODE_BITS)) as u32;
        // All of them, without a branch: the length is unpredictable.
        let length: usize = self.limits.iter().map(|limit| usize::from(*limit <= code)).sum();
        let offset = self.offsets.get(length)?;
        let n_bits = length as u32 + 1;
        let position = (code >> (MAX_CODE_BITS - n_bits)).wrapping_add(*offset);
        Some((*self.values.get(position as usize)?, n_bits))
    }
}

/// A Huffman table prepared for decoding.
#[derive(Debug)]
pub(crate) struct Table {
    entries: Box<[Entry; 1 << INDEX_BITS]>,
    codes: Codes,
}

impl Table {
    pub(crate) fn new(source: &HuffmanTable, class: Class) -> Self {
        let mut entries = Box::new([Entry::NONE; 1 << INDEX_BITS]);
        let content = if class == Class::Dc { Content::Dc } else { Content::Values };
        fill(&mut entries[..], INDEX_BITS, source, content);
        Self { entries, codes: Codes::new(source, class) }
    }

    /// Returns the code at the start of 64 bits, at least 31 of which must belong to the scan.
    #[inline]
    pub(crate) fn find(&self, word: u64) -> Option<Entry> {
        let entry = self.entries[(word >> (64 - INDEX_BITS)) as usize];
        if entry.has_code() { Some(entry) } else { self.codes.find(word) }
    }
}

/// The tables of a block of an MCU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotTables<'a> {
    pub(crate) dc: &'a Table,
    pub(crate) ac: &'a Table,
}

/// The tables in use by the components of an image, by number.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    dc: [Option<Table>; 4],
    ac: [Option<Table>; 4],
}

impl Tables {
    pub(crate) fn new(jpeg: &Jpeg) -> Self {
        let mut tables = Self::default();
        for component in &jpeg.components {
            for (class, made, defined, index) in [
                (Class::Dc, &mut tables.dc, &jpeg.dc_tables, component.dc_table),
                (Class::Ac, &mut tables.ac, &jpeg.ac_tables, component.ac_table),
            ] {
                let index = usize::from(index);
                let table = defined.get(index).and_then(Option::as_ref);
                if let (Some(place @ None), Some(table)) = (made.get_mut(index), table) {
                    *place = Some(Table::new(table, class));
                }
            }
        }
        tables
    }

    /// Returns the tables of each block of an MCU. One for each slot: the parser has checked that
    /// components only refer to existing tables.
    pub(crate) fn by_slot(&self, jpeg: &Jpeg) -> Vec<SlotTables<'_>> {
        let slot = |component: u8| {
            let component = jpeg.components.get(usize::from(component))?;
            let dc = self.dc.get(usize::from(component.dc_table))?.as_ref()?;
            let ac = self.ac.get(usize::from(component.ac_table))?.as_ref()?;
            Some(SlotTables { dc, ac })
        };
        jpeg.slots.iter().filter_map(|it| slot(it.component)).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use fdconvert_testkit::fixtures::JPEG_420;

    /// Codes skipped together are those that would be skipped one by one.
    #[test]
    fn skipped_codes_add_up() {
        let jpeg = fdconvert_jpeg::parse(JPEG_420).unwrap();
        for table in jpeg.ac_tables.iter().flatten() {
            let codes = Codes::new(table, Class::Ac);
            for index_bits in [9, 12] {
                let mut entries = vec![Entry::NONE; 1 << index_bits];
                fill(&mut entries, index_bits, table, Content::Skipped);
                let mut n_several = 0;
                for (index, entry) in (0_u64..).zip(entries) {
                    let word = index << (64 - index_bits);
                    if !entry.is_whole() {
                        // One code without its value, or one outside the index.
                        let found = codes.find(word).filter(|_| entry.has_code());
                        assert!(found.is_none_or(|it| it.total_bits() == entry.total_bits()));
                        continue;
                    }
                    let (mut n_bits, mut advance, mut n_codes) = (0, 0, 0);
                    while n_bits < entry.total_bits() {
                        let code = codes.find(word << n_bits).unwrap();
                        assert!(advance < END_OF_BLOCK && n_bits + code.code_bits() <= index_bits);
                        (n_bits, advance) = (n_bits + code.total_bits(), advance + code.advance());
                        n_codes += 1;
                    }
                    assert_eq!((n_bits, advance), (entry.total_bits(), entry.advance()));
                    assert_eq!(entry.value_here(), 0);
                    assert!(n_bits <= MOST_SKIPPED_BITS && advance % END_OF_BLOCK <= MOST_SKIPPED);
                    n_several += u32::from(n_codes > 1);
                }
                assert!(n_several > 1 << (index_bits - 2), "{n_several} of {index_bits} bits");
            }
        }
    }
}
