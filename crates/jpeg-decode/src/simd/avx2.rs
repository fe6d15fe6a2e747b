//! The operations of the shared loops with AVX2.
use super::{
    memory::{Plain, load128, load256, store256},
    x86::operations,
};
use std::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi32_si128, _mm_cvtsi128_si64, _mm_unpackhi_epi32, _mm_unpackhi_epi64,
    _mm_unpacklo_epi32, _mm256_add_epi8, _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256,
    _mm256_broadcastsi128_si256, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_hadd_epi32, _mm256_madd_epi16, _mm256_mulhi_epi16, _mm256_or_si256, _mm256_packs_epi16,
    _mm256_packs_epi32, _mm256_packus_epi16, _mm256_permute2x128_si256, _mm256_set1_epi8,
    _mm256_set1_epi16, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_sra_epi16, _mm256_srai_epi16, _mm256_srai_epi32, _mm256_srli_epi16, _mm256_sub_epi16,
    _mm256_sub_epi32, _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
    _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};

operations!(
    __m256i, "avx2", zero _mm256_setzero_si256, set _mm256_set1_epi32, madd _mm256_madd_epi16,
    add16 _mm256_add_epi16, sub16 _mm256_sub_epi16,
    add32 _mm256_add_epi32, sub32 _mm256_sub_epi32,
    shift _mm256_srai_epi32 by i32, pack _mm256_packs_epi32,
    low _mm256_unpacklo_epi16 _mm256_unpacklo_epi32 _mm256_unpacklo_epi64,
    high _mm256_unpackhi_epi16 _mm256_unpackhi_epi32 _mm256_unpackhi_epi64
);

/// Blocks whose values are in a vector.
pub(super) const N_BLOCKS: usize = 2;
/// Number of pixels per step.
pub(super) const STEP: usize = 32;

/// Returns each pair's two products with the factors of its place, added.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn dot_pairs(numbers: Numbers, factors: &[i16; 8]) -> Sums {
    _mm256_madd_epi16(numbers, repeated(factors))
}

/// Adds adjacent sums, those of the first vector before those of the second.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_adjacent(a: Sums, b: Sums) -> Sums {
    _mm256_hadd_epi32(a, b)
}

/// Loads the same 16 bytes into both halves.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn repeated<T: Plain, const N: usize>(half: &[T; N]) -> __m256i {
    _mm256_broadcastsi128_si256(load128(half))
}

/// Converts 16-bit numbers to samples.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn samples<const SHIFT: Bits>(a: Numbers, b: Numbers) -> __m256i {
    _mm256_add_epi8(_mm256_packs_epi16(a, b), _mm256_set1_epi8(-128))
}

/// Transposes bytes, from four columns of four samples to rows.
const TURN: [i8; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];

/// Returns the rows of four columns of four samples. The bytes of a number are adjacent samples of
/// one block and then of the other.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn rows_of_four(columns: __m256i) -> [u64; 4] {
    let rows = _mm256_shuffle_epi8(columns, repeated(&TURN));
    let (a, b) = (_mm256_castsi256_si128(rows), _mm256_extracti128_si256::<1>(rows));
    let (upper, lower) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
    let second = |rows: __m128i| _mm_cvtsi128_si64(_mm_unpackhi_epi64(rows, rows));
    let rows = [_mm_cvtsi128_si64(upper), second(upper), _mm_cvtsi128_si64(lower), second(lower)];
    rows.map(|row| row as u64)
}

/// Returns two rows in the same layout, which are side by side.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn rows_of_two(rows: __m256i) -> [u64; 4] {
    let a = _mm_cvtsi128_si64(_mm256_castsi256_si128(rows)) as u64;
    let b = _mm_cvtsi128_si64(_mm256_extracti128_si256::<1>(rows)) as u64;
    [a & 0xFFFF | (b & 0xFFFF) << 16, a >> 16 & 0xFFFF | b & 0xFFFF_0000, 0, 0]
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn load_numbers(numbers: &[u16; STEP / 2]) -> Numbers {
    load256(numbers)
}

/// Splits samples into even and odd ones, as 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn even_and_odd(samples: &[u8; STEP]) -> [Numbers; 2] {
    let samples = load256(samples);
    let even = _mm256_and_si256(samples, _mm256_set1_epi16(255));
    [even, _mm256_srli_epi16::<8>(samples)]
}

/// Splits samples into two halves, as 16-bit numbers: the even and the odd ones.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn halves(samples: &[u8; STEP]) -> [Numbers; 2] {
    even_and_odd(samples)
}

/// Splits samples likewise, less 128.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn centred_halves(samples: &[u8; STEP]) -> [Numbers; 2] {
    let ([even, odd], half) = (even_and_odd(samples), set16(128));
    [_mm256_sub_epi16(even, half), _mm256_sub_epi16(odd, half)]
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn set16(number: i16) -> Numbers {
    _mm256_set1_epi16(number)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn shift_right(numbers: Numbers, n_bits: u32) -> Numbers {
    _mm256_sra_epi16(numbers, _mm_cvtsi32_si128(n_bits as i32))
}

/// Divides by 2 to the power of 16, and rounds.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn narrow_by_16([low, high]: [Sums; 2]) -> Numbers {
    narrow::<16>([add_to_each(low, 1 << 15), add_to_each(high, 1 << 15)])
}

/// Returns twice the numbers, times a factor, without the lower 16 bits.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn twice_high(numbers: Numbers, factor: i16) -> Numbers {
    let twice = _mm256_add_epi16(numbers, numbers);
    _mm256_mulhi_epi16(twice, _mm256_set1_epi16(factor))
}

/// Adds halves of numbers, rounded up.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add_halves(sums: Numbers, numbers: Numbers) -> Numbers {
    let half = _mm256_srai_epi16::<1>(_mm256_add_epi16(numbers, _mm256_set1_epi16(1)));
    _mm256_add_epi16(sums, half)
}

/// For each colour and each 16 bytes of 16 pixels: the shuffle that moves the levels to their
/// places, from 8 of even pixels and 8 of odd ones.
const SPREAD: [[[i8; 16]; 3]; 3] = {
    let mut spread = [[[-128; 16]; 3]; 3];
    let mut at = 0;
    while at < 48 {
        let (pixel, color) = (at / 3, at % 3);
        spread[color][at / 16][at % 16] = (pixel / 2 + 8 * (pixel % 2)) as i8;
        at += 1;
    }
    spread
};

/// As [`write_even_and_odd`], for what [`halves`] gave.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn write_halves(even: [Numbers; 3], odd: [Numbers; 3], out: &mut [u8; 3 * STEP]) {
    write_even_and_odd(even, odd, out);
}

/// Writes pixels of levels, clamped to bytes: red, green and blue of even pixels and of odd ones.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn write_even_and_odd(even: [Numbers; 3], odd: [Numbers; 3], out: &mut [u8; 3 * STEP]) {
    let red = _mm256_packus_epi16(even[0], odd[0]);
    let green = _mm256_packus_epi16(even[1], odd[1]);
    let blue = _mm256_packus_epi16(even[2], odd[2]);
    let place = |color: usize, number: usize, levels| {
        let shuffle = _mm256_broadcastsi128_si256(load128(&SPREAD[color][number]));
        _mm256_shuffle_epi8(levels, shuffle)
    };
    let part = |number: usize| {
        let two = _mm256_or_si256(place(0, number, red), place(1, number, green));
        _mm256_or_si256(two, place(2, number, blue))
    };
    // The first 16 pixels are in the lower halves.
    let (first, second, third) = (part(0), part(1), part(2));
    let (first, second, third) = (
        _mm256_permute2x128_si256::<0x20>(first, second),
        _mm256_permute2x128_si256::<0x30>(third, first),
        _mm256_permute2x128_si256::<0x31>(second, third),
    );
    if let ([a, b, c], []) = out.as_chunks_mut::<32>() {
        store256(a, first);
        store256(b, second);
        store256(c, third);
    }
}
