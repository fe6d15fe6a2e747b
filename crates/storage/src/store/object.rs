use crate::spill;
use crate::store::{
    ahead::{Announcement, Shelves},
    client::Client,
    count, error, find,
    location::Location,
    memo::{Memo, Start},
};
use bytes::Bytes;
use fdconvert_core::{Error, Result, option};
use object_store::{Error as Cause, GetOptions, GetRange, ObjectMeta};
use std::{
    io,
    ops::Range,
    path::Path,
    sync::{Arc, OnceLock},
};

/// Number of tries of an interrupted body that cannot be resumed.
const TRIES: u32 = 4;

/// Bytes fetched together with the length of an object.
const START_BYTES: u64 = 64 << 10;
/// The same for documents and indexes, which are read as a whole: most need no second request.
const DOCUMENT_BYTES: u64 = 1 << 20;

pub(crate) static STARTS: Memo<Option<Start>> = Memo::new();

/// An object that is read by ranges. Many threads may read at the same time.
#[derive(Debug)]
pub(crate) struct Object {
    location: Location,
    len: u64,
    /// Set by the first answer; later answers must have the same tag.
    e_tag: OnceLock<Option<String>>,
    start: Bytes,
    pub(crate) announced: Shelves,
}

impl Object {
    /// Requests the length and the first bytes.
    ///
    /// # Errors
    /// `Usage` for an invalid URL; `Io`, with the store's answer and a cure.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let location = Location::parse(path)?;
        let found = match STARTS.get(path) {
            Some(found) => found,
            None => {
                let found = start_of(&location)?;
                STARTS.put(path, found.clone());
                found
            }
        };
        let Some(Start { len, e_tag, bytes }) = found else {
            let cause = io::Error::new(io::ErrorKind::NotFound, "there is no such object");
            return Err(Error::io("read", path)(cause));
        };
        Ok(Self {
            start: bytes,
            e_tag: e_tag.map_or_else(OnceLock::new, |tag| Some(tag).into()),
            ..Self::known(location, len)
        })
    }

    /// Opens an object of known length, for example from a manifest, without a request.
    ///
    /// # Errors
    /// `Usage` for an invalid URL.
    pub(crate) fn with_len(path: &Path, len: u64) -> Result<Self> {
        Ok(Self::known(Location::parse(path)?, len))
    }

    fn known(location: Location, len: u64) -> Self {
        let (e_tag, start, announced) = Default::default();
        Self { location, len, e_tag, start, announced }
    }

    /// Returns the length in bytes.
    #[must_use]
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Reads exactly `len` bytes from `offset` on.
    ///
    /// # Errors
    /// `Io`, with object and offset, when the range is out of bounds, the object has changed since
    /// it was opened, or the store refuses.
    pub(crate) fn read(&self, offset: u64, len: u64) -> Result<Bytes> {
        let end = offset.checked_add(len).filter(|&end| end <= self.len);
        let Some(end) = end else {
            let what = format!("{len} bytes at byte {offset}: it has {} bytes", self.len);
            return Err(self.error(io::ErrorKind::UnexpectedEof, what));
        };
        if end <= self.start.len() as u64 {
            // Both are below the length of the bytes in memory.
            return Ok(self.start.slice(offset as usize..end as usize));
        }
        if len == 0 {
            return Ok(Bytes::new());
        }
        if let Some(bytes) = self.announced.read(offset..end) {
            return Ok(bytes);
        }
        let client = self.client()?;
        client.read(self.request(&client, offset, end))
    }

    /// Copies the object to an unnamed file.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn whole(&self) -> Result<Bytes> {
        let mut offset = 0;
        spill(|buffer| {
            let len = (self.len - offset).min(buffer.len() as u64);
            let bytes = self.read(offset, len)?;
            offset += len;
            // As many as requested, or an error.
            buffer.get_mut(..bytes.len()).unwrap_or_default().copy_from_slice(&bytes);
            Ok(bytes.len())
        })
    }

    /// Starts to fetch ranges (offset and length) that will be read soon, nearby ones together: a
    /// read of one of them returns the fetched bytes, and waits for them if necessary. Other reads
    /// are not affected, and a range that could not be fetched is read as usual.
    ///
    /// A process has at most 128 such requests in flight, plus those that a read waits for. The
    /// caller limits the number of announced bytes: they are kept until the result is dropped.
    pub(crate) fn announce(
        self: &Arc<Self>,
        ranges: impl IntoIterator<Item = (u64, u64)>,
    ) -> Announcement {
        let inside = |(offset, len): (u64, u64)| {
            let end = offset.checked_add(len).filter(|&end| end <= self.len)?;
            (end > self.start.len() as u64).then_some(offset..end)
        };
        Announcement::new(self, ranges.into_iter().filter_map(inside).collect())
    }

    pub(crate) fn client(&self) -> Result<Client> {
        Client::of(&self.location)
    }

    /// Requests bytes, and compares the answer with the known facts of the object.
    pub(crate) async fn request(&self, client: &Client, offset: u64, end: u64) -> Result<Bytes> {
        let e_tag = self.e_tag.get().cloned().flatten();
        let range = GetRange::Bounded(offset..end);
        let (meta, range, bytes) = get(client, &self.location, range, e_tag).await?;
        if self.e_tag.get_or_init(|| meta.e_tag.clone()) != &meta.e_tag || meta.size != self.len {
            let what = format!("it was changed since it was opened: it has {} bytes", meta.size);
            return Err(self.error(io::ErrorKind::Other, what));
        }
        let len = end - offset;
        if range != (offset..end) || bytes.len() as u64 != len {
            let what = format!(
                "{len} bytes at byte {offset} were requested, and {} at {} came",
                bytes.len(),
                range.start
            );
            return Err(self.error(io::ErrorKind::UnexpectedEof, what));
        }
        Ok(bytes)
    }

    fn error(&self, kind: io::ErrorKind, what: String) -> Error {
        Error::io("read", &self.location.path)(io::Error::new(kind, what))
    }
}

/// Reads a whole object of at most `max_bytes`.
///
/// # Errors
/// `Io`; `Limit` when it is larger (the option `max_file_bytes`).
pub(crate) fn read(path: &Path, max_bytes: u64) -> Result<Bytes> {
    let object = Object::open(path)?;
    if object.len > max_bytes {
        return Err(Error::Limit {
            what: format!("the size of {}", path.display()),
            asked: object.len,
            most: max_bytes,
            option: option::MAX_FILE_BYTES,
        });
    }
    let start = object.start.clone();
    match object.len.checked_sub(start.len() as u64) {
        None | Some(0) => object.read(0, object.len),
        Some(n_left) => {
            Ok([start.clone(), object.read(start.len() as u64, n_left)?].concat().into())
        }
    }
}

/// Like [`read`]; `None` if the object does not exist. Always asks the store, even after a recent
/// negative answer: another process may have written it.
///
/// # Errors
/// Those of [`read`].
pub(crate) fn read_if_there(path: &Path, max_bytes: u64) -> Result<Option<Bytes>> {
    if matches!(STARTS.get(path), Some(None)) {
        STARTS.forget(path);
    }
    match read(path, max_bytes) {
        Err(error) if find::is_missing(&error) => Ok(None),
        found => found.map(Some),
    }
}

/// Reads the first bytes of an object, at most `n_bytes`: fewer if it is shorter.
///
/// # Errors
/// `Io`.
pub(crate) fn read_start(path: &Path, n_bytes: u64) -> Result<Bytes> {
    let object = Object::open(path)?;
    object.read(0, n_bytes.min(object.len))
}

/// Length, tag and first bytes; `None` if the object does not exist.
fn start_of(location: &Location) -> Result<Option<Start>> {
    let is_document = location
        .path
        .extension()
        .is_some_and(|extension| extension == "json" || extension == "fdx");
    let n_bytes = if is_document { DOCUMENT_BYTES } else { START_BYTES };
    let client = Client::of(location)?;
    client.open(location, async {
        match get(&client, location, GetRange::Bounded(0..n_bytes), None).await {
            Ok((meta, _, bytes)) => Ok(Some(Start { len: meta.size, e_tag: meta.e_tag, bytes })),
            Err(error) if find::is_missing(&error) => Ok(None),
            // An empty object has no first byte.
            Err(error) => match head(&client, location).await? {
                meta if meta.size == 0 => {
                    Ok(Some(Start { len: 0, e_tag: meta.e_tag, bytes: Bytes::new() }))
                }
                _ => Err(error),
            },
        }
    })
}

async fn head(client: &Client, location: &Location) -> Result<ObjectMeta> {
    count::request();
    let options = GetOptions { head: true, ..GetOptions::default() };
    let found = client.store.get_opts(&location.key, options).await;
    Ok(found.map_err(|cause| error::of("open", location, cause))?.meta)
}

/// Returns the store's metadata of the object, the range of bytes that it sends, and the bytes.
async fn get(
    client: &Client,
    location: &Location,
    range: GetRange,
    if_match: Option<String>,
) -> Result<(ObjectMeta, Range<u64>, Bytes)> {
    let options = GetOptions { range: Some(range), if_match, ..GetOptions::default() };
    let ask = async || {
        let answer = client.store.get_opts(&location.key, options.clone()).await?;
        let (meta, range) = (answer.meta.clone(), answer.range.clone());
        Ok::<_, Cause>((meta, range, answer.bytes().await?))
    };
    let mut n_tries = 0;
    loop {
        count::request();
        n_tries += 1;
        match ask().await {
            Ok(answer) => {
                count::received(answer.2.len());
                return Ok(answer);
            }
            // The client resumes interrupted bodies if it can: not if the answer had no tag, or the
            // rest had another one.
            Err(cause) if n_tries < TRIES && error::is_broken_body(&cause) => {}
            Err(cause) => return Err(error::of("read", location, cause)),
        }
    }
}

/// Reads a whole object of at most `max_bytes` by one request; `None` if it is longer, or the store
/// refuses.
pub(crate) async fn get_whole(
    client: &Client,
    location: &Location,
    max_bytes: u64,
) -> Option<Bytes> {
    count::request();
    let answer = client.store.get_opts(&location.key, GetOptions::default()).await.ok()?;
    let size = answer.meta.size;
    if size > max_bytes {
        return None;
    }
    let bytes = answer.bytes().await.ok()?;
    count::received(bytes.len());
    (bytes.len() as u64 == size).then_some(bytes)
}
