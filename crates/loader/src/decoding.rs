//! Decoding of images to the upright pixels that a row needs.
use crate::transform::{Area, Region as Decoded, Stage, scale_for};
use fdconvert_codec::{
    self as codec, Decoder, Notes, Region, Wanted, orient, orient_bands, orientation,
};
use fdconvert_core::{Bands, Encoded, Error, Limits, Pixels, Result};

#[derive(Debug, Clone, Copy)]
pub(crate) struct DecodeOptions {
    pub(crate) limits: Limits,
    /// True if images are turned upright.
    pub(crate) orient: bool,
}

impl DecodeOptions {
    /// Returns the orientation to turn an image by: 1 for no turn.
    pub(crate) fn turn(&self, image: &Encoded) -> u8 {
        if self.orient { orientation(image) } else { 1 }
    }
}

/// The pixels that the views of a row need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needed {
    area: Area,
    /// Smallest fraction of the size that is enough for all of them: 1, 2, 4 or 8.
    denominator: u32,
}

impl Needed {
    /// Returns what views need of an image of this width and height, which has at least one.
    pub(crate) fn of<'a>(views: impl Iterator<Item = &'a [Stage]>, size: (u32, u32)) -> Self {
        let whole = Area { x: 0, y: 0, width: size.0, height: size.1 };
        let needs = views.map(|stages| match stages.first() {
            Some(Stage::Resample(it)) => {
                Self { area: it.needed, denominator: scale_for(it.rect, it.size) }
            }
            _ => Self { area: whole, denominator: 1 },
        });
        needs.reduce(Self::joined).unwrap_or(Self { area: whole, denominator: 1 })
    }

    fn joined(self, other: Self) -> Self {
        let (one, two) = (self.area, other.area);
        let (x, y) = (one.x.min(two.x), one.y.min(two.y));
        let right = (one.x + one.width).max(two.x + two.width);
        let bottom = (one.y + one.height).max(two.y + two.height);
        let area = Area { x, y, width: right - x, height: bottom - y };
        Self { area, denominator: self.denominator.min(other.denominator) }
    }
}

/// An image decoded as far as a row needs it.
pub(crate) struct Part<'a> {
    area: Area,
    channels: u8,
    denominator: u32,
    /// True if more than 8 bits per channel were rounded to 8.
    pub(crate) is_rounded: bool,
    /// Pixels within the stored image, if they need no decoding.
    stored: Option<&'a [u8]>,
}

impl<'a> Part<'a> {
    fn new(part: &codec::Part, stored: Option<&'a [u8]>) -> Self {
        let Region { x, y, width, height } = part.region;
        let area = Area { x, y, width, height };
        let is_rounded = part.notes.contains(Notes::DEPTH_REDUCED);
        let denominator = part.shrink.into();
        Self { area, channels: part.channels, denominator, is_rounded, stored }
    }

    /// Returns the decoded region; `pixels` are its pixels if they were decoded.
    pub(crate) fn region<'b>(&self, pixels: &'b [u8]) -> Decoded<'b>
    where
        'a: 'b,
    {
        let Self { area, channels, denominator, stored, .. } = *self;
        Decoded { pixels: stored.unwrap_or(pixels), area, channels, denominator }
    }
}

/// Returns the size of an image after it is turned upright.
pub(crate) fn upright_size(image: &Encoded, orientation: u8) -> (u32, u32) {
    if orientation >= 5 { (image.height, image.width) } else { (image.width, image.height) }
}

/// Decodes the part of an image that a row needs into `pixels`, without alpha, unless its pixels
/// exist already.
///
/// # Errors
/// The errors of decoding, with the key.
pub(crate) fn decode<'a>(
    decoder: &mut Decoder,
    (key, image): (&str, &'a Encoded),
    orientation: u8,
    needed: Needed,
    options: &DecodeOptions,
    pixels: &mut Vec<u8>,
) -> Result<Part<'a>> {
    let part = if orientation > 1 {
        decode_upright(decoder, (key, image), orientation, options, pixels)?
    } else {
        decode_part(decoder, (key, image), needed, options, pixels)?
    };
    if part.stored.is_some() {
        return Ok(part);
    }
    Ok(Part { channels: drop_alpha(part.channels, pixels), ..part })
}

fn decode_part<'a>(
    decoder: &mut Decoder,
    (key, image): (&str, &'a Encoded),
    needed: Needed,
    options: &DecodeOptions,
    pixels: &mut Vec<u8>,
) -> Result<Part<'a>> {
    let Area { x, y, width, height } = needed.area;
    let shrink = needed.denominator as u8;
    let region = Region { x, y, width, height };
    if let Some((part, stored)) = codec::Part::stored(key, image, &options.limits, region)?
        && matches!(part.channels, 1 | 3)
    {
        return Ok(Part::new(&part, Some(stored)));
    }
    let entry_points = image.entry_points.as_ref().map(|stored| &stored[..]);
    let wanted = Wanted { region, shrink, entry_points, luma: false };
    let part = decoder.decode_part_with(key, image, &options.limits, &wanted, pixels)?;
    Ok(Part::new(&part, None))
}

/// Decodes the part of an image of bands that a row needs into `values`; returns the part.
///
/// # Errors
/// The errors of decoding, with the key; `Sample` for an image of other bands.
pub(crate) fn decode_bands(
    decoder: &mut Decoder,
    (key, image): (&str, &Encoded),
    orientation: u8,
    (needed, bands): (Needed, Bands),
    options: &DecodeOptions,
    values: &mut Vec<u8>,
) -> Result<Area> {
    let whole = Area { x: 0, y: 0, width: image.width, height: image.height };
    let area = if orientation > 1 { whole } else { needed.area };
    let Area { x, y, width, height } = area;
    let region = Region { x, y, width, height };
    let found = decoder.decode_bands(key, image, &options.limits, region, values)?;
    if found != bands {
        let what = format!("has Bands({found}), and the list of transforms has Bands({bands})");
        return Err(Error::sample(key, what));
    }
    if orientation <= 1 {
        return Ok(area);
    }
    let (width, height) = orient_bands(values, (width, height), bands.pixel_bytes(), orientation);
    Ok(Area { width, height, ..whole })
}

/// Decodes a whole image and turns it: rare, and simpler than turning rectangles.
fn decode_upright<'a>(
    decoder: &mut Decoder,
    (key, image): (&str, &'a Encoded),
    orientation: u8,
    options: &DecodeOptions,
    pixels: &mut Vec<u8>,
) -> Result<Part<'a>> {
    let (header, channels, notes) = decoder.decode_into(key, image, &options.limits, pixels)?;
    let data = std::mem::take(pixels);
    let whole = Pixels { width: header.width, height: header.height, channels, data };
    let Pixels { width, height, data, .. } = orient(whole, orientation);
    *pixels = data;
    let channels = pixels.len() / (width as usize * height as usize).max(1);
    let area = Area { x: 0, y: 0, width, height };
    let is_rounded = notes.contains(Notes::DEPTH_REDUCED);
    Ok(Part { area, channels: channels as u8, denominator: 1, is_rounded, stored: None })
}

/// Drops the alpha channel like Pillow's `convert("RGB")`; returns the number of channels left.
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
