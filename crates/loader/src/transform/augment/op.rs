//! The single changes, by torchvision's names.

use super::super::keyed::Key;
use super::super::pixel::{self, Counts, Curves};
use super::policy::Augment;
use super::{affine, affine::Walk, blend, tone};

/// Single change to an image. Each documents the meaning of its strength; 0 changes nothing except
/// where noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// No change.
    Identity,
    /// Shift of rows in proportion to their distance from the top; strength is the tangent.
    ShearX,
    /// Shift of columns in proportion to their distance from the left; strength is the tangent.
    ShearY,
    /// Shift to the right, in pixels; the fraction is cut off.
    TranslateX,
    /// Shift downwards, in pixels; the fraction is cut off.
    TranslateY,
    /// Rotation about the centre, counter-clockwise, in degrees.
    Rotate,
    /// From black at -1 over the image at 0 to twice as bright at 1.
    Brightness,
    /// From gray at -1 over the image at 0 to more colour.
    Color,
    /// From the mean gray at -1 over the image at 0 to more contrast.
    Contrast,
    /// From blurred at -1 over the image at 0 to sharpened.
    Sharpness,
    /// Reduction to this number of upper bits; 8 changes nothing.
    Posterize,
    /// Inversion of levels from this one on; 256 changes nothing.
    Solarize,
    /// Stretch of every channel to 0 to 255. Has no strength.
    AutoContrast,
    /// Even histogram for every channel. Has no strength.
    Equalize,
    /// Negative. Has no strength.
    Invert,
}

impl Op {
    /// All changes, in the order of torchvision's policies, and `Invert`.
    pub const ALL: [Self; 15] = [
        Self::Identity,
        Self::ShearX,
        Self::ShearY,
        Self::TranslateX,
        Self::TranslateY,
        Self::Rotate,
        Self::Brightness,
        Self::Color,
        Self::Contrast,
        Self::Sharpness,
        Self::Posterize,
        Self::Solarize,
        Self::AutoContrast,
        Self::Equalize,
        Self::Invert,
    ];
}

/// A change with the numbers for computing pixels: in this crate, or in the kernels of a GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Step {
    Identity,
    Warp(Walk),
    Brightness(f32),
    Color(f32),
    Contrast(f32),
    Sharpness(f32),
    /// Mask of the bits that are kept.
    Posterize(u8),
    /// The first level that is inverted.
    Solarize(u16),
    AutoContrast,
    Equalize,
    Invert,
}

impl Step {
    /// Returns the step of a change of that strength, for an image of that size.
    pub(crate) fn of(op: Op, strength: f64, size: (u32, u32)) -> Self {
        // Pillow takes the factor in single precision.
        let factor = (1.0 + strength) as f32;
        let warp = |matrix| Self::Warp(Walk::of(&matrix));
        match op {
            Op::Identity => Self::Identity,
            Op::ShearX => warp(affine::shear_x(strength)),
            Op::ShearY => warp(affine::shear_y(strength)),
            Op::TranslateX => warp(affine::translate(strength.trunc(), 0.0)),
            Op::TranslateY => warp(affine::translate(0.0, strength.trunc())),
            Op::Rotate => warp(affine::rotate(strength, size)),
            Op::Brightness => Self::Brightness(factor),
            Op::Color => Self::Color(factor),
            Op::Contrast => Self::Contrast(factor),
            Op::Sharpness => Self::Sharpness(factor),
            Op::Posterize => Self::Posterize(pixel::upper_bits(strength as u32)),
            Op::Solarize => Self::Solarize(pixel::first_level(strength)),
            Op::AutoContrast => Self::AutoContrast,
            Op::Equalize => Self::Equalize,
            Op::Invert => Self::Invert,
        }
    }
}

/// Applies changes to images; one per thread, for its buffers, which grow to the largest image and
/// are kept.
#[derive(Debug, Default)]
pub struct Augmenter {
    /// Buffer for the result of a change that cannot be made in place.
    other: Vec<u8>,
    /// Sums of three rows, for the sharpness.
    sums: Vec<u16>,
}

impl Augmenter {
    /// Applies the changes that `augment` draws for `key`. `image` is RGB of `size`.
    pub fn augment(&mut self, augment: &Augment, size: (u32, u32), key: Key, image: &mut Vec<u8>) {
        augment.draw(size, key, |op, strength| self.apply(op, strength, size, image));
    }

    /// Applies one change.
    pub fn apply(&mut self, op: Op, strength: f64, size: (u32, u32), image: &mut Vec<u8>) {
        let (pixels, _) = image.as_chunks_mut();
        match Step::of(op, strength, size) {
            Step::Identity => {}
            Step::Warp(walk) => {
                self.grow(image);
                affine::warp(image, &mut self.other, size, &walk);
                self.swap(image);
            }
            Step::Brightness(factor) => Curves::brightness(factor.into()).apply(pixels),
            Step::Color(factor) => {
                self.grow(image);
                blend::color(image, &mut self.other, factor);
            }
            Step::Contrast(factor) => blend::contrast(pixels, factor),
            Step::Sharpness(factor) => {
                self.grow(image);
                let (other, sums) = (self.other.as_mut_slice(), &mut self.sums);
                blend::sharpness(image, other, size.0 as usize, factor, sums);
                self.swap(image);
            }
            Step::Posterize(mask) => pixel::posterize(image, mask),
            Step::Solarize(threshold) => pixel::solarize(image, threshold),
            Step::AutoContrast => tone::auto_contrast(pixels),
            Step::Equalize => Curves::equalize(&Counts::of(pixels)).apply(pixels),
            Step::Invert => pixel::invert(image),
        }
    }

    fn grow(&mut self, image: &[u8]) {
        self.other.resize(image.len(), 0);
    }

    fn swap(&mut self, image: &mut Vec<u8>) {
        std::mem::swap(image, &mut self.other);
    }
}
