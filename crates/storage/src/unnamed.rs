//! Files without a name, in the folder for temporary files.
#[cfg(feature = "spill")]
use fdconvert_core::{Error, Result};
use std::path::PathBuf;

/// The folder for temporary files (`TMPDIR`).
#[allow(clippy::disallowed_methods, reason = "nothing there becomes an output by its name")]
pub(crate) fn folder() -> PathBuf {
    std::env::temp_dir()
}

/// Creates a file that is gone when it is closed, and with the process however that ends.
#[cfg(feature = "spill")]
pub(crate) fn create() -> Result<std::fs::File> {
    let folder = folder();
    tempfile::tempfile_in(&folder).map_err(Error::io("create a temporary file in", &folder))
}
