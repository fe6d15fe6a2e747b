//! AVX-512: blocks of 64 bytes, and one window of 64 bytes for sixteen values.
#![allow(unsafe_code, reason = "instructions that need a proof, and loads and stores of vectors")]

use super::{
    Job,
    columns::{GROUP, Step, Windows},
    vectors::Vectors,
};
use std::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm_storeu_si128, _mm512_add_epi32, _mm512_cvtusepi32_epi8,
    _mm512_load_si512, _mm512_loadu_si512, _mm512_madd_epi16, _mm512_maskz_permutexvar_epi8,
    _mm512_packs_epi32, _mm512_packus_epi16, _mm512_set1_epi32, _mm512_setzero_si512,
    _mm512_sra_epi32, _mm512_storeu_si512, _mm512_unpackhi_epi8, _mm512_unpacklo_epi8,
};

const BLOCK: usize = 64;
const WINDOW: usize = 64;
/// The first and third of every four bytes, as 16-bit numbers.
const LOW_BYTES: u64 = 0x5555_5555_5555_5555;

/// Proof of AVX-512 F, BW and VBMI.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi");
        all.then_some(Self(()))
    }
}

impl Vectors<BLOCK, WINDOW> for Avx512 {
    /// The first four bytes of each 16 of a block, the second four, and so on.
    type Sums = [__m512i; 4];
    type Weights = __m512i;

    fn run(self, job: Job<'_>) -> Option<()> {
        #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
        fn with_avx512(here: Avx512, job: Job<'_>) -> Option<()> {
            job.run(here)
        }
        // SAFETY: `self` proves that the processor has the instructions.
        unsafe { with_avx512(self, job) }
    }

    #[inline(always)]
    fn weights(self, [first, second]: [i16; 2], _: u32) -> __m512i {
        // SAFETY: `self` proves that the processor has the instructions.
        unsafe { _mm512_set1_epi32(i32::from(first) | i32::from(second) << 16) }
    }

    #[inline(always)]
    fn none(self, precision: u32) -> [__m512i; 4] {
        // SAFETY: `self` proves that the processor has the instructions.
        [unsafe { _mm512_set1_epi32(1 << precision >> 1) }; 4]
    }

    #[inline(always)]
    fn add_two(
        self,
        sums: [__m512i; 4],
        first: &[u8; BLOCK],
        second: &[u8; BLOCK],
        weights: __m512i,
    ) -> [__m512i; 4] {
        // SAFETY: `self` proves that the processor has the instructions, and the arrays have 64
        // bytes.
        unsafe {
            let first = _mm512_loadu_si512(first.as_ptr().cast());
            let second = _mm512_loadu_si512(second.as_ptr().cast());
            add(sums, first, second, weights)
        }
    }

    #[inline(always)]
    fn add_one(self, sums: [__m512i; 4], row: &[u8; BLOCK], weights: __m512i) -> [__m512i; 4] {
        // SAFETY: `self` proves that the processor has the instructions, and the array has 64 bytes.
        unsafe {
            let row = _mm512_loadu_si512(row.as_ptr().cast());
            add(sums, row, _mm512_setzero_si512(), weights)
        }
    }

    #[inline(always)]
    fn means(self, [a, b, c, d]: [__m512i; 4], precision: u32) -> [u8; BLOCK] {
        let mut means = [0; BLOCK];
        // SAFETY: `self` proves that the processor has the instructions, and the array has 64 bytes.
        unsafe {
            let shift = _mm_cvtsi32_si128(precision as i32);
            let (a, b) = (_mm512_sra_epi32(a, shift), _mm512_sra_epi32(b, shift));
            let (c, d) = (_mm512_sra_epi32(c, shift), _mm512_sra_epi32(d, shift));
            let bytes = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
            _mm512_storeu_si512(means.as_mut_ptr().cast(), bytes);
        }
        means
    }

    fn slot(value: usize, input: usize) -> usize {
        value * 2 + input
    }

    fn weight(weight: i16, _: u32) -> i16 {
        weight
    }

    #[inline(always)]
    fn across<const STEPS: usize, const STRIDE: usize>(
        self,
        windows: &Windows<'_, STRIDE>,
        steps: &[Step; STEPS],
        precision: u32,
    ) -> [u8; GROUP] {
        let mut means = [0; GROUP];
        // SAFETY: `self` proves that the processor has the instructions. A window, an order and the
        // weights have 64 bytes each, the latter two aligned so; the array has 16.
        unsafe {
            let mut sum = _mm512_set1_epi32(1 << precision >> 1);
            for (number, step) in steps.iter().enumerate() {
                let window: &[u8; WINDOW] = windows.get(0, number);
                let window = _mm512_loadu_si512(window.as_ptr().cast());
                let order = _mm512_load_si512(step.order.as_ptr().cast());
                let weights = _mm512_load_si512(step.weights.as_ptr().cast());
                let inputs = _mm512_maskz_permutexvar_epi8(LOW_BYTES, order, window);
                sum = _mm512_add_epi32(sum, _mm512_madd_epi16(inputs, weights));
            }
            // No weight is negative, so that no sum is; too large ones become 255.
            let sum = _mm512_sra_epi32(sum, _mm_cvtsi32_si128(precision as i32));
            _mm_storeu_si128(means.as_mut_ptr().cast(), _mm512_cvtusepi32_epi8(sum));
        }
        means
    }
}

/// Adds two rows to their sums: both interleaved, as 16-bit numbers, times two weights.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn add(sums: [__m512i; 4], first: __m512i, second: __m512i, weights: __m512i) -> [__m512i; 4] {
    let zero = _mm512_setzero_si512();
    let low = _mm512_unpacklo_epi8(first, second);
    let high = _mm512_unpackhi_epi8(first, second);
    let [a, b, c, d] = sums;
    [
        _mm512_add_epi32(a, _mm512_madd_epi16(_mm512_unpacklo_epi8(low, zero), weights)),
        _mm512_add_epi32(b, _mm512_madd_epi16(_mm512_unpackhi_epi8(low, zero), weights)),
        _mm512_add_epi32(c, _mm512_madd_epi16(_mm512_unpacklo_epi8(high, zero), weights)),
        _mm512_add_epi32(d, _mm512_madd_epi16(_mm512_unpackhi_epi8(high, zero), weights)),
    ]
}
