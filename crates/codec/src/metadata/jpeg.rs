//! JPEG: marker segments, from the first to the end marker.
use super::{Block, Content, Metadata};
use fdconvert_jpeg::{
    marker::{APP0, APP1, APP14, APP15, COM, EOI, stands_alone},
    marker_segments,
};

const EXIF: &[u8] = b"Exif\0";
/// The name and a byte of padding.
const EXIF_NAME_BYTES: usize = 6;
const XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";
/// Part of a packet that is too long for one segment; the split may be within a name.
const XMP_PART: &[u8] = b"http://ns.adobe.com/xmp/extension/\0";
const ICC: &[u8] = b"ICC_PROFILE\0";
const APP2: u8 = 0xE2;
const APP13: u8 = 0xED;

pub(super) fn walk(jpeg: &[u8], see: &mut dyn FnMut(&Block<'_>)) -> Result<usize, String> {
    let n_fill = |before: &[u8]| before.iter().rev().take_while(|byte| **byte == 0xFF).count();
    let mut segments = marker_segments(jpeg).peekable();
    while let Some(segment) = segments.next() {
        if segment.marker == EOI {
            return Ok(segment.end);
        }
        let body = segment.body.map_err(|_| {
            let at = segment.at;
            format!(
                "the JPEG segment at byte {at} has a bad length, which hides any metadata after it"
            )
        })?;
        if stands_alone(segment.marker) {
            continue;
        }
        if let Some((kind, content)) = meaning(segment.marker, body) {
            let bytes = jpeg.get(segment.at..segment.end).unwrap_or_default();
            // Fill bytes are removed too: before other data they could start another marker.
            let begin = segment.at - n_fill(segment.before);
            // In a damaged file, the bytes up to the next marker belong to no other segment, and
            // readers that search for that marker would not find the image after them.
            let next = segments.peek().map(|next| next.at - n_fill(next.before));
            let range = begin..next.unwrap_or(segment.end).max(segment.end);
            see(&Block { range, kind, content, frame, bytes });
        }
    }
    // Without an end marker the image ends with the file.
    Ok(jpeg.len())
}

/// Classifies a segment, if the image can be shown without it.
fn meaning(marker: u8, body: &[u8]) -> Option<(Metadata, Content<'_>)> {
    Some(match marker {
        APP1 if body.starts_with(EXIF) => {
            let tiff = body.get(EXIF_NAME_BYTES..).unwrap_or_default();
            (Metadata::EXIF, Content::Exif(tiff))
        }
        APP1 if body.starts_with(XMP) => {
            (Metadata::XMP, Content::Xmp(body.get(XMP.len()..).unwrap_or_default()))
        }
        APP1 if body.starts_with(XMP_PART) => (Metadata::XMP, Content::Opaque),
        APP13 => (Metadata::IPTC, Content::Other),
        APP2 if body.starts_with(ICC) => (Metadata::ICC, Content::Other),
        COM => (Metadata::COMMENTS, Content::Other),
        // The interpretation of the pixels.
        APP0 if body.starts_with(b"JFIF\0") => return None,
        APP14 if body.starts_with(b"Adobe") => return None,
        APP0..=APP15 => (Metadata::OTHER, Content::Other),
        _ => return None,
    })
}

/// Makes an EXIF segment with the original's name, because readers differ in the names they accept.
/// The EXIF is one from a segment, or smaller.
fn frame(block: &[u8], tiff: &[u8]) -> Vec<u8> {
    const HEADER_BYTES: usize = 4;
    let name = block.get(HEADER_BYTES..HEADER_BYTES + EXIF_NAME_BYTES).unwrap_or(b"Exif\0\0");
    let length = u16::try_from(2 + name.len() + tiff.len()).unwrap_or(u16::MAX);
    let mut out = vec![0xFF, APP1];
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(name);
    out.extend_from_slice(tiff);
    out
}
