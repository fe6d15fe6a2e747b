//! Vector instructions of the loops. Each set has a type that only detection creates, so that
//! calling its code is sound.

/// An instruction set of the decoder's loops. The pixels do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Instructions {
    /// Portable code without vectors and with a single place of a scan at a time: the reference for
    /// all others.
    Portable,
    /// AVX2, BMI1, BMI2 and POPCNT: x86-64 since 2013 (Intel) and 2015 (AMD).
    Avx2,
    /// AVX-512 F, BW and VL in addition.
    Avx512,
    /// NEON, which every aarch64 has.
    Neon,
}

impl Instructions {
    /// All instruction sets, those of an architecture from the slowest to the fastest.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Avx2, Self::Avx512, Self::Neon];

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
        Loops::new(self).is_some()
    }
}

/// The instructions in use, with the proof that the processor has them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Loops {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx2, Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
}

/// Proof of the least instructions for which there are vectors and streams on this architecture.
#[cfg(target_arch = "x86_64")]
pub(crate) type Base = Avx2;
/// Proof of the least instructions for which there are vectors and streams on this architecture.
#[cfg(target_arch = "aarch64")]
pub(crate) type Base = Neon;

impl Loops {
    pub(crate) fn new(instructions: Instructions) -> Option<Self> {
        match instructions {
            Instructions::Portable => Some(Self::Portable),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => Avx2::detect().map(Self::Avx2),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => Some(Self::Avx512(Avx2::detect()?, Avx512::detect()?)),
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => Some(Self::Neon(Neon::detect())),
            _ => None,
        }
    }

    /// Returns the proof that all loops but the portable ones have.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(crate) fn base(self) -> Option<Base> {
        match self {
            Self::Portable => None,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) | Self::Avx512(avx2, _) => Some(avx2),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(neon) => Some(neon),
        }
    }

    #[cfg(target_arch = "x86_64")]
    pub(crate) fn avx512(self) -> Option<Avx512> {
        match self {
            Self::Portable | Self::Avx2(_) => None,
            Self::Avx512(_, avx512) => Some(avx512),
        }
    }
}

/// Proof of AVX2, BMI1, BMI2 and POPCNT.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        all.then_some(Self(()))
    }
}

/// Proof of AVX-512 F, BW and VL, and of BMI2.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512(());

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    fn detect() -> Option<Self> {
        let all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("bmi2");
        all.then_some(Self(()))
    }
}

/// Proof of NEON.
#[cfg(target_arch = "aarch64")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neon(());

#[cfg(target_arch = "aarch64")]
impl Neon {
    /// There is nothing to detect: Rust's targets of this architecture require NEON.
    fn detect() -> Self {
        const { assert!(cfg!(target_feature = "neon")) };
        Self(())
    }
}
