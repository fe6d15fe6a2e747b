//! Reads past the page cache, and reports when that is impossible.
//!
//! Data that is read once per epoch does not belong into the page cache: it evicts useful data, and
//! its own cache hits are a matter of chance. O_DIRECT reads leave the cache alone and cost less
//! CPU time. They have to be aligned to blocks, so an image is read with its surrounding blocks and
//! returned as a slice of them.

mod aligned;
mod mounts;

use crate::os::FileExt as _;
use aligned::open_direct;
pub use aligned::{AlignedBuffer, DIRECT_ALIGNMENT};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use mounts::memory_file_system;
use std::{
    fs::File,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// The same number on Linux and the BSDs.
const EINVAL: i32 = 22;

/// A file that is read past the page cache if the file system supports it. Many threads may read it
/// at the same time.
#[derive(Debug)]
pub struct DirectFile {
    file: File,
    path: PathBuf,
    len: u64,
    cached_because: Option<String>,
}

impl DirectFile {
    /// Opens for reading with O_DIRECT, and verifies with one read that it works: some file systems
    /// accept the flag and refuse the read. In that case the file is read normally, and
    /// [`cached_because`](Self::cached_because) returns the reason.
    ///
    /// # Errors
    /// `Io` when the file cannot be opened or is not a regular file.
    pub fn open(path: &Path) -> Result<Self> {
        crate::fault::on_read(path, 0).map_err(Error::io("open", path))?;
        let plain = || crate::opening::open(path).map_err(Error::io("open", path));
        let (file, refused) = match open_direct(path) {
            Ok(file) => (file, None),
            Err(None) => (plain()?, Some("this system has no O_DIRECT".to_string())),
            Err(Some(error)) if error.raw_os_error() == Some(EINVAL) => {
                (plain()?, Some(format!("the file system refuses O_DIRECT: {error}")))
            }
            Err(Some(error)) => return Err(Error::io("open", path)(error)),
        };
        let metadata = file.metadata().map_err(Error::io("access", path))?;
        if !metadata.is_file() {
            let cause = io::Error::other("it is not a regular file");
            return Err(Error::io("read", path)(cause));
        }
        let in_memory = memory_file_system(path)
            .map(|name| format!("{name} keeps files in memory, so O_DIRECT changes nothing"));
        let cached_because = in_memory.or(refused);
        Ok(Self { file, path: path.to_path_buf(), len: metadata.len(), cached_because })
    }

    /// Reads exactly `len` bytes from `offset` on. The result is a slice of whole blocks, which
    /// stay in memory as long as it does.
    ///
    /// # Errors
    /// `Io`, with file and offset, when the range is out of bounds or the system fails.
    pub fn read(&self, offset: u64, len: u64) -> Result<Bytes> {
        let n_bytes = offset
            .checked_add(len)
            .filter(|end| *end <= self.len)
            .and_then(|_| usize::try_from(len).ok());
        let Some(n_bytes) = n_bytes else {
            let what = format!("the file has {} bytes", self.len);
            return Err(self.error(offset, len, io::Error::new(ErrorKind::UnexpectedEof, what)));
        };
        if n_bytes == 0 {
            return Ok(Bytes::new());
        }
        crate::fault::on_read(&self.path, len).map_err(|cause| self.error(offset, len, cause))?;
        let before = offset % DIRECT_ALIGNMENT as u64;
        // Less than the alignment.
        let before = before as usize;
        let mut buffer = AlignedBuffer::new(before.saturating_add(n_bytes));
        let start = offset - before as u64;
        let needed = before + n_bytes;
        let filled = self
            .fill(&mut buffer, start, needed)
            .map_err(|cause| self.error(offset, len, cause))?;
        if filled < needed {
            // The file was longer when it was opened.
            let what = format!("the file ends at byte {}", start + filled as u64);
            return Err(self.error(offset, len, io::Error::new(ErrorKind::UnexpectedEof, what)));
        }
        Ok(buffer.into_bytes(before, n_bytes))
    }

    /// Reads into the buffer from `offset` on, a multiple of [`DIRECT_ALIGNMENT`]; returns the
    /// number of bytes read: less than the buffer holds at the end of the file.
    ///
    /// # Errors
    /// `Io`, with file and offset.
    pub fn read_blocks(&self, buffer: &mut AlignedBuffer, offset: u64) -> Result<usize> {
        let room = buffer.bytes_mut().len();
        crate::fault::on_read(&self.path, room as u64)
            .and_then(|()| self.fill(buffer, offset, room))
            .map_err(|cause| self.error(offset, room as u64, cause))
    }

    /// Returns the size of the file when it was opened.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if the file was empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns why reads come from the page cache or from memory, if they do.
    #[must_use]
    pub fn cached_because(&self) -> Option<&str> {
        self.cached_because.as_deref()
    }

    /// Fills at least `needed` bytes of the buffer, or up to the end of the file.
    fn fill(&self, buffer: &mut AlignedBuffer, offset: u64, needed: usize) -> io::Result<usize> {
        let mut filled = 0;
        while filled < needed {
            // A short read may have ended within a block; the next one must start at a block, so
            // that block is read again.
            let from = filled - filled % DIRECT_ALIGNMENT;
            let room = buffer.bytes_mut().get_mut(from..).unwrap_or_default();
            match self.file.read_at(room, offset.saturating_add(from as u64)) {
                Ok(n) if from + n <= filled => break,
                Ok(n) => filled = from + n,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(cause),
            }
        }
        Ok(filled)
    }

    /// An error with the system's error number, from which callers decide whether to retry.
    fn error(&self, offset: u64, len: u64, cause: io::Error) -> Error {
        match cause.raw_os_error() {
            Some(_) => {
                Error::io("read", format!("{} at byte {offset}", self.path.display()))(cause)
            }
            None => {
                let what = format!("{len} bytes at byte {offset}: {cause}");
                Error::io("read", &self.path)(io::Error::new(cause.kind(), what))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{self, Operation};

    const LEN: usize = 3 * DIRECT_ALIGNMENT + 17;

    fn content() -> Vec<u8> {
        (0..LEN).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    fn check(folder: &Path) {
        let path = folder.join("a");
        let content = content();
        std::fs::write(&path, &content).unwrap();
        let file = DirectFile::open(&path).unwrap();
        assert_eq!((file.len(), file.is_empty()), (LEN as u64, false));
        let block = DIRECT_ALIGNMENT;
        let places = [0, 1, 511, 512, block - 1, block, block + 1, 2 * block, LEN - 1, LEN];
        for start in places {
            for end in places.into_iter().filter(|end| *end >= start) {
                let bytes = file.read(start as u64, (end - start) as u64).unwrap();
                assert_eq!(bytes, content[start..end], "{start}..{end}");
            }
        }
        for (offset, len) in [(0, LEN + 1), (LEN, 1), (LEN + 1, 0), (block, 3 * block)] {
            let said = file.read(offset as u64, len as u64).unwrap_err();
            assert!(said.chain().contains(&format!("at byte {offset}")), "{}", said.chain());
            assert!(said.chain().contains(&path.display().to_string()), "{}", said.chain());
        }
        assert!(file.read(u64::MAX, u64::MAX).is_err());
        // Truncated while open: an error, where a map would kill the process.
        File::options().write(true).open(&path).unwrap().set_len(5000).unwrap();
        assert_eq!(file.read(4990, 10).unwrap(), content[4990..5000]);
        let said = file.read(4990, 11).unwrap_err().chain();
        assert!(said.contains("ends at byte 5000"), "{said}");
    }

    #[test]
    fn any_range_of_a_file_is_read() {
        check(tempfile::tempdir().unwrap().path());
    }

    #[test]
    fn files_in_memory_are_read_and_said_to_be() {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        if !mounts.contains(" /dev/shm ") {
            return;
        }
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        check(folder.path());
        let file = DirectFile::open(&folder.path().join("a")).unwrap();
        let why = file.cached_because().unwrap();
        assert!(why.contains("tmpfs") || why.contains("O_DIRECT"), "{why}");
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(DirectFile::open(folder.path()).is_err());
        assert!(DirectFile::open(&folder.path().join("missing")).is_err());
        let empty = folder.path().join("empty");
        std::fs::write(&empty, b"").unwrap();
        let empty = DirectFile::open(&empty).unwrap();
        assert!(empty.is_empty() && empty.read(0, 0).unwrap().is_empty());
        assert!(empty.read(0, 1).is_err());
    }

    #[test]
    fn failing_reads_are_errors_that_keep_their_kind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, content()).unwrap();
        let file = DirectFile::open(&path).unwrap();
        let _armed = fault::arm(folder.path(), Operation::Read, 10, ErrorKind::TimedOut);
        assert_eq!(file.read(3, 10).unwrap(), content()[3..13]);
        let Err(Error::Io { source, .. }) = file.read(3, 10) else { panic!("no error") };
        assert_eq!(source.kind(), ErrorKind::TimedOut);
    }
}
