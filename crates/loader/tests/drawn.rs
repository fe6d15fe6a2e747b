//! Images that are drawn instead of stored: rows equal stored ones, at the displayed size and
//! without disk time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{list, random_part, transform};
use fdconvert_core::{
    Encoded, Error, Image, Limits, Look, Reader, Result, Sample, Source, SourceFacts,
};
use fdconvert_formats::formula::{FormulaReader, write};
use fdconvert_fractal::Recipe;
use fdconvert_loader::{
    Access, Batch, DType, Datasets, Layout, Loader, Options, Transform, Verdict, ViewGroup,
};
use fdconvert_profile::{SlowStorage, Throttle};
use std::{sync::Arc, time::Duration};

/// Two levels, colours, grays of lines, and white points; each with another size.
const RECIPES: [&str; 5] = [
    "fractal:fractaldb?classes=2&instances=200&points=600&size=61",
    "fractal:svd?classes=2&instances=3&points=600&size=64",
    "fractal:svd?classes=2&instances=3&points=600&size=63&draw=patch_color",
    "fractal:visual_atom?classes=2&instances=3&size=48",
    "fractal:mv-fractaldb?classes=2&weight=none&views=3&points=600&size=50",
];

fn reader(recipe: &str) -> Arc<dyn Reader> {
    Arc::new(FormulaReader::of_recipe(&Recipe::parse(recipe).unwrap()).unwrap())
}

/// The same samples as a dataset that stores them; the loader sees only their encoded images.
struct Stored(Arc<dyn Reader>);

impl Source for Stored {
    fn facts(&self) -> &SourceFacts {
        self.0.facts()
    }

    fn read(&self, index: u64) -> Result<Sample<Image>> {
        self.0.get(index).map(Into::into)
    }

    fn key(&self, index: u64) -> String {
        self.0.key(index)
    }

    fn fingerprint(&self, look: Look) -> Result<[u8; 16]> {
        self.0.fingerprint(look)
    }
}

impl Reader for Stored {
    fn get(&self, index: u64) -> Result<Sample<Encoded>> {
        self.0.get(index)
    }

    fn details(&self) -> serde_json::Map<String, serde_json::Value> {
        self.0.details()
    }

    fn verify_layout(&self) -> Vec<Error> {
        Vec::new()
    }

    fn verify_sample(&self, index: u64) -> Result<()> {
        self.0.verify_sample(index)
    }
}

fn options(transforms: impl Into<Vec<Transform>>) -> Options {
    Options::default().batch_size(6).seed(5).transform(list(transforms)).threads(2)
}

fn squeezed(side: u32) -> Options {
    options([Transform::squeeze([side; 2])])
}

/// Returns the first batches of an epoch: samples, labels and images.
fn batches(reader: Arc<dyn Reader>, options: Options) -> Vec<(Vec<u64>, Vec<i64>, Vec<u8>)> {
    let loader = Loader::new(Datasets::one(reader).unwrap(), options).unwrap();
    let parts = |batch: Batch| {
        let labels = batch.labels().unwrap().to_vec();
        (batch.samples().to_vec(), labels, batch.images().to_vec())
    };
    loader.take(2).map(|batch| parts(batch.unwrap())).collect()
}

#[test]
fn drawn_rows_are_those_of_stored_images() {
    let cut = |resize, size| vec![Transform::resize(resize), Transform::CenterCrop { size }];
    let geometries = [
        // One of the recipes has this size already, the others are scaled down and up.
        vec![Transform::squeeze([64, 64])],
        vec![Transform::squeeze([61, 61])],
        vec![Transform::squeeze([24, 40])],
        vec![Transform::squeeze([90, 90])],
        cut(64, [56, 56]),
        cut(61, [32, 55]),
        cut(36, [32, 32]),
        vec![random_part([40, 32])],
        vec![Transform::Letterbox { size: [40, 70], fill: [9, 8, 7] }],
        vec![Transform::center_crop(70)],
    ];
    let planes = || Transform::ToLayout { layout: Layout::Nchw };
    let forms = [
        vec![],
        vec![planes()],
        vec![Transform::to_dtype(DType::F16), Transform::normalize_imagenet()],
        vec![Transform::to_dtype(DType::F16), planes()],
        vec![Transform::to_dtype(DType::F32)],
        vec![Transform::normalize_imagenet(), planes()],
    ];
    let flip = Transform::random_horizontal_flip();
    let wide = transform("{\"TrivialAugmentWide\": {}}");
    let changes = [vec![], vec![flip.clone()], vec![flip, wide]];
    for recipe in RECIPES {
        let reader = reader(recipe);
        let stored: Arc<dyn Reader> = Arc::new(Stored(reader.clone()));
        for geometry in &geometries {
            for form in &forms {
                for changes in &changes {
                    let transforms = [&geometry[..], changes, form].concat();
                    let with = || options(&transforms[..]);
                    let (drawn, stored) =
                        (batches(reader.clone(), with()), batches(stored.clone(), with()));
                    assert!(drawn == stored, "{recipe} {transforms:?}");
                }
            }
        }
    }
}

/// The recipe with and without a size, and the recipe's file.
#[test]
fn recipes_without_a_size_are_drawn_as_they_are_shown() {
    let recipe = "fractal:svd?classes=2&instances=3&points=600";
    let sized = |side: u32| reader(&format!("{recipe}&size={side}"));
    let own = || sized(256);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.formula");
    let formula = Recipe::parse(recipe).unwrap().resolve(&mut |_| true).unwrap();
    write(&path, &formula, &Default::default(), false).unwrap();
    let file = || -> Arc<dyn Reader> { Arc::new(FormulaReader::open(&path).unwrap()) };

    let cut = |resize, side| vec![Transform::resize(resize), Transform::center_crop(side)];
    for (transforms, free) in [
        (vec![Transform::squeeze([48, 48])], sized(48)),
        (vec![Transform::squeeze([32, 48])], sized(48)),
        (cut(54, 48), sized(54)),
        // Larger than the image to cut from: nothing is enlarged.
        (cut(30, 56), sized(30)),
        (vec![Transform::Letterbox { size: [56, 48], fill: [0; 3] }], sized(48)),
        (vec![Transform::center_crop(48)], own()),
        (vec![random_part([48, 48])], own()),
        (vec![random_part([48, 48]), Transform::squeeze([40, 40])], own()),
    ] {
        let rows = |reader| batches(reader, options(&transforms[..]));
        assert!(rows(reader(recipe)) == rows(free), "{transforms:?}");
        assert!(rows(file()) == rows(own()), "a file, {transforms:?}");
        // Stored images do not change.
        assert!(rows(Arc::new(Stored(reader(recipe)))) == rows(own()), "stored, {transforms:?}");
    }
    // One size for all views, if they agree.
    for (sides, free) in [([48, 48], sized(48)), ([48, 40], own())] {
        let [first, second] = sides.map(|side| list([Transform::squeeze([side; 2])]));
        let groups = [("first", first), ("second", second)];
        let groups = groups.map(|(name, list)| ViewGroup::new(name, 1, list)).to_vec();
        let views = || squeezed(8).views(groups.clone());
        assert!(batches(reader(recipe), views()) == batches(free, views()), "{sides:?}");
    }
}

#[test]
fn epochs_that_vary_do_so_at_any_size() {
    let recipe = "fractal:svd?classes=2&instances=3&points=600&vary=epoch";
    let sized = reader(&format!("{recipe}&size=48"));
    let epoch = |reader: Arc<dyn Reader>, epoch| {
        let options = squeezed(48);
        let mut loader = Loader::new(Datasets::one(reader).unwrap(), options).unwrap();
        loader.set_epoch(epoch).unwrap();
        loader.next_batch().unwrap().unwrap().images().to_vec()
    };
    assert!(epoch(reader(recipe), 3) == epoch(sized.clone(), 3));
    assert!(epoch(reader(recipe), 3) != epoch(sized, 4));
}

/// Sizes and transforms may change between two runs, so that a state belongs to the recipe at any size.
#[test]
fn a_state_outlives_another_size() {
    let recipe = "fractal:svd?classes=2&instances=9&points=600";
    let new = |side| {
        let datasets = Datasets::open(recipe).unwrap();
        Loader::new(datasets, squeezed(side)).unwrap()
    };
    let mut first = new(48);
    let samples = |loader: &mut Loader| loader.next_batch().unwrap().unwrap().samples().to_vec();
    samples(&mut first);
    let mut resumed = new(64);
    resumed.restore(&first.state()).unwrap();
    assert_eq!(samples(&mut resumed), samples(&mut first));
}

#[test]
fn nothing_is_read_and_no_disk_is_waited_for() {
    let (throttle, latency) = (Throttle::new(1.0).map(Arc::new), Duration::from_secs(3600));
    let storage = SlowStorage { latency, throttle, ..SlowStorage::default() };
    let reader = storage.around(reader("fractal:svd?classes=2&instances=9&points=20000"));
    let access = Access::Direct;
    let options = squeezed(64).access(access).fetch_threads(2);
    let mut loader = Loader::new(Datasets::one(reader).unwrap(), options).unwrap();
    let n_rows: usize = loader.by_ref().map(|batch| batch.unwrap().len()).sum();
    let stats = loader.stats();
    assert_eq!((n_rows, stats.samples), (18, 18));
    assert_eq!((stats.reads, stats.hits, stats.storage_bytes, stats.fetched_bytes), (0, 0, 0, 0));
    assert_eq!((stats.fetch, stats.decode), (Duration::ZERO, Duration::ZERO));
    assert!(stats.draw > Duration::ZERO && stats.work() == stats.draw + stats.render);
    assert_ne!(stats.verdict, Verdict::Disk);
}

#[test]
fn recipes_come_beside_other_datasets() {
    let parts = [RECIPES[1], RECIPES[3]].map(reader);
    let stored: Arc<dyn Reader> = Arc::new(Stored(parts[1].clone()));
    let mixed = vec![(parts[0].clone(), 1.0), (stored, 2.0)];
    let loader = Loader::new(Datasets::weighted(mixed).unwrap(), squeezed(64));
    let mut samples: Vec<u64> =
        loader.unwrap().flat_map(|batch| batch.unwrap().samples().to_vec()).collect();
    samples.sort_unstable();
    let expected: Vec<u64> = (0..6).chain((6..12).flat_map(|sample| [sample; 2])).collect();
    assert_eq!(samples, expected);
}

#[test]
fn what_cannot_be_drawn_is_an_error_with_its_cure() {
    let fails = |recipe: &str, options: Options| {
        let loader = Datasets::open(recipe).and_then(|datasets| Loader::new(datasets, options));
        let error = loader.and_then(|mut loader| loader.next_batch().unwrap());
        error.map(|_| ()).unwrap_err().to_string()
    };
    let tiny = || squeezed(8);
    let error = fails("fractal:svd?classes=2&instances=3", tiny());
    for part in ["transform", "8 pixels", "13 (two pads and a pixel)", "size=", "fractal:svd?"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(batches(reader("fractal:svd?classes=2&instances=3&size=256"), tiny()).len(), 1);

    for (recipe, parts) in [
        ("fractal:svd?clases=2", ["clases", "classes"]),
        ("fractal:svd?sampler=best", ["sampler", "lanes64-v1"]),
        ("fractal:svd?size=many", ["size", "many"]),
        ("fractal:nothing", ["nothing", "svd"]),
        ("fractal:csv?path=/no/such/folder", ["open", "/no/such/folder"]),
    ] {
        let error = fails(recipe, tiny());
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let limits = Limits { max_pixels: 1000, ..Limits::DEFAULT };
    let error = fails(RECIPES[1], tiny().limits(limits));
    assert!(error.contains("max_pixels") && error.contains("64x64"), "{error}");
}
