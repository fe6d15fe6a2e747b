//! YOLO and Darknet datasets: what becomes of them, what is refused, and how other tools write them.
use super::*;

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
fn shares_of_the_stored_image_are_turned_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("images");
    // 75x50 as stored.
    photo(&root, "0.jpg", 6);
    let labels = folder.path().join("labels");
    write(&labels, &[("0.txt", "0 0.2 0.2 0.4 0.4\n1 0 0 0.4 0 0.4 0.4\n")]);
    let objects = |more: &[&str]| {
        let out = folder.path().join("o.beton");
        let mut args: Vec<&dyn AsRef<std::ffi::OsStr>> =
            vec![&"pack", &root, &out, &"--labels", &labels, &"--overwrite"];
        args.extend(more.iter().map(|it| it as &dyn AsRef<std::ffi::OsStr>));
        let said = ok(&args);
        let object: serde_json::Value = serde_json::from_str(&last_fields(&out)[0].1).unwrap();
        assert_eq!(object["size"], json!([50, 75]));
        (object, said)
    };
    let (upright, said) = objects(&[]);
    assert_eq!(upright["bbox"][0], json!([0, 0, 20, 30]));
    assert!(!said.contains("photo"), "{said}");
    assert_eq!(objects(&["--boxes", "upright"]).0, upright);
    let (stored, said) = objects(&["--boxes", "stored"]);
    assert_eq!(stored["bbox"], json!([[30, 0, 20, 30], [30, 0, 20, 30]]));
    assert_eq!(stored["segmentation"][1], json!([[50, 0, 50, 30, 30, 30]]));
    assert!(said.contains("annotations of 1 photo were of the image as it is stored"), "{said}");
}

#[test]
fn data_is_read_as_ultralytics_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let (root, data) = yolo(folder.path(), "train: images/train\nvalidation: images/val\nnc: 2\n");
    let out = folder.path().join("o.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &data]);
    assert!(said.contains("it has no `names`, so classes are called class_0"), "{said}");
    let values = last_fields(&out);
    assert_eq!(values.len(), 3);
    assert!(values[0].1.contains(r#"["class_1","class_0"]"#), "{values:?}");

    let text = "names: [x, y]\ntrain: images/train\nnames: [cat, dog]\n";
    fs::write(&data, text).unwrap();
    let out = folder.path().join("n.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &data]);
    assert!(said.contains("`names` occurs 2 times, and the last one counts"), "{said}");
    assert_eq!(last_fields(&out)[0].1, YOLO_A);
}

#[test]
fn images_that_are_listed_again_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (root, data) = yolo(folder.path(), "train: train.txt\nval: val.txt\nnames: [cat, dog]\n");
    let a = "./images/train/a.png\n";
    let (train, c) = (format!("{a}{a}{a}"), "./images/val/c.png\n");
    write(&root, &[("train.txt", &train), ("val.txt", c)]);
    let said = ok(&[&"pack", &root, &folder.path().join("o.wds"), &"--labels", &data]);
    assert!(said.contains("train lists 2 images again"), "{said}");

    write(&root, &[("val.txt", &format!("{a}{c}"))]);
    let said = fails(&[&"pack", &root, &folder.path().join("n.wds"), &"--labels", &data]);
    for part in ["`images/train/a.png` is in both train and val", "take it out of the other"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn darknet_keeps_labels_beside_jpegimages_and_names_by_backslashes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("dk");
    tree(&root, &["VOC/JPEGImages/a.png"]);
    let data = "classes = 1\ntrain = /home/u/dk/train.txt\nnames = data\\obj.names\n";
    write(
        &root,
        &[
            ("VOC/labels/a.txt", "0 0.5 0.5 1 1\n"),
            ("train.txt", "/home/u/dk/VOC/JPEGImages/a.png\n"),
            ("obj.names", "cat\n"),
            ("voc.data", data),
        ],
    );
    let out = folder.path().join("o.wds");
    ok(&[&"pack", &root, &out, &"--labels", &root.join("voc.data")]);
    assert!(last_fields(&out)[0].1.contains("\"bbox\":[[0,0,20,15]]"));
}

#[test]
fn polygons_that_may_be_keypoints_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (root, labels) = (folder.path().join("images"), folder.path().join("labels"));
    tree(&root, &["a.png", "b.png"]);
    let pose = "0 0.5 0.5 0.5 0.5 0.1 0.1 1 0.2 0.2 1\n";
    write(&labels, &[("a.txt", pose), ("b.txt", "0 0 0 0.5 0 0.5 0.5 0 0.5 0 0.2\n")]);
    let out = folder.path().join("o.wds");
    let said = ok(&[&"pack", &root, &out, &"--labels", &labels]);
    assert!(said.contains("lines of 1 image are taken as polygons"), "{said}");
    write(&labels, &[("b.txt", "0 0.5 0.5 0.5 0.5 0.1 0.1 1\n")]);
    let said = fails(&[&"pack", &root, &folder.path().join("n.wds"), &"--labels", &labels]);
    assert!(said.contains("line 1") && said.contains("`kpt_shape`"), "{said}");
}
