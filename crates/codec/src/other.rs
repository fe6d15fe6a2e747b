//! BMP, WebP and GIF: read through the `image` crate.

use crate::{Notes, bmp, convert, gif};
use fdconvert_core::{Codec, ImageHeader, Limits, Pixels};
use image::{ColorType, ImageDecoder, ImageFormat, ImageReader};
use std::io::Cursor;

/// Decodes to 1, 3 or 4 channels of 8 bits.
pub(crate) fn decode_other(
    bytes: &[u8],
    header: &ImageHeader,
    limits: &Limits,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(u8, Notes), String> {
    let format = match header.codec {
        Codec::Bmp => ImageFormat::Bmp,
        Codec::Webp => ImageFormat::WebP,
        Codec::Gif => ImageFormat::Gif,
        other => return Err(format!("{other:?} cannot be decoded")),
    };
    let text = |error: image::ImageError| error.to_string();
    let rewritten = match header.codec {
        Codec::Bmp => bmp::rewritten(bytes)?,
        Codec::Gif => gif::rewritten(bytes, header)?,
        _ => None,
    };
    let bytes = rewritten.as_deref().unwrap_or(bytes);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut bounds = image::Limits::default();
    bounds.max_image_width = Some(header.width);
    bounds.max_image_height = Some(header.height);
    // Decoders keep one or two copies of the pixels, at up to 16 bits, besides the output.
    bounds.max_alloc = Some(limits.max_pixels.saturating_mul(24));
    reader.limits(bounds);
    let decoder = reader.into_decoder().map_err(text)?;
    let (width, height) = decoder.dimensions();
    if (width, height) != (header.width, header.height) {
        return Err(format!("decodes to {width}x{height}, not {}x{}", header.width, header.height));
    }
    let color = decoder.color_type();
    let (channels, wide) = match color {
        ColorType::L8 => (1, false),
        ColorType::La8 => (2, false),
        ColorType::Rgb8 => (3, false),
        ColorType::Rgba8 => (4, false),
        ColorType::L16 => (1, true),
        ColorType::La16 => (2, true),
        ColorType::Rgb16 => (3, true),
        ColorType::Rgba16 => (4, true),
        _ => return Err(format!("pixels of the type {color:?} have no 8-bit meaning")),
    };
    let length = Pixels::byte_len(width, height, channels) as usize;
    let stored = length * if wide { 2 } else { 1 };
    if decoder.total_bytes() != stored as u64 {
        return Err("decodes to an unexpected number of bytes".into());
    }
    let target = if wide { &mut *scratch } else { &mut *out };
    if header.codec == Codec::Gif {
        // Pixels with a colour outside the table are not written: they must not show another image.
        target.clear();
    }
    target.resize(stored, 0);
    decoder.read_image(target).map_err(text)?;
    if wide {
        out.clear();
        let (samples, _) = scratch.as_chunks::<2>();
        out.extend(samples.iter().map(|&pair| convert::narrow(u16::from_ne_bytes(pair))));
    }
    let channels = match channels {
        2 => {
            convert::gray_alpha_to_rgba(out, scratch);
            std::mem::swap(out, scratch);
            4
        }
        // The GIF decoder gives every image an alpha channel.
        4 if header.codec == Codec::Gif && out.as_chunks::<4>().0.iter().all(|p| p[3] == 255) => {
            convert::drop_alpha(out, false, scratch);
            std::mem::swap(out, scratch);
            3
        }
        other => other,
    };
    Ok((channels, Notes::DEPTH_REDUCED.when(wide)))
}
