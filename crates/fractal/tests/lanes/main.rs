//! The sampler `lanes64-v1` through its public interface: every level of instructions draws what
//! the documentation defines, the pictures of published names do not change, and their distribution
//! is the original's.
//!
//! The long versions run with `cargo test --release -p fdconvert-fractal --test lanes -- --ignored`.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]
#![allow(clippy::print_stdout, reason = "measured values explain a failure")]

mod statistics;

use fdconvert_fractal::{
    Bitmap, Coin, Frame, Key, LanesLevel, LanesSampler, LanesScratch, LanesSystem, Map,
    MersenneTwister, PatchScratch, Search, System, coin_bitmap, patch,
};
use fdconvert_testkit::fixtures::{Random, table};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

// ---------------------------------------------------------------------------------------------
// Systems.

const FERN: [Map; 4] = [
    [0.0, 0.0, 0.0, 0.16, 0.0, 0.0],
    [0.85, 0.04, -0.04, 0.85, 0.0, 1.6],
    [0.2, -0.26, 0.23, 0.22, 0.0, 1.6],
    [-0.15, 0.28, 0.26, 0.24, 0.0, 0.44],
];

fn fern() -> System {
    System::new(FERN.to_vec(), vec![0.01, 0.85, 0.07, 0.07]).unwrap()
}

fn gasket() -> System {
    let map = |e, f| [0.5, 0.0, 0.0, 0.5, e, f];
    System::new(vec![map(0.0, 0.0), map(0.5, 0.0), map(0.0, 0.5)], vec![1.0 / 3.0; 3]).unwrap()
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

/// Grows by a thousandth every step, so that its points stay finite in a small image.
fn growing() -> System {
    System::new(vec![[0.8, -0.6, 0.6, 0.802, 0.1, 0.2]], vec![1.0]).unwrap()
}

/// Contracts on average, but throws points far enough to overflow single precision, which only the
/// bounds of the points show.
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
fn categories() -> Vec<(String, System)> {
    let mut search = Search::new(Search::PUBLISHED_SEED, Search::PUBLISHED_RATE).unwrap();
    search.run(1000, &mut |_| true).unwrap();
    let numbers = table("fractaldb/published.csv").into_iter().map(|mut row| row.swap_remove(0));
    let named = numbers.map(|name| {
        let system = search.found()[name.parse::<usize>().unwrap()].clone();
        (name, system)
    });
    named.collect()
}

fn frame(size: u32, points: u32) -> Frame {
    Frame::new(size, Frame::DEFAULT_PAD, points).unwrap()
}

fn key(seed: u64) -> Key {
    Key { seed, class: 2, instance: 3 }
}

fn draw(system: &System, seed: u64, frame: Frame) -> Bitmap {
    let (mut scratch, mut out) = (LanesScratch::default(), Bitmap::new(0, 0));
    let prepared = LanesSystem::new(system);
    LanesSampler::new(frame).coverage(&prepared, key(seed), &mut scratch, &mut out);
    out
}

// ---------------------------------------------------------------------------------------------
// The definition, written a second time from the documentation of the module.

struct Defined {
    words: [u32; 8],
    maps: [Map; 8],
}

impl Defined {
    fn new(system: &System) -> Self {
        let n = system.maps().len();
        let clean = |&p: &f64| if p.is_finite() && p > 0.0 { p } else { 0.0 };
        let mut share: Vec<f64> = system.probabilities().iter().map(clean).collect();
        let sum: f64 = share.iter().sum();
        if sum == 0.0 || sum.is_infinite() {
            share = vec![8.0 / n as f64; n];
        } else {
            share.iter_mut().for_each(|share| *share = *share / sum * 8.0);
        }
        share.resize(8, 0.0);
        let mut words: [u32; 8] = std::array::from_fn(|j| ((1 << 29) - 1) << 3 | j as u32);
        let mut home: [usize; 8] = std::array::from_fn(|j| j);
        let mut open: Vec<usize> = (0..8).collect();
        for _ in 0..8 {
            let (mut s, mut g) = (open[0], open[0]);
            for &j in &open {
                s = if share[j] < share[s] { j } else { s };
                g = if share[j] > share[g] { j } else { g };
            }
            if s == g || share[s] >= 1.0 {
                break;
            }
            let t = ((share[s] * 536_870_912.0 + 0.5).floor() as u32).min((1 << 29) - 1);
            words[s] = t << 3 | g as u32;
            if t == 0 {
                home[s] = g;
            }
            share[g] -= 1.0 - share[s];
            open.retain(|&j| j != s);
        }
        Self { words, maps: home.map(|home| system.maps()[home]) }
    }

    fn map(&self, r: u32) -> Map {
        self.maps[(r.min(self.words[r as usize & 7]) & 7) as usize]
    }
}

fn hash(i: u32, (k0, k1): (u32, u32)) -> u32 {
    let mut h = i.wrapping_add(k0);
    h ^= h >> 16;
    h = h.wrapping_mul(0x21f0_aaad);
    h ^= k1;
    h ^= h >> 15;
    h = h.wrapping_mul(0xd35a_2d97);
    h ^ h >> 15
}

/// Returns the pixels of all points in canonical order.
fn defined(system: &System, exact_orbit: bool, key: Key, frame: &Frame) -> Vec<(u32, u32)> {
    let (table, words) = (Defined::new(system), key.words());
    let pixels = if exact_orbit { None } else { defined_lanes(&table, words, frame) };
    pixels.unwrap_or_else(|| defined_orbit(&table, words, frame))
}

fn defined_lanes(table: &Defined, k: (u32, u32), frame: &Frame) -> Option<Vec<(u32, u32)>> {
    let next = |r: u32, [x, y]: [f32; 2]| {
        let [a, b, c, d, e, f] = table.map(r).map(|parameter| parameter as f32);
        [a.mul_add(x, b.mul_add(y, e)), c.mul_add(x, d.mul_add(y, f))]
    };
    let mut p = vec![[0.0_f32; 2]];
    for i in 1..128 {
        p.push(next(hash(0xf000_0000 + i - 1, k), p[i as usize - 1]));
    }
    for i in 0..(frame.points() - 128).div_ceil(64) * 64 {
        p.push(next(hash(i, k), p[p.len() - 64]));
    }
    if !p.as_flattened().iter().all(|coordinate| coordinate.is_finite()) {
        return None;
    }
    let mut axes = [(0.0, 0.0); 2];
    for (axis, (scale, offset)) in axes.iter_mut().enumerate() {
        let lo = p.iter().fold(0.0_f32, |lo, p| lo.min(p[axis]));
        let span = p.iter().fold(0.0_f32, |hi, p| hi.max(p[axis])) - lo;
        let side = (frame.size() - 2 * frame.pad()) as f32;
        *scale = if span == 0.0 { 0.0 } else { side / span };
        *offset = scale.mul_add(-lo, frame.pad() as f32);
        if !span.is_finite() || !scale.is_finite() {
            return None;
        }
    }
    let pixel = |v: f32, (scale, offset): (f32, f32)| v.mul_add(scale, offset) as u32;
    Some(p.into_iter().map(|[x, y]| (pixel(x, axes[0]), pixel(y, axes[1]))).collect())
}

fn defined_orbit(table: &Defined, (k0, k1): (u32, u32), frame: &Frame) -> Vec<(u32, u32)> {
    let k = (k0 ^ 0x6578_6163, k1 ^ 0x7420_6f72);
    let mut p = vec![[0.0_f64; 2]];
    for i in 1..frame.points() {
        let [x, y] = p[i as usize - 1];
        let [a, b, c, d, e, f] = table.map(hash(i - 1, k));
        let next = [x * a + y * b + e, x * c + y * d + f];
        if !next.iter().all(|v| v.abs() < 2_f64.powi(1000)) {
            break;
        }
        p.push(next);
    }
    let axis = |axis: usize| {
        let lo = p.iter().fold(0.0_f64, |lo, p| lo.min(p[axis]));
        let hi = p.iter().fold(0.0_f64, |hi, p| hi.max(p[axis]));
        let scale = f64::from(frame.size() - 2 * frame.pad()) / (hi - lo);
        (lo, if scale.is_finite() { scale } else { 0.0 })
    };
    let axes = [axis(0), axis(1)];
    let pixel =
        |v: f64, (lo, scale): (f64, f64)| ((v - lo) * scale + f64::from(frame.pad())) as u32;
    p.iter().map(|&[x, y]| (pixel(x, axes[0]), pixel(y, axes[1]))).collect()
}

/// Draws at every level and compares with the definition: coverage, owners, and zeros beyond the
/// last column. Returns whether the single orbit was prescribed.
fn check(system: &System, key: Key, frame: Frame) -> bool {
    let prepared = LanesSystem::new(system);
    let size = frame.size();
    let mut coverage = Bitmap::new(size, size);
    let mut ordinals = vec![0; (size * size) as usize];
    let pixels = defined(system, prepared.exact_orbit(), key, &frame);
    for (ordinal, &(x, y)) in (1..).zip(&pixels) {
        coverage.set(x, y);
        ordinals[(y * size + x) as usize] = ordinal;
    }
    let mut scratch = LanesScratch::default();
    // A bitmap of another size, not empty.
    let mut out = coin_bitmap(Coin::new((1, 2)), 70, 3);
    for level in LanesLevel::available() {
        let sampler = LanesSampler::new(frame).with_level(level);
        sampler.coverage(&prepared, key, &mut scratch, &mut out);
        assert!(out == coverage, "{level:?} {key:?} {frame:?} {system:?}");
        let owners = sampler.owners(&prepared, key, &mut scratch);
        assert_eq!((owners.width, owners.height), (size, size));
        assert!(owners.ordinals == ordinals, "{level:?} {key:?} {frame:?} {system:?}");
    }
    prepared.exact_orbit()
}

// ---------------------------------------------------------------------------------------------
// Every level draws what is defined.

#[test]
fn known_systems_at_every_level() {
    for (size, points) in [(64, 128), (65, 129), (256, 20_000), (362, 9_999), (13, 700)] {
        for system in [fern(), gasket(), carpet()] {
            assert!(!check(&system, key(1), frame(size, points)));
        }
        assert!(check(&growing(), key(1), frame(size, points)));
    }
}

#[test]
fn an_overflow_leads_to_the_single_orbit() {
    // Two steps in a row away from the origin exceed single precision.
    for seed in 0..20 {
        assert!(!check(&excursions(), key(seed), frame(40, 128)));
    }
    assert!(!check(&excursions(), key(1), frame(40, 20_000)));
}

#[test]
fn degenerate_systems() {
    let (zero, one) = ([0.0; 6], [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    for maps in [
        vec![zero],
        vec![one],
        vec![zero, one],
        vec![[1.0; 6]],
        vec![[0.0, 0.0, 0.0, 0.0, 1e-44, 1.0], zero],
        vec![[0.0, 0.0, 0.0, 0.0, 3e38, -3e38], [0.0, 0.0, 0.0, 0.0, -3e38, 3e38]],
        vec![[f64::NAN; 6], one],
        vec![[f64::INFINITY; 6], one],
        vec![[f64::MAX; 6], [-f64::MAX; 6]],
        vec![[5e-324; 6], one],
    ] {
        let probabilities = vec![0.5; maps.len()];
        check(&System::new(maps, probabilities).unwrap(), key(1), frame(16, 300));
    }
}

#[test]
fn published_categories_at_every_level() {
    for (i, (name, system)) in categories().into_iter().enumerate() {
        let size = [256, 362, 224][i % 3];
        let exact_orbit = check(&system, key(i as u64), frame(size, 20_000));
        println!("{name}: {exact_orbit}");
        // An instance that expands more often than not.
        let weights = [1.0, 1.0, 1.0, 1.8, 1.0, 1.0];
        check(&system.weighted(&weights), key(i as u64), frame(size, 5_000));
    }
}

fn any_map() -> impl Strategy<Value = Map> {
    prop_oneof![
        8 => prop::array::uniform6(-1.0..1.0_f64),
        2 => prop::array::uniform6(-2.0..2.0_f64),
        1 => prop::array::uniform6(prop_oneof![Just(0.0), Just(1.0), Just(-0.5)]),
        1 => prop::array::uniform6(prop::num::f64::ANY),
    ]
}

fn any_system() -> impl Strategy<Value = System> {
    let probability = prop_oneof![
        6 => 0.0..1.0_f64,
        1 => Just(0.0),
        1 => prop::num::f64::ANY,
    ];
    prop::collection::vec((any_map(), probability), 1..=8).prop_map(|rows| {
        let (maps, probabilities) = rows.into_iter().unzip();
        System::new(maps, probabilities).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_system_at_every_level(
        system in any_system(),
        seed: u64,
        class: u32,
        instance: u32,
        pad in 4..20_u32,
        side in 1..140_u32,
        points in 128..3000_u32,
    ) {
        let frame = Frame::new(2 * pad + side, pad, points).unwrap();
        check(&system, Key { seed, class, instance }, frame);
    }
}

#[test]
fn scratch_leaves_no_trace_and_keys_differ() {
    let (system, mut scratch) = (LanesSystem::new(&fern()), LanesScratch::default());
    let draw = |size, seed, scratch: &mut LanesScratch| {
        let mut out = Bitmap::new(0, 0);
        let sampler = LanesSampler::new(frame(size, 3_000));
        sampler.coverage(&system, key(seed), scratch, &mut out);
        out
    };
    let first = draw(100, 1, &mut scratch);
    let large = draw(300, 1, &mut scratch);
    assert_ne!(draw(100, 2, &mut scratch), first);
    assert_eq!(draw(100, 1, &mut scratch), first);
    assert_eq!(draw(300, 1, &mut LanesScratch::default()), large);
}

// ---------------------------------------------------------------------------------------------
// A published name never changes its bits.

fn fingerprint(bitmap: &Bitmap) -> u64 {
    let bytes: Vec<u8> = bitmap.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    xxh3_64(&bytes)
}

#[test]
fn pictures_are_pinned() {
    let check = |system: &System, size, points, exact_orbit: bool, expected: u64| {
        let prepared = LanesSystem::new(system);
        assert_eq!(prepared.exact_orbit(), exact_orbit);
        let (mut scratch, mut out) = (LanesScratch::default(), Bitmap::new(0, 0));
        let sampler = LanesSampler::new(frame(size, points));
        sampler.coverage(&prepared, key(1), &mut scratch, &mut out);
        assert_eq!(fingerprint(&out), expected, "{:#018x}", fingerprint(&out));
    };
    check(&fern(), 256, 100_000, false, 0xd7e5_2372_c0d8_a927);
    check(&fern(), 362, 20_000, false, 0x9a2a_7786_75dd_ab95);
    check(&gasket(), 224, 10_000, false, 0xe6e6_205b_72d4_0ee6);
    check(&carpet(), 512, 10_000, false, 0x7dbb_926c_000c_322d);
    check(&random_system(&mut Random::new(1)), 256, 10_000, false, 0xf966_f888_ed83_64ca);
    check(&growing(), 256, 5_000, true, 0xbb0c_7b04_4f8e_6f0a);
    check(&excursions(), 256, 5_000, false, 0x2a1c_f2b3_28b3_cb2c);
}

#[test]
fn owners_are_pinned() {
    for (system, expected) in
        [(fern(), 0x8378_3aee_8476_1804_u64), (growing(), 0x5f2d_56b1_5fd6_1232_u64)]
    {
        let sampler = LanesSampler::new(frame(256, 10_000));
        let owners =
            sampler.owners(&LanesSystem::new(&system), key(1), &mut LanesScratch::default());
        let bytes: Vec<u8> = owners.ordinals.iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(xxh3_64(&bytes), expected, "{:#018x}", xxh3_64(&bytes));
    }
}

/// The systems drawn as a single orbit, decided with the same numbers everywhere; compared with an
/// estimate of the exponent from a long product where that is clear.
#[test]
fn decisions_are_pinned() {
    let mut random = Random::new(7);
    let weights = [1.0, 1.0, 1.0, 1.6, 1.0, 1.0];
    let systems: Vec<_> = (0..300).map(|_| random_system(&mut random).weighted(&weights)).collect();
    let decide = |system: &System| LanesSystem::new(system).exact_orbit();
    let decisions: Vec<u8> = systems.iter().map(|system| decide(system).into()).collect();
    assert_eq!(xxh3_64(&decisions), 0xd046_b76c_c9b1_341b, "{:#018x}", xxh3_64(&decisions));

    let n_clear = systems.iter().zip(decisions).filter(|(system, decision)| {
        let exponent = lyapunov_exponent(system);
        let clear = (exponent + 0.1).abs() > 0.1;
        assert!(!clear || (exponent > -0.1) == (*decision == 1), "{exponent} {system:?}");
        clear
    });
    assert!(n_clear.count() > 100);
}

fn lyapunov_exponent(system: &System) -> f64 {
    let (mut random, sums) = (MersenneTwister::numpy(1), system.cumulative());
    let (mut x, mut y, mut sum) = (1.0_f64, 0.5, 0.0);
    let n = 20_000;
    for _ in 0..n {
        let value = random.next_f64();
        let taken = sums.iter().position(|&sum| value <= sum).unwrap_or(0);
        let [a, b, c, d, ..] = system.maps()[taken];
        (x, y) = (x * a + y * b, x * c + y * d);
        let length = x.hypot(y);
        sum += length.ln();
        (x, y) = (x / length, y / length);
    }
    sum / f64::from(n)
}

#[test]
fn patches_and_coins_are_pinned() {
    let coin = Coin::new(key(1).words());
    let tosses = coin_bitmap(coin, 256, 256);
    assert_eq!(fingerprint(&tosses), 0x18c6_aa81_7810_13ee, "{:#018x}", fingerprint(&tosses));
    let coverage = draw(&fern(), 1, frame(362, 20_000));
    let mut out = Bitmap::new(0, 0);
    patch(&coverage, coin, &mut out, &mut PatchScratch::default());
    assert_eq!(fingerprint(&out), 0x6be3_5e15_3f00_bd4f, "{:#018x}", fingerprint(&out));
}
