//! From the planes of a window to rows of pixels.
use crate::{
    color,
    instructions::Loops,
    plane::{Plane, ROW_UNIT},
};
use fdconvert_jpeg::Color;
use std::ops::Range;

/// Rows between steps; reused between images.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    rows: [Vec<u8>; 3],
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    sums: [Vec<u16>; 2],
    /// 128 everywhere: the colour difference of gray.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    none: Vec<u8>,
    /// A row that starts a pixel too early.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    shifted: Vec<u8>,
}

impl Scratch {
    /// Prepares for planes of `n_columns` columns of pixels.
    pub(crate) fn reach(&mut self, n_columns: usize) {
        let length = n_columns.next_multiple_of(ROW_UNIT) + ROW_UNIT;
        for row in &mut self.rows {
            row.resize(length.max(row.len()), 0);
        }
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        self.none.resize(length.max(self.none.len()), 128);
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) y: usize,
    /// Columns, relative to the first one in the planes.
    pub(crate) x: Range<usize>,
    pub(crate) mcu_y: usize,
}

/// Writes a row of RGB.
pub(crate) fn rgb(
    loops: Loops,
    color: Color,
    planes: &[Plane],
    row: &Row,
    scratch: &mut Scratch,
    out: &mut [u8],
) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if let Some(base) = loops.base()
        && with_vectors(base, color, planes, row, scratch, out)
    {
        return;
    }
    let _ = loops;
    let [first, second, third] = &mut scratch.rows;
    let rows = [
        samples(planes, 0, row, first),
        samples(planes, 1, row, second),
        samples(planes, 2, row, third),
    ];
    color::row(color, rows, out);
}

/// Writes a row of the first component.
pub(crate) fn luma(planes: &[Plane], row: &Row, scratch: &mut Scratch, out: &mut [u8]) {
    let row = samples(planes, 0, row, &mut scratch.rows[0]);
    out.iter_mut().zip(row).for_each(|(out, sample)| *out = *sample);
}

/// Returns a row of a component's samples, from its first column on.
fn samples<'a>(
    planes: &'a [Plane],
    component: usize,
    row: &Row,
    scratch: &'a mut [u8],
) -> &'a [u8] {
    let samples = planes.get(component).map(|it| it.image_row(row.y, row.mcu_y, scratch));
    samples.and_then(|it| it.get(row.x.start..)).unwrap_or_default()
}

/// Writes a row with vectors; `false` if they do not support it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn with_vectors(
    base: crate::instructions::Base,
    color: Color,
    planes: &[Plane],
    row: &Row,
    scratch: &mut Scratch,
    out: &mut [u8],
) -> bool {
    use crate::simd;
    let Scratch { rows: [first, second, third], sums: [cb_sums, cr_sums], none, shifted } = scratch;
    match (color, planes) {
        (Color::Gray, _) => {
            simd::whole_row(base, samples(planes, 0, row, first), [none, none], out);
        }
        (Color::YCbCr, [_, cb, cr]) => match (cb.method().bias(), cr.method().bias()) {
            (Some(bias), Some(other)) if bias == other => {
                for (plane, sums) in [(cb, &mut *cb_sums), (cr, &mut *cr_sums)] {
                    let (near, far) = plane.near_and_far(row.y, row.mcu_y);
                    simd::sums(base, near, far, plane.n_columns(), sums);
                }
                // Two columns of pixels come from one column of samples.
                let is_odd = row.x.start % 2 == 1;
                let even = Row { x: row.x.start - usize::from(is_odd)..row.x.end, ..*row };
                let luma = samples(planes, 0, &even, first);
                let from = even.x.start / 2;
                let sums = [&*cb_sums, &*cr_sums].map(|it| it.get(from..).unwrap_or_default());
                if is_odd {
                    shifted.resize(out.len() + 3, 0);
                    simd::half_row(base, luma, sums, bias, shifted);
                    out.copy_from_slice(shifted.get(3..).unwrap_or_default());
                } else {
                    simd::half_row(base, luma, sums, bias, out);
                }
            }
            _ => {
                let luma = samples(planes, 0, row, first);
                let both = [samples(planes, 1, row, second), samples(planes, 2, row, third)];
                simd::whole_row(base, luma, both, out);
            }
        },
        _ => return false,
    }
    true
}
