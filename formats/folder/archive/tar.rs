//! A tar in the place of a folder: its entries are the files.
use super::{Archive, Stored, wrapping::Wrapping};
use crate::{
    folder::{layout::check_relative, objects::ObjectsBuilder},
    tar::entries,
    tarball,
};
use bytes::Bytes;
use fdconvert_core::{Error, Ignored, MaxDecompressed, Result};
use fdconvert_storage::place::Below;
use std::{fs, path::Path, time::UNIX_EPOCH};
use xxhash_rust::xxh3::Xxh3;

const FORMAT: &str = "tar";

/// Opens the tar `file`, which messages call `path`.
///
/// # Errors
/// `Corrupt` for one that is damaged, with names that lead out of it, or with one name twice;
/// `Unsupported` for one with links; `Limit` for one that is too large decompressed; `Io`.
pub(super) fn open(path: &Path, file: Bytes, limit: MaxDecompressed) -> Result<Archive> {
    let bytes = if tarball::is_compressed(&file) {
        tarball::inflate(path, &file, limit, &mut limit.total())?
    } else {
        file
    };
    let (mut wrapping, mut hash) = (Wrapping::default(), Xxh3::new());
    let mut files = Vec::new();
    for entry in entries(&bytes) {
        let entry = entry.map_err(|error| error.at(path))?;
        let name = entry.name.strip_prefix(b"./").unwrap_or(&entry.name);
        let shown = String::from_utf8_lossy(name);
        check_relative(name).map_err(|why| {
            Error::corrupt(FORMAT, path, entry.header, format!("the name `{shown}` {why}"))
        })?;
        wrapping.note(&shown);
        hash.update(name);
        for number in [name.len() as u64, entry.data, entry.len] {
            hash.update(&number.to_le_bytes());
        }
        files.push((name.to_vec(), entry.data, entry.len));
    }
    let wrapping = wrapping.folder();
    let prefix = wrapping.as_ref().map(|folder| format!("{folder}/")).unwrap_or_default();
    let (mut members, mut objects) = (Vec::new(), ObjectsBuilder::default());
    for (name, data, len) in files {
        let tag = members.len() as u64;
        members.push((data, len));
        let below = name.strip_prefix(prefix.as_bytes()).unwrap_or(&name).to_vec();
        objects.push(Below { path: below, within: None, len, tag })?;
    }
    let objects = objects.finish()?;
    if let Some(twice) = objects.first_twice() {
        let what = format!(
            "`{}` is in it twice, and which one is meant is not said; unpack it and pack the folder",
            String::from_utf8_lossy(twice)
        );
        return Err(Error::corrupt(FORMAT, path, 0, what));
    }
    // A tar has no checksums of its files: one that was written again has another time.
    let written = fs::metadata(path).and_then(|it| it.modified()).ok();
    let written = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    hash.update(&written.unwrap_or_default().as_nanos().to_le_bytes());
    let (path, stored) = (path.to_path_buf(), Stored::Tar { bytes, members });
    let (ignored, stamp) = (Ignored::default(), hash.digest128().to_le_bytes());
    Ok(Archive { path, stored, objects, ignored, wrapping, stamp, max_decompressed: limit })
}
