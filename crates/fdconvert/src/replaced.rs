//! Whether a dataset stayed what it was while it was looked at: faults of one that a run replaces
//! are true for a moment only.
//!
//! Formats of one file rename it into its place; those of shards withdraw the manifest from the
//! dataset's folder and write it again, and leave the times of the source beside the records until
//! all is complete. So the file or the folder itself, and these times, tell of every format.
use fdconvert_core::Error;
use fdconvert_storage::place;
use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// What a dataset was when it was opened.
pub(crate) struct AsOpened {
    dataset: PathBuf,
    seen: Option<Seen>,
}

/// Device, number, length, and the time of the last change.
type Seen = (u64, u64, u64, (i64, i64));

impl AsOpened {
    /// Looks at a dataset that will be opened.
    pub(crate) fn look(dataset: &Path) -> Self {
        Self { dataset: dataset.to_path_buf(), seen: seen(dataset) }
    }

    /// Returns the refusal to call faults that were found since damage, where they may be those of
    /// a run that writes the dataset.
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

/// Nothing for objects: stores refuse to give ranges of one that was written again.
fn seen(dataset: &Path) -> Option<Seen> {
    let found = fs::metadata(dataset).ok()?;
    Some((found.dev(), found.ino(), found.len(), (found.ctime(), found.ctime_nsec())))
}
