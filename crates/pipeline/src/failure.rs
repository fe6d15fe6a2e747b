//! Decides whether a sample or the machine is at fault when a sample is not stored.
use crate::{OnError, Run};
use fdconvert_core::{Error, Remark, Result, option};

/// This many consecutive samples that the system could not read mean that the storage is gone, and
/// end the run: after a lost mount every sample fails, and none of them is broken.
const MAX_UNREAD_IN_A_ROW: u64 = 100;

/// Number of samples that may be skipped without a limit from the user; beyond it, only if as many
/// are fine. Each is kept with its reason, and a few KB can claim millions of broken samples.
const MAX_MOSTLY_SKIPPED: u64 = 100_000;

/// Reason why a sample was not stored.
pub(crate) struct Failure {
    error: Error,
    /// True if other samples can still be fine.
    is_of_sample: bool,
}

impl Failure {
    /// Converts an error of the source or of the policy. A file that the system cannot read does
    /// not affect the others.
    pub(crate) fn of_reading(error: Error) -> Self {
        let is_of_sample = matches!(error, Error::Io { .. }) || is_of_content(&error);
        Self { error, is_of_sample }
    }

    /// Converts an error of the writer: if the system cannot write, nothing more can be written.
    pub(crate) fn of_writing(error: Error) -> Self {
        let is_of_sample = is_of_content(&error);
        Self { error, is_of_sample }
    }

    /// Returns the error of a sample that may be skipped; else fails with the error, which ends the
    /// run.
    pub(crate) fn skipped(self) -> Result<Error> {
        if self.is_of_sample { Ok(self.error) } else { Err(self.error) }
    }
}

/// Returns true if the fault is in the sample itself, so that another read would find the same.
pub(crate) fn is_of_content(error: &Error) -> bool {
    matches!(error, Error::Sample { .. } | Error::Limit { .. } | Error::Corrupt { .. })
}

/// Returns the reason why a sample failed. Messages put the key of the sample in front of it.
pub(crate) fn reason(error: &Error) -> Remark {
    if let Error::Sample { what, .. } = error { what.clone() } else { error.remark() }
}

#[derive(Default)]
pub(crate) struct Failures {
    n_skipped: u64,
    /// Number of samples in the output, including those of an interrupted run.
    n_fine: u64,
    /// Number of samples that the system could not read since the last successful read.
    unread_in_a_row: u64,
}

impl Failures {
    /// Counts a stored sample.
    pub(crate) fn succeeded(&mut self) {
        self.n_fine += 1;
        self.unread_in_a_row = 0;
    }

    /// Counts samples of an interrupted run.
    pub(crate) fn resumed(&mut self, n_samples: u64) {
        self.n_fine += n_samples;
    }

    /// Returns the reason for skipping the sample, if it may be skipped.
    ///
    /// # Errors
    /// The failure itself if samples must not be skipped, if it concerns more than one sample, or
    /// after too many failures.
    pub(crate) fn admit(&mut self, failure: Failure, key: &str, run: &Run) -> Result<Remark> {
        if run.on_error == OnError::Fail {
            return Err(failure.error);
        }
        let error = failure.skipped()?;
        let reason = reason(&error);
        self.n_skipped += 1;
        self.unread_in_a_row = match error {
            Error::Io { .. } => self.unread_in_a_row + 1,
            _ => 0,
        };
        if self.unread_in_a_row >= MAX_UNREAD_IN_A_ROW {
            let Error::Io { action, path, source } = error else { return Err(error) };
            let what = format!(
                "{source}; {MAX_UNREAD_IN_A_ROW} samples in a row could not be read, so the \
                 storage seems to be gone"
            );
            return Err(Error::Io {
                action,
                path,
                source: std::io::Error::new(source.kind(), what),
            });
        }
        let n_skipped = self.n_skipped;
        let too_many = match run.max_failures {
            Some(max) if n_skipped > max => format!("more samples failed than the {max} allowed"),
            None if n_skipped > MAX_MOSTLY_SKIPPED.max(self.n_fine) => {
                let n_all = n_skipped + self.n_fine;
                format!("{n_skipped} of {n_all} samples failed so far, more than half")
            }
            _ => return Ok(reason),
        };
        Err(Error::sample(key, reason.reworded(|why| format!("{why}; {too_many}")))
            .cure("to allow more", option::MAX_FAILURES))
    }
}
