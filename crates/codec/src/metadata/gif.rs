//! GIF (GIF89a specification): comment and application extensions.
use super::{Block, Content, Metadata, no_frame};
use fdconvert_core::bytes::array_at;

const SCREEN_BYTES: usize = 13;
const IMAGE_BYTES: usize = 10;
const TRAILER: u8 = b';';

pub(super) fn walk(gif: &[u8], see: &mut dyn FnMut(&Block<'_>)) -> Result<usize, String> {
    let cut = || format!("the GIF is cut off at byte {}", gif.len());
    let [flags] = array_at(gif, SCREEN_BYTES - 3).ok_or_else(cut)?;
    let mut at = SCREEN_BYTES + color_table_bytes(flags);
    // Some writers omit the trailer.
    while at < gif.len() {
        let [kind] = array_at(gif, at).ok_or_else(cut)?;
        let next = match kind {
            TRAILER => return Ok(at + 1),
            b'!' => past_sub_blocks(gif, at + 2).ok_or_else(cut)?,
            b',' => {
                let [flags] = array_at(gif, at + IMAGE_BYTES - 1).ok_or_else(cut)?;
                // A byte of the code size comes before the data.
                let data = at + IMAGE_BYTES + color_table_bytes(flags) + 1;
                past_sub_blocks(gif, data).ok_or_else(cut)?
            }
            // Some writers put zeros between blocks.
            0 => at + 1,
            _ => return Err(format!("the GIF has no block at byte {at}")),
        };
        let bytes = gif.get(at..next).unwrap_or_default();
        if let Some((kind, content)) = meaning(bytes) {
            see(&Block { range: at..next, kind, content, frame: no_frame, bytes });
        }
        at = next;
    }
    Ok(gif.len())
}

/// Classifies a block, if the image can be shown without it.
fn meaning(block: &[u8]) -> Option<(Metadata, Content<'_>)> {
    let (name, data) = match block {
        [b'!', 0xFE, ..] => return Some((Metadata::COMMENTS, Content::Other)),
        [b'!', 0xFF, 11, rest @ ..] => rest.split_at_checked(11)?,
        _ => return None,
    };
    Some(match name {
        b"NETSCAPE2.0" | b"ANIMEXTS1.0" => return None,
        // Its text is stored directly, not in blocks.
        b"XMP DataXMP" => (Metadata::XMP, Content::Xmp(data)),
        b"ICCRGBG1012" => (Metadata::ICC, Content::Other),
        _ => (Metadata::OTHER, Content::Other),
    })
}

/// Three bytes for each colour.
fn color_table_bytes(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Each sub-block starts with its length; an empty one is the last.
fn past_sub_blocks(gif: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let [len] = array_at(gif, at)?;
        at = at.checked_add(1 + usize::from(len))?;
        if len == 0 {
            return Some(at);
        }
    }
}
