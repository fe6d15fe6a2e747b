//! Rows that are drawn and augmented on the GPU: comparison with the loader's bits on the CPU, and
//! speed.
use super::{Result, Settings};
use fdconvert_core::LanesImage;
use fdconvert_fractal::{FractalSource, Recipe};
use fdconvert_gpu::{
    Change, Decoder, Diagnostics, Gpu, Kernel, Limits, Order, Output, Request, SampleType, Tensor,
    Warp,
};
use fdconvert_loader::{
    DType, Datasets, DeviceOptions, Layout, Loader, Memory, Normalise, Options, Transform,
    TransformList, parts::Interpolation,
};
use std::time::Instant;

/// Side of FractalDB's images.
const SIDE: u32 = 256;

/// Changes of the loader's rows, by name: none, those that a GPU makes, and all.
fn cases() -> [(&'static str, Vec<Transform>); 3] {
    let levels = vec![
        Transform::RandomPosterize { bits: 3, p: 0.5 },
        Transform::RandomSolarize { threshold: 128.0, p: 0.5 },
        Transform::RandomInvert { p: 0.5 },
        Transform::RandomEqualize { p: 0.5 },
    ];
    let all = vec![Transform::RandAugment {
        num_ops: 2,
        magnitude: 9,
        num_magnitude_bins: 31,
        interpolation: Interpolation::Nearest,
        fill: [0; 3],
    }];
    [("drawn", vec![]), ("drawn, levels changed", levels), ("drawn, RandAugment", all)]
}

pub(crate) struct Rows {
    pub(crate) name: &'static str,
    pub(crate) n_equal: usize,
    pub(crate) n_wrong: usize,
    /// Rows that the GPU left to the CPU.
    pub(crate) n_left: u64,
    /// Rows per second of every round, by wall clock.
    pub(crate) gpu: Vec<f64>,
    pub(crate) cpu: Vec<f64>,
}

/// The GPU's microseconds per row, for drawing and for each following kernel: the minimum of all
/// rounds.
pub(crate) type KernelTimes = Vec<(&'static str, f64)>;

/// Compares, then measures in turn until the rounds or the time are used up.
pub(crate) fn all(
    gpu: &Gpu,
    settings: &Settings,
    deadline: Instant,
) -> Result<(Vec<Rows>, KernelTimes)> {
    let mut rows = Vec::new();
    for (name, changes) in cases() {
        let mut case = Rows { name, n_equal: 0, n_wrong: 0, n_left: 0, gpu: vec![], cpu: vec![] };
        let mut on_gpu = loader(settings, &changes, Some(device(settings)))?;
        let mut on_cpu = loader(settings, &changes, None)?;
        let (found, expected) = (hashes(&mut on_gpu)?, hashes(&mut on_cpu)?);
        case.n_equal = found.iter().zip(&expected).filter(|(a, b)| a == b).count();
        case.n_wrong = found.len().max(expected.len()) - case.n_equal;
        case.n_left = on_gpu.stats().decoded.map_or(0, |decoded| decoded.by_cpu);
        for _ in 0..settings.rounds {
            if Instant::now() > deadline {
                break;
            }
            case.gpu.push(rate(&mut on_gpu)?);
            case.cpu.push(rate(&mut on_cpu)?);
        }
        rows.push(case);
    }
    Ok((rows, kernels(gpu, settings)?))
}

fn recipe(settings: &Settings) -> String {
    let Settings { images, points, .. } = settings;
    format!(
        "fractal:svd?classes=4&instances={}&points={points}&size={SIDE}&sampler=lanes64-v1",
        images.max(&1)
    )
}

fn device(settings: &Settings) -> DeviceOptions {
    let driver = settings.driver.clone();
    DeviceOptions { ordinal: settings.device, driver, ..DeviceOptions::default() }
}

fn loader(
    settings: &Settings,
    changes: &[Transform],
    device: Option<DeviceOptions>,
) -> Result<Loader> {
    let mut list = vec![Transform::squeeze([SIDE; 2]), Transform::random_horizontal_flip()];
    list.extend_from_slice(changes);
    list.extend([
        Transform::normalize_imagenet(),
        Transform::to_dtype(DType::F16),
        Transform::ToLayout { layout: Layout::Nchw },
    ]);
    let batch = settings.images.clamp(1, 256) as u32;
    let list = TransformList::new(list)?;
    let options = Options::default().batch_size(batch).transform(list).device(device);
    Ok(Loader::new(Datasets::open(recipe(settings))?, options)?)
}

fn hashes(loader: &mut Loader) -> Result<Vec<u64>> {
    let mut hashes = Vec::new();
    for batch in loader.by_ref() {
        let batch = batch?;
        let bytes = match batch.memory() {
            Memory::Device(images) => images.to_host()?,
            Memory::Host(bytes) => bytes.to_vec(),
        };
        let rows = bytes.chunks_exact(batch.shape().row_bytes());
        hashes.extend(rows.map(xxhash_rust::xxh3::xxh3_64));
    }
    Ok(hashes)
}

/// Returns rows per second of an epoch. Batches are dropped at once, so that their memory is
/// reused.
fn rate(loader: &mut Loader) -> Result<f64> {
    let (mut n_rows, began) = (0, Instant::now());
    for batch in loader.by_ref() {
        n_rows += batch?.len();
    }
    Ok(n_rows as f64 / began.elapsed().as_secs_f64().max(1e-9))
}

/// Times a batch with a change of each kind: one that reads other pixels, and one that counts
/// levels.
fn kernels(gpu: &Gpu, settings: &Settings) -> Result<KernelTimes> {
    let recipe = Recipe::parse(&recipe(settings))?;
    let source = FractalSource::new(recipe.resolve(&mut |_| true)?, recipe.name())?;
    let n_images = settings.images.clamp(1, 256) as u64;
    let images: Vec<LanesImage> = (0..n_images)
        .filter_map(|index| source.lanes(index).transpose())
        .collect::<core::result::Result<_, _>>()?;
    let turned =
        Warp { start: [40 << 16, -(20 << 16)], right: [60_000, 26_000], down: [-26_000, 60_000] };
    let changes = [Change::Warp(turned), Change::Equalize];
    let requests: Vec<_> = images
        .iter()
        .map(|image| Request { changes: &changes, ..Request::drawn(image, (0, 0)) })
        .collect();
    let output = Output::Changed(Tensor {
        width: SIDE,
        height: SIDE,
        sample_type: SampleType::F16,
        order: Order::Nchw,
        mean: Normalise::IMAGENET.mean,
        deviation: Normalise::IMAGENET.std,
    });
    let mut decoder = Decoder::new(gpu, Limits::DEFAULT)?;
    decoder.diagnose(Diagnostics { timings: true, garbage: false });
    let mut least: KernelTimes = Vec::new();
    for _ in 0..=settings.rounds {
        let batch = decoder.decode(&requests, output)?;
        let Some(timings) = batch.timings() else { continue };
        let kernels = Kernel::ALL.iter().zip(timings.kernels_ms);
        let kernels = kernels.map(|(kernel, ms)| (kernel.name(), ms));
        let all = [("fdconvert_fractal", timings.draw_ms)].into_iter().chain(kernels);
        let us = |ms: f32| 1e3 * f64::from(ms) / requests.len().max(1) as f64;
        let found = all.filter(|(_, ms)| *ms > 0.0).map(|(name, ms)| (name, us(ms))).collect();
        least = match least.is_empty() {
            true => found,
            false => least.iter().zip(&found).map(|(a, b)| (a.0, a.1.min(b.1))).collect(),
        };
    }
    Ok(least)
}
