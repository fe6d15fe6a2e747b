//! Options of the decoder.
use crate::{Error, Unsupported};
use fdconvert_jpeg::{Color, Jpeg, ProgressiveScans, Refused, parse};

/// Options for decoding an image.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The entry points of this JPEG, as datasets store them
    /// ([`EntryPoints::to_bytes`](fdconvert_jpeg::EntryPoints::to_bytes)).
    pub entry_points: Option<&'a [u8]>,
    /// How codes are read; `None`, the default, for what is fastest. The pixels do not depend on it.
    pub entropy: Option<Entropy>,
    /// Format of the pixels. RGB by default.
    pub format: PixelFormat,
    /// Scale of the image. Whole by default.
    pub scale: Scale,
    /// The region to decode, in pixels of the reduced image. All by default.
    pub region: Option<Region>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        let (format, scale) = (PixelFormat::Rgb, Scale::Whole);
        Self { entry_points: None, entropy: None, format, scale, region: None }
    }
}

/// A kind of entropy decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Entropy {
    /// A number of places of the scan in turns, 1 to 8; others count as the nearest of these.
    Streams(usize),
    /// Places in the lanes of vectors, 16 in each of 1 or 2 groups. As [`STREAMS`](Self::STREAMS)
    /// without AVX-512, and for [`Scale::Eighth`] if averages suffice.
    Lanes(usize),
}

const N_STREAMS: usize = if cfg!(target_arch = "aarch64") { 5 } else { 6 };

impl Entropy {
    /// The fastest number of streams: 6, or on aarch64 5, as each more takes more instructions there,
    /// and what it saves is not measured. If other threads use the same core, 3 are.
    pub const STREAMS: Self = Self::Streams(N_STREAMS);
    /// The fastest number of groups of lanes.
    pub const LANES: Self = Self::Lanes(2);

    /// Returns the number of places that are read one by one, if need be.
    pub(crate) fn n_streams(self) -> usize {
        match self {
            Self::Streams(n) => n,
            Self::Lanes(_) => N_STREAMS,
        }
    }
}

/// Format of a pixel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PixelFormat {
    /// Red, green and blue, a byte each; three times the level if the image is gray.
    #[default]
    Rgb,
    /// One byte: the level of a gray image, or the luma of another, which saves transforming colour
    /// differences. Not for images that store red, green and blue.
    Luma,
}

impl PixelFormat {
    /// Returns the number of bytes of a pixel.
    #[must_use]
    pub fn n_channels(self) -> usize {
        match self {
            Self::Rgb => 3,
            Self::Luma => 1,
        }
    }

    /// Returns the number of components that are needed, the first ones of an image.
    pub(crate) fn n_components(self, jpeg: &Jpeg) -> usize {
        match self {
            Self::Rgb => jpeg.components.len(),
            Self::Luma => 1,
        }
    }
}

/// Scale of an image that is reduced in the transform, with the pixels of libjpeg-turbo at these
/// scaling factors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// The stored size.
    #[default]
    Whole,
    /// Half as many columns and rows, rounded up.
    Half,
    /// A quarter of the columns and rows, rounded up.
    Quarter,
    /// An eighth of the columns and rows, rounded up: the averages of blocks.
    Eighth,
}

impl Scale {
    /// Returns the number of columns or rows of the reduced image.
    #[must_use]
    pub fn reduced(self, length: u32) -> u32 {
        length.div_ceil(8 / self.side() as u32)
    }

    /// Returns the samples on a side of a block.
    pub(crate) fn side(self) -> usize {
        match self {
            Self::Whole => 8,
            Self::Half => 4,
            Self::Quarter => 2,
            Self::Eighth => 1,
        }
    }
}

/// A rectangle of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The first column.
    pub x: u32,
    /// The first row.
    pub y: u32,
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

/// Properties of the pixels, read from the markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// Columns of pixels.
    pub width: u32,
    /// Rows of pixels.
    pub height: u32,
    /// Meaning of the components.
    pub color: Color,
}

impl Header {
    /// Reads the markers of a JPEG.
    ///
    /// # Errors
    /// `Unsupported`, when [`Decoder::decode`](crate::Decoder::decode) cannot decode it either.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let jpeg = match parse(bytes) {
            Err(Refused::Progressive { .. }) => ProgressiveScans::new(bytes)?.jpeg().clone(),
            parsed => parsed?,
        };
        check_supported(&jpeg).map(|()| Self::of(&jpeg))
    }

    /// Returns the size of the pixels with these options.
    #[must_use]
    pub fn n_bytes(&self, options: &Options<'_>) -> u64 {
        let (width, height) = match options.region {
            Some(region) => (region.width, region.height),
            None => (options.scale.reduced(self.width), options.scale.reduced(self.height)),
        };
        u64::from(width) * u64::from(height) * options.format.n_channels() as u64
    }

    pub(crate) fn of(jpeg: &Jpeg) -> Self {
        Self { width: jpeg.width, height: jpeg.height, color: jpeg.color }
    }
}

/// Checks that this decoder supports the sampling of an image.
pub(crate) fn check_supported(jpeg: &Jpeg) -> Result<(), Error> {
    let (max_h, max_v) = jpeg.max_sampling();
    let is_whole = |max: u32, part: u8| max.checked_rem(part.into()) == Some(0);
    match jpeg.components.iter().find(|it| !is_whole(max_h, it.h) || !is_whole(max_v, it.v)) {
        Some(it) => Err(Unsupported::Sampling { h: it.h, v: it.v, max_h, max_v }.into()),
        None => Ok(()),
    }
}
