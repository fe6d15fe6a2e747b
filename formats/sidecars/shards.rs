//! What a format of shards hands over. Offsets and names come from the shards themselves, by the
//! walk that also reads other tools' shards.
use super::{Sidecar, TABLE};
use crate::tar::Group;
use fdconvert_core::{Error, Provenance, Result, Schema};
use std::path::{Path, PathBuf};

pub(crate) struct ShardFile {
    /// Its path within the dataset, with `/` as separator.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) split: String,
    pub(crate) n_samples: u64,
    pub(crate) bytes: u64,
}

/// Called with every sample of a shard.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&Group<'_>) -> Result<()>;

/// Walks the shard at a path; returns the number of samples and of bytes.
pub(crate) type Walk<'a> = &'a dyn Fn(&Path, Visit<'_>) -> Result<(u64, u64)>;

/// A dataset with all its shards.
#[derive(Clone, Copy)]
pub(crate) struct Shards<'a> {
    pub(crate) out: &'a Path,
    pub(crate) files: &'a [ShardFile],
    pub(crate) schema: &'a Schema,
    /// Member names of the fields, in schema order; several names of one field are separated by
    /// `;`.
    pub(crate) members: &'a [String],
    pub(crate) walk: Walk<'a>,
    pub(crate) provenance: Option<&'a Provenance>,
}

/// Path and contents of a file to write. Its folder may not exist yet.
pub(crate) type Output = (PathBuf, Vec<u8>);

/// Makes the files of a kind.
pub(super) type Files = fn(&Shards<'_>) -> Result<Vec<Output>>;

/// Makes the files of these kinds.
///
/// # Errors
/// `Corrupt` or `Unsupported` for an invalid shard, `Usage` when a reader does not support this
/// dataset, `Io`.
pub(crate) fn files(kinds: &[&str], shards: &Shards<'_>) -> Result<Vec<Output>> {
    make(kinds, shards, |kind| [kind.of_each, kind.of_all])
}

/// Makes those files of these kinds that are about all shards.
///
/// # Errors
/// As for [`files`].
pub(crate) fn files_of_all(kinds: &[&str], shards: &Shards<'_>) -> Result<Vec<Output>> {
    make(kinds, shards, |kind| [None, kind.of_all])
}

fn make(
    kinds: &[&str],
    shards: &Shards<'_>,
    of: impl Fn(&Sidecar) -> [Option<Files>; 2],
) -> Result<Vec<Output>> {
    let mut outputs = Vec::new();
    for make in TABLE.iter().filter(|it| kinds.contains(&it.name)).flat_map(of).flatten() {
        outputs.extend(make(shards)?);
    }
    Ok(outputs)
}

/// Returns the name of a shard's files without their extension, if a sidecar is about one shard.
pub(crate) fn shard_of(name: &str) -> Option<&str> {
    [".tar.idx", ".idx", "_stats.json"].iter().find_map(|end| name.strip_suffix(end))
}

impl<'a> Shards<'a> {
    /// The splits with their shards, in order of their first shard.
    pub(super) fn by_split(&self) -> Vec<(&'a str, Vec<&'a ShardFile>)> {
        let mut splits: Vec<(&str, Vec<&ShardFile>)> = Vec::new();
        for file in self.files {
            match splits.iter_mut().find(|(split, _)| *split == file.split) {
                Some((_, files)) => files.push(file),
                None => splits.push((&file.split, vec![file])),
            }
        }
        splits
    }

    /// Calls `visit` with the samples of a shard, in order, and compares their number.
    pub(super) fn walk(
        &self,
        file: &ShardFile,
        mut visit: impl FnMut(&Group<'_>) -> Result<()>,
    ) -> Result<()> {
        let (n_samples, bytes) = (self.walk)(&file.path, &mut visit)?;
        if (n_samples, bytes) != (file.n_samples, file.bytes) {
            let what = format!(
                "{n_samples} samples in {bytes} bytes; {} in {} were written",
                file.n_samples, file.bytes
            );
            return Err(Error::corrupt("tar", &*file.path, 0, what));
        }
        Ok(())
    }
}
