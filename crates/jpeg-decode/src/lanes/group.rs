//! Sixteen lanes, and their steps.
#![allow(unsafe_code, reason = "gathers, see Bounds of the module `kernel`")]
use super::{
    constants::{Constants, first_bits},
    kernel::{N_LANES, N_STEPS, Round},
    queue::Queue,
    tables::{IDLE, INDEX_BITS, PLACES, REST_BITS, SLOW, VALUE_BITS},
};
use crate::simd::{load512, store512};
use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_and_si512, _mm512_cmpeq_epi32_mask, _mm512_cmpge_epi32_mask,
    _mm512_cmpgt_epi32_mask, _mm512_cmplt_epi32_mask, _mm512_i32gather_epi32,
    _mm512_mask_expand_epi32, _mm512_mask_expandloadu_epi32, _mm512_mask_i32gather_epi32,
    _mm512_mask_mov_epi32, _mm512_mask_permutexvar_epi32, _mm512_mask_test_epi32_mask,
    _mm512_mask_testn_epi32_mask, _mm512_min_epi32, _mm512_permutexvar_epi32, _mm512_rolv_epi64,
    _mm512_rorv_epi64, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_slli_epi32,
    _mm512_srli_epi32, _mm512_srli_epi64, _mm512_sub_epi32, _mm512_test_epi32_mask, _pdep_u32,
};

/// Sixteen lanes.
pub(super) struct Group {
    /// The bits of even lanes, and of odd ones.
    words: [__m512i; 2],
    /// The first 32 bits of all lanes.
    bits: __m512i,
    /// Position in the scan when they were loaded.
    position: __m512i,
    /// The sum of the entries since; its lowest 6 bits are the number of bits taken.
    taken: __m512i,
    entry: __m512i,
    place: __m512i,
    block_end: __m512i,
    run_end: __m512i,
    slot: __m512i,
    run: __m512i,
    table: __m512i,
    /// Lanes without a run whose last position is written to the queue.
    noted: u16,
}

const NUMBERS: [u32; N_LANES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

impl Group {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
    pub(super) fn idle(constants: &Constants<'_>) -> Self {
        let zero = _mm512_setzero_si512();
        let slot = _mm512_set1_epi32(IDLE as i32);
        Self {
            words: [zero; 2],
            bits: zero,
            position: zero,
            taken: zero,
            entry: zero,
            place: constants.nowhere,
            block_end: _mm512_set1_epi32(i32::MAX),
            run_end: zero,
            slot,
            run: zero,
            table: _mm512_permutexvar_epi32(slot, constants.dc),
            noted: !0,
        }
    }

    /// Starts a round; returns the lanes that have a run.
    ///
    /// # Safety
    /// Here and below: for functions that have the instructions of this file's `lanes!`. They must be
    /// inlined there, so that a group stays in registers, and this cannot be forced where
    /// instructions are named.
    #[inline(always)]
    pub(super) unsafe fn begin(
        &mut self,
        constants: &Constants<'_>,
        queue: &mut Queue,
        next: &mut usize,
    ) -> u16 {
        // SAFETY: the processor has the instructions.
        unsafe {
            let taken = _mm512_and_si512(self.taken, _mm512_set1_epi32(63));
            self.position = _mm512_add_epi32(self.position, taken);
            self.taken = _mm512_setzero_si512();
            let mut busy = _mm512_cmplt_epi32_mask(self.slot, _mm512_set1_epi32(IDLE as i32));
            if busy != !0 {
                busy |= self.refill(constants, !busy, queue, next);
            }
            self.words = constants.load(&mut self.position);
            self.look_up(constants);
            busy
        }
    }

    /// Gives runs to idle lanes, and returns which got one.
    #[inline(always)]
    unsafe fn refill(
        &mut self,
        constants: &Constants<'_>,
        idle: u16,
        queue: &mut Queue,
        next: &mut usize,
    ) -> u16 {
        // SAFETY: as above; there are as many lanes as runs in the slices that are loaded.
        unsafe {
            let ended = idle & !self.noted;
            if ended != 0 {
                note(queue, ended, self.run, self.position);
                self.noted |= idle;
            }
            let n = (idle.count_ones() as usize).min(queue.runs.len() - *next);
            if n == 0 {
                return 0;
            }
            let lanes = _pdep_u32((1 << n) - 1, idle.into()) as u16;
            macro_rules! take {
                ($lanes:ident, $from:ident) => {{
                    let from = queue.$from[*next..*next + n].as_ptr();
                    _mm512_mask_expandloadu_epi32(self.$lanes, lanes, from.cast())
                }};
            }
            self.position = take!(position, positions);
            self.place = take!(place, starts);
            self.run_end = take!(run_end, ends);
            self.slot = take!(slot, slots);
            let numbers = _mm512_add_epi32(load512(&NUMBERS), _mm512_set1_epi32(*next as i32));
            self.run = _mm512_mask_expand_epi32(self.run, lanes, numbers);
            let block_end = _mm512_add_epi32(self.place, _mm512_set1_epi32(64));
            self.block_end = _mm512_mask_mov_epi32(self.block_end, lanes, block_end);
            self.table = _mm512_mask_permutexvar_epi32(self.table, lanes, self.slot, constants.dc);
            self.noted &= !lanes;
            *next += n;
            lanes
        }
    }

    /// Looks up the next codes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
    fn look_up(&mut self, constants: &Constants<'_>) {
        self.bits = first_bits(self.words);
        let index = _mm512_srli_epi32::<{ 32 - INDEX_BITS }>(self.bits);
        let index = _mm512_add_epi32(index, self.table);
        let entries = constants.entries.as_ptr();
        // SAFETY: a table of a slot has as many entries as its bits can index.
        self.entry = unsafe { _mm512_i32gather_epi32::<4>(index, entries.cast()) };
    }

    /// Takes a code of each lane, and looks up the next unless it is the last of the round. Returns
    /// the lanes with values after the end of their block, or without a code.
    #[inline(always)]
    pub(super) unsafe fn step(
        &mut self,
        constants: &Constants<'_>,
        round: &mut Round,
        number: usize,
    ) -> u16 {
        // SAFETY: the processor has the instructions.
        unsafe {
            let slow = _mm512_test_epi32_mask(self.entry, _mm512_set1_epi32(SLOW as i32));
            let mut failed = 0;
            if slow != 0 {
                let found = take_slowly(constants, slow, self.entry, self.position, self.taken);
                (self.words, self.bits) = (found.words, found.bits);
                (self.position, self.entry) = (found.position, found.entry);
                failed = found.failed;
                // Nothing of what is loaded then, after this code.
                self.taken = _mm512_sub_epi32(_mm512_setzero_si512(), self.entry);
            }
            let (bits, entry) = (self.bits, self.entry);
            let is_last = _mm512_cmpeq_epi32_mask(self.block_end, self.run_end);
            let next_slot = _mm512_permutexvar_epi32(self.slot, constants.next);
            let next_slot = _mm512_mask_mov_epi32(next_slot, is_last, constants.idle);
            let next_dc = _mm512_permutexvar_epi32(next_slot, constants.dc);
            let ac = _mm512_permutexvar_epi32(self.slot, constants.ac);
            // The next codes wait for these lines. What is rotated in from above is never looked at.
            self.words = [
                _mm512_rolv_epi64(self.words[0], entry),
                _mm512_rolv_epi64(self.words[1], _mm512_srli_epi64::<32>(entry)),
            ];
            let to = _mm512_add_epi32(self.place, _mm512_srli_epi32::<PLACES>(entry));
            let ends = _mm512_cmpge_epi32_mask(to, self.block_end);
            self.table = _mm512_mask_mov_epi32(ac, ends, next_dc);
            if number + 1 < N_STEPS {
                self.look_up(constants);
            }
            // The end of a block, and zeros too many, have no value.
            let beyond = _mm512_cmpgt_epi32_mask(to, self.block_end);
            let value_bits = _mm512_set1_epi32(15 << VALUE_BITS);
            failed |= _mm512_mask_test_epi32_mask(beyond, entry, value_bits);
            let to = _mm512_min_epi32(to, self.block_end);
            let next_place = _mm512_mask_mov_epi32(self.block_end, is_last, constants.nowhere);
            self.place = _mm512_mask_mov_epi32(to, ends, next_place);
            let block_end = _mm512_add_epi32(self.block_end, _mm512_set1_epi32(64));
            self.block_end = _mm512_mask_mov_epi32(self.block_end, ends, block_end);
            self.slot = _mm512_mask_mov_epi32(self.slot, ends, next_slot);
            self.taken = _mm512_add_epi32(self.taken, entry);
            store512(&mut round.places[number], to);
            store512(&mut round.values[number], constants.values(bits, entry));
            failed
        }
    }
}

struct Slow {
    words: [__m512i; 2],
    bits: __m512i,
    position: __m512i,
    entry: __m512i,
    failed: u16,
}

/// Loads bits so that any code and its value are among them, and looks up codes that are longer than
/// the index, in these lanes. The words and positions returned are those for all lanes so that the
/// entry can be taken from them as usual.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
fn take_slowly(
    constants: &Constants<'_>,
    slow: u16,
    mut entry: __m512i,
    position: __m512i,
    taken: __m512i,
) -> Slow {
    let taken = _mm512_and_si512(taken, _mm512_set1_epi32(63));
    let mut position = _mm512_add_epi32(position, taken);
    let bits = first_bits(constants.load(&mut position));
    let is_long = _mm512_mask_testn_epi32_mask(slow, entry, _mm512_set1_epi32(31));
    let mut failed = 0;
    if is_long != 0 {
        let part = _mm512_slli_epi32::<REST_BITS>(_mm512_srli_epi32::<PLACES>(entry));
        let rest = _mm512_and_si512(
            _mm512_srli_epi32::<16>(bits),
            _mm512_set1_epi32((1 << REST_BITS) - 1),
        );
        let index = _mm512_add_epi32(part, rest);
        let long = constants.long.as_ptr();
        // SAFETY: an entry without bits names a part, which has as many entries as the rest of a
        // code can index.
        entry = unsafe { _mm512_mask_i32gather_epi32::<4>(entry, is_long, index, long.cast()) };
        failed = _mm512_mask_test_epi32_mask(is_long, entry, _mm512_set1_epi32(SLOW as i32));
    }
    // Loaded again after these codes, and turned back.
    position = _mm512_add_epi32(position, _mm512_and_si512(entry, _mm512_set1_epi32(31)));
    let [even, odd] = constants.load(&mut position);
    let odd = _mm512_rorv_epi64(odd, _mm512_srli_epi64::<32>(entry));
    Slow { words: [_mm512_rorv_epi64(even, entry), odd], bits, position, entry, failed }
}

/// Writes the positions of lanes at the end of their run to the queue.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
fn note(queue: &mut Queue, lanes: u16, run: __m512i, position: __m512i) {
    let (mut runs, mut positions) = ([0_u32; N_LANES], [0_u32; N_LANES]);
    store512(&mut runs, run);
    store512(&mut positions, position);
    for lane in (0..N_LANES).filter(|lane| lanes >> lane & 1 == 1) {
        if let Some(reached) = queue.reached.get_mut(runs[lane] as usize) {
            *reached = positions[lane];
        }
    }
}
