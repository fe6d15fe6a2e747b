//! COCO, YOLO, Pascal VOC and image folders of Hugging Face.
use super::{packed, packed_with, refused, skipping, write};
use crate::common::{ok, tree};
use serde_json::json;
use std::{fs, path::Path};

fn coco(names: &[&str], left: f64) -> String {
    let image =
        |(name, id): (&&str, i32)| json!({"id": id, "file_name": name, "width": 20, "height": 15});
    let images: Vec<_> = names.iter().zip(1..).map(image).collect();
    json!({
        "images": images,
        "annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [left, 2, 3, 4]}],
        "categories": [{"id": 3, "name": "dog"}]
    })
    .to_string()
}

const DOG: &str = r#""category":[0],"category_name":["dog"],"category_id":[3],"id":[1]}"#;

#[test]
fn coco_with_a_file_for_each_split_is_one_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("coco");
    tree(&root, &["train2017/1.png", "train2017/2.png", "val2017/1.png", "val2017/9.png"]);
    write(&root, "annotations/instances_train2017.json", coco(&["1.png", "2.png"], 1.0));
    write(&root, "annotations/instances_val2017.json", coco(&["1.png"], 5.0));
    write(&root, "annotations/captions_val2017.json", "{\"images\": []}");
    let found = packed(&root);
    found.says(&[
        "read as coco, by annotations/instances_train2017.json; to pack the folder as it is: \
         --layout folder",
        "1 other file of annotations is not read, e.g. annotations/captions_val2017.json",
        "1 image of the source is not listed, and left out",
    ]);
    assert_eq!(found.keys(), ["train2017/1.png", "train2017/2.png", "val2017/1.png"]);
    assert_eq!(found.splits(), [("train", 2), ("val", 1)]);
    let document = |left: u32| format!("{{\"size\":[20,15],\"bbox\":[[{left}.0,2,3,4]],{DOG}");
    assert_eq!(found.objects("train2017/1.png"), document(1));
    assert_eq!(found.objects("val2017/1.png"), document(5));
    // The walk of before, and the option that asks for the same.
    let walked = packed_with(&root, &["--layout", "folder"]);
    assert!(!walked.said.contains("read as"), "{}", walked.said);
    assert_eq!(walked.samples[0].1.len(), 1);
    let named = packed_with(&root, &["--layout", "coco"]);
    assert!(!named.said.contains("read as"), "{}", named.said);
    assert_eq!(named.keys(), found.keys());
    // Mixed splits are none.
    assert!(packed_with(&root, &["--no-split-folders"]).splits.is_empty());
    let val = packed_with(&root, &["--where", "split == \"val\""]);
    assert_eq!(val.keys(), ["val2017/1.png"]);
}

#[test]
fn exports_of_coco_are_found_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let roboflow = folder.path().join("roboflow");
    tree(&roboflow, &["train/1.png", "valid/2.png"]);
    write(&roboflow, "train/_annotations.coco.json", coco(&["1.png"], 1.0));
    write(&roboflow, "valid/_annotations.coco.json", coco(&["2.png"], 1.0));
    let found = packed(&roboflow);
    assert_eq!(found.keys(), ["train/1.png", "valid/2.png"]);
    assert_eq!(found.splits(), [("train", 1), ("valid", 1)]);

    let fiftyone = folder.path().join("fiftyone");
    tree(&fiftyone, &["data/1.png"]);
    write(&fiftyone, "labels.json", coco(&["1.png"], 1.0));
    let found = packed(&fiftyone);
    assert_eq!((found.keys(), found.splits().len()), (vec!["data/1.png"], 0));
    found.says(&["read as coco, by labels.json"]);
    // Labels of FiftyOne that are not of COCO.
    write(&fiftyone, "labels.json", r#"{"classes": ["a"], "labels": {"1": 0}}"#);
    assert!(!packed(&fiftyone).said.contains("read as"));

    let lvis = folder.path().join("lvis");
    tree(&lvis, &["train2017/7.png"]);
    let text = coco(&["x"], 1.0).replace(
        "\"file_name\":\"x\"",
        "\"coco_url\":\"http://images.cocodataset.org/train2017/7.png\"",
    );
    write(&lvis, "lvis_v1_train.json", text);
    let found = packed(&lvis);
    assert_eq!(found.keys(), ["train2017/7.png"]);
    found.says(&["  train     1 sample in 1 shard"]);
}

#[test]
fn a_file_of_annotations_stands_for_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("coco");
    tree(&root, &["val2017/1.png", "other/images/1.png"]);
    let file = root.join("annotations/instances_val2017.json");
    write(&root, "annotations/instances_val2017.json", coco(&["1.png"], 1.0));
    let found = packed(&file);
    assert_eq!((found.keys(), found.splits().len()), (vec!["1.png"], 0));
    found.says(&["read as coco, by instances_val2017.json"]);
    write(&root, "other/instances.json", coco(&["1.png"], 1.0));
    assert_eq!(packed(&root.join("other/instances.json")).keys(), ["1.png"]);
    // Images that are nowhere are errors of their samples.
    write(&root, "annotations/instances_val2017.json", coco(&["8.png"], 1.0));
    let said = refused(&file, &["--layout", "coco"]);
    assert!(said.contains("8.png") && said.contains("the file is missing"), "{said}");
    write(&root, "other/numbers.json", "{\"a\": 1}");
    let said = refused(&root.join("other/numbers.json"), &[]);
    assert!(said.contains("numbers.json is not one of"), "{said}");
}

fn yolo(root: &Path, yaml: &str) {
    tree(root, &["images/train/1.png", "images/val/2.png"]);
    write(
        root,
        yaml,
        "path: .\ntrain: images/train\nval: images/val\nnames:\n  0: cat\n  1: dog\n",
    );
    write(root, "labels/train/1.txt", "1 0.5 0.5 0.5 0.4\n");
    write(root, "labels/val/2.txt", "0 0.25 0.5 0.5 0.4\n");
}

#[test]
fn yolo_is_known_by_its_yaml_file() {
    let folder = tempfile::tempdir().unwrap();
    for yaml in ["data.yaml", "dataset.yaml", "coco8.yml"] {
        let root = folder.path().join(yaml.replace('.', "-"));
        yolo(&root, yaml);
        write(&root, "args.yaml", "lr: 0.1\n");
        for source in [root.clone(), root.join(yaml)] {
            let found = packed(&source);
            found.says(&[&format!("read as yolo, by {yaml}")]);
            assert_eq!(found.splits(), [("train", 1), ("val", 1)]);
            let expected =
                r#"{"size":[20,15],"bbox":[[5,4.5,10,6]],"category":[1],"category_name":["dog"]}"#;
            assert_eq!(found.objects("images/train/1.png"), expected);
        }
    }
    // Of Darknet.
    let root = folder.path().join("darknet");
    tree(&root, &["data/obj_train_data/1.png"]);
    write(&root, "obj.data", "classes = 1\ntrain = data/train.txt\nnames = data/obj.names\n");
    write(&root, "data/train.txt", "data/obj_train_data/1.png\n");
    write(&root, "data/obj.names", "cat\n");
    write(&root, "data/obj_train_data/1.txt", "0 0.5 0.5 0.5 0.4\n");
    let found = packed(&root);
    found.says(&["read as yolo, by obj.data"]);
    assert!(found.objects("data/obj_train_data/1.png").contains("\"category_name\":[\"cat\"]"));
    // What is wrong with it is an error, with a way out.
    let root = folder.path().join("bad");
    yolo(&root, "data.yaml");
    write(&root, "data.yaml", "train: images/train\nnames: {0: cat, 2: dog}\n");
    let said = refused(&root, &[]);
    assert!(said.contains("0, 1, ...") && said.contains("--layout folder"), "{said}");
}

fn voc_object(name: &str, left: u32) -> String {
    format!(
        "<annotation><size><width>20</width><height>15</height></size><object><name>{name}</name>\
         <bndbox><xmin>{left}</xmin><ymin>2</ymin><xmax>10</xmax><ymax>9</ymax></bndbox></object>\
         </annotation>"
    )
}

#[test]
fn voc_has_the_splits_of_its_lists() {
    let folder = tempfile::tempdir().unwrap();
    let outer = folder.path().join("data");
    let root = outer.join("VOCdevkit/VOC2012");
    let images = ["a", "b", "c", "d"].map(|name| format!("JPEGImages/{name}.png"));
    tree(&root, &images.each_ref().map(String::as_str));
    for (name, left) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
        write(&root, &format!("Annotations/{name}.xml"), voc_object("dog", left));
    }
    write(&root, "ImageSets/Main/train.txt", "c\na\n");
    write(&root, "ImageSets/Main/val.txt", "b\n");
    write(&root, "ImageSets/Main/trainval.txt", "a\nb\nc\n");
    write(&root, "ImageSets/Main/dog_train.txt", "a 1\nc -1\n");
    write(&root, "ImageSets/Main/test.txt", "x\ny\n");
    let found = packed(&outer);
    found.says(&[
        "read as voc, by VOCdevkit/VOC2012/Annotations",
        "test is left out: not one of the 2 images that ImageSets/Main/test.txt lists is there",
        "1 image is in none of the lists in ImageSets/Main, and left out",
    ]);
    assert_eq!(
        (found.keys(), found.splits()),
        (vec!["c.png", "a.png", "b.png"], vec![("train", 2), ("val", 1)])
    );
    assert!(found.objects("c.png").contains("\"bbox\":[[2,1,8,8]]"), "{}", found.objects("c.png"));
    assert!(found.objects("b.png").contains("\"bbox\":[[1,1,9,8]]"));
    // The list of all is a list, and no split.
    for list in ["train", "val", "test"] {
        fs::remove_file(root.join(format!("ImageSets/Main/{list}.txt"))).unwrap();
    }
    let found = packed(&root);
    assert_eq!((found.keys(), found.splits().len()), (vec!["a.png", "b.png", "c.png"], 0));
    fs::remove_dir_all(root.join("ImageSets")).unwrap();
    assert_eq!(packed(&root).keys(), ["a.png", "b.png", "c.png", "d.png"]);
    write(&root, "ImageSets/Main/train.txt", "a\nmissing\n");
    write(&root, "ImageSets/Main/val.txt", "a\n");
    let said = refused(&root, &[]);
    assert!(said.contains("val.txt: line 1: `a` is in train already"), "{said}");
    write(&root, "ImageSets/Main/val.txt", "b\n");
    let said = skipping(&root);
    assert!(said.contains("missing.jpg") && said.contains("the file is missing"), "{said}");
}

#[test]
fn image_folders_of_hugging_face_keep_their_objects() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("hf");
    tree(&root, &["train/1.png", "train/2.png", "test/3.png"]);
    let line = |name: &str| {
        json!({
            "file_name": name,
            "text": "x",
            "objects": {"bbox": [[1, 2, 3, 4], [0.5, 0, 2, 2]], "categories": [7, 0],
                        "score": [0.25, 1.0], "area": [12, 4]}
        })
        .to_string()
            + "\n"
    };
    write(&root, "train/metadata.jsonl", line("1.png") + &line("2.png"));
    write(&root, "test/metadata.jsonl", line("3.png"));
    let found = packed(&root);
    found.says(&["read as imagefolder, by test/metadata.jsonl"]);
    assert_eq!(found.splits(), [("test", 1), ("train", 2)]);
    let objects: serde_json::Value = serde_json::from_str(&found.objects("train/1.png")).unwrap();
    let expected = json!({"bbox": [[1, 2, 3, 4], [0.5, 0, 2, 2]], "categories": [7, 0],
                          "score": [0.25, 1.0], "area": [12, 4]});
    assert_eq!(objects, expected);
    // Its file alone, and a table without the column of Hugging Face.
    let found = packed(&root.join("test/metadata.jsonl"));
    assert_eq!(found.keys(), ["3.png"]);
    let plain = folder.path().join("plain");
    tree(&plain, &["a/1.png", "b/2.png"]);
    write(&plain, "metadata.csv", "name,score\n1,2\n");
    let found = packed(&plain);
    assert!(!found.said.contains("read as"), "{}", found.said);
    assert_eq!(found.ints(1), [0, 1]);
}

#[test]
fn class_folders_are_still_plain_and_nothing_is_told_of_layouts() {
    let folder = tempfile::tempdir().unwrap();
    // As torchvision's ImageFolder and tfds have them.
    let root = folder.path().join("animals");
    tree(&root, &["train/cat/1.png", "train/dog/2.png", "val/cat/3.png", "val/dog/4.png"]);
    let found = packed(&root);
    assert!(!found.said.contains("read as") && !found.said.contains("--layout"), "{}", found.said);
    assert_eq!((found.ints(1), found.splits()), (vec![0, 1, 0, 1], vec![("train", 2), ("val", 2)]));
    // Names that layouts have, without the rest of them.
    for other in ["annotations/notes.txt", "data.yaml", "meta/train.txt", "labels.json", "1.json"] {
        write(&root, other, "{}");
    }
    let found = packed(&root);
    assert!(!found.said.contains("read as"), "{}", found.said);
    let said = refused(&root, &["--layout", "voc"]);
    assert!(
        said.contains("is not a dataset of the layout voc") && said.contains("JPEGImages"),
        "{said}"
    );
    let said = refused(&root, &["--layout", "vok"]);
    assert!(said.contains("`vok` is unknown") && said.contains("imagefolder"), "{said}");
    let said = refused(&root, &["--boxes", "stored"]);
    assert!(said.contains("it is about a table of labels"), "{said}");
    // What fdconvert has unpacked is read by its own table.
    let back = folder.path().join("back");
    let labelled = folder.path().join("labelled");
    yolo(&labelled, "data.yaml");
    let found = packed(&labelled);
    ok(&[&"unpack", &found.out, &back]);
    write(&back, "data.yaml", "train: images/train\nnames: [cat, dog]\n");
    let again = packed(&back);
    assert!(!again.said.contains("read as"), "{}", again.said);
    assert_eq!(again.objects("images/train/1.png"), found.objects("images/train/1.png"));
}

#[test]
fn layouts_are_planned_and_labels_take_precedence() {
    let folder = tempfile::tempdir().unwrap();
    let (root, plan) = (folder.path().join("y"), folder.path().join("y.fdplan"));
    yolo(&root, "data.yaml");
    ok(&[&"plan", &root, &"-o", &plan, &"--format", &"wds"]);
    let out = folder.path().join("planned.wds");
    ok(&[&"pack", &"--plan", &plan, &out]);
    let reader = fdconvert_reader::open(&out).unwrap();
    assert_eq!((reader.len(), reader.schema().fields.len()), (2, 2));
    write(&root, "labels/train/1.txt", "0 0.5 0.5 0.5 0.4\n");
    let said = crate::common::fails(&[&"pack", &"--plan", &plan, &folder.path().join("n.wds")]);
    assert!(said.contains("has changed since the plan was made"), "{said}");
    write(&root, "table.csv", "path,score\nimages/train/1.png,3\n");
    let table = root.join("table.csv").display().to_string();
    let found = packed_with(&root, &["--labels", &table]);
    assert_eq!(found.ints(1), [3]);
    let said = refused(&root, &["--labels", &table, "--layout", "yolo"]);
    assert!(said.contains("a layout has its own labels"), "{said}");
}
