//! Classes of several datasets, of a list and of a table: one number is one class, whatever its
//! name in the documents.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{fails, ok, tar, tree};
use fdconvert_core::{Kind, Value};
use fdconvert_loader::{Datasets, Label, Loader, ObjectOptions, Options, TransformList};
use fdconvert_testkit::fixtures::PNG_RGB;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Returns a tar with one sample, an image and a document.
fn shard(folder: &Path, name: &str, document: &str) -> PathBuf {
    let key = name.trim_end_matches(".tar");
    let [image, json] = ["png", "json"].map(|ending| format!("{key}.{ending}"));
    let path = folder.join(name);
    fs::write(&path, tar(&[(&image, PNG_RGB), (&json, document.as_bytes())])).unwrap();
    path
}

fn document(dataset: &Path) -> String {
    let reader = fdconvert_reader::open(dataset).unwrap();
    let at = reader.schema().fields.iter().position(|field| field.kind == Kind::Json).unwrap();
    match &reader.get(0).unwrap().values[at] {
        Value::Json(json) => String::from_utf8(json.to_vec()).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Returns the class names, and the class of each sample.
fn labels(dataset: &Path) -> (Vec<String>, Vec<String>) {
    let reader = fdconvert_reader::open(dataset).unwrap();
    let names = reader.schema().fields[1].class_names.clone().unwrap();
    let label = |index| names[reader.label(index).unwrap().unwrap() as usize].clone();
    (names.to_vec(), (0..reader.len()).map(label).collect())
}

/// Returns the reason why a loader does not show the objects of these datasets; empty if it does.
fn loaded(datasets: &[&Path]) -> String {
    let options = Options::default()
        .batch_size(datasets.len() as u32)
        .transform(TransformList::center(8).unwrap())
        .label(Label::None)
        .objects(Some(ObjectOptions::of("json")));
    let open = |path: &&Path| (Arc::from(fdconvert_reader::open(path).unwrap()), 1.0);
    let datasets = Datasets::weighted(datasets.iter().map(open).collect()).unwrap();
    let mut loader = Loader::new(datasets, options).unwrap();
    loader.find_map(Result::err).map_or_else(String::new, |error| error.to_string())
}

#[test]
fn one_number_of_two_classes_is_refused_under_every_key() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let lists = |key: &str, number: &str, name: &str| {
        format!("{{\"bbox\":[[0,0,1,1]],\"{key}\":[{number}],\"category_name\":[\"{name}\"]}}")
    };
    let objects =
        |name: &str| format!("[{{\"bbox\":[0,0,1,1],\"class\":0,\"category_name\":\"{name}\"}}]");
    let differs = "is `dog`, and `cat`";
    for (cat, dog, expected) in [
        (lists("label", "0", "cat"), lists("label", "0", "dog"), differs),
        (lists("category_id", "0", "cat"), lists("category_id", "0", "dog"), differs),
        (lists("category", "0.0", "cat"), lists("category", "0.0", "dog"), differs),
        (objects("cat"), objects("dog"), differs),
        (
            lists("category", "0", "cat"),
            "{\"bbox\":[[0,0,1,1]],\"category\":[0]}".to_owned(),
            "category 0 has no name, and there are names in",
        ),
    ] {
        let (first, second) = (shard(root, "a.tar", &cat), shard(root, "b.tar", &dog));
        let (out, one) = (root.join("o.beton"), &["--threads", "1"]);
        let said = fails(&[&"pack", &first, &second, &out, &one[0], &one[1]]);
        assert!(said.contains(expected), "{said}");
        let said = loaded(&[&first, &second]);
        let categories = "datasets that are taken together need one list of categories";
        assert!(said.contains(categories), "{said}");
        let third = shard(root, "c.tar", &cat);
        ok(&[&"pack", &first, &third, &root.join("same.beton"), &"--overwrite"]);
        assert_eq!(loaded(&[&first, &third]), "");
    }
}

#[test]
fn a_list_numbers_objects_in_every_form_that_loaders_read() {
    let folder = tempfile::tempdir().unwrap();
    let (root, list) = (folder.path(), folder.path().join("list.txt"));
    fs::write(&list, "dog\ncat\n").unwrap();
    for (at, (before, after)) in [
        (
            r#"[{"bbox":[0,0,1,1],"category":0,"category_name":"cat"}]"#,
            r#"[{"bbox":[0,0,1,1],"category":1,"category_name":"cat"}]"#,
        ),
        (
            r#"{"bbox":[[0,0,1,1]],"label":[0]}"#,
            r#"{"bbox":[[0,0,1,1]],"label":[0],"category_name":["dog"]}"#,
        ),
        (
            r#"{"bbox":[[0,0,1,1]],"category":["cat"]}"#,
            r#"{"bbox":[[0,0,1,1]],"category":[1],"category_name":["cat"]}"#,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let (source, out) = (shard(root, "a.tar", before), root.join(format!("{at}.beton")));
        ok(&[&"pack", &source, &out, &"--classes", &list]);
        assert_eq!(document(&out), after);
        assert_eq!(loaded(&[&out]), "");
    }
    let out = root.join("n.beton");
    let source = shard(root, "a.tar", r#"{"bbox":[[0,0,1,1]],"categories":["bird"]}"#);
    let said = fails(&[&"pack", &source, &out, &"--classes", &list]);
    assert!(said.contains("the class `bird`, which is not on the list of 2"), "{said}");
    let source = shard(root, "a.tar", r#"{"bbox":[[0,0,1,1]],"score":[1]}"#);
    let said = ok(&[&"pack", &source, &out, &"--classes", &list]);
    assert!(said.contains("1 sample has objects without a list of classes"), "{said}");
    for name in ["list.yaml", "list.json"] {
        fs::write(root.join(name), "names: [dog, cat]\n").unwrap();
        let said = fails(&[&"pack", &source, &out, &"--classes", &root.join(name)]);
        assert!(said.contains("the list is a text with one name a line"), "{said}");
    }
}

#[test]
fn numbers_of_a_table_that_are_names_of_classes_are_these() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    tree(&at("d"), &["0/a.png", "1/b.png", "10/c.png", "2/d.png"]);
    ok(&[&"pack", &at("d"), &at("o.wds")]);
    fs::write(at("fix.csv"), "path,label\n0/a.png,2\n1/b.png,10\n").unwrap();
    let said = ok(&[&"pack", &at("o.wds"), &at("1.wds"), &"--labels", &at("fix.csv")]);
    assert!(said.contains("the numbers of `labels` are names of classes"), "{said}");
    assert_eq!(labels(&at("1.wds")).1, ["2", "10", "10", "2"]);
    fs::write(at("fix.csv"), "path,label\n0/a.png,2\n1/b.png,3\n").unwrap();
    let said = fails(&[&"pack", &at("o.wds"), &at("2.wds"), &"--labels", &at("fix.csv")]);
    assert!(said.contains("the number 2, which is the name of a class and the place of"), "{said}");
    // A list does not resolve the ambiguity either.
    fs::write(at("all.csv"), "path,label\n0/a.png,2\n").unwrap();
    fs::write(at("list.txt"), "0\n1\n10\n2\n").unwrap();
    let args: [&dyn AsRef<std::ffi::OsStr>; 7] = [
        &"pack",
        &at("d"),
        &at("3.wds"),
        &"--labels",
        &at("all.csv"),
        &"--classes",
        &at("list.txt"),
    ];
    let said = fails(&args);
    assert!(
        said.contains("2 could be the class `2` of the list or the one in its place, `10`"),
        "{said}"
    );
}

#[test]
fn keys_that_look_the_same_are_the_same_and_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (composed, marked) = ("caf\u{e9}", "cafe\u{301}");
    tree(&at("d"), &[&format!("a/{marked}.png"), "b/2.png"]);
    ok(&[&"pack", &at("d"), &at("o.wds")]);
    let told = |option: &str| {
        format!("1 key of {option} is written with other forms of accented letters than the ")
    };
    fs::write(at("fix.csv"), format!("path,label\na/{composed}.png,b\n")).unwrap();
    let said = ok(&[&"pack", &at("o.wds"), &at("1.wds"), &"--labels", &at("fix.csv")]);
    assert!(said.contains(&told("`labels`")), "{said}");
    assert_eq!(labels(&at("1.wds")).1, ["b", "b"]);
    for (out, ending) in [("2.wds", ".png"), ("3.wds", "")] {
        fs::write(at("keys.txt"), format!("a/{composed}{ending}\n")).unwrap();
        let said = ok(&[&"pack", &at("o.wds"), &at(out), &"--keys", &at("keys.txt")]);
        assert!(said.contains("packed 1 of 1") && said.contains(&told("`keys`")), "{said}");
    }
    // They stay two classes, and a note reports it.
    fs::write(at("two.csv"), format!("path,label\na/{marked}.png,{composed}\nb/2.png,{marked}\n"))
        .unwrap();
    let said = ok(&[&"pack", &at("d"), &at("4.wds"), &"--labels", &at("two.csv")]);
    assert!(
        said.contains("differ in nothing but case, blanks or the form of accented letters"),
        "{said}"
    );
    assert_eq!(labels(&at("4.wds")).0.len(), 2);
}
