//! The folder of a temporary dataset, which a forked process must leave alone.
use fdconvert_core::Result;
use fdconvert_storage::{ScratchDir, place::is_url};
use std::{
    ffi::OsString,
    mem,
    path::{Path, PathBuf},
    process,
    sync::{Mutex, PoisonError},
};
use xxhash_rust::xxh3::xxh3_64;

/// A value that removes files when it is dropped, except in a process that was forked from its
/// creator.
pub(super) struct Owned<T> {
    // Some writers cannot be shared by threads.
    value: Mutex<Option<T>>,
    process: u32,
}

impl<T> Owned<T> {
    pub(super) fn new(value: T) -> Self {
        Self { value: Mutex::new(Some(value)), process: process::id() }
    }

    pub(super) fn get(&mut self) -> Option<&mut T> {
        self.there().as_mut()
    }

    pub(super) fn take(mut self) -> Option<T> {
        self.there().take()
    }

    fn there(&mut self) -> &mut Option<T> {
        self.value.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.process != process::id() {
            mem::forget(self.there().take());
        }
    }
}

/// Creates an empty folder for the samples of an output.
pub(super) fn folder_of(out: &Path) -> Result<ScratchDir> {
    if is_url(out) {
        let name = format!("fdconvert-{:016x}", xxh3_64(out.as_os_str().as_encoded_bytes()));
        return ScratchDir::start(&temporary_files().join(name));
    }
    let here = |folder: &Path| match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder.to_owned(),
    };
    let mut above = out.ancestors().skip(1).map(here);
    let folder = above.find(|folder| folder.is_dir()).unwrap_or_default();
    let mut name = OsString::from(out.file_name().unwrap_or_default());
    name.push(".samples");
    ScratchDir::start(&folder.join(name))
}

#[allow(clippy::disallowed_methods, reason = "nothing there becomes an output")]
fn temporary_files() -> PathBuf {
    std::env::temp_dir()
}
