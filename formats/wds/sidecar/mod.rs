//! Files beside shards, for other readers: pure functions from finished shards to bytes.
//!
//! Nothing in them comes from a clock or a machine: the same shards give the same files. Offsets
//! and names are taken from the shards themselves, by the same walk that reads foreign ones.

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

/// Whom the files are for.
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
    /// `README.md` with what `hf` has, sizes, and how the dataset was made.
    Card,
    /// `croissant.json` and `croissant.csv`: MLCommons Croissant 1.0.
    Croissant,
    /// `.nv-meta` and `NAME.tar.idx`: Megatron Energon, but for its database `index.sqlite`, whose
    /// layout is Energon's own business: `energon prepare` makes that.
    Energon,
    /// `STEM_stats.json` beside each shard, as img2dataset leaves behind. Times are 0: a clock
    /// would make the same dataset other bytes.
    Img2dataset,
}

/// A finished shard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShardFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) split: &'a str,
    pub(crate) n_samples: u64,
    pub(crate) bytes: u64,
}

/// A dataset whose shards are all there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shards<'a> {
    pub(crate) out: &'a Path,
    /// In order.
    pub(crate) files: &'a [ShardFile<'a>],
    pub(crate) schema: &'a Schema,
    /// Names of the fields in the tar, in schema order; those of one field with `;` between them.
    pub(crate) members: &'a [String],
    /// By which shards in a store are walked, where they have indexes.
    pub(crate) outline: Option<&'a Outline>,
    pub(crate) provenance: Option<&'a Provenance>,
}

/// A file to write, and its contents. Its folder may not exist yet.
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

    /// The kind of that name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The files of this kind, in a fixed order.
    ///
    /// # Errors
    /// `Corrupt` or `Unsupported` when a shard is not what it should be, `Usage` when the dataset
    /// is one that this reader cannot read, `Io`.
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
    /// The splits, in order of their first shard, with their shards.
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

    /// The path of a shard within the dataset's folder, with `/` between its parts.
    fn name_of(&self, file: &ShardFile<'_>) -> Result<String> {
        let inside = file.path.strip_prefix(self.out).ok().and_then(Path::to_str);
        inside.map(str::to_owned).ok_or_else(|| {
            let what = format!("{} is not within {}", file.path.display(), self.out.display());
            Error::usage("output", what)
        })
    }
}

/// Calls `visit` with every sample of a shard.
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
