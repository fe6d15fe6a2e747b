use crate::Bilevel;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Encoding of image bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Codec {
    /// JPEG, any flavour.
    Jpeg,
    /// PNG.
    Png,
    /// Windows bitmap.
    Bmp,
    /// WebP.
    Webp,
    /// TIFF.
    Tiff,
    /// GIF (its first frame).
    Gif,
    /// AVIF: AV1 in a HEIF.
    Avif,
    /// JPEG XL, bare or in its container.
    Jxl,
    /// Interleaved 8-bit samples, row-major, without header or padding. One or three channels,
    /// determined by the length: `width * height * channels` bytes.
    Raw,
}

impl Codec {
    /// Every codec, in a fixed order.
    pub const ALL: [Self; 9] = [
        Self::Jpeg,
        Self::Png,
        Self::Bmp,
        Self::Webp,
        Self::Tiff,
        Self::Gif,
        Self::Avif,
        Self::Jxl,
        Self::Raw,
    ];

    /// Returns the usual file extension, which is also the name on the command line and in reports.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Bmp => "bmp",
            Self::Webp => "webp",
            Self::Tiff => "tif",
            Self::Gif => "gif",
            Self::Avif => "avif",
            Self::Jxl => "jxl",
            Self::Raw => "raw",
        }
    }

    /// Returns the codec for a file extension in any case; never raw pixels.
    #[must_use]
    pub fn from_extension(extension: &str) -> Option<Self> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "jpg" | "jpeg" | "jpe" | "jfif" => Self::Jpeg,
            "png" => Self::Png,
            "bmp" | "dib" => Self::Bmp,
            "webp" => Self::Webp,
            "tif" | "tiff" => Self::Tiff,
            "gif" => Self::Gif,
            "avif" | "avifs" => Self::Avif,
            "jxl" => Self::Jxl,
            _ => return None,
        })
    }

    /// Removes the dot and image extension of a key; `None` if it has none. A file name that is
    /// only an extension counts as having none.
    #[must_use]
    pub fn strip_extension(key: &str) -> Option<&str> {
        let (stem, extension) = key.rsplit_once('.')?;
        let is_name = !stem.is_empty() && !stem.ends_with('/');
        (is_name && Self::from_extension(extension).is_some()).then_some(stem)
    }
}

/// Meaning of an image's channels. A palette counts as the colour type of its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Color {
    /// One channel.
    Gray,
    /// Gray and alpha.
    GrayAlpha,
    /// Three channels; a JPEG's YCbCr counts as this.
    Rgb,
    /// RGB and alpha.
    Rgba,
    /// Four inks; a JPEG's YCCK counts as this.
    Cmyk,
}

impl Color {
    /// Returns the channels per pixel.
    #[must_use]
    pub fn channels(self) -> u8 {
        match self {
            Self::Gray => 1,
            Self::GrayAlpha => 2,
            Self::Rgb => 3,
            Self::Rgba | Self::Cmyk => 4,
        }
    }

    /// Returns true if there is an alpha channel.
    #[must_use]
    pub fn has_alpha(self) -> bool {
        matches!(self, Self::GrayAlpha | Self::Rgba)
    }
}

/// Claims of an image's first bytes, not proven by decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageHeader {
    /// Codec of the image.
    pub codec: Codec,
    /// Columns as stored, before any EXIF rotation.
    pub width: u32,
    /// Rows as stored.
    pub height: u32,
    /// Meaning of the channels.
    pub color: Color,
    /// Bits per channel: 1 to 32.
    pub bits: u8,
    /// EXIF orientation, 1 to 8; 1 is upright. Decoders have to apply it.
    pub orientation: u8,
    /// True for a JPEG that is not baseline or extended Huffman coded in one pass (SOF2 and above).
    pub progressive: bool,
}

impl ImageHeader {
    /// Creates the header of raw pixels.
    #[must_use]
    pub fn raw(width: u32, height: u32, channels: u8) -> Self {
        let color = if channels == 1 { Color::Gray } else { Color::Rgb };
        Self {
            codec: Codec::Raw,
            width,
            height,
            color,
            bits: 8,
            orientation: 1,
            progressive: false,
        }
    }

    /// Returns the number of pixels, without overflow.
    #[must_use]
    pub fn pixels(&self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

/// Decoded pixels, interleaved, 8 bits per channel, row-major without padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// 1 (gray), 3 (RGB) or 4 (RGBA).
    pub channels: u8,
    /// `width * height * channels` bytes.
    pub data: Vec<u8>,
}

impl Pixels {
    /// Returns the bytes of an image of this shape, without overflow on 64-bit machines.
    #[must_use]
    pub fn byte_len(width: u32, height: u32, channels: u8) -> u64 {
        u64::from(width) * u64::from(height) * u64::from(channels)
    }
}

/// An image in its stored form. `bytes` may be a slice of a memory map; cloning is cheap. `{:?}`
/// prints the number of bytes and the first few.
#[derive(Clone)]
pub struct Encoded {
    /// Codec of `bytes`.
    pub codec: Codec,
    /// Columns as stored.
    pub width: u32,
    /// Rows as stored.
    pub height: u32,
    /// The stored bytes.
    pub bytes: Bytes,
    /// XXH3 (64 bits, seed 0) of `bytes`, if it was computed, or compared with the dataset's. Saves
    /// writers from computing it again; code that changes the bytes must clear it.
    pub xxh3: Option<u64>,
    /// Points where a decoder may start inside this JPEG, made by `fdconvert-jpeg`. Formats with
    /// support for them store them beside the image; code that changes `bytes` must clear them. A
    /// [`Reader`](crate::Reader) returns them separately, since most callers do not need them:
    /// [`Reader::entry_points`](crate::Reader::entry_points).
    pub entry_points: Option<Bytes>,
}

impl Encoded {
    /// Creates an image without checksum and entry points.
    #[must_use]
    pub fn new(codec: Codec, width: u32, height: u32, bytes: Bytes) -> Self {
        Self { codec, width, height, bytes, xxh3: None, entry_points: None }
    }

    /// Sets or clears the entry points.
    #[must_use]
    pub fn with_entry_points(self, entry_points: Option<Bytes>) -> Self {
        Self { entry_points, ..self }
    }
}

/// Ignores checksum and entry points.
impl PartialEq for Encoded {
    fn eq(&self, other: &Self) -> bool {
        (self.codec, self.width, self.height, &self.bytes, &self.entry_points)
            == (other.codec, other.width, other.height, &other.bytes, &other.entry_points)
    }
}

impl Eq for Encoded {}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoded")
            .field("codec", &self.codec)
            .field("width", &self.width)
            .field("height", &self.height)
            .field("bytes", &Abbreviated(&self.bytes))
            .finish()
    }
}

/// Bytes for `{:?}`: a preview, not a screen of escapes.
pub(crate) struct Abbreviated<'a>(pub(crate) &'a Bytes);

impl fmt::Debug for Abbreviated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        match self.0.get(..SHOWN) {
            Some(first) if self.0.len() > SHOWN => {
                write!(f, "{:?}... ({} bytes)", Bytes::copy_from_slice(first), self.0.len())
            }
            _ => self.0.fmt(f),
        }
    }
}

/// Image from a source.
#[derive(Debug, Clone)]
pub enum Image {
    /// Bytes in some stored form, not decoded.
    Encoded(Encoded),
    /// Newly made pixels.
    Pixels(Pixels),
    /// Newly made pixels of two gray levels.
    Bilevel(Bilevel),
}

impl Image {
    /// Returns the bytes that it takes in memory.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        match self {
            Self::Encoded(image) => image.bytes.len(),
            Self::Pixels(image) => image.data.len(),
            Self::Bilevel(image) => image.bits.len(),
        }
    }
}
