//! The operations of the shared loops with NEON: vectors of 128 bits, with one block. Where x86-64
//! multiplies numbers that lie side by side, here either is multiplied, and the second product is
//! added to the first: the sums have the same 32 bits.
use crate::idct::{
    F_0_298, F_0_390, F_0_541, F_0_765, F_0_899, F_1_175, F_1_501, F_1_847, F_1_961, F_2_053,
    F_2_562, F_3_072,
};
use std::arch::aarch64::{
    int16x4_t, int16x8_t, int32x4_t, uint8x16_t, vaddhn_s32, vaddq_s16, vaddq_s32, vcombine_s8,
    vcombine_s16, vdup_laneq_s16, vdupq_n_s32, vdupq_n_u8, veorq_u8, vget_high_s16, vget_low_s16,
    vgetq_lane_u32, vld1q_s16, vld1q_u8, vmlal_n_s16, vmlal_s16, vmull_high_s16, vmull_n_s16,
    vmull_s16, vpaddq_s32, vqrshrn_n_s16, vqrshrn_n_s32, vqshrn_n_s16, vqshrn_n_s32, vqtbl1q_u8,
    vreinterpretq_s16_s32, vreinterpretq_s16_s64, vreinterpretq_s32_s16, vreinterpretq_s64_s16,
    vreinterpretq_u8_s8, vreinterpretq_u32_u8, vshll_n_s16, vshrn_n_s32, vsubhn_s32, vsubq_s16,
    vsubq_s32, vzip1q_s16, vzip1q_s32, vzip1q_s64, vzip2q_s16, vzip2q_s32, vzip2q_s64,
};

mod pixels;
pub(super) use pixels::{
    add_halves, centred_halves, even_and_odd, halves, load_numbers, narrow_by_16, set16,
    shift_right, twice_high, write_even_and_odd, write_halves,
};

/// All factors of the transform, in any order.
pub(super) const FACTORS: [i32; 12] = [
    F_0_541 + F_0_765,
    F_0_541,
    F_0_541 - F_1_847,
    F_1_175 - F_1_961,
    F_1_175,
    F_1_175 - F_0_390,
    -F_0_899,
    F_1_501 - F_0_899,
    -F_2_562,
    F_3_072 - F_2_562,
    F_2_053 - F_2_562,
    F_0_298 - F_0_899,
];

/// 16-bit numbers.
pub(super) type Numbers = int16x8_t;
/// 32-bit numbers made of half of the 16-bit ones.
pub(super) type Sums = int32x4_t;
/// Two 16-bit numbers for each 32-bit one.
pub(super) type Pairs = [int16x4_t; 2];
/// Results for half of the columns, before [`join`].
pub(super) type Half = int16x4_t;
/// The factors of the transform, in the order of [`FACTORS`]: instructions multiply by any number of
/// a vector.
pub(super) type Factors = [int16x8_t; 2];
/// A number of bits.
pub(super) type Bits = i32;

/// Blocks whose values are in a vector.
pub(super) const N_BLOCKS: usize = 1;
/// Number of pixels per step.
pub(super) const STEP: usize = 16;

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn load_bytes(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: 16 bytes.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn load(numbers: &[i16; 8]) -> Numbers {
    // SAFETY: eight numbers.
    unsafe { vld1q_s16(numbers.as_ptr()) }
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn add16(a: Numbers, b: Numbers) -> Numbers {
    vaddq_s16(a, b)
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn sub16(a: Numbers, b: Numbers) -> Numbers {
    vsubq_s16(a, b)
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn add32(a: Sums, b: Sums) -> Sums {
    vaddq_s32(a, b)
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn sub32(a: Sums, b: Sums) -> Sums {
    vsubq_s32(a, b)
}

/// Pairs the numbers of the first half of the columns.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn low_pairs(a: Numbers, b: Numbers) -> Pairs {
    [vget_low_s16(a), vget_low_s16(b)]
}

/// Pairs the numbers of the second half of the columns.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn high_pairs(a: Numbers, b: Numbers) -> Pairs {
    [vget_high_s16(a), vget_high_s16(b)]
}

/// Returns the first of each pair times a factor plus the second times another.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn madd([first, second]: Pairs, a: i32, b: i32) -> Sums {
    vmlal_n_s16(vmull_n_s16(first, a as i16), second, b as i16)
}

/// As [`madd`], for factors of the transform.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn madd_by<const A: i32, const B: i32>([first, second]: Pairs, by: Factors) -> Sums {
    vmlal_s16(vmull_s16(first, factor::<A>(by)), second, factor::<B>(by))
}

/// Returns a factor for each of four numbers. This is no instruction of its own.
#[inline]
#[target_feature(enable = "neon")]
fn factor<const A: i32>([by_0, by_1]: Factors) -> int16x4_t {
    match const { number_of(A) } {
        0 => vdup_laneq_s16::<0>(by_0),
        1 => vdup_laneq_s16::<1>(by_0),
        2 => vdup_laneq_s16::<2>(by_0),
        3 => vdup_laneq_s16::<3>(by_0),
        4 => vdup_laneq_s16::<4>(by_0),
        5 => vdup_laneq_s16::<5>(by_0),
        6 => vdup_laneq_s16::<6>(by_0),
        7 => vdup_laneq_s16::<7>(by_0),
        8 => vdup_laneq_s16::<0>(by_1),
        9 => vdup_laneq_s16::<1>(by_1),
        10 => vdup_laneq_s16::<2>(by_1),
        _ => vdup_laneq_s16::<3>(by_1),
    }
}

/// Returns the place of a factor.
const fn number_of(factor: i32) -> usize {
    let mut number = 0;
    while FACTORS[number] != factor {
        number += 1;
    }
    number
}

/// Returns each pair's two products with the factors of its place, added.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn dot_pairs(numbers: Numbers, factors: &[i16; 8]) -> Sums {
    let factors = load(factors);
    let low = vmull_s16(vget_low_s16(numbers), vget_low_s16(factors));
    vpaddq_s32(low, vmull_high_s16(numbers, factors))
}

/// Adds adjacent sums, those of the first vector before those of the second.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn add_adjacent(a: Sums, b: Sums) -> Sums {
    vpaddq_s32(a, b)
}

/// Returns the numbers of the first half of the columns times 2 to the power of 16, divided by 2 to
/// the power of `DOWN`.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn low_scaled<const DOWN: Bits>(numbers: Numbers) -> Sums {
    scaled::<DOWN>(vget_low_s16(numbers))
}

/// Returns the same of the second half.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn high_scaled<const DOWN: Bits>(numbers: Numbers) -> Sums {
    scaled::<DOWN>(vget_high_s16(numbers))
}

#[inline]
#[target_feature(enable = "neon")]
fn scaled<const DOWN: Bits>(numbers: int16x4_t) -> Sums {
    const { assert!(matches!(DOWN, 1..=3)) };
    match DOWN {
        1 => vshll_n_s16::<15>(numbers),
        2 => vshll_n_s16::<14>(numbers),
        _ => vshll_n_s16::<13>(numbers),
    }
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn add_to_each(sums: Sums, number: i32) -> Sums {
    vaddq_s32(sums, vdupq_n_s32(number))
}

/// Returns the same sums: [`add_narrowed`] and [`sub_narrowed`] round, or [`samples`] does.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn with_half<const SHIFT: Bits>(sums: Sums) -> Sums {
    sums
}

/// Divides by 2 to the power of `SHIFT`, and saturates; of more than 16 bits, those over 16 are
/// left to [`samples`].
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn narrow<const SHIFT: Bits>([low, high]: [Sums; 2]) -> Numbers {
    const { assert!(matches!(SHIFT, 12..=13 | 16..)) };
    match SHIFT {
        12 => vcombine_s16(vqshrn_n_s32::<12>(low), vqshrn_n_s32::<12>(high)),
        13 => vcombine_s16(vqshrn_n_s32::<13>(low), vqshrn_n_s32::<13>(high)),
        _ => vcombine_s16(vshrn_n_s32::<16>(low), vshrn_n_s32::<16>(high)),
    }
}

/// Adds and narrows, and rounds if that is not left to [`samples`]. Rounding before 32 bits wrap
/// round differs from rounding after that, but the sums of the transform are too small: its factors
/// for eight 16-bit numbers add up to less than 65536.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn add_narrowed<const SHIFT: Bits>(a: Sums, b: Sums) -> Half {
    const { assert!(SHIFT == 11 || SHIFT == 18) };
    match SHIFT {
        11 => vqrshrn_n_s32::<11>(vaddq_s32(a, b)),
        _ => vaddhn_s32(a, b),
    }
}

/// Subtracts and narrows likewise.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn sub_narrowed<const SHIFT: Bits>(a: Sums, b: Sums) -> Half {
    const { assert!(SHIFT == 11 || SHIFT == 18) };
    match SHIFT {
        11 => vqrshrn_n_s32::<11>(vsubq_s32(a, b)),
        _ => vsubhn_s32(a, b),
    }
}

/// Joins the results for both halves of the columns. Mostly this is no instruction of its own.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn join<const SHIFT: Bits>(low: Half, high: Half) -> Numbers {
    vcombine_s16(low, high)
}

/// Converts numbers that were narrowed by `SHIFT` to samples; those of the transform are rounded.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn samples<const SHIFT: Bits>(a: Numbers, b: Numbers) -> uint8x16_t {
    const { assert!(matches!(SHIFT, 18..=20)) };
    let samples = match SHIFT {
        18 => vcombine_s8(vqrshrn_n_s16::<2>(a), vqrshrn_n_s16::<2>(b)),
        19 => vcombine_s8(vqshrn_n_s16::<3>(a), vqshrn_n_s16::<3>(b)),
        _ => vcombine_s8(vqshrn_n_s16::<4>(a), vqshrn_n_s16::<4>(b)),
    };
    // The same as adding 128.
    veorq_u8(vreinterpretq_u8_s8(samples), vdupq_n_u8(128))
}

/// Interleaves 16-bit numbers of the first halves, and of the second ones.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn zip16(a: Numbers, b: Numbers) -> [Numbers; 2] {
    [vzip1q_s16(a, b), vzip2q_s16(a, b)]
}

/// Interleaves pairs of numbers likewise.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn zip32(a: Numbers, b: Numbers) -> [Numbers; 2] {
    let (a, b) = (vreinterpretq_s32_s16(a), vreinterpretq_s32_s16(b));
    [vreinterpretq_s16_s32(vzip1q_s32(a, b)), vreinterpretq_s16_s32(vzip2q_s32(a, b))]
}

/// Interleaves groups of four numbers likewise.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn zip64(a: Numbers, b: Numbers) -> [Numbers; 2] {
    let (a, b) = (vreinterpretq_s64_s16(a), vreinterpretq_s64_s16(b));
    [vreinterpretq_s16_s64(vzip1q_s64(a, b)), vreinterpretq_s16_s64(vzip2q_s64(a, b))]
}

/// Transposes bytes, from four columns of four samples to rows.
const TURN: [u8; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];

/// Returns the rows of four columns of four samples, as the bytes of numbers.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn rows_of_four(columns: uint8x16_t) -> [u64; 4] {
    let rows = vreinterpretq_u32_u8(vqtbl1q_u8(columns, load_bytes(&TURN)));
    [
        vgetq_lane_u32::<0>(rows),
        vgetq_lane_u32::<1>(rows),
        vgetq_lane_u32::<2>(rows),
        vgetq_lane_u32::<3>(rows),
    ]
    .map(u64::from)
}

/// Returns two rows in the same layout, which are side by side.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn rows_of_two(rows: uint8x16_t) -> [u64; 4] {
    let rows = u64::from(vgetq_lane_u32::<0>(vreinterpretq_u32_u8(rows)));
    [rows & 0xFFFF, rows >> 16, 0, 0]
}
