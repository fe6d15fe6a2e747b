//! Gaussian blur.

use super::Pixel;
use super::lanes;
use super::place::Padding;

/// The weights of a Gaussian kernel along one axis: of the middle, and of the pixels at each
/// distance from it, which are the same on both sides, two distances at a time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gauss {
    middle: f32,
    sides: Vec<[f32; 2]>,
}

impl Gauss {
    /// Returns the kernel of `gaussian_blur` of an odd size.
    ///
    /// Ends too light to change a level by 2^-17 are cut off, which saves half of the time where
    /// sigma is small for the size.
    pub(crate) fn new(size: usize, sigma: f64) -> Self {
        let weight = |distance: usize| {
            let distance = distance as f64 / sigma;
            libm::exp(-0.5 * distance * distance)
        };
        let mut sides: Vec<f64> = (1..=size / 2).map(weight).collect();
        let sum = 1.0 + 2.0 * sides.iter().sum::<f64>();
        sides.retain(|weight| *weight / sum > 4e-9);
        let weight = |at: usize| sides.get(at).map_or(0.0, |weight| (weight / sum) as f32);
        let pairs = (0..sides.len()).step_by(2).map(|at| [weight(at), weight(at + 1)]);
        Self { middle: (1.0 / sum) as f32, sides: pairs.collect() }
    }
}

const EDGES: Padding<()> = Padding::Reflect;

/// Buffers for a blur.
#[derive(Debug, Default)]
pub(crate) struct BlurRows {
    /// A row with a margin at both ends.
    row: Vec<f32>,
    /// The last rows, blurred along x.
    blurred: Vec<f32>,
    sums: Vec<f32>,
}

/// `gaussian_blur` with kernels for x and y, from one image to another. At the edges the image is
/// reflected.
///
/// torchvision's results except for rounding: it multiplies with a kernel of two dimensions, this
/// with one along the rows and one along the columns, so that the sums differ by some 10^-5 levels
/// before they are rounded, and one level in 50,000 by one. torchvision refuses kernels that reach
/// beyond the opposite edge; here the reflection is reflected again.
pub(crate) fn gaussian_blur(
    from: &[Pixel],
    (width, height): (u32, u32),
    to: &mut [Pixel],
    [along_x, along_y]: [&Gauss; 2],
    BlurRows { row, blurred, sums }: &mut BlurRows,
) {
    let (width, height) = (width as usize, height as usize);
    let (margin, reach, n_levels) = (along_x.reach(), along_y.reach(), width * 3);
    // Those that the sums of a row need, each at its number modulo this.
    let n_rows = (2 * reach + 1).min(height);
    row.resize((width + 2 * margin) * 3, 0.0);
    blurred.resize(n_rows * n_levels, 0.0);
    sums.resize(n_levels, 0.0);
    let mut coming = from.chunks_exact(width.max(1)).take(height).enumerate();
    let mut n_blurred = 0;
    for (y, to) in to.chunks_exact_mut(width.max(1)).take(height).enumerate() {
        let n_needed = (y + reach + 1).min(height);
        for (y, from) in coming.by_ref().take(n_needed - n_blurred) {
            let inner = row[margin * 3..].iter_mut().zip(from.as_flattened());
            inner.for_each(|(to, &level)| *to = f32::from(level));
            reflect(row, margin, width);
            let to = &mut blurred[y % n_rows * n_levels..][..n_levels];
            let pixel = |distance: isize| &row[margin.saturating_add_signed(distance) * 3..];
            along_x.sum(to, pixel);
        }
        n_blurred = n_needed;
        along_y.sum(sums, |distance| {
            let y = EDGES.source(y as isize + distance, height).unwrap_or(0);
            &blurred[y % n_rows * n_levels..][..n_levels]
        });
        let levels = to.as_flattened_mut().iter_mut().zip(&*sums);
        levels.for_each(|(to, &sum)| *to = lanes::nearest(sum) as u8);
    }
}

impl Gauss {
    /// Returns the largest distance.
    fn reach(&self) -> usize {
        2 * self.sides.len()
    }

    /// Writes weighted sums of what lies at each distance.
    #[inline(always)]
    fn sum<'a>(&self, sums: &mut [f32], at: impl Fn(isize) -> &'a [f32]) {
        sums.iter_mut().zip(at(0)).for_each(|(sum, &level)| *sum = level * self.middle);
        for (&[near, far], distance) in self.sides.iter().zip((1..).step_by(2)) {
            let inner = at(-distance).iter().zip(at(distance));
            let outer = at(-distance - 1).iter().zip(at(distance + 1));
            for ((sum, inner), outer) in sums.iter_mut().zip(inner).zip(outer) {
                *sum += (inner.0 + inner.1) * near + (outer.0 + outer.1) * far;
            }
        }
    }
}

/// Fills the margins of a row.
fn reflect(row: &mut [f32], margin: usize, width: usize) {
    let (pixels, _) = row.as_chunks_mut::<3>();
    let source = |x: isize| margin + EDGES.source(x, width).unwrap_or(0);
    for distance in 1..=margin {
        let (before, behind) = (-(distance as isize), (width - 1 + distance) as isize);
        pixels[margin - distance] = pixels[source(before)];
        pixels[margin + width - 1 + distance] = pixels[source(behind)];
    }
}
