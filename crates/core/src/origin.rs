use std::path::PathBuf;

/// The file whose bytes the bytes of an image are, all of them, and what it was when it was read.
///
/// An output on the same file system can share the blocks of the file instead of holding a copy, as
/// long as the file is still the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Path of the file.
    pub path: PathBuf,
    /// State that the system reported before the first byte was read.
    pub state: FileState,
}

/// State of a file as the system reports it: it differs once the file is another or was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileState {
    /// The device it lies on.
    pub device: u64,
    /// Its number there.
    pub number: u64,
    /// Its length.
    pub len: u64,
    /// When its bytes were changed last: seconds and nanoseconds.
    pub modified: (i64, i64),
    /// The same, of its bytes or of anything else about it. Programs cannot set this one.
    pub changed: (i64, i64),
}
