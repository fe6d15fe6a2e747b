//! JPEG XL (ISO/IEC 18181): the header of a codestream, bare or in a container.
//!
//! Deliberately absent: the frames. An image with an animation's header counts as animated, however
//! many frames follow.
use super::{Ending, boxes::Boxes};
use crate::{Codec, Color, ImageHeader, bytes::array_at};
use std::borrow::Cow;

/// The first box of a container.
const CONTAINER: &[u8] = b"\0\0\0\x0cJXL \r\n\x87\n";
/// The start of a codestream.
const BARE: &[u8] = b"\xff\x0a";
/// Bytes that are searched for the header: many extra channels with long names fit into them.
const MAX_HEADER_BYTES: usize = 1 << 16;

pub(super) fn is_jxl(bytes: &[u8]) -> bool {
    bytes.starts_with(CONTAINER) || bytes.starts_with(BARE)
}

/// What the header of a codestream says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Claims {
    size: (u32, u32),
    orientation: u8,
    is_animated: bool,
    bits: u8,
    is_gray: bool,
    has_alpha: bool,
    /// Channels other than colours and alpha.
    has_others: bool,
    has_black: bool,
}

pub(super) fn header(bytes: &[u8]) -> Result<ImageHeader, String> {
    let claims = claims(bytes)?;
    let color = match (claims.is_gray, claims.has_alpha) {
        _ if claims.has_black => Color::Cmyk,
        (true, false) => Color::Gray,
        (true, true) => Color::GrayAlpha,
        (false, false) => Color::Rgb,
        (false, true) => Color::Rgba,
    };
    Ok(ImageHeader {
        codec: Codec::Jxl,
        width: claims.size.0,
        height: claims.size.1,
        color,
        bits: claims.bits,
        orientation: claims.orientation,
        progressive: false,
    })
}

pub(super) fn is_animated(bytes: &[u8]) -> bool {
    claims(bytes).is_ok_and(|claims| claims.is_animated)
}

pub(super) fn not_decoded(header: &ImageHeader) -> Option<String> {
    (header.color == Color::Cmyk).then(|| {
        "the JPEG XL has four inks (CMYK), which is not decoded here; convert it first: \
         `magick in.jxl -colorspace sRGB out.png` (ImageMagick)"
            .into()
    })
}

/// Returns true if a JPEG XL has channels besides colours and alpha, such as depth.
#[must_use]
pub fn jxl_has_more_channels(bytes: &[u8]) -> bool {
    claims(bytes).is_ok_and(|claims| claims.has_others)
}

/// Checks that the boxes of a container are in the file. A codestream without a length has no end
/// that shows without decoding.
pub(super) fn ending(bytes: &[u8]) -> Result<Ending, String> {
    if bytes.starts_with(BARE) {
        return Ok(Ending::Doubtful);
    }
    let mut parts = Boxes::of_file(bytes).filter(|part| matches!(&part.kind, b"jxlc" | b"jxlp"));
    let cut = || format!("the JPEG XL is cut off at byte {}", bytes.len());
    loop {
        let part = parts.next().ok_or_else(cut)?;
        if part.is_cut {
            return Err(cut());
        }
        if part.is_open {
            return Ok(Ending::Doubtful);
        }
        // The highest bit of its number marks the last part.
        if part.kind == *b"jxlc" || part.content.first().is_some_and(|first| first & 0x80 != 0) {
            return Ok(Ending::Complete);
        }
    }
}

fn claims(bytes: &[u8]) -> Result<Claims, String> {
    let codestream = codestream(bytes);
    let claims = codestream.strip_prefix(BARE).and_then(|rest| read(&mut Bits::of(rest)));
    claims.ok_or_else(|| match bytes.len() {
        _ if codestream.len() >= MAX_HEADER_BYTES => {
            format!("the JPEG XL has a header of more than {MAX_HEADER_BYTES} bytes, or is damaged")
        }
        len if len < 32 => format!("the JPEG XL is cut off at byte {len}, in its header"),
        _ => "the JPEG XL is damaged: its header cannot be read".into(),
    })
}

/// Returns the start of the codestream.
fn codestream(bytes: &[u8]) -> Cow<'_, [u8]> {
    const NUMBER: usize = 4;
    if bytes.starts_with(BARE) {
        return Cow::Borrowed(&bytes[..bytes.len().min(MAX_HEADER_BYTES)]);
    }
    let mut all = Vec::new();
    for part in Boxes::of_file(bytes) {
        let content = match &part.kind {
            b"jxlc" => part.content,
            b"jxlp" => part.content.get(NUMBER..).unwrap_or_default(),
            _ => continue,
        };
        all.extend(content.iter().take(MAX_HEADER_BYTES - all.len()));
        if part.kind == *b"jxlc" || all.len() == MAX_HEADER_BYTES {
            break;
        }
    }
    Cow::Owned(all)
}

/// Reads size and metadata (sections D.2 and D.3).
fn read(bits: &mut Bits<'_>) -> Option<Claims> {
    let size = size(bits)?;
    let mut claims = Claims {
        size,
        orientation: 1,
        is_animated: false,
        bits: 8,
        is_gray: false,
        has_alpha: false,
        has_others: false,
        has_black: false,
    };
    if bits.flag()? {
        return Some(claims);
    }
    if bits.flag()? {
        claims.orientation = bits.take(3)? as u8 + 1;
        if bits.flag()? {
            self::size(bits)?;
        }
        if bits.flag()? {
            preview(bits)?;
        }
        claims.is_animated = bits.flag()?;
        if claims.is_animated {
            bits.choice([(100, 0), (1000, 0), (1, 10), (1, 30)])?;
            bits.choice([(1, 0), (1001, 0), (1, 8), (1, 10)])?;
            bits.choice([(0, 0), (0, 3), (0, 16), (0, 32)])?;
            bits.flag()?;
        }
    }
    claims.bits = depth(bits)?;
    let _fits_16_bits = bits.flag()?;
    for _ in 0..bits.choice([(0, 0), (1, 0), (2, 4), (1, 12)])? {
        match extra_channel(bits)? {
            Extra::Alpha if !claims.has_alpha => claims.has_alpha = true,
            Extra::Black => claims.has_black = true,
            Extra::Spot => {}
            Extra::Alpha | Extra::Other => claims.has_others = true,
        }
    }
    let _is_xyb = bits.flag()?;
    let are_srgb = bits.flag()?;
    if !are_srgb {
        let _has_profile = bits.flag()?;
        claims.is_gray = bits.choice(ENUM)? == 1;
    }
    Some(claims)
}

/// Numbers of kinds.
const ENUM: [(u32, u32); 4] = [(0, 0), (1, 0), (2, 4), (18, 6)];

fn size(bits: &mut Bits<'_>) -> Option<(u32, u32)> {
    let is_small = bits.flag()?;
    let side = |bits: &mut Bits<'_>| {
        if is_small {
            Some((bits.take(5)? + 1) * 8)
        } else {
            bits.choice([(1, 9), (1, 13), (1, 18), (1, 30)])
        }
    };
    let height = side(bits)?;
    let width = match ratio(bits)? {
        Some((across, down)) => {
            u32::try_from(u64::from(height) * u64::from(across) / u64::from(down)).ok()?
        }
        None => side(bits)?,
    };
    Some((width, height))
}

fn ratio(bits: &mut Bits<'_>) -> Option<Option<(u32, u32)>> {
    const RATIOS: [(u32, u32); 7] = [(1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1)];
    let index = bits.take(3)? as usize;
    Some(index.checked_sub(1).and_then(|index| RATIOS.get(index).copied()))
}

fn preview(bits: &mut Bits<'_>) -> Option<()> {
    let is_small = bits.flag()?;
    let sides = if is_small {
        [(16, 0), (32, 0), (1, 5), (33, 9)]
    } else {
        [(1, 6), (65, 8), (321, 10), (1345, 12)]
    };
    bits.choice(sides)?;
    if ratio(bits)?.is_none() {
        bits.choice(sides)?;
    }
    Some(())
}

/// Returns the bits of a sample, whole numbers or floats.
fn depth(bits: &mut Bits<'_>) -> Option<u8> {
    let is_float = bits.flag()?;
    let (few, more, most) = if is_float { (32, 16, 24) } else { (8, 10, 12) };
    let depth = bits.choice([(few, 0), (more, 0), (most, 0), (1, 6)])?;
    if is_float {
        bits.take(4)?;
    }
    u8::try_from(depth).ok()
}

enum Extra {
    Alpha,
    Black,
    /// Drawn over the colours.
    Spot,
    Other,
}

fn extra_channel(bits: &mut Bits<'_>) -> Option<Extra> {
    const ALPHA: u32 = 0;
    const SPOT: u32 = 2;
    const BLACK: u32 = 4;
    const FILTER: u32 = 5;
    let is_default = bits.flag()?;
    if is_default {
        return Some(Extra::Alpha);
    }
    let kind = bits.choice(ENUM)?;
    depth(bits)?;
    let _reduced = bits.choice([(0, 0), (3, 0), (4, 0), (1, 3)])?;
    for _ in 0..bits.choice([(0, 0), (0, 4), (16, 5), (48, 10)])? {
        bits.take(8)?;
    }
    match kind {
        ALPHA => {
            let _is_premultiplied = bits.flag()?;
            return Some(Extra::Alpha);
        }
        SPOT => {
            for _ in 0..4 {
                bits.take(16)?;
            }
            return Some(Extra::Spot);
        }
        FILTER => {
            bits.choice([(1, 0), (0, 2), (3, 4), (19, 8)])?;
        }
        _ => {}
    }
    Some(if kind == BLACK { Extra::Black } else { Extra::Other })
}

/// Bits of bytes, from the lowest on.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bits<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns a number of at most 32 bits.
    fn take(&mut self, n_bits: u32) -> Option<u32> {
        let mut number = 0;
        for place in 0..n_bits {
            let [byte] = array_at(self.bytes, self.at / 8)?;
            number |= u32::from(byte >> (self.at % 8) & 1) << place;
            self.at += 1;
        }
        Some(number)
    }

    fn flag(&mut self) -> Option<bool> {
        Some(self.take(1)? == 1)
    }

    /// Returns one of four numbers, each with an offset and bits to add.
    fn choice(&mut self, from: [(u32, u32); 4]) -> Option<u32> {
        let &(offset, n_bits) = from.get(self.take(2)? as usize)?;
        offset.checked_add(self.take(n_bits)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::probe;

    /// Bits of a codestream from numbers and their lengths.
    fn stream(fields: &[(u32, usize)]) -> Vec<u8> {
        let mut bits: Vec<bool> = Vec::new();
        for &(number, len) in fields {
            bits.extend((0..len).map(|place| number >> place & 1 == 1));
        }
        let bytes = bits.chunks(8).map(|bits| {
            bits.iter().enumerate().fold(0, |byte, (place, bit)| byte | u8::from(*bit) << place)
        });
        BARE.iter().copied().chain(bytes).collect()
    }

    /// 300 rows of 7 columns.
    const SIZE: [(u32, usize); 6] = [(0, 1), (0, 2), (299, 9), (0, 3), (0, 2), (6, 9)];

    fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
        [&(content.len() as u32 + 8).to_be_bytes(), &kind[..], content].concat()
    }

    #[test]
    fn size_metadata_and_extra_channels_are_read() {
        let plain = stream(&[&SIZE[..], &[(1, 1)]].concat());
        let header = probe(&plain).unwrap();
        assert_eq!((header.width, header.height), (7, 300));
        assert_eq!((header.color, header.bits, header.orientation), (Color::Rgb, 8, 1));
        // 8 * 4 rows, as wide as 16 to 9.
        let ratio = stream(&[(1, 1), (3, 5), (5, 3), (1, 1)]);
        assert_eq!(probe(&ratio).map(|header| (header.width, header.height)), Ok((56, 32)));
        // Turned, animated, 12 bits, gray, with alpha and depth of a name of two bytes.
        let turned = [(0, 1), (1, 1), (5, 3), (0, 1), (0, 1), (1, 1)];
        let animation = [(0, 2), (0, 2), (0, 2), (0, 1)];
        let depth = [(0, 1), (1, 2), (0, 1), (0, 2), (0, 2), (1, 2), (2, 4), (65, 8), (66, 8)];
        let fields = [
            &SIZE[..],
            &turned,
            &animation,
            &[(0, 1), (2, 2), (1, 1)],
            &[(2, 2), (0, 4), (1, 1)],
            &depth,
            &[(1, 1), (0, 1), (0, 1), (1, 2)],
        ];
        let full = stream(&fields.concat());
        let header = probe(&full).unwrap();
        assert_eq!((header.color, header.bits, header.orientation), (Color::GrayAlpha, 12, 6));
        assert!(is_animated(&full) && jxl_has_more_channels(&full));
        assert!(!is_animated(&plain) && !jxl_has_more_channels(&plain));
        for len in 2..full.len() {
            assert!(probe(&full[..len]).unwrap_err().contains("cut off"), "{len}");
        }
    }

    #[test]
    fn containers_are_put_together_and_cut_ones_are_found() {
        let plain = stream(&[&SIZE[..], &[(1, 1)]].concat());
        let (first, second) = plain.split_at(3);
        let part = |number: u32, content: &[u8]| {
            boxed(b"jxlp", &[&number.to_be_bytes(), content].concat())
        };
        let parts =
            [CONTAINER.to_vec(), part(0, first), boxed(b"Exif", b""), part(1 << 31 | 1, second)];
        let whole = parts.concat();
        assert_eq!(probe(&whole).map(|header| header.height), Ok(300));
        assert_eq!(ending(&whole), Ok(Ending::Complete));
        assert!(ending(&whole[..whole.len() - 1]).unwrap_err().contains("cut off"));
        assert!(ending(&parts[..3].concat()).is_err());
        let open = [CONTAINER, b"\0\0\0\0jxlc", &plain].concat();
        assert_eq!((ending(&open), ending(&plain)), (Ok(Ending::Doubtful), Ok(Ending::Doubtful)));
    }
}
