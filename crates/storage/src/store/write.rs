//! Writes objects: as a whole, or in parts while they grow.
//!
//! An object appears with its last byte, or not at all: stores have no half-written objects. Parts
//! sent by a killed process stay in the store, invisible, until they are
//! [aborted](crate::store::abort_unfinished).
use crate::store::{
    client::Client,
    count, error, find,
    location::Location,
    object,
    stat::{MARK, Stat, stat},
};
use crate::unnamed;
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use object_store::{
    Attribute, Attributes, Error as Cause, GetOptions, MultipartUpload, ObjectStoreExt as _,
    PutMode, PutMultipartOptions, PutOptions, UpdateVersion,
};
use std::{borrow::Cow, fmt, fs::File, io, mem, path::Path, time::Duration};
use tokio::task::JoinSet;

/// Bytes per part. Stores accept ten thousand parts per object.
const PART_BYTES: usize = 8 << 20;
/// Number of parts after which they grow, so that an object can exceed ten thousand small parts.
const SMALL_PARTS: u64 = 4000;
/// Bytes per part from then on.
const LARGE_PART_BYTES: usize = 96 << 20;
/// Number of small parts sent concurrently, besides the one being filled.
const IN_FLIGHT: usize = 4;
/// Pause before the first retry; with the maximum below, ten tries take a minute.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(26);

/// Bytes of part `number`, from 0, and the number of such parts that may be sent concurrently.
fn part_size(number: u32) -> (usize, usize) {
    if u64::from(number) < SMALL_PARTS { (PART_BYTES, IN_FLIGHT) } else { (LARGE_PART_BYTES, 1) }
}

/// Writes an object, and replaces an existing one.
///
/// # Errors
/// `Usage` for an invalid URL, and for read-only stores; `Io`.
pub(crate) fn put(path: &Path, bytes: Bytes) -> Result<()> {
    let location = writable(path)?;
    put_as(&location, bytes, None, PutMode::Overwrite)
}

/// Writes an object if nothing has the name; returns whether the object now exists with these
/// bytes, even if another process wrote it.
///
/// # Errors
/// As for [`put`].
pub(crate) fn put_new(path: &Path, bytes: &Bytes) -> Result<bool> {
    let location = writable(path)?;
    loop {
        match put_as(&location, bytes.clone(), None, PutMode::Create) {
            // Perhaps written by this process, if the answer was lost and the request repeated.
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
            put => return put.map(|()| true),
        }
        match object::read(path, bytes.len() as u64) {
            Ok(found) => return Ok(found == bytes),
            Err(Error::Limit { .. }) => return Ok(false),
            // Its writer has deleted it since, so the name is unused.
            Err(error) if find::is_missing(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn put_as(location: &Location, bytes: Bytes, mark: Option<&str>, mode: PutMode) -> Result<()> {
    let client = Client::of(location)?;
    let options = PutOptions { mode, attributes: attributes(mark), ..PutOptions::default() };
    let put = until_answered(&client, || {
        let (bytes, options) = (bytes.clone().into(), options.clone());
        client.write(client.store.put_opts(&location.key, bytes, options))
    });
    crate::store::forget(&location.path);
    put.map(|_| ()).map_err(|cause| error::of("write", location, cause))
}

/// Replaces an object that has the bytes `old`; returns false if it has others by then. The store
/// compares, so that of several writers one succeeds.
///
/// # Errors
/// As for [`put`].
pub(crate) fn swap(path: &Path, old: &[u8], new: Bytes) -> Result<bool> {
    let location = writable(path)?;
    let client = Client::of(&location)?;
    count::request();
    let found = client.write(async {
        let found = client.store.get_opts(&location.key, GetOptions::default()).await?;
        let meta = found.meta.clone();
        Ok::<_, Cause>((meta, found.bytes().await?))
    });
    let (meta, bytes) = match found {
        Ok(found) => found,
        Err(Cause::NotFound { .. }) => return Ok(false),
        Err(cause) => return Err(error::of("read", &location, cause)),
    };
    if bytes != old {
        // Also if the answer to an earlier try was lost.
        return Ok(bytes == new);
    }
    let mode = PutMode::Update(UpdateVersion { e_tag: meta.e_tag, version: meta.version });
    let options = PutOptions { mode, ..PutOptions::default() };
    count::request();
    let put = client.write(client.store.put_opts(&location.key, new.clone().into(), options));
    crate::store::forget(path);
    match put {
        Ok(_) => Ok(true),
        // Perhaps this process's own, if its answer was lost and the request repeated.
        Err(Cause::Precondition { .. } | Cause::NotModified { .. }) => {
            Ok(object::read_if_there(path, u64::MAX)?.is_some_and(|found| found == new))
        }
        Err(cause) => Err(error::of("write", &location, cause)),
    }
}

/// Copies an object within its store; returns false if there is none.
///
/// # Errors
/// As for [`put`].
pub(crate) fn copy(from: &Path, to: &Path) -> Result<bool> {
    let (from, to) = (writable(from)?, writable(to)?);
    let client = Client::of(&to)?;
    let copied = until_answered(&client, || client.write(client.store.copy(&from.key, &to.key)));
    crate::store::forget(&to.path);
    match copied.map_err(|cause| error::of("copy", &from, cause)) {
        Err(error) if find::is_missing(&error) => Ok(false),
        copied => copied.map(|()| true),
    }
}

/// Deletes an object, if it exists.
///
/// # Errors
/// As for [`put`].
pub(crate) fn delete(path: &Path) -> Result<()> {
    let location = writable(path)?;
    let client = Client::of(&location)?;
    let deleted = until_answered(&client, || client.write(client.store.delete(&location.key)));
    crate::store::forget(path);
    match deleted.map_err(|cause| error::of("delete", &location, cause)) {
        Err(error) if find::is_missing(&error) => Ok(()),
        deleted => deleted,
    }
}

/// Creates the file that holds the bytes of an object until they are sent.
///
/// # Errors
/// `Io`.
pub(crate) fn staging_file(_: &Path) -> Result<File> {
    unnamed::create()
}

/// Retries with growing pauses if a request that may be repeated got no answer. `object_store` only
/// retries requests that give the same answer twice.
fn until_answered<T>(
    client: &Client,
    mut ask: impl FnMut() -> Result<T, Cause>,
) -> Result<T, Cause> {
    let mut pause = FIRST_PAUSE;
    loop {
        count::request();
        match ask() {
            Err(cause) if pause <= LAST_PAUSE && error::is_unanswered(&cause) => {
                client.pause(pause)?;
                pause *= 2;
            }
            answer => return answer,
        }
    }
}

/// Refuses a read-only store. Does not check the user's permission.
///
/// # Errors
/// `Usage`, with a list of the writable stores; also for an invalid URL.
pub(crate) fn refuse_read_only(path: &Path) -> Result<()> {
    writable(path).map(|_| ())
}

pub(crate) fn writable(path: &Path) -> Result<Location> {
    let location = Location::parse(path)?;
    if location.is_writable() {
        return Ok(location);
    }
    let what = format!(
        "{} can only be read; stores that are written to are s3://, gs:// and az://",
        path.display()
    );
    Err(Error::usage("output", what))
}

pub(crate) fn attributes(mark: Option<&str>) -> Attributes {
    let mark = mark.map(|mark| (Attribute::Metadata(Cow::Borrowed(MARK)), mark.to_owned()));
    mark.into_iter().collect()
}

/// An object that is written sequentially. A small one is a single request, a large one is sent in
/// parts of 8 MiB, four at a time; parts only grow after 32 GB. If it is dropped unfinished, the
/// sent parts are aborted.
pub(crate) struct Upload {
    location: Location,
    client: Client,
    mark: Option<String>,
    len: u64,
    buffer: Vec<u8>,
    parts: Option<Parts>,
}

/// Parts of an object on their way.
struct Parts {
    upload: Box<dyn MultipartUpload>,
    sending: JoinSet<Result<(), Cause>>,
    n_begun: u32,
}

impl Parts {
    /// Waits until at most `n_left` parts are on their way.
    async fn wait_for(&mut self, n_left: usize) -> Result<(), Cause> {
        while self.sending.len() > n_left {
            match self.sending.join_next().await {
                Some(Ok(sent)) => sent?,
                Some(Err(cause)) => {
                    return Err(Cause::JoinError { source: cause });
                }
                None => {}
            }
        }
        Ok(())
    }

    async fn send(&mut self, part: Bytes, n_before: usize) -> Result<(), Cause> {
        self.wait_for(n_before).await?;
        self.n_begun += 1;
        count::request();
        self.sending.spawn(self.upload.put_part(part.into()));
        Ok(())
    }

    async fn abort(&mut self) -> Result<(), Cause> {
        self.sending.shutdown().await;
        self.upload.abort().await
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("to", &self.location.path).field("len", &self.len).finish()
    }
}

impl Upload {
    /// Prepares an upload; sends nothing yet.
    ///
    /// # Errors
    /// `Usage` for an invalid URL, and for read-only stores.
    pub(crate) fn start(path: &Path, mark: Option<&str>) -> Result<Self> {
        let location = writable(path)?;
        let client = Client::of(&location)?;
        let mark = mark.map(str::to_owned);
        Ok(Self { location, client, mark, len: 0, buffer: Vec::new(), parts: None })
    }

    /// Appends bytes. Waits while the maximum number of parts is on its way.
    ///
    /// # Errors
    /// `Io`; then the upload is lost.
    pub(crate) fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.len += bytes.len() as u64;
        while !bytes.is_empty() {
            let n_begun = self.parts.as_ref().map_or(0, |parts| parts.n_begun);
            let (part_bytes, in_flight) = part_size(n_begun);
            let room = part_bytes.saturating_sub(self.buffer.len()).min(bytes.len());
            let (now, later) = bytes.split_at(room);
            if self.buffer.is_empty() && !bytes.is_empty() {
                // Growing gradually would take twice the memory.
                self.buffer.reserve_exact(part_bytes);
            }
            self.buffer.extend_from_slice(now);
            bytes = later;
            // The last part is only sent by `finish`, so that a small object is one request.
            if self.buffer.len() == part_bytes && !bytes.is_empty() {
                self.send(in_flight)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, in_flight: usize) -> Result<()> {
        let part = Bytes::from(mem::take(&mut self.buffer));
        let failed = |cause| error::of("write", &self.location, cause);
        let parts = match &mut self.parts {
            Some(parts) => parts,
            none => {
                count::request();
                let attributes = attributes(self.mark.as_deref());
                let options = PutMultipartOptions { attributes, ..PutMultipartOptions::default() };
                let key = &self.location.key;
                let begun = self.client.write(self.client.store.put_multipart_opts(key, options));
                let upload = begun.map_err(failed)?;
                none.insert(Parts { upload, sending: JoinSet::new(), n_begun: 0 })
            }
        };
        // One is filled while the others are on their way.
        self.client.write(parts.send(part, in_flight - 1)).map_err(failed)
    }

    /// Sends the rest: from now on the object exists; with `replaces` it replaces an existing one.
    ///
    /// # Errors
    /// `Usage` without `replaces` if another object has the name; one of the same length and mark
    /// counts as this one. `Io`; then no part of it remains.
    pub(crate) fn finish(mut self, replaces: bool) -> Result<()> {
        let rest = Bytes::from(mem::take(&mut self.buffer));
        let wanted = Stat { len: self.len, mark: self.mark.clone() };
        let is_this = |found: &Stat| *found == wanted && found.mark.is_some();
        let refuse_other = |found: Option<Stat>| match found {
            Some(found) if is_this(&found) => Ok(()),
            _ => Err(Error::exists("output", &self.location.path)),
        };
        let Some(parts) = &mut self.parts else {
            let mode = if replaces { PutMode::Overwrite } else { PutMode::Create };
            return match put_as(&self.location, rest, self.mark.as_deref(), mode) {
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
                    refuse_other(stat(&self.location.path)?)
                }
                put => put,
            };
        };
        // Stores complete a multipart upload even if the name is taken.
        if !replaces && let Some(found) = stat(&self.location.path)? {
            return refuse_other(Some(found));
        }
        count::request();
        let finished = self.client.write(async {
            parts.send(rest, IN_FLIGHT).await?;
            parts.wait_for(0).await?;
            parts.upload.complete().await
        });
        crate::store::forget(&self.location.path);
        let Err(cause) = finished else {
            self.parts = None;
            return Ok(());
        };
        // If the answer was lost and the request repeated, the upload is already complete.
        match stat(&self.location.path) {
            Ok(Some(found)) if is_this(&found) => {
                self.parts = None;
                Ok(())
            }
            _ => Err(error::of("write", &self.location, cause)),
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(mut parts) = self.parts.take() {
            // A later clean-up finds parts that cannot be aborted now.
            let _ = self.client.write(parts.abort());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stores accept ten thousand parts.
    #[test]
    fn parts_grow_so_that_an_object_can_have_half_a_terabyte() {
        let bytes: u64 = (0..10_000).map(|number| part_size(number).0 as u64).sum();
        assert!(bytes > 500 << 30);
        assert_eq!((part_size(3999).0, part_size(4000).0), (PART_BYTES, LARGE_PART_BYTES));
    }
}
