//! Random numbers that depend on their purpose, and on nothing else.
//!
//! A generator that threads share, or one per thread, would make the pixels of a sample depend on
//! the thread that took it and the number of samples before it. Here every sample has its own
//! streams, found by hashing (seed, epoch, sample, purpose), and the number of its occurrence if it
//! repeats: an image can be made again alone, in any order, on any rank and after any resume.
use fdconvert_core::KeyedRandom;

/// Purpose of random numbers. Each purpose has a separate stream, so that disabling the flip
/// changes no crop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Place and shape of the crop.
    Crop,
    /// Decision to flip.
    Flip,
    /// Augmentations and their strengths.
    Augment,
}

/// Key of all random choices for one sample in one epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Seed of the run.
    pub seed: u64,
    /// Epoch, from 0.
    pub epoch: u64,
    /// Number of the sample in the dataset, not its place in the epoch.
    pub sample: u64,
    /// A number that differs between the occurrences of the sample in this epoch: 0 unless it may
    /// repeat, by the weight of its dataset or by the sampling.
    pub occurrence: u64,
}

impl Key {
    /// Returns the random numbers for one purpose.
    #[must_use]
    pub fn stream(self, purpose: Purpose) -> KeyedRandom {
        // Must never change: other numbers would change every run that is resumed.
        let purpose = match purpose {
            Purpose::Crop => 1,
            Purpose::Flip => 2,
            Purpose::Augment => 3,
            // `mix` uses 4 to draw for batches.
        };
        let key = [self.seed, self.epoch, self.sample, purpose, self.occurrence];
        // The first occurrence has the same numbers as a sample without repetitions.
        let n_parts = if self.occurrence == 0 { 4 } else { 5 };
        KeyedRandom::new(key.get(..n_parts).unwrap_or(&key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_key_never_change() {
        let mut stream = Key { seed: 1, epoch: 2, sample: 3, occurrence: 0 }.stream(Purpose::Crop);
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
                        for occurrence in 0..3 {
                            let key = Key { seed, epoch, sample, occurrence };
                            assert!(seen.insert(key.stream(purpose).next_u64()));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn fractions_chances_and_integers_are_even() {
        let mut stream =
            Key { seed: 5, epoch: 0, sample: 0, occurrence: 0 }.stream(Purpose::Augment);
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
