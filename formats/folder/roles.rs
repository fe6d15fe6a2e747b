//! Folder names that state the role of the images: inputs, or masks of others.
use crate::folder::{
    layout::{join, key_of_path},
    levels::{below, parts},
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Lower-case names without separators of folders that hold images of any class.
const IMAGES: [&str; 13] = [
    "image",
    "images",
    "img",
    "imgs",
    "jpegimages",
    "jpgimages",
    "leftimg8bit",
    "rgb",
    "jpg",
    "jpeg",
    "jpegs",
    "png",
    "pngs",
];

/// The same for names of several words.
const IMAGE_WORDS: [&str; 7] = ["image", "images", "img", "imgs", "img8bit", "stills", "rgb"];

/// Final words in names of folders of inputs, which have masks beside them.
const INPUTS: [&str; 10] = [
    "input",
    "inputs",
    "original",
    "originals",
    "photo",
    "photos",
    "frame",
    "frames",
    "raw",
    "color",
];

/// Words in names of folders with images that annotate those of another folder.
const MASKS: [&str; 43] = [
    "mask",
    "masks",
    "annotation",
    "annotations",
    "annot",
    "annots",
    "ann",
    "anns",
    "anno",
    "annos",
    "label",
    "labels",
    "labeled",
    "labelled",
    "labelcol",
    "lbl",
    "lbls",
    "gt",
    "gts",
    "truth",
    "groundtruth",
    "groundtruths",
    "gtfine",
    "gtcoarse",
    "segmentationclass",
    "segmentationobject",
    "segmentation",
    "segmentations",
    "seg",
    "segs",
    "stuffthingmaps",
    "trimap",
    "trimaps",
    "instance",
    "instances",
    "panoptic",
    "semantic",
    "semantics",
    "target",
    "targets",
    "depth",
    "matte",
    "mattes",
];

/// Words in such names that reveal neither role nor content.
pub(crate) const NEUTRAL: [&str; 30] = [
    "jpg", "jpeg", "jpegs", "png", "pngs", "bmp", "tif", "tiff", "aug", "dir", "folder", "full",
    "all", "class", "classes", "object", "objects", "id", "ids", "ground", "fine", "coarse",
    "left", "colors", "colour", "colored", "colormap", "gray", "binary", "pixel",
];

/// Role of a folder, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Image,
    Mask,
    Other,
}

/// Returns true if a folder name reveals nothing about the class of the images.
pub(crate) fn is_container(name: &[u8]) -> bool {
    IMAGES.contains(&&*squeezed(name))
}

/// Returns true if folders of this name only divide the images: `images_001`.
pub(crate) fn is_part(name: &[u8]) -> bool {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && is_container(name.get(..name.len() - digits).unwrap_or_default())
}

/// The name in lower case, without separators.
pub(crate) fn squeezed(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name).to_lowercase();
    name.replace(['_', '-', ' ', '.'], "")
}

/// The words of a name in lower case, with support for names such as `SegmentationClassAug`.
pub(crate) fn words(name: &[u8]) -> Vec<String> {
    let name = String::from_utf8_lossy(name);
    let mut words = vec![String::new()];
    let mut chars = name.chars().peekable();
    let mut last = ' ';
    while let Some(char) = chars.next() {
        let begins = char.is_uppercase()
            && (!last.is_uppercase() || chars.peek().is_some_and(|next| next.is_lowercase()));
        if begins || !char.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| char.is_alphanumeric()) {
            word.extend(char.to_lowercase());
        }
        last = char;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A word without its trailing number.
pub(crate) fn bare(word: &str) -> &str {
    word.trim_end_matches(|char: char| char.is_ascii_digit())
}

pub(crate) fn role(name: &[u8]) -> Role {
    let whole = squeezed(name);
    let words = words(name);
    let mut bares = words.iter().map(|word| bare(word));
    // CamVid's mask folders have the name of the image folder plus `annot`.
    if MASKS.contains(&&*whole) || whole.ends_with("annot") || bares.any(|it| MASKS.contains(&it)) {
        return Role::Mask;
    }
    let mut bares = words.iter().map(|word| bare(word)).filter(|it| !it.is_empty());
    let is_image = bares.clone().any(|it| IMAGE_WORDS.contains(&it))
        || bares.rfind(|it| !NEUTRAL.contains(it)).is_some_and(|it| INPUTS.contains(&it));
    if is_image || IMAGES.contains(&&*whole) { Role::Image } else { Role::Other }
}

/// The part of a name that does not state the role.
pub(crate) fn residue(name: &[u8]) -> String {
    let whole = squeezed(name);
    if MASKS.contains(&&*whole) || IMAGES.contains(&&*whole) {
        return String::new();
    }
    let says = |word: &&String| {
        let word = bare(word);
        let lists: [&[&str]; 4] = [&IMAGE_WORDS, &INPUTS, &MASKS, &NEUTRAL];
        !word.is_empty() && !lists.iter().any(|list| list.contains(&word))
    };
    let rest: String = words(name).iter().filter(says).map(String::as_str).collect();
    rest.strip_suffix("annot").map_or(rest.clone(), str::to_owned)
}

/// The folder that an archive is unpacked into, by its name; `None` for a folder.
pub(crate) fn unpacked(root: &Path) -> Option<PathBuf> {
    let name = root.is_file().then(|| root.file_name()?.to_str())??;
    let lower = name.to_ascii_lowercase();
    let ends = [".tar.gz", ".tar.zst", ".tgz", ".tar", ".zip"];
    let len = ends.iter().find_map(|end| Some(lower.strip_suffix(end)?.len()));
    let stem = len.and_then(|len| name.get(..len)).filter(|stem| !stem.is_empty());
    Some(root.with_file_name(stem.map_or_else(|| format!("{name}.d"), str::to_owned)))
}

/// Formats the path of a folder in the source for messages.
pub(crate) fn shown(root: &Path, path: &[u8]) -> String {
    match path.strip_suffix(b"/").unwrap_or(path) {
        b"" => root.display().to_string(),
        path => join(root, path).display().to_string(),
    }
}

/// The direct subfolders of each folder of `names`, below `place`.
pub(crate) fn folders_in<'a>(
    folders: &BTreeSet<&'a [u8]>,
    place: &[u8],
    name: &[u8],
) -> BTreeSet<&'a [u8]> {
    let inside = [place, name, b"/"].concat();
    let names = below(folders, &inside).map(|rest| parts(rest).0);
    names.filter(|name| !name.is_empty()).collect()
}

/// Number of names to list.
pub(crate) const SHOWN: usize = 3;

/// Lists the first of these names.
pub(crate) fn listed<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> String {
    let shown = |name: &[u8]| match name {
        b"" => "the source itself".to_owned(),
        name => key_of_path(name),
    };
    let names: Vec<String> = names.into_iter().map(shown).collect();
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_known_by_words_of_names() {
        for (name, expected, rest) in [
            ("images", Role::Image, ""),
            ("JPEGImages", Role::Image, ""),
            ("leftImg8bit", Role::Image, ""),
            ("image_2", Role::Image, ""),
            ("imagesTr", Role::Image, "tr"),
            ("1. Original Images", Role::Image, ""),
            ("701_StillsRaw_full", Role::Image, ""),
            ("ISIC_Training_Input", Role::Image, "isictraining"),
            ("labelsTr", Role::Mask, "tr"),
            ("SegmentationClassAug", Role::Mask, ""),
            ("semantic_rgb", Role::Mask, ""),
            ("gt_image_2", Role::Mask, ""),
            ("GT_Object", Role::Mask, ""),
            ("Ground Truth", Role::Mask, ""),
            ("Instance_ids", Role::Mask, ""),
            ("panoptic_train2017", Role::Mask, "train2017"),
            ("trainannot", Role::Mask, "train"),
            ("face_mask", Role::Mask, "face"),
            ("train2017", Role::Other, "train2017"),
            ("labrador", Role::Other, "labrador"),
            ("photo_frames_of_cats", Role::Other, "ofcats"),
        ] {
            let found = (role(name.as_bytes()), residue(name.as_bytes()));
            assert_eq!(found, (expected, rest.to_owned()), "{name}");
        }
    }
}
