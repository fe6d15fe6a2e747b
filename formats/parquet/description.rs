//! Compares the Croissant description next to a file with the file.
use super::{ParquetReader, layout::FORMAT, open::Part};
use crate::sidecars::croissant::{Described, path_of};
use fdconvert_core::{Error, Provenance, Result, Schema};
use fdconvert_storage::{Blob, read_if_there};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Limit for a description, with room for very many class names.
const MAX_BYTES: u64 = 1 << 30;
/// Bytes of a file to hash at once.
const PIECE_BYTES: u64 = 4 << 20;

/// Checks the description beside a file of fdconvert, if there is one.
pub(crate) fn problem(reader: &ParquetReader, part: &Part) -> Option<Error> {
    if !reader.is_stored {
        return None;
    }
    let made = &part.index.as_ref()?.meta().provenance;
    let path = path_of(&part.file.path);
    match compare(&reader.facts.schema, part, made, &path) {
        Ok(None) => None,
        Ok(Some(what)) => {
            let cure = "pack again, or move the description away";
            Some(Error::corrupt(FORMAT, &path, 0, format!("{what}; {cure}")))
        }
        Err(error) => Some(error),
    }
}

fn compare(
    schema: &Schema,
    part: &Part,
    made: &Provenance,
    path: &Path,
) -> Result<Option<&'static str>> {
    let Some(found) = read_if_there(path, MAX_BYTES)? else { return Ok(None) };
    let (file, bytes) = (&part.file, part.file.data.len());
    let sha256 = sha256(&file.data)?;
    let described = Described { path: &file.path, bytes, sha256, schema, made };
    // Compare parsed: another build may order members differently.
    let parse = |text: &[u8]| serde_json::from_slice::<Value>(text).ok();
    let (found, wanted) = (parse(&found), parse(&described.document()));
    if found.is_some() && found == wanted {
        return Ok(None);
    }
    let hash_of = |document: Option<Value>| document?.pointer("/distribution/0/sha256").cloned();
    if hash_of(found) != hash_of(wanted) {
        return Ok(Some("it describes another file than the one next to it"));
    }
    // Another version may have used other words.
    let is_of_this_version = made.tool == concat!("fdconvert ", env!("CARGO_PKG_VERSION"));
    Ok(is_of_this_version.then_some("it is not what was written with the file"))
}

fn sha256(data: &Blob) -> Result<[u8; 32]> {
    let (mut hash, mut at) = (Sha256::new(), 0);
    while at < data.len() {
        let piece = data.read(at, PIECE_BYTES.min(data.len() - at))?.unwrap_or_default();
        hash.update(&piece);
        at += PIECE_BYTES;
    }
    Ok(hash.finalize().into())
}
