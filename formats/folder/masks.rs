//! Detects folders of masks beside those of their images.
//!
//! Names suffice if two folders of one place differ only in a word for the role: `images` and
//! `masks`, `imagesTr` and `labelsTr`, `train2017` and `panoptic_train2017`. A name with a word for
//! masks may also be a class, such as `face mask`; then the files decide. Masks share the names of
//! their images, but so do files of classes with the same numbering; so an error requires one more
//! property that no classes have, otherwise there is only a remark.
use crate::folder::{
    layout::{promised, split_extension},
    levels::{Levels, names_in, only_below},
    listing::Listing,
    roles::{NEUTRAL, Role, bare, residue, role, shown, squeezed, unpacked, words},
    split_folders::split_of,
};
use fdconvert_core::{Codec, Error, OptionRef, Remark, Result, option};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    path::Path,
};

/// Words for several shots of the same object, such as before and after a change.
const SHOTS: [&str; 10] = ["a", "b", "t", "s", "im", "pre", "post", "before", "after", "time"];

/// Words for an image and its better or worse version, in sets for image restoration. They may also
/// be classes, such as weather, so they only cause a remark.
const VERSIONS: [&str; 22] = [
    "blur",
    "blurred",
    "blurry",
    "clean",
    "clear",
    "degraded",
    "distorted",
    "haze",
    "hazy",
    "high",
    "hq",
    "hr",
    "input",
    "low",
    "lq",
    "lr",
    "noisy",
    "norain",
    "rain",
    "rainy",
    "sharp",
    "source",
];

/// Up to this number of classes, equal numbering is reported, although it may be chance.
const FEW: usize = 3;

/// Refuses folders with names of images and masks, at any depth.
pub(crate) fn refuse_named(root: &Path, folders: &BTreeSet<&[u8]>) -> Result<()> {
    for place in places_with_masks(folders) {
        let names = names_in(folders, place);
        if let Some((images, masks)) = images_and_masks(&names) {
            return Err(no_class(root, folders, place, images, masks));
        }
    }
    Ok(())
}

/// The places, with a final slash, of folders with a word for masks in their names.
fn places_with_masks<'a>(folders: &BTreeSet<&'a [u8]>) -> BTreeSet<&'a [u8]> {
    let mut places = BTreeSet::new();
    let mut last: &[u8] = b"";
    for &folder in folders {
        let mut start = 0;
        for (slash, _) in folder.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let (up_to, name) = (folder.get(..=slash), folder.get(start..slash));
            // Already checked together with the previous folder.
            let is_known = up_to.is_some_and(|path| last.starts_with(path));
            if !is_known && name.is_some_and(|name| role(name) == Role::Mask) {
                places.extend(folder.get(..start));
            }
            start = slash + 1;
        }
        last = folder;
    }
    places
}

/// Returns true if a part of the path has a word for masks: a folder of images with it may be
/// refused.
pub(crate) fn has_word(folder: &[u8]) -> bool {
    folder.split(|&byte| byte == b'/').any(|name| role(name) == Role::Mask)
}

/// A pair of images and masks among these folders, by their names.
fn images_and_masks<'a>(names: &BTreeSet<&'a [u8]>) -> Option<(&'a [u8], &'a [u8])> {
    let masks = names.iter().filter(|name| role(name) == Role::Mask);
    masks.copied().find_map(|mask| {
        let of = residue(mask);
        let is_of = |name: &&&[u8]| match role(name) {
            Role::Image => residue(name) == of,
            Role::Mask => false,
            Role::Other => split_of(name).is_some() && squeezed(name) == of,
        };
        Some((*names.iter().find(is_of)?, mask))
    })
}

/// Refuses folders of masks by their files, compared with a folder beside them, and warns about
/// possible ones: among classes only if the files alone prove it.
pub(crate) fn by_files(
    root: &Path,
    listing: &Listing,
    levels: &Levels,
    folders: &BTreeSet<&[u8]>,
) -> Result<Option<Remark>> {
    let places = places_with_masks(folders);
    let classes = levels.places_of_classes(folders);
    let are_few = classes.iter().all(|(_, names)| names.len() <= FEW);
    if places.is_empty() && (classes.is_empty() || !are_few) {
        return Ok(None);
    }
    let files = Files::of(listing);
    let mut remark = None;
    for place in places {
        let names = names_in(folders, place);
        let folders_there = names.iter().copied().filter(|name| !name.is_empty());
        let (masks, others): (Vec<&[u8]>, Vec<&[u8]>) =
            folders_there.partition(|name| role(name) == Role::Mask);
        for mask in masks {
            for &images in &others {
                match files.verdict(place, images, mask, names.len()) {
                    Verdict::Strangers => {}
                    Verdict::Masks => return Err(no_class(root, folders, place, images, mask)),
                    Verdict::Perhaps => {
                        remark.get_or_insert_with(|| perhaps(root, place, images, mask, "mask"));
                    }
                }
            }
        }
    }
    Ok(remark.or_else(|| pairs(root, &files, &classes).filter(|_| are_few)))
}

/// Warns if all classes have files of the same names, like pairs. Numbered classes have them by
/// chance.
fn pairs(
    root: &Path,
    files: &Files<'_>,
    places: &BTreeMap<Vec<u8>, BTreeSet<&[u8]>>,
) -> Option<Remark> {
    let are_pairs = |place: &[u8], names: &BTreeSet<&[u8]>| {
        let are_named = |words: &[&str]| names.iter().all(|name| is_called(name, words));
        let are_shots = names.iter().all(|name| is_shot(name)) || are_named(&VERSIONS);
        names.iter().zip(names.iter().skip(1)).all(|two| files.are_same(place, two))
            && (are_shots || !names.iter().any(|name| files.are_numbered(place, name)))
    };
    let (place, names) = places.iter().next()?;
    let mut two = names.iter();
    let two = two.next().zip(two.next())?;
    let are_pairs = places.iter().all(|(place, names)| are_pairs(place, names));
    are_pairs.then(|| perhaps(root, place, two.0, two.1, "other"))
}

/// Returns true if a folder has the name of one of several shots. Single lower-case letters are
/// excluded, because examples use them for classes.
fn is_shot(name: &[u8]) -> bool {
    !matches!(name, [letter] if letter.is_ascii_lowercase()) && is_called(name, &SHOTS)
}

/// Returns true if a name consists of these words and neutral ones.
fn is_called(name: &[u8], those: &[&str]) -> bool {
    let words = words(name);
    let mut bares = words.iter().map(|word| bare(word));
    bares.clone().any(|word| those.contains(&word))
        && bares.all(|word| word.is_empty() || those.contains(&word) || NEUTRAL.contains(&word))
}

/// Relation of the files of a folder with a word for masks to those of another folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Strangers,
    Perhaps,
    Masks,
}

/// Files by folder.
struct Files<'a> {
    listing: &'a Listing,
    /// Numbers of the first and last file directly in each folder.
    spans: BTreeMap<&'a [u8], Range<u64>>,
}

impl<'a> Files<'a> {
    fn of(listing: &'a Listing) -> Self {
        let mut folders: Vec<(&[u8], Option<Range<u64>>)> =
            listing.folders().map(|(path, _)| (path, None)).collect();
        for ((folder, _), index) in listing.files().zip(0..) {
            if let Some((_, span)) = folders.get_mut(folder as usize) {
                span.get_or_insert(index..index).end = index + 1;
            }
        }
        let spans = folders.into_iter().filter_map(|(path, span)| Some((path, span?))).collect();
        Self { listing, spans }
    }

    /// Paths of the files in a folder of `place`, relative to that folder.
    fn in_folder(&self, place: &[u8], name: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        let inside = [place, name, b"/"].concat();
        let spans = self.spans.range(&*inside..).map(|(path, span)| (*path, span));
        let spans = spans.take_while(|(path, _)| path.starts_with(&inside));
        // Files are sorted by path, so those below a folder are contiguous.
        let whole = spans.fold(None, |whole: Option<Range<u64>>, (_, span)| {
            let whole = whole.unwrap_or(span.clone());
            Some(whole.start.min(span.start)..whole.end.max(span.end))
        });
        whole.unwrap_or_default().filter_map(move |index| {
            let path = self.listing.get(index)?.path();
            path.strip_prefix(&*inside).map(<[u8]>::to_vec)
        })
    }

    /// Relation of the files in `mask` to those in `images`, in a place with `n_folders` folders.
    fn verdict(&self, place: &[u8], images: &[u8], mask: &[u8], n_folders: usize) -> Verdict {
        let stems: BTreeSet<Vec<u8>> = self.in_folder(place, images).map(without_end).collect();
        let is_lossy = |path: Vec<u8>| matches!(promised(&path), Some(Codec::Jpeg | Codec::Webp));
        let (mut n, mut n_same, mut n_longer) = (0_u64, 0_u64, 0_u64);
        for stem in self.in_folder(place, mask).map(without_end) {
            n += 1;
            if stems.contains(&stem) {
                n_same += 1;
            } else if starts(&stem).any(|start| stems.contains(start)) {
                n_longer += 1;
            }
        }
        // Tolerate some missing images and masks.
        if n == 0 || (n_same + n_longer) * 4 < n * 3 {
            return Verdict::Strangers;
        }
        let any_lossy_mask = || self.in_folder(place, mask).any(is_lossy);
        let all_lossy = || self.in_folder(place, images).all(is_lossy);
        let any_lossy = || self.in_folder(place, images).any(is_lossy);
        let is_numbered = self.are_numbered(place, mask);
        let are_masks = role(images) == Role::Image
            || is_shot(images)
            || n_same == 0
            || (!any_lossy_mask() && (all_lossy() || (!is_numbered && !any_lossy())));
        match () {
            () if are_masks => Verdict::Masks,
            () if is_numbered && n_folders > FEW => Verdict::Strangers,
            () => Verdict::Perhaps,
        }
    }

    /// Returns true if two folders have files of the same names, apart from extensions.
    fn are_same(&self, place: &[u8], (one, other): (&&[u8], &&[u8])) -> bool {
        let (one, other) = (self.in_folder(place, one), self.in_folder(place, other));
        one.map(without_end).eq(other.map(without_end))
    }

    /// Returns true if file names are only counters, such as `1`, `img_2` and `cat (3)`.
    fn are_numbered(&self, place: &[u8], name: &[u8]) -> bool {
        let is_count = |byte: &u8| byte.is_ascii_digit() || b"()".contains(byte);
        let own_name = |path: Vec<u8>| path.rsplit(|&byte| byte == b'/').next().map(<[u8]>::to_vec);
        let word = |path: Vec<u8>| {
            let mut word = without_end(own_name(path).unwrap_or_default());
            word.truncate(word.iter().rposition(|byte| !is_count(byte)).map_or(0, |last| last + 1));
            word
        };
        let mut words = self.in_folder(place, name).map(word);
        let first = words.next();
        words.all(|word| Some(word) == first)
    }
}

/// A path without its extension.
fn without_end(mut path: Vec<u8>) -> Vec<u8> {
    let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let stem = path.get(name..).and_then(|name| split_extension(name).map(|(stem, _)| stem.len()));
    if let Some(len) = stem {
        path.truncate(name + len);
    }
    path
}

/// The parts of a file name before each separator.
fn starts(stem: &[u8]) -> impl Iterator<Item = &[u8]> {
    let name = stem.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let ends = (name + 1..stem.len()).filter(|&at| b"_-. ".contains(&stem[at]));
    ends.filter_map(|at| stem.get(..at))
}

/// The two folders, in full and as shown to the user, and the option that packs both.
struct Told {
    /// The step required first; empty for a folder.
    first: String,
    images: String,
    masks: String,
    pair: OptionRef,
}

impl Told {
    fn of(root: &Path, images: &[u8], masks: &[u8], field: &str) -> Self {
        let folder = unpacked(root);
        let first = folder.as_ref().map_or_else(String::new, |folder| {
            format!("unpack it into {} first; then ", folder.display())
        });
        let root = folder.as_deref().unwrap_or(root);
        let (images, masks) = (shown(root, images), shown(root, masks));
        let pair = option::PAIR.with(format_args!("{field}={masks}"));
        Self { first, images, masks, pair }
    }
}

/// Explains that masks are not a class beside their images.
fn no_class(
    root: &Path,
    folders: &BTreeSet<&[u8]>,
    place: &[u8],
    images: &[u8],
    masks: &[u8],
) -> Error {
    let images_path = [place, images, b"/"].concat();
    let mut masks_path = [place, masks, b"/"].concat();
    // As in `annotations/trimaps` beside `images`: names must match below them.
    let is_flat = folders.contains(&*images_path);
    while is_flat && let Some(only) = only_below(folders, &masks_path) {
        masks_path.extend(only);
        masks_path.push(b'/');
    }
    let Told { first, images, pair, .. } = Told::of(root, &images_path, &masks_path, "mask");
    let what = format!(
        "{} holds images next to those of {}, and by their names these are masks or labels of \
         them, not a separate class: {first}give {images} as the source",
        shown(root, &masks_path),
        shown(root, &images_path)
    );
    Error::usage("source", what)
        .cure("to pack both where the two files of a pair have one name", pair)
        .cure("to make classes of the two folders", option::NO_SPLIT_FOLDERS.on())
}

/// Warns that files of two folders may belong together.
fn perhaps(root: &Path, place: &[u8], one: &[u8], other: &[u8], field: &str) -> Remark {
    let [one, other] = [one, other].map(|name| [place, name].concat());
    let Told { first, images, masks, pair } = Told::of(root, &one, &other, field);
    let what = format!(
        "the files of {masks} have the names of those of {images}: where they belong to these, the \
         folders are no classes; {first}give {images} as the source"
    );
    Remark::from(what).cure("to pack the two files of a name as one sample", pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::listing::ListingBuilder;

    /// The remark or error for these files.
    fn told(files: &[&str]) -> Result<String> {
        let mut listing = ListingBuilder::default();
        let mut last = None;
        for file in files {
            let (folder, name) = file.rsplit_once('/').unwrap();
            let number = match last {
                Some((number, known)) if known == folder => number,
                _ => listing.add_folder(folder.as_bytes(), 0).unwrap(),
            };
            last = Some((number, folder));
            listing.add_file(number, name.as_bytes()).unwrap();
        }
        let remarks = listing.finish()?.division(Path::new("r"))?.1.remarks;
        Ok(remarks.iter().map(Remark::to_string).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn masks_by_the_names_of_files_and_one_thing_more_are_refused() {
        for (files, cure) in [
            // Two shots of a place.
            (
                &["train/A/1.png", "train/B/1.png", "train/label/1.png"][..],
                "pair=mask=r/train/label;",
            ),
            (&["train/gt_mask/1.png", "train/s1/1.png", "train/s2/1.png"], "give r/train/s1 as"),
            // A word for images, and a neutral word.
            (&["img/1.png", "masks_machine/1.png"], "pair=mask=r/masks_machine;"),
            (&["701_StillsRaw_full/1.png", "LabeledApproved_full/1_L.png"], "give r/701_Stills"),
            (&["gtFine/a/1.png", "leftImg8bit_foggy/a/1.png"], "mask=r/gtFine"),
            // Files with names of masks.
            (&["ground_truth/bent/0_mask.png", "scan/bent/0.png", "x/1.png"], "give r/scan as"),
            // Lossless beside lossy files, and names that are no counters.
            (&["road/1.jpg", "road/2.jpg", "seg of it/1.png", "seg of it/2.png"], "give r/road as"),
            (
                &["city/bonn_a.png", "city/ulm_b.png", "lbl/bonn_a.png", "lbl/ulm_b.png"],
                "mask=r/lbl",
            ),
        ] {
            let error = told(files).unwrap_err().to_string();
            assert!(error.contains(cure), "{files:?}: {error}");
        }
    }

    #[test]
    fn classes_called_like_masks_stay_classes() {
        for files in [
            &["mask/1.jpg", "no_mask/1.jpg"][..],
            &["with_mask/0001.png", "with_mask/0002.png", "without_mask/0001.png"],
            &["face mask/a.jpg", "glove/b.jpg"],
            &["cat/1.png", "label/2.png", "label/3.png"],
            &["audi/1.jpg", "bmw/1.jpg", "gt/1.jpg", "porsche/1.jpg"],
            &["audi/1.png", "bmw/1.png", "gt/1.png", "porsche/1.png"],
            &["cat/1.jpg", "cat/2.jpg", "dog/1.jpg", "dog/2.jpg"],
            &["cat/img (1).png", "cat/img (2).png", "dog/img (1).png", "dog/img (2).png"],
            &["cat/a.png", "dog/b.png"],
            &["clear/1.jpg", "clear/2.jpg", "rainy/1.jpg"],
            &["clear/1.jpg", "rainy/1.jpg", "snow/1.jpg"],
        ] {
            assert_eq!(told(files).unwrap(), "", "{files:?}");
        }
    }

    #[test]
    fn folders_that_may_belong_to_each_other_are_told() {
        for (files, part) in [
            (
                &["mask/1.jpg", "normal/1.jpg"][..],
                "give r/normal as the source; to pack the two files of a name as one sample: \
                 pair=mask=r/mask",
            ),
            (&["A/1.png", "B/1.png"], "pair=other=r/B"),
            (&["blur/x.png", "blur/y.png", "sharp/x.png", "sharp/y.png"], "pair=other=r/sharp"),
            // Numbered, as files of classes may be, in folders named as versions of one image.
            (&["clear/1.png", "clear/2.png", "hazy/1.png", "hazy/2.png"], "pair=other=r/hazy"),
            (&["train/HR/01.png", "train/LR/01.png"], "give r/train/HR as"),
            (&["clean/1.jpg", "rainy/1.jpg"], "pair=other=r/rainy"),
            (
                &["train/hazy/x.png", "train/hazy/y.png", "train/ok/x.png", "train/ok/y.png"],
                "r/train/ok",
            ),
        ] {
            let remark = told(files).unwrap();
            assert!(remark.contains(part), "{files:?}: {remark}");
        }
    }

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
            ("images", "annos"),
            ("JPEGImages", "SegmentationClassPNG"),
            ("leftImg8bit", "gtFine"),
            ("train", "trainannot"),
            ("train", "train_masks"),
            ("train_images", "train_masks"),
            ("DUTS-TR-Image", "DUTS-TR-Mask"),
            ("Original", "Ground Truth"),
            ("img_dir", "ann_dir"),
            ("Image", "GT_Object"),
            ("image_2", "semantic_rgb"),
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
            &["labeled", "unlabeled"],
        ] {
            assert_eq!(found(classes), None, "{classes:?}");
        }
    }
}
