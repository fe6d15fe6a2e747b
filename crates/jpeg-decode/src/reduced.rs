//! Blocks of fewer samples: the inverse DCTs of libjpeg to 4x4, 2x2 and 1 (`jidctred.c`,
//! `jidctint.c`), which leave out the coefficients of the highest frequencies.
use crate::{
    Block,
    idct::{F_0_765, F_0_899, F_1_847, F_2_562, Factors, ZIGZAG},
    window::Cells,
};

// Fixed-point constants: round(x * 8192).
pub(crate) const F_0_211: i32 = 1730;
pub(crate) const F_0_509: i32 = 4176;
pub(crate) const F_0_601: i32 = 4926;
pub(crate) const F_0_720: i32 = 5906;
pub(crate) const F_0_850: i32 = 6967;
pub(crate) const F_1_061: i32 = 8697;
pub(crate) const F_1_272: i32 = 10426;
pub(crate) const F_1_451: i32 = 11893;
pub(crate) const F_2_172: i32 = 17799;
pub(crate) const F_3_624: i32 = 29692;
const CONST_BITS: u32 = 13;
const PASS_BITS: u32 = 2;
/// Divisors of the two passes, as powers of 2.
pub(crate) const FOUR_SHIFTS: (u32, u32) =
    (CONST_BITS - PASS_BITS + 1, CONST_BITS + PASS_BITS + 3 + 1);
pub(crate) const TWO_SHIFTS: (u32, u32) =
    (CONST_BITS - PASS_BITS + 2, CONST_BITS + PASS_BITS + 3 + 2);

/// Samples on a side of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Four,
    Two,
    One,
}

/// Transforms adjacent blocks, and clears their cells. The samples go to the first rows of `out`,
/// `stride` bytes apart.
pub(crate) fn block_row(
    side: Side,
    cells: &mut Cells,
    row: &[u32],
    factors: &Factors,
    out: &mut [u8],
    stride: usize,
) {
    for (number, half) in row.iter().enumerate() {
        let Some(values) = cells.half_mut(*half) else { return };
        match side {
            Side::Four => put(four(values, factors), out, number * 4, stride),
            Side::Two => put(two(values, factors), out, number * 2, stride),
            Side::One => put([[one(values, factors)]], out, number, stride),
        }
        *values = [0; 64];
    }
}

/// Computes the averages of adjacent blocks.
pub(crate) fn averages(cells: &Cells, row: &[u32], factors: &Factors, out: &mut [u8]) {
    for (half, sample) in row.iter().zip(out) {
        let Some(values) = cells.half(*half) else { return };
        *sample = one(values, factors);
    }
}

fn put<const N: usize>(samples: [[u8; N]; N], out: &mut [u8], x: usize, stride: usize) {
    for (line, samples) in out.chunks_mut(stride.max(1)).zip(samples) {
        if let Some(line) = line.get_mut(x..).and_then(|line| line.first_chunk_mut()) {
            *line = samples;
        }
    }
}

/// Returns the dequantised values, row by row.
fn natural(coefficients: &Block, factors: &Factors) -> [[i32; 8]; 8] {
    let mut values = [[0; 8]; 8];
    for (value, natural) in coefficients.iter().zip(ZIGZAG) {
        let (row, column) = (usize::from(natural / 8) & 7, usize::from(natural) & 7);
        values[row][column] = i32::from(value.wrapping_mul(factors[8 * row + column]));
    }
    values
}

fn one(coefficients: &Block, factors: &Factors) -> u8 {
    sample((i32::from(coefficients[0].wrapping_mul(factors[0])) + 4) >> 3)
}

fn two(coefficients: &Block, factors: &Factors) -> [[u8; 2]; 2] {
    let values = natural(coefficients, factors);
    let mut rows = [[0; 8]; 2];
    for column in [0, 1, 3, 5, 7] {
        let [upper, lower] =
            two_of::<{ TWO_SHIFTS.0 }>(std::array::from_fn(|row| values[row][column]));
        (rows[0][column], rows[1][column]) = (upper, lower);
    }
    rows.map(|row| two_of::<{ TWO_SHIFTS.1 }>(row).map(sample))
}

/// One dimension; the results are divided by 2 to the power of `SHIFT`.
fn two_of<const SHIFT: u32>([in0, in1, _, in3, _, in5, _, in7]: [i32; 8]) -> [i32; 2] {
    let even = in0.wrapping_shl(CONST_BITS + 2);
    let odd = sum([(in7, -F_0_720), (in5, F_0_850), (in3, -F_1_272), (in1, F_3_624)]);
    [even.wrapping_add(odd), even.wrapping_sub(odd)].map(descale::<SHIFT>)
}

fn four(coefficients: &Block, factors: &Factors) -> [[u8; 4]; 4] {
    let values = natural(coefficients, factors);
    let mut rows = [[0; 8]; 4];
    for column in [0, 1, 2, 3, 5, 6, 7] {
        let made = four_of::<{ FOUR_SHIFTS.0 }>(std::array::from_fn(|row| values[row][column]));
        rows.iter_mut().zip(made).for_each(|(row, value)| row[column] = value);
    }
    rows.map(|row| four_of::<{ FOUR_SHIFTS.1 }>(row).map(sample))
}

/// One dimension, likewise.
fn four_of<const SHIFT: u32>([in0, in1, in2, in3, _, in5, in6, in7]: [i32; 8]) -> [i32; 4] {
    let (t0, t2) = (in0.wrapping_shl(CONST_BITS + 1), sum([(in2, F_1_847), (in6, -F_0_765)]));
    let (outer, inner) = (t0.wrapping_add(t2), t0.wrapping_sub(t2));
    let by_inner = sum([(in7, -F_0_211), (in5, F_1_451), (in3, -F_2_172), (in1, F_1_061)]);
    let by_outer = sum([(in7, -F_0_509), (in5, -F_0_601), (in3, F_0_899), (in1, F_2_562)]);
    [
        outer.wrapping_add(by_outer),
        inner.wrapping_add(by_inner),
        inner.wrapping_sub(by_inner),
        outer.wrapping_sub(by_outer),
    ]
    .map(descale::<SHIFT>)
}

/// Returns the sum of products; absurd values wrap around.
fn sum<const N: usize>(products: [(i32, i32); N]) -> i32 {
    products.iter().fold(0, |sum, (value, by)| sum.wrapping_add(value.wrapping_mul(*by)))
}

/// Rounds and saturates to 16 bits, as values between the passes of vector code.
fn descale<const SHIFT: u32>(sum: i32) -> i32 {
    let rounded = sum.wrapping_add(1 << (SHIFT - 1)) >> SHIFT;
    rounded.clamp(i16::MIN.into(), i16::MAX.into())
}

fn sample(value: i32) -> u8 {
    (value.clamp(-128, 127) + 128) as u8
}
