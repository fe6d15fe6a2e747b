//! Opens files for reading.
use std::{fs::File, io, path::Path};

/// Opens a path that should be a file. Opening a pipe, which would normally block until a writer
/// appears, returns at once, so that the caller can refuse it.
#[cfg(unix)]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt};
    match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        // A regular file leased by another program, which gives way to a blocking open.
        Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => File::open(path),
        opened => opened,
    }
}

#[cfg(not(unix))]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}
