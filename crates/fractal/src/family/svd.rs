//! The sampler of Anderson and Farrell ("Improving fractal pre-training", WACV 2022; their code:
//! catalys1/fractal-pretraining, MIT): affine maps made of rotations and singular values, so that
//! every system contracts and no candidate is rejected.
//!
//! A system of `K` maps has singular values `s1 >= s2` for each, and the sum over `s1 + 2 s2` is
//! alpha, drawn from `(5+K)/2` to `(6+K)/2`: the range in which systems look good. They are drawn
//! map by map from the remainder of the sum. Sines come from a library with the same results on
//! every machine.

use crate::{Map, System, random::keyed};
use fdconvert_core::{KeyedRandom, Result};
use std::f64::consts::PI;

/// Separates these streams from others of the same seed.
const PURPOSE: u64 = 0x5644;

/// Largest number of maps; their data set has 2 to 4.
const MAX_MAPS: u64 = 4;

/// Draws `classes` systems of 2 to 4 maps.
pub(super) fn systems(seed: u32, classes: usize) -> Result<Vec<System>> {
    (0..classes as u32).map(|class| system(seed, class)).collect()
}

fn system(seed: u32, class: u32) -> Result<System> {
    let mut random = keyed(seed.into(), PURPOSE, class, 0);
    let n_maps = 2 + (random.next_u64() % (MAX_MAPS - 1)) as usize;
    let (low, high) = ((5 + n_maps) as f64 / 2.0, (6 + n_maps) as f64 / 2.0);
    let alpha = random.between(low, high);
    System::by_area(maps(&mut random, n_maps, alpha))
}

/// Draws `n_maps` contracting maps with singular values that sum to `alpha` as above.
pub(super) fn maps(random: &mut KeyedRandom, n_maps: usize, alpha: f64) -> Vec<Map> {
    let singular = singular_values(random, n_maps, alpha);
    singular.into_iter().map(|values| map(random, values)).collect()
}

fn singular_values(random: &mut KeyedRandom, n_maps: usize, alpha: f64) -> Vec<[f64; 2]> {
    // The most and, shifted, the least that remains for the following maps.
    let mut most = alpha;
    let mut least = alpha - 3.0 * n_maps as f64 + 3.0;
    let mut values = Vec::with_capacity(n_maps);
    for _ in 1..n_maps {
        let first = random.between((least / 3.0).max(0.0), most.min(1.0));
        least -= first;
        most -= first;
        let second = random.between((least / 2.0).max(0.0), first.min(most / 2.0));
        least += 3.0 - 2.0 * second;
        most -= 2.0 * second;
        values.push([first, second]);
    }
    let second = random.between(((most - 1.0) / 2.0).max(0.0), most / 3.0);
    values.push([most - 2.0 * second, second]);
    values
}

/// Draws a map: rotation, scaling by the singular values, rotation, signs, and a translation.
fn map(random: &mut KeyedRandom, [first, second]: [f64; 2]) -> Map {
    let [u, v] = [(); 2].map(|()| rotation(random));
    let sign = |random: &mut KeyedRandom| if random.next_u64() & 1 == 0 { 1.0 } else { -1.0 };
    let (left, right) = (sign(random), sign(random));
    let entry = |row: usize, column: usize, sign: f64| {
        (u[row][0] * first * v[0][column] + u[row][1] * second * v[1][column]) * sign
    };
    let (e, f) = (random.between(-1.0, 1.0), random.between(-1.0, 1.0));
    [entry(0, 0, left), entry(0, 1, right), entry(1, 0, left), entry(1, 1, right), e, f]
}

fn rotation(random: &mut KeyedRandom) -> [[f64; 2]; 2] {
    let (sin, cos) = libm::sincos(random.between(-PI, PI));
    [[cos, -sin], [sin, cos]]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Singular values of a 2 x 2 matrix, by their sum and difference of squares.
    fn singular([a, b, c, d, ..]: Map) -> [f64; 2] {
        let (square, area) = (a * a + b * b + c * c + d * d, (a * d - b * c).abs());
        let (sum, difference) =
            ((square + 2.0 * area).sqrt(), (square - 2.0 * area).max(0.0).sqrt());
        [(sum + difference) / 2.0, (sum - difference) / 2.0]
    }

    #[test]
    fn systems_contract_and_sum_to_alpha() {
        let mut sizes = [0; 5];
        for system in systems(1, 500).unwrap() {
            let n_maps = system.maps().len();
            sizes[n_maps] += 1;
            let mut sum = 0.0;
            for map in system.maps() {
                let [first, second] = singular(*map);
                assert!(first <= 1.0 + 1e-9 && second >= -1e-9, "{first} {second}");
                assert!(map[4].abs() <= 1.0 && map[5].abs() <= 1.0);
                sum += first + 2.0 * second;
            }
            let (low, high) = ((5 + n_maps) as f64 / 2.0, (6 + n_maps) as f64 / 2.0);
            assert!((low - 1e-9..=high + 1e-9).contains(&sum), "{sum} for {n_maps} maps");
            let total: f64 = system.probabilities().iter().sum();
            assert!((total - 1.0).abs() < 1e-12);
        }
        assert!(sizes[2..].iter().all(|n| (120..220).contains(n)), "{sizes:?}");
    }

    #[test]
    fn systems_do_not_depend_on_how_many_are_asked_for() {
        assert_eq!(systems(3, 10).unwrap(), systems(3, 20).unwrap()[..10]);
        assert_ne!(systems(3, 1).unwrap(), systems(4, 1).unwrap());
    }
}
