//! Tars as files: by which names they go, compressed or not, and what they hold.
use crate::tar::entries;
use bytes::Bytes;
use fdconvert_core::{Codec, Error, MaxDecompressed, Result, named};
use fdconvert_storage::{
    map,
    place::{self, is_url},
};
#[cfg(feature = "compressed")]
use std::io::Read;
use std::path::Path;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Bytes of a compressed tar that are looked at.
#[cfg(feature = "compressed")]
const LOOKED_AT: u64 = 8 << 20;

/// Returns whether a file is called as tars are that are read here.
pub(crate) fn is_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let hidden = name.starts_with(b".");
    let suffixes: [&[u8]; 4] = [b".tar", b".tar.gz", b".tgz", b".tar.zst"];
    !hidden && suffixes.iter().any(|suffix| name.ends_with(suffix))
}

/// Returns whether a file begins as a tar does, compressed or not.
pub(crate) fn starts_as_one(path: &Path) -> bool {
    let start = place::read_start(path, 512).unwrap_or_default();
    is_compressed(&start) || start.get(257..262) == Some(b"ustar")
}

pub(crate) fn is_compressed(start: &[u8]) -> bool {
    start.starts_with(&GZIP) || start.starts_with(&ZSTD)
}

/// Returns whether a tar on a disk is a folder of images that was put into an archive, and no shard
/// of samples: its images lie in folders, and no file beside an image has the name of that. Looks at
/// all headers, but of what is compressed at the start only, and stops where a sample shows.
pub(crate) fn is_folder(path: &Path) -> bool {
    if is_url(path) {
        return false;
    }
    let Ok(file) = map(path) else { return false };
    if is_compressed(&file) {
        return start_of(&file).is_some_and(|start| are_in_folders(&start, true));
    }
    are_in_folders(&file, false)
}

fn are_in_folders(archive: &[u8], is_cut: bool) -> bool {
    let mut has_images = false;
    let mut last: Option<(Vec<u8>, bool)> = None;
    for entry in entries(archive) {
        let name = match &entry {
            Ok(entry) => entry.name.strip_prefix(b"./").unwrap_or(&entry.name),
            Err(_) => return has_images && is_cut,
        };
        let is_shown = |part: &[u8]| !part.starts_with(b".") && !part.starts_with(b"__");
        let dot = name.iter().rposition(|&byte| byte == b'.');
        let Some((stem, extension)) = dot.and_then(|dot| name.split_at_checked(dot)) else {
            continue;
        };
        if !name.split(|&byte| byte == b'/').all(is_shown) {
            continue;
        }
        let extension = std::str::from_utf8(extension).unwrap_or_default();
        let is_image = Codec::from_extension(extension.trim_start_matches('.')).is_some();
        if is_image && !name.contains(&b'/') {
            return false;
        }
        let is_beside = |one: &[u8], other: &[u8]| {
            other.strip_prefix(one).is_some_and(|rest| matches!(rest.first(), None | Some(b'.')))
        };
        if let Some((before, was_image)) = &last
            && (is_image || *was_image)
            && (is_beside(before, stem) || is_beside(stem, before))
        {
            return false;
        }
        has_images |= is_image;
        last = Some((stem.to_vec(), is_image));
    }
    has_images
}

#[cfg(not(feature = "compressed"))]
fn start_of(_: &Bytes) -> Option<Vec<u8>> {
    None
}

/// The start of what is compressed.
#[cfg(feature = "compressed")]
fn start_of(file: &Bytes) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    let mut read = |decoder: &mut dyn Read| decoder.take(LOOKED_AT).read_to_end(&mut start);
    let n_read = if file.starts_with(&GZIP) {
        read(&mut flate2::read::MultiGzDecoder::new(&file[..]))
    } else {
        read(&mut zstd::stream::read::Decoder::with_buffer(&file[..]).ok()?)
    };
    n_read.ok()?;
    Some(start)
}

/// The bytes of a compressed tar, in a file without a name. `budget` is what this one and those
/// after it may take.
#[cfg(not(feature = "compressed"))]
pub(crate) fn inflate(path: &Path, _: &Bytes, _: MaxDecompressed, _: &mut u64) -> Result<Bytes> {
    let what = "it is compressed, and this build lacks the feature `compressed`".into();
    Err(Error::Unsupported { format: "tar", path: path.to_path_buf(), what })
}

#[cfg(feature = "compressed")]
pub(crate) fn inflate(
    path: &Path,
    file: &Bytes,
    limit: MaxDecompressed,
    budget: &mut u64,
) -> Result<Bytes> {
    let mut decompress =
        |decoder: &mut dyn Read| decompress(path, file.len() as u64, decoder, limit, budget);
    if file.starts_with(&GZIP) {
        return decompress(&mut flate2::read::MultiGzDecoder::new(&file[..]));
    }
    let decoder = zstd::stream::read::Decoder::with_buffer(&file[..]);
    decompress(&mut decoder.map_err(Error::io("decompress", path))?)
}

#[cfg(feature = "compressed")]
fn decompress(
    path: &Path,
    stored: u64,
    decoder: &mut dyn Read,
    limit: MaxDecompressed,
    budget: &mut u64,
) -> Result<Bytes> {
    let most = limit.of(stored).min(*budget);
    let mut len = 0_u64;
    let archive = fdconvert_storage::spill(|buffer| {
        let n_read = decoder.read(buffer).map_err(|cause| {
            Error::corrupt("tar", path, len, format!("cannot be decompressed: {cause}"))
        })?;
        len += n_read as u64;
        if len > most { Err(over(path, stored, len, limit)) } else { Ok(n_read) }
    })?;
    *budget -= len;
    Ok(archive)
}

#[cfg(feature = "compressed")]
fn over(path: &Path, stored: u64, len: u64, limit: MaxDecompressed) -> Error {
    if len > limit.of(stored) {
        return limit.refuse(path, stored, len);
    }
    Error::Limit {
        what: format!(
            "the decompressed size of {} and the tars before it, which can also be decompressed \
             to files first,",
            path.display()
        )
        .into(),
        limit: named::MAX_DECOMPRESSED.with(limit.total()),
        asked: limit.total().saturating_add(1),
    }
}
