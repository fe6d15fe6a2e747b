use crate::DType;
use std::fmt;

/// Most bands of an image.
pub(crate) const MOST_BANDS: u16 = 32;

/// Bands of an image and the type of their values: what a file holds that is not an 8-bit picture,
/// such as the 13 bands of a satellite, the 16 bits of a tomogram, or depths as floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bands {
    /// Number of bands, 1 to 32.
    pub n: u16,
    /// Type of the values: `U8`, `U16`, `I16` or `F32`.
    pub dtype: DType,
}

impl Bands {
    /// Returns the bytes per pixel.
    #[must_use]
    pub fn pixel_bytes(self) -> usize {
        usize::from(self.n) * self.dtype.size() as usize
    }
}

/// Prints what a loader's `Bands` takes: `13, "u16"`.
impl fmt::Display for Bands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = match self.dtype {
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::I16 => "i16",
            DType::F32 => "f32",
            other => other.name(),
        };
        write!(f, "{}, \"{dtype}\"", self.n)
    }
}
