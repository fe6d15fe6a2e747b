//! Samples selected by their properties, and distinct keys for several sources.
#![allow(clippy::unwrap_used)]

use crate::common::{fails, ok, tree};
use fdconvert_testkit::{
    compare::assert_same_tree,
    fixtures,
    metadata::{exif, jpeg_with},
};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

type Args<'a> = Vec<&'a dyn AsRef<OsStr>>;

fn keys(dataset: &Path) -> Vec<String> {
    let reader = fdconvert_reader::open(dataset).unwrap();
    (0..reader.len()).map(|index| reader.key(index)).collect()
}

fn params(dataset: &Path) -> Value {
    let found: Value = serde_json::from_str(&ok(&[&"inspect", &dataset, &"--json"])).unwrap();
    found["provenance"]["params"].clone()
}

/// Images of three sizes in two classes, with a table next to them.
fn sized(root: &Path) -> PathBuf {
    let source = root.join("sized");
    for (name, width, height) in
        [("cat/1.png", 64, 48), ("cat/2.png", 32, 48), ("dog/1.png", 64, 64), ("dog/2.png", 16, 16)]
    {
        let path = source.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &fixtures::png(width, height, width.into()).bytes).unwrap();
    }
    source
}

#[test]
fn an_expression_chooses_samples() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), sized(root.path()));
    let out = root.join("o.beton");
    let taken = |expression: &str, more: &[&dyn AsRef<OsStr>]| {
        let mut args: Args<'_> =
            vec![&"pack", &source, &out, &"--overwrite", &"--where", &expression];
        args.extend(more);
        let said = ok(&args);
        (keys(&out), said)
    };
    let all = ["cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png"];
    for (expression, expected) in [
        ("width >= 32", &all[..3]),
        ("width>=64&&label=='cat'", &all[..1]),
        ("width * height > 1536 || height == 16", &["cat/1.png", "dog/1.png", "dog/2.png"]),
        ("!(label == \"cat\") && width / height < 1.5", &all[2..]),
        ("key contains '1' && codec == \"png\"", &["cat/1.png", "dog/1.png"]),
        ("label in ['cat'] && bytes > 5000", &all[..1]),
        ("index >= 1 && index < 3", &all[1..3]),
        ("key starts_with 'dog/' && -width < -16", &all[2..3]),
        ("width + 2 * height - 1 == 47", &all[3..]),
    ] {
        let (keys, said) = taken(expression, &[]);
        assert_eq!(keys, expected, "{expression}");
        let left_out = 4 - expected.len();
        let note = format!("{left_out} of 4 samples left out by `{expression}`");
        assert!(said.contains(&note) && !said.contains("left out by --keys"), "{said}");
    }
    // A list selects first.
    let list = root.join("list.txt");
    fs::write(&list, "dog/2.png\ndog/1.png\n").unwrap();
    let (keys, said) = taken("width >= 64", &[&"--keys", &list]);
    assert_eq!(keys, ["dog/1.png"]);
    assert!(said.contains("1 of 2 samples left out by `width >= 64`"), "{said}");
    assert!(said.contains("2 of 4 samples left out by --keys, --sample or --split"), "{said}");
    let recorded = params(&out);
    assert_eq!(recorded["where"], "width >= 64");
    assert_eq!(recorded["where-left-out"], "1 of 2");
    let none = fails(&[&"pack", &source, &root.join("n.beton"), &"--where", &"width > 999"]);
    assert!(none.contains("none of the 4 samples is left by `where`"), "{none}");
}

#[test]
fn fields_of_a_table_are_names() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), sized(root.path()));
    let table = root.join("table.csv");
    let rows = "path,label,score,place,width\ncat/1.png,a,0.5,here,1\ncat/2.png,b,1.5,there,2\n\
                dog/1.png,a,2.5,here,3\n";
    fs::write(&table, rows).unwrap();
    let out = root.join("o.wds");
    let taken = |expression: &str| {
        let args: [&dyn AsRef<OsStr>; 8] =
            [&"pack", &source, &out, &"--overwrite", &"--labels", &table, &"--where", &expression];
        ok(&args);
        keys(&out)
    };
    assert_eq!(taken("score > 1"), ["cat/2.png", "dog/1.png"]);
    assert_eq!(taken("place == 'here' && label == 'a' && score < 1"), ["cat/1.png"]);
    // The name belongs to the image's width.
    assert_eq!(taken("width == 64 && field.width == 3"), ["dog/1.png"]);
    // The same holds for packed datasets.
    let again = root.join("again.mds");
    ok(&[&"pack", &out, &again, &"--where", &"score == 2.5 && width == 64"]);
    assert_eq!(keys(&again), ["dog/1.png"]);
}

/// Three photos with objects, one of which is stored on its side.
fn annotated(root: &Path) -> (PathBuf, PathBuf) {
    let (source, labels) = (root.join("annotated"), root.join("coco.json"));
    fs::create_dir_all(&source).unwrap();
    let turned = [b"Exif\0\0", &exif(6, true)[..]].concat();
    let turned = jpeg_with(fixtures::JPEG_420, &[(0xE1, turned)]);
    let header = fdconvert_core::probe::probe(&turned).unwrap();
    let (width, height) = (header.width, header.height);
    fs::write(source.join("a.png"), &fixtures::png(64, 48, 1).bytes).unwrap();
    fs::write(source.join("b.jpg"), &turned).unwrap();
    fs::write(source.join("c.png"), &fixtures::png(64, 48, 3).bytes).unwrap();
    let text = json!({
        "images": [
            {"id": 1, "file_name": "a.png", "width": 64, "height": 48},
            {"id": 2, "file_name": "b.jpg", "width": width, "height": height},
            {"id": 3, "file_name": "c.png", "width": 64, "height": 48}
        ],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": 3, "bbox": [1, 2, 30, 40], "area": 900, "iscrowd": 1},
            {"id": 2, "image_id": 1, "category_id": 9, "bbox": [5, 5, 10, 10], "area": 99, "iscrowd": 0},
            {"id": 3, "image_id": 2, "category_id": 3, "bbox": [2, 1, 4, 3], "area": 12, "iscrowd": 0}
        ],
        "categories": [{"id": 3, "name": "car"}, {"id": 9, "name": "person"}]
    });
    fs::write(&labels, text.to_string()).unwrap();
    (source, labels)
}

#[test]
fn objects_choose_samples() {
    let root = tempfile::tempdir().unwrap();
    let (source, labels) = annotated(root.path());
    let path = |name: &str| root.path().join(name);
    let formats = ["beton", "wds", "mds", "parquet", "mixed"];
    let mut sources: Vec<(PathBuf, Vec<PathBuf>)> = vec![(source.clone(), vec![labels.clone()])];
    for format in formats {
        let out = path(&format!("all.{format}"));
        ok(&[&"pack", &source, &out, &"--format", &format, &"--labels", &labels]);
        sources.push((out, Vec::new()));
    }
    let out = path("o.wds");
    for (expression, expected) in [
        ("any(category == 'car')", &["a.png", "b.jpg"][..]),
        ("any(category == 1)", &["a.png"]),
        ("any(category == 0 && area < 100)", &["b.jpg"]),
        // The upright one: packing turns what was annotated as stored.
        ("any(width == 3 && height == 4 && left > 2)", &["b.jpg"]),
        ("any(width == 4)", &[]),
        ("n_objects == 0", &["c.png"]),
        ("n_objects > 0 && !any(iscrowd == 1)", &["b.jpg"]),
        ("count(category in ['car', 'person']) >= 2 && width == 64", &["a.png"]),
    ] {
        for (source, labels) in &sources {
            let mut args: Args<'_> =
                vec![&"pack", source, &out, &"--overwrite", &"--where", &expression];
            args.extend(labels.iter().flat_map(|it| [&"--labels" as &dyn AsRef<OsStr>, it]));
            if expected.is_empty() {
                assert!(fails(&args).contains("none of the 3 samples"), "{expression}");
                continue;
            }
            ok(&args);
            let mut found = keys(&out);
            found.sort_unstable();
            assert_eq!(found, expected, "{expression}: {}", source.display());
        }
    }
    // Numbers of a list are those that packing gives.
    let list = path("classes.txt");
    fs::write(&list, "person\ntree\ncar\n").unwrap();
    let expression = "any(category == 2) && !any(category == 0)";
    let args: [&dyn AsRef<OsStr>; 8] = [
        &"pack",
        &path("all.beton"),
        &out,
        &"--overwrite",
        &"--classes",
        &list,
        &"--where",
        &expression,
    ];
    ok(&args);
    assert_eq!(keys(&out), ["b.jpg"]);
}

#[test]
fn objects_that_cannot_be_read_or_do_not_exist_are_told() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), sized(root.path()));
    let (out, table) = (root.join("o.wds"), root.join("table.jsonl"));
    for (expression, expected) in [
        (
            "any(width > 3)",
            "column 1, after ^: `any` is of the objects in an image, and the source",
        ),
        ("width > 3 && n_objects > 1", "column 14, after ^: `n_objects` is of the objects"),
    ] {
        let said = fails(&[&"pack", &source, &out, &"--where", &expression]);
        assert!(said.contains(expected), "{said}");
    }
    let row = |name: &str, objects: Value| json!({"path": name, "objects": objects}).to_string();
    let rows = [
        row("cat/1.png", json!({"bbox": [[1, 2, 3]], "category": [0]})),
        row("cat/2.png", json!({"bbox": [[1, 2, 3, 4]], "category": [0], "occluded": [true]})),
        row("dog/1.png", json!({"bbox": []})),
    ];
    fs::write(&table, rows.join("\n")).unwrap();
    let expression = "any(occluded == 1)";
    let mut args: Args<'_> =
        vec![&"pack", &source, &out, &"--labels", &table, &"--where", &expression];
    let said = fails(&args);
    assert!(said.contains("`cat/1.png`: its field `objects`: its JSON cannot be read"), "{said}");
    // What is skipped is up to the run, which has no need of the objects.
    args.extend([&"--on-error" as &dyn AsRef<OsStr>, &"skip"]);
    ok(&args);
    assert_eq!(keys(&out), ["cat/1.png", "cat/2.png"]);
}

#[test]
fn errors_in_expressions_point_at_their_place() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), sized(root.path()));
    let out = root.join("o.beton");
    for (expression, expected) in [
        ("width >= ", "column 10, after ^: a name, a number or a text is missing here"),
        (
            "widht >= 3",
            "unknown `widht`; expected one of: width, height, bytes, codec, label, key, split, index;",
        ),
        ("label == 3", "column 10, after ^: expected a text, got a number: label == ^3"),
        ("label == cat", "unknown `cat`; expected one of: width"),
        ("index == 'a'", "expected a number, got a text"),
        ("width = 3", "column 7, after ^: compare with =="),
        ("width", "expected true or false, got a number; compare it"),
        ("width > 3 and height > 3", "column 11, after ^: an operator is missing in front"),
        ("1 < width < 9", "this compares numbers or texts, and its left side is true or false"),
        ("(width > 3", "column 11, after ^: a ) is missing here"),
        ("key == 'x", "column 8, after ^: its closing ' is missing"),
        ("width in [1, 'a']", "expected a number, got a text"),
        ("width > 1x", "`1x` is not a number"),
        ("width > 1 ? 2", "column 11, after ^: `?` means nothing here"),
    ] {
        let said = fails(&[&"pack", &source, &out, &"--where", &expression]);
        assert!(said.contains("--where: column") && said.contains(expected), "{said}");
    }
    // A text that can never be equal is mistyped.
    let none = "is not among the classes of the source: cat, dog";
    for (expression, expected) in [
        ("label == 'dgo'", none),
        ("width > 3 && 'dgo' != label", none),
        ("!(label in ['cat', 'dgo'])", none),
        ("split == 'dgo'", "is not among the splits of the source: it has none"),
    ] {
        let said = fails(&[&"pack", &source, &out, &"--where", &expression]);
        assert!(said.contains(&format!("--where: `dgo` {expected}")), "{said}");
    }
    let deep = format!("{}width > 1{}", "(".repeat(5000), ")".repeat(5000));
    let said = fails(&[&"pack", &source, &out, &"--where", &deep]);
    assert!(said.contains("more than 64 nested parts"), "{said}");
    let long = format!("width > 1{}", " || width > 1".repeat(4000));
    let said = fails(&[&"pack", &source, &out, &"--where", &long]);
    assert!(said.contains("it has more than 256 parts"), "{said}");
    assert!(!out.exists());
}

/// An image is broken with or without an expression.
#[test]
fn what_cannot_be_looked_at_is_an_error_or_skipped() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), sized(root.path()));
    fs::write(source.join("cat/0.png"), b"no image").unwrap();
    let out = root.join("o.wds");
    let said = fails(&[&"pack", &source, &out, &"--where", &"width > 32"]);
    assert!(said.contains("cat/0.png"), "{said}");
    for (choice, how) in [("--where", "width > 32"), ("--dedup", "exact")] {
        let args: [&dyn AsRef<OsStr>; 9] = [
            &"pack",
            &source,
            &out,
            &"--overwrite",
            &choice,
            &how,
            &"--on-error",
            &"skip",
            &"--json",
        ];
        let report: Value = serde_json::from_str(&crate::common::expect(1, &args)).unwrap();
        assert_eq!(report["skipped"][0]["key"], "cat/0.png");
    }
    // Expressions that need no image open none.
    ok(&[&"pack", &source, &out, &"--overwrite", &"--where", &"label == 'dog'"]);
}

/// Twelve images, some with the same bytes.
fn doubled(root: &Path) -> PathBuf {
    let source = root.join("doubled");
    tree(&source, &["a/1.png", "a/3.png", "b/1.png"]);
    for (name, seed) in [("a/2.png", 1), ("b/2.png", 2), ("b/3.png", 1), ("b/4.png", 2)] {
        fs::write(source.join(name), &fixtures::png(8, 8, seed).bytes).unwrap();
    }
    source
}

#[test]
fn the_first_of_equal_images_stays() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), doubled(root.path()));
    let path = |name: &str| root.join(name);
    let said = ok(&[&"pack", &source, &path("o.wds"), &"--dedup", &"exact"]);
    assert_eq!(keys(&path("o.wds")), ["a/1.png", "a/2.png", "b/2.png"]);
    let note = "4 of 7 samples left out as duplicates, 2 of them with another label: \
                a/3.png = a/1.png, b/1.png = a/1.png, b/3.png = a/2.png, b/4.png = b/2.png";
    assert!(said.contains(note), "{said}");
    let recorded = params(&path("o.wds"));
    assert_eq!(recorded["dedup"], "exact, left out 4 of 7, 2 of them with another label");
    assert!(recorded["dedup-pairs"].as_str().unwrap().ends_with("b/4.png = b/2.png"));
    // The same for any number of threads, for packed sources, and by a plan.
    for threads in ["1", "3"] {
        let out = path(threads).with_extension("wds");
        ok(&[&"pack", &source, &out, &"--dedup", &"exact", &"--threads", &threads]);
        assert_same_tree(&path("o.wds"), &out);
    }
    ok(&[&"pack", &source, &path("all.beton")]);
    let args: [&dyn AsRef<OsStr>; 6] =
        [&"pack", &path("all.beton"), &path("p.wds"), &"--dedup", &"exact", &"--json"];
    let report: Value = serde_json::from_str(&ok(&args)).unwrap();
    assert_eq!(keys(&path("p.wds")), keys(&path("o.wds")));
    assert_eq!((&report["left_out"], &report["dedup"]["left_out"]), (&json!(4), &json!(4)));
    assert_eq!(report["dedup"]["other_label"], 2);
    assert_eq!(report["dedup"]["first"][0], json!({"left_out": "a/3.png", "kept": "a/1.png"}));
    assert_eq!(report["where"], Value::Null);
    let plan: [&dyn AsRef<OsStr>; 8] =
        [&"plan", &source, &"-o", &path("plan"), &"--format", &"wds", &"--dedup", &"exact"];
    assert!(ok(&plan).contains("left out as duplicates"));
    ok(&[&"pack", &"--plan", &path("plan"), &path("q.wds")]);
    assert_same_tree(&path("o.wds"), &path("q.wds"));
}

#[test]
fn what_is_chosen_before_is_compared_and_shares_are_taken_after() {
    let root = tempfile::tempdir().unwrap();
    let (root, source) = (root.path(), doubled(root.path()));
    let out = root.join("o.beton");
    let taken = |more: &[&dyn AsRef<OsStr>]| {
        let mut args: Args<'_> = vec![&"pack", &source, &out, &"--overwrite", &"--dedup", &"exact"];
        args.extend(more);
        ok(&args);
        keys(&out)
    };
    assert_eq!(taken(&[&"--where", &"label == 'b'"]), ["b/1.png", "b/2.png", "b/3.png"]);
    assert_eq!(taken(&[&"--where", &"key != 'a/1.png'"]), ["a/2.png", "a/3.png", "b/2.png"]);
    assert_eq!(taken(&[&"--sample", &"100%"]).len(), 3);
    let list = root.join("keys.txt");
    fs::write(&list, "b/4.png\nb/3.png\n").unwrap();
    assert_eq!(taken(&[&"--keys", &list]), ["b/3.png", "b/4.png"]);
    assert_eq!(taken(&[&"--sample", &"67%"]).len(), 2);
}

#[test]
fn formulas_are_neither_chosen_nor_stripped() {
    let root = tempfile::tempdir().unwrap();
    let recipe = "fractal:svd?classes=2&instances=2";
    for (option, value) in
        [("--where", "width > 1"), ("--dedup", "exact"), ("--strip-metadata", "gps")]
    {
        let out = root.path().join("o.formula");
        let said = fails(&[&"pack", &recipe, &out, &option, &value]);
        assert!(said.contains("a formula keeps no images"), "{said}");
    }
    // They are selected like any other images.
    let out = root.path().join("o.wds");
    ok(&[&"pack", &recipe, &out, &"--where", &"width > 1", &"--dedup", &"exact"]);
}

#[test]
fn names_in_front_tell_sources_apart() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    for folder in ["left", "right"] {
        tree(&path(folder), &["a/1.png", "b/1.png"]);
    }
    let (left, right) = (path("left"), path("right"));
    let said = fails(&[&"pack", &left, &right, &path("x.wds")]);
    assert!(said.contains("to distinguish those of several sources: --prefix auto"), "{said}");
    ok(&[&"pack", &left, &right, &path("auto.wds"), &"--prefix", &"auto"]);
    assert_eq!(
        keys(&path("auto.wds")),
        ["left/a/1.png", "left/b/1.png", "right/a/1.png", "right/b/1.png"]
    );
    assert_eq!(params(&path("auto.wds"))["prefix"], "auto");
    ok(&[&"unpack", &path("auto.wds"), &path("files")]);
    assert!(path("files/right/b/1.png").exists());
    ok(&[&"pack", &left, &right, &path("n.mds"), &"--prefix", &"l,r"]);
    assert_eq!(keys(&path("n.mds")), ["l/a/1.png", "l/b/1.png", "r/a/1.png", "r/b/1.png"]);
    // By a plan, and with a single source.
    let plan: [&dyn AsRef<OsStr>; 9] =
        [&"plan", &left, &right, &"-o", &path("plan"), &"--format", &"wds", &"--prefix", &"auto"];
    ok(&plan);
    ok(&[&"pack", &"--plan", &path("plan"), &path("planned.wds")]);
    assert_same_tree(&path("auto.wds"), &path("planned.wds"));
    ok(&[&"pack", &left, &path("one.beton"), &"--prefix", &"mine"]);
    assert_eq!(keys(&path("one.beton")), ["mine/a/1.png", "mine/b/1.png"]);
    let refused =
        |names: &str| fails(&[&"pack", &left, &right, &path("y.wds"), &"--prefix", &names]);
    assert!(refused("one").contains("it has 1 names for 2 sources"));
    assert!(refused("x,x").contains("two sources are called `x`"));
    assert!(refused("a/b,c").contains("`a/b` is not a name"));
}

/// In the form of Python's keywords: texts and lists.
#[test]
fn options_come_from_json() {
    let root = tempfile::tempdir().unwrap();
    let (left, right) = (sized(root.path()), doubled(root.path()));
    let Value::Object(object) = json!({
        "where": "width >= 8",
        "dedup": "exact",
        "strip_metadata": ["exif", "gps"],
        "prefix": "l,r",
    }) else {
        unreachable!()
    };
    let out = root.path().join("o.wds");
    let pack = fdconvert::Pack::from_json(vec![left, right], out.clone(), object).unwrap();
    // Three sizes of noise, two seeds; smaller images are left out.
    assert_eq!(pack.run().unwrap().samples, keys(&out).len() as u64);
    assert!(keys(&out).iter().all(|key| key.starts_with("l/") || key.starts_with("r/")));
    assert_eq!(params(&out)["strip-metadata"], "exif,gps");
}
