//! OpenCV's `INTER_AREA`: every output pixel is the mean of the input area that it covers.
//!
//! If both ratios are whole numbers, cells of whole pixels are added up as integers. Otherwise the
//! weights along the two dimensions are tabulated, and for every output row
//!
//! ```text
//! for each source row y that it touches, from the top:
//!     for each output column: means[column] = sum of source[y][x] * weight_x, from the left
//!     sums = sums + means * weight_y
//! output = round half to even (sums)
//! ```
//!
//! all in `f32`, where the rounding after every step is part of the result. A source row on the
//! border of two output rows counts for both, so the means of the latest four rows are kept.

use super::{
    axis::{Axis, whole_ratio},
    kernel::{self, ROWS, SLACK},
    simd::{self, Instructions},
};
use fdconvert_core::Pixels;

/// Tables and buffers, reused between images.
#[derive(Default)]
pub(super) struct Area {
    across: Axis,
    down: Axis,
    means: [Vec<f32>; ROWS],
    sums: Vec<f32>,
    whole: Vec<u32>,
    tail: Vec<u8>,
}

impl Area {
    /// Writes `pixels` at `to` (no side larger than before) into `out`, which has that size.
    pub(super) fn resize(
        &mut self,
        instructions: Instructions,
        pixels: &Pixels,
        (width, height): (u32, u32),
        out: &mut [u8],
    ) {
        let from = (pixels.width as usize, pixels.height as usize);
        let to = (width as usize, height as usize);
        let data = pixels.data.as_slice();
        match pixels.channels {
            1 => simd::run::<1>(instructions, self, data, from, to, out),
            3 => simd::run::<3>(instructions, self, data, from, to, out),
            _ => simd::run::<4>(instructions, self, data, from, to, out),
        }
    }

    /// Resizes with one number of channels; `simd` compiles it for each instruction set.
    #[inline(always)]
    pub(super) fn run<const C: usize>(
        &mut self,
        data: &[u8],
        from: (usize, usize),
        to: (usize, usize),
        out: &mut [u8],
    ) {
        if let (Some(across), Some(down)) = (whole_ratio(from.0, to.0), whole_ratio(from.1, to.1)) {
            self.run_whole::<C>(data, from.0, to.0, (across, down), out);
        } else {
            self.run_weighted::<C>(data, from, to, out);
        }
    }

    #[inline(always)]
    fn run_whole<const C: usize>(
        &mut self,
        data: &[u8],
        from_width: usize,
        to_width: usize,
        (across, down): (usize, usize),
        out: &mut [u8],
    ) {
        let cells = data.chunks_exact(from_width * C * down);
        for (out, rows) in out.chunks_exact_mut(to_width * C).zip(cells) {
            self.whole.clear();
            self.whole.resize(to_width * C, 0);
            for row in rows.chunks_exact(from_width * C) {
                kernel::add_whole::<C>(&mut self.whole, row, across);
            }
            kernel::round_whole(&self.whole, across, down, out);
        }
    }

    #[inline(always)]
    fn run_weighted<const C: usize>(
        &mut self,
        data: &[u8],
        (from_width, from_height): (usize, usize),
        (to_width, to_height): (usize, usize),
        out: &mut [u8],
    ) {
        self.across.set(from_width, to_width);
        self.down.set(from_height, to_height);
        for means in &mut self.means {
            means.resize(to_width * C + SLACK, 0.0);
        }
        self.sums.resize(to_width * C, 0.0);
        let stride = from_width * C;
        // The last row has no bytes after it to read: it is copied to a buffer that has.
        let last_row = (from_height - 1) * stride;
        self.tail.clear();
        self.tail.extend_from_slice(data.get(last_row..).unwrap_or_default());
        self.tail.resize(stride + SLACK, 0);
        let tail = self.tail.as_slice();
        let row = |y: usize| {
            let start = y * stride;
            data.get(start..start + stride + SLACK).unwrap_or(tail)
        };
        // The rows `ready..ready + ROWS` have their means in `self.means`.
        let mut ready = None;
        for (out, &span) in out.chunks_exact_mut(to_width * C).zip(&self.down.spans) {
            for (i, (y, weight)) in kernel::rows_of(&self.down, span).enumerate() {
                let first = match ready {
                    Some(first) if y < first + ROWS => first,
                    _ => {
                        let rows = [row(y), row(y + 1), row(y + 2), row(y + 3)];
                        let means = self.means.each_mut().map(Vec::as_mut_slice);
                        kernel::horizontal::<C>(rows, &self.across, means);
                        ready = Some(y);
                        y
                    }
                };
                let Some(means) = self.means.get(y - first) else { continue };
                if i == 0 {
                    kernel::start(&mut self.sums, means, weight);
                } else {
                    kernel::add(&mut self.sums, means, weight);
                }
            }
            kernel::round(&self.sums, out);
        }
    }
}
