//! Finds and lists objects under a URL.
use crate::place::{Below, Kind};
use crate::store::{
    client::Client,
    error, hugging_face, lists,
    location::{Location, Scheme},
    memo::Memo,
    object::Object,
    odd,
};
use fdconvert_core::{Error, Result};
use futures_util::{StreamExt as _, TryFutureExt as _, TryStreamExt as _};
use object_store::ObjectMeta;
use std::{
    io,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::xxh3_64;

pub(crate) static LOOKS: Memo<Option<Kind>> = Memo::new();

/// Files that identify a folder on servers that cannot list: manifests of fdconvert and of MosaicML
/// Streaming.
const MARKS: [&str; 4] =
    ["fdconvert.json", "fdconvert-mixed.json", "_fdconvert.json", "index.json"];

/// Returns the kind of a URL's target; `None` if nothing exists. A plain web server cannot report
/// folders, so only one with a manifest (`fdconvert.json`, `fdconvert-mixed.json` or `index.json`)
/// is recognised.
///
/// # Errors
/// `Usage` for an invalid URL; `Io`.
pub(crate) fn look(path: &Path) -> Result<Option<Kind>> {
    let location = Location::parse(path)?;
    if let Some(found) = LOOKS.get(path) {
        return Ok(found);
    }
    let found = ask(&location)?;
    LOOKS.put(path, found);
    Ok(found)
}

fn ask(location: &Location) -> Result<Option<Kind>> {
    let has_extension = location.path.extension().is_some();
    // Each check is a request, so start with the likelier one.
    if has_extension && let Some(found) = object(location)? {
        return Ok(Some(found));
    }
    if is_folder(location)? {
        return Ok(Some(Kind::Folder));
    }
    if has_extension { Ok(None) } else { object(location) }
}

/// Lists a folder, sorted by name; empty if nothing exists.
///
/// # Errors
/// `Usage` for an invalid URL; `Io`, also for servers that cannot list.
pub(crate) fn list(path: &Path) -> Result<Vec<(PathBuf, Kind)>> {
    let location = Location::parse(path)?;
    let mut entries = match location.scheme {
        Scheme::Http => {
            let what = "a web server does not say what it has; give the URL of a file, or of a \
                        folder with a manifest";
            return Err(Error::io("list", path)(io::Error::new(io::ErrorKind::Unsupported, what)));
        }
        Scheme::Hf => hugging_face::list(&location)?,
        _ => list_in(&location)?,
    };
    entries.sort_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
    Ok(entries)
}

/// Maximum number of concurrent list requests.
const LISTS: usize = 32;

/// Passes all objects at any depth below a folder to `take`, in no order: lists the direct
/// subfolders concurrently, a thousand objects per request, and keeps only those in memory.
///
/// # Errors
/// `Usage` for an invalid URL; `Io`, also for servers that cannot list; those of `take`.
pub(crate) fn list_below(path: &Path, take: &mut dyn FnMut(Below) -> Result<()>) -> Result<()> {
    let location = Location::parse(path)?;
    if matches!(location.scheme, Scheme::Http | Scheme::Hf) {
        let what = "single images are read from s3://, gs:// and az:// only";
        return Err(Error::io("list", path)(io::Error::new(io::ErrorKind::Unsupported, what)));
    }
    let client = Client::of(&location)?;
    odd::forget(&location);
    let failed = |cause| error::of("list", &location, cause);
    let top = client.read(lists::right_in(&client, &location).map_err(failed))?;
    let root = location.key.as_ref();
    let mut see = |meta: &ObjectMeta, within| match below(root, meta, within) {
        Some(found) => take(found),
        None => Ok(()),
    };
    top.objects.iter().try_for_each(|meta| see(meta, None))?;
    client.read(async {
        let lists = (0..).zip(&top.common_prefixes).map(|(number, folder): (u32, _)| {
            lists::below(&client, &location.base, folder.clone())
                .map_ok(move |meta| (number, meta))
                .boxed()
        });
        let mut found = futures_util::stream::iter(lists).flatten_unordered(LISTS);
        while let Some((number, meta)) = found.try_next().await.map_err(failed)? {
            see(&meta, Some(number))?;
        }
        Ok(())
    })
}

fn below(root: &str, meta: &ObjectMeta, within: Option<u32>) -> Option<Below> {
    let key = meta.location.as_ref().strip_prefix(root)?;
    let path = key.strip_prefix('/').unwrap_or(key).into();
    let tag = match &meta.e_tag {
        Some(tag) => xxh3_64(tag.as_bytes()),
        None => xxh3_64(&meta.last_modified.timestamp_micros().to_le_bytes()),
    };
    Some(Below { path, within, len: meta.size, tag })
}

fn object(location: &Location) -> Result<Option<Kind>> {
    if location.key.as_ref().is_empty() {
        return Ok(None);
    }
    // Opened rather than queried, because its start is read next.
    match Object::open(&location.path) {
        Ok(_) => Ok(Some(Kind::File)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_folder(location: &Location) -> Result<bool> {
    if !location.is_listed() {
        for name in MARKS {
            match Object::open(&location.path.join(name)) {
                Ok(_) => return Ok(true),
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        return Ok(false);
    }
    if location.scheme == Scheme::Hf {
        return Ok(!hugging_face::list(location)?.is_empty());
    }
    let client = Client::of(location)?;
    let first = client.open(location, async {
        let first = lists::below(&client, &location.base, location.key.clone());
        let first = first.boxed().next().await;
        first.transpose().map_err(|cause| error::of("open", location, cause))
    });
    match first {
        Ok(Some(_)) => Ok(true),
        Ok(None) => match odd::left_out(&location.path) {
            Some(note) => {
                let what = format!("nothing else exists; {note}");
                Err(Error::io("open", &location.path)(io::Error::other(what)))
            }
            None => Ok(false),
        },
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn list_in(location: &Location) -> Result<Vec<(PathBuf, Kind)>> {
    let client = Client::of(location)?;
    let listed = lists::right_in(&client, location);
    let listed = client.read(listed.map_err(|cause| error::of("list", location, cause)))?;
    let name = |key: &object_store::path::Path| key.filename().map(ToOwned::to_owned);
    let objects = listed.objects.iter().filter_map(|meta| {
        let path = location.path.join(name(&meta.location)?);
        Some((path, Kind::File))
    });
    let folders = listed
        .common_prefixes
        .iter()
        .filter_map(|key| Some((location.path.join(name(key)?), Kind::Folder)));
    Ok(objects.chain(folders).collect())
}

pub(crate) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}
