//! The default: source bytes go in and come out unchanged, and damage is detected.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{self, expect, kodak_classes, ok, sha256_file};
use fdconvert_testkit::{compare::assert_same_tree, fixtures, needs_shared};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Packs, verifies and unpacks a folder of `n` JPEGs below `root`; returns the beton.
fn survives(images: &Path, n: usize, root: &Path) -> PathBuf {
    let (out, back) = (root.join("out.beton"), root.join("back"));
    let summary = ok(&[&"pack", &images, &out]);
    let expected = format!("{n} of {n}");
    assert!(summary.contains(&expected) && summary.contains("byte for byte"), "{summary}");
    ok(&[&"verify", &out, &"--deep"]);
    ok(&[&"unpack", &out, &back]);
    assert_same_tree(images, &back);
    out
}

#[test]
fn source_bytes_survive_pack_and_unpack() {
    let root = tempfile::tempdir().unwrap();
    let out = survives(&fixtures::photos(), 26, root.path());
    // An independent parser.
    let parser = fixtures::fixture("beton.py");
    let output = Command::new("python3").arg(parser).arg(&out).arg(fixtures::photos()).output();
    let Ok(output) = output else {
        println!("skipped: the independent parser needs python3");
        return;
    };
    assert!(output.status.success(), "{}", common::text(&output.stderr));
    assert_eq!(common::text(&output.stdout), "26 samples, 4 classes\n");
}

needs_shared! {
    fn source_bytes_of_originals_survive() {
        let shared = fixtures::shared();
        let root = tempfile::tempdir().unwrap();
        let out = survives(&shared.join("data/images"), 161, root.path());
        judge_with_numpy(&shared, &out);
    }
}

/// An independent parser that needs numpy.
fn judge_with_numpy(shared: &Path, beton: &Path) {
    let has_numpy = Command::new("python3").args(["-c", "import numpy"]).output();
    if !has_numpy.is_ok_and(|output| output.status.success()) {
        println!("skipped: the independent parser needs python3 with numpy");
        return;
    }
    let parser = shared.join("peers/ffcv/bpar.py");
    let output = Command::new("python3").arg(parser).arg(beton).output().unwrap();
    let said = common::text(&output.stdout);
    assert!(output.status.success(), "{}", common::text(&output.stderr));
    assert!(said.contains("'num_samples': 161"), "{said}");
    assert!(said.contains("all regions inside one page: True"), "{said}");
}

#[test]
fn one_flipped_payload_bit_is_found_and_the_sample_named() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    ok(&[&"pack", &source, &out, &"--jpeg-quality", &"80"]);
    ok(&[&"verify", &out]);
    let mut bytes = fs::read(&out).unwrap();
    // The first page starts at 8 MiB with the first sample.
    bytes[(8 << 20) + 1000] ^= 0x10;
    fs::write(&out, &bytes).unwrap();
    let text = expect(1, &[&"verify", &out]);
    assert!(text.contains("even/PhotoCD_PCD0992_01.png") && text.contains("1 problem"), "{text}");
    let json = expect(1, &[&"verify", &out, &"--json"]);
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["problems"][0]["index"], 0);
}

#[test]
fn bytes_do_not_depend_on_threads_or_place() {
    let first = tempfile::tempdir().unwrap();
    let second = tempfile::tempdir().unwrap();
    for options in [
        vec!["--jpeg-quality", "70", "--max-side", "200"],
        vec!["--encode", "mix:0.5", "--seed", "3"],
        vec!["--encode", "smart", "--compact"],
        vec![],
    ] {
        let mut hashes = Vec::new();
        for (root, threads) in [(&first, "1"), (&first, "2"), (&second, "5")] {
            let source = root.path().join("kodak");
            if !source.exists() {
                kodak_classes(root.path());
            }
            let out = root.path().join("x.beton");
            let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> =
                vec![&"pack", &source, &out, &"--overwrite", &"--threads", &threads];
            args.extend(options.iter().map(|arg| arg as &dyn AsRef<std::ffi::OsStr>));
            ok(&args);
            hashes.push(sha256_file(&out));
        }
        assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{options:?}: {hashes:?}");
    }
}

/// Images that a beton cannot hold become raw, without loss, and unpack to the same pixels.
#[test]
fn png_becomes_raw_and_the_summary_says_what_it_costs() {
    let folder = tempfile::tempdir().unwrap();
    let source = kodak_classes(folder.path());
    let out = folder.path().join("x.beton");
    let back = folder.path().join("back");
    let again = folder.path().join("again.beton");
    let summary = ok(&[&"pack", &source, &out]);
    assert!(summary.contains("12 raw") && summary.contains("lossless raw"), "{summary}");
    ok(&[&"unpack", &out, &back]);
    assert_eq!(common::names(&back), ["even", "odd"]);
    ok(&[&"pack", &back, &again]);
    let pixels = |path: &Path| {
        let reader = fdconvert_reader::open(path).unwrap();
        (0..reader.len()).map(|i| reader.get(i).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(pixels(&out), pixels(&again));
}
