//! YOLO and Darknet datasets as other tools write them.
use super::*;

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
