//! Brightness, colour, contrast and sharpness: the image drawn away from, or towards, a duller
//! version of itself. At factor 0 the result is the duller version, at 1 the image, above 1 more
//! than it.

use super::tone::{apply, luma};

pub(super) fn brightness(image: &mut [u8], factor: f32) {
    towards(image, 0, factor);
}

/// Blends with the mean of the gray image, which is a whole number.
pub(super) fn contrast(image: &mut [u8], factor: f32) {
    let (pixels, _) = image.as_chunks::<3>();
    // A row's sum of levels fits 32 bits, and adds up several times as fast as in 64.
    let sum: u64 = pixels
        .chunks(1 << 16)
        .map(|pixels| u64::from(pixels.iter().map(|pixel| u32::from(luma(pixel))).sum::<u32>()))
        .sum();
    let mean = sum as f64 / pixels.len().max(1) as f64;
    towards(image, (mean + 0.5) as u8, factor);
}

/// Blends with gray. `grays` is as long as the image, and is overwritten.
pub(super) fn color(image: &mut [u8], grays: &mut [u8], factor: f32) {
    // In two passes; the second compiles to vector instructions.
    let (pixels, _) = image.as_chunks::<3>();
    let (gray_pixels, _) = grays.as_chunks_mut::<3>();
    gray_pixels.iter_mut().zip(pixels).for_each(|(gray, pixel)| *gray = [luma(pixel); 3]);
    image.iter_mut().zip(grays).for_each(|(level, &mut gray)| *level = mix(gray, *level, factor));
}

/// Blends with a blurred image, in which a pixel counts five and each of its eight neighbours one.
/// The outermost pixels are unchanged, like an image too small to have others.
pub(super) fn sharpness(
    from: &[u8],
    to: &mut [u8],
    width: usize,
    factor: f32,
    sums: &mut Vec<u16>,
) {
    to.copy_from_slice(from);
    let row_bytes = width * 3;
    if width < 3 || row_bytes > from.len() {
        return;
    }
    sums.resize(row_bytes, 0);
    let above = from.chunks_exact(row_bytes);
    let here = above.clone().skip(1);
    let below = above.clone().skip(2);
    let rows = above.zip(here).zip(below).zip(to.chunks_exact_mut(row_bytes).skip(1));
    for (((above, here), below), to) in rows {
        let columns = above.iter().zip(here).zip(below).zip(sums.iter_mut());
        for (((&above, &here), &below), sum) in columns {
            *sum = u16::from(above) + u16::from(here) + u16::from(below);
        }
        let middles = to.iter_mut().zip(here).skip(3).zip(sums.iter().skip(3));
        let sides = sums.iter().zip(sums.iter().skip(6));
        for (((to, &level), &middle), (&left, &right)) in middles.zip(sides) {
            let total = left + middle + right + 4 * u16::from(level);
            // The thirteenth part, rounded. Halves cannot occur, so that it is Pillow's number
            // although Pillow adds fractions.
            let blurred = (2 * total + 13) / 26;
            *to = mix(blurred as u8, level, factor);
        }
    }
}

/// Blends with one level through a table.
fn towards(image: &mut [u8], dull: u8, factor: f32) {
    apply(image, &std::array::from_fn(|level| mix(dull, level as u8, factor)));
}

/// The operations of Pillow in its order and precision; the result is clamped to 0 to 255, and its
/// fraction is cut off.
#[inline(always)]
fn mix(dull: u8, level: u8, factor: f32) -> u8 {
    let (dull, level) = (f32::from(dull), f32::from(level));
    let mixed = (dull + factor * (level - dull)).clamp(0.0, 255.0);
    // `as u8`, in operations that compilers turn into vector instructions: from 2^23 on, floats are
    // whole numbers, so that the sum is rounded and its low bits are the number. If it was rounded
    // up, one is subtracted again.
    const WHOLE: f32 = 8_388_608.0;
    let sum = mixed + WHOLE;
    (sum.to_bits() as u8).wrapping_sub(u8::from(sum - WHOLE > mixed))
}

#[cfg(test)]
mod tests {
    use super::mix;

    #[test]
    fn the_fraction_is_cut_off() {
        for factor in [-1e30_f32, -3.0, -0.7, 0.0, 0.01, 0.5, 0.73, 1.0, 1.09, 1.99, 2.5, 1e30] {
            for dull in 0..=255 {
                for level in 0..=255 {
                    let (low, high) = (f32::from(dull), f32::from(level));
                    let expected = (low + factor * (high - low)) as u8;
                    assert_eq!(mix(dull, level, factor), expected, "{dull} {level} {factor}");
                }
            }
        }
    }
}
