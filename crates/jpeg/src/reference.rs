//! Slow decoding of coefficients, bit by bit, as in ITU-T T.81, annex F. It shares only the
//! un-stuffed scan with the fast walk, so that each can be checked against the other, and other
//! decoders against both.
//!
//! Blocks are in scan order, their values in natural order (row by row), before multiplication with
//! the quantisation table.
use crate::{
    EntryPoints, HuffmanTable, Jpeg, Refused, Segment, Unstuffed, markers::ZIGZAG, unstuff,
};

/// The values of one block.
pub type Block = [i16; 64];

/// Decodes all blocks of the image from the start.
///
/// # Errors
/// [`Refused`] when the scan is damaged or incomplete.
pub fn coefficients(jpeg: &Jpeg, bytes: &[u8]) -> Result<Vec<Block>, Refused> {
    let data = unstuff(jpeg, bytes)?;
    let per_restart = jpeg.blocks_per_restart().unwrap_or(jpeg.n_blocks);
    let mut blocks = Vec::new();
    for (number, start) in (0..).zip(data.starts()) {
        let block: u32 = number * per_restart;
        let n_blocks = per_restart.min(jpeg.n_blocks.saturating_sub(block));
        blocks.extend(segment(
            jpeg,
            &data,
            &Segment { bit: start * 8, block, n_blocks, resets: true },
        )?);
    }
    Ok(blocks)
}

/// Decodes the blocks of one segment, with DC predictions that start at 0: right for a segment that
/// resets them, and a constant per component too low for any other.
///
/// # Errors
/// [`Refused`] when the scan is damaged or incomplete, or the segment is not one of the JPEG's.
pub fn segment(jpeg: &Jpeg, data: &Unstuffed, segment: &Segment) -> Result<Vec<Block>, Refused> {
    let mut bits = Bits { data: data.bytes(), at: segment.bit as usize };
    let mut predictions = [0i32; 4];
    let mut blocks = Vec::new();
    for block in segment.block..segment.block.saturating_add(segment.n_blocks) {
        let start = bits.at;
        let component = component_of(jpeg, block);
        let bad_code = |bits: &Bits<'_>| match bits.at >= bits.data.len() * 8 {
            true => Refused::DataEnds { block, n_blocks: jpeg.n_blocks },
            false => Refused::BadCode { block, bit: bits.at as u64 },
        };
        let (Some((dc, ac)), Some(prediction)) =
            (tables(jpeg, component), predictions.get_mut(component))
        else {
            return Err(bad_code(&bits));
        };
        let mut values = [0; 64];
        let size = bits.code(dc).ok_or_else(|| bad_code(&bits))?;
        let difference = bits.value(size).ok_or_else(|| bad_code(&bits))?;
        *prediction = prediction.wrapping_add(difference);
        values[0] = *prediction as i16;
        let mut place = 1;
        while place < 64 {
            let symbol = bits.code(ac).ok_or_else(|| bad_code(&bits))?;
            let (run, size) = (symbol >> 4, symbol & 15);
            match (run, size) {
                (0, 0) => break,
                (1..=14, 0) => return Err(bad_code(&bits)),
                _ => place += usize::from(run),
            }
            let value = bits.value(size).ok_or_else(|| bad_code(&bits))?;
            let natural = ZIGZAG.get(place).copied().map(usize::from);
            let natural = natural.ok_or(Refused::LongBlock { block, bit: start as u64 })?;
            if let Some(entry) = values.get_mut(natural) {
                *entry = value as i16;
            }
            place += 1;
        }
        blocks.push(values);
    }
    Ok(blocks)
}

/// Decodes all blocks of the image segment by segment, and then corrects the DC predictions, as a
/// parallel decoder does.
///
/// # Errors
/// [`Refused`] when the scan is damaged or incomplete, or the entry points belong to another image.
pub fn coefficients_from(
    jpeg: &Jpeg,
    bytes: &[u8],
    entry_points: &EntryPoints,
) -> Result<Vec<Block>, Refused> {
    let data = unstuff(jpeg, bytes)?;
    let mut blocks = Vec::new();
    let mut bases = [0i16; 4];
    for part in entry_points.segments() {
        if part.resets {
            bases = [0; 4];
        }
        let mut lasts = [0i16; 4];
        let start = blocks.len();
        blocks.extend(segment(jpeg, &data, part)?);
        for (block, values) in (part.block..).zip(blocks.iter_mut().skip(start)) {
            let component = component_of(jpeg, block);
            if let (Some(base), Some(last)) = (bases.get(component), lasts.get_mut(component)) {
                *last = values[0];
                values[0] = values[0].wrapping_add(*base);
            }
        }
        for (base, last) in bases.iter_mut().zip(lasts) {
            *base = base.wrapping_add(last);
        }
    }
    Ok(blocks)
}

fn component_of(jpeg: &Jpeg, block: u32) -> usize {
    let slot = jpeg.slots.get((block % jpeg.blocks_per_mcu().max(1)) as usize);
    slot.map_or(0, |slot| slot.component.into())
}

fn tables(jpeg: &Jpeg, component: usize) -> Option<(&HuffmanTable, &HuffmanTable)> {
    let component = jpeg.components.get(component)?;
    let dc = jpeg.dc_tables.get(usize::from(component.dc_table))?.as_ref()?;
    Some((dc, jpeg.ac_tables.get(usize::from(component.ac_table))?.as_ref()?))
}

struct Bits<'a> {
    data: &'a [u8],
    /// Position in bits.
    at: usize,
}

impl Bits<'_> {
    fn next(&mut self) -> Option<u32> {
        let byte = self.data.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit.into())
    }

    /// DECODE of T.81, F.2.2.3: the code grows until it is one of its length.
    fn code(&mut self, table: &HuffmanTable) -> Option<u8> {
        let (mut code, mut first_code, mut first_value) = (0, 0, 0);
        for count in table.counts {
            code = code << 1 | self.next()?;
            let count = u32::from(count);
            if code < first_code + count {
                return table.values.get((first_value + code - first_code) as usize).copied();
            }
            first_value += count;
            first_code = (first_code + count) << 1;
        }
        None
    }

    /// RECEIVE and EXTEND of T.81, F.2.2.1: the lower half of the numbers of `n_bits` bits stands
    /// for negative ones.
    fn value(&mut self, n_bits: u8) -> Option<i32> {
        let mut value = 0;
        for _ in 0..n_bits {
            value = value << 1 | self.next()? as i32;
        }
        let half = if n_bits == 0 { 0 } else { 1 << (n_bits - 1) };
        Some(if value < half { value - (1 << n_bits) + 1 } else { value })
    }
}
