//! The two loops of the sampler for AVX2 and for AVX-512. They differ in the number of lanes per
//! vector; the arithmetic is that of `scalar`, operation by operation.
//!
//! The bounds take the new point as first operand: if it is NaN, `min` and `max` return the second,
//! so an earlier infinity stays.
#![allow(unsafe_code)]

use super::key::{FACTORS, Hash};
use super::points::{Bounds, Mapping, Step};
use super::table::{SLOTS, Table};
use std::arch::x86_64::*;

/// `scalar::iterate` for 16 lanes at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn iterate_avx512(table: &Table, hash: Hash, steps: &mut [Step]) -> Bounds {
    // The eight slots twice: the permutation uses four bits of its index, one too many.
    let twice = |slots: &[f32; SLOTS]| _mm512_broadcast_f32x8(load8(slots));
    let [a, b, c, d, e, f] = table.narrow.each_ref().map(twice);
    let words = _mm512_broadcast_i32x8(load8_bits(&table.words));
    let factors = FACTORS.map(|factor| _mm512_set1_epi32(factor as i32));
    let folded = _mm512_set1_epi32(hash.folded() as i32);
    let ascending = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut counter = _mm512_add_epi32(ascending, _mm512_set1_epi32(hash.offset() as i32));
    let zero = _mm512_setzero_ps();
    let (mut left, mut right, mut bottom, mut top) = (zero, zero, zero, zero);

    let mut steps = steps.iter_mut();
    let Some(mut before) = steps.next() else { return Bounds::ORIGIN };
    for step in steps {
        for group in 0..4 {
            let mut bits = _mm512_xor_si512(counter, _mm512_srli_epi32::<16>(counter));
            counter = _mm512_add_epi32(counter, _mm512_set1_epi32(16));
            bits = _mm512_mullo_epi32(bits, factors[0]);
            // 0x96 is the exclusive or of three.
            bits = _mm512_ternarylogic_epi32::<0x96>(bits, _mm512_srli_epi32::<15>(bits), folded);
            bits = _mm512_mullo_epi32(bits, factors[1]);
            bits = _mm512_xor_si512(bits, _mm512_srli_epi32::<15>(bits));

            let slot = _mm512_min_epu32(bits, _mm512_permutexvar_epi32(bits, words));
            let at = |slots: __m512| _mm512_permutexvar_ps(slot, slots);
            let x = load16(&before.x.as_chunks().0[group]);
            let y = load16(&before.y.as_chunks().0[group]);
            let next_x = _mm512_fmadd_ps(at(a), x, _mm512_fmadd_ps(at(b), y, at(e)));
            let next_y = _mm512_fmadd_ps(at(c), x, _mm512_fmadd_ps(at(d), y, at(f)));
            left = _mm512_min_ps(next_x, left);
            right = _mm512_max_ps(next_x, right);
            bottom = _mm512_min_ps(next_y, bottom);
            top = _mm512_max_ps(next_y, top);
            store16(&mut step.x.as_chunks_mut().0[group], next_x);
            store16(&mut step.y.as_chunks_mut().0[group], next_y);
        }
        before = step;
    }
    Bounds {
        left: _mm512_reduce_min_ps(left),
        right: _mm512_reduce_max_ps(right),
        bottom: _mm512_reduce_min_ps(bottom),
        top: _mm512_reduce_max_ps(top),
    }
}

/// `scalar::plot` for 16 lanes at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn plot_avx512<T>(
    steps: &[Step],
    mapping: &Mapping,
    canvas: &mut [T],
    value: impl Fn(u32) -> T,
) {
    let Some(last) = last_place(canvas) else { return };
    let last = _mm512_set1_epi32(last as i32);
    let stride = _mm512_set1_epi32(mapping.stride as i32);
    let [scale_x, scale_y] = mapping.scale.map(|scale| _mm512_set1_ps(scale));
    let [offset_x, offset_y] = mapping.offset.map(|offset| _mm512_set1_ps(offset));
    let mut ordinal = 0;
    for step in steps {
        let groups = step.x.as_chunks().0.iter().zip(step.y.as_chunks().0);
        for (x, y) in groups {
            let column = _mm512_cvttps_epi32(_mm512_fmadd_ps(load16(x), scale_x, offset_x));
            let row = _mm512_cvttps_epi32(_mm512_fmadd_ps(load16(y), scale_y, offset_y));
            let place = _mm512_add_epi32(_mm512_mullo_epi32(row, stride), column);
            let mut places = [0_u32; 16];
            let place = _mm512_min_epu32(place, last);
            // SAFETY: `places` is 64 bytes; the store needs no alignment.
            unsafe { _mm512_storeu_si512(places.as_mut_ptr().cast(), place) };
            for place in places {
                ordinal += 1;
                // SAFETY: the minimum above keeps every place within the canvas.
                unsafe { *canvas.get_unchecked_mut(place as usize) = value(ordinal) };
            }
        }
    }
}

/// `scalar::pack` for 64 pixels at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn pack_avx512(bytes: &[u8], words: &mut [u64]) {
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<64>().0) {
        // SAFETY: `bytes` are 64; the load needs no alignment.
        let bytes = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        *word = _mm512_test_epi8_mask(bytes, bytes);
    }
}

/// `scalar::iterate` for eight lanes at a time. The six parameters stay in memory, as a vector of
/// each is an operand of its permutation: registers are scarce.
#[target_feature(enable = "avx2,fma")]
pub(super) fn iterate_avx2(table: &Table, hash: Hash, steps: &mut [Step]) -> Bounds {
    let [a, b, c, d, e, f] = table.narrow.each_ref().map(|slots| load8(slots));
    let words = load8_bits(&table.words);
    let factors = FACTORS.map(|factor| _mm256_set1_epi32(factor as i32));
    let folded = _mm256_set1_epi32(hash.folded() as i32);
    let ascending = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let mut counter = _mm256_add_epi32(ascending, _mm256_set1_epi32(hash.offset() as i32));
    let zero = _mm256_setzero_ps();
    let (mut left, mut right, mut bottom, mut top) = (zero, zero, zero, zero);

    let mut steps = steps.iter_mut();
    let Some(mut before) = steps.next() else { return Bounds::ORIGIN };
    for step in steps {
        for group in 0..8 {
            let mut bits = _mm256_xor_si256(counter, _mm256_srli_epi32::<16>(counter));
            counter = _mm256_add_epi32(counter, _mm256_set1_epi32(8));
            bits = _mm256_mullo_epi32(bits, factors[0]);
            let shifted = _mm256_xor_si256(_mm256_srli_epi32::<15>(bits), folded);
            bits = _mm256_mullo_epi32(_mm256_xor_si256(bits, shifted), factors[1]);
            bits = _mm256_xor_si256(bits, _mm256_srli_epi32::<15>(bits));

            let slot = _mm256_min_epu32(bits, _mm256_permutevar8x32_epi32(words, bits));
            let at = |slots: __m256| _mm256_permutevar8x32_ps(slots, slot);
            let x = load8(&before.x.as_chunks().0[group]);
            let y = load8(&before.y.as_chunks().0[group]);
            let next_x = _mm256_fmadd_ps(at(a), x, _mm256_fmadd_ps(at(b), y, at(e)));
            let next_y = _mm256_fmadd_ps(at(c), x, _mm256_fmadd_ps(at(d), y, at(f)));
            left = _mm256_min_ps(next_x, left);
            right = _mm256_max_ps(next_x, right);
            bottom = _mm256_min_ps(next_y, bottom);
            top = _mm256_max_ps(next_y, top);
            store8(&mut step.x.as_chunks_mut().0[group], next_x);
            store8(&mut step.y.as_chunks_mut().0[group], next_y);
        }
        before = step;
    }
    let lanes = |vector: __m256| {
        let mut lanes = [0.0; 8];
        store8(&mut lanes, vector);
        lanes
    };
    Bounds {
        left: lanes(left).into_iter().fold(0.0, f32::min),
        right: lanes(right).into_iter().fold(0.0, f32::max),
        bottom: lanes(bottom).into_iter().fold(0.0, f32::min),
        top: lanes(top).into_iter().fold(0.0, f32::max),
    }
}

/// `scalar::plot` for eight lanes at a time.
#[target_feature(enable = "avx2,fma")]
pub(super) fn plot_avx2<T>(
    steps: &[Step],
    mapping: &Mapping,
    canvas: &mut [T],
    value: impl Fn(u32) -> T,
) {
    let Some(last) = last_place(canvas) else { return };
    let last = _mm256_set1_epi32(last as i32);
    let stride = _mm256_set1_epi32(mapping.stride as i32);
    let [scale_x, scale_y] = mapping.scale.map(|scale| _mm256_set1_ps(scale));
    let [offset_x, offset_y] = mapping.offset.map(|offset| _mm256_set1_ps(offset));
    let mut ordinal = 0;
    for step in steps {
        let groups = step.x.as_chunks().0.iter().zip(step.y.as_chunks().0);
        for (x, y) in groups {
            let column = _mm256_cvttps_epi32(_mm256_fmadd_ps(load8(x), scale_x, offset_x));
            let row = _mm256_cvttps_epi32(_mm256_fmadd_ps(load8(y), scale_y, offset_y));
            let place = _mm256_add_epi32(_mm256_mullo_epi32(row, stride), column);
            let mut places = [0_u32; 8];
            let place = _mm256_min_epu32(place, last);
            // SAFETY: `places` is 32 bytes; the store needs no alignment.
            unsafe { _mm256_storeu_si256(places.as_mut_ptr().cast(), place) };
            for place in places {
                ordinal += 1;
                // SAFETY: the minimum above keeps every place within the canvas.
                unsafe { *canvas.get_unchecked_mut(place as usize) = value(ordinal) };
            }
        }
    }
}

/// `scalar::pack` for 32 pixels at a time.
#[target_feature(enable = "avx2,fma")]
pub(super) fn pack_avx2(bytes: &[u8], words: &mut [u64]) {
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<64>().0) {
        let half = |half: &[u8; 32]| {
            // SAFETY: `half` is 32 bytes; the load needs no alignment.
            let bytes = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
            // Moves the lowest bit of every byte to its highest, where the next instruction
            // collects it.
            _mm256_movemask_epi8(_mm256_slli_epi16::<7>(bytes)) as u32
        };
        let [low, high] = [0, 1].map(|at| half(&bytes.as_chunks().0[at]));
        *word = u64::from(high) << 32 | u64::from(low);
    }
}

/// Returns the last place of a canvas, as the comparison needs it; `None` for an empty one.
fn last_place<T>(canvas: &[T]) -> Option<u32> {
    let last = canvas.len().checked_sub(1)?;
    Some(u32::try_from(last).unwrap_or(u32::MAX))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load16(lanes: &[f32; 16]) -> __m512 {
    // SAFETY: the reference covers the 64 bytes that are read; no alignment is needed.
    unsafe { _mm512_loadu_ps(lanes.as_ptr()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store16(lanes: &mut [f32; 16], vector: __m512) {
    // SAFETY: the reference covers the 64 bytes that are written; no alignment is needed.
    unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), vector) }
}

#[target_feature(enable = "avx")]
#[inline]
fn load8(lanes: &[f32; 8]) -> __m256 {
    // SAFETY: the reference covers the 32 bytes that are read; no alignment is needed.
    unsafe { _mm256_loadu_ps(lanes.as_ptr()) }
}

#[target_feature(enable = "avx")]
#[inline]
fn load8_bits(lanes: &[u32; 8]) -> __m256i {
    // SAFETY: the reference covers the 32 bytes that are read; no alignment is needed.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}

#[target_feature(enable = "avx")]
#[inline]
fn store8(lanes: &mut [f32; 8], vector: __m256) {
    // SAFETY: the reference covers the 32 bytes that are written; no alignment is needed.
    unsafe { _mm256_storeu_ps(lanes.as_mut_ptr(), vector) }
}
