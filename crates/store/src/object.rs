use crate::{
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

/// Tries of a body that breaks off and cannot be continued.
const TRIES: u32 = 4;

/// Bytes that come with the answer that tells how long an object is.
const START_BYTES: u64 = 64 << 10;
/// The same of documents and indexes, which are read as a whole: most need no second request.
const DOCUMENT_BYTES: u64 = 1 << 20;

pub(crate) static STARTS: Memo<Option<Start>> = Memo::new();

/// An object that is read by ranges. Many threads may read at the same time.
#[derive(Debug)]
pub struct Object {
    location: Location,
    len: u64,
    /// Set by the first answer; later ones must be of the same object.
    e_tag: OnceLock<Option<String>>,
    start: Bytes,
    pub(crate) announced: Shelves,
}

impl Object {
    /// Asks for the length and the first bytes.
    ///
    /// # Errors
    /// `Usage` for what is no URL; `Io`, saying what the store answered and what to do.
    pub fn open(path: &Path) -> Result<Self> {
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

    /// An object whose length is known from elsewhere, such as a manifest: nothing is asked.
    ///
    /// # Errors
    /// `Usage` for what is no URL.
    pub fn with_len(path: &Path, len: u64) -> Result<Self> {
        Ok(Self::known(Location::parse(path)?, len))
    }

    fn known(location: Location, len: u64) -> Self {
        let (e_tag, start, announced) = Default::default();
        Self { location, len, e_tag, start, announced }
    }

    /// Bytes of the object.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its URL.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.location.path
    }

    /// The bytes from `offset` on, exactly `len` of them.
    ///
    /// # Errors
    /// `Io`, naming object and offset, when it does not have them, was changed since it was opened,
    /// or the store refuses.
    pub fn read(&self, offset: u64, len: u64) -> Result<Bytes> {
        let end = offset.checked_add(len).filter(|&end| end <= self.len);
        let Some(end) = end else {
            let what = format!("{len} bytes at byte {offset}: it has {} bytes", self.len);
            return Err(self.error(io::ErrorKind::UnexpectedEof, what));
        };
        if end <= self.start.len() as u64 {
            // Both are below the length of what is in memory.
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

    /// Begins to fetch ranges (offset and length) that will be read soon, near ones together: a
    /// read of one of them takes what was fetched, and waits for it if need be. Any other read is
    /// what it is without, and so is one of a range that could not be fetched.
    ///
    /// At most 128 such requests of a process are in flight, and those that a read waits for. How
    /// many bytes are announced is the caller's business: they are kept until the result is dropped.
    pub fn announce(
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

    /// Asks for bytes, and compares the answer with what is known of the object.
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

/// A whole object of at most `max_bytes`.
///
/// # Errors
/// `Io`; `Limit` when it is larger (the option `max_file_bytes`).
pub fn read(path: &Path, max_bytes: u64) -> Result<Bytes> {
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

/// The same; `None` where there is no such object, also now, if there was none a moment ago: another
/// process may have written it.
///
/// # Errors
/// Those of [`read`].
pub fn read_if_there(path: &Path, max_bytes: u64) -> Result<Option<Bytes>> {
    if matches!(STARTS.get(path), Some(None)) {
        STARTS.forget(path);
    }
    match read(path, max_bytes) {
        Err(error) if find::is_missing(&error) => Ok(None),
        found => found.map(Some),
    }
}

/// The first bytes of an object, at most `n_bytes`: fewer where it is shorter.
///
/// # Errors
/// `Io`.
pub fn read_start(path: &Path, n_bytes: u64) -> Result<Bytes> {
    let object = Object::open(path)?;
    object.read(0, n_bytes.min(object.len))
}

/// Length, tag and first bytes; `None` where there is no such object.
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

/// Returns the store's metadata of the object, the range of bytes that it sends, and these.
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
            // The client has continued bodies that broke off, where it could: where the answer had
            // no tag, or that of the rest was another one, it could not.
            Err(cause) if n_tries < TRIES && error::is_broken_body(&cause) => {}
            Err(cause) => return Err(error::of("read", location, cause)),
        }
    }
}

/// A whole object of at most `max_bytes`, by one request; `None` where it is longer, or the store
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
