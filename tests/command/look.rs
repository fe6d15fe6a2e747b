//! `fdconvert stats`, `sheet` and `find-duplicates`.
#![allow(clippy::unwrap_used)]

use crate::common::{expect, fails, ok, tree};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

fn photos(root: &Path) -> PathBuf {
    let photos = root.join("photos");
    ok(&[&"sample", &photos]);
    photos
}

#[test]
fn documents_keep_to_the_contract() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let sheet = root.path().join("sheet.png");
    let parse = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let documents = [
        parse(ok(&[&"stats", &photos, &"--pixels", &"--json"])),
        parse(ok(&[&"sheet", &photos, &sheet, &"--json"])),
        parse(expect(1, &[&"find-duplicates", &photos, &photos, &"--near", &"--json"])),
    ];
    let contract = include_str!("../../docs/json.md");
    for document in documents {
        let name = document["document"].as_str().unwrap();
        assert_eq!(document["version"], 1);
        let row = contract.lines().find(|line| line.contains(name)).unwrap();
        let mut objects = vec![&document];
        objects.extend([&document["pixels"], &document["groups"][0]]);
        objects.extend([&document["groups"][0]["samples"][0], &document["samples"][0]]);
        for key in objects.iter().filter_map(|it| it.as_object()).flat_map(|it| it.keys()) {
            if key != "document" && key != "version" {
                assert!(row.contains(&format!("`{key}`")), "{name}: {key} is not documented");
            }
        }
    }
}

#[test]
fn numbers_are_told() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let beton = root.path().join("photos.beton");
    ok(&[&"pack", &photos, &beton]);
    let said = ok(&[&"stats", &beton, &"--pixels"]);
    for word in ["12 samples", "12 jpg", "mean", "std", "12 images", "class", "building: 4", "none"]
    {
        assert!(said.contains(word), "{word} is missing in\n{said}");
    }
    let document = |more: &str| -> Value {
        let text = ok(&[&"stats", &beton, &"--pixels", &"--json", &"--threads", &more]);
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(document("1")["pixels"], document("4")["pixels"]);
    // `inspect` has the same values where both report them.
    let inspected: Value = serde_json::from_str(&ok(&[&"inspect", &beton, &"--json"])).unwrap();
    for name in ["classes", "codecs", "bytes", "width", "height"] {
        assert_eq!(document("1")[name], inspected["stats"][name], "{name}");
    }
    let page = root.path().join("missing/page.html");
    assert!(fails(&[&"stats", &beton, &"--html", &page]).contains("mkdir -p"));
    fs::write(photos.join("scene/broken.jpg"), b"nothing").unwrap();
    assert!(expect(1, &[&"stats", &photos]).contains("1 sample; `fdconvert verify`"));
}

#[test]
fn sheets_are_written_and_not_overwritten() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let sheet = root.path().join("sheet.png");
    let said = ok(&[&"sheet", &photos, &sheet, &"--count", &"5", &"--columns", &"3"]);
    assert!(said.contains("5 images in 2 rows, 3 in each"), "{said}");
    let first = fs::read(&sheet).unwrap();
    assert!(fails(&[&"sheet", &photos, &sheet]).contains("--overwrite"));
    ok(&[&"sheet", &photos, &sheet, &"--count", &"5", &"--columns", &"3", &"--overwrite"]);
    assert_eq!(fs::read(&sheet).unwrap(), first);
    let message = fails(&[&"sheet", &photos, &sheet, &"--overwrite", &"--where", &"nothing > 1"]);
    assert!(message.contains("--where"), "{message}");
    fs::write(photos.join("scene/broken.jpg"), b"nothing").unwrap();
    let said = expect(1, &[&"sheet", &photos, &sheet, &"--overwrite"]);
    assert!(said.contains("unreadable: sample") && said.contains("scene/broken.jpg"), "{said}");
}

#[test]
fn duplicates_are_told_and_left_out_by_their_keys() {
    let root = tempfile::tempdir().unwrap();
    let photos = photos(root.path());
    let said = ok(&[&"find-duplicates", &photos]);
    assert!(said.contains("duplicates   none"), "{said}");
    fs::copy(photos.join("scene/kodak-05.jpg"), photos.join("closeup/again.jpg")).unwrap();
    let keys = root.path().join("keep.txt");
    let said = expect(1, &[&"find-duplicates", &photos, &"--keys", &keys]);
    assert!(said.contains("group: sample") && said.contains("same bytes: sample"), "{said}");
    assert!(said.contains("1 sample in 1 group") && said.contains("12 keys to keep"), "{said}");
    // The same list may exist, another one is kept.
    expect(1, &[&"find-duplicates", &photos, &"--keys", &keys]);
    let another = photos.join("closeup/kodak-03.jpg");
    assert!(fails(&[&"find-duplicates", &photos, &"--keys", &another]).contains("--overwrite"));
    let clean = root.path().join("clean.beton");
    ok(&[&"pack", &photos, &clean, &"--keys", &keys]);
    ok(&[&"find-duplicates", &clean, &"--near"]);

    // Re-encoded and scaled down, in another format.
    let small = root.path().join("small");
    ok(&[
        &"pack",
        &photos,
        &small,
        &"--format",
        &"wds",
        &"--jpeg-quality",
        &"60",
        &"--max-side",
        &"100",
        &"--keys",
        &keys,
    ]);
    ok(&[&"find-duplicates", &clean, &small]);
    let found = |threads: &str| -> Value {
        let text = expect(
            1,
            &[&"find-duplicates", &clean, &small, &"--near", &"--json", &"--threads", &threads],
        );
        let mut found: Value = serde_json::from_str(&text).unwrap();
        found["seconds"] = json!(0);
        found
    };
    let one = found("1");
    assert_eq!(
        (&one["surplus"], &one["leaks"], &one["samples"]),
        (&json!(12), &json!(12), &json!([12, 12]))
    );
    for group in one["groups"].as_array().unwrap() {
        assert_eq!(group["samples"][0]["key"], group["samples"][1]["key"], "{group}");
        assert_eq!(group["samples"][1]["exact"], false);
    }
    assert_eq!(found("4"), one);
    assert!(fails(&[&"find-duplicates", &clean, &"--distance", &"4"]).contains("--near"));
}

#[test]
fn images_of_more_than_8_bits_are_counted() {
    let root = tempfile::tempdir().unwrap();
    let (images, out) = (root.path().join("images"), root.path().join("o.wds"));
    tree(&images, &["a/1.png", "a/2.png"]);
    let deep = fdconvert_testkit::fixtures::fixture("bad").join("gray16.png");
    fs::copy(deep, images.join("a/3.png")).unwrap();
    let said = ok(&[&"pack", &images, &out]);
    assert!(said.contains("1 kept with more than 8 bits per channel"), "{said}");
    for command in ["inspect", "stats"] {
        let said = ok(&[&command, &out]);
        assert!(said.contains("1 image of more than 8 bits per channel"), "{command}: {said}");
        let said = ok(&[&command, &out, &"--json"]);
        assert!(said.contains("\"over_8_bits\": 1"), "{command}: {said}");
    }
    // A beton has no PNG.
    let said = fails(&[&"pack", &images, &root.path().join("o.beton"), &"--strict"]);
    assert!(said.contains("`a/3.png`: has more than 8 bits per channel"), "{said}");
}
