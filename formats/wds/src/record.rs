//! Done-records: which shards are complete, and of which run they are.
use crate::{format::FORMAT, layout};
use fdconvert_core::{Error, Result, Skipped};
use fdconvert_storage::{Scratch, partial_path, read_file};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

const VERSION: u64 = 1;
const MAX_BYTES: u64 = 1 << 30;

/// `.fdconvert/STEM.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// First, so that an unfinished record tells whose it is: see [`Pending`].
    pub(crate) fingerprint: String,
    pub(crate) version: u64,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    /// Of the whole shard.
    pub(crate) xxh3: String,
    pub(crate) skipped: Vec<Skipped>,
}

impl Record {
    pub(crate) fn new(fingerprint: [u8; 16], samples: u64, bytes: u64, xxh3: u64) -> Self {
        let (fingerprint, xxh3) = (hex(fingerprint), format!("{xxh3:016x}"));
        Self { fingerprint, version: VERSION, samples, bytes, xxh3, skipped: Vec::new() }
    }

    /// The record at `path`, if there is one.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        let bytes = match read_file(path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let damaged = |cause: serde_json::Error| Error::corrupt(FORMAT, path, 0, cause.to_string());
        let record: Self = serde_json::from_slice(&bytes).map_err(damaged)?;
        if !bytes.ends_with(b"\n") {
            return Err(Error::corrupt(FORMAT, path, bytes.len() as u64, "it is cut short"));
        }
        if record.version != VERSION {
            let (path, found) = (path.to_path_buf(), record.version);
            return Err(Error::Version { format: FORMAT, path, found, supported: "1" });
        }
        Ok(Some(record))
    }
}

/// A fingerprint as records and manifests have it.
#[must_use]
pub fn hex(fingerprint: [u8; 16]) -> String {
    fingerprint.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A record whose shard is being written. It already says of which run: what a killed process
/// has left of a shard belongs to whoever has the same fingerprint.
#[derive(Debug)]
pub struct Pending {
    scratch: Scratch,
    path: PathBuf,
    mark: Vec<u8>,
}

impl Pending {
    /// Takes the shard for this run; the second value tells whether an interrupted run of the same
    /// fingerprint had it before.
    ///
    /// # Errors
    /// `Usage` when the unfinished record is of another run (unless `overwrite`) or held by one
    /// that runs, `Io`.
    pub fn open(
        out: &Path,
        stem: &str,
        fingerprint: [u8; 16],
        overwrite: bool,
    ) -> Result<(Self, bool)> {
        let path = layout::record_path(out, stem);
        let scratch = Scratch::open(&partial_path(&path))?;
        let mark = format!("{{\"fingerprint\":\"{}\"", hex(fingerprint)).into_bytes();
        let mut found = vec![0; mark.len()];
        // Of a run that was killed before its mark was whole nothing else is there.
        let marked = scratch.existing() >= mark.len() as u64;
        if marked && let Err(error) = scratch.read_exact_at(&mut found, 0) {
            scratch.leave();
            return Err(error);
        }
        if marked && found != mark && !overwrite {
            let what = format!(
                "{} is the unfinished output of a run with another source or other options; \
                 finish that run, or replace it with --overwrite",
                out.join(stem).display()
            );
            scratch.leave();
            return Err(Error::usage("output", what));
        }
        let resumed = marked && found == mark;
        Ok((Self { scratch, path, mark }, resumed))
    }

    /// Says durably enough whose shard it is: after this, what is there may be replaced.
    ///
    /// # Errors
    /// `Io`.
    pub fn mark(&self) -> Result<()> {
        self.scratch.write_all_at(&self.mark, 0)?;
        self.scratch.set_len(self.mark.len() as u64)
    }

    /// Commits the record: from now on the shard is complete.
    pub(crate) fn commit(self, record: &Record) -> Result<()> {
        // Strings and numbers: nothing that JSON cannot hold.
        let mut text = serde_json::to_vec(record).unwrap_or_default();
        text.push(b'\n');
        self.commit_text(&text)
    }

    /// Commits a record of this text, which is JSON and begins with the fingerprint.
    ///
    /// # Errors
    /// `Io`.
    pub fn commit_text(self, text: &[u8]) -> Result<()> {
        debug_assert!(text.starts_with(&self.mark));
        self.scratch.write_all_at(text, 0)?;
        self.scratch.set_len(text.len() as u64)?;
        self.scratch.commit(&self.path)
    }
}

/// The folders of a dataset. Those that this run has made and that are still empty go again with
/// it.
#[derive(Debug)]
pub struct Folders {
    out: PathBuf,
    made_out: bool,
}

impl Folders {
    /// The dataset's folder and that of its records; the folder above has to be there.
    ///
    /// # Errors
    /// `Usage` when there is something else of that name, `Io`.
    pub fn make(out: &Path) -> Result<Self> {
        let made_out = make(out)?;
        let folders = Self { out: out.to_path_buf(), made_out };
        make(&out.join(layout::RECORDS))?;
        Ok(folders)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        // Only empty folders can be removed.
        let _ = fs::remove_dir(self.out.join(layout::RECORDS));
        if self.made_out {
            let _ = fs::remove_dir(&self.out);
        }
    }
}

fn make(folder: &Path) -> Result<bool> {
    match fs::create_dir(folder) {
        Ok(()) => {
            fdconvert_storage::sync_folder_of(folder)?;
            Ok(true)
        }
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {
            if folder.is_dir() {
                return Ok(false);
            }
            let what = format!("{} exists and is no folder; move it away", folder.display());
            Err(Error::usage("output", what))
        }
        Err(cause) => Err(Error::io("create the folder", folder)(cause)),
    }
}
