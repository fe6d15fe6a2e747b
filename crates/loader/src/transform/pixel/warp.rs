//! Images seen through an affine or perspective transform.
//!
//! As in torch, the place of a pixel in the input is computed in `f32` on a scale from -1 to 1, for 32
//! pixels of a row at a time, which compiles to vector instructions. Then the pixels are fetched.

use super::Pixel;
use super::matrix::{Affine, Forward};

/// A transform of images of one size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Warp {
    input: (u32, u32),
    output: (u32, u32),
    places: Places,
    forward: Forward,
}

/// Where the pixels of the output are in the input.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Places {
    /// After this number of counter-clockwise quarter turns.
    Quarters(u32),
    /// At a linear function of the distances from the middle.
    Affine([[f32; 3]; 2]),
    /// At a fraction of linear functions of the distances from the corner.
    Perspective([[f32; 3]; 2], [f32; 3]),
}

impl Warp {
    /// Returns the transform of `affine`.
    pub(crate) fn affine(size: (u32, u32), affine: &Affine) -> Self {
        let places = Places::Affine(scaled(size, inverse(size, affine)));
        Self { input: size, output: size, places, forward: Forward::affine(affine, size) }
    }

    /// Returns the transform of `rotate`: counter-clockwise. If it expands, the output is as large as
    /// the turned image.
    pub(crate) fn rotation(
        size: (u32, u32),
        degrees: f64,
        expand: bool,
        center: Option<[f64; 2]>,
    ) -> Self {
        let degrees = degrees.rem_euclid(360.0);
        let affine = Affine { angle: -degrees, center, ..Affine::IDENTITY };
        let matrix = inverse(size, &affine);
        let mut forward = Forward::affine(&affine, size);
        if expand {
            forward = forward.enclosing(size);
        }
        let (width, height) = size;
        let quarters = [0.0, 90.0, 180.0, 270.0].iter().position(|turn| *turn == degrees);
        let (output, places) = match quarters {
            Some(n) if center.is_none() && (n % 2 == 0 || expand || width == height) => {
                let output = if n % 2 == 0 { size } else { (height, width) };
                (output, Places::Quarters(n as u32))
            }
            _ => {
                let output = if expand { enclosing_size(size, &matrix) } else { size };
                (output, Places::Affine(scaled(size, matrix)))
            }
        };
        Self { input: size, output, places, forward }
    }

    /// Returns the transform of `perspective` with these coefficients.
    pub(crate) fn perspective(size: (u32, u32), coefficients: [f64; 8]) -> Self {
        let [a, b, c, d, e, f, g, h] = coefficients.map(|it| it as f32);
        let places = Places::Perspective(scaled(size, [[a, b, c], [d, e, f]]), [g, h, 1.0]);
        Self { input: size, output: size, places, forward: Forward::perspective(coefficients) }
    }

    /// Returns width and height of the output.
    pub(crate) fn output_size(&self) -> (u32, u32) {
        self.output
    }

    /// Returns where points of the input go, for boxes and keypoints.
    pub(crate) fn forward(&self) -> Forward {
        self.forward
    }

    /// Copies the nearest pixels of an image or a mask; outside the input is `fill`. Exactly
    /// torchvision's.
    pub(crate) fn nearest<P: Copy>(&self, from: &[P], to: &mut [P], fill: P) {
        if let Places::Quarters(n) = self.places {
            return super::quarter_turns(from, self.input, to, n);
        }
        let (width, height) = self.input;
        self.blocks(to, |pixels, places| {
            let indices: [usize; BLOCK] = std::array::from_fn(|at| {
                let [x, y] = [0, 1].map(|axis: usize| {
                    // Halves are rounded to the even number.
                    whole(super::lanes::limit(places[axis][at], -1.0, 16_777_216.0) + WHOLE) as u32
                });
                let is_inside = x < width && y < height;
                if is_inside { y as usize * width as usize + x as usize } else { usize::MAX }
            });
            for (pixel, index) in pixels.iter_mut().zip(indices) {
                *pixel = from.get(index).copied().unwrap_or(fill);
            }
        });
    }

    /// Blends the four nearest pixels of an image. Outside the input is `fill`, or without it black;
    /// edges that are filled with black are darker, since the blend with the fill counts the outside
    /// a second time, as in torchvision.
    pub(crate) fn bilinear(&self, from: &[Pixel], to: &mut [Pixel], fill: Option<Pixel>) {
        if let Places::Quarters(n) = self.places {
            return super::quarter_turns(from, self.input, to, n);
        }
        let (width, height) = (self.input.0 as usize, self.input.1 as usize);
        self.blocks(to, |pixels, places| {
            for (at, pixel) in pixels.iter_mut().enumerate() {
                let [x, y] = [places[0][at], places[1][at]];
                *pixel = blended(from, (width, height), [x, y], fill);
            }
        });
    }

    /// Calls `fill` with blocks of the output and the places of their pixels in the input: x and y,
    /// at whole numbers in the middle of pixels.
    #[inline(always)]
    fn blocks<P>(&self, to: &mut [P], mut fill: impl FnMut(&mut [P], &[[f32; BLOCK]; 2])) {
        let (width, _) = self.output;
        let middle = |n: u32| n.saturating_sub(1) as f32 * 0.5;
        let (middle_x, middle_y) = (middle(self.output.0), middle(self.output.1));
        let scale = [self.input.0, self.input.1].map(|side| f64::from(side) * 0.5);
        // The operation that torch fuses.
        let unscaled =
            |place: f32, axis: usize| (f64::from(place + 1.0) * scale[axis] - 0.5) as f32;
        let linear = |[by_x, by_y, one]: [f32; 3], x: f32, y: f32| x * by_x + y * by_y + one;
        for (y, row) in to.chunks_exact_mut((width as usize).max(1)).enumerate() {
            for (block, pixels) in row.chunks_mut(BLOCK).enumerate() {
                let column = |at: usize| (block * BLOCK + at) as i32 as f32;
                let places = match self.places {
                    Places::Affine(matrix) => {
                        let y = y as f32 - middle_y;
                        [0, 1].map(|axis| {
                            std::array::from_fn(|at| {
                                unscaled(linear(matrix[axis], column(at) - middle_x, y), axis)
                            })
                        })
                    }
                    Places::Perspective(matrix, divisor) => {
                        let y = y as f32 + 0.5;
                        [0, 1].map(|axis| {
                            std::array::from_fn(|at| {
                                let x = column(at) + 0.5;
                                let place = linear(matrix[axis], x, y) / linear(divisor, x, y);
                                unscaled(place - 1.0, axis)
                            })
                        })
                    }
                    Places::Quarters(_) => return,
                };
                fill(pixels, &places);
            }
        }
    }
}

/// Pixels whose places are computed together.
const BLOCK: usize = 32;

/// Floats of this size are whole numbers, so that sums are rounded to the nearest one.
const WHOLE: f32 = 12_582_912.0;

/// Returns the number that was rounded by adding `WHOLE`.
#[inline(always)]
fn whole(sum: f32) -> i32 {
    (sum.to_bits() as i32).wrapping_sub(WHOLE.to_bits() as i32)
}

#[inline(always)]
fn blended(
    from: &[Pixel],
    (width, height): (usize, usize),
    [x, y]: [f32; 2],
    fill: Option<Pixel>,
) -> Pixel {
    let x = super::lanes::limit(x, -2.0, 4_194_304.0);
    let y = super::lanes::limit(y, -2.0, 4_194_304.0);
    let (left, top) = (floor(x), floor(y));
    let (right_part, lower_part) = (x - left, y - top);
    let (left_part, upper_part) = (1.0 - right_part, 1.0 - lower_part);
    let weights = [
        left_part * upper_part,
        right_part * upper_part,
        left_part * lower_part,
        right_part * lower_part,
    ];
    let (left, top) = (left as i32 as isize, top as i32 as isize);
    let is_inner = |at: isize, n: usize| at >= 0 && at + 1 < n as isize;
    if is_inner(left, width) && is_inner(top, height) {
        let start = top as usize * width + left as usize;
        let upper = from.get(start..).and_then(|from| from.first_chunk::<2>());
        let lower = from.get(start + width..).and_then(|from| from.first_chunk::<2>());
        if let (Some(upper), Some(lower)) = (upper, lower) {
            let corners = [upper[0], upper[1], lower[0], lower[1]];
            return std::array::from_fn(|channel| {
                rounded(sum(corners.map(|pixel| f32::from(pixel[channel])), weights))
            });
        }
    }
    let corner = |x: isize, y: isize| {
        let is_inside = x >= 0 && y >= 0 && x < width as isize && y < height as isize;
        is_inside.then(|| from.get(y as usize * width + x as usize).copied()).flatten()
    };
    let corners = [
        corner(left, top),
        corner(left + 1, top),
        corner(left, top + 1),
        corner(left + 1, top + 1),
    ];
    let inside = sum(corners.map(|corner| if corner.is_some() { 1.0 } else { 0.0 }), weights);
    std::array::from_fn(|channel| {
        let level = corners.map(|corner| corner.map_or(0.0, |pixel| f32::from(pixel[channel])));
        let level = sum(level, weights);
        rounded(match fill {
            Some(fill) => {
                let fill = f32::from(fill[channel]);
                (level - fill) * inside + fill
            }
            None => level,
        })
    })
}

#[inline(always)]
fn sum(levels: [f32; 4], weights: [f32; 4]) -> f32 {
    let fused = |sum: f32, at: usize| {
        (f64::from(levels[at]) * f64::from(weights[at]) + f64::from(sum)) as f32
    };
    fused(fused(fused(levels[0] * weights[0], 1), 2), 3)
}

#[inline(always)]
fn floor(number: f32) -> f32 {
    let rounded = number + WHOLE - WHOLE;
    if rounded > number { rounded - 1.0 } else { rounded }
}

#[inline(always)]
fn rounded(level: f32) -> u8 {
    whole(level + WHOLE) as u8
}

/// Returns the matrix from output to input, both seen from the middle of the input.
fn inverse((width, height): (u32, u32), affine: &Affine) -> [[f32; 3]; 2] {
    let middle = [f64::from(width) * 0.5, f64::from(height) * 0.5];
    let [x, y] = affine.center.unwrap_or(middle);
    affine.inverse([x - middle[0], y - middle[1]]).map(|row| row.map(|it| it as f32))
}

/// Scales the results of a matrix so that the input goes from -1 to 1.
fn scaled((width, height): (u32, u32), [x, y]: [[f32; 3]; 2]) -> [[f32; 3]; 2] {
    let by = |row: [f32; 3], side: u32| row.map(|it| it / (0.5 * side as f32));
    [by(x, width), by(y, height)]
}

/// Returns the size of an output that holds the whole turned input; as torchvision computes it, in
/// `f32`, with ten-thousandths of pixels cut off.
fn enclosing_size((width, height): (u32, u32), matrix: &[[f32; 3]; 2]) -> (u32, u32) {
    let half = [width as f32 * 0.5, height as f32 * 0.5];
    let corners = [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]];
    let side = |axis: usize| {
        let [by_x, by_y, one] = matrix[axis];
        let ends = corners.map(|[x, y]: [f32; 2]| x * half[0] * by_x + y * half[1] * by_y + one);
        let cut = |end: f32| ((end + half[axis]) * 10_000.0).trunc() * 1e-4;
        let most = cut(ends.into_iter().fold(f32::NEG_INFINITY, f32::max)).ceil();
        let least = cut(ends.into_iter().fold(f32::INFINITY, f32::min)).floor();
        (most - least).max(1.0) as u32
    };
    (side(0), side(1))
}
