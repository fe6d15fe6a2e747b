//! Samples selected by a list of their keys, and by class.
#![allow(clippy::unwrap_used)]

use crate::common::{fails, ok, tree};
use fdconvert_testkit::compare::assert_same_tree;
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// Eight images in two classes.
fn photos(root: &Path) -> PathBuf {
    let source = root.join("photos");
    tree(&source, &["a/1.png", "a/2.png", "a/3.png", "a/4.png"]);
    tree(&source, &["b/1.png", "b/2.png", "b/3.png", "b/4.png"]);
    source
}

fn list(root: &Path, name: &str, text: &str) -> PathBuf {
    let file = root.join(name);
    fs::write(&file, text).unwrap();
    file
}

fn keys(dataset: &Path) -> Vec<String> {
    let reader = fdconvert_reader::open(dataset).unwrap();
    (0..reader.len()).map(|index| reader.key(index)).collect()
}

fn params(dataset: &Path) -> Value {
    let found: Value = serde_json::from_str(&ok(&[&"inspect", &dataset, &"--json"])).unwrap();
    found["provenance"]["params"].clone()
}

#[test]
fn listed_samples_are_taken_in_the_order_of_the_source() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), photos(root.path()));
    let path = |name: &str| root.join(name);
    // With a byte order mark, empty lines, and Windows line ends.
    let first = list(root, "first.txt", "\u{feff}b/2.png\r\n\r\na/4.png\r\n\na/1.png");
    let said = ok(&[&"pack", &source, &path("o.beton"), &"--keys", &first]);
    assert!(said.contains("packed 3 of 3 samples"), "{said}");
    assert!(
        said.contains("5 of 8 samples left out by --keys,"),
        "what is left out is counted: {said}"
    );
    assert_eq!(keys(&path("o.beton")), ["a/1.png", "a/4.png", "b/2.png"]);
    // The record of the list depends on its keys, in any order; not on its path.
    let again = list(root, "again.txt", "a/1.png\na/4.png\nb/2.png\n");
    ok(&[&"pack", &source, &path("p.beton"), &"--keys", &again]);
    assert_eq!(fs::read(path("o.beton")).unwrap(), fs::read(path("p.beton")).unwrap());
    let hash = xxhash_rust::xxh3::xxh3_128(b"a/1.png\na/4.png\nb/2.png\n");
    let recorded = params(&path("o.beton"));
    assert_eq!(recorded["keys"], json!(format!("3 keys, xxh3 {hash:032x}")));
    // Packed datasets have keys, too.
    ok(&[&"pack", &path("o.beton"), &path("q.wds"), &"--keys", &list(root, "c", "a/4.png\n")]);
    assert_eq!(keys(&path("q.wds")), ["a/4.png"]);
}

#[test]
fn other_selections_take_their_part_of_what_is_listed() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), photos(root.path()));
    let out = root.join("o.beton");
    let listed = ["a/2.png", "a/3.png", "b/1.png", "b/2.png", "b/3.png", "b/4.png"];
    let file = list(root, "keys.txt", &listed.join("\n"));
    let taken = |options: &[&dyn AsRef<OsStr>]| {
        let given: [&dyn AsRef<OsStr>; 6] =
            [&"pack", &source, &out, &"--overwrite", &"--keys", &file];
        ok(&given.iter().chain(options).copied().collect::<Vec<_>>());
        keys(&out)
    };
    assert_eq!(taken(&[]), listed);
    // Positions are those of the source.
    assert_eq!(taken(&[&"--where", &"index >= 2 && index < 6"]), ["a/3.png", "b/1.png", "b/2.png"]);
    assert_eq!(taken(&[&"--where", &"label == 'a'"]), ["a/2.png", "a/3.png"]);
    let half = taken(&[&"--sample", &"50%"]);
    assert_eq!(half.len(), 3);
    assert!(half.iter().all(|key| listed.contains(&key.as_str())), "{half:?}");
    let mut shuffled = taken(&[&"--shuffle", &"--seed", &"1"]);
    assert_ne!(shuffled, listed);
    shuffled.sort();
    assert_eq!(shuffled, listed);
    let shards = root.join("o.wds");
    ok(&[&"pack", &source, &shards, &"--keys", &file, &"--split", &"train=0.5,val=0.5"]);
    let mut all = keys(&shards);
    all.sort();
    assert_eq!(all, listed);
    let nothing: [&dyn AsRef<OsStr>; 7] =
        [&"pack", &source, &root.join("n.wds"), &"--keys", &file, &"--where", &"index < 1"];
    let none = fails(&nothing);
    assert!(none.contains("`keys` and `where`"), "{none}");
}

#[test]
fn keys_that_the_source_lacks_are_named_and_counted() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), photos(root.path()));
    let out = root.join("o.beton");
    let file = list(root, "keys.txt", "z/1\nb/1.png\ny\nx\nw\nv\nu\n");
    let said = fails(&[&"pack", &source, &out, &"--keys", &file]);
    let expected = "6 of its 7 keys are not in the source: `z/1`, `y`, `x`, `w`, `v`, ...";
    assert!(said.contains(expected) && said.contains("keys.txt"), "{said}");
    assert!(said.contains("such as `a/1.png`"), "{said}");
    assert!(said.contains("correct these 6, or remove them from the list"), "{said}");
    assert!(!out.exists());
    // From a list over all splits the expression takes those of one.
    let (divided, val) = (root.join("divided.wds"), root.join("val.wds"));
    ok(&[&"pack", &source, &divided, &"--split", &"train=0.5,val=0.5"]);
    let every = list(root, "all.txt", &keys(&divided).join("\n"));
    let args: [&dyn AsRef<OsStr>; 7] =
        [&"pack", &divided, &val, &"--keys", &every, &"--where", &"split == 'val'"];
    ok(&args);
    assert_eq!(keys(&val).len(), 4);
}

#[test]
fn lists_that_cannot_be_meant_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), photos(root.path()));
    let out = root.join("o.beton");
    let refused = |text: &[u8]| {
        let file = root.join("keys.txt");
        fs::write(&file, text).unwrap();
        fails(&[&"pack", &source, &out, &"--keys", &file])
    };
    let twice = refused(b"a/1.png\n\nb/1.png\na/1.png\n");
    assert!(twice.contains("`a/1.png` is on line 1 and again on line 4"), "{twice}");
    let not_utf8 = refused(b"a/1.png\nb/\xff.png\n");
    assert!(not_utf8.contains("keys.txt: line 2 is not UTF-8"), "{not_utf8}");
    for empty in ["", "\n\n"] {
        let said = refused(empty.as_bytes());
        assert!(said.contains("lists no key"), "{said}");
    }
    let gone = fails(&[&"pack", &source, &out, &"--keys", &root.join("gone.txt")]);
    assert!(gone.contains("gone.txt"), "{gone}");
    let file = list(root, "k", "a/1.png");
    let recipe = "fractal:svd?classes=2&instances=2";
    let formula = fails(&[&"pack", &recipe, &root.join("o.formula"), &"--keys", &file]);
    assert!(formula.contains("a formula keeps no images"), "{formula}");
}

/// The plan contains the order, so that the list is not needed when it is carried out.
#[test]
fn plans_need_the_list_no_more() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), photos(root.path()));
    let path = |name: &str| root.join(name);
    let file = list(root, "keys.txt", "b/3.png\na/2.png\nb/1.png");
    let options: [&dyn AsRef<OsStr>; 6] =
        [&"--format", &"wds", &"--shards", &"2", &"--keys", &file];
    let with = |args: &[&dyn AsRef<OsStr>]| {
        ok(&args.iter().chain(&options).copied().collect::<Vec<_>>());
    };
    with(&[&"pack", &source, &path("whole")]);
    with(&[&"plan", &source, &"-o", &path("plan")]);
    fs::remove_file(&file).unwrap();
    for part in ["1/2", "2/2"] {
        ok(&[&"pack", &"--plan", &path("plan"), &"--part", &part, &path("parts")]);
    }
    ok(&[&"merge", &path("parts")]);
    // Left for `merge`, which is finished.
    fs::remove_file(path("parts/.fdconvert/plan.fdplan")).unwrap();
    assert_same_tree(&path("whole"), &path("parts"));
    assert_eq!(keys(&path("parts")), ["a/2.png", "b/1.png", "b/3.png"]);
}

#[test]
fn a_share_of_every_class() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), photos(root.path()));
    tree(&source, &["c/1.png"]);
    let out = root.join("o.beton");
    let args: [&dyn AsRef<OsStr>; 7] =
        [&"pack", &source, &out, &"--sample", &"50%", &"--per", &"class"];
    ok(&args);
    let classes: String = keys(&out).iter().map(|key| &key[..1]).collect();
    assert_eq!(classes, "aabbc");
    assert_eq!(params(&out)["per"], "class");
    // A plan draws the same.
    let path = |name: &str| root.join(name);
    let plan: [&dyn AsRef<OsStr>; 6] =
        [&"plan", &source, &"-o", &path("plan"), &"--format", &"beton"];
    ok(&plan.iter().chain(&args[3..]).copied().collect::<Vec<_>>());
    ok(&[&"pack", &"--plan", &path("plan"), &path("p.beton")]);
    assert_eq!(fs::read(&out).unwrap(), fs::read(path("p.beton")).unwrap());
    let alone = fails(&[&"pack", &source, &path("q.beton"), &"--per", &"class"]);
    assert!(alone.contains("--sample"), "{alone}");
    // Without classes, a share per class is impossible.
    let flat = root.join("flat");
    tree(&flat, &["1.png", "2.png"]);
    let args: [&dyn AsRef<OsStr>; 7] =
        [&"pack", &flat, &path("r.beton"), &"--sample", &"50%", &"--per", &"class"];
    let refused = fails(&args);
    assert!(refused.contains("--per: the source has no labels"), "{refused}");
}
