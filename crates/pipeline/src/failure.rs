//! Whose failure it is when a sample is not stored: its own, or that of the machine.
use crate::{OnError, Run};
use fdconvert_core::{Error, Remark, Result, option};

/// So many samples in a row that the system could not read mean that the storage is gone, and the
/// run ends: after a lost mount every sample fails, and none of them is broken.
const MAX_UNREAD_IN_A_ROW: u64 = 100;

/// So many samples are skipped without a limit of the user's, and more only where as many are fine.
/// Each is kept with its reason, and a few KB can claim millions that are broken.
const MAX_MOSTLY_SKIPPED: u64 = 100_000;

/// Why a sample was not stored.
pub(crate) struct Failure {
    error: Error,
    /// Other samples can still be fine.
    is_of_sample: bool,
}

impl Failure {
    /// An error of the source or of the policy. That the system cannot read one file says nothing
    /// of the others.
    pub(crate) fn of_reading(error: Error) -> Self {
        let is_of_sample = matches!(error, Error::Io { .. }) || is_of_content(&error);
        Self { error, is_of_sample }
    }

    /// An error of the writer: where the system cannot write, nothing more can be written.
    pub(crate) fn of_writing(error: Error) -> Self {
        let is_of_sample = is_of_content(&error);
        Self { error, is_of_sample }
    }

    /// Returns whether the sample can be skipped; else the error ends the run.
    pub(crate) fn skipped(self) -> Result<Error> {
        if self.is_of_sample { Ok(self.error) } else { Err(self.error) }
    }
}

/// Returns what is wrong lies in the sample itself: looking again would find the same.
pub(crate) fn is_of_content(error: &Error) -> bool {
    matches!(error, Error::Sample { .. } | Error::Limit { .. } | Error::Corrupt { .. })
}

/// Failures of a run so far.
#[derive(Default)]
pub(crate) struct Failures {
    n_skipped: u64,
    /// Samples that are in the output, those of an interrupted run too.
    n_fine: u64,
    /// Samples that the system could not read since the last that it could.
    unread_in_a_row: u64,
}

impl Failures {
    /// A sample was stored.
    pub(crate) fn succeeded(&mut self) {
        self.n_fine += 1;
        self.unread_in_a_row = 0;
    }

    /// So many samples are there already.
    pub(crate) fn resumed(&mut self, n_samples: u64) {
        self.n_fine += n_samples;
    }

    /// The reason why the sample is skipped, if it may be.
    ///
    /// # Errors
    /// The failure itself where samples are not to be skipped, where it is not of one sample, and
    /// where there were too many.
    pub(crate) fn admit(&mut self, failure: Failure, key: &str, run: &Run) -> Result<Remark> {
        if run.on_error == OnError::Fail {
            return Err(failure.error);
        }
        let error = failure.skipped()?;
        let reason = error.remark();
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
        let why = if let Error::Sample { what, .. } = error { what } else { reason };
        Err(Error::sample(key, why.reworded(|why| format!("{why}; {too_many}")))
            .cure("to allow more", option::MAX_FAILURES))
    }
}
