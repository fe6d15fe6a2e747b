use crate::layout::ChangeLayout;

/// One change to an image of whole levels, with its numbers: the operations of the loader's
/// augmentations, whose pixels the kernels make bit for bit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// Shears, shifts and rotations.
    Warp(Warp),
    /// Drawn away from black by this factor: at 0 it is black, at 1 the image.
    Brightness(f32),
    /// Likewise from gray.
    Color(f32),
    /// Likewise from the mean of the gray image.
    Contrast(f32),
    /// Likewise from a blurred image.
    Sharpness(f32),
    /// Keeps the bits of a level that are set here.
    Posterize(u8),
    /// Inverts from this level upwards; 256 inverts nothing.
    Solarize(u16),
    /// Stretches every channel to 0 to 255.
    AutoContrast,
    /// Gives every channel an even histogram.
    Equalize,
    /// The negative.
    Invert,
}

/// From which pixel each pixel comes: positions are x and y in the image as it was, in units of 2^-16
/// pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warp {
    /// Source position of the first pixel; at most 2^50 to either side.
    pub start: [i64; 2],
    /// Step of the source position for a pixel to the right.
    pub right: [i32; 2],
    /// Step of the source position for a pixel below.
    pub down: [i32; 2],
}

/// As `kernels/layout.cuh` numbers them.
const WARP: u32 = 0;
const SHARPNESS: u32 = 4;

impl ChangeLayout {
    /// Returns whether it writes the other half of the memory, because it looks at other pixels
    /// than the one it makes.
    pub(crate) fn moves(&self) -> bool {
        matches!(self.kind, WARP | SHARPNESS)
    }
}

impl Change {
    pub(crate) fn layout(&self) -> ChangeLayout {
        let none = ChangeLayout::default();
        match *self {
            Self::Warp(Warp { start, right, down }) => {
                ChangeLayout { kind: WARP, start, right, down, ..none }
            }
            Self::Brightness(factor) => ChangeLayout { kind: 1, factor, ..none },
            Self::Color(factor) => ChangeLayout { kind: 2, factor, ..none },
            Self::Contrast(factor) => ChangeLayout { kind: 3, factor, ..none },
            Self::Sharpness(factor) => ChangeLayout { kind: SHARPNESS, factor, ..none },
            Self::Posterize(mask) => ChangeLayout { kind: 5, level: mask.into(), ..none },
            Self::Solarize(level) => ChangeLayout { kind: 6, level: level.into(), ..none },
            Self::AutoContrast => ChangeLayout { kind: 7, ..none },
            Self::Equalize => ChangeLayout { kind: 8, ..none },
            Self::Invert => ChangeLayout { kind: 9, ..none },
        }
    }
}
