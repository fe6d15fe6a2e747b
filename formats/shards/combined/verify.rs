use super::{Combined, Place, total};
use crate::shards::record::is_missing;
use fdconvert_core::{Error, Result};
use fdconvert_storage::{Blob, open_all, place};
use std::path::{Path, PathBuf};

/// Compares the combined index at `path` with the indexes of the shards: every byte belongs to one of
/// them, or is a zero between two. Blocks of shards that an edit has replaced are not compared.
pub(crate) fn verify(
    format: &'static str,
    path: &Path,
    combined: &Combined,
    indexes: &[PathBuf],
) -> Vec<Error> {
    let damaged = |offset: u64, what: &str| {
        let cure =
            "pack the dataset again, which keeps its shards, or make it by `fdconvert index`";
        Error::corrupt(format, path, offset, format!("{what}; {cure}"))
    };
    let blob = match Blob::open(path) {
        Ok(blob) => blob,
        Err(error) if is_missing(&error) => return vec![damaged(0, "it is missing")],
        Err(error) => return vec![error],
    };
    let places = combined.places().unwrap_or_default();
    if blob.len() != total(&places) {
        let what = format!("it has {} bytes, not {}", blob.len(), total(&places));
        return vec![damaged(blob.len().min(total(&places)), &what)];
    }
    let of_shard = |(shard, index)| Some((*places.get(combined.block(shard)?)?, index));
    let items: Vec<_> = indexes.iter().enumerate().filter_map(of_shard).collect();
    let check = |&(place, index): &(Place, &PathBuf)| match first_difference(&blob, place, index) {
        Ok(None) => None,
        Ok(Some(offset)) => {
            let name = index.file_name().unwrap_or_default();
            Some(damaged(offset, &format!("it is not what {} has", name.display())))
        }
        Err(error) => Some(error),
    };
    open_all(path, &items, check).into_iter().flatten().collect()
}

/// Returns the offset of the first byte that differs from the index followed by zeros.
fn first_difference(blob: &Blob, place: Place, index: &Path) -> Result<Option<u64>> {
    let block = blob.read(place.offset, place.end - place.offset)?.unwrap_or_default();
    let wanted = place::whole(index)?;
    if wanted.len() as u64 != place.len {
        return Ok(Some(place.offset));
    }
    let wanted = wanted.iter().chain(std::iter::repeat(&0));
    let at = block.iter().zip(wanted).position(|(found, wanted)| found != wanted);
    Ok(at.map(|at| place.offset + at as u64))
}
