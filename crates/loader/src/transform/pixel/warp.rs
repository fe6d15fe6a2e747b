//! Images seen through an affine or perspective transform.
//!
//! As in torch, the place of a pixel in the input is computed in `f32` on a scale from -1 to 1, for
//! 16 pixels of a row at a time, which compiles to vector instructions. Then the pixels are
//! fetched.

use super::lanes;
use super::matrix::{Affine, Forward};
use super::{Pixel, bilinear};

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

    /// Returns the transform of `rotate`: counter-clockwise. If it expands, the output is as large
    /// as the turned image.
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
            let [xs, ys] = places;
            let mut indices = [u32::MAX; BLOCK];
            for (index, (x, y)) in indices.iter_mut().zip(xs.iter().zip(ys)) {
                let x = lanes::nearest(lanes::limit(*x, -1.0, 4_194_304.0)) as u32;
                let y = lanes::nearest(lanes::limit(*y, -1.0, 4_194_304.0)) as u32;
                let is_inside = x < width && y < height;
                *index = if is_inside { y.wrapping_mul(width).wrapping_add(x) } else { u32::MAX };
            }
            for (pixel, index) in pixels.iter_mut().zip(indices) {
                *pixel = from.get(index as usize).copied().unwrap_or(fill);
            }
        });
    }

    /// Blends the four nearest pixels of an image. Outside the input is `fill`, or without it
    /// black, which differs from black as `fill`: as in torchvision, the blend with a fill counts
    /// what is outside a second time. Exactly torchvision's.
    pub(crate) fn bilinear(&self, from: &[Pixel], to: &mut [Pixel], fill: Option<Pixel>) {
        if let Places::Quarters(n) = self.places {
            return super::quarter_turns(from, self.input, to, n);
        }
        self.blocks(to, |pixels, places| bilinear::blend(from, self.input, pixels, places, fill));
    }

    /// Calls `fill` with blocks of the output and the places of their pixels in the input: x and y,
    /// at whole numbers in the middle of pixels.
    #[inline(always)]
    fn blocks<P>(&self, to: &mut [P], mut fill: impl FnMut(&mut [P], &[[f32; BLOCK]; 2])) {
        let [width, height] = [self.input.0, self.input.1].map(|side| f64::from(side) * 0.5);
        // The operation that torch fuses.
        let unscaled = |place: f32, half: f64| (f64::from(place + 1.0) * half - 0.5) as f32;
        let linear = |[by_x, by_y, one]: [f32; 3], x: f32, y: f32| x * by_x + y * by_y + one;
        let middle = |n: u32| n.saturating_sub(1) as f32 * 0.5;
        let (middle_x, middle_y) = (middle(self.output.0), middle(self.output.1));
        for (row_y, row) in to.chunks_exact_mut((self.output.0 as usize).max(1)).enumerate() {
            for (block, pixels) in row.chunks_mut(BLOCK).enumerate() {
                let (column, row_y) = ((block * BLOCK) as f32, row_y as f32);
                let mut places = [[0.0; BLOCK]; 2];
                let [xs, ys] = &mut places;
                match self.places {
                    Places::Affine([to_x, to_y]) => {
                        let (x, y) = (column - middle_x, row_y - middle_y);
                        for ((to_xs, to_ys), step) in xs.iter_mut().zip(ys).zip(&STEPS) {
                            *to_xs = unscaled(linear(to_x, x + step, y), width);
                            *to_ys = unscaled(linear(to_y, x + step, y), height);
                        }
                    }
                    Places::Perspective([to_x, to_y], divisor) => {
                        let (x, y) = (column + 0.5, row_y + 0.5);
                        for ((to_xs, to_ys), step) in xs.iter_mut().zip(ys).zip(&STEPS) {
                            let by = linear(divisor, x + step, y);
                            *to_xs = unscaled(linear(to_x, x + step, y) / by - 1.0, width);
                            *to_ys = unscaled(linear(to_y, x + step, y) / by - 1.0, height);
                        }
                    }
                    Places::Quarters(_) => return,
                }
                fill(pixels, &places);
            }
        }
    }
}

/// Pixels whose places are computed together.
pub(super) const BLOCK: usize = 16;

/// From 0 on.
const STEPS: [f32; BLOCK] = {
    let mut steps = [0.0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        steps[at] = at as f32;
        at += 1;
    }
    steps
};

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
