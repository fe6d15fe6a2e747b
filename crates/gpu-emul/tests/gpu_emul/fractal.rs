//! The kernel that draws fractals against the sampler `lanes64-v1`, bit for bit.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it has compared"
)]

use fdconvert_fractal::{
    Bitmap, Coin, Frame, Key, LanesSampler, LanesScratch, LanesSystem, PatchScratch, Search,
    System, patch,
};
use fdconvert_gpu::{
    Canvas, Driver, FractalImage, FractalSystem, Fractals, Gpu, GpuError,
    layout::{FractalImageLayout, FractalSystemLayout},
};
use fdconvert_gpu_emul::{Drawn, FakeDriver, draw};
use fdconvert_testkit::fixtures::{Random, table};

fn fern() -> System {
    let maps = [
        [0.0, 0.0, 0.0, 0.16, 0.0, 0.0],
        [0.85, 0.04, -0.04, 0.85, 0.0, 1.6],
        [0.2, -0.26, 0.23, 0.22, 0.0, 1.6],
        [-0.15, 0.28, 0.26, 0.24, 0.0, 0.44],
    ];
    System::new(maps.to_vec(), vec![0.01, 0.85, 0.07, 0.07]).unwrap()
}

/// Eight maps, so that no slot of the tables is free.
fn carpet() -> System {
    let third = 1.0 / 3.0;
    let places = (0..9).filter(|&place| place != 4);
    let map = |place: i32| {
        let (column, row) = (f64::from(place % 3), f64::from(place / 3));
        [third, 0.0, 0.0, third, column * third, row * third]
    };
    System::new(places.map(map).collect(), vec![0.125; 8]).unwrap()
}

/// A single map without an extent: spans of zero.
fn point() -> System {
    System::new(vec![[0.5, 0.0, 0.0, 0.5, 0.0, 0.0]], vec![1.0]).unwrap()
}

/// Contracts on average, but throws points beyond single precision.
fn excursions() -> System {
    let far = [1e30, 0.0, 0.0, 1e30, 1.0, 1.0];
    let near = [1e-35, 0.0, 0.0, 1e-35, 0.5, 0.25];
    System::new(vec![far, near], vec![0.5, 0.5]).unwrap()
}

/// Draws a system as FractalDB's search does.
fn random_system(random: &mut Random) -> System {
    let n_maps = 2 + random.below(6);
    let mut uniform = || random.below(1 << 53) as f64 / (1_u64 << 52) as f64 - 1.0;
    System::by_area((0..n_maps).map(|_| std::array::from_fn(|_| uniform())).collect()).unwrap()
}

/// The categories of FractalDB that other tests compare with the published ones.
fn categories() -> Vec<System> {
    let mut search = Search::new(Search::PUBLISHED_SEED, Search::PUBLISHED_RATE).unwrap();
    search.run(1000, &mut |_| true).unwrap();
    let numbers = table("fractaldb/published.csv").into_iter().map(|mut row| row.swap_remove(0));
    numbers.map(|number| search.found()[number.parse::<usize>().unwrap()].clone()).collect()
}

/// Numbers of equal images, and of images left to the CPU.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Compared {
    n_equal: usize,
    n_left: usize,
}

/// Draws an image of every system that the lanes support, by the kernel and by the CPU.
#[track_caller]
fn check(systems: &[System], size: u32, pad: u32, points: u32) -> Compared {
    let frame = Frame::new(size, pad, points).unwrap();
    let systems: Vec<_> =
        systems.iter().map(LanesSystem::new).filter(|system| !system.exact_orbit()).collect();
    let layouts: Vec<_> = systems
        .iter()
        .map(|system| FractalSystemLayout { map: *system.parameters(), words: *system.words() })
        .collect();
    let keys: Vec<_> =
        (0..).zip(&systems).map(|(class, _)| Key { seed: 9, class, instance: size }).collect();
    let images: Vec<_> = (0..)
        .zip(&keys)
        .map(|(system, key)| {
            let (first, second) = key.words();
            FractalImageLayout { system, key: [first, second], least: 0, left: 7 }
        })
        .collect();
    let Drawn { coverage, patches, needs_orbit } =
        draw(&layouts, &images, (size, pad, points)).unwrap();
    let sampler = LanesSampler::new(frame);
    let (mut scratch, mut patch_scratch) = (LanesScratch::default(), PatchScratch::default());
    let (mut expected, mut patched) = (Bitmap::new(1, 1), Bitmap::new(1, 1));
    let n_words = size.div_ceil(64) as usize * size as usize;
    let drawn = coverage.chunks_exact(n_words).zip(patches.chunks_exact(n_words));
    let mut compared = Compared::default();
    for (((system, key), needs_orbit), (coverage, patches)) in
        systems.iter().zip(&keys).zip(needs_orbit).zip(drawn)
    {
        if needs_orbit {
            assert!(coverage.iter().chain(patches).all(|word| *word == 0));
            compared.n_left += 1;
            continue;
        }
        sampler.coverage(system, *key, &mut scratch, &mut expected);
        patch(&expected, Coin::new(key.words()), &mut patched, &mut patch_scratch);
        assert!(coverage == expected.words(), "coverage of {key:?}, {size} pixels");
        assert!(patches == patched.words(), "patches of {key:?}, {size} pixels");
        compared.n_equal += 1;
    }
    compared
}

/// Below and above the limit of shared memory, with whole and partial words.
const SIZES: [(u32, u32, u32); 9] = [
    (9, 4, 128),
    (32, 4, 129),
    (63, 6, 1000),
    (64, 6, 5000),
    (65, 6, 5000),
    (224, 6, 20_000),
    (256, 6, 30_001),
    (257, 6, 20_000),
    (500, 12, 40_000),
];

#[test]
fn known_systems_are_the_same() {
    let mut systems = vec![fern(), carpet(), point()];
    let n_own = systems.len();
    systems.extend(categories());
    for (size, pad, points) in SIZES {
        let compared = check(&systems, size, pad, points);
        println!("{size}: {compared:?}");
        assert!(compared.n_equal >= n_own && compared.n_left == 0, "{compared:?}");
    }
}

#[test]
fn random_systems_are_the_same() {
    let mut random = Random::new(77);
    let systems: Vec<_> = (0..200).map(|_| random_system(&mut random)).collect();
    let mut total = Compared::default();
    for (size, pad, points) in [(64, 6, 3000), (256, 6, 10_000), (300, 6, 5000)] {
        let compared = check(&systems, size, pad, points);
        total.n_equal += compared.n_equal;
        total.n_left += compared.n_left;
    }
    println!("{total:?}");
    assert!(total.n_equal > 100);
}

#[test]
fn what_single_precision_cannot_draw_is_left_to_the_cpu() {
    assert_eq!(check(&[excursions()], 64, 6, 3000), Compared { n_equal: 0, n_left: 1 });
}

#[test]
fn images_without_a_system_are_refused() {
    let image = FractalImageLayout { system: 1, ..FractalImageLayout::default() };
    assert_eq!(draw(&[FractalSystemLayout::default()], &[image], (64, 6, 200)), None);
}

/// The host's part: the driver returns the kernel's images, in several sizes, and failures of any
/// call are errors that leak nothing.
#[test]
fn the_driver_draws_the_same() {
    let fake = FakeDriver::take().unwrap();
    let systems: Vec<_> = [fern(), carpet(), excursions()].iter().map(LanesSystem::new).collect();
    let handed: Vec<_> = systems
        .iter()
        .map(|it| FractalSystem { parameters: *it.parameters(), words: *it.words() })
        .collect();
    let images: Vec<_> = (0..7)
        .map(|instance| FractalImage {
            system: instance % 3,
            key: Key { seed: 1, class: 2, instance }.words(),
        })
        .collect();
    let render = |(size, pad, points)| -> Result<_, GpuError> {
        let gpu = Gpu::open(&Driver::load(Some(FakeDriver::path()))?, 0)?;
        let mut fractals = Fractals::new(&gpu, &handed, Canvas { size, pad, points })?;
        let drawing = fractals.render(&images)?;
        Ok((drawing.download()?, drawing.needs_orbit().to_vec()))
    };
    let layouts: Vec<_> = handed
        .iter()
        .map(|it| FractalSystemLayout { map: it.parameters, words: it.words })
        .collect();
    let asked: Vec<_> = images
        .iter()
        .map(|it| FractalImageLayout {
            system: it.system,
            key: [it.key.0, it.key.1],
            ..FractalImageLayout::default()
        })
        .collect();
    for size in [(65, 6, 3000), (300, 6, 3000)] {
        let ((coverage, patches), needs_orbit) = render(size).unwrap();
        let expected = draw(&layouts, &asked, size).unwrap();
        let bytes = |words: &[u64]| words.iter().flat_map(|it| it.to_le_bytes()).collect();
        let (of_coverage, of_patches): (Vec<u8>, Vec<u8>) =
            (bytes(&expected.coverage), bytes(&expected.patches));
        assert!(coverage == of_coverage && patches == of_patches);
        assert_eq!(needs_orbit, [false, false, true, false, false, true, false]);
        assert_eq!(needs_orbit, expected.needs_orbit);
    }
    fake.reset();
    let expected = render((65, 6, 3000)).unwrap();
    for call in 1..=fake.counters().calls {
        fake.reset();
        fake.fail(call, 719);
        match render((65, 6, 3000)) {
            Ok(drawn) => assert!(drawn == expected, "call {call}"),
            Err(error) => assert!(matches!(error, GpuError::Driver { code: 719, .. }), "{error}"),
        }
        assert!(fake.counters().is_clean(), "call {call}: {:?}", fake.counters());
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let _fake = FakeDriver::take().unwrap();
    let gpu = Gpu::open(&Driver::load(Some(FakeDriver::path())).unwrap(), 0).unwrap();
    let systems = [FractalSystem::default()];
    for (size, pad, points) in
        [(8, 4, 128), (64, 3, 128), (64, 4, 127), (16_385, 4, 128), (0, 4, 128)]
    {
        let refused = Fractals::new(&gpu, &systems, Canvas { size, pad, points }).err();
        assert!(matches!(refused, Some(GpuError::Fractal { .. })), "{size} {pad} {points}");
    }
    let canvas = Canvas { size: 9, pad: 4, points: 128 };
    let mut fractals = Fractals::new(&gpu, &systems, canvas).unwrap();
    assert_eq!(fractals.render(&[]).unwrap().download(), Ok((vec![], vec![])));
    let refused = fractals.render(&[FractalImage { system: 1, key: (0, 0) }]).err();
    assert!(matches!(refused, Some(GpuError::Fractal { .. })));
}
