//! Random numbers that depend on what is drawn for, and on nothing else.
//!
//! A generator that threads share, or one per thread, would make the pixels of a sample depend on
//! which thread took it and after how many others. Here every sample has its own streams, found
//! by hashing (seed, epoch, sample, purpose): an image can be made again alone, in any order, on
//! any rank and after any resume.
//!
//! SplitMix64: Guy L. Steele Jr., Doug Lea and Christine H. Flood, "Fast Splittable Pseudorandom
//! Number Generators", OOPSLA 2014. As in the paper a stream has its own increment besides its
//! own start: with one increment for all, the streams would be windows of one sequence, and some
//! would overlap.

/// What random numbers are drawn for. Each purpose has its own stream, so that switching the flip
/// off changes no crop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Place and shape of the crop.
    Crop,
    /// Flipped or not.
    Flip,
    /// Which augmentations, and how strong.
    Augment,
}

/// Names all random choices of one sample in one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Seed of the run.
    pub seed: u64,
    /// Epoch, from 0.
    pub epoch: u64,
    /// Number of the sample in the dataset; not its place in the epoch.
    pub sample: u64,
}

impl Key {
    /// The random numbers for one purpose.
    #[must_use]
    pub fn stream(self, purpose: Purpose) -> Keyed {
        // Constants for ever: other numbers would change every run that is resumed.
        let purpose = match purpose {
            Purpose::Crop => 1,
            Purpose::Flip => 2,
            Purpose::Augment => 3,
        };
        // What came before is mixed before the next part is added. The parts themselves are not:
        // were they, a seed and an epoch that are alike would cancel out.
        let add = |key: u64, part: u64| mix((key ^ part).wrapping_add(GOLDEN));
        let key = [self.seed, self.epoch, self.sample, purpose].into_iter().fold(0, add);
        Keyed { state: key, increment: odd_increment(key.wrapping_add(GOLDEN)) }
    }
}

/// One stream of random numbers.
#[derive(Debug, Clone)]
pub struct Keyed {
    state: u64,
    increment: u64,
}

impl Keyed {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(self.increment);
        mix(self.state)
    }

    /// A number from 0 to below 1, a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// An integer below `n`, each equally likely; 0 when `n` is 0.
    ///
    /// Daniel Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29 (2019).
    pub fn below(&mut self, n: u64) -> u64 {
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            let low = product as u64;
            // Below 2^64 mod n lie the numbers that some results have one too many of.
            if low >= n || low >= n.wrapping_neg().checked_rem(n).unwrap_or(0) {
                return (product >> 64) as u64;
            }
        }
    }

    /// True with this probability: never at 0, always at 1.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

/// 2^64 divided by the golden ratio, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Changes about half of the bits whenever one bit of `bits` changes.
fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

/// An odd number whose bits change often enough along it: the paper found that increments of few
/// changes give weak streams.
fn odd_increment(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let bits = (bits ^ bits >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    let bits = (bits ^ bits >> 33) | 1;
    if (bits ^ bits >> 1).count_ones() < 24 { bits ^ 0xaaaa_aaaa_aaaa_aaaa } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_key_never_change() {
        let mut stream = Key { seed: 1, epoch: 2, sample: 3 }.stream(Purpose::Crop);
        let numbers: [u64; 3] = std::array::from_fn(|_| stream.next_u64());
        assert_eq!(numbers, PINNED);
    }

    const PINNED: [u64; 3] = [0xd74e_a371_d45b_276a, 0x6075_6e79_ba43_9f77, 0x5f4e_ce5f_6582_b57c];

    #[test]
    fn neighbouring_keys_share_nothing() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..8 {
            for epoch in 0..8 {
                for sample in 0..8 {
                    for purpose in [Purpose::Crop, Purpose::Flip, Purpose::Augment] {
                        let mut stream = Key { seed, epoch, sample }.stream(purpose);
                        assert!(seen.insert(stream.next_u64()));
                        assert!(seen.insert(stream.increment));
                        assert_eq!(stream.increment % 2, 1);
                    }
                }
            }
        }
    }

    #[test]
    fn fractions_chances_and_integers_are_even() {
        let mut stream = Key { seed: 5, epoch: 0, sample: 0 }.stream(Purpose::Augment);
        let mut counts = [0_u32; 15];
        let (mut sum, mut n_true) = (0.0, 0_u32);
        for _ in 0..150_000 {
            counts[stream.below(15) as usize] += 1;
            let value = stream.unit();
            assert!((0.0..1.0).contains(&value));
            sum += value;
            n_true += u32::from(stream.chance(0.3));
        }
        // Five standard deviations.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 490), "{counts:?}");
        assert!((sum / 150_000.0 - 0.5).abs() < 0.004);
        assert!(n_true.abs_diff(45_000) < 900, "{n_true}");
        assert_eq!(stream.below(0), 0);
        assert_eq!(stream.below(1), 0);
        assert!((0..1000).all(|_| stream.chance(1.0) && !stream.chance(0.0)));
    }
}
