//! The placement of an image's pixels in its row.
use crate::transform::{Change, Padding, pixel_warp};

/// Placement of the image of a sample in one view of it.
///
/// All zero in rows without a sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RowGeometry {
    /// Width and height of the image, upright if the loader turns it.
    pub source: (u32, u32),
    /// Width and height of the row.
    pub size: (u32, u32),
    /// Takes points of the image to the row, in homogeneous coordinates: the product with (x, y, 1),
    /// divided by its third number. Both are counted in pixels from the upper left corner of the
    /// upper left pixel.
    pub matrix: [[f64; 3]; 3],
}

impl RowGeometry {
    /// Creates the placement of an image of size `source` after changes.
    pub(crate) fn new(changes: &[Change], source: (u32, u32)) -> Self {
        let mut matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let mut size = source;
        for change in changes.iter().filter(|change| change.moves_pixels()) {
            matrix = product(&change.matrix(size), &matrix);
            size = change.size(size);
        }
        Self { source, size, matrix }
    }
}

fn product(left: &[[f64; 3]; 3], right: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    left.map(|row| std::array::from_fn(|at| (0..3).map(|by| row[by] * right[by][at]).sum()))
}

/// The image pixel for each pixel of a row, as far as whole columns and rows were moved: the nearest
/// one to the left and above, like torchvision's `NEAREST`.
#[derive(Debug, Default)]
pub(crate) struct Nearest {
    /// Column of the image for each column of the row, from the left of the row.
    columns: Vec<u32>,
    rows: Vec<u32>,
    /// For each change that added columns or rows, whether they have the fill value; else 0.
    outside: Vec<bool>,
}

/// Numbers from here on mark what is outside the image: `u32::MAX` what was added first.
const OUTSIDE: u32 = 1 << 31;

impl Nearest {
    /// Shows an image of this width and height as it is.
    pub(super) fn reset(&mut self, (width, height): (u32, u32)) {
        self.columns.clear();
        self.columns.extend(0..width);
        self.rows.clear();
        self.rows.extend(0..height);
        self.outside.clear();
    }

    /// Applies a change; returns false if it does not move whole columns and rows.
    pub(super) fn apply(&mut self, change: &Change) -> bool {
        match *change {
            Change::Resize { size: [height, width], .. } => {
                resize(&mut self.columns, width);
                resize(&mut self.rows, height);
            }
            Change::Crop { top, left, height, width } => {
                self.cut((left, width), (top, height), Padding::Constant(()), false);
            }
            Change::Pad { padding: [left, top, right, bottom], padding_mode, .. } => {
                let lengths = [&self.columns, &self.rows].map(|places| places.len() as u32);
                let width = lengths[0].saturating_add(left).saturating_add(right);
                let height = lengths[1].saturating_add(top).saturating_add(bottom);
                let (left, top) = (-i64::from(left), -i64::from(top));
                let padding = padding_mode.padding(());
                self.cut((left, width), (top, height), padding, true);
            }
            Change::HorizontalFlip => self.columns.reverse(),
            Change::VerticalFlip => self.rows.reverse(),
            Change::Warp { .. } => return false,
            _ => {}
        }
        true
    }

    fn cut(
        &mut self,
        columns: (i64, u32),
        rows: (i64, u32),
        padding: Padding<()>,
        is_filled: bool,
    ) {
        let outside = u32::MAX - self.outside.len() as u32;
        self.outside.push(is_filled);
        for (places, (start, length)) in [(&mut self.columns, columns), (&mut self.rows, rows)] {
            let place = |at: i64| {
                let at = padding.source(at as isize, places.len());
                at.and_then(|at| places.get(at)).copied().unwrap_or(outside)
            };
            *places = (start..start + i64::from(length)).map(place).collect();
        }
    }

    /// Returns width and height of the row.
    pub(super) fn size(&self) -> (u32, u32) {
        (self.columns.len() as u32, self.rows.len() as u32)
    }

    /// Returns true if the rows are in the order of the image, with nothing else between them.
    pub(super) fn is_in_order(&self) -> bool {
        let inside = self.rows.iter().skip_while(|row| **row >= OUTSIDE);
        let n_after = self.rows.iter().rev().take_while(|row| **row >= OUTSIDE).count();
        let n_inside = inside.clone().count().saturating_sub(n_after);
        let inside = inside.take(n_inside);
        inside.clone().all(|row| *row < OUTSIDE) && inside.is_sorted()
    }

    /// Returns, for each column of a row, the column of a mask of that size, and the same for rows.
    /// A mask of another size than the image is first resized to the image's size.
    pub(super) fn lines(&self, source: (u32, u32), mask: (u32, u32)) -> [Vec<Option<u32>>; 2] {
        let lines = |places: &[u32], source: u32, mask: u32| {
            let of_mask = |place| if mask == source { place } else { nearest(place, source, mask) };
            let lines = places.iter().map(|place| (*place < OUTSIDE).then(|| of_mask(*place)));
            lines.collect()
        };
        [lines(&self.columns, source.0, mask.0), lines(&self.rows, source.1, mask.1)]
    }

    /// Returns the pixels of a row, each of `N` bytes, of an image of that width; `fill` where the
    /// image was padded.
    fn take<const N: usize>(&self, pixels: &[u8], width: u32, fill: [u8; N]) -> Vec<u8> {
        let (pixels, _) = pixels.as_chunks::<N>();
        let mut row_bytes = vec![0; self.columns.len() * self.rows.len() * N];
        let (out, _) = row_bytes.as_chunks_mut::<N>();
        let width = width as usize;
        let outside = |place: u32| {
            let is_filled = self.outside.get((u32::MAX - place) as usize);
            if is_filled == Some(&true) { fill } else { [0; N] }
        };
        for (out, &row) in out.chunks_exact_mut(self.columns.len().max(1)).zip(&self.rows) {
            let begin = (row as usize).saturating_mul(width);
            let from = pixels.get(begin..begin.saturating_add(width)).unwrap_or_default();
            for (out, &column) in out.iter_mut().zip(&self.columns) {
                *out = match from.get(column as usize) {
                    Some(pixel) => *pixel,
                    None if row < OUTSIDE => outside(column),
                    None if column < OUTSIDE => outside(row),
                    // What was added last lies over what was added before.
                    None => outside(column.min(row)),
                };
            }
        }
        row_bytes
    }

    /// Moves single values of `N` bytes through the changes of an image of this width and height.
    pub(super) fn moved<const N: usize>(
        &mut self,
        pixels: &[u8],
        mut size: (u32, u32),
        changes: &[Change],
        fill: [u8; N],
    ) -> Vec<u8> {
        let mut warped: Option<Vec<u8>> = None;
        self.reset(size);
        for change in changes {
            let Change::Warp { warp, .. } = change else {
                self.apply(change);
                continue;
            };
            let Some(warp) = pixel_warp(warp, self.size()) else { continue };
            let from = self.take(warped.as_deref().unwrap_or(pixels), size.0, fill);
            size = warp.output_size();
            let mut to = vec![0; size.0 as usize * size.1 as usize * N];
            warp.nearest(from.as_chunks::<N>().0, to.as_chunks_mut().0, fill);
            warped = Some(to);
            self.reset(size);
        }
        self.take(warped.as_deref().unwrap_or(pixels), size.0, fill)
    }
}

/// Returns the place in an image of `of` pixels for a place of `n`.
fn nearest(at: u32, n: u32, of: u32) -> u32 {
    // In single precision, like torch: a product in double precision would be on the other side of
    // some integers.
    let place = (at as f32 * (of as f32 / n as f32)).floor() as u32;
    place.min(of.saturating_sub(1))
}

fn resize(places: &mut Vec<u32>, n: u32) {
    let of = places.len() as u32;
    if n != of {
        let place = |at| places.get(nearest(at, n, of) as usize).copied();
        *places = (0..n).map(|at| place(at).unwrap_or(u32::MAX)).collect();
    }
}

#[cfg(test)]
mod tests;
