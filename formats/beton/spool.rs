//! Entry points on their way into the index block: a file beside the unfinished one.
//!
//! They stand in the block, behind the data, and of a million images they are most of a gigabyte:
//! too much to keep in memory until the data is complete. The journal has a checksum of what each
//! page added, so that a killed run continues with the entries that are there.
use crate::beton::journal::Record;
use bytes::Bytes;
use fdconvert_core::{Error, Result, option};
use fdconvert_storage::{Scratch, place::is_url};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_64;

/// The open file.
#[derive(Debug)]
pub(crate) struct Spool {
    file: Scratch,
    end: u64,
}

impl Spool {
    /// Returns where it lies, beside the unfinished file `partial`.
    pub(crate) fn path(partial: &Path) -> PathBuf {
        let mut path = partial.to_path_buf().into_os_string();
        path.push(".checkpoints");
        path.into()
    }

    /// Refuses another file of its name.
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

    /// Opens it. `ours` tells whether what may be there was left by a run that could be continued
    /// or replaced.
    ///
    /// # Errors
    /// `Usage` when another file has its name, which is then left as it was; `Io`.
    pub(crate) fn open(partial: &Path, ours: bool) -> Result<Self> {
        if !ours {
            Self::refuse_foreign(partial)?;
        }
        let file = Scratch::open(&Self::path(partial))?;
        if ours {
            // From here on it goes with the run.
            file.set_len(file.existing())?;
        }
        Ok(Self { file, end: 0 })
    }

    /// Takes over the entries of a page of an interrupted run; returns whether they are those that the
    /// record speaks of.
    pub(crate) fn accept(&mut self, record: &Record) -> bool {
        let len = record.entry_lens.iter().fold(0, |sum: u64, &n| sum.saturating_add(n));
        self.keep(len, record.entries_xxh3)
    }

    /// Returns whether the next `len` bytes are there and have this checksum; if so, they are kept.
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

    /// Forgets what was not accepted.
    pub(crate) fn cut(&self) -> Result<()> {
        self.file.set_len(self.end)
    }

    /// Appends entries.
    pub(crate) fn append(&mut self, entries: &[u8]) -> Result<()> {
        self.file.write_all_at(entries, self.end)?;
        self.end += entries.len() as u64;
        Ok(())
    }

    /// All entries, as a map of the file.
    pub(crate) fn entries(&self) -> Result<Bytes> {
        self.file.map()
    }

    /// Leaves the file for another run.
    pub(crate) fn leave(self) {
        self.file.leave();
    }
}
