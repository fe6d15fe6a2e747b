//! Kinds of images that are not read here, by their first bytes and by the names of their files.
use crate::bytes::array_at;

/// A kind of image that is not read here, and what reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// AV1 in a HEIF container.
    Avif,
    /// HEVC and others in a HEIF container: what phones store.
    Heic,
    /// JPEG XL, bare or in its container.
    JpegXl,
}

/// The start of a JPEG XL in its container (ISO/IEC 18181-2).
const JXL_BOX: &[u8] = b"\0\0\0\x0cJXL \r\n\x87\n";
/// A bare JPEG XL (ISO/IEC 18181-1).
const JXL_BARE: &[u8] = b"\xff\x0a";

impl Foreign {
    /// The kind that the first bytes belong to.
    pub(crate) fn sniff(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(JXL_BOX) || bytes.starts_with(JXL_BARE) {
            return Some(Self::JpegXl);
        }
        if array_at(bytes, 4) != Some(*b"ftyp") {
            return None;
        }
        // The major brand; files of several kinds name the others behind it.
        match &array_at::<4>(bytes, 8)? {
            b"avif" | b"avis" => Some(Self::Avif),
            b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" => Some(Self::Heic),
            b"mif1" | b"msf1" => {
                let brands = bytes.get(16..bytes.len().min(64)).unwrap_or_default();
                let is_av1 = brands.chunks_exact(4).any(|brand| brand == b"avif");
                Some(if is_av1 { Self::Avif } else { Self::Heic })
            }
            _ => None,
        }
    }

    /// The kind that the extension of a file name promises; without its dot, in capitals or not.
    #[must_use]
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "avif" | "avifs" => Some(Self::Avif),
            "heic" | "heif" | "hif" => Some(Self::Heic),
            "jxl" => Some(Self::JpegXl),
            _ => None,
        }
    }

    /// Returns what it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Avif => "AVIF",
            Self::Heic => "HEIC",
            Self::JpegXl => "JPEG XL",
        }
    }

    /// Returns a command that makes a file of it that is read here, with the library that it comes
    /// with. A JPEG XL that was made of a JPEG becomes that JPEG again, byte for byte.
    #[must_use]
    pub fn cure(self) -> &'static str {
        match self {
            Self::Avif => "`avifdec photo.avif photo.png` (libavif)",
            Self::Heic => "`heif-convert photo.heic photo.png` (libheif)",
            Self::JpegXl => {
                "`djxl photo.jxl photo.jpg` if it was made of a JPEG, else \
                 `djxl photo.jxl photo.png` (libjxl)"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brands_tell_them_apart() {
        let boxed = |brands: &[u8]| [b"\0\0\0\x20ftyp", brands].concat();
        assert_eq!(Foreign::sniff(&boxed(b"avif\0\0\0\0mif1")), Some(Foreign::Avif));
        assert_eq!(Foreign::sniff(&boxed(b"heic\0\0\0\0mif1")), Some(Foreign::Heic));
        assert_eq!(Foreign::sniff(&boxed(b"mif1\0\0\0\0mif1avif")), Some(Foreign::Avif));
        assert_eq!(Foreign::sniff(&boxed(b"mif1\0\0\0\0mif1heic")), Some(Foreign::Heic));
        assert_eq!(Foreign::sniff(&boxed(b"isom\0\0\0\0mp41")), None);
        assert_eq!(Foreign::sniff(JXL_BOX), Some(Foreign::JpegXl));
        assert_eq!(Foreign::sniff(b"\xff\x0a\x00"), Some(Foreign::JpegXl));
        for cut in 0..12 {
            assert_eq!(Foreign::sniff(&boxed(b"avif")[..cut]), None);
        }
    }
}
