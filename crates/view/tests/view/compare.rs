//! Two datasets by their keys.
use crate::common::{Viewer, by, packed, photos};
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
    let found = viewer.until("api/compare", |it| it["complete"] == true);
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
    states_are_a_filter(&viewer, rows);

    let dataset = viewer.json("api/dataset");
    assert_eq!((&dataset["samples"], &dataset["second"]["samples"]), (&json!(12), &json!(12)));
    let hundred = by("key contains '100.png'");
    assert_eq!(viewer.json("api/dataset?set=b")["path"], second.display().to_string());
    assert_eq!(viewer.json(&format!("api/samples?set=b&{hundred}"))["total"], json!(1));
    assert_eq!(viewer.json(&format!("api/samples?{hundred}"))["total"], json!(0));
}

/// The rows with some states are those among all rows that have them, with their total and their
/// pages.
fn states_are_a_filter(viewer: &Viewer, all: &[Json]) {
    let state = |row: &Json| match (&row["a"], &row["b"], &row["same"]) {
        (Json::Null, _, _) => "only_b",
        (_, Json::Null, _) => "only_a",
        (_, _, Json::Bool(true)) => "same",
        _ => "changed",
    };
    for states in [
        &["same"][..],
        &["changed"],
        &["only_a"],
        &["only_b"],
        &["only_b", "changed"],
        &["changed", "only_a", "only_b"],
        &["same", "changed", "only_a", "only_b"],
    ] {
        let parameters: String = states.iter().map(|it| format!("state={it}&")).collect();
        let kept: Vec<_> = all.iter().filter(|row| states.contains(&state(row))).collect();
        let page = viewer.json(&format!("api/compare?{parameters}"));
        assert_eq!(page["rows"], json!(kept), "{states:?}");
        assert_eq!(page["total"], json!(kept.len()), "{states:?}");
        assert_eq!(page["counts"]["same"], json!(10), "counts are of all: {page}");
        for start in 0..=kept.len() {
            let page = viewer.json(&format!("api/compare?{parameters}start={start}&count=2"));
            let rows: Vec<_> = kept.iter().skip(start).take(2).collect();
            assert_eq!((&page["rows"], &page["start"]), (&json!(rows), &json!(start)));
        }
    }
    let said = viewer.fails(400, "api/compare?state=different");
    assert!(said.contains("is none of: same, changed, only_a, only_b"), "{said}");
}

#[test]
fn the_same_samples_in_other_formats_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let [wds, mds] = ["wds", "mds"].map(|format| packed(folder.path(), format));
    let viewer = Viewer::of_both(&wds, &mds);
    let found = viewer.until("api/compare", |it| it["complete"] == true);
    assert_eq!(found["counts"], json!({"same": 12, "changed": 0, "only_a": 0, "only_b": 0}));
}

#[test]
fn one_dataset_is_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "wds"));
    assert!(viewer.fails(404, "api/compare").contains("no second one"));
}
