//! Size and kind of an image, which must be known before nvJPEG may decode it.
use fdconvert_jpeg::{
    START,
    marker::{APP0, APP15, COM, DHT, DQT, DRI},
    marker_segments,
};

/// The frame of a JPEG that nvJPEG may decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) width: u32,
    pub(super) height: u32,
    /// 1 or 3.
    pub(super) n_components: u32,
}

/// Finds the frame: baseline, extended or progressive with Huffman codes, 8 bits, one or three
/// components. `None` for anything else: nvJPEG has reported success for lossless images that it
/// did not decode, and its treatment of four components is unspecified.
pub(super) fn frame(bytes: &[u8]) -> Option<Frame> {
    if !bytes.starts_with(&START) {
        return None;
    }
    for segment in marker_segments(bytes) {
        match segment.marker {
            _ if segment.stray().is_some() => return None,
            0xC0..=0xC2 => return read(segment.body.ok()?),
            // Tables, restart interval, application data, comments.
            DHT | DQT | DRI | APP0..=APP15 | COM => {}
            _ => return None,
        }
    }
    None
}

fn read(segment: &[u8]) -> Option<Frame> {
    let &[precision, h1, h0, w1, w0, n_components, ..] = segment else { return None };
    let (width, height) = (u16::from_be_bytes([w1, w0]), u16::from_be_bytes([h1, h0]));
    let is_good = precision == 8
        && matches!(n_components, 1 | 3)
        && segment.len() == 6 + 3 * usize::from(n_components)
        && width > 0
        && height > 0;
    is_good.then(|| Frame {
        width: width.into(),
        height: height.into(),
        n_components: n_components.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jpeg(marker: u8, precision: u8, n_components: u8) -> Vec<u8> {
        let mut bytes = vec![0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0xFF, 0xC0, 0xFF, 0xFF, 0xFF, marker];
        bytes.extend([0, 8 + 3 * n_components, precision, 0, 7, 1, 2, n_components]);
        bytes.extend((0..n_components).flat_map(|number| [number, 0x11, 0]));
        bytes
    }

    #[test]
    fn only_what_nvjpeg_decodes_is_a_frame() {
        for marker in [0xC0, 0xC1, 0xC2] {
            for n_components in [1, 3] {
                let found = frame(&jpeg(marker, 8, n_components));
                let n_components = n_components.into();
                assert_eq!(found, Some(Frame { width: 258, height: 7, n_components }));
            }
        }
        for (marker, precision, n_components) in
            [(0xC3, 8, 3), (0xC9, 8, 3), (0xC1, 12, 3), (0xC0, 8, 4), (0xC0, 8, 2), (0xDA, 8, 3)]
        {
            assert_eq!(frame(&jpeg(marker, precision, n_components)), None, "{marker:x}");
        }
    }

    #[test]
    fn parts_of_a_file_are_no_frame() {
        let whole = jpeg(0xC2, 8, 3);
        for end in 0..whole.len() {
            assert_eq!(frame(&whole[..end]), None, "{end}");
        }
        let mut flat = whole;
        let height = flat.len() - 9 - 5;
        flat[height..height + 2].fill(0);
        assert_eq!(frame(&flat), None);
        assert_eq!(frame(&[0xFF, 0xD8, 0xFF, 0xE0, 0, 1, 0, 0]), None);
    }
}
