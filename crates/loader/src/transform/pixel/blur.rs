//! Gaussian blur.

use super::Pixel;
use super::lanes;
use super::place::Padding;

/// The weights of a Gaussian kernel along one axis: of the middle, and of the pixels at each
/// distance from it, which are the same on both sides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Gauss {
    middle: f32,
    sides: Vec<f32>,
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
        let sides: Vec<f64> = (1..=size / 2).map(weight).collect();
        let sum = 1.0 + 2.0 * sides.iter().sum::<f64>();
        let is_heavy = |weight: &f64| *weight / sum > 4e-9;
        let sides = sides.into_iter().take_while(is_heavy);
        Self {
            middle: (1.0 / sum) as f32,
            sides: sides.map(|weight| (weight / sum) as f32).collect(),
        }
    }
}

const EDGES: Padding<()> = Padding::Reflect;

/// Buffers for a blur: sums of columns with a margin, and their sums along the row.
#[derive(Debug, Default)]
pub(crate) struct BlurRows {
    columns: Vec<f32>,
    sums: Vec<f32>,
}

/// `gaussian_blur` with kernels for x and y, from one image to another. At the edges the image is
/// reflected.
///
/// torchvision's results except for rounding: it multiplies with a kernel of two dimensions, this
/// with one along the columns and one along the rows, so that the sums differ by some 10^-5 levels
/// before they are rounded. torchvision refuses kernels that reach beyond the opposite edge; here
/// the reflection is reflected again.
pub(crate) fn gaussian_blur(
    from: &[Pixel],
    (width, height): (u32, u32),
    to: &mut [Pixel],
    [along_x, along_y]: [&Gauss; 2],
    BlurRows { columns, sums }: &mut BlurRows,
) {
    let (width, height) = (width as usize, height as usize);
    let margin = along_x.sides.len();
    columns.clear();
    columns.resize((width + 2 * margin) * 3, 0.0);
    sums.resize(width * 3, 0.0);
    let row = |y: isize| {
        let start = EDGES.source(y, height).unwrap_or(0) * width;
        from.get(start..start + width).unwrap_or_default().as_flattened()
    };
    for (to, y) in to.chunks_exact_mut(width.max(1)).zip(0..height as isize) {
        let inner = &mut columns[margin * 3..][..width * 3];
        let middle = along_y.middle;
        inner.iter_mut().zip(row(y)).for_each(|(sum, &level)| *sum = f32::from(level) * middle);
        for (&weight, distance) in along_y.sides.iter().zip(1..) {
            let both = row(y - distance).iter().zip(row(y + distance));
            for (sum, (&above, &below)) in inner.iter_mut().zip(both) {
                *sum += f32::from(u16::from(above) + u16::from(below)) * weight;
            }
        }
        reflect(columns, margin, width);

        let inner = &columns[margin * 3..];
        sums.iter_mut().zip(inner).for_each(|(sum, &level)| *sum = level * along_x.middle);
        for (&weight, distance) in along_x.sides.iter().zip(1..) {
            let (left, right) =
                (&columns[(margin - distance) * 3..], &columns[(margin + distance) * 3..]);
            for (sum, (&left, &right)) in sums.iter_mut().zip(left.iter().zip(right)) {
                *sum += (left + right) * weight;
            }
        }
        to.as_flattened_mut()
            .iter_mut()
            .zip(&*sums)
            .for_each(|(to, &sum)| *to = lanes::nearest(sum) as u8);
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
