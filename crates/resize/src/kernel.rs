//! The loops over pixels, in plain Rust that the compiler vectorises. `simd` compiles them once per
//! instruction set, so everything here is inlined.
//!
//! No `mul_add`: a fused multiplication rounds once where OpenCV rounds twice. Rust never fuses by
//! itself, so every instruction set gives the same bits.

use super::axis::{Axis, Span};

/// Source rows of the horizontal pass at once: four independent chains of additions hide the
/// latency of one.
pub(super) const ROWS: usize = 4;

/// Bytes after a row that the kernels may read: three channels are loaded as four.
pub(super) const SLACK: usize = 1;

/// The horizontal pass: writes the weighted means along the rows to `out`.
///
/// Each mean adds up from the left, starting with the first product.
#[inline(always)]
pub(super) fn horizontal<const C: usize>(
    rows: [&[u8]; ROWS],
    axis: &Axis,
    out: [&mut [f32]; ROWS],
) {
    match C {
        1 => horizontal_gray(rows, axis, out),
        3 => horizontal_color::<3>(rows, axis, out),
        _ => horizontal_color::<4>(rows, axis, out),
    }
}

/// Four lanes per pixel. With three channels the fourth lane holds the next pixel's first channel;
/// it is stored where that pixel's own value overwrites it a step later.
///
/// The four rows are cut to equal lengths, so that the compiler compares a position once for all.
#[inline(always)]
fn horizontal_color<const STEP: usize>(rows: [&[u8]; ROWS], axis: &Axis, out: [&mut [f32]; ROWS]) {
    let n_bytes = rows.iter().map(|row| row.len()).min().unwrap_or_default();
    let [row_0, row_1, row_2, row_3] = rows.map(|row| row.split_at(n_bytes).0);
    let n_sums = out.iter().map(|out| out.len()).min().unwrap_or_default();
    let [out_0, out_1, out_2, out_3] = out.map(|out| out.split_at_mut(n_sums).0);
    for (i, &span) in axis.spans.iter().enumerate() {
        let (from, to) = (span.first * STEP, (span.first + span.len) * STEP + 4 - STEP);
        let (Some(a), Some(b)) = (row_0.get(from..to), row_1.get(from..to)) else { continue };
        let (Some(c), Some(d)) = (row_2.get(from..to), row_3.get(from..to)) else { continue };
        let mut sums = [[0.0f32; 4]; ROWS];
        for (number, &weight) in axis.of(span).iter().enumerate() {
            let at = number * STEP;
            let (Some(a), Some(b)) = (four(a, at), four(b, at)) else { break };
            let (Some(c), Some(d)) = (four(c, at), four(d, at)) else { break };
            for (sum, pixel) in sums.iter_mut().zip([a, b, c, d]) {
                for (sum, &value) in sum.iter_mut().zip(pixel) {
                    *sum += f32::from(value) * weight;
                }
            }
        }
        let [a, b, c, d] = sums;
        store::<STEP>(out_0, i, a);
        store::<STEP>(out_1, i, b);
        store::<STEP>(out_2, i, c);
        store::<STEP>(out_3, i, d);
    }
}

#[inline(always)]
fn four(row: &[u8], at: usize) -> Option<&[u8; 4]> {
    row.get(at..)?.first_chunk()
}

#[inline(always)]
fn store<const STEP: usize>(out: &mut [f32], i: usize, sum: [f32; 4]) {
    if let Some(out) = out.get_mut(i * STEP..).and_then(<[f32]>::first_chunk_mut) {
        *out = sum;
    }
}

#[inline(always)]
fn horizontal_gray(rows: [&[u8]; ROWS], axis: &Axis, out: [&mut [f32]; ROWS]) {
    for (row, out) in rows.into_iter().zip(out) {
        for (&span, out) in axis.spans.iter().zip(out) {
            let values = row.get(span.first..span.first + span.len).unwrap_or_default();
            let mut sum = 0.0;
            for (&value, &weight) in values.iter().zip(axis.of(span)) {
                sum += f32::from(value) * weight;
            }
            *out = sum;
        }
    }
}

/// The first row of the vertical pass.
#[inline(always)]
pub(super) fn start(sums: &mut [f32], row: &[f32], weight: f32) {
    for (sum, &value) in sums.iter_mut().zip(row) {
        *sum = value * weight;
    }
}

/// Each further row of the vertical pass.
#[inline(always)]
pub(super) fn add(sums: &mut [f32], row: &[f32], weight: f32) {
    for (sum, &value) in sums.iter_mut().zip(row) {
        *sum += value * weight;
    }
}

/// Rounds half to even and saturates, as OpenCV's `saturate_cast`.
#[inline(always)]
pub(super) fn round(sums: &[f32], out: &mut [u8]) {
    for (out, &sum) in out.iter_mut().zip(sums) {
        *out = round_one(sum);
    }
}

/// Adding 1.5 * 2^23 leaves no fraction bits, so the addition itself rounds half to even and the
/// integer is in the low bits. Unlike a conversion, every instruction set has it.
#[inline(always)]
pub(super) fn round_one(sum: f32) -> u8 {
    (sum.clamp(0.0, 255.0) + 12_582_912.0).to_bits() as u8
}

/// Adds up `across` pixels each of one row into `sums`, for whole ratios.
#[inline(always)]
pub(super) fn add_whole<const C: usize>(sums: &mut [u32], row: &[u8], across: usize) {
    let (sums, _) = sums.as_chunks_mut::<C>();
    let (pixels, _) = row.as_chunks::<C>();
    for (sum, cell) in sums.iter_mut().zip(pixels.chunks_exact(across)) {
        for pixel in cell {
            for (sum, &value) in sum.iter_mut().zip(pixel) {
                *sum += u32::from(value);
            }
        }
    }
}

/// Writes the means for whole ratios; for 2x2 OpenCV rounds half up, otherwise half to even.
#[inline(always)]
pub(super) fn round_whole(sums: &[u32], across: usize, down: usize, out: &mut [u8]) {
    if (across, down) == (2, 2) {
        for (out, &sum) in out.iter_mut().zip(sums) {
            *out = ((sum + 2) >> 2) as u8;
        }
        return;
    }
    let scale = (1.0 / (across * down) as f64) as f32;
    for (out, &sum) in out.iter_mut().zip(sums) {
        *out = round_one(sum as f32 * scale);
    }
}

#[inline(always)]
pub(super) fn rows_of(axis: &Axis, span: Span) -> impl Iterator<Item = (usize, f32)> {
    (span.first..).zip(axis.of(span).iter().copied())
}
