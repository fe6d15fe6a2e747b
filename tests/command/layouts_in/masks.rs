//! Cityscapes, ADE20K, CelebA, Food-101 and the pets of Oxford.
use super::{packed, packed_with, refused, write};
use crate::common::tree;
use fdconvert_core::{Kind, Value};
use fdconvert_testkit::fixtures;
use std::{fs, path::Path};

fn bytes(value: &Value<fdconvert_core::Encoded>) -> Vec<u8> {
    match value {
        Value::Image(image) => image.bytes.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// A mask of its own for each name.
fn masks(root: &Path, names: &[&str]) {
    for (name, seed) in names.iter().zip(1..) {
        write(root, name, fixtures::png(20, 15, seed).bytes);
    }
}

#[test]
fn cityscapes_has_masks_whose_pixels_stay() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cs");
    tree(
        &root,
        &[
            "leftImg8bit/train/aachen/aachen_0_leftImg8bit.png",
            "leftImg8bit/train/bonn/bonn_1_leftImg8bit.png",
            "leftImg8bit/val/lindau/lindau_0_leftImg8bit.png",
            "leftImg8bit/test/berlin/berlin_0_leftImg8bit.png",
            "leftImg8bit/train_extra/ulm/ulm_0_leftImg8bit.png",
        ],
    );
    let of = [
        "gtFine/train/aachen/aachen_0_gtFine_labelIds.png",
        "gtFine/train/bonn/bonn_1_gtFine_labelIds.png",
        "gtFine/val/lindau/lindau_0_gtFine_labelIds.png",
    ];
    masks(&root, &of);
    write(&root, "gtFine/val/lindau/lindau_0_gtFine_color.png", "x");
    let found = packed_with(&root, &["--max-side", "10"]);
    found.says(&[
        "read as cityscapes, by leftImg8bit and gtFine",
        "test is left out: none of its 1 images has a mask",
        "1 image is in no split of train, val, test, and left out",
    ]);
    assert_eq!(found.splits(), [("train", 2), ("val", 1)]);
    for (key, mask) in found.keys().into_iter().zip(of) {
        assert_eq!(bytes(found.value(key, 1)), fs::read(root.join(mask)).unwrap(), "{key}");
    }
    fs::remove_file(root.join(of[0])).unwrap();
    let said = refused(&root, &[]);
    assert!(said.contains(&format!("{}: the file is missing", of[0])), "{said}");
}

#[test]
fn ade20k_has_masks_and_scenes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("outer/ADEChallengeData2016");
    tree(&root, &["images/training/ADE_train_1.png", "images/validation/ADE_val_1.png"]);
    let of = ["annotations/training/ADE_train_1.png", "annotations/validation/ADE_val_1.png"];
    masks(&root, &of);
    write(&root, "sceneCategories.txt", "ADE_val_1 street\nADE_train_1 airport_terminal\n");
    let found = packed(&folder.path().join("outer"));
    found.says(&["read as ade20k, by ADEChallengeData2016/annotations/training"]);
    assert_eq!(found.splits(), [("training", 1), ("validation", 1)]);
    assert_eq!(found.ints(2), [0, 1]);
    assert_eq!(found.classes[2].clone().unwrap(), ["airport_terminal", "street"]);
    for (key, mask) in found.keys().into_iter().zip(of) {
        assert_eq!(bytes(found.value(key, 1)), fs::read(root.join(mask)).unwrap());
    }
    fs::remove_file(root.join("sceneCategories.txt")).unwrap();
    assert_eq!(packed(&root).samples[0].1.len(), 2);
}

#[test]
fn celeba_has_forty_flags() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("celeba");
    let names = ["1.png", "2.png", "3.png"].map(|name| format!("img_align_celeba/{name}"));
    tree(&root, &names.each_ref().map(String::as_str));
    write(
        &root,
        "list_attr_celeba.txt",
        "3\nBald Smiling Young \n1.png -1  1 -1\n2.png  1 -1 -1\n3.png  1  1  1\n",
    );
    write(&root, "list_eval_partition.txt", "1.png 1\n2.png 0\n3.png 2\n");
    let check = |by: &str| {
        let found = packed(&root);
        found.says(&[
            &format!("read as celeba, by {by}"),
            "0 or 1 for each of Bald, Smiling, Young",
        ]);
        assert_eq!(found.splits(), [("train", 1), ("val", 1), ("test", 1)]);
        let expected =
            [("2.png", [1.0_f32, 0.0, 0.0]), ("1.png", [0.0, 1.0, 0.0]), ("3.png", [1.0; 3])];
        for (name, flags) in expected {
            let Value::Array(stored) = found.value(&format!("img_align_celeba/{name}"), 1) else {
                panic!("{name}")
            };
            let flags: Vec<u8> = flags.iter().flat_map(|flag| flag.to_le_bytes()).collect();
            assert_eq!(stored.to_vec(), flags, "{name}");
        }
        let reader = fdconvert_reader::open(&found.out).unwrap();
        assert!(matches!(reader.schema().fields[1].kind, Kind::Array(_)));
    };
    check("list_attr_celeba.txt");
    // As a table of Kaggle.
    fs::remove_file(root.join("list_attr_celeba.txt")).unwrap();
    fs::remove_file(root.join("list_eval_partition.txt")).unwrap();
    let table = "image_id,Bald,Smiling,Young\n1.png,-1,1,-1\n2.png,1,-1,-1\n3.png,1,1,1\n";
    write(&root, "list_attr_celeba.csv", table);
    write(&root, "list_eval_partition.csv", "image_id,partition\n1.png,1\n2.png,0\n3.png,2\n");
    check("list_attr_celeba.csv");
    write(&root, "list_attr_celeba.csv", table.replace("2.png,1,-1,-1", "2.png,1,-1"));
    assert!(refused(&root, &[]).contains("line 3 has 2 attributes, and there are 3 names"));
    write(&root, "list_attr_celeba.csv", table.replace("2.png,1", "2.png,5"));
    assert!(refused(&root, &[]).contains("`Bald` is neither 1 nor -1: `5`"));
}

#[test]
fn food_and_pets_have_the_splits_of_their_lists() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("food-101");
    tree(&root, &["images/apple_pie/1.jpg", "images/apple_pie/2.jpg", "images/waffles/3.jpg"]);
    write(&root, "meta/train.txt", "waffles/3\napple_pie/1\n");
    write(&root, "meta/test.txt", "apple_pie/2\n");
    let found = packed(&root);
    found.says(&["read as food101, by meta/train.txt", "2 classes from the folders in images"]);
    assert_eq!(found.splits(), [("train", 2), ("test", 1)]);
    assert_eq!(found.ints(1), [1, 0, 0]);
    assert_eq!(found.classes[1].clone().unwrap(), ["apple_pie", "waffles"]);
    write(&root, "meta/test.txt", "apple_pie/1\n");
    assert!(refused(&root, &[]).contains("which is listed already"));

    let root = folder.path().join("pets");
    tree(&root, &["images/Abyssinian_1.jpg", "images/great_pyrenees_7.jpg", "images/beagle_1.jpg"]);
    let of = [
        "annotations/trimaps/great_pyrenees_7.png",
        "annotations/trimaps/Abyssinian_1.png",
        "annotations/trimaps/beagle_1.png",
    ];
    masks(&root, &of);
    write(&root, "annotations/trainval.txt", "great_pyrenees_7 3 2 11\nAbyssinian_1 1 1 1\n");
    write(&root, "annotations/test.txt", "#Image CLASS-ID\nbeagle_1 2 2 3\n");
    let found = packed(&root);
    found.says(&["read as oxford-pets, by annotations/trainval.txt"]);
    assert_eq!(found.splits(), [("train", 2), ("test", 1)]);
    assert_eq!(found.ints(2), [2, 0, 1]);
    assert_eq!(found.classes[2].clone().unwrap(), ["Abyssinian", "beagle", "great_pyrenees"]);
    for (key, mask) in found.keys().into_iter().zip(of) {
        assert_eq!(bytes(found.value(key, 1)), fs::read(root.join(mask)).unwrap());
    }
    write(&root, "annotations/test.txt", "beagle_1 1 2 3\n");
    assert!(refused(&root, &[]).contains("the class 1 is both `Abyssinian` and `beagle`"));
}
