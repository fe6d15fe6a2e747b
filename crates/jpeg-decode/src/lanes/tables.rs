//! Huffman tables whose entries leave the value in the bits of the scan.
//!
//! So they are small, fit the first-level cache together, and no value is too long for them.
use crate::table::Entry;
use fdconvert_jpeg::{Class, HuffmanTable, Jpeg};

/// Bits that index a table.
pub(super) const INDEX_BITS: u32 = 11;
const N_ENTRIES: usize = 1 << INDEX_BITS;
/// Bits of the longest codes after those of the index.
pub(super) const REST_BITS: u32 = 16 - INDEX_BITS;
/// Most bits of a code and its value that need no new load: three of them are loaded at a time.
const MOST_BITS: u32 = 19;

/// Numbers of registers: more than the blocks of an MCU.
pub(super) const N_SLOTS: usize = 16;
/// The slot of a lane without a run.
pub(super) const IDLE: usize = N_SLOTS - 1;

/// An entry must be looked at: the code is longer than the index, or there are too many bits, or
/// there is no such code.
pub(super) const SLOW: u32 = 1 << 15;
/// Position of the number of bits of the value.
pub(super) const VALUE_BITS: u32 = 6;
/// Position of the number of places of the block that the entry fills: 64 at its end.
pub(super) const PLACES: u32 = 16;
/// Ends the block, as the lanes must go on.
const NO_CODE: u32 = SLOW | 64 << PLACES | 1;

/// The tables of all blocks of an MCU.
///
/// | bits of an entry | meaning |
/// |---|---|
/// | 0 to 4 | bits of code and value together; 0 if the code is longer than the index |
/// | 6 to 9 | bits of the value |
/// | 15 | [`SLOW`] |
/// | 16 to 31 | [`PLACES`], or which part of `long` has the codes that start so |
#[derive(Debug, Default)]
pub(super) struct Tables {
    sources: Vec<(HuffmanTable, Class)>,
    /// A table for each source, and one of zeros, by which idle lanes stand still.
    pub(super) entries: Vec<u32>,
    /// Parts of `1 << REST_BITS` entries.
    pub(super) long: Vec<u32>,
    /// By slot: where the tables for DC and AC codes start, and the next slot.
    pub(super) dc: [u32; N_SLOTS],
    pub(super) ac: [u32; N_SLOTS],
    pub(super) next: [u32; N_SLOTS],
}

impl Tables {
    /// Makes the tables of an image. `None` when an MCU has too many blocks, or one is missing,
    /// which the parser does not allow.
    pub(super) fn prepare(&mut self, jpeg: &Jpeg) -> Option<()> {
        if jpeg.slots.len() > IDLE {
            return None;
        }
        let mut sources: Vec<(&HuffmanTable, Class)> = Vec::with_capacity(4);
        let mut start = |source| {
            let known = sources.iter().position(|it| *it == source);
            let number = known.unwrap_or(sources.len());
            if known.is_none() {
                sources.push(source);
            }
            (number * N_ENTRIES) as u32
        };
        let (mut dc, mut ac, mut next) = ([0; N_SLOTS], [0; N_SLOTS], [0; N_SLOTS]);
        for (number, slot) in jpeg.slots.iter().enumerate() {
            let component = jpeg.components.get(usize::from(slot.component))?;
            let dc_table = jpeg.dc_tables.get(usize::from(component.dc_table))?.as_ref()?;
            let ac_table = jpeg.ac_tables.get(usize::from(component.ac_table))?.as_ref()?;
            dc[number] = start((dc_table, Class::Dc));
            ac[number] = start((ac_table, Class::Ac));
            next[number] = ((number + 1) % jpeg.slots.len()) as u32;
        }
        let zeros = (sources.len() * N_ENTRIES) as u32;
        (dc[IDLE], ac[IDLE], next[IDLE]) = (zeros, zeros, IDLE as u32);
        (self.dc, self.ac, self.next) = (dc, ac, next);
        if !self.sources.iter().map(|it| (&it.0, it.1)).eq(sources.iter().copied()) {
            self.sources.clear();
            self.fill(&sources);
            self.sources = sources.into_iter().map(|it| (it.0.clone(), it.1)).collect();
        }
        Some(())
    }

    /// Returns the number of blocks of an MCU.
    pub(super) fn per_mcu(&self) -> u32 {
        self.next.iter().take(IDLE).max().map_or(0, |last| last + 1)
    }

    fn fill(&mut self, sources: &[(&HuffmanTable, Class)]) {
        // Part 0 of the long codes has none.
        self.long.clear();
        self.long.resize(1 << REST_BITS, NO_CODE);
        self.entries.clear();
        self.entries.resize(sources.len() * N_ENTRIES, SLOW);
        self.entries.resize((sources.len() + 1) * N_ENTRIES, 0);
        for ((table, class), entries) in sources.iter().zip(self.entries.chunks_mut(N_ENTRIES)) {
            for (code, code_bits, symbol) in table.codes() {
                let Some(entry) = entry(symbol, code_bits, *class) else { continue };
                match INDEX_BITS.checked_sub(code_bits) {
                    Some(rest) => {
                        let start = (code << rest) as usize;
                        let entries = entries.get_mut(start..start + (1 << rest));
                        entries.unwrap_or_default().fill(entry);
                    }
                    None => {
                        let Some(first) =
                            entries.get_mut((code >> (code_bits - INDEX_BITS)) as usize)
                        else {
                            continue;
                        };
                        // Such a code is looked up again, so that it need not be told to be slow.
                        add_long(first, &mut self.long, code, code_bits, entry & !SLOW);
                    }
                }
            }
        }
    }
}

fn entry(symbol: u8, code_bits: u32, class: Class) -> Option<u32> {
    let entry = Entry::of(symbol, code_bits, class)?;
    let places = if class == Class::Dc { 1 } else { entry.advance() / 2 };
    let slow = if entry.total_bits() > MOST_BITS { SLOW } else { 0 };
    Some(entry.total_bits() | entry.value_bits() << VALUE_BITS | places << PLACES | slow)
}

/// Adds a code longer than the index, whose first bits have this entry.
fn add_long(first: &mut u32, long: &mut Vec<u32>, code: u32, code_bits: u32, entry: u32) {
    if *first >> PLACES == 0 {
        *first = SLOW | ((long.len() >> REST_BITS) as u32) << PLACES;
        long.resize(long.len() + (1 << REST_BITS), NO_CODE);
    }
    let behind = code_bits - INDEX_BITS;
    let within = (code & ((1 << behind) - 1)) << (REST_BITS - behind);
    let start = (((*first >> PLACES) << REST_BITS) + within) as usize;
    let entries = long.get_mut(start..start + (1 << (REST_BITS - behind)));
    entries.unwrap_or_default().fill(entry);
}
