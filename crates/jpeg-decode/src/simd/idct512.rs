//! The inverse DCT of four blocks at once, with AVX-512.
use super::{
    avx512::*,
    memory::{load512, store256},
    transform::transform,
};
use crate::{
    Block,
    idct::{
        self, COLUMN_SHIFT, CONST_BITS, F_0_298, F_0_390, F_0_541, F_0_765, F_0_899, F_1_175,
        F_1_501, F_1_847, F_1_961, F_2_053, F_2_562, F_3_072, Factors as Table, PASS_BITS,
        ROW_SHIFT, ZIGZAG,
    },
    instructions::Avx512,
    window::Cells,
};
use std::arch::x86_64::{
    __m512i, _mm512_add_epi8, _mm512_add_epi16, _mm512_adds_epi16, _mm512_castsi512_si256,
    _mm512_extracti64x4_epi64, _mm512_maskz_mov_epi16, _mm512_mullo_epi16, _mm512_or_si512,
    _mm512_packs_epi16, _mm512_permutex2var_epi16, _mm512_permutexvar_epi64, _mm512_set1_epi8,
    _mm512_set1_epi16, _mm512_setr_epi64, _mm512_shuffle_epi8, _mm512_shuffle_i64x2,
    _mm512_slli_epi16, _mm512_srai_epi16, _mm512_srli_epi16, _mm512_test_epi64_mask,
};

transform!("avx512f,avx512bw,avx512vl");

/// For each place in natural order its place in zigzag order, the upper half in a second array.
const PLACES: [[i16; 32]; 2] = {
    let mut places = [[0; 32]; 2];
    let mut place = 0;
    while place < 64 {
        let natural = ZIGZAG[place] as usize;
        places[natural / 32][natural % 32] = place as i16;
        place += 1;
    }
    places
};

/// Transforms adjacent blocks, and clears their cells. The samples go to the first 8 rows of `out`;
/// `stride` must be a multiple of 32 that exceeds all of them.
pub(crate) fn block_row(
    _: Avx512,
    cells: &mut Cells,
    row: &[u32],
    factors: &Table,
    out: &mut [u8],
    stride: usize,
) {
    // SAFETY: the proof of AVX-512.
    unsafe { with_avx512(cells, row, factors, out, stride) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn with_avx512(cells: &mut Cells, row: &[u32], factors: &Table, out: &mut [u8], stride: usize) {
    let mut lines = out.chunks_mut(stride.max(1));
    let mut lines: [&mut [u8]; 8] = std::array::from_fn(|_| lines.next().unwrap_or_default());
    let (factor_halves, _) = factors.as_chunks::<32>();
    let [upper, lower] = factor_halves else { return };
    let halves = [load512(upper), load512(lower)];
    for (four, x) in row.chunks(4).zip((0..).step_by(32)) {
        // Missing ones at the end repeat the last; the extra samples are not used.
        let last = four.len() - 1;
        let at = [0, 1, 2, 3].map(|number: usize| four[number.min(last)]);
        let Some(zigzag) = load(cells, at) else { return };
        let Some(samples) = four_blocks(zigzag, halves) else {
            idct::blocks(cells, four, factors, &mut lines, x);
            continue;
        };
        cells.clear(&at);
        for (line, samples) in lines.as_chunks_mut::<2>().0.iter_mut().zip(samples) {
            let [upper, lower] = line;
            if let Some(upper) = upper.get_mut(x..).and_then(|it| it.first_chunk_mut::<32>()) {
                store256(upper, _mm512_castsi512_si256(samples));
            }
            if let Some(lower) = lower.get_mut(x..).and_then(|it| it.first_chunk_mut::<32>()) {
                store256(lower, _mm512_extracti64x4_epi64::<1>(samples));
            }
        }
    }
}

/// Loads the values of four blocks in zigzag order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn load(cells: &Cells, [a, b, c, d]: [u32; 4]) -> Option<[[__m512i; 2]; 4]> {
    macro_rules! block {
        ($half:ident) => {{
            let values: &Block = cells.half($half)?;
            let (halves, _) = values.as_chunks::<32>();
            [load512(&halves[0]), load512(&halves[1])]
        }};
    }
    Some([block!(a), block!(b), block!(c), block!(d)])
}

/// Computes the samples of four adjacent blocks, two rows in a vector; `None` for absurd values for
/// which libjpeg-turbo's short cut differs from the full computation.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn four_blocks(zigzag: [[__m512i; 2]; 4], factors: [__m512i; 2]) -> Option<[__m512i; 4]> {
    let [a, b, c, d] = zigzag;
    let or = |a, b| _mm512_or_si512(a, b);
    let is_zero = |it| _mm512_test_epi64_mask(it, it) == 0;
    let first = or(or(a[0], b[0]), or(c[0], d[0]));
    let beside = _mm512_maskz_mov_epi16(!1, first);
    let late = or(or(a[1], b[1]), or(c[1], d[1]));
    let places = [load512(&PLACES[0]), load512(&PLACES[1])];
    macro_rules! half {
        ($half:literal, $block:ident) => {
            _mm512_mullo_epi16(
                _mm512_permutex2var_epi16($block[0], places[$half], $block[1]),
                factors[$half],
            )
        };
    }
    // Rows of a block, one in a lane -> a vector for each row, blocks in its lanes.
    macro_rules! lanes {
        ($half:literal) => {{
            let (a, b) = (half!($half, a), half!($half, b));
            let (c, d) = (half!($half, c), half!($half, d));
            let ab = [_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xEE>(a, b)];
            let cd = [_mm512_shuffle_i64x2::<0x44>(c, d), _mm512_shuffle_i64x2::<0xEE>(c, d)];
            [
                _mm512_shuffle_i64x2::<0x88>(ab[0], cd[0]),
                _mm512_shuffle_i64x2::<0xDD>(ab[0], cd[0]),
                _mm512_shuffle_i64x2::<0x88>(ab[1], cd[1]),
                _mm512_shuffle_i64x2::<0xDD>(ab[1], cd[1]),
            ]
        }};
    }
    if is_zero(or(late, beside)) {
        let [r0, ..] = lanes!(0);
        return Some(averages(r0));
    }
    let [r0, r1, r2, r3] = lanes!(0);
    let [r4, r5, r6, r7] = lanes!(1);
    // From -8192 to 8191 the short cut for columns of averages, times 4, does not wrap round.
    let far = _mm512_srli_epi16::<14>(_mm512_add_epi16(r0, _mm512_set1_epi16(8192)));
    if !is_zero(far) {
        return None;
    }
    let columns = transform([r0, r1, r2, r3, r4, r5, r6, r7], ());
    let [r0, r1, r2, r3, r4, r5, r6, r7] = transpose(columns);
    Some([packed(r0, r1), packed(r2, r3), packed(r4, r5), packed(r6, r7)])
}

/// Packs two rows of four blocks each, clamped to samples.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn packed(a: __m512i, b: __m512i) -> __m512i {
    let samples = _mm512_add_epi8(_mm512_packs_epi16(a, b), _mm512_set1_epi8(-128));
    _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), samples)
}

/// As [`four_blocks`], for only the first value of every lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn averages(products: __m512i) -> [__m512i; 4] {
    // As after the first pass, and divided by 8 in the second.
    let scaled = _mm512_slli_epi16::<{ PASS_BITS }>(products);
    let rounded = _mm512_adds_epi16(scaled, _mm512_set1_epi16(16));
    let averages = _mm512_srai_epi16::<5>(rounded);
    let everywhere = _mm512_shuffle_epi8(averages, _mm512_set1_epi16(0x0100));
    [packed(everywhere, everywhere); 4]
}
