//! Compiles the area resize once per instruction set and selects one at run time.
//!
//! The results are identical bit for bit (see `kernel`); only the speed differs.
#![allow(unsafe_code)]

use super::area::Area;

/// An instruction set of the resizes. The pixels do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Instructions {
    /// The instructions of every machine of the target.
    Portable,
    /// NEON of aarch64, whose machines all have it: for the area filter the same as the portable
    /// ones.
    Neon,
    /// AVX2: eight lanes.
    Avx2,
    /// AVX-512: sixteen lanes.
    Avx512,
}

impl Instructions {
    /// All instruction sets, from the slowest to the fastest.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Neon, Self::Avx2, Self::Avx512];

    /// Returns the fastest set of this processor. The environment can leave AVX-512 out
    /// (`FDCONVERT_AVX512=off`), to measure as on processors without.
    #[must_use]
    pub fn best() -> Self {
        let is_off = std::env::var_os("FDCONVERT_AVX512").is_some_and(|value| value == "off");
        let here = Self::ALL.into_iter().filter(|it| it.are_here());
        let here = here.filter(|it| !(is_off && *it == Self::Avx512));
        here.max().unwrap_or(Self::Portable)
    }

    /// Returns true if this processor has them.
    #[must_use]
    pub fn are_here(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => has_avx512(),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            _ => false,
        }
    }
}

/// Runs the resize with these instructions, or with the portable ones if the processor lacks them.
pub(super) fn run<const C: usize>(
    instructions: Instructions,
    area: &mut Area,
    data: &[u8],
    from: (usize, usize),
    to: (usize, usize),
    out: &mut [u8],
) {
    match instructions {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 if is_x86_feature_detected!("avx2") => {
            // SAFETY: the machine has the feature, as the guard checked (a cached flag).
            unsafe { avx2::<C>(area, data, from, to, out) }
        }
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 if has_avx512() => {
            // SAFETY: the machine has all three features, as the guard checked (cached flags).
            unsafe { avx512::<C>(area, data, from, to, out) }
        }
        _ => area.run::<C>(data, from, to, out),
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<const C: usize>(
    area: &mut Area,
    data: &[u8],
    from: (usize, usize),
    to: (usize, usize),
    out: &mut [u8],
) {
    area.run::<C>(data, from, to, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn avx512<const C: usize>(
    area: &mut Area,
    data: &[u8],
    from: (usize, usize),
    to: (usize, usize),
    out: &mut [u8],
) {
    area.run::<C>(data, from, to, out);
}
