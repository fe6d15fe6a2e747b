//! Decoding of images no larger than they are shown.
use crate::{Decoder, Filter, Region, Resizer, Size, Wanted, orient::orient};
use fdconvert_core::{Encoded, ImageHeader, Limits, Pixels, Result};

/// An image that was reduced while decoding, as far as its codec allows.
#[derive(Debug, Clone)]
pub struct Reduced {
    /// Pixels in 1, 3 or 4 channels, not turned by EXIF.
    pub pixels: Pixels,
    /// Factor of the reduction: 1, 2, 4 or 8.
    pub shrink: u8,
    /// Header of the stored image.
    pub header: ImageHeader,
}

/// Returns the largest reduction of an image that still `fits`: 8, 4, 2 or 1.
pub fn shrink_while(fits: impl Fn(u32) -> bool) -> u8 {
    [8, 4, 2].into_iter().find(|by| fits(u32::from(*by))).unwrap_or(1)
}

impl Decoder {
    /// Decodes all of an image, reduced `shrink` (1, 2, 4 or 8) times if its codec allows, into
    /// `memory`, which is returned with the pixels.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`.
    pub fn decode_reduced(
        &mut self,
        key: &str,
        image: &Encoded,
        limits: &Limits,
        shrink: u8,
        memory: Vec<u8>,
    ) -> Result<Reduced> {
        self.reduced(key, image, limits, (shrink, false), memory)
    }

    /// As [`decode_reduced`](Self::decode_reduced), if only brightness matters: the pixels of a
    /// JPEG are its luma, in one channel, if that can be decoded alone.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`.
    pub fn decode_reduced_luma(
        &mut self,
        key: &str,
        image: &Encoded,
        limits: &Limits,
        shrink: u8,
        memory: Vec<u8>,
    ) -> Result<Reduced> {
        self.reduced(key, image, limits, (shrink, true), memory)
    }

    fn reduced(
        &mut self,
        key: &str,
        image: &Encoded,
        limits: &Limits,
        (shrink, luma): (u8, bool),
        mut memory: Vec<u8>,
    ) -> Result<Reduced> {
        let region = Region { x: 0, y: 0, width: image.width, height: image.height };
        let wanted = Wanted { region, shrink, entry_points: None, luma };
        let part = self.decode_part_with(key, image, limits, &wanted, &mut memory)?;
        let Region { width, height, .. } = part.region;
        let pixels = Pixels { width, height, channels: part.channels, data: memory };
        Ok(Reduced { pixels, shrink: part.shrink, header: part.header })
    }
}

/// Makes small images; keeps its handles between images.
#[derive(Default)]
pub struct Thumbnailer {
    decoder: Decoder,
    resizer: Resizer,
}

impl Thumbnailer {
    /// Creates a thumbnailer without memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes an image as small as its codec allows, resizes it to a longer side of at most
    /// `side`, and turns it upright. It has 1, 3 or 4 channels, and never more pixels than the
    /// stored image.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`.
    pub fn thumbnail(
        &mut self,
        key: &str,
        image: &Encoded,
        limits: &Limits,
        side: u32,
    ) -> Result<Pixels> {
        let longer = image.width.max(image.height);
        let shrink = shrink_while(|by| longer.div_ceil(by) >= side);
        let Reduced { pixels, header, .. } =
            self.decoder.decode_reduced(key, image, limits, shrink, Vec::new())?;
        let (width, height) = Size::MaxSide(side).target(pixels.width, pixels.height);
        if (width, height) == (pixels.width, pixels.height) {
            return Ok(orient(pixels, header.orientation));
        }
        let mut data = Vec::new();
        self.resizer.resize(key, &pixels, (width, height), Filter::Area, &mut data)?;
        let pixels = Pixels { width, height, channels: pixels.channels, data };
        Ok(orient(pixels, header.orientation))
    }
}
