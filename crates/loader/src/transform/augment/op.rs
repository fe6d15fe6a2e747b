//! The single changes, by torchvision's names.

use super::super::keyed::Key;
use super::policy::Augment;
use super::{affine, blend, tone};

/// One change to an image. What its strength means is said at each; 0 changes nothing except
/// where noted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Nothing.
    Identity,
    /// Rows move sideways in proportion to their distance from the top; strength is the tangent.
    ShearX,
    /// Columns move up or down in proportion to their distance from the left.
    ShearY,
    /// To the right, by this many pixels; the fraction is cut off.
    TranslateX,
    /// Downwards, by this many pixels; the fraction is cut off.
    TranslateY,
    /// About the centre, counter-clockwise, in degrees.
    Rotate,
    /// From black at -1 over the image at 0 to twice as bright at 1.
    Brightness,
    /// From gray at -1 over the image at 0 to more colour.
    Color,
    /// From the mean gray at -1 over the image at 0 to more contrast.
    Contrast,
    /// From blurred at -1 over the image at 0 to sharpened.
    Sharpness,
    /// Keeps this many of the upper bits, 8 changing nothing.
    Posterize,
    /// Inverts what is at least this level, 256 changing nothing.
    Solarize,
    /// Stretches every channel to 0 to 255. Has no strength.
    AutoContrast,
    /// Gives every channel an even histogram. Has no strength.
    Equalize,
    /// The negative. Has no strength.
    Invert,
}

impl Op {
    /// All, in the order in which torchvision's policies number them, and `Invert`.
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

/// Changes images; one per thread, for its buffers, which grow to the largest image and stay.
#[derive(Debug, Default)]
pub struct Augmenter {
    /// Where a change that cannot be made in place puts its result.
    other: Vec<u8>,
    /// Sums of three rows, for the sharpness.
    sums: Vec<u16>,
}

impl Augmenter {
    /// Makes the changes that `augment` draws for `key`. `image` is RGB of `size`.
    pub fn augment(&mut self, augment: &Augment, size: (u32, u32), key: Key, image: &mut Vec<u8>) {
        augment.draw(size, key, |op, strength| self.apply(op, strength, size, image));
    }

    /// Makes one change.
    pub fn apply(&mut self, op: Op, strength: f64, size: (u32, u32), image: &mut Vec<u8>) {
        let width = size.0 as usize;
        // Pillow takes the factor in single precision.
        let factor = (1.0 + strength) as f32;
        match op {
            Op::Identity => {}
            Op::ShearX => self.warp(&affine::shear_x(strength), size, image),
            Op::ShearY => self.warp(&affine::shear_y(strength), size, image),
            Op::TranslateX => self.warp(&affine::translate(strength.trunc(), 0.0), size, image),
            Op::TranslateY => self.warp(&affine::translate(0.0, strength.trunc()), size, image),
            Op::Rotate => self.warp(&affine::rotate(strength, size), size, image),
            Op::Brightness => blend::brightness(image, factor),
            Op::Color => {
                self.grow(image);
                blend::color(image, &mut self.other, factor);
            }
            Op::Contrast => blend::contrast(image, factor),
            Op::Sharpness => {
                self.grow(image);
                let (other, sums) = (self.other.as_mut_slice(), &mut self.sums);
                blend::sharpness(image, other, width, factor, sums);
                self.swap(image);
            }
            Op::Posterize => tone::posterize(image, strength),
            Op::Solarize => tone::solarize(image, strength),
            Op::AutoContrast => tone::auto_contrast(image),
            Op::Equalize => tone::equalize(image),
            Op::Invert => tone::invert(image),
        }
    }

    fn warp(&mut self, matrix: &affine::Matrix, size: (u32, u32), image: &mut Vec<u8>) {
        self.grow(image);
        affine::warp(image, &mut self.other, size, matrix);
        self.swap(image);
    }

    /// Makes the second buffer as long as the image.
    fn grow(&mut self, image: &[u8]) {
        self.other.resize(image.len(), 0);
    }

    fn swap(&mut self, image: &mut Vec<u8>) {
        std::mem::swap(image, &mut self.other);
    }
}
