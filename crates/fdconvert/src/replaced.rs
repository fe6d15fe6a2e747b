//! Detects whether a dataset was replaced while it was checked: during a run that replaces it,
//! faults are only temporary.
//!
//! Formats of one file rename it into place; those of shards withdraw the manifest from the
//! dataset's folder and write it again, and keep the times of the source next to the records until
//! everything is complete. So the file or the folder itself, together with these times, shows a
//! replacement for every format.
use fdconvert_core::Error;
use fdconvert_storage::{os, place};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// State of a dataset when it was opened.
pub(crate) struct AsOpened {
    dataset: PathBuf,
    seen: Option<Seen>,
}

/// Device, number, length, and the time of the last change.
type Seen = (os::Identity, u64, (i64, i64));

impl AsOpened {
    /// Records the state of a dataset that will be opened.
    pub(crate) fn look(dataset: &Path) -> Self {
        Self { dataset: dataset.to_path_buf(), seen: seen(dataset) }
    }

    /// Returns the error for faults that may come from a run that writes the dataset, so that they
    /// do not count as damage.
    pub(crate) fn refuse_to_judge(&self) -> Option<Error> {
        let dataset = self.dataset.display();
        // Before the comparison: a run removes it last.
        if place::exists(&self.dataset.join(".fdconvert/source.stamp")).unwrap_or(false) {
            let what = format!(
                "{dataset} is being written, or its run was stopped, so what is wrong with it now may \
                 be whole when that run is complete; run this again then"
            );
            return Some(Error::usage("dataset", what));
        }
        (self.seen != seen(&self.dataset)).then(|| {
            let what =
                format!("{dataset} was replaced or changed while it was read; run this again");
            Error::usage("dataset", what)
        })
    }
}

/// Returns `None` for objects: stores refuse to give ranges of one that was written again.
fn seen(dataset: &Path) -> Option<Seen> {
    let found = fs::metadata(dataset).ok()?;
    let identity = os::identity_behind(dataset).ok()?;
    Some((identity, found.len(), os::changed(&found)))
}
