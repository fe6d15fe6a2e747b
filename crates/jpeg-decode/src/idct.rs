//! From coefficients to samples: the accurate inverse DCT of libjpeg, "islow" (Loeffler,
//! Ligtenberg and Moschytz; `jidctint.c`), as libjpeg-turbo computes it with vectors of 16 bits
//! (`jidctint-avx2.asm`).
//!
//! For the coefficients of an encoder all variants give the same bits. Absurd ones differ by where
//! a variant wraps around and where it saturates. To make these equal too, sums before a
//! multiplication wrap around in 16 bits here, and both passes saturate to 16 bits.
use crate::{Block, window::Cells};

/// Storage order of the 64 values of a block, as places in natural order (T.81, figure A.6).
pub(crate) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

// Fixed-point constants: round(x * 8192).
pub(crate) const F_0_298: i32 = 2446;
pub(crate) const F_0_390: i32 = 3196;
pub(crate) const F_0_541: i32 = 4433;
pub(crate) const F_0_765: i32 = 6270;
pub(crate) const F_0_899: i32 = 7373;
pub(crate) const F_1_175: i32 = 9633;
pub(crate) const F_1_501: i32 = 12299;
pub(crate) const F_1_847: i32 = 15137;
pub(crate) const F_1_961: i32 = 16069;
pub(crate) const F_2_053: i32 = 16819;
pub(crate) const F_2_562: i32 = 20995;
pub(crate) const F_3_072: i32 = 25172;

/// Fraction bits of the constants, and of the values between the passes.
pub(crate) const CONST_BITS: u32 = 13;
pub(crate) const PASS_BITS: u32 = 2;
/// Bits removed in the first pass.
pub(crate) const COLUMN_SHIFT: u32 = CONST_BITS - PASS_BITS;
/// The second pass also divides by 8.
pub(crate) const ROW_SHIFT: u32 = CONST_BITS + PASS_BITS + 3;

/// A quantisation table in natural order. 16-bit factors are treated as signed, as by
/// libjpeg-turbo.
pub(crate) type Factors = [i16; 64];

/// Transforms adjacent blocks, and clears their cells. The samples go to the first 8 rows of `out`,
/// `stride` bytes apart.
pub(crate) fn block_row(
    cells: &mut Cells,
    row: &[u32],
    factors: &Factors,
    out: &mut [u8],
    stride: usize,
) {
    let mut lines = out.chunks_mut(stride.max(1));
    let mut lines = std::array::from_fn(|_| lines.next().unwrap_or_default());
    blocks(cells, row, factors, &mut lines, 0);
}

/// Transforms blocks from a column on, into separate rows.
pub(crate) fn blocks(
    cells: &mut Cells,
    row: &[u32],
    factors: &Factors,
    lines: &mut [&mut [u8]; 8],
    x: usize,
) {
    for (half, x) in row.iter().zip((x..).step_by(8)) {
        let Some(values) = cells.half_mut(*half) else { return };
        for (line, samples) in lines.iter_mut().zip(block(values, factors)) {
            if let Some(line) = line.get_mut(x..).and_then(|line| line.first_chunk_mut()) {
                *line = samples;
            }
        }
        *values = [0; 64];
    }
}

/// Returns the 8 rows of samples of a block.
#[inline]
fn block(coefficients: &Block, factors: &Factors) -> [[u8; 8]; 8] {
    let mut values = [[0; 8]; 8];
    let mut below_first_row = 0;
    for (value, natural) in coefficients.iter().zip(ZIGZAG) {
        let (row, column) = (usize::from(natural / 8) & 7, usize::from(natural) & 7);
        values[row][column] = value.wrapping_mul(factors[8 * row + column]);
        below_first_row |= if row == 0 { 0 } else { *value };
    }
    if below_first_row == 0 {
        // Columns with only averages; their product wraps around where the full computation
        // saturates.
        values = [values[0].map(|value| value << PASS_BITS); 8];
    } else {
        values = transpose(&values).map(|column| pass::<COLUMN_SHIFT>(&column));
        values = transpose(&values);
    }
    values.map(|row| pass::<ROW_SHIFT>(&row).map(|value| (value.clamp(-128, 127) + 128) as u8))
}

#[inline]
fn transpose(values: &[[i16; 8]; 8]) -> [[i16; 8]; 8] {
    std::array::from_fn(|row| std::array::from_fn(|column| values[column & 7][row & 7]))
}

/// One dimension; the results are divided by 2 to the power of `SHIFT`.
#[inline]
fn pass<const SHIFT: u32>(values: &[i16; 8]) -> [i16; 8] {
    let [in0, in1, in2, in3, in4, in5, in6, in7] = *values;
    // The sum of two products cannot exceed 32 bits; with a further summand it may.
    let dot = |a: i16, by_a: i32, b: i16, by_b: i32| i32::from(a) * by_a + i32::from(b) * by_b;

    let t3 = dot(in2, F_0_541 + F_0_765, in6, F_0_541);
    let t2 = dot(in2, F_0_541, in6, F_0_541 - F_1_847);
    let t0 = i32::from(in0.wrapping_add(in4)) << CONST_BITS;
    let t1 = i32::from(in0.wrapping_sub(in4)) << CONST_BITS;
    let even = [t0.wrapping_add(t3), t1.wrapping_add(t2), t1.wrapping_sub(t2), t0.wrapping_sub(t3)];

    let (z3, z4) = (in7.wrapping_add(in3), in5.wrapping_add(in1));
    let by_3 = dot(z3, F_1_175 - F_1_961, z4, F_1_175);
    let by_4 = dot(z3, F_1_175, z4, F_1_175 - F_0_390);
    let odd = [
        dot(in7, -F_0_899, in1, F_1_501 - F_0_899).wrapping_add(by_4),
        dot(in5, -F_2_562, in3, F_3_072 - F_2_562).wrapping_add(by_3),
        dot(in5, F_2_053 - F_2_562, in3, -F_2_562).wrapping_add(by_4),
        dot(in7, F_0_298 - F_0_899, in1, -F_0_899).wrapping_add(by_3),
    ];
    let [e0, e1, e2, e3] = even;
    let [o0, o1, o2, o3] = odd;
    [
        e0.wrapping_add(o0),
        e1.wrapping_add(o1),
        e2.wrapping_add(o2),
        e3.wrapping_add(o3),
        e3.wrapping_sub(o3),
        e2.wrapping_sub(o2),
        e1.wrapping_sub(o1),
        e0.wrapping_sub(o0),
    ]
    .map(|sum| saturate(sum.wrapping_add(1 << (SHIFT - 1)) >> SHIFT))
}

#[inline]
fn saturate(value: i32) -> i16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}
