//! Parquet files through the command: packed, inspected, verified, unpacked, compared and repeated.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use crate::common::{self, fails, ok};
use fdconvert_testkit::compare::assert_same_tree;
use std::{
    fs,
    path::{Path, PathBuf},
};

const NAMES: [&str; 4] = ["a/0.png", "a/1.png", "b/2.png", "b/3.png"];

fn source(root: &Path) -> PathBuf {
    let folder = root.join("source");
    common::tree(&folder, &NAMES);
    folder
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("formats/parquet/golden").join(name)
}

#[test]
fn a_folder_comes_back_through_a_parquet_file() {
    let root = tempfile::tempdir().unwrap();
    let (source, out, back) =
        (source(root.path()), root.path().join("x.parquet"), root.path().join("back"));
    let said = ok(&[&"pack", &source, &out]);
    assert!(said.contains("packed 4 of 4 samples"), "{said}");
    assert_eq!(common::names(root.path()), ["source", "x.parquet"]);
    let said = ok(&[&"inspect", &out]);
    assert!(said.contains("parquet") && said.contains("a, b"), "{said}");
    let said = ok(&[&"verify", &out, &"--deep"]);
    assert!(said.contains("OK (structure, checksums and pixels)"), "{said}");
    ok(&[&"diff", &source, &out]);
    ok(&[&"unpack", &out, &back]);
    assert_same_tree(&source, &back);
    let said = fails(&[&"pack", &source, &out]);
    assert!(said.contains("x.parquet exists; replace it with --overwrite"), "{said}");
    let before = fs::read(&out).unwrap();
    ok(&[&"pack", &source, &out, &"--overwrite", &"--threads", &"1"]);
    assert!(before == fs::read(&out).unwrap(), "another run gives other bytes");
}

#[test]
fn a_file_for_each_split() {
    let root = tempfile::tempdir().unwrap();
    let (source, out) = (source(root.path()), root.path().join("x.parquet"));
    ok(&[&"pack", &source, &out, &"--split", &"train=0.5,val=0.5"]);
    assert_eq!(common::names(root.path()), ["source", "x-train.parquet", "x-val.parquet"]);
    ok(&[&"verify", &root.path().join("x-val.parquet")]);
}

/// What a killed run leaves is its claim and the unfinished file.
#[test]
fn a_killed_run_begins_again() {
    let root = tempfile::tempdir().unwrap();
    let (source, out) = (source(root.path()), root.path().join("x.parquet"));
    let (partial, claim) =
        (root.path().join("x.parquet.partial"), root.path().join("x.parquet.claim.partial"));
    fs::write(&partial, b"precious").unwrap();
    let said = fails(&[&"pack", &source, &out]);
    assert!(said.contains("was not made by an unfinished run"), "{said}");
    assert_eq!(fs::read(&partial).unwrap(), b"precious");
    let mark = format!("{{\"fingerprint\":\"{}\"", "0".repeat(32));
    fs::write(&claim, mark).unwrap();
    let said = fails(&[&"pack", &source, &out]);
    assert!(said.contains("is of an unfinished run with another source"), "{said}");
    ok(&[&"pack", &source, &out, &"--overwrite"]);
    assert_eq!(common::names(root.path()), ["source", "x.parquet"]);
    ok(&[&"verify", &out]);
}

#[test]
fn files_of_datasets_are_sources() {
    let root = tempfile::tempdir().unwrap();
    let out = |name: &str| root.path().join(name);
    ok(&[&"pack", &golden("struct.parquet"), &out("s.parquet")]);
    ok(&[&"diff", &golden("struct.parquet"), &out("s.parquet")]);
    let said = ok(&[&"inspect", &out("s.parquet")]);
    assert!(said.contains("cat, dog, eel"), "{said}");
    // Documents and arrays stay what they are.
    for name in ["objects", "arrays"] {
        let packed = out(&format!("{name}.parquet"));
        ok(&[&"pack", &golden(&format!("{name}.parquet")), &packed]);
        ok(&[&"diff", &golden(&format!("{name}.parquet")), &packed]);
    }
    ok(&[&"pack", &golden("splits"), &out("w"), &"--format", &"wds"]);
    assert!(common::names(&out("w")).contains(&"test-000000.tar".to_owned()));
}

#[test]
fn nulls_are_left_out_and_listed() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("n.parquet");
    let said = fails(&[&"pack", &golden("nulls.parquet"), &out]);
    assert!(said.contains("field `image`: its image is null"), "{said}");
    let said =
        common::expect(1, &[&"pack", &golden("nulls.parquet"), &out, &"--on-error", &"skip"]);
    assert!(said.contains("packed 2 of 5 samples"), "{said}");
}
