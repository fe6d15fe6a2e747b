//! What a walk found, kept for the next one: `../SPEC.md`, "The listing cache".
use crate::folder::{
    layout::join,
    links::Target,
    listing::Listing,
    walk::{Found, Traces},
    words::Words,
};
use fdconvert_core::{Error, Ignored, Named, Result, bytes::u64_at, named};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8; 8] = b"FDLIST\r\n";
const VERSION: u32 = 3;
const HEADER_BYTES: usize = 32;
/// Ten million files take half a gigabyte.
const MAX_BODY_BYTES: usize = 4 << 30;
const OPTION: Named = named::LISTING_CACHE;
/// Clocks of file systems tick this seldom: what changed since may have the same time.
const YOUNG_NANOS: i128 = 2_000_000_000;

/// A folder as it was when it was listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenFolder {
    path: Vec<u8>,
    dev: u64,
    ino: u64,
    /// Times of the last change of the names in it, and of anything about it: seconds, nanoseconds.
    mtime: (i64, i64),
    ctime: (i64, i64),
}

/// A link as it was when its folder was listed: following it again tells whether it still leads
/// there, which the folder's time does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenLink {
    pub(crate) path: Vec<u8>,
    pub(crate) target: Target,
}

/// The body of the file.
#[derive(Serialize, Deserialize)]
struct Body {
    root: Vec<u8>,
    /// Nanoseconds since 1970 when the walk began.
    began: i128,
    folders: Vec<SeenFolder>,
    links: Vec<SeenLink>,
    listing: Vec<u8>,
    class_names: Vec<String>,
    empty: Vec<String>,
    ignored: Ignored,
    /// Bytes of every file.
    sizes: Vec<u64>,
}

impl SeenFolder {
    pub(crate) fn look(root: &Path, path: &[u8]) -> Result<Self> {
        let folder = join(root, path);
        let metadata = fs::metadata(&folder).map_err(Error::io("look at", &folder))?;
        Ok(Self {
            path: path.to_vec(),
            dev: metadata.dev(),
            ino: metadata.ino(),
            mtime: (metadata.mtime(), metadata.mtime_nsec()),
            ctime: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    fn is_older_than(&self, began: i128) -> bool {
        let nanos =
            |(seconds, nanos): (i64, i64)| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        nanos(self.mtime).max(nanos(self.ctime)) < began - YOUNG_NANOS
    }
}

/// Nanoseconds since 1970.
#[allow(
    clippy::disallowed_methods,
    reason = "a cache is not an output, and compares times of folders"
)]
pub(crate) fn now() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(i128::MAX))
}

/// Returns what a cache holds of a folder that is as it was, or why it is not used.
pub(crate) fn load(file: &Path, root: &Path) -> Result<Result<(Found, Words), String>> {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            return Ok(Err("there is none yet".to_owned()));
        }
        Err(cause) => return Err(Error::io("read", file)(cause)),
    };
    if bytes.get(..8) != Some(MAGIC) {
        let what = format!(
            "{} exists and is not a listing cache; choose another name for it",
            file.display()
        );
        return Err(Error::usage(OPTION, what));
    }
    let body = match parse(&bytes) {
        Ok(body) => body,
        Err(why) => return Ok(Err(why.to_owned())),
    };
    let within = real(root)?;
    if body.root != within.as_os_str().as_bytes() {
        return Ok(Err("it is of another folder".to_owned()));
    }
    for folder in &body.folders {
        let there = SeenFolder::look(root, &folder.path);
        if !there.is_ok_and(|there| there == *folder) {
            return Ok(Err(format!("{} has changed", join(root, &folder.path).display())));
        }
        if !folder.is_older_than(body.began) {
            let folder = join(root, &folder.path);
            let what = "had changed less than 2 seconds before it was listed";
            return Ok(Err(format!("{} {what}", folder.display())));
        }
    }
    for link in &body.links {
        let path = join(root, &link.path);
        if !Target::of(&path, Some(&within)).is_ok_and(|target| target == link.target) {
            return Ok(Err(format!("{} does not lead where it did", path.display())));
        }
    }
    let listing = Listing::from_bytes(&body.listing)?;
    Ok(match listing.filter(|listing| listing.len() == body.sizes.len() as u64) {
        None => Err("its listing is none".to_owned()),
        Some(listing) => {
            let Body { class_names, ignored, empty, sizes, .. } = body;
            let sizes = Words::collect(sizes.into_iter().map(Ok))?;
            Ok((Found { listing, class_names, ignored, empty }, sizes))
        }
    })
}

/// Keeps what a walk that began at `began` found.
pub(crate) fn store(
    file: &Path,
    root: &Path,
    began: i128,
    traces: Traces,
    found: &Found,
    sizes: &Words,
) -> Result<()> {
    let body = Body {
        root: real(root)?.into_os_string().into_encoded_bytes(),
        began,
        folders: traces.folders,
        links: traces.links,
        listing: found.listing.to_bytes()?.into(),
        class_names: found.class_names.clone(),
        ignored: found.ignored.clone(),
        empty: found.empty.clone(),
        sizes: sizes.iter().collect(),
    };
    let body = bincode::serde::encode_to_vec(&body, numbers())
        .map_err(|cause| Error::io("encode", file)(io::Error::other(cause)))?;
    let header = [
        &MAGIC[..],
        &VERSION.to_le_bytes(),
        &0_u32.to_le_bytes(),
        &(body.len() as u64).to_le_bytes(),
        &xxh3_64(&body).to_le_bytes(),
    ];
    fdconvert_storage::replace(file, &[&header.concat(), &body[..]].concat())
}

fn parse(bytes: &[u8]) -> Result<Body, &'static str> {
    let word = |at| u64_at(bytes, at).ok_or("it is cut short");
    if word(8)? != u64::from(VERSION) {
        return Err("it is of another version");
    }
    let body = bytes.get(HEADER_BYTES..).unwrap_or_default();
    if word(16)? != body.len() as u64 || word(24)? != xxh3_64(body) {
        return Err("it is damaged");
    }
    match bincode::serde::decode_from_slice(body, numbers()) {
        Ok((body, len)) if len == bytes.len() - HEADER_BYTES => Ok(body),
        _ => Err("it is damaged"),
    }
}

/// Little endian, of fixed width.
fn numbers() -> impl bincode::config::Config {
    bincode::config::standard()
        .with_little_endian()
        .with_fixed_int_encoding()
        .with_limit::<MAX_BODY_BYTES>()
}

fn real(root: &Path) -> Result<PathBuf> {
    fs::canonicalize(root).map_err(Error::io("open", root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_found_whatever_is_cut_or_flipped() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache");
        let found = Found {
            listing: Listing::default(),
            class_names: vec!["a".into()],
            ignored: Ignored::default(),
            empty: Vec::new(),
        };
        let link = SeenLink { path: b"l".to_vec(), target: Target::Folder(b"/x".to_vec()) };
        let folders = vec![SeenFolder::look(folder.path(), b"").unwrap()];
        let traces = Traces { folders, links: vec![link] };
        store(&file, folder.path(), now(), traces, &found, &Words::default()).unwrap();
        let bytes = fs::read(&file).unwrap();
        assert_eq!(parse(&bytes).map(|body| body.class_names).unwrap(), ["a"]);
        for len in 8..bytes.len() {
            assert!(parse(&bytes[..len]).is_err(), "cut at {len}");
        }
        // The magic is looked at before.
        for at in 8..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(parse(&flipped).is_err(), "byte {at}");
        }
    }
}
