//! NEON: blocks of 32 bytes, and four windows of 16 bytes for four values each.
//!
//! Weights are 16-bit numbers without a sign, as if their precision was always 16: so a constant
//! shift, which rounds and narrows, makes means of sums.
#![allow(unsafe_code, reason = "loads and stores of vectors, and instructions that need a proof")]

use super::{
    Job,
    columns::{GROUP, Step, Windows},
    vectors::Vectors,
};
use std::arch::aarch64::{
    uint8x16_t, uint16x8_t, uint32x4_t, vcombine_u8, vcombine_u16, vdupq_n_u16, vdupq_n_u32,
    vget_low_u8, vget_low_u16, vld1q_u8, vld1q_u16, vmlal_high_u16, vmlal_u16, vmovl_high_u8,
    vmovl_u8, vqmovn_u16, vqrshrn_n_u32, vqtbl1q_u8, vreinterpretq_u16_u8, vst1q_u8,
};

const BLOCK: usize = 32;
const WINDOW: usize = 16;
const PRECISION: u32 = 16;

/// Proof of NEON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neon(());

impl Neon {
    pub(super) fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }
}

impl Vectors<BLOCK, WINDOW> for Neon {
    type Sums = [[uint32x4_t; 4]; 2];
    type Weights = [uint16x8_t; 2];

    fn run(self, job: Job<'_>) -> Option<()> {
        #[target_feature(enable = "neon")]
        fn with_neon(here: Neon, job: Job<'_>) -> Option<()> {
            job.run(here)
        }
        // SAFETY: `self` proves that the processor has NEON.
        unsafe { with_neon(self, job) }
    }

    #[inline(always)]
    fn weights(self, weights: [i16; 2], precision: u32) -> [uint16x8_t; 2] {
        let [first, second] = weights.map(|weight| Self::weight(weight, precision) as u16);
        // SAFETY: `self` proves that the processor has NEON.
        unsafe { [vdupq_n_u16(first), vdupq_n_u16(second)] }
    }

    #[inline(always)]
    fn none(self, _: u32) -> [[uint32x4_t; 4]; 2] {
        // SAFETY: `self` proves that the processor has NEON.
        [[unsafe { vdupq_n_u32(0) }; 4]; 2]
    }

    #[inline(always)]
    fn add_two(
        self,
        sums: [[uint32x4_t; 4]; 2],
        first: &[u8; BLOCK],
        second: &[u8; BLOCK],
        weights: [uint16x8_t; 2],
    ) -> [[uint32x4_t; 4]; 2] {
        // SAFETY: `self` proves that the processor has NEON.
        unsafe { add(add(sums, first, weights[0]), second, weights[1]) }
    }

    #[inline(always)]
    fn add_one(
        self,
        sums: [[uint32x4_t; 4]; 2],
        row: &[u8; BLOCK],
        weights: [uint16x8_t; 2],
    ) -> [[uint32x4_t; 4]; 2] {
        // SAFETY: `self` proves that the processor has NEON.
        unsafe { add(sums, row, weights[0]) }
    }

    #[inline(always)]
    fn means(self, [low, high]: [[uint32x4_t; 4]; 2], _: u32) -> [u8; BLOCK] {
        let mut out = [0; BLOCK];
        // SAFETY: `self` proves that the processor has NEON, and the array has 32 bytes.
        unsafe {
            vst1q_u8(out.as_mut_ptr(), means(low));
            vst1q_u8(out.as_mut_ptr().add(16), means(high));
        }
        out
    }

    /// The first inputs of the four values of a window, then their second ones.
    fn slot(value: usize, input: usize) -> usize {
        value / 4 * 8 + input * 4 + value % 4
    }

    /// Only a whole weight, 1 at precision 14, does not fit and becomes 65535. The others of its
    /// pixel add up to less than a thousandth, and of 65535 times a byte the rounding makes that
    /// byte.
    fn weight(weight: i16, precision: u32) -> i16 {
        let weight = (weight as u32) << PRECISION.saturating_sub(precision);
        weight.min(u32::from(u16::MAX)) as u16 as i16
    }

    #[inline(always)]
    fn across<const STEPS: usize, const STRIDE: usize>(
        self,
        windows: &Windows<'_, STRIDE>,
        steps: &[Step; STEPS],
        _: u32,
    ) -> [u8; GROUP] {
        let mut out = [0; GROUP];
        // SAFETY: `self` proves that the processor has NEON. An order has four vectors of bytes, the
        // weights have as many, a window is one, and so is the array.
        unsafe {
            let mut sums = [vdupq_n_u32(0); 4];
            for (number, step) in steps.iter().enumerate() {
                let weights: *const u16 = step.weights.as_ptr().cast();
                for (place, sum) in sums.iter_mut().enumerate() {
                    let window: &[u8; WINDOW] = windows.get(place, number);
                    let order = vld1q_u8(step.order.as_ptr().add(place * 16));
                    let inputs = vqtbl1q_u8(vld1q_u8(window.as_ptr()), order);
                    let weights = vld1q_u16(weights.add(place * 8));
                    let inputs = vreinterpretq_u16_u8(inputs);
                    *sum = vmlal_u16(*sum, vget_low_u16(inputs), vget_low_u16(weights));
                    *sum = vmlal_high_u16(*sum, inputs, weights);
                }
            }
            vst1q_u8(out.as_mut_ptr(), means(sums));
        }
        out
    }
}

/// Adds a row to its sums.
#[inline]
#[target_feature(enable = "neon")]
fn add(
    [low, high]: [[uint32x4_t; 4]; 2],
    row: &[u8; BLOCK],
    weights: uint16x8_t,
) -> [[uint32x4_t; 4]; 2] {
    // SAFETY: 32 bytes, by the type.
    let rows = unsafe { [vld1q_u8(row.as_ptr()), vld1q_u8(row.as_ptr().add(16))] };
    [add_half(low, rows[0], weights), add_half(high, rows[1], weights)]
}

#[inline]
#[target_feature(enable = "neon")]
fn add_half(
    [a, b, c, d]: [uint32x4_t; 4],
    row: uint8x16_t,
    weights: uint16x8_t,
) -> [uint32x4_t; 4] {
    let (low, high) = (vmovl_u8(vget_low_u8(row)), vmovl_high_u8(row));
    [
        vmlal_u16(a, vget_low_u16(low), vget_low_u16(weights)),
        vmlal_high_u16(b, low, weights),
        vmlal_u16(c, vget_low_u16(high), vget_low_u16(weights)),
        vmlal_high_u16(d, high, weights),
    ]
}

#[inline]
#[target_feature(enable = "neon")]
fn means([a, b, c, d]: [uint32x4_t; 4]) -> uint8x16_t {
    const SHIFT: i32 = PRECISION as i32;
    let low = vcombine_u16(vqrshrn_n_u32::<SHIFT>(a), vqrshrn_n_u32::<SHIFT>(b));
    let high = vcombine_u16(vqrshrn_n_u32::<SHIFT>(c), vqrshrn_n_u32::<SHIFT>(d));
    vcombine_u8(vqmovn_u16(low), vqmovn_u16(high))
}
