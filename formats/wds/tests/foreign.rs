//! Other tools' shards with samples that differ, and tars that are no shards.
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
        Err(error) => error.chain(),
    }
}

fn without(path: &Path, dropped: &[&str]) -> Box<dyn Reader> {
    let dropped: Vec<String> = dropped.iter().map(|name| (*name).to_owned()).collect();
    Wds::default().open_with(path, &OpenOptions::default().drop_fields(dropped)).unwrap()
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
        let lacking = lacking.chain();
        assert!(lacking.contains("as from 1 of 2 in all ("), "{lacking}");
        let cure = format!("to pack without the field: drop_fields={field}; ");
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
    check(&apart, &["are not side by side", "tar --sort=name"]);
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
        assert_eq!(reader.facts().ignored.to_string(), "1 file ignored (.md 1)");
        assert_eq!(reader.key(1), "1.jpg");
        assert!(matches!(reader.get(1).unwrap().values[1], Value::Int(1)));
    }
    // A caption away from its image is part of a sample, not a stray file.
    write(&path, &[("0.jpg", JPG), ("1.jpg", JPG), ("2.jpg", JPG), ("1.txt", b"one")]);
    let error = open(&path).unwrap().get(0).unwrap_err().to_string();
    assert!(error.contains("are not side by side"), "{error}");
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
        assert!(
            reader.facts().ignored.to_string().contains(".tgz 1"),
            "{}",
            reader.facts().ignored
        );
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
    assert!(remarks.iter().any(|it| it.text.contains("1 image next to the shards")), "{remarks:?}");
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
        assert_eq!(split_names(divided.splits()), ["train", "val"]);
        assert!(matches!(&divided.get(3).unwrap().values[1], Value::Int(1)));
        assert!(
            reader.facts().ignored.to_string().contains(".txt 1"),
            "{}",
            reader.facts().ignored
        );
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

#[test]
fn members_of_samples_in_folders_may_lie_far_apart() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("0.tar");
    write(&plain, &[("d/0.jpg", JPG), ("d/1.jpg", JPG), ("d/0.cls", b"0"), ("d/1.cls", b"1")]);
    let packed = folder.path().join("0.tar.zst");
    fs::write(&packed, zstd::encode_all(&fs::read(&plain).unwrap()[..], 1).unwrap()).unwrap();
    for path in [&plain, &packed] {
        let error = open(path).unwrap().get(0).unwrap_err().to_string();
        assert!(error.contains("`d/0`, are not side by side"), "{error}");
    }
    let error = said(Folder::default().open(&packed));
    assert!(error.contains("`d/0.cls` has the name of a file far from it"), "{error}");
}

#[test]
fn what_holds_more_is_the_dataset_and_neither_is_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> =
        (0..3).flat_map(|n| [format!("{n}.jpg"), format!("{n}.cls")]).collect();
    let files: Vec<(&str, &[u8])> =
        names.iter().map(|it| (it.as_str(), if it.ends_with("g") { JPG } else { b"1" })).collect();
    write(&folder.path().join("data-000.tar"), &files);
    let image =
        |number: usize| fs::write(folder.path().join(format!("{number}.png")), PNG).unwrap();
    image(0);
    let reader = open(folder.path()).unwrap();
    assert_eq!((reader.len(), fields(&*reader)), (3, vec!["image", "label"]));
    image(1);
    let error = said(open(folder.path()));
    assert!(error.contains("holds 2 images, and 3 samples in 1 tar"), "{error}");
    (2..6).for_each(image);
    let reader = open(folder.path()).unwrap();
    let remarks = reader.remarks();
    assert_eq!(reader.len(), 6);
    assert!(
        remarks.iter().any(|it| it.text.contains("3 samples in tars (data-000.tar)")),
        "{remarks:?}"
    );
}

#[test]
fn splits_of_shards_are_told_by_one_word_or_it_is_said_that_none_are() {
    let of = |names: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            write(&folder.path().join(name), &[("0.jpg", JPG)]);
        }
        let reader = open(folder.path()).unwrap();
        let remarks: Vec<String> = reader.remarks().iter().map(ToString::to_string).collect();
        let splits = reader.splits();
        (split_names(splits).join(" "), remarks.join("; "))
    };
    for names in [
        ["train-00000-of-00001.tar", "val-00000-of-00001.tar"],
        ["laion.train.000.TAR", "laion.val.000.tar"],
        ["train2017-0.tar", "val0001.tar"],
    ] {
        assert_eq!(of(&names).0, "train val", "{names:?}");
    }
    let (splits, remarks) = of(&["testing_kit.tar", "training_shoes.tar"]);
    assert!(splits.is_empty() && remarks.contains("names differ in more"), "{remarks}");
    let (splits, remarks) = of(&["train-0.tar", "dog-0.tar"]);
    assert!(splits.is_empty() && remarks.contains("the others are not"), "{remarks}");
    assert_eq!(of(&["cat-training-dog.tar"]), (String::new(), String::new()));
}

#[test]
fn sound_archives_are_read_however_they_were_made() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let shard = tar(&[("0.jpg", JPG), ("0.cls", b"0"), ("1.jpg", JPG), ("1.CLS", b"1")]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &shard).unwrap();
    fs::write(root.join("a.tgz"), [gzip.finish().unwrap(), vec![0; 1024]].concat()).unwrap();
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
    let zstd = zstd::encode_all(&shard[..], 1).unwrap();
    fs::write(root.join("a.tar.zst"), [&skipped[..], &zstd].concat()).unwrap();
    fs::write(root.join("A.TAR"), &shard).unwrap();
    for name in ["a.tgz", "a.tar.zst", "A.TAR"] {
        let reader = open(root.join(name)).unwrap();
        assert_eq!((fields(&*reader), reader.len()), (vec!["image", "label"], 2), "{name}");
        assert!(matches!(reader.get(1).unwrap().values[1], Value::Int(1)), "{name}");
    }
    fs::write(root.join("shard"), &shard).unwrap();
    assert!(said(open(root.join("shard"))).contains("let its name end in .tar"));
    fs::write(root.join("two.tar"), [&shard[..], &shard].concat()).unwrap();
    assert!(said(open(root.join("two.tar"))).contains("is behind the end of this one"));
    // Headers that the tar library does not write.
    let with_header = |edit: &dyn Fn(&mut [u8])| {
        let mut archive = tar(&[("a/b/0.jpg", JPG), ("c/1.jpg", JPG)]);
        edit(&mut archive);
        archive[148..156].fill(b' ');
        let sum: u32 = archive[..512].iter().map(|&byte| u32::from(byte)).sum();
        archive[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let path = root.join("edited.tar");
        fs::write(&path, archive).unwrap();
        open(&path)
    };
    let slashes = with_header(&|it| it[..9].copy_from_slice(b"a///0.jpg")).unwrap();
    assert_eq!(slashes.key(0), "a/0.jpg");
    let absolute = said(with_header(&|it| it[..9].copy_from_slice(b"/a/b0.jpg")));
    assert!(absolute.contains("is an absolute name"), "{absolute}");
    let without_magic = with_header(&|it| it[257..265].fill(0)).unwrap();
    assert_eq!(fields(&*without_magic), ["image", "label"]);
}

fn images(reader: &dyn Reader, index: u64) -> Vec<Codec> {
    let sample = reader.get(index).unwrap();
    let lists = sample.values.iter().filter(|value| matches!(value, Value::Images(_)));
    lists.flat_map(Value::images).map(|image| image.codec).collect()
}

#[test]
fn numbered_images_are_a_list_if_they_are_so_in_all_samples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar");
    let kinds = |reader: &dyn Reader| -> Vec<String> {
        let fields = reader.schema().fields.iter();
        fields.map(|field| format!("{} {}", field.name, field.kind.name())).collect()
    };
    let names: Vec<String> = (0..12).map(|number| format!("c.{number}.png")).collect();
    // By name, as GNU tar sorts them: 0, 1, 10, 11, 2, ...
    let mut sorted: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), PNG)).collect();
    sorted.sort_unstable();
    let files = [
        &[("a.0.jpg", JPG), ("a.0.json", b"{}"), ("a.1.png", PNG), ("a.txt", b"two")][..],
        &[("b.0.json", b"[]"), ("b.txt", b"none")],
        &sorted,
        &[("c.0.json", b"1"), ("c.txt", b"twelve")],
    ];
    write(&path, &files.concat());
    let reader = open(&path).unwrap();
    assert_eq!(kinds(&*reader), ["images images", "0 json", "txt text"]);
    assert_eq!(images(&*reader, 0), [Codec::Jpeg, Codec::Png]);
    assert_eq!((images(&*reader, 1).len(), images(&*reader, 2).len()), (0, 12));
    assert!(reader.verify_layout().is_empty());
    // An index has one region for all of them.
    Wds::default().index(&path, false).unwrap();
    let indexed = open(&path).unwrap();
    assert!(indexed.has_checksums() && indexed.schema() == reader.schema());
    for index in 0..3 {
        assert_eq!(indexed.get(index).unwrap().values, reader.get(index).unwrap().values);
        indexed.verify_sample(index).unwrap();
    }
    assert!(indexed.verify_layout().is_empty(), "{:?}", indexed.verify_layout());

    // One sample whose numbers have a gap: no list in any.
    let apart = folder.path().join("b.tar");
    write(&apart, &[("a.1.jpg", JPG), ("a.2.jpg", JPG), ("b.1.jpg", JPG), ("b.3.jpg", JPG)]);
    let fields = ["image image", "2 image", "3 image"];
    assert_eq!(kinds(&*open(&apart).unwrap()), fields);
    // Names with a stem are lists of their own.
    let named = folder.path().join("c.tar");
    let files =
        [("a.jpg", JPG), ("a.left.1.jpg", JPG), ("a.left.2.jpg", JPG), ("a.right.1.png", PNG)];
    write(&named, &files);
    let reader = open(&named).unwrap();
    assert_eq!(kinds(&*reader), ["image image", "left images", "right images"]);
    assert_eq!(images(&*reader, 0), [Codec::Jpeg, Codec::Jpeg, Codec::Png]);
}
