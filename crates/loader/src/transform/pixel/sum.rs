//! Weighted sums of images.

use super::Pixel;

/// Adds up images, each times its weight, in the given order: what `AugMix` does with the image and
/// what its chains made of it. Exactly torchvision's: products and sums are rounded to `f32`, and
/// the fraction of the result is cut off. Weights are positive and add up to 1; other results are
/// limited to 0 to 255.
pub(crate) fn weighted_sum(images: &[(&[Pixel], f32)], to: &mut [Pixel]) {
    const BLOCK: usize = 64;
    for (index, to) in to.as_flattened_mut().chunks_mut(BLOCK).enumerate() {
        let mut sums = [0.0_f32; BLOCK];
        for &(image, weight) in images {
            let levels = image.as_flattened().get(index * BLOCK..).unwrap_or_default();
            let (block, _) = levels.as_chunks::<BLOCK>();
            // Of fixed size where possible, for vector instructions.
            let levels = block.first().map_or(levels, <[u8; BLOCK]>::as_slice);
            for (sum, &level) in sums.iter_mut().zip(levels) {
                *sum += f32::from(level) * weight;
            }
        }
        to.iter_mut().zip(sums).for_each(|(to, sum)| {
            *to = super::lanes::whole(super::lanes::limit(sum, 0.0, 255.0)) as u8;
        });
    }
}
