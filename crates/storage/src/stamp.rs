//! The times of a source, stored beside the records while a dataset of shards is unfinished.
//!
//! `.fdconvert/source.stamp` is one line: `fdconvert source 1`, the fingerprint of the run, and its
//! stamp, both as 32 hexadecimal digits. It is removed when the dataset is complete, so that no
//! time reaches a finished output. If it is missing or incomplete, times are not compared.
use crate::{
    fingerprint_hex,
    place::{self, is_url},
    read_file, read_if_there,
};
use bytes::Bytes;
use fdconvert_core::{Error, Result, option};
use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};

pub(crate) const NAME: &str = "source.stamp";
const START: &str = "fdconvert source 1 ";
const MAX_BYTES: u64 = 1 << 10;

fn line(fingerprint: [u8; 16], stamp: [u8; 16]) -> String {
    format!("{START}{} {}\n", fingerprint_hex(fingerprint), fingerprint_hex(stamp))
}

/// Stamp of the source's times at the start of a dataset.
#[derive(Debug, Clone)]
pub struct SourceStamp {
    path: PathBuf,
    fingerprint: [u8; 16],
    line: String,
}

impl SourceStamp {
    /// Creates the stamp of a run with its records in the folder `records`.
    #[must_use]
    pub fn new(records: &Path, fingerprint: [u8; 16], stamp: [u8; 16]) -> Self {
        Self { path: records.join(NAME), fingerprint, line: line(fingerprint, stamp) }
    }

    /// Refuses to resume when files of the source have changed since the dataset was started.
    ///
    /// # Errors
    /// `Usage` for changed files, `Io`.
    pub fn check(&self) -> Result<()> {
        let Some(found) = self.found()? else { return Ok(()) };
        if differs(&found, self.line.as_bytes(), self.fingerprint) {
            return Err(written_since(&self.path));
        }
        self.refuse_other_run(&found)
    }

    /// In a store, which has no locks, the times of another run show that it is writing there, or
    /// was stopped: of two runs that start together, one continues.
    fn refuse_other_run(&self, found: &[u8]) -> Result<()> {
        let ours = format!("{START}{} ", fingerprint_hex(self.fingerprint));
        if !is_url(&self.path) || found.starts_with(ours.as_bytes()) || !is_ours(found) {
            return Ok(());
        }
        let what = format!(
            "{} is of an unfinished run with another source or other options; finish that run",
            self.path.display()
        );
        Err(Error::usage("output", what).cure("to replace it", option::OVERWRITE.on()))
    }

    /// Returns true if exactly these times are stored.
    ///
    /// # Errors
    /// `Io`.
    pub fn is_left(&self) -> Result<bool> {
        Ok(self.found()?.is_some_and(|found| found == self.line.as_bytes()))
    }

    fn found(&self) -> Result<Option<Bytes>> {
        match read_file(&self.path, MAX_BYTES) {
            Err(Error::Io { source, .. })
                if matches!(
                    source.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            found => found.map(Some),
        }
    }

    /// Removes the times written by this value.
    pub(crate) fn withdraw(&self) {
        remove_alone_at(&self.path);
    }

    /// Writes the times for runs that resume here; returns whether they were new.
    ///
    /// # Errors
    /// `Usage` when something else has that name, `Io`.
    pub fn leave(&self) -> Result<bool> {
        match read_file(&self.path, MAX_BYTES) {
            Ok(found) if found == self.line.as_bytes() => return Ok(false),
            Ok(found) if is_ours(&found) => {
                place::remove(&self.path)?;
            }
            Ok(_) => {
                let what = format!(
                    "{} exists and was not made by fdconvert; move it away",
                    self.path.display()
                );
                return Err(Error::usage("output", what));
            }
            Err(_) => {}
        }
        let is_new = place::put_new(&self.path, self.line.as_bytes())
            .inspect_err(|_| remove_alone_at(&self.path))?;
        if !is_new && let Some(found) = self.found()? {
            // Another part of the same plan was faster, or another run. If the times are gone, the
            // dataset is complete by now, and its manifest decides.
            self.refuse_other_run(&found)?;
        }
        Ok(is_new)
    }
}

/// Returns true if a line has other times of the same run.
fn differs(found: &[u8], line: &[u8], fingerprint: [u8; 16]) -> bool {
    let ours = format!("{START}{} ", fingerprint_hex(fingerprint));
    let is_whole = found.len() == line.len() && found.ends_with(b"\n");
    is_whole && found.starts_with(ours.as_bytes()) && found != line
}

fn written_since(path: &Path) -> Error {
    let what = format!(
        "files of the source were written to since this output was begun (by their \
         modification times, see {}); remove that file if nothing but the times has changed",
        path.display()
    );
    Error::usage("source", what).cure("to start again", option::OVERWRITE.on())
}

/// Returns true if it is a complete line, or the remains of one after a kill or a power loss.
fn is_ours(found: &[u8]) -> bool {
    let start = START.as_bytes();
    let n = found.len().min(start.len());
    found.get(..n) == start.get(..n) || found.iter().all(|byte| *byte == 0)
}

/// Removes the times of a complete dataset, and its folder of records if it is empty.
///
/// # Errors
/// `Io`.
pub fn remove_source_stamp(records: &Path) -> Result<()> {
    use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound};

    let path = records.join(NAME);
    if is_url(&path) {
        return match read_if_there(&path, MAX_BYTES)? {
            Some(found) if is_ours(&found) => place::remove(&path),
            _ => Ok(()),
        };
    }
    match fs::read(&path) {
        Ok(found) if is_ours(&found) => {
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
            let _ = fs::remove_dir(records);
        }
        Ok(_) => {}
        // A folder of that name is foreign.
        Err(cause) if matches!(cause.kind(), NotFound | NotADirectory | IsADirectory) => {}
        Err(cause) => return Err(Error::io("read", &path)(cause)),
    }
    Ok(())
}

/// Removes the times if there is no record that they could belong to.
pub(crate) fn remove_alone(records: &Path) {
    let Ok(entries) = fs::read_dir(records) else { return };
    let mut names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let first = names.next();
    let is_alone = matches!(&first, Some(Ok(name)) if name == OsStr::new(NAME));
    if is_alone && names.next().is_none() {
        remove_alone_at(&records.join(NAME));
    }
}

fn remove_alone_at(path: &Path) {
    if read_file(path, MAX_BYTES).is_ok_and(|found| is_ours(&found)) {
        // If this fails, the next run replaces it.
        let _ = place::remove(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_times_of_the_same_run_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let stamp = |fingerprint, stamp| SourceStamp::new(folder.path(), fingerprint, stamp);
        let first = stamp([1; 16], [2; 16]);
        first.check().unwrap();
        first.leave().unwrap();
        first.check().unwrap();
        assert!(matches!(stamp([1; 16], [3; 16]).check(), Err(Error::Usage { .. })));
        stamp([4; 16], [3; 16]).check().unwrap();
        fs::write(folder.path().join(NAME), &first.line[..30]).unwrap();
        stamp([1; 16], [3; 16]).check().unwrap();
        first.leave().unwrap();
        assert_eq!(fs::read(folder.path().join(NAME)).unwrap(), first.line.as_bytes());
        fs::write(folder.path().join(NAME), b"precious").unwrap();
        assert!(first.leave().is_err());
        remove_source_stamp(folder.path()).unwrap();
        assert!(folder.path().join(NAME).exists());
    }
}
