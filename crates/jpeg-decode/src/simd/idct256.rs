//! The inverse DCT of two blocks at once, with AVX2.
use super::{
    avx2::*,
    memory::{load128, store128},
    transform::transform,
};
use crate::{
    Block,
    idct::{
        self, COLUMN_SHIFT, CONST_BITS, F_0_298, F_0_390, F_0_541, F_0_765, F_0_899, F_1_175,
        F_1_501, F_1_847, F_1_961, F_2_053, F_2_562, F_3_072, Factors as Table, PASS_BITS,
        ROW_SHIFT, ZIGZAG,
    },
    instructions::Avx2,
    window::Cells,
};
use std::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_add_epi16, _mm256_adds_epi16, _mm256_bsrli_epi128,
    _mm256_castsi128_si256, _mm256_castsi256_si128, _mm256_extracti128_si256,
    _mm256_inserti128_si256, _mm256_mullo_epi16, _mm256_or_si256, _mm256_packs_epi16,
    _mm256_permute4x64_epi64, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_slli_epi16, _mm256_srai_epi16, _mm256_srli_epi16,
    _mm256_testz_si256,
};

transform!("avx2");

/// For each row of a block and each 8 places of zigzag order: the shuffle that moves the values of
/// that row from those places to their columns.
const SHUFFLES: [[[i8; 16]; 8]; 8] = {
    let mut shuffles = [[[-128; 16]; 8]; 8];
    let mut place = 0;
    while place < 64 {
        let natural = ZIGZAG[place] as usize;
        let (row, column) = (natural / 8, natural % 8);
        let shuffle = &mut shuffles[row][place / 8];
        shuffle[2 * column] = (2 * (place % 8)) as i8;
        shuffle[2 * column + 1] = (2 * (place % 8) + 1) as i8;
        place += 1;
    }
    shuffles
};

/// Transforms adjacent blocks, and clears their cells. The samples go to the first 8 rows of `out`;
/// `stride` must be a multiple of 16 that exceeds all of them.
pub(crate) fn block_row(
    _: Avx2,
    cells: &mut Cells,
    row: &[u32],
    factors: &Table,
    out: &mut [u8],
    stride: usize,
) {
    // SAFETY: the proof of AVX2.
    unsafe { with_avx2(cells, row, factors, out, stride) }
}

#[target_feature(enable = "avx2")]
fn with_avx2(cells: &mut Cells, row: &[u32], factors: &Table, out: &mut [u8], stride: usize) {
    let mut lines = out.chunks_mut(stride.max(1));
    let mut lines: [&mut [u8]; 8] = std::array::from_fn(|_| lines.next().unwrap_or_default());
    let (factor_rows, _) = factors.as_chunks::<8>();
    for (two, x) in row.chunks(2).zip((0..).step_by(16)) {
        // The last of an odd number is paired with itself; the extra samples are not used.
        let (a, b) = (two[0], two[two.len() - 1]);
        let (Some(first), Some(second)) = (cells.half(a), cells.half(b)) else { return };
        let zigzag = both(first, second);
        let Some(samples) = two_blocks(zigzag, factor_rows) else {
            idct::blocks(cells, two, factors, &mut lines, x);
            continue;
        };
        cells.clear(&[a, b]);
        for (line, samples) in lines.as_chunks_mut::<2>().0.iter_mut().zip(samples) {
            let [upper, lower] = line;
            if let Some(upper) = upper.get_mut(x..).and_then(|it| it.first_chunk_mut::<16>()) {
                store128(upper, _mm256_castsi256_si128(samples));
            }
            if let Some(lower) = lower.get_mut(x..).and_then(|it| it.first_chunk_mut::<16>()) {
                store128(lower, _mm256_extracti128_si256::<1>(samples));
            }
        }
    }
}

/// Loads the values of two blocks in zigzag order: 8 of each in a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn both(a: &Block, b: &Block) -> [__m256i; 8] {
    let ((a, _), (b, _)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    macro_rules! eight {
        ($($i:literal)+) => {
            [$(_mm256_inserti128_si256::<1>(_mm256_castsi128_si256(load128(&a[$i])), load128(&b[$i]))),+]
        };
    }
    eight!(0 1 2 3 4 5 6 7)
}

/// Returns the values of two blocks row by row.
#[inline]
#[target_feature(enable = "avx2")]
fn natural([z0, z1, z2, z3, z4, z5, z6, z7]: [__m256i; 8]) -> [__m256i; 8] {
    let or = |a, b| _mm256_or_si256(a, b);
    let late = or(or(z4, z5), or(z6, z7));
    macro_rules! row {
        ($row:literal: $($place:literal $z:ident)+) => {{
            let row = _mm256_setzero_si256();
            $(let row = or(row, _mm256_shuffle_epi8($z, repeated(&SHUFFLES[$row][$place])));)+
            row
        }};
    }
    if is_zero(late) {
        [
            row!(0: 0 z0 1 z1 3 z3),
            row!(1: 0 z0 1 z1 2 z2 3 z3),
            row!(2: 0 z0 1 z1 2 z2 3 z3),
            row!(3: 1 z1 2 z2 3 z3),
            row!(4: 1 z1 2 z2),
            row!(5: 2 z2),
            row!(6: 2 z2),
            _mm256_setzero_si256(),
        ]
    } else {
        [
            row!(0: 0 z0 1 z1 3 z3),
            row!(1: 0 z0 1 z1 2 z2 3 z3 5 z5),
            row!(2: 0 z0 1 z1 2 z2 3 z3 5 z5),
            row!(3: 1 z1 2 z2 3 z3 5 z5 6 z6),
            row!(4: 1 z1 2 z2 4 z4 5 z5 6 z6),
            row!(5: 2 z2 4 z4 5 z5 6 z6 7 z7),
            row!(6: 2 z2 4 z4 5 z5 6 z6 7 z7),
            row!(7: 4 z4 6 z6 7 z7),
        ]
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn is_zero(vector: __m256i) -> bool {
    _mm256_testz_si256(vector, vector) == 1
}

/// Returns the dequantised rows of two blocks; `None` if there are none.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn dequantised(
    cells: &Cells,
    [a, b]: [u32; 2],
    factors: &[[i16; 8]; 8],
) -> Option<[__m256i; 8]> {
    let [r0, r1, r2, r3, r4, r5, r6, r7] = natural(both(cells.half(a)?, cells.half(b)?));
    let [f0, f1, f2, f3, f4, f5, f6, f7] = factors;
    let by = |row, factors: &[i16; 8]| _mm256_mullo_epi16(row, repeated(factors));
    Some([
        by(r0, f0),
        by(r1, f1),
        by(r2, f2),
        by(r3, f3),
        by(r4, f4),
        by(r5, f5),
        by(r6, f6),
        by(r7, f7),
    ])
}

/// Computes the samples of two adjacent blocks, two rows in a vector; `None` for absurd values for
/// which libjpeg-turbo's short cut differs from the full computation.
#[inline]
#[target_feature(enable = "avx2")]
fn two_blocks(zigzag: [__m256i; 8], factors: &[[i16; 8]]) -> Option<[__m256i; 4]> {
    let [z0, z1, z2, z3, z4, z5, z6, z7] = zigzag;
    let or = |a, b| _mm256_or_si256(a, b);
    let first = factors.first().map_or(_mm256_setzero_si256(), |row| repeated(row));
    let late = or(or(z4, z5), or(z6, z7));
    let early = or(or(z1, z2), z3);
    // The whole first vector except the averages.
    let beside = _mm256_bsrli_epi128::<2>(z0);
    if is_zero(or(or(late, early), beside)) {
        return Some(averages(_mm256_mullo_epi16(z0, first)));
    }
    let rows = natural(zigzag);
    let [f0, f1, f2, f3, f4, f5, f6, f7] = factors.first_chunk::<8>()?;
    let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
    let by = |row, factors: &[i16; 8]| _mm256_mullo_epi16(row, repeated(factors));
    let r0 = by(r0, f0);
    // From -8192 to 8191 the short cut for columns of averages, times 4, does not wrap round.
    let far = _mm256_srli_epi16::<14>(_mm256_add_epi16(r0, _mm256_set1_epi16(8192)));
    if !is_zero(far) {
        return None;
    }
    let rows =
        [r0, by(r1, f1), by(r2, f2), by(r3, f3), by(r4, f4), by(r5, f5), by(r6, f6), by(r7, f7)];
    let [r0, r1, r2, r3, r4, r5, r6, r7] = transpose(transform(rows, ()));
    // Rows of either block, packed, are side by side after the middle ones were exchanged.
    let packed = |a, b| {
        let samples = _mm256_add_epi8(_mm256_packs_epi16(a, b), _mm256_set1_epi8(-128));
        _mm256_permute4x64_epi64::<0b11_01_10_00>(samples)
    };
    Some([packed(r0, r1), packed(r2, r3), packed(r4, r5), packed(r6, r7)])
}

/// As [`two_blocks`], for only the first value of either block.
#[inline]
#[target_feature(enable = "avx2")]
fn averages(products: __m256i) -> [__m256i; 4] {
    // As after the first pass, and divided by 8 in the second.
    let scaled = _mm256_slli_epi16::<{ PASS_BITS as i32 }>(products);
    let rounded = _mm256_adds_epi16(scaled, _mm256_set1_epi16(16));
    let averages = _mm256_srai_epi16::<5>(rounded);
    let samples = _mm256_packs_epi16(averages, averages);
    let samples = _mm256_add_epi8(samples, _mm256_set1_epi8(-128));
    let everywhere = _mm256_shuffle_epi8(samples, _mm256_setzero_si256());
    [_mm256_permute4x64_epi64::<0b11_01_10_00>(everywhere); 4]
}
