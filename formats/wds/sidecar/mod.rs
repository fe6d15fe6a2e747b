//! Files for other readers beside the shards: pure functions from finished shards to bytes.
//!
//! They depend on no clock or machine: the same shards give the same files. Offsets and names come
//! from the shards themselves, by the walk that also reads other tools' shards.

mod card;
mod croissant;
mod dali;
mod energon;
mod hf;
mod lists;
#[cfg(test)]
mod tests;

use crate::sidecars::json;
use crate::tar::Group;
use crate::wds::outline::{Outline, each_sample};
use fdconvert_core::{Codec, Error, Provenance, Result, Schema};
use std::path::{Path, PathBuf};

/// Kind of sidecar, by its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sidecar {
    /// `STEM.idx` beside each shard: DALI's index, version 1.2.
    Dali,
    /// `wids-SPLIT.json`: random access with `wids`.
    Wids,
    /// `_info.json`: lengths and splits for timm.
    Timm,
    /// `README.md`: splits, fields and class names for Hugging Face `datasets`.
    Hf,
    /// `README.md` with the contents of `hf`, sizes, and how the dataset was made.
    Card,
    /// `croissant.json` and `croissant.csv`: MLCommons Croissant 1.0.
    Croissant,
    /// `.nv-meta` and `NAME.tar.idx`: Megatron Energon, except its database `index.sqlite`, an
    /// internal layout of Energon: `energon prepare` makes it.
    Energon,
    /// `STEM_stats.json` beside each shard, as img2dataset writes it. Times are 0: a clock would
    /// change the bytes of the same dataset.
    Img2dataset,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ShardFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) split: &'a str,
    pub(crate) n_samples: u64,
    pub(crate) bytes: u64,
}

/// A dataset with all its shards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shards<'a> {
    pub(crate) out: &'a Path,
    pub(crate) files: &'a [ShardFile<'a>],
    pub(crate) schema: &'a Schema,
    /// Member names of the fields, in schema order; several names of one field are separated by
    /// `;`.
    pub(crate) members: &'a [String],
    /// Used to walk shards in a store, if they have indexes.
    pub(crate) outline: Option<&'a Outline>,
    pub(crate) provenance: Option<&'a Provenance>,
}

/// Path and contents of a file to write. Its folder may not exist yet.
pub(crate) type Output = (PathBuf, Vec<u8>);

impl Sidecar {
    /// Every kind, in a fixed order.
    pub(crate) const ALL: [Self; 8] = [
        Self::Dali,
        Self::Wids,
        Self::Timm,
        Self::Hf,
        Self::Card,
        Self::Croissant,
        Self::Energon,
        Self::Img2dataset,
    ];

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dali => "dali",
            Self::Wids => "wids",
            Self::Timm => "timm",
            Self::Hf => "hf",
            Self::Card => "card",
            Self::Croissant => "croissant",
            Self::Energon => "energon",
            Self::Img2dataset => "img2dataset",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Makes the files of this kind, in a fixed order.
    ///
    /// # Errors
    /// `Corrupt` or `Unsupported` for an invalid shard, `Usage` when the reader does not support
    /// this dataset, `Io`.
    pub(crate) fn files(self, shards: &Shards<'_>) -> Result<Vec<Output>> {
        match self {
            Self::Dali => dali::files(shards),
            Self::Wids => lists::wids(shards),
            Self::Timm => lists::timm(shards),
            Self::Hf => hf::files(shards),
            Self::Card => card::files(shards),
            Self::Croissant => croissant::files(shards),
            Self::Energon => energon::files(shards),
            Self::Img2dataset => lists::img2dataset(shards),
        }
    }
}

impl<'a> Shards<'a> {
    /// The splits with their shards, in order of their first shard.
    fn by_split(&self) -> Vec<(&'a str, Vec<&'a ShardFile<'a>>)> {
        let mut splits: Vec<(&str, Vec<&ShardFile<'_>>)> = Vec::new();
        for file in self.files {
            match splits.iter_mut().find(|(split, _)| *split == file.split) {
                Some((_, files)) => files.push(file),
                None => splits.push((file.split, vec![file])),
            }
        }
        splits
    }

    /// The path of a shard within the dataset's folder, with `/` as separator.
    fn name_of(&self, file: &ShardFile<'_>) -> Result<String> {
        let inside = file.path.strip_prefix(self.out).ok().and_then(Path::to_str);
        inside.map(str::to_owned).ok_or_else(|| {
            let what = format!("{} is not within {}", file.path.display(), self.out.display());
            Error::usage("output", what)
        })
    }
}

fn walk(
    shards: &Shards<'_>,
    file: &ShardFile<'_>,
    visit: impl FnMut(&Group<'_>) -> Result<()>,
) -> Result<()> {
    let (n_samples, bytes) = each_sample(file.path, shards.outline, visit)?;
    if (n_samples, bytes) != (file.n_samples, file.bytes) {
        let what = format!(
            "{n_samples} samples in {bytes} bytes; {} in {} were written",
            file.n_samples, file.bytes
        );
        return Err(Error::corrupt("tar", file.path, 0, what));
    }
    Ok(())
}

/// The media type of images of that name.
fn by_image(name: &str) -> &'static str {
    match name.rsplit('.').next().and_then(Codec::from_extension) {
        Some(Codec::Jpeg) => "image/jpeg",
        Some(Codec::Png) => "image/png",
        Some(Codec::Webp) => "image/webp",
        Some(Codec::Bmp) => "image/bmp",
        Some(Codec::Gif) => "image/gif",
        Some(Codec::Tiff) => "image/tiff",
        _ => "image/*",
    }
}
