//! Gray images, and colours drawn towards or away from gray.

use super::Pixel;
use super::lanes::{self, channel, lane, limit, whole};

/// `rgb_to_grayscale` with three channels: exactly torchvision's. Pillow rounds, and has other
/// weights.
pub(crate) fn to_grayscale(image: &mut [Pixel]) {
    lanes::map(image, |pixel| lane([gray(pixel); 3]));
}

/// Returns the mean of the gray levels, which `adjust_contrast` blends with; 0 without pixels.
///
/// torch adds up in `f32`, which is exact below 65,794 pixels; beyond, its mean may differ in the
/// last bit.
pub(crate) fn mean_gray(image: &[Pixel]) -> f32 {
    lanes::sum(image, gray) as f32 / image.len().max(1) as f32
}

/// `adjust_saturation`: exactly torchvision's. Pillow has other grays, and blends in another order.
pub(crate) fn saturation(image: &mut [Pixel], factor: f64) {
    let (factor, rest) = (factor as f32, f64::from((1.0 - factor) as f32));
    lanes::map(image, |pixel| {
        let dull = f64::from(gray(pixel) as i32) * rest;
        let level = |number| {
            let mixed = f64::from(channel(pixel, number) * factor) + dull;
            whole(limit(mixed as f32, 0.0, 255.0))
        };
        lane([level(0), level(1), level(2)])
    });
}

/// Returns the gray level of a pixel: 0.2989, 0.587 and 0.114 of its channels, fraction cut off.
///
/// torch computes it in `f32` with fused operations. Exact results are multiples of 1/10000, and no
/// rounding here or there is half of that, so that any `f32` operations agree with torch where the
/// exact result is not a whole number. Of the 1704 pixels where it is, torch rounds down at three.
#[inline(always)]
fn gray(pixel: u32) -> u32 {
    const ROUNDED_DOWN: [[u32; 3]; 3] = [[250, 9, 228], [250, 13, 146], [250, 47, 199]];
    // Floats of this size are whole numbers, so that sums are rounded to the nearest one.
    const WHOLE: f32 = 12_582_912.0;
    let sum = channel(pixel, 0) * 0.2989 + channel(pixel, 1) * 0.587 + channel(pixel, 2) * 0.114;
    let level = (sum - 0.499_95 + WHOLE).to_bits() & 255;
    let [a, b, c] = ROUNDED_DOWN.map(|rounded| u32::from(pixel == lane(rounded)));
    level - (a | b | c)
}

#[cfg(test)]
mod tests {
    use super::{gray, lane};

    #[test]
    fn all_grays_are_torchs() {
        let fused = |weight: f32, level: u32, sum: f32| {
            (f64::from(weight) * f64::from(level) + f64::from(sum)) as f32
        };
        for red in 0..256 {
            for green in 0..256 {
                for blue in 0..256 {
                    let sum = fused(0.587, green, 0.2989 * red as f32);
                    let expected = fused(0.114, blue, sum) as u32;
                    assert_eq!(gray(lane([red, green, blue])), expected, "{red} {green} {blue}");
                }
            }
        }
    }
}
