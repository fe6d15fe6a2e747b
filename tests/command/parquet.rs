//! Parquet files through the command: packed, inspected, verified, unpacked, compared and repeated.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use crate::common::{self, fails, ok};
use fdconvert_testkit::{
    compare::assert_same_tree,
    server::Server,
    zip::{Entry, of_folder, zip},
};
use std::{
    ffi::OsStr,
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
    let said = fails(&[&"pack", &source, &out, &"--encode", &"png"]);
    assert!(said.contains("x.parquet exists; to replace it: --overwrite"), "{said}");
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

/// A killed run leaves its claim and the unfinished file.
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
    let mark = fdconvert_storage::mark([0; 16]);
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
    // Documents and arrays do not change.
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

#[test]
fn a_column_that_cannot_be_read_is_left_out_by_name() {
    let root = tempfile::tempdir().unwrap();
    let (source, out) = (golden("encrypted.parquet"), root.path().join("o.parquet"));
    let said = fails(&[&"pack", &source, &out]);
    assert!(said.contains("column `label` is encrypted"), "{said}");
    assert!(said.contains("to leave it out: --drop-fields label"), "{said}");
    let said = ok(&[&"pack", &source, &out, &"--drop-fields", &"label"]);
    assert!(said.contains("packed 3 of 3 samples"), "{said}");
}

#[test]
fn files_that_are_no_source_by_their_names_are_told_how_to_become_one() {
    let root = tempfile::tempdir().unwrap();
    let (folder, out) = (root.path().join("saved"), root.path().join("o.beton"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("data-00000-of-00001.arrow"), b"?").unwrap();
    let said = fails(&[&"pack", &folder, &out]);
    assert!(said.contains("`datasets.load_from_disk`"), "{said}");
    fs::remove_file(folder.join("data-00000-of-00001.arrow")).unwrap();
    fs::copy(golden("nulls.parquet"), folder.join("part-00000")).unwrap();
    let said = fails(&[&"pack", &folder, &out]);
    assert!(
        said.contains("some are Parquet files") && said.contains("call them `*.parquet`"),
        "{said}"
    );
}

const CROISSANT: [&dyn AsRef<OsStr>; 2] = [&"--sidecars", &"croissant"];

#[test]
fn a_description_lies_beside_each_file() {
    let root = tempfile::tempdir().unwrap();
    let (source, out) = (source(root.path()), root.path().join("x.parquet"));
    let split: [&dyn AsRef<OsStr>; 5] = [&"pack", &source, &out, &"--split", &"train=0.5,val=0.5"];
    ok(&[&split[..], &CROISSANT].concat());
    let description = |name: &str| root.path().join(format!("{name}.parquet.croissant.json"));
    for name in ["x-train", "x-val"] {
        let document: serde_json::Value =
            serde_json::from_slice(&fs::read(description(name)).unwrap()).unwrap();
        let file = root.path().join(format!("{name}.parquet"));
        let said = &document["distribution"][0];
        assert_eq!(said["contentUrl"], format!("{name}.parquet"));
        assert_eq!(said["sha256"], common::sha256_file(&file));
        let bytes = fs::metadata(&file).unwrap().len();
        assert_eq!(said["contentSize"], format!("{bytes} B"));
        ok(&[&"verify", &file]);
    }
    // Several datasets in a folder; each description belongs to the file next to it.
    let before = fs::read(description("x-val")).unwrap();
    ok(&[&split[..], &CROISSANT, &[&"--overwrite"]].concat());
    assert!(before == fs::read(description("x-val")).unwrap(), "another run gives other bytes");
    let changed = String::from_utf8(before).unwrap();
    let val = root.path().join("x-val.parquet");
    for (from, to, what) in [
        ("Images in", "Pixels in", "it is not what was written with the file"),
        ("\"sha256\": \"", "\"sha256\": \"0", "it describes another file"),
    ] {
        fs::write(description("x-val"), changed.replace(from, to)).unwrap();
        let said = common::expect(1, &[&"verify", &val]);
        assert!(said.contains("x-val.parquet.croissant.json") && said.contains(what), "{said}");
    }
    fs::copy(description("x-train"), description("x-val")).unwrap();
    common::expect(1, &[&"verify", &val]);
    fs::remove_file(description("x-val")).unwrap();
    ok(&[&"verify", &val]);
}

#[test]
fn a_description_of_another_file_stays() {
    let root = tempfile::tempdir().unwrap();
    let (source, out) = (source(root.path()), root.path().join("x.parquet"));
    let description = root.path().join("x.parquet.croissant.json");
    fs::write(&description, "precious").unwrap();
    let pack: [&dyn AsRef<OsStr>; 3] = [&"pack", &source, &out];
    let said = fails(&[&pack[..], &CROISSANT].concat());
    assert!(said.contains("x.parquet.croissant.json exists; move it away"), "{said}");
    assert_eq!(fs::read(&description).unwrap(), b"precious");
    assert_eq!(common::names(root.path()), ["source", "x.parquet.croissant.json"]);
    // As after a kill: the claim, and the description, which is written first.
    let mark = fdconvert_storage::mark([0; 16]);
    fs::write(root.path().join("x.parquet.claim.partial"), mark).unwrap();
    ok(&[&pack[..], &CROISSANT, &[&"--overwrite"]].concat());
    ok(&[&"verify", &out]);
    for (list, what) in [
        ("card", "describes a folder of Parquet files"),
        (
            "dali",
            "`dali` is for NVIDIA DALI, and only wds writes it; expected one of card, croissant, none",
        ),
        ("croissant,none", "either `none`, or a list of sidecars"),
    ] {
        let said = fails(&[&"pack", &source, &out, &"--overwrite", &"--sidecars", &list]);
        assert!(said.contains(what), "{said}");
    }
    ok(&[&"pack", &source, &root.path().join("y.parquet"), &"--sidecars", &"none"]);
}

#[test]
fn a_description_is_written_into_a_store() {
    let root = tempfile::tempdir().unwrap();
    let (source, here) = (source(root.path()), root.path().join("x.parquet"));
    let bucket = root.path().join("stores/bucket");
    fs::create_dir_all(&bucket).unwrap();
    ok(&[&[&"pack" as &dyn AsRef<OsStr>, &source, &here], &CROISSANT[..]].concat());
    let server = Server::start(&root.path().join("stores"));
    let run = |args: &[&str]| {
        let output = common::fdconvert().args(args).envs(server.variables()).output().unwrap();
        assert!(output.status.success(), "{}", common::text(&output.stderr));
    };
    let url = "s3://bucket/x.parquet";
    run(&["pack", source.to_str().unwrap(), url, "--sidecars", "croissant"]);
    for name in ["x.parquet", "x.parquet.croissant.json"] {
        assert!(fs::read(bucket.join(name)).unwrap() == fs::read(root.path().join(name)).unwrap());
    }
    run(&["verify", url]);
}

/// The library's decoder panics at the paths of this file, which are then named by number.
#[test]
fn a_panic_that_is_caught_is_not_printed() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x.parquet");
    let mut bytes = fs::read(golden("arrays.parquet")).unwrap();
    bytes[770] = 17;
    fs::write(&path, bytes).unwrap();
    let output = common::fdconvert().arg("verify").arg(&path).output().unwrap();
    let err = common::text(&output.stderr);
    assert!(!err.contains("panicked") && !err.contains("backtrace"), "{err}");
    let keys = fdconvert_reader::open(&path).unwrap();
    assert_eq!((keys.key(0), keys.key(1)), ("00000000".into(), "00000001".into()));
}

#[test]
fn what_has_no_shards_gets_no_index() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let source = source(root);
    for (name, options, what) in [
        ("x.parquet", "", "is a parquet, which has its index inside where fdconvert wrote it"),
        ("x.beton", "", "fdconvert pack"),
        ("mds", "--format=mds", "is a dataset of the format mds, which has its indexes"),
        ("mixed", "--format=mixed --ratio=0.5", "is a dataset of the format mixed"),
    ] {
        let out = root.join(name);
        let mut pack: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &source, &out];
        let options: Vec<&str> = options.split_whitespace().collect();
        pack.extend(options.iter().map(|option| option as &dyn AsRef<OsStr>));
        ok(&pack);
        let before = common::names(root);
        let said = fails(&[&"index", &out]);
        assert!(said.contains(what) && said.contains("--format "), "{said}");
        assert_eq!(common::names(root), before);
    }
    let zipped = root.join("x.zip");
    fs::write(&zipped, zip(&of_folder(&source, "", Entry::stored))).unwrap();
    for path in [&source, &zipped] {
        let said = fails(&[&"index", path]);
        assert!(said.contains("has images that are files, which have no index"), "{said}");
    }
    // A damaged shard is still a shard.
    fs::write(root.join("x.tar"), vec![1; 2048]).unwrap();
    assert!(fails(&[&"index", &root.join("x.tar")]).contains("tar"));
}
