//! Names and numbers of the layout, and what this tool says of a file in its metadata.
use fdconvert_core::bytes::u32_at;
use serde::{Deserialize, Serialize};

/// Name of the format, and the extension of its files.
pub(crate) const FORMAT: &str = "parquet";
/// At the start and at the end of every file.
pub(crate) const MAGIC: [u8; 4] = *b"PAR1";
/// At the start of files whose footer is encrypted.
pub(crate) const ENCRYPTED: [u8; 4] = *b"PARE";
/// Length of the footer and magic.
pub(crate) const TAIL_LEN: u64 = 8;
/// Start of the writer's name in files of this tool.
pub(crate) const CREATED_BY: &str = "fdconvert version ";
/// The key of what this tool says.
pub(crate) const KEY: &str = "fdconvert";
/// Version of what it says.
pub(crate) const VERSION: u64 = 1;

/// Samples of a row group that has images.
pub(crate) const GROUP_IMAGES: usize = 100;
/// Samples of one that has none.
pub(crate) const GROUP_ROWS: usize = 10_000;
/// A row group ends with the sample that reaches so many bytes.
pub(crate) const GROUP_BYTES: u64 = 32 << 20;
/// A page of images ends with the one that reaches so many bytes.
pub(crate) const IMAGE_PAGE_BYTES: usize = 1 << 10;
/// Rows of a page of other columns.
pub(crate) const PAGE_ROWS: usize = 256;
/// Sizes of pages are stored in 32 bits, and a page has levels and lengths as well.
pub(crate) const MAX_VALUE_BYTES: u64 = (1 << 31) - (1 << 16);

/// Note of this tool about a file that it has written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) version: u64,
    pub(crate) fingerprint: String,
    /// Columns of texts that are documents.
    pub(crate) json: Vec<String>,
    pub(crate) index: Place,
}

/// Place of bytes in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// Length of the footer that the last bytes of a file tell.
pub(crate) fn footer_len(tail: &[u8]) -> Option<u64> {
    (tail.get(4..8)? == MAGIC).then(|| u32_at(tail, 0).map(u64::from))?
}
