//! Photographs as in training sets: smaller, and re-encoded.
use fdconvert_codec::{Decoder, Encoder, Filter, JpegOptions, Resizer, Size};
use fdconvert_core::{Codec, Encoded, Limits, Pixels};
use std::error::Error;

/// Returns a square of 224 pixels from the middle of a JPEG, or all of it with another long side.
pub(crate) fn smaller(image: &Encoded, side: u32, quality: u8) -> Result<Encoded, Box<dyn Error>> {
    let pixels = Decoder::new().decode("", image, &Limits::DEFAULT)?.pixels;
    let size = if side == 224 { Size::ShortSide(side) } else { Size::MaxSide(side) };
    let (width, height) = size.target(image.width, image.height);
    let mut data = Vec::new();
    Resizer::new().resize("", &pixels, (width, height), Filter::Area, &mut data)?;
    let mut pixels = Pixels { width, height, channels: pixels.channels, data };
    if side == 224 {
        pixels = center(&pixels, side.min(width), side.min(height));
    }
    let options = JpegOptions { quality, ..JpegOptions::default() };
    Ok(Encoder::new().encode("", &pixels, Codec::Jpeg, &options, None)?)
}

fn center(pixels: &Pixels, width: u32, height: u32) -> Pixels {
    let channels = usize::from(pixels.channels);
    let left = (pixels.width - width) as usize / 2 * channels;
    let top = (pixels.height - height) as usize / 2;
    let rows = pixels.data.chunks_exact(pixels.width as usize * channels).skip(top);
    let data = rows
        .take(height as usize)
        .flat_map(|row| row.iter().skip(left).take(width as usize * channels).copied())
        .collect();
    Pixels { width, height, channels: pixels.channels, data }
}
