//! Bits to bytes, for bitmaps that are shown rather than stored.
//!
//! A vector of bytes is made of a word of bits in three steps: every byte gets the byte of the word
//! that contains its pixel's bit, all other bits are cleared, and nonzero bytes are lit. Two
//! constants select one or three bytes per pixel.
#![allow(unsafe_code)]

use super::level::Level;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

const WORD: usize = 64;

/// Largest number of bytes for a word.
const MOST: usize = 3 * WORD;

/// Writes `C` bytes per pixel, `on` if its bit is set and else 0. `word(y, i)` is word `i` of row
/// `y`; each row is cut off after `row_bytes` bytes.
pub(crate) fn expand<const C: usize>(
    word: impl Fn(usize, usize) -> u64,
    row_bytes: usize,
    on: u8,
    out: &mut [u8],
) {
    match Level::best() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the best level is one whose features the machine has.
        Level::Avx512 => unsafe { expand_avx512::<C>(word, row_bytes, on, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { expand_avx2::<C>(word, row_bytes, on, out) },
        _ => expand_with::<C>(word, row_bytes, out, |word, out| spread::<C>(word, on, out)),
    }
}

/// Calls `spread` for every word and its `64 C` bytes.
#[inline(always)]
fn expand_with<const C: usize>(
    word: impl Fn(usize, usize) -> u64,
    row_bytes: usize,
    out: &mut [u8],
    spread: impl Fn(u64, &mut [u8]),
) {
    for (y, row) in out.chunks_exact_mut(row_bytes.max(1)).enumerate() {
        for (i, out) in row.chunks_mut(WORD * C).enumerate() {
            if out.len() == WORD * C {
                spread(word(y, i), out);
                continue;
            }
            let mut whole = [0; MOST];
            spread(word(y, i), &mut whole[..WORD * C]);
            out.copy_from_slice(&whole[..out.len()]);
        }
    }
}

/// Expands a word on any machine: eight pixels in the bytes of a number.
fn spread<const C: usize>(word: u64, on: u8, out: &mut [u8]) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const DIAGONAL: u64 = 0x8040_2010_0804_0201;
    for (byte, out) in word.to_le_bytes().into_iter().zip(out.chunks_exact_mut(8 * C)) {
        let own_bits = (u64::from(byte) * ONES) & DIAGONAL;
        // The highest bit of every nonzero byte: no byte overflows into the next.
        let lit = (own_bits + 0x7f * ONES) >> 7 & ONES;
        let pixels = (lit * u64::from(on)).to_le_bytes();
        for (pixel, out) in pixels.into_iter().zip(out.chunks_exact_mut(C)) {
            out.fill(pixel);
        }
    }
}

/// Returns for every byte of an expanded word the byte of the word with its bit, and the bit.
#[cfg(target_arch = "x86_64")]
const fn places<const C: usize>() -> ([u8; MOST], [u8; MOST]) {
    let (mut bytes, mut bits) = ([0; MOST], [0; MOST]);
    let mut i = 0;
    while i < WORD * C {
        let pixel = i / C;
        bytes[i] = (pixel / 8) as u8;
        bits[i] = 1 << (pixel % 8);
        i += 1;
    }
    (bytes, bits)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn expand_avx512<const C: usize>(
    word: impl Fn(usize, usize) -> u64,
    row_bytes: usize,
    on: u8,
    out: &mut [u8],
) {
    let (bytes, bits) = const { places::<C>() };
    let on = _mm512_set1_epi8(on as i8);
    expand_with::<C>(word, row_bytes, out, |word, out| {
        let word = _mm512_set1_epi64(word as i64);
        let places = bytes.as_chunks::<64>().0.iter().zip(bits.as_chunks::<64>().0);
        for (out, (bytes, bits)) in out.as_chunks_mut::<64>().0.iter_mut().zip(places) {
            // SAFETY: both references cover 64 bytes; the loads need no alignment.
            let (bytes, bits) = unsafe {
                (
                    _mm512_loadu_si512(bytes.as_ptr().cast()),
                    _mm512_loadu_si512(bits.as_ptr().cast()),
                )
            };
            let lit = _mm512_test_epi8_mask(_mm512_shuffle_epi8(word, bytes), bits);
            let pixels = _mm512_maskz_mov_epi8(lit, on);
            // SAFETY: the reference covers 64 bytes; the store needs no alignment.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), pixels) };
        }
    });
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn expand_avx2<const C: usize>(
    word: impl Fn(usize, usize) -> u64,
    row_bytes: usize,
    on: u8,
    out: &mut [u8],
) {
    let (bytes, bits) = const { places::<C>() };
    let on = _mm256_set1_epi8(on as i8);
    expand_with::<C>(word, row_bytes, out, |word, out| {
        let word = _mm256_set1_epi64x(word as i64);
        let places = bytes.as_chunks::<32>().0.iter().zip(bits.as_chunks::<32>().0);
        for (out, (bytes, bits)) in out.as_chunks_mut::<32>().0.iter_mut().zip(places) {
            // SAFETY: both references cover 32 bytes; the loads need no alignment.
            let (bytes, bits) = unsafe {
                (
                    _mm256_loadu_si256(bytes.as_ptr().cast()),
                    _mm256_loadu_si256(bits.as_ptr().cast()),
                )
            };
            let own_bits = _mm256_and_si256(_mm256_shuffle_epi8(word, bytes), bits);
            let pixels = _mm256_and_si256(_mm256_cmpeq_epi8(own_bits, bits), on);
            // SAFETY: the reference covers 32 bytes; the store needs no alignment.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), pixels) };
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks all versions that this machine has, for bitmaps of one row.
    fn check<const C: usize>(words: &[u64], width: usize, on: u8) {
        let word = |_: usize, i: usize| words[i];
        let lit = |x: usize| words[x / WORD] >> (x % WORD) & 1 == 1;
        let expected: Vec<u8> = (0..width).flat_map(|x| [if lit(x) { on } else { 0 }; C]).collect();
        let mut out = vec![9; width * C];
        expand::<C>(word, width * C, on, &mut out);
        assert_eq!(out, expected);
        out.fill(9);
        expand_with::<C>(word, width * C, &mut out, |word, out| spread::<C>(word, on, out));
        assert_eq!(out, expected);
        #[cfg(target_arch = "x86_64")]
        if Level::available().any(|level| level == Level::Avx2) {
            out.fill(9);
            // SAFETY: the machine has the level, as was just checked.
            unsafe { expand_avx2::<C>(word, width * C, on, &mut out) };
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn bits_become_bytes() {
        let words = [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 0x8000_0000_0000_0001];
        for width in [0, 1, 7, 8, 63, 64, 65, 100, 128, 191, 192] {
            for on in [0, 1, 127, 255] {
                check::<1>(&words, width, on);
                check::<3>(&words, width, on);
            }
        }
    }
}
