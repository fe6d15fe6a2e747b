//! Rows that an emulated GPU changes or draws: bit for bit those that the CPU makes of the same
//! pixels.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{Memory, options, random_crop};
use fdconvert_core::{Error, Reader};
use fdconvert_formats::formula::FormulaReader;
use fdconvert_fractal::Recipe;
use fdconvert_gpu_emul::{FakeDriver, FakeNvJpeg};
use fdconvert_loader::{
    Augment, Batch, Crop, DType, Datasets, Decoded, DeviceDecoder, DeviceOptions, DrawSize, Last,
    Layout, Loader, Memory as Where, Normalise, Options, Output,
    parts::{Area, Geometry, Key, Op, Policy, Region, Renderer},
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

fn key(sample: u64) -> Key {
    Key { seed: SEED, epoch: 0, sample, occurrence: 0 }
}

/// Returns the CPU's row for pixels with the size of the output.
fn rendered(pixels: &[u8], options: &Options, sample: u64) -> Vec<u8> {
    let (width, height) = options.output.size;
    let area = Area { x: 0, y: 0, width, height };
    let region = Region { pixels, area, channels: 3, denominator: 1 };
    // The flip depends only on the key.
    let flip = Geometry::of(Crop::None, options.flip, (width, height), (9, 9), key(sample)).flip;
    let geometry = Geometry { rect: area.into(), needed: area, flip, inset: None };
    let mut row = vec![0; options.output.n_bytes()];
    let mut renderer = Renderer::new(options.output, options.augment).unwrap();
    renderer.render("x", &region, &geometry, key(sample), &mut row).unwrap();
    row
}

fn output(size: (u32, u32), dtype: DType, layout: Layout) -> Output {
    let normalise = (dtype != DType::U8).then_some(Normalise::IMAGENET);
    Output { size, dtype, layout, normalise }
}

/// Compares rows that `device` decoded and the GPU augmented with the CPU's augmentation of the
/// pixels that the GPU decodes; the others with the CPU's rows.
fn check_augmented(reader: &Arc<dyn Reader>, augmented: &Options, device: &DeviceOptions) {
    let readers = [reader.clone()];
    let levels = Output { size: augmented.output.size, ..options(1, 1).output };
    let plain = augmented.clone().output(levels).augment(None).flip(0.0);
    let (plain, _) = on_device(&readers, plain, device.clone());
    let (found, decoded) = on_device(&readers, augmented.clone(), device.clone());
    let by_cpu = on_cpu(&readers, augmented.clone());
    assert!(decoded.by_index + decoded.by_nvjpeg > decoded.by_cpu && decoded.by_cpu > 0);
    assert_eq!(decoded.failed_on_gpu, 0);
    assert_eq!(found.len(), plain.len());
    for (sample, row) in &found {
        // As `Memory` encodes them, which repeats a hundred images.
        let is_jpeg = sample % 100 % 3 != 2;
        let expected = if is_jpeg {
            rendered(&plain[sample], augmented, *sample)
        } else {
            by_cpu[sample].clone()
        };
        let what = (augmented.augment, augmented.output);
        assert!(*row == expected, "sample {sample}: {what:?}");
    }
}

fn augmented(augment: Augment, output: Output) -> Options {
    random_crop().augment(Some(augment)).output(output).seed(SEED).last(Last::Short)
}

#[test]
fn every_change_of_every_strength_is_that_of_the_cpu() {
    let _fake = FakeDriver::take().unwrap();
    let n_samples = 240;
    let reader: Arc<dyn Reader> = Memory::new(n_samples).with_entry_points();
    let size = (33, 17);
    for magnitude in 0..31 {
        let augment = Augment::RandAugment { n_ops: 3, magnitude, n_bins: 31 };
        let mut ops = BTreeSet::new();
        for sample in (0..n_samples).filter(|sample| sample % 100 % 3 != 2) {
            augment.draw(size, key(sample), |op, strength| {
                ops.insert((op as u32, strength < 0.0));
            });
        }
        // All but the one that only AutoAugment draws, and those with two signs.
        let n_signed = if magnitude == 0 { 0 } else { 9 };
        assert_eq!(ops.len(), Op::ALL.len() - 1 + n_signed, "magnitude {magnitude}");
        let output = output(size, DType::U8, Layout::Nhwc);
        check_augmented(&reader, &augmented(augment, output), &device());
    }
    let reader: Arc<dyn Reader> = Memory::new(60).with_entry_points();
    let wide = Augment::TrivialAugmentWide { n_bins: 31 };
    let policies = [Policy::ImageNet, Policy::Cifar10, Policy::Svhn].map(Augment::AutoAugment);
    for augment in policies.into_iter().chain([wide]) {
        for size in [(1, 1), (2, 3), (3, 2), (33, 17), (64, 80)] {
            let output = output(size, DType::U8, Layout::Nhwc);
            check_augmented(&reader, &augmented(augment, output), &device());
        }
    }
}

#[test]
fn augmented_rows_become_what_the_cpu_makes_of_levels() {
    let _fake = FakeDriver::take().unwrap();
    let reader: Arc<dyn Reader> = Memory::new(40).with_entry_points();
    let augment = Augment::randaugment(2, 9);
    for dtype in [DType::U8, DType::F16, DType::F32] {
        for layout in [Layout::Nhwc, Layout::Nchw] {
            let options = augmented(augment, output((19, 12), dtype, layout));
            check_augmented(&reader, &options, &device());
            let keeping = DeviceOptions { device_cache_bytes: 1 << 20, ..device() };
            check_augmented(&reader, &options, &keeping);
        }
    }
}

#[test]
fn what_nvjpeg_decodes_is_augmented_as_well() {
    let fake = FakeDriver::take().unwrap();
    let _library = FakeNvJpeg::new(&fake).unwrap();
    let reader: Arc<dyn Reader> = Memory::new(40);
    let options = augmented(Augment::randaugment(2, 9), output((19, 12), DType::F32, Layout::Nchw));
    let nvjpeg = Some(FakeNvJpeg::path().into());
    check_augmented(&reader, &options, &DeviceOptions { nvjpeg, ..device() });
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
    let random = Crop::Random { scale: (0.1, 1.0), ratio: (0.75, 1.33) };
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
    for (recipe, is_drawn) in RECIPES {
        let (readers, side) = ([fractals(recipe)], side(recipe));
        let geometries = [
            ((side, side), Crop::None, true),
            ((side - 8, side - 8), Crop::Center { resize: side }, true),
            ((side - 10, side - 30), Crop::Center { resize: side }, true),
            // The CPU makes resized images, because its filter differs.
            ((40, 24), Crop::None, false),
            ((32, 40), random, false),
        ];
        for (size, crop, is_whole) in geometries {
            for (dtype, layout, normalise) in outputs {
                for (flip, augment) in changes {
                    let output = Output { size, dtype, layout, normalise };
                    let options = options(5, 1)
                        .output(output)
                        .crop(crop)
                        .flip(flip)
                        .augment(augment)
                        .seed(SEED)
                        .draw_size(DrawSize::Own);
                    let (found, decoded) = on_device(&readers, options.clone(), device());
                    assert!(
                        found == on_cpu(&readers, options),
                        "{recipe} {output:?} {crop:?} {flip} {augment:?}"
                    );
                    let n_drawn = if is_drawn && is_whole { found.len() as u64 } else { 0 };
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
        let output = output((64, 64), DType::U8, Layout::Nhwc);
        let options = options(16, 1).output(output).crop(Crop::None).seed(SEED).flip(0.5);
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
    let output = output((48, 48), DType::U8, Layout::Nchw);
    let options = options(5, 1).output(output).crop(Crop::None);
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
    let output = output((32, 32), DType::F32, Layout::Nchw);
    for augment in [None, Some(Augment::randaugment(2, 9))] {
        let options =
            options(9, 1).output(output).augment(augment).crop(Crop::None).seed(SEED).flip(0.5);
        let (found, decoded) = on_device(&readers, options.clone(), device());
        assert!(decoded.by_index > 0 && decoded.drawn_on_gpu > 10 && decoded.by_cpu > 0);
        let alone = on_device(&readers[..1], options.clone(), device()).0;
        let by_cpu = on_cpu(&readers, options);
        for (sample, row) in &found {
            let expected = if *sample < 20 { &alone[sample] } else { &by_cpu[sample] };
            assert!(row == expected, "sample {sample}, {augment:?}");
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
            .output(output((32, 32), DType::U8, Layout::Nchw))
            .augment(Some(Augment::randaugment(2, 9)))
            .crop(Crop::None)
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
