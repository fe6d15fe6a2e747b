//! JPEGs taken apart at their markers and put together in another way, so that a decoder can be
//! asked a second time about a file whose first answer leaves doubt.
#![cfg_attr(not(feature = "turbo"), allow(dead_code))]
use fdconvert_probe::{next_marker, stands_alone};

const START_OF_SCAN: u8 = 0xda;
const END_OF_IMAGE: u8 = 0xd9;

/// A marker with its content.
struct Segment<'a> {
    marker: u8,
    /// The byte at which the marker begins.
    at: usize,
    /// What follows the length; empty where there is none.
    body: &'a [u8],
    /// The byte behind the content.
    end: usize,
}

/// The segments behind the first marker, up to the end marker. Ends early at damage.
fn segments(jpeg: &[u8]) -> impl Iterator<Item = Segment<'_>> {
    let mut from = Some(2);
    std::iter::from_fn(move || {
        let (marker, body_at) = next_marker(jpeg, from.take()?)?;
        let at = body_at.checked_sub(2)?;
        if marker == END_OF_IMAGE || stands_alone(marker) {
            from = (marker != END_OF_IMAGE).then_some(body_at);
            return Some(Segment { marker, at, body: &[], end: body_at });
        }
        let &[high, low] = jpeg.get(body_at..)?.first_chunk()?;
        let end = body_at + usize::from(u16::from_be_bytes([high, low]));
        let body = jpeg.get(body_at + 2..end)?;
        from = Some(end);
        Some(Segment { marker, at, body, end })
    })
}

/// The byte at which the end marker behind the scans begins.
fn end_of_image(jpeg: &[u8]) -> Option<usize> {
    segments(jpeg).find(|segment| segment.marker == END_OF_IMAGE).map(|segment| segment.at)
}

/// Whether the scans are arithmetic-coded.
pub(super) fn is_arithmetic(jpeg: &[u8]) -> bool {
    let frame = segments(jpeg)
        .map(|segment| segment.marker)
        .find(|marker| matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc));
    frame.is_some_and(|marker| marker > 0xc8)
}

/// Puts bytes that mean something between the last scan of an arithmetic-coded JPEG and its end
/// marker: pixels of complete data stay the same. `false` where there is no end marker.
///
/// An arithmetic decoder reads zeros behind the end of the data, by definition (T.81, D.2.6), and
/// an encoder leaves zeros at the end out (D.1.8). The interval of an encoder that has just ended
/// lets it choose a code whose bits below the last 16 of its register are zeros; those bits cannot
/// change a decision, whatever they are, and they begin at most two bytes behind the last byte that
/// is not zero. `n_zeros` more bytes are kept as they would have been read.
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
    out.extend_from_slice(&[0xff, END_OF_IMAGE]);
    true
}

/// A copy with the same pixels and nothing in front of its scans for which libjpeg has a warning:
/// only its first warning is told, and that may be one that touches no pixel. `false` where the
/// file cannot be followed.
pub(super) fn without_oddities(jpeg: &[u8], n_components: u8, out: &mut Vec<u8>) -> bool {
    out.clear();
    out.extend_from_slice(&[0xff, 0xd8]);
    let mut coded_from = None;
    let mut is_sequential = false;
    for Segment { marker, at, body, end } in segments(jpeg) {
        if let (Some(from), false) = (coded_from, (0xd0..=0xd7).contains(&marker)) {
            // As it is: surplus bytes here mean that a decoder has lost its place.
            out.extend_from_slice(jpeg.get(from..at).unwrap_or_default());
            coded_from = None;
        }
        match marker {
            END_OF_IMAGE => {
                out.extend_from_slice(&[0xff, END_OF_IMAGE]);
                return true;
            }
            0xe0 if body.starts_with(b"JFIF\0") && body.len() >= 14 => {
                put(out, marker, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
            }
            0xee if body.starts_with(b"Adobe") && body.len() >= 12 => {
                let transform = match (n_components, body.get(11)) {
                    (_, Some(0)) => 0,
                    // What libjpeg takes an unknown transform for.
                    (4, _) => 2,
                    _ => 1,
                };
                put(out, marker, &[b"Adobe\0\x64\0\0\0\0".as_slice(), &[transform]].concat());
            }
            // Said for other programs, or alone.
            0xe0..=0xef | 0xfe => {}
            _ if stands_alone(marker) => {}
            START_OF_SCAN => {
                let mut header = body.to_vec();
                if let (true, Some(parameters)) = (is_sequential, header.last_chunk_mut()) {
                    // The only ones that sequential scans may have; decoders ignore others.
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
    // As long as it was, or shorter: the length fits.
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
