//! `pack --ratio`: exactly the requested share, without loss, with any threads and parts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use crate::common::{self, expect, fails, kodak_classes, ok};
use fdconvert_codec::{Decoder, orient};
use fdconvert_core::{Codec, Encoded, Limits, Pixels, Value};
use fdconvert_testkit::{
    compare::{assert_same_tree, tree},
    fixtures, needs_shared,
};
use serde_json::Value as Json;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Returns the image of every sample, by key.
fn images(path: &Path) -> BTreeMap<String, Encoded> {
    let reader = fdconvert_reader::open(path).unwrap();
    let image = |index| {
        let sample = reader.get(index).unwrap();
        let image = sample.values.into_iter().find_map(|value| match value {
            Value::Image(image) => Some(image),
            _ => None,
        });
        (sample.key, image.unwrap())
    };
    (0..reader.len()).map(image).collect()
}

/// Returns the pixels that a training run would get: upright RGB.
fn seen(image: &Encoded) -> Pixels {
    let limits = Limits { max_pixels: 1 << 26, ..Limits::DEFAULT };
    let decoded = Decoder::new().decode("k", image, &limits).unwrap();
    let mut pixels = orient(decoded.pixels, decoded.header.orientation);
    if pixels.channels == 1 {
        pixels.data = pixels.data.iter().flat_map(|gray| [*gray; 3]).collect();
        pixels.channels = 3;
    }
    pixels
}

fn count(images: &BTreeMap<String, Encoded>, codec: Codec) -> usize {
    images.values().filter(|image| image.codec == codec).count()
}

/// Packs at a ratio; returns the images.
fn pack(source: &Path, out: &Path, ratio: &str) -> BTreeMap<String, Encoded> {
    ok(&[&"pack", &source, &out, &"--format", &"mixed", &"--ratio", &ratio]);
    images(out)
}

#[test]
fn the_ratio_is_exact_and_nothing_is_lost() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let before = images(&source);
    assert_eq!(before.len(), 12);
    // 12 times the share, rounded half up.
    for (ratio, n_bmp) in [("0", 0), ("0.2", 2), ("1:1", 6), ("37.5%", 5), ("7:3", 8), ("1", 12)] {
        let out = root.path().join(ratio.replace(':', "-"));
        let mixed = pack(&source, &out, ratio);
        assert_eq!(count(&mixed, Codec::Bmp), n_bmp, "{ratio}");
        assert_eq!(count(&mixed, Codec::Png), 12 - n_bmp, "{ratio}");
        assert!(before.keys().eq(mixed.keys()));
        for (key, image) in &mixed {
            assert_eq!(seen(image), seen(&before[key]), "{key} at {ratio}");
            if image.codec == Codec::Png {
                assert_eq!(image.bytes, before[key].bytes, "{key} at {ratio}");
            }
        }
        ok(&[&"verify", &out, &"--deep"]);
    }
    let manifest = fs::read(root.path().join("7-3/fdconvert-mixed.json")).unwrap();
    let manifest: Json = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["asked"], "0.7");
    assert_eq!(manifest["provenance"]["params"]["ratio-by"], "random");
}

#[test]
fn what_stays_encoded_may_be_webp() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let before = images(&source);
    let out = root.path().join("webp");
    let how: [&dyn AsRef<std::ffi::OsStr>; 9] =
        [&"pack", &source, &out, &"--format", &"mixed", &"--ratio", &"1:2", &"--encode", &"webp"];
    ok(&how);
    let mixed = images(&out);
    assert_eq!((count(&mixed, Codec::Bmp), count(&mixed, Codec::Webp)), (4, 8));
    for (key, image) in &mixed {
        assert_eq!(seen(image), seen(&before[key]), "{key}");
    }
    ok(&[&"verify", &out, &"--deep"]);
    // WebP images keep their bytes, and become BMP like any other.
    let again = pack(&out, &root.path().join("again"), "3:1");
    assert_eq!((count(&again, Codec::Bmp), count(&again, Codec::Webp)), (9, 3));
    for (key, image) in again.iter().filter(|(_, image)| image.codec == Codec::Webp) {
        let is_kept = mixed[key].codec == Codec::Webp && mixed[key].bytes == image.bytes;
        assert!(is_kept || mixed[key].codec == Codec::Bmp, "{key}");
    }
    for format in ["wds", "mds"] {
        let out = root.path().join(format);
        ok(&[&"pack", &source, &out, &"--format", &format, &"--encode", &"webp"]);
        let stored = images(&out);
        assert_eq!(count(&stored, Codec::Webp), 12);
        for (key, image) in &stored {
            assert_eq!(seen(image), seen(&before[key]), "{key} in {format}");
        }
    }
    let said = fails(&[&"pack", &source, &root.path().join("x.beton"), &"--encode", &"webp"]);
    assert!(said.contains("cannot hold webp"), "{said}");
}

/// Fractals have two gray levels: one bit per pixel, as PNG and as BMP.
#[test]
fn two_gray_levels_stay_bits_in_both_forms() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let recipe = "fractal:fractaldb?classes=1&instances=100&size=200";
    ok(&[&"pack", &recipe, &path("png.wds"), &"--format", &"wds"]);
    let before = images(&path("png.wds"));
    // 62 bytes before 200 rows of 28; a BMP of gray levels has 41,078.
    let check = |mixed: &BTreeMap<String, Encoded>, n_bmp: usize| {
        assert_eq!(count(mixed, Codec::Bmp), n_bmp);
        assert!(before.keys().eq(mixed.keys()));
        for (key, image) in mixed {
            assert_eq!(seen(image), seen(&before[key]), "{key}");
            match image.codec {
                Codec::Bmp => assert_eq!(image.bytes.len(), 5662, "{key}"),
                _ => assert_eq!(image.bytes, before[key].bytes, "{key}"),
            }
        }
    };
    check(&pack(Path::new(recipe), &path("half"), "0.5"), 50);
    check(&pack(Path::new(recipe), &path("all"), "1"), 100);
    // BMPs of one become PNGs of the other, and vice versa.
    check(&pack(&path("all"), &path("again"), "0.3"), 30);
    for set in ["half", "all", "again"] {
        ok(&[&"verify", &path(set), &"--deep"]);
    }
}

/// Mixes the images of a folder in several ways; each keeps its pixels.
fn keep_what_they_show(source: &Path) {
    let root = tempfile::tempdir().unwrap();
    let before = images(source);
    for (ratio, by) in [("0.4", "random"), ("0.4", "benefit"), ("1", "random")] {
        let out = root.path().join(format!("{ratio}-{by}"));
        let options: [&dyn AsRef<std::ffi::OsStr>; 9] =
            [&"pack", &source, &out, &"--format", &"mixed", &"--ratio", &ratio, &"--by", &by];
        ok(&options);
        let mixed = images(&out);
        assert!(before.keys().eq(mixed.keys()));
        let n_bmp = count(&mixed, Codec::Bmp);
        if ratio == "0.4" {
            // Rounded half up.
            assert_eq!(n_bmp, (before.len() * 4 + 5) / 10);
        }
        for (key, image) in &mixed {
            assert_eq!(seen(image), seen(&before[key]), "{key}");
        }
        // Only CMYK, 16 bits and alpha stay encoded at a share of 1.
        println!("{ratio} {by}: {n_bmp} of {} images are BMP", before.len());
    }
}

#[test]
fn every_kind_of_image_keeps_what_it_shows() {
    keep_what_they_show(&fixtures::photos());
}

needs_shared! {
    fn originals_keep_what_they_show() {
        keep_what_they_show(&fixtures::shared().join("data/images"));
    }
}

#[test]
fn bytes_depend_on_nothing_but_source_and_options() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let path = |name: &str| root.path().join(name);
    let options: [&dyn AsRef<std::ffi::OsStr>; 7] =
        [&source, &"--format", &"mixed", &"--ratio", &"0.4", &"--shard-count", &"3"];
    let with = |more: &[&dyn AsRef<std::ffi::OsStr>]| {
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = more.to_vec();
        args.extend(options);
        ok(&args);
    };
    // OUT follows the sources.
    let pack = |name: &str, threads: &str| {
        let out = path(name).join("set");
        fs::create_dir_all(path(name)).unwrap();
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack", &source, &out];
        args.extend(&options[1..]);
        args.extend([&"--threads" as &dyn AsRef<std::ffi::OsStr>, &threads]);
        ok(&args);
        out
    };
    let (one, two) = (pack("one", "1"), pack("two", "2"));
    assert_same_tree(&one, &two);

    let plan = path("plan.fdplan");
    with(&[&"plan", &"--output", &plan]);
    let parts: PathBuf = path("parts").join("set");
    fs::create_dir_all(path("parts")).unwrap();
    for part in ["2/2", "1/2"] {
        ok(&[&"pack", &"--plan", &plan, &"--part", &part, &parts]);
    }
    ok(&[&"merge", &parts]);
    let without_plan = |path: &Path| {
        let mut files = tree(path);
        files.retain(|name, _| !name.ends_with(b".fdplan"));
        files
    };
    assert!(without_plan(&one) == without_plan(&parts));
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let out = root.path().join("out");
    let refused = |more: &[&dyn AsRef<std::ffi::OsStr>]| {
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack", &source, &out];
        args.extend(more);
        let said = fails(&args);
        assert!(!out.exists(), "{said}");
        said
    };
    assert!(refused(&[&"--format", &"wds", &"--ratio", &"0.5"]).contains("--format mixed"));
    for ratio in ["1.5", "x", "-1:2", "0:0", "nan"] {
        let option = format!("--ratio={ratio}");
        assert!(refused(&[&"--format", &"mixed", &option]).contains("ratio"), "{ratio}");
    }
    let encode: [&dyn AsRef<std::ffi::OsStr>; 6] =
        [&"--format", &"mixed", &"--ratio", &"0.5", &"--encode", &"raw"];
    assert!(refused(&encode).contains("stay encoded"));
    let missing = root.path().join("missing.json");
    assert!(refused(&[&"--format", &"mixed", &"--ratio", &missing]).contains("missing.json"));
    fs::write(&missing, "{}").unwrap();
    assert!(refused(&[&"--format", &"mixed", &"--ratio", &missing]).contains("not a profile"));
}

#[test]
fn bad_samples_are_skipped_and_counted_or_end_the_run() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let bad = source.join("even/broken.png");
    let whole = fs::read(common::sorted(&source.join("even")).first().unwrap()).unwrap();
    fs::write(&bad, &whole[..whole.len() / 2]).unwrap();
    let out = root.path().join("out");
    let said = fails(&[&"pack", &source, &out, &"--format", &"mixed", &"--ratio", &"1"]);
    assert!(said.contains("broken.png"), "{said}");
    assert!(!out.join("fdconvert-mixed.json").exists());
    let skip: [&dyn AsRef<std::ffi::OsStr>; 9] =
        [&"pack", &source, &out, &"--format", &"mixed", &"--ratio", &"0.5", &"--on-error", &"skip"];
    expect(1, &skip);
    let mixed = images(&out);
    assert_eq!(mixed.len(), 12);
    ok(&[&"verify", &out, &"--deep"]);
}
