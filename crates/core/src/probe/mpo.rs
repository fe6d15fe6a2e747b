//! Further pictures behind a JPEG (Multi-Picture Format, CIPA DC-007).
use crate::probe::{jpeg, tiff};
use fdconvert_jpeg::{
    marker::{APP2, SOS},
    marker_segments,
};

const SIGNATURE: &[u8] = b"MPF\0";
const ENTRY_BYTES: usize = 16;
/// Bits of an entry's first number that are the type of the picture; those above the lower sixteen
/// are the same for all multi-frame types.
const TYPE: u32 = 0xff_ffff;
const MULTI_FRAME: u32 = 2;

/// Returns true if a JPEG is followed by another view of its scene: a frame of a panorama or stereo
/// photo, or a picture of unknown type and the same size. Previews and gain maps do not count.
pub(crate) fn has_views(bytes: &[u8]) -> bool {
    let mut segments = marker_segments(bytes).take_while(|segment| segment.marker != SOS);
    let list = segments.find_map(|segment| {
        let list = segment.body.ok()?.strip_prefix(SIGNATURE)?;
        (segment.marker == APP2).then_some((segment.end.checked_sub(list.len())?, list))
    });
    let Some((start, list)) = list else { return false };
    let Some((entries, is_big_endian)) = tiff::pictures(list) else { return false };
    let size = |bytes| jpeg::header(bytes).ok().map(|header| (header.width, header.height));
    entries.as_chunks::<ENTRY_BYTES>().0.iter().skip(1).any(|entry| {
        let number = |at: usize| {
            let four = entry.get(at..).and_then(|rest| rest.first_chunk()).copied();
            let from = if is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
            four.map_or(0, from)
        };
        let view = || bytes.get(start.checked_add(number(8) as usize)?..);
        match number(0) & TYPE {
            0 => view().and_then(size).is_some_and(|other| Some(other) == size(bytes)),
            kind => kind >> 16 == MULTI_FRAME,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a JPEG of 8x8 with such an entry for a second one of this size.
    fn pair(kind: u32, side: u8) -> Vec<u8> {
        let frame = |side: u8| {
            let sizes = [side, 0, 8, 1, 1, 0x11, 0];
            let scan = b"\xff\xda\0\x08\x01\x01\0\0\x3f\0\xff\xd9";
            [&b"\xff\xc0\0\x0b\x08\0"[..], &sizes, scan].concat()
        };
        let list = |offset: u32| {
            let mut list =
                b"II\x2a\0\x08\0\0\0\x01\0\x02\xb0\x07\0\x20\0\0\0\x1a\0\0\0\0\0\0\0".to_vec();
            let entries = [[0x03_0000, 0, 0, 0], [kind, 0, offset, 0]];
            list.extend(entries.concat().iter().flat_map(|number| number.to_le_bytes()));
            [&b"\xff\xe2"[..], &[0, list.len() as u8 + 6], SIGNATURE, &list].concat()
        };
        let first = [&b"\xff\xd8"[..], &list(0), &frame(8)].concat();
        // Offsets count from behind the signature.
        let first = [&b"\xff\xd8"[..], &list(first.len() as u32 - 10), &frame(8)].concat();
        [first, b"\xff\xd8".to_vec(), frame(side)].concat()
    }

    #[test]
    fn previews_and_gain_maps_are_no_views() {
        let cases = [
            (0x02_0002, 4, true),
            (0, 8, true),
            (0, 4, false),
            (0x01_0001, 8, false),
            (0x03_0000, 8, false),
        ];
        for (kind, side, has) in cases {
            assert_eq!(has_views(&pair(kind, side)), has, "{kind:x} {side}");
        }
        let whole = pair(0, 8);
        let n_found = (0..whole.len()).filter(|end| has_views(&whole[..*end])).count();
        assert!(n_found < 30, "of cut files only those with the second header have a view");
    }
}
