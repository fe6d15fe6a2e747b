//! Objects whose parts are numbered by who writes them: sent in any order, and by one process after
//! another.
//!
//! What the store has of such an upload is its name and what it has called each part. Kept
//! somewhere, a later process takes the upload over and sends the rest. That works in S3 and Google
//! Cloud Storage; Azure, as `object_store` asks it, marks no object that is sent so.
use crate::{
    client::Client,
    count, error,
    location::Location,
    write::{attributes, is_marked_as, stat, writable},
};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use object_store::{
    Error as Cause, PutMultipartOptions,
    multipart::{MultipartStore, PartId},
};
use std::{collections::BTreeMap, fmt, io, path::Path, sync::Arc};
use tokio::task::JoinSet;

/// Parts that a store takes of an object, but for the [`PROBE`].
pub(crate) const MAX_PARTS: u32 = 9_999;
/// A part that is sent to find out whether the store still has an upload. It is never named when
/// the object is completed, so it is dropped then.
const PROBE: u32 = MAX_PARTS;
/// S3's error code at the end of parts that are not, or no longer, what the writer has sent.
const INVALID_PART: &str = "InvalidPart";

/// An upload as the store knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Begun {
    /// The store's name of the upload.
    pub id: String,
    /// The store's name of each part, by its number from 0.
    pub parts: BTreeMap<u32, String>,
}

/// An object that is written by numbered parts. Dropped unfinished, what was sent is given up.
pub struct PartUpload {
    location: Location,
    client: Client,
    store: Arc<dyn MultipartStore>,
    mark: String,
    begun: Begun,
    sending: JoinSet<Result<(u32, PartId), Cause>>,
    is_left: bool,
    /// Another process of the run has completed it.
    is_done: bool,
}

impl fmt::Debug for PartUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartUpload").field("to", &self.location.path).finish_non_exhaustive()
    }
}

/// Returns whether the parts of an object at that URL can be numbered.
///
/// # Errors
/// `Usage` for what is no URL, for stores that are read only, and for options that do not fit.
pub fn numbers_parts(path: &Path) -> Result<bool> {
    Ok(Client::of(&writable(path)?)?.parts.is_some())
}

/// Of an object that does not [fit](crate::Place::fits).
#[must_use]
pub fn too_large(path: &Path) -> Error {
    let path = path.display();
    let what = format!("{path} would be larger than stores take in parts; write shards (wds, mds)");
    Error::usage("output", what)
}

impl PartUpload {
    /// Begins an upload of an object that will bear the mark.
    ///
    /// # Errors
    /// `Usage` for stores whose parts are not numbered; `Io`.
    pub fn begin(path: &Path, mark: &str) -> Result<Self> {
        let mut this = Self::of(path, mark, Begun::default())?;
        count::request();
        let attributes = attributes(Some(mark));
        let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
        let begun = this.store.create_multipart_opts(&this.location.key, options);
        let begun = this.client.wait(begun);
        this.begun.id = begun.map_err(|cause| error::of("write", &this.location, cause))?;
        this.is_left = false;
        Ok(this)
    }

    /// Takes over an upload that another process has begun; `None` if the store no longer has it.
    ///
    /// # Errors
    /// As for [`begin`](Self::begin).
    pub fn take_over(path: &Path, mark: &str, id: &str) -> Result<Option<Self>> {
        let mut this = Self::of(path, mark, Begun { id: id.to_owned(), ..Begun::default() })?;
        count::request();
        let key = &this.location.key;
        let probe = this.store.put_part(key, &this.begun.id, PROBE as usize, vec![0].into());
        match this.client.wait(probe) {
            Ok(_) => {
                this.is_left = false;
                Ok(Some(this))
            }
            Err(Cause::NotFound { .. }) => Ok(None),
            Err(cause) => Err(error::of("write", &this.location, cause)),
        }
    }

    /// Not yet to be given up when it is dropped.
    fn of(path: &Path, mark: &str, begun: Begun) -> Result<Self> {
        let location = writable(path)?;
        let client = Client::of(&location)?;
        let Some(store) = client.parts.clone() else {
            let what = format!("{} is in a store that numbers parts by itself", path.display());
            return Err(Error::usage("output", what));
        };
        let (mark, sending) = (mark.to_owned(), JoinSet::new());
        Ok(Self { location, client, store, mark, begun, sending, is_left: true, is_done: false })
    }

    /// Says which parts were sent before it was taken over.
    pub fn has(&mut self, parts: BTreeMap<u32, String>) {
        self.begun.parts = parts;
    }

    /// Sends a part, in the place of any of that number. Waits until fewer than `in_flight` others
    /// are on their way.
    ///
    /// # Errors
    /// `Io`, also of a part before it; `Usage` for more parts than stores take.
    pub fn send(&mut self, number: u32, bytes: Bytes, in_flight: usize) -> Result<()> {
        if number >= MAX_PARTS {
            return Err(too_large(&self.location.path));
        }
        self.wait_for(in_flight.saturating_sub(1))?;
        if self.is_done {
            return Ok(());
        }
        count::request();
        let (store, key) = (self.store.clone(), self.location.key.clone());
        let id = self.begun.id.clone();
        let put = async move {
            let put = store.put_part(&key, &id, number as usize, bytes.into()).await;
            put.map(|part| (number, part))
        };
        self.client.run(async { self.sending.spawn(put) });
        Ok(())
    }

    fn wait_for(&mut self, n_left: usize) -> Result<()> {
        while self.sending.len() > n_left {
            let sent = self.client.run(self.sending.join_next());
            let sent = match sent {
                Some(Ok(sent)) => sent,
                Some(Err(cause)) => Err(Cause::JoinError { source: cause }),
                None => return Ok(()),
            };
            match sent {
                Ok((number, part)) => {
                    self.begun.parts.insert(number, part.content_id);
                }
                Err(Cause::NotFound { .. }) if self.is_there()? => {
                    self.is_done = true;
                    self.is_left = true;
                }
                Err(cause) => return Err(error::of("write", &self.location, cause)),
            }
        }
        Ok(())
    }

    /// Returns whether the object is one that this run has written.
    fn is_there(&self) -> Result<bool> {
        let found = stat(&self.location.path)?;
        Ok(found.is_some_and(|found| found.mark.as_deref() == Some(&self.mark)))
    }

    /// Waits until all parts are there, and says what the store has.
    ///
    /// # Errors
    /// `Io`.
    pub fn begun(&mut self) -> Result<&Begun> {
        self.wait_for(0)?;
        Ok(&self.begun)
    }

    /// Makes the object of all parts, which has that many bytes; see
    /// [`Upload::finish`](crate::Upload::finish) for `replaces` and the result.
    ///
    /// # Errors
    /// `Io`. The parts stay, unless the store does not accept them: those are given up.
    pub fn complete(&mut self, len: u64, replaces: bool) -> Result<bool> {
        self.wait_for(0)?;
        let path = self.location.path.clone();
        let is_this = |path: &Path| -> Result<Option<bool>> {
            Ok(stat(path)?.map(|found| is_marked_as(&found, len, &self.mark)))
        };
        if self.is_done {
            return Ok(is_this(&path)? == Some(true));
        }
        // Stores complete an upload in parts whatever has the name.
        if !replaces && let Some(is_this) = is_this(&path)? {
            return Ok(is_this);
        }
        if !self.begun.parts.keys().copied().eq(0..self.begun.parts.len() as u32) {
            let cause = io::Error::other("a part of it was never sent");
            return Err(Error::io("write", &path)(cause));
        }
        let parts = self.begun.parts.values();
        let parts = parts.map(|id| PartId { content_id: id.clone() }).collect();
        count::request();
        let completed = self.store.complete_multipart(&self.location.key, &self.begun.id, parts);
        let completed = self.client.wait(completed);
        crate::forget(&path);
        let Err(cause) = completed else {
            self.is_left = true;
            return Ok(true);
        };
        // Where the answer was lost and the request was repeated, or another process of the run was
        // faster, there is nothing to complete.
        if is_this(&path)? == Some(true) {
            self.is_left = true;
            return Ok(true);
        }
        let cause = error::of("write", &self.location, cause);
        if !cause.chain().contains(INVALID_PART) {
            return Err(cause);
        }
        self.abort();
        let what = "another process has sent parts of the same object meanwhile, so what was sent \
                    is given up; run the command again, alone";
        Err(Error::io("write", &path)(io::Error::other(what)))
    }

    /// Leaves what was sent to another process.
    pub fn leave(mut self) {
        // What is on its way may arrive or not: no note says that it is there.
        let _ = self.wait_for(0);
        self.is_left = true;
    }

    fn abort(&mut self) {
        self.is_left = true;
        count::request();
        self.client.run(async {
            self.sending.shutdown().await;
            // What cannot be given up now is found by a clean-up.
            let _ = self.store.abort_multipart(&self.location.key, &self.begun.id).await;
        });
    }
}

impl Drop for PartUpload {
    fn drop(&mut self) {
        if !self.is_left {
            self.abort();
        }
    }
}
