//! What should be gone and is not, and what waits for a later run: told at the end, as a destructor
//! has no way to fail.
use std::{
    io,
    path::Path,
    sync::{Mutex, PoisonError},
};

static LEFT: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes a file that could not be removed.
pub(crate) fn note(path: &Path, cause: &io::Error) {
    push(format!("{} could not be removed: {cause}", path.display()));
}

/// Notes an object that is not complete, and of which the parts that were sent stay.
pub(crate) fn note_sent(path: &Path) {
    push(format!(
        "what was sent of {} stays in the store: the same command continues it, and `fdconvert \
         clean` gives it up",
        path.display()
    ));
}

fn push(text: String) {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(text);
}

/// Returns what this process has left behind since the last call: files that could not be removed,
/// each with the cause, and parts of objects for a later run.
pub fn left_files() -> Vec<String> {
    std::mem::take(&mut *LEFT.lock().unwrap_or_else(PoisonError::into_inner))
}
