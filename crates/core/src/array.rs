use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Element type of a fixed-shape array; little endian, named as NumPy does (`<f4`, `|u1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum DType {
    /// `|b1`
    Bool,
    /// `|i1`
    I8,
    /// `|u1`
    U8,
    /// `<i2`
    I16,
    /// `<u2`
    U16,
    /// `<i4`
    I32,
    /// `<u4`
    U32,
    /// `<i8`
    I64,
    /// `<u8`
    U64,
    /// `<f2`
    F16,
    /// `<f4`
    F32,
    /// `<f8`
    F64,
    /// `<c8`
    C64,
    /// `<c16`
    C128,
}

impl DType {
    /// Every type, in a fixed order.
    pub const ALL: [Self; 14] = [
        Self::Bool,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::C64,
        Self::C128,
    ];

    /// Returns the plain name, as in NumPy and torch: `float32`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::U8 => "uint8",
            Self::I16 => "int16",
            Self::U16 => "uint16",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F16 => "float16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::C64 => "complex64",
            Self::C128 => "complex128",
        }
    }

    /// Returns NumPy's type string: `<f4`.
    #[must_use]
    pub fn numpy(self) -> &'static str {
        match self {
            Self::Bool => "|b1",
            Self::I8 => "|i1",
            Self::U8 => "|u1",
            Self::I16 => "<i2",
            Self::U16 => "<u2",
            Self::I32 => "<i4",
            Self::U32 => "<u4",
            Self::I64 => "<i8",
            Self::U64 => "<u8",
            Self::F16 => "<f2",
            Self::F32 => "<f4",
            Self::F64 => "<f8",
            Self::C64 => "<c8",
            Self::C128 => "<c16",
        }
    }

    /// Parses NumPy's type string; `None` if it is not supported.
    #[must_use]
    pub fn from_numpy(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.numpy() == name)
    }

    /// Returns the bytes per element.
    #[must_use]
    pub fn size(self) -> u64 {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }
}

impl From<DType> for &'static str {
    fn from(dtype: DType) -> Self {
        dtype.numpy()
    }
}

impl TryFrom<String> for DType {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::from_numpy(&name)
            .ok_or_else(|| Error::usage("dtype", format!("`{name}` is not a type we store")))
    }
}

/// Shape and element type of every value of an array field.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArraySpec {
    /// Element type.
    pub dtype: DType,
    /// Sizes of the dimensions, outermost first; row-major.
    pub shape: Vec<u64>,
    /// True if readers should return a torch tensor (FFCV's type 6) instead of an ndarray.
    pub torch: bool,
}

impl ArraySpec {
    /// Returns the bytes of one value; `None` on overflow.
    #[must_use]
    pub fn byte_len(&self) -> Option<u64> {
        self.shape.iter().try_fold(self.dtype.size(), |bytes, &dim| bytes.checked_mul(dim))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_type() {
        for dtype in DType::ALL {
            assert_eq!(DType::from_numpy(dtype.numpy()), Some(dtype));
        }
        assert_eq!(DType::from_numpy(">f4"), None);
    }

    #[test]
    fn byte_len_does_not_overflow() {
        let spec = |shape| ArraySpec { dtype: DType::F32, shape, torch: false };
        assert_eq!(spec(vec![3, 4]).byte_len(), Some(48));
        assert_eq!(spec(vec![]).byte_len(), Some(4));
        assert_eq!(spec(vec![1 << 40, 1 << 40]).byte_len(), None);
    }
}
