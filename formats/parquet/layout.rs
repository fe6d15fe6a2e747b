//! Names and numbers of the layout, and fdconvert's note in a file's metadata.
use fdconvert_core::{bytes::u32_at, objects::Category};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// Name of the format, and extension of its files.
pub(crate) const FORMAT: &str = "parquet";
/// Start and end of every file.
pub(crate) const MAGIC: [u8; 4] = *b"PAR1";
/// Start of files with an encrypted footer.
pub(crate) const ENCRYPTED: [u8; 4] = *b"PARE";
/// Bytes of the footer's length and the magic.
pub(crate) const TAIL_LEN: u64 = 8;
/// Start of the writer's name in files of fdconvert.
pub(crate) const CREATED_BY: &str = "fdconvert version ";
/// Key of fdconvert's note.
pub(crate) const KEY: &str = "fdconvert";
/// Version of the note.
pub(crate) const VERSION: u64 = 1;

/// Samples per row group, with images.
pub(crate) const GROUP_IMAGES: usize = 100;
/// Samples per row group, without images.
pub(crate) const GROUP_ROWS: usize = 10_000;
/// A row group ends with the sample that reaches this many bytes.
pub(crate) const GROUP_BYTES: u64 = 32 << 20;
/// A page of images ends with the image that reaches this many bytes.
pub(crate) const IMAGE_PAGE_BYTES: usize = 1 << 10;
/// Rows per page of other columns.
pub(crate) const PAGE_ROWS: usize = 256;
/// What an image takes besides its bytes, about: its path, its page, and its place in the indexes.
pub(crate) const IMAGE_FRAMING_BYTES: u64 = 96;
/// Page sizes are stored in 32 bits, and include levels and lengths.
pub(crate) const MAX_VALUE_BYTES: u64 = (1 << 31) - (1 << 16);

/// fdconvert's note about a file that it wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) version: u64,
    pub(crate) fingerprint: String,
    /// Text columns that contain documents.
    pub(crate) json: Vec<String>,
    /// All categories of the objects in a column.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) categories: BTreeMap<String, Arc<[Category]>>,
    pub(crate) index: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// Parses the length of the footer from the last bytes of a file.
pub(crate) fn footer_len(tail: &[u8]) -> Option<u64> {
    (tail.get(4..8)? == MAGIC).then(|| u32_at(tail, 0).map(u64::from))?
}
