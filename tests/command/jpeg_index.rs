//! `--jpeg-index`: entry points in every format that can store them, the same on every path.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{self, expect, fails, fdconvert, kodak_classes, ok, sha256_file};
use fdconvert_core::{Codec, Value};
use fdconvert_jpeg::stored_entry_points;
use fdconvert_testkit::{compare::tree, fixtures, needs_shared};
use serde_json::Value as Json;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap()
}

/// Writes JPEGs of Kodak's photos, and a PNG.
fn jpegs(root: &Path) -> PathBuf {
    let made = root.join("made.beton");
    let folder = root.join("jpegs");
    ok(&[&"pack", &kodak_classes(root), &made, &"--jpeg-quality", &"85", &"--max-side", &"400"]);
    ok(&[&"unpack", &made, &folder]);
    fs::remove_file(made).unwrap();
    folder
}

/// Checks that every JPEG has the entry points that are made of it now; returns the number of JPEGs
/// with some.
fn check(dataset: &Path, grid_bits: u32) -> u64 {
    let reader = fdconvert_reader::open(dataset).unwrap();
    let mut n_covered = 0;
    for index in 0..reader.len() {
        let sample = reader.get(index).unwrap();
        for (field, value) in sample.values.iter().enumerate() {
            let found = reader.entry_points(index, field).unwrap();
            let wanted = match value {
                Value::Image(image) if image.codec == Codec::Jpeg => {
                    stored_entry_points(&image.bytes, grid_bits).ok()
                }
                _ => None,
            };
            assert_eq!(found.as_deref(), wanted.as_deref(), "{}", sample.key);
            n_covered += u64::from(found.is_some());
        }
    }
    n_covered
}

#[test]
fn every_format_with_a_place_for_them_stores_them() {
    let root = tempfile::tempdir().unwrap();
    let source = jpegs(root.path());
    for (format, bits) in [("beton", "on"), ("wds", "512"), ("mixed", "1024")] {
        let out = root.path().join(format!("x.{format}"));
        let args: [&dyn AsRef<std::ffi::OsStr>; 8] =
            [&"pack", &source, &out, &"--format", &format, &"--jpeg-index", &bits, &"--json"];
        let report = json(&ok(&args));
        let grid_bits = bits.parse().unwrap_or(2048);
        assert_eq!(report["jpeg_index"]["built"], 12, "{report}");
        assert!(report["stage_seconds"]["index"].as_f64().unwrap() > 0.0);
        assert_eq!(check(&out, grid_bits), 12, "{format}");
        ok(&[&"verify", &out, &"--deep"]);
        let shown = json(&ok(&[&"inspect", &out, &"--json"]));
        let details = &shown["details"]["entry_points"];
        assert_eq!(details["grid_bits"], grid_bits, "{details}");
        assert_eq!((details["covered"].as_u64(), details["refused"].as_u64()), (Some(12), Some(0)));
        assert!((0.002..0.05).contains(&details["share"].as_f64().unwrap()), "{details}");
        assert_eq!(shown["provenance"]["params"]["jpeg-index"], grid_bits.to_string());
        // Out and in again.
        let (back, again) =
            (root.path().join(format!("{format}.back")), root.path().join("again.beton"));
        ok(&[&"unpack", &out, &back]);
        ok(&[&"pack", &back, &again, &"--jpeg-index", &bits, &"--overwrite"]);
        assert_eq!(check(&again, grid_bits), 12, "{format}");
    }
}

/// Packs with more options; returns all files of the output.
fn pack(source: &Path, out: &Path, more: &[&str]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let output = fdconvert().arg("pack").args([source, out]).args(more).output().unwrap();
    assert!(output.status.success(), "{more:?}: {}", common::text(&output.stderr));
    tree(out)
}

#[test]
fn they_are_stored_by_default_where_there_is_a_place_for_them() {
    let root = tempfile::tempdir().unwrap();
    let source = jpegs(root.path());
    let mut number = 0;
    let mut same = |options: &[&str], other: &str| {
        let mut packed = |more: &[&str]| {
            number += 1;
            let out = root.path().join(format!("{number}/out"));
            fs::create_dir(out.parent().unwrap()).unwrap();
            pack(&source, &out, &[options, more].concat())
        };
        packed(&[]) == packed(&["--jpeg-index", other])
            && packed(&["--jpeg-index", "auto"]) == packed(&[])
    };
    for format in ["beton", "wds", "mixed"] {
        assert!(same(&["--format", format], "on"), "{format}");
        assert!(!same(&["--format", format], "off"), "{format}");
    }
    for options in [
        &["--format", "mds"][..],
        &["--format", "folder"],
        &["--format", "wds", "--sidecars", "dali"],
        #[cfg(feature = "parquet")]
        &["--format", "parquet"],
        #[cfg(feature = "turbo")]
        &["--format", "beton", "--compat", "ffcv", "--encode", "jpeg"],
    ] {
        assert!(same(options, "off"), "{options:?}");
    }
}

/// What FFCV reads of a beton is the same with and without them, but for the place of the table.
#[test]
fn the_bytes_before_the_index_are_those_without_them() {
    let root = tempfile::tempdir().unwrap();
    let source = jpegs(root.path());
    let (with, without) = (root.path().join("with.beton"), root.path().join("without.beton"));
    ok(&[&"pack", &source, &with]);
    ok(&[&"pack", &source, &without, &"--jpeg-index", &"off"]);
    assert_eq!((check(&with, 2048), check_none(&without)), (12, 12));
    let index_of =
        |bytes: &[u8]| bytes.windows(8).rposition(|it| it == b"\x89FDX\r\n\x1a\n").unwrap();
    let (with, without) = (fs::read(with).unwrap(), fs::read(without).unwrap());
    let start = index_of(&with);
    assert_eq!(start, index_of(&without));
    let differ = (0..start).filter(|&at| with[at] != without[at]);
    // The header's offset of the table, which is behind the index.
    assert!(differ.into_iter().all(|at| (16..24).contains(&at)));
    let table = |bytes: &[u8]| u64::from_le_bytes(bytes[16..24].try_into().unwrap()) as usize;
    assert_eq!(with[table(&with)..], without[table(&without)..]);
}

/// Reasons are no news to who did not ask, but that many JPEGs are decoded slowly is.
#[test]
fn by_default_only_the_document_tells_what_gets_none() {
    let root = tempfile::tempdir().unwrap();
    let source = root.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::copy(fixtures::fixture("bad/progressive.jpg"), source.join("a.jpg")).unwrap();
    let said = |name: &str, more: &str| {
        let out = root.path().join(name);
        ok(&[&"pack", &source, &out, &"--format", &"wds", &more])
    };
    let quiet = said("quiet", "--threads=1");
    assert!(!quiet.contains("jpegs"), "{quiet}");
    assert_eq!(quiet.contains("1 progressive take"), cfg!(feature = "turbo"), "{quiet}");
    let report = json(&said("told", "--json"));
    assert_eq!(report["jpeg_index"]["refused"]["progressive"], 1);
    assert!(said("asked", "--jpeg-index=on").contains("without: 1 progressive"));
    assert!(said("verbose", "--verbose").contains("without: 1 progressive"));
    for number in 0..10 {
        fs::copy(fixtures::fixture("bad/gray.jpg"), source.join(format!("{number}.jpg"))).unwrap();
    }
    let one = said("one", "--threads=1");
    assert!(one.contains("10 with entry points") && !one.contains("progressive"), "{one}");
}

#[test]
fn bytes_depend_on_neither_threads_nor_parts() {
    let root = tempfile::tempdir().unwrap();
    let source = jpegs(root.path());
    let mut betons = Vec::new();
    for threads in ["1", "2", "5"] {
        let out = root.path().join(format!("{threads}.beton"));
        ok(&[&"pack", &source, &out, &"--threads", &threads]);
        betons.push(sha256_file(&out));
    }
    assert!(betons.iter().all(|hash| *hash == betons[0]), "{betons:?}");

    for (name, index) in [("default", &[][..]), ("1024", &["--jpeg-index", "1024"])] {
        in_parts(&source, &root.path().join(name), index);
    }
}

fn in_parts(source: &Path, root: &Path, index: &[&str]) {
    fs::create_dir(root).unwrap();
    let recipe = [&["--format", "wds", "--shard-count", "5"], index].concat();
    let (plan, parts) = (root.join("p.fdplan"), root.join("parts"));
    let whole = pack(source, &root.join("whole"), &recipe);
    let output =
        fdconvert().arg("plan").args([source, Path::new("-o"), &plan]).args(&recipe).output();
    assert!(output.unwrap().status.success());
    for part in ["2/2", "1/2"] {
        ok(&[&"pack", &"--plan", &plan, &"--part", &part, &parts]);
    }
    ok(&[&"merge", &parts]);
    let mut parts = tree(&parts);
    parts.retain(|name, _| !name.ends_with(b".fdplan"));
    assert!(whole == parts, "{index:?}");
}

/// `index` adds them to shards packed without, and to foreign shards.
#[test]
fn existing_shards_get_the_same_entry_points() {
    let root = tempfile::tempdir().unwrap();
    let source = jpegs(root.path());
    let shards = root.path().join("shards");
    let without = ["--shard-count", "7", "--jpeg-index", "off"];
    pack(&source, &shards, &[&["--format", "wds"], &without[..]].concat());
    let tar = sha256_file(&shards.join("train-000000.tar"));
    assert_eq!(check_none(&shards), 12);
    let text = ok(&[&"index", &shards, &"--jpeg-index", &"on"]);
    assert!(text.contains("train-000001.fdx"), "{text}");
    assert_eq!(check(&shards, 2048), 12);
    ok(&[&"verify", &shards, &"--deep"]);
    assert_eq!(sha256_file(&shards.join("train-000000.tar")), tar);
    // A repeated command has nothing to do; another grid replaces them only on request.
    let before = sha256_file(&shards.join("train-000000.fdx"));
    ok(&[&"index", &shards, &"--jpeg-index", &"2048"]);
    assert_eq!(sha256_file(&shards.join("train-000000.fdx")), before);
    assert!(fails(&[&"index", &shards, &"--jpeg-index", &"512"]).contains("--overwrite"));
    ok(&[&"index", &shards, &"--jpeg-index", &"512", &"--overwrite"]);
    assert_eq!(check(&shards, 512), 12);

    fs::remove_file(shards.join("train-000000.fdx")).unwrap();
    fs::remove_file(shards.join("fdconvert.json")).unwrap();
    ok(&[&"index", &shards, &"--jpeg-index", &"512", &"--sidecars", &"fdx"]);
    assert_eq!(check(&shards, 512), 12);
    let message = fails(&[&"index", &shards, &"--jpeg-index", &"on", &"--sidecars", &"dali"]);
    assert!(message.contains("fdx"), "{message}");

    let beton = root.path().join("x.beton");
    ok(&[&"pack", &source, &beton]);
    let message = fails(&[&"index", &beton, &"--jpeg-index", &"on"]);
    assert!(message.contains("fdconvert pack") && message.contains("--jpeg-index"), "{message}");
}

/// Returns the number of images in a dataset without any entry points.
fn check_none(dataset: &Path) -> u64 {
    let reader = fdconvert_reader::open(dataset).unwrap();
    let none = (0..reader.len()).filter(|&index| reader.entry_points(index, 0).unwrap().is_none());
    none.count() as u64
}

#[test]
fn impossible_requests_are_refused_before_anything_is_written() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    for (out, more, word) in [
        ("x.mds", vec![], "beton, wds, mixed"),
        ("x.beton", vec!["--compat", "ffcv", "--encode", "jpeg"], "these options"),
        ("x.wds", vec!["--sidecars", "dali"], "these options"),
    ] {
        let out = root.path().join(out);
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"pack", &source, &out, &"--jpeg-index", &"on"];
        args.extend(more.iter().map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
        let message = fails(&args);
        assert!(message.contains("--jpeg-index") && message.contains(word), "{message}");
        assert_eq!(common::names(root.path()), ["kodak"]);
    }
    let message = fails(&[&"pack", &source, &root.path().join("y.beton"), &"--jpeg-index", &"7"]);
    assert!(message.contains("512"), "{message}");
}

/// PNGs become raw pixels in a beton: no JPEG, no entry points, no error.
#[test]
fn what_is_no_jpeg_has_none() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let out = root.path().join("x.beton");
    let report = json(&ok(&[&"pack", &source, &out, &"--jpeg-index", &"on", &"--json"]));
    assert_eq!(report["jpeg_index"]["built"], 0);
    assert_eq!(check_none(&out), 12);
    ok(&[&"verify", &out, &"--deep"]);
}

#[test]
fn damaged_entry_points_are_found_and_the_images_still_read() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("x.beton");
    ok(&[&"pack", &jpegs(root.path()), &out, &"--jpeg-index", &"on"]);
    let reader = fdconvert_reader::open(&out).unwrap();
    let known = reader.entry_points(3, 0).unwrap().unwrap().to_vec();
    drop(reader);
    let mut bytes = fs::read(&out).unwrap();
    let at = bytes.windows(known.len()).position(|window| window == known).unwrap();
    bytes[at + known.len() / 2] ^= 2;
    fs::write(&out, bytes).unwrap();
    assert!(expect(1, &[&"verify", &out]).contains("entry points"));
    let reader = fdconvert_reader::open(&out).unwrap();
    assert!(reader.entry_points(3, 0).is_err() && reader.get(3).is_ok());
    assert!(reader.entry_points(4, 0).unwrap().is_some());
}

/// Returns the number of JPEGs in a folder that get entry points.
fn built(photos: &Path) -> u64 {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("x.beton");
    let report = ok(&[&"pack", &photos, &out, &"--jpeg-index", &"1024", &"--json"]);
    let built = json(&report)["jpeg_index"]["built"].as_u64().unwrap();
    assert_eq!(check(&out, 1024), built);
    built
}

#[test]
fn photographs_of_all_sorts() {
    assert_eq!(built(&fixtures::photos()), 26);
}

needs_shared! {
    /// JPEGs from ImageNet: many kinds of tables and samplings, some without entry points.
    fn photographs_from_the_wild() {
        let built = built(&fixtures::shared().join("data/images"));
        assert!(built > 150, "{built}");
    }
}

#[test]
fn what_gets_none_is_counted_with_its_reason() {
    let root = tempfile::tempdir().unwrap();
    let (source, out) = (root.path().join("source"), root.path().join("x.beton"));
    fs::create_dir(&source).unwrap();
    for name in ["gray.jpg", "progressive.jpg"] {
        fs::copy(fixtures::fixture("bad").join(name), source.join(name)).unwrap();
    }
    let report = json(&ok(&[&"pack", &source, &out, &"--jpeg-index", &"on", &"--json"]));
    let counts = &report["jpeg_index"];
    assert_eq!((&counts["built"], &counts["refused"]["progressive"]), (&1.into(), &1.into()));
    let shown = json(&ok(&[&"inspect", &out, &"--json"]));
    let details = &shown["details"]["entry_points"];
    assert_eq!((&details["covered"], &details["refused"]), (&1.into(), &1.into()));
    assert_eq!(check(&out, 2048), 1);
    ok(&[&"verify", &out, &"--deep"]);
}

#[test]
fn killed_and_continued_it_ends_with_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    let images = fixtures::kodak();
    let source = root.path().join("source");
    for class in 0..8 {
        let class = source.join(format!("c{class}"));
        fs::create_dir_all(&class).unwrap();
        for path in common::sorted(&images) {
            fs::copy(&path, class.join(path.file_name().unwrap())).unwrap();
        }
    }
    let start = |out: &Path, threads: &str| {
        let mut command = fdconvert();
        command.arg("pack").args([&*source, out]).args(["--threads", threads]);
        command.args(["--jpeg-quality", "97", "--page-size", "2MiB", "--jpeg-index", "512"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let whole = root.path().join("whole.beton");
    assert!(start(&whole, "2").wait().unwrap().success());
    let out = root.path().join("killed.beton");
    let partial = root.path().join("killed.beton.partial");
    let mut kills = 0;
    for round in 1.. {
        let mut child = start(&out, ["1", "2", "3"][round % 3]);
        while child.try_wait().unwrap().is_none()
            && fs::metadata(&partial).map_or(0, |found| found.len()) < round as u64 * 5_000_000
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        kills += 1;
    }
    assert!(kills >= 2, "killed only {kills} times");
    assert_eq!(sha256_file(&out), sha256_file(&whole));
    assert_eq!(common::names(root.path()), ["killed.beton", "source", "whole.beton"]);
    assert_eq!(check(&out, 512), 96);
}

#[test]
fn progressive_jpegs_get_entry_points_once_they_are_baseline() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("photos");
    fs::create_dir(&folder).unwrap();
    fs::copy(fixtures::fixture("bad/progressive.jpg"), folder.join("a.jpg")).unwrap();
    fs::copy(common::sorted(&jpegs(root.path()).join("even")).remove(0), folder.join("b.jpg"))
        .unwrap();
    let path = |name: &str| root.path().join(name);
    ok(&[&"pack", &folder, &path("kept.beton"), &"--jpeg-index", &"on"]);
    assert_eq!(check(&path("kept.beton"), 2048), 1);
    let said = ok(&[
        &"pack",
        &folder,
        &path("new.beton"),
        &"--jpeg-index",
        &"on",
        &"--baseline",
        &"--json",
    ]);
    let report = json(&said);
    assert_eq!((&report["notes"]["baseline"], &report["notes"]["kept"]), (&1.into(), &1.into()));
    assert_eq!(check(&path("new.beton"), 2048), 2);
    ok(&[&"verify", &path("new.beton"), &"--deep"]);

    let pixels = |name: &str| {
        let reader = fdconvert_reader::open(path(name)).unwrap();
        let sample = reader.get(0).unwrap();
        let Some(Value::Image(image)) = sample.values.into_iter().next() else { unreachable!() };
        let mut decoder = fdconvert_codec::Decoder::new();
        let decoded = decoder.decode("a", &image, &fdconvert_core::Limits::DEFAULT).unwrap();
        (decoded.header.progressive, decoded.pixels)
    };
    let ((was, before), (is, after)) = (pixels("kept.beton"), pixels("new.beton"));
    assert!(was && !is && before == after);
}
