//! Samples found in folders and tables, and remarks on the rest.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
use crate::folder::{Folder, FolderReader};
use fdconvert_core::{Amount, Codec, Error, Limits, Look, Reader, Source, Value};
use fdconvert_testkit::fixtures;
use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::Path,
};

/// Writes files of these names; all are the same small PNG.
fn tree(root: &Path, names: &[&str]) {
    for name in names {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, fixtures::PNG_RGB).unwrap();
    }
}

fn open(root: &Path) -> FolderReader {
    Folder::default().open_folder(root).unwrap()
}

fn usage(root: &Path) -> String {
    match Folder::default().open_folder(root) {
        Err(error @ Error::Usage { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

fn keys(reader: &FolderReader) -> Vec<String> {
    (0..reader.len()).map(|index| reader.key(index)).collect()
}

fn labels(reader: &FolderReader) -> Vec<i64> {
    let label = |index| match reader.get(index).unwrap().values[1] {
        Value::Int(label) => label,
        _ => panic!("no label"),
    };
    (0..reader.len()).map(label).collect()
}

#[test]
fn classes_and_order_are_those_of_the_bytes() {
    let root = tempfile::tempdir().unwrap();
    tree(
        root.path(),
        &["b/2.png", "b/10.png", "B/x/y/1.JPEG", "a-/1.gif", "a/z.png", "a/Z.png", "a/m/1.png"],
    );
    let reader = open(root.path());
    let names: Vec<_> = reader.schema().fields[1].class_names.as_deref().unwrap().to_vec();
    assert_eq!(names, ["B", "a", "a-", "b"]);
    let expected =
        ["B/x/y/1.JPEG", "a/Z.png", "a/m/1.png", "a/z.png", "a-/1.gif", "b/10.png", "b/2.png"];
    assert_eq!(keys(&reader), expected);
    assert_eq!(labels(&reader), [0, 1, 1, 1, 2, 3, 3]);
    // By content, whatever the name.
    let sample = reader.get(0).unwrap();
    let Value::Image(image) = &sample.values[0] else { panic!("no image") };
    assert_eq!((image.codec, image.width, image.height), (Codec::Png, 20, 15));
    assert_eq!(image.bytes, fixtures::PNG_RGB);
}

#[test]
fn a_flat_folder_has_no_label() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), &["b.png", "a.png"]);
    fs::create_dir(root.path().join("empty")).unwrap();
    let reader = open(root.path());
    assert_eq!(reader.schema().fields.len(), 1);
    assert_eq!(keys(&reader), ["a.png", "b.png"]);
    assert_eq!(reader.facts().ignored.folders, ["empty"]);
    assert_eq!(reader.details()["layout"], "flat folder");
}

#[test]
fn folders_in_an_empty_split_are_counted() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), &["cat/1.png", "dog/2.png"]);
    for empty in ["train/cat", "train/dog/more", "bird/small"] {
        fs::create_dir_all(root.path().join(empty)).unwrap();
    }
    let reader = open(root.path());
    let folders = ["bird", "train", "train/cat", "train/dog"];
    assert_eq!(reader.facts().ignored.folders, folders);
}

#[test]
fn what_is_no_image_is_counted() {
    let root = tempfile::tempdir().unwrap();
    tree(
        root.path(),
        &["a/1.png", "a/notes.TXT", "a/more.txt", "README", "a/.2.png", ".git/3.png"],
    );
    fs::create_dir_all(root.path().join("b/deeper")).unwrap();
    let reader = open(root.path());
    assert_eq!(keys(&reader), ["a/1.png"]);
    let ignored = &reader.facts().ignored;
    assert_eq!((ignored.others, ignored.hidden, ignored.links), (3, 2, 0));
    assert_eq!(ignored.extensions[".txt"], 2);
    assert_eq!(ignored.folders, ["b"]);
}

#[test]
fn a_folder_without_images_says_what_was_seen() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), &["train/data.tar", "train/1.ppm", ".x.png"]);
    let message = usage(root.path());
    for part in [".tar 1", ".ppm 1", "1 hidden", ".jpeg"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(matches!(
        Folder::default().open_folder(&root.path().join("missing")),
        Err(Error::Io { .. })
    ));
}

#[test]
fn images_beside_class_folders_are_refused_with_the_cure() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), &["cat/1.png", "x.png", "y.png"]);
    let message = usage(root.path());
    for part in ["2 images", "x.png, y.png", "`cat`", "to give the file: labels"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn links_stay_inside_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
    tree(&root, &["a/1.png", "b/2.png", "b/deep/3.png"]);
    tree(&outside, &["secret.png"]);
    let link = |target: &Path, name: &str| symlink(target, root.join(name)).unwrap();
    link(Path::new("../b/2.png"), "a/file.png");
    link(Path::new("../b"), "a/folder");
    link(&outside.join("secret.png"), "a/secret.png");
    link(&outside, "c");
    link(Path::new("nowhere.png"), "a/dangling.png");
    link(Path::new(".."), "a/up");
    link(Path::new("."), "b/deep/self");
    link(Path::new("../a"), "b/back");
    link(Path::new("loop.png"), "b/loop.png");
    let reader = open(&root);
    let expected = [
        "a/1.png",
        "a/file.png",
        "a/folder/2.png",
        "a/folder/deep/3.png",
        "b/2.png",
        "b/back/1.png",
        "b/back/file.png",
        "b/deep/3.png",
    ];
    assert_eq!(keys(&reader), expected);
    assert!(reader.facts().ignored.links >= 6, "{:?}", reader.facts().ignored);
    (0..reader.len()).for_each(|index| drop(reader.get(index).unwrap()));

    // The root itself may be reached through a link.
    symlink(&root, folder.path().join("linked")).unwrap();
    assert_eq!(keys(&open(&folder.path().join("linked"))), expected);
}

#[test]
fn names_that_are_not_utf8_are_read_and_have_keys() {
    let root = tempfile::tempdir().unwrap();
    let class = root.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&class).unwrap();
    fs::write(class.join(OsStr::from_bytes(b"a\\\xff.png")), fixtures::PNG_RGB).unwrap();
    let reader = open(root.path());
    assert_eq!(keys(&reader), ["caf\\xe9/a\\x5c\\xff.png"]);
    assert_eq!(reader.get(0).unwrap().key, reader.key(0));
    reader.verify_sample(0).unwrap();
}

#[test]
fn a_bad_file_is_the_error_of_its_sample() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), &["a/1.png", "a/2.png", "a/3.png", "a/4.png", "a/5.png"]);
    let write = |name: &str, bytes: &[u8]| fs::write(root.path().join(name), bytes).unwrap();
    write("a/1.png", b"");
    write("a/2.png", b"no image at all");
    write("a/3.png", &fixtures::PNG_RGB[..20]);
    write("a/4.png", &fixtures::PNG_RGB[..300]);
    let reader = open(root.path());
    fs::remove_file(root.path().join("a/5.png")).unwrap();
    let error = |index: u64| match reader.get(index) {
        Err(Error::Sample { key, what }) => {
            assert_eq!(key, reader.key(index));
            what.text
        }
        other => panic!("{other:?}"),
    };
    assert!(error(0).contains("empty"), "{}", error(0));
    assert!(error(1).contains("known kind"), "{}", error(1));
    assert!(error(2).starts_with("png: "), "{}", error(2));
    // The header is valid; only the missing end of the file reveals it.
    reader.get(3).unwrap();
    assert!(matches!(reader.verify_sample(3), Err(Error::Sample { .. })));
    assert!(error(4).contains("missing"), "{}", error(4));

    let small = Folder::with_limits(Limits { max_file_bytes: 5, ..Limits::DEFAULT });
    let error = small.open_folder(root.path()).unwrap().get(1).unwrap_err();
    assert!(
        error.to_string().contains("over the limit of 5; to raise it: max_file_bytes"),
        "{error}"
    );
}

#[test]
fn the_fingerprint_is_of_names_and_sizes() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), &["a/1.png", "a/2.png"]);
    let first = open(root.path()).fingerprint(Look::Sizes).unwrap();
    fs::write(root.path().join("a/unrelated.txt"), "x").unwrap();
    assert_eq!(open(root.path()).fingerprint(Look::Sizes).unwrap(), first);
    fs::write(root.path().join("a/1.png"), fixtures::PNG_GRAY).unwrap();
    let resized = open(root.path()).fingerprint(Look::Sizes).unwrap();
    assert_ne!(resized, first);
    fs::rename(root.path().join("a/1.png"), root.path().join("a/3.png")).unwrap();
    assert_ne!(open(root.path()).fingerprint(Look::Sizes).unwrap(), resized);
}

/// A check that fails for another reason than absence is an error, and never gives another dataset.
#[test]
fn a_failed_look_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), &["a/1.png", "a/2.png"]);
    let (known, reader) = (open(root.path()).fingerprint(Look::Sizes).unwrap(), open(root.path()));
    assert_eq!(open(root.path()).fingerprint(Look::SizesSparing).unwrap(), known);
    fs::remove_file(root.path().join("a/2.png")).unwrap();
    assert!(matches!(reader.fingerprint(Look::Sizes), Err(Error::Sample { .. })));
    assert!(matches!(reader.bytes(1, Amount::Planned), Err(Error::Sample { .. })));
    assert_ne!(reader.fingerprint(Look::SizesSparing).unwrap(), known);

    tree(root.path(), &["a/2.png"]);
    let reader = open(root.path());
    fs::remove_file(root.path().join("a/2.png")).unwrap();
    symlink("2.png", root.path().join("a/2.png")).unwrap();
    for look in [Look::Sizes, Look::SizesSparing] {
        let error = reader.fingerprint(look).unwrap_err();
        assert!(matches!(error, Error::Io { .. }) && error.to_string().contains("a/2.png"));
    }
    // It is impossible to determine whether such a link leads outside.
    symlink("x".repeat(300), root.path().join("a/3.png")).unwrap();
    let error = Folder::default().open_folder(root.path()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }) && error.to_string().contains("a/3.png"));
}

#[test]
fn followed_links_lead_anywhere_and_every_folder_is_listed_once() {
    let folder = tempfile::tempdir().unwrap();
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
    tree(&root, &["a/1.png"]);
    tree(&outside, &["b/2.png", "b/deep/3.png"]);
    let link = |target: &Path, name: &str| symlink(target, root.join(name)).unwrap();
    link(&outside.join("b"), "b");
    link(&outside.join("b"), "c");
    link(&outside.join("b/2.png"), "a/file.png");
    symlink(&root, outside.join("b/deep/back")).unwrap();
    link(Path::new("nowhere"), "a/dangling");
    let follow = Folder::default().follow_links(true);
    let reader = follow.open_folder(&root).unwrap();
    assert_eq!(keys(&reader), ["a/1.png", "a/file.png", "b/2.png", "b/deep/3.png"]);
    assert_eq!(labels(&reader), [0, 0, 1, 1]);
    // Links to a folder that is already a class are counted apart from broken links.
    let ignored = &reader.facts().ignored;
    assert_eq!((ignored.links, ignored.repeats, ignored.folders.len()), (1, 2, 0));

    fs::remove_dir_all(root.join("a")).unwrap();
    let said = usage(&root);
    let links = "2 links not followed (b to a folder elsewhere, c to a folder elsewhere); ";
    let cure = "; to follow links that lead out of it: follow_links=true";
    assert!(said.contains(links) && said.ends_with(cure), "{said}");
    assert_eq!(follow.open_folder(&root).unwrap().len(), 2);
}

#[test]
fn a_list_of_paths_keeps_classes_and_splits() {
    let root = tempfile::tempdir().unwrap();
    tree(root.path(), &["train/a/1.png", "train/b/2.png", "val/b/3.png", "val/c/4.png"]);
    let table = root.path().join("list.csv");
    fs::write(&table, "file_name\ntrain/b/2.png\nval/c/4.png\n").unwrap();
    let open = |split_folders| {
        let folder = Folder::default().split_folders(split_folders);
        folder.open_with_labels(root.path(), &table).unwrap()
    };
    let reader = open(true);
    // The numbers are those of the whole folder.
    assert_eq!(labels(&reader), [1, 2]);
    assert_eq!(reader.splits(), [("train".to_owned(), 0..1), ("val".to_owned(), 1..2)]);
    assert_eq!(labels(&open(false)), [0, 1]);
    fs::write(&table, "path\nval/b/3.png\nelsewhere/2.png\n").unwrap();
    let error = Folder::default().open_with_labels(root.path(), &table).unwrap_err();
    assert!(error.to_string().contains("none of the class folders"), "{error}");
}

#[test]
fn a_table_decides_samples_order_and_values() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    tree(&root, &["x.png", "deep/y.png", "unlisted.png"]);
    tree(folder.path(), &["outside.png"]);
    symlink(folder.path().join("outside.png"), root.join("out.png")).unwrap();
    let table = folder.path().join("labels.csv");
    let text = "path,label,caption\nx.png,dog,\"a, b\"\ngone.png,cat,c\n./deep/y.png,cat,d\n\
                out.png,dog,e\n";
    fs::write(&table, text).unwrap();
    let open = || Folder::default().open_with_labels(&root, &table).unwrap();
    let reader = open();
    assert_eq!(keys(&reader), ["x.png", "gone.png", "deep/y.png", "out.png"]);
    let sample = reader.get(0).unwrap();
    assert_eq!(sample.values[1..], [Value::Int(1), Value::Text("a, b".into())]);
    for (index, part) in [(1, "missing"), (3, "out of the folder")] {
        let Err(Error::Sample { what, .. }) = reader.get(index) else { panic!("{index}") };
        assert!(what.text.contains(part), "{what}");
    }
    reader.verify_sample(2).unwrap();

    let first = reader.fingerprint(Look::SizesSparing).unwrap();
    assert_eq!(open().fingerprint(Look::SizesSparing).unwrap(), first);
    fs::write(&table, text.replace("dog", "dot")).unwrap();
    assert_ne!(open().fingerprint(Look::SizesSparing).unwrap(), first);

    fs::write(&table, "path,label\nx.png\n").unwrap();
    let error = Folder::default().open_with_labels(&root, &table).unwrap_err().to_string();
    assert!(error.contains("labels.csv") && error.contains("line 2"), "{error}");
    let text = folder.path().join("labels.toml");
    assert!(matches!(
        Folder::default().open_with_labels(&root, &text),
        Err(Error::Usage { option, .. }) if option.name == "labels"
    ));
}
