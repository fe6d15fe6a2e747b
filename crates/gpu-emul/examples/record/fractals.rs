//! Fractals: comparison with the CPU's bits, and speed.
use super::{Result, Settings, rival::n_threads};
use fdconvert_fractal::{
    Bitmap, Coin, Frame, Key, LanesSampler, LanesScratch, LanesSystem, PatchScratch, System, patch,
};
use fdconvert_gpu::{Canvas, FractalImage, FractalSystem, Fractals, Gpu};
use fdconvert_testkit::fixtures::Random;
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

/// FractalDB's size and padding.
const SIZE: u32 = 256;
const PAD: u32 = 6;
const N_SYSTEMS: usize = 64;
/// Measured images on the GPU for each compared one.
const MORE_ON_GPU: usize = 32;

pub(crate) struct Drawn {
    pub(crate) points: u32,
    pub(crate) n_equal: usize,
    pub(crate) n_left: usize,
    pub(crate) n_wrong: usize,
    pub(crate) n_images: usize,
    /// Images per second of every round, by wall clock.
    pub(crate) gpu: Vec<f64>,
    pub(crate) cpu: Vec<f64>,
}

/// Compares, then measures in turn until the rounds or the time are used up.
pub(crate) fn all(gpu: &Gpu, settings: &Settings, deadline: Instant) -> Result<Drawn> {
    let systems = systems()?;
    let handed: Vec<_> = systems
        .iter()
        .map(|it| FractalSystem { parameters: *it.parameters(), words: *it.words() })
        .collect();
    let points = settings.points;
    let frame = Frame::new(SIZE, PAD, points)?;
    let mut fractals = Fractals::new(gpu, &handed, Canvas { size: SIZE, pad: PAD, points })?;
    let n_images = settings.images * MORE_ON_GPU;
    let mut drawn =
        Drawn { points, n_equal: 0, n_left: 0, n_wrong: 0, n_images, gpu: vec![], cpu: vec![] };
    compare(&mut fractals, &systems, frame, settings.images, &mut drawn)?;
    let images = images(n_images);
    for round in 0..=settings.rounds {
        if round > 0 && Instant::now() > deadline {
            break;
        }
        let began = Instant::now();
        fractals.render(&images)?;
        let rate = n_images as f64 / began.elapsed().as_secs_f64();
        // The first only warms up.
        if round > 0 {
            drawn.gpu.push(rate);
            drawn.cpu.push(on_cpu(&systems, frame, settings.images * 2)?);
        }
    }
    Ok(drawn)
}

/// Draws systems as FractalDB's search does, and returns those that the lanes support.
fn systems() -> Result<Vec<LanesSystem>> {
    let mut random = Random::new(7);
    let mut systems = Vec::new();
    while systems.len() < N_SYSTEMS {
        let n_maps = 2 + random.below(6);
        let mut uniform = || random.below(1 << 53) as f64 / (1_u64 << 52) as f64 - 1.0;
        let maps = (0..n_maps).map(|_| std::array::from_fn(|_| uniform())).collect();
        let system = LanesSystem::new(&System::by_area(maps)?);
        if !system.exact_orbit() {
            systems.push(system);
        }
    }
    Ok(systems)
}

fn key(number: usize) -> Key {
    Key { seed: 3, class: (number % N_SYSTEMS) as u32, instance: number as u32 }
}

fn images(n: usize) -> Vec<FractalImage> {
    let image =
        |number| FractalImage { system: (number % N_SYSTEMS) as u32, key: key(number).words() };
    (0..n).map(image).collect()
}

/// One thread's part of drawing on the CPU.
struct Cpu {
    sampler: LanesSampler,
    scratch: LanesScratch,
    patch_scratch: PatchScratch,
    coverage: Bitmap,
    patched: Bitmap,
}

impl Cpu {
    fn new(frame: Frame) -> Self {
        Self {
            sampler: LanesSampler::new(frame),
            scratch: LanesScratch::default(),
            patch_scratch: PatchScratch::default(),
            coverage: frame.bitmap(),
            patched: frame.bitmap(),
        }
    }

    fn draw(&mut self, system: &LanesSystem, key: Key) {
        self.sampler.coverage(system, key, &mut self.scratch, &mut self.coverage);
        let coin = Coin::new(key.words());
        patch(&self.coverage, coin, &mut self.patched, &mut self.patch_scratch);
    }
}

fn compare(
    fractals: &mut Fractals,
    systems: &[LanesSystem],
    frame: Frame,
    n: usize,
    drawn: &mut Drawn,
) -> Result<()> {
    let drawing = fractals.render(&images(n))?;
    let (coverage, patches) = drawing.download()?;
    let bitmap_bytes = (coverage.len() / n.max(1)).max(1);
    let bitmaps = coverage.chunks_exact(bitmap_bytes).zip(patches.chunks_exact(bitmap_bytes));
    let mut cpu = Cpu::new(frame);
    let found = (0..n).zip(drawing.needs_orbit()).zip(bitmaps).zip(systems.iter().cycle());
    for (((number, needs_orbit), (coverage, patches)), system) in found {
        cpu.draw(system, key(number));
        let same = |bytes: &[u8], bitmap: &Bitmap| {
            bytes.iter().copied().eq(bitmap.words().iter().flat_map(|word| word.to_le_bytes()))
        };
        let count = if *needs_orbit {
            &mut drawn.n_left
        } else if same(coverage, &cpu.coverage) && same(patches, &cpu.patched) {
            &mut drawn.n_equal
        } else {
            &mut drawn.n_wrong
        };
        *count += 1;
    }
    Ok(())
}

/// Images per second on all cores.
fn on_cpu(systems: &[LanesSystem], frame: Frame, n: usize) -> Result<f64> {
    let next = AtomicUsize::new(0);
    let began = Instant::now();
    let draw = || {
        let mut cpu = Cpu::new(frame);
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let system = systems.get(number % systems.len().max(1));
            let Some(system) = system.filter(|_| number < n) else { return };
            cpu.draw(system, key(number));
        }
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads()).map(|_| scope.spawn(draw)).collect();
        threads.into_iter().try_for_each(thread::ScopedJoinHandle::join)
    })
    .map_err(|_| "a thread panicked")?;
    Ok(n as f64 / began.elapsed().as_secs_f64())
}
