//! Divided datasets stay divided in any output.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::common::{self, fails, kodak_classes, names, ok, tree};
use fdconvert_testkit::compare::{assert_same_tree, tree as bytes_below};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

const SPLIT: [&str; 2] = ["--split", "train=0.5,val=0.25,test=0.25"];

/// Writes eight images in two classes, in three splits of one dataset.
fn divided(root: &Path) -> PathBuf {
    let source = root.join("photos");
    tree(&source, &["a/1.png", "a/2.png", "a/3.png", "a/4.png"]);
    tree(&source, &["b/1.png", "b/2.png", "b/3.png", "b/4.png"]);
    let out = root.join("divided.wds");
    ok(&[&"pack", &source, &out, &SPLIT[0], &SPLIT[1]]);
    out
}

fn json_of(args: &[&dyn AsRef<OsStr>]) -> Value {
    let mut args = args.to_vec();
    args.push(&"--json");
    serde_json::from_str(&ok(&args)).unwrap()
}

/// Returns the names of the splits, their sizes, and the keys of their samples.
fn splits(dataset: &Path) -> Vec<(String, Vec<String>)> {
    let reader = fdconvert_reader::open(dataset).unwrap();
    let keys = |range: std::ops::Range<u64>| range.map(|index| reader.key(index)).collect();
    let mut splits: Vec<_> =
        reader.splits().iter().cloned().map(|(name, range)| (name, keys(range))).collect();
    splits.sort();
    splits
}

fn tars(out: &Path) -> BTreeSet<String> {
    names(out).into_iter().filter(|name| name.ends_with(".tar")).collect()
}

#[test]
fn splits_survive_every_repack() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let first = divided(root.path());
    let expected = splits(&first);
    let sizes: Vec<_> = expected.iter().map(|(name, keys)| (name.as_str(), keys.len())).collect();
    assert_eq!(sizes, [("test", 2), ("train", 4), ("val", 2)]);
    let mut from = first.clone();
    for (name, format) in [("b", "mds"), ("c", "mixed"), ("d", "wds")] {
        let said = ok(&[&"pack", &from, &path(name), &"--format", &format]);
        assert!(said.contains("the splits train, val, test of the source are kept"), "{said}");
        assert!(said.contains("test      2 samples in 1 shard"), "{said}");
        assert_eq!(splits(&path(name)), expected, "{format}");
        ok(&[&"verify", &path(name), &"--deep"]);
        from = path(name);
    }
    for tar in tars(&first) {
        assert_eq!(fs::read(path("d").join(&tar)).unwrap(), fs::read(first.join(&tar)).unwrap());
    }
    // When shuffled, each sample stays in its split.
    ok(&[&"pack", &first, &path("e"), &"--format", &"wds", &"--shuffle", &"--seed", &"3"]);
    let mut shuffled = splits(&path("e"));
    assert_ne!(shuffled, expected);
    shuffled.iter_mut().for_each(|(_, keys)| keys.sort());
    let sorted = expected.iter().cloned().map(|(name, mut keys)| {
        keys.sort();
        (name, keys)
    });
    assert_eq!(shuffled, sorted.collect::<Vec<_>>());
    let said = ok(&[&"inspect", &first]);
    assert!(said.contains("  splits            train 4, val 2, test 2\n"), "{said}");
    let sized = json!([{"name": "train", "samples": 4}, {"name": "val", "samples": 2}, {"name": "test", "samples": 2}]);
    for dataset in [&first, &path("b"), &path("c")] {
        assert_eq!(json_of(&[&"inspect", dataset])["splits"], sized);
    }
    // An undivided dataset has none, although its shards are called train.
    ok(&[&"pack", &path("photos"), &path("whole.wds")]);
    assert_eq!(json_of(&[&"inspect", &path("whole.wds")])["splits"], json!([]));
    let said = ok(&[&"pack", &path("whole.wds"), &path("o.beton"), &"--split", &"x=0.5,y=0.5"]);
    assert!(said.contains("o-x.beton"), "{said}");
}

#[test]
fn formats_of_one_file_get_one_for_each_split_and_say_which() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let first = divided(root.path());
    let places = format!(
        "into {}, {}, {}",
        path("o-train.beton").display(),
        path("o-val.beton").display(),
        path("o-test.beton").display()
    );
    let would = ok(&[&"pack", &first, &path("o.beton"), &"--dry-run"]);
    assert!(would.contains(&places), "{would}");
    assert!(would.contains("  train    4 samples in 1 shard\n"), "{would}");
    let planned = json_of(&[&"pack", &first, &path("o.beton"), &"--dry-run"]);
    assert_eq!(planned["splits"][1], json!({"name": "val", "samples": 2, "shards": 1}));
    let said = ok(&[&"pack", &first, &path("o.beton")]);
    assert!(said.contains(&places), "{said}");
    let report = json_of(&[&"pack", &first, &path("o.beton"), &"--overwrite"]);
    assert_eq!(report["outputs"], planned["outputs"]);
    assert_eq!(report["outputs"][2], json!(path("o-test.beton")));
    assert_eq!(report["source_splits"], json!(["train", "val", "test"]));
    assert!(json_of(&[&"verify", &path("o-train.beton")])["samples"] == 4);

    // Its own source has the name of a split's file.
    let own = path("o-train.beton");
    let before = fs::read(&own).unwrap();
    let message =
        fails(&[&"pack", &own, &path("o.beton"), &"--split", &"train=0.5,val=0.5", &"--overwrite"]);
    assert!(message.contains("o-train.beton is its own source"), "{message}");
    assert!(fs::read(&own).unwrap() == before);
}

#[test]
fn splits_are_divided_again_or_mixed_only_by_name() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let first = divided(root.path());
    let pack = |out: &Path, args: &[&str]| {
        let mut all: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &first, &out, &"--format", &"wds"];
        all.extend(args.iter().map(|arg| arg as &dyn AsRef<OsStr>));
        all.iter().map(|arg| arg.as_ref().to_owned()).collect::<Vec<_>>()
    };
    let run = |out: &Path, args: &[&str]| {
        let args = pack(out, args);
        ok(&args.iter().map(|arg| arg as &dyn AsRef<OsStr>).collect::<Vec<_>>())
    };
    let refused = |args: &[&str]| {
        let args = pack(&path("no"), args);
        fails(&args.iter().map(|arg| arg as &dyn AsRef<OsStr>).collect::<Vec<_>>())
    };
    let message = refused(&SPLIT);
    for part in ["(train, val, test)", "--where 'split == \"train\"'", "--no-split-folders"] {
        assert!(message.contains(part), "{message}");
    }
    let said = run(&path("mixed"), &["--no-split-folders", "--split", "x=0.5,y=0.5"]);
    assert!(said.contains("the splits train, val, test of the source are mixed"), "{said}");
    assert_eq!(tars(&path("mixed")), ["x-000000.tar", "y-000000.tar"].map(Into::into).into());
    let said = run(&path("two"), &["--where", "split == 'train'", "--split", "x=0.5,y=0.5"]);
    assert!(said.contains("the split train of the source is divided"), "{said}");
    let said = run(&path("one"), &["--where", "split == 'test'"]);
    assert!(said.contains("no sample is taken of train, val"), "{said}");
    assert_eq!(splits(&path("one")), [splits(&first)[0].clone()]);
    for expression in ["split == 'dev'", "split != 'dev'", "split in ['val', 'dev'] && index > 0"] {
        let message = refused(&["--where", expression]);
        let expected = "`dev` is not among the splits of the source: train, val, test";
        assert!(message.contains(expected), "{message}");
    }
    let message = refused(&["--shards", "3"]);
    assert!(message.contains("of the split `val`") && message.contains("--shards"), "{message}");
}

#[test]
fn parts_of_a_plan_keep_splits() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let first = divided(root.path());
    ok(&[&"pack", &first, &path("whole"), &"--format", &"wds", &"--shard-count", &"1"]);
    let plan = path("p.fdplan");
    let said = ok(&[&"plan", &first, &"-o", &plan, &"--format", &"wds", &"--shard-count", &"1"]);
    assert!(said.contains("are kept") && said.contains("  test     2 samples"), "{said}");
    for part in ["1/2", "2/2"] {
        ok(&[&"pack", &"--plan", &plan, &"--part", &part, &path("parts")]);
    }
    ok(&[&"merge", &path("parts")]);
    assert_eq!(splits(&path("parts")), splits(&first));
    fs::remove_file(path("parts").join(".fdconvert/plan.fdplan")).unwrap();
    assert_same_tree(&path("whole"), &path("parts"));
}

#[test]
fn an_unpacked_dataset_knows_its_splits() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let first = divided(root.path());
    let said = ok(&[&"unpack", &first, &path("back")]);
    assert!(said.contains("--format folder") && said.contains("  val       2 samples"), "{said}");
    // The files are at their original places.
    for class in ["a", "b"] {
        assert_same_tree(&path("photos").join(class), &path("back").join(class));
    }
    ok(&[&"pack", &path("back"), &path("again"), &"--format", &"wds"]);
    assert_eq!(splits(&path("again")), splits(&first));
    let folders = ok(&[&"pack", &first, &path("x"), &"--format", &"folder"]);
    assert!(folders.contains(&format!("into {}", path("x-train").display())), "{folders}");
    // For a single split the folder's name is enough, and only images are written.
    fs::rename(path("photos"), path("val")).unwrap();
    let one = path("one.wds");
    ok(&[&"pack", &path("val"), &one]);
    assert!(ok(&[&"unpack", &one, &path("some")]).contains("a folder of that name keeps"));
    fs::create_dir(path("in")).unwrap();
    ok(&[&"unpack", &one, &path("in/val")]);
    assert_same_tree(&path("val"), &path("in/val"));
    ok(&[&"pack", &path("in/val"), &path("val.wds")]);
    assert_eq!(splits(&path("val.wds")), splits(&one));
}

#[test]
fn sources_are_joined_split_by_split_or_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let first = divided(root.path());
    tree(&path("more"), &["train/a/9.png", "val/b/9.png"]);
    tree(&path("whole"), &["a/8.png", "b/8.png"]);
    let out = path("joined.wds");
    ok(&[&"pack", &first, &path("more"), &out]);
    let sizes: Vec<_> = splits(&out).into_iter().map(|(name, keys)| (name, keys.len())).collect();
    assert_eq!(sizes, [("test".into(), 2), ("train".into(), 5), ("val".into(), 3)]);
    let message = fails(&[&"pack", &first, &path("whole"), &path("no.wds")]);
    for part in ["divided.wds has splits (train, val, test)", "whole has none"] {
        assert!(message.contains(part), "{message}");
    }
    let mixed = path("mixed.wds");
    ok(&[&"pack", &first, &path("whole"), &mixed, &"--no-split-folders"]);
    assert!(splits(&mixed).is_empty());
    // Folders of splits given one by one are one dataset, and a note reports it.
    let said =
        ok(&[&"pack", &path("more/train"), &path("more/val"), &path("by-one.wds"), &"--dry-run"]);
    assert!(said.contains("the sources train, val become one dataset"), "{said}");
}

#[test]
fn datasets_of_others_have_the_splits_that_names_tell() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let first = divided(root.path());
    let expected = splits(&first);
    ok(&[&"pack", &first, &path("set"), &"--format", &"mds"]);
    let shards = path("shards");
    fs::create_dir(&shards).unwrap();
    for split in ["train", "val", "test"] {
        let name = format!("{split}-000000.tar");
        fs::copy(first.join(&name), shards.join(format!("pets-{name}"))).unwrap();
    }
    assert_eq!(splits(&shards), expected);
    fs::rename(shards.join("pets-val-000000.tar"), shards.join("rest.tar")).unwrap();
    let said = ok(&[&"pack", &shards, &path("no"), &"--format", &"wds", &"--dry-run"]);
    assert!(said.contains("2 of 3 shards of shards are named after a split"), "{said}");

    // In Streaming's layout: a folder and an index for each split, and nothing above.
    let set = path("set");
    fs::remove_file(set.join("fdconvert.json")).unwrap();
    let said = ok(&[&"pack", &set, &path("no"), &"--format", &"wds", &"--dry-run"]);
    assert!(said.contains("its folders test, val"), "{said}");
    fs::create_dir(set.join("train")).unwrap();
    for name in ["index.json", "shard.00000.mds"] {
        fs::rename(set.join(name), set.join("train").join(name)).unwrap();
    }
    let sizes: Vec<_> = splits(&set).into_iter().map(|(name, keys)| (name, keys.len())).collect();
    assert_eq!(sizes, [("test".into(), 2), ("train".into(), 4), ("val".into(), 2)]);
    fs::rename(set.join("val"), set.join("other")).unwrap();
    let said = ok(&[&"pack", &set, &path("no"), &"--format", &"wds", &"--dry-run"]);
    assert!(said.contains("the folders other, test, train of set"), "{said}");
}

#[test]
fn a_split_of_a_manifest_never_leads_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let first = divided(root.path());
    let manifest = fs::read_to_string(first.join("fdconvert.json")).unwrap();
    // Manifests of earlier versions have no checksum.
    let (_, object) = manifest.split_once(",\n").unwrap();
    let hostile = format!("{{\n{object}").replace("\"split\": \"val\"", "\"split\": \"../../up\"");
    fs::write(first.join("fdconvert.json"), hostile).unwrap();
    for out in ["in/o.beton", "in/o"] {
        fs::create_dir_all(path("in")).unwrap();
        let message = fails(&[&"pack", &first, &path(out)]);
        assert!(message.contains("`../../up`") && message.contains("--where"), "{message}");
    }
    assert_eq!(names(&path("in")), [""; 0]);
    ok(&[&"pack", &first, &path("in/o.beton"), &"--where", &"split in ['train', 'test']"]);
}

/// Overwriting replaces the files that the new run writes, and deletes nothing: so a dataset with
/// shards that would remain is refused before anything is touched.
#[test]
fn a_dataset_of_more_shards_is_not_overwritten_in_part() {
    let root = tempfile::tempdir().unwrap();
    let images = kodak_classes(root.path());
    let halves = "train=0.5,val=0.5";
    for (name, first, then) in [
        ("a.wds", &["--shards", "3"][..], &["--shards", "1"][..]),
        ("b.wds", &["--split", halves], &[]),
        ("c.mds", &["--shards", "3"], &["--shards", "2"]),
        ("d.mds", &["--split", halves], &[]),
        ("e.mixed", &["--ratio", "0.5", "--shards", "3"], &["--ratio", "0.5", "--shards", "1"]),
    ] {
        let out = root.path().join(name);
        let pack = |more: &[&str], overwrite: bool| {
            let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &images, &out];
            args.extend(more.iter().map(|it| it as &dyn AsRef<OsStr>));
            if overwrite {
                args.push(&"--overwrite");
            }
            common::run(&args)
        };
        assert!(pack(first, false).status.success(), "{name}");
        let before = bytes_below(&out);
        let refused = pack(then, true);
        let said = common::text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains("of another run") && said.contains("nothing was changed"), "{said}");
        assert!(bytes_below(&out) == before, "{name}");
        ok(&[&"verify", &out]);
        // The same number as before: all of them are replaced.
        let again = [first, &["--shuffle"]].concat();
        let again = pack(&again, true);
        assert!(again.status.success(), "{name}: {}", common::text(&again.stderr));
        ok(&[&"verify", &out]);
    }
}
