//! Skipping several codes at a time without branches.
//!
//! Of a skipped code only its bits, its places and the DC difference matter. The first two add up:
//! so an entry holds all AC codes that are complete within the next [`INDEX_BITS`] bits, with their
//! values; in photographs these are 1.5 to 2 codes. The state of the walk is a single number, which
//! determines the kind of the next code:
//!
//! ```text
//! place      of a turn, which is one MCU or more: 256 for each block, 128 for its DC code and 128
//!            for its AC codes
//! DC half    64 to 127: a DC code comes next, for any value in there
//!            0 to 15: the block before was full to the last place, or beyond it, which is damage
//! AC half    64 + the number of filled places, 1 to 63
//! a DC code  leads from anywhere to the first AC place: (place | 127) + 66
//! AC codes   add their places; the end of the block leads into the DC half of the next: 128
//! ```
//!
//! A block with 48 or more filled places gets one code at a time, one with fewer never more than 16
//! places: so codes that are taken together never reach beyond the block. An index without an entry
//! leads nowhere and takes no bit, so that nothing has to be checked between codes.
use crate::{
    Class, HuffmanTable, Jpeg,
    walk::{Slot, difference},
};

/// Bits that index a table. With more, the tables of three components exceed the first-level cache.
const INDEX_BITS: u32 = 11;
const SIZE: usize = 1 << INDEX_BITS;
/// Number of steps for which the bits of a [`Word`] suffice.
pub(crate) const PER_WORD: usize = 4;
/// Most bits per step. An AC code implies the length of its value: only the code itself must be in
/// the index.
const MOST_BITS: u32 = 14;
/// Most places that codes fill in one step: as many as one code may fill.
const MOST_PLACES: u32 = 16;
/// Places of a block in a turn, and of the half for its DC code.
const BLOCK: u32 = 256;
const HALF: u32 = 128;
/// Within a half: the start of a block, and the base of the places of its values.
const START: u32 = 64;
/// Number of places per plan.
const GRANULE: u32 = 16;
/// A turn has at most 10 blocks, and is checked after at most [`PER_WORD`] halves.
const N_PLANS: usize = 256;

const _: () = assert!(MOST_BITS as usize * PER_WORD <= 57);
const _: () = assert!((20 + PER_WORD) * (HALF / GRANULE) as usize + 8 <= N_PLANS);

/// A step over the codes in the next bits.
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 5 | bits of all codes and their values; 0 without an entry |
/// | 8 to 15 | advance of the place |
/// | 16 to 31 | the DC difference |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stride(u32);

impl Stride {
    pub(crate) const NONE: Self = Self(0);

    fn new(n_bits: u32, advance: u32, difference: i32) -> Self {
        Self(n_bits | advance << 8 | (difference as u32) << 16)
    }

    #[inline(always)]
    fn n_bits(self) -> u32 {
        self.0 & 63
    }

    #[inline(always)]
    fn advance(self) -> u32 {
        self.0 >> 8 & 255
    }

    #[inline(always)]
    fn difference(self) -> i32 {
        self.0 as i32 >> 16
    }

    fn ends_block(self) -> bool {
        self.advance() >= HALF
    }
}

type Table = [Stride; SIZE];

/// Size of all tables together, by which an index is masked. Three components with separate tables
/// would be too many, which no encoder makes.
const N_ENTRIES: usize = 8 * SIZE;

/// Table and component of the next code at some places.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(4))]
struct Plan {
    /// The first entry of its table; the first table is empty.
    table: u16,
    mask: u8,
    component: u8,
}

/// 57 bits of a scan, above a 1 bit with a position that counts the used ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word(u64);

impl Word {
    pub(crate) const NONE: Self = Self(0);

    /// Takes the upper 57 of 64 bits; the lower 7 are ignored.
    #[inline(always)]
    pub(crate) fn new(bits: u64) -> Self {
        Self((bits | 127) - 63)
    }

    #[inline(always)]
    pub(crate) fn n_used(self) -> u64 {
        u64::from(self.0.trailing_zeros()) - 6
    }
}

/// The tables of an image, and the one to use at each place.
#[derive(Debug)]
pub(crate) struct Strides {
    entries: Box<[Stride; N_ENTRIES]>,
    plans: [Plan; N_PLANS],
    /// Place after the last block of a turn.
    turn: u32,
}

/// Position of a walk within its turn, and the number of earlier turns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    at: u32,
    n_turns: u32,
}

/// Sums of the differences of each component; the last one is unused.
pub(crate) type Sums = [i32; 4];

impl Place {
    /// Creates the place at the start of an MCU.
    pub(crate) fn new() -> Self {
        Self { at: START, n_turns: 0 }
    }

    /// Returns true if it is the start of a block.
    #[inline(always)]
    pub(crate) fn is_start(&self) -> bool {
        self.at & HALF == 0 && (self.at & (HALF - 1) >= START || self.at.is_multiple_of(HALF))
    }

    /// Returns true if a DC code comes next.
    #[inline(always)]
    fn is_dc(&self) -> bool {
        self.at & HALF == 0
    }

    /// Returns true if the previous block has more values than places.
    fn is_too_far(&self) -> bool {
        (1..START).contains(&(self.at % HALF))
    }
}

impl Strides {
    /// `None` when a table is missing, which the parser does not allow.
    pub(crate) fn new(jpeg: &Jpeg) -> Option<Self> {
        let n_slots = jpeg.slots.len();
        // A turn is at least as long as the steps of a word.
        let per_turn = n_slots * 4usize.div_ceil(n_slots.max(1));
        let mut tables = vec![[Stride::NONE; SIZE]];
        let mut known: Vec<(Class, u8, u16)> = Vec::new();
        let mut table_of = |class: Class, number: u8, table: &HuffmanTable| {
            let found = known.iter().find(|it| (it.0, it.1) == (class, number)).map(|it| it.2);
            found.unwrap_or_else(|| {
                let first = (tables.len() * SIZE) as u16;
                known.push((class, number, first));
                let single = single(table, class);
                if class == Class::Ac {
                    tables.push(several(&single, &single));
                }
                tables.push(single);
                first
            })
        };
        let mut of_slots = Vec::with_capacity(n_slots);
        for slot in &jpeg.slots {
            let component = jpeg.components.get(usize::from(slot.component))?;
            let dc = jpeg.dc_tables.get(usize::from(component.dc_table))?.as_ref()?;
            let ac = jpeg.ac_tables.get(usize::from(component.ac_table))?.as_ref()?;
            let dc = table_of(Class::Dc, component.dc_table, dc);
            let ac = table_of(Class::Ac, component.ac_table, ac);
            of_slots.push((slot.component, dc, ac));
        }
        let mut entries = tables.into_flattened();
        if entries.len() > N_ENTRIES {
            return None;
        }
        entries.resize(N_ENTRIES, Stride::NONE);
        let mut made = Self {
            entries: entries.into_boxed_slice().try_into().ok()?,
            plans: [Plan::default(); N_PLANS],
            turn: per_turn as u32 * BLOCK,
        };
        let in_turn = of_slots.iter().cycle();
        for (plans, &(component, dc, ac)) in
            made.plans.as_chunks_mut::<16>().0.iter_mut().zip(in_turn)
        {
            let [_, _, _, _, dc_half @ .., _, _, _, _, first, second, third, last] = plans;
            dc_half.fill(Plan { table: dc, mask: (HALF - 1) as u8, component });
            [*first, *second, *third] = [Plan { table: ac, mask: 0, component }; 3];
            *last = Plan { table: ac + SIZE as u16, mask: 0, component };
        }
        Some(made)
    }

    /// Takes the next codes, at most up to the start of a block.
    #[inline(always)]
    pub(crate) fn step(&self, place: &mut Place, word: &mut Word, sums: &mut Sums) -> Stride {
        let plan = self.plans[(place.at / GRANULE) as usize % N_PLANS];
        let index = usize::from(plan.table) + (word.0 >> (64 - INDEX_BITS)) as usize;
        let stride = self.entries[index % N_ENTRIES];
        word.0 <<= stride.n_bits();
        place.at = (place.at | u32::from(plan.mask)) + stride.advance();
        let sum = &mut sums[usize::from(plan.component & 3)];
        *sum = sum.wrapping_add(stride.difference());
        stride
    }

    /// Takes one code by the plain tables, given 64 bits; returns its length. `None` for an invalid
    /// code, and if the previous block has too many values: then the next one starts.
    pub(crate) fn take_code(
        &self,
        place: &mut Place,
        sums: &mut Sums,
        slots: &[Slot<'_>],
        bits: u64,
    ) -> Option<u32> {
        let taken = self.code(place, sums, slots, bits);
        if taken.is_none() {
            place.at = (place.at | (BLOCK - 1)) + 1 + START;
        }
        self.wrap(place);
        taken
    }

    fn code(
        &self,
        place: &mut Place,
        sums: &mut Sums,
        slots: &[Slot<'_>],
        bits: u64,
    ) -> Option<u32> {
        if place.is_too_far() {
            return None;
        }
        let slot = slots.get((place.at / BLOCK) as usize % slots.len().max(1))?;
        let code = if place.is_dc() { slot.dc.find(bits) } else { slot.ac.find(bits) };
        if !code.is_valid() {
            return None;
        }
        if place.is_dc() {
            let sum = sums.get_mut(slot.component)?;
            *sum = sum.wrapping_add(difference(code, bits).into());
            place.at = (place.at | (HALF - 1)) + START + 2;
        } else {
            place.at += if code.ends_block() { HALF } else { code.advance() };
        }
        Some(code.total_bits())
    }

    /// Returns the number of blocks before a place, from the walk's start.
    pub(crate) fn block(&self, place: &Place) -> u32 {
        place.n_turns.wrapping_mul(self.turn / BLOCK).wrapping_add(place.at / BLOCK)
    }

    /// Without a branch, which would be unpredictable.
    #[inline(always)]
    pub(crate) fn wrap(&self, place: &mut Place) {
        let is_over = u32::from(place.at >= self.turn);
        place.at -= self.turn & is_over.wrapping_neg();
        place.n_turns = place.n_turns.wrapping_add(is_over);
    }
}

/// Returns the entries of codes within the index; DC codes with their values.
fn single(table: &HuffmanTable, class: Class) -> Table {
    let mut entries = [Stride::NONE; SIZE];
    for (code, code_bits, symbol) in table.codes() {
        let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
        let (n_bits, most, known) = match class {
            Class::Dc => (code_bits + size, INDEX_BITS, size),
            Class::Ac => (code_bits + size, MOST_BITS, 0),
        };
        if n_bits > most || code_bits > INDEX_BITS || code >> code_bits != 0 {
            continue;
        }
        // Codes without a meaning here are invalid.
        let advance = match (class, run, size) {
            (Class::Dc, 0, _) => START + 2,
            (Class::Ac, 0, 0) => HALF,
            (Class::Dc, ..) | (Class::Ac, 1..=14, 0) => continue,
            (Class::Ac, ..) => run + 1,
        };
        let left = INDEX_BITS - code_bits - known;
        for value in 0..1u32 << known {
            let start = ((code << known | value) << left) as usize;
            let difference = if known > 0 { extended(value, size) } else { 0 };
            let places = entries.get_mut(start..start + (1 << left)).unwrap_or_default();
            places.fill(Stride::new(n_bits, advance, difference));
        }
    }
    entries
}

/// EXTEND of T.81, F.2.2.1.
fn extended(value: u32, size: u32) -> i32 {
    let below_half = value < (1 << size) >> 1;
    value as i32 - if below_half { (1 << size) - 1 } else { 0 }
}

/// Adds one more code to each entry, if its bits are in the index and it belongs to the same block.
fn several(some: &Table, single: &Table) -> Table {
    let mut entries = *some;
    for (index, entry) in entries.iter_mut().enumerate() {
        let n_bits = entry.n_bits();
        if n_bits >= INDEX_BITS || *entry == Stride::NONE || entry.ends_block() {
            continue;
        }
        let next = single[(index << n_bits) % SIZE];
        let n_places = entry.advance() + next.advance() % HALF;
        let fits = n_bits + next.n_bits() <= INDEX_BITS && n_places <= MOST_PLACES;
        if fits && next != Stride::NONE {
            *entry = Stride::new(n_bits + next.n_bits(), entry.advance() + next.advance(), 0);
        }
    }
    entries
}
