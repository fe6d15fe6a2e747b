//! PNG (W3C Recommendation, third edition): the chunks.
use crate::probe::exif;
use crate::{
    Codec, Color, ImageHeader,
    bytes::{array_at, u32_be_at},
};

const SIGNATURE_BYTES: usize = 8;
/// Bytes of length, type and CRC around a chunk's data.
const CHUNK_OVERHEAD: usize = 12;

struct Chunk<'a> {
    at: usize,
    kind: [u8; 4],
    data: &'a [u8],
    crc: u32,
}

fn chunk(bytes: &[u8], at: usize) -> Result<Chunk<'_>, String> {
    let cut = || format!("the PNG is cut off at byte {} (no end chunk)", bytes.len());
    let len = usize::try_from(u32_be_at(bytes, at).ok_or_else(cut)?).map_err(|_| cut())?;
    let kind = array_at(bytes, at + 4).ok_or_else(cut)?;
    let end = (at + 8).checked_add(len).ok_or_else(cut)?;
    let data = bytes.get(at + 8..end).ok_or_else(cut)?;
    let crc = u32_be_at(bytes, end).ok_or_else(cut)?;
    Ok(Chunk { at, kind, data, crc })
}

/// Bytes before deflated data.
const ZLIB_HEADER: usize = 2;

impl Chunk<'_> {
    fn crc(&self) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.kind);
        crc.update(self.data);
        crc.finalize()
    }

    fn next(&self) -> usize {
        self.at + CHUNK_OVERHEAD + self.data.len()
    }
}

/// Reads IHDR and the chunks that affect the pixels: transparency, EXIF.
pub(crate) fn header(bytes: &[u8]) -> Result<ImageHeader, String> {
    let ihdr = chunk(bytes, SIGNATURE_BYTES)?;
    if &ihdr.kind == b"CgBI" {
        return Err(
            "the PNG is in the form of Apple's devices (CgBI), which is not read here; convert \
                    it first: `pngcrush -revert-iphone-optimizations in.png out.png` (pngcrush)"
                .into(),
        );
    }
    let fields = match (&ihdr.kind, ihdr.data) {
        (b"IHDR", data @ [.., bits, kind, _, _, _]) if data.len() == 13 => {
            u32_be_at(data, 0).zip(u32_be_at(data, 4)).map(|(w, h)| (w, h, *bits, *kind))
        }
        _ => None,
    };
    let (width, height, bits, kind) =
        fields.ok_or("the PNG does not start with an image header (IHDR)")?;
    let mut transparent = false;
    let mut orientation = 1;
    let mut at = ihdr.next();
    // `check_complete` reports truncation. EXIF may also follow the pixels.
    while let Ok(chunk) = chunk(bytes, at) {
        match &chunk.kind {
            b"tRNS" => transparent = true,
            b"eXIf" => {
                orientation = exif::orientation(chunk.data).unwrap_or(1);
                break;
            }
            b"IEND" => break,
            _ => {}
        }
        at = chunk.next();
    }
    let (color, depths): (_, &[u8]) = match (kind, transparent) {
        (0, false) => (Color::Gray, &[1, 2, 4, 8, 16]),
        (0, true) => (Color::GrayAlpha, &[1, 2, 4, 8, 16]),
        (2, false) => (Color::Rgb, &[8, 16]),
        (2, true) => (Color::Rgba, &[8, 16]),
        (3, false) => (Color::Rgb, &[1, 2, 4, 8]),
        (3, true) => (Color::Rgba, &[1, 2, 4, 8]),
        (4, _) => (Color::GrayAlpha, &[8, 16]),
        (6, _) => (Color::Rgba, &[8, 16]),
        _ => return Err(format!("the PNG has colour type {kind}, which does not exist")),
    };
    if !depths.contains(&bits) {
        return Err(format!("the PNG has {bits} bits in colour type {kind}, which cannot be"));
    }
    // Palette entries have eight bits, whatever the index size.
    let bits = if kind == 3 { 8 } else { bits };
    let codec = Codec::Png;
    Ok(ImageHeader { codec, width, height, color, bits, orientation, progressive: false })
}

/// Returns the number of frames of an animation (`acTL`, before the pixels); `None` for a still
/// image.
pub(crate) fn frames(bytes: &[u8]) -> Option<u32> {
    let mut at = SIGNATURE_BYTES;
    loop {
        let chunk = chunk(bytes, at).ok()?;
        match &chunk.kind {
            b"acTL" => return u32_be_at(chunk.data, 0),
            b"IDAT" | b"IEND" => return None,
            _ => at = chunk.next(),
        }
    }
}

/// Checks every chunk up to IEND, with the CRC of those that the pixels need, and the start of the
/// image data. Decoders skip other chunks with a wrong CRC.
pub(crate) fn check_chunks(bytes: &[u8]) -> Result<(), String> {
    let mut at = SIGNATURE_BYTES;
    // Start of the image data, across chunks.
    let mut start = Vec::with_capacity(ZLIB_HEADER);
    let (mut has_palette, mut needs_palette) = (false, false);
    loop {
        let chunk = chunk(bytes, at)?;
        let is_critical = chunk.kind[0] & 0x20 == 0;
        if is_critical && chunk.crc() != chunk.crc {
            let kind = String::from_utf8_lossy(&chunk.kind).into_owned();
            return Err(format!("the PNG chunk {kind} at byte {at} does not match its CRC"));
        }
        match (&chunk.kind, chunk.data) {
            (b"IHDR", [.., kind, compression, filter, interlacing]) => {
                if (*compression, *filter) != (0, 0) || *interlacing > 1 {
                    return Err("the PNG is stored by a method that does not exist".into());
                }
                needs_palette = *kind == 3;
            }
            (b"PLTE", _) => has_palette = true,
            (b"IDAT", data) => {
                let missing = ZLIB_HEADER - start.len();
                start.extend_from_slice(data.get(..missing.min(data.len())).unwrap_or_default());
                if needs_palette && !has_palette {
                    return Err(format!("the PNG has no palette before its pixels at byte {at}"));
                }
            }
            (b"IEND", _) => return check_zlib(&start),
            _ => {}
        }
        at = chunk.next();
    }
}

/// Checks the two bytes that start the pixels (RFC 1950): deflated, in windows of at most 32 KiB,
/// without a dictionary.
fn check_zlib(start: &[u8]) -> Result<(), String> {
    let &[method, flags] = start else { return Err("the PNG has no image data (IDAT)".into()) };
    let is_sound = method & 15 == 8
        && method >> 4 <= 7
        && u16::from_be_bytes([method, flags]).is_multiple_of(31)
        && flags & 0x20 == 0;
    if is_sound {
        return Ok(());
    }
    Err("the PNG's image data (IDAT) does not begin as deflated data does".into())
}
