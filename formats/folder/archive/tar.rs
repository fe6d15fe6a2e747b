//! A tar in place of a folder: its entries are the files.
use super::{Archive, Stored, wrapping::Wrapping};
use crate::{
    folder::{layout::check_relative, objects::ObjectsBuilder},
    tar::{SORT, entries_and_folders},
    tarball,
};
use bytes::Bytes;
use fdconvert_core::{Error, Ignored, MaxDecompressed, Result};
use fdconvert_storage::place::Below;
use std::{collections::BTreeSet, fs, path::Path, time::UNIX_EPOCH};
use xxhash_rust::xxh3::Xxh3;

const FORMAT: &str = "tar";

/// Opens the tar `file`; messages call it `path`.
///
/// # Errors
/// `Corrupt` for a damaged tar, for names that lead out of it, and for duplicate names;
/// `Unsupported` for one with links; `Limit` for one that is too large decompressed; `Io`.
pub(super) fn open(path: &Path, file: Bytes, limit: MaxDecompressed) -> Result<Archive> {
    let bytes = if tarball::is_compressed(&file) {
        let bytes = tarball::inflate(path, &file, limit, &mut limit.total())?;
        // So far only its start has been read.
        if let Some(beside) = tarball::look_at(&bytes, false).beside {
            return Err(no_folder(path, &beside));
        }
        bytes
    } else {
        file
    };
    let (mut wrapping, mut hash) = (Wrapping::default(), Xxh3::new());
    let (mut files, mut folders) = (Vec::new(), BTreeSet::new());
    let entries = entries_and_folders(&bytes, |name| {
        folders.insert(name.to_vec());
    });
    for entry in entries {
        let entry = entry.map_err(|error| error.at(path))?;
        let name = relative(path, entry.header, &entry.name)?;
        wrapping.note(&String::from_utf8_lossy(&name));
        hash.update(&name);
        for number in [name.len() as u64, entry.data, entry.len] {
            hash.update(&number.to_le_bytes());
        }
        files.push((name, entry.data, entry.len));
    }
    let folders: BTreeSet<Vec<u8>> =
        folders.iter().filter_map(|name| relative(path, 0, name).ok()).collect();
    for name in &folders {
        wrapping.note(&format!("{}/", String::from_utf8_lossy(name)));
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
    for folder in folders {
        let folder = [&folder, &b"/"[..]].concat();
        let below = folder.strip_prefix(prefix.as_bytes()).unwrap_or(&folder);
        if !below.is_empty() {
            objects.push(Below { path: below.to_vec(), within: None, len: 0, tag: 0 })?;
        }
    }
    let objects = objects.finish()?;
    if let Some(twice) = objects.first_twice() {
        let what = format!(
            "`{}` is in it twice, and which one is meant is not said; unpack it and pack the folder",
            String::from_utf8_lossy(twice)
        );
        return Err(Error::corrupt(FORMAT, path, 0, what));
    }
    // A tar has no checksums of its files, but a tar that was written again has another time.
    let written = fs::metadata(path).and_then(|it| it.modified()).ok();
    let written = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    hash.update(&written.unwrap_or_default().as_nanos().to_le_bytes());
    let (path, stored) = (path.to_path_buf(), Stored::Tar { bytes, members });
    let (ignored, stamp) = (Ignored::default(), hash.digest128().to_le_bytes());
    Ok(Archive { path, stored, objects, ignored, wrapping, stamp, max_decompressed: limit })
}

/// The path of an entry below the archive's folder. Repeated slashes count as one.
fn relative(path: &Path, at: u64, name: &[u8]) -> Result<Vec<u8>> {
    let shown = || String::from_utf8_lossy(name);
    if name.starts_with(b"/") {
        let what = format!(
            "`{}` is an absolute name, as `tar -P` writes it, and files of a dataset are named by \
             their place in it: pack the archive again without -P",
            shown()
        );
        return Err(Error::Unsupported { format: FORMAT, path: path.into(), what: what.into() });
    }
    let parts: Vec<&[u8]> = name.split(|&byte| byte == b'/').filter(|it| !it.is_empty()).collect();
    let joined = parts.join(&b'/');
    let relative = joined.strip_prefix(b"./").unwrap_or(&joined);
    check_relative(relative)
        .map_err(|why| Error::corrupt(FORMAT, path, at, format!("the name `{}` {why}", shown())))?;
    Ok(relative.to_vec())
}

fn no_folder(path: &Path, beside: &[u8]) -> Error {
    let what = format!(
        "`{}` has the name of a file far from it, so that both are of one sample, whose files have to \
         are side by side: make the tar again with its names in order, e.g. by {SORT}",
        String::from_utf8_lossy(beside)
    );
    Error::Unsupported { format: FORMAT, path: path.into(), what: what.into() }
}
