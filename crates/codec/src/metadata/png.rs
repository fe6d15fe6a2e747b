//! PNG (W3C Recommendation, third edition): chunks, from the header to the end chunk.
use super::{Block, Content, Metadata};
use fdconvert_core::bytes::{array_at, u32_be_at};

const SIGNATURE_BYTES: usize = 8;
/// Length and type before a chunk's data.
const HEADER_BYTES: usize = 8;
const CRC_BYTES: usize = 4;
const XMP: &[u8] = b"XML:com.adobe.xmp";

/// Chunks that the image needs, or that affect how its pixels are shown.
const SHOWN: [&[u8; 4]; 19] = [
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"cHRM", b"gAMA", b"sBIT", b"sRGB", b"cICP",
    b"mDCV", b"cLLI", b"bKGD", b"hIST", b"pHYs", b"sPLT", b"acTL", b"fcTL", b"fdAT",
];

pub(super) fn walk(png: &[u8], see: &mut dyn FnMut(&Block<'_>)) -> Result<usize, String> {
    let mut at = SIGNATURE_BYTES;
    loop {
        let cut = || format!("the PNG is cut off at byte {} (no end chunk)", png.len());
        let len = usize::try_from(u32_be_at(png, at).ok_or_else(cut)?).map_err(|_| cut())?;
        let kind: [u8; 4] = array_at(png, at + 4).ok_or_else(cut)?;
        let end = at.checked_add(HEADER_BYTES + CRC_BYTES).and_then(|end| end.checked_add(len));
        let end = end.filter(|end| *end <= png.len()).ok_or_else(cut)?;
        let bytes = png.get(at..end).unwrap_or_default();
        let data = png.get(at + HEADER_BYTES..end - CRC_BYTES).unwrap_or_default();
        if let Some((kind, content)) = meaning(kind, data) {
            see(&Block { range: at..end, kind, content, frame, bytes });
        }
        if &kind == b"IEND" {
            return Ok(end);
        }
        at = end;
    }
}

/// Classifies a chunk, if the image can be shown without it.
fn meaning(kind: [u8; 4], data: &[u8]) -> Option<(Metadata, Content<'_>)> {
    Some(match &kind {
        b"eXIf" => (Metadata::EXIF, Content::Exif(data)),
        b"iCCP" => (Metadata::ICC, Content::Other),
        b"tEXt" | b"zTXt" | b"iTXt" => text(kind, data),
        kind if SHOWN.contains(&kind) => return None,
        // An unknown critical chunk must stay.
        [first, ..] if first.is_ascii_uppercase() => return None,
        _ => (Metadata::OTHER, Content::Other),
    })
}

/// Classifies texts by their keywords. ImageMagick stores whole profiles in texts, as numbers, and
/// single entries of an EXIF.
fn text(kind: [u8; 4], data: &[u8]) -> (Metadata, Content<'_>) {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (keyword, rest) = data.split_at(end);
    match keyword {
        XMP if &kind == b"iTXt" && rest.get(1) == Some(&0) => (Metadata::XMP, Content::Xmp(rest)),
        XMP => (Metadata::XMP, Content::Opaque),
        b"Raw profile type exif" | b"Raw profile type APP1" => (Metadata::EXIF, Content::Opaque),
        b"Raw profile type xmp" => (Metadata::XMP, Content::Opaque),
        b"Raw profile type iptc" | b"Raw profile type 8bim" => (Metadata::IPTC, Content::Other),
        b"Raw profile type icc" | b"Raw profile type icm" => (Metadata::ICC, Content::Other),
        _ if keyword.starts_with(b"exif:GPS") || keyword.starts_with(b"GPS") => {
            (Metadata::EXIF, Content::Opaque)
        }
        _ if keyword.starts_with(b"exif:") => (Metadata::EXIF, Content::Other),
        _ => (Metadata::COMMENTS, Content::Other),
    }
}

fn frame(_block: &[u8], tiff: &[u8]) -> Vec<u8> {
    let length = u32::try_from(tiff.len()).unwrap_or(u32::MAX);
    let mut out = length.to_be_bytes().to_vec();
    out.extend_from_slice(b"eXIf");
    out.extend_from_slice(tiff);
    let crc = libdeflater::crc32(out.get(4..).unwrap_or_default());
    out.extend_from_slice(&crc.to_be_bytes());
    out
}
