use fdconvert_core::GOLDEN;

/// Identifies an image of a system: the same key gives the same points, in every process, on every
/// machine, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Seed of the data set.
    pub seed: u64,
    /// Number of the class.
    pub class: u32,
    /// Number of the image in the class.
    pub instance: u32,
}

impl Key {
    /// Returns the two words that key the hash: SplitMix64's finaliser over all three numbers, low
    /// half first.
    #[must_use]
    pub fn words(self) -> (u32, u32) {
        let place = u64::from(self.class) << 32 | u64::from(self.instance);
        mix(self.seed ^ place.wrapping_mul(GOLDEN))
    }
}

/// SplitMix64's finaliser. Returns the halves of its result, the low one first.
fn mix(bits: u64) -> (u32, u32) {
    let bits = fdconvert_core::mix(bits);
    (bits as u32, (bits >> 32) as u32)
}

/// A generator of random numbers: each is a function of the key and a counter. It has no state, so
/// lanes and threads are independent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hash {
    first: u32,
    second: u32,
}

/// Factors of the hash, found by search for little bias (Chris Wellons, "lowbias32").
pub(super) const FACTORS: [u32; 2] = [0x21f0_aaad, 0xd35a_2d97];

impl Hash {
    /// Creates the generator of a pair of words that are themselves random, as those of a [`Key`]
    /// are.
    pub(crate) fn new((first, second): (u32, u32)) -> Self {
        Self { first, second }
    }

    /// Creates a separate generator for every pair of words, however similar. Words that differ in
    /// few bits have similar streams, so they are mixed first.
    pub(crate) fn of_any((first, second): (u32, u32)) -> Self {
        let words = u64::from(second) << 32 | u64::from(first);
        Self::new(mix(words.wrapping_add(GOLDEN)))
    }

    /// Returns the generator under another pair of words, for a second use with the same counters.
    pub(super) fn tweaked(self, tweak: (u32, u32)) -> Self {
        Self { first: self.first ^ tweak.0, second: self.second ^ tweak.1 }
    }

    #[inline(always)]
    pub(crate) fn at(self, counter: u32) -> u32 {
        let mut bits = counter.wrapping_add(self.first);
        bits ^= bits >> 16;
        bits = bits.wrapping_mul(FACTORS[0]);
        bits ^= self.second;
        bits ^= bits >> 15;
        bits = bits.wrapping_mul(FACTORS[1]);
        bits ^ bits >> 15
    }

    /// Returns the number that vector code adds to the counter.
    pub(super) fn offset(self) -> u32 {
        self.first
    }

    /// Returns the number that vector code combines with `bits ^ bits >> 15` in one instruction. A
    /// right shift and an exclusive or are linear, so the second word may be mixed in after them if
    /// it has gone through them itself.
    pub(super) fn folded(self) -> u32 {
        self.second ^ self.second >> 15
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folded_form_is_the_same_hash() {
        for counter in (0..1_000_000).step_by(997) {
            let hash = Hash::new(Key { seed: 5, class: counter, instance: 7 }.words());
            let mut bits = counter.wrapping_add(hash.offset());
            bits = (bits ^ bits >> 16).wrapping_mul(FACTORS[0]);
            bits = (bits ^ bits >> 15 ^ hash.folded()).wrapping_mul(FACTORS[1]);
            assert_eq!(bits ^ bits >> 15, hash.at(counter));
        }
    }

    #[test]
    fn every_bit_is_fair_and_keys_are_unlike() {
        let n = 1 << 16;
        let hash = Hash::new(Key { seed: 1, class: 2, instance: 3 }.words());
        let next = Hash::new(Key { seed: 1, class: 2, instance: 4 }.words());
        for bit in 0..32 {
            let count = |f: &dyn Fn(u32) -> u32| (0..n).filter(|&i| f(i) >> bit & 1 == 1).count();
            let fair = |count: usize| (count as f64 - f64::from(n) / 2.0).abs() < 4.5 * 128.0;
            assert!(fair(count(&|i| hash.at(i))));
            assert!(fair(count(&|i| hash.at(i) ^ hash.at(i + 1))));
            assert!(fair(count(&|i| hash.at(i) ^ next.at(i))));
        }
    }

    #[test]
    fn words_are_pinned() {
        let words = Key { seed: 1, class: 2, instance: 3 }.words();
        assert_eq!(words, (1_291_388_340, 2_555_015_055));
    }
}
