//! The operations of the inverse DCT with AVX-512.
use super::x86::operations;
use std::arch::x86_64::{
    __m512i, _mm512_add_epi16, _mm512_add_epi32, _mm512_madd_epi16, _mm512_packs_epi32,
    _mm512_set1_epi32, _mm512_setzero_si512, _mm512_srai_epi32, _mm512_sub_epi16, _mm512_sub_epi32,
    _mm512_unpackhi_epi16, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi16,
    _mm512_unpacklo_epi32, _mm512_unpacklo_epi64,
};

operations!(
    __m512i, "avx512f,avx512bw,avx512vl", zero _mm512_setzero_si512, set _mm512_set1_epi32,
    madd _mm512_madd_epi16,
    add16 _mm512_add_epi16, sub16 _mm512_sub_epi16,
    add32 _mm512_add_epi32, sub32 _mm512_sub_epi32,
    shift _mm512_srai_epi32 by u32, pack _mm512_packs_epi32,
    low _mm512_unpacklo_epi16 _mm512_unpacklo_epi32 _mm512_unpacklo_epi64,
    high _mm512_unpackhi_epi16 _mm512_unpackhi_epi32 _mm512_unpackhi_epi64
);
