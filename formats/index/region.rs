use crate::index::IndexError;
use fdconvert_core::{
    Codec,
    bytes::{u32_at, u64_at},
};
#[cfg(any(feature = "write", feature = "mds"))]
use fdconvert_core::{Encoded, Value};
#[cfg(any(feature = "write", feature = "mds"))]
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of one record in the REGIONS section.
pub const REGION_LEN: usize = 40;
pub(crate) const RANGE_LEN: usize = 24;

/// One stored value: the place of its bytes in the data file, and facts about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Offset from the start of the data file.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// XXH3 (64 bits, seed 0) of the bytes.
    pub xxh3: u64,
    /// Facts about an image.
    pub image: Option<ImageFacts>,
}

/// Returns true if two slices are the same memory.
#[cfg(any(feature = "write", feature = "mds"))]
pub(crate) fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && std::ptr::eq(a.as_ptr(), b.as_ptr())
}

/// Returns XXH3 of the stored bytes of a value. For an image that was already compared with its
/// checksum, this is known.
#[cfg(any(feature = "write", feature = "mds"))]
pub(crate) fn xxh3_of(value: &Value<Encoded>, stored: &[u8]) -> u64 {
    let known = match value {
        Value::Image(image) if is_same(&image.bytes, stored) => image.xxh3,
        _ => None,
    };
    debug_assert!(known.is_none_or(|xxh3| xxh3 == xxh3_64(stored)), "its bytes were changed");
    known.unwrap_or_else(|| xxh3_64(stored))
}

/// Facts about the image of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageFacts {
    /// Codec of the stored bytes.
    pub codec: Codec,
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

/// A part of the data file that is not a region, with its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Offset from the start of the data file.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
    /// XXH3 (64 bits, seed 0) of the bytes.
    pub xxh3: u64,
}

/// Codes on disk, by position: 0 is "no image".
const CODECS: [Codec; 9] = [
    Codec::Jpeg,
    Codec::Png,
    Codec::Bmp,
    Codec::Webp,
    Codec::Tiff,
    Codec::Gif,
    Codec::Raw,
    Codec::Avif,
    Codec::Jxl,
];

impl Region {
    /// Returns the stored record.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; REGION_LEN] {
        let (width, height, code) = self.image.map_or((0, 0, 0), |image| {
            let position = CODECS.iter().position(|&codec| codec == image.codec);
            let code = position.and_then(|at| u8::try_from(at + 1).ok()).unwrap_or(0);
            (image.width, image.height, code)
        });
        let mut bytes = [0; REGION_LEN];
        bytes[0..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.len.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.xxh3.to_le_bytes());
        bytes[24..28].copy_from_slice(&width.to_le_bytes());
        bytes[28..32].copy_from_slice(&height.to_le_bytes());
        bytes[32] = code;
        bytes
    }

    /// Parses a stored record.
    ///
    /// # Errors
    /// `Damaged` (with the offset counted from the record) when the codec is unknown or reserved
    /// bytes are set.
    #[inline(always)]
    pub fn from_bytes(bytes: &[u8; REGION_LEN]) -> Result<Self, IndexError> {
        // The bytes after the codec.
        if u64_at(bytes, 32).unwrap_or(0) >> 8 != 0 {
            return Err(IndexError::damaged(33, "reserved bytes of a region are not zero"));
        }
        let (width, height) = (u32_at(bytes, 24).unwrap_or(0), u32_at(bytes, 28).unwrap_or(0));
        let image = match bytes[32] {
            0 if width == 0 && height == 0 => None,
            0 => {
                return Err(IndexError::damaged(24, "dimensions for a value that is not an image"));
            }
            code => match CODECS.get(usize::from(code) - 1) {
                Some(&codec) => Some(ImageFacts { codec, width, height }),
                None => return Err(IndexError::damaged(32, format!("unknown codec {code}"))),
            },
        };
        Ok(Self {
            offset: u64_at(bytes, 0).unwrap_or(0),
            len: u64_at(bytes, 8).unwrap_or(0),
            xxh3: u64_at(bytes, 16).unwrap_or(0),
            image,
        })
    }
}

impl Range {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&self.xxh3.to_le_bytes());
    }

    pub(crate) fn decode(record: &[u8]) -> Option<Self> {
        Some(Self {
            offset: u64_at(record, 0)?,
            len: u64_at(record, 8)?,
            xxh3: u64_at(record, 16)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_codec_survives_its_record() {
        assert_eq!(CODECS.len(), Codec::ALL.len());
        for codec in Codec::ALL {
            let image = Some(ImageFacts { codec, width: 3, height: u32::MAX });
            let region = Region { offset: 1, len: u64::MAX, xxh3: 7, image };
            assert_eq!(Region::from_bytes(&region.to_bytes()), Ok(region));
        }
    }
}
