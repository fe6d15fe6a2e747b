//! LabelMe, CVAT and OpenImages.
use super::{packed, refused, skipping, write};
use crate::common::{ok, tree};
use serde_json::json;

fn labelme(image: &str, shapes: serde_json::Value) -> String {
    json!({
        "version": "5.4.1", "flags": {}, "shapes": shapes, "imagePath": image, "imageData": null,
        "imageHeight": 15, "imageWidth": 20
    })
    .to_string()
}

fn shape(label: &str, kind: &str, points: serde_json::Value) -> serde_json::Value {
    json!({"label": label, "points": points, "group_id": null, "description": "",
           "shape_type": kind, "flags": {}, "mask": null})
}

#[test]
fn shapes_of_labelme_become_boxes_and_polygons() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("lm");
    tree(&root, &["1.png", "sub/2.png", "3.png"]);
    let shapes = json!([
        shape("dog", "rectangle", json!([[10, 9], [2, 3.5]])),
        shape("cat", "polygon", json!([[1, 2], [5, 2.5], [4, 8]])),
        shape("cat", "circle", json!([[8, 7], [11, 11]])),
        shape("dog", "mask", json!([[2, 3], [4, 6]])),
        shape("dog", "point", json!([[2, 3]])),
        shape("dog", "linestrip", json!([[2, 3], [3, 4]])),
        shape("dog", "polygon", json!([[2, 3], [3, 4]])),
    ]);
    write(&root, "1.json", labelme("1.png", shapes));
    let mut grouped = shape("ant", "rectangle", json!([[0, 0], [1, 1]]));
    grouped["group_id"] = json!(4);
    // The file is beside the folder of its image.
    write(&root, "second.json", labelme("sub\\2.png", json!([grouped])));
    let found = packed(&root);
    found.says(&[
        "read as labelme, by 1.json",
        "1 image has no annotations, so no objects",
        "shapes that are left out: 1 of linestrip, 1 of point, 1 of polygon with fewer than 3 points",
        "1 mask is taken as boxes",
        "the keys group_id of the shapes are not packed",
    ]);
    assert_eq!(found.keys(), ["1.png", "3.png", "sub/2.png"]);
    let expected = r#"{"size":[20,15],"bbox":[[2,3.5,8,5.5],[1,2,4,6],[3,2,10,10],[2,3,3,4]],"category":[2,1,1,2],"category_name":["dog","cat","cat","dog"],"segmentation":[[],[[1,2,5,2.5,4,8]],[],[]]}"#;
    assert_eq!(found.objects("1.png"), expected);
    let expected = r#"{"size":[20,15],"bbox":[[0,0,1,1]],"category":[0],"category_name":["ant"],"segmentation":[[]]}"#;
    assert_eq!(found.objects("sub/2.png"), expected);
    let expected =
        r#"{"size":[20,15],"bbox":[],"category":[],"category_name":[],"segmentation":[]}"#;
    assert_eq!(found.objects("3.png"), expected);

    // A plan of it.
    let (plan, out) = (folder.path().join("lm.fdplan"), folder.path().join("o.wds"));
    ok(&[&"plan", &root, &"-o", &plan, &"--format", &"wds"]);
    ok(&[&"pack", &"--plan", &plan, &out]);
    assert_eq!(fdconvert_reader::open(&out).unwrap().len(), 3);
}

#[test]
fn a_fault_of_labelme_is_one_of_its_sample() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("lm");
    tree(&root, &["1.png", "2.png", "3.png"]);
    let good =
        |image: &str| labelme(image, json!([shape("a", "rectangle", json!([[0, 0], [1, 1]]))]));
    write(&root, "1.json", good("1.png"));
    write(&root, "gone.json", good("gone.jpg"));
    write(&root, "2.json", labelme("2.png", json!([shape("a", "rectangle", json!([[0, 0]]))])));
    write(&root, "3.json", "{\"shapes\": [");
    write(&root, "other.json", "[1]");
    let said = skipping(&root);
    for part in [
        "packed 1 of 4 samples",
        "gone.json: its image gone.jpg is missing; `imageData`",
        "2.png: 2.json: shape 1: its type is rectangle, which two points define, and it has 1",
        "3.png: 3.json: not an annotation of LabelMe",
        "1 .json file is no annotation of LabelMe",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for name in ["gone.json", "2.json", "3.json", "other.json"] {
        std::fs::remove_file(root.join(name)).unwrap();
    }
    let wrong = good("1.png").replace("\"imageWidth\":20", "\"imageWidth\":90");
    write(&root, "1.json", wrong);
    let said = refused(&root, &[]);
    assert!(said.contains("the size in its annotations is 90x15 pixels"), "{said}");
}

const CVAT: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta><job><labels>
    <label><name>dog &amp; co</name><color>#fff</color><type>any</type><attributes></attributes></label>
    <label><name>cat</name></label>
    <label><name>nose</name><parent>cat</parent></label>
    <label><name>unused</name></label>
  </labels></job></meta>
  <image id="0" name="1.png" width="20" height="15" subset="Train">
    <box label="cat" source="manual" occluded="1" xtl="1.50" ytl="2.00" xbr="5.00" ybr="8.00" z_order="0">
      <attribute name="age">3</attribute>
    </box>
    <box label="dog &amp; co" occluded="0" xtl="4" ytl="4" xbr="8" ybr="6" rotation="90.00" z_order="0"></box>
    <polygon label="cat" occluded="0" points="1.00,2.00;5.00,2.50;4.00,8.00" z_order="0"/>
    <points label="cat" occluded="0" points="1,2;3,4" z_order="0"/>
    <points label="unused" occluded="0" points="1,2" z_order="0"/>
    <points label="unused" occluded="0" points="1,2;5,6" z_order="0"/>
    <polyline label="cat" occluded="0" points="1,2;3,4" z_order="0"/>
    <ellipse label="cat" occluded="0" cx="1" cy="1" rx="1" ry="1" z_order="0"/>
    <tag label="cat" source="manual"></tag>
  </image>
  <image id="1" name="2.png" width="20" height="15" subset="Validation"/>
</annotations>
"#;

#[test]
fn images_of_cvat_have_their_boxes_in_the_order_of_its_labels() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cvat");
    tree(&root, &["images/Train/1.png", "images/Validation/2.png"]);
    write(&root, "annotations.xml", CVAT);
    for source in [root.clone(), root.join("annotations.xml")] {
        let found = packed(&source);
        found.says(&[
            "read as cvat, by annotations.xml",
            "elements of images that are left out: 1 of ellipse, 2 of points whose number differs, \
             1 of polyline, 1 of tag",
            "1 box is turned: the box around it is taken",
            "attribute of objects are not packed",
        ]);
        assert_eq!(found.splits(), [("train", 1), ("validation", 1)]);
        let expected = r#"{"size":[20,15],"bbox":[[1.5,2,3.5,6],[5,3,2,4],[1,2,4,6],[1,2,2,2]],"category":[1,0,1,1],"category_name":["cat","dog & co","cat","cat"],"segmentation":[[],[],[[1,2,5,2.5,4,8]],[]],"keypoints":[[],[],[],[1,2,2,3,4,2]],"occluded":[1,0,0,0]}"#;
        assert_eq!(found.objects("images/Train/1.png"), expected);
        assert!(found.objects("images/Validation/2.png").contains("\"bbox\":[]"));
    }
}

#[test]
fn what_is_no_export_of_images_of_cvat_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cvat");
    tree(&root, &["1.png"]);
    let check = |text: &str, part: &str| {
        write(&root, "annotations.xml", text);
        let said = refused(&root, &["--layout", "cvat"]);
        assert!(said.contains(part), "{part}: {said}");
    };
    let image = |inner: &str| {
        format!(
            "<annotations><image name=\"1.png\" width=\"20\" height=\"15\">{inner}</image></annotations>"
        )
    };
    check("<annotations><track id=\"0\"></track></annotations>", "`CVAT for images 1.1`");
    check("<annotations></annotations>", "it has no `image`");
    check("<annotations><image ", "not XML of CVAT");
    check(
        &image("<box label=\"a\" xtl=\"1\" ytl=\"2\" xbr=\"x\" ybr=\"3\"/>"),
        "`x` is not a number",
    );
    check(&image("<box xtl=\"1\"/>"), "it has no `label`");
    check(&image("<polygon label=\"a\" points=\"1,2;3\"/>"), "pairs of numbers");
    check(&image("<box label=\"&bomb;\" xtl=\"1\"/>"), "bomb");
    check(
        "<!DOCTYPE a [<!ENTITY b \"c\">]><annotations><image name=\"1.png\"/></annotations>",
        "DOCTYPE",
    );
    let twice = image("").replace("</annotations>", "<image name=\"1.png\"/></annotations>");
    check(&twice, "`1.png` is there twice");
    check(&image("").replace("1.png", "../1.png"), "..");
    check(&image("").replace("\"20\"", "\"many\""), "`width`");
}

#[test]
fn tables_of_openimages_find_images_by_their_ids() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("oi");
    tree(&root, &["train/data/aa.png", "validation/data/bb.png", "validation/data/cc.png"]);
    let head = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,\
                IsDepiction,IsInside\n";
    let train = format!(
        "{head}aa,xclick,/m/dog,1,0.1,0.6,0.2,0.8,1,0,0,0,0\naa,xclick,/m/cat,1,0,1,0,0.5,-1,1,1,0,0\n\
         gone,xclick,/m/cat,1,0,1,0,1,0,0,0,0,0\n"
    );
    write(&root, "train-annotations-bbox.csv", train);
    write(
        &root,
        "validation-annotations-bbox.csv",
        format!("{head}bb,xclick,/m/dog,1,0,0.5,0,0.2,0,0,0,0,0\n"),
    );
    let codes = packed(&root);
    codes.says(&["no table class-descriptions*.csv names the classes"]);
    assert!(
        codes
            .objects("train/data/aa.png")
            .contains(r#""category":[1,0],"category_name":["/m/dog","/m/cat"]"#)
    );
    write(
        &root,
        "class-descriptions-boxable.csv",
        "/m/ant,Ant\n/m/dog,Dog\n/m/cat,\"Cat, small\"\n",
    );
    let found = packed(&root);
    found.says(&[
        "read as openimages, by train-annotations-bbox.csv",
        "1 image is listed and not in the source, and left out",
        "1 image of the source is not listed, and left out",
        "columns that are not packed with boxes: Confidence, IsDepiction, IsInside, Source",
    ]);
    assert_eq!(found.keys(), ["train/data/aa.png", "validation/data/bb.png"]);
    assert_eq!(found.splits(), [("train", 1), ("validation", 1)]);
    let expected = r#"{"size":[20,15],"bbox":[[2,3,10,9],[0,0,20,7.5]],"category":[1,2],"category_name":["Dog","Cat, small"],"iscrowd":[0,1],"truncated":[0,1],"occluded":[1,0]}"#;
    let document: serde_json::Value =
        serde_json::from_str(&found.objects("train/data/aa.png")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(expected).unwrap();
    for (key, value) in expected.as_object().unwrap() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        match key.as_str() {
            "bbox" => {
                let flat = |it: &serde_json::Value| {
                    let boxes = it.as_array().unwrap().iter();
                    boxes
                        .flat_map(|it| it.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()))
                        .collect::<Vec<f64>>()
                };
                let pairs = flat(value).into_iter().zip(flat(&document[key]));
                assert!(pairs.clone().count() == 8 && { pairs }.all(|(a, b)| near(a, b)));
            }
            _ => assert_eq!(&document[key], value, "{key}"),
        }
    }
    let bad = format!("{head}aa,x,/m/dog,1,0.6,0.1,0.2,0.8,1,0,0,0,0\n");
    write(&root, "train-annotations-bbox.csv", &bad);
    let said = refused(&root, &[]);
    assert!(
        said.contains("aa.png") && said.contains("line 2") && said.contains("backwards"),
        "{said}"
    );
    write(&root, "train-annotations-bbox.csv", "ImageID,XMin\naa,1\n");
    let said = refused(&root, &[]);
    assert!(said.contains("it has no column `LabelName`"), "{said}");
}
