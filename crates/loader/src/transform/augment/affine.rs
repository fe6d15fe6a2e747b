//! Shears, shifts and rotations: every output pixel is the nearest pixel at `matrix * position`.
//!
//! Pillow walks along the rows with positions in steps of 2^-16 pixel, beginning at the centre of
//! the first pixel. This code uses the same numbers, so that it hits the same pixels, but it
//! computes the part of a row inside the image beforehand instead of testing each pixel.

use std::ops::Range;

/// From output to input: `x' = m[0] x + m[1] y + m[2]`, `y' = m[3] x + m[4] y + m[5]`.
pub(super) type Matrix = [f64; 6];

pub(super) fn shear_x(tangent: f64) -> Matrix {
    [1.0, tangent, 0.0, 0.0, 1.0, 0.0]
}

pub(super) fn shear_y(tangent: f64) -> Matrix {
    [1.0, 0.0, 0.0, tangent, 1.0, 0.0]
}

pub(super) fn translate(right: f64, down: f64) -> Matrix {
    [1.0, 0.0, -right, 0.0, 1.0, -down]
}

/// Rotates counter-clockwise about the centre.
pub(super) fn rotate(degrees: f64, (width, height): (u32, u32)) -> Matrix {
    let angle = -degrees.rem_euclid(360.0).to_radians();
    // Fifteen decimal places, like Pillow: makes quarter turns exact.
    let places = |value: f64| (value * 1e15).round_ties_even() / 1e15;
    let (cos, sin) = (places(angle.cos()), places(angle.sin()));
    let (x, y) = (f64::from(width) / 2.0, f64::from(height) / 2.0);
    [cos, sin, cos * -x + sin * -y + x, -sin, cos, -sin * -x + cos * -y + y]
}

/// A matrix for the walk along the rows, in steps of 2^-16 pixel; each x and y.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Walk {
    /// Source of the first pixel.
    pub(crate) start: [i64; 2],
    /// Step from there to the source of the pixel to its right.
    pub(crate) right: [i32; 2],
    /// Step to the source of the pixel below it.
    pub(crate) down: [i32; 2],
}

impl Walk {
    pub(super) fn of(matrix: &Matrix) -> Self {
        // Far beyond any image, and far from an overflow along its rows.
        let fixed = |value: f64, most: f64| (value * 65536.0 + 0.5).floor().clamp(-most, most);
        let position = |value: f64| fixed(value, (1_u64 << 50) as f64) as i64;
        let step = |value: f64| fixed(value, (1_u64 << 28) as f64) as i32;
        let [xx, xy, x0, yx, yy, y0] = *matrix;
        let (x, y) = (x0 + xx * 0.5 + xy * 0.5, y0 + yx * 0.5 + yy * 0.5);
        Self {
            start: [position(x), position(y)],
            right: [step(xx), step(yx)],
            down: [step(xy), step(yy)],
        }
    }
}

/// Copies the pixels of `from` along a walk to `to`; pixels outside become black.
pub(super) fn warp(from: &[u8], to: &mut [u8], (width, height): (u32, u32), walk: &Walk) {
    let Walk { start: [mut x_row, mut y_row], right, down } = *walk;
    let ([xx, yx], [xy, yy]) = (right.map(i64::from), down.map(i64::from));
    let (n_columns, n_rows) = (i64::from(width), i64::from(height));
    let (from, _) = from.as_chunks::<3>();
    let (to, _) = to.as_chunks_mut::<3>();
    for row in to.chunks_exact_mut((width as usize).max(1)) {
        let columns = inside(x_row, xx, n_columns, n_columns);
        let rows = inside(y_row, yx, n_columns, n_rows);
        let (start, end) = (columns.start.max(rows.start), columns.end.min(rows.end));
        // Both are within 0 to `width`.
        let (black, row) = row.split_at_mut(start.min(end) as usize);
        let (image, rest) = row.split_at_mut((end - start).max(0) as usize);
        black.fill([0; 3]);
        rest.fill([0; 3]);
        let (mut x, mut y) = (x_row + xx * start, y_row + yx * start);
        // Valid for each pixel to write.
        let at = |x: i64, y: i64| (y >> 16).wrapping_mul(n_columns).wrapping_add(x >> 16) as usize;
        if xx == 1 << 16 && yx == 0 {
            // A shift, or a row of a sideways shear.
            let rest = from.get(at(x, y)..);
            if let Some(pixels) = rest.and_then(|rest| rest.get(..image.len())) {
                image.copy_from_slice(pixels);
            }
        } else {
            for pixel in image {
                *pixel = from.get(at(x, y)).copied().unwrap_or_default();
                (x, y) = (x + xx, y + yx);
            }
        }
        (x_row, y_row) = (x_row + xy, y_row + yy);
    }
}

/// Returns the steps `i`, of 0 to `n_steps`, with `start + i * step` in the pixels 0 to `limit`.
fn inside(start: i64, step: i64, n_steps: i64, limit: i64) -> Range<i64> {
    let limit = limit << 16;
    let (from, to) = match step {
        0 if (0..limit).contains(&start) => (0, n_steps),
        0 => (0, 0),
        // Rounded up: the first step that is no longer before 0, and no longer before the limit.
        1.. => (-start.div_euclid(step), -(start - limit).div_euclid(step)),
        _ => ((start - limit).div_euclid(-step) + 1, start.div_euclid(-step) + 1),
    };
    from.clamp(0, n_steps)..to.clamp(0, n_steps)
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn the_steps_inside_are_those_that_a_test_of_each_finds() {
        for start in (-70_000..400_000).step_by(6553) {
            for step in [-200_000, -65_536, -40_000, -1, 0, 1, 3, 65_536, 65_537, 131_072] {
                for limit in [1, 2, 5] {
                    let is_inside = |i: i64| (0..limit << 16).contains(&(start + i * step));
                    let slow: Vec<i64> = (0..9).filter(|&i| is_inside(i)).collect();
                    let fast: Vec<i64> = inside(start, step, 9, limit).collect();
                    assert_eq!(slow, fast, "{start} {step} {limit}");
                }
            }
        }
    }
}
