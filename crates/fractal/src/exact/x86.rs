//! The vectors of x86-64.
#![allow(unsafe_code)]

use super::coverage::{self, Group};
use super::kernel;
use super::simd::Isa;
use std::arch::x86_64::*;

/// Four doubles. Only [`detect`](Self::detect) makes one, so that a value proves that the machine
/// has the three features named there.
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

/// Eight doubles. Only [`detect`](Self::detect) makes one, so that a value proves that the machine
/// has the six features named there.
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        let present = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("fma");
        present.then_some(Self(()))
    }

    pub(super) fn choose(
        self,
        thresholds: &[f64; kernel::N_MAPS],
        random: &[f64],
        maps: &mut [u8],
    ) {
        // SAFETY: the machine has the features, which `self` proves.
        unsafe { choose_avx2(thresholds, random, maps) }
    }

    pub(super) fn cover(self, group: &mut Group) -> u32 {
        // SAFETY: the machine has the features, which `self` proves.
        unsafe { cover_avx2(self, group) }
    }
}

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let present = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("fma");
        present.then_some(Self(()))
    }

    pub(super) fn choose(
        self,
        thresholds: &[f64; kernel::N_MAPS],
        random: &[f64],
        maps: &mut [u8],
    ) {
        // SAFETY: the machine has the features, which `self` proves.
        unsafe { choose_avx512(thresholds, random, maps) }
    }

    pub(super) fn cover(self, group: &mut Group) -> u32 {
        // SAFETY: the machine has the features, which `self` proves.
        unsafe { cover_avx512(self, group) }
    }
}

#[target_feature(enable = "avx2,bmi2,fma")]
fn choose_avx2(thresholds: &[f64; kernel::N_MAPS], random: &[f64], maps: &mut [u8]) {
    kernel::choose(thresholds, random, maps);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,fma")]
fn choose_avx512(thresholds: &[f64; kernel::N_MAPS], random: &[f64], maps: &mut [u8]) {
    kernel::choose(thresholds, random, maps);
}

#[target_feature(enable = "avx2,bmi2,fma")]
fn cover_avx2(isa: Avx2, group: &mut Group) -> u32 {
    coverage::cover(isa, group)
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi2,fma")]
fn cover_avx512(isa: Avx512, group: &mut Group) -> u32 {
    coverage::cover(isa, group)
}

/// Defines operations that are one instruction on vectors.
macro_rules! operations {
    ($vector:ty: $($name:ident($($argument:ident),+) = $instruction:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($argument: $vector),+) -> $vector {
            // SAFETY: the machine has the instruction, as `self` proves; it touches no memory.
            unsafe { $instruction($($argument),+) }
        }
    )+};
}

impl Isa<4> for Avx2 {
    type Vector = __m256d;

    operations! { __m256d:
        add(a, b) = _mm256_add_pd;
        sub(a, b) = _mm256_sub_pd;
        mul(a, b) = _mm256_mul_pd;
        div(a, b) = _mm256_div_pd;
        about_mul_add(a, b, c) = _mm256_fmadd_pd;
        min(a, b) = _mm256_min_pd;
        max(a, b) = _mm256_max_pd;
        floor(a) = _mm256_floor_pd;
    }

    #[inline(always)]
    fn load(self, values: &[f64; 4]) -> __m256d {
        // SAFETY: the machine has AVX, as `self` proves; the array has the 32 bytes that are read,
        // and the instruction needs no alignment.
        unsafe { _mm256_loadu_pd(values.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, vector: __m256d, values: &mut [f64; 4]) {
        // SAFETY: as in `load`, for the 32 bytes that are written.
        unsafe { _mm256_storeu_pd(values.as_mut_ptr(), vector) }
    }

    #[inline(always)]
    fn store_bits(self, vector: __m256d, bits: &mut [u64; 4]) {
        // SAFETY: as in `load`, for the 32 bytes that are written; any bits are a valid `u64`.
        unsafe { _mm256_storeu_pd(bits.as_mut_ptr().cast(), vector) }
    }

    #[inline(always)]
    fn abs(self, a: __m256d) -> __m256d {
        // SAFETY: the machine has AVX, as `self` proves; no memory is touched.
        unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), a) }
    }

    #[inline(always)]
    fn any_above(self, a: __m256d, b: __m256d) -> bool {
        // SAFETY: the machine has AVX, as `self` proves; no memory is touched.
        unsafe { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(a, b)) != 0 }
    }
}

impl Isa<8> for Avx512 {
    type Vector = __m512d;

    operations! { __m512d:
        add(a, b) = _mm512_add_pd;
        sub(a, b) = _mm512_sub_pd;
        mul(a, b) = _mm512_mul_pd;
        div(a, b) = _mm512_div_pd;
        about_mul_add(a, b, c) = _mm512_fmadd_pd;
        min(a, b) = _mm512_min_pd;
        max(a, b) = _mm512_max_pd;
        floor(a) = _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>;
        abs(a) = _mm512_abs_pd;
    }

    #[inline(always)]
    fn load(self, values: &[f64; 8]) -> __m512d {
        // SAFETY: the machine has AVX-512F, as `self` proves; the array has the 64 bytes that are
        // read, and the instruction needs no alignment.
        unsafe { _mm512_loadu_pd(values.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, vector: __m512d, values: &mut [f64; 8]) {
        // SAFETY: as in `load`, for the 64 bytes that are written.
        unsafe { _mm512_storeu_pd(values.as_mut_ptr(), vector) }
    }

    #[inline(always)]
    fn store_bits(self, vector: __m512d, bits: &mut [u64; 8]) {
        // SAFETY: as in `load`, for the 64 bytes that are written; any bits are a valid `u64`.
        unsafe { _mm512_storeu_pd(bits.as_mut_ptr().cast(), vector) }
    }

    #[inline(always)]
    fn any_above(self, a: __m512d, b: __m512d) -> bool {
        // SAFETY: the machine has AVX-512F, as `self` proves; no memory is touched.
        unsafe { _mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b) != 0 }
    }
}
