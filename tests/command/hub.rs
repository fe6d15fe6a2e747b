//! Folders of Parquet files as the Hub has them: names, card, and what a `README.md` of the user
//! comes to.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use crate::common::{self, fails, ok};
use fdconvert_testkit::compare::{assert_same_tree, tree};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

const NAMES: [&str; 6] = ["a/0.png", "a/1.png", "a/2.png", "b/3.png", "b/4.png", "b/5.png"];

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        common::tree(&root.path().join("source"), &NAMES);
        Self(root)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn pack(&self, out: &str, options: &[&str]) -> String {
        let (source, out) = (self.path("source"), self.path(out));
        let mut args: Vec<&dyn AsRef<OsStr>> = vec![&"pack", &source, &out, &"--format=parquet"];
        args.extend(options.iter().map(|option| option as &dyn AsRef<OsStr>));
        ok(&args)
    }

    fn card(&self, out: &str) -> String {
        fs::read_to_string(self.path(out).join("README.md")).unwrap()
    }
}

/// Names of all files of a dataset, but for records.
fn files(out: &Path) -> Vec<String> {
    let names = tree(out).into_keys().map(|name| String::from_utf8(name).unwrap());
    names.filter(|name| !name.contains(".fdconvert/") && !name.ends_with('/')).collect()
}

#[test]
fn an_output_that_is_not_called_a_file_is_a_folder() {
    let place = Place::new();
    place.pack("set", &[]);
    let one = ["README.md", "_fdconvert.json", "data/train-00000-of-00001.parquet"];
    assert_eq!(files(&place.path("set")), one);
    for name in ["x.parquet", "x.parq", "x.PQ"] {
        place.pack(name, &[]);
        assert!(place.path(name).is_file(), "{name}");
    }
    let said =
        fails(&[&"pack", &place.path("source"), &place.path("y.parquet"), &"--sidecars=card"]);
    assert!(said.contains("to write a folder: --shard-size 500MB"), "{said}");
    assert!(!place.path("y.parquet").exists());
}

#[test]
fn files_are_called_as_on_the_hub_and_a_card_lists_them() {
    let place = Place::new();
    place.pack("set", &["--split=train=0.5,test=0.5", "--shard-count=2", "--threads=1"]);
    let names = [
        "README.md",
        "_fdconvert.json",
        "data/test-00000-of-00002.parquet",
        "data/test-00001-of-00002.parquet",
        "data/train-00000-of-00002.parquet",
        "data/train-00001-of-00002.parquet",
    ];
    assert_eq!(files(&place.path("set")), names);
    let card = place.card("set");
    for part in [
        "  - split: \"train\"\n    path: \"data/train-*\"\n",
        "          '0': \"a\"\n          '1': \"b\"\n",
        "    num_examples: 3\n",
        "| encode | keep |",
    ] {
        assert!(card.contains(part), "{part}: {card}");
    }
    ok(&[&"verify", &place.path("set"), &"--deep"]);
    ok(&[&"unpack", &place.path("set"), &place.path("back")]);
    place.pack("again", &["--split=train=0.5,test=0.5", "--shard-count=2", "--threads=4"]);
    assert_same_tree(&place.path("set"), &place.path("again"));
    place.pack("bare", &["--sidecars=none"]);
    assert!(!place.path("bare/README.md").exists());
}

#[test]
fn files_are_as_large_as_they_may_be() {
    let place = Place::new();
    let names: Vec<String> = (0..200).map(|number| format!("{number:03}.png")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    common::tree(&place.path("source/c"), &names);
    place.pack("set", &["--shard-size=8KiB"]);
    let sizes = fs::read_dir(place.path("set/data")).unwrap();
    let sizes: Vec<u64> = sizes.map(|file| file.unwrap().metadata().unwrap().len()).collect();
    // Footer and features are not counted.
    assert!(sizes.len() > 2 && sizes.iter().all(|size| *size < 10 << 10), "{sizes:?}");
    assert!(sizes.iter().filter(|size| **size > 7 << 10).count() + 1 >= sizes.len(), "{sizes:?}");
}

/// A file keeps its name in an edit that does not write it.
#[test]
fn edits_keep_names_and_renew_the_card() {
    let place = Place::new();
    place.pack("set", &["--shard-count=2"]);
    let set = place.path("set");
    ok(&[&"append", &set, &place.path("source"), &"--shard-count=3"]);
    let names = [
        "README.md",
        "_fdconvert.json",
        "data/train-00000-of-00003.parquet",
        "data/train-00001-of-00003.parquet",
        "data/train-00002-of-00003.parquet",
        "data/train-00003-of-00005.parquet",
        "data/train-00004-of-00005.parquet",
    ];
    assert_eq!(files(&set), names);
    let card = place.card("set");
    assert!(card.contains("num_examples: 12\n") && card.contains("is version 2 now"), "{card}");
    // The first two files lose all their samples, and the last ones get their numbers.
    ok(&[&"remove", &set, &"--where", &"label == 'a'"]);
    let names: Vec<_> = files(&set).into_iter().filter(|name| name.contains("data/")).collect();
    let numbers = names.iter().map(|name| &name[..16]);
    assert!(numbers.eq(["data/train-00000", "data/train-00001", "data/train-00002"]), "{names:?}");
    assert!(place.card("set").contains("num_examples: 6\n"));
    ok(&[&"verify", &set, &"--deep"]);
    place.pack("bare", &["--sidecars=none"]);
    ok(&[&"append", &place.path("bare"), &place.path("source")]);
    assert!(!place.path("bare/README.md").exists());
}

#[test]
fn a_readme_of_the_user_stays_and_is_told() {
    let place = Place::new();
    let (set, readme) = (place.path("set"), place.path("set/README.md"));
    fs::create_dir(&set).unwrap();
    fs::write(&readme, "# Mine\n").unwrap();
    let told = "README.md is not as fdconvert writes it, and stays as it is";
    assert!(place.pack("set", &["--shard-count=2"]).contains(told));
    assert!(ok(&[&"append", &set, &place.path("source")]).contains(told));
    assert!(place.pack("set", &["--shard-count=4", "--overwrite"]).contains(told));
    assert_eq!(place.card("set"), "# Mine\n");
    ok(&[&"verify", &set]);
    fs::remove_file(&readme).unwrap();
    assert!(!ok(&[&"append", &set, &place.path("source")]).contains(told));
    // One byte makes it the user's.
    let changed = place.card("set").replace("# Images", "# Photos");
    fs::write(&readme, &changed).unwrap();
    let said = ok(&[&"remove", &set, &"--where", &"key == 'a/0.png'", &"--json"]);
    assert!(said.contains(told), "{said}");
    assert_eq!(place.card("set"), changed);
}

/// The names of the files depend on their number, so those of the dataset before are not all
/// replaced by name.
#[test]
fn a_dataset_is_replaced_by_one_of_other_files() {
    let place = Place::new();
    place.pack("new", &["--shard-count=4"]);
    place.pack("set", &["--shard-count=2"]);
    place.pack("set", &["--shard-count=4", "--overwrite"]);
    assert_same_tree(&place.path("new"), &place.path("set"));
    // Files that no manifest names are in the way.
    fs::write(place.path("set/data/train-00000-of-00009.parquet"), "precious").unwrap();
    let (source, set) = (place.path("source"), place.path("set"));
    let said = fails(&[&"pack", &source, &set, &"--format=parquet", &"--overwrite"]);
    assert!(
        said.contains("train-00000-of-00009.parquet among them; nothing was changed"),
        "{said}"
    );
}

#[test]
fn folders_of_before_are_read_edited_and_replaced() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("formats/parquet/golden/folder");
    let place = Place::new();
    let set = place.path("set");
    let copy = || {
        let _ = fs::remove_dir_all(&set);
        for (name, bytes) in tree(&golden) {
            let path = set.join(String::from_utf8(name).unwrap());
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    };
    copy();
    ok(&[&"verify", &set, &"--deep"]);
    assert!(ok(&[&"inspect", &set]).contains("4 samples"));
    ok(&[&"append", &set, &place.path("source"), &"--shard-count=3"]);
    let names = [
        "README.md",
        "_fdconvert.json",
        "data/train-00002-of-00004.parquet",
        "data/train-00003-of-00004.parquet",
        "train-00000.parquet",
        "train-00001.parquet",
    ];
    assert_eq!(files(&set), names);
    let both = "    path:\n    - \"train-*\"\n    - \"data/train-*\"\n";
    assert!(place.card("set").contains(both), "{}", place.card("set"));
    ok(&[&"remove", &set, &"--where", &"key == 'a/0.png'"]);
    assert!(place.path("set/data/train-00000-of-00004.parquet").exists());
    ok(&[&"verify", &set, &"--deep"]);
    copy();
    place.pack("new", &[]);
    place.pack("set", &["--overwrite"]);
    assert_same_tree(&place.path("new"), &set);
}
