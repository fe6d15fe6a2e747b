//! Three-dimensional fractals: the original's categories and pixels, and the behaviour where it has
//! none.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use fdconvert_core::{Error, Image, Source, Value};
use fdconvert_fractal::{
    Category, Formula, FractalSource, Recipe, Sampler, Shape, SpaceSearch, SpaceSystem,
    space_weights,
};
use fdconvert_testkit::{compare::sha256, fixtures};
use std::collections::BTreeSet;

fn formula(recipe: &str) -> Formula {
    Recipe::parse(recipe).unwrap().resolve(&mut |_| true).unwrap()
}

fn source(recipe: &str) -> FractalSource {
    FractalSource::new(formula(recipe), recipe).unwrap()
}

fn rgb(source: &FractalSource, index: u64) -> Vec<u8> {
    let mut out = Vec::new();
    source.rgb_into(index, &mut out).unwrap();
    out
}

fn search(seed: u32, classes: usize) -> SpaceSearch {
    let mut search = SpaceSearch::new(seed, SpaceSearch::PUBLISHED_VARIANCE).unwrap();
    search.run(classes, &mut |_| true).unwrap();
    search
}

/// Images drawn by the original program with the seeds in our metadata.
#[test]
fn views_are_the_originals() {
    let images = fixtures::table("mvfractaldb/originals.csv");
    assert!(images.len() > 20);
    let source = source("fractal:mv-fractaldb?classes=2");
    for image in images {
        let [class, row, view, pixels_sha256] = &image[..] else { panic!("{image:?}") };
        let number = |text: &String| text.parse::<u64>().unwrap();
        let index = (number(class) * 145 + number(row)) * 12 + number(view);
        assert_eq!(sha256(&rgb(&source, index)), *pixels_sha256, "{}", source.key(index));
    }
}

/// The original's maps bit for bit, so the text of its files without the last column.
#[test]
fn the_search_finds_the_originals_systems() {
    let published = fixtures::table("mvfractaldb/search.csv");
    let found = search(1, published.len());
    for (category, row) in found.categories().iter().zip(&published) {
        assert_eq!(category.name, row[0]);
        let text = category.to_csv();
        let maps: Vec<_> = text.lines().map(|line| line.rsplit_once(',').unwrap().0).collect();
        assert_eq!(sha256(maps.join("\n").as_bytes()), row[1], "{}", category.name);
    }
}

#[test]
fn a_search_continues_where_it_stopped() {
    let whole = search(3, 9);
    let mut parts = SpaceSearch::new(3, SpaceSearch::PUBLISHED_VARIANCE).unwrap();
    for classes in [1, 4, 4, 9] {
        parts.run(classes, &mut |_| true).unwrap();
        assert_eq!(parts.found().len(), classes);
    }
    assert_eq!((parts.found(), parts.tried()), (whole.found(), whole.tried()));
    assert_ne!(search(4, 1).found(), &whole.found()[..1]);
    for variance in [-0.1, 1.0, f64::NAN] {
        assert!(matches!(SpaceSearch::new(1, variance), Err(Error::Usage { .. })));
    }
    let mut stopped = SpaceSearch::new(1, 0.05).unwrap();
    assert!(matches!(stopped.run(1000, &mut |n| n < 3), Err(Error::Cancelled)));
}

#[test]
fn tables_of_weights_are_the_published_ones() {
    let of = |reach| space_weights(reach).unwrap();
    let rows = [None, Some(0.1), Some(0.2), Some(0.3), Some(0.4), Some(0.5), Some(0.6)].map(of);
    assert_eq!(rows.each_ref().map(Vec::len), [1, 25, 49, 73, 97, 121, 145]);
    let row = |place: usize, factor: f64| {
        let mut row = [1.0; 12];
        row[place] = factor;
        row
    };
    let first = [0.9, 1.0, 1.1].map(|factor| row(0, factor));
    assert_eq!(rows[1][..3], first);
    assert_eq!(rows[1][3..5], [row(1, 0.9), row(1, 1.1)]);
    assert_eq!((rows[6][0], rows[6][6], rows[6][13]), (row(0, 0.4), [1.0; 12], row(1, 0.4)));
    assert_eq!(rows[6][144], row(11, 1.6));
    // The misprint of the published table: 1.6 is intended.
    assert_eq!((rows[6][107], rows[6][108]), (row(8, 1.5), row(8, 0.6)));
    assert_eq!((rows[5][90], rows[5][91]), (row(8, 1.5), row(9, 0.5)));
    for reach in [0.0, 0.25, 0.7, -0.1, f64::NAN] {
        assert!(space_weights(Some(reach)).is_err(), "{reach}");
    }
}

#[test]
fn defaults_names_and_metadata_follow_the_original() {
    let published = formula("fractal:mv-fractaldb?classes=3");
    assert_eq!((published.instances(), published.patches, published.turn), (1740, 12, 0.0));
    assert_eq!((published.frame.size(), published.frame.points()), (224, 10_000));
    assert_eq!(published.sampler, Sampler::MvFractaldbV1);
    let turned = formula("fractal:ex-fractaldb?classes=3");
    assert_eq!((turned.turn, &turned.categories), (std::f64::consts::PI, &published.categories));

    let source = source("fractal:mv-fractaldb?classes=2&weight=0.1&views=3&points=2000&size=64");
    assert_eq!(source.len(), 2 * 25 * 3);
    let keys: Vec<_> = [0, 1, 3, 74, 75, 149].map(|index| source.key(index)).into();
    assert_eq!(
        keys,
        [
            "000000/000000_00000_000.png",
            "000000/000000_00000_001.png",
            "000000/000000_00001_000.png",
            "000000/000000_00024_002.png",
            "000001/000001_00000_000.png",
            "000001/000001_00024_002.png",
        ]
    );
    let mut images = BTreeSet::new();
    for index in 0..source.len() {
        let sample = source.read(index).unwrap();
        source.schema().check(&sample).unwrap();
        let Value::Image(Image::Bilevel(image)) = &sample.values[0] else { panic!() };
        image.check().unwrap();
        assert_eq!((image.width, image.height, image.levels), (64, 64, [0, 255]));
        images.insert(image.bits.clone());
        let Value::Json(meta) = &sample.values[2] else { panic!() };
        let meta: serde_json::Value = serde_json::from_slice(meta).unwrap();
        assert_eq!(meta["class"], index / 75);
        assert_eq!(
            (&meta["instance"], &meta["view"]),
            (&(index % 75 / 3).into(), &(index % 3).into())
        );
        assert_eq!(meta["turn"], 0.0);
        assert!(meta["numpy_seed"].is_u64());
    }
    assert_eq!(images.len(), 150, "no two are alike");
}

/// Only a full circle returns to the first view.
#[test]
fn views_are_spread_and_turned() {
    let of = |more: &str| {
        source(&format!("fractal:mv-fractaldb?classes=1&weight=none&points=3000&size=64{more}"))
    };
    let (four, eight) = (of("&views=4"), of("&views=8"));
    assert_eq!((four.len(), eight.len()), (4, 8));
    for view in 0..4 {
        assert_eq!(rgb(&four, view), rgb(&eight, 2 * view));
    }
    let (turned, again, other) =
        (of("&views=4&turn=3"), of("&views=4&turn=3"), of("&views=4&turn=3&category_seed=2"));
    for view in 0..4 {
        assert_ne!(rgb(&turned, view), rgb(&four, view));
        assert_eq!(rgb(&turned, view), rgb(&again, view));
        assert_ne!(rgb(&turned, view), rgb(&other, view));
    }
    let epochs = of("&views=4&turn=3&vary=epoch");
    assert_eq!(rgb(&epochs, 1), rgb(&turned, 1));
    assert_ne!(rgb(&epochs.at_epoch(1).unwrap(), 1), rgb(&turned, 1));
}

/// A map with an orbit that overflows when its first number is a tenth larger.
#[test]
fn instances_without_a_model_are_drawn_with_other_weights() {
    let of = |a: f64| {
        let map = [a, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.5, 0.3, 0.7, 0.1];
        let system = SpaceSystem::new(vec![map], vec![1.0]).unwrap();
        let category = Category { name: "one".into(), shape: Shape::Space(system) };
        let base = formula("fractal:mv-fractaldb?classes=1&weight=0.2&views=2&size=64");
        FractalSource::new(Formula { categories: vec![category], ..base }, "one").unwrap()
    };
    let some = of(0.999);
    for index in 0..some.len() {
        let (facts, _) = some.image(index).unwrap();
        let overflows = matches!(facts.place.row, 3 | 4);
        assert_eq!(facts.row != facts.place.row, overflows, "{facts:?}");
        assert!(facts.row != 3 && facts.row != 4 && facts.fill > 0.0);
    }
    let none = of(3.0);
    for index in 0..none.len() {
        let (facts, _) = none.image(index).unwrap();
        assert!(facts.degenerate && facts.fill == 0.0);
    }
    assert!(none.fills(0).unwrap().iter().all(|fill| *fill == 0.0));
    assert_eq!(some.fills(0).unwrap().len(), 49);
}

/// Thirteen columns make three-dimensional systems wherever categories are read.
#[test]
fn categories_come_back_from_their_files() {
    let folder = tempfile::tempdir().unwrap();
    for category in search(1, 3).categories() {
        let path = folder.path().join(format!("{}.csv", category.name));
        std::fs::write(&path, category.to_csv()).unwrap();
        assert_eq!(Category::read(&path).unwrap(), category);
    }
    let recipe = format!("fractal:csv?path={}&size=64&weight=none", folder.path().display());
    let (files, found) =
        (source(&recipe), source("fractal:mv-fractaldb?classes=3&size=64&weight=none"));
    assert_eq!(files.len(), 36);
    for index in [0, 17, 35] {
        assert_eq!(rgb(&files, index), rgb(&found, index));
    }
    let turned = source(&format!("{recipe}&turn=3.141592653589793"));
    let extended = source("fractal:ex-fractaldb?classes=3&size=64&weight=none");
    assert_eq!(rgb(&turned, 7), rgb(&extended, 7));
    // A folder with both kinds is no dataset.
    std::fs::write(folder.path().join("000003.csv"), "1,0,0,1,0,0,1\n").unwrap();
    let error = Recipe::parse(&recipe).unwrap().resolve(&mut |_| true).unwrap_err().to_string();
    assert!(error.contains("category 000003 is none"), "{error}");
}
