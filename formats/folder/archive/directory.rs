//! The central directory of a zip, read once: it alone determines the contents of the zip.
use super::{Member, names::path_of, wrapping::Wrapping};
use crate::folder::{
    beside,
    objects::{Objects, ObjectsBuilder},
};
use bytes::Bytes;
use fdconvert_core::{Error, Ignored, Result};
use fdconvert_storage::place::{self, Below, is_url};
use rawzip::{ErrorKind, ZipArchive, ZipFileHeaderRecord, ZipSliceArchive};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

const FORMAT: &str = "zip";
/// Bytes of a local header before the name.
const LOCAL_HEADER_BYTES: u64 = 30;
/// File type bits of a member's mode, and those of a regular file and of a folder.
const MODE_KIND: u32 = 0o170_000;
const MODE_FILE: u32 = 0o100_000;
const MODE_FOLDER: u32 = 0o040_000;
/// Old tools store the number of members modulo this, in 16 bits.
const MAX_SHORT_COUNT: u64 = 1 << 16;

/// Returns true if a path is that of a zip: by its name or its first bytes; in a store by its name
/// alone, to save a request.
pub(crate) fn looks_like_zip(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
    if is_url(path) {
        return is_named;
    }
    let start = || place::read_start(path, 4).unwrap_or_default();
    place::is_file(path)
        && (is_named || matches!(&*start(), b"PK\x03\x04" | b"PK\x05\x06" | b"PK\x07\x08"))
}

/// Contents of the directory of a zip.
pub(crate) struct Directory {
    pub(crate) zip: ZipSliceArchive<Bytes>,
    pub(super) members: Vec<Member>,
    pub(crate) objects: Objects,
    pub(crate) ignored: Ignored,
    pub(crate) wrapping: Option<String>,
    pub(crate) stamp: [u8; 16],
}

impl Directory {
    /// Reads the directory of the zip `bytes`; messages call it `path`.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are not a zip, and for a zip with members that overlap, lead out of
    /// it, or have the same name; `Io`.
    pub(super) fn read(path: &Path, bytes: Bytes) -> Result<Self> {
        let len = bytes.len() as u64;
        let zip = ZipArchive::from_slice(bytes).map_err(|cause| no_zip(path, len, &cause))?;
        let wrapping = check(path, &zip)?;
        let stamp = stamp(&zip);
        let prefix = wrapping.as_ref().map(|folder| format!("{folder}/")).unwrap_or_default();
        let (mut members, mut objects) = (Vec::new(), ObjectsBuilder::default());
        let mut ignored = Ignored::default();
        for entry in entries(path, &zip) {
            let (name, entry) = entry?;
            // Members outside the wrapping folder are hidden, and counted as such.
            let path = name.strip_prefix(&prefix).unwrap_or(&name);
            if path.is_empty() {
                continue;
            }
            match kind_of(&name, &entry) {
                Kind::File => {}
                Kind::Folder => {
                    let path = format!("{}/", path.trim_end_matches('/')).into_bytes();
                    objects.push(Below { path, within: None, len: 0, tag: 0 })?;
                    continue;
                }
                Kind::Link => {
                    ignored.links += 1;
                    continue;
                }
                Kind::Other => {
                    beside::count(path.as_bytes(), &mut ignored);
                    continue;
                }
            }
            let tag = members.len() as u64;
            members.push(Member {
                place: entry.wayfinder(),
                method: entry.compression_method(),
                is_encrypted: entry.flags().is_encrypted(),
            });
            let len = entry.uncompressed_size_hint();
            objects.push(Below { path: path.as_bytes().to_vec(), within: None, len, tag })?;
        }
        let objects = objects.finish()?;
        if let Some(twice) = objects.first_twice() {
            let what = format!(
                "`{}` is in it twice, and which one is meant is not said; unpack it and pack the \
                 folder",
                String::from_utf8_lossy(twice)
            );
            return Err(Error::corrupt(FORMAT, path, zip.directory_offset(), what));
        }
        Ok(Self { zip, members, objects, ignored, wrapping, stamp })
    }
}

/// The members with their paths, in the order of the directory.
fn entries<'a>(
    path: &'a Path,
    zip: &'a ZipSliceArchive<Bytes>,
) -> impl Iterator<Item = Result<(String, ZipFileHeaderRecord<'a>)>> {
    let mut at = zip.directory_offset();
    zip.entries().map(move |entry| {
        let entry = entry.map_err(|cause| {
            let what = format!("the directory is cut off or invalid: {cause}");
            Error::corrupt(FORMAT, path, at, what)
        })?;
        at = entry.central_directory_offset();
        let name = path_of(&entry).map_err(|why| {
            let name = entry.file_path();
            let name = String::from_utf8_lossy(name.as_ref());
            Error::corrupt(FORMAT, path, at, format!("the name `{name}` {why}"))
        })?;
        Ok((name, entry))
    })
}

/// Checks the rules for the whole zip, and finds the wrapping folder.
fn check(path: &Path, zip: &ZipSliceArchive<Bytes>) -> Result<Option<String>> {
    let damaged = |at: u64, what: String| Error::corrupt(FORMAT, path, at, what);
    let (mut spans, mut wrapping) = (Vec::new(), Wrapping::default());
    for entry in entries(path, zip) {
        let (name, entry) = entry?;
        wrapping.note(&name);
        let start = entry.local_header_offset();
        let end = start
            .checked_add(LOCAL_HEADER_BYTES)
            .and_then(|data| data.checked_add(entry.compressed_size_hint()))
            .filter(|end| *end <= zip.directory_offset());
        let end = end.ok_or_else(|| {
            damaged(start, format!("the data of `{name}` would end behind those of all files"))
        })?;
        spans.push((start, end));
    }
    let (n_found, n_claimed) = (spans.len() as u64, zip.entries_hint());
    // Old tools count to 65,535 and restart at 0.
    if n_found != n_claimed && n_found % MAX_SHORT_COUNT != n_claimed {
        let what = format!("it has {n_found} entries and claims {n_claimed}");
        return Err(damaged(zip.directory_offset(), what));
    }
    spans.sort_unstable();
    for pair in spans.windows(2) {
        if let [(_, end), (next, _)] = pair
            && end > next
        {
            return Err(damaged(*next, "entries overlap, as those of bombs do".to_owned()));
        }
    }
    Ok(wrapping.folder())
}

enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// Returns the kind of a member: by the final slash of its name, and by its mode if it has one.
fn kind_of(name: &str, entry: &ZipFileHeaderRecord<'_>) -> Kind {
    let mode = entry.mode();
    match mode.value() & MODE_KIND {
        _ if name.ends_with('/') => Kind::Folder,
        _ if mode.is_symlink() => Kind::Link,
        MODE_FOLDER => Kind::Folder,
        0 | MODE_FILE => Kind::File,
        _ => Kind::Other,
    }
}

/// Hash of the stored directory, with names, times, sizes and checksums.
fn stamp(zip: &ZipSliceArchive<Bytes>) -> [u8; 16] {
    let start = usize::try_from(zip.directory_offset()).unwrap_or(usize::MAX);
    let directory = zip.get_ref().get(start..).unwrap_or_default();
    xxh3_128(directory).to_le_bytes()
}

fn no_zip(path: &Path, len: u64, cause: &rawzip::Error) -> Error {
    let what = match cause.kind() {
        ErrorKind::MissingEndOfCentralDirectory | ErrorKind::Eof => {
            "the record at its end is missing or cut: the file was cut, or is not a zip".to_owned()
        }
        _ => format!("the record at its end is damaged: {cause}"),
    };
    Error::corrupt(FORMAT, path, len, what)
}
