//! Files that are opened to be read.
use std::{fs::File, io, path::Path};

/// Opens what should be a file. A pipe in its place, which would be waited for until somebody writes
/// to it, is opened at once, so that it can be refused.
#[cfg(target_os = "linux")]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt};
    match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        // A regular file that another program has leased: it gives way to those that wait.
        Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => File::open(path),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}
