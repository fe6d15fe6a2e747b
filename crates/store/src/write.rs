//! Objects that are written: whole, or in parts while they are made.
//!
//! An object appears with its last byte, or not at all: stores have no half objects. What a
//! process that was killed has sent of one stays with the store, out of sight, until it is
//! [aborted](crate::abort_unfinished).
use crate::{client::Client, count, error, find, location::Location, object};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use object_store::{
    Attribute, Attributes, Error as Cause, GetOptions, MultipartUpload, ObjectStoreExt as _,
    PutMode, PutMultipartOptions, PutOptions,
};
use std::{borrow::Cow, fmt, io, mem, path::Path, thread, time::Duration};
use tokio::task::JoinSet;

/// Bytes of a part. Stores take ten thousand parts of an object.
const PART_BYTES: usize = 8 << 20;
/// Parts after which they grow, so that an object can be larger than stores take of such parts.
const SMALL_PARTS: u64 = 4000;
/// Bytes of a part from then on.
const LARGE_PART_BYTES: usize = 96 << 20;
/// Parts that are on their way, beside the one that is filled, while they are small.
const IN_FLIGHT: usize = 4;
/// Before the second of the same requests, and at most: ten of them in a minute.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(26);
/// Name of marks among the attributes of an object.
const MARK: &str = "fdconvert";

/// Bytes of the part of that number, from 0, and how many such parts may be on their way together.
fn part_size(number: u32) -> (usize, usize) {
    if u64::from(number) < SMALL_PARTS { (PART_BYTES, IN_FLIGHT) } else { (LARGE_PART_BYTES, 1) }
}

/// Size and mark of an object, as the store tells them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// In bytes.
    pub len: u64,
    /// The mark that it was written with.
    pub mark: Option<String>,
}

/// Asks for an object, also where it was asked for a moment ago; `None` where there is none.
///
/// # Errors
/// `Usage` for what is no URL; `Io`.
pub fn stat(path: &Path) -> Result<Option<Stat>> {
    let location = Location::parse(path)?;
    let client = Client::of(&location)?;
    count::request();
    let options = GetOptions { head: true, ..GetOptions::default() };
    let found = client.wait(client.store.get_opts(&location.key, options));
    match found.map_err(|cause| error::of("access", &location, cause)) {
        Ok(found) => {
            let mark = found.attributes.get(&Attribute::Metadata(MARK.into()));
            Ok(Some(Stat { len: found.meta.size, mark: mark.map(|mark| mark.to_string()) }))
        }
        Err(error) if find::is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes an object, in the place of any that has the name.
///
/// # Errors
/// `Usage` for what is no URL, and for stores that are read only; `Io`.
pub fn put(path: &Path, bytes: Bytes, mark: Option<&str>) -> Result<()> {
    let location = writable(path)?;
    put_as(&location, bytes, mark, PutMode::Overwrite)
}

/// Writes an object if nothing has the name; the result tells whether the object is there with
/// these bytes now, be it by another writer.
///
/// # Errors
/// As for [`put`].
pub fn put_new(path: &Path, bytes: &Bytes, mark: Option<&str>) -> Result<bool> {
    let location = writable(path)?;
    loop {
        match put_as(&location, bytes.clone(), mark, PutMode::Create) {
            // Also by ourselves, where the answer was lost and the request was repeated.
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
            put => return put.map(|()| true),
        }
        match object::read(path, bytes.len() as u64) {
            Ok(found) => return Ok(found == bytes),
            Err(Error::Limit { .. }) => return Ok(false),
            // Deleted since by its writer: the name is free.
            Err(error) if find::is_missing(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn put_as(location: &Location, bytes: Bytes, mark: Option<&str>, mode: PutMode) -> Result<()> {
    let client = Client::of(location)?;
    let options = PutOptions { mode, attributes: attributes(mark), ..PutOptions::default() };
    let put = until_answered(|| {
        let (bytes, options) = (bytes.clone().into(), options.clone());
        client.wait(client.store.put_opts(&location.key, bytes, options))
    });
    crate::forget(&location.path);
    put.map(|_| ()).map_err(|cause| error::of("write", location, cause))
}

/// Deletes an object, if it is there.
///
/// # Errors
/// As for [`put`].
pub fn delete(path: &Path) -> Result<()> {
    let location = writable(path)?;
    let client = Client::of(&location)?;
    let deleted = until_answered(|| client.wait(client.store.delete(&location.key)));
    crate::forget(path);
    match deleted.map_err(|cause| error::of("delete", &location, cause)) {
        Err(error) if find::is_missing(&error) => Ok(()),
        deleted => deleted,
    }
}

/// Asks again, with growing pauses, where no answer came to what may be done twice. `object_store`
/// repeats such requests only where they give the same answer twice.
pub(crate) fn until_answered<T>(mut ask: impl FnMut() -> Result<T, Cause>) -> Result<T, Cause> {
    let mut pause = FIRST_PAUSE;
    loop {
        count::request();
        match ask() {
            Err(cause) if pause <= LAST_PAUSE && error::is_unanswered(&cause) => {
                thread::sleep(pause);
                pause *= 2;
            }
            answer => return answer,
        }
    }
}

/// Refuses a store that cannot be written to. Whether this user may is another question.
///
/// # Errors
/// `Usage`, naming those that can; also for what is no URL.
pub fn refuse_read_only(path: &Path) -> Result<()> {
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

/// An object that is written from its start to its end. A small one is one request, a large one is
/// sent in parts of 8 MiB, four of them at a time; larger parts come only after 32 GB. Dropped
/// unfinished, what was sent is given up.
pub struct Upload {
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
    /// Waits until at most so many parts are on their way.
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

    async fn abort(&mut self) {
        self.sending.shutdown().await;
        // What cannot be given up now is found by a clean-up.
        let _ = self.upload.abort().await;
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("to", &self.location.path).field("len", &self.len).finish()
    }
}

impl Upload {
    /// Nothing is sent yet.
    ///
    /// # Errors
    /// `Usage` for what is no URL, and for stores that are read only.
    pub fn start(path: &Path, mark: Option<&str>) -> Result<Self> {
        let location = writable(path)?;
        let client = Client::of(&location)?;
        let mark = mark.map(str::to_owned);
        Ok(Self { location, client, mark, len: 0, buffer: Vec::new(), parts: None })
    }

    /// Appends bytes. Waits when as many parts are on their way as may be.
    ///
    /// # Errors
    /// `Io`; then the upload is lost.
    pub fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.len += bytes.len() as u64;
        while !bytes.is_empty() {
            let n_begun = self.parts.as_ref().map_or(0, |parts| parts.n_begun);
            let (part_bytes, in_flight) = part_size(n_begun);
            let room = part_bytes.saturating_sub(self.buffer.len()).min(bytes.len());
            let (now, later) = bytes.split_at(room);
            if self.buffer.is_empty() && !bytes.is_empty() {
                // Grown little by little it would take twice as much.
                self.buffer.reserve_exact(part_bytes);
            }
            self.buffer.extend_from_slice(now);
            bytes = later;
            // The last part is sent when it is known to be the last: a small object is one request.
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
                let begun = self.client.wait(self.client.store.put_multipart_opts(key, options));
                let upload = begun.map_err(failed)?;
                none.insert(Parts { upload, sending: JoinSet::new(), n_begun: 0 })
            }
        };
        // One is filled while the others are on their way.
        self.client.wait(parts.send(part, in_flight - 1)).map_err(failed)
    }

    /// Sends the rest: from now on the object is there, with `replaces` in the place of any that has
    /// the name. Without, the result is false where another one has it; one of the same length and
    /// mark counts as this one.
    ///
    /// # Errors
    /// `Io`; then there is nothing of it.
    pub fn finish(mut self, replaces: bool) -> Result<bool> {
        let rest = Bytes::from(mem::take(&mut self.buffer));
        let wanted = Stat { len: self.len, mark: self.mark.clone() };
        let is_this = |found: &Stat| *found == wanted && found.mark.is_some();
        let Some(parts) = &mut self.parts else {
            let mode = if replaces { PutMode::Overwrite } else { PutMode::Create };
            return match put_as(&self.location, rest, self.mark.as_deref(), mode) {
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
                    Ok(stat(&self.location.path)?.as_ref().is_some_and(is_this))
                }
                put => put.map(|()| true),
            };
        };
        // Stores complete an upload in parts whatever has the name.
        if !replaces && let Some(found) = stat(&self.location.path)? {
            return Ok(is_this(&found));
        }
        count::request();
        let finished = self.client.wait(async {
            parts.send(rest, IN_FLIGHT).await?;
            parts.wait_for(0).await?;
            parts.upload.complete().await
        });
        crate::forget(&self.location.path);
        let Err(cause) = finished else {
            self.parts = None;
            return Ok(true);
        };
        // Where the answer was lost and the request was repeated, there is nothing to finish.
        match stat(&self.location.path) {
            Ok(Some(found)) if is_this(&found) => {
                self.parts = None;
                Ok(true)
            }
            _ => Err(error::of("write", &self.location, cause)),
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(mut parts) = self.parts.take() {
            self.client.run(parts.abort());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stores take ten thousand parts.
    #[test]
    fn parts_grow_so_that_an_object_can_have_half_a_terabyte() {
        let bytes: u64 = (0..10_000).map(|number| part_size(number).0 as u64).sum();
        assert!(bytes > 500 << 30);
        assert_eq!((part_size(3999).0, part_size(4000).0), (PART_BYTES, LARGE_PART_BYTES));
    }
}
