//! A permutation of any number of values that is computed instead of stored.
use fdconvert_core::{GOLDEN, mix};

/// Pairs of rounds. Luby and Rackoff proved four rounds enough for large domains (1988). On domains
/// of a few bits four are visibly too few: some orders come up more often than others. Eight rounds
/// are even from six bits on, and smaller domains are not used.
const N_PAIRS: usize = 4;
const MIN_BITS: u32 = 6;

/// Keyed bijection of `0..n` onto itself that takes as much memory for ten values as for 2^63.
///
/// A Feistel network permutes the smallest domain of a whole number of bits that holds `n` values;
/// a result that is not below `n` is permuted again until one is (cycle walking). The path from a
/// value below `n` is a cycle and so leads back below `n`, if only to the value itself: the walk
/// ends, and it reaches each value once. Less than half of the domain misses, so that the expected
/// number of walks is below two; only for fewer than 32 values it is more, because the domain has
/// at least 64.
///
/// It is not a cipher: it is even, not secret.
///
/// ```
/// let permutation = fdconvert_loader::parts::Permutation::new(10, 42);
/// let mut seen: Vec<u64> = (0..10).map(|i| permutation.at(i)).collect();
/// assert!((0..10).all(|i| permutation.position_of(permutation.at(i)) == i));
/// seen.sort_unstable();
/// assert_eq!(seen, (0..10).collect::<Vec<u64>>());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permutation {
    n: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    /// For each pair of rounds, the keys for the low half and for the high half.
    keys: [[u64; 2]; N_PAIRS],
}

impl Permutation {
    /// Creates the permutation of `0..n` for `key`.
    #[inline]
    #[must_use]
    pub fn new(n: u64, key: u64) -> Self {
        let n_bits = (u64::BITS - n.saturating_sub(1).leading_zeros()).max(MIN_BITS);
        // The halves may differ by one bit. Two equal halves would double the domain of an odd
        // number of bits, and the number of walks.
        let high_bits = n_bits / 2;
        let low_bits = n_bits - high_bits;
        let mut state = key;
        let mut next = || {
            state = state.wrapping_add(GOLDEN);
            mix(state)
        };
        let mut keys = [[0; 2]; N_PAIRS];
        for pair in &mut keys {
            *pair = [next(), next()];
        }
        // No half is wider than 32 bits.
        let mask = |bits: u32| (1_u64 << bits) - 1;
        Self { n, low_bits, low_mask: mask(low_bits), high_mask: mask(high_bits), keys }
    }

    /// Returns the value at `i`. Numbers that are not below `n` map to themselves.
    #[inline]
    #[must_use]
    pub fn at(&self, i: u64) -> u64 {
        self.walk(i, Self::forward)
    }

    /// Returns the inverse of [`at`](Self::at): the number that maps to `value`.
    #[inline]
    #[must_use]
    pub fn position_of(&self, value: u64) -> u64 {
        self.walk(value, Self::backward)
    }

    #[inline]
    fn walk(&self, from: u64, network: impl Fn(&Self, u64) -> u64) -> u64 {
        if from >= self.n || self.n == 1 {
            return from;
        }
        let mut value = network(self, from);
        while value >= self.n {
            value = network(self, value);
        }
        value
    }

    #[inline]
    fn forward(&self, value: u64) -> u64 {
        let (mut high, mut low) = (value >> self.low_bits, value & self.low_mask);
        for [for_low, for_high] in self.keys {
            low ^= scramble(high ^ for_low) & self.low_mask;
            high ^= scramble(low ^ for_high) & self.high_mask;
        }
        high << self.low_bits | low
    }

    #[inline]
    fn backward(&self, value: u64) -> u64 {
        let (mut high, mut low) = (value >> self.low_bits, value & self.low_mask);
        for [for_low, for_high] in self.keys.into_iter().rev() {
            high ^= scramble(low ^ for_high) & self.high_mask;
            low ^= scramble(high ^ for_low) & self.low_mask;
        }
        high << self.low_bits | low
    }
}

/// Largest number of values that [`shuffled`] moves one by one.
const MAX_MOVED: u64 = 32;

/// Returns the value at `i` of the permutation of `0..n` for `key`, for a single value of it: another
/// permutation than [`Permutation`] where `n` is small, as cycles are long then.
#[inline]
pub(crate) fn shuffled(n: u64, key: u64, i: u64) -> u64 {
    if n > MAX_MOVED {
        return Permutation::new(n, key).at(i);
    }
    // Fisher and Yates, up to the value.
    let mut values: [u8; MAX_MOVED as usize] = std::array::from_fn(|at| at as u8);
    let mut state = key;
    let mut value = i;
    for (at, left) in (0..=i).zip((1..=n).rev()) {
        state = state.wrapping_add(GOLDEN);
        // The bias of the remainder is below 2^-58.
        let other = at + mix(state) % left;
        values.swap(at as usize, other as usize);
        value = values.get(at as usize).copied().unwrap_or_default().into();
    }
    value
}

/// The round function: 32 bits, each of which depends on all 64 of `bits`. The upper half of a
/// product is the well-mixed one, hence the shifts. The constants are those of MurmurHash3.
#[inline]
fn scramble(bits: u64) -> u64 {
    let bits = bits.wrapping_mul(0xff51_afd7_ed55_8ccd);
    (bits ^ bits >> 32).wrapping_mul(0xc4ce_b9fe_1a85_ec53) >> 32
}

#[cfg(test)]
mod tests {
    use super::{Permutation, shuffled};
    use std::collections::BTreeMap;

    fn values(n: u64, key: u64) -> Vec<u64> {
        let permutation = Permutation::new(n, key);
        (0..n).map(|i| permutation.at(i)).collect()
    }

    #[test]
    fn the_order_of_a_key_never_changes() {
        assert_eq!(values(10, 42), PINNED);
        assert_eq!(Permutation::new(1 << 40, 42).at(1), PINNED_LARGE);
    }

    #[test]
    fn single_values_never_change() {
        let values = |n| (0..n).map(|i| shuffled(n, 42, i)).collect::<Vec<_>>();
        assert_eq!(values(8), PINNED_SINGLE);
        assert_eq!(shuffled(1 << 40, 42, 1), PINNED_LARGE);
    }

    const PINNED_SINGLE: [u64; 8] = [5, 6, 2, 7, 1, 0, 3, 4];

    #[test]
    fn single_values_are_permutations_in_every_order_equally_often() {
        for n in 0..70 {
            for key in 0..20 {
                let mut values: Vec<u64> = (0..n).map(|i| shuffled(n, key, i)).collect();
                values.sort_unstable();
                assert!(values.into_iter().eq(0..n));
            }
        }
        for (n, n_orders) in [(2, 2), (3, 6), (4, 24), (5, 120), (6, 720)] {
            let mut counts = BTreeMap::<Vec<u64>, f64>::new();
            for key in 0..100 * n_orders {
                let values = (0..n).map(|i| shuffled(n, key, i)).collect();
                *counts.entry(values).or_default() += 1.0;
            }
            assert_eq!(counts.len() as u64, n_orders, "n {n}");
            let counts: Vec<f64> = counts.into_values().collect();
            let (found, limit) = chi_square(&counts, 100.0, n_orders as f64 - 1.0);
            assert!(found < limit, "n {n}: {found}");
        }
    }

    const PINNED: [u64; 10] = [5, 1, 0, 4, 7, 2, 9, 6, 3, 8];
    const PINNED_LARGE: u64 = 935_295_036_679;

    #[test]
    fn every_value_comes_once_and_is_found_again() {
        for n in (0..300).chain([511, 512, 513, 4095, 4096, 4097, 65_535, 65_537, 100_003]) {
            for key in 0..if n < 300 { 8 } else { 1 } {
                let permutation = Permutation::new(n, key);
                let mut seen = vec![false; n as usize];
                for i in 0..n {
                    let value = permutation.at(i);
                    assert!(!std::mem::replace(&mut seen[value as usize], true), "n {n} i {i}");
                    assert_eq!(permutation.position_of(value), i, "n {n}");
                }
                assert_eq!([permutation.at(n), permutation.position_of(n)], [n, n]);
            }
        }
    }

    #[test]
    fn large_numbers_go_there_and_back() {
        for n in [1 << 32, (1 << 32) + 1, 1 << 40, (1 << 62) + 3, 1 << 63, u64::MAX] {
            let permutation = Permutation::new(n, 9);
            for i in (0..1000).chain(n - 1000..n).chain(n / 2..n / 2 + 1000) {
                let value = permutation.at(i);
                assert!(value < n);
                assert_eq!(permutation.position_of(value), i);
            }
        }
    }

    /// Returns chi-square divided by its degrees of freedom, and its bound: five standard
    /// deviations above 1.
    fn chi_square(counts: &[f64], expected: f64, degrees: f64) -> (f64, f64) {
        let sum: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
        (sum / degrees, 1.0 + 5.0 * (2.0 / degrees).sqrt())
    }

    #[test]
    fn small_domains_show_every_order_equally_often() {
        for (n, n_orders) in [(2, 2), (3, 6), (4, 24), (5, 120), (6, 720)] {
            let mut counts = BTreeMap::<Vec<u64>, f64>::new();
            for key in 0..100 * n_orders {
                *counts.entry(values(n, key)).or_default() += 1.0;
            }
            assert_eq!(counts.len() as u64, n_orders, "n {n}");
            let counts: Vec<f64> = counts.into_values().collect();
            let (found, limit) = chi_square(&counts, 100.0, n_orders as f64 - 1.0);
            assert!(found < limit, "n {n}: {found}");
        }
    }

    #[test]
    fn the_first_two_values_are_any_pair_equally_often() {
        for n in [8, 16, 31, 32, 33, 48, 64, 65] {
            let n_pairs = n * (n - 1);
            let mut counts = BTreeMap::<[u64; 2], f64>::new();
            for key in 0..40 * n_pairs {
                let permutation = Permutation::new(n, key);
                *counts.entry([permutation.at(0), permutation.at(1)]).or_default() += 1.0;
            }
            assert_eq!(counts.len() as u64, n_pairs, "n {n}");
            let counts: Vec<f64> = counts.into_values().collect();
            let (found, limit) = chi_square(&counts, 40.0, n_pairs as f64 - 1.0);
            assert!(found < limit, "n {n}: {found}");
        }
    }

    #[test]
    fn values_are_spread_evenly_over_positions() {
        for n in [1000, 4096, 50_000, 65_537] {
            for key in 0..4 {
                // Positions and values in 16 buckets each.
                let mut counts = vec![0.0; 256];
                for (i, value) in values(n, key).into_iter().enumerate() {
                    counts[(i as u64 * 16 / n * 16 + value * 16 / n) as usize] += 1.0;
                }
                let (found, limit) = chi_square(&counts, n as f64 / 256.0, 225.0);
                assert!(found < limit, "n {n} key {key}: {found}");
            }
        }
    }

    #[test]
    fn neighbours_are_strangers() {
        for n in [1000, 50_000] {
            for lag in [1, 2, 7] {
                let values = values(n, 5);
                let middle = (n - 1) as f64 / 2.0;
                let deviation = |value: u64| value as f64 - middle;
                let variance = (n * n - 1) as f64 / 12.0;
                let products = values.iter().zip(&values[lag..]);
                let sum: f64 = products.map(|(a, b)| deviation(*a) * deviation(*b)).sum();
                let correlation = sum / (n as f64 * variance);
                assert!(correlation.abs() < 5.0 / (n as f64).sqrt(), "n {n}: {correlation}");
            }
        }
    }

    #[test]
    fn fixed_points_and_shared_places_are_few() {
        // One of each is expected per permutation, as for random ones; five standard deviations.
        let n_keys = 400;
        let (mut fixed, mut shared) = (0_i64, 0_i64);
        for key in 0..n_keys {
            let (here, next) = (values(1000, key), values(1000, key + 1));
            fixed += here.iter().zip(0..).filter(|&(&value, i)| value == i).count() as i64;
            shared += here.iter().zip(next).filter(|(a, b)| **a == *b).count() as i64;
        }
        assert!((fixed - n_keys as i64).abs() < 100, "{fixed}");
        assert!((shared - n_keys as i64).abs() < 100, "{shared}");
    }
}
