/// Resolution of the colour planes against the luma plane, of those that both backends write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chroma {
    C444,
    C422,
    C420,
    C440,
    C411,
}

impl Chroma {
    /// Rows of pixels that one row of blocks covers, and columns that one column does.
    #[cfg_attr(feature = "turbo", allow(dead_code))]
    pub(super) fn block(self) -> (u32, u32) {
        match self {
            Self::C444 => (8, 8),
            Self::C422 => (16, 8),
            Self::C420 => (16, 16),
            Self::C440 => (8, 16),
            Self::C411 => (32, 8),
        }
    }
}

/// The resolution of a JPEG's colour planes; `None` where it has none, or an unusual one.
pub(super) fn of(jpeg: &[u8]) -> Option<Chroma> {
    let frame = start_of_frame(jpeg)?;
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

/// Content of the segment that starts the frame, after its length.
fn start_of_frame(jpeg: &[u8]) -> Option<&[u8]> {
    let mut rest = jpeg.strip_prefix(&[0xff, 0xd8])?;
    loop {
        let &[0xff, marker, high, low] = rest.first_chunk()? else { return None };
        match marker {
            // A filling byte before the marker.
            0xff => rest = rest.get(1..)?,
            0xda | 0xd9 => return None,
            _ => {
                let length = usize::from(u16::from_be_bytes([high, low]));
                let frame = matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
                if frame {
                    return rest.get(4..2 + length);
                }
                rest = rest.get(2 + length..)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jpeg(sampling: [u8; 3]) -> Vec<u8> {
        let [y, b, r] = sampling;
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc2, 0, 17];
        bytes.extend([8, 0, 1, 0, 1, 3, 1, y, 0, 2, b, 1, 3, r, 1, 0xff, 0xda]);
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
    fn no_prefix_of_a_header_trips_it() {
        let whole = jpeg([0x22, 0x11, 0x11]);
        for end in 0..whole.len() {
            let _ = of(&whole[..end]);
        }
        assert_eq!(of(&[0xff, 0xd8, 0xff, 0xe0, 0, 0, 0xff, 0xe0, 0, 0]), None);
    }
}
