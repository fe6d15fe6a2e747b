//! Annotations of other tools next to folders of images: their conversion, and their refusal.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::panic)]

mod coco_files;
mod tables;
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
fn coco_becomes_lists_of_objects() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = (folder.path().join("images"), folder.path().join("instances.json"));
    tree(&root, &["1.png", "b/2.png", "b/3.png", "b/not-listed.png"]);
    fs::write(&labels, serde_json::to_string_pretty(&coco()).unwrap()).unwrap();
    let (_, values) = packed(folder.path(), &root, &labels);
    let expected = [
        (
            "b/2.png",
            r#"{"size":[20,15],"bbox":[[1.5,2,3,4.25],[0.125,0,1,1]],"category":[1,0],"category_name":["dog","person"],"category_id":[18,1],"area":[7.5,1],"iscrowd":[0,1],"segmentation":[[[1,2,3,4,5,6.5],[0,0,1,1,2,0]],{"size":[15,20],"counts":"\\5P4"}],"keypoints":[[],[1,2,2,0,0,0]],"id":[9,1]}"#,
        ),
        (
            "1.png",
            r#"{"size":[20,15],"bbox":[[0,0,20,15]],"category":[0],"category_name":["person"],"category_id":[1],"area":[300],"iscrowd":[1],"segmentation":[{"size":[15,20],"counts":[200,100]}],"keypoints":[[]],"id":[2]}"#,
        ),
        (
            "b/3.png",
            r#"{"size":[20,15],"bbox":[],"category":[],"category_name":[],"category_id":[],"area":[],"iscrowd":[],"segmentation":[],"keypoints":[],"id":[]}"#,
        ),
    ];
    // Keys in another order would be other samples.
    let ordered: Vec<_> = values.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(ordered, expected);
    let shown = ok(&[&"inspect", &folder.path().join("o.beton"), &"--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let names = shown["schema"]["fields"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|field| (&field["name"], &field["kind"])).collect();
    let fields = json!([["image", "image"], ["image_id", "int"], ["objects", "json"]]);
    assert_eq!(json!(names), fields);

    // A dataset that was unpacked with its table packs to the same bytes.
    let (back, again) = (folder.path().join("back"), folder.path().join("again.beton"));
    ok(&[&"unpack", &folder.path().join("o.beton"), &back]);
    ok(&[&"pack", &back, &again]);
    assert_eq!(last_fields(&again), values);
}

#[test]
fn captions_are_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = (folder.path().join("images"), folder.path().join("captions.json"));
    tree(&root, &["1.png", "2.png"]);
    let text = json!({
        "images": [{"id": 1, "file_name": "1.png"}, {"id": 2, "file_name": "2.png"}],
        "annotations": [
            {"id": 5, "image_id": 1, "caption": "A \"dog\" runs."},
            {"id": 4, "image_id": 1, "caption": "Ein Hund läuft."},
            {"id": 6, "image_id": 7, "caption": "Of another image."}
        ]
    });
    fs::write(&labels, text.to_string()).unwrap();
    let (said, values) = packed(folder.path(), &root, &labels);
    assert!(said.contains("1 annotation is of images that `images` does not list"), "{said}");
    let expected = [
        ("1.png".to_owned(), r#"["A \"dog\" runs.","Ein Hund läuft."]"#.to_owned()),
        ("2.png".to_owned(), "[]".to_owned()),
    ];
    assert_eq!(values, expected);
}

/// Returns the result of a change to the file above.
fn coco_fails(change: impl FnOnce(&mut serde_json::Value)) -> String {
    let mut text = coco();
    change(&mut text);
    fails_with(&text.to_string())
}

fn fails_with(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = (folder.path().join("images"), folder.path().join("instances.json"));
    tree(&root, &["1.png", "b/2.png", "b/3.png"]);
    fs::write(&labels, text).unwrap();
    fails(&[&"pack", &root, &folder.path().join("o.beton"), &"--labels", &labels])
}

#[test]
fn coco_that_does_not_fit_is_refused_by_entry() {
    let check = |message: String, parts: &[&str]| {
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    let entry =
        |change: fn(&mut serde_json::Value)| coco_fails(|text| change(&mut text["annotations"][1]));
    check(entry(|it| it["category_id"] = json!(5)), &["entry 2 (id 2)", "category 5"]);
    check(entry(|it| it["bbox"] = json!([0, 0, 1])), &["entry 2 (id 2)", "`bbox`", "four"]);
    check(entry(|it| it["bbox"] = json!([0, 0, null, 1])), &["`bbox`", "four"]);
    check(entry(|it| it["bbox"] = json!([0, 0, -1, 1])), &["`bbox`", "-1 wide"]);
    check(entry(|it| it["segmentation"] = json!([[1, 2, 3]])), &["3 numbers"]);
    check(entry(|it| it["segmentation"]["counts"] = json!([200, 99])), &["add up to 20x15"]);
    let large = |it: &mut serde_json::Value| it["segmentation"]["size"] = json!([u64::MAX, 3]);
    check(entry(large), &["beyond 2^32 - 1 pixels"]);
    check(entry(|it| it["segmentation"]["counts"] = json!("\\5P5")), &["add up to 20x15"]);
    check(entry(|it| it["segmentation"]["counts"] = json!("x y")), &["in their text"]);
    check(entry(|it| it["keypoints"] = json!([1, 2])), &["triples"]);
    check(entry(|it| it["area"] = json!("x")), &["`area`"]);
    check(entry(|it| it["iscrowd"] = json!(2)), &["`iscrowd`"]);
    check(entry(|it| it["id"] = json!([1])), &["`annotations`, entry 2 (at byte", "an id"]);
    let none = entry(|it| {
        it["bbox"] = json!(null);
        it["segmentation"] = json!([]);
    });
    check(none, &["no `bbox`"]);
    let image =
        |change: fn(&mut serde_json::Value)| coco_fails(|text| change(&mut text["images"][1]));
    check(image(|it| it["id"] = json!(4)), &["entries 1 and 2", "id 4"]);
    check(image(|it| it["file_name"] = json!("b/2.png")), &["entries 1 and 2", "b/2.png"]);
    check(image(|it| it["file_name"] = json!("../2.png")), &["entry 2", ".."]);
    check(image(|it| it["file_name"] = json!(null)), &["entry 2", "`file_name`"]);
    check(coco_fails(|it| it["categories"][1]["id"] = json!(18)), &["`dog` and `person`"]);
    check(coco_fails(|it| it["images"] = json!([])), &["no image"]);
    check(coco_fails(|it| it["images"] = json!({})), &["`images` is not a list"]);
    let panoptic = |it: &mut serde_json::Value| {
        it["annotations"][0] = json!({"image_id": 4, "file_name": "2.png", "segments_info": []});
    };
    check(coco_fails(panoptic), &["panoptic"]);
    check(fails_with("[]"), &["results"]);
    check(fails_with("{\"images\": [NaN]}"), &["`images`, entry 1", "`null` stands for NaN"]);
    check(fails_with("{}"), &["no `images`"]);
    check(fails_with(&format!("{{\"images\":{}", "[".repeat(100_000))), &["not a JSON"]);
}

#[test]
fn what_coco_has_beyond_is_told_and_missing_images_are_samples() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = (folder.path().join("images"), folder.path().join("instances.json"));
    tree(&root, &["1.png", "b/2.png"]);
    let mut text = coco();
    text["annotations"][0]["attributes"] = json!({"occluded": true});
    text["annotations"][1]["image_id"] = json!(77);
    text["annotations"][2]["id"] = json!(9);
    fs::write(&labels, text.to_string()).unwrap();
    let out = folder.path().join("o.beton");
    let message = fails(&[&"pack", &root, &out, &"--labels", &labels]);
    assert!(message.contains("b/3.png") && message.contains("missing"), "{message}");
    let said = expect(1, &[&"pack", &root, &out, &"--labels", &labels, &"--on-error", &"skip"]);
    for part in ["2 of 3", "keys attributes", "1 annotation is of images", "the id of another"] {
        assert!(said.contains(part), "{part} is not in {said}");
    }
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

const YOLO_A: &str = r#"{"size":[20,15],"bbox":[[5,4.5,10,6],[4,6,2,3]],"category":[1,0],"category_name":["dog","cat"]}"#;
const YOLO_B: &str = r#"{"size":[20,15],"bbox":[],"category":[],"category_name":[]}"#;
const YOLO_C: &str = r#"{"size":[20,15],"bbox":[[0,0,10,15]],"category":[0],"category_name":["cat"],"segmentation":[[[0,0,10,0,10,15]]]}"#;

#[test]
fn yolo_becomes_pixels_and_splits() {
    let folder = tempfile::tempdir().unwrap();
    let text = "path: ../datasets/coco8\ntrain: images/train\nval: images/val\ntest:\n\
                names: {0: cat, 1: dog}\n";
    let (root, data) = yolo(folder.path(), text);
    let out = folder.path().join("o.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &data]);
    assert!(said.contains("1 image has no annotations") && !said.contains("ignored"), "{said}");
    assert!(said.contains("2 samples in") && said.contains("val"), "{said}");
    let texts = |out: &Path| last_fields(out).into_iter().map(|it| it.1).collect::<Vec<_>>();
    assert_eq!(texts(&out), [YOLO_A, YOLO_B, YOLO_C]);
    let mixed = folder.path().join("m.beton");
    ok(&[&"pack", &root, &mixed, &"--labels", &data, &"--no-split-folders"]);
    assert_eq!(texts(&mixed), [YOLO_A, YOLO_B, YOLO_C]);
    let val = folder.path().join("v.beton");
    ok(&[&"pack", &root, &val, &"--labels", &data, &"--where", &"split == 'val'"]);
    assert_eq!(last_fields(&val), [("images/val/c.png".to_owned(), YOLO_C.to_owned())]);
    // A resize changes the image, but not the coordinates of its objects.
    let small = folder.path().join("s.beton");
    ok(&[&"pack", &root, &small, &"--labels", &data, &"--max-side", &"10", &"--no-split-folders"]);
    assert_eq!(texts(&small), [YOLO_A, YOLO_B, YOLO_C]);
}

#[test]
fn lists_of_files_and_exports_are_splits_too() {
    let folder = tempfile::tempdir().unwrap();
    let text = "train: ../lists/train.txt\nval: images/val\ntest: images/val\nnames: [cat, dog]\n";
    let (root, data) = yolo(folder.path(), text);
    write(&root, &[("lists/train.txt", "images/train/b.png\n\n")]);
    let out = folder.path().join("o.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &data]);
    assert!(said.contains("test has the images of val, and is left out"), "{said}");
    assert!(said.contains("1 image of the source is in none"), "{said}");
    let keys: Vec<_> = last_fields(&out).into_iter().map(|it| it.1).collect();
    assert_eq!(keys, [YOLO_B, YOLO_C]);
}

#[test]
fn yolo_that_does_not_fit_is_refused() {
    let check = |text: &str, parts: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let (root, data) = yolo(folder.path(), text);
        let out = folder.path().join("o.wds");
        let message = fails(&[&"pack", &root, &out, &"--labels", &data]);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    check("train: images/train\nnames: [cat]\n", &["images/train/a.png", "line 1", "class 1 of 1"]);
    check("train: images/tren\nnames: [cat]\n", &["data.yaml", "images/tren", "path"]);
    check("train: /d/pictures\nnames: [cat]\n", &["`train: /d/pictures` is not in"]);
    check("train: images\nval: images/val\nnames: [cat]\n", &["images/val/c.png", "both"]);
    check("names: [cat]\n", &["none of `train`"]);
    check("train: &a images\nval: *a\nnames: [cat]\n", &["aliases"]);

    let folder = tempfile::tempdir().unwrap();
    let (root, data) = yolo(folder.path(), "train: images/train\nnames: [cat, dog]\n");
    write(&root, &[("labels/train/b.txt", "0 0.5 nan 1 1\n")]);
    let out = folder.path().join("o.wds");
    let said = expect(1, &[&"pack", &root, &out, &"--labels", &data, &"--on-error", &"skip"]);
    assert!(said.contains("images/train/b.png: line 1 of its annotations: `nan`"), "{said}");
}

#[test]
fn a_folder_of_text_files_belongs_to_the_images_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let (root, _) = yolo(folder.path(), "");
    let labels = root.join("labels");
    // The folders are splits, as without annotations.
    let out = folder.path().join("o.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &labels]);
    let values = last_fields(&out);
    assert!(said.contains("no classes.txt"), "{said}");
    assert!(said.contains("the splits train, val of the source are kept"), "{said}");
    let no_names = YOLO_A.replace(r#","category_name":["dog","cat"]"#, "");
    assert_eq!(values[0], ("images/train/a.png".to_owned(), no_names));

    write(&root, &[("classes.txt", "cat\ndog\n"), ("labels/train/gone.txt", "")]);
    let out = folder.path().join("again.wds");
    let said = ok(&[&"pack", &root.join("images"), &out, &"--labels", &labels]);
    assert!(said.contains("1 file of annotations has no image"), "{said}");
    assert!(said.contains("train") && said.contains("val"), "{said}");
    let texts: Vec<_> = last_fields(&out).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, [YOLO_A, YOLO_B, YOLO_C]);

    write(&labels, &[("train/a.xml", "<annotation/>")]);
    let out = folder.path().join("n.beton");
    assert!(fails(&[&"pack", &root, &out, &"--labels", &labels]).contains("both"));
    assert!(fails(&[&"pack", &root, &out, &"--labels", &root.join("images")]).contains("no .txt"));
}

#[test]
fn voc_becomes_lists_of_objects() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("VOC2012");
    tree(&root, &["JPEGImages/1.png", "JPEGImages/2.png", "JPEGImages/3.png"]);
    let object = |name: &str, corners: [&str; 4], more: &str| {
        let [left, top, right, bottom] = corners;
        format!(
            "<object><name>{name}</name>{more}<bndbox><xmax>{right}</xmax><ymax>{bottom}</ymax>\
             <xmin>{left}</xmin><ymin>{top}</ymin></bndbox></object>"
        )
    };
    let size = "<size><width>20</width><height>15</height><depth>3</depth></size>";
    let person =
        object("person", ["1", "1", "20", "15"], "<pose>Left</pose><difficult>0</difficult>");
    let cat =
        object("cat", ["2.5", "3", "4", "3"], "<difficult>1</difficult><truncated>1</truncated>");
    let first = format!("<annotation><folder>x</folder>{person}{size}{cat}</annotation>");
    let second = format!("<annotation>{size}</annotation>");
    let annotations = root.join("Annotations");
    write(&annotations, &[("1.xml", &first), ("2.xml", &second), ("9.xml", &second)]);
    let (said, values) = packed(folder.path(), &root.join("JPEGImages"), &annotations);
    for part in ["1 image has no annotations", "1 file of annotations has no image"] {
        assert!(said.contains(part), "{said}");
    }
    let lists = |bbox: &str, category: &str, names: &str, more: &str| {
        format!("\"bbox\":[{bbox}],\"category\":[{category}],\"category_name\":[{names}],{more}")
    };
    let more = r#""difficult":[0,1],"truncated":[0,1],"pose":["Left",""]"#;
    let filled = lists("[0,0,20,15],[1.5,2,2.5,1]", "1,0", r#""person","cat""#, more);
    let empty = lists("", "", "", r#""difficult":[],"truncated":[],"pose":[]"#);
    let expected = [
        ("1.png".to_owned(), format!("{{\"size\":[20,15],{filled}}}")),
        ("2.png".to_owned(), format!("{{\"size\":[20,15],{empty}}}")),
        ("3.png".to_owned(), format!("{{\"size\":[20,15],{empty}}}")),
    ];
    assert_eq!(values, expected);

    let check = |text: &str, parts: &[&str]| {
        write(&annotations, &[("2.xml", text)]);
        let out = folder.path().join("n.beton");
        let images = root.join("JPEGImages");
        let message = fails(&[&"pack", &images, &out, &"--labels", &annotations]);
        assert!(message.contains("2.xml"), "{message}");
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    };
    check("<annotation>", &["Pascal VOC"]);
    let flipped = object("cat", ["9", "1", "3", "2"], "");
    check(&format!("<annotation>{flipped}</annotation>"), &["object 1", "backwards"]);
    let bomb = "<!DOCTYPE a [<!ENTITY b \"bb\">]><annotation><object><name>&b;</name></object>\
                </annotation>";
    check(bomb, &["Pascal VOC"]);
}

/// Masks of VOC are PNGs with a palette, and its indices are the labels.
#[test]
fn masks_keep_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (images, masks) = (folder.path().join("images"), folder.path().join("SegmentationClass"));
    tree(&images, &["1.png"]);
    fs::create_dir(&masks).unwrap();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 20, 15);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette([0, 0, 0, 128, 0, 0, 0, 128, 0].to_vec());
    let mut writer = encoder.write_header().unwrap();
    let indices: Vec<u8> = (0..300).map(|at| (at % 3) as u8).collect();
    writer.write_image_data(&indices).unwrap();
    drop(writer);
    fs::write(masks.join("1.png"), &file).unwrap();
    let pair = format!("mask={}", masks.display());
    for name in ["o.wds", "o.mds"] {
        let out = folder.path().join(name);
        ok(&[&"pack", &images, &out, &"--pair", &pair, &"--max-side", &"10"]);
        let sample = fdconvert_reader::open(&out).unwrap().get(0).unwrap();
        let Some(Value::Image(mask)) = sample.values.last() else { panic!("no mask") };
        assert_eq!(&*mask.bytes, file, "{name}");
    }
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
fn boxes_of_the_stored_image_are_turned_with_a_photo() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = (folder.path().join("images"), folder.path().join("a.json"));
    let mut n = 0;
    let mut objects = |orientation: u8, size: Option<[u32; 2]>, more: &[&str]| {
        photo(&root, "0.jpg", orientation);
        fs::write(&labels, coco_of("0.jpg", size, [0, 0, 32, 16])).unwrap();
        n += 1;
        let out = folder.path().join(format!("{n}.beton"));
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"pack", &root, &out, &"--labels", &labels];
        args.extend(more.iter().map(|it| it as &dyn AsRef<std::ffi::OsStr>));
        let said = ok(&args);
        let object: serde_json::Value = serde_json::from_str(&last_fields(&out)[0].1).unwrap();
        (object, said)
    };
    let stored = Some([75, 50]);
    let (object, said) = objects(6, stored, &[]);
    assert_eq!((&object["size"], &object["bbox"]), (&json!([50, 75]), &json!([[34, 0, 16, 32]])));
    assert_eq!(object["segmentation"], json!([[[50, 0, 50, 32, 34, 32]]]));
    assert_eq!(object["keypoints"], json!([[49, 0, 2, 0, 0, 0]]));
    assert!(said.contains("annotations of 1 photo were of the image as it is stored"), "{said}");
    assert_eq!(objects(8, stored, &[]).0["bbox"], json!([[0, 43, 16, 32]]));
    assert_eq!(objects(5, stored, &["--jpeg-quality", "90"]).0["bbox"], json!([[0, 0, 16, 32]]));
    // Annotations with the upright size, or without a size, refer to the upright image.
    assert_eq!(objects(6, Some([50, 75]), &[]).0["bbox"], json!([[0, 0, 32, 16]]));
    let (object, said) = objects(6, None, &[]);
    assert_eq!((&object["size"], &object["bbox"]), (&json!([50, 75]), &json!([[0, 0, 32, 16]])));
    assert!(!said.contains("photo"), "{said}");
    // If the size is ambiguous, a note says so, and an option decides.
    let (object, said) = objects(3, stored, &[]);
    assert_eq!(object["bbox"], json!([[0, 0, 32, 16]]));
    assert!(
        said.contains("of 1 photo may be of the stored image") && said.contains("--boxes stored"),
        "{said}"
    );
    let (object, said) = objects(3, stored, &["--boxes", "stored"]);
    assert_eq!(object["bbox"], json!([[43, 34, 32, 16]]));
    assert!(!said.contains("may be"), "{said}");
    assert_eq!(objects(6, stored, &["--boxes", "upright"]).0["bbox"], json!([[0, 0, 32, 16]]));
    // A copy of another size of the same shape.
    let (object, said) = objects(1, Some([150, 100]), &[]);
    assert_eq!((&object["size"], &object["bbox"]), (&json!([150, 100]), &json!([[0, 0, 32, 16]])));
    assert!(said.contains("annotations of 1 photo are for another size"), "{said}");
}

#[test]
fn sizes_that_fit_no_frame_are_errors_of_their_sample() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = (folder.path().join("images"), folder.path().join("a.json"));
    photo(&root, "0.jpg", 6);
    let out = folder.path().join("o.beton");
    let check = |size: [u32; 2], part: &str| {
        fs::write(&labels, coco_of("0.jpg", Some(size), [0, 0, 4, 4])).unwrap();
        let said = fails(&[&"pack", &root, &out, &"--labels", &labels]);
        assert!(said.contains("0.jpg") && said.contains(part), "{said}");
    };
    check([100, 60], "100x60 pixels, and the image has 50x75 (75x50 before EXIF turns it)");
    photo(&root, "0.jpg", 1);
    check([50, 75], "50x75 pixels, and the image has 75x50");
    photo(&root, "0.jpg", 6);
    fs::write(&labels, coco_of("0.jpg", Some([75, 50]), [0, 0, 4, 4])).unwrap();
    let said = fails(&[&"pack", &root, &out, &"--labels", &labels, &"--no-exif-rotation"]);
    assert!(said.contains("leave `no_exif_rotation` out"), "{said}");
    let said = fails(&[&"pack", &root, &out, &"--boxes", &"stored"]);
    assert!(said.contains("--boxes") && said.contains("--labels"), "{said}");

    // Label Studio states the stored size for upright annotations; others state none.
    for (size, bbox, cure) in [
        (Some([75, 50]), [4, 55, 10, 15], "--boxes upright"),
        (None, [55, 4, 15, 10], "--boxes stored"),
    ] {
        fs::write(&labels, coco_of("0.jpg", size, bbox)).unwrap();
        let said = fails(&[&"pack", &root, &out, &"--labels", &labels]);
        assert!(said.contains("a box reaches out") && said.contains(cure), "{said}");
    }

    let xml = "<annotation><size><width>9</width><height>5</height></size><object><name>a</name>\
               <bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></object>\
               </annotation>";
    write(&folder.path().join("xml"), &[("0.xml", xml)]);
    let said = fails(&[&"pack", &root, &out, &"--labels", &folder.path().join("xml")]);
    assert!(said.contains("9x5 pixels"), "{said}");
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
fn voc_that_counts_from_0_begins_at_0() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("images");
    tree(&root, &["1.png", "2.png"]);
    let xml = |left: u8| {
        format!(
            "<annotation><object><name>a</name><bndbox><xmin>{left}</xmin><ymin>2</ymin>\
             <xmax>20</xmax><ymax>15</ymax></bndbox></object></annotation>"
        )
    };
    let xmls = folder.path().join("xml");
    write(&xmls, &[("1.xml", &xml(0)), ("2.xml", &xml(4))]);
    let out = folder.path().join("o.beton");
    let said = ok(&[&"pack", &root, &out, &"--labels", &xmls]);
    assert!(said.contains("count pixels from 0"), "{said}");
    let values = last_fields(&out);
    assert!(values[0].1.contains("\"bbox\":[[0,2,20,13]]"), "{values:?}");
    assert!(values[1].1.contains("\"bbox\":[[4,2,16,13]]"), "{values:?}");
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
fn coco_of_other_programs_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = (folder.path().join("images"), folder.path().join("a.json"));
    tree(&root, &["1.png", "val/2.png"]);
    let mut n = 0;
    let mut packed = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut text: serde_json::Value =
            serde_json::from_str(&coco_of("1.png", None, [1, 2, 3, 4])).unwrap();
        change(&mut text);
        fs::write(&labels, text.to_string()).unwrap();
        n += 1;
        let out = folder.path().join(format!("{n}.beton"));
        ok(&[&"pack", &root, &out, &"--labels", &labels]);
        serde_json::from_str::<serde_json::Value>(&last_fields(&out)[0].1).unwrap()
    };
    let of_annotation = |key: &'static str, value: serde_json::Value| {
        move |text: &mut serde_json::Value| text["annotations"][0][key] = value.clone()
    };
    let plain = packed(&|_| {});
    assert_eq!(plain["category_id"], json!([1]));
    for change in [
        of_annotation("image_id", json!("1")),
        of_annotation("image_id", json!(1.0)),
        of_annotation("category_id", json!("1")),
        of_annotation("id", json!(1.0)),
        of_annotation("iscrowd", json!(0.0)),
        of_annotation("keypoints", json!([[1, 2, 2], [0, 0, 0]])),
    ] {
        let found = packed(&change);
        assert_eq!(found["bbox"], plain["bbox"]);
        assert_eq!(found["keypoints"], plain["keypoints"]);
    }
    let around = |key: &'static str, value: serde_json::Value| {
        move |text: &mut serde_json::Value| {
            text["annotations"][0] = json!({"image_id": 1, "category_id": 1, key: value});
        }
    };
    let polygons = json!([[1, 2, 4, 2, 4, 6], [2, 2, 3, 2, 3, 5]]);
    assert_eq!(packed(&around("segmentation", polygons))["bbox"], json!([[1, 2, 3, 4]]));
    let runs = json!({"size": [15, 20], "counts": [17, 4, 11, 4, 264]});
    assert_eq!(packed(&around("segmentation", runs))["bbox"], json!([[1, 2, 2, 4]]));
    let points = json!([1, 2, 2, 0, 0, 0, 4, 6, 1]);
    assert_eq!(packed(&around("keypoints", points))["bbox"], json!([[1, 2, 3, 4]]));
    let lvis = |text: &mut serde_json::Value| {
        let url = "http://images.cocodataset.org/val/2.png";
        text["images"][0] = json!({"id": 1, "coco_url": url, "neg_category_ids": [3]});
    };
    assert_eq!(packed(&lvis)["bbox"], plain["bbox"]);
    let windows =
        |text: &mut serde_json::Value| text["images"][0]["file_name"] = json!("val\\2.png");
    assert_eq!(packed(&windows)["bbox"], plain["bbox"]);
}

#[test]
fn yolo_of_other_programs_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cvat");
    tree(&root, &["obj_train_data/a.png", "obj_train_data/b.png"]);
    write(
        &root,
        &[
            ("obj_train_data/a.txt", "\u{feff}1.000000000000000000e+00 0.5 0.5 0.5 0.4\n"),
            (
                "obj.data",
                "classes = 2\ntrain = data/train.txt\nnames = data/obj.names\nbackup = b/\n",
            ),
            ("obj.names", "cat\ndog\n"),
            ("train.txt", "data/obj_train_data/a.png\ndata/obj_train_data/b.png\n"),
        ],
    );
    let out = folder.path().join("o.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &root.join("obj.data")]);
    for part in
        ["the folder `data/` in front of the lines of train.txt", "1 image has no annotations"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let values = last_fields(&out);
    assert!(values[0].1.contains("\"category_name\":[\"dog\"]"), "{values:?}");
    // The same boxes by their folder, with Darknet's names.
    let out = folder.path().join("f.beton");
    let said = ok(&[&"pack", &root, &out, &"--labels", &root.join("obj_train_data")]);
    assert!(!said.contains("no names"), "{said}");
    assert_eq!(last_fields(&out)[0].1, values[0].1);
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
fn tables_of_folders_of_splits_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("im");
    tree(&root, &["train/1.png", "train/2.png", "test/3.png"]);
    let lines = "{\"file_name\": \"1.png\", \"text\": \"a\"}\n{\"file_name\": \"2.png\"}\n";
    write(
        &root,
        &[
            ("train/metadata.jsonl", lines),
            ("test/metadata.jsonl", "{\"file_name\": \"3.png\", \"text\": \"c\"}\n"),
        ],
    );
    let said = ok(&[&"pack", &root, &folder.path().join("n.wds"), &"--layout", &"folder"]);
    assert!(said.contains("train/metadata.jsonl") && said.contains("--labels"), "{said}");
    let out = folder.path().join("o.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &root]);
    assert!(said.contains("column `text`: 1 line has none, which is empty"), "{said}");
    let reader = fdconvert_reader::open(&out).unwrap();
    let sample = reader.get(2).unwrap();
    assert_eq!(
        (sample.key.as_str(), &sample.values[1]),
        ("train/2.png", &Value::Text(String::new()))
    );
    assert_eq!(reader.splits().len(), 2);
}

#[test]
fn imagesets_of_voc_are_keys_without_an_extension() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("JPEGImages");
    tree(&root, &["000000.png", "000001.png", "000002.png", "000002.jpg"]);
    let list = folder.path().join("train.txt");
    fs::write(&list, "000000\n000001.png\n").unwrap();
    let out = folder.path().join("o.beton");
    let said = ok(&[&"pack", &root, &out, &"--keys", &list]);
    assert!(
        said.contains("packed 2 of 2") && said.contains("1 key of `keys` names a sample"),
        "{said}"
    );
    // Two files are ambiguous.
    fs::write(&list, "000002\n").unwrap();
    let out = folder.path().join("n.beton");
    assert!(fails(&[&"pack", &root, &out, &"--keys", &list]).contains("000002"));
    fs::write(&list, "000000 -1\n000001  1\n").unwrap();
    let said = fails(&[&"pack", &root, &out, &"--keys", &list]);
    assert!(said.contains("a number behind each name"), "{said}");
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
    assert!(said.contains("`3` is none of the classes of the source, 0, 10, 100, 2"), "{said}");
}

#[test]
fn packed_datasets_are_relabelled_by_key() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    tree(&at("d"), &["cat/1.png", "cat/2.png", "dog/3.png"]);
    ok(&[&"pack", &at("d"), &at("o.wds")]);
    let labels = |dataset: &Path| {
        let reader = fdconvert_reader::open(dataset).unwrap();
        let names = reader.schema().fields[1].class_names.clone().unwrap();
        let label = |index| names[reader.label(index).unwrap().unwrap() as usize].clone();
        (names.to_vec(), (0..reader.len()).map(label).collect::<Vec<_>>())
    };
    for (out, label, names) in
        [("1.wds", "dog", vec!["cat", "dog"]), ("2.beton", "cow", vec!["cat", "cow", "dog"])]
    {
        fs::write(at("fix.csv"), format!("path,label\ncat/2.png,{label}\n")).unwrap();
        let said = ok(&[&"pack", &at("o.wds"), &at(out), &"--labels", &at("fix.csv")]);
        assert!(said.contains("1 of 3 samples have values of `labels`"), "{said}");
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let expected = ["cat", label, "dog"].map(str::to_owned).to_vec();
        assert_eq!(labels(&at(out)), (names, expected));
    }
    fs::write(at("fix.csv"), "path,label\ncat/9.png,dog\n").unwrap();
    let said = fails(&[&"pack", &at("o.wds"), &at("3.wds"), &"--labels", &at("fix.csv")]);
    assert!(said.contains("`cat/9.png`") && said.contains("such as `cat/1.png`"), "{said}");
    fs::write(at("fix.csv"), "path,score\ncat/1.png,0.5\n").unwrap();
    let said = fails(&[&"pack", &at("o.wds"), &at("3.wds"), &"--labels", &at("fix.csv")]);
    assert!(said.contains("`score` is a new field"), "{said}");
    fs::write(at("a.json"), "{}").unwrap();
    let said = fails(&[&"pack", &at("o.wds"), &at("3.wds"), &"--labels", &at("a.json")]);
    assert!(said.contains("packed already"), "{said}");
}
