//! Files that may be compressed by gzip.
use super::files::refuse;
use crate::folder::Folder;
use bytes::Bytes;
use fdconvert_core::Result;
use fdconvert_storage::read_file;
use std::path::Path;

/// The bytes of a file, decompressed if its name ends in `.gz`.
pub(super) fn read(file: &Path, how: &Folder) -> Result<Bytes> {
    let bytes = read_file(file, how.limits.max_file_bytes)?;
    match file.extension().is_some_and(|it| it.eq_ignore_ascii_case("gz")) {
        true => inflated(file, &bytes, how),
        false => Ok(bytes),
    }
}

#[cfg(any(feature = "compressed", feature = "zip"))]
fn inflated(file: &Path, bytes: &[u8], how: &Folder) -> Result<Bytes> {
    use std::io::Read;
    let (stored, mut inflated) = (bytes.len() as u64, Vec::new());
    let most = how.max_decompressed.of(stored);
    // The buffer grows with what comes, not with what a header claims.
    let read = flate2::read::GzDecoder::new(bytes).take(most.saturating_add(1));
    let mut read = read;
    read.read_to_end(&mut inflated).map_err(|error| refuse(file, format!("not gzip: {error}")))?;
    let asked = inflated.len() as u64;
    if asked > most {
        return Err(how.max_decompressed.refuse(file, stored, asked));
    }
    Ok(inflated.into())
}

#[cfg(not(any(feature = "compressed", feature = "zip")))]
fn inflated(file: &Path, _: &[u8], _: &Folder) -> Result<Bytes> {
    Err(refuse(file, "this build cannot decompress gzip: run `gunzip` on it first"))
}
