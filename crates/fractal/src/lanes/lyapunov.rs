//! The test whether a system contracts clearly enough for the lanes.
//!
//! The top Lyapunov exponent is the change per step, as a logarithm, of the length of a vector
//! under a long random product of the maps' linear parts. Below -0.1 (natural logarithm) the lanes
//! were measured to draw the same as one long orbit; from there to 0 they light some 3 % fewer
//! pixels, and above 0 orbits diverge.
//!
//! The decision is part of a published sampler, so it may not depend on a library's logarithm or on
//! how a compiler sums. Four vectors go through independent products; at every step each is
//! multiplied by a power of two that brings its greater component to between 1 and 2, which is
//! exact, and the exponents of those powers, which are integers, are summed.
use super::key::Hash;
use super::table::Table;

/// Vectors that advance in parallel, to hide the latency of each chain of products.
const WALKERS: usize = 4;

/// Steps that only turn a walker's vector into the dominant direction.
const LEAD_IN: u32 = 32;

/// Steps of a walker that are measured.
const STEPS: u32 = 256;

/// The largest sum of the exponents of all walkers in a system that contracts:
/// -0.1 / ln 2 * 4 * 256 = -147.7.
const THRESHOLD: i64 = -148;

/// Key of the stream that chooses the maps: the same for every system and every key.
const STREAM: (u32, u32) = (0x6c79_6170, 0x756e_6f76);

/// Returns true if the exponent is below -0.1. False if anything is not finite.
pub(super) fn contracts(table: &Table) -> bool {
    let hash = Hash::new(STREAM);
    let mut vectors = [[1.0, 0.5], [-0.5, 1.0], [1.0, -1.0], [0.25, 1.0]];
    let mut sum = 0;
    for step in 0..LEAD_IN + STEPS {
        for (walker, vector) in vectors.iter_mut().enumerate() {
            let random = hash.at(step * WALKERS as u32 + walker as u32);
            let [a, b, c, d, ..] = table.maps[table.slot_of(random)];
            let [x, y] = *vector;
            let (x, y) = (a * x + b * y, c * x + d * y);
            // Exponents of positive numbers are ordered as the numbers are.
            let exponent = biased_exponent(x).max(biased_exponent(y));
            match exponent {
                // The product of the maps is zero, or almost: nothing contracts more.
                0 => return true,
                1..=MOST => {}
                _ => return false,
            }
            let scale = f64::from_bits((2 * BIAS - exponent) << MANTISSA_BITS);
            *vector = [x * scale, y * scale];
            if step >= LEAD_IN {
                sum += exponent as i64 - BIAS as i64;
            }
        }
    }
    sum <= THRESHOLD
}

const MANTISSA_BITS: u32 = 52;
const BIAS: u64 = 1023;

/// Above this, the reciprocal power of two is subnormal.
const MOST: u64 = 2 * BIAS - 1;

/// Returns the eleven bits of the exponent: 0 for zero and subnormals, 2047 for infinity and NaN.
fn biased_exponent(value: f64) -> u64 {
    value.to_bits() >> MANTISSA_BITS & 0x7ff
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::{Map, System};

    fn check(maps: &[Map], expected: bool) {
        let probabilities = vec![1.0 / maps.len() as f64; maps.len()];
        let system = System::new(maps.to_vec(), probabilities).unwrap();
        assert_eq!(contracts(&Table::new(&system)), expected, "{maps:?}");
    }

    fn scaling(factor: f64) -> Map {
        [factor, 0.0, 0.0, factor, 0.0, 0.0]
    }

    #[test]
    fn the_threshold_is_at_a_tenth() {
        // e^-0.1 is 0.9048.
        check(&[scaling(0.90)], true);
        check(&[scaling(0.91)], false);
        check(&[scaling(1.5)], false);
        check(&[[0.0, -0.90, 0.90, 0.0, 1.0, 1.0]], true);
        check(&[[0.0, -0.91, 0.91, 0.0, 1.0, 1.0]], false);
        // Contracts on average, although one of its maps does not.
        check(&[scaling(1.5), scaling(0.3)], true);
        check(&[scaling(1.5), scaling(0.6)], false);
    }

    #[test]
    fn extremes_are_decided() {
        check(&[scaling(0.0)], true);
        check(&[scaling(5e-324)], true);
        check(&[scaling(f64::MAX)], false);
        check(&[scaling(f64::NAN)], false);
        check(&[[f64::INFINITY; 6]], false);
        check(&[scaling(1e-200), scaling(1e-150)], true);
        check(&[scaling(1e200), scaling(1e-150)], false);
    }
}
