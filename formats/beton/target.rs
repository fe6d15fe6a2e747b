//! Where the bytes of an unfinished beton go.
//!
//! On a disk that is a file. In a store whose parts are numbered by who sends them it is an object
//! that is sent while it is made; for other stores, a file without a name that is sent at the end.
use crate::beton::{
    journal::{RunPlan, Unfinished, open_files},
    notes::{Notes, ObjectNotes},
    pages::Page,
    spool::Spool,
};
use fdconvert_core::{Error, Result};
use fdconvert_storage::{Parted, Scratch, hash_file, partial_path};
use std::{io, path::Path};
use xxhash_rust::xxh3::Xxh3Default;

#[derive(Debug)]
pub(crate) enum Target {
    File(Scratch),
    Object(Box<Parted>),
}

/// An unfinished beton, and what was noted of it.
pub(crate) struct Opened {
    pub(crate) target: Target,
    pub(crate) notes: Notes,
    /// Spool of the entry points, if they are stored.
    pub(crate) spool: Option<Spool>,
}

impl Target {
    /// Opens what an interrupted run has left, or begins.
    ///
    /// # Errors
    /// `Usage` when what is there is of another run or not ours (unless `overwrite`), or in use;
    /// `Io`.
    pub(crate) fn open(out: &Path, plan: &RunPlan, overwrite: bool) -> Result<Opened> {
        if Parted::is_possible(out)? {
            let object = Parted::start(out, plan.fingerprint, plan.data_start)?;
            let notes = ObjectNotes::open(out, plan, &object, overwrite)?;
            let open_spool = |_| Spool::open(&partial_path(out), false);
            let spool = plan.n_entries.map(open_spool).transpose()?;
            return Ok(Opened {
                target: Self::Object(Box::new(object)),
                notes: Notes::Objects(notes),
                spool,
            });
        }
        let Unfinished { file, journal, spool } = open_files(out, plan, overwrite)?;
        let file = file.marked(plan.fingerprint);
        Ok(Opened { target: Self::File(file), notes: Notes::File(journal), spool })
    }

    /// Writes bytes; from the data on, in order.
    pub(crate) fn write_all_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        match self {
            Self::File(file) => file.write_all_at(bytes, offset),
            Self::Object(object) => object.write_all_at(bytes, offset),
        }
    }

    /// Reads what was written. An object is sent, and read by no one here.
    pub(crate) fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        match self {
            Self::File(file) => file.read_exact_at(bytes, offset),
            Self::Object(object) => Err(refused(object, "read")),
        }
    }

    /// Moves what lies from an offset on by so many bytes, and leaves zeros in front of it. What was
    /// sent stays where it is.
    pub(crate) fn insert_zeros(&self, at: u64, len: u64) -> Result<()> {
        match self {
            Self::File(file) => file.insert_zeros(at, len),
            Self::Object(object) => Err(refused(object, "move the data of")),
        }
    }

    /// Grows it, with zeros. A file also gets shorter.
    pub(crate) fn set_len(&self, len: u64) -> Result<()> {
        match self {
            Self::File(file) => file.set_len(len),
            Self::Object(object) => object.set_len(len),
        }
    }

    /// Returns whether a page is there as it was when it had that checksum. Of what was sent, the
    /// store has said that it is.
    pub(crate) fn has_page(&self, page: &Page, xxh3: u64) -> bool {
        match self {
            Self::File(file) => page.stored_xxh3(file) == Some(xxh3),
            Self::Object(_) => true,
        }
    }

    /// Returns whether a file is there with all these bytes.
    pub(crate) fn is_same(&self, path: &Path, len: u64) -> Result<bool> {
        let Self::File(file) = self else { return Ok(false) };
        let mut hash = Xxh3Default::new();
        file.each_block(|block| {
            hash.update(block);
            Ok(())
        })?;
        Ok(hash_file(path)? == (len, hash.digest()))
    }

    /// Leaves what is there to a later run.
    pub(crate) fn leave(self) {
        match self {
            Self::File(file) => file.leave(),
            Self::Object(object) => object.keep(),
        }
    }
}

/// Only a [plan](crate::beton::room) that is refused for objects asks for it.
fn refused(object: &Parted, what: &'static str) -> Error {
    Error::io(what, object.path())(io::ErrorKind::Unsupported.into())
}
