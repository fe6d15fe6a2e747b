//! Loads and stores of the vectors of x86-64.
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadu_si128, _mm_storeu_si128, _mm256_loadu_si256,
    _mm256_storeu_si256, _mm512_loadu_si512, _mm512_storeu_si512,
};

/// Plain numbers, which vectors load and store.
pub(crate) trait Plain: Copy {}
impl Plain for u8 {}
impl Plain for i8 {}
impl Plain for i16 {}
impl Plain for u16 {}
impl Plain for u32 {}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load128<T: Plain, const N: usize>(from: &[T; N]) -> __m128i {
    const { assert!(size_of::<[T; N]>() == 16) };
    // SAFETY: 16 bytes of numbers, by the line above.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load256<T: Plain, const N: usize>(from: &[T; N]) -> __m256i {
    const { assert!(size_of::<[T; N]>() == 32) };
    // SAFETY: 32 bytes of numbers, by the line above.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn load512<T: Plain, const N: usize>(from: &[T; N]) -> __m512i {
    const { assert!(size_of::<[T; N]>() == 64) };
    // SAFETY: 64 bytes of numbers, by the line above.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store128<T: Plain, const N: usize>(to: &mut [T; N], vector: __m128i) {
    const { assert!(size_of::<[T; N]>() == 16) };
    // SAFETY: 16 bytes of numbers, by the line above.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store256<T: Plain, const N: usize>(to: &mut [T; N], vector: __m256i) {
    const { assert!(size_of::<[T; N]>() == 32) };
    // SAFETY: 32 bytes of numbers, by the line above.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store512<T: Plain, const N: usize>(to: &mut [T; N], vector: __m512i) {
    const { assert!(size_of::<[T; N]>() == 64) };
    // SAFETY: 64 bytes of numbers, by the line above.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), vector) }
}
