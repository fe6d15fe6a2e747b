//! The plan at a place of the scan: the number of codes taken at once, and their tables.
//!
//! If only the averages of blocks are needed ([`Averages`]), an entry holds all AC codes that are
//! complete within the next bits, without their values: zeros are written instead. So that codes
//! taken together never reach beyond the block, each quarter of a half cell has a separate plan:
//! the last quarter of the upper half uses the table with one code and its value per entry, which
//! makes values after the 63rd one visible (see [`crate::interleaved`]); codes in the other
//! quarters fill at most 16 values together.
use crate::table::{Codes, Content, Entry, INDEX_BITS, MOST_SKIPPED_BITS, fill};
use fdconvert_jpeg::{HuffmanTable, Jpeg, Unstuffed};

/// Bytes of a cell.
pub(crate) const CELL: u64 = 256;
/// Cells after the end of a run that a damaged scan may write to.
pub(crate) const SLACK: usize = 3;
/// Bits of a stream after loading: those of 8 bytes without the last one, and without up to seven
/// that were used before.
pub(crate) const LOADED_BITS: u32 = 56;
/// Cells before the end of a run in which codes are taken one by one. A block has at least two
/// codes, a DC and an AC code, so that five entries of a sound scan end at most three blocks, and
/// four or three entries two.
const MARGIN: u64 = 3;
const LARGE_MARGIN: u64 = 2;

/// The purpose of reading codes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Aim {
    #[default]
    Values,
    LongValues,
    Averages,
}

/// Parameters of reading codes for a purpose.
pub(crate) trait Way {
    /// Bits that index a table.
    const INDEX_BITS: u32;
    /// The most bits that an entry takes.
    const MOST_BITS: u32 = Self::INDEX_BITS;
    /// Number of entries between checks of a stream: as many as the bits allow.
    const N_ENTRIES: usize;
    /// Size of the parts with a separate plan, as a power of 2.
    const PLAN_SHIFT: u32 = 7;
}

/// All values, with a small index.
pub(crate) struct Values;
/// All values, with a larger index for scans with long values, of which more then fit.
pub(crate) struct LongValues;
/// Several codes at a time, without their values.
pub(crate) struct Averages;

impl Way for Values {
    const INDEX_BITS: u32 = INDEX_BITS;
    const N_ENTRIES: usize = 5;
}

impl Way for LongValues {
    const INDEX_BITS: u32 = 13;
    const N_ENTRIES: usize = 4;
}

impl Way for Averages {
    const INDEX_BITS: u32 = 12;
    const MOST_BITS: u32 = MOST_SKIPPED_BITS;
    const N_ENTRIES: usize = 3;
    const PLAN_SHIFT: u32 = 5;
}

/// Returns true if the loaded bits suffice for the entries between two checks of a stream, and the
/// cells after its end for their values (see [`crate::interleaved`], Bounds).
const fn is_sound<W: Way>(margin: u64) -> bool {
    let before_last = W::MOST_BITS * (W::N_ENTRIES as u32 - 1);
    // All bits of the last entry may be used, but those after the index are not looked at: even if
    // the one that follows the loaded bits is used too, the number of trailing zeros is right.
    before_last + W::INDEX_BITS <= LOADED_BITS
        && before_last + W::MOST_BITS <= LOADED_BITS + 1
        && (W::N_ENTRIES as u64) < margin + SLACK as u64
        && matches!(W::N_ENTRIES, 3..=5)
}
const _: () = assert!(is_sound::<Values>(MARGIN));
const _: () = assert!(is_sound::<LongValues>(LARGE_MARGIN));
const _: () = assert!(is_sound::<Averages>(LARGE_MARGIN));

impl Aim {
    pub(crate) fn index_bits(self) -> u32 {
        match self {
            Self::Values => Values::INDEX_BITS,
            Self::LongValues => LongValues::INDEX_BITS,
            Self::Averages => Averages::INDEX_BITS,
        }
    }

    pub(crate) fn plan_shift(self) -> u32 {
        match self {
            Self::Values => Values::PLAN_SHIFT,
            Self::LongValues => LongValues::PLAN_SHIFT,
            Self::Averages => Averages::PLAN_SHIFT,
        }
    }

    pub(crate) fn n_plans(self) -> usize {
        (CELL >> self.plan_shift()) as usize
    }

    pub(crate) fn margin(self) -> u64 {
        match self {
            Self::Values => MARGIN,
            Self::LongValues | Self::Averages => LARGE_MARGIN,
        }
    }
}

/// Tables for the next code in a part of a cell: a single number, which is loaded at once.
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 31 | the first entry of the table |
/// | 32 to 47 | mask of the value's bits to write: all, or none |
/// | 48 to 55 | the number of the codes |
/// | 56 to 63 | mask of the place, 126 for DC and 0 for AC |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Plan(u64);

impl Plan {
    /// The byte that holds the mask.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const MASK_BYTE: usize = 7;

    fn new(table: u32, kept: i16, codes: u8, mask: u8) -> Self {
        let kept = u64::from(kept.cast_unsigned());
        Self(u64::from(table) | kept << 32 | u64::from(codes) << 48 | u64::from(mask) << 56)
    }

    /// Returns the index of the table's entry for the next bits, given as a number.
    #[inline(always)]
    pub(crate) fn index(self, bits: u64) -> usize {
        // There is room for both in 32 bits.
        self.0.wrapping_add(bits) as u32 as usize
    }

    #[inline(always)]
    pub(crate) fn mask(self) -> u64 {
        self.0 >> 56
    }

    pub(crate) fn kept(self) -> i16 {
        (self.0 >> 32) as i16
    }

    pub(crate) fn codes(self) -> usize {
        usize::from((self.0 >> 48) as u8)
    }
}

/// Position and place of a stream at some time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark {
    pub(crate) bit: u64,
    pub(crate) place: u64,
}

impl Mark {
    /// Returns the cell, and whether the mark is at the start of its block.
    pub(crate) fn cell(&self) -> (usize, bool) {
        ((self.place / CELL) as usize, self.place & 128 == 0)
    }
}

/// The tables of an image, and the one to use at each place. They are kept between images, because
/// most images of a dataset have the same.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    /// The tables and contents from which the rest was made.
    sources: Vec<(HuffmanTable, Content)>,
    pub(crate) aim: Aim,
    pub(crate) entries: Vec<Entry>,
    pub(crate) codes: Vec<Codes>,
    /// Indexed by part of a cell.
    pub(crate) plans: Vec<Plan>,
    turn: Vec<Plan>,
}

impl Plans {
    /// Makes the tables for an image with a scan of `n_bits` bits, or only for the averages of
    /// blocks. `None` when a table is missing, which the parser does not allow.
    pub(crate) fn prepare(&mut self, jpeg: &Jpeg, n_bits: u64, averages: bool) -> Option<()> {
        let aim = match averages {
            true => Aim::Averages,
            // Long values need larger tables, which fit the first-level cache less well.
            false if n_bits > 50 * u64::from(jpeg.n_blocks) => Aim::LongValues,
            false => Aim::Values,
        };
        let index_bits = aim.index_bits();
        let mut sources = Vec::with_capacity(3 * jpeg.components.len());
        let mut turn = Vec::with_capacity(aim.n_plans() * jpeg.slots.len());
        let mut plan = |table, content, mask, kept| {
            let source = (table, content);
            let known = sources.iter().position(|it| *it == source);
            let number = known.unwrap_or(sources.len());
            if known.is_none() {
                sources.push(source);
            }
            Plan::new((number << index_bits) as u32, kept, number as u8, mask)
        };
        for slot in &jpeg.slots {
            let component = jpeg.components.get(usize::from(slot.component))?;
            let dc = jpeg.dc_tables.get(usize::from(component.dc_table))?.as_ref()?;
            let ac = jpeg.ac_tables.get(usize::from(component.ac_table))?.as_ref()?;
            let (dc, ac_values) =
                (plan(dc, Content::Dc, 126, -1), plan(ac, Content::Values, 0, -1));
            match aim {
                Aim::Values | Aim::LongValues => turn.extend([dc, ac_values]),
                Aim::Averages => {
                    let ac = plan(ac, Content::Skipped, 0, 0);
                    turn.extend([dc, dc, dc, dc, ac, ac, ac, ac_values]);
                }
            }
        }
        let same = self.aim == aim
            && self.sources.iter().map(|it| (&it.0, it.1)).eq(sources.iter().copied());
        if !same {
            self.aim = aim;
            self.entries.resize(sources.len() << index_bits, Entry::NONE);
            for ((table, content), entries) in
                sources.iter().zip(self.entries.chunks_mut(1 << index_bits))
            {
                fill(entries, index_bits, table, *content);
            }
            let codes = sources.iter().map(|(table, content)| Codes::new(table, content.class()));
            self.codes = codes.collect();
            self.sources = sources.into_iter().map(|it| (it.0.clone(), it.1)).collect();
        }
        if self.turn != turn {
            self.plans.clear();
            self.turn = turn;
        }
        Some(())
    }

    /// Approximate number of blocks decoded at once with guessed starts: as many as have their
    /// values in the second-level cache.
    pub(crate) fn span_blocks(&self) -> u64 {
        match self.aim {
            Aim::Values | Aim::LongValues => 2400,
            // Mostly zeros, which are not written.
            Aim::Averages => 4800,
        }
    }

    pub(crate) fn blocks_per_mcu(&self) -> usize {
        self.turn.len() / self.aim.n_plans()
    }

    /// Skips from a mark to the first code at or after a position, without writing anything. `None`
    /// at an invalid code.
    pub(crate) fn skip_to(&self, data: &Unstuffed, mut mark: Mark, bit: u64) -> Option<Mark> {
        while mark.bit < bit {
            let plan = self.plans.get((mark.place >> self.aim.plan_shift()) as usize)?;
            let at = usize::try_from(mark.bit / 8).ok()?;
            let word = data.padded().get(at..)?.first_chunk()?;
            let word = u64::from_be_bytes(*word) << (mark.bit % 8);
            let index = plan.index(word >> (64 - self.aim.index_bits()));
            let entry = *self.entries.get(index)?;
            let entry = match entry.has_code() {
                true => entry,
                false => self.codes.get(plan.codes())?.find(word)?,
            };
            mark.bit += u64::from(entry.total_bits());
            mark.place = (mark.place | plan.mask()) + u64::from(entry.advance());
        }
        Some(mark)
    }

    /// Extends the plans to a number of cells.
    pub(crate) fn reach(&mut self, n_cells: usize) {
        while self.plans.len() < self.aim.n_plans() * n_cells && !self.turn.is_empty() {
            self.plans.extend_from_slice(&self.turn);
        }
    }
}
