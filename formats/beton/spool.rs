//! The spool: a file next to the unfinished one, with entry points for the index block.
//!
//! The block comes after the data, and the entry points of a million images take most of a
//! gigabyte: too much to keep in memory until the data is complete. The journal has a checksum of
//! the entries of each page, so that a run continues with the entries of a killed one.
use crate::beton::journal::Record;
use bytes::Bytes;
use fdconvert_core::{Error, Result, option};
use fdconvert_storage::{Scratch, place::is_url};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_64;

#[derive(Debug)]
pub(crate) struct Spool {
    file: Scratch,
    end: u64,
}

impl Spool {
    /// Returns the path of the spool, next to the unfinished file `partial`.
    pub(crate) fn path(partial: &Path) -> PathBuf {
        let mut path = partial.to_path_buf().into_os_string();
        path.push(".checkpoints");
        path.into()
    }

    /// Refuses a file of this name that is no spool.
    ///
    /// # Errors
    /// `Usage`, `Io`.
    pub(crate) fn refuse_foreign(partial: &Path) -> Result<()> {
        let path = Self::path(partial);
        if is_url(&path) {
            return Ok(());
        }
        match fs::symlink_metadata(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(cause) => Err(Error::io("access", &path)(cause)),
            Ok(metadata) if metadata.is_file() && metadata.len() == 0 => Ok(()),
            Ok(_) => {
                let what = format!(
                    "{} exists and is of no run that this one can continue; move it away",
                    path.display()
                );
                Err(Error::usage("output", what).cure("to replace it", option::OVERWRITE.on()))
            }
        }
    }

    /// Opens the spool. `ours` is true if a file of this name would come from a run that can be
    /// resumed or replaced.
    ///
    /// # Errors
    /// `Usage` when a foreign file has its name, which stays unchanged; `Io`.
    pub(crate) fn open(partial: &Path, ours: bool) -> Result<Self> {
        if !ours {
            Self::refuse_foreign(partial)?;
        }
        let file = Scratch::open(&Self::path(partial))?;
        if ours {
            // From here on, a failed run removes it.
            file.set_len(file.existing())?;
        }
        Ok(Self { file, end: 0 })
    }

    /// Takes over the entries of a page of an interrupted run; returns whether they match the
    /// record.
    pub(crate) fn accept(&mut self, record: &Record) -> bool {
        let len = record.entry_lens.iter().fold(0, |sum: u64, &n| sum.saturating_add(n));
        self.keep(len, record.entries_xxh3)
    }

    /// Keeps the next `len` bytes if they exist and have this checksum; returns whether they do.
    fn keep(&mut self, len: u64, xxh3: u64) -> bool {
        let end = self.end.checked_add(len).filter(|&end| end <= self.file.existing());
        let (Some(end), Ok(n_bytes)) = (end, usize::try_from(len)) else { return false };
        let mut bytes = vec![0; n_bytes];
        let read = self.file.read_exact_at(&mut bytes, self.end);
        let same = read.is_ok() && xxh3_64(&bytes) == xxh3;
        if same {
            self.end = end;
        }
        same
    }

    /// Truncates the file after the accepted entries.
    pub(crate) fn cut(&self) -> Result<()> {
        self.file.set_len(self.end)
    }

    pub(crate) fn append(&mut self, entries: &[u8]) -> Result<()> {
        self.file.write_all_at(entries, self.end)?;
        self.end += entries.len() as u64;
        Ok(())
    }

    /// Maps all entries.
    pub(crate) fn entries(&self) -> Result<Bytes> {
        self.file.map()
    }

    /// Keeps the file for the next run.
    pub(crate) fn leave(self) {
        self.file.leave();
    }
}
