//! Walks a folder of images in a store or in a zip by the list of its objects, which also has their
//! sizes and tags.
use crate::folder::{
    beside::{self, Role, completes_image, role},
    layout::{MACOSX, is_hidden, key_of_path},
    listing::ListingBuilder,
    objects::{Object, Objects, parts},
    walk::{self, Found, too_many_folders},
    words::{Words, WordsBuilder},
};
use fdconvert_core::{Ignored, Result};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use xxhash_rust::xxh3::Xxh3Default;

pub(crate) struct FoundAway {
    pub(crate) found: Found,
    pub(crate) sizes: Words,
    /// Hash of the tags of all images: it changes when one of them is written again.
    pub(crate) stamp: [u8; 16],
}

/// Finds the images among the objects below `root`, in the order and with the classes that the same
/// files have on a disk. Files with the extensions `beside` belong to the images beside them;
/// `ignored` counts the files skipped earlier.
///
/// # Errors
/// `Usage` for a folder without images, and for images beside class folders; `Io`.
pub(crate) fn walk(
    root: &Path,
    objects: &Objects,
    beside: &[String],
    mut ignored: Ignored,
) -> Result<FoundAway> {
    let mut counted = BTreeSet::new();
    let (mut listing, mut flat) = (ListingBuilder::default(), ListingBuilder::default());
    let flat_folder = flat.add_folder(b"", 0).unwrap_or_default();
    let (mut sizes, mut stamp) = (WordsBuilder::default(), Xxh3Default::new());
    let mut folders = BTreeMap::new();
    // Classes, each with its number of images.
    let (mut classes, mut n_classes): (Vec<(&[u8], u64)>, u32) = (Vec::new(), 0);
    let mut passed_over = BTreeSet::new();
    let (mut seen, mut last_folder) = (BTreeSet::new(), None);
    for Object { path, len, tag } in objects.iter() {
        let class = parts(path).next().filter(|class| class.len() < path.len());
        let class = class.filter(|class| !is_hidden(class) && *class != MACOSX);
        if let Some(class) = class
            && classes.last().is_none_or(|(last, _)| *last != class)
        {
            classes.push((class, 0));
        }
        if let Some(end) = hidden_part(path) {
            let hidden = path.get(..end).unwrap_or(path);
            if passed_over.insert(hidden) {
                let is_macosx = hidden.ends_with(MACOSX);
                *(if is_macosx { &mut ignored.macosx } else { &mut ignored.hidden }) += 1;
            }
            continue;
        }
        let (folder, name) = match path.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], path),
        };
        // Folder markers left by tools.
        if name.is_empty() || (len == 0 && objects.has_below(path)) {
            seen.insert(folder);
            continue;
        }
        if walk::is_table(folder, name) {
            ignored.tables.push(key_of_path(path));
        }
        if folder.is_empty() {
            counted.extend(walk::counted_folder(name));
        }
        if last_folder != Some(folder) {
            seen.insert(folder);
            last_folder = Some(folder);
        }
        match role(name, beside) {
            Role::Image => {}
            Role::Beside(stem) => {
                let stem_path = path.get(..path.len() - name.len() + stem.len()).unwrap_or(path);
                if !objects.beside(stem_path).any(|rest| completes_image(stem, rest, beside)) {
                    beside::count(name, &mut ignored);
                }
                continue;
            }
            Role::Other => {
                beside::count(name, &mut ignored);
                continue;
            }
        }
        sizes.push(len)?;
        stamp.update(&tag.to_le_bytes());
        if folder.is_empty() {
            flat.add_file(flat_folder, name)?;
            continue;
        }
        if let Some((_, n_images)) = classes.last_mut() {
            n_classes += u32::from(*n_images == 0);
            *n_images += 1;
        }
        let label = n_classes.saturating_sub(1);
        let id = match folders.get(folder) {
            Some(id) => *id,
            None => {
                let id = listing.add_folder(folder, label).ok_or_else(|| too_many_folders(root))?;
                folders.insert(folder.to_vec(), id);
                id
            }
        };
        listing.add_file(id, name)?;
    }
    let (full, empty): (Vec<_>, Vec<_>) = classes.iter().partition(|(_, n_images)| *n_images > 0);
    let class_names: Vec<String> = full.iter().map(|(name, _)| key_of_path(name)).collect();
    ignored.folders.extend(empty.iter().map(|(name, _)| key_of_path(name)));
    let listings = (flat.finish()?, listing.finish()?);
    let class_names = walk::without_parts(class_names, &counted);
    let found = walk::found(root, listings, class_names, ignored, false)?;
    let found = Found { empty: empty_below(&seen, &folders), ..found };
    Ok(FoundAway { found, sizes: sizes.finish()?, stamp: stamp.digest128().to_le_bytes() })
}

/// Folders below the first level, down to the depth of classes, with no image in or below them:
/// those in `seen` and their parents.
fn empty_below(seen: &BTreeSet<&[u8]>, with_images: &BTreeMap<Vec<u8>, u32>) -> Vec<String> {
    let holds_images = |folder: &[u8]| {
        let below = [folder, b"/"].concat();
        let mut after = with_images.range(below.clone()..);
        with_images.contains_key(folder)
            || after.next().is_some_and(|(path, _)| path.starts_with(&below))
    };
    let mut empty = BTreeSet::new();
    for folder in seen {
        let slashes = folder.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let ends = slashes.map(|(slash, _)| slash).chain([folder.len()]);
        for end in ends.skip(1).take(walk::MAX_CLASS_DEPTH - 1) {
            let folder = folder.get(..end).unwrap_or(folder);
            if !holds_images(folder) {
                empty.insert(key_of_path(folder));
            }
        }
    }
    empty.into_iter().collect()
}

/// Size and stamp of the files of a table, from the list of objects; [`MISSING`] for files that are
/// not listed.
///
/// # Errors
/// `Io`.
pub(crate) fn look_up<'a>(
    objects: &Objects,
    paths: impl Iterator<Item = Cow<'a, [u8]>>,
) -> Result<(Words, [u8; 16])> {
    let mut stamp = Xxh3Default::new();
    let sizes = Words::collect(paths.map(|path| {
        let found = objects.find(&path);
        stamp.update(&found.map_or(0, |object| object.tag).to_le_bytes());
        Ok(found.map_or(MISSING, |object| object.len))
    }))?;
    Ok((sizes, stamp.digest128().to_le_bytes()))
}

/// The size of a missing object.
pub(crate) const MISSING: u64 = u64::MAX;

/// End of the first part of a path that is skipped with everything below it.
fn hidden_part(path: &[u8]) -> Option<usize> {
    let mut end = 0;
    for part in parts(path) {
        end += part.len();
        if is_hidden(part) || part == MACOSX {
            return Some(end);
        }
        end += 1;
    }
    None
}
