//! JPEG (ITU-T T.81): markers up to the frame header, EXIF orientation.
use crate::probe::{Ending, exif, scans};
use crate::{Codec, Color, ImageHeader, bytes::u16_be_at};
use fdconvert_jpeg::{
    BadLength, MarkerSegment,
    marker::{APP1, EOI, SOS, stands_alone, starts_frame},
    marker_segments,
};

/// Walks the segments to the frame header (SOF), and on to the first scan if no EXIF was found
/// before.
pub(crate) fn header(bytes: &[u8]) -> Result<ImageHeader, String> {
    let ends = || format!("the JPEG ends at byte {} before its frame header", bytes.len());
    let mut turn = None;
    let mut segments = marker_segments(bytes);
    for segment in segments.by_ref() {
        let (marker, at) = (segment.marker, segment.at);
        if matches!(marker, SOS | EOI) {
            return Err(format!("the JPEG has no frame header before byte {at}"));
        }
        if stands_alone(marker) {
            continue;
        }
        let bad_len = |len| format!("the JPEG segment at byte {at} has a bad length of {len}");
        let body = segment.body.map_err(|why| match why {
            BadLength::Impossible(len) => bad_len(len.into()),
            BadLength::Ends => ends(),
        })?;
        if starts_frame(marker) {
            let mut header = frame(marker, body).ok_or_else(|| bad_len(2 + body.len()))??;
            // `check_complete` reports damage after it.
            let mut behind = segments.take_while(|segment| segment.marker != SOS);
            let turn = turn.or_else(|| behind.find_map(|segment| exif(&segment)));
            header.orientation = turn.unwrap_or(1);
            return Ok(header);
        }
        turn = turn.or_else(|| exif(&segment));
    }
    Err(ends())
}

/// The orientation, if a segment starts an EXIF: the first of several counts, as in other readers.
fn exif(segment: &MarkerSegment<'_>) -> Option<u8> {
    if segment.marker != APP1 {
        return None;
    }
    let tiff = segment.body.ok()?.strip_prefix(b"Exif\0\0")?;
    exif::starts_exif(tiff).then(|| exif::orientation(tiff).unwrap_or(1))
}

/// Parses the frame header (B.2.2); `None` when it is too short.
fn frame(marker: u8, body: &[u8]) -> Option<Result<ImageHeader, String>> {
    let bits = *body.first()?;
    let (height, width) = (u16_be_at(body, 1)?, u16_be_at(body, 3)?);
    let components = *body.get(5)?;
    if body.len() < 6 + 3 * usize::from(components) {
        return None;
    }
    // An Adobe segment may declare RGB or YCbCr, CMYK or YCCK: decoding gives the same colour type.
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
        orientation: 1,
        progressive: !matches!(marker, 0xC0 | 0xC1),
    }))
}

/// Unsupported processes: hierarchical frames, and lossless ones with arithmetic codes.
const NOT_DECODED: [u8; 7] = [0xC5, 0xC6, 0xC7, 0xCB, 0xCD, 0xCE, 0xCF];

/// Returns why a JPEG is not supported; `None` for a supported one.
pub(crate) fn not_decoded(bytes: &[u8], header: &ImageHeader) -> Option<String> {
    let bits = header.bits;
    if bits != 8 {
        return Some(format!("JPEG with samples of {bits} bits is not supported, only of 8"));
    }
    if !header.progressive {
        return None;
    }
    let frame = marker_segments(bytes).find(|segment| starts_frame(segment.marker))?;
    let is_known = !NOT_DECODED.contains(&frame.marker);
    (!is_known).then(|| {
        "JPEG of a hierarchical or lossless arithmetic process is not supported; rewrite it first: \
         `djpeg in.jpg | cjpeg > out.jpg`"
            .to_owned()
    })
}

/// Returns true if the image data is complete, according to the markers.
pub(crate) fn ending(bytes: &[u8]) -> Result<Ending, String> {
    scans::ending(bytes).unwrap_or_else(|| Ok(tail(bytes)))
}

/// Finds the end marker. Cameras and download tools append zeros and other bytes, so the last few
/// KiB are searched; in entropy-coded data `FF D9` can only be a marker.
fn tail(bytes: &[u8]) -> Ending {
    const TAIL: usize = 4096;
    let tail = &bytes[bytes.len().saturating_sub(TAIL)..];
    if tail.ends_with(&[0xFF, EOI]) || tail.windows(2).any(|pair| pair == [0xFF, EOI]) {
        Ending::Complete
    } else {
        Ending::NoEndMarker
    }
}
