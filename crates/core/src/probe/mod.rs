//! Claims of an image file's bytes, checked without decoding.
//!
//! [`sniff`] detects the codec from the content, never from the file name; [`probe`] parses the
//! header to an [`ImageHeader`]; [`check_complete`] finds truncation and PNG damage at memory
//! speed. All three are total: any bytes give an answer or an error text, never a panic, and
//! nothing is allocated in proportion to a header's claims.
//!
//! ```
//! let bmp = *b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0\0\0\0\0\
//!              \x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\0";
//! let header = fdconvert_core::probe::probe(&bmp)?;
//! assert_eq!((header.width, header.height), (1, 1));
//! # Ok::<(), String>(())
//! ```
//!
//! Deliberately absent: files, pixels, limits (callers apply their own).

mod avif;
mod bmp;
mod boxed;
mod boxes;
mod exif;
mod foreign;
mod frames;
mod jpeg;
mod jxl;
mod mpo;
mod other;
mod png;
mod scans;
mod structure;
mod tiff;

pub use avif::{Avif, AvifColors, AvifPicture, AvifTile};
pub use bmp::bmp_lacks_padding;
pub use boxed::{BoxedMetadata, boxed_metadata};
pub use exif::{orientation as exif_orientation, starts_exif};
pub use foreign::Foreign;
pub use frames::{GifFrame, gif_frame, has_pages, is_animated};
pub use jxl::jxl_has_more_channels;
pub use tiff::{Numbers, Tiff, TiffColors};

use crate::{Bands, Codec, ImageHeader};

/// Detects the codec from the first bytes.
#[must_use]
pub fn sniff(bytes: &[u8]) -> Option<Codec> {
    match bytes {
        [0xFF, 0xD8, 0xFF, ..] => Some(Codec::Jpeg),
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some(Codec::Png),
        [b'B', b'M', ..] if bmp::looks_like(bytes) => Some(Codec::Bmp),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Codec::Webp),
        [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Some(Codec::Tiff),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Codec::Gif),
        _ if jxl::is_jxl(bytes) => Some(Codec::Jxl),
        _ if avif::is_avif(bytes) => Some(Codec::Avif),
        _ => None,
    }
}

/// Parses the header of an image file. The error is a text for `Error::sample`.
///
/// # Errors
/// When the codec is unknown, or the header is damaged or claims a size of zero.
pub fn probe(bytes: &[u8]) -> Result<ImageHeader, String> {
    let header = match sniff(bytes) {
        Some(Codec::Jpeg) => jpeg::header(bytes),
        Some(Codec::Png) => png::header(bytes),
        Some(Codec::Bmp) => bmp::header(bytes),
        Some(Codec::Tiff) => tiff::header(bytes),
        Some(Codec::Avif) => avif::header(bytes),
        Some(Codec::Jxl) => jxl::header(bytes),
        Some(codec) => other::header(bytes, codec),
        None if bytes.is_empty() => Err("the file is empty".into()),
        None => Err(match Foreign::sniff(bytes) {
            Some(foreign) => {
                let (name, cure) = (foreign.name(), foreign.cure());
                format!("the file is {name}, which is not read here; convert it first: {cure}")
            }
            None => foreign::told(bytes).unwrap_or_else(|| {
                format!(
                    "not an image of a known kind (JPEG, PNG, BMP, WebP, TIFF, GIF, AVIF, JPEG XL): \
                     it starts with {}",
                    shown(bytes)
                )
            }),
        }),
    }?;
    if header.width == 0 || header.height == 0 {
        let (width, height) = (header.width, header.height);
        return Err(format!("the header claims {width}x{height}: no pixels"));
    }
    Ok(header)
}

/// How an image file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Complete, as far as that shows without decoding.
    Complete,
    /// A JPEG without its end marker: only decoding can tell whether pixels are missing. Every
    /// coefficient of a progressive one has been sent, at least for its first blocks.
    NoEndMarker,
    /// A GIF or WebP with blocks that end too early, or a JPEG XL whose data has no length: only
    /// decoding can tell whether pixels are missing.
    Doubtful,
    /// A progressive JPEG with an end marker, but with scans that leave out coefficients or their
    /// bits. The standard allows it; a cut file with an added end marker looks the same.
    CoefficientsLeftOut,
}

/// Checks that a file is complete and structured as its codec demands, without decoding it: a JPEG
/// has its tables, its end marker and, if it has several scans, all of them; a PNG has every
/// necessary chunk with the right CRC; a BMP has all its rows, a GIF a frame, a WebP its image, a
/// TIFF all its strips, an AVIF the data of all its tiles. The compressed data itself is left to
/// decoding. A file of an [unsupported](not_decoded) kind passes.
///
/// # Errors
/// What is missing or damaged, with the offset.
pub fn check_complete(bytes: &[u8], header: &ImageHeader) -> Result<Ending, String> {
    if not_decoded(bytes, header).is_some() && bands_only(bytes, header).is_none() {
        return Ok(Ending::Complete);
    }
    let checked = match header.codec {
        Codec::Jpeg => {
            structure::check(bytes)?;
            return jpeg::ending(bytes);
        }
        Codec::Png => png::check_chunks(bytes),
        Codec::Bmp => bmp::check_rows(bytes),
        Codec::Gif => return frames::gif_ending(bytes),
        Codec::Webp => return Ok(other::webp_ending(bytes)),
        Codec::Tiff => Tiff::parse(bytes).and_then(|tiff| tiff.check()),
        Codec::Avif => Avif::parse(bytes).and_then(|avif| avif.check()),
        Codec::Jxl => return jxl::ending(bytes),
        Codec::Raw => Ok(()),
    };
    checked.map(|()| Ending::Complete)
}

/// Returns how a JPEG ends, like [`check_complete`]: for decoders, which find all other faults
/// themselves.
///
/// # Errors
/// What is missing, with the offset.
pub fn jpeg_ending(bytes: &[u8]) -> Result<Ending, String> {
    jpeg::ending(bytes)
}

/// Returns why a sound image of an unsupported kind cannot be decoded, and what to do; `None` for
/// all supported kinds.
#[must_use]
pub fn not_decoded(bytes: &[u8], header: &ImageHeader) -> Option<String> {
    match header.codec {
        Codec::Jpeg => jpeg::not_decoded(bytes, header),
        Codec::Tiff => Tiff::parse(bytes).ok().and_then(|tiff| tiff.not_decoded()),
        Codec::Bmp => bmp::not_decoded(bytes),
        Codec::Avif => Avif::parse(bytes).ok().and_then(Avif::not_decoded),
        Codec::Jxl => jxl::not_decoded(header),
        _ => None,
    }
}

/// Returns the bands of an image that is not an 8-bit picture and has bands that a decoder reads as
/// they are; `None` for all others.
#[must_use]
pub fn bands_only(bytes: &[u8], header: &ImageHeader) -> Option<Bands> {
    if header.codec != Codec::Tiff {
        return None;
    }
    let tiff = Tiff::parse(bytes).ok()?;
    tiff.not_decoded().and_then(|_| tiff.bands().ok())
}

/// The first bytes, for a message: as text if they are text.
fn shown(bytes: &[u8]) -> String {
    let first = &bytes[..bytes.len().min(12)];
    if first.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
        return format!("the text {:?}", String::from_utf8_lossy(first));
    }
    let hex: Vec<_> = first.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("the bytes {}", hex.join(" "))
}

#[cfg(test)]
mod tests;
