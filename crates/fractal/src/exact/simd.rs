//! Vectors of doubles: the instructions of a machine, and the kernels compiled for each set.
//!
//! A value of an instruction set's type exists only where the machine has the instructions, and
//! every operation takes one. So the operations are safe to call, and the kernels, which are
//! generic over the set, contain nothing unsafe.

use super::coverage::{self, Group};
use super::kernel;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// A set of vector instructions.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The instructions of every machine of the target.
    Portable,
    /// AVX2: four doubles.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512: eight doubles.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// Returns all levels that this machine can run, slowest first.
    pub fn available() -> impl DoubleEndedIterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let levels = [
            (true, Self::Portable),
            (x86::Avx2::detect().is_some(), Self::Avx2),
            (x86::Avx512::detect().is_some(), Self::Avx512),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let levels = [(true, Self::Portable)];
        levels.into_iter().filter_map(|(present, level)| present.then_some(level))
    }

    /// Returns the fastest level of this machine.
    #[must_use]
    pub fn best() -> Self {
        Self::available().next_back().unwrap_or(Self::Portable)
    }

    pub(super) fn width(self) -> usize {
        match self {
            Self::Portable => 4,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 4,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 8,
        }
    }
}

/// Arithmetic on vectors of `W` doubles, rounded by IEEE 754 in every lane.
pub(super) trait Isa<const W: usize>: Copy {
    type Vector: Copy;

    fn load(self, values: &[f64; W]) -> Self::Vector;
    fn store(self, vector: Self::Vector, values: &mut [f64; W]);
    /// Stores the doubles as raw bits.
    fn store_bits(self, vector: Self::Vector, bits: &mut [u64; W]);
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn div(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a * b + c`, rounded once or twice, whichever is faster.
    fn about_mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// The minimum; `b` if either is NaN.
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// The maximum; `b` if either is NaN.
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn abs(self, a: Self::Vector) -> Self::Vector;
    fn floor(self, a: Self::Vector) -> Self::Vector;
    /// Returns true if `a > b` in any lane.
    fn any_above(self, a: Self::Vector, b: Self::Vector) -> bool;

    #[inline(always)]
    fn splat(self, value: f64) -> Self::Vector {
        self.load(&[value; W])
    }
}

/// Four doubles, vectorised by the compiler.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Isa<4> for Portable {
    type Vector = [f64; 4];

    #[inline(always)]
    fn load(self, values: &[f64; 4]) -> [f64; 4] {
        *values
    }
    #[inline(always)]
    fn store(self, vector: [f64; 4], values: &mut [f64; 4]) {
        *values = vector;
    }
    #[inline(always)]
    fn store_bits(self, vector: [f64; 4], bits: &mut [u64; 4]) {
        *bits = vector.map(f64::to_bits);
    }
    #[inline(always)]
    fn add(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|lane| a[lane] + b[lane])
    }
    #[inline(always)]
    fn sub(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|lane| a[lane] - b[lane])
    }
    #[inline(always)]
    fn mul(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|lane| a[lane] * b[lane])
    }
    #[inline(always)]
    fn div(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|lane| a[lane] / b[lane])
    }
    #[inline(always)]
    fn about_mul_add(self, a: [f64; 4], b: [f64; 4], c: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|lane| a[lane] * b[lane] + c[lane])
    }
    #[inline(always)]
    fn min(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|lane| if a[lane] < b[lane] { a[lane] } else { b[lane] })
    }
    #[inline(always)]
    fn max(self, a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
        std::array::from_fn(|lane| if a[lane] > b[lane] { a[lane] } else { b[lane] })
    }
    #[inline(always)]
    fn abs(self, a: [f64; 4]) -> [f64; 4] {
        a.map(f64::abs)
    }
    #[inline(always)]
    fn floor(self, a: [f64; 4]) -> [f64; 4] {
        a.map(f64::floor)
    }
    #[inline(always)]
    fn any_above(self, a: [f64; 4], b: [f64; 4]) -> bool {
        // No early exit, so that it compiles to a comparison of vectors.
        (0..4).fold(false, |any, lane| any | (a[lane] > b[lane]))
    }
}

/// Runs [`kernel::choose`] at that level, or in portable code if the machine does not have it.
pub(super) fn choose(
    level: Level,
    thresholds: &[f64; kernel::N_MAPS],
    random: &[f64],
    maps: &mut [u8],
) {
    match level {
        Level::Portable => (),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            if let Some(isa) = x86::Avx2::detect() {
                return isa.choose(thresholds, random, maps);
            }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            if let Some(isa) = x86::Avx512::detect() {
                return isa.choose(thresholds, random, maps);
            }
        }
    }
    kernel::choose(thresholds, random, maps);
}

/// Runs [`coverage::cover`] at that level, or in portable code if the machine does not have it.
pub(super) fn cover(level: Level, group: &mut Group) -> u32 {
    match level {
        Level::Portable => (),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            if let Some(isa) = x86::Avx2::detect() {
                return isa.cover(group);
            }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            if let Some(isa) = x86::Avx512::detect() {
                return isa.cover(group);
            }
        }
    }
    coverage::cover(Portable, group)
}
