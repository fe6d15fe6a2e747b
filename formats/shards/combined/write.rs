use super::{ALIGNMENT, Combined, MOST_APART, NAME};
use crate::{index::HEADER_MAGIC, shards::record::is_missing};
use fdconvert_core::{Error, Result};
use fdconvert_storage::{
    Appended, Scratch, map, open_all, partial_path,
    place::{self, is_url},
};
use std::path::{Path, PathBuf};

/// Number of indexes read at the same time, if they are small.
const AT_ONCE: u64 = 32;
/// Approximate limit of their bytes in memory: the indexes of shards are of similar size.
const HELD_BYTES: u64 = 64 << 20;

/// Writes the combined index of a dataset in `out` with these indexes of shards, in order, before
/// the manifest that will name it. If they are too few for one, that of an earlier run is removed.
/// `is_known` is true if the existing manifest names one.
///
/// # Errors
/// `Usage` for a foreign file of that name; `Io`.
pub(crate) fn write(
    out: &Path,
    indexes: &[PathBuf],
    fingerprint: [u8; 16],
    is_known: bool,
) -> Result<Option<Combined>> {
    if indexes.len() <= MOST_APART {
        remove(out)?;
        return Ok(None);
    }
    let path = out.join(NAME);
    if !is_known && place::exists(&path)? && !is_ours(&path)? {
        let what = format!(
            "{} exists and is not of this dataset: move it away and run again, which resumes here",
            path.display()
        );
        return Err(Error::usage("output", what));
    }
    let mut file = Appended::start(&path, is_left(&partial_path(&path))?, fingerprint)?;
    let mut lengths: Vec<u64> = Vec::with_capacity(indexes.len());
    let mut rest = indexes;
    while !rest.is_empty() {
        // The first one alone, because the lengths are not known yet.
        let longest = lengths.iter().copied().max().unwrap_or(HELD_BYTES);
        let n_now = (HELD_BYTES / longest.max(1)).clamp(1, AT_ONCE) as usize;
        let (now, later) = rest.split_at(n_now.min(rest.len()));
        for block in open_all(out, now, |index| place::whole(index)) {
            let block = block?;
            file.append(&block)?;
            let len = block.len() as u64;
            let n_zeros = len.next_multiple_of(ALIGNMENT) - len;
            file.append([0; ALIGNMENT as usize].get(..n_zeros as usize).unwrap_or_default())?;
            lengths.push(len);
        }
        rest = later;
    }
    file.commit(true)?;
    Ok(Some(Combined { name: NAME.to_owned(), lengths, blocks: None }))
}

/// Returns the combined index of the next version of a dataset: that of the version `before` while
/// all but a few shards have a block in it, else one that is written to `stage`. `kept` has the
/// position of each shard in the version before, if it was there. With `renew` nothing stays of
/// shards that are gone.
///
/// # Errors
/// `Io`.
pub(crate) fn edited(
    before: Option<&Combined>,
    kept: &[Option<usize>],
    renew: bool,
    indexes: &[PathBuf],
    stage: (&Path, [u8; 16]),
) -> Result<Option<Combined>> {
    let blocks = |before: &Combined| -> Vec<Option<usize>> {
        kept.iter().map(|shard| before.block((*shard)?)).collect()
    };
    if let Some(before) = before.filter(|_| !renew && indexes.len() == kept.len()) {
        let blocks = blocks(before);
        if blocks.iter().filter(|block| block.is_none()).count() <= MOST_APART {
            return Ok(Some(Combined { blocks: Some(blocks), ..before.clone() }));
        }
    }
    let (stage, fingerprint) = stage;
    write(stage, indexes, fingerprint, true)
}

/// Removes the combined index of a dataset that no longer has one, and the unfinished one of a
/// killed run. Other files of that name stay.
///
/// # Errors
/// `Io`.
pub(crate) fn remove(out: &Path) -> Result<()> {
    let path = out.join(NAME);
    let partial = partial_path(&path);
    if is_left(&partial)? {
        // Removed on drop, unless another process is writing it.
        Scratch::open(&partial)?.own();
    }
    if is_ours(&path)? { place::remove(&path) } else { Ok(()) }
}

/// Returns true if a file begins like the first block, in addition to having the name.
fn is_ours(path: &Path) -> Result<bool> {
    match place::read_start(path, HEADER_MAGIC.len()) {
        Ok(start) => Ok(start == HEADER_MAGIC[..]),
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns true if a file is the unfinished one of a killed run: it begins like a block, or has
/// only zeros, as after a power loss.
fn is_left(partial: &Path) -> Result<bool> {
    // An object has no unfinished form, and anything but a file is refused when it is opened.
    if is_url(partial) || !std::fs::symlink_metadata(partial).is_ok_and(|found| found.is_file()) {
        return Ok(false);
    }
    let left = map(partial)?;
    Ok(left.starts_with(&HEADER_MAGIC) || left.iter().all(|byte| *byte == 0))
}
