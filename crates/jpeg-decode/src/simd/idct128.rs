//! The inverse DCT of a block, with NEON.
use super::{neon::*, transform::transform};
use crate::{
    Block,
    idct::{
        self, COLUMN_SHIFT, CONST_BITS, F_0_298, F_0_390, F_0_541, F_0_765, F_0_899, F_1_175,
        F_1_501, F_1_847, F_1_961, F_2_053, F_2_562, F_3_072, Factors as Table, PASS_BITS,
        ROW_SHIFT, ZIGZAG,
    },
    instructions::Neon,
    window::Cells,
};
use std::{
    arch::aarch64::{
        int16x8_t, uint8x16_t, uint8x16x4_t, vaddq_s16, vdupq_n_s16, vdupq_n_u8, vget_high_u8,
        vget_low_u8, vmaxvq_u16, vmaxvq_u32, vmulq_s16, vorrq_s16, vqtbl1q_u8, vqtbl4q_u8,
        vqtbx1q_u8, vreinterpretq_s16_u8, vreinterpretq_u8_s16, vreinterpretq_u8_u32,
        vreinterpretq_u16_s16, vreinterpretq_u32_s16, vreinterpretq_u32_u8, vst1_u8, vzip1q_u8,
        vzip1q_u32, vzip2q_u8, vzip2q_u32,
    },
    hint::black_box,
};

transform!("neon");

/// What the transform loads. It is one table behind a pointer that tells the compiler nothing:
/// otherwise each number would be made by instructions for each block, and kept in a register of
/// its own.
struct Constants {
    factors: [[i16; 8]; 2],
    /// For each row of a block, the bytes of its values among those of the first four vectors in
    /// zigzag order, or of the last four for the last four rows; 255 for values that are elsewhere.
    four: [[u8; 16]; 8],
    /// Likewise for one vector each: vectors 6 and 7 for the first four rows, vectors 2 and 3 for the
    /// last four.
    one: [[[u8; 16]; 2]; 8],
}

static CONSTANTS: Constants = {
    let (mut factors, mut number) = ([[0; 8]; 2], 0);
    while number < FACTORS.len() {
        factors[number / 8][number % 8] = FACTORS[number] as i16;
        number += 1;
    }
    let (mut four, mut one, mut row) = ([[0; 16]; 8], [[[0; 16]; 2]; 8], 0);
    while row < 8 {
        let is_late = row >= 4;
        four[row] = places(row, if is_late { 64 } else { 0 }, 64);
        one[row][0] = places(row, if is_late { 16 } else { 80 }, 16);
        one[row][1] = places(row, if is_late { 32 } else { 96 }, 16);
        row += 1;
    }
    Constants { factors, four, one }
};

/// Returns the places of the bytes of a row's values among some bytes in zigzag order.
const fn places(row: usize, from: usize, n_bytes: usize) -> [u8; 16] {
    let mut places = [255; 16];
    let mut place = 0;
    while place < 64 {
        let natural = ZIGZAG[place] as usize;
        let byte = 2 * place;
        if natural / 8 == row && byte >= from && byte < from + n_bytes {
            places[2 * (natural % 8)] = (byte - from) as u8;
            places[2 * (natural % 8) + 1] = (byte - from + 1) as u8;
        }
        place += 1;
    }
    places
}

/// Transforms adjacent blocks, and clears their cells. The samples go to the first 8 rows of `out`,
/// `stride` bytes apart.
pub(crate) fn block_row(
    _: Neon,
    cells: &mut Cells,
    row: &[u32],
    factors: &Table,
    out: &mut [u8],
    stride: usize,
) {
    // SAFETY: the proof of NEON.
    unsafe { with_neon(cells, row, factors, out, stride) }
}

#[target_feature(enable = "neon")]
fn with_neon(cells: &mut Cells, row: &[u32], factors: &Table, out: &mut [u8], stride: usize) {
    let (factor_rows, _) = factors.as_chunks::<8>();
    let Some(factor_rows) = factor_rows.first_chunk::<8>() else { return };
    let constants = black_box(&CONSTANTS);
    for (at, x) in row.iter().zip((0..).step_by(8)) {
        let Some(block) = cells.half_mut(*at) else { return };
        match one_block(block, factor_rows, constants) {
            Some(samples) => {
                *block = [0; 64];
                store(samples, out, x, stride);
            }
            None => {
                let mut lines = out.chunks_mut(stride.max(1));
                let mut lines = std::array::from_fn(|_| lines.next().unwrap_or_default());
                idct::blocks(cells, &[*at], factors, &mut lines, x);
            }
        }
    }
}

/// Stores 8 rows of 8 samples, two of them in a vector, from a column on.
#[inline]
#[target_feature(enable = "neon")]
fn store(samples: [uint8x16_t; 4], out: &mut [u8], x: usize, stride: usize) {
    let Some(out) = out.get_mut(x..) else { return };
    if stride > out.len() || out.len() < 7 * stride + 8 {
        return;
    }
    let mut to = out.as_mut_ptr();
    for two in samples {
        // SAFETY: the end of the last row is within `out`, by the lines above.
        unsafe {
            vst1_u8(to, vget_low_u8(two));
            vst1_u8(to.add(stride), vget_high_u8(two));
            to = to.wrapping_add(2 * stride);
        }
    }
}

/// Loads the values of a block in zigzag order.
#[inline]
#[target_feature(enable = "neon")]
fn zigzag(block: &Block) -> [int16x8_t; 8] {
    let (z, _) = block.as_chunks::<8>();
    [
        load(&z[0]),
        load(&z[1]),
        load(&z[2]),
        load(&z[3]),
        load(&z[4]),
        load(&z[5]),
        load(&z[6]),
        load(&z[7]),
    ]
}

#[inline]
#[target_feature(enable = "neon")]
fn is_zero(vector: int16x8_t) -> bool {
    vmaxvq_u32(vreinterpretq_u32_s16(vector)) == 0
}

/// Returns true if the last 32 values in zigzag order are zero.
#[inline]
#[target_feature(enable = "neon")]
fn ends_early([_, _, _, _, z4, z5, z6, z7]: [int16x8_t; 8]) -> bool {
    is_zero(vorrq_s16(vorrq_s16(z4, z5), vorrq_s16(z6, z7)))
}

/// Returns the values of a block row by row.
#[inline]
#[target_feature(enable = "neon")]
fn natural(zigzag: [int16x8_t; 8], ends_early: bool, constants: &Constants) -> [int16x8_t; 8] {
    let [z0, z1, z2, z3, z4, z5, z6, z7] = zigzag.map(|it| vreinterpretq_u8_s16(it));
    let (early, late) = (uint8x16x4_t(z0, z1, z2, z3), uint8x16x4_t(z4, z5, z6, z7));
    // What four vectors have of a row, and then what some others have.
    macro_rules! row {
        ($row:literal of $four:ident $(and $z:ident $number:literal)*) => {{
            let row = vqtbl4q_u8($four, load_bytes(&constants.four[$row]));
            $(let row = vqtbx1q_u8(row, $z, load_bytes(&constants.one[$row][$number]));)*
            vreinterpretq_s16_u8(row)
        }};
    }
    if ends_early {
        let one =
            |row: usize| vreinterpretq_s16_u8(vqtbl1q_u8(z2, load_bytes(&constants.one[row][1])));
        let r4 = vqtbl1q_u8(z1, load_bytes(&constants.one[4][0]));
        let r4 = vqtbx1q_u8(r4, z2, load_bytes(&constants.one[4][1]));
        [
            row!(0 of early),
            row!(1 of early),
            row!(2 of early),
            row!(3 of early),
            vreinterpretq_s16_u8(r4),
            one(5),
            one(6),
            vdupq_n_s16(0),
        ]
    } else {
        [
            row!(0 of early),
            row!(1 of early and z5 0),
            row!(2 of early and z5 0),
            row!(3 of early and z5 0 and z6 1),
            row!(4 of late and z1 0 and z2 1),
            row!(5 of late and z2 1),
            row!(6 of late and z2 1),
            row!(7 of late),
        ]
    }
}

#[inline]
#[target_feature(enable = "neon")]
fn by_factors(rows: [int16x8_t; 8], factors: &[[i16; 8]; 8]) -> [int16x8_t; 8] {
    let [r0, r1, r2, r3, r4, r5, r6, r7] = rows;
    let [f0, f1, f2, f3, f4, f5, f6, f7] = factors;
    let by = |row, factors: &[i16; 8]| vmulq_s16(row, load(factors));
    [by(r0, f0), by(r1, f1), by(r2, f2), by(r3, f3), by(r4, f4), by(r5, f5), by(r6, f6), by(r7, f7)]
}

/// Returns the dequantised rows of a block; `None` if there is none.
#[inline]
#[target_feature(enable = "neon")]
pub(super) fn dequantised(
    cells: &Cells,
    [at]: [u32; 1],
    factors: &[[i16; 8]; 8],
) -> Option<[int16x8_t; 8]> {
    let zigzag = zigzag(cells.half(at)?);
    Some(by_factors(natural(zigzag, ends_early(zigzag), &CONSTANTS), factors))
}

/// Computes the samples of a block, two rows in a vector; `None` for absurd values for which
/// libjpeg-turbo's short cut differs from the full computation.
#[inline]
#[target_feature(enable = "neon")]
fn one_block(
    block: &Block,
    factors: &[[i16; 8]; 8],
    constants: &Constants,
) -> Option<[uint8x16_t; 4]> {
    let zigzag = zigzag(block);
    let ends_early = ends_early(zigzag);
    let rows = if ends_early {
        let [_, z1, z2, z3, ..] = zigzag;
        let (words, _) = block.as_chunks::<4>();
        if is_zero(vorrq_s16(vorrq_s16(z1, z2), z3)) && words[1] == [0; 4] && block[1..4] == [0; 3]
        {
            return Some(averages(block[0].wrapping_mul(factors[0][0])));
        }
        natural(zigzag, true, constants)
    } else {
        natural(zigzag, false, constants)
    };
    let rows = by_factors(rows, factors);
    // From -8192 to 8191 the short cut for columns of averages, times 4, does not wrap round.
    let far = vreinterpretq_u16_s16(vaddq_s16(rows[0], vdupq_n_s16(8192)));
    if vmaxvq_u16(far) >= 1 << 14 {
        return None;
    }
    let [c0, c1, c2, c3, c4, c5, c6, c7] =
        transform(rows, [load(&constants.factors[0]), load(&constants.factors[1])]);
    const SHIFT: Bits = ROW_SHIFT as Bits;
    let (a, b) = (samples::<SHIFT>(c0, c4), samples::<SHIFT>(c1, c5));
    let (c, d) = (samples::<SHIFT>(c2, c6), samples::<SHIFT>(c3, c7));
    // Columns 0 and 2, 4 and 6, and so on; then four columns of four rows; then whole rows.
    let (even, odd) = ([vzip1q_u8(a, c), vzip2q_u8(a, c)], [vzip1q_u8(b, d), vzip2q_u8(b, d)]);
    let four = |at: usize| [vzip1q_u8(even[at], odd[at]), vzip2q_u8(even[at], odd[at])];
    let (left, right) = (four(0), four(1));
    let whole = |at: usize| {
        let (left, right) = (vreinterpretq_u32_u8(left[at]), vreinterpretq_u32_u8(right[at]));
        [vzip1q_u32(left, right), vzip2q_u32(left, right)].map(|it| vreinterpretq_u8_u32(it))
    };
    let ([r01, r23], [r45, r67]) = (whole(0), whole(1));
    Some([r01, r23, r45, r67])
}

/// Returns the samples of a block with only a first value.
#[inline]
#[target_feature(enable = "neon")]
fn averages(product: i16) -> [uint8x16_t; 4] {
    // As after the first pass, and divided by 8 in the second.
    let average = (product << PASS_BITS).saturating_add(16) >> 5;
    let sample = (average.clamp(-128, 127) + 128) as u8;
    [vdupq_n_u8(sample); 4]
}
