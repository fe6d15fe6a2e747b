//! The pairs of changes that AutoAugment learned, from the appendix of the paper and in the order
//! of torchvision.

use super::op::Op;

/// A change, its probability in percent and its level of 10 (0 for changes without one).
pub(super) struct Choice(pub(super) Op, pub(super) u8, pub(super) u32);

/// Two changes, made one after the other.
pub(super) type Pair = [Choice; 2];

pub(super) const IMAGENET: [Pair; 25] = [
    [Choice(Op::Posterize, 40, 8), Choice(Op::Rotate, 60, 9)],
    [Choice(Op::Solarize, 60, 5), Choice(Op::AutoContrast, 60, 0)],
    [Choice(Op::Equalize, 80, 0), Choice(Op::Equalize, 60, 0)],
    [Choice(Op::Posterize, 60, 7), Choice(Op::Posterize, 60, 6)],
    [Choice(Op::Equalize, 40, 0), Choice(Op::Solarize, 20, 4)],
    [Choice(Op::Equalize, 40, 0), Choice(Op::Rotate, 80, 8)],
    [Choice(Op::Solarize, 60, 3), Choice(Op::Equalize, 60, 0)],
    [Choice(Op::Posterize, 80, 5), Choice(Op::Equalize, 100, 0)],
    [Choice(Op::Rotate, 20, 3), Choice(Op::Solarize, 60, 8)],
    [Choice(Op::Equalize, 60, 0), Choice(Op::Posterize, 40, 6)],
    [Choice(Op::Rotate, 80, 8), Choice(Op::Color, 40, 0)],
    [Choice(Op::Rotate, 40, 9), Choice(Op::Equalize, 60, 0)],
    [Choice(Op::Equalize, 0, 0), Choice(Op::Equalize, 80, 0)],
    [Choice(Op::Invert, 60, 0), Choice(Op::Equalize, 100, 0)],
    [Choice(Op::Color, 60, 4), Choice(Op::Contrast, 100, 8)],
    [Choice(Op::Rotate, 80, 8), Choice(Op::Color, 100, 2)],
    [Choice(Op::Color, 80, 8), Choice(Op::Solarize, 80, 7)],
    [Choice(Op::Sharpness, 40, 7), Choice(Op::Invert, 60, 0)],
    [Choice(Op::ShearX, 60, 5), Choice(Op::Equalize, 100, 0)],
    [Choice(Op::Color, 40, 0), Choice(Op::Equalize, 60, 0)],
    [Choice(Op::Equalize, 40, 0), Choice(Op::Solarize, 20, 4)],
    [Choice(Op::Solarize, 60, 5), Choice(Op::AutoContrast, 60, 0)],
    [Choice(Op::Invert, 60, 0), Choice(Op::Equalize, 100, 0)],
    [Choice(Op::Color, 60, 4), Choice(Op::Contrast, 100, 8)],
    [Choice(Op::Equalize, 80, 0), Choice(Op::Equalize, 60, 0)],
];

pub(super) const CIFAR10: [Pair; 25] = [
    [Choice(Op::Invert, 10, 0), Choice(Op::Contrast, 20, 6)],
    [Choice(Op::Rotate, 70, 2), Choice(Op::TranslateX, 30, 9)],
    [Choice(Op::Sharpness, 80, 1), Choice(Op::Sharpness, 90, 3)],
    [Choice(Op::ShearY, 50, 8), Choice(Op::TranslateY, 70, 9)],
    [Choice(Op::AutoContrast, 50, 0), Choice(Op::Equalize, 90, 0)],
    [Choice(Op::ShearY, 20, 7), Choice(Op::Posterize, 30, 7)],
    [Choice(Op::Color, 40, 3), Choice(Op::Brightness, 60, 7)],
    [Choice(Op::Sharpness, 30, 9), Choice(Op::Brightness, 70, 9)],
    [Choice(Op::Equalize, 60, 0), Choice(Op::Equalize, 50, 0)],
    [Choice(Op::Contrast, 60, 7), Choice(Op::Sharpness, 60, 5)],
    [Choice(Op::Color, 70, 7), Choice(Op::TranslateX, 50, 8)],
    [Choice(Op::Equalize, 30, 0), Choice(Op::AutoContrast, 40, 0)],
    [Choice(Op::TranslateY, 40, 3), Choice(Op::Sharpness, 20, 6)],
    [Choice(Op::Brightness, 90, 6), Choice(Op::Color, 20, 8)],
    [Choice(Op::Solarize, 50, 2), Choice(Op::Invert, 0, 0)],
    [Choice(Op::Equalize, 20, 0), Choice(Op::AutoContrast, 60, 0)],
    [Choice(Op::Equalize, 20, 0), Choice(Op::Equalize, 60, 0)],
    [Choice(Op::Color, 90, 9), Choice(Op::Equalize, 60, 0)],
    [Choice(Op::AutoContrast, 80, 0), Choice(Op::Solarize, 20, 8)],
    [Choice(Op::Brightness, 10, 3), Choice(Op::Color, 70, 0)],
    [Choice(Op::Solarize, 40, 5), Choice(Op::AutoContrast, 90, 0)],
    [Choice(Op::TranslateY, 90, 9), Choice(Op::TranslateY, 70, 9)],
    [Choice(Op::AutoContrast, 90, 0), Choice(Op::Solarize, 80, 3)],
    [Choice(Op::Equalize, 80, 0), Choice(Op::Invert, 10, 0)],
    [Choice(Op::TranslateY, 70, 9), Choice(Op::AutoContrast, 90, 0)],
];

/// Street View House Numbers.
pub(super) const SVHN: [Pair; 25] = [
    [Choice(Op::ShearX, 90, 4), Choice(Op::Invert, 20, 0)],
    [Choice(Op::ShearY, 90, 8), Choice(Op::Invert, 70, 0)],
    [Choice(Op::Equalize, 60, 0), Choice(Op::Solarize, 60, 6)],
    [Choice(Op::Invert, 90, 0), Choice(Op::Equalize, 60, 0)],
    [Choice(Op::Equalize, 60, 0), Choice(Op::Rotate, 90, 3)],
    [Choice(Op::ShearX, 90, 4), Choice(Op::AutoContrast, 80, 0)],
    [Choice(Op::ShearY, 90, 8), Choice(Op::Invert, 40, 0)],
    [Choice(Op::ShearY, 90, 5), Choice(Op::Solarize, 20, 6)],
    [Choice(Op::Invert, 90, 0), Choice(Op::AutoContrast, 80, 0)],
    [Choice(Op::Equalize, 60, 0), Choice(Op::Rotate, 90, 3)],
    [Choice(Op::ShearX, 90, 4), Choice(Op::Solarize, 30, 3)],
    [Choice(Op::ShearY, 80, 8), Choice(Op::Invert, 70, 0)],
    [Choice(Op::Equalize, 90, 0), Choice(Op::TranslateY, 60, 6)],
    [Choice(Op::Invert, 90, 0), Choice(Op::Equalize, 60, 0)],
    [Choice(Op::Contrast, 30, 3), Choice(Op::Rotate, 80, 4)],
    [Choice(Op::Invert, 80, 0), Choice(Op::TranslateY, 0, 2)],
    [Choice(Op::ShearY, 70, 6), Choice(Op::Solarize, 40, 8)],
    [Choice(Op::Invert, 60, 0), Choice(Op::Rotate, 80, 4)],
    [Choice(Op::ShearY, 30, 7), Choice(Op::TranslateX, 90, 3)],
    [Choice(Op::ShearX, 10, 6), Choice(Op::Invert, 60, 0)],
    [Choice(Op::Solarize, 70, 2), Choice(Op::TranslateY, 60, 7)],
    [Choice(Op::ShearY, 80, 4), Choice(Op::Invert, 80, 0)],
    [Choice(Op::ShearX, 70, 9), Choice(Op::TranslateY, 80, 3)],
    [Choice(Op::ShearY, 80, 5), Choice(Op::AutoContrast, 70, 0)],
    [Choice(Op::ShearX, 70, 2), Choice(Op::Invert, 10, 0)],
];
