//! The antialiased bilinear filter for RGB with vectors: down first, then across, row by row of
//! the output, so that intermediate values stay in the first-level cache.
//!
//! Sums are integers: their order changes no bit. `fast_image_resize` does the same with other
//! vectors, in all cases that these loops do not support, and is the reference for them.
//!
//! ```text
//! down       a block of bytes at a time: the input rows, two by two, times their weights
//! across     16 values at a time: their inputs are selected from windows of the row, two by two
//! ```
//!
//! What the instruction sets do differently is in a file for each (see `vectors`); all else is here
//! and in `columns`, and is compiled once for each of them.
#![allow(unsafe_code, reason = "blocks of rows whose lengths were compared before")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod columns;
#[cfg(target_arch = "aarch64")]
mod neon;
mod taps;
mod vectors;

use crate::{simd::Instructions, stretch::Source};
use columns::{Columns, ROOM};
use taps::{Tap, Taps};
use vectors::Vectors;

/// Largest number of input rows or columns of an output row or column.
const MOST_TAPS: usize = 8;
/// Most bits of the weights with which all vectors compute.
const MOST_PRECISION: u32 = 16;

/// The filter, with the instructions of this processor.
pub(super) struct Bilinear {
    loops: Loops,
    tables: Tables,
}

/// The vectors in use, with the proof that the processor has them.
#[derive(Debug, Clone, Copy)]
enum Loops {
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
}

/// Tables and buffers, reused between images.
#[derive(Debug, Default)]
struct Tables {
    across: Taps,
    down: Taps,
    columns: Columns,
    /// A row of the source's columns, and `ROOM` after it.
    row: Vec<u8>,
}

impl Bilinear {
    /// Creates one with at most these instructions; `None` if there are no loops for them here.
    pub(super) fn new(most: Instructions) -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        let avx2 = || avx2::Avx2::detect().map(Loops::Avx2);
        let loops = match most {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => avx512::Avx512::detect().map(Loops::Avx512).or_else(avx2),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => avx2(),
            #[cfg(target_arch = "x86_64")]
            Instructions::Neon | Instructions::Portable => None,
            #[cfg(target_arch = "aarch64")]
            Instructions::Portable => None,
            #[cfg(target_arch = "aarch64")]
            _ => neon::Neon::detect().map(Loops::Neon),
        };
        Some(Self { loops: loops?, tables: Tables::default() })
    }

    /// Fills `out`, `size` pixels of RGB. `None`, with `out` unchanged, if these loops do not
    /// support it.
    pub(super) fn rgb(
        &mut self,
        source: &Source<'_>,
        size: (u32, u32),
        out: &mut [u8],
    ) -> Option<()> {
        let job = Job { tables: &mut self.tables, source, size, out };
        match self.loops {
            #[cfg(target_arch = "x86_64")]
            Loops::Avx2(here) => here.run(job),
            #[cfg(target_arch = "x86_64")]
            Loops::Avx512(here) => here.run(job),
            #[cfg(target_arch = "aarch64")]
            Loops::Neon(here) => here.run(job),
        }
    }
}

/// A call of [`Bilinear::rgb`].
struct Job<'a> {
    tables: &'a mut Tables,
    source: &'a Source<'a>,
    size: (u32, u32),
    out: &'a mut [u8],
}

impl Job<'_> {
    /// Does the work. Inlined, so that it is compiled with the instructions of the caller.
    #[inline(always)]
    fn run<V: Vectors<BLOCK, WINDOW>, const BLOCK: usize, const WINDOW: usize>(
        self,
        vectors: V,
    ) -> Option<()> {
        let Self { tables: Tables { across, down, columns, row }, source, size, out } = self;
        let Source { pixels, view, rect, .. } = *source;
        across.set(view.2, (rect.0, rect.0 + rect.2), size.0);
        down.set(view.3, (rect.1, rect.1 + rect.3), size.1);
        let (first, behind) = across.reach()?;
        let n_bytes = behind.checked_sub(first)? * 3;
        let is_supported = |taps: &Taps| {
            let few = taps.taps.iter().all(|tap| (1..=MOST_TAPS).contains(&tap.len));
            few && taps.precision <= MOST_PRECISION
        };
        if n_bytes < BLOCK || !is_supported(across) || !is_supported(down) {
            return None;
        }
        columns.set::<V, BLOCK, WINDOW>(across, first)?;
        let stride = source.size.0 as usize * 3;
        let corner = view.1 as usize * stride + (view.0 as usize + first) * 3;
        let rows = pixels.get(corner..)?;
        let (_, last) = down.reach()?;
        // Checks that all rows exist.
        rows.get(last.checked_sub(1)? * stride..)?.get(..n_bytes)?;
        row.resize(n_bytes + ROOM, 0);
        let taps = (0..).zip(&down.taps);
        for (out, (number, tap)) in out.chunks_exact_mut(size.0 as usize * 3).zip(taps) {
            let inputs = Rows { pixels: rows, stride, tap: *tap, weights: down.of(number, *tap) };
            let means = row.get_mut(..n_bytes)?;
            match tap.len {
                1 => inputs.sum::<V, BLOCK, WINDOW, 1>(vectors, down.precision, means),
                2 => inputs.sum::<V, BLOCK, WINDOW, 2>(vectors, down.precision, means),
                3 => inputs.sum::<V, BLOCK, WINDOW, 3>(vectors, down.precision, means),
                4 => inputs.sum::<V, BLOCK, WINDOW, 4>(vectors, down.precision, means),
                5 => inputs.sum::<V, BLOCK, WINDOW, 5>(vectors, down.precision, means),
                6 => inputs.sum::<V, BLOCK, WINDOW, 6>(vectors, down.precision, means),
                7 => inputs.sum::<V, BLOCK, WINDOW, 7>(vectors, down.precision, means),
                _ => inputs.sum::<V, BLOCK, WINDOW, 8>(vectors, down.precision, means),
            }?;
            columns.sum(vectors, row, out);
        }
        Some(())
    }
}

/// The input rows of an output row.
struct Rows<'a> {
    pixels: &'a [u8],
    stride: usize,
    tap: Tap,
    weights: &'a [i16],
}

impl Rows<'_> {
    /// Writes the weighted mean of `N` rows, from their starts on. `None`, with `out` unchanged, if
    /// there are fewer, or if `out` is shorter than a block.
    #[inline(always)]
    fn sum<V: Vectors<BLOCK, WINDOW>, const BLOCK: usize, const WINDOW: usize, const N: usize>(
        &self,
        vectors: V,
        precision: u32,
        out: &mut [u8],
    ) -> Option<()> {
        let mut rows = [&[][..]; N];
        for (row, y) in rows.iter_mut().zip(self.tap.first..) {
            *row = self.pixels.get(y * self.stride..)?.get(..out.len())?;
        }
        let mut weights = [vectors.weights([0; 2], precision); N];
        for (weights, of) in weights.iter_mut().zip(self.weights.chunks(2)) {
            let second = of.get(1).copied().unwrap_or_default();
            *weights = vectors.weights([*of.first()?, second], precision);
        }
        // The last block ends with the row, and overlaps the previous one.
        let last = out.len().checked_sub(BLOCK)?;
        let mut at = 0;
        loop {
            // SAFETY: `at` is at most `last`, so that a block more is at most the length of `out`,
            // which is that of each row.
            let block = |row: &[u8]| unsafe { *row.as_ptr().add(at).cast::<[u8; BLOCK]>() };
            let mut sums = vectors.none(precision);
            for pair in 0..N / 2 {
                let both = [block(rows[pair * 2]), block(rows[pair * 2 + 1])];
                sums = vectors.add_two(sums, &both[0], &both[1], weights[pair]);
            }
            if N % 2 == 1 {
                sums = vectors.add_one(sums, &block(rows[N - 1]), weights[N / 2]);
            }
            let means = vectors.means(sums, precision);
            // SAFETY: as above.
            unsafe { *out.as_mut_ptr().add(at).cast::<[u8; BLOCK]>() = means };
            if at == last {
                return Some(());
            }
            at = (at + BLOCK).min(last);
        }
    }
}
