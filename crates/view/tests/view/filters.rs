//! Samples kept by filters, and counts of facets.
use crate::common::{Memory, Viewer, by, packed, sample};
use fdconvert::{Kind, Pack, PackOptions, Value};
use serde_json::{Value as Json, json};
use std::time::Duration;

#[track_caller]
fn facet<'a>(facets: &'a Json, name: &str) -> &'a Json {
    let facets = facets.as_array().unwrap();
    facets
        .iter()
        .find(|facet| facet["name"] == name)
        .unwrap_or_else(|| panic!("{name}: {facets:?}"))
}

fn counts(facet: &Json) -> Vec<(Json, u64)> {
    let of = |it: &Json| (it["value"].clone(), it["n"].as_u64().unwrap());
    facet["values"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn every_filter_keeps_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["wds", "beton", "mds"] {
        let viewer = Viewer::of(&packed(folder.path(), format));
        let all = viewer.json("api/samples");
        let rows = all["samples"].as_array().unwrap();
        assert_eq!(rows.len(), 12, "{all}");
        let of = |keeps: &dyn Fn(&Json) -> bool| -> Vec<u64> {
            let kept = rows.iter().filter(|row| keeps(row));
            kept.map(|row| row["sample"].as_u64().unwrap()).collect()
        };
        let width = |row: &Json| row["width"].as_u64().unwrap();
        let bytes = |row: &Json| row["bytes"].as_u64().unwrap();
        let key = |row: &Json| row["key"].as_str().unwrap().to_owned();
        let codec = if format == "beton" { "raw" } else { "png" };
        let cats = of(&|row| row["label"] == 0);
        assert_eq!(cats.len(), 4, "{format}");
        assert_eq!(viewer.kept(r#"label == "cat""#), cats);
        assert_eq!(viewer.kept(r#"label in ["cat", "fox"]"#).len(), 8);
        assert_eq!(viewer.kept(r#"label == "cow""#), [0; 0]);
        assert_eq!(viewer.kept(&format!("codec == '{codec}'")).len(), 12);
        assert_eq!(viewer.kept(r#"codec == "jpg""#), [0; 0]);
        let middle_widths = of(&|row| (45..=47).contains(&width(row)));
        assert_eq!(viewer.kept("width >= 45 && width <= 47"), middle_widths);
        assert_eq!(viewer.kept("width == 51"), of(&|row| width(row) == 51));
        assert_eq!(viewer.kept("!(width > 40)"), of(&|row| width(row) == 40));
        assert_eq!(viewer.kept("width >= 52"), [0; 0]);
        assert_eq!(viewer.kept("height == 30").len(), 12);
        assert_eq!(viewer.kept("width / height >= 1.6").len(), of(&|row| width(row) >= 48).len());
        let middle = bytes(&rows[5]);
        assert_eq!(viewer.kept(&format!("bytes >= {middle}")), of(&|row| bytes(row) >= middle));
        assert_eq!(viewer.kept(r#"key contains "dog""#), of(&|row| key(row).contains("dog")));
        assert_eq!(viewer.kept(r#"key contains "dog" || key contains "fox""#).len(), 8);
        let both = of(&|row| row["label"] == 0 && width(row) >= 45 && key(row).contains("cat"));
        let all = r#"label == "cat" && width >= 45 && key contains "cat""#;
        assert_eq!(viewer.kept(all), both);
        // Columns of several names, including keys.
        let wide = of(&|row| width(row) >= 50 || row["label"] == 1);
        assert_eq!(viewer.kept(r#"width >= 50 || label == "dog""#), wide);
        assert_eq!(viewer.kept(r#"width >= 50 || key contains "dog""#), wide);
        assert_eq!(viewer.kept(""), of(&|_| true));
    }
}

/// The page shows the samples that packing takes.
#[test]
fn an_expression_keeps_what_packing_keeps() {
    let folder = tempfile::tempdir().unwrap();
    let path = packed(folder.path(), "wds");
    let viewer = Viewer::of(&path);
    for (at, expression) in [
        r#"label == "cat" && width / height > 1.4"#,
        r#"!(label in ["cat", "dog"]) || bytes < 4000"#,
        r#"key ends_with "7.png" || codec != "png""#,
        "split == 'val'",
    ]
    .into_iter()
    .enumerate()
    {
        let kept = viewer.kept(expression).len() as u64;
        let options = PackOptions::default().format("wds").r#where(expression);
        let out = folder.path().join(format!("{at}.wds"));
        let packed = Pack::new([&path], out).options(options).run();
        // Packing nothing is an error.
        assert_eq!(packed.map_or(0, |report| report.samples), kept, "{expression}");
    }
}

#[test]
fn what_means_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "wds"));
    for (wrong, part) in [
        (by("label == 3"), "column 10, after ^: expected a text, got a number"),
        (
            by("nothing == 1"),
            "unknown `nothing`; expected one of: width, height, bytes, codec, label, key, split, index",
        ),
        (by("width"), "expected true or false, got a number"),
        (by("width > 3") + "&" + &by("width < 5"), "`where` is given twice"),
        ("colour=red".into(), "there is no parameter `colour`"),
        ("damaged=yes".into(), "it is 1 or not there"),
        ("start=-1".into(), "`start=-1` is not a number that fits"),
        ("count=0".into(), "`count=0` is not within 1 to 1000"),
        ("count=1001".into(), "is not within 1 to 1000"),
        ("count=1&count=2".into(), "`count` is given twice"),
        ("set=c".into(), "`set=c` is neither a nor b"),
    ] {
        let said = viewer.fails(400, &format!("api/samples?{wrong}"));
        assert!(said.contains(part), "{wrong}: {said}");
    }
    assert!(viewer.fails(404, "api/samples?set=b").contains("no second one"));
}

#[test]
fn pages_and_positions_are_within_what_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "wds"));
    let [cats, dogs] = ["cat", "dog"].map(|name| by(&format!("label == '{name}'")));
    let kept = viewer.kept("label == 'dog'");
    let page = viewer.json(&format!("api/samples?{dogs}&start=1&count=2"));
    assert_eq!((&page["total"], &page["start"]), (&json!(4), &json!(1)));
    let samples: Vec<_> =
        page["samples"].as_array().unwrap().iter().map(|row| row["sample"].clone()).collect();
    assert_eq!(samples, [json!(kept[1]), json!(kept[2])]);
    for past in ["start=4", "start=18446744073709551615", "start=3&count=1000"] {
        let page = viewer.json(&format!("api/samples?{dogs}&{past}"));
        assert!(page["samples"].as_array().unwrap().len() <= 1, "{page}");
    }
    let position = |query: &str| viewer.json(&format!("api/position?{query}"))["position"].clone();
    assert_eq!(position(&format!("{dogs}&sample={}", kept[3])), json!(3));
    assert_eq!(position(&format!("{cats}&sample={}", kept[3])), Json::Null);
    assert_eq!(position("sample=11"), json!(11));
    assert!(viewer.fails(404, "api/position?sample=12").contains("there is no sample 12, only 12"));
    assert!(viewer.fails(400, "api/position").contains("`sample` is missing"));
}

#[test]
fn facets_count_what_the_other_filters_keep() {
    let folder = tempfile::tempdir().unwrap();
    let viewer = Viewer::of(&packed(folder.path(), "wds"));
    let facets = viewer.facets("");
    let class = facet(&facets, "label");
    let [cat, dog, fox] = ["cat", "dog", "fox"].map(|name| json!(format!("\"{name}\"")));
    assert_eq!(counts(class), [(cat.clone(), 4), (dog.clone(), 4), (fox.clone(), 4)]);
    assert_eq!(class["values"][0]["title"], "cat");
    let width = facet(&facets, "width");
    assert_eq!((&width["min"], &width["max"]), (&json!(40), &json!(51)));
    let bins = width["bins"].as_array().unwrap();
    assert_eq!(bins.len(), 12);
    assert!(bins.iter().all(|bin| bin["n"] == 1 && bin["from"] == bin["to"]), "{width}");

    // A class does not narrow its own facet.
    let facets = viewer.facets("label == 'cat'");
    assert_eq!(counts(facet(&facets, "label")).len(), 3);
    assert_eq!(counts(facet(&facets, "codec")), [(json!("\"png\""), 4)]);
    let facets = viewer.facets("label == 'cat' && width >= 40 && width <= 43");
    let narrow = counts(facet(&facets, "label"));
    assert_eq!(narrow, [(cat, 2), (dog.clone(), 1), (fox, 1)]);
    let n_widths = facet(&facets, "width")["bins"].as_array().unwrap().iter();
    assert_eq!(n_widths.map(|bin| bin["n"].as_u64().unwrap()).sum::<u64>(), 4);
    // Nor does the aspect.
    let facets = viewer.facets("width / height < 1.5");
    let shapes = facet(&facets, "width / height")["bins"].as_array().unwrap().iter();
    assert_eq!(shapes.map(|bin| bin["n"].as_u64().unwrap()).sum::<u64>(), 12);
    assert_eq!(facet(&facets, "width / height")["title"], "aspect");
    let facets = viewer.facets("key contains 'dog'");
    assert_eq!(counts(facet(&facets, "label")), [(dog, 4)]);
}

/// Samples with an int, a float, a text, and a unique text.
fn numbers(n_samples: u64) -> Memory {
    let fields = vec![
        ("label", Kind::Int),
        ("at", Kind::Int),
        ("score", Kind::Float),
        ("the camera", Kind::Text),
        ("caption", Kind::Text),
    ];
    let values = |n: u64| {
        vec![
            Value::Int(n.cast_signed() % 3),
            Value::Int(n.cast_signed() - 5),
            Value::Float(n as f64 * 0.5 - 1.0),
            Value::Text(["left", "right", "a&b=c"][n as usize % 3].into()),
            Value::Text(format!("caption {n} {}", "x".repeat(300))),
        ]
    };
    let samples = (0..n_samples).map(|n| sample(&format!("{n}"), values(n))).collect();
    Memory::new(fields, samples)
}

#[test]
fn further_fields_are_filters_and_facets() {
    let mut memory = numbers(30);
    memory.facts.splits = vec![("train".into(), 0..20), ("val".into(), 20..30)];
    let viewer = Viewer::of_samples(memory);
    let facets = viewer.facets("");
    let names: Vec<_> = facets.as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["label", "split", "`at`", "score", "`the camera`"]);
    assert_eq!(viewer.kept("at == -5"), [0]);
    assert_eq!(viewer.kept("`at` >= -5 && `at` <= -3"), [0, 1, 2]);
    assert_eq!(viewer.kept("at >= 20"), [25, 26, 27, 28, 29]);
    assert_eq!(viewer.kept("score >= -1 && score <= -0.5"), [0, 1]);
    assert_eq!(viewer.kept("score >= 0.25 && score <= 1.25"), [3, 4]);
    assert_eq!(viewer.kept("`the camera` == 'a&b=c' && at <= 0"), [2, 5]);
    assert_eq!(viewer.kept("`the camera` == 'nowhere'"), [0; 0]);
    assert_eq!(viewer.kept("split == 'val' && label == 0"), [21, 24, 27]);
    assert_eq!(viewer.kept("split in ['val', 'train']").len(), 30);
    let said = viewer.fails(400, &format!("api/samples?{}", by("caption == 'x'")));
    assert!(said.contains("too long, or too many"), "{said}");
    let cameras = counts(facet(&facets, "`the camera`"));
    assert_eq!(cameras[0], (json!("\"left\""), 10));
    assert_eq!(counts(facet(&facets, "split")), [(json!("\"train\""), 20), (json!("\"val\""), 10)]);
}

#[test]
fn objects_are_filters_and_categories_a_facet() {
    let document = |n: u64| match n {
        0 => "null".to_owned(),
        1 => r#"{"bbox":[[1,2]]}"#.to_owned(),
        _ => {
            let boxes = vec![format!("[0,0,{n},2]"); n as usize].join(",");
            let names: Vec<_> =
                (0..n).map(|at| ["\"car\"", "\"a 'b'\""][at as usize % 2]).collect();
            format!(r#"{{"bbox":[{boxes}],"category_name":[{}]}}"#, names.join(","))
        }
    };
    let fields = vec![("score", Kind::Int), ("objects", Kind::Json)];
    let values = |n: u64| {
        let number = Value::Json(format!(r#"{{"bbox":[[1,1,1,1]],"category":[{n}]}}"#).into());
        let objects = if n > 97 { number } else { Value::Json(document(n % 5).into()) };
        sample(&format!("{n}"), vec![Value::Int(n.cast_signed()), objects])
    };
    let viewer = Viewer::of_samples(Memory::new(fields, (0..100).map(values).collect()));
    let [car, other, eight, nine] = [r#""car""#, r#""a 'b'""#, "98", "99"].map(|it| json!(it));
    let facets = viewer.facets("score < 98");
    let categories = facet(&facets, "any(category)");
    assert_eq!(categories["title"], "category");
    assert_eq!(counts(categories), [(other.clone(), 58), (car.clone(), 58)]);
    let facets = viewer.facets("");
    let all = [(other.clone(), 58), (car.clone(), 58), (eight.clone(), 1), (nine.clone(), 1)];
    assert_eq!(counts(facet(&facets, "any(category)")), all);
    let numbers = |facets: &Json| {
        let bins = facet(facets, "n_objects")["bins"].as_array().unwrap().clone();
        let bins = bins.into_iter().filter(|bin| bin["n"] != 0);
        bins.map(|bin| (bin["from"].clone(), bin["n"].as_u64().unwrap())).collect::<Vec<_>>()
    };
    let of = |all: &[(i64, u64)]| all.iter().map(|(from, n)| (json!(from), *n)).collect::<Vec<_>>();
    assert_eq!(numbers(&facets), of(&[(0, 20), (1, 2), (2, 20), (3, 19), (4, 19)]));
    // Nor does the condition on it narrow the number.
    let few = viewer.facets("n_objects >= 2 && n_objects <= 3 && score < 50");
    assert_eq!(numbers(&few), of(&[(0, 10), (2, 10), (3, 10), (4, 10)]));
    assert_eq!(counts(facet(&few, "any(category)")), [(other.clone(), 20), (car.clone(), 20)]);
    // Neither its own condition nor a number that cannot be read narrows it.
    let narrow = viewer.facets("any(category in [98, 99]) && score > 90");
    let counted = counts(facet(&narrow, "any(category)"));
    assert_eq!(counted, [(other, 4), (car, 4), (eight, 1), (nine, 1)]);
    let bins = facet(&narrow, "score")["bins"].as_array().unwrap().iter();
    assert_eq!(bins.map(|bin| bin["n"].as_u64().unwrap()).sum::<u64>(), 2);
    for (expression, n) in [
        ("any(category == 'car')", 58),
        ("any(category == \"a 'b'\") && n_objects == 3", 19),
        ("any(category == 99)", 1),
        ("n_objects == 0", 20),
        // What cannot be read has no number of objects.
        ("n_objects >= 0", 80),
        ("count(width == 4 && category == 'car') == 2 || score == 0", 20),
        ("any(area == 6) && key contains '7'", 2),
    ] {
        assert_eq!(viewer.kept(expression).len(), n, "{expression}");
    }
    let said = viewer.fails(400, &format!("api/samples?{}", by("any(colour == 1)")));
    assert!(said.contains("column 5") && said.contains("an object has: category"), "{said}");
}

#[test]
fn the_catalog_grows_while_requests_are_answered_and_is_complete_in_the_end() {
    let slow = Memory { slowness: Duration::from_millis(2), ..numbers(400) };
    let viewer = Viewer::of_samples(slow);
    let zeros = format!("api/samples?{}", by("label == 0"));
    let first = viewer.json(&zeros);
    assert!(first["scanned"].as_u64().unwrap() < 400, "{first}");
    // Requests for rows do not wait.
    let rows = viewer.json("api/samples?start=390&count=10");
    assert_eq!(rows["samples"].as_array().unwrap().len(), 10);
    assert_eq!((&rows["total"], &rows["samples"][0]["label"]), (&json!(400), &json!(0)));
    let mut totals = vec![first["total"].as_u64().unwrap()];
    let last = viewer.until(&zeros, |it| {
        assert!(it["total"].as_u64() <= Some(134), "{it}");
        it["scanned"] == 400
    });
    totals.push(last["total"].as_u64().unwrap());
    assert!(totals[0] < totals[1] && totals[1] == 134, "{totals:?}");
}

#[test]
fn a_slow_dataset_is_counted_by_several_threads_and_alike() {
    let fast = Viewer::of_samples(numbers(700));
    let slowness = Duration::from_micros(100);
    let slow = Viewer::of_samples(Memory { slowness, ..numbers(700) });
    for (asked, expression) in [
        ("api/facets?", ""),
        ("api/facets?", "label == 1 && at <= 200"),
        ("api/samples?count=1000&", "label == 2"),
        ("api/samples?count=1000&", "`the camera` == 'right' && score >= 20"),
    ] {
        let is_complete = |it: &Json| it["scanned"] == 700;
        let asked = format!("{asked}{}", by(expression));
        assert_eq!(slow.until(&asked, is_complete), fast.until(&asked, is_complete), "{asked}");
    }
}
