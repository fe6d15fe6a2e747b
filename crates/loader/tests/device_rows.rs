//! Rows that an emulated GPU changes or draws: bit for bit those that the CPU makes of the same
//! pixels.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{Memory, list, options, random_part, transform};
use fdconvert_core::{Error, Reader};
use fdconvert_formats::formula::FormulaReader;
use fdconvert_fractal::Recipe;
use fdconvert_gpu_emul::{FakeDriver, FakeNvJpeg};
use fdconvert_loader::{
    Batch, DType, Datasets, Decoded, DeviceDecoder, DeviceOptions, Last, Layout, Loader,
    Memory as Where, Options, Transform,
    parts::{Change, DrawKey, Transformer},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

const SEED: u64 = 11;

fn device() -> DeviceOptions {
    DeviceOptions { driver: Some(FakeDriver::path().into()), ..DeviceOptions::default() }
}

fn datasets(readers: &[Arc<dyn Reader>]) -> Datasets {
    Datasets::weighted(readers.iter().map(|reader| (reader.clone(), 1.0)).collect()).unwrap()
}

/// Returns the rows of an epoch by sample, from any memory.
fn rows(loader: &mut Loader) -> BTreeMap<u64, Vec<u8>> {
    let mut rows = BTreeMap::new();
    for batch in loader.by_ref() {
        let batch = batch.unwrap();
        let bytes = bytes(&batch).unwrap();
        let each = bytes.chunks_exact(batch.shape().row_bytes());
        rows.extend(batch.samples().iter().copied().zip(each.map(<[u8]>::to_vec)));
    }
    rows
}

fn bytes(batch: &Batch) -> Result<Vec<u8>, Error> {
    match batch.memory() {
        Where::Device(images) => images.to_host(),
        Where::Host(bytes) => Ok(bytes.to_vec()),
    }
}

/// Returns the rows of an epoch on the GPU, and their decoders.
fn on_device(
    readers: &[Arc<dyn Reader>],
    options: Options,
    device: DeviceOptions,
) -> (BTreeMap<u64, Vec<u8>>, Decoded) {
    let options = options.device(Some(device));
    let mut loader = Loader::new(datasets(readers), options).unwrap();
    let rows = rows(&mut loader);
    (rows, loader.stats().decoded.unwrap())
}

fn on_cpu(readers: &[Arc<dyn Reader>], options: Options) -> BTreeMap<u64, Vec<u8>> {
    rows(&mut Loader::new(datasets(readers), options).unwrap())
}

fn key(sample: u64) -> DrawKey {
    DrawKey { seed: SEED, epoch: 0, sample, occurrence: 0, view: 0 }
}

/// Returns the transform that always makes a change of the levels; `None` if kernels lack it.
fn fixed(change: &Change) -> Option<Transform> {
    let p = 1.0;
    Some(match *change {
        Change::AdjustBrightness(factor) => {
            let brightness = Some([factor; 2]);
            Transform::ColorJitter { brightness, contrast: None, saturation: None, hue: None }
        }
        Change::Posterize(bits) => Transform::RandomPosterize { bits, p },
        Change::Solarize(threshold) => Transform::RandomSolarize { threshold, p },
        Change::Invert => Transform::RandomInvert { p },
        Change::Equalize => Transform::RandomEqualize { p },
        _ => return None,
    })
}

/// Returns the changes of a sample after its crop, if the GPU makes them all.
fn on_gpu(transforms: &[Transform], sample: u64, size: (u32, u32)) -> Option<Vec<Transform>> {
    let changes = list(transforms).draw(size, key(sample)).unwrap();
    let is_moved = |change: &Change| matches!(change, Change::Crop { .. } | Change::Resize { .. });
    let changes = changes.iter().filter(|change| !is_moved(change));
    let fixed = |change: &Change| match change {
        Change::HorizontalFlip => Some(Transform::RandomHorizontalFlip { p: 1.0 }),
        change => fixed(change),
    };
    changes.map(fixed).collect()
}

/// Returns transforms to a form of the rows.
fn form(dtype: DType, layout: Layout) -> Vec<Transform> {
    let mut form = vec![Transform::ToDtype { dtype }, Transform::ToLayout { layout }];
    if dtype != DType::U8 {
        form.push(Transform::normalize_imagenet());
    }
    form
}

/// Compares rows with random crops of this height and width, flips and changes, in a form of rows:
/// those that `device` decodes and the GPU changes with the CPU's changes of the pixels that the GPU
/// decodes; the others with the CPU's rows. Returns the changes of the former.
fn check_changed(
    reader: &Arc<dyn Reader>,
    size: [u32; 2],
    changes: &Transform,
    form: &[Transform],
    device: &DeviceOptions,
) -> Vec<Transform> {
    let readers = [reader.clone()];
    let crop = random_part(size);
    let options = |transforms: &[Transform]| {
        let transforms = [std::slice::from_ref(&crop), transforms].concat();
        options(8, 1).transform(list(transforms)).seed(SEED).last(Last::Short)
    };
    let (plain, _) = on_device(&readers, options(&[]), device.clone());
    let transforms = [&[Transform::random_horizontal_flip(), changes.clone()], form].concat();
    let (found, decoded) = on_device(&readers, options(&transforms), device.clone());
    let by_cpu = on_cpu(&readers, options(&transforms));
    assert_eq!(decoded.failed_on_gpu, 0);
    assert_eq!(found.len(), plain.len());
    let transforms = [vec![crop.clone()], transforms].concat();
    let mut made = Vec::new();
    for (sample, row) in &found {
        // As `Memory` encodes them, which repeats a hundred images.
        let number = sample % 100;
        let source = (20 + number as u32 % 23, 18 + number as u32 % 13);
        let is_jpeg = number % 3 != 2;
        let changes = on_gpu(&transforms, *sample, source).filter(|_| is_jpeg);
        let expected = match &changes {
            Some(changes) => {
                let all = list([changes, form].concat());
                let size = (size[1], size[0]);
                Transformer::default().apply(&all, &plain[sample], size, key(0)).unwrap().0
            }
            None => by_cpu[sample].clone(),
        };
        assert!(*row == expected, "sample {sample}: {changes:?} {form:?}");
        made.extend(changes);
    }
    assert_eq!(decoded.by_index + decoded.by_nvjpeg, made.len() as u64);
    assert_eq!(decoded.by_cpu, (found.len() - made.len()) as u64);
    assert!(!made.is_empty());
    made.into_iter().flatten().collect()
}

/// Returns all changes that kernels make, each sometimes, in random order.
fn all_changes() -> Transform {
    transform(
        "{\"RandomOrder\": {\"transforms\": [
            {\"ColorJitter\": {\"brightness\": [0.1, 2.5]}},
            {\"RandomPosterize\": {\"bits\": 3}},
            {\"RandomSolarize\": {\"threshold\": 117.5}},
            {\"RandomInvert\": {}},
            {\"RandomEqualize\": {}}]}}",
    )
}

#[test]
fn every_change_of_every_strength_is_that_of_the_cpu() {
    let _fake = FakeDriver::take().unwrap();
    let reader: Arc<dyn Reader> = Memory::new(240).with_entry_points();
    let levels = form(DType::U8, Layout::Nhwc);
    for magnitude in 0..31 {
        let one = format!("{{\"RandAugment\": {{\"num_ops\": 1, \"magnitude\": {magnitude}}}}}");
        let made = check_changed(&reader, [17, 33], &transform(&one), &levels, &device());
        let names: BTreeSet<_> = made.iter().map(Transform::name).collect();
        let expected = ["ColorJitter", "RandomEqualize", "RandomHorizontalFlip", "RandomPosterize"];
        assert!(names.into_iter().eq(expected.into_iter().chain(["RandomSolarize"])));
        let factors = made.iter().filter_map(|it| match it {
            Transform::ColorJitter { brightness: Some([factor, _]), .. } => Some(*factor),
            _ => None,
        });
        let factors: Vec<f64> = factors.collect();
        let has_both = factors.iter().any(|it| *it < 1.0) && factors.iter().any(|it| *it > 1.0);
        assert_eq!(has_both, magnitude > 0, "{factors:?}");
    }
    let reader: Arc<dyn Reader> = Memory::new(60).with_entry_points();
    let policies = ["imagenet", "cifar10", "svhn"]
        .map(|policy| transform(&format!("{{\"AutoAugment\": {{\"policy\": \"{policy}\"}}}}")));
    let wide = transform("{\"TrivialAugmentWide\": {}}");
    for changes in policies.into_iter().chain([wide, all_changes()]) {
        for size in [[1, 1], [3, 2], [2, 3], [17, 33], [80, 64]] {
            check_changed(&reader, size, &changes, &levels, &device());
        }
    }
}

#[test]
fn changed_rows_become_what_the_cpu_makes_of_levels() {
    let _fake = FakeDriver::take().unwrap();
    let reader: Arc<dyn Reader> = Memory::new(40).with_entry_points();
    for dtype in [DType::U8, DType::F16, DType::F32] {
        for layout in [Layout::Nhwc, Layout::Nchw] {
            let form = form(dtype, layout);
            check_changed(&reader, [12, 19], &all_changes(), &form, &device());
            let keeping = DeviceOptions { device_cache_bytes: 1 << 20, ..device() };
            check_changed(&reader, [12, 19], &all_changes(), &form, &keeping);
        }
    }
}

#[test]
fn what_nvjpeg_decodes_is_changed_as_well() {
    let fake = FakeDriver::take().unwrap();
    let _library = FakeNvJpeg::new(&fake).unwrap();
    let reader: Arc<dyn Reader> = Memory::new(40);
    let (form, nvjpeg) = (form(DType::F32, Layout::Nchw), Some(FakeNvJpeg::path().into()));
    check_changed(&reader, [12, 19], &all_changes(), &form, &DeviceOptions { nvjpeg, ..device() });
}

fn fractals(recipe: &str) -> Arc<dyn Reader> {
    Arc::new(FormulaReader::of_recipe(&Recipe::parse(recipe).unwrap()).unwrap())
}

/// Recipes, and whether the GPU draws their images.
const RECIPES: [(&str, bool); 7] = [
    ("fractal:fractaldb?classes=2&instances=200&points=600&size=64&sampler=lanes64-v1", true),
    ("fractal:svd?classes=3&instances=4&points=600&size=64&sampler=lanes64-v1", true),
    (
        "fractal:svd?classes=3&instances=8&points=600&size=64&sampler=lanes64-v1&draw=point_gray",
        true,
    ),
    // Too large for shared memory.
    ("fractal:svd?classes=2&instances=3&points=9000&size=300&sampler=lanes64-v1", true),
    ("fractal:fractaldb?classes=2&instances=100&points=600&size=64&sampler=fractaldb-v1", false),
    (
        "fractal:svd?classes=2&instances=3&points=600&size=64&sampler=lanes64-v1&draw=patch_color",
        false,
    ),
    ("fractal:visual_atom?classes=2&instances=3&size=64", false),
];

fn side(recipe: &str) -> u32 {
    if recipe.contains("size=300") { 300 } else { 64 }
}

#[test]
fn drawn_rows_are_those_of_the_cpu() {
    let _fake = FakeDriver::take().unwrap();
    let (plain, normalised) = (form(DType::U8, Layout::Nhwc), Transform::normalize_imagenet());
    let forms = [
        plain,
        form(DType::U8, Layout::Nchw),
        form(DType::F16, Layout::Nhwc),
        vec![Transform::to_dtype(DType::F16), Transform::ToLayout { layout: Layout::Nchw }],
        vec![Transform::to_dtype(DType::F32)],
        vec![normalised, Transform::ToLayout { layout: Layout::Nchw }],
    ];
    let flip = Transform::random_horizontal_flip();
    let wide = transform("{\"TrivialAugmentWide\": {}}");
    let changes = [vec![], vec![flip.clone()], vec![flip, wide]];
    for (recipe, is_drawn) in RECIPES {
        let (readers, side) = ([fractals(recipe)], side(recipe));
        let whole = Transform::resize(side);
        let geometries = [
            (vec![Transform::squeeze([side; 2])], true),
            (vec![whole.clone(), Transform::center_crop(side - 8)], true),
            (vec![whole, Transform::CenterCrop { size: [side - 30, side - 10] }], true),
            // The CPU makes resized images, because its filter differs.
            (vec![Transform::squeeze([24, 40])], false),
            (vec![random_part([40, 32])], false),
        ];
        for (geometry, is_whole) in &geometries {
            for form in &forms {
                for changes in &changes {
                    let transforms = [&geometry[..], changes, form].concat();
                    let options = options(5, 1).transform(list(&transforms[..])).seed(SEED);
                    let (found, decoded) = on_device(&readers, options.clone(), device());
                    assert!(found == on_cpu(&readers, options), "{recipe} {transforms:?}");
                    let made =
                        |sample: &&u64| on_gpu(&transforms, **sample, (side, side)).is_some();
                    let n_drawn = found.keys().filter(made).count() as u64;
                    let n_drawn = if is_drawn && *is_whole { n_drawn } else { 0 };
                    // Images that are too empty are left to the CPU.
                    assert!(decoded.drawn_on_gpu <= n_drawn, "{recipe}: {decoded:?}");
                    assert!(decoded.drawn_on_gpu * 2 >= n_drawn, "{recipe}: {decoded:?}");
                    assert_eq!(decoded.drawn_on_gpu + decoded.by_cpu, found.len() as u64);
                    assert_eq!((decoded.by_index, decoded.failed_on_gpu), (0, 0));
                }
            }
        }
    }
}

#[test]
fn images_that_are_too_empty_are_drawn_by_the_cpu() {
    let _fake = FakeDriver::take().unwrap();
    let recipe = "fractal:fractaldb?classes=3&instances=100&points=600&size=64&\
                  sampler=lanes64-v1&draw=point_gray&min_fill=";
    let mut shares = Vec::new();
    for min_fill in ["0", "0.05", "0.08", "1"] {
        let readers = [fractals(&format!("{recipe}{min_fill}"))];
        let transforms = [Transform::squeeze([64, 64]), Transform::random_horizontal_flip()];
        let options = options(16, 1).transform(list(transforms)).seed(SEED);
        let (found, decoded) = on_device(&readers, options.clone(), device());
        assert!(found == on_cpu(&readers, options.clone()), "{min_fill}");
        assert_eq!(decoded.failed_on_gpu, 0);
        shares.push(decoded.drawn_on_gpu);
        let by_cpu = DeviceOptions { decoder: DeviceDecoder::Cpu, ..device() };
        let (same, decoded) = on_device(&readers, options, by_cpu);
        assert!(same == found && decoded.drawn_on_gpu == 0, "{min_fill}");
    }
    let n_images = shares[0];
    assert!(shares.is_sorted_by(|more, less| more >= less), "{shares:?}");
    assert!(shares[1] > shares[2] && shares[3] == 0 && n_images > shares[2], "{shares:?}");
}

#[test]
fn epochs_that_vary_are_drawn_as_such() {
    let _fake = FakeDriver::take().unwrap();
    let recipe = "fractal:svd?classes=3&instances=4&points=600&vary=epoch&sampler=lanes64-v1";
    let planes = Transform::ToLayout { layout: Layout::Nchw };
    let options = options(5, 1).transform(list([Transform::squeeze([48, 48]), planes]));
    let with = |device| options.clone().device(device);
    let new = |device| Loader::new(datasets(&[fractals(recipe)]), with(device)).unwrap();
    let (mut gpu, mut cpu) = (new(Some(device())), new(None));
    let first = rows(&mut gpu);
    assert!(first == rows(&mut cpu));
    let second = rows(&mut gpu);
    assert!(second == rows(&mut cpu) && second != first);
    assert!(gpu.stats().decoded.unwrap().drawn_on_gpu > 0);
}

/// JPEGs, drawings of two canvases, and images for the CPU, in one batch.
#[test]
fn drawn_rows_come_beside_others() {
    let _fake = FakeDriver::take().unwrap();
    let readers: [Arc<dyn Reader>; 4] = [
        Memory::new(20).with_entry_points(),
        fractals("fractal:svd?classes=3&instances=4&points=600&size=32&sampler=lanes64-v1"),
        fractals("fractal:svd?classes=2&instances=4&points=400&size=32&sampler=lanes64-v1"),
        fractals("fractal:visual_atom?classes=2&instances=3&size=32"),
    ];
    for changes in [vec![], vec![all_changes()]] {
        let moved = [Transform::squeeze([32, 32]), Transform::random_horizontal_flip()];
        let transforms = [&moved[..], &changes, &form(DType::F32, Layout::Nchw)].concat();
        let options = options(9, 1).transform(list(transforms)).seed(SEED);
        let (found, decoded) = on_device(&readers, options.clone(), device());
        assert!(decoded.by_index > 0 && decoded.drawn_on_gpu > 10 && decoded.by_cpu > 0);
        let alone = on_device(&readers[..1], options.clone(), device()).0;
        let by_cpu = on_cpu(&readers, options);
        for (sample, row) in &found {
            let expected = if *sample < 20 { &alone[sample] } else { &by_cpu[sample] };
            assert!(row == expected, "sample {sample}, {changes:?}");
        }
    }
}

#[test]
fn a_failing_driver_leaks_nothing() {
    let fake = FakeDriver::take().unwrap();
    let readers: [Arc<dyn Reader>; 2] = [
        Memory::new(9).with_entry_points(),
        fractals("fractal:svd?classes=3&instances=2&points=400&size=32&sampler=lanes64-v1"),
    ];
    let options = || {
        options(8, 1)
            .transform(list([Transform::squeeze([32, 32]), all_changes()]))
            .device(Some(device()))
    };
    let run = || -> Result<Vec<Vec<u8>>, Error> {
        let loader = Loader::new(datasets(&readers), options())?;
        loader.map(|batch| bytes(&batch?)).collect()
    };
    fake.reset();
    let expected = run().unwrap();
    let n_calls = fake.counters().calls;
    let mut n_noticed = 0;
    for call in (1..=n_calls).step_by(3) {
        fake.reset();
        fake.fail(call, 700);
        match run() {
            Ok(found) => assert!(found == expected, "call {call}"),
            Err(error) => {
                assert!(matches!(error, Error::Device { .. }), "call {call}: {error}");
                n_noticed += 1;
            }
        }
        assert!(fake.counters().is_clean(), "call {call}: {:?}", fake.counters());
    }
    assert!(n_noticed > 20, "{n_noticed} of {n_calls}");
}
