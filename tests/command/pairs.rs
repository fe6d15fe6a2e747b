//! `--pair`: mismatches are reported, and misnamed masks get a suggestion.
#![allow(clippy::unwrap_used)]

use crate::common::{expect, fails, ok, tree};
use fdconvert_testkit::{
    fixtures,
    zip::{Entry, zip},
};
use std::fs;

#[test]
fn masks_that_do_not_fit_are_counted() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    tree(&path("img"), &["1.png", "1.bmp", "2.png", "turned.png"]);
    tree(&path("masks"), &["1.png", "99.png", "2.gif", "turned.png"]);
    fs::write(path("masks/2.gif"), fixtures::png(3, 9, 1).bytes).unwrap();
    let photos = fixtures::photos().join("turned");
    fs::copy(photos.join("exif-6.jpg"), path("img/turned.png")).unwrap();
    fs::write(path("masks/turned.png"), fixtures::png(50, 75, 1).bytes).unwrap();
    let pair = format!("mask={}", path("masks").display());
    for (format, threads) in [("wds", "1"), ("mds", "3")] {
        let out = path(&format!("o.{format}"));
        let said = ok(&[&"pack", &path("img"), &out, &"--pair", &pair, &"--threads", &threads]);
        for part in [
            "1 of 4 images in masks belongs to no sample and is left out, such as 99.png",
            "1 sample has the mask of another one whose name differs in the extension only, such as \
             1.bmp and 1.png that of 1.png",
            "the mask of 1 of 4 samples has another size than the image, such as that of 2.png",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    fs::remove_file(path("img/1.bmp")).unwrap();
    fs::remove_file(path("masks/99.png")).unwrap();
    fs::write(path("masks/2.gif"), fixtures::PNG_RGB).unwrap();
    let said = ok(&[&"pack", &path("img"), &path("sound.wds"), &"--pair", &pair]);
    assert!(!said.contains("mask"), "{said}");
}

#[test]
fn masks_of_longer_names_are_named_with_the_cure() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    tree(&path("img"), &["a/1.png", "b/1.png", "b/2.png"]);
    tree(&path("masks"), &["a/1_mask.png", "a/10.png", "b/2_mask.png"]);
    let pair = format!("mask={}", path("masks").display());
    let message = fails(&[&"pack", &path("img"), &path("o.wds"), &"--pair", &pair]);
    let cure = "`a/1.png`: there is no mask of its name in masks: a/1_mask.png exists, so leave \
                `_mask` out of the names in masks";
    assert!(message.contains(cure), "{message}");
    tree(&path("masks"), &["a/1.png", "b/1.png"]);
    let skip = "skip";
    let args: [&dyn AsRef<std::ffi::OsStr>; 7] =
        [&"pack", &path("img"), &path("o.wds"), &"--pair", &pair, &"--on-error", &skip];
    assert!(expect(1, &args).contains("packed 2 of 3"));
}

#[test]
fn masks_in_an_archive_have_a_cure_that_works() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let names = ["images/1.png", "images/2.png", "masks/1.png", "masks/2.png"];
    let entries = names.map(|name| Entry::deflated(name, fixtures::PNG_RGB));
    fs::write(path("seg.zip"), zip(&entries)).unwrap();
    let message = fails(&[&"pack", &path("seg.zip"), &path("o.wds")]);
    let folder = path("seg").display().to_string();
    assert!(message.contains(&format!("unpack it into {folder} first")), "{message}");
    let (images, masks) = (format!("{folder}/images"), format!("mask={folder}/masks"));
    assert!(message.contains(&format!("give {images} as the source")), "{message}");
    let pair = format!("where the two files of a pair have one name: --pair {masks}; ");
    assert!(message.contains(&pair), "{message}");
    tree(&path("seg"), &names);
    ok(&[&"pack", &images, &path("o.wds"), &"--pair", &masks]);
}

#[test]
fn what_is_left_out_or_lacking_is_named() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    tree(&path("classes"), &["train/a/1.png", "val/a/2.png"]);
    tree(&path("flat"), &["1.png"]);
    let said = ok(&[&"pack", &path("classes"), &path("o.wds"), &"--drop-fields", &"label"]);
    assert!(said.contains("  labels    none: the field `label` is left out\n"), "{said}");
    let message = fails(&[&"pack", &path("classes/train"), &path("flat"), &path("x.wds")]);
    let parts =
        "flat has other fields than train, image (image) and not image (image), label (int)";
    assert!(message.contains(parts) && message.contains("--drop-fields"), "{message}");
}
