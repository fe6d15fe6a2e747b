//! The walk over the codes of a scan, from block to block.
//!
//! Neither values nor the DC prediction matter, only lengths: per code one lookup, one shift, and
//! two additions.
//!
//! ```text
//! for each restart interval
//!     for each block of it
//!         tell where it starts
//!         skip a DC code and its value
//!         until 64 places are filled: skip an AC code and its value
//!     fewer than 8 bits are left, the padding
//! ```
use crate::{Class, Jpeg, Lookup, Refused, Unstuffed};

/// What 64 bits at a position still hold when the position is within a byte.
const PEEKED_BITS: u32 = 57;
/// The longest code, 16 bits, with the longest value, 15.
const MAX_TOTAL_BITS: u32 = 31;

/// Calls `at_block` with number, position and whether the DC prediction starts again, for each
/// block in the order of the scan, and returns the position behind the last one.
///
/// # Errors
/// [`Refused`] when there is no such code, a block is too long, or the data is too short or too
/// long for its blocks.
pub(crate) fn walk(
    jpeg: &Jpeg,
    data: &Unstuffed,
    mut at_block: impl FnMut(u32, u64, bool),
) -> Result<u64, Refused> {
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
        while block < last {
            // Restarts stand between MCUs, so that every interval starts with the first slot.
            for (dc, ac) in &slots {
                at_block(block, bit, resets);
                resets = false;
                let next = skip_block(data, dc, ac, bit);
                bit = next.ok_or_else(|| why(data, dc, ac, block, bit))?;
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

/// The position behind the block at `bit`; `None` if a code is invalid or the block too long.
#[inline]
fn skip_block(data: &Unstuffed, dc: &Lookup, ac: &Lookup, mut bit: u64) -> Option<u64> {
    let mut word = data.peek(bit);
    let mut code = dc.find(word);
    let mut used = code.total_bits();
    word <<= used;
    let mut valid = code.is_valid();
    let mut filled = 1;
    while filled < 64 {
        if used > PEEKED_BITS - MAX_TOTAL_BITS {
            bit += u64::from(used);
            word = data.peek(bit);
            used = 0;
        }
        code = ac.find(word);
        valid &= code.is_valid();
        word <<= code.total_bits();
        used += code.total_bits();
        filled += code.advance();
    }
    (valid && (filled == 64 || code.ends_block())).then_some(bit + u64::from(used))
}

/// Why a block could not be skipped.
#[cold]
fn why(data: &Unstuffed, dc: &Lookup, ac: &Lookup, block: u32, start: u64) -> Refused {
    let code = dc.find(data.peek(start));
    let (mut valid, mut bit) = (code.is_valid(), start + u64::from(code.total_bits()));
    let mut filled = 1;
    while valid && filled < 64 {
        let code = ac.find(data.peek(bit));
        valid = code.is_valid();
        filled += code.advance();
        bit += u64::from(code.total_bits());
    }
    if valid { Refused::LongBlock { block, bit: start } } else { Refused::BadCode { block, bit } }
}

/// The tables that the components use, made for decoding.
struct Tables {
    dc: [Option<Lookup>; 4],
    ac: [Option<Lookup>; 4],
}

impl Tables {
    fn new(jpeg: &Jpeg) -> Self {
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

    /// The pair of tables of each block of an MCU.
    fn by_slot(&self, jpeg: &Jpeg) -> Vec<(&Lookup, &Lookup)> {
        let pair = |component: u8| {
            let component = jpeg.components.get(usize::from(component))?;
            let dc = self.dc.get(usize::from(component.dc_table))?.as_ref()?;
            Some((dc, self.ac.get(usize::from(component.ac_table))?.as_ref()?))
        };
        jpeg.slots.iter().filter_map(|slot| pair(slot.component)).collect()
    }
}
