//! Folders called train, val and test: when they are splits, and the messages when they are not.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{fails, ok, tree};
use serde_json::{Value, json};
use std::{ffi::OsStr, fs, path::Path};

fn json_of(args: &[&dyn AsRef<OsStr>]) -> Value {
    let mut args = args.to_vec();
    args.push(&"--json");
    serde_json::from_str(&ok(&args)).unwrap()
}

fn dry(source: &Path) -> String {
    ok(&[&"pack", &source, &"o", &"--format", &"wds", &"--dry-run"])
}

/// Returns the names of the splits that packing would make, and the classes.
fn planned(args: &[&dyn AsRef<OsStr>]) -> (Value, Value) {
    let mut all: Vec<&dyn AsRef<OsStr>> = vec![&"pack"];
    all.extend(args);
    all.extend([&"o" as &dyn AsRef<OsStr>, &"--format", &"wds", &"--dry-run"]);
    let report = json_of(&all);
    let names: Vec<_> =
        report["splits"].as_array().unwrap().iter().map(|split| split["name"].clone()).collect();
    (names.into(), report["schema"]["fields"][1]["class_names"].clone())
}

#[test]
fn what_lies_beside_split_folders_and_holds_no_image_is_no_matter() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    tree(root, &["Train/a/1.png", "VAL/a/2.png", "VAL/b/3.png", ".cache/x/4.png", "readme.txt"]);
    tree(root, &["__MACOSX/Train/a/5.png", "annotations/a.xml", "test/notes.txt"]);
    assert_eq!(planned(&[&root]), (json!(["train", "val"]), json!(["a", "b"])));
    let out = root.parent().unwrap().join("split-folders.wds");
    let said = dry(root);
    for part in [
        "the splits train, val of the source are kept",
        "the folder Train is the split train",
        "the folder VAL is the split val",
        "the split folder test holds no image",
        "1 __MACOSX folder",
        "1 hidden name",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let report = json_of(&[&"pack", &root, &out, &"--dry-run"]);
    assert_eq!(report["source_splits"], json!(["train", "val"]));
    assert_eq!(report["ignored"]["macosx"], 1);
    assert!(report["split_notes"].as_array().unwrap().len() >= 4, "{report}");

    tree(root, &["train/c/6.png"]);
    let message = fails(&[&"pack", &root, &out]);
    assert!(message.contains("`Train` and `train` are both the split `train`"), "{message}");
    assert!(!out.exists());
}

#[test]
fn a_folder_that_stays_a_class_in_spite_of_its_name_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    tree(&path("vehicles"), &["train/1.png", "bus/2.png", "car/3.png"]);
    assert_eq!(planned(&[&path("vehicles")]), (json!(["train"]), json!(["bus", "car", "train"])));
    let said = dry(&path("vehicles"));
    assert!(said.contains("train is not a split: images are also in bus, car"), "{said}");
    let silent = ok(&[&"pack", &path("vehicles"), &"o.wds", &"--dry-run", &"--no-split-folders"]);
    assert!(!silent.contains("is not a split"), "{silent}");

    tree(&path("flat"), &["train/1.png"]);
    assert!(dry(&path("flat")).contains("train is not a split: it contains images directly"));
    tree(&path("deep"), &["set/train/a/1.png", "set/val/a/2.png"]);
    let said = dry(&path("deep"));
    assert!(said.contains("all images are in set, so the folders in it are the splits"), "{said}");
}

#[test]
fn a_single_split_has_its_line_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("images");
    tree(&root, &["train/a/1.png", "train/b/2.png"]);
    let said = ok(&[&"pack", &root, &folder.path().join("o.wds")]);
    assert!(said.contains("  train     2 samples in 1 shard\n"), "{said}");
    assert!(said.contains("the split train of the source is kept"), "{said}");
    let report = json_of(&[&"pack", &root, &folder.path().join("j.wds")]);
    assert_eq!(report["source_splits"], json!(["train"]));
    let whole = folder.path().join("images/train");
    let said = ok(&[&"pack", &whole, &folder.path().join("o.beton")]);
    assert!(!said.contains("  train "), "{said}");
    // Dividing a single split mixes nothing.
    let two = ["--split", "train=0.5,val=0.5"];
    let said = ok(&[&"pack", &root, &folder.path().join("two.wds"), &two[0], &two[1]]);
    assert!(said.contains("the split train of the source is divided"), "{said}");
}

#[test]
fn tables_with_labels_keep_the_splits_of_their_paths() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("images");
    tree(&root, &["train/1.png", "train/2.png", "Val/3.png", "x/4.png"]);
    let table = folder.path().join("labels.csv");
    let splits = |rows: &str| {
        fs::write(&table, format!("path,label\n{rows}")).unwrap();
        planned(&[&root, &"--labels", &table])
    };
    let rows = "train/1.png,cat\nVal/3.png,dog\ntrain/2.png,dog\n";
    assert_eq!(splits(rows), (json!(["train", "val"]), json!(["cat", "dog"])));
    let out = folder.path().join("o.wds");
    ok(&[&"pack", &root, &out, &"--labels", &table]);
    let reader = fdconvert_reader::open(&out).unwrap();
    assert_eq!(reader.splits(), [("train".to_owned(), 0..2), ("val".to_owned(), 2..3)]);
    assert_eq!(reader.key(1), "train/2.png");
    let mixed =
        ok(&[&"pack", &root, &"o.wds", &"--labels", &table, &"--no-split-folders", &"--dry-run"]);
    assert!(mixed.contains("  train    3 samples"), "{mixed}");

    assert_eq!(splits(&format!("{rows}x/4.png,cat\n")).0, json!(["train"]));
    let said = ok(&[&"pack", &root, &"o.wds", &"--labels", &table, &"--dry-run"]);
    assert!(said.contains("Val, train are no splits: images are also in x"), "{said}");
}

#[test]
fn a_split_without_classes_beside_others_names_options_that_work() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("my images");
    tree(&root, &["train/a/1.png", "train/c/2.png", "val/b/3.png", "test/4.png", "test/5.png"]);
    let out = folder.path().join("o.wds");
    let message = fails(&[&"pack", &root, &out]);
    assert!(message.contains("`test`") && message.contains("train/a"), "{message}");
    // The options in the message, one after the other.
    let cures: Vec<&str> = message
        .split("; ")
        .filter_map(|cure| cure.split_once(": ").map(|it| it.1))
        .filter(|option| option.starts_with("--where "))
        .collect();
    assert_eq!(cures.len(), 2, "{message}");
    let bin = Path::new(env!("CARGO_BIN_EXE_fdconvert")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for (number, option) in cures.iter().enumerate() {
        let command = format!("fdconvert pack 'my images' o{number} {option} --format wds");
        let status = std::process::Command::new("sh")
            .args(["-c", &command])
            .current_dir(folder.path())
            .env("PATH", &path)
            .stdout(std::process::Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{command}");
    }
    let open = |name: &str| fdconvert_reader::open(folder.path().join(name)).unwrap();
    let (labelled, others) = (open("o0"), open("o1"));
    assert_eq!(labelled.splits(), [("train".to_owned(), 0..2), ("val".to_owned(), 2..3)]);
    let labels: Vec<_> = (0..3).map(|index| labelled.label(index).unwrap()).collect();
    assert_eq!(labels, [Some(0), Some(2), Some(1)]);
    assert_eq!(others.splits(), [("test".to_owned(), 0..2)]);
    assert_eq!(others.schema().fields.len(), 1);
}
