//! Images of one channel as their stored values: labels and depths, which must not be converted.

use crate::{Decoder, claim::claim, decode::undecodable, guard::guarded, lossless::open_png};
use fdconvert_core::{
    Codec, Color, Encoded, Error, ImageHeader, Limits, Pixels, Result, probe::probe,
};
use png::{BitDepth, ColorType, Transformations};

/// Cure in errors: the forms with known values.
const CURE: &str = "store one channel as PNG: gray, or a palette with the values as indices";

/// Stored values of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
    /// Bytes per value: 1, or 2 for 16 bits in little endian.
    pub n_bytes: u8,
}

/// Returns true if the header of an image says 16-bit gray.
#[must_use]
pub fn is_gray16(image: &Encoded) -> bool {
    // Bits and colour type in the header of a PNG. A transparent level does not change the values.
    const BITS_AND_COLOR: std::ops::Range<usize> = 24..26;
    image.codec == Codec::Png
        && image.bytes.get(BITS_AND_COLOR) == Some(&[16, 0])
        && probe(&image.bytes).is_ok()
}

impl Decoder {
    /// Decodes an image of one channel into `out`, replacing its content, with the stored values:
    /// indices of a palette and not its colours, 0 and 1 for one bit, and 16 bits in full.
    ///
    /// Accepts PNGs of gray or with a palette, and raw pixels of one channel.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`; also for images of several channels, and for codecs that
    /// do not keep stored values. After an error the content of `out` is unspecified.
    pub fn decode_levels_into(
        &mut self,
        key: &str,
        encoded: &Encoded,
        limits: &Limits,
        out: &mut Vec<u8>,
    ) -> Result<Levels> {
        let header = claim(key, encoded, limits)?;
        let ImageHeader { width, height, color, .. } = header;
        let n_bytes = match header.codec {
            Codec::Png => {
                guarded(|| decode_png(&encoded.bytes, &header, limits, self.scratch(), out))
                    .map_err(|what| {
                        Error::sample(key, undecodable(&encoded.bytes, &header, what))
                    })?
            }
            Codec::Raw if color == Color::Gray => {
                out.clear();
                out.extend_from_slice(&encoded.bytes);
                1
            }
            codec => {
                let (codec, channels) = (codec.extension(), color.channels());
                let what = match channels {
                    1 => format!("a {codec} does not give back the values it was made of: {CURE}"),
                    _ => format!("a {codec} of {channels} channels holds no single values: {CURE}"),
                };
                return Err(Error::sample(key, what));
            }
        };
        if out.len() as u64 != Pixels::byte_len(width, height, n_bytes) {
            return Err(Error::sample(key, "decodes to an unexpected number of bytes"));
        }
        Ok(Levels { width, height, n_bytes })
    }
}

/// Decodes a PNG of one channel; returns the bytes per value.
fn decode_png(
    bytes: &[u8],
    header: &ImageHeader,
    limits: &Limits,
    scratch: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<u8, String> {
    let text = |error: png::DecodingError| error.to_string();
    let mut reader = open_png(bytes, header, limits, Transformations::IDENTITY)?;
    let (width, height) = (header.width, header.height);
    let (color, depth) = reader.output_color_type();
    if !matches!(color, ColorType::Grayscale | ColorType::Indexed) {
        return Err(format!("{} channels are not single values: {CURE}", color.samples()));
    }
    let bits = depth as usize;
    let row_bytes = (width as usize * bits).div_ceil(8);
    let stored = row_bytes * height as usize;
    if reader.output_buffer_size() != Some(stored) {
        return Err("decodes to an unexpected number of bytes".into());
    }
    let target = if depth == BitDepth::Eight { &mut *out } else { &mut *scratch };
    target.resize(stored, 0);
    reader.next_frame(target).map_err(text)?;
    // The rest of the file must be complete too.
    reader.finish().map_err(text)?;
    match depth {
        BitDepth::Eight => return Ok(1),
        BitDepth::Sixteen => {
            out.clear();
            let (values, _) = scratch.as_chunks::<2>();
            out.extend(values.iter().flat_map(|&[high, low]| [low, high]));
            return Ok(2);
        }
        BitDepth::One | BitDepth::Two | BitDepth::Four => {}
    }
    out.clear();
    out.reserve(width as usize * height as usize);
    let (mask, per_byte) = ((1_u8 << bits) - 1, 8 / bits);
    for row in scratch.chunks_exact(row_bytes.max(1)) {
        let values = row
            .iter()
            .flat_map(|byte| (1..=per_byte).map(move |place| byte >> (8 - bits * place) & mask));
        out.extend(values.take(width as usize));
    }
    Ok(1)
}
