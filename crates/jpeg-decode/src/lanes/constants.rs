//! What the lanes of an image have in common, and what they do alike.
#![allow(unsafe_code, reason = "gathers, see Bounds of the module `kernel`")]
use super::NOWHERE;
use super::tables::{IDLE, N_SLOTS, Tables, VALUE_BITS};
use crate::simd::load512;
use std::arch::x86_64::{
    __m512i, _mm512_and_si512, _mm512_i64gather_epi64, _mm512_mask_shuffle_epi32,
    _mm512_mask_sub_epi32, _mm512_maskz_mov_epi32, _mm512_min_epu32, _mm512_permutexvar_epi32,
    _mm512_rolv_epi32, _mm512_rolv_epi64, _mm512_set1_epi32, _mm512_set4_epi32,
    _mm512_shuffle_epi8, _mm512_srli_epi32, _mm512_srli_epi64, _mm512_testn_epi32_mask,
};

const EVEN: u16 = 0x5555;

/// Constants of an image.
pub(super) struct Constants<'a> {
    pub(super) data: &'a [u8],
    pub(super) entries: &'a [u32],
    pub(super) long: &'a [u32],
    /// The last position to load bits from.
    pub(super) limit: __m512i,
    pub(super) dc: __m512i,
    pub(super) ac: __m512i,
    pub(super) next: __m512i,
    /// Masks indexed by a number of bits: that many low bits set, and only the highest of them.
    pub(super) ones: __m512i,
    pub(super) highest: __m512i,
    pub(super) nowhere: __m512i,
    pub(super) idle: __m512i,
    pub(super) reversed: __m512i,
}

const ONES: [u32; N_SLOTS] = {
    let mut ones = [0; N_SLOTS];
    let mut n_bits = 0;
    while n_bits < N_SLOTS {
        ones[n_bits] = (1 << n_bits) - 1;
        n_bits += 1;
    }
    ones
};
const HIGHEST: [u32; N_SLOTS] = {
    let mut highest = [0; N_SLOTS];
    let mut n_bits = 1;
    while n_bits < N_SLOTS {
        highest[n_bits] = 1 << (n_bits - 1);
        n_bits += 1;
    }
    highest
};

impl<'a> Constants<'a> {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
    pub(super) fn new(tables: &'a Tables, data: &'a [u8]) -> Self {
        Self {
            data,
            entries: &tables.entries,
            long: &tables.long,
            limit: _mm512_set1_epi32(((data.len() - 8) * 8) as i32),
            dc: load512(&tables.dc),
            ac: load512(&tables.ac),
            next: load512(&tables.next),
            ones: load512(&ONES),
            highest: load512(&HIGHEST),
            nowhere: _mm512_set1_epi32(NOWHERE as i32 * 64 + 1),
            idle: _mm512_set1_epi32(IDLE as i32),
            reversed: _mm512_set4_epi32(0x0809_0A0B, 0x0C0D_0E0F, 0x0001_0203, 0x0405_0607),
        }
    }

    /// Loads bits from these positions, which it clamps.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
    pub(super) fn load(&self, position: &mut __m512i) -> [__m512i; 2] {
        *position = _mm512_min_epu32(*position, self.limit);
        let byte = _mm512_srli_epi32::<3>(*position);
        let bytes = [_mm512_maskz_mov_epi32(EVEN, byte), _mm512_srli_epi64::<32>(byte)];
        let within = _mm512_and_si512(*position, _mm512_set1_epi32(7));
        let withins = [within, _mm512_srli_epi64::<32>(within)];
        let data = self.data.as_ptr();
        // SAFETY: 8 bytes from the limit are in the data.
        let words = bytes.map(|it| unsafe { _mm512_i64gather_epi64::<1>(it, data.cast()) });
        let [even, odd] = words.map(|it| _mm512_shuffle_epi8(it, self.reversed));
        [_mm512_rolv_epi64(even, withins[0]), _mm512_rolv_epi64(odd, withins[1])]
    }

    /// Returns the values that follow codes, in the first bits of each lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
    pub(super) fn values(&self, bits: __m512i, entry: __m512i) -> __m512i {
        let n_bits = _mm512_srli_epi32::<VALUE_BITS>(entry);
        let ones = _mm512_permutexvar_epi32(n_bits, self.ones);
        let highest = _mm512_permutexvar_epi32(n_bits, self.highest);
        // The last bits of code and value.
        let value = _mm512_and_si512(_mm512_rolv_epi32(bits, entry), ones);
        let is_negative = _mm512_testn_epi32_mask(value, highest);
        _mm512_mask_sub_epi32(value, is_negative, value, ones)
    }
}

/// Returns the first 32 bits of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi2")]
pub(super) fn first_bits(words: [__m512i; 2]) -> __m512i {
    _mm512_mask_shuffle_epi32::<0xB1>(words[1], EVEN, words[0])
}
