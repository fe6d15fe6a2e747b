//! Random numbers that depend only on their key, which states their purpose.
//!
//! With a shared generator, or one per thread, the numbers would depend on the thread and on the
//! draws before. A keyed generator is created where it is used.

/// A stream of random numbers, available by its key without drawing any other.
///
/// SplitMix64: Guy L. Steele Jr., Doug Lea and Christine H. Flood, "Fast Splittable Pseudorandom
/// Number Generators", OOPSLA 2014. As in the paper, each stream has its own increment besides its
/// own start: with a single increment, all streams would be windows of one sequence, and among the
/// millions of samples of a large set some would overlap. The numbers of a key never change, so
/// that images and orders made with them can be made again.
#[derive(Debug, Clone)]
pub struct KeyedRandom {
    state: u64,
    increment: u64,
}

/// 2^64 divided by the golden ratio, odd: the increment of SplitMix64.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl KeyedRandom {
    /// Creates the stream of a key: seed, sample, and a constant for the purpose, so that no two
    /// uses share a stream.
    #[must_use]
    pub fn new(key: &[u64]) -> Self {
        // The state is mixed before the next part is added. The parts themselves are not: otherwise
        // two equal parts would cancel out.
        let add = |key: u64, part: &u64| mix((key ^ part).wrapping_add(GOLDEN));
        let key = key.iter().fold(0, add);
        Self { state: key, increment: odd_increment(key.wrapping_add(GOLDEN)) }
    }

    /// Returns the next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(self.increment);
        mix(self.state)
    }

    /// Returns a number in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns a number between `from` and `to`, uniformly distributed.
    #[inline]
    pub fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// Returns an integer below `n`, uniformly distributed; 0 when `n` is 0.
    ///
    /// Daniel Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29 (2019).
    pub fn below(&mut self, n: u64) -> u64 {
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            let low = product as u64;
            // Below 2^64 mod n, some results have one low value too many.
            if low >= n || low >= n.wrapping_neg().checked_rem(n).unwrap_or(0) {
                return (product >> 64) as u64;
            }
        }
    }

    /// Returns true with this probability: never at 0, always at 1.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns an integer from `from` to `to`, inclusive; `from` if the range is empty.
    pub fn integer(&mut self, from: i32, to: i32) -> i32 {
        let n_choices = (i64::from(to) - i64::from(from) + 1).max(1);
        // The sum is between two 32-bit numbers.
        (i64::from(from) + self.below(n_choices as u64) as i64) as i32
    }
}

/// Flips about half of the bits whenever one bit of `bits` changes: the output function of
/// SplitMix64.
#[inline]
#[must_use]
pub fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// An odd number with enough bit transitions: the paper found that increments with few transitions
/// give weak streams.
fn odd_increment(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    let bits = (bits ^ bits >> 33) | 1;
    if (bits ^ bits >> 1).count_ones() < 24 { bits ^ 0xaaaa_aaaa_aaaa_aaaa } else { bits }
}

#[cfg(test)]
mod tests {
    use super::KeyedRandom;

    #[test]
    fn neighbouring_keys_share_nothing() {
        let mut firsts = std::collections::BTreeSet::new();
        for seed in 0..6 {
            for stream in 0..6 {
                for class in 0..6 {
                    for instance in 0..6 {
                        let mut random = KeyedRandom::new(&[seed, stream, class, instance]);
                        assert!(firsts.insert(random.next_u64()));
                        assert!(firsts.insert(random.increment));
                        assert_eq!(random.increment % 2, 1);
                    }
                }
            }
        }
    }

    #[test]
    fn integers_are_even_and_in_bounds() {
        let mut random = KeyedRandom::new(&[5]);
        let mut counts = [0_u32; 21];
        for _ in 0..210_000 {
            counts[random.below(21) as usize] += 1;
        }
        // Five standard deviations of about 98.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 490), "{counts:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
        assert!((0..100).all(|_| (-3..=2).contains(&random.integer(-3, 2))));
        assert_eq!(random.integer(7, 7), 7);
        assert_eq!(random.integer(7, 6), 7);
        assert!((0..100).any(|_| random.integer(i32::MIN, i32::MAX) < 0));
        assert!((0..100).all(|_| random.below(u64::MAX) < u64::MAX));
    }

    #[test]
    fn fractions_fill_their_interval() {
        let mut random = KeyedRandom::new(&[6]);
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..100_000 {
            let value = random.unit();
            assert!((0.0..1.0).contains(&value));
            sum += value;
            squares += value * value;
        }
        assert!((sum / 1e5 - 0.5).abs() < 0.005);
        assert!((squares / 1e5 - 1.0 / 3.0).abs() < 0.005);
        assert!((0..1000).all(|_| (2.0..4.0).contains(&random.between(2.0, 4.0))));
    }
}
