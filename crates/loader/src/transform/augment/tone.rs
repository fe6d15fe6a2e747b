//! What Pillow computes with other numbers than torchvision on tensors: gray and autocontrast.

use super::super::pixel::{self, Curves, Pixel};

/// Returns the gray level of a pixel: ITU-R 601 weights in 16 bits, as in Pillow.
pub(super) fn luma(&[red, green, blue]: &Pixel) -> u8 {
    let sum = u32::from(red) * 19_595 + u32::from(green) * 38_470 + u32::from(blue) * 7_471;
    // The weights add up to 2^16.
    ((sum + 0x8000) >> 16) as u8
}

/// Stretches every channel so that its darkest level becomes 0 and its brightest 255.
pub(super) fn auto_contrast(image: &mut [Pixel]) {
    let (darkest, brightest) = pixel::extremes(image);
    let curves = std::array::from_fn(|channel| {
        let (low, high) = (darkest[channel], brightest[channel]);
        if high <= low {
            return std::array::from_fn(|level| level as u8);
        }
        let scale = 255.0 / f64::from(high - low);
        let offset = -f64::from(low) * scale;
        // Cut off, and clamped to 0 to 255.
        std::array::from_fn(|level| (level as f64 * scale + offset) as u8)
    });
    Curves(curves).apply(image);
}
