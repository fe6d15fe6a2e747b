//! Further images of a beton: files as they are, but for JPEGs and what an option encodes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use crate::common::{expect, fails, ok, tar};
use fdconvert_core::{Codec, Encoded, Value};
use fdconvert_testkit::fixtures;
use std::{fs, path::Path};

/// Writes a shard of samples with two images; the second ones have these names and contents.
fn shard(path: &Path, seconds: &[(&str, Vec<u8>)]) {
    let first = jpeg();
    let names: Vec<_> = (0..seconds.len()).map(|at| format!("{at}.jpg")).collect();
    let mut files: Vec<(&str, &[u8])> = Vec::new();
    for (name, (second, bytes)) in names.iter().zip(seconds) {
        files.extend([(&**name, &*first), (second, bytes)]);
    }
    fs::write(path, tar(&files)).unwrap();
}

/// Returns the second images of a beton.
fn seconds(beton: &Path) -> Vec<Encoded> {
    let reader = fdconvert_reader::open(beton).unwrap();
    let second = |index| match reader.get(index).unwrap().values.remove(1) {
        Value::Image(image) => image,
        other => panic!("{other:?}"),
    };
    (0..reader.len()).map(second).collect()
}

fn jpeg() -> Vec<u8> {
    fs::read(fixtures::photos().join("size/small.jpg")).unwrap()
}

fn deep_png() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 2, 2);
    encoder.set_depth(png::BitDepth::Sixteen);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    bytes
}

#[test]
fn further_images_are_the_files_that_they_were() {
    let root = tempfile::tempdir().unwrap();
    let (source, out) = (root.path().join("x.tar"), root.path().join("x.beton"));
    let png = fixtures::png(20, 10, 2).bytes.to_vec();
    shard(&source, &[("0.right.png", png.clone()), ("1.right.png", deep_png())]);
    ok(&[&"pack", &source, &out]);
    ok(&[&"verify", &out, &"--deep"]);
    let found: Vec<_> = seconds(&out).into_iter().map(|image| image.bytes.to_vec()).collect();
    assert_eq!(found, [png.clone(), deep_png()]);
    // An option encodes the first of these, and so decides for the field.
    let two = root.path().join("two.tar");
    shard(&two, &[("0.right.png", png.clone()), ("1.right.png", png.clone())]);
    ok(&[&"pack", &two, &out, &"--encode", &"jpeg", &"--overwrite"]);
    assert!(seconds(&out).iter().all(|image| image.codec == Codec::Jpeg));
    let field = fs::read(&out).unwrap()[24 + 1041];
    assert_eq!(field, 2, "FFCV's RGB field");
    // What FFCV shows as images is not taken from it.
    let mixed = root.path().join("mixed.tar");
    shard(&mixed, &[("0.right.jpg", jpeg()), ("1.right.png", png)]);
    ok(&[&"pack", &mixed, &out, &"--overwrite"]);
    let codecs: Vec<_> = seconds(&out).iter().map(|image| image.codec).collect();
    assert_eq!(codecs, [Codec::Jpeg, Codec::Raw]);
}

#[test]
fn values_that_a_field_of_jpegs_would_lose_are_an_error() {
    let root = tempfile::tempdir().unwrap();
    let (source, out) = (root.path().join("x.tar"), root.path().join("x.beton"));
    shard(&source, &[("0.right.jpg", jpeg()), ("1.right.png", deep_png())]);
    let said = fails(&[&"pack", &source, &out]);
    assert!(said.contains("is an image of more than 8 bits, which would be lost"), "{said}");
    expect(1, &[&"pack", &source, &out, &"--on-error", &"skip"]);
    assert_eq!(seconds(&out).len(), 1);
}
