//! Removing metadata from images when packing, and counting it.
#![allow(clippy::unwrap_used)]

use crate::common::{fails, ok};
use fdconvert_core::{Codec, Encoded, Value as Field};
use fdconvert_testkit::{
    fixtures,
    metadata::{LATITUDE, MAKER, XMP, exif, jpeg_with, png_with},
};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Writes two JPEGs and a PNG with a position, with an EXIF rotation in one of the JPEGs, and a
/// plain JPEG.
fn photos(root: &Path) -> PathBuf {
    let source = root.join("photos");
    fs::create_dir(&source).unwrap();
    let named = |tiff: Vec<u8>| [b"Exif\0\0".as_slice(), &tiff].concat();
    let xmp = [b"http://ns.adobe.com/xap/1.0/\0", XMP].concat();
    let with = |orientation| {
        let segments = [(0xE1, named(exif(orientation, true))), (0xE1, xmp.clone())];
        jpeg_with(fixtures::JPEG_420, &segments)
    };
    fs::write(source.join("a.jpg"), with(1)).unwrap();
    fs::write(source.join("b.jpg"), with(6)).unwrap();
    fs::write(source.join("c.jpg"), fixtures::JPEG_420).unwrap();
    let chunks = [(b"eXIf", exif(1, false)), (b"tEXt", b"Comment\0here".to_vec())];
    fs::write(source.join("d.png"), png_with(fixtures::PNG_RGB, &chunks, false)).unwrap();
    source
}

fn images(dataset: &Path) -> Vec<Encoded> {
    let reader = fdconvert_reader::open(dataset).unwrap();
    let image = |index| match reader.get(index).unwrap().values.swap_remove(0) {
        Field::Image(image) => image,
        other => unreachable!("{other:?}"),
    };
    (0..reader.len()).map(image).collect()
}

fn counted(dataset: &Path) -> Value {
    let found: Value =
        serde_json::from_str(&ok(&[&"inspect", &dataset, &"--json", &"--stats"])).unwrap();
    found["stats"]["metadata"].clone()
}

fn has(image: &Encoded, what: &[u8]) -> bool {
    image.bytes.windows(what.len()).any(|window| window == what)
}

#[test]
fn metadata_goes_and_is_counted() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), photos(root.path()));
    let path = |name: &str| root.join(name);
    ok(&[&"pack", &source, &path("kept.wds")]);
    let all = json!({
        "exif": 3, "gps": 3, "xmp": 2, "iptc": 0, "comments": 1, "icc": 0, "turned": 1
    });
    assert_eq!(counted(&path("kept.wds")), all);
    let said = ok(&[&"pack", &source, &path("all.wds"), &"--strip-metadata", &"all"]);
    for note in [
        "3 stored without some metadata, the image data byte for byte",
        "3 had a position (GPS), which was removed",
        "1 lost their EXIF but for the orientation",
        "1 stored byte for byte as in the source",
    ] {
        assert!(said.contains(note), "{note}: {said}");
    }
    let [a, b, c, d] = &images(&path("all.wds"))[..] else { unreachable!() };
    assert_eq!((&a.bytes[..], &c.bytes[..]), (fixtures::JPEG_420, fixtures::JPEG_420));
    assert_eq!(d.bytes, fixtures::PNG_RGB);
    assert!(!has(b, MAKER) && has(b, b"Exif\0\0"));
    let none = json!({
        "exif": 1, "gps": 0, "xmp": 0, "iptc": 0, "comments": 0, "icc": 0, "turned": 1
    });
    assert_eq!(counted(&path("all.wds")), none);
    ok(&[&"verify", &path("all.wds"), &"--deep"]);
    // Only the position.
    ok(&[&"pack", &source, &path("gps.beton"), &"--strip-metadata", &"gps", &"--encode", &"keep"]);
    let counts = counted(&path("gps.beton"));
    assert_eq!((&counts["gps"], &counts["xmp"]), (&json!(0), &json!(2)));
    let [a, b, ..] = &images(&path("gps.beton"))[..] else { unreachable!() };
    assert!([a, b].iter().all(|image| has(image, MAKER) && !has(image, &LATITUDE)));
}

#[test]
fn what_is_shown_stays_the_same() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), photos(root.path()));
    let path = |name: &str| root.join(name);
    ok(&[&"pack", &source, &path("kept.wds")]);
    for kinds in ["exif", "gps", "exif,gps,xmp", "comments,icc", "all,icc"] {
        let out = path(kinds).with_extension("wds");
        ok(&[&"pack", &source, &out, &"--strip-metadata", &kinds]);
        // Equal pixels; the bytes of the images differ.
        ok(&[&"verify", &out, &"--deep"]);
        let pairs = images(&path("kept.wds")).into_iter().zip(images(&out));
        for (kept, stripped) in pairs {
            let header = |image: &Encoded| fdconvert_core::probe::probe(&image.bytes).unwrap();
            assert_eq!(header(&kept), header(&stripped), "{kinds}");
        }
    }
}

#[test]
fn the_option_is_part_of_the_run() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), photos(root.path()));
    let out = root.join("o.wds");
    let strip: [&dyn AsRef<OsStr>; 5] = [&"pack", &source, &out, &"--strip-metadata", &"xmp,exif"];
    ok(&strip);
    assert!(ok(&strip).contains("nothing to do"));
    let said = fails(&[&"pack", &source, &out]);
    assert!(said.contains("is of a run with another source or other options"), "{said}");
    let found: Value = serde_json::from_str(&ok(&[&"inspect", &out, &"--json"])).unwrap();
    assert_eq!(found["provenance"]["params"]["strip-metadata"], "exif,xmp");
    // Reading every image was not requested.
    assert_eq!(found["stats"]["metadata"], Value::Null);
    let said = fails(&[&"pack", &source, &root.join("p"), &"--strip-metadata", &"exif,place"]);
    assert!(said.contains("exif, gps, xmp, iptc, comments, icc, all"), "{said}");
}

/// Entry points belong to the stored bytes.
#[test]
fn entry_points_are_found_in_what_is_stored() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), photos(root.path()));
    let out = root.join("o.wds");
    ok(&[&"pack", &source, &out, &"--strip-metadata", &"all", &"--jpeg-index", &"512"]);
    ok(&[&"verify", &out, &"--deep"]);
    let bare = root.join("bare");
    fs::create_dir(&bare).unwrap();
    fs::write(bare.join("c.jpg"), fixtures::JPEG_420).unwrap();
    let alone = root.join("alone.wds");
    ok(&[&"pack", &bare, &alone, &"--jpeg-index", &"512"]);
    let points = |dataset: &Path, index| {
        fdconvert_reader::open(dataset).unwrap().entry_points(index, 0).unwrap().unwrap()
    };
    assert_eq!(points(&out, 0), points(&alone, 0));
}

/// Metadata cannot be removed from a TIFF, so that its pixels are stored again.
#[test]
fn tiffs_become_pngs() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), root.path().join("photos"));
    fs::create_dir(&source).unwrap();
    // Eight by eight gray pixels after the directory, which has a maker.
    let entries = [
        (256, 3, 1, 8),
        (257, 3, 1, 8),
        (258, 3, 1, 8),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (271, 2, 4, u32::from_le_bytes(*b"abc\0")),
        (273, 4, 1, 134),
        (277, 3, 1, 1),
        (278, 3, 1, 8),
        (279, 4, 1, 64),
    ];
    let tiff = [fixtures::tiff_directory(&entries), (0..64).collect()].concat();
    fs::write(source.join("a.tif"), tiff).unwrap();
    let out = root.join("o.wds");
    let args: [&dyn AsRef<OsStr>; 6] =
        [&"pack", &source, &out, &"--strip-metadata", &"exif", &"--json"];
    let report: Value = serde_json::from_str(&ok(&args)).unwrap();
    assert_eq!(report["notes"], json!({"re-encoded": 1}));
    assert_eq!(images(&out)[0].codec, Codec::Png);
}
