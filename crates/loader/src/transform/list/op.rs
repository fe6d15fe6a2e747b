//! The single changes of automatic augmentations, by torchvision's names.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Identity,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    Rotate,
    Brightness,
    Color,
    Contrast,
    Sharpness,
    Posterize,
    Solarize,
    AutoContrast,
    Equalize,
    Invert,
}
