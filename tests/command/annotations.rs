//! Annotations of other tools beside folders of images: what they become, and what is refused.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::panic)]

use crate::common::{expect, fails, ok, tree};
use fdconvert_core::Value;
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A folder, with files of these texts in it.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// Keys and the values of their last field, of a packed dataset.
fn last_fields(dataset: &Path) -> Vec<(String, String)> {
    let reader = fdconvert_reader::open(dataset).unwrap();
    let samples = (0..reader.len()).map(|index| reader.get(index).unwrap());
    let last = samples.map(|sample| match sample.values.last() {
        Some(Value::Json(text)) => (sample.key, String::from_utf8(text.to_vec()).unwrap()),
        other => panic!("{other:?}"),
    });
    last.collect()
}

/// Packs into a beton, wds and mds, which all have the same values, and gives these.
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
            r#"{"size":[20,15],"bbox":[[1.5,2,3,4.25],[0.125,0,1,1]],"category":[1,0],"category_name":["dog","person"],"area":[7.5,1],"iscrowd":[0,1],"segmentation":[[[1,2,3,4,5,6.5],[0,0,1,1,2,0]],{"size":[15,20],"counts":"\\5P4"}],"keypoints":[[],[1,2,2,0,0,0]],"id":[9,1]}"#,
        ),
        (
            "1.png",
            r#"{"size":[20,15],"bbox":[[0,0,20,15]],"category":[0],"category_name":["person"],"area":[300],"iscrowd":[1],"segmentation":[{"size":[15,20],"counts":[200,100]}],"keypoints":[[]],"id":[2]}"#,
        ),
        (
            "b/3.png",
            r#"{"bbox":[],"category":[],"category_name":[],"area":[],"iscrowd":[],"segmentation":[],"keypoints":[],"id":[]}"#,
        ),
    ];
    // Keys that are packed in other orders would be other samples.
    let ordered: Vec<_> = values.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(ordered, expected);
    let shown = ok(&[&"inspect", &folder.path().join("o.beton"), &"--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let names = shown["schema"]["fields"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|field| (&field["name"], &field["kind"])).collect();
    let fields = json!([["image", "image"], ["image_id", "int"], ["objects", "json"]]);
    assert_eq!(json!(names), fields);

    // What was unpacked with its table packs to the same.
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

/// What a change of the file above leads to.
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
    let message = fails(&[&"pack", &root, &folder.path().join("o.beton"), &"--labels", &labels]);
    assert!(message.contains("--labels") && message.contains("instances.json"), "{message}");
    message
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
    check(entry(|it| it["bbox"] = json!(null)), &["no `bbox`"]);
    check(entry(|it| it["segmentation"] = json!([[1, 2, 3]])), &["3 numbers"]);
    check(entry(|it| it["segmentation"]["counts"] = json!([200, 99])), &["add up to 20x15"]);
    let large = |it: &mut serde_json::Value| it["segmentation"]["size"] = json!([u64::MAX, 3]);
    check(entry(large), &["beyond 2^32 - 1 pixels"]);
    check(entry(|it| it["segmentation"]["counts"] = json!("\\5P5")), &["add up to 20x15"]);
    check(entry(|it| it["segmentation"]["counts"] = json!("x y")), &["in their text"]);
    check(entry(|it| it["keypoints"] = json!([1, 2])), &["triples"]);
    check(entry(|it| it["area"] = json!("x")), &["`area`"]);
    check(entry(|it| it["iscrowd"] = json!(2)), &["`iscrowd`"]);
    check(entry(|it| it["image_id"] = json!(null)), &["`image_id`"]);
    check(entry(|it| it["id"] = json!("x")), &["`annotations`, entry 2 (at byte", "string"]);
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
    check(fails_with("{\"images\": [NaN]}"), &["line 1", "NaN"]);
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

/// A dataset as Ultralytics has it: images of 20x15.
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
    assert!(said.contains("1 image has no annotations"), "{said}");
    assert!(said.contains("2 samples in") && said.contains("val"), "{said}");
    let texts = |out: &Path| last_fields(out).into_iter().map(|it| it.1).collect::<Vec<_>>();
    assert_eq!(texts(&out), [YOLO_A, YOLO_B, YOLO_C]);
    let mixed = folder.path().join("m.beton");
    ok(&[&"pack", &root, &mixed, &"--labels", &data, &"--no-split-folders"]);
    assert_eq!(texts(&mixed), [YOLO_A, YOLO_B, YOLO_C]);
    let val = folder.path().join("v.beton");
    ok(&[&"pack", &root, &val, &"--labels", &data, &"--select-splits", &"val"]);
    assert_eq!(last_fields(&val), [("images/val/c.png".to_owned(), YOLO_C.to_owned())]);
    // A resize changes the image, and not what its objects are measured by.
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
    check("train: /d/images\nnames: [cat]\n", &["absolute"]);
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
        ("3.png".to_owned(), format!("{{{empty}}}")),
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

/// Masks of VOC are PNGs with a palette, whose indices are the labels.
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
