//! Files and objects that are written from their start to their end.
use crate::{
    Scratch, fingerprint_hex, partial_path,
    place::{away::Upload, is_url},
    rename,
};
use fdconvert_core::Result;
use std::path::{Path, PathBuf};

/// A file or an object that only grows until it is committed. Parts of an object are sent while it
/// is made, so that no disk holds it.
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
    /// Starts what will be `path` once it is committed; `claimed` as for [`Scratch::start`]. An
    /// object is marked as one of the run of that fingerprint.
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

    /// Bytes so far.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.len
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// `Io`; then it must be dropped.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.to {
            To::File(scratch) => scratch.write_all_at(bytes, self.len)?,
            To::Object(upload) => upload.append(bytes)?,
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// As [`Scratch::identity`].
    #[must_use]
    pub fn identity(&self) -> (u64, u64) {
        match &self.to {
            To::File(scratch) => scratch.identity(),
            To::Object(_) => (0, 0),
        }
    }

    /// Gives it its name; with `replaces` in the place of what has that name. Without, an object of
    /// the same run and length that another process has written is as good.
    ///
    /// # Errors
    /// Those of [`Scratch::commit`] and [`Scratch::commit_new`].
    pub fn commit(self, replaces: bool) -> Result<()> {
        match self.to {
            To::File(scratch) if replaces => scratch.commit(&self.path),
            To::File(scratch) => scratch.commit_new(&self.path),
            To::Object(upload) => match upload.finish(replaces)? {
                true => Ok(()),
                false => Err(rename::exists(&self.path)),
            },
        }
    }
}
