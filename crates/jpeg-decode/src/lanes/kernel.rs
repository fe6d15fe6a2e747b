//! The steps of lanes, with AVX-512.
//!
//! ```text
//! position   in the scan, when bits were loaded: 64 for each lane, at least 57 of them its own,
//!            in two vectors: one for the even lanes, one for the odd ones
//! a step     entry = entries[table + first bits], one gather for all lanes
//!            the value is cut out of the bits, and the bits are shifted
//!            place += places of the entry, to the end of the block at most; the value goes before it
//!            at the end of the block: the next block's slot, and its table for DC codes, else the
//!            table for AC codes
//! a round    lanes without a run get one, all get bits, then three steps
//! ```
//!
//! Codes that are longer than the index, or with their values than a third of the loaded bits, are
//! taken slowly: some 2 % of the steps of usual images have one.
//!
//! Places and values are stored a round later: scalar loads from a vector that was just stored would
//! wait for it, and a scatter takes longer than both.
//!
//! # Bounds
//!
//! Bits are loaded from positions that are clamped to those with 8 bytes of data. Entries are looked
//! up by a table of a slot and [`INDEX_BITS`] bits, or by a part that the entry names and
//! the rest of the code. A value goes to a place between the start and the end of its lane's block, or
//! to [`NOWHERE`] for a lane without a run: blocks follow each other to the end of the run, exactly.
//! Each code fills at least a place, so that a damaged scan comes to an end.
#![allow(unsafe_code, reason = "gathers, and places without checks, see Bounds")]
use super::{
    NOWHERE,
    constants::Constants,
    group::Group,
    queue::Queue,
    tables::{IDLE, INDEX_BITS, Tables},
};
use crate::{instructions::Avx512, window::Window};
use fdconvert_jpeg::Unstuffed;

pub(super) const N_LANES: usize = 16;
/// Steps from one load of bits to the next.
pub(super) const N_STEPS: usize = 3;

/// Decodes all runs of a queue; returns false if any code was invalid.
///
/// # Panics
/// When a run has no room in the window. That would be a bug of this crate; it is checked because
/// memory safety depends on it.
pub(super) fn decode(
    _: Avx512,
    tables: &Tables,
    data: &Unstuffed,
    queue: &mut Queue,
    n_groups: usize,
    window: &mut Window,
) -> bool {
    let n_values = window.cells.n_values();
    let Queue { runs, positions, starts, ends, slots, reached } = &*queue;
    let lengths = [positions.len(), starts.len(), ends.len(), slots.len(), reached.len()];
    assert!(lengths == [runs.len(); 5]);
    for ((start, end), slot) in starts.iter().zip(ends).zip(slots) {
        let is_sound = start < end && start % 64 == 0 && end % 64 == 0 && *start > NOWHERE * 64;
        assert!(is_sound && *end as usize <= n_values && (*slot as usize) < IDLE);
    }
    let tables_end = tables.dc.iter().chain(&tables.ac).max().map_or(0, |last| *last as usize);
    assert!(tables_end + (1 << INDEX_BITS) <= tables.entries.len());
    let data = data.padded();
    assert!(n_values <= i32::MAX as usize && (8..1 << 29).contains(&data.len()));
    let values = window.cells.as_mut_ptr();
    // SAFETY: the proof of the instructions; the runs have room among the values, by the lines above.
    unsafe {
        match n_groups {
            0 | 1 => one(tables, data, queue, values),
            _ => two(tables, data, queue, values),
        }
    }
}

/// Places after the values of all steps of a round, and the values.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Round {
    pub(super) places: [[u32; N_LANES]; N_STEPS],
    pub(super) values: [[u32; N_LANES]; N_STEPS],
}

const NOTHING: Round =
    Round { places: [[NOWHERE * 64 + 1; N_LANES]; N_STEPS], values: [[0; N_LANES]; N_STEPS] };

/// Writes the values of a round.
///
/// # Safety
/// The places are among the values.
#[inline(always)]
unsafe fn write(values: *mut i16, round: &Round) {
    // The place is that after the value.
    let values = values.wrapping_sub(1);
    for lane in 0..N_LANES {
        for step in 0..N_STEPS {
            // SAFETY: passed on. Volatile, as the compiler would load vectors and take them apart.
            unsafe {
                let place = (&raw const round.places[step][lane]).read_volatile();
                let value = (&raw const round.values[step][lane]).cast::<i16>().read_volatile();
                values.add(place as usize).write(value);
            }
        }
    }
}

macro_rules! lanes {
    ($name:ident: $($group:ident)+) => {
        /// Decodes all runs; returns false if any code was invalid.
        ///
        /// # Safety
        /// The runs are among the values.
        #[inline(never)]
        #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
        unsafe fn $name(tables: &Tables, data: &[u8], queue: &mut Queue, values: *mut i16) -> bool {
            let constants = Constants::new(tables, data);
            $(
                let group = Group::idle(&constants);
                let mut rounds = [NOTHING; 2];
                let [now, before] = &mut rounds;
                let mut $group = (group, now, before);
            )+
            let (mut next, mut failed) = (0, 0);
            macro_rules! step_each {
                ($number:literal) => {
                    // SAFETY: the processor has what this function needs.
                    $(failed |= unsafe { $group.0.step(&constants, $group.1, $number) };)+
                };
            }
            loop {
                let mut busy = 0;
                // SAFETY: as above.
                $(busy |= unsafe { $group.0.begin(&constants, queue, &mut next) };)+
                if busy == 0 {
                    break;
                }
                step_each!(0);
                step_each!(1);
                step_each!(2);
                $(
                    std::mem::swap(&mut $group.1, &mut $group.2);
                    // SAFETY: passed on.
                    unsafe { write(values, $group.1) };
                )+
            }
            // SAFETY: passed on.
            $(unsafe { write(values, $group.2) };)+
            failed == 0
        }
    };
}
lanes!(one: a);
lanes!(two: a b);
