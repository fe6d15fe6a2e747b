//! The inverse DCTs to 4x4 and 2x2 samples of two blocks at once, with AVX2: the arithmetic of
//! [`crate::reduced`], with a block in either half of the vectors.
use super::{
    idct256::{both, natural, repeated},
    transform::pair,
};
use crate::{
    idct::{F_0_765, F_0_899, F_1_847, F_2_562, Factors},
    instructions::Avx2,
    reduced::{
        self, F_0_211, F_0_509, F_0_601, F_0_720, F_0_850, F_1_061, F_1_272, F_1_451, F_2_172,
        F_3_624, FOUR_SHIFTS, Side, TWO_SHIFTS,
    },
    window::Cells,
};
use std::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi128_si64, _mm_unpackhi_epi32, _mm_unpackhi_epi64,
    _mm_unpacklo_epi32, _mm256_add_epi8, _mm256_add_epi32, _mm256_castsi256_si128,
    _mm256_extracti128_si256, _mm256_hadd_epi32, _mm256_madd_epi16, _mm256_mullo_epi16,
    _mm256_packs_epi16, _mm256_packs_epi32, _mm256_set1_epi8, _mm256_set1_epi32,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi32, _mm256_srai_epi32,
    _mm256_sub_epi32, _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpacklo_epi16,
    _mm256_unpacklo_epi32,
};

/// Transposes bytes, from four columns of four samples to rows.
const TURN: [i8; 16] = [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15];

/// As [`reduced::block_row`].
pub(crate) fn block_row(
    _: Avx2,
    side: Side,
    cells: &mut Cells,
    row: &[u32],
    factors: &Factors,
    out: &mut [u8],
    stride: usize,
) {
    // SAFETY: the proof of AVX2.
    unsafe {
        match side {
            Side::Four => with_avx2::<4>(cells, row, factors, out, stride),
            Side::Two => with_avx2::<2>(cells, row, factors, out, stride),
            // A product and a shift: vectors would not help.
            Side::One => reduced::block_row(side, cells, row, factors, out, stride),
        }
    }
}

#[target_feature(enable = "avx2")]
fn with_avx2<const N: usize>(
    cells: &mut Cells,
    row: &[u32],
    factors: &Factors,
    out: &mut [u8],
    stride: usize,
) {
    let (factors, _) = factors.as_chunks::<8>();
    let Some(factors) = factors.first_chunk::<8>() else { return };
    for (blocks, x) in row.chunks(2).zip((0..).step_by(2 * N)) {
        let (a, b) = (blocks[0], blocks[blocks.len() - 1]);
        let (Some(first), Some(second)) = (cells.half(a), cells.half(b)) else { return };
        let values = dequantised(&both(first, second), factors);
        let samples = if N == 4 { four_by_four(values) } else { two_by_two(values) };
        cells.clear(&[a, b]);
        // The last block of an odd number is alone.
        let n_samples = N * blocks.len();
        for (line, samples) in out.chunks_mut(stride.max(1)).zip(samples).take(N) {
            if let Some(line) = line.get_mut(x..x + n_samples) {
                line.copy_from_slice(&samples.to_le_bytes()[..n_samples]);
            }
        }
    }
}

/// Returns the dequantised rows of two blocks.
#[inline]
#[target_feature(enable = "avx2")]
fn dequantised(zigzag: &[__m256i; 8], factors: &[[i16; 8]; 8]) -> [__m256i; 8] {
    let [r0, r1, r2, r3, r4, r5, r6, r7] = natural(*zigzag);
    let [f0, f1, f2, f3, f4, f5, f6, f7] = factors;
    let by = |row, factors: &[i16; 8]| _mm256_mullo_epi16(row, repeated(factors));
    [by(r0, f0), by(r1, f1), by(r2, f2), by(r3, f3), by(r4, f4), by(r5, f5), by(r6, f6), by(r7, f7)]
}

/// Returns four rows; the bytes of a number are adjacent samples of one block and then of the
/// other.
#[inline]
#[target_feature(enable = "avx2")]
fn four_by_four([r0, r1, r2, r3, _, r5, r6, r7]: [__m256i; 8]) -> [u64; 4] {
    let zero = _mm256_setzero_si256();
    const FIRST: i32 = FOUR_SHIFTS.0 as i32;
    let low = four_of::<FIRST>([
        _mm256_unpacklo_epi16(zero, r0),
        _mm256_unpacklo_epi16(r2, r6),
        _mm256_unpacklo_epi16(r7, r5),
        _mm256_unpacklo_epi16(r3, r1),
    ]);
    let high = four_of::<FIRST>([
        _mm256_unpackhi_epi16(zero, r0),
        _mm256_unpackhi_epi16(r2, r6),
        _mm256_unpackhi_epi16(r7, r5),
        _mm256_unpackhi_epi16(r3, r1),
    ]);
    let packed = |at: usize| _mm256_packs_epi32(low[at], high[at]);
    let (a, b, c, d) = (packed(0), packed(1), packed(2), packed(3));
    // Two columns each.
    let (low_ab, low_cd) = (_mm256_unpacklo_epi16(a, b), _mm256_unpacklo_epi16(c, d));
    let (high_ab, high_cd) = (_mm256_unpackhi_epi16(a, b), _mm256_unpackhi_epi16(c, d));
    let (c01, c23) = (_mm256_unpacklo_epi32(low_ab, low_cd), _mm256_unpackhi_epi32(low_ab, low_cd));
    let c45 = _mm256_unpacklo_epi32(high_ab, high_cd);
    let c67 = _mm256_unpackhi_epi32(high_ab, high_cd);
    const SECOND: i32 = FOUR_SHIFTS.1 as i32;
    let [o0, o1, o2, o3] = four_of::<SECOND>([
        _mm256_unpacklo_epi16(zero, c01),
        _mm256_unpacklo_epi16(c23, c67),
        _mm256_unpackhi_epi16(c67, c45),
        _mm256_unpackhi_epi16(c23, c01),
    ]);
    let columns = samples(_mm256_packs_epi32(o0, o1), _mm256_packs_epi32(o2, o3));
    let rows = _mm256_shuffle_epi8(columns, repeated(&TURN));
    let (a, b) = (_mm256_castsi256_si128(rows), _mm256_extracti128_si256::<1>(rows));
    let (upper, lower) = (_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b));
    let second = |rows: __m128i| _mm_cvtsi128_si64(_mm_unpackhi_epi64(rows, rows));
    let rows = [_mm_cvtsi128_si64(upper), second(upper), _mm_cvtsi128_si64(lower), second(lower)];
    rows.map(|row| row as u64)
}

/// One dimension of four 16-bit numbers, given in pairs: the first after a zero, the third and
/// seventh, eighth and sixth, fourth and second.
#[inline]
#[target_feature(enable = "avx2")]
fn four_of<const SHIFT: i32>([i0, i26, i75, i31]: [__m256i; 4]) -> [__m256i; 4] {
    let add = |a, b| _mm256_add_epi32(a, b);
    let by = |it, a, b| _mm256_madd_epi16(it, _mm256_set1_epi32(pair(a, b)));
    // A number in the upper half of 32 bits is multiplied by 2 to the power of 16; it should be 14.
    let t0 = add(_mm256_srai_epi32::<2>(i0), _mm256_set1_epi32(1 << (SHIFT - 1)));
    let t2 = by(i26, F_1_847, -F_0_765);
    let (outer, inner) = (add(t0, t2), _mm256_sub_epi32(t0, t2));
    let by_inner = add(by(i75, -F_0_211, F_1_451), by(i31, -F_2_172, F_1_061));
    let by_outer = add(by(i75, -F_0_509, -F_0_601), by(i31, F_0_899, F_2_562));
    [
        _mm256_srai_epi32::<SHIFT>(add(outer, by_outer)),
        _mm256_srai_epi32::<SHIFT>(add(inner, by_inner)),
        _mm256_srai_epi32::<SHIFT>(_mm256_sub_epi32(inner, by_inner)),
        _mm256_srai_epi32::<SHIFT>(_mm256_sub_epi32(outer, by_outer)),
    ]
}

/// Returns two rows, in the same layout.
#[inline]
#[target_feature(enable = "avx2")]
fn two_by_two([r0, r1, _, r3, _, r5, _, r7]: [__m256i; 8]) -> [u64; 4] {
    const FIRST: i32 = TWO_SHIFTS.0 as i32;
    const SECOND: i32 = TWO_SHIFTS.1 as i32;
    let zero = _mm256_setzero_si256();
    let by = |it, a, b| _mm256_madd_epi16(it, _mm256_set1_epi32(pair(a, b)));
    let odd = |i75, i31| _mm256_add_epi32(by(i75, -F_0_720, F_0_850), by(i31, -F_1_272, F_3_624));
    // By 2 to the power of 15, with the rounding.
    let even = |i0, half| _mm256_add_epi32(_mm256_srai_epi32::<1>(i0), _mm256_set1_epi32(half));
    let low = (
        even(_mm256_unpacklo_epi16(zero, r0), 1 << (FIRST - 1)),
        odd(_mm256_unpacklo_epi16(r7, r5), _mm256_unpacklo_epi16(r3, r1)),
    );
    let high = (
        even(_mm256_unpackhi_epi16(zero, r0), 1 << (FIRST - 1)),
        odd(_mm256_unpackhi_epi16(r7, r5), _mm256_unpackhi_epi16(r3, r1)),
    );
    let upper = _mm256_packs_epi32(
        _mm256_srai_epi32::<FIRST>(_mm256_add_epi32(low.0, low.1)),
        _mm256_srai_epi32::<FIRST>(_mm256_add_epi32(high.0, high.1)),
    );
    let lower = _mm256_packs_epi32(
        _mm256_srai_epi32::<FIRST>(_mm256_sub_epi32(low.0, low.1)),
        _mm256_srai_epi32::<FIRST>(_mm256_sub_epi32(high.0, high.1)),
    );
    // Factors of the upper row and the lower one, alternating.
    let factors: [i16; 8] =
        [0, F_3_624, 0, -F_1_272, 0, F_0_850, 0, -F_0_720].map(|factor| factor as i16);
    let factors = repeated(&factors);
    let products =
        _mm256_hadd_epi32(_mm256_madd_epi16(upper, factors), _mm256_madd_epi16(lower, factors));
    let odd = _mm256_hadd_epi32(products, products);
    let first =
        _mm256_unpacklo_epi32(_mm256_slli_epi32::<16>(upper), _mm256_slli_epi32::<16>(lower));
    let even = even(first, 1 << (SECOND - 1));
    let left = _mm256_srai_epi32::<SECOND>(_mm256_add_epi32(even, odd));
    let right = _mm256_srai_epi32::<SECOND>(_mm256_sub_epi32(even, odd));
    let rows = _mm256_packs_epi32(_mm256_unpacklo_epi32(left, right), zero);
    let rows = samples(rows, zero);
    let a = _mm_cvtsi128_si64(_mm256_castsi256_si128(rows)) as u64;
    let b = _mm_cvtsi128_si64(_mm256_extracti128_si256::<1>(rows)) as u64;
    [a & 0xFFFF | (b & 0xFFFF) << 16, a >> 16 & 0xFFFF | b & 0xFFFF_0000, 0, 0]
}

/// Converts 16-bit numbers to samples.
#[inline]
#[target_feature(enable = "avx2")]
fn samples(a: __m256i, b: __m256i) -> __m256i {
    _mm256_add_epi8(_mm256_packs_epi16(a, b), _mm256_set1_epi8(-128))
}
