//! COCO annotations as other tools write them.
use super::*;

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
