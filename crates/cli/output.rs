//! How numbers look in text, and whether anybody still reads it.
use fdconvert_core::Error;
use std::io;

/// Whether the reader of our output has gone away, which is no failure.
pub(crate) fn is_broken_pipe(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}

/// `12.3 MiB`, or `512 B`.
pub(crate) fn size(bytes: u64) -> String {
    indicatif::HumanBytes(bytes).to_string()
}

/// `1,281,167`.
pub(crate) fn count(n: u64) -> String {
    indicatif::HumanCount(n).to_string()
}
