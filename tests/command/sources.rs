//! The packed part of a source, its splits, and the messages about the rest.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{fails, names, ok, tree};
use fdconvert_testkit::fixtures::fixture;
use serde_json::Value;
use std::{fs, os::unix::fs::symlink, path::Path};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn class_names(dataset: &Path) -> Value {
    json(&ok(&[&"inspect", &dataset, &"--json"]))["schema"]["fields"][1]["class_names"].clone()
}

#[test]
fn what_is_left_out_is_counted_in_summary_json_and_record() {
    let folder = tempfile::tempdir().unwrap();
    let (root, out) = (folder.path().join("photos"), folder.path().join("o.wds"));
    tree(&root, &["a/1.png", "a/2.png", "a/x.HEIC", "a/notes.txt", "a/README", "a/.hidden.png"]);
    tree(folder.path(), &["elsewhere/3.png"]);
    symlink(folder.path().join("elsewhere"), root.join("b")).unwrap();
    let note = "3 files ignored (.heic 1, .txt 1, no extension 1), 1 hidden name, 1 link not \
                followed";
    assert!(ok(&[&"pack", &root, &out]).contains(note));
    assert!(ok(&[&"inspect", &out]).contains(note));
    assert!(ok(&[&"pack", &root, &out, &"--dry-run", &"--format", &"mds"]).contains(note));
    let followed = folder.path().join("f");
    let report = json(&ok(&[&"pack", &root, &followed, &"--follow-links", &"--json"]));
    assert_eq!((&report["samples"], &report["ignored"]["others"]), (&3.into(), &3.into()));
    assert_eq!(report["ignored"]["links"], 0);
    let plan = folder.path().join("p.fdplan");
    let said = ok(&[&"plan", &root, &"-o", &plan, &"--format", &"wds"]);
    assert!(said.contains(note), "{said}");
    // With and without a plan, the dataset is the same.
    let planned = folder.path().join("planned.wds");
    assert!(ok(&[&"pack", &"--plan", &plan, &planned]).contains(note));
    let tar = "train-000000.tar";
    assert_eq!(fs::read(planned.join(tar)).unwrap(), fs::read(out.join(tar)).unwrap());
    let record = "fdconvert.json";
    assert_eq!(fs::read(planned.join(record)).unwrap(), fs::read(out.join(record)).unwrap());
}

#[test]
fn shares_that_do_not_add_up_need_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let (root, out) = (folder.path().join("photos"), folder.path().join("o.beton"));
    tree(&root, &["a/1.png", "a/2.png", "b/3.png", "b/4.png"]);
    let message = fails(&[&"pack", &root, &out, &"--split", &"train=0.5"]);
    assert!(message.contains("rest=drop"), "{message}");
    let said = ok(&[&"pack", &root, &out, &"--split", &"train=0.5,rest=drop"]);
    assert!(said.contains("2 of 4 samples left out"), "{said}");
    let said = ok(&[&"pack", &root, &out, &"--overwrite", &"--split", &"train=0.5,val=0.5"]);
    assert!(said.contains("2 samples in") && said.contains("o-val.beton"), "{said}");
}

#[test]
fn folders_called_train_and_val_are_splits() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("images");
    tree(&root, &["train/a/1.png", "train/b/2.png", "val/b/3.png", "readme.txt"]);
    let out = folder.path().join("o.wds");
    let said = ok(&[&"pack", &root, &out]);
    assert!(said.contains("--no-split-folders"), "{said}");
    let is_tar = |name: &String| name.ends_with(".tar");
    let tars = |out: &Path| names(out).into_iter().filter(is_tar).collect::<Vec<_>>();
    assert_eq!(tars(&out), ["train-000000.tar", "val-000000.tar"]);
    assert_eq!(class_names(&out), serde_json::json!(["a", "b"]));
    let report = json(&ok(&[&"pack", &root, &folder.path().join("b.beton"), &"--json"]));
    let splits =
        serde_json::json!([{"name": "train", "samples": 2}, {"name": "val", "samples": 1}]);
    assert_eq!(report["splits"], splits);
    let classes = folder.path().join("c.wds");
    ok(&[&"pack", &root, &classes, &"--no-split-folders"]);
    assert_eq!(class_names(&classes), serde_json::json!(["train", "val"]));
    assert_eq!(tars(&classes), ["train-000000.tar"]);
    // A class with such a name survives a round trip.
    let back = folder.path().join("back");
    ok(&[&"unpack", &classes, &back]);
    let again = folder.path().join("again.wds");
    ok(&[&"pack", &back, &again]);
    assert_eq!(class_names(&again), serde_json::json!(["train", "val"]));
}

#[test]
fn shards_of_one_split_are_called_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("images/val");
    tree(&root, &["a/1.png", "a/2.png", "b/3.png"]);
    let out = folder.path().join("new.wds");
    let [format, wds, count, two] = ["--format", "wds", "--shard-count", "2"];
    ok(&[&"pack", &root, &out, &format, &wds, &count, &two]);
    assert_eq!(class_names(&out), serde_json::json!(["a", "b"]));
    assert!(names(&out).contains(&"val-000001.tar".to_owned()), "{:?}", names(&out));
}

#[test]
fn requests_that_would_do_something_else_are_refused_with_the_cure() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("photos");
    tree(&root, &["a/1.png", "b/2.png"]);
    let out = |name: &str| folder.path().join(name);
    let (inside, tar, beton) = (root.join("o"), out("o.tar"), out("o.beton"));
    let source = &root;
    let check = |args: &[&dyn AsRef<std::ffi::OsStr>], parts: &[&str]| {
        let message = fails(args);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        assert_eq!(names(folder.path()), ["photos"]);
    };
    check(&[&"pack", source, &tar], &["o.tar", "folder", "o.wds"]);
    check(&[&"pack", source, &"-"], &["standard output"]);
    check(&[&"pack", source, &beton, &"--shards", &"4"], &["--shards", "wds"]);
    check(&[&"pack", source, &beton, &"--shard-size", &"256"], &["256", "unit", "256MiB"]);
    check(&[&"pack", source, &inside], &["is in", "outside"]);
    check(&[&"pack", source, source, &"--format", &"wds", &"--overwrite"], &["its own source"]);
    let above = folder.path();
    let replace: &[&dyn AsRef<std::ffi::OsStr>] =
        &[&"pack", source, &above, &"--format", &"wds", &"--overwrite"];
    check(replace, &["`overwrite` replaces"]);
    check(&[&"pack", &root.join("a/1.png"), &beton], &["one image", "give its folder"]);
    assert_eq!(names(&root), ["a", "b"]);
    let said = ok(&[&"pack", source, &out("plain")]);
    assert!(said.contains("folder (by default)"), "{said}");
}

/// AVIFs and JPEG XLs are images of a folder: stored as they are, and decoded where the build can.
#[test]
fn avif_and_jpeg_xl_are_kept_and_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("photos");
    for (class, name) in [("a", "420-full.avif"), ("a", "lossy.jxl"), ("b", "turned-6.avif")] {
        fs::create_dir_all(root.join(class)).unwrap();
        fs::copy(fixture("codecs").join(name), root.join(class).join(name)).unwrap();
    }
    let decodes = cfg!(all(feature = "avif", feature = "jxl"));
    for format in ["wds", "mds", "parquet"] {
        let (out, back) =
            (folder.path().join(format), folder.path().join(format!("{format}-back")));
        let said = ok(&[&"pack", &root, &out, &"--format", &format]);
        assert_eq!(said.contains("cannot be decoded by fdconvert"), !decodes, "{said}");
        ok(&[&"unpack", &out, &back]);
        for path in ["a/420-full.avif", "a/lossy.jxl", "b/turned-6.avif"] {
            assert_eq!(fs::read(back.join(path)).unwrap(), fs::read(root.join(path)).unwrap());
        }
        let shown = json(&ok(&[&"inspect", &out, &"--json"])).to_string();
        assert!(shown.contains("avif") && shown.contains("jxl"), "{shown}");
        let deep: [&dyn AsRef<std::ffi::OsStr>; 3] = [&"verify", &out, &"--deep"];
        let said = if decodes { ok(&deep) } else { fails(&deep) };
        assert_eq!(said.contains("this build cannot decode AVIF"), !decodes, "{said}");
    }
    let beton = folder.path().join("o.beton");
    if decodes {
        let said = ok(&[&"pack", &root, &beton]);
        assert!(said.contains("1 turned upright"), "{said}");
        ok(&[&"verify", &beton, &"--deep"]);
    } else {
        let said = fails(&[&"pack", &root, &beton]);
        assert!(said.contains("420-full.avif") && said.contains("the feature `avif`"), "{said}");
    }
}
