//! Which files of a folder are in which split.
use super::ParquetReader;
use fdconvert_core::{Shard, Splits, packed_splits, split_named};
use std::path::{Path, PathBuf};

/// Files with the names of their splits: by the name of the folder that they lie in, or else by the
/// start of their own, as Hugging Face names them.
pub(crate) fn with_splits(folder: &Path, files: Vec<PathBuf>) -> Vec<(PathBuf, String)> {
    let split = |path: &PathBuf| match path.parent().filter(|parent| *parent != folder) {
        Some(parent) => {
            let name = parent.file_name().unwrap_or_default().to_string_lossy();
            split_named(&name).map_or_else(|| of_name(path), str::to_owned)
        }
        None => of_name(path),
    };
    let mut named: Vec<_> = files.into_iter().map(|path| (split(&path), path)).collect();
    // The samples of a split follow each other, the splits in the order of their first file.
    let mut order: Vec<String> = Vec::new();
    for (split, _) in &named {
        if !order.contains(split) {
            order.push(split.clone());
        }
    }
    named.sort_by_key(|(split, _)| order.iter().position(|known| known == split));
    named.into_iter().map(|(split, path)| (path, split)).collect()
}

/// `train` of `train-00000-of-00005.parquet`, of `train.parquet` and of `photos-train.parquet`; names
/// that are numbers alone say nothing.
fn of_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let start = stem.split('-').next().unwrap_or_default();
    let is_number = !start.is_empty() && start.bytes().all(|byte| byte.is_ascii_digit());
    // As `pack` names the files of several splits: `photos-train.parquet`.
    let last = stem.rsplit('-').next().and_then(split_named);
    match split_named(start).or(last) {
        Some(split) => split.to_owned(),
        None if start.is_empty() || is_number => Shard::DEFAULT_SPLIT.to_owned(),
        None => start.to_owned(),
    }
}

pub(crate) fn of(reader: &ParquetReader) -> Splits {
    packed_splits(reader.parts.iter().map(|part| (part.split.as_str(), part.file.n_rows)))
}
