//! Images as their stored bands: more than 8 bits, floats, or other numbers of channels.
use crate::{
    Decoder, Region, claim::claim, decode::undecodable, guard::guarded, region::check_inside,
    tiff::decode_tiff_bands,
};
use fdconvert_core::{
    Bands, Codec, Color, DType, Encoded, Error, ImageHeader, Limits, Result, option,
    probe::{Tiff, check_complete},
};
use png::Transformations;
use std::io::Cursor;

/// Bytes per pixel of the 8-bit images that the limit on pixels is made for.
const USUAL_PIXEL_BYTES: u64 = 4;

impl Decoder {
    /// Decodes a region of an image into `out`, replacing its content, with the stored values of all
    /// bands: in the byte order of the machine, rows without gaps, and the bands of a pixel next to
    /// each other.
    ///
    /// TIFFs of `u8`, `u16`, `i16` and `f32` and PNGs of 16 bits keep their values; all other images
    /// have the bands of 8 bits that [`decode_into`](Self::decode_into) makes of them: gray, RGB or
    /// RGBA.
    ///
    /// # Errors
    /// `Sample` or `Limit`, naming `key`; also for a region outside the image, and for TIFFs with
    /// values of other types. After an error the content of `out` is unspecified.
    pub fn decode_bands(
        &mut self,
        key: &str,
        encoded: &Encoded,
        limits: &Limits,
        region: Region,
        out: &mut Vec<u8>,
    ) -> Result<Bands> {
        let header = claim(key, encoded, limits)?;
        check_inside(key, region, &header)?;
        let bytes = &encoded.bytes[..];
        let failed = |what| Error::sample(key, what);
        if header.codec == Codec::Tiff {
            let tiff = Tiff::parse(bytes).map_err(failed)?;
            match tiff.bands() {
                Ok(bands) => {
                    check_size(key, &header, bands, limits)?;
                    check_complete(bytes, &header).map_err(failed)?;
                    let decode =
                        || decode_tiff_bands(&tiff, bands, limits, self.jpeg(), region, out);
                    guarded(decode).map_err(|what| {
                        failed(format!("the {} cannot be decoded: {what}", Codec::Tiff.extension()))
                    })?;
                    return Ok(bands);
                }
                // Colours in pictures, palettes and few bits.
                Err(what) if tiff.not_decoded().is_some() => return Err(failed(what)),
                Err(_) => {}
            }
        }
        if header.codec == Codec::Png && header.bits == 16 {
            let bands = Bands { n: header.color.channels().into(), dtype: DType::U16 };
            check_size(key, &header, bands, limits)?;
            guarded(|| decode_png16(bytes, &header, limits, self.scratch(), out))
                .map_err(|what| failed(undecodable(bytes, &header, what)))?;
            cut(out, &header, region, bands.pixel_bytes());
            return Ok(bands);
        }
        let (header, channels, _) = self.decode_into(key, encoded, limits, out)?;
        cut(out, &header, region, channels.into());
        Ok(Bands { n: channels.into(), dtype: DType::U8 })
    }
}

/// Refuses bands that take more memory than an image of 8 bits with the most pixels.
fn check_size(key: &str, header: &ImageHeader, bands: Bands, limits: &Limits) -> Result<()> {
    let n_bytes = header.pixels().saturating_mul(bands.pixel_bytes() as u64);
    if n_bytes.div_ceil(USUAL_PIXEL_BYTES) <= limits.max_pixels {
        return Ok(());
    }
    let Bands { n, dtype } = bands;
    Err(Error::Limit {
        what: format!(
            "sample `{key}`: the pixels of {n} bands of {}, as many of 8-bit RGBA,",
            dtype.name()
        ),
        asked: n_bytes.div_ceil(USUAL_PIXEL_BYTES),
        most: limits.max_pixels,
        option: option::MAX_PIXELS,
    })
}

/// Moves a region of a whole image to its front, and drops the rest.
fn cut(data: &mut Vec<u8>, whole: &ImageHeader, region: Region, pixel_bytes: usize) {
    let stride = whole.width as usize * pixel_bytes;
    let (left, width) = (region.x as usize * pixel_bytes, region.width as usize * pixel_bytes);
    for row in 0..region.height as usize {
        let from = (region.y as usize + row) * stride + left;
        // The region is inside the image.
        data.copy_within(from..from + width, row * width);
    }
    data.truncate(region.height as usize * width);
}

fn decode_png16(
    bytes: &[u8],
    header: &ImageHeader,
    limits: &Limits,
    stored: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let text = |error: png::DecodingError| error.to_string();
    // The pixels are bounded before; this bounds the memory for other chunks.
    let bytes_limit = usize::try_from(limits.max_file_bytes).unwrap_or(usize::MAX);
    let mut decoder =
        png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: bytes_limit });
    decoder.set_transformations(Transformations::IDENTITY);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let mut reader = decoder.read_info().map_err(text)?;
    let n_values = header.pixels() as usize * usize::from(header.color.channels());
    if reader.output_buffer_size() != Some(n_values * 2) || header.color == Color::Cmyk {
        return Err("decodes to an unexpected number of bytes".into());
    }
    stored.resize(n_values * 2, 0);
    reader.next_frame(stored).map_err(text)?;
    // The rest of the file must be complete too.
    reader.finish().map_err(text)?;
    out.clear();
    let values = stored.as_chunks().0.iter();
    out.extend(values.flat_map(|pair| u16::from_be_bytes(*pair).to_ne_bytes()));
    Ok(())
}
