//! Folders that are called after what their images are for: images, or the masks of others.
use crate::folder::{
    layout::{join, key_of_path, split_extension},
    levels::{below, only_below, parts},
    split_folders::split_of,
};
use fdconvert_core::{Error, Style, message, named, shell_word};
use std::{collections::BTreeSet, path::Path};

/// Names, in lower case and without separators, of folders that hold images of any class.
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

/// Names of folders that hold the inputs where masks lie beside them.
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

/// Names of folders whose images say what is on those of another folder.
const MASKS: [&str; 26] = [
    "mask",
    "masks",
    "annotation",
    "annotations",
    "annot",
    "annots",
    "label",
    "labels",
    "gt",
    "gts",
    "groundtruth",
    "gtfine",
    "gtcoarse",
    "segmentationclass",
    "segmentationobject",
    "segmentation",
    "segmentations",
    "seg",
    "trimap",
    "trimaps",
    "instances",
    "panoptic",
    "semantic",
    "target",
    "targets",
    "depth",
];

/// Returns whether a folder of this name says nothing of the class of the images in it.
pub(crate) fn is_container(name: &[u8]) -> bool {
    IMAGES.contains(&&*squeezed(name))
}

/// The name in lower case, without what parts words.
fn squeezed(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name).to_lowercase();
    name.replace(['_', '-', ' ', '.'], "")
}

/// The part of the name before one of these words at its end, where a separator parts the two.
fn stem(name: &[u8], words: &[&[&str]]) -> Option<String> {
    let is_word = |word: &str| words.iter().any(|words| words.contains(&word));
    if is_word(&squeezed(name)) {
        return Some(String::new());
    }
    let ends = |at: &usize| is_word(&squeezed(name.get(*at..).unwrap_or_default()));
    let is_separator = |byte: u8| b"_- .".contains(&byte);
    let at = (1..name.len()).filter(|at| is_separator(name[*at])).find(ends)?;
    name.get(..at).map(squeezed)
}

/// The stem of a folder of masks. One of CamVid's is called as the images are, with `annot` behind.
fn mask_stem(name: &[u8]) -> Option<String> {
    let of_camvid = || squeezed(name).strip_suffix("annot").map(str::to_owned);
    stem(name, &[&MASKS]).or_else(of_camvid)
}

/// Returns whether a file of this name is a mask of another one, such as `1_mask.png` of `1.png`.
pub(crate) fn is_mask_file(name: &[u8]) -> bool {
    let stem = split_extension(name).map_or(name, |(stem, _)| stem).to_ascii_lowercase();
    let ends = [&b"_mask"[..], b"_masks", b"-mask", b"_segmentation", b"_gt", b"_labelids"];
    ends.iter().any(|end| stem.ends_with(end) && stem.len() > end.len())
}

/// Two of these folders, one with images and one with their masks, by their names.
pub(crate) fn images_and_masks<'a>(names: &BTreeSet<&'a [u8]>) -> Option<(&'a [u8], &'a [u8])> {
    let masks = names.iter().filter_map(|name| Some((*name, mask_stem(name)?)));
    masks.into_iter().find_map(|(mask, of)| {
        let is_of = |name: &&&[u8]| {
            stem(name, &[&IMAGES, &INPUTS]).is_some_and(|stem| stem == of)
                || (split_of(name).is_some() && squeezed(name) == of)
        };
        Some((*names.iter().find(is_of)?, mask))
    })
}

/// That masks are no class beside the images that they belong to. Both names are of folders in
/// `place`, which ends in a slash unless it is empty.
pub(crate) fn masks_are_no_class(
    root: &Path,
    folders: &BTreeSet<&[u8]>,
    place: &[u8],
    (images, masks): (&[u8], &[u8]),
) -> Error {
    let images_path = [place, images, b"/"].concat();
    let mut masks_path = [place, masks, b"/"].concat();
    // As in `annotations/trimaps` beside `images`: the names below are to be the same.
    let is_flat = folders.contains(&*images_path);
    while is_flat && let Some(only) = only_below(folders, &masks_path) {
        masks_path.extend(only);
        masks_path.push(b'/');
    }
    let shown = |path: &[u8]| shown(root, path);
    let pair = format!("mask={}", shown(&masks_path));
    let pair = message!("{}", named::PAIR.with(shell_word(&pair)));
    // A whole line for a shell has flags wherever it is read.
    let pair = pair.in_style(Style::Command);
    let what = message!(
        "{} holds images beside those of {}, and by their names these are masks or labels of them, \
         no class of their own: give {} as the source for the images alone, pack both with `fdconvert \
         pack {} OUT {pair}` where the two files of a pair have one name, or make classes of the two folders with {}",
        shown(&masks_path),
        shown(&images_path),
        shown(&images_path),
        shell_word(&shown(&images_path)),
        named::NO_SPLIT_FOLDERS
    );
    Error::usage("source", what)
}

/// The path of a folder of the source, for people.
pub(crate) fn shown(root: &Path, path: &[u8]) -> String {
    match path.strip_suffix(b"/").unwrap_or(path) {
        b"" => root.display().to_string(),
        path => join(root, path).display().to_string(),
    }
}

/// The folders that lie right in each folder of `names`, below `place`.
pub(crate) fn folders_in<'a>(
    folders: &BTreeSet<&'a [u8]>,
    place: &[u8],
    name: &[u8],
) -> BTreeSet<&'a [u8]> {
    let inside = [place, name, b"/"].concat();
    let names = below(folders, &inside).map(|rest| parts(rest).0);
    names.filter(|name| !name.is_empty()).collect()
}

/// Names that are shown one by one.
const SHOWN: usize = 3;

/// The first of these names.
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
    fn images_and_masks_are_known_by_their_names() {
        let found = |names: &[&'static str]| {
            let names: BTreeSet<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
            images_and_masks(&names).map(|(images, masks)| {
                (String::from_utf8_lossy(images), String::from_utf8_lossy(masks))
            })
        };
        for (images, masks) in [
            ("images", "masks"),
            ("images", "annotations"),
            ("JPEGImages", "SegmentationClass"),
            ("leftImg8bit", "gtFine"),
            ("train", "trainannot"),
            ("train", "train_masks"),
            ("train_images", "train_masks"),
            ("DUTS-TR-Image", "DUTS-TR-Mask"),
            ("Original", "Ground Truth"),
            ("ISIC_Training_Input", "ISIC_Training_GroundTruth"),
        ] {
            assert_eq!(found(&[images, masks, "z"]).unwrap(), (images.into(), masks.into()));
        }
        for classes in [
            &["cat", "mask"][..],
            &["face_mask", "no_mask"],
            &["with_mask", "without_mask"],
            &["black_label", "red_image"],
            &["face", "face_mask"],
            &["images", "sketches"],
            &["gt", "porsche"],
        ] {
            assert_eq!(found(classes), None, "{classes:?}");
        }
    }
}
