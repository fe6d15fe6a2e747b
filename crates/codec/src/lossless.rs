//! Reading and writing of PNG, and writing of lossless WebP.

use crate::{Notes, convert};
use fdconvert_core::{ImageHeader, Limits, Pixels};
use image::{ExtendedColorType, codecs::webp::WebPEncoder};
use png::{BitDepth, ColorType, Compression, Decoder, Encoder, Reader, Transformations};
use std::io::Cursor;

/// A side less one has fourteen bits (WebP lossless bitstream, section 3).
const MAX_WEBP_SIDE: u32 = 1 << 14;

/// Opens a PNG of the size in its header.
pub(crate) fn open_png<'a>(
    bytes: &'a [u8],
    header: &ImageHeader,
    limits: &Limits,
    transformations: Transformations,
) -> Result<Reader<Cursor<&'a [u8]>>, String> {
    // The pixels are bounded by the caller; this bounds the memory for other chunks.
    let bytes_limit = usize::try_from(limits.max_file_bytes).unwrap_or(usize::MAX);
    let mut decoder =
        Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: bytes_limit });
    decoder.set_transformations(transformations);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let reader = decoder.read_info().map_err(|error| error.to_string())?;
    let (width, height) = reader.info().size();
    if (width, height) != (header.width, header.height) {
        return Err(format!("decodes to {width}x{height}, not {}x{}", header.width, header.height));
    }
    Ok(reader)
}

/// Decodes a PNG to 1, 3 or 4 channels of 8 bits.
///
/// Palettes and fewer than 8 bits are expanded; 16 bits are rounded (libpng and the `png` crate
/// would truncate them, which darkens); gray with alpha becomes RGBA.
pub(crate) fn decode_png(
    bytes: &[u8],
    header: &ImageHeader,
    limits: &Limits,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(u8, Notes), String> {
    let text = |error: png::DecodingError| error.to_string();
    let mut reader = open_png(bytes, header, limits, Transformations::EXPAND)?;
    let (width, height) = (header.width, header.height);
    let (color, depth) = reader.output_color_type();
    let channels = color.samples();
    let length = Pixels::byte_len(width, height, channels as u8) as usize;
    let wide = depth == BitDepth::Sixteen;
    let stored = length * if wide { 2 } else { 1 };
    if reader.output_buffer_size() != Some(stored) {
        return Err("decodes to an unexpected number of bytes".into());
    }
    let direct = !wide && channels != 2;
    let target = if direct { &mut *out } else { &mut *scratch };
    target.resize(stored, 0);
    reader.next_frame(target).map_err(text)?;
    // The rest of the file must be complete too.
    reader.finish().map_err(text)?;
    if wide {
        narrow_in_place(scratch);
    }
    match (channels, direct) {
        (2, _) => convert::gray_alpha_to_rgba(scratch, out),
        (_, false) => {
            out.clear();
            out.extend_from_slice(scratch);
        }
        (_, true) => {}
    }
    let channels = if channels == 2 { 4 } else { channels as u8 };
    Ok((channels, Notes::DEPTH_REDUCED.when(wide)))
}

/// 16-bit big-endian samples to 8 bits.
fn narrow_in_place(samples: &mut Vec<u8>) {
    let n_samples = samples.len() / 2;
    for i in 0..n_samples {
        let Some(&pair) = samples.get(i * 2..).and_then(<[u8]>::first_chunk) else { return };
        if let Some(value) = samples.get_mut(i) {
            *value = convert::narrow(u16::from_be_bytes(pair));
        }
    }
    samples.truncate(n_samples);
}

/// Writes a lossless WebP, replacing `out`. Gray becomes RGB, because WebP has no gray.
pub(crate) fn encode_webp(pixels: &Pixels, out: &mut Vec<u8>) -> Result<(), String> {
    out.clear();
    let color = match pixels.channels {
        1 => ExtendedColorType::L8,
        3 => ExtendedColorType::Rgb8,
        4 => ExtendedColorType::Rgba8,
        other => return Err(format!("WebP cannot hold {other} channels")),
    };
    if pixels.width.max(pixels.height) > MAX_WEBP_SIDE {
        return Err(format!("a side of a WebP has at most {MAX_WEBP_SIDE} pixels"));
    }
    let encoder = WebPEncoder::new_lossless(out);
    let wrote = encoder.encode(&pixels.data, pixels.width, pixels.height, color);
    wrote.map_err(|error| error.to_string())
}

/// Writes a PNG, replacing `out`.
///
/// Uses the fast compression: ten times the speed of the balanced one for 12 % more bytes on
/// photos. Both decode at the same speed, which matters for training.
pub(crate) fn encode_png(pixels: &Pixels, out: &mut Vec<u8>) -> Result<(), String> {
    out.clear();
    let mut encoder = Encoder::new(out, pixels.width, pixels.height);
    encoder.set_color(match pixels.channels {
        1 => ColorType::Grayscale,
        3 => ColorType::Rgb,
        4 => ColorType::Rgba,
        other => return Err(format!("PNG cannot hold {other} channels")),
    });
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Fast);
    let text = |error: png::EncodingError| error.to_string();
    let mut writer = encoder.write_header().map_err(text)?;
    writer.write_image_data(&pixels.data).map_err(text)?;
    writer.finish().map_err(text)
}
