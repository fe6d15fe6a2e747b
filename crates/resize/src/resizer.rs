//! Making images smaller.

use super::{area::Area, simd::Instructions};
use fast_image_resize as fir;
use fdconvert_core::{Error, Pixels, Result};
use fir::images::{TypedCroppedImage, TypedImage, TypedImageRef};
use std::{fmt, str::FromStr};

/// Filter for making images smaller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Filter {
    /// The mean of the pixels that an output pixel covers: equals OpenCV's `INTER_AREA` bit for
    /// bit, and so FFCV's images.
    #[default]
    Area,
    /// Lanczos with three lobes, as Pillow's `LANCZOS`: sharper.
    Lanczos3,
    /// Triangle over all covered pixels, as Pillow's `BILINEAR`.
    Bilinear,
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Area, Self::Lanczos3, Self::Bilinear];
        let found = all.into_iter().find(|value| value.name() == text);
        found.ok_or_else(|| format!("unknown `{text}`; expected one of: area, lanczos3, bilinear"))
    }
}

impl Filter {
    /// Returns its name on the command line and in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Area => "area",
            Self::Lanczos3 => "lanczos3",
            Self::Bilinear => "bilinear",
        }
    }
}

/// Resizes images. Use one per thread: it keeps tables and buffers.
pub struct Resizer {
    instructions: Instructions,
    area: Area,
    other: fir::Resizer,
}

impl Default for Resizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Resizer {
    /// Creates a resizer without buffers, with the fastest instructions of the processor.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Instructions::best())
    }

    /// Creates a resizer with these instructions for the area filter; `None` if the processor lacks
    /// them.
    #[must_use]
    pub fn with(instructions: Instructions) -> Option<Self> {
        instructions.are_here().then(|| Self::of(instructions))
    }

    fn of(instructions: Instructions) -> Self {
        Self { instructions, area: Area::default(), other: fir::Resizer::default() }
    }

    /// Resizes `pixels` to `width` x `height` into `out`, which it resizes.
    ///
    /// # Errors
    /// `Sample` when the data does not fit its size, or when a side is 0 or would grow.
    pub fn resize(
        &mut self,
        key: &str,
        pixels: &Pixels,
        (width, height): (u32, u32),
        filter: Filter,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        check(pixels, width, height).map_err(|what| Error::sample(key, what))?;
        // Every byte is written below: only the added part is cleared.
        out.resize(Pixels::byte_len(width, height, pixels.channels) as usize, 0);
        let kind = match filter {
            Filter::Area => {
                self.area.resize(self.instructions, pixels, (width, height), out);
                return Ok(());
            }
            Filter::Lanczos3 => fir::FilterType::Lanczos3,
            Filter::Bilinear => fir::FilterType::Bilinear,
        };
        let other = self.convolve(pixels, (width, height), kind, out);
        other.map_err(|what| Error::sample(key, format!("cannot be resized: {what}")))
    }

    fn convolve(
        &mut self,
        pixels: &Pixels,
        (width, height): (u32, u32),
        kind: fir::FilterType,
        out: &mut [u8],
    ) -> Result<(), String> {
        match pixels.channels {
            1 => self.convolve_as::<fir::pixels::U8>(pixels, (width, height), kind, out),
            3 => self.convolve_as::<fir::pixels::U8x3>(pixels, (width, height), kind, out),
            _ => self.convolve_as::<fir::pixels::U8x4>(pixels, (width, height), kind, out),
        }
    }

    /// Typed, because the untyped call of `fast_image_resize` would compile ten more kinds of
    /// pixels.
    fn convolve_as<P: fir::PixelTrait>(
        &mut self,
        pixels: &Pixels,
        (width, height): (u32, u32),
        kind: fir::FilterType,
        out: &mut [u8],
    ) -> Result<(), String> {
        let Pixels { width: from_width, height: from_height, data, .. } = pixels;
        let whole = TypedImageRef::<P>::from_buffer(*from_width, *from_height, data)
            .map_err(|error| error.to_string())?;
        // A cropped view, as in the stretcher: another type would compile everything again.
        let from = TypedCroppedImage::new(whole, 0, 0, *from_width, *from_height)
            .map_err(|error| error.to_string())?;
        let mut to =
            TypedImage::<P>::from_buffer(width, height, out).map_err(|error| error.to_string())?;
        let options = fir::ResizeOptions::new().resize_alg(fir::ResizeAlg::Convolution(kind));
        self.other.resize_typed(&from, &mut to, &options).map_err(|error| error.to_string())
    }
}

fn check(pixels: &Pixels, width: u32, height: u32) -> Result<(), String> {
    let (from_width, from_height, channels) = (pixels.width, pixels.height, pixels.channels);
    if !matches!(channels, 1 | 3 | 4) {
        return Err(format!("an image of {channels} channels cannot be resized"));
    }
    if pixels.data.len() as u64 != Pixels::byte_len(from_width, from_height, channels) {
        let what = format!("{from_width}x{from_height} pixels of {channels} channels");
        return Err(format!("{} bytes are not {what}", pixels.data.len()));
    }
    if width == 0 || height == 0 || width > from_width || height > from_height {
        return Err(format!("cannot go from {from_width}x{from_height} to {width}x{height}"));
    }
    Ok(())
}
