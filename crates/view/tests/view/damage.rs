//! Damaged samples: their description, and what is not sent.
use crate::common::{Memory, Viewer, by, packed, sample};
use fdconvert::{Kind, Value};
use fdconvert_testkit::fixtures;
use serde_json::json;
use std::fs;

#[test]
fn a_changed_byte_is_told_and_the_image_is_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = packed(folder.path(), "beton");
    let place = Viewer::of(&path).json("api/sample/7")["place"].clone();
    let mut bytes = fs::read(&path).unwrap();
    bytes[place["offset"].as_u64().unwrap() as usize + 100] ^= 1;
    fs::write(&path, bytes).unwrap();

    let viewer = Viewer::of(&path);
    let said = viewer.fails(422, "image/7");
    assert!(said.contains("sample `") && said.contains("beton"), "{said}");
    viewer.fails(422, "field/7/0");
    viewer.ok("image/6");
    let found = viewer.json("api/sample/7");
    assert_eq!((&found["verified"], found["cause"].as_str().unwrap()), (&json!(false), &*said));
    let row = viewer.json("api/samples?start=7&count=1")["samples"][0].clone();
    assert!(row["error"].is_null(), "its row is sound: {row}");

    // Nothing is found before the check was requested.
    let before = viewer.json("api/samples?damaged=1");
    assert_eq!((&before["scanned"], &before["total"]), (&json!(0), &json!(0)));
    let damage = viewer.until("api/damage", |it| it["checked"] == it["samples"]);
    assert_eq!(damage["damaged"].as_array().unwrap().len(), 1, "{damage}");
    let (damaged, count) = (&damage["damaged"][0], &damage["found"]);
    assert_eq!((&damaged["sample"], &damaged["key"], count), (&json!(7), &found["key"], &json!(1)));
    assert!(damaged["cause"].as_str().unwrap().contains("photos.beton"), "{damaged}");
    let after = viewer.json("api/samples?damaged=1");
    assert_eq!((&after["scanned"], &after["total"]), (&json!(12), &json!(1)));
    let class = found["values"].as_array().unwrap().iter().find(|it| it["kind"] == "int").unwrap();
    let classes = by(&format!("label == '{}'", class["class"].as_str().unwrap()));
    assert_eq!(viewer.json(&format!("api/samples?damaged=1&{classes}"))["total"], json!(1));
}

#[test]
fn many_damaged_samples_are_counted_and_the_first_told() {
    let values = |n: u64| vec![Value::Image(fixtures::png(4, 4, n))];
    let samples = (0..1500).map(|n| sample(&n.to_string(), values(1))).collect();
    let memory = Memory::new(vec![("image", Kind::Image)], samples);
    let viewer = Viewer::of_samples(Memory { damaged: (100..1400).collect(), ..memory });
    let damage = viewer.until("api/damage", |it| it["checked"] == it["samples"]);
    let told = damage["damaged"].as_array().unwrap();
    assert_eq!((told.len(), &damage["found"]), (1000, &json!(1300)));
    assert_eq!(told[999]["sample"], json!(1099));
    assert_eq!(viewer.json("api/samples?damaged=1&count=1")["total"], json!(1300));
    assert!(viewer.fails(400, "sheet.png?count=1000&side=512").contains("too many"));
    // A batch of them is black, and has their errors.
    let batch = viewer.json("api/batch?rows=64&side=16");
    let failed = batch["rows"].as_array().unwrap().iter().filter(|row| row["failed"] == true);
    assert!(failed.count() > 32, "{batch}");
}
