//! Annotations of other tools next to folders of images: their conversion, and their refusal.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::panic)]

mod coco_files;
mod tables;
mod turned;
mod voc_files;
mod written;
mod yolo_files;

use crate::common::{expect, fails, ok, tree};
use fdconvert_core::Value;
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Writes a folder with files of these texts.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Returns the keys of a packed dataset and the values of their last field.
fn last_fields(dataset: &Path) -> Vec<(String, String)> {
    let reader = fdconvert_reader::open(dataset).unwrap();
    let samples = (0..reader.len()).map(|index| reader.get(index).unwrap());
    let last = samples.map(|sample| match sample.values.last() {
        Some(Value::Json(text)) => (sample.key, String::from_utf8(text.to_vec()).unwrap()),
        other => panic!("{other:?}"),
    });
    last.collect()
}

/// Packs into a beton, wds and mds, checks that all have the same values, and returns these.
fn packed(folder: &Path, source: &Path, labels: &Path) -> (String, Vec<(String, String)>) {
    let out = |name: &str| folder.join(name);
    let (beton, wds, mds) = (out("o.beton"), out("o.wds"), out("o.mds"));
    let said = ok(&[&"pack", &source, &beton, &"--labels", &labels]);
    ok(&[&"pack", &source, &wds, &"--labels", &labels]);
    ok(&[&"pack", &source, &mds, &"--labels", &labels]);
    let values = last_fields(&beton);
    assert_eq!(values, last_fields(&wds));
    let texts = |it: Vec<(String, String)>| it.into_iter().map(|it| it.1).collect::<Vec<_>>();
    assert_eq!(texts(values.clone()), texts(last_fields(&mds)));
    ok(&[&"verify", &beton, &"--deep"]);
    (said, values)
}

fn coco() -> serde_json::Value {
    json!({
        "info": {"year": 2017},
        "annotations": [
            {"id": 9, "image_id": 4, "category_id": 18, "bbox": [1.5, 2, 3, 4.25], "area": 7.5,
             "iscrowd": 0, "segmentation": [[1, 2, 3, 4, 5, 6.5], [0, 0, 1, 1, 2, 0]]},
            {"id": 2, "image_id": 3, "category_id": 1, "bbox": [0, 0, 20, 15], "area": 300,
             "iscrowd": 1, "segmentation": {"size": [15, 20], "counts": [200, 100]}},
            {"id": 1, "image_id": 4, "category_id": 1, "bbox": [0.125, 0, 1, 1], "area": 1,
             "iscrowd": 1, "segmentation": {"size": [15, 20], "counts": "\\5P4"},
             "keypoints": [1, 2, 2, 0, 0, 0], "num_keypoints": 1}
        ],
        "images": [
            {"id": 4, "file_name": "./b/2.png", "width": 20, "height": 15, "license": 1},
            {"id": 3, "file_name": "1.png", "height": 15, "width": 20},
            {"id": 8, "file_name": "b/3.png"}
        ],
        "categories": [
            {"id": 18, "name": "dog", "supercategory": "animal"},
            {"id": 1, "name": "person"}
        ]
    })
}

#[test]
fn a_plan_knows_annotations_again() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = (folder.path().join("images"), folder.path().join("instances.json"));
    tree(&root, &["1.png", "b/2.png", "b/3.png"]);
    fs::write(&labels, coco().to_string()).unwrap();
    let (plan, out) = (folder.path().join("p.fdplan"), folder.path().join("o.wds"));
    ok(&[&"plan", &root, &"-o", &plan, &"--format", &"wds", &"--labels", &labels]);
    ok(&[&"pack", &"--plan", &plan, &out]);
    let direct = folder.path().join("d.wds");
    ok(&[&"pack", &root, &direct, &"--labels", &labels]);
    assert_eq!(last_fields(&out), last_fields(&direct));
    fs::write(&labels, coco().to_string().replace("7.5", "7.25")).unwrap();
    let message = fails(&[&"pack", &"--plan", &plan, &folder.path().join("n.wds")]);
    assert!(message.contains("changed"), "{message}");
}

/// Writes a dataset in the layout of Ultralytics: images of 20x15.
fn yolo(folder: &Path, data: &str) -> (PathBuf, PathBuf) {
    let root = folder.join("coco8");
    tree(&root, &["images/train/a.png", "images/train/b.png", "images/val/c.png"]);
    write(
        &root,
        &[
            ("labels/train/a.txt", "1 0.5 0.5 0.5 0.4\n0 0.25 0.5 0.1 0.2\n"),
            ("labels/val/c.txt", "0 0 0 0.5 0 0.5 1\n"),
            ("data.yaml", data),
        ],
    );
    (root.clone(), root.join("data.yaml"))
}

/// Writes a photo of 75x50 with that EXIF orientation.
fn photo(root: &Path, name: &str, orientation: u8) {
    let photos = fdconvert_testkit::fixtures::photos().join("turned");
    fs::create_dir_all(root).unwrap();
    fs::copy(photos.join(format!("exif-{orientation}.jpg")), root.join(name)).unwrap();
}

/// Returns COCO annotations of one image with one box.
fn coco_of(name: &str, size: Option<[u32; 2]>, bbox: [i64; 4]) -> String {
    let [x, y, width, height] = bbox;
    let mut image = json!({"id": 1, "file_name": name});
    if let Some([width, height]) = size {
        (image["width"], image["height"]) = (json!(width), json!(height));
    }
    let polygon = [x, y, x + width, y, x + width, y + height];
    json!({"images": [image], "categories": [{"id": 1, "name": "white"}], "annotations": [
        {"id": 1, "image_id": 1, "category_id": 1, "bbox": bbox, "segmentation": [polygon],
         "keypoints": [x, y, 2, 0, 0, 0]}]})
    .to_string()
}

#[test]
fn one_bad_annotation_is_left_out_with_its_sample() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("images");
    tree(&root, &["1.png", "b/2.png", "b/3.png"]);
    let labels = folder.path().join("instances.json");
    let mut text = coco();
    text["annotations"][1]["bbox"] = json!([3, 3, -1, 2]);
    fs::write(&labels, text.to_string()).unwrap();
    let out = folder.path().join("o.beton");
    let said = expect(1, &[&"pack", &root, &out, &"--labels", &labels, &"--on-error", &"skip"]);
    assert!(
        said.contains("2 of 3") && said.contains("1.png: `annotations`, entry 2 (id 2)"),
        "{said}"
    );

    let xml = |truncated: &str, right: u8| {
        format!(
            "<annotation><object><name>a</name><truncated>{truncated}</truncated><bndbox>\
             <xmin>2</xmin><ymin>1</ymin><xmax>{right}</xmax><ymax>4</ymax></bndbox></object>\
             </annotation>"
        )
    };
    let files = [("1.xml", xml("0.0597", 5)), ("2.xml", xml("1.0", 5)), ("3.xml", xml("0", 0))];
    let xmls = folder.path().join("xml");
    for (name, text) in &files {
        write(&xmls, &[(name, text)]);
    }
    let out = folder.path().join("v.beton");
    let said = expect(1, &[&"pack", &root, &out, &"--labels", &xmls, &"--on-error", &"skip"]);
    for part in
        ["1 of 3", "1.xml: object 1: its `truncated` is neither 0 nor 1: `0.0597`", "backwards"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn annotations_that_fit_nothing_are_refused_with_the_names_that_were_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("images");
    tree(&root, &["a/1.png", "a/2.png"]);
    let check = |labels: &Path, parts: &[&str]| {
        let said = fails(&[&"pack", &root, &folder.path().join("o.beton"), &"--labels", &labels]);
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    };
    let labels = folder.path().join("labels");
    write(&labels.join("xml"), &[("annotations.xml", "<annotations><image/></annotations>")]);
    check(&labels.join("xml"), &["`a/1.xml`", "`1.xml`", "`annotations.xml`", "`annotations`"]);
    write(&labels.join("txt"), &[("gt_1.txt", "0 0.5 0.5 1 1"), ("gt_2.txt", "")]);
    check(&labels.join("txt"), &["not one of the 2 files", "`a/1.txt`", "`gt_1.txt`"]);
    let data = root.join("data.yaml");
    write(&root, &[("data.yaml", "train: a\nnames: [cat]\n"), ("a/gt_1.txt", "")]);
    check(&data, &["not one of its 2 images", "`a/1.txt`", "`a/gt_1.txt`"]);
    let file = folder.path().join("a.json");
    fs::write(&file, coco_of("1.png", None, [0, 0, 1, 1])).unwrap();
    check(&file, &["`1.png`", "`a/1.png`", "images/a/ as the source"]);
    let strangers = coco_of("a/1.png", None, [0; 4]).replace("\"image_id\":1", "\"image_id\":7");
    fs::write(&file, strangers).unwrap();
    check(&file, &["not one of its 1 annotations", "the image 7"]);
    let table = folder.path().join("t.csv");
    fs::write(&table, "path,label\nx/1.jpg,a\n").unwrap();
    check(&table, &["`x/1.jpg`", "`a/1.png`"]);
}

#[test]
fn annotations_and_images_without_a_counterpart_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let text = "train: images/train\nval: images/vol\nnames: [cat, dog]\n";
    let (root, data) = yolo(folder.path(), text);
    let nfd = "cafe\u{301}";
    tree(&root, &[&format!("images/train/{nfd}.png")]);
    write(&root, &[("labels/train/caf\u{e9}.txt", "0 0.5 0.5 1 1"), ("labels/train/z.txt", "")]);
    let out = folder.path().join("o.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &data]);
    for part in [
        "1 image has no annotations",
        "1 file of annotations has no image",
        "1 file of annotations has the name of an image with other forms",
        "`val: images/vol` is not there, and is left out",
        "2 files ignored (.txt 2)",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let values = last_fields(&out);
    assert!(values.iter().any(|(key, text)| key.contains(nfd) && text.contains("[[0,0,20,15]]")));

    let (images, labels) = (folder.path().join("coco"), folder.path().join("a.json"));
    tree(&images, &["1.png", "b/2.png", "b/3.png"]);
    fs::write(&labels, coco().to_string()).unwrap();
    let said = ok(&[&"pack", &images, &folder.path().join("c.beton"), &"--labels", &labels]);
    assert!(said.contains("1 image has no annotations"), "{said}");
}

#[test]
fn lists_of_classes_give_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    tree(&at("train"), &["a/1.png", "b/2.png", "c/3.png"]);
    tree(&at("val"), &["a/4.png", "c/5.png"]);
    fs::create_dir(at("val/b")).unwrap();
    ok(&[&"pack", &at("train"), &at("train.beton")]);
    let said = ok(&[&"pack", &at("val"), &at("plain.beton")]);
    assert!(said.contains("no image is in the folder b"), "{said}");
    let labels = |dataset: &Path| {
        let reader = fdconvert_reader::open(dataset).unwrap();
        let names = reader.schema().fields[1].class_names.clone().unwrap().to_vec();
        let labels = (0..reader.len()).map(|index| reader.label(index).unwrap().unwrap());
        (names, labels.collect::<Vec<_>>())
    };
    let names = ["a", "b", "c"].map(str::to_owned).to_vec();
    fs::write(at("classes.txt"), "a\nb\nc\n").unwrap();
    for (out, list) in [("1.beton", "classes.txt"), ("2.wds", "train.beton"), ("3.beton", "train")]
    {
        ok(&[&"pack", &at("val"), &at(out), &"--classes", &at(list)]);
        assert_eq!(labels(&at(out)), (names.clone(), vec![0, 2]), "{list}");
    }
    // Packed ones, and by a plan that no longer needs the file.
    ok(&[&"pack", &at("plain.beton"), &at("4.mds"), &"--classes", &at("classes.txt")]);
    assert_eq!(labels(&at("4.mds")), (names.clone(), vec![0, 2]));
    let plan = at("p.fdplan");
    ok(&[&"plan", &at("val"), &"-o", &plan, &"--format", &"wds", &"--classes", &at("classes.txt")]);
    fs::remove_file(at("classes.txt")).unwrap();
    ok(&[&"pack", &"--plan", &plan, &at("5.wds")]);
    assert_eq!(labels(&at("5.wds")), (names, vec![0, 2]));
    fs::write(at("short.txt"), "a\n").unwrap();
    let said = fails(&[&"pack", &at("val"), &at("6.beton"), &"--classes", &at("short.txt")]);
    assert!(said.contains("`c` is a class of val"), "{said}");

    // Categories of objects.
    tree(&at("images"), &["1.png"]);
    fs::write(at("a.json"), coco_of("1.png", None, [1, 2, 3, 4])).unwrap();
    fs::write(at("list.txt"), "black\nwhite\n").unwrap();
    let args: [&dyn AsRef<std::ffi::OsStr>; 5] =
        [&"pack", &at("images"), &at("o.beton"), &"--labels", &at("a.json")];
    ok(&[&args[..], &[&"--classes", &at("list.txt")]].concat());
    assert!(last_fields(&at("o.beton"))[0].1.contains("\"category\":[1]"));
    fs::write(at("list.txt"), "black\n").unwrap();
    let args: [&dyn AsRef<std::ffi::OsStr>; 5] =
        [&"pack", &at("images"), &at("n.beton"), &"--labels", &at("a.json")];
    let said = fails(&[&args[..], &[&"--classes", &at("list.txt")]].concat());
    assert!(said.contains("1.png") && said.contains("`white`"), "{said}");
}

#[test]
fn classes_that_are_called_by_numbers_are_selected_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("d");
    tree(&root, &["0/1.png", "10/2.png", "100/3.png", "2/4.png"]);
    let out = folder.path().join("o.beton");
    ok(&[&"pack", &root, &out, &"--where", &"label == '10'"]);
    assert_eq!(fdconvert_reader::open(&out).unwrap().key(0), "10/2.png");
    let args: [&dyn AsRef<std::ffi::OsStr>; 5] =
        [&"pack", &root, &folder.path().join("n.beton"), &"--where", &"label == '3'"];
    let said = fails(&args);
    assert!(said.contains("`3` is not among the classes of the source: 0, 10, 100, 2"), "{said}");
}
