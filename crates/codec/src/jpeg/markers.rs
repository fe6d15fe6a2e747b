//! Rewrites the markers of a JPEG, so that a decoder can run a second time when its first result is
//! doubtful.
#![cfg_attr(not(feature = "turbo"), allow(dead_code))]
use fdconvert_jpeg::{
    MarkerSegment, START,
    marker::{APP0, APP14, APP15, COM, EOI, SOS, stands_alone, starts_frame},
    marker_segments,
};

/// Returns the position of the end marker after the scans.
fn end_of_image(jpeg: &[u8]) -> Option<usize> {
    marker_segments(jpeg).find(|segment| segment.marker == EOI).map(|segment| segment.at)
}

pub(super) fn is_arithmetic(jpeg: &[u8]) -> bool {
    let mut sound = marker_segments(jpeg).take_while(|segment| segment.body.is_ok());
    sound.find(|segment| starts_frame(segment.marker)).is_some_and(|frame| frame.marker > 0xc8)
}

/// Inserts nonzero bytes between the last scan of an arithmetic-coded JPEG and its end marker,
/// which leaves the pixels of complete data unchanged. `false` if there is no end marker.
///
/// An arithmetic decoder reads zeros after the end of the data, by definition (T.81, D.2.6), and an
/// encoder omits zeros at the end (D.1.8). When it ends, the encoder's interval lets it choose a
/// code with zeros below the last 16 bits of its register; those bits cannot change a decision,
/// whatever they are, and they begin at most two bytes after the last nonzero byte. `n_zeros` more
/// bytes are kept as zeros.
pub(super) fn with_tail(jpeg: &[u8], n_zeros: usize, out: &mut Vec<u8>) -> bool {
    const TAIL_BYTES: usize = 256;
    let Some(end) = end_of_image(jpeg) else { return false };
    let mut data = jpeg.get(..end).unwrap_or_default();
    // Fill bytes of the marker.
    while let [rest @ .., 0xff] = data {
        data = rest;
    }
    out.clear();
    out.extend_from_slice(data);
    out.resize(out.len() + n_zeros, 0);
    out.resize(out.len() + TAIL_BYTES, 0xfe);
    out.extend_from_slice(&[0xff, EOI]);
    true
}

/// Makes a copy with the same pixels and nothing before its scans that libjpeg warns about: it
/// reports only its first warning, which may be a harmless one. `false` if the file cannot be
/// parsed.
pub(super) fn without_oddities(jpeg: &[u8], n_components: u8, out: &mut Vec<u8>) -> bool {
    out.clear();
    out.extend_from_slice(&START);
    let mut coded_from = None;
    let mut is_sequential = false;
    for MarkerSegment { marker, at, body, end, .. } in marker_segments(jpeg) {
        let Ok(body) = body else { return false };
        if let (Some(from), false) = (coded_from, (0xd0..=0xd7).contains(&marker)) {
            // Unchanged: surplus bytes here mean that a decoder has lost its place.
            out.extend_from_slice(jpeg.get(from..at).unwrap_or_default());
            coded_from = None;
        }
        match marker {
            EOI => {
                out.extend_from_slice(&[0xff, EOI]);
                return true;
            }
            APP0 if body.starts_with(b"JFIF\0") && body.len() >= 14 => {
                put(out, marker, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
            }
            APP14 if body.starts_with(b"Adobe") && body.len() >= 12 => {
                let transform = match (n_components, body.get(11)) {
                    (_, Some(0)) => 0,
                    // libjpeg's interpretation of an unknown transform.
                    (4, _) => 2,
                    _ => 1,
                };
                put(out, marker, &[b"Adobe\0\x64\0\0\0\0".as_slice(), &[transform]].concat());
            }
            // For other programs, or without a meaning.
            APP0..=APP15 | COM => {}
            _ if stands_alone(marker) => {}
            SOS => {
                let mut header = body.to_vec();
                if let (true, Some(parameters)) = (is_sequential, header.last_chunk_mut()) {
                    // The only values allowed in sequential scans; decoders ignore others.
                    *parameters = [0, 63, 0];
                }
                put(out, marker, &header);
                coded_from = Some(end);
            }
            _ => {
                is_sequential |= matches!(marker, 0xc0 | 0xc1 | 0xc9);
                put(out, marker, body);
            }
        }
    }
    false
}

fn put(out: &mut Vec<u8>, marker: u8, body: &[u8]) {
    // As long as before, or shorter: the length fits.
    let length = (body.len() as u16).wrapping_add(2).to_be_bytes();
    out.extend_from_slice(&[0xff, marker]);
    out.extend_from_slice(&length);
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    const JPEG: &[u8] = include_bytes!("../../tests/fixtures/arithmetic-progressive.jpg");

    #[test]
    fn a_file_without_oddities_stays_as_it_is() {
        let mut copy = Vec::new();
        assert!(without_oddities(JPEG, 3, &mut copy) && copy == JPEG);
        assert!(is_arithmetic(JPEG));
        assert!(with_tail(JPEG, 0, &mut copy) && copy.starts_with(&JPEG[..JPEG.len() - 2]));
    }

    #[test]
    fn no_damage_trips_it() {
        let mut copy = Vec::new();
        let mut look = |bytes: &[u8]| {
            let _ = (without_oddities(bytes, 3, &mut copy), is_arithmetic(bytes));
            let _ = with_tail(bytes, 2, &mut copy);
        };
        for at in 0..JPEG.len() {
            look(&JPEG[..at]);
            for flip in [0x01, 0x80, 0xff] {
                let mut bytes = JPEG.to_vec();
                bytes[at] ^= flip;
                look(&bytes);
            }
        }
    }
}
