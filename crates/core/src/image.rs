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
    /// Interleaved 8-bit samples, row-major, no header, no padding. One or three channels, told
    /// apart by the length: `width * height * channels` bytes.
    Raw,
}

impl Codec {
    /// Every codec, in a fixed order.
    pub const ALL: [Self; 7] =
        [Self::Jpeg, Self::Png, Self::Bmp, Self::Webp, Self::Tiff, Self::Gif, Self::Raw];

    /// The usual file extension, which is also the name on the command line and in reports.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::Bmp => "bmp",
            Self::Webp => "webp",
            Self::Tiff => "tif",
            Self::Gif => "gif",
            Self::Raw => "raw",
        }
    }

    /// The codec that a file extension stands for, in any case; none for raw pixels.
    #[must_use]
    pub fn from_extension(extension: &str) -> Option<Self> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "jpg" | "jpeg" | "jpe" | "jfif" => Self::Jpeg,
            "png" => Self::Png,
            "bmp" | "dib" => Self::Bmp,
            "webp" => Self::Webp,
            "tif" | "tiff" => Self::Tiff,
            "gif" => Self::Gif,
            _ => return None,
        })
    }

    /// A key without its dot and extension, where that is one of an image. A last part that is all
    /// extension has none.
    #[must_use]
    pub fn strip_extension(key: &str) -> Option<&str> {
        let (stem, extension) = key.rsplit_once('.')?;
        let is_name = !stem.is_empty() && !stem.ends_with('/');
        (is_name && Self::from_extension(extension).is_some()).then_some(stem)
    }
}

/// Meaning of the channels of an image. A palette counts as what its entries are.
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
    /// Channels per pixel.
    #[must_use]
    pub fn channels(self) -> u8 {
        match self {
            Self::Gray => 1,
            Self::GrayAlpha => 2,
            Self::Rgb => 3,
            Self::Rgba | Self::Cmyk => 4,
        }
    }

    /// Returns whether there is an alpha channel.
    #[must_use]
    pub fn has_alpha(self) -> bool {
        matches!(self, Self::GrayAlpha | Self::Rgba)
    }
}

/// Claims that the first bytes of an image make about it, not proven by decoding.
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
    /// Bits per channel: 1, 2, 4, 8, 12 or 16.
    pub bits: u8,
    /// EXIF orientation, 1 to 8; 1 is upright. The one who decodes has to apply it.
    pub orientation: u8,
    /// A JPEG that is not baseline or extended Huffman coded in one pass (SOF2 and above).
    pub progressive: bool,
}

impl ImageHeader {
    /// The header of raw pixels.
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

    /// Pixels, without overflow.
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
    /// Bytes that an image of this shape takes, without overflow on 64-bit machines.
    #[must_use]
    pub fn byte_len(width: u32, height: u32, channels: u8) -> u64 {
        u64::from(width) * u64::from(height) * u64::from(channels)
    }
}

/// An image in its stored form. `bytes` may view a memory map; cloning is cheap. `{:?}` tells how
/// many bytes there are and shows the first.
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
    /// XXH3 (64 bits, seed 0) of `bytes`, where it was compared with the one that a dataset has, or
    /// was made when they came: who stores the bytes need not compute it again, and who changes them
    /// takes it away.
    pub xxh3: Option<u64>,
    /// Points where a decoder may start inside this JPEG, as `fdconvert-jpeg` makes them; a format
    /// that can stores them beside the image, and who changes `bytes` takes them away. A
    /// [`Reader`](crate::Reader) gives them apart from the image, as most who read images do not want
    /// them: [`Reader::entry_points`](crate::Reader::entry_points).
    pub entry_points: Option<Bytes>,
}

impl Encoded {
    /// An image with nothing beside it.
    #[must_use]
    pub fn new(codec: Codec, width: u32, height: u32, bytes: Bytes) -> Self {
        Self { codec, width, height, bytes, xxh3: None, entry_points: None }
    }

    /// The same with these entry points, or none, beside it.
    #[must_use]
    pub fn with_entry_points(self, entry_points: Option<Bytes>) -> Self {
        Self { entry_points, ..self }
    }
}

/// Compares all but what is known of the bytes.
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

/// Bytes for `{:?}`: a reader of a printed sample wants to see what it is, not a screen of escapes.
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

/// Image that a source yields.
#[derive(Debug, Clone)]
pub enum Image {
    /// Bytes that are already in some stored form; no one has decoded them yet.
    Encoded(Encoded),
    /// Freshly made pixels.
    Pixels(Pixels),
    /// Freshly made pixels of two gray levels.
    Bilevel(Bilevel),
}
