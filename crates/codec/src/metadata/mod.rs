//! Metadata of image files: finding and removing it without changing a byte of the image data.
//!
//! Files are split at their own boundaries (marker segments, chunks, blocks), and unwanted pieces
//! are removed as a whole. Two rules hold for all formats:
//!
//! - The orientation stays. It changes how the pixels are shown, so an EXIF that turns the
//!   image is replaced by one that contains nothing else.
//! - In doubt more is removed than requested: an EXIF that cannot be read, an XMP packet that names
//!   a position, and any data after the end of the image, which may be a second image with its
//!   metadata.
//!
//! Deliberately absent: removing from a TIFF, in which metadata and pixels share one directory, from an
//! AVIF, whose items are found by their offsets, and from a JPEG XL. Such images must be re-encoded.

mod edits;
mod exif;
mod gif;
mod jpeg;
mod kinds;
mod png;
mod webp;

pub use kinds::{Metadata, MetadataKind};

use crate::Notes;
use edits::Edits;
use fdconvert_core::{
    Codec,
    probe::{BoxedMetadata, boxed_metadata, exif_orientation, probe, starts_exif},
};

/// Metadata of an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FoundMetadata {
    /// Kinds that were found. A position counts as [`Metadata::GPS`] wherever it is, and a GPS
    /// directory with only its version does not count.
    pub kinds: Metadata,
    /// True if an EXIF turns the image.
    pub is_turned: bool,
}

/// An image without some of its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripped {
    /// The new file.
    pub bytes: Vec<u8>,
    /// Notes on the changes.
    pub notes: Notes,
}

/// Finds metadata, as far as the file can be parsed. In a TIFF only EXIF is found.
#[must_use]
pub fn find_metadata(bytes: &[u8], codec: Codec) -> FoundMetadata {
    let mut found = FoundMetadata::default();
    let mut see = |block: &Block<'_>| {
        found.kinds = found.kinds | block.kind;
        match block.content {
            Content::Exif(tiff) => {
                found.kinds = found.kinds | Metadata::GPS.when(exif::has_position(tiff));
            }
            Content::Xmp(packet) => {
                found.kinds = found.kinds | Metadata::GPS.when(names_position(packet));
            }
            Content::Opaque | Content::Other => {}
        }
    };
    // Damage ends the walk; earlier findings count.
    let _ = walk(bytes, codec, &mut see);
    found.is_turned = probe(bytes).is_ok_and(|header| header.orientation > 1);
    if codec == Codec::Tiff {
        found.kinds = found.kinds | Metadata::GPS.when(exif::has_position(bytes));
    }
    found
}

/// Returns the first EXIF of an image, a TIFF structure; `None` if it has none.
#[must_use]
pub fn find_exif(bytes: &[u8], codec: Codec) -> Option<Vec<u8>> {
    if codec == Codec::Tiff {
        return Some(bytes.to_vec());
    }
    let mut found = None;
    // Damage ends the walk; earlier findings count.
    let _ = walk(bytes, codec, &mut |block| {
        if let (Content::Exif(tiff), None) = (block.content, &found)
            && starts_exif(tiff)
        {
            found = Some(tiff.to_vec());
        }
    });
    found
}

/// Removes metadata from an image; `None` when it has none of these kinds. Pixels and orientation
/// stay those of `bytes`.
///
/// # Errors
/// A text for a sample's error: the file cannot be parsed to its end, or its codec does not allow
/// removal.
pub fn strip_metadata(
    bytes: &[u8],
    codec: Codec,
    kinds: Metadata,
) -> Result<Option<Stripped>, String> {
    let Some(mut all) = strip_once(bytes, codec, kinds)? else { return Ok(None) };
    for _ in 0..MAX_PASSES {
        let Some(Stripped { bytes: rest, notes }) = strip_once(&all.bytes, codec, kinds)? else {
            check_header(bytes, &all.bytes, all.notes)?;
            return Ok(Some(all));
        };
        // In a damaged file a removal may expose more metadata.
        all = Stripped { bytes: rest, notes: all.notes | notes };
    }
    Err("the file is damaged: each removal of metadata exposes more of it".to_owned())
}

/// Limit of passes over a damaged file.
const MAX_PASSES: usize = 4;

/// Removes the metadata that one walk over the file finds.
fn strip_once(bytes: &[u8], codec: Codec, kinds: Metadata) -> Result<Option<Stripped>, String> {
    let mut edits = Edits::default();
    let mut notes = Notes::NONE;
    if kinds.is_empty() || matches!(codec, Codec::Bmp | Codec::Raw) {
        return Ok(None);
    }
    if must_be_encoded_again(codec) {
        return Err(format!("metadata cannot be taken out of a {}", codec.extension()));
    }
    let turns = turns(bytes, codec)?;
    let mut judge = |block: &Block<'_>| match verdict(block, kinds, turns, &mut notes) {
        Verdict::Stays => {}
        Verdict::Goes => edits.cut(block.range.clone()),
        Verdict::Becomes(tiff) => edits.replace(block.range.clone(), block.framed(&tiff)),
    };
    let end = walk(bytes, codec, &mut judge)?;
    if end < bytes.len() && kinds.reach_behind_the_end() {
        edits.cut(end..bytes.len());
        notes |= Notes::TAIL_REMOVED;
    }
    if edits.is_empty() {
        return Ok(None);
    }
    let mut stripped = edits.apply(bytes);
    if codec == Codec::Webp {
        webp::mend_header(&mut stripped);
    }
    Ok(Some(Stripped { bytes: stripped, notes }))
}

/// Returns true if metadata cannot be taken out of the bytes of such images.
pub(crate) fn must_be_encoded_again(codec: Codec) -> bool {
    matches!(codec, Codec::Tiff | Codec::Avif | Codec::Jxl)
}

/// Refuses results that a reader would take for another image, or for none, as may happen with
/// damaged files, because data after metadata has moved.
fn check_header(bytes: &[u8], stripped: &[u8], notes: Notes) -> Result<(), String> {
    let Ok(before) = probe(bytes) else { return Ok(()) };
    let is_same = probe(stripped).is_ok_and(|mut after| {
        // Some readers also look for an EXIF after the end.
        if notes.contains(Notes::TAIL_REMOVED) {
            after.orientation = before.orientation;
        }
        after == before
    });
    if is_same {
        return Ok(());
    }
    Err("the file is damaged: removing its metadata would change its header".to_owned())
}

/// The EXIFs of a file that must keep an orientation when the rest is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turns {
    /// Those that turn the image.
    Turned,
    /// All, if one of several turns the image: readers differ in the one they use.
    All,
}

fn turns(bytes: &[u8], codec: Codec) -> Result<Turns, String> {
    let (mut n_exifs, mut is_turned) = (0, false);
    walk(bytes, codec, &mut |block| {
        if let Content::Exif(tiff) = block.content
            && starts_exif(tiff)
        {
            n_exifs += 1;
            is_turned |= exif_orientation(tiff).is_some_and(|turn| turn > 1);
        }
    })?;
    Ok(if n_exifs > 1 && is_turned { Turns::All } else { Turns::Turned })
}

/// Walks over the metadata of a file and returns the end of the image.
fn walk(bytes: &[u8], codec: Codec, see: &mut dyn FnMut(&Block<'_>)) -> Result<usize, String> {
    match codec {
        Codec::Jpeg => jpeg::walk(bytes, see),
        Codec::Png => png::walk(bytes, see),
        Codec::Webp => webp::walk(bytes, see),
        Codec::Gif => gif::walk(bytes, see),
        Codec::Avif | Codec::Jxl => {
            see_boxed(bytes, codec, see);
            Ok(bytes.len())
        }
        Codec::Bmp | Codec::Raw => Ok(bytes.len()),
        other => Err(format!("metadata cannot be found in a {}", other.extension())),
    }
}

/// Shows EXIF and XMP that can only be read.
fn see_boxed(bytes: &[u8], codec: Codec, see: &mut dyn FnMut(&Block<'_>)) {
    let range = 0..bytes.len();
    for found in boxed_metadata(bytes, codec) {
        let (kind, content) = match &found {
            BoxedMetadata::Exif(tiff) => {
                (Metadata::EXIF, tiff.as_deref().map_or(Content::Opaque, Content::Exif))
            }
            BoxedMetadata::Xmp(packet) => {
                (Metadata::XMP, packet.as_deref().map_or(Content::Opaque, Content::Xmp))
            }
        };
        see(&Block { range: range.clone(), kind, content, frame: no_frame, bytes });
    }
}

/// A piece of a file that the image does not need.
struct Block<'a> {
    /// Range to remove, including framing.
    range: std::ops::Range<usize>,
    kind: Metadata,
    content: Content<'a>,
    /// Puts another EXIF into the same kind of block.
    frame: fn(&[u8], &[u8]) -> Vec<u8>,
    bytes: &'a [u8],
}

/// Content of a block, if known.
#[derive(Clone, Copy)]
enum Content<'a> {
    /// A TIFF structure.
    Exif(&'a [u8]),
    /// An XMP packet, or a part of one.
    Xmp(&'a [u8]),
    /// An EXIF or XMP in another wrapping, which is not parsed.
    Opaque,
    Other,
}

enum Verdict {
    Stays,
    Goes,
    /// The EXIF is replaced by this one.
    Becomes(Vec<u8>),
}

impl Block<'_> {
    fn framed(&self, tiff: &[u8]) -> Vec<u8> {
        (self.frame)(self.bytes, tiff)
    }
}

/// Placeholder for blocks that hold no EXIF.
fn no_frame(_block: &[u8], _tiff: &[u8]) -> Vec<u8> {
    Vec::new()
}

fn verdict(block: &Block<'_>, kinds: Metadata, turns: Turns, notes: &mut Notes) -> Verdict {
    let is_asked = kinds.contains(block.kind);
    let asks_gps = kinds.contains(Metadata::GPS);
    match block.content {
        Content::Exif(tiff) if is_asked => {
            *notes |= Notes::GPS_REMOVED.when(exif::has_position(tiff));
            only_orientation(tiff, turns, notes)
        }
        Content::Exif(tiff) if asks_gps => match exif::without_gps(tiff) {
            Ok(None) => Verdict::Stays,
            Ok(Some(rest)) => {
                *notes |= Notes::GPS_REMOVED.when(exif::has_position(tiff));
                Verdict::Becomes(rest)
            }
            Err(exif::Damaged) => {
                *notes |= Notes::EXIF_UNREADABLE;
                only_orientation(tiff, turns, notes)
            }
        },
        Content::Xmp(packet) => {
            let position = names_position(packet);
            let goes = is_asked || asks_gps && position;
            *notes |= Notes::GPS_REMOVED.when(goes && position);
            if goes { Verdict::Goes } else { Verdict::Stays }
        }
        Content::Opaque if asks_gps => Verdict::Goes,
        _ if is_asked => Verdict::Goes,
        _ => Verdict::Stays,
    }
}

/// Returns the remainder of an EXIF when all else is removed.
fn only_orientation(tiff: &[u8], turns: Turns, notes: &mut Notes) -> Verdict {
    let turn = exif_orientation(tiff).unwrap_or(1);
    // Data that does not begin as an EXIF continues another one, or is ignored by readers.
    if turn == 1 && turns == Turns::Turned || !starts_exif(tiff) {
        return Verdict::Goes;
    }
    *notes |= Notes::ORIENTATION_KEPT.when(turn > 1);
    let minimal = exif::minimal(turn);
    if minimal == tiff { Verdict::Stays } else { Verdict::Becomes(minimal) }
}

/// Returns true if an XMP packet may contain a position: the names of such properties begin with
/// `GPS`.
fn names_position(packet: &[u8]) -> bool {
    packet.windows(3).any(|word| word == b"GPS")
}
