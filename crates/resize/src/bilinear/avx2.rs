//! AVX2: blocks of 32 bytes, and four windows of 16 bytes for four values each.
#![allow(unsafe_code, reason = "instructions that need a proof, and loads and stores of vectors")]

use super::{
    Job,
    columns::{GROUP, Step, Windows},
    vectors::Vectors,
};
use std::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_packus_epi16, _mm_storeu_si128,
    _mm256_add_epi32, _mm256_castsi128_si256, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_inserti128_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_packs_epi32,
    _mm256_packus_epi16, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_sra_epi32, _mm256_storeu_si256, _mm256_unpackhi_epi8, _mm256_unpacklo_epi8,
};

const BLOCK: usize = 32;
const WINDOW: usize = 16;

/// Proof of AVX2.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }
}

impl Vectors<BLOCK, WINDOW> for Avx2 {
    /// Bytes 0 to 3 and 16 to 19 of a block, 4 to 7 and 20 to 23, and so on.
    type Sums = [__m256i; 4];
    type Weights = __m256i;

    fn run(self, job: Job<'_>) -> Option<()> {
        #[target_feature(enable = "avx2")]
        fn with_avx2(here: Avx2, job: Job<'_>) -> Option<()> {
            job.run(here)
        }
        // SAFETY: `self` proves that the processor has AVX2.
        unsafe { with_avx2(self, job) }
    }

    #[inline(always)]
    fn weights(self, [first, second]: [i16; 2], _: u32) -> __m256i {
        // SAFETY: `self` proves that the processor has AVX2.
        unsafe { _mm256_set1_epi32(i32::from(first) | i32::from(second) << 16) }
    }

    #[inline(always)]
    fn none(self, precision: u32) -> [__m256i; 4] {
        // SAFETY: `self` proves that the processor has AVX2.
        [unsafe { _mm256_set1_epi32(1 << precision >> 1) }; 4]
    }

    #[inline(always)]
    fn add_two(
        self,
        sums: [__m256i; 4],
        first: &[u8; BLOCK],
        second: &[u8; BLOCK],
        weights: __m256i,
    ) -> [__m256i; 4] {
        // SAFETY: `self` proves that the processor has AVX2, and the arrays have 32 bytes.
        unsafe {
            let first = _mm256_loadu_si256(first.as_ptr().cast());
            let second = _mm256_loadu_si256(second.as_ptr().cast());
            add(sums, first, second, weights)
        }
    }

    #[inline(always)]
    fn add_one(self, sums: [__m256i; 4], row: &[u8; BLOCK], weights: __m256i) -> [__m256i; 4] {
        // SAFETY: `self` proves that the processor has AVX2, and the array has 32 bytes.
        unsafe {
            let row = _mm256_loadu_si256(row.as_ptr().cast());
            add(sums, row, _mm256_setzero_si256(), weights)
        }
    }

    #[inline(always)]
    fn means(self, [a, b, c, d]: [__m256i; 4], precision: u32) -> [u8; BLOCK] {
        let mut means = [0; BLOCK];
        // SAFETY: `self` proves that the processor has AVX2, and the array has 32 bytes.
        unsafe {
            let shift = _mm_cvtsi32_si128(precision as i32);
            let (a, b) = (_mm256_sra_epi32(a, shift), _mm256_sra_epi32(b, shift));
            let (c, d) = (_mm256_sra_epi32(c, shift), _mm256_sra_epi32(d, shift));
            let bytes = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
            _mm256_storeu_si256(means.as_mut_ptr().cast(), bytes);
        }
        means
    }

    /// The halves of a vector are the windows 0 and 2, and 1 and 3: so packing them puts all values
    /// in order.
    fn slot(value: usize, input: usize) -> usize {
        let half = [0, 2, 1, 3][value / 4 % 4];
        half * 8 + value % 4 * 2 + input
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
        // SAFETY: `self` proves that the processor has AVX2. An order has two vectors of bytes, the
        // weights have as many, and the array has 16 bytes.
        unsafe {
            let mut sums = [_mm256_set1_epi32(1 << precision >> 1); 2];
            for (number, step) in steps.iter().enumerate() {
                let orders: *const __m256i = step.order.as_ptr().cast();
                let weights: *const __m256i = step.weights.as_ptr().cast();
                for (half, sum) in sums.iter_mut().enumerate() {
                    let low = load(windows.get(half, number));
                    let high = load(windows.get(half + 2, number));
                    let both = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high);
                    let order = _mm256_loadu_si256(orders.add(half));
                    let weights = _mm256_loadu_si256(weights.add(half));
                    let inputs = _mm256_shuffle_epi8(both, order);
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(inputs, weights));
                }
            }
            let shift = _mm_cvtsi32_si128(precision as i32);
            let [a, b] = [_mm256_sra_epi32(sums[0], shift), _mm256_sra_epi32(sums[1], shift)];
            let words = _mm256_packs_epi32(a, b);
            let (low, high) = (_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            _mm_storeu_si128(means.as_mut_ptr().cast(), _mm_packus_epi16(low, high));
        }
        means
    }
}

/// Adds two rows to their sums: both interleaved, as 16-bit numbers, times two weights.
#[inline]
#[target_feature(enable = "avx2")]
fn add(sums: [__m256i; 4], first: __m256i, second: __m256i, weights: __m256i) -> [__m256i; 4] {
    let zero = _mm256_setzero_si256();
    let low = _mm256_unpacklo_epi8(first, second);
    let high = _mm256_unpackhi_epi8(first, second);
    let [a, b, c, d] = sums;
    [
        _mm256_add_epi32(a, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), weights)),
        _mm256_add_epi32(b, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), weights)),
        _mm256_add_epi32(c, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), weights)),
        _mm256_add_epi32(d, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), weights)),
    ]
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(bytes: &[u8; WINDOW]) -> __m128i {
    // SAFETY: 16 bytes, by the type.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}
