//! The policy for samples that cannot be read or decoded.

use fdconvert_core::{Error, Result};
use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Treatment of rows with failed samples. Positions, steps and batch numbers never depend on
/// failures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// The epoch ends with the error, in order: earlier batches are delivered first.
    #[default]
    Raise,
    /// The row stays zero and is marked as not valid.
    Skip,
    /// The row shows the next readable sample of the same stratum in the epoch's order, and is
    /// marked as substituted.
    Substitute,
    /// As [`Substitute`](Self::Substitute), and the sample is recorded in this file: a line of JSON
    /// with its number, key and error. Samples in the file are not read again, in this run or a
    /// later one.
    Quarantine(PathBuf),
}

/// Limits on failures, their treatment, and the number of retries.
#[derive(Debug, Clone, PartialEq)]
pub struct Failures {
    /// Treatment of a failed sample.
    pub on_error: OnError,
    /// More failures than this in one epoch end it with an error under any policy.
    pub max: u64,
    /// The same limit as a share of the samples of the epoch; the larger limit applies.
    pub max_share: f64,
    /// Number of retries of a read after an error that may pass, such as a timeout. The first wait
    /// is 10 ms, each further one twice as long.
    pub retries: u32,
}

impl Default for Failures {
    fn default() -> Self {
        Self { on_error: OnError::Raise, max: 100, max_share: 0.0, retries: 3 }
    }
}

impl Failures {
    /// Returns the number of failures allowed in an epoch of `n_samples`.
    pub(crate) fn limit(&self, n_samples: u64) -> u64 {
        self.max.max((self.max_share * n_samples as f64) as u64)
    }
}

/// Number of substitutes tried for a failed sample before giving up.
pub(crate) const SUBSTITUTES: u64 = 64;

/// Returns the wait before the next try after `tries`.
pub(crate) fn backoff(tries: u32) -> Duration {
    Duration::from_millis(10 << tries.min(10))
}

/// Returns true if the same read may succeed later, as after errors of networks and busy disks.
/// Damage does not heal.
pub(crate) fn may_pass(error: &Error) -> bool {
    /// "Input/output error", for which Rust has no kind; Windows has another error of that number.
    const EIO: Option<i32> = if cfg!(unix) { Some(5) } else { None };
    let Error::Io { source, .. } = error else { return false };
    (EIO.is_some() && source.raw_os_error() == EIO)
        || matches!(
            source.kind(),
            io::ErrorKind::TimedOut
                | io::ErrorKind::StaleNetworkFileHandle
                | io::ErrorKind::Interrupted
                | io::ErrorKind::WouldBlock
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::NotConnected
                | io::ErrorKind::BrokenPipe
        )
}

/// Samples that must not be read, and the file that records them.
pub(crate) struct Quarantine {
    path: PathBuf,
    known: Mutex<BTreeSet<u64>>,
    file: Mutex<File>,
}

impl Quarantine {
    /// Opens the file, which need not exist, and reads its samples.
    ///
    /// # Errors
    /// `Io`, and `Corrupt` for any other file, which is then not written to.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        // Opening a pipe would block.
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let what = format!("{} is not a regular file", path.display());
            return Err(Error::usage("errors", what));
        }
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => String::new(),
            Err(cause) => return Err(Error::io("read", path)(cause)),
        };
        let mut known = BTreeSet::new();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let number = serde_json::from_str::<serde_json::Value>(line)
                .ok()
                .and_then(|line| line.get("sample").and_then(serde_json::Value::as_u64));
            match number {
                Some(number) => drop(known.insert(number)),
                // A line that a killed process left half written.
                None if !line.ends_with('\n') => {}
                None => {
                    let what = "a line that names no sample: is it a quarantine file?";
                    return Err(Error::corrupt("quarantine", path, offset, what));
                }
            }
            offset += line.len() as u64;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map_err(Error::io("open", path))?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(Error::io("write", path))?;
        }
        Ok(Self { path: path.to_owned(), known: Mutex::new(known), file: Mutex::new(file) })
    }

    pub(crate) fn holds(&self, sample: u64) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(&sample)
    }

    /// Records a sample, once.
    ///
    /// # Errors
    /// `Io` if the file cannot be written.
    pub(crate) fn add(&self, sample: u64, key: &str, error: &Error) -> Result<()> {
        if !self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(sample) {
            return Ok(());
        }
        let line = serde_json::json!({"sample": sample, "key": key, "error": error.chain()});
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A single write keeps lines of several processes apart.
        file.write_all(format!("{line}\n").as_bytes()).map_err(Error::io("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarantine_files_remember_across_runs_and_kills() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad.jsonl");
        let error = Error::sample("a/b.jpg", "broken");
        {
            let quarantine = Quarantine::open(&path).unwrap();
            assert!(!quarantine.holds(7));
            quarantine.add(7, "a/b.jpg", &error).unwrap();
            quarantine.add(7, "a/b.jpg", &error).unwrap();
            assert!(quarantine.holds(7));
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1);
        assert!(text.contains("a/b.jpg") && text.contains("broken"), "{text}");
        std::fs::write(&path, format!("{text}{{\"sample\": 9, \"ke")).unwrap();
        let quarantine = Quarantine::open(&path).unwrap();
        assert!(quarantine.holds(7) && !quarantine.holds(9));
        quarantine.add(9, "c", &error).unwrap();
        std::fs::write(&path, "hello\nworld\n").unwrap();
        assert!(matches!(Quarantine::open(&path), Err(Error::Corrupt { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello\nworld\n");
        assert!(matches!(Quarantine::open(folder.path()), Err(Error::Usage { .. })));
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let io = |kind| Error::io("read", "x")(io::Error::from(kind));
        assert!(may_pass(&io(io::ErrorKind::TimedOut)));
        assert!(may_pass(&Error::io("read", "x")(io::Error::from_raw_os_error(5))));
        assert!(may_pass(&io(io::ErrorKind::StaleNetworkFileHandle)));
        assert!(!may_pass(&io(io::ErrorKind::NotFound)));
        assert!(!may_pass(&Error::sample("x", "broken")));
        let failures = Failures { max: 3, max_share: 0.01, ..Failures::default() };
        assert_eq!((failures.limit(100), failures.limit(10_000)), (3, 100));
    }
}
