//! Two datasets by their keys.
use crate::common::{Viewer, packed, photos};
use fdconvert::{Pack, PackOptions};
use fdconvert_testkit::fixtures;
use serde_json::{Value as Json, json};
use std::fs;

#[test]
fn samples_of_both_are_matched_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let photos = photos(folder.path());
    let first = folder.path().join("first.wds");
    let options = || PackOptions::default().format("wds");
    Pack::new([&photos], &first).options(options()).run().unwrap();
    fs::remove_file(photos.join("cat/0.png")).unwrap();
    fs::write(photos.join("dog/1.png"), fixtures::png(20, 20, 99).bytes).unwrap();
    fs::write(photos.join("fox/100.png"), fixtures::png(20, 20, 98).bytes).unwrap();
    let second = folder.path().join("second.wds");
    Pack::new([&photos], &second).options(options().shuffle(true)).run().unwrap();

    let viewer = Viewer::of_both(&first, &second);
    let is_complete = |it: &Json| it["total"] == 13;
    let found = viewer.until("api/compare", is_complete);
    let counts = json!({"same": 10, "changed": 1, "only_a": 1, "only_b": 1});
    assert_eq!((&found["counts"], &found["scanned"]), (&counts, &json!(12)));
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 13);
    for (place, row) in rows.iter().enumerate() {
        let key = row["key"].as_str().unwrap();
        let of = |side: &str, set: &str| {
            let sample = row[side].as_u64()?;
            let sample = viewer.json(&format!("api/sample/{sample}?set={set}"));
            Some(sample["key"].as_str().unwrap().to_owned())
        };
        let (a, b) = (of("a", "a"), of("b", "b"));
        assert!(a.as_deref().is_none_or(|it| it == key) && b.as_deref().is_none_or(|it| it == key));
        assert_eq!(a.is_some(), place < 12, "{row}");
        assert_eq!(b.is_none(), key == "cat/0.png", "{row}");
        let is_same = a.is_some() && b.is_some() && key != "dog/1.png";
        assert_eq!(row["same"], json!(is_same), "{row}");
    }
    assert_eq!(rows[12]["key"], "fox/100.png");
    let page = viewer.json("api/compare?start=11&count=5");
    assert_eq!(page["rows"].as_array().unwrap().len(), 2);
    assert_eq!(viewer.json("api/compare?start=99")["rows"], json!([]));

    let dataset = viewer.json("api/dataset");
    assert_eq!((&dataset["samples"], &dataset["second"]["samples"]), (&json!(12), &json!(12)));
    assert_eq!(viewer.json("api/dataset?set=b")["path"], second.display().to_string());
    assert_eq!(viewer.json("api/samples?set=b&text=100.png")["total"], json!(1));
    assert_eq!(viewer.json("api/samples?text=100.png")["total"], json!(0));
}

#[test]
fn the_same_samples_in_other_formats_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let [wds, mds] = ["wds", "mds"].map(|format| packed(folder.path(), format));
    let viewer = Viewer::of_both(&wds, &mds);
    let found = viewer.until("api/compare", |it| it["scanned"] == 12);
    assert_eq!(found["counts"], json!({"same": 12, "changed": 0, "only_a": 0, "only_b": 0}));
}

#[test]
fn one_dataset_is_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "wds"));
    assert!(viewer.fails(404, "api/compare").contains("no second one"));
}
