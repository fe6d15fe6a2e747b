//! Fractals through the command: categories, single images, datasets in every format, formulas.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{self, fails, fdconvert, names, ok, text};
use fdconvert_codec::Decoder;
use fdconvert_core::{Codec, Encoded, ImageHeader, Limits, Pixels, Value};
use fdconvert_testkit::{
    compare::{assert_same_tree, sha256},
    fixtures,
};
use serde_json::Value as Json;
use std::{fs, path::Path};

/// Small, with all flips, rows of weights and two patches.
const RECIPE: &str = "fractal:fractaldb?classes=3&instances=200&size=48&points=900";

fn json(args: &[&dyn AsRef<std::ffi::OsStr>]) -> Json {
    serde_json::from_str(&ok(args)).unwrap()
}

fn decode(path: &Path) -> (Pixels, ImageHeader) {
    let bytes = fs::read(path).unwrap();
    let header = fdconvert_core::probe::probe(&bytes).unwrap();
    let (width, height) = (header.width, header.height);
    let encoded = Encoded::new(header.codec, width, height, bytes.into());
    let decoded = Decoder::new().decode("test", &encoded, &Limits::DEFAULT).unwrap();
    (decoded.pixels, header)
}

#[test]
fn search_writes_the_published_categories() {
    let root = tempfile::tempdir().unwrap();
    let (flat, folders) = (root.path().join("flat"), root.path().join("folders"));
    let said = ok(&[&"fractal", &"search", &"--classes", &"30", &flat]);
    assert!(said.contains("found 30 categories among"), "{said}");
    assert_eq!(names(&flat).len(), 30);
    let report = json(&[
        &"fractal",
        &"search",
        &"--seed",
        &"1",
        &"--classes",
        &"30",
        &"--rate",
        &"0.2",
        &"--full",
        &"--layout",
        &"folders",
        &folders,
        &"--json",
    ]);
    assert_eq!(report["categories"], 30);
    assert_eq!(names(&folders), ["csv0", "csv1"]);
    for name in names(&flat) {
        let folder = if name.as_str() < "00025.csv" { "csv0" } else { "csv1" };
        let other = fs::read(folders.join(folder).join(&name)).unwrap();
        assert_eq!(fs::read(flat.join(&name)).unwrap(), other);
    }
    let published = fixtures::table("fractaldb/published.csv");
    for row in &published[..6] {
        let file = flat.join(format!("{:0>5}.csv", row[0]));
        assert_eq!(common::sha256_file(&file), row[1], "{}", file.display());
    }
    assert!(fails(&[&"fractal", &"search", &"--classes", &"1", &flat]).contains("exists"));
}

/// `render` reproduces every recorded image of the original, from categories that the search finds.
#[test]
fn render_gives_the_originals_pixels() {
    let root = tempfile::tempdir().unwrap();
    let categories = root.path().join("categories");
    ok(&[&"fractal", &"search", &"--classes", &"1000", &categories, &"-q"]);
    let out = root.path().join("out.png");
    let images = fixtures::table("fractaldb/originals.csv");
    assert_eq!(images.len(), 64);
    for image in images {
        let [category, weight_row, points, size, draw, pixels_sha256] = &image[..] else {
            panic!("{image:?}")
        };
        let mut command = fdconvert();
        command.args(["fractal", "render", "--quiet", "--overwrite", "--seed", "7"]);
        command.args(["--draw", draw, "--points", points, "--size", size]);
        if !weight_row.is_empty() {
            command.args(["--weight", "0.4", "--weight-row", weight_row]);
        }
        let category = categories.join(format!("{category:0>5}.csv"));
        let output = command.arg(&category).arg(&out).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let (pixels, header) = decode(&out);
        assert_eq!(header.bits, 8);
        assert_eq!(sha256(&pixels.data), *pixels_sha256, "{image:?}");
    }
}

/// The same without reference images: the search finds the category.
#[test]
fn render_needs_nothing_but_a_category() {
    let root = tempfile::tempdir().unwrap();
    let categories = root.path().join("categories");
    ok(&[&"fractal", &"search", &"--classes", &"121", &categories, &"-q"]);
    let category = categories.join("00120.csv");
    let out = root.path().join("x.png");
    let render = |more: &[&str]| {
        let mut command = fdconvert();
        command.args(["fractal", "render", "-q", "--overwrite", "--points", "100000"]);
        command.args(["--size", "256", "--draw", "point_gray"]).args(more);
        let output = command.arg(&category).arg(&out).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let (pixels, _) = decode(&out);
        (sha256(&pixels.data), pixels.data.iter().filter(|gray| **gray != 0).count())
    };
    // Hashes of the original's images; row 4 overflows and ends in NaN.
    let base = "4b5e599bd4fdc8ba76f2090cd4f77a612fc7d38ab592978d956248483cc40d24";
    let row_4 = "2f75c06dc8bc7c7a18a8ac013d0337bc5f49b37ac018ae1a6fbcc6713994f6ba";
    let exact = render(&[]);
    assert_eq!(exact.0, base);
    assert_eq!(render(&["--weight", "0.4", "--weight-row", "2"]).0, base);
    assert_eq!(render(&["--weight", "0.4", "--weight-row", "4"]).0, row_4);
    let fast = render(&["--sampler", "lanes64-v1", "--seed", "3"]);
    assert_eq!(fast, render(&["--sampler", "lanes64-v1", "--seed", "3"]));
    assert_ne!(fast, render(&["--sampler", "lanes64-v1", "--seed", "4"]));
    let difference = (fast.1 as f64 - exact.1 as f64) / exact.1 as f64;
    assert!(difference.abs() < 0.05, "fill differs by {difference}");

    assert!(fails(&[&"fractal", &"render", &category, &out]).contains("exists"));
    let wrong = root.path().join("wrong.csv");
    fs::write(&wrong, "1,2,3\n").unwrap();
    let said = fails(&[&"fractal", &"render", &wrong, &root.path().join("y.png")]);
    assert!(said.contains("wrong.csv") && said.contains("3 columns"), "{said}");
}

/// Every format keeps the same pixels; shards and folders as 1-bit PNG; any number of threads.
#[test]
fn recipes_are_packed_like_folders() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let pack = |out: &Path, more: &[&str]| {
        let output = fdconvert().args(["pack", RECIPE]).arg(out).args(more).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let said = pack(&path("wds"), &["--format", "wds", "--threads", "1"]);
    assert!(said.contains("600 png") && !said.contains("cost"), "{said}");
    pack(&path("wds2"), &["--format", "wds", "--threads", "2"]);
    assert_same_tree(&path("wds"), &path("wds2"));
    pack(&path("x.beton"), &[]);
    pack(&path("mds"), &["--format", "mds"]);
    pack(&path("folder"), &["--format", "folder"]);
    pack(&path("x.formula"), &[]);
    ok(&[&"unpack", &path("wds"), &path("from-wds"), &"-q"]);
    assert!(path("folder/00002/00002_24_count_1_flip3.png").is_file());

    let formula = fdconvert_reader::open(path("x.formula")).unwrap();
    assert_eq!(formula.len(), 600);
    let datasets: Vec<_> = ["wds", "x.beton", "mds", "folder", "from-wds"]
        .map(|name| fdconvert_reader::open(path(name)).unwrap())
        .into();
    let mut decoder = Decoder::new();
    for index in (0..600).step_by(13) {
        let expected = formula.get(index).unwrap();
        let Value::Image(pixels) = &expected.values[0] else { panic!("no image") };
        for dataset in &datasets {
            let sample = dataset.get(index).unwrap();
            assert_eq!(sample.key, expected.key, "{}", dataset.name());
            assert_eq!(sample.values[1], expected.values[1]);
            let metadata = sample.values.iter().find_map(|value| match value {
                Value::Json(text) => serde_json::from_slice::<Json>(text).ok(),
                _ => None,
            });
            assert_eq!(metadata.unwrap()["weight_row"], index % 200 / 8);
            let Value::Image(image) = &sample.values[0] else { panic!("no image") };
            if image.codec == Codec::Png {
                // IHDR: one bit, palette.
                assert_eq!(image.bytes[24..26], [1, 3]);
            }
            let decoded = decoder.decode("test", image, &Limits::DEFAULT).unwrap();
            assert_eq!(decoded.pixels.data, pixels.bytes, "{} {index}", dataset.name());
        }
    }
    for name in ["wds", "x.beton", "mds", "x.formula"] {
        ok(&[&"verify", &path(name), &"--deep", &"-q"]);
    }
    // A formula is a source like any other.
    ok(&[&"pack", &path("x.formula"), &path("wds3"), &"--format", &"wds", &"-q"]);
    let shard = |name: &str| fs::read(path(name).join("train-000000.tar")).unwrap();
    assert_eq!(shard("wds3"), shard("wds"));
}

/// Three-dimensional fractals: in every format the same white points, with any number of threads.
#[test]
fn views_are_packed_like_other_fractals() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let recipe = "fractal:ex-fractaldb?classes=2&weight=0.1&views=3&size=48&points=900";
    for (out, format, threads) in
        [("wds", "wds", "1"), ("wds2", "wds", "2"), ("x.beton", "beton", "2"), ("f", "folder", "2")]
    {
        ok(&[&"pack", &recipe, &path(out), &"--format", &format, &"--threads", &threads, &"-q"]);
    }
    ok(&[&"pack", &recipe, &path("x.formula"), &"-q"]);
    assert_same_tree(&path("wds"), &path("wds2"));
    assert!(path("f/000001/000001_00024_002.png").is_file());
    let formula = fdconvert_reader::open(path("x.formula")).unwrap();
    assert_eq!(formula.len(), 150);
    let mut decoder = Decoder::new();
    for name in ["wds", "x.beton", "f"] {
        let dataset = fdconvert_reader::open(path(name)).unwrap();
        for index in (0..150).step_by(7) {
            let (sample, expected) = (dataset.get(index).unwrap(), formula.get(index).unwrap());
            assert_eq!((&sample.key, &sample.values[1]), (&expected.key, &expected.values[1]));
            let (Value::Image(image), Value::Image(pixels)) =
                (&sample.values[0], &expected.values[0])
            else {
                panic!("no image")
            };
            let decoded = decoder.decode("test", image, &Limits::DEFAULT).unwrap();
            // Black and white are two levels of gray in a PNG.
            let n = 3 / usize::from(decoded.pixels.channels);
            let found = decoded.pixels.data.iter().flat_map(|value| vec![*value; n]);
            assert!(found.eq(pixels.bytes.iter().copied()), "{name} {index}");
            assert!(pixels.bytes.iter().all(|value| matches!(value, 0 | 255)));
        }
    }
    ok(&[&"verify", &path("x.formula"), &"--deep", &"-q"]);

    // Their categories as files, which form a dataset again.
    let search = |out: &str, more: &[&str]| {
        let mut command = fdconvert();
        command.args(["fractal", "search", "--classes", "2"]).arg(path(out)).args(more);
        command.output().unwrap()
    };
    assert!(search("categories", &["--family", "mv-fractaldb"]).status.success());
    assert_eq!(names(&path("categories")), ["000000.csv", "000001.csv"]);
    let csv = format!(
        "fractal:csv?path={}&weight=0.1&views=3&size=48&points=900&turn=3.141592653589793",
        path("categories").display()
    );
    ok(&[&"pack", &csv, &path("from-csv"), &"--format", &"folder", &"-q"]);
    assert_same_tree(&path("f/000001"), &path("from-csv/000001"));
    let sheet = json(&[&"fractal", &"sheet", &csv, &path("sheet.png"), &"--json"]);
    assert_eq!(sheet["images"][0], "000000/000000_00000_000.png");
    assert!(ok(&[&"fractal", &"census", &csv]).contains("2 categories by 25 rows"));

    for (more, words) in [
        (&["--variance", "0.1"][..], "--family mv-fractaldb"),
        (&["--family", "mv-fractaldb", "--rate", "0.2"], "search of fractaldb"),
        (&["--family", "mv-fractaldb", "--full"], "search of fractaldb"),
    ] {
        let output = search("other", more);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{said}");
    }
    let category = path("categories/000001.csv");
    let said = fails(&[&"fractal", &"render", &category, &path("x.png")]);
    assert!(said.contains("fractal sheet") && said.contains("000001.csv"), "{said}");
}

#[test]
fn jpeg_is_only_written_when_asked_for_and_warned_of() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("x.beton");
    let args: [&dyn AsRef<std::ffi::OsStr>; 5] = [&"pack", &RECIPE, &out, &"--jpeg-quality", &"90"];
    let said = ok(&args);
    assert!(said.contains("600 jpg") && said.contains("two-level images became JPEG"), "{said}");
}

#[test]
fn parts_of_a_plan_draw_the_same() {
    let root = tempfile::tempdir().unwrap();
    let (plan, parts, whole) =
        (root.path().join("p.fdplan"), root.path().join("parts"), root.path().join("whole"));
    let shape = ["--format", "wds", "--shard-count", "70", "--shuffle", "--seed", "3"];
    let planned = fdconvert().args(["plan", RECIPE, "-o"]).arg(&plan).args(shape).output().unwrap();
    assert!(planned.status.success(), "{}", text(&planned.stderr));
    for part in ["2/3", "1/3", "3/3"] {
        ok(&[&"pack", &"--plan", &plan, &"--part", &part, &parts, &"-q"]);
    }
    ok(&[&"merge", &parts, &"-q"]);
    let output = fdconvert().args(["pack", RECIPE]).arg(&whole).args(shape).output().unwrap();
    assert!(output.status.success());
    for name in names(&whole).iter().filter(|name| name.ends_with(".tar")) {
        assert_eq!(fs::read(whole.join(name)).unwrap(), fs::read(parts.join(name)).unwrap());
    }
}

/// Commands on datasets accept a recipe instead, with paths relative as in `pack`.
#[test]
fn recipes_are_datasets() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    ok(&[&"pack", &RECIPE, &path("x.formula"), &"-q"]);
    let (recipe, file) = (
        json(&[&"inspect", &RECIPE, &"--json"]),
        json(&[&"inspect", &path("x.formula"), &"--json"]),
    );
    for key in ["samples", "schema", "stats"] {
        assert_eq!(recipe[key], file[key], "{key}");
    }
    assert_eq!(recipe["provenance"], Json::Null);
    let verified = json(&[&"verify", &RECIPE, &"--deep", &"--json"]);
    assert_eq!((&verified["samples"], &verified["problems"]), (&600.into(), &Json::Array(vec![])));
    ok(&[&"unpack", &RECIPE, &path("a"), &"-q"]);
    ok(&[&"unpack", &path("x.formula"), &path("b"), &"-q"]);
    // Besides the images, the record has their origin.
    assert_same_tree(&path("a/00001"), &path("b/00001"));

    ok(&[&"fractal", &"search", &"--classes", &"2", &path("categories"), &"-q"]);
    let csv = "fractal:csv?path=categories&instances=100&size=48&points=900";
    let mut here = fdconvert();
    here.current_dir(root.path()).args(["inspect", "--json", csv]);
    let found: Json = serde_json::from_slice(&here.output().unwrap().stdout).unwrap();
    assert_eq!((&found["samples"], &found["details"]["classes"]), (&200.into(), &2.into()));
    assert!(fails(&[&"inspect", &csv]).contains("categories"), "of the folder it runs in");
    for command in ["inspect", "verify", "bench"] {
        let said = fails(&[&command, &"fractal:svd?clases=2"]);
        assert!(said.contains("no key `clases`") && said.contains("classes"), "{said}");
    }
}

#[test]
fn formulas_refuse_what_needs_images() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("x.formula");
    let refuse = |args: &[&dyn AsRef<std::ffi::OsStr>], words: &str| {
        let said = fails(args);
        assert!(said.contains(words), "{said}");
        assert!(!out.exists());
    };
    let kodak = common::kodak_classes(root.path());
    refuse(&[&"pack", &kodak, &out], "only a recipe becomes one");
    refuse(&[&"pack", &RECIPE, &RECIPE, &out], "keeps one recipe");
    refuse(&[&"pack", &RECIPE, &out, &"--encode", &"png"], "encoded or resized");
    refuse(&[&"pack", &RECIPE, &out, &"--shuffle"], "shuffled");
    refuse(&[&"pack", &"fractal:fractaldb?sise=3", &out], "no key `sise`");
    let said = ok(&[&"pack", &RECIPE, &out, &"--dry-run"]);
    assert!(said.contains("a formula of 600 images") && !out.exists(), "{said}");
    let plan = json(&[&"pack", &RECIPE, &out, &"--dry-run", &"--json"]);
    assert_eq!((&plan["samples"], &plan["format"]), (&600.into(), &"formula".into()));
    ok(&[&"pack", &RECIPE, &out, &"-q"]);
    // The same file exists already; a different one would have to replace it.
    assert!(ok(&[&"pack", &RECIPE, &out]).contains("already complete"));
    let other = "fractal:fractaldb?classes=1";
    assert!(fails(&[&"pack", &other, &out]).contains("exists"));
    let report = json(&[&"pack", &RECIPE, &out, &"--overwrite", &"--json"]);
    assert_eq!((&report["samples"], &report["classes"]), (&600.into(), &3.into()));
}

#[test]
fn sheets_and_censuses_show_what_is_there() {
    let root = tempfile::tempdir().unwrap();
    let (sheet, csv) = (root.path().join("sheet.png"), root.path().join("fills.csv"));
    let recipe = "fractal:fractaldb?classes=6&size=256&points=100000";
    let report = json(&[
        &"fractal",
        &"sheet",
        &recipe,
        &sheet,
        &"--rows",
        &"2",
        &"--columns",
        &"5",
        &"--tile",
        &"50",
        &"--json",
    ]);
    assert_eq!(report["images"].as_array().unwrap().len(), 10);
    let (pixels, _) = decode(&sheet);
    assert_eq!((pixels.width, pixels.height), (4 + 5 * 54, 4 + 2 * 54));

    let said = ok(&[&"fractal", &"census", &recipe, &"--csv", &csv]);
    assert!(said.contains("6 categories by 25 rows of weights"), "{said}");
    let counted = fs::read_to_string(&csv).unwrap();
    assert_eq!(counted.lines().count(), 151);
    assert!(counted.starts_with("category,weight_row,fill_256_100000\n00000,0,0.20854\n"));
    let census = fs::read_to_string(fixtures::fixture("fractaldb/census.csv")).unwrap();
    for line in counted.lines().skip(1) {
        let mut cells = line.split(',');
        let class: u32 = cells.next().unwrap().parse().unwrap();
        let (row, fill) = (cells.next().unwrap(), cells.next().unwrap());
        // That census counted images with overflowing points as a single pixel. The original draws
        // more: its own image of category 120, row 4, has 79 pixels.
        let overflows = census.contains(&format!("\n{class},{row},0.00002\n"));
        assert!(overflows || census.contains(&format!("\n{class},{row},{fill}\n")), "{line}");
    }
    let report = json(&[&"fractal", &"census", &recipe, &"--json"]);
    assert_eq!(report["rows"].as_array().unwrap().len(), 25);
    assert!(ok(&[&"fractal", &"recipes"]).contains("visual_atom"));
}
