//! Files and objects that are written sequentially.
use crate::{Scratch, fingerprint_hex, partial_path, place::is_url, store::Upload};
use fdconvert_core::Result;
use std::path::{Path, PathBuf};

/// A file or an object that only grows until it is committed. Parts of an object are sent while it
/// is written, so that it takes no space on a disk.
#[derive(Debug)]
pub struct Appended {
    path: PathBuf,
    len: u64,
    to: To,
}

#[derive(Debug)]
enum To {
    File(Scratch),
    Object(Upload),
}

impl Appended {
    /// Starts a file or object that becomes `path` on commit; `claimed` as for [`Scratch::start`].
    /// An object is marked with the fingerprint of its run.
    ///
    /// # Errors
    /// Those of [`Scratch::start`].
    pub fn start(path: &Path, claimed: bool, fingerprint: [u8; 16]) -> Result<Self> {
        let to = if is_url(path) {
            To::Object(Upload::start(path, Some(&fingerprint_hex(fingerprint)))?)
        } else {
            To::File(Scratch::start(&partial_path(path), claimed)?)
        };
        Ok(Self { path: path.to_path_buf(), len: 0, to })
    }

    /// Returns the number of bytes so far.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.len
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// `Io`; then drop the value.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.to {
            To::File(scratch) => scratch.write_all_at(bytes, self.len)?,
            To::Object(upload) => upload.append(bytes)?,
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Returns the same as [`Scratch::identity`].
    #[must_use]
    pub fn identity(&self) -> (u64, u64) {
        match &self.to {
            To::File(scratch) => scratch.identity(),
            To::Object(_) => (0, 0),
        }
    }

    /// Commits under the final name; with `replaces` it replaces an existing file or object.
    /// Without, an existing object of the same run and length is accepted: another process has
    /// written it.
    ///
    /// # Errors
    /// Those of [`Scratch::commit`].
    pub fn commit(self, replaces: bool) -> Result<()> {
        match self.to {
            To::File(scratch) => scratch.commit(&self.path, replaces),
            To::Object(upload) => upload.finish(replaces),
        }
    }
}
