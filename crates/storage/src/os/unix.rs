pub use std::os::unix::fs::{FileExt, symlink};

use super::Identity;
use std::{
    borrow::Cow,
    ffi::OsStr,
    fs::{self, File, Metadata},
    io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

/// Returns the identity of an open file of which this is known.
///
/// # Errors
/// The system's error.
pub fn identity(_file: &File, found: &Metadata) -> io::Result<Identity> {
    Ok((found.dev(), found.ino()))
}

/// Returns the identity of what has a name, which may be a link.
///
/// # Errors
/// The system's error.
pub fn identity_at(path: &Path) -> io::Result<Identity> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Returns the identity of what a path leads to.
///
/// # Errors
/// The system's error.
pub fn identity_behind(path: &Path) -> io::Result<Identity> {
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Returns the time of the last change of a file's bytes: seconds since 1970, and nanoseconds.
#[must_use]
pub fn modified(found: &Metadata) -> (i64, i64) {
    (found.mtime(), found.mtime_nsec())
}

/// Returns the time of the last change of a file or of what is known of it.
#[must_use]
pub fn changed(found: &Metadata) -> (i64, i64) {
    (found.ctime(), found.ctime_nsec())
}

/// Returns the path of such a name.
#[must_use]
pub fn path_of(name: &[u8]) -> Cow<'_, Path> {
    Path::new(OsStr::from_bytes(name)).into()
}

#[cfg(feature = "write")]
pub(crate) use writing::*;

#[cfg(feature = "write")]
mod writing {
    use super::*;
    use rustix::{
        fs::{CWD, OFlags, RenameFlags, renameat_with},
        io::Errno,
    };
    use std::{
        fs::{FileType, OpenOptions},
        os::unix::fs::{FileTypeExt, OpenOptionsExt},
    };

    pub(crate) fn n_names(_file: &File, found: &Metadata) -> io::Result<u64> {
        Ok(found.nlink())
    }

    /// Opens no link.
    pub(crate) fn not_following(options: &mut OpenOptions) -> &mut OpenOptions {
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
    }

    pub(crate) fn is_pipe(kind: FileType) -> bool {
        kind.is_fifo()
    }

    pub(crate) fn is_socket(kind: FileType) -> bool {
        kind.is_socket()
    }

    /// Renames to an unused name; `None` where the file system cannot check that as well.
    pub(crate) fn rename_new(from: &Path, to: &Path) -> Option<io::Result<()>> {
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => None,
            renamed => Some(renamed.map_err(io::Error::from)),
        }
    }

    /// Returns true if it says that the file system has no locks: NFS without its daemon returns
    /// ENOLCK.
    pub(crate) fn is_not_offered(cause: &io::Error) -> bool {
        let errno = Errno::from_io_error(cause);
        cause.kind() == io::ErrorKind::Unsupported
            || matches!(errno, Some(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL))
    }

    /// An open folder, whose names can be made durable.
    pub(crate) struct Folder(File);

    impl Folder {
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            File::open(path).map(Self)
        }

        pub(crate) fn sync(&self) -> io::Result<()> {
            self.0.sync_all()
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_locks_that_are_not_offered_are_done_without() {
            for errno in [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS] {
                assert!(is_not_offered(&errno.into()), "{errno}");
            }
            for errno in [Errno::IO, Errno::WOULDBLOCK, Errno::STALE] {
                assert!(!is_not_offered(&errno.into()), "{errno}");
            }
        }
    }
}
