//! Decides whether shards in a folder with images are leftovers or the dataset.
use fdconvert_core::Codec;
use fdconvert_storage::place::is_url;
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Number of listed folders: class folders and those of splits come first.
const MAX_FOLDERS: usize = 64;
/// Images are in the folders of classes, these in those of splits, and these possibly in one more.
const MAX_DEPTH: usize = 3;

/// Limit of counted images; samples are counted up to twice as many, because tars may have
/// millions.
pub(crate) const MANY: u64 = 1 << 10;

/// Samples of shards, as far as counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    pub(crate) n_samples: u64,
    /// True if they have more than their images, so that they are no copy of the images next to
    /// them.
    pub(crate) has_more: bool,
}

/// Kind of a folder that has shards in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Among {
    Shards,
    Images,
    /// So many images and samples that neither can be ignored.
    Both {
        n_images: u64,
        n_samples: u64,
    },
}

impl Among {
    /// Compares the images directly in a folder or in its folders, counted up to a limit, with the
    /// samples of its shards, which are counted up to a limit and only if there are images. Stores
    /// are not listed.
    pub(crate) fn of(folder: &Path, held: impl FnOnce(u64) -> Held) -> Self {
        let n_images = images_beside(folder);
        if n_images == 0 {
            return Self::Shards;
        }
        let Held { n_samples, has_more } = held(2 * n_images);
        if n_samples >= 2 * n_images && n_images < MANY {
            Self::Shards
        } else if n_images == MANY && !has_more {
            // The shard is the archive that the images come from.
            Self::Images
        } else if n_images >= 2 * n_samples || (n_images >= n_samples && !has_more) {
            Self::Images
        } else {
            Self::Both { n_images, n_samples }
        }
    }
}

/// Counts images directly in a folder of shards or in its folders, up to a limit.
pub(crate) fn images_beside(folder: &Path) -> u64 {
    images_in(folder, MANY as usize) as u64
}

/// Counts images in a folder and in those below it, up to `enough`.
fn images_in(folder: &Path, enough: usize) -> usize {
    if is_url(folder) {
        return 0;
    }
    let (mut n_images, mut n_listed) = (0, 0);
    let mut level = vec![folder.to_path_buf()];
    for _ in 0..=MAX_DEPTH {
        let mut below = Vec::new();
        for folder in level {
            if n_listed == MAX_FOLDERS || n_images >= enough {
                return n_images;
            }
            n_listed += 1;
            n_images += images_right_in(&folder, enough - n_images, &mut below);
        }
        below.sort();
        level = below;
    }
    n_images
}

fn images_right_in(folder: &Path, enough: usize, below: &mut Vec<PathBuf>) -> usize {
    let mut n_images = 0;
    // A folder that cannot be listed is an error when it is opened.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, kind) = (entry.file_name(), entry.file_type());
        if name.as_encoded_bytes().starts_with(b".") || name.as_encoded_bytes().starts_with(b"__") {
            continue;
        }
        if kind.is_ok_and(|kind| kind.is_dir()) {
            below.push(entry.path());
        } else if is_image(&entry.path()) {
            n_images += 1;
            if n_images == enough {
                break;
            }
        }
    }
    n_images
}

fn is_image(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| Codec::from_extension(extension).is_some())
}
