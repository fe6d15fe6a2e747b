//! The walk over the markers of a JPEG (ITU-T T.81, B.1.1), used everywhere.
//!
//! Like libjpeg, it skips anything else before a marker: fill bytes, entropy-coded data, and
//! leftovers of careless tools. Stricter callers check [`MarkerSegment::stray`]. Nothing is
//! allocated, and every length is checked.

/// The named markers (T.81, table B.1).
pub mod marker {
    /// Huffman tables.
    pub const DHT: u8 = 0xC4;
    /// Conditioning of arithmetic codes.
    pub const DAC: u8 = 0xCC;
    /// Start of the image.
    pub const SOI: u8 = 0xD8;
    /// End of the image.
    pub const EOI: u8 = 0xD9;
    /// Header of a scan, followed by entropy-coded data.
    pub const SOS: u8 = 0xDA;
    /// Quantisation tables.
    pub const DQT: u8 = 0xDB;
    /// The height, defined after the scan.
    pub const DNL: u8 = 0xDC;
    /// Number of MCUs between two restarts.
    pub const DRI: u8 = 0xDD;
    /// Application data: JFIF.
    pub const APP0: u8 = 0xE0;
    /// Application data: EXIF.
    pub const APP1: u8 = 0xE1;
    /// Application data: colour profiles, and the list of further pictures.
    pub const APP2: u8 = 0xE2;
    /// Application data: Adobe.
    pub const APP14: u8 = 0xEE;
    /// Application data: the last code.
    pub const APP15: u8 = 0xEF;
    /// A comment.
    pub const COM: u8 = 0xFE;

    const TEM: u8 = 0x01;
    const RST0: u8 = 0xD0;

    /// Returns true if a marker has no length and no content.
    #[must_use]
    pub const fn stands_alone(marker: u8) -> bool {
        matches!(marker, TEM | RST0..=EOI)
    }

    /// Returns true if a marker begins a frame header of any process.
    #[must_use]
    pub const fn starts_frame(marker: u8) -> bool {
        // Two tables and a reserved code are in the same range.
        matches!(marker, 0xC0..=0xCF) && !matches!(marker, DHT | 0xC8 | DAC)
    }
}

/// The first bytes of every JPEG.
pub const START: [u8; 2] = [0xFF, marker::SOI];

/// A marker with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerSegment<'a> {
    /// Code of the marker, the byte after `FF`.
    pub marker: u8,
    /// Byte offset of its `FF`.
    pub at: usize,
    /// Bytes between the previous segment and this one.
    pub before: &'a [u8],
    /// Bytes after the length; empty for a marker that stands alone.
    pub body: Result<&'a [u8], BadLength>,
    /// Byte offset after the content, as far as that can be read.
    pub end: usize,
}

/// Reason for which the content of a segment cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadLength {
    /// The length, which includes its own two bytes, is smaller than 2.
    Impossible(u8),
    /// The bytes end before the content does.
    Ends,
}

impl MarkerSegment<'_> {
    /// Returns the byte offset after the previous segment: without stray bytes, the first `FF` of
    /// this one.
    #[must_use]
    pub fn from(&self) -> usize {
        self.at - self.before.len()
    }

    /// Returns the first byte before the marker that is not a fill byte. The standard allows none.
    #[must_use]
    pub fn stray(&self) -> Option<u8> {
        first_stray(self.before)
    }
}

/// Yields the marker segments of a JPEG after its first marker, which is not checked. The last is
/// that of the end marker, or one with unreadable content.
#[must_use]
pub fn marker_segments(jpeg: &[u8]) -> MarkerSegments<'_> {
    segments_from(jpeg, START.len())
}

/// As [`marker_segments`], from a byte offset on.
pub(crate) fn segments_from(jpeg: &[u8], at: usize) -> MarkerSegments<'_> {
    MarkerSegments { jpeg, at, ended: false }
}

/// Iterator of [`marker_segments`].
#[derive(Debug, Clone)]
pub struct MarkerSegments<'a> {
    jpeg: &'a [u8],
    at: usize,
    ended: bool,
}

impl<'a> MarkerSegments<'a> {
    /// Returns the bytes after the segment that came last.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.jpeg.get(self.at..).unwrap_or_default()
    }
}

impl<'a> Iterator for MarkerSegments<'a> {
    type Item = MarkerSegment<'a>;

    #[inline]
    fn next(&mut self) -> Option<MarkerSegment<'a>> {
        if self.ended {
            return None;
        }
        let from = self.at;
        let (marker, behind) = next_marker(self.jpeg, from)?;
        let body = if marker::stands_alone(marker) {
            Ok(Default::default())
        } else {
            content(self.jpeg.get(behind..).unwrap_or_default())
        };
        self.ended = marker == marker::EOI || body.is_err();
        self.at = match body {
            Ok(body) if !marker::stands_alone(marker) => behind + 2 + body.len(),
            _ => behind,
        };
        let at = behind - 2;
        let before = self.jpeg.get(from..at).unwrap_or_default();
        Some(MarkerSegment { marker, at, before, body, end: self.at })
    }
}

/// Returns the content of a segment, starting at its length.
fn content(bytes: &[u8]) -> Result<&[u8], BadLength> {
    let (length, rest) = bytes.split_first_chunk().ok_or(BadLength::Ends)?;
    match u16::from_be_bytes(*length) {
        length @ 0..2 => Err(BadLength::Impossible(length as u8)),
        length => rest.get(..usize::from(length - 2)).ok_or(BadLength::Ends),
    }
}

/// Returns the first byte that is not a fill byte.
pub(crate) fn first_stray(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| *byte != 0xFF)
}

/// Returns the marker at or after `at`, and the byte offset after its code.
#[inline]
fn next_marker(bytes: &[u8], mut at: usize) -> Option<(u8, usize)> {
    // The usual case before the scan, where a search costs more than the rest.
    if let Some([0xFF, code @ 0x01..=0xFE]) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        return Some((*code, at + 2));
    }
    loop {
        match after_ff(bytes, find_ff(bytes, at)) {
            (0xFF, _) => return None,
            // A stuffed byte.
            (0x00, next) => at = next,
            found => return Some(found),
        }
    }
}

/// Returns the position of the next `FF`, or the length if there is none. Checks as many bytes at
/// once as vectors have, because a scan has hundreds of other bytes per `FF`.
#[inline]
pub(crate) fn find_ff(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(part) = bytes.get(at..).and_then(|rest| rest.first_chunk::<32>()) {
        // No early exit, so that the compiler vectorises the loop.
        let found = part.iter().fold(false, |found, byte| found | (*byte == 0xFF));
        if found {
            break;
        }
        at += 32;
    }
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        const ONES: u64 = u64::from_le_bytes([1; 8]);
        let inverted = !u64::from_le_bytes(*word);
        // The lowest set bit belongs to the first byte that is 0 in `inverted`.
        let zeros = inverted.wrapping_sub(ONES) & !inverted & (ONES << 7);
        if zeros != 0 {
            return at + zeros.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|byte| *byte == 0xFF).map_or(bytes.len(), |found| at + found)
}

/// Returns the first byte after `at` that is not `FF`, and the position after it. At the end of the
/// bytes it is `FF`.
#[inline]
pub(crate) fn after_ff(bytes: &[u8], at: usize) -> (u8, usize) {
    let rest = bytes.get(at..).unwrap_or_default();
    let found = rest.iter().enumerate().find(|(_, byte)| **byte != 0xFF);
    found.map_or((0xFF, bytes.len()), |(ahead, byte)| (*byte, at + ahead + 1))
}
