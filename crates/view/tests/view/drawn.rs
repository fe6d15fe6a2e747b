//! Recipes: images drawn on request, by category.
use crate::common::{Viewer, by, png};
use serde_json::{Value as Json, json};
use std::path::Path;

const RECIPE: &str =
    "fractal:fractaldb?classes=5&instances=100&sampler=lanes64-v1&points=2000&size=32";

#[test]
fn the_categories_of_a_recipe_are_a_facet() {
    let viewer = Viewer::of(Path::new(RECIPE));
    let dataset = viewer.json("api/dataset");
    let n_samples = dataset["samples"].as_u64().unwrap();
    let n_each = n_samples / 5;
    let label = &dataset["schema"][dataset["label"].as_u64().unwrap() as usize];
    let names = label["classes"].as_array().unwrap();
    assert_eq!((names.len(), n_each * 5), (5, n_samples));

    let facets = viewer.facets("");
    let facet = facets.as_array().unwrap().iter().find(|it| it["name"] == "label").unwrap();
    assert_eq!(facet["title"], "category");
    let values: Vec<Json> =
        names.iter().map(|it| json!({"value": it.to_string(), "title": it, "n": n_each})).collect();
    assert_eq!((&facet["values"], &facet["more"]), (&json!(values), &json!(0)));
    // All have one codec and one size, useless for filtering.
    let others: Vec<_> = facets.as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(others, ["label"]);

    // The samples of a category are consecutive and complete.
    for class in 0..5_u64 {
        let kept = viewer.kept(&format!("label == {}", names[class as usize]));
        assert_eq!(kept, (class * n_each..(class + 1) * n_each).collect::<Vec<_>>());
    }
    let rows = viewer.json(&format!(
        "api/samples?count=1000&{}",
        by(&format!("label in [{}, {}]", names[3], names[1]))
    ));
    for row in rows["samples"].as_array().unwrap() {
        let class = row["label"].as_u64().unwrap() as usize;
        assert!(class == 1 || class == 3, "{row}");
        assert!(row["key"].as_str().unwrap().starts_with(names[class].as_str().unwrap()), "{row}");
        assert_eq!(
            (&row["codec"], &row["width"], &row["height"]),
            (&json!("png"), &json!(32), &json!(32))
        );
        let image = viewer.ok(&format!("image/{}?side=64", row["sample"]));
        assert_eq!((image.kind(), png(&image.body).0), ("image/png", 32));
    }
    assert_eq!(rows["total"], json!(2 * n_each));
}

#[test]
fn a_drawn_sample_tells_what_it_was_drawn_from() {
    let viewer = Viewer::of(Path::new(RECIPE));
    let sample = viewer.json("api/sample/7");
    let value = |name: &str| {
        let values = sample["values"].as_array().unwrap();
        values.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{sample}")).clone()
    };
    let meta = value("meta")["value"].to_string();
    assert!(meta.contains("category") && value("label")["class"].is_string(), "{sample}");
    assert!(sample["python"].as_str().unwrap().contains("fractal:fractaldb"), "{sample}");
}
