//! JPEG (ITU-T T.81): markers up to the frame header, EXIF orientation.
use crate::{Ending, bytes::u16_be, exif, scans};
use fdconvert_core::{Codec, Color, ImageHeader};

const SOI: u8 = 0xD8;
pub(crate) const EOI: u8 = 0xD9;
pub(crate) const SOS: u8 = 0xDA;
const APP1: u8 = 0xE1;

/// The marker at or behind `at` and the byte behind it. As in libjpeg, whatever else is in front of
/// a marker is passed over: fill bytes, entropy-coded data, and what a careless tool left there.
#[must_use]
pub fn next_marker(bytes: &[u8], mut at: usize) -> Option<(u8, usize)> {
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == 0xFF)?;
        at += bytes.get(at..)?.iter().position(|byte| *byte != 0xFF)?;
        let marker = *bytes.get(at)?;
        at += 1;
        if marker != 0 {
            return Some((marker, at));
        }
    }
}

/// Whether a marker has no length and no content.
#[must_use]
pub fn stands_alone(marker: u8) -> bool {
    matches!(marker, 0x01 | 0xD0..=SOI)
}

/// Walks the segments to the frame header (SOF).
pub(crate) fn header(bytes: &[u8]) -> Result<ImageHeader, String> {
    let mut at = 2;
    let mut orientation = 1;
    loop {
        let ends = || format!("the JPEG ends at byte {} before its frame header", bytes.len());
        let (marker, body_at) = next_marker(bytes, at).ok_or_else(ends)?;
        if stands_alone(marker) {
            at = body_at;
            continue;
        }
        at = body_at - 2;
        if matches!(marker, SOS | EOI) {
            return Err(format!("the JPEG has no frame header before byte {at}"));
        }
        let len = usize::from(u16_be(bytes, body_at).ok_or_else(ends)?);
        let bad_len = || format!("the JPEG segment at byte {at} has a bad length of {len}");
        // The length counts its own two bytes.
        let body_len = len.checked_sub(2).ok_or_else(bad_len)?;
        let body = bytes.get(at + 4..at + 4 + body_len).ok_or_else(ends)?;
        match marker {
            0xC0..=0xCF if !matches!(marker, 0xC4 | 0xC8 | 0xCC) => {
                return frame(marker, body, orientation).ok_or_else(bad_len)?;
            }
            APP1 => {
                if let Some(tiff) = body.strip_prefix(b"Exif\0\0") {
                    orientation = exif::orientation(tiff).unwrap_or(1);
                }
            }
            _ => {}
        }
        at += 2 + len;
    }
}

/// The frame header (B.2.2); `None` when it is too short.
fn frame(marker: u8, body: &[u8], orientation: u8) -> Option<Result<ImageHeader, String>> {
    let bits = *body.first()?;
    let (height, width) = (u16_be(body, 1)?, u16_be(body, 3)?);
    let components = *body.get(5)?;
    if body.len() < 6 + 3 * usize::from(components) {
        return None;
    }
    // An Adobe segment may say RGB or YCbCr, CMYK or YCCK: the meaning after decoding is the same.
    let color = match components {
        1 => Color::Gray,
        3 => Color::Rgb,
        4 => Color::Cmyk,
        _ => {
            return Some(Err(format!("a JPEG of {components} components is not an image we know")));
        }
    };
    if height == 0 {
        let what = "the JPEG leaves its height open (0, to be told after the scan), which \
                    libjpeg does not read";
        return Some(Err(what.into()));
    }
    Some(Ok(ImageHeader {
        codec: Codec::Jpeg,
        width: u32::from(width),
        height: u32::from(height),
        color,
        bits,
        orientation,
        progressive: !matches!(marker, 0xC0 | 0xC1),
    }))
}

/// Whether the image data is there, as far as the markers tell.
pub(crate) fn ending(bytes: &[u8]) -> Result<Ending, String> {
    scans::ending(bytes).unwrap_or_else(|| Ok(tail(bytes)))
}

/// Whether the end marker is there. Cameras and download tools add zeros and other trailing
/// bytes, so the last few KiB are searched; in entropy-coded data `FF D9` can only be a marker.
fn tail(bytes: &[u8]) -> Ending {
    const TAIL: usize = 4096;
    let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
    if tail.ends_with(&[0xFF, EOI]) || tail.windows(2).any(|pair| pair == [0xFF, EOI]) {
        Ending::Complete
    } else {
        Ending::NoEndMarker
    }
}
