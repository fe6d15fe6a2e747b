//! Colour, contrast and sharpness: the image drawn away from, or towards, a duller
//! version of itself. At factor 0 the result is the duller version, at 1 the image, above 1 more
//! than it.

use super::super::pixel::{Curves, Pixel, sharpen};
use super::tone::luma;

/// Blends with the mean of the gray image, which is a whole number.
pub(super) fn contrast(pixels: &mut [Pixel], factor: f32) {
    // A row's sum of levels fits 32 bits, and adds up several times as fast as in 64.
    let sum: u64 = pixels
        .chunks(1 << 16)
        .map(|pixels| u64::from(pixels.iter().map(|pixel| u32::from(luma(pixel))).sum::<u32>()))
        .sum();
    let mean = sum as f64 / pixels.len().max(1) as f64;
    let dull = (mean + 0.5) as u8;
    Curves::of(|level| mix(dull, level, factor)).apply(pixels);
}

/// Blends with gray. `grays` is as long as the image, and is overwritten.
pub(super) fn color(image: &mut [u8], grays: &mut [u8], factor: f32) {
    // In two passes; the second compiles to vector instructions.
    let (pixels, _) = image.as_chunks::<3>();
    let (gray_pixels, _) = grays.as_chunks_mut::<3>();
    gray_pixels.iter_mut().zip(pixels).for_each(|(gray, pixel)| *gray = [luma(pixel); 3]);
    image.iter_mut().zip(grays).for_each(|(level, &mut gray)| *level = mix(gray, *level, factor));
}

/// Blends with a blurred image.
pub(super) fn sharpness(
    from: &[u8],
    to: &mut [u8],
    width: usize,
    factor: f32,
    sums: &mut Vec<u16>,
) {
    sharpen(from, to, width, sums, |blurred, level| mix(blurred, level, factor));
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
