pub use std::os::windows::fs::symlink_file as symlink;

use super::Identity;
use std::{
    borrow::Cow,
    fs::{File, Metadata, OpenOptions},
    io,
    os::windows::fs::{FileExt as _, MetadataExt, OpenOptionsExt},
    path::Path,
};
use winapi_util::file::information;

/// Opens folders as well (`FILE_FLAG_BACKUP_SEMANTICS`).
const ALSO_FOLDERS: u32 = 0x0200_0000;
/// Opens a link itself (`FILE_FLAG_OPEN_REPARSE_POINT`).
const LINK_ITSELF: u32 = 0x0020_0000;

/// Reads and writes at places of a file, as the trait of that name does on Unix. The file's own
/// position moves, too.
pub trait FileExt {
    /// Reads bytes at `offset`; returns their number.
    ///
    /// # Errors
    /// The system's error.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Fills the buffer from `offset` on.
    ///
    /// # Errors
    /// The system's error; `UnexpectedEof` when the file ends early.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all bytes at `offset`.
    ///
    /// # Errors
    /// The system's error.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.seek_read(buffer, offset)
    }

    fn read_exact_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.seek_read(buffer, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => {
                    buffer = buffer.get_mut(n..).unwrap_or_default();
                    offset += n as u64;
                }
            }
        }
        Ok(())
    }

    fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.seek_write(bytes, offset)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                n => {
                    bytes = bytes.get(n..).unwrap_or_default();
                    offset += n as u64;
                }
            }
        }
        Ok(())
    }
}

fn identity_of(file: &File) -> io::Result<Identity> {
    let found = information(file)?;
    Ok((found.volume_serial_number(), found.file_index()))
}

/// Returns the identity of an open file of which this is known.
///
/// # Errors
/// The system's error.
pub fn identity(file: &File, _found: &Metadata) -> io::Result<Identity> {
    identity_of(file)
}

/// Returns the identity of what has a name, which may be a link.
///
/// # Errors
/// The system's error.
pub fn identity_at(path: &Path) -> io::Result<Identity> {
    let flags = ALSO_FOLDERS | LINK_ITSELF;
    identity_of(&OpenOptions::new().access_mode(0).custom_flags(flags).open(path)?)
}

/// Returns the identity of what a path leads to.
///
/// # Errors
/// The system's error.
pub fn identity_behind(path: &Path) -> io::Result<Identity> {
    identity_of(&OpenOptions::new().access_mode(0).custom_flags(ALSO_FOLDERS).open(path)?)
}

/// Returns the time of the last change of a file's bytes: seconds since 1601, and nanoseconds.
#[must_use]
pub fn modified(found: &Metadata) -> (i64, i64) {
    const PER_SECOND: u64 = 10_000_000;
    let ticks = found.last_write_time();
    ((ticks / PER_SECOND).cast_signed(), (ticks % PER_SECOND * 100).cast_signed())
}

/// Returns the time of the last change of a file's bytes: that of what is known of it is not kept.
#[must_use]
pub fn changed(found: &Metadata) -> (i64, i64) {
    modified(found)
}

/// Returns the path of such a name. Bytes that are not UTF-8 are replaced: no file has them.
#[must_use]
pub fn path_of(name: &[u8]) -> Cow<'_, Path> {
    match String::from_utf8_lossy(name) {
        Cow::Borrowed(name) => Path::new(name).into(),
        Cow::Owned(name) => Cow::Owned(name.into()),
    }
}

#[cfg(feature = "write")]
pub(crate) use writing::*;

#[cfg(feature = "write")]
mod writing {
    use super::*;
    use std::fs::{self, FileType};

    pub(crate) fn n_names(file: &File, _found: &Metadata) -> io::Result<u64> {
        Ok(information(file)?.number_of_links())
    }

    /// Opens a link itself, which is no regular file.
    pub(crate) fn not_following(options: &mut OpenOptions) -> &mut OpenOptions {
        options.custom_flags(LINK_ITSELF)
    }

    pub(crate) fn is_pipe(_kind: FileType) -> bool {
        false
    }

    pub(crate) fn is_socket(_kind: FileType) -> bool {
        false
    }

    /// The standard library has no rename that fails for a used name.
    pub(crate) fn rename_new(_from: &Path, _to: &Path) -> Option<io::Result<()>> {
        None
    }

    /// Returns true if it says that the file system has no locks.
    pub(crate) fn is_not_offered(cause: &io::Error) -> bool {
        cause.kind() == io::ErrorKind::Unsupported
    }

    /// A folder. Windows syncs none by itself: NTFS keeps a journal of names.
    pub(crate) struct Folder;

    impl Folder {
        pub(crate) fn open(path: &Path) -> io::Result<Self> {
            match fs::metadata(path)?.is_dir() {
                true => Ok(Self),
                false => Err(io::ErrorKind::NotADirectory.into()),
            }
        }

        pub(crate) fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }
}
