//! WebP (WebP Container Specification): chunks of a RIFF, and the flags that list them.
use super::{Block, Content, Metadata};
use fdconvert_core::bytes::{array_at, u32_at};

const RIFF_BYTES: usize = 12;
const HEADER_BYTES: usize = 8;
/// Offset of the flags in a file of the extended form.
const FLAGS_AT: usize = 20;
const ICC_FLAG: u8 = 0x20;
const EXIF_FLAG: u8 = 0x08;
const XMP_FLAG: u8 = 0x04;

pub(super) fn walk(webp: &[u8], see: &mut dyn FnMut(&Block<'_>)) -> Result<usize, String> {
    let cut = || format!("the WebP is cut off at byte {}", webp.len());
    let end = file_end(webp).ok_or_else(cut)?;
    let mut at = RIFF_BYTES;
    while at < end {
        let (kind, data, next) = chunk(webp, at).ok_or_else(cut)?;
        let is_head = matches!(&kind, b"VP8X" | b"VP8 " | b"VP8L");
        if (at == RIFF_BYTES && !is_head) || (at != RIFF_BYTES && kind == *b"VP8X") {
            return Err(format!("the WebP is damaged: its chunk at byte {at} belongs elsewhere"));
        }
        let found = match &kind {
            b"EXIF" => Some((Metadata::EXIF, Content::Exif(tiff(data)))),
            b"XMP " => Some((Metadata::XMP, Content::Xmp(data))),
            b"ICCP" => Some((Metadata::ICC, Content::Other)),
            b"VP8X" | b"VP8 " | b"VP8L" | b"ALPH" | b"ANIM" | b"ANMF" => None,
            _ => Some((Metadata::OTHER, Content::Other)),
        };
        if let Some((kind, content)) = found {
            let bytes = webp.get(at..next).unwrap_or_default();
            see(&Block { range: at..next, kind, content, frame, bytes });
        }
        at = next;
    }
    Ok(at)
}

/// Updates the file length and the flags in the header.
pub(super) fn mend_header(webp: &mut [u8]) {
    let end = u32::try_from(webp.len().saturating_sub(8)).unwrap_or(u32::MAX);
    if let Some(size) = webp.get_mut(4..8) {
        size.copy_from_slice(&end.to_le_bytes());
    }
    if array_at(webp, RIFF_BYTES) != Some(*b"VP8X") {
        return;
    }
    let mut absent = ICC_FLAG | EXIF_FLAG | XMP_FLAG;
    let mut at = RIFF_BYTES;
    while let Some((kind, _, next)) = chunk(webp, at) {
        absent &= match &kind {
            b"ICCP" => !ICC_FLAG,
            b"EXIF" => !EXIF_FLAG,
            b"XMP " => !XMP_FLAG,
            _ => u8::MAX,
        };
        at = next;
    }
    if let Some(flags) = webp.get_mut(FLAGS_AT) {
        *flags &= !absent;
    }
}

/// Returns the end of the file according to its header.
fn file_end(webp: &[u8]) -> Option<usize> {
    let size = usize::try_from(u32_at(webp, 4)?).ok()?;
    Some(size.checked_add(8)?.min(webp.len()))
}

/// Returns kind and data of the chunk at `at`, and the position of the next. The last one may lack
/// its padding to an even size.
fn chunk(webp: &[u8], at: usize) -> Option<([u8; 4], &[u8], usize)> {
    let kind = array_at(webp, at)?;
    let len = usize::try_from(u32_at(webp, at.checked_add(4)?)?).ok()?;
    let start = at.checked_add(HEADER_BYTES)?;
    let end = start.checked_add(len)?;
    let data = webp.get(start..end)?;
    Some((kind, data, end.checked_add(len & 1)?.min(webp.len())))
}

/// Skips the name that some writers put first, as in a JPEG.
fn tiff(data: &[u8]) -> &[u8] {
    data.strip_prefix(b"Exif\0\0").unwrap_or(data)
}

fn frame(block: &[u8], tiff: &[u8]) -> Vec<u8> {
    let has_name = block.get(HEADER_BYTES..).is_some_and(|data| data.starts_with(b"Exif\0\0"));
    let name: &[u8] = if has_name { b"Exif\0\0" } else { b"" };
    let len = name.len() + tiff.len();
    let mut out = b"EXIF".to_vec();
    out.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(name);
    out.extend_from_slice(tiff);
    out.resize(out.len() + (len & 1), 0);
    out
}
