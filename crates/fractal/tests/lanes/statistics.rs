//! The distribution of the pictures is that of one long orbit in double precision, and known
//! attractors have the right size.

use super::{FERN, carpet, categories, draw, fern, frame, gasket, random_system};
use fdconvert_fractal::{
    Bitmap, Coin, Frame, Key, LanesSystem, Map, MersenneTwister, PatchScratch, System, patch,
};
use fdconvert_testkit::fixtures::Random;

/// Draws one orbit as the original does, from a seed.
fn reference(system: &System, seed: u32, frame: Frame) -> Bitmap {
    let (mut random, sums) = (MersenneTwister::numpy(seed), system.cumulative());
    let mut points = vec![[0.0_f64; 2]];
    let [mut x, mut y] = [0.0; 2];
    for _ in 1..frame.points() {
        let value = random.next_f64();
        let taken = sums.iter().position(|&sum| value <= sum).unwrap_or(0);
        let [a, b, c, d, e, f] = system.maps()[taken];
        (x, y) = (x * a + y * b + e, x * c + y * d + f);
        points.push([x, y]);
    }
    let mut out = frame.bitmap();
    let axis = |axis: usize| {
        let bound = |f: fn(f64, f64) -> f64| points.iter().map(|p| p[axis]).fold(0.0, f);
        let (least, most) = (bound(f64::min), bound(f64::max));
        (least, f64::from(frame.size() - 2 * frame.pad()) / (most - least))
    };
    let axes = [axis(0), axis(1)];
    let pad = f64::from(frame.pad());
    let pixel = |value: f64, (least, scale): (f64, f64)| ((value - least) * scale + pad) as u32;
    points.iter().for_each(|&[x, y]| out.set(pixel(x, axes[0]), pixel(y, axes[1])));
    out
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let ((mean_a, variance_a), (mean_b, variance_b)) = (mean_and_variance(a), mean_and_variance(b));
    let products: f64 = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum();
    products / (a.len() as f64 - 1.0) / (variance_a * variance_b).sqrt()
}

/// Returns the frequency with which each pixel is lit.
fn occupancy(pictures: &[Bitmap]) -> Vec<f64> {
    let first = &pictures[0];
    let places = (0..first.height()).flat_map(|y| (0..first.width()).map(move |x| (x, y)));
    places.map(|(x, y)| pictures.iter().filter(|p| p.get(x, y)).count() as f64).collect()
}

/// Compares the fill and the lit pixels over `n_seeds` pictures each. Returns a score per system
/// that is normal if the sampler is right, and how much worse pictures of the sampler agree with
/// those of the reference than the latter do among themselves.
fn compare(system: &System, n_seeds: u32, frame: Frame) -> (f64, f64) {
    let references = |from: u32| -> Vec<Bitmap> {
        (0..n_seeds).map(|seed| reference(system, 1000 + from + seed, frame)).collect()
    };
    let (ours, theirs) = (
        (0..n_seeds).map(|seed| draw(system, seed.into(), frame)).collect::<Vec<_>>(),
        references(0),
    );
    let fills = |pictures: &[Bitmap]| {
        mean_and_variance(&pictures.iter().map(Bitmap::fill).collect::<Vec<_>>())
    };
    let ((mean, variance), (their_mean, their_variance)) = (fills(&ours), fills(&theirs));
    let error = ((variance + their_variance) / f64::from(n_seeds)).sqrt();
    let score = (mean - their_mean) / error.max(1e-12);
    let (a, b) = (occupancy(&theirs), occupancy(&references(n_seeds)));
    let ours = occupancy(&ours);
    (score, correlation(&a, &b) - (correlation(&a, &ours) + correlation(&b, &ours)) / 2.0)
}

/// Returns systems that FractalDB's search accepts, with a fifth of the pixels lit, and that the
/// lanes draw. (With fewer lit pixels, few points rule the bounds, and pictures of one system
/// differ too much to compare.)
fn contracting_systems(n: usize) -> Vec<System> {
    let mut random = Random::new(2024);
    let mut systems = Vec::new();
    while systems.len() < n {
        let system = random_system(&mut random);
        let lanes = !LanesSystem::new(&system).exact_orbit();
        if lanes && draw(&system, 1, frame(512, 100_000)).fill() >= 0.2 {
            systems.push(system);
        }
    }
    systems
}

fn check_statistics(systems: &[System], n_seeds: u32, frame: Frame) {
    let results: Vec<_> = systems.iter().map(|system| compare(system, n_seeds, frame)).collect();
    let squares = results.iter().map(|(score, _)| score * score).sum::<f64>();
    let mean_square = squares / results.len() as f64;
    let most = results.iter().map(|(score, _)| score.abs()).fold(0.0, f64::max);
    let drop = results.iter().map(|(_, drop)| *drop).fold(f64::NEG_INFINITY, f64::max);
    println!("mean z^2 {mean_square:.3}, most |z| {most:.2}, correlation drops by {drop:.4}");
    // With `n` systems the mean scatters by sqrt(2 / n), 0.28 for 25.
    assert!((0.5..=1.7).contains(&mean_square));
    assert!(most < 4.0);
    assert!(drop < 0.02);
}

#[test]
fn pictures_are_distributed_as_those_of_one_orbit() {
    // The number of points to which the lanes round up: 128 and a multiple of 64. Few points in a
    // large frame would show that lanes repeat some points of the lead-in.
    check_statistics(&contracting_systems(25), 24, frame(128, 128 + 64 * 1000));
}

#[test]
#[ignore = "takes long without --release"]
fn pictures_of_full_size_are_distributed_as_those_of_one_orbit() {
    check_statistics(&contracting_systems(100), 24, frame(256, 128 + 64 * 1560));
    let published: Vec<_> = categories()
        .into_iter()
        .map(|(_, system)| system)
        .filter(|system| !LanesSystem::new(system).exact_orbit())
        .collect();
    check_statistics(&published, 24, frame(362, 128 + 64 * 3123));
}

// ---------------------------------------------------------------------------------------------
// Attractors of known dimension.

/// Returns the slope of the number of lit boxes over their side, both as logarithms, for sides that
/// are powers of `base` and divide the attractor's side evenly.
fn box_dimension(picture: &Bitmap, base: u32, exponents: std::ops::RangeInclusive<u32>) -> f64 {
    let pad = Frame::DEFAULT_PAD;
    let side = picture.width() - 2 * pad;
    let count = |length: u32| {
        let boxes = (0..side / length).flat_map(|y| (0..side / length).map(move |x| (x, y)));
        let lit = |&(x, y): &(u32, u32)| {
            let pixels = (0..length).flat_map(|dy| (0..length).map(move |dx| (dx, dy)));
            pixels
                .into_iter()
                .any(|(dx, dy)| picture.get(pad + x * length + dx, pad + y * length + dy))
        };
        boxes.filter(lit).count()
    };
    let lengths: Vec<u32> = exponents.map(|exponent| base.pow(exponent)).collect();
    let x: Vec<f64> = lengths.iter().map(|&length| -f64::from(length).ln()).collect();
    let y: Vec<f64> = lengths.iter().map(|&length| (count(length) as f64).ln()).collect();
    let (_, variance) = mean_and_variance(&x);
    correlation(&x, &y) * (mean_and_variance(&y).1 / variance).sqrt()
}

#[test]
fn the_gasket_and_the_carpet_have_their_dimension() {
    // 59,049 and 262,144 squares of the last generation, each hit some ten times.
    let picture = draw(&gasket(), 1, frame(1024 + 12, 1_000_000));
    let dimension = box_dimension(&picture, 2, 0..=7);
    println!("gasket {dimension:.4}");
    assert!((dimension - 3_f64.ln() / 2_f64.ln()).abs() < 0.02);

    let picture = draw(&carpet(), 1, frame(729 + 12, 3_000_000));
    let dimension = box_dimension(&picture, 3, 0..=4);
    println!("carpet {dimension:.4}");
    assert!((dimension - 8_f64.ln() / 3_f64.ln()).abs() < 0.02);
}

#[test]
fn the_fern_has_a_dimension_within_its_bounds() {
    // Kenneth J. Falconer, "The Hausdorff dimension of self-affine fractals" (1988): the box
    // dimension is at most the s for which the sum over the maps of s1 s2^(s-1) is 1, where s1 >=
    // s2 are a map's singular values. At scales of pixels the estimate stays below it, as thin
    // parts are hit too rarely and the frame stretches one axis; it is well above a curve's.
    let singular_values = |[a, b, c, d, ..]: &Map| {
        let (sum, determinant) = (a * a + b * b + c * c + d * d, a * d - b * c);
        let root = (sum * sum - 4.0 * determinant * determinant).max(0.0).sqrt();
        (((sum + root) / 2.0).sqrt(), ((sum - root) / 2.0).max(0.0).sqrt())
    };
    let sum = |s: f64| -> f64 {
        let values = FERN.iter().map(singular_values);
        values.map(|(first, second)| first * second.powf(s - 1.0)).sum()
    };
    let (mut low, mut high) = (1.0, 2.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if sum(middle) > 1.0 { low = middle } else { high = middle }
    }
    let picture = draw(&fern(), 1, frame(1024 + 12, 4_000_000));
    let dimension = box_dimension(&picture, 2, 1..=6);
    println!("fern {dimension:.4}, at most {high:.4}");
    assert!((1.7..high + 0.02).contains(&dimension));
}

// ---------------------------------------------------------------------------------------------
// Patches.

#[test]
fn patches_light_half_of_what_they_cover() {
    let coverage = draw(&fern(), 1, frame(256, 20_000));
    let reached = |x: u32, y: u32| {
        let below = |at: u32, d: u32| at.checked_sub(d);
        (1..=3).any(|dx| {
            (1..=3).any(|dy| match (below(x, dx), below(y, dy)) {
                (Some(x), Some(y)) => coverage.get(x, y),
                _ => false,
            })
        })
    };
    let places: Vec<(u32, u32)> = (0..256).flat_map(|y| (0..256).map(move |x| (x, y))).collect();

    let (mut lit, mut n, mut alike, mut pairs) = (0_u32, 0_u32, 0_u32, 0_u32);
    let (mut out, mut scratch) = (Bitmap::new(0, 0), PatchScratch::default());
    for instance in 0..20 {
        let coin = Coin::new(Key { seed: 1, class: 2, instance }.words());
        patch(&coverage, coin, &mut out, &mut scratch);
        for &(x, y) in &places {
            let inside = reached(x, y);
            assert!(inside || !out.get(x, y));
            n += u32::from(inside);
            lit += u32::from(out.get(x, y));
            for (dx, dy) in [(1, 0), (0, 1)] {
                let pair = inside && reached(x + dx, y + dy);
                pairs += u32::from(pair);
                alike += u32::from(pair && out.get(x, y) == out.get(x + dx, y + dy));
            }
        }
    }
    let deviation =
        |count: u32, n: u32| (f64::from(count) - f64::from(n) / 2.0) / (f64::from(n) / 4.0).sqrt();
    println!("{n} covered: {:.2}; neighbours {:.2}", deviation(lit, n), deviation(alike, pairs));
    assert!(n > 100_000);
    assert!(deviation(lit, n).abs() < 4.0);
    assert!(deviation(alike, pairs).abs() < 4.0);
}
