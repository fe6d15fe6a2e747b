//! Compiles the area resize once per instruction set and picks one at run time.
//!
//! The results are the same to the bit (see `kernel`); only the speed differs.
#![allow(unsafe_code)]

use super::area::Area;

/// Sets of vector instructions that a machine may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// What every machine of the target has.
    Baseline,
    /// Eight lanes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Sixteen lanes.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// All levels that this machine can run, slowest first.
    pub(super) fn available() -> impl DoubleEndedIterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let levels = [
            (true, Self::Baseline),
            (is_x86_feature_detected!("avx2"), Self::Avx2),
            (has_avx512(), Self::Avx512),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let levels = [(true, Self::Baseline)];
        levels.into_iter().filter_map(|(present, level)| present.then_some(level))
    }

    /// The fastest of them.
    pub(super) fn best() -> Self {
        Self::available().next_back().unwrap_or(Self::Baseline)
    }
}

/// Runs the resize at that level, or at the baseline where the machine does not have it.
pub(super) fn run<const C: usize>(
    level: Level,
    area: &mut Area,
    data: &[u8],
    from: (usize, usize),
    to: (usize, usize),
    out: &mut [u8],
) {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if is_x86_feature_detected!("avx2") => {
            // SAFETY: the machine has the feature, as the guard checked (a cached flag).
            unsafe { avx2::<C>(area, data, from, to, out) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if has_avx512() => {
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
