//! The one walk over the markers of a JPEG (ITU-T T.81, B.1.1).
//!
//! As libjpeg does, it passes over whatever else stands in front of a marker: fill bytes,
//! entropy-coded data, and what a careless tool left there. Those who accept less look at
//! [`MarkerSegment::stray`]. Nothing is allocated, and every length is checked.

/// The markers that are named here (T.81, table B.1).
pub mod marker {
    /// Huffman tables.
    pub const DHT: u8 = 0xC4;
    /// Conditioning of arithmetic codes.
    pub const DAC: u8 = 0xCC;
    /// Start of the image.
    pub const SOI: u8 = 0xD8;
    /// End of the image.
    pub const EOI: u8 = 0xD9;
    /// Header of a scan, with entropy-coded data behind it.
    pub const SOS: u8 = 0xDA;
    /// Quantisation tables.
    pub const DQT: u8 = 0xDB;
    /// The height, told behind the scan.
    pub const DNL: u8 = 0xDC;
    /// MCUs between two restarts.
    pub const DRI: u8 = 0xDD;
    /// Data of an application: JFIF.
    pub const APP0: u8 = 0xE0;
    /// Data of an application: EXIF.
    pub const APP1: u8 = 0xE1;
    /// Data of an application: Adobe.
    pub const APP14: u8 = 0xEE;
    /// Data of an application: the last of them.
    pub const APP15: u8 = 0xEF;
    /// A comment.
    pub const COM: u8 = 0xFE;

    const TEM: u8 = 0x01;
    const RST0: u8 = 0xD0;

    /// Returns whether a marker has no length and no content.
    #[must_use]
    pub const fn stands_alone(marker: u8) -> bool {
        matches!(marker, TEM | RST0..=EOI)
    }

    /// Returns whether a marker begins the header of a frame, of whichever process.
    #[must_use]
    pub const fn starts_frame(marker: u8) -> bool {
        // Among these codes are those of two tables and one that is reserved.
        matches!(marker, 0xC0..=0xCF) && !matches!(marker, DHT | 0xC8 | DAC)
    }
}

/// The bytes that every JPEG starts with.
pub const START: [u8; 2] = [0xFF, marker::SOI];

/// A marker with its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerSegment<'a> {
    /// The code of the marker, the byte behind `FF`.
    pub marker: u8,
    /// The byte at which it begins, which is its `FF`.
    pub at: usize,
    /// Bytes between the segment before and this one.
    pub before: &'a [u8],
    /// Bytes that follow the length; nothing for a marker that stands alone.
    pub body: Result<&'a [u8], BadLength>,
    /// The byte behind the content, as far as that can be read.
    pub end: usize,
}

/// Why the content of a segment cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadLength {
    /// The length, which counts its own two bytes, is smaller than that.
    Impossible(u8),
    /// The bytes end before the content does.
    Ends,
}

impl MarkerSegment<'_> {
    /// The byte behind the segment before: without stray bytes, the first `FF` of this one.
    #[must_use]
    pub fn from(&self) -> usize {
        self.at - self.before.len()
    }

    /// The first byte in front of the marker that is not a fill byte. The standard allows none.
    #[must_use]
    pub fn stray(&self) -> Option<u8> {
        first_stray(self.before)
    }
}

/// The marker segments of a JPEG behind its first marker, which is not looked at. The last is that
/// of the end marker, or one whose content cannot be read.
#[must_use]
pub fn marker_segments(jpeg: &[u8]) -> MarkerSegments<'_> {
    MarkerSegments { jpeg, at: START.len(), ended: false }
}

/// Iterator of [`marker_segments`].
#[derive(Debug, Clone)]
pub struct MarkerSegments<'a> {
    jpeg: &'a [u8],
    at: usize,
    ended: bool,
}

impl<'a> MarkerSegments<'a> {
    /// The bytes behind the segment that came last.
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

/// The content of a segment, from its length on.
fn content(bytes: &[u8]) -> Result<&[u8], BadLength> {
    let (length, rest) = bytes.split_first_chunk().ok_or(BadLength::Ends)?;
    match u16::from_be_bytes(*length) {
        length @ 0..2 => Err(BadLength::Impossible(length as u8)),
        length => rest.get(..usize::from(length - 2)).ok_or(BadLength::Ends),
    }
}

/// The first byte that is not a fill byte.
pub(crate) fn first_stray(bytes: &[u8]) -> Option<u8> {
    bytes.iter().copied().find(|byte| *byte != 0xFF)
}

/// The marker at or behind `at`, and the byte behind its code.
#[inline]
fn next_marker(bytes: &[u8], mut at: usize) -> Option<(u8, usize)> {
    // As it nearly always is in front of the scan, where a search costs more than what is found.
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

/// Returns where the next `FF` is, or the length if there is none. By as many bytes as vectors of
/// the processor have, because there are hundreds of others for each in a scan.
#[inline]
pub(crate) fn find_ff(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(part) = bytes.get(at..).and_then(|rest| rest.first_chunk::<32>()) {
        // No early end of this loop, which is what makes it one of vectors.
        let found = part.iter().fold(false, |found, byte| found | (*byte == 0xFF));
        if found {
            break;
        }
        at += 32;
    }
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        const ONES: u64 = u64::from_le_bytes([1; 8]);
        let inverted = !u64::from_le_bytes(*word);
        // The lowest bit set belongs to the first byte that is 0 in `inverted`.
        let zeros = inverted.wrapping_sub(ONES) & !inverted & (ONES << 7);
        if zeros != 0 {
            return at + zeros.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|byte| *byte == 0xFF).map_or(bytes.len(), |found| at + found)
}

/// The first byte behind `at` that is not `FF`, and the position behind it. At the end of the
/// bytes it is `FF`.
#[inline]
pub(crate) fn after_ff(bytes: &[u8], at: usize) -> (u8, usize) {
    let rest = bytes.get(at..).unwrap_or_default();
    let found = rest.iter().enumerate().find(|(_, byte)| **byte != 0xFF);
    found.map_or((0xFF, bytes.len()), |(ahead, byte)| (*byte, at + ahead + 1))
}
