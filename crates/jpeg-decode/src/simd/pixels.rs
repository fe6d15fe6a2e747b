//! From samples to rows of RGB, with AVX2: horizontal [`crate::upsample`] and [`crate::color`] in
//! one step, so that colour differences are never stored at the resolution of the image.
//!
//! Even and odd columns of pixels are processed separately, because upsampling makes one of each
//! from a column of samples.
use super::{load128, load256, store256, transform::pair};
use crate::{
    color::{BLUE_BY_CB, GREEN_BY_CB, GREEN_BY_CR, RED_BY_CR},
    instructions::Avx2,
    upsample::Bias,
};
use std::arch::x86_64::{
    __m256i, _mm_cvtsi32_si128, _mm256_add_epi16, _mm256_add_epi32, _mm256_and_si256,
    _mm256_broadcastsi128_si256, _mm256_madd_epi16, _mm256_mulhi_epi16, _mm256_or_si256,
    _mm256_packs_epi32, _mm256_packus_epi16, _mm256_permute2x128_si256, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_shuffle_epi8, _mm256_sra_epi16, _mm256_srai_epi16, _mm256_srai_epi32,
    _mm256_srli_epi16, _mm256_sub_epi16, _mm256_unpackhi_epi16, _mm256_unpacklo_epi16,
};

/// Number of pixels per step.
const STEP: usize = 32;

/// Writes a row of a component, or 3 parts of a row and 1 of a farther one, to `sums`: the columns
/// start at the second place, with the outer ones repeated on either side.
pub(crate) fn sums(
    _: Avx2,
    near: &[u8],
    far: Option<&[u8]>,
    n_columns: usize,
    sums: &mut Vec<u16>,
) {
    // SAFETY: the proof of AVX2.
    unsafe { sums_avx2(near, far, n_columns, sums) }
}

#[target_feature(enable = "avx2")]
fn sums_avx2(near: &[u8], far: Option<&[u8]>, n_columns: usize, sums: &mut Vec<u16>) {
    // A step of columns reads one before and one after, and may start anywhere.
    let needed = n_columns.next_multiple_of(STEP / 2) + STEP;
    if sums.len() < needed {
        sums.resize(needed, 0);
    }
    let Some(columns) = sums.get_mut(1..=n_columns) else { return };
    match far {
        Some(far) => {
            for ((sum, near), far) in columns.iter_mut().zip(near).zip(far) {
                *sum = u16::from(*near) * 3 + u16::from(*far);
            }
        }
        None => {
            for (sum, sample) in columns.iter_mut().zip(near) {
                *sum = u16::from(*sample);
            }
        }
    }
    sums[0] = sums[1];
    sums[n_columns + 1] = sums[n_columns];
}

/// Writes a row of pixels, three bytes each, from samples for each column. The sample rows extend
/// to the next multiple of 32 columns; `out` may have any length.
pub(crate) fn whole_row(_: Avx2, luma: &[u8], [cb, cr]: [&[u8]; 2], out: &mut [u8]) {
    // SAFETY: the proof of AVX2.
    unsafe { whole_row_avx2(luma, [cb, cr], out) }
}

#[target_feature(enable = "avx2")]
fn whole_row_avx2(luma: &[u8], [cb, cr]: [&[u8]; 2], out: &mut [u8]) {
    let luma = luma.as_chunks::<STEP>().0;
    let (cb, cr) = (cb.as_chunks::<STEP>().0, cr.as_chunks::<STEP>().0);
    for (((luma, cb), cr), out) in luma.iter().zip(cb).zip(cr).zip(out.chunks_mut(3 * STEP)) {
        let ([cb_even, cb_odd], [cr_even, cr_odd]) = (centred(load256(cb)), centred(load256(cr)));
        let [even, odd] = halves(load256(luma));
        write(rgb(even, cb_even, cr_even), rgb(odd, cb_odd, cr_odd), out);
    }
}

/// Writes a row of pixels with colour differences of half as many columns, from [`sums`] and
/// rounded by `bias`.
pub(crate) fn half_row(_: Avx2, luma: &[u8], [cb, cr]: [&[u16]; 2], bias: Bias, out: &mut [u8]) {
    // SAFETY: the proof of AVX2.
    unsafe { half_row_avx2(luma, [cb, cr], bias, out) }
}

#[target_feature(enable = "avx2")]
fn half_row_avx2(luma: &[u8], [cb, cr]: [&[u16]; 2], bias: Bias, out: &mut [u8]) {
    let luma = luma.as_chunks::<STEP>().0;
    let steps = luma.iter().zip(out.chunks_mut(3 * STEP)).zip((0..).step_by(STEP / 2));
    for ((luma, out), x) in steps {
        let (Some(cb), Some(cr)) = (cb.get(x..), cr.get(x..)) else { return };
        // By reference: a copy would be read before it is written.
        let (Some(cb), Some(cr)) = (cb.first_chunk(), cr.first_chunk()) else { return };
        let ([cb_even, cb_odd], [cr_even, cr_odd]) = (blended(cb, bias), blended(cr, bias));
        let [even, odd] = halves(load256(luma));
        write(rgb(even, cb_even, cr_even), rgb(odd, cb_odd, cr_odd), out);
    }
}

/// Splits 8-bit numbers into even and odd ones, as 16-bit numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(samples: __m256i) -> [__m256i; 2] {
    let even = _mm256_and_si256(samples, _mm256_set1_epi16(255));
    [even, _mm256_srli_epi16::<8>(samples)]
}

/// Splits samples, less 128, into even and odd ones.
#[inline]
#[target_feature(enable = "avx2")]
fn centred(samples: __m256i) -> [__m256i; 2] {
    let ([even, odd], half) = (halves(samples), _mm256_set1_epi16(128));
    [_mm256_sub_epi16(even, half), _mm256_sub_epi16(odd, half)]
}

/// Returns samples less 128 of even and of odd columns of pixels, from 16 sums and their
/// neighbours.
#[inline]
#[target_feature(enable = "avx2")]
fn blended(sums: &[u16; STEP / 2 + 2], bias: Bias) -> [__m256i; 2] {
    let Bias { shift, left, right } = bias;
    let part = |from: usize| sums[from..].first_chunk::<{ STEP / 2 }>();
    let (Some(before), Some(column), Some(next)) = (part(0), part(1), part(2)) else {
        return [_mm256_set1_epi16(0); 2];
    };
    let column = load256(column);
    let thrice = _mm256_add_epi16(column, _mm256_add_epi16(column, column));
    // The subtracted 128 is combined with the rounding.
    let centre = 128 << shift;
    let shift = _mm_cvtsi32_si128(shift as i32);
    let side = |neighbour: __m256i, bias: u32| {
        let bias = _mm256_set1_epi16((bias as i16).wrapping_sub(centre));
        _mm256_sra_epi16(_mm256_add_epi16(_mm256_add_epi16(thrice, bias), neighbour), shift)
    };
    [side(load256(before), left), side(load256(next), right)]
}

/// Returns red, green and blue of 16 pixels in 16-bit numbers, from luma and colour differences
/// less 128. Factors beyond 16 bits are split: 1.402 is 1 and 0.402, of which half is used.
#[inline]
#[target_feature(enable = "avx2")]
fn rgb(luma: __m256i, cb: __m256i, cr: __m256i) -> [__m256i; 3] {
    let one = _mm256_set1_epi16(1);
    // (2 x factor / 65536 + 1) / 2 is x factor / 65536 rounded, with each division rounding down.
    let rounded = |twice: __m256i, factor: i32| {
        let product = _mm256_mulhi_epi16(twice, _mm256_set1_epi16(factor as i16));
        _mm256_srai_epi16::<1>(_mm256_add_epi16(product, one))
    };
    let (twice_cb, twice_cr) = (_mm256_add_epi16(cb, cb), _mm256_add_epi16(cr, cr));
    let red = _mm256_add_epi16(cr, rounded(twice_cr, RED_BY_CR - (1 << 16)));
    let blue = _mm256_add_epi16(twice_cb, rounded(twice_cb, BLUE_BY_CB - (2 << 16)));

    let factors = _mm256_set1_epi32(pair(-GREEN_BY_CB, (1 << 16) - GREEN_BY_CR));
    let half = _mm256_set1_epi32(1 << 15);
    let green = |both: __m256i| {
        _mm256_srai_epi32::<16>(_mm256_add_epi32(_mm256_madd_epi16(both, factors), half))
    };
    let low = green(_mm256_unpacklo_epi16(cb, cr));
    let high = green(_mm256_unpackhi_epi16(cb, cr));
    let green = _mm256_sub_epi16(_mm256_packs_epi32(low, high), cr);
    [_mm256_add_epi16(luma, red), _mm256_add_epi16(luma, green), _mm256_add_epi16(luma, blue)]
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

/// Writes 32 pixels, or as many as fit.
#[inline]
#[target_feature(enable = "avx2")]
fn write(even: [__m256i; 3], odd: [__m256i; 3], out: &mut [u8]) {
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
    if let ([a, b, c], []) = out.as_chunks_mut::<STEP>() {
        store256(a, first);
        store256(b, second);
        store256(c, third);
    } else {
        let mut pixels = [[0; STEP]; 3];
        store256(&mut pixels[0], first);
        store256(&mut pixels[1], second);
        store256(&mut pixels[2], third);
        out.iter_mut().zip(pixels.as_flattened()).for_each(|(out, byte)| *out = *byte);
    }
}
