//! `fdconvert bench`: datasets of every format, read with various options, and its report.
#![allow(clippy::unwrap_used)]

use crate::common::{self, kodak_classes, ok, text};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

/// Runs `bench` over a dataset, with these further arguments.
fn bench(dataset: &Path, words: &str) -> Output {
    common::fdconvert().arg("bench").arg(dataset).args(words.split_whitespace()).output().unwrap()
}

/// Runs it, expects success, and returns standard output.
fn measured(dataset: &Path, words: &str) -> String {
    let output = bench(dataset, words);
    assert!(output.status.success(), "{words}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn document(dataset: &Path, words: &str) -> Value {
    serde_json::from_str(&measured(dataset, &format!("{words} --json"))).unwrap()
}

/// Runs it, expects exit status 2, and returns standard error.
fn refused(dataset: &Path, words: &str) -> String {
    let output = bench(dataset, words);
    assert_eq!(output.status.code(), Some(2), "{words}: {}", text(&output.stdout));
    text(&output.stderr)
}

/// Writes a list of transforms.
fn written(root: &Path, list: &Value) -> PathBuf {
    let path = root.join("list.json");
    fs::write(&path, list.to_string()).unwrap();
    path
}

/// The shortest possible run.
const SHORT: &str = "--rounds 1 --seconds 0.02 --transform center:32 --batch-size 5";

#[test]
fn forms_of_the_same_images_are_compared() {
    let root = tempfile::tempdir().unwrap();
    let source = kodak_classes(root.path());
    let (png, mixed) = (root.path().join("png"), root.path().join("mixed"));
    ok(&[&"pack", &source, &png, &"--format", &"wds", &"--max-side", &"200"]);
    let packing: [&dyn AsRef<std::ffi::OsStr>; 9] = [
        &"pack",
        &source,
        &mixed,
        &"--format",
        &"mixed",
        &"--ratio",
        &"0.5",
        &"--max-side",
        &"200",
    ];
    ok(&packing);
    let plot = root.path().join("rates.svg");
    let words = format!(
        "--compare {} --rounds 2 --seconds 0.2 --transform center:64 --batch-size 4 --cache 200kB --plot {}",
        png.display(),
        plot.display()
    );
    let result = document(&mixed, &words);
    let datasets = result["datasets"].as_array().unwrap();
    assert_eq!(datasets.len(), 2);
    for dataset in datasets {
        assert!(dataset["images_per_s"].as_f64().unwrap() > 0.0);
        assert_eq!(dataset["rounds"].as_array().unwrap().len(), 2);
        assert_eq!(dataset["epochs"], json!([]));
        let hits = dataset["hits"].as_f64().unwrap();
        assert!(hits > 0.02 && hits < 0.9, "{dataset}");
    }
    assert_eq!(datasets[0]["forms"][0][0], "png");
    assert_eq!(datasets[0]["forms"][1], json!(["bmp", 0.5]));
    let plot = fs::read_to_string(&plot).unwrap();
    assert!(plot.starts_with("<svg") && plot.contains("mixed"));
    for text in ["Images per second", ">dataset<", ">images/s", "achieved", "loading alone"] {
        assert!(plot.contains(text), "{text}: {plot}");
    }
    let table = measured(&png, "--rounds 1 --seconds 0.2");
    assert!(table.contains("bound by") && table.contains("png"), "{table}");
    measured(&mixed, "--cache 200kB --cache-policy liquid --rounds 1 --seconds 0.2");
}

#[test]
fn every_format_is_read_without_being_told_how() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("photos");
    ok(&[&"sample", &photos]);
    for (name, options, is_direct) in [
        ("x.beton", "", true),
        ("shards", "--format wds", true),
        ("plain", "--format wds --sidecars dali", false),
        ("streaming", "--format mds", true),
        ("packed", "--format mds --compression zstd", false),
        ("set.mixed", "--format mixed --ratio 0.5", true),
        ("copy", "--format folder", false),
        ("x.formula", "", true),
    ] {
        let dataset = root.path().join(name);
        let mut pack = common::fdconvert();
        if name.ends_with("formula") {
            pack.args(["pack", "fractal:fractaldb?classes=1&instances=100&size=64"]);
        } else {
            pack.arg("pack").arg(&photos);
        }
        let packed = pack.arg(&dataset).args(options.split_whitespace()).output().unwrap();
        assert!(packed.status.success(), "{name}: {}", text(&packed.stderr));
        let output = bench(&dataset, SHORT);
        let said = text(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        assert_eq!(said.contains("page cache"), !is_direct, "{name}: {said}");
        let result = document(&dataset, SHORT);
        assert_eq!(result["direct"], is_direct, "{name}");
        if !is_direct {
            // An explicit request fails with an error.
            let said = refused(&dataset, "--access direct");
            assert!(said.contains("cannot be read directly"), "{name}: {said}");
        }
    }
}

/// Drawn images read nothing, so that they can be compared with any dataset, and the disk is never
/// the bottleneck.
#[test]
fn formulas_and_recipes_are_drawn() {
    let root = tempfile::tempdir().unwrap();
    let formula = root.path().join("x.formula");
    let recipe = "fractal:fractaldb?classes=1&instances=100&points=5000";
    ok(&[&"pack", &recipe, &formula]);
    let list = written(root.path(), &json!([{"Resize": {"size": [64, 64]}}]));
    let words = format!(
        "--compare {recipe} --rounds 1 --seconds 0.1 --transform {} --batch-size 8",
        list.display()
    );
    let output = bench(&formula, &words);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    let table = text(&output.stdout);
    assert!(table.contains(recipe) && table.contains("(formula 100 %)"), "{table}");
    assert!(!table.contains("disk-bound"), "{table}");
    let result = document(&formula, &words);
    assert_eq!(result["direct"], true);
    for dataset in result["datasets"].as_array().unwrap() {
        assert_ne!(dataset["verdict"], "disk-bound", "{dataset}");
        assert_eq!(dataset["forms"], json!([["formula", 1.0]]));
        assert_eq!(dataset["loading_per_s"], Value::Null);
        assert_eq!(dataset["bytes_per_image"], 0.0);
    }
}

#[test]
fn whole_epochs_are_timed_one_by_one() {
    let root = tempfile::tempdir().unwrap();
    let (photos, beton) = (root.path().join("photos"), root.path().join("x.beton"));
    ok(&[&"sample", &photos]);
    ok(&[&"pack", &photos, &beton]);
    let words =
        format!("--compare {} --epochs 3 --batch-size 5 --transform rrc:32", photos.display());
    let result = document(&beton, &words);
    let datasets = result["datasets"].as_array().unwrap();
    assert_eq!(datasets.len(), 2);
    for dataset in datasets {
        let epochs = dataset["epochs"].as_array().unwrap();
        assert_eq!(epochs.len(), 3, "{dataset}");
        assert_eq!(dataset["rounds"].as_array().unwrap().len(), 3);
        for epoch in epochs {
            // Twelve photos are two batches of five and one of two.
            assert_eq!(epoch["images"], 12, "{dataset}");
            assert!(epoch["seconds"].as_f64().unwrap() > 0.0, "{dataset}");
            assert!(epoch["cpu_seconds"].as_f64().unwrap() > 0.0, "{dataset}");
        }
    }
    let said = measured(&beton, &words);
    let of_beton = |line: &&str| line.starts_with("x.beton ");
    // One line in the table of datasets, and one for each epoch.
    assert_eq!(said.lines().filter(of_beton).count(), 4, "{said}");
    assert!(said.contains("CPU s"), "{said}");
}

#[test]
fn batches_are_made_as_the_list_says() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("photos");
    ok(&[&"sample", &photos]);
    let made =
        |result: &Value| ["size", "dtype", "layout", "batch_size"].map(|key| result[key].clone());
    let names = |result: &Value| -> Vec<String> {
        let list = result["transform"].as_array().unwrap().iter();
        list.map(|it| it.as_object().unwrap().keys().next().unwrap().clone()).collect()
    };
    let short = "--epochs 1 --batch-size 5";
    let usual = document(&photos, short);
    assert_eq!(made(&usual), [json!([224, 224]), json!("u8"), json!("nhwc"), json!(5)]);
    assert_eq!(usual["transform"][0]["Resize"]["size"], 256);
    assert_eq!(usual["transform"][1], json!({"CenterCrop": {"size": [224, 224]}}));

    let list = json!([
        {"RandomResizedCrop": {"size": [24, 32]}},
        {"RandomHorizontalFlip": {}},
        {"AutoAugment": {"policy": "cifar10"}},
        {"Normalize": {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}},
    ]);
    let path = written(root.path(), &list);
    let words = format!("{short} --transform {}", path.display());
    let result = document(&photos, &words);
    assert_eq!(made(&result)[..3], [json!([24, 32]), json!("f32"), json!("nhwc")]);
    let four = ["RandomResizedCrop", "RandomHorizontalFlip", "AutoAugment", "Normalize"];
    assert_eq!(names(&result), four);
    // All arguments are there, and the list can be given again.
    assert_eq!(result["transform"][1], json!({"RandomHorizontalFlip": {"p": 0.5}}));
    fs::write(&path, result["transform"].to_string()).unwrap();
    assert_eq!(document(&photos, &words)["transform"], result["transform"]);
    let said = measured(&photos, &format!("{words} --dtype f16 --layout nchw"));
    let line = "rows: RandomResizedCrop, RandomHorizontalFlip, AutoAugment, Normalize, ToDtype, \
                ToLayout; 32 x 24 pixels, f16, nchw";
    assert!(said.lines().any(|it| it == line), "{said}");
    let mixed = json!([{"CenterCrop": {"size": [8, 8]}}, {"MixUp": {"alpha": 0.2}}]);
    let mixed = written(root.path(), &mixed);
    let result = document(&photos, &format!("{short} --transform {}", mixed.display()));
    assert_eq!(names(&result), ["CenterCrop", "MixUp"]);
}

#[test]
fn training_is_played_at_the_rate_that_is_said() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("photos");
    ok(&[&"sample", &photos]);
    let words = "--rounds 2 --seconds 0.3 --transform center:32 --batch-size 5 --consumer-rate 50";
    let result = document(&photos, words);
    assert_eq!(result["consumer_images_per_s"], 50.0);
    let dataset = &result["datasets"][0];
    for round in dataset["rounds"].as_array().unwrap() {
        assert!(round.as_f64().unwrap() <= 50.0, "{round}");
    }
    let (busy, rate) = (&dataset["busy"], dataset["images_per_s"].as_f64().unwrap());
    assert_eq!(busy["consumer"].as_f64().unwrap(), rate / 50.0);
    assert!(busy["processors"].as_f64().unwrap() <= 1.0, "{busy}");
    let table = measured(&photos, words);
    assert!(table.contains("training") && table.contains("processors"), "{table}");

    let free = document(&photos, SHORT);
    assert_eq!(
        (&free["consumer_images_per_s"], &free["datasets"][0]["busy"]["consumer"]),
        (&Value::Null, &Value::Null)
    );
    assert!(!measured(&photos, SHORT).contains("training"));
    let error = refused(&photos, &format!("{SHORT} --consumer-rate 0"));
    assert!(error.contains("not a number of images a second above 0"), "{error}");
}

#[test]
fn what_cannot_be_is_refused_with_the_cure() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("photos");
    ok(&[&"sample", &photos]);
    let list = |name: &str, text: &str| {
        let path = root.path().join(name);
        fs::write(&path, text).unwrap();
        format!("--transform {}", path.display())
    };
    let floats =
        list("floats.json", r#"[{"CenterCrop":{"size":[8,8]}},{"ToDtype":{"dtype":"f16"}}]"#);
    for (words, cures) in [
        ("--transform nothing.json", &["--transform:", "no file", "rrc:224"][..]),
        ("--transform rrc:x", &["rrc:224"]),
        ("--transform rrc:0", &["--transform:", "1 to 16384"]),
        (&list("a.json", r#"{"Resize":{}}"#), &["a.json is no list of transforms", "line 1"]),
        (&list("b.json", r#"[{"Crop":{}}]"#), &["unknown variant `Crop`", "RandomResizedCrop"]),
        (&list("c.json", r#"[{"RandomInvert":{"p":2}}]"#), &["--transform:", "0 to 1"]),
        (&list("d.json", "[]"), &["--transform:", "end it with a crop"]),
        (&format!("{floats} --dtype f32"), &["--dtype:", "has a ToDtype"]),
        ("--epochs 1 --seconds 1", &["--epochs", "--seconds"]),
        ("--epochs 1 --rounds 2", &["--epochs", "--rounds"]),
        ("--epochs 0", &["--epochs"]),
        ("--dtype f64", &["u8", "f16", "f32"]),
        ("--layout hwc", &["nhwc", "nchw"]),
    ] {
        let said = refused(&photos, words);
        for cure in cures {
            assert!(said.contains(cure), "{words}: {cure} is missing in {said}");
        }
    }
}

#[test]
fn the_document_has_the_keys_that_are_promised() {
    let root = tempfile::tempdir().unwrap();
    let photos = root.path().join("photos");
    ok(&[&"sample", &photos]);
    let result = document(&photos, "--epochs 1 --transform center:32");
    let contract = include_str!("../../docs/json.md");
    let row = contract.lines().find(|line| line.contains("fdconvert-bench")).unwrap();
    let dataset = &result["datasets"][0];
    for object in [&result, dataset, &dataset["epochs"][0]] {
        for key in object.as_object().unwrap().keys() {
            let is_common = ["document", "version"].contains(&key.as_str());
            assert!(is_common || row.contains(&format!("`{key}`")), "{key} is not documented");
        }
    }
}
