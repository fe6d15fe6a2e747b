//! From labelled bytes to a header that agrees with both, within limits.

use fdconvert_core::probe::probe;
use fdconvert_core::{Bilevel, Codec, Encoded, Error, ImageHeader, Limits, Pixels, Result, option};

/// Returns the header of an encoded image, checked against its declared codec and size and the
/// limits, before anything is allocated for its pixels.
pub(crate) fn claim(key: &str, encoded: &Encoded, limits: &Limits) -> Result<ImageHeader> {
    let n_bytes = encoded.bytes.len() as u64;
    if n_bytes > limits.max_file_bytes {
        return Err(Error::Limit {
            what: format!("sample `{key}`: the size of the image in bytes"),
            asked: n_bytes,
            most: limits.max_file_bytes,
            option: option::MAX_FILE_BYTES,
        });
    }
    let (width, height) = (encoded.width, encoded.height);
    let header = if encoded.codec == Codec::Raw {
        raw_header(width, height, n_bytes)
    } else {
        probe(&encoded.bytes)
    };
    let header = header.map_err(|what| Error::sample(key, what))?;
    if header.codec != encoded.codec {
        let (found, said) = (header.codec.extension(), encoded.codec.extension());
        return Err(Error::sample(key, format!("is declared as {said}, but holds {found}")));
    }
    if (header.width, header.height) != (width, height) {
        let found = format!("{}x{}", header.width, header.height);
        return Err(Error::sample(key, format!("is declared as {width}x{height}, not {found}")));
    }
    limits.check(key, &header)?;
    Ok(header)
}

/// Returns the header of pixels after the same checks.
pub(crate) fn claim_pixels(key: &str, pixels: &Pixels, limits: &Limits) -> Result<ImageHeader> {
    let (width, height, channels) = (pixels.width, pixels.height, pixels.channels);
    let header = ImageHeader::raw(width, height, channels);
    limits.check(key, &header)?;
    if !matches!(channels, 1 | 3 | 4) {
        let what = format!("pixels have 1, 3 or 4 channels, not {channels}");
        return Err(Error::sample(key, what));
    }
    let expected = Pixels::byte_len(width, height, channels);
    if pixels.data.len() as u64 != expected {
        let found = pixels.data.len();
        let what = format!("{width}x{height}x{channels} pixels are {expected} bytes, not {found}");
        return Err(Error::sample(key, what));
    }
    Ok(header)
}

/// Returns the header of the expanded pixels of a two-level image after the same checks.
pub(crate) fn claim_bilevel(key: &str, image: &Bilevel, limits: &Limits) -> Result<ImageHeader> {
    let header = ImageHeader::raw(image.width, image.height, 1);
    limits.check(key, &header)?;
    image.check().map_err(|what| Error::sample(key, what))?;
    Ok(header)
}

fn raw_header(width: u32, height: u32, n_bytes: u64) -> Result<ImageHeader, String> {
    let gray = Pixels::byte_len(width, height, 1);
    let color = Pixels::byte_len(width, height, 3);
    match n_bytes {
        n if n == gray => Ok(ImageHeader::raw(width, height, 1)),
        n if n == color => Ok(ImageHeader::raw(width, height, 3)),
        n => Err(format!("{width}x{height} raw pixels are {gray} or {color} bytes, not {n}")),
    }
}
