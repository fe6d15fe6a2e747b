//! From codes to coefficients, at several places of a scan at once.
//!
//! Decoding one run of blocks is a chain: the start of a code depends on the code before it, and a
//! processor waits most of the time. So `K` runs are decoded in turns, one code of each, and their
//! chains overlap. A place at the end of its run takes the next run.
//!
//! ```text
//! while a run is left at any place
//!     for each place
//!         look up the next code: zeros, a value, bits
//!         write the value after the zeros, or end the block
//!         at the end of the run: check that the next one starts here, and take another run
//! ```
//!
//! The procedures are those of T.81, F.2.2. DC values stay differences, because earlier blocks may
//! not be decoded yet; [`Predictions`](crate::dc::Predictions) adds them up afterwards.
use crate::{
    Block, Damage, Error,
    runs::{Ending, Run, Runs},
    table::{SlotTables, Table, Tables},
    window::Window,
};
use fdconvert_jpeg::{Jpeg, Unstuffed};
use std::ops::Range;

/// Bits left of 64 loaded ones when the position is within a byte.
const LOADED_BITS: u32 = 57;
/// Longest code, 16 bits, with the longest value, 15.
const MAX_TOTAL_BITS: u32 = 31;

/// Data common to all places.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    data: &'a [u8],
    slots: Vec<SlotTables<'a>>,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(jpeg: &Jpeg, data: &'a Unstuffed, tables: &'a Tables) -> Self {
        Self { data: data.bytes(), slots: tables.by_slot(jpeg) }
    }
}

/// Checks that a scan may hold the blocks of the image, before memory is allocated for them: a
/// header may claim any size.
///
/// # Errors
/// `DataEnds` when the data has less than two bits per block.
pub(crate) fn check_claims(jpeg: &Jpeg, data: &Unstuffed) -> Result<(), Error> {
    let bit = data.bytes().len() as u64 * 8;
    match bit < 2 * u64::from(jpeg.n_blocks) {
        true => Err(Error::Damaged { block: 0, bit, what: Damage::DataEnds }),
        false => Ok(()),
    }
}

/// Decodes some blocks, in zigzag order, before the DC differences are added up.
pub(crate) fn decode<const K: usize>(
    scan: &Scan<'_>,
    runs: &mut Runs,
    blocks: &Range<u32>,
    window: &mut Window,
) -> Result<(), Error> {
    window.in_order(0, blocks.len());
    let mut start = || runs.next_before(blocks.end).and_then(|run| Place::new(scan, run));
    let mut places: [Option<Place<'_>>; K] = std::array::from_fn(|_| start());
    let mut n_busy = places.iter().flatten().count();
    while n_busy > 0 {
        for turn in &mut places {
            let Some(place) = turn else { continue };
            let block = window.block_mut(place.block.wrapping_sub(blocks.start) as usize);
            match block.map_or(Step::Fails(Damage::DataEnds), |block| place.step(scan, block)) {
                Step::WithinBlock => continue,
                Step::EndsBlock => {}
                Step::Fails(what) => return Err(place.damaged(scan, what)),
            }
            if place.next_block(scan)? {
                continue;
            }
            if place.run.ending == Ending::Open {
                runs.resume_at(place.bit());
            }
            *turn = runs.next_before(blocks.end).and_then(|run| Place::new(scan, run));
            n_busy -= usize::from(turn.is_none());
        }
    }
    Ok(())
}

enum Step {
    WithinBlock,
    EndsBlock,
    Fails(Damage),
}

struct Place<'a> {
    /// Unused bits of the scan from `loaded_at` on.
    word: u64,
    loaded_at: u64,
    used: u32,
    /// Position of the next value in its block.
    value: usize,
    table: &'a Table,
    block_tables: SlotTables<'a>,
    slot: usize,
    block: u32,
    end_block: u32,
    run: Run,
}

impl<'a> Place<'a> {
    /// `None` for an image with MCUs without blocks, which does not exist.
    fn new(scan: &Scan<'a>, run: Run) -> Option<Self> {
        let slot = run.block.checked_rem(scan.slots.len() as u32)? as usize;
        let block_tables = *scan.slots.get(slot)?;
        Some(Self {
            word: load(scan.data, run.bit),
            loaded_at: run.bit,
            used: 0,
            value: 0,
            table: block_tables.dc,
            block_tables,
            slot,
            block: run.block,
            end_block: run.block.saturating_add(run.n_blocks),
            run,
        })
    }

    fn bit(&self) -> u64 {
        self.loaded_at + u64::from(self.used)
    }

    #[inline(always)]
    fn step(&mut self, scan: &Scan<'_>, block: &mut Block) -> Step {
        if self.used > LOADED_BITS - MAX_TOTAL_BITS {
            self.loaded_at = self.bit();
            self.word = load(scan.data, self.loaded_at);
            self.used = 0;
        }
        let Some(entry) = self.table.find(self.word) else {
            return Step::Fails(Damage::NoSuchCode);
        };
        let value = entry.value(self.word);
        self.word <<= entry.total_bits();
        self.used += entry.total_bits();
        self.table = self.block_tables.ac;
        if entry.ends_block() {
            return Step::EndsBlock;
        }
        // The first value has a DC code, which has no zeros before it.
        let zeros = if self.value == 0 { 0 } else { entry.zeros() };
        match block.get_mut(self.value + zeros) {
            Some(place) => *place = value,
            // Too many zeros end the block, as in libjpeg.
            None if value == 0 => return Step::EndsBlock,
            None => return Step::Fails(Damage::TooManyValues),
        }
        self.value += zeros + 1;
        if self.value == block.len() { Step::EndsBlock } else { Step::WithinBlock }
    }

    /// Prepares for the next block; returns whether the run has one.
    #[inline(always)]
    fn next_block(&mut self, scan: &Scan<'a>) -> Result<bool, Error> {
        self.block += 1;
        if self.block == self.end_block {
            return self.end(scan.data).map(|()| false);
        }
        if self.bit() > self.run.end {
            return Err(self.wrong_end(scan.data));
        }
        self.slot += 1;
        if self.slot == scan.slots.len() {
            self.slot = 0;
        }
        if let Some(tables) = scan.slots.get(self.slot) {
            self.block_tables = *tables;
        }
        self.table = self.block_tables.dc;
        self.value = 0;
        Ok(true)
    }

    /// Checks that the run ends at the right position.
    fn end(&self, data: &[u8]) -> Result<(), Error> {
        if self.run.may_end_at(self.bit()) { Ok(()) } else { Err(self.wrong_end(data)) }
    }

    /// Returns the error of a run that does not start at the end of the block before.
    #[cold]
    fn wrong_end(&self, data: &[u8]) -> Error {
        let (block, bit) = (self.block - 1, self.bit());
        let what = match bit > data.len() as u64 * 8 {
            true => Damage::DataEnds,
            false => Damage::WrongEnd { expected: self.run.end },
        };
        Error::Damaged { block, bit, what }
    }

    /// Returns the error at this position: after the end of the data, where zeros are read, always
    /// `DataEnds`.
    #[cold]
    fn damaged(&self, scan: &Scan<'_>, what: Damage) -> Error {
        let (block, bit) = (self.block, self.bit());
        let n_bits = scan.data.len() as u64 * 8;
        let what = if bit >= n_bits { Damage::DataEnds } else { what };
        Error::Damaged { block, bit, what }
    }
}

/// Returns at least [`LOADED_BITS`] bits from a position, in the upper bits; zeros after the end.
#[inline]
pub(crate) fn load(data: &[u8], bit: u64) -> u64 {
    let rest = usize::try_from(bit / 8).ok().and_then(|at| data.get(at..)).unwrap_or_default();
    let word = match rest.first_chunk() {
        Some(word) => u64::from_be_bytes(*word),
        None => last_word(rest),
    };
    word << (bit % 8)
}

/// Loads fewer than 8 bytes.
#[cold]
fn last_word(rest: &[u8]) -> u64 {
    let padded = rest.iter().copied().chain(std::iter::repeat(0)).take(8);
    padded.fold(0, |word, byte| word << 8 | u64::from(byte))
}
