use crate::layout::ChangeLayout;

/// A change to an 8-bit image, with its parameters: an operation of the loader's augmentations,
/// which the kernels reproduce bit for bit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// Shears, shifts or rotates.
    Warp(Warp),
    /// Moves away from black by this factor: 0 gives black, 1 the image.
    Brightness(f32),
    /// Likewise, away from gray.
    Color(f32),
    /// Likewise, away from the mean of the gray image.
    Contrast(f32),
    /// Likewise, away from a blurred image.
    Sharpness(f32),
    /// Keeps only the bits of each level that are set here.
    Posterize(u8),
    /// Inverts from this level upwards; 256 inverts nothing.
    Solarize(u16),
    /// Stretches every channel to 0 to 255.
    AutoContrast,
    /// Equalizes the histogram of every channel.
    Equalize,
    /// Inverts all levels.
    Invert,
}

/// A mapping from each pixel to its source position: x and y in the image before the change, in
/// units of 2^-16 pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warp {
    /// Source position of the first pixel; at most 2^50 in either direction.
    pub start: [i64; 2],
    /// Step of the source position per pixel to the right.
    pub right: [i32; 2],
    /// Step of the source position per pixel down.
    pub down: [i32; 2],
}

/// The numbers are those of `kernels/layout.cuh`.
const WARP: u32 = 0;
const SHARPNESS: u32 = 4;

impl ChangeLayout {
    /// Returns true if it writes the other half of the memory, because it reads more than the pixel
    /// that it makes.
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
