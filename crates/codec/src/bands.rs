//! Images as their stored bands: more than 8 bits, floats, or other numbers of channels.
use crate::{
    Decoder, Region,
    claim::claim,
    decode::undecodable,
    guard::guarded,
    lossless::open_png,
    region::{check_inside, whole},
    tiff::decode_tiff_bands,
};
use fdconvert_core::{
    Bands, Codec, DType, Encoded, Error, ImageHeader, Limits, Result, option, probe::Tiff,
};
use png::{BitDepth, Transformations};

/// Bytes per pixel of the 8-bit images that the limit on pixels is made for.
const USUAL_PIXEL_BYTES: u64 = 4;

impl Decoder {
    /// Decodes a region of an image into `out`, replacing its content, with the stored values of all
    /// bands: in the byte order of the machine, rows without gaps, and the bands of a pixel next to
    /// each other.
    ///
    /// TIFFs of `u8`, `u16`, `i16` and `f32` and PNGs of 16 bits keep their values; all other images
    /// have the bands of 8 bits that [`decode_into`](Self::decode_into) makes of them: gray, RGB or
    /// RGBA. Damage outside the region may go unnoticed.
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
            let most = Bands { n: header.color.channels().into(), dtype: DType::U16 };
            check_size(key, &header, most, limits)?;
            let n = guarded(|| decode_png16(bytes, &header, limits, self.scratch(), out))
                .map_err(|what| failed(undecodable(bytes, &header, what)))?;
            let bands = Bands { n, ..most };
            cut(out, whole(&header), region, bands.pixel_bytes());
            return Ok(bands);
        }
        let part = self.decode_part(key, encoded, limits, region, 1, out)?;
        cut(out, part.region, region, part.channels.into());
        Ok(Bands { n: part.channels.into(), dtype: DType::U8 })
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

/// Moves a region of a decoded part to its front, and drops the rest.
fn cut(data: &mut Vec<u8>, part: Region, region: Region, pixel_bytes: usize) {
    let stride = part.width as usize * pixel_bytes;
    let width = region.width as usize * pixel_bytes;
    let (left, top) = ((region.x - part.x) as usize, (region.y - part.y) as usize);
    for row in 0..region.height as usize {
        let from = (top + row) * stride + left * pixel_bytes;
        // The part contains the region.
        data.copy_within(from..from + width, row * width);
    }
    data.truncate(region.height as usize * width);
}

/// Decodes a PNG of 16 bits; returns the channels, without the one that transparent levels stand for.
fn decode_png16(
    bytes: &[u8],
    header: &ImageHeader,
    limits: &Limits,
    stored: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<u16, String> {
    let text = |error: png::DecodingError| error.to_string();
    let mut reader = open_png(bytes, header, limits, Transformations::IDENTITY)?;
    let (color, depth) = reader.output_color_type();
    let n_bytes = header.pixels() as usize * color.samples() * 2;
    if depth != BitDepth::Sixteen || reader.output_buffer_size() != Some(n_bytes) {
        return Err("decodes to an unexpected number of bytes".into());
    }
    stored.resize(n_bytes, 0);
    reader.next_frame(stored).map_err(text)?;
    // The rest of the file must be complete too.
    reader.finish().map_err(text)?;
    out.clear();
    let values = stored.as_chunks().0.iter();
    out.extend(values.flat_map(|pair| u16::from_be_bytes(*pair).to_ne_bytes()));
    Ok(color.samples() as u16)
}
