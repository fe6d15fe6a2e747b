//! What comes next at a place of the scan: how many codes are taken at once, and by which tables.
//!
//! Where only the averages of blocks are wanted ([`Averages`]), an entry holds as many AC codes as
//! the next bits hold whole, without their values: zeros are written in their places. So that codes
//! which are taken together never reach beyond the block, a quarter of a half cell has a plan of
//! its own: the last quarter of the upper half gets the table that has one code in an entry and its
//! value, by which what lies behind the 63rd value shows (see [`crate::interleaved`]); codes of the
//! other quarters are no further than 16 values together.
use crate::table::{Codes, Content, Entry, INDEX_BITS, MOST_SKIPPED_BITS, fill};
use fdconvert_jpeg::{HuffmanTable, Jpeg, Unstuffed};

/// Bytes of a cell.
pub(crate) const CELL: u64 = 256;
/// Cells behind the end of a run that a damaged scan may be written to.
pub(crate) const SLACK: usize = 3;
/// Bits that a stream has after loading.
const LOADED_BITS: u32 = 57;
/// Cells in front of the end of a run in which codes are taken one by one. A block has two codes at
/// least, a DC and an AC code, so that five entries of a sound scan end three blocks at most, and
/// four or three entries two.
const MARGIN: u64 = 3;
const LARGE_MARGIN: u64 = 2;

/// The purpose for which codes are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Aim {
    #[default]
    Values,
    LongValues,
    Averages,
}

/// Parameters of reading codes for an aim.
pub(crate) trait Way {
    /// Bits that index a table.
    const INDEX_BITS: u32;
    /// The most bits that an entry takes.
    const MOST_BITS: u32 = Self::INDEX_BITS;
    /// Entries that a stream takes before it is looked at: as many as fit the bits.
    const N_ENTRIES: usize;
    /// Parts of so many bytes, as a power of 2, have a plan of their own.
    const PLAN_SHIFT: u32 = 7;
}

/// With a small index.
pub(crate) struct Values;
/// With an index for scans with long values, of which more then fit.
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

/// Returns true if the bits that are loaded suffice for the entries between two looks at a stream,
/// and the cells behind its end for what they fill (see the module, Bounds).
const fn is_sound<W: Way>(margin: u64) -> bool {
    W::MOST_BITS as usize * W::N_ENTRIES <= LOADED_BITS as usize
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

    /// Plans of a cell.
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

/// Tables for the next code in a part of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Plan {
    pub(crate) table: u32,
    pub(crate) mask: u8,
    pub(crate) codes: u8,
    /// The bits that are written of a value: all, or none.
    pub(crate) kept: i16,
}

/// A stream's position and place at a time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mark {
    pub(crate) bit: u64,
    pub(crate) place: u64,
}

impl Mark {
    /// The cell, and whether it is at the start of its block.
    pub(crate) fn cell(&self) -> (usize, bool) {
        ((self.place / CELL) as usize, self.place & 128 == 0)
    }
}

/// The tables of an image, and which of them comes next where. They stay from image to image, and
/// most images of a dataset have the same.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    /// The tables and contents that the rest was made for.
    sources: Vec<(HuffmanTable, Content)>,
    pub(crate) aim: Aim,
    pub(crate) entries: Vec<Entry>,
    pub(crate) codes: Vec<Codes>,
    /// By part of a cell.
    pub(crate) plans: Vec<Plan>,
    turn: Vec<Plan>,
}

impl Plans {
    /// Makes the tables for an image whose scan has so many bits, of whose blocks the averages may
    /// be all that is wanted. `None` when a table is not there, which the parser does not let through.
    pub(crate) fn prepare(&mut self, jpeg: &Jpeg, n_bits: u64, averages: bool) -> Option<()> {
        let aim = match averages {
            true => Aim::Averages,
            // Long values need larger tables, which are worse for the first cache.
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
            Plan { table: (number << index_bits) as u32, mask, codes: number as u8, kept }
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

    /// Blocks that are decoded at once where their starts are guessed, roughly: as many as have
    /// their values in the second cache.
    pub(crate) fn span_blocks(&self) -> u64 {
        match self.aim {
            Aim::Values | Aim::LongValues => 2400,
            // Mostly zeros, which are left as they are.
            Aim::Averages => 4800,
        }
    }

    /// Of the image that they were made for.
    pub(crate) fn blocks_per_mcu(&self) -> usize {
        self.turn.len() / self.aim.n_plans()
    }

    /// Skips from a mark to the first code at or behind a position, without writing anything.
    /// `None` where there is no code.
    pub(crate) fn skip_to(&self, data: &Unstuffed, mut mark: Mark, bit: u64) -> Option<Mark> {
        while mark.bit < bit {
            let plan = self.plans.get((mark.place >> self.aim.plan_shift()) as usize)?;
            let at = usize::try_from(mark.bit / 8).ok()?;
            let word = data.padded().get(at..)?.first_chunk()?;
            let word = u64::from_be_bytes(*word) << (mark.bit % 8);
            let index = u64::from(plan.table) + (word >> (64 - self.aim.index_bits()));
            let entry = *self.entries.get(index as usize)?;
            let entry = match entry.has_code() {
                true => entry,
                false => self.codes.get(usize::from(plan.codes))?.find(word)?,
            };
            mark.bit += u64::from(entry.total_bits());
            mark.place = (mark.place | u64::from(plan.mask)) + u64::from(entry.advance());
        }
        Some(mark)
    }

    /// Continues the plans to a number of cells.
    pub(crate) fn reach(&mut self, n_cells: usize) {
        while self.plans.len() < self.aim.n_plans() * n_cells && !self.turn.is_empty() {
            self.plans.extend_from_slice(&self.turn);
        }
    }
}
