//! Shards of others whose samples differ, and tars that are no shards.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
use super::shards::tar;
use crate::{folder::Folder, formats, open, wds::Wds};
use fdconvert_core::*;
use fdconvert_testkit::fixtures;
use std::{fs, path::Path};

const JPG: &[u8] = fixtures::JPEG_420;
const PNG: &[u8] = fixtures::PNG_RGB;

fn write(path: &Path, files: &[(&str, &[u8])]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, tar(files)).unwrap();
}

fn fields(reader: &dyn Reader) -> Vec<&str> {
    reader.schema().fields.iter().map(|field| field.name.as_str()).collect()
}

fn said(result: Result<Box<dyn Reader>>) -> String {
    match result {
        Ok(reader) => panic!("opened with {:?}", fields(&*reader)),
        Err(error) => error.message().in_style(Style::Command),
    }
}

fn without(path: &Path, dropped: &[&str]) -> Box<dyn Reader> {
    let dropped: Vec<String> = dropped.iter().map(|name| (*name).to_owned()).collect();
    Wds::default().open_without(path, MaxDecompressed::default(), &dropped).unwrap()
}

#[test]
fn a_field_that_the_first_sample_lacks_is_a_field() {
    let folder = tempfile::tempdir().unwrap();
    for (name, second) in [("txt", &b"two"[..]), ("cls", b"2"), ("seg.png", PNG), ("png", PNG)] {
        let path = folder.path().join(format!("{name}.tar"));
        let member = format!("b.{name}");
        write(&path, &[("a.jpg", JPG), ("b.jpg", JPG), (&member, second)]);
        let reader = open(&path).unwrap();
        assert_eq!(reader.schema().fields.len(), 2, "{name}");
        let field = reader.schema().fields[1].name.clone();
        assert!(reader.get(1).is_ok(), "{name}");
        let lacking = reader.get(0).unwrap_err();
        let lacking = lacking.message().in_style(Style::Command);
        let cure = format!("from 1 of 2 in all; --drop-fields {field} leaves the field out");
        assert!(lacking.contains("sample `a.jpg`") && lacking.contains(&cure), "{lacking}");
        assert_eq!(fields(&*without(&path, &[&field])), ["image"]);
        assert!((0..2).all(|index| without(&path, &[&field]).get(index).is_ok()));
    }
}

#[test]
fn a_field_that_the_first_shard_lacks_is_a_field() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("0.tar"), &[("a.jpg", JPG), ("b.jpg", JPG)]);
    write(&folder.path().join("1.tar"), &[("c.jpg", JPG), ("c.txt", b"c")]);
    let reader = open(folder.path()).unwrap();
    assert_eq!(fields(&*reader), ["image", "txt"]);
    assert!(reader.get(0).unwrap_err().to_string().contains("from 2 of 3 in all"));
    assert!(reader.get(2).is_ok());
}

#[test]
fn an_array_that_is_broken_in_the_first_sample_is_one_in_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let spec = ArraySpec { dtype: DType::U8, shape: vec![2], torch: false };
    let array = [crate::members::npy::header(&spec), vec![1, 2]].concat();
    let path = folder.path().join("0.tar");
    write(&path, &[("a.jpg", JPG), ("a.npy", b"?"), ("b.jpg", JPG), ("b.npy", &array)]);
    let reader = open(&path).unwrap();
    assert!(reader.get(0).unwrap_err().to_string().contains("not an array"));
    assert_eq!(reader.get(1).unwrap().values[1], Value::Array(vec![1, 2].into()));
}

#[test]
fn names_of_files_that_a_sample_lacks_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.tar");
    let check = |files: &[(&str, &[u8])], parts: &[&str]| {
        write(&path, files);
        let error = match open(&path) {
            Ok(reader) => reader.get(0).unwrap_err(),
            Err(error) => error,
        };
        let error = error.to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    let apart = [("0.jpg", JPG), ("1.jpg", JPG), ("0.txt", b"a"), ("1.txt", b"b")];
    check(&apart, &["do not lie side by side", "tar --sort=name"]);
    let dots = [("22.05.jpg", JPG), ("22.06.jpg", JPG), ("23.17.jpg", JPG)];
    check(&dots, &["a key ends at the first dot", "`17.jpg`"]);
    let names: Vec<String> = (0..1001).map(|number| format!("run.{number}.jpg")).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), JPG)).collect();
    check(&many, &["999 more files would be one sample", "first dot", "`run`"]);
    check(&[("0.jpg", JPG), ("0.cls", b"dog")], &["`dog`", "not an integer"]);
}

#[test]
fn a_file_among_samples_is_counted_and_no_sample() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.tar");
    let readme: (&str, &[u8]) = ("README.md", b"read me");
    let samples = [("0.jpg", JPG), ("0.cls", &b"0"[..]), ("1.jpg", JPG), ("1.cls", b"1")];
    for files in [[&[readme][..], &samples].concat(), [&samples, &[readme][..]].concat()] {
        write(&path, &files);
        let reader = open(&path).unwrap();
        assert_eq!((reader.len(), fields(&*reader)), (2, vec!["image", "label"]));
        assert_eq!(reader.left_out().to_string(), "1 file ignored (.md 1)");
        assert_eq!(reader.key(1), "1.jpg");
        assert!(matches!(reader.get(1).unwrap().values[1], Value::Int(1)));
    }
    // A caption that lies apart from its image is none of these.
    write(&path, &[("0.jpg", JPG), ("1.jpg", JPG), ("2.jpg", JPG), ("1.txt", b"one")]);
    let error = open(&path).unwrap().get(0).unwrap_err().to_string();
    assert!(error.contains("do not lie side by side"), "{error}");
}

#[test]
fn a_tar_of_tars_is_refused_with_its_cure() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.tar");
    let inner = tar(&[("n01_1.JPEG", JPG)]);
    write(&path, &[("n01.tar", &inner), ("n02.tar", &inner)]);
    let error = said(open(&path));
    assert!(error.contains("holds archives (.tar) and no image: unpack it"), "{error}");
}

#[test]
fn a_tar_beside_images_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    for (name, image) in
        [("flat", "0.jpg"), ("classes", "cat/0.jpg"), ("splits", "d/train/cat/0.jpg")]
    {
        let root = folder.path().join(name);
        let image = root.join(image);
        fs::create_dir_all(image.parent().unwrap()).unwrap();
        fs::write(&image, JPG).unwrap();
        write(&root.join("102flowers.tgz"), &[("0.csv", b"a,b")]);
        let reader = open(&root).unwrap();
        assert_eq!(reader.len(), 1, "{name}");
        assert!(reader.left_out().to_string().contains(".tgz 1"), "{}", reader.left_out());
    }
}

#[test]
fn an_image_beside_more_shards_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..2 {
        write(&folder.path().join(format!("{number}.tar")), &[("0.jpg", JPG)]);
    }
    fs::write(folder.path().join("logo.png"), PNG).unwrap();
    let reader = open(folder.path()).unwrap();
    assert_eq!(reader.len(), 2);
    let remarks = reader.remarks();
    assert!(remarks.iter().any(|it| it.contains("1 image beside the shards")), "{remarks:?}");
}

#[test]
fn a_tar_of_class_folders_is_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<(String, &[u8])> = ["train", "val"]
        .iter()
        .flat_map(|split| {
            ["cat", "dog"].map(|class| (format!("./mini/{split}/{class}/22.05.jpg"), JPG))
        })
        .chain([("./mini/README.txt".to_owned(), &b"text"[..])])
        .collect();
    let files: Vec<_> = files.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
    let plain = folder.path().join("mini.tar");
    write(&plain, &files);
    let packed = folder.path().join("mini.tar.zst");
    fs::write(&packed, zstd::encode_all(&fs::read(&plain).unwrap()[..], 1).unwrap()).unwrap();
    for path in [&plain, &packed] {
        let reader = open(path).unwrap();
        assert_eq!(fields(&*reader), ["image", "label"]);
        assert_eq!(reader.key(0), "train/cat/22.05.jpg");
        let divided = Folder::default().split_folders(true).open_folder(path).unwrap();
        assert_eq!(split_names(&divided.splits()), ["train", "val"]);
        assert!(matches!(&divided.get(3).unwrap().values[1], Value::Int(1)));
        assert!(reader.left_out().to_string().contains(".txt 1"), "{}", reader.left_out());
    }
}

#[test]
fn shards_whose_keys_have_folders_stay_shards() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.tar");
    for files in [
        &[("a/0.jpg", JPG), ("a/0.cls", &b"0"[..])][..],
        &[("a/0.jpg", JPG), ("a/0.seg.png", PNG)],
        &[("a/0.json", b"{}"), ("a/0.jpg", JPG)],
        &[("0.jpg", JPG), ("a/1.jpg", JPG)],
    ] {
        write(&path, files);
        let format = formats().into_iter().find(|format| format.detect(&path)).unwrap();
        assert_eq!(format.name(), "wds", "{:?}", files[1].0);
    }
}
