//! Recipes and the datasets they make: names, order, metadata, and the same pixels in any order.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use fdconvert_core::{Error, Image, Look, Sample, Source, Value};
use fdconvert_fractal::{
    Draw, ExactSampler, Flip, Formula, FractalSource, GRAY, MersenneTwister, Recipe, Sampler,
    Shape, weights,
};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

fn formula(recipe: &str) -> Formula {
    Recipe::parse(recipe).unwrap().resolve(&mut |_| true).unwrap()
}

fn source(recipe: &str) -> FractalSource {
    FractalSource::new(formula(recipe), recipe).unwrap()
}

fn wrong(recipe: &str) -> String {
    let made = Recipe::parse(recipe).and_then(|recipe| recipe.resolve(&mut |_| true));
    match made {
        Err(error @ Error::Usage { .. }) => error.to_string(),
        other => panic!("{recipe}: {other:?}"),
    }
}

fn meta(sample: &Sample<Image>) -> serde_json::Value {
    let Some(Value::Json(text)) = sample.values.get(2) else { panic!("no metadata") };
    serde_json::from_slice(text).unwrap()
}

#[test]
fn defaults_are_the_published_recipes() {
    let fractaldb = formula("fractal:fractaldb?classes=2");
    assert_eq!((fractaldb.instances(), fractaldb.patches, fractaldb.flips), (1000, 10, true));
    assert_eq!((fractaldb.frame.size(), fractaldb.frame.points()), (362, 200_000));
    assert_eq!((fractaldb.weight, fractaldb.draw), (Some(0.4), Draw::PatchGray));
    assert_eq!((fractaldb.sampler, fractaldb.min_fill), (Sampler::FractaldbV1, 0.0));
    let points = formula("fractal:fractaldb?classes=1&draw=point_gray");
    assert_eq!(points.instances(), 100, "the exact sampler has one image a row");
    let ofdb = formula("fractal:ofdb?classes=2");
    assert_eq!((ofdb.len(), ofdb.frame.size(), ofdb.flips), (2, 512, false));
    assert_eq!(ofdb.categories, fractaldb.categories);
    let fast = formula("fractal:fractaldb?classes=1&sampler=lanes64-v1");
    assert_eq!(fast.min_fill, 0.01);
    assert_eq!(formula("fractal:svd?classes=5").sampler, Sampler::Lanes64V1);
    assert_eq!(formula("fractal:rcdb?classes=2&instances=7").len(), 14);
}

/// The systems of `svd`, one image each, named so that a million of them sort.
#[test]
fn rt_fractaldb_has_a_million_classes_that_need_no_search() {
    let recipe = Recipe::parse("fractal:rt-fractaldb").unwrap();
    assert_eq!(recipe.classes(), 1_000_000);
    assert!(recipe.name().starts_with("fractal:rt-fractaldb?classes=1000000&instances=1&"));
    let (few, svd) = (formula("fractal:rt-fractaldb?classes=3"), formula("fractal:svd?classes=3"));
    let shapes = |formula: &Formula| -> Vec<Shape> {
        formula.categories.iter().map(|category| category.shape.clone()).collect()
    };
    assert_eq!(shapes(&few), shapes(&svd));
    assert_eq!((few.len(), few.sampler, few.frame), (3, Sampler::Lanes64V1, svd.frame));
    assert_eq!(few.key(&few.place(2).unwrap()), "000002/000002_00_count_0_flip0.png");
}

#[test]
fn recorded_recipes_make_the_same_dataset() {
    for recipe in [
        "fractal:fractaldb?classes=3&weight=0.1&flips=1&instances=50&seed=9&pad=8&rate=0.1",
        "fractal:ofdb?classes=2&vary=epoch&sampler=lanes64-v1",
        "fractal:svd?classes=4&size=100&points=5000&draw=point_color",
        "fractal:rt-fractaldb?classes=4&size=100",
        "fractal:1p-frac?classes=2&sigma=3&delta=0.2&category_seed=4",
        "fractal:visual_atom?classes=2&instances=3&size=64",
        "fractal:mv-fractaldb?classes=2&weight=0.1&views=3&points=500&variance=0.04",
        "fractal:ex-fractaldb?classes=2&weight=none&vary=epoch&turn=90",
    ] {
        let recorded = Recipe::parse(recipe).unwrap().name();
        assert_eq!(formula(&recorded), formula(recipe), "{recorded}");
        assert_eq!(Recipe::parse(&recorded).unwrap().name(), recorded);
    }
}

#[test]
fn mistakes_are_named() {
    for (recipe, words) in [
        ("fractal:fractldb", "expected one of: fractaldb"),
        ("fractal:fractaldb?sise=3", "no key `sise`"),
        ("fractal:fractaldb?size=3&size=4", "twice"),
        ("fractal:fractaldb?size=big", "size: `big`"),
        ("fractal:fractaldb?size=5", "size: 5 is not from 13"),
        ("fractal:fractaldb?draw=lines", "draw: unknown `lines`; expected one of: point_gray"),
        (
            "fractal:fractaldb?sampler=fast",
            "sampler: unknown `fast`; expected one of: fractaldb-v1, lanes64-v1",
        ),
        ("fractal:fractaldb?instances=30", "instances: 30 is not a multiple of 100: 25 rows"),
        ("fractal:fractaldb?classes=0", "classes: 0 is not from 1"),
        ("fractal:fractaldb?classes=1&draw=point_gray&instances=200", "the same image"),
        ("fractal:fractaldb?weight=none&classes=1&min_fill=0.1&flips=1", "add weight=0.4"),
        ("fractal:fractaldb?classes=1&min_fill=2", "min_fill: 2 is not from 0 to 1"),
        ("fractal:fractaldb?sigma=3", "no key `sigma`"),
        ("fractal:fractaldb?flips=3", "flips: 3 is neither 1 nor 4"),
        ("fractal:fractaldb?vary=always", "vary: `always` is neither epoch nor none"),
        ("fractal:rcdb?draw=point_gray", "draw: figures of rcdb have none"),
        ("fractal:csv", "path: say where"),
        ("fractal:mv-fractaldb?draw=point_gray", "draw: views of mv-fractaldb have none"),
        ("fractal:fractaldb?views=3", "views: images of fractaldb have none"),
        ("fractal:rcdb?turn=3", "turn: images of rcdb have none"),
        ("fractal:mv-fractaldb?sampler=lanes64-v1", "sampler: lanes64-v1 does not draw what"),
        ("fractal:svd?sampler=mv-fractaldb-v1", "sampler: mv-fractaldb-v1 does not draw what"),
        ("fractal:mv-fractaldb?classes=1&weight=0.25", "weight: 0.25 is not one of 0.1, 0.2"),
        ("fractal:mv-fractaldb?instances=100", "instances: 100 is not a multiple of 145"),
        ("fractal:mv-fractaldb?instances=300&views=12", "instances: 300: 12 views for each of 145"),
        ("fractal:mv-fractaldb?classes=1&views=1001", "views: 1001 is not from 1 to 1000"),
        ("fractal:mv-fractaldb?classes=1&turn=181", "turn: 181 is not from 0 to 180"),
        ("fractal:mv-fractaldb?variance=2", "variance: 2 is not from 0"),
        ("fractal:mv-fractaldb?rate=0.2", "no key `rate`"),
        ("fractal:1p-frac?sigma=9", "sigma: 9 is not from"),
        ("fractal:fractaldb?points=3", "points: 3 is not from 128"),
    ] {
        let said = wrong(recipe);
        assert!(said.contains(words), "{recipe}: {said}");
    }
}

#[test]
fn names_labels_and_metadata_follow_the_original() {
    let source = source("fractal:fractaldb?classes=2&instances=200&size=64&points=2000");
    assert_eq!(source.len(), 400);
    let keys: Vec<_> = [0, 1, 3, 4, 8, 199, 200, 399].map(|index| source.key(index)).into();
    assert_eq!(
        keys,
        [
            "00000/00000_00_count_0_flip0.png",
            "00000/00000_00_count_0_flip1.png",
            "00000/00000_00_count_0_flip3.png",
            "00000/00000_00_count_1_flip0.png",
            "00000/00000_01_count_0_flip0.png",
            "00000/00000_24_count_1_flip3.png",
            "00001/00001_00_count_0_flip0.png",
            "00001/00001_24_count_1_flip3.png",
        ]
    );
    for index in [0, 57, 250] {
        let sample = source.read(index).unwrap();
        source.schema().check(&sample).unwrap();
        assert_eq!(sample.key, source.key(index));
        assert_eq!(source.label(index).unwrap(), Some(index as i64 / 200));
        let meta = meta(&sample);
        assert_eq!(meta["class"], index / 200);
        assert_eq!(meta["weight_row"], index % 200 / 8);
        assert_eq!(meta["flip"], index % 4);
        let Value::Image(Image::Bilevel(image)) = &sample.values[0] else {
            panic!("not two levels")
        };
        assert_eq!((image.width, image.height, image.levels), (64, 64, [0, GRAY]));
        image.check().unwrap();
        let lit = image.to_pixels().data.iter().filter(|gray| **gray != 0).count();
        assert!((meta["fill"].as_f64().unwrap() - lit as f64 / 4096.0).abs() < 1e-6);
    }
    assert!(matches!(source.read(400), Err(Error::Usage { .. })));
    let names: std::collections::BTreeSet<_> = (0..400).map(|index| source.key(index)).collect();
    assert_eq!(names.len(), 400);
}

/// Every image of several recipes, drawn by two threads and backwards, equals the first pass.
#[test]
fn pixels_do_not_depend_on_order_or_threads() {
    for recipe in [
        "fractal:fractaldb?classes=3&instances=100&size=50&points=500",
        "fractal:fractaldb?classes=3&instances=100&size=50&points=500&draw=patch_color",
        "fractal:fractaldb?classes=3&instances=100&size=50&points=500&sampler=lanes64-v1&min_fill=0.1",
        "fractal:svd?classes=30&instances=5&size=33&points=300&draw=point_color",
        "fractal:visual_atom?classes=5&instances=4&size=40",
        "fractal:ex-fractaldb?classes=3&weight=0.1&views=2&size=40&points=500",
    ] {
        let hash = |source: &FractalSource, index| {
            let mut rgb = Vec::new();
            let facts = source.rgb_into(index, &mut rgb).unwrap();
            (xxh3_64(&rgb), facts.row, facts.fill)
        };
        let first = source(recipe);
        let expected: Vec<_> = (0..first.len()).map(|index| hash(&first, index)).collect();
        assert!(
            expected.iter().map(|(hash, ..)| hash).collect::<std::collections::BTreeSet<_>>().len()
                > 1
        );
        let backwards = source(recipe);
        for index in (0..backwards.len()).rev() {
            assert_eq!(hash(&backwards, index), expected[index as usize], "{recipe}: {index}");
        }
        let shared = source(recipe);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (shared, expected) = (&shared, &expected);
                scope.spawn(move || {
                    for index in 0..shared.len() {
                        // Strides that visit all images, differently in each thread.
                        let index = (index * 7 + thread) % shared.len();
                        assert_eq!(hash(shared, index), expected[index as usize]);
                    }
                });
            }
        });
        for index in [0, first.len() / 2] {
            // Pixels and the smallest form show the same picture.
            let pixels = first.pixels(index).unwrap();
            let (_, image) = first.image(index).unwrap();
            match image {
                Image::Bilevel(image) => assert_eq!(image.to_pixels(), pixels),
                Image::Pixels(image) => assert_eq!(image, pixels),
                Image::Encoded(_) => panic!("nothing encodes here"),
            }
        }
    }
}

/// The exact sampler's points are the original renderer's, in all four flips.
#[test]
fn exact_points_are_the_originals() {
    let source = source("fractal:fractaldb?classes=2&size=128&points=5000&draw=point_gray");
    let formula = source.formula();
    let sampler = ExactSampler::new(formula.frame);
    for index in (0..source.len()).step_by(7) {
        let place = formula.place(index).unwrap();
        let Shape::Ifs(system) = &formula.categories[place.class as usize].shape else { panic!() };
        let weighted = system.weighted(&weights(0.4)[place.row as usize]);
        let mut masks = MersenneTwister::python(0);
        let original = sampler.render(&weighted, Draw::PointGray, &mut masks);
        let mut flipped = original.data.clone();
        if matches!(place.flip, Flip::Flip1 | Flip::Flip3) {
            flipped = flipped.chunks(128).rev().flatten().copied().collect();
        }
        if matches!(place.flip, Flip::Flip2 | Flip::Flip3) {
            flipped = flipped.chunks(128).flat_map(|row| row.iter().rev()).copied().collect();
        }
        assert_eq!(source.pixels(index).unwrap().data, flipped, "{}", source.key(index));
    }
}

#[test]
fn empty_images_are_drawn_again_where_that_is_asked_for() {
    let of = |min_fill: f64| {
        source(&format!(
            "fractal:fractaldb?classes=4&instances=25&flips=1&size=128&points=20000&\
             sampler=lanes64-v1&draw=point_gray&min_fill={min_fill}"
        ))
    };
    let (as_drawn, again) = (of(0.0), of(0.05));
    let mut redrawn = 0;
    for index in 0..100 {
        let (first, second) = (as_drawn.image(index).unwrap().0, again.image(index).unwrap().0);
        assert!(second.fill >= 0.05, "image {index}: {}", second.fill);
        assert_eq!(first.row, first.place.row);
        if first.fill >= 0.05 {
            assert_eq!(second, first);
        } else {
            redrawn += 1;
        }
        assert_eq!(first.degenerate, first.fill < 0.01);
    }
    assert!((5..40).contains(&redrawn), "{redrawn} of 100");
}

#[test]
fn epochs_vary_only_when_they_should() {
    let recipe = "fractal:svd?classes=2&instances=2&size=64&points=3000";
    let fixed = source(recipe);
    let varied = source(&format!("{recipe}&vary=epoch"));
    let rgb = |source: &FractalSource| {
        let mut out = Vec::new();
        source.rgb_into(1, &mut out).unwrap();
        out
    };
    assert_eq!(rgb(&fixed), rgb(&fixed.at_epoch(7).unwrap()));
    assert_eq!(rgb(&fixed), rgb(&varied), "epoch 0 is the dataset itself");
    assert_eq!(rgb(&varied), rgb(&varied.at_epoch(0).unwrap()));
    let epochs: Vec<_> = (0..4).map(|epoch| rgb(&varied.at_epoch(epoch).unwrap())).collect();
    assert!((1..4).all(|epoch| epochs[epoch] != epochs[epoch - 1]));
    assert_eq!(epochs[3], rgb(&varied.at_epoch(3).unwrap()));
    assert_eq!(varied.at_epoch(3).unwrap().key(1), varied.key(1));
}

#[test]
fn fingerprints_tell_formulas_apart() {
    let mut seen = BTreeMap::new();
    for recipe in [
        "fractal:svd?classes=2&instances=2",
        "fractal:svd?classes=3&instances=2",
        "fractal:svd?classes=2&instances=3",
        "fractal:svd?classes=2&instances=2&seed=1",
        "fractal:svd?classes=2&instances=2&category_seed=2",
        "fractal:svd?classes=2&instances=2&size=255",
        "fractal:svd?classes=2&instances=2&points=100001",
        "fractal:svd?classes=2&instances=2&draw=point_gray",
        "fractal:svd?classes=2&instances=2&sampler=fractaldb-v1",
        "fractal:svd?classes=2&instances=50&weight=0.1&min_fill=0",
        "fractal:svd?classes=2&instances=50&weight=0.2&min_fill=0",
        "fractal:svd?classes=2&instances=50&weight=0.2&min_fill=0.5",
        "fractal:svd?classes=2&instances=4&flips=4",
        "fractal:svd?classes=2&instances=2&vary=epoch",
        "fractal:rcdb?classes=2&instances=2&size=256",
        "fractal:rcdb?classes=2&instances=2&size=256&category_seed=2",
        "fractal:mv-fractaldb?classes=2&weight=none",
        "fractal:mv-fractaldb?classes=2&weight=0.1",
        "fractal:mv-fractaldb?classes=2&weight=none&turn=1",
        "fractal:mv-fractaldb?classes=2&weight=none&turn=2",
        "fractal:mv-fractaldb?classes=2&weight=none&views=11",
        "fractal:mv-fractaldb?classes=2&weight=none&category_seed=2",
    ] {
        let twin = seen.insert(source(recipe).fingerprint(Look::Sizes).unwrap(), recipe);
        assert_eq!(twin, None, "{recipe}");
        assert_eq!(source(recipe).fingerprint(Look::Sizes).unwrap(), formula(recipe).fingerprint());
    }
}
