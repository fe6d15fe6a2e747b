//! EXIF and XMP of files that are boxes: AVIF and JPEG XL.
use super::{avif, boxes::Boxes};
use crate::Codec;
use std::borrow::Cow;

/// A piece of metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoxedMetadata<'a> {
    /// An EXIF: a TIFF structure; `None` if it is compressed.
    Exif(Option<Cow<'a, [u8]>>),
    /// An XMP packet; `None` if it is compressed.
    Xmp(Option<Cow<'a, [u8]>>),
}

/// Finds EXIF and XMP of an AVIF or JPEG XL, as far as it can be parsed.
#[must_use]
pub fn boxed_metadata(bytes: &[u8], codec: Codec) -> Vec<BoxedMetadata<'_>> {
    match codec {
        Codec::Avif => avif::metadata(bytes).unwrap_or_default(),
        Codec::Jxl => {
            Boxes::of_file(bytes).filter_map(|block| of_jxl(block.kind, block.content)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the metadata of a box of a JPEG XL (ISO/IEC 18181-2).
fn of_jxl(kind: [u8; 4], content: &[u8]) -> Option<BoxedMetadata<'_>> {
    match &kind {
        b"Exif" => Some(BoxedMetadata::Exif(after_offset(Cow::Borrowed(content)))),
        b"xml " => Some(BoxedMetadata::Xmp(Some(Cow::Borrowed(content)))),
        b"brob" if content.starts_with(b"Exif") => Some(BoxedMetadata::Exif(None)),
        b"brob" if content.starts_with(b"xml ") => Some(BoxedMetadata::Xmp(None)),
        _ => None,
    }
}

/// Skips what precedes the TIFF structure: its offset, and what lies between.
pub(super) fn after_offset(content: Cow<'_, [u8]>) -> Option<Cow<'_, [u8]>> {
    let offset = crate::bytes::u32_be_at(&content, 0)?;
    let at = usize::try_from(offset).ok()?.checked_add(4).filter(|at| *at <= content.len())?;
    Some(match content {
        Cow::Borrowed(bytes) => Cow::Borrowed(bytes.get(at..)?),
        Cow::Owned(bytes) => Cow::Owned(bytes.get(at..)?.to_vec()),
    })
}
