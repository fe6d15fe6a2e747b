//! The tables of a batch.
use crate::{
    image::ImageTables,
    layout::{ImageLayout, SECOND_ENTRIES, TableLayout},
};
use std::collections::BTreeMap;

/// The distinct tables of a batch: most datasets have very few.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) huffman: Vec<TableLayout>,
    pub(crate) quantisation: Vec<[u16; 64]>,
    pub(crate) n_second: u32,
    huffman_numbers: BTreeMap<TableLayout, u32>,
    quantisation_numbers: BTreeMap<[u16; 64], u32>,
}

impl Tables {
    /// Adds the tables of an image, and sets their positions in its layout.
    pub(crate) fn add(&mut self, tables: &ImageTables, layout: &mut ImageLayout) {
        let numbers = layout.dc_table.iter_mut().zip(&mut layout.ac_table);
        for ((dc, ac), pair) in numbers.zip(&tables.pairs) {
            (*dc, *ac) = (self.huffman(&pair.0), self.huffman(&pair.1));
        }
        for number in &mut layout.quantisation {
            if let Some(table) = tables.quantisation.get(*number as usize) {
                *number = self.quantisation(table);
            }
        }
    }

    fn quantisation(&mut self, table: &[u16; 64]) -> u32 {
        let next = self.quantisation.len() as u32;
        let number = *self.quantisation_numbers.entry(*table).or_insert(next);
        if number == next {
            self.quantisation.push(*table);
        }
        number
    }

    fn huffman(&mut self, table: &TableLayout) -> u32 {
        let next = self.huffman.len() as u32;
        let number = *self.huffman_numbers.entry(*table).or_insert(next);
        if number == next {
            let n_second = n_second(&table.counts);
            self.huffman.push(TableLayout { n_second, second_at: self.n_second, ..*table });
            self.n_second += n_second * SECOND_ENTRIES;
        }
        number
    }
}

/// Returns the number of second tables that codes of more than ten bits need: those codes are
/// consecutive.
fn n_second(counts: &[u8; 16]) -> u32 {
    let long = (11..=16u32).zip(counts.iter().skip(10));
    let entries: u32 = long.map(|(bits, count)| u32::from(*count) << (16 - bits)).sum();
    entries.div_ceil(SECOND_ENTRIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_codes_share_second_tables() {
        let mut counts = [0; 16];
        assert_eq!(n_second(&counts), 0);
        (counts[10], counts[15]) = (3, 1);
        assert_eq!(n_second(&counts), 2);
        counts[10] = 255;
        assert_eq!(n_second(&counts), 128);
    }
}
