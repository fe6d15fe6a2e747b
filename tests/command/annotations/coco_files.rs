//! COCO annotations: what becomes of them, what is refused, and how other tools write them.
use super::*;

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

/// Returns the error of packing images with a changed [`coco`].
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

/// Packs images of 20x15 with this file, and returns the messages and the last fields.
fn pack(status: i32, labels: &str) -> (String, Vec<(String, String)>) {
    let folder = tempfile::tempdir().unwrap();
    let (root, file) = (folder.path().join("images"), folder.path().join("a.json"));
    tree(&root, &["1.png", "2.png"]);
    fs::write(&file, labels).unwrap();
    let out = folder.path().join("o.beton");
    let args: [&dyn AsRef<std::ffi::OsStr>; 7] =
        [&"pack", &root, &out, &"--labels", &file, &"--on-error", &"skip"];
    let said = expect(status, &args);
    (said, last_fields(&out))
}

fn two_images(annotations: &str) -> String {
    format!(
        "{{\"images\": [{{\"id\": 1, \"file_name\": \"1.png\"}}, {{\"id\": 2, \"file_name\": \
         \"2.png\"}}], \"categories\": [{{\"id\": 1, \"name\": \"cat\"}}], \"annotations\": \
         [{annotations}]}}"
    )
}

#[test]
fn nan_is_an_error_of_its_sample_and_of_no_other() {
    let text = two_images(
        r#"{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, NaN]},
           {"id": 2, "image_id": 2, "category_id": 1, "bbox": [1, 2, 3, 4], "score": -Infinity}"#,
    );
    let (said, values) = pack(1, &text);
    for part in [
        "1 of 2",
        "entry 1 (id 1): its `bbox` is not four numbers: [1, 2, 3, null] (null is NaN",
        "2 numbers are NaN",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(values[0].0, "2.png");
}

#[test]
fn a_bad_size_or_caption_is_an_error_of_its_sample() {
    let text = two_images(r#"{"id": 2, "image_id": 2, "category_id": 1, "bbox": [1, 2, 3, 4]}"#)
        .replacen("\"1.png\"", "\"1.png\", \"width\": \"wide\", \"height\": 15", 1);
    let (said, _) = pack(1, &text);
    assert!(said.contains("1.png: `images`, entry 1: its `width` is no number"), "{said}");

    let text = two_images(
        r#"{"id": 1, "image_id": 1, "caption": null}, {"id": 2, "image_id": 1, "caption": "a"},
           {"id": 3, "image_id": 2, "caption": 5}"#,
    );
    let (said, values) = pack(1, &text);
    for part in ["entry 3 (id 3): its `caption` is not a text: 5", "1 annotation has no `caption`"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(values, [("1.png".to_owned(), r#"["a"]"#.to_owned())]);
}

#[test]
fn keys_that_are_not_packed_are_told_wherever_they_stand() {
    let plain = r#"{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "num_keypoints": 0}, "#;
    let last = r#"{"image_id": 2, "category_id": 1, "bbox": [1, 2, 3, 4], "attributes": {}, "caption": "x"}"#;
    let text = two_images(&(plain.repeat(1100) + last))
        .replacen("\"id\": 1,", "\"id\": 1, \"license\": 3, \"caption\": \"x\",", 1)
        .replacen("\"name\"", "\"supercategory\": \"x\", \"color\": [1, 2], \"name\"", 1);
    let (said, _) = pack(0, &text);
    for part in [
        "the keys attributes, caption of the annotations are not packed",
        "the keys color of the categories are not packed",
        "the keys caption of the images are not packed",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn categories_that_are_called_by_numbers_have_them_as_texts() {
    let text = two_images(r#"{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}"#);
    let (said, values) = pack(0, &text.replace("\"cat\"", "7"));
    assert!(said.contains("1 category is called by a number"), "{said}");
    assert!(values[0].1.contains(r#""category_name":["7"]"#), "{values:?}");
    let check = |text: &str, parts: &[&str]| {
        let said = fails_with(&text.replace("2.png", "b/2.png"));
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        assert!(!said.contains("struct"), "{said}");
    };
    check(&text.replace("\"cat\"", "null"), &["`categories`, entry 1", "no `name`"]);
    check(
        &text.replace("{\"id\": 1, \"name\": \"cat\"}", "3"),
        &["a category with `id` and `name`"],
    );
    check(&two_images("[1, 2]"), &["`annotations`, entry 1", "an annotation with `image_id`"]);
    check(&two_images("{\"image_id\": 1, \"bbox\": [], \"bbox\": []}"), &["`bbox` occurs twice"]);
}

#[test]
fn boxes_outside_of_their_image_are_counted() {
    let text = two_images(
        r#"{"image_id": 1, "category_id": 1, "bbox": [40, 2, 3, 4]},
           {"image_id": 2, "category_id": 1, "bbox": [15, 10, 30, 40]}"#,
    );
    let (said, values) = pack(0, &text);
    assert!(said.contains("boxes of 1 image are wholly outside"), "{said}");
    assert!(values[0].1.contains("[40,2,3,4]"), "{values:?}");
}

#[test]
fn images_that_are_not_listed_are_counted() {
    let text = two_images("").replace(", {\"id\": 2, \"file_name\": \"2.png\"}", "");
    let (said, _) = pack(0, &text);
    assert!(said.contains("1 image of the source is not listed, and left out"), "{said}");
}
