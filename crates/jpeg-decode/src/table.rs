//! Huffman tables for decoding with values: one look-up gives the code, the zeros before its
//! value, and mostly the value itself.
//!
//! The next [`BITS`] bits index the table. Where a code and the bits of its value fit into them,
//! the entry holds the value; where only the code does, its number of bits; longer codes are found
//! by the limits of their lengths (T.81, F.2.2.3, with codes shifted to 16 bits).
use fdconvert_jpeg::{Class, HuffmanTable, Jpeg};

/// Bits that index a table: 8 KiB, so that the four tables of an image stay in the first cache.
const BITS: u32 = 11;
const MAX_CODE_BITS: u32 = 16;

/// An entry of a table.
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 4 | bits of code and value together, 1 to 31 |
/// | 5 to 8 | bits of a value that the entry does not hold |
/// | 9 to 12 | zeros before the value |
/// | 13 | ends the block |
/// | 14 | the code is longer than the index, or there is none |
/// | 16 to 31 | the value |
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry(u32);

const ENDS_BLOCK: u32 = 1 << 13;
const NOT_HERE: u32 = 1 << 14;

/// A Huffman table, made for decoding.
#[derive(Debug)]
pub(crate) struct Table {
    first: Box<[u32; 1 << BITS]>,
    class: Class,
    /// By length: the code behind the last one of that length, shifted to 16 bits.
    limits: [u32; MAX_CODE_BITS as usize + 1],
    /// By length: what added to a code gives its position in `values`; it wraps round.
    offsets: [u32; MAX_CODE_BITS as usize + 1],
    values: Box<[u8; 256]>,
}

impl Entry {
    /// Bits of code and value together.
    #[inline]
    pub(crate) fn total_bits(self) -> u32 {
        self.0 & 31
    }

    /// Places that stay zero before the value.
    #[inline]
    pub(crate) fn zeros(self) -> usize {
        (self.0 >> 9 & 15) as usize
    }

    #[inline]
    pub(crate) fn ends_block(self) -> bool {
        self.0 & ENDS_BLOCK != 0
    }

    /// The value, given the bits that the entry was found by.
    #[inline]
    pub(crate) fn value(self, word: u64) -> i16 {
        let late_bits = self.0 >> 5 & 15;
        if late_bits == 0 {
            return ((self.0 as i32) >> 16) as i16;
        }
        extend(word << (self.total_bits() - late_bits), late_bits)
    }

    #[inline]
    fn is_here(self) -> bool {
        self.0 & NOT_HERE == 0
    }

    /// The entry of a code, which does not hold the value yet; `None` where the symbol means
    /// nothing in a sequential scan: runs of 1 to 14 zeros without a value.
    fn of(symbol: u8, code_bits: u32, class: Class) -> Option<Self> {
        let (zeros, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
        let ends = match (class, zeros, size) {
            (Class::Dc, 0, _) => 0,
            (Class::Ac, 0, 0) => ENDS_BLOCK,
            (Class::Dc, ..) | (Class::Ac, 1..=14, 0) => return None,
            (Class::Ac, ..) => 0,
        };
        Some(Self((code_bits + size) | size << 5 | zeros << 9 | ends))
    }

    /// As it is, with the value in it, whose bits start a 64-bit word.
    fn with_value(self, word: u64) -> Self {
        let late_bits = self.0 >> 5 & 15;
        let value = if late_bits == 0 { 0 } else { extend(word, late_bits) };
        Self(self.0 & !(15 << 5) | u32::from(value as u16) << 16)
    }
}

/// EXTEND of T.81, F.2.2.1, for the number in the first 1 to 15 bits: the lower half of such
/// numbers stands for negative ones.
#[inline]
fn extend(word: u64, n_bits: u32) -> i16 {
    let value = (word >> (64 - n_bits)) as i32;
    let negative = (word >> 63) as i32 - 1;
    (value + (negative & (1 - (1 << n_bits)))) as i16
}

impl Table {
    fn new(source: &HuffmanTable, class: Class) -> Self {
        let mut table = Self {
            first: Box::new([NOT_HERE; 1 << BITS]),
            class,
            limits: [0; MAX_CODE_BITS as usize + 1],
            offsets: [0; MAX_CODE_BITS as usize + 1],
            values: Box::new([0; 256]),
        };
        for (position, (code, n_bits, symbol)) in (0..).zip(source.codes()) {
            table.add(position, code, n_bits, symbol);
        }
        table
    }

    fn add(&mut self, position: u32, code: u32, n_bits: u32, symbol: u8) {
        let length = n_bits as usize & 31;
        if let (Some(limit), Some(offset), Some(value)) = (
            self.limits.get_mut(length),
            self.offsets.get_mut(length),
            self.values.get_mut(position as usize),
        ) {
            *limit = (code + 1) << (MAX_CODE_BITS - n_bits);
            *offset = position.wrapping_sub(code);
            *value = symbol;
        }
        let entry = Entry::of(symbol, n_bits, self.class).filter(|_| n_bits <= BITS);
        let Some(entry) = entry else { return };
        let start = (code << (BITS - n_bits)) as usize;
        let Some(places) = self.first.get_mut(start..start + (1 << (BITS - n_bits))) else {
            return;
        };
        let fits = entry.total_bits() <= BITS;
        for (index, place) in (start as u64..).zip(places) {
            // The bits behind the code, as they would be in the scan.
            let behind = index << (64 - BITS) << n_bits;
            *place = if fits { entry.with_value(behind).0 } else { entry.0 };
        }
    }

    /// The code at the start of 64 bits, of which 31 at least must be of the scan.
    #[inline]
    pub(crate) fn find(&self, word: u64) -> Option<Entry> {
        let entry = Entry(self.first[(word >> (64 - BITS)) as usize]);
        if entry.is_here() { Some(entry) } else { self.find_long(word) }
    }

    #[cold]
    fn find_long(&self, word: u64) -> Option<Entry> {
        let code = (word >> (64 - MAX_CODE_BITS)) as u32;
        let lengths = (0..).zip(self.limits.iter().zip(&self.offsets));
        // Lengths without codes have a limit of 0.
        let (n_bits, (_, offset)) = lengths.clone().find(|(_, (limit, _))| code < **limit)?;
        let position = (code >> (MAX_CODE_BITS - n_bits)).wrapping_add(*offset);
        Entry::of(*self.values.get(position as usize)?, n_bits, self.class)
    }
}

/// The tables of a block of an MCU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotTables<'a> {
    pub(crate) dc: &'a Table,
    pub(crate) ac: &'a Table,
}

/// The tables that the components of an image use, by number.
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

    /// The tables of each block of an MCU. As many as the JPEG has slots: the parser has checked
    /// that components only name tables that are there.
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
