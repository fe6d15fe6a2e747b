//! MT19937, the generator behind `numpy.random` (its legacy interface) and Python's `random`.
//!
//! Makoto Matsumoto and Takuji Nishimura, "Mersenne Twister: A 623-dimensionally equidistributed
//! uniform pseudo-random number generator", ACM TOMACS 8 (1998). The two libraries differ in how
//! a seed becomes the first state.

const N: usize = 624;
const M: usize = 397;

/// A stream of random numbers. A clone continues from the same state.
#[derive(Clone)]
pub struct MersenneTwister {
    state: [u32; N],
    next: usize,
}

impl MersenneTwister {
    /// Creates the stream of `numpy.random.seed(seed)`.
    #[must_use]
    pub fn numpy(seed: u32) -> Self {
        let mut state = [seed; N];
        for i in 1..N {
            let before = state[i - 1];
            let mixed = (before ^ before >> 30).wrapping_mul(1_812_433_253);
            state[i] = mixed.wrapping_add(i as u32);
        }
        Self { state, next: N }
    }

    /// Creates the stream of Python's `random.seed(seed)` for a seed below 2^32.
    #[must_use]
    pub fn python(seed: u32) -> Self {
        let mut state = Self::numpy(19_650_218).state;
        let mut i = 1;
        let advance = |state: &mut [u32; N], i: usize| {
            if i + 1 == N {
                state[0] = state[N - 1];
                return 1;
            }
            i + 1
        };
        // The key is the seed alone, so its index is always 0.
        for _ in 0..N {
            let before = state[i - 1];
            let mixed = (before ^ before >> 30).wrapping_mul(1_664_525);
            state[i] = (state[i] ^ mixed).wrapping_add(seed);
            i = advance(&mut state, i);
        }
        for _ in 1..N {
            let before = state[i - 1];
            let mixed = (before ^ before >> 30).wrapping_mul(1_566_083_941);
            state[i] = (state[i] ^ mixed).wrapping_sub(i as u32);
            i = advance(&mut state, i);
        }
        state[0] = 0x8000_0000;
        Self { state, next: N }
    }

    /// Returns the next 32 bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.next == N {
            self.twist();
        }
        let bits = self.state[self.next];
        self.next += 1;
        temper(bits)
    }

    /// Returns the next double from 0 to below 1, of 53 bits.
    #[inline]
    pub fn next_f64(&mut self) -> f64 {
        let (high, low) = (self.next_u32(), self.next_u32());
        to_f64(high, low)
    }

    /// Returns the next integer below `bound` as numpy's legacy `randint` draws it: masked, and
    /// drawn again while too large. `bound` is at least 1.
    pub fn below(&mut self, bound: u32) -> u32 {
        let largest = bound.max(1) - 1;
        let mask = (u64::from(largest) + 1).next_power_of_two() as u32;
        let mask = mask.wrapping_sub(1);
        loop {
            let value = self.next_u32() & mask;
            if value <= largest {
                return value;
            }
        }
    }

    /// Returns the next mask of a patch: Python's `random.randrange(1, 512)`.
    #[inline]
    pub fn patch_mask(&mut self) -> u16 {
        loop {
            let value = self.next_u32() >> 23;
            if value < 511 {
                return value as u16 + 1;
            }
        }
    }

    /// Fills `out` with the next doubles.
    pub fn fill_f64(&mut self, out: &mut [f64]) {
        const AT_ONCE: usize = 256;
        let mut pairs = [[0; 2]; AT_ONCE];
        for out in out.chunks_mut(AT_ONCE) {
            let Some(pairs) = pairs.get_mut(..out.len()) else { return };
            self.fill_u32(pairs.as_flattened_mut());
            for (value, [high, low]) in out.iter_mut().zip(pairs) {
                *value = to_f64(*high, *low);
            }
        }
    }

    /// Fills `out` with the next 32-bit numbers.
    pub fn fill_u32(&mut self, mut out: &mut [u32]) {
        while !out.is_empty() {
            if self.next == N {
                self.twist();
            }
            let left = self.state.get(self.next..).unwrap_or_default();
            let n = left.len().min(out.len());
            let (now, rest) = out.split_at_mut(n);
            for (value, bits) in now.iter_mut().zip(left) {
                *value = temper(*bits);
            }
            self.next += n;
            out = rest;
        }
    }

    /// Skips `n` 32-bit numbers.
    pub fn skip(&mut self, mut n: usize) {
        while self.next + n > N {
            n -= N - self.next;
            self.twist();
            self.next = 0;
        }
        self.next += n;
    }

    /// Computes the next state in runs without inner dependencies, so that the compiler vectorises
    /// them.
    fn twist(&mut self) {
        let state = &mut self.state;
        let step = |this: u32, next: u32, far: u32| {
            let mixed = this & 0x8000_0000 | next & 0x7fff_ffff;
            let odd = (mixed & 1).wrapping_neg() & 0x9908_b0df;
            far ^ mixed >> 1 ^ odd
        };
        for i in 0..N - M {
            state[i] = step(state[i], state[i + 1], state[i + M]);
        }
        for i in N - M..N - 1 {
            state[i] = step(state[i], state[i + 1], state[i + M - N]);
        }
        state[N - 1] = step(state[N - 1], state[0], state[M - 1]);
        self.next = 0;
    }
}

#[inline]
fn temper(mut bits: u32) -> u32 {
    bits ^= bits >> 11;
    bits ^= bits << 7 & 0x9d2c_5680;
    bits ^= bits << 15 & 0xefc6_0000;
    bits ^ bits >> 18
}

/// `genrand_res53` of the reference implementation.
#[inline]
fn to_f64(high: u32, low: u32) -> f64 {
    // Both have their top bit clear, and machines convert signed integers.
    let (high, low) = (f64::from((high >> 5) as i32), f64::from((low >> 6) as i32));
    // A power of two: as exact as the division.
    (high * 67_108_864.0 + low) * (1.0 / 9_007_199_254_740_992.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by numpy 1.26: `np.random.seed(1); np.random.random(3)`.
    #[test]
    fn numpy_stream() {
        let mut random = MersenneTwister::numpy(1);
        let first: [f64; 3] = std::array::from_fn(|_| random.next_f64());
        assert_eq!(first, [0.417022004702574, 0.7203244934421581, 0.00011437481734488664]);
    }

    /// Printed by Python 3.11: `random.seed(7); [random.randrange(1, 512) for _ in range(5)]`.
    #[test]
    fn python_stream() {
        let mut random = MersenneTwister::python(7);
        let masks: [u16; 5] = std::array::from_fn(|_| random.patch_mask());
        assert_eq!(masks, [166, 486, 78, 203, 334]);
    }

    #[test]
    fn blocks_and_skips_follow_the_single_numbers() {
        for offset in [0, 1, 5, 623, 624, 625, 1248] {
            let mut one_by_one = MersenneTwister::numpy(42);
            one_by_one.fill_u32(&mut vec![0; offset]);
            let mut skipped = MersenneTwister::numpy(42);
            skipped.skip(offset);
            let mut block = vec![0.0; 1500];
            skipped.clone().fill_f64(&mut block);
            let singles: Vec<f64> = (0..1500).map(|_| one_by_one.next_f64()).collect();
            assert_eq!(block, singles, "after {offset}");
            let mut again = skipped.clone();
            again.skip(3000);
            assert_eq!(again.next_u32(), one_by_one.next_u32());
        }
    }
}
