//! From an encoded image to the pixels that a row needs of it, upright.
use crate::{
    options::Options,
    transform::{Area, Geometry, Region as Decoded, scale_for},
};
use fdconvert_codec::{Decoder, Region, Wanted, orient};
use fdconvert_core::{Encoded, Pixels, Result};

/// An image whose pixels are decoded, as far as they are needed.
pub(crate) struct Part {
    area: Area,
    channels: u8,
    denominator: u32,
}

impl Part {
    /// The same with its pixels.
    pub(crate) fn region<'a>(&self, pixels: &'a [u8]) -> Decoded<'a> {
        let Self { area, channels, denominator } = *self;
        Decoded { pixels, area, channels, denominator }
    }
}

/// The size of an image that is turned upright.
pub(crate) fn upright_size(image: &Encoded, orientation: u8) -> (u32, u32) {
    if orientation >= 5 { (image.height, image.width) } else { (image.width, image.height) }
}

/// Decodes what a row needs of an image into `pixels`, without alpha.
///
/// # Errors
/// Those of decoding, naming `key`.
pub(crate) fn decode(
    decoder: &mut Decoder,
    (key, image): (&str, &Encoded),
    orientation: u8,
    geometry: &Geometry,
    options: &Options,
    pixels: &mut Vec<u8>,
) -> Result<Part> {
    let part = if orientation > 1 {
        decode_upright(decoder, (key, image), orientation, options, pixels)?
    } else {
        decode_part(decoder, (key, image), geometry, options, pixels)?
    };
    Ok(Part { channels: drop_alpha(part.channels, pixels), ..part })
}

/// Decodes as much of an image as is needed.
fn decode_part(
    decoder: &mut Decoder,
    (key, image): (&str, &Encoded),
    geometry: &Geometry,
    options: &Options,
    pixels: &mut Vec<u8>,
) -> Result<Part> {
    let Area { x, y, width, height } = geometry.needed;
    let area = geometry.area(options.output.size);
    let shrink = scale_for(geometry.rect, (area.width, area.height)) as u8;
    let region = Region { x, y, width, height };
    let entry_points = image.entry_points.as_deref().map(|stored| &stored[..]);
    let wanted = Wanted { region, shrink, entry_points, luma: false };
    let part = decoder.decode_part_with(key, image, &options.limits, &wanted, pixels)?;
    let Region { x, y, width, height } = part.region;
    let area = Area { x, y, width, height };
    Ok(Part { area, channels: part.channels, denominator: part.shrink.into() })
}

/// Decodes an image and turns it as a whole: rare, and simpler than turning rectangles.
fn decode_upright(
    decoder: &mut Decoder,
    (key, image): (&str, &Encoded),
    orientation: u8,
    options: &Options,
    pixels: &mut Vec<u8>,
) -> Result<Part> {
    let (header, channels, _) = decoder.decode_into(key, image, &options.limits, pixels)?;
    let data = std::mem::take(pixels);
    let whole = Pixels { width: header.width, height: header.height, channels, data };
    let Pixels { width, height, data, .. } = orient(whole, orientation);
    *pixels = data;
    let channels = pixels.len() / (width as usize * height as usize).max(1);
    let area = Area { x: 0, y: 0, width, height };
    Ok(Part { area, channels: channels as u8, denominator: 1 })
}

/// Drops the alpha channel, as Pillow's `convert("RGB")` does; returns the channels that are left.
fn drop_alpha(channels: u8, pixels: &mut Vec<u8>) -> u8 {
    if channels != 4 {
        return channels;
    }
    let n_pixels = pixels.len() / 4;
    for pixel in 0..n_pixels {
        pixels.copy_within(pixel * 4..pixel * 4 + 3, pixel * 3);
    }
    pixels.truncate(n_pixels * 3);
    3
}
