//! The antialiased bilinear filter for RGB with AVX-512: rows first, then columns, row by row of
//! the output, so that intermediate values stay in the first-level cache.
//!
//! Sums are integers: their order changes no bit. `fast_image_resize` does the same with other
//! vectors, in all cases that these loops do not support, and is the reference for them.
//!
//! ```text
//! down       64 bytes at a time: two rows interleaved as 16-bit numbers, times two weights
//! across     5 pixels at a time: the 64 bytes from their first input on; a permutation
//!            interleaves two inputs of each of the 15 values, times two weights
//! ```
#![allow(
    unsafe_code,
    reason = "loads of vectors, and a call that needs a proof of the instructions"
)]

use crate::{
    stretch::Source,
    taps::{Tap, Taps},
};
use std::arch::x86_64::{
    __m512i, _mm_cvtsi32_si128, _mm_storeu_si128, _mm512_add_epi32, _mm512_cvtusepi32_epi8,
    _mm512_loadu_si512, _mm512_madd_epi16, _mm512_maskz_permutexvar_epi8, _mm512_packs_epi32,
    _mm512_packus_epi16, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_sra_epi32,
    _mm512_storeu_si512, _mm512_unpackhi_epi8, _mm512_unpacklo_epi8,
};

/// Number of output pixels computed at a time.
const GROUP: usize = 5;
/// Bytes of a vector.
const VECTOR: usize = 64;
/// Largest number of input rows per output row: beyond, the inputs of five pixels do not fit a
/// vector.
const MOST_ROWS: usize = 8;
/// The first and third of every four bytes, as 16-bit numbers.
const LOW_BYTES: u64 = 0x5555_5555_5555_5555;

/// Proof of AVX-512 F, BW and VBMI.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi");
        all.then_some(Self(()))
    }
}

/// Tables and buffers, reused between images.
#[derive(Debug, Default)]
pub(super) struct Bilinear {
    across: Taps,
    down: Taps,
    groups: Groups,
    /// A row of the source's columns, and the room of a vector after it.
    row: Vec<u8>,
}

/// The output columns, in groups.
#[derive(Debug, Default)]
struct Groups {
    /// Start of the inputs of each group in a row.
    starts: Vec<usize>,
    /// Number of pairs of inputs of each group.
    n_pairs: usize,
    pairs: Vec<Pair>,
}

/// Two inputs of each value of a group.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Pair {
    /// Bytes to select, in the first and third of every four.
    order: [u8; VECTOR],
    weights: [i16; VECTOR / 2],
}

const NO_PAIR: Pair = Pair { order: [0; VECTOR], weights: [0; VECTOR / 2] };

impl Bilinear {
    /// Fills `out`, `size` pixels of RGB. `None`, with `out` unchanged, if these loops do not
    /// support it.
    pub(super) fn rgb(
        &mut self,
        _: Avx512,
        source: &Source<'_>,
        size: (u32, u32),
        out: &mut [u8],
    ) -> Option<()> {
        // SAFETY: the proof shows that the processor has the instructions.
        unsafe { self.run(source, size, out) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn run(&mut self, source: &Source<'_>, size: (u32, u32), out: &mut [u8]) -> Option<()> {
        let Source { pixels, view, rect, .. } = *source;
        self.across.set(view.2, (rect.0, rect.0 + rect.2), size.0);
        self.down.set(view.3, (rect.1, rect.1 + rect.3), size.1);
        let (first, behind) = self.across.reach()?;
        let n_bytes = behind.checked_sub(first)? * 3;
        if n_bytes < VECTOR || self.down.taps.iter().any(|tap| tap.len > MOST_ROWS) {
            return None;
        }
        self.groups.set(&self.across, first)?;
        let stride = source.size.0 as usize * 3;
        let corner = view.1 as usize * stride + (view.0 as usize + first) * 3;
        let rows = pixels.get(corner..)?;
        let (_, last) = self.down.reach()?;
        // Checks that all rows exist.
        rows.get(last.checked_sub(1)? * stride..)?.get(..n_bytes)?;
        self.row.resize(n_bytes + VECTOR, 0);
        let down = (0..).zip(&self.down.taps);
        for (out, (number, tap)) in out.chunks_exact_mut(size.0 as usize * 3).zip(down) {
            let weights = self.down.of(number, *tap);
            let of_row = |y: usize| rows.get(y * stride..).and_then(|row| row.get(..n_bytes));
            let mut inputs = [&[][..]; MOST_ROWS];
            for (input, y) in inputs.iter_mut().zip(tap.first..tap.first + tap.len) {
                *input = of_row(y).unwrap_or_default();
            }
            let row = self.row.get_mut(..n_bytes)?;
            sum_rows(inputs.get(..tap.len)?, weights, self.down.precision, row);
            self.groups.sum_columns(&self.row, self.across.precision, out);
        }
        Some(())
    }
}

/// Writes the weighted mean of some rows, which have the length of `out`, at least a vector.
#[target_feature(enable = "avx512f,avx512bw")]
fn sum_rows(rows: &[&[u8]], weights: &[i16], precision: u32, out: &mut [u8]) {
    let mut pairs = [(&[][..], &[][..], _mm512_setzero_si512()); MOST_ROWS / 2];
    let mut n_pairs = 0;
    for ((pair, rows), weights) in pairs.iter_mut().zip(rows.chunks(2)).zip(weights.chunks(2)) {
        // A single row is paired with itself at weight 0.
        let (&[a, b], &[first, second]) = (rows, weights) else {
            let (&[a], &[first]) = (rows, weights) else { continue };
            *pair = (a, a, _mm512_set1_epi32(i32::from(first)));
            n_pairs += 1;
            continue;
        };
        *pair = (a, b, _mm512_set1_epi32(i32::from(first) | i32::from(second) << 16));
        n_pairs += 1;
    }
    let pairs = pairs.get(..n_pairs).unwrap_or_default();
    let (half, shift) =
        (_mm512_set1_epi32(1 << precision >> 1), _mm_cvtsi32_si128(precision as i32));
    let zero = _mm512_setzero_si512();
    // The last vector ends with the row, and overlaps the previous one.
    let n_whole = out.len() / VECTOR;
    let last = out.len() - VECTOR;
    for at in (0..n_whole).map(|number| number * VECTOR).chain([last]) {
        let mut sums = [half; 4];
        for (a, b, weights) in pairs {
            let (Some(a), Some(b)) = (vector_at(a, at), vector_at(b, at)) else { continue };
            let (low, high) = (_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b));
            let parts = [
                _mm512_unpacklo_epi8(low, zero),
                _mm512_unpackhi_epi8(low, zero),
                _mm512_unpacklo_epi8(high, zero),
                _mm512_unpackhi_epi8(high, zero),
            ];
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(part, *weights));
            }
        }
        let [a, b, c, d] = sums.map(|sum| _mm512_sra_epi32(sum, shift));
        let bytes = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
        if let Some(out) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<VECTOR>) {
            // SAFETY: 64 bytes, by the type.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), bytes) };
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn vector_at(bytes: &[u8], at: usize) -> Option<__m512i> {
    let bytes = bytes.get(at..)?.first_chunk::<VECTOR>()?;
    // SAFETY: 64 bytes, by the type.
    Some(unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) })
}

impl Groups {
    /// Makes the tables for rows that start at input `from`. `None` if the inputs of a group do not
    /// fit a vector.
    #[inline(always)]
    fn set(&mut self, across: &Taps, from: usize) -> Option<()> {
        let most = across.taps.iter().map(|tap| tap.len).max()?;
        self.n_pairs = most.div_ceil(2);
        self.starts.clear();
        self.pairs.clear();
        for (number, taps) in across.taps.chunks(GROUP).enumerate() {
            let first = taps.iter().map(|tap| tap.first).min()?;
            self.starts.push(first.checked_sub(from)? * 3);
            let at = self.pairs.len();
            self.pairs.resize(at + self.n_pairs, NO_PAIR);
            let pairs = self.pairs.get_mut(at..)?;
            for (place, tap) in taps.iter().enumerate() {
                let weights = across.of(number * GROUP + place, *tap);
                put(pairs, place, Tap { first: tap.first - first, ..*tap }, weights)?;
            }
        }
        Some(())
    }

    /// Writes the weighted means along a row.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn sum_columns(&self, row: &[u8], precision: u32, out: &mut [u8]) {
        let half = _mm512_set1_epi32(1 << precision >> 1);
        let shift = _mm_cvtsi32_si128(precision as i32);
        let groups = self.starts.iter().zip(self.pairs.chunks_exact(self.n_pairs.max(1)));
        let mut out = out;
        for (start, pairs) in groups {
            let Some(inputs) = vector_at(row, *start) else { continue };
            let mut sum = half;
            for Pair { order, weights } in pairs {
                // SAFETY: 64 bytes each, by their types.
                let (order, weights) = unsafe {
                    (
                        _mm512_loadu_si512(order.as_ptr().cast()),
                        _mm512_loadu_si512(weights.as_ptr().cast()),
                    )
                };
                let values = _mm512_maskz_permutexvar_epi8(LOW_BYTES, order, inputs);
                sum = _mm512_add_epi32(sum, _mm512_madd_epi16(values, weights));
            }
            // No weight is negative, so that no sum is; too large ones become 255.
            let bytes = _mm512_cvtusepi32_epi8(_mm512_sra_epi32(sum, shift));
            let mut values = [0; 16];
            // SAFETY: 16 bytes, by the type.
            unsafe { _mm_storeu_si128(values.as_mut_ptr().cast(), bytes) };
            // The sixteenth byte is overwritten by the next group.
            match out.first_chunk_mut::<16>() {
                Some(out) => *out = values,
                None => out.iter_mut().zip(values).for_each(|(out, value)| *out = value),
            }
            out = out.split_at_mut(out.len().min(GROUP * 3)).1;
        }
    }
}

/// Adds the inputs of a pixel of a group to its pairs. `None` if they are not in the vector.
#[inline(always)]
fn put(pairs: &mut [Pair], place: usize, tap: Tap, weights: &[i16]) -> Option<()> {
    if (tap.first + tap.len) * 3 > VECTOR {
        return None;
    }
    for (number, weight) in weights.iter().enumerate() {
        let Pair { order, weights } = pairs.get_mut(number / 2)?;
        for channel in 0..3 {
            let lane = place * 3 + channel;
            *order.get_mut(lane * 4 + number % 2 * 2)? = ((tap.first + number) * 3 + channel) as u8;
            *weights.get_mut(lane * 2 + number % 2)? = *weight;
        }
    }
    Some(())
}
