//! Files that could not be removed: reported at the end, because a destructor cannot fail.
use std::{
    fmt::Display,
    path::Path,
    sync::{Mutex, PoisonError},
};

static LEFT: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Records a file that could not be removed.
pub(crate) fn note(path: &Path, cause: &dyn Display) {
    let text = format!("{} could not be removed: {cause}", path.display());
    LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(text);
}

/// Returns the files that this process could not remove since the last call, each with the cause.
pub fn left_files() -> Vec<String> {
    std::mem::take(&mut *LEFT.lock().unwrap_or_else(PoisonError::into_inner))
}
