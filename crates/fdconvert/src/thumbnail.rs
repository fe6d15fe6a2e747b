//! Images decoded no larger than they are needed.
use fdconvert_codec::{Decoder, Region};
use fdconvert_core::{Encoded, ImageHeader, Limits, Pixels, Result};

/// An image that was made smaller while it was decoded, as far as its codec allows.
pub(crate) struct Reduced {
    /// In 1, 3 or 4 channels, not turned by EXIF.
    pub(crate) pixels: Pixels,
    /// How many times smaller: 1, 2, 4 or 8.
    pub(crate) shrink: u8,
    /// What the stored image says about itself.
    pub(crate) header: ImageHeader,
}

/// The most that an image may be shrunk by so that it still `fits` what is needed: 8, 4, 2 or 1.
pub(crate) fn shrink_while(fits: impl Fn(u32) -> bool) -> u8 {
    [8, 4, 2].into_iter().find(|by| fits(u32::from(*by))).unwrap_or(1)
}

/// Decodes an image, in memory that is used up and comes back with the pixels.
///
/// # Errors
/// Those of decoding, naming `key`.
pub(crate) fn reduced(
    decoder: &mut Decoder,
    (key, image): (&str, &Encoded),
    limits: &Limits,
    shrink: u8,
    mut memory: Vec<u8>,
) -> Result<Reduced> {
    let whole = Region { x: 0, y: 0, width: image.width, height: image.height };
    let part = decoder.decode_part(key, image, limits, whole, shrink, &mut memory)?;
    let Region { width, height, .. } = part.region;
    let pixels = Pixels { width, height, channels: part.channels, data: memory };
    Ok(Reduced { pixels, shrink: part.shrink, header: part.header })
}
