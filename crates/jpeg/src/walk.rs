//! The walk over the codes of a scan, from block to block.
//!
//! It is plain, reports the fault of a scan, and is the reference for the faster walk
//! ([`crate::places`]), which is tried first. Only lengths matter, and the values of the DC codes:
//! per code one lookup, one shift, and two additions.
//!
//! ```text
//! for each restart interval
//!     for each block of it
//!         report its start, and the DC predictions there
//!         take a DC code and its value
//!         until 64 places are filled: skip an AC code and its value
//!     fewer than 8 bits are left, the padding
//! ```
use crate::{Class, Code, Jpeg, Lookup, Refused, Unstuffed};

/// Bits left of 64 loaded ones when the position is within a byte.
const PEEKED_BITS: u32 = 57;
/// Longest code, 16 bits, with the longest value, 15.
const MAX_TOTAL_BITS: u32 = 31;

/// The DC value of each component's last block. Values beyond 16 bits wrap around, as in a
/// decoder's coefficients.
pub(crate) type Predictions = [i16; 3];

/// A block of the scan, before it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct At {
    pub(crate) block: u32,
    /// Bit at which it starts.
    pub(crate) bit: u64,
    /// True if the DC predictions start again.
    pub(crate) resets: bool,
    pub(crate) dc: Predictions,
}

/// Returns the first block at or after each multiple of the grid and at every restart, and the end
/// of the last block, by the plain walk.
pub(crate) fn note(jpeg: &Jpeg, data: &Unstuffed, grid: u64) -> Result<(Vec<At>, u64), Refused> {
    let n_expected = data.bytes().len() as u64 * 8 / grid + data.starts().len() as u64;
    let mut noted = Vec::with_capacity(n_expected as usize + 1);
    let mut next = 0;
    let total_bits = walk(jpeg, data, |at| {
        if at.bit >= next || at.resets {
            noted.push(*at);
            next = (at.bit / grid + 1) * grid;
        }
    })?;
    Ok((noted, total_bits))
}

/// Calls `at_block` for each block in scan order, and returns the position after the last one.
///
/// # Errors
/// [`Refused`] when a code is invalid, a block too long, or the data too short or too long for its
/// blocks.
fn walk(jpeg: &Jpeg, data: &Unstuffed, mut at_block: impl FnMut(&At)) -> Result<u64, Refused> {
    let tables = Tables::new(jpeg);
    let slots = tables.by_slot(jpeg);
    if slots.is_empty() {
        return Err(Refused::DataEnds { block: 0, n_blocks: jpeg.n_blocks });
    }
    let per_restart = jpeg.blocks_per_restart().unwrap_or(jpeg.n_blocks).max(1);
    let (mut block, mut bit, mut end) = (0u32, 0u64, 0u64);
    for interval_end in data.ends() {
        bit = end;
        end = interval_end;
        let last = block.saturating_add(per_restart).min(jpeg.n_blocks);
        let mut resets = true;
        let mut dc = Predictions::default();
        while block < last {
            // Restarts are between MCUs, so that every interval starts with the first slot.
            for slot in &slots {
                at_block(&At { block, bit, resets, dc });
                resets = false;
                bit = slot.skip(data, bit, &mut dc).ok_or_else(|| why(data, slot, block, bit))?;
                if bit > end {
                    return Err(Refused::DataEnds { block, n_blocks: jpeg.n_blocks });
                }
                block += 1;
            }
        }
        if end - bit >= 8 {
            return Err(Refused::DataLeft { block: block.saturating_sub(1), n_bits: end - bit });
        }
    }
    Ok(bit)
}

/// Walks some blocks from a position inside a scan without restarts, given the predictions there;
/// also calls `at_block` for each, and for the one after the last. `None` when they are no valid
/// blocks.
pub(crate) fn walk_span(
    slots: &[Slot<'_>],
    data: &Unstuffed,
    mut at: At,
    n_blocks: u32,
    mut at_block: impl FnMut(&At) -> Option<()>,
) -> Option<()> {
    let end = data.bytes().len() as u64 * 8;
    let behind = at.block % slots.len().max(1) as u32;
    let in_turn = slots.iter().cycle().skip(behind as usize);
    for slot in in_turn.take(n_blocks as usize) {
        at_block(&at)?;
        at.bit = slot.skip(data, at.bit, &mut at.dc).filter(|bit| *bit <= end)?;
        at.block += 1;
        at.resets = false;
    }
    at_block(&at)
}

/// The tables of a block of an MCU.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a> {
    pub(crate) dc: &'a Lookup,
    pub(crate) ac: &'a Lookup,
    pub(crate) component: usize,
}

impl Slot<'_> {
    /// Returns the position after the block at `bit`; `None` if a code is invalid or the block too
    /// long.
    #[inline]
    fn skip(&self, data: &Unstuffed, mut bit: u64, dc: &mut Predictions) -> Option<u64> {
        let mut word = data.peek(bit);
        let mut code = self.dc.find(word);
        let mut used = code.total_bits();
        if let Some(prediction) = dc.get_mut(self.component) {
            *prediction = prediction.wrapping_add(difference(code, word));
        }
        word <<= used;
        let mut valid = code.is_valid();
        let mut filled = 1;
        while filled < 64 {
            if used > PEEKED_BITS - MAX_TOTAL_BITS {
                bit += u64::from(used);
                word = data.peek(bit);
                used = 0;
            }
            code = self.ac.find(word);
            valid &= code.is_valid();
            word <<= code.total_bits();
            used += code.total_bits();
            filled += code.advance();
        }
        (valid && (filled == 64 || code.ends_block())).then_some(bit + u64::from(used))
    }
}

/// RECEIVE and EXTEND of T.81, F.2.2.1, for the value after a DC code at the start of 64 bits.
#[inline]
pub(crate) fn difference(code: Code, word: u64) -> i16 {
    let n_bits = code.value_bits();
    let value = ((word << code.code_bits()) >> 1 >> (63 - n_bits)) as u32;
    let below_half = value < (1 << n_bits) >> 1;
    value.wrapping_sub(if below_half { (1 << n_bits) - 1 } else { 0 }) as i16
}

/// Finds out why a block could not be skipped.
#[cold]
fn why(data: &Unstuffed, slot: &Slot<'_>, block: u32, start: u64) -> Refused {
    let code = slot.dc.find(data.peek(start));
    let (mut valid, mut bit) = (code.is_valid(), start + u64::from(code.total_bits()));
    let mut filled = 1;
    while valid && filled < 64 {
        let code = slot.ac.find(data.peek(bit));
        valid = code.is_valid();
        filled += code.advance();
        bit += u64::from(code.total_bits());
    }
    if valid { Refused::LongBlock { block, bit: start } } else { Refused::BadCode { block, bit } }
}

/// The tables of the components, prepared for decoding.
pub(crate) struct Tables {
    dc: [Option<Lookup>; 4],
    pub(crate) ac: [Option<Lookup>; 4],
}

impl Tables {
    pub(crate) fn new(jpeg: &Jpeg) -> Self {
        let mut tables = Self { dc: Default::default(), ac: Default::default() };
        for component in &jpeg.components {
            for (class, made, defined, index) in [
                (Class::Dc, &mut tables.dc, &jpeg.dc_tables, component.dc_table),
                (Class::Ac, &mut tables.ac, &jpeg.ac_tables, component.ac_table),
            ] {
                let index = usize::from(index);
                let table = defined.get(index).and_then(Option::as_ref);
                if let (Some(place @ None), Some(table)) = (made.get_mut(index), table) {
                    *place = Some(Lookup::new(table, class));
                }
            }
        }
        tables
    }

    pub(crate) fn by_slot(&self, jpeg: &Jpeg) -> Vec<Slot<'_>> {
        let slot = |number: u8| {
            let component = jpeg.components.get(usize::from(number))?;
            let dc = self.dc.get(usize::from(component.dc_table))?.as_ref()?;
            let ac = self.ac.get(usize::from(component.ac_table))?.as_ref()?;
            Some(Slot { dc, ac, component: number.into() })
        };
        jpeg.slots.iter().filter_map(|it| slot(it.component)).collect()
    }
}
