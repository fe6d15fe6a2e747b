//! Images that are drawn instead of stored: rows equal stored ones, at the displayed size and
//! without disk time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use fdconvert_core::{
    Encoded, Error, Image, Limits, Look, Reader, Result, Sample, Source, SourceFacts,
};
use fdconvert_formats::formula::{FormulaReader, write};
use fdconvert_fractal::Recipe;
use fdconvert_loader::{
    Access, Augment, Batch, Crop, DType, Datasets, DrawSize, Layout, Loader, Normalise, Options,
    Output, Verdict,
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

fn options(size: (u32, u32), crop: Crop) -> Options {
    let output = Output { size, ..Options::default().output };
    Options::default().batch_size(6).seed(5).output(output).crop(crop).threads(2)
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
    let random = Crop::Random { scale: (0.1, 1.0), ratio: (0.75, 1.33) };
    let geometries = [
        // One of the recipes has this size already, the others are scaled down and up.
        ((64, 64), Crop::None),
        ((61, 61), Crop::None),
        ((40, 24), Crop::None),
        ((90, 90), Crop::None),
        ((56, 56), Crop::Center { resize: 64 }),
        ((55, 32), Crop::Center { resize: 61 }),
        ((32, 32), Crop::Center { resize: 36 }),
        ((32, 40), random),
    ];
    let outputs = [
        (DType::U8, Layout::Nhwc, None),
        (DType::U8, Layout::Nchw, None),
        (DType::F16, Layout::Nhwc, Some(Normalise::IMAGENET)),
        (DType::F16, Layout::Nchw, None),
        (DType::F32, Layout::Nhwc, None),
        (DType::F32, Layout::Nchw, Some(Normalise::IMAGENET)),
    ];
    let changes =
        [(0.0, None), (0.5, None), (0.5, Some(Augment::TrivialAugmentWide { n_bins: 31 }))];
    for recipe in RECIPES {
        let reader = reader(recipe);
        let stored: Arc<dyn Reader> = Arc::new(Stored(reader.clone()));
        for (size, crop) in geometries {
            for (dtype, layout, normalise) in outputs {
                for (flip, augment) in changes {
                    let output = Output { size, dtype, layout, normalise };
                    let with = || options(size, crop).output(output).flip(flip).augment(augment);
                    let (drawn, stored) =
                        (batches(reader.clone(), with()), batches(stored.clone(), with()));
                    assert!(drawn == stored, "{recipe} {output:?} {crop:?} {flip} {augment:?}");
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
    let random = Crop::Random { scale: (0.1, 1.0), ratio: (0.75, 1.33) };

    let auto = DrawSize::Auto;
    for (size, crop, draw_size, free, fixed) in [
        ((48, 48), Crop::None, auto, sized(48), own()),
        ((48, 32), Crop::None, auto, sized(48), own()),
        ((48, 48), Crop::Center { resize: 54 }, auto, sized(54), own()),
        // Larger than the image to cut from: nothing is enlarged.
        ((48, 56), Crop::Center { resize: 30 }, auto, sized(56), own()),
        ((48, 48), random, auto, own(), own()),
        ((48, 48), Crop::None, DrawSize::Own, own(), own()),
        ((48, 48), Crop::None, DrawSize::Output, sized(48), sized(48)),
        ((48, 48), random, DrawSize::Output, sized(48), sized(48)),
    ] {
        let with = |draw_size| options(size, crop).draw_size(draw_size);
        let rows = |reader| batches(reader, with(draw_size));
        let expected = |reader| batches(reader, with(DrawSize::Own));
        let what = format!("{size:?} {crop:?} {draw_size:?}");
        assert!(rows(reader(recipe)) == expected(free), "{what}");
        assert!(rows(file()) == expected(fixed.clone()), "a file, {what}");
        assert!(rows(own()) == expected(fixed), "a size, {what}");
    }
    // Stored images do not change.
    let stored = || -> Arc<dyn Reader> { Arc::new(Stored(reader(recipe))) };
    let with = |draw_size| options((48, 48), Crop::None).draw_size(draw_size);
    assert!(batches(stored(), with(DrawSize::Output)) == batches(stored(), with(DrawSize::Own)));
}

#[test]
fn epochs_that_vary_do_so_at_any_size() {
    let recipe = "fractal:svd?classes=2&instances=3&points=600&vary=epoch";
    let sized = reader(&format!("{recipe}&size=48"));
    let epoch = |reader: Arc<dyn Reader>, epoch| {
        let options = options((48, 48), Crop::None);
        let mut loader = Loader::new(Datasets::one(reader).unwrap(), options).unwrap();
        loader.set_epoch(epoch).unwrap();
        loader.next_batch().unwrap().unwrap().images().to_vec()
    };
    assert!(epoch(reader(recipe), 3) == epoch(sized.clone(), 3));
    assert!(epoch(reader(recipe), 3) != epoch(sized, 4));
}

/// Size and crop may change between two runs, so that a state belongs to the recipe at any size.
#[test]
fn a_state_outlives_another_size() {
    let recipe = "fractal:svd?classes=2&instances=9&points=600";
    let new = |side| {
        let datasets = Datasets::open(recipe).unwrap();
        Loader::new(datasets, options((side, side), Crop::None)).unwrap()
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
    let options = options((64, 64), Crop::None).access(access).fetch_threads(2);
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
    let loader = Loader::new(Datasets::weighted(mixed).unwrap(), options((64, 64), Crop::None));
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
    let tiny = || options((8, 8), Crop::None);
    let error = fails("fractal:svd?classes=2&instances=3", tiny());
    for part in ["draw_size", "8 pixels", "13 (two pads and a pixel)", "`own`", "fractal:svd?"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let own = tiny().draw_size(DrawSize::Own);
    assert_eq!(batches(reader("fractal:svd?classes=2&instances=3"), own).len(), 1);

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
