//! The operations that only pixels need.
use super::{Numbers, STEP, Sums, load_bytes};
use std::arch::aarch64::{
    uint8x16x3_t, vandq_u16, vcombine_s16, vcombine_u8, vdupq_n_s16, vdupq_n_u8, vdupq_n_u16,
    vget_low_u8, vld1q_s16, vmovl_high_u8, vmovl_u8, vqdmulhq_n_s16, vqmovun_s16,
    vreinterpretq_s16_u16, vreinterpretq_u16_u8, vrshrn_n_s32, vrsraq_n_s16, vshlq_s16,
    vshrq_n_u16, vst3q_u8, vsubl_high_u8, vsubl_u8, vzip1q_u8,
};

#[inline]
#[target_feature(enable = "neon")]
pub(in crate::simd) fn load_numbers(numbers: &[u16; STEP / 2]) -> Numbers {
    // SAFETY: eight numbers, of 16 bits with or without a sign.
    unsafe { vld1q_s16(numbers.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "neon")]
pub(in crate::simd) fn set16(number: i16) -> Numbers {
    vdupq_n_s16(number)
}

/// Divides by 2 to the power of 16, and rounds.
#[inline]
#[target_feature(enable = "neon")]
pub(in crate::simd) fn narrow_by_16([low, high]: [Sums; 2]) -> Numbers {
    vcombine_s16(vrshrn_n_s32::<16>(low), vrshrn_n_s32::<16>(high))
}

/// Splits samples into two halves, as 16-bit numbers: the first and the last ones.
#[inline]
#[target_feature(enable = "neon")]
pub(in crate::simd) fn halves(samples: &[u8; STEP]) -> [Numbers; 2] {
    let samples = load_bytes(samples);
    let halves = [vmovl_u8(vget_low_u8(samples)), vmovl_high_u8(samples)];
    halves.map(|it| vreinterpretq_s16_u16(it))
}

/// Splits samples likewise, less 128.
#[inline]
#[target_feature(enable = "neon")]
pub(in crate::simd) fn centred_halves(samples: &[u8; STEP]) -> [Numbers; 2] {
    let (samples, half) = (load_bytes(samples), vdupq_n_u8(128));
    let low = vsubl_u8(vget_low_u8(samples), vget_low_u8(half));
    [low, vsubl_high_u8(samples, half)].map(|it| vreinterpretq_s16_u16(it))
}

/// Splits samples into even and odd ones, as 16-bit numbers.
#[inline]
#[target_feature(enable = "neon")]
pub(in crate::simd) fn even_and_odd(samples: &[u8; STEP]) -> [Numbers; 2] {
    let samples = vreinterpretq_u16_u8(load_bytes(samples));
    let (even, odd) = (vandq_u16(samples, vdupq_n_u16(255)), vshrq_n_u16::<8>(samples));
    [vreinterpretq_s16_u16(even), vreinterpretq_s16_u16(odd)]
}

#[inline]
#[target_feature(enable = "neon")]
pub(in crate::simd) fn shift_right(numbers: Numbers, n_bits: u32) -> Numbers {
    // A shift to the left by a negative number of bits.
    vshlq_s16(numbers, vdupq_n_s16(-(n_bits as i16)))
}

/// Returns twice the numbers, times a factor, without the lower 16 bits.
#[inline]
#[target_feature(enable = "neon")]
pub(in crate::simd) fn twice_high(numbers: Numbers, factor: i16) -> Numbers {
    vqdmulhq_n_s16(numbers, factor)
}

/// Adds halves of numbers, rounded up.
#[inline]
#[target_feature(enable = "neon")]
pub(in crate::simd) fn add_halves(sums: Numbers, numbers: Numbers) -> Numbers {
    vrsraq_n_s16::<1>(sums, numbers)
}

/// Writes pixels of levels, clamped to bytes: red, green and blue of even pixels and of odd ones.
#[inline]
#[target_feature(enable = "neon")]
pub(in crate::simd) fn write_even_and_odd(
    even: [Numbers; 3],
    odd: [Numbers; 3],
    out: &mut [u8; 3 * STEP],
) {
    let levels = |color: usize| {
        let (even, odd) = (vqmovun_s16(even[color]), vqmovun_s16(odd[color]));
        vzip1q_u8(vcombine_u8(even, even), vcombine_u8(odd, odd))
    };
    // SAFETY: three bytes for each of 16 pixels.
    unsafe { vst3q_u8(out.as_mut_ptr(), uint8x16x3_t(levels(0), levels(1), levels(2))) }
}

/// Writes pixels likewise, of the first half and of the last.
#[inline]
#[target_feature(enable = "neon")]
pub(in crate::simd) fn write_halves(
    first: [Numbers; 3],
    last: [Numbers; 3],
    out: &mut [u8; 3 * STEP],
) {
    let levels = |color: usize| vcombine_u8(vqmovun_s16(first[color]), vqmovun_s16(last[color]));
    // SAFETY: three bytes for each of 16 pixels.
    unsafe { vst3q_u8(out.as_mut_ptr(), uint8x16x3_t(levels(0), levels(1), levels(2))) }
}
