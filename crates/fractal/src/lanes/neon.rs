//! The two loops of the sampler for NEON, four lanes at a time; the arithmetic is that of
//! `scalar`, operation by operation.
//!
//! Tables of eight numbers are looked up byte by byte: one instruction selects sixteen bytes from
//! the 32 of a table, so a slot first becomes the indices of its four bytes.
#![allow(unsafe_code)]

use super::key::{FACTORS, Hash};
use super::points::{Bounds, Mapping, Step};
use super::table::{SLOTS, Table};
use std::arch::aarch64::*;

#[target_feature(enable = "neon")]
pub(super) fn iterate(table: &Table, hash: Hash, steps: &mut [Step]) -> Bounds {
    let bits_of = |slots: &[f32; SLOTS]| slots.map(f32::to_bits);
    let [a, b, c, d, e, f] = table.narrow.each_ref().map(|slots| load_table(&bits_of(slots)));
    let words = load_table(&table.words);
    let folded = vdupq_n_u32(hash.folded());
    let factors = FACTORS.map(|factor| vdupq_n_u32(factor));
    let mut counter = vaddq_u32(load_bits(&[0, 1, 2, 3]), vdupq_n_u32(hash.offset()));
    let zero = vdupq_n_f32(0.0);
    let (mut left, mut right, mut bottom, mut top) = (zero, zero, zero, zero);

    let mut steps = steps.iter_mut();
    let Some(mut before) = steps.next() else { return Bounds::ORIGIN };
    for step in steps {
        for group in 0..16 {
            let mut bits = veorq_u32(counter, vshrq_n_u32::<16>(counter));
            counter = vaddq_u32(counter, vdupq_n_u32(4));
            bits = vmulq_u32(bits, factors[0]);
            bits = veorq_u32(bits, veorq_u32(vshrq_n_u32::<15>(bits), folded));
            bits = vmulq_u32(bits, factors[1]);
            bits = veorq_u32(bits, vshrq_n_u32::<15>(bits));

            let word = vreinterpretq_u32_u8(vqtbl2q_u8(words, slot_bytes(bits)));
            let slot = slot_bytes(vminq_u32(bits, word));
            let at = |slots: uint8x16x2_t| vreinterpretq_f32_u8(vqtbl2q_u8(slots, slot));
            let x = load(&before.x.as_chunks().0[group]);
            let y = load(&before.y.as_chunks().0[group]);
            let next_x = vfmaq_f32(vfmaq_f32(at(e), at(b), y), at(a), x);
            let next_y = vfmaq_f32(vfmaq_f32(at(f), at(d), y), at(c), x);
            // These two ignore NaN, as the scalar ones do.
            left = vminnmq_f32(next_x, left);
            right = vmaxnmq_f32(next_x, right);
            bottom = vminnmq_f32(next_y, bottom);
            top = vmaxnmq_f32(next_y, top);
            store(&mut step.x.as_chunks_mut().0[group], next_x);
            store(&mut step.y.as_chunks_mut().0[group], next_y);
        }
        before = step;
    }
    Bounds {
        left: vminnmvq_f32(left),
        right: vmaxnmvq_f32(right),
        bottom: vminnmvq_f32(bottom),
        top: vmaxnmvq_f32(top),
    }
}

#[target_feature(enable = "neon")]
pub(super) fn plot<T>(
    steps: &[Step],
    mapping: &Mapping,
    canvas: &mut [T],
    value: impl Fn(u32) -> T,
) {
    let Some(last) = canvas.len().checked_sub(1) else { return };
    let last = vdupq_n_u32(u32::try_from(last).unwrap_or(u32::MAX));
    let stride = vdupq_n_u32(mapping.stride);
    let [scale_x, scale_y] = mapping.scale.map(|scale| vdupq_n_f32(scale));
    let [offset_x, offset_y] = mapping.offset.map(|offset| vdupq_n_f32(offset));
    let mut ordinal = 0;
    for step in steps {
        let groups = step.x.as_chunks().0.iter().zip(step.y.as_chunks().0);
        for (x, y) in groups {
            let column = vcvtq_s32_f32(vfmaq_f32(offset_x, load(x), scale_x));
            let row = vcvtq_s32_f32(vfmaq_f32(offset_y, load(y), scale_y));
            let row = vmulq_u32(vreinterpretq_u32_s32(row), stride);
            let place = vminq_u32(vaddq_u32(row, vreinterpretq_u32_s32(column)), last);
            let mut places = [0_u32; 4];
            // SAFETY: `places` has the 16 bytes that are written.
            unsafe { vst1q_u32(places.as_mut_ptr(), place) };
            for place in places {
                ordinal += 1;
                // SAFETY: the minimum above keeps every place within the canvas.
                unsafe { *canvas.get_unchecked_mut(place as usize) = value(ordinal) };
            }
        }
    }
}

/// Returns the slot in the low three bits of every number, as the indices of its four bytes.
#[target_feature(enable = "neon")]
#[inline]
fn slot_bytes(bits: uint32x4_t) -> uint8x16_t {
    let slot = vandq_u32(bits, vdupq_n_u32(SLOTS as u32 - 1));
    let first = vmulq_u32(slot, vdupq_n_u32(0x0404_0404));
    vreinterpretq_u8_u32(vaddq_u32(first, vdupq_n_u32(0x0302_0100)))
}

#[target_feature(enable = "neon")]
#[inline]
fn load_table(slots: &[u32; SLOTS]) -> uint8x16x2_t {
    let halves = slots.as_chunks().0;
    uint8x16x2_t(
        vreinterpretq_u8_u32(load_bits(&halves[0])),
        vreinterpretq_u8_u32(load_bits(&halves[1])),
    )
}

#[target_feature(enable = "neon")]
#[inline]
fn load_bits(lanes: &[u32; 4]) -> uint32x4_t {
    // SAFETY: the reference covers the 16 bytes that are read.
    unsafe { vld1q_u32(lanes.as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
fn load(lanes: &[f32; 4]) -> float32x4_t {
    // SAFETY: the reference covers the 16 bytes that are read.
    unsafe { vld1q_f32(lanes.as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
fn store(lanes: &mut [f32; 4], vector: float32x4_t) {
    // SAFETY: the reference covers the 16 bytes that are written.
    unsafe { vst1q_f32(lanes.as_mut_ptr(), vector) }
}
