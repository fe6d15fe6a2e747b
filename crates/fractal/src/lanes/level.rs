//! Vector instructions of the machine, and the sampler's loops for each set of them.
//!
//! The results are identical bit for bit; only the speed differs.
#![allow(unsafe_code)]

use super::key::Hash;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use super::neon;
use super::points::{Bounds, Mapping, Step};
use super::scalar;
use super::table::Table;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// A set of vector instructions.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Portable code.
    Scalar,
    /// NEON: four lanes.
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon,
    /// AVX2: eight lanes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512: sixteen lanes.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// Returns all levels that this machine can run, slowest first.
    pub fn available() -> impl DoubleEndedIterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let levels = [(true, Self::Scalar), (has_avx2(), Self::Avx2), (has_avx512(), Self::Avx512)];
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        let levels = [(true, Self::Scalar), (has_neon(), Self::Neon)];
        #[cfg(not(any(
            target_arch = "x86_64",
            all(target_arch = "aarch64", target_endian = "little")
        )))]
        let levels = [(true, Self::Scalar)];
        levels.into_iter().filter_map(|(present, level)| present.then_some(level))
    }

    /// Returns the fastest level of this machine.
    #[must_use]
    pub fn best() -> Self {
        Self::available().next_back().unwrap_or(Self::Scalar)
    }

    /// See [`scalar::iterate`]. Here and below, scalar code replaces a level that the machine
    /// lacks.
    pub(super) fn iterate(self, table: &Table, hash: Hash, steps: &mut [Step]) -> Bounds {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the machine has the features, as the guard checked (cached flags).
            Self::Avx512 if has_avx512() => unsafe { x86::iterate_avx512(table, hash, steps) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2 if has_avx2() => unsafe { x86::iterate_avx2(table, hash, steps) },
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            // SAFETY: as above.
            Self::Neon if has_neon() => unsafe { neon::iterate(table, hash, steps) },
            _ => scalar::iterate(table, hash, steps),
        }
    }

    /// See [`scalar::plot`].
    pub(super) fn plot<T>(
        self,
        steps: &[Step],
        mapping: &Mapping,
        canvas: &mut [T],
        value: impl Fn(u32) -> T,
    ) {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the machine has the features, as the guard checked (cached flags).
            Self::Avx512 if has_avx512() => unsafe {
                x86::plot_avx512(steps, mapping, canvas, value);
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2 if has_avx2() => unsafe { x86::plot_avx2(steps, mapping, canvas, value) },
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            // SAFETY: as above.
            Self::Neon if has_neon() => unsafe { neon::plot(steps, mapping, canvas, value) },
            _ => scalar::plot(steps, mapping, canvas, value),
        }
    }

    /// See [`scalar::pack`].
    pub(super) fn pack(self, bytes: &[u8], words: &mut [u64]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the machine has the features, as the guard checked (cached flags).
            Self::Avx512 if has_avx512() => unsafe { x86::pack_avx512(bytes, words) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2 if has_avx2() => unsafe { x86::pack_avx2(bytes, words) },
            _ => scalar::pack(bytes, words),
        }
    }
}

/// A loop over plain data that the compiler can turn into vector instructions of any width.
pub(crate) trait Loop {
    /// Runs the loop. Implementations are `#[inline(always)]`: the copies that [`vectorized`] makes
    /// are compiled for the function into which they are inlined.
    fn run(self);
}

/// Runs a loop compiled for the best instructions of the machine.
pub(crate) fn vectorized<L: Loop>(body: L) {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            // SAFETY: the machine has the features, as was just checked (cached flags).
            return unsafe { with_avx512(body) };
        }
        if has_avx2() {
            // SAFETY: as above.
            return unsafe { with_avx2(body) };
        }
    }
    body.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn with_avx512<L: Loop>(body: L) {
    body.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2<L: Loop>(body: L) {
    body.run();
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
fn has_neon() -> bool {
    std::arch::is_aarch64_feature_detected!("neon")
}
