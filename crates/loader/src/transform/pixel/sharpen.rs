//! Sharpness: the image drawn away from, or towards, a blurred one.

use super::Pixel;

/// `adjust_sharpness`, from one image to another: exactly torchvision's. Pillow blends in another
/// order. `sums` is a buffer.
pub(crate) fn sharpness(
    from: &[Pixel],
    width: u32,
    to: &mut [Pixel],
    factor: f64,
    sums: &mut Vec<u16>,
) {
    let rest = f64::from((1.0 - factor) as f32);
    let (from, to) = (from.as_flattened(), to.as_flattened_mut());
    sharpen(from, to, width as usize, sums, |blurred, level| {
        let difference = f64::from(i32::from(blurred) - i32::from(level));
        let mixed = (f64::from(level) + difference * rest) as f32;
        super::lanes::whole(super::lanes::limit(mixed, 0.0, 255.0)) as u8
    });
}

/// Mixes every level with that of a blurred image, in which a pixel counts five and each of its
/// eight neighbours one. The outermost pixels are unchanged, like an image too small to have
/// others.
#[inline(always)]
pub(crate) fn sharpen(
    from: &[u8],
    to: &mut [u8],
    width: usize,
    sums: &mut Vec<u16>,
    mix: impl Fn(u8, u8) -> u8,
) {
    to.copy_from_slice(from);
    let row_bytes = width * 3;
    if width < 3 || row_bytes > from.len() {
        return;
    }
    // Sums of columns, and the blurred row, which begins with its second pixel.
    sums.resize(2 * row_bytes, 0);
    let (sums, blurred) = sums.split_at_mut(row_bytes);
    let above = from.chunks_exact(row_bytes);
    let here = above.clone().skip(1);
    let below = above.clone().skip(2);
    let rows = above.zip(here).zip(below).zip(to.chunks_exact_mut(row_bytes).skip(1));
    for (((above, here), below), to) in rows {
        let columns = above.iter().zip(here).zip(below).zip(sums.iter_mut());
        for (((&above, &here), &below), sum) in columns {
            *sum = u16::from(above) + u16::from(here) + u16::from(below);
        }
        let (here, to) = (&here[3..row_bytes - 3], &mut to[3..row_bytes - 3]);
        let sides = sums.iter().zip(&sums[3..]).zip(&sums[6..]);
        for ((((&left, &middle), &right), &level), blurred) in sides.zip(here).zip(&mut *blurred) {
            // The thirteenth part, rounded. Halves cannot occur, so that it is the number of those
            // who add fractions.
            *blurred = (2 * (left + middle + right + 4 * u16::from(level)) + 13) / 26;
        }
        for ((to, &level), &blurred) in to.iter_mut().zip(here).zip(&*blurred) {
            *to = mix(blurred as u8, level);
        }
    }
}
