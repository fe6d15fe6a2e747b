use fdconvert_jpeg::{
    START,
    marker::{SOS, stands_alone, starts_frame},
    marker_segments,
};

/// Resolution of the colour planes relative to the luma plane, as far as both backends write it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chroma {
    C444,
    C422,
    C420,
    C440,
    C411,
}

/// Returns the resolution of a JPEG's colour planes; `None` if it has none, or an unusual one.
pub(super) fn of(jpeg: &[u8]) -> Option<Chroma> {
    let (_, frame) = segments(jpeg).find(|&(marker, _)| starts_frame(marker))?;
    // Precision, height, width, number of components; then id, sampling, table for each.
    let &[3, _, luma, _, _, blue, _, _, red, _] = frame.get(5..)?.first_chunk::<10>()? else {
        return None;
    };
    match (luma, blue, red) {
        (0x11, 0x11, 0x11) | (0x22, 0x22, 0x22) => Some(Chroma::C444),
        (0x21, 0x11, 0x11) | (0x22, 0x12, 0x12) => Some(Chroma::C422),
        (0x22, 0x11, 0x11) => Some(Chroma::C420),
        (0x12, 0x11, 0x11) | (0x22, 0x21, 0x21) => Some(Chroma::C440),
        (0x41, 0x11, 0x11) => Some(Chroma::C411),
        _ => None,
    }
}

/// Returns true if a sequential JPEG stores its components in more than one scan.
#[cfg_attr(feature = "turbo", allow(dead_code))]
pub(super) fn in_parts(jpeg: &[u8]) -> bool {
    let frame = segments(jpeg).find(|&(marker, _)| starts_frame(marker));
    let scan = segments(jpeg).find(|&(marker, _)| marker == SOS);
    let (Some((0xc0 | 0xc1, frame)), Some((_, scan))) = (frame, scan) else { return false };
    matches!((frame.get(5), scan.first()), (Some(planes), Some(in_scan)) if in_scan < planes)
}

/// Yields the segments up to the header of the first scan: marker and content. Ends early at
/// markers that the standard does not allow there, and at damage.
fn segments(jpeg: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut before_scan = jpeg.starts_with(&START);
    marker_segments(jpeg).map_while(move |segment| {
        let marker = segment.marker;
        if !before_scan || segment.stray().is_some() || stands_alone(marker) {
            return None;
        }
        before_scan = marker != SOS;
        Some((marker, segment.body.ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jpeg(sampling: [u8; 3]) -> Vec<u8> {
        let [y, b, r] = sampling;
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 17];
        bytes.extend([8, 0, 1, 0, 1, 3, 1, y, 0, 2, b, 1, 3, r, 1]);
        bytes.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0xff, 0xd9]);
        bytes
    }

    #[test]
    fn reads_the_sampling_factors() {
        assert_eq!(of(&jpeg([0x22, 0x11, 0x11])), Some(Chroma::C420));
        assert_eq!(of(&jpeg([0x21, 0x11, 0x11])), Some(Chroma::C422));
        assert_eq!(of(&jpeg([0x11, 0x11, 0x11])), Some(Chroma::C444));
        assert_eq!(of(&jpeg([0x31, 0x11, 0x11])), None);
    }

    #[test]
    fn sees_planes_in_scans_of_their_own() {
        let mut bytes = jpeg([0x22, 0x11, 0x11]);
        assert!(in_parts(&bytes));
        let n_planes = bytes.len() - 8;
        bytes[n_planes] = 3;
        assert!(!in_parts(&bytes));
    }

    #[test]
    fn no_prefix_of_a_header_trips_it() {
        let whole = jpeg([0x22, 0x11, 0x11]);
        for end in 0..whole.len() {
            let _ = (of(&whole[..end]), in_parts(&whole[..end]));
        }
        assert_eq!(of(&[0xff, 0xd8, 0xff, 0xe0, 0, 0, 0xff, 0xe0, 0, 0]), None);
    }
}
