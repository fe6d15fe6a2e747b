//! What the bytes of an image file claim, without decoding them. (Under construction.)
#![forbid(unsafe_code)]
use fdconvert_core::{Codec, ImageHeader};

/// The codec that the first bytes belong to, by content alone.
#[must_use]
pub fn sniff(_bytes: &[u8]) -> Option<Codec> {
    None
}

/// Parses the header of an image file. The error says what is wrong, for `Error::sample`.
///
/// # Errors
/// When the bytes are of no known codec, or the header is damaged, or claims zero size.
pub fn probe(_bytes: &[u8]) -> Result<ImageHeader, String> {
    Err(String::new())
}

/// How an image file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As its codec demands, as far as can be told without decoding.
    Complete,
    /// A JPEG without its end marker: only decoding can tell whether pixels are missing.
    NoEndMarker,
}

/// Checks that a file is complete without decoding it: a JPEG ends in its end marker, every chunk
/// of a PNG is there with the right CRC, a BMP has all its rows.
///
/// # Errors
/// What is missing or damaged.
pub fn check_complete(_bytes: &[u8], _header: &ImageHeader) -> Result<Ending, String> {
    Ok(Ending::Complete)
}
