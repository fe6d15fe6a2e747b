//! Objects that several processes write, each only if it knows what is there.
//!
//! The store decides: a request with a condition (`If-None-Match: *`, `If-Match`) is carried out
//! for one of several that are sent at the same time. Nothing here is remembered.
use crate::{
    client::Client,
    count, error, find, lists,
    location::Location,
    write::{until_answered, writable},
};
use bytes::Bytes;
use fdconvert_core::{Error, Result, named};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::{Error as Cause, GetOptions, PutMode, PutOptions, UpdateVersion};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Version of an object, the same as long as no one writes it again.
#[derive(Debug, Clone)]
pub struct Version(UpdateVersion);

/// An object as it is now.
#[derive(Debug, Clone)]
pub struct Current {
    /// All of it.
    pub bytes: Bytes,
    /// Which one it is.
    pub version: Version,
    /// When it was written, since 1970, by the clock of the store; to the second with most.
    pub modified: Duration,
}

/// An object as a list tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The part of its key after the folder.
    pub name: String,
    /// In bytes.
    pub len: u64,
    /// As [`Current::modified`].
    pub modified: Duration,
}

/// Reads an object of at most `max_bytes`, as it is now; `None` where there is none.
///
/// # Errors
/// `Usage` for what is no URL; `Limit` when it is larger; `Io`.
pub fn current(path: &Path, max_bytes: u64) -> Result<Option<Current>> {
    let location = Location::parse(path)?;
    let client = Client::of(&location)?;
    let asked = until_answered(|| {
        client.wait(async {
            let answer = client.store.get_opts(&location.key, GetOptions::default()).await?;
            let meta = answer.meta.clone();
            let bytes = if meta.size <= max_bytes { answer.bytes().await? } else { Bytes::new() };
            Ok((meta, bytes))
        })
    });
    let (meta, bytes) = match asked.map_err(|cause| error::of("read", &location, cause)) {
        Ok(found) => found,
        Err(error) if find::is_missing(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    count::received(bytes.len());
    if meta.size > max_bytes {
        return Err(Error::Limit {
            what: format!("the size of {}", path.display()).into(),
            limit: named::MAX_FILE_BYTES.with(max_bytes),
            asked: meta.size,
        });
    }
    let version = Version(UpdateVersion { e_tag: meta.e_tag, version: meta.version });
    Ok(Some(Current {
        bytes,
        version,
        modified: since_1970(meta.last_modified.timestamp_millis()),
    }))
}

/// Writes an object if nothing has the name; `None` where something has. `bytes` are those of no
/// other writer: by them it is known whose the object is when an answer is lost.
///
/// # Errors
/// `Usage` for what is no URL, and for stores that are read only; `Io`.
pub fn create(path: &Path, bytes: &Bytes) -> Result<Option<Version>> {
    write_if(path, bytes, PutMode::Create)
}

/// Writes an object if it is still that version; `None` where it is not, or there is none. `bytes`
/// as for [`create`].
///
/// # Errors
/// As for [`create`].
pub fn update(path: &Path, bytes: &Bytes, version: &Version) -> Result<Option<Version>> {
    write_if(path, bytes, PutMode::Update(version.0.clone()))
}

fn write_if(path: &Path, bytes: &Bytes, mode: PutMode) -> Result<Option<Version>> {
    let location = writable(path)?;
    let client = Client::of(&location)?;
    let options = PutOptions { mode, ..PutOptions::default() };
    let put = until_answered(|| {
        let (bytes, options) = (bytes.clone().into(), options.clone());
        client.wait(client.store.put_opts(&location.key, bytes, options))
    });
    crate::forget(path);
    match put {
        Ok(put) => Ok(Some(Version(UpdateVersion { e_tag: put.e_tag, version: put.version }))),
        // Also where our own request was carried out, its answer was lost, and it was repeated.
        Err(Cause::AlreadyExists { .. } | Cause::Precondition { .. } | Cause::NotFound { .. }) => {
            let found = current(path, bytes.len() as u64);
            match found {
                Ok(found) => Ok(found.filter(|it| it.bytes == bytes).map(|it| it.version)),
                Err(Error::Limit { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        }
        Err(cause) => Err(error::of("write", &location, cause)),
    }
}

/// Lists what lies right in a folder, and when it was written; folders in it are left out.
///
/// # Errors
/// `Usage` for what is no URL; `Io`.
pub fn list_times(folder: &Path) -> Result<Vec<Listed>> {
    let location = Location::parse(folder)?;
    let client = Client::of(&location)?;
    let listed = client.wait(lists::right_in(&client, &location));
    let listed = listed.map_err(|cause| error::of("list", &location, cause))?;
    let objects = listed.objects.iter().filter_map(|meta| {
        let name = meta.location.filename()?.to_owned();
        let modified = since_1970(meta.last_modified.timestamp_millis());
        Some(Listed { name, len: meta.size, modified })
    });
    Ok(objects.collect())
}

/// Deletes objects of one bucket, those that are there: up to a thousand with one request, where
/// the store offers that.
///
/// # Errors
/// `Usage` for what is no URL, and for stores that are read only; `Io`.
pub fn delete_all(paths: &[PathBuf]) -> Result<()> {
    let Some(first) = paths.first() else { return Ok(()) };
    let locations: Vec<_> = paths.iter().map(|path| writable(path)).collect::<Result<_>>()?;
    let client = Client::of(&writable(first)?)?;
    count::request();
    let keys: Vec<_> = locations.iter().map(|location| Ok(location.key.clone())).collect();
    let deleted = client.wait(async {
        let mut deleting = client.store.delete_stream(futures_util::stream::iter(keys).boxed());
        loop {
            match deleting.try_next().await {
                Ok(None) => return Ok(()),
                Ok(Some(_)) | Err(Cause::NotFound { .. }) => {}
                Err(cause) => return Err(cause),
            }
        }
    });
    paths.iter().for_each(|path| crate::forget(path));
    match (deleted, locations.first()) {
        (Err(cause), Some(location)) => Err(error::of("delete", location, cause)),
        _ => Ok(()),
    }
}

fn since_1970(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or_default())
}
