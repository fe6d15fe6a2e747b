//! The loops with vectors. Each gives the same bits as its portable twin.
//!
//! An algorithm is written once, as a macro ([`transform`], [`reduced`], [`pixels`]) over the
//! operations of an instruction set, which have the same names and meanings in `avx2`, `avx512`
//! and `neon`. What depends on how many blocks a vector holds, and on how values change their
//! places in it, is separate: `idct128`, `idct256` and `idct512`.
#![allow(unsafe_code, reason = "loads, stores, and calls that need a proof of the instructions")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod idct128;
#[cfg(target_arch = "x86_64")]
mod idct256;
#[cfg(target_arch = "x86_64")]
mod idct512;
#[cfg(target_arch = "x86_64")]
mod memory;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pixels;
mod reduced;
mod transform;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub(crate) use idct128::block_row as block_row_128;
#[cfg(target_arch = "x86_64")]
pub(crate) use {
    idct256::block_row as block_row_256, idct512::block_row as block_row_512, memory::load512,
    memory::store512,
};

/// The loops of the least instructions for which there are vectors.
#[cfg(target_arch = "x86_64")]
mod base {
    pub(crate) mod reduced {
        use super::super::{avx2::*, idct256::dequantised, reduced::reduced};
        reduced!("avx2", crate::instructions::Avx2);
    }
    pub(crate) mod pixels {
        use super::super::{avx2::*, pixels::pixels};
        pixels!("avx2", crate::instructions::Avx2);
    }
}
/// The loops of the least instructions for which there are vectors.
#[cfg(target_arch = "aarch64")]
mod base {
    pub(crate) mod reduced {
        use super::super::{idct128::dequantised, neon::*, reduced::reduced};
        reduced!("neon", crate::instructions::Neon);
    }
    pub(crate) mod pixels {
        use super::super::{neon::*, pixels::pixels};
        pixels!("neon", crate::instructions::Neon);
    }
}
pub(crate) use base::{
    pixels::{half_row, sums, whole_row},
    reduced::block_row as reduced_row,
};
