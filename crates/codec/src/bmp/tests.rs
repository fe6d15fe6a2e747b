//! The fast path reads the same pixels as the crate `image`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{HEADERS, PlainBmp, encode_bilevel, encode_bmp, stored_bilevel};
use crate::{Region, other::decode_other, region::whole};
use fdconvert_core::{Bilevel, Codec, Encoded, ImageHeader, Limits, Pixels, probe::probe};
use proptest::prelude::*;

/// Reads with the crate `image`.
fn oracle(bytes: &[u8], header: &ImageHeader) -> Vec<u8> {
    let (mut scratch, mut out) = (Vec::new(), Vec::new());
    let read = decode_other(bytes, header, &Limits::DEFAULT, &mut scratch, &mut out);
    assert_eq!(read.map(|(channels, _)| channels), Ok(3));
    out
}

#[test]
fn reads_what_the_library_reads() {
    for channels in [1_u8, 3] {
        for (width, height) in [(1, 1), (2, 3), (3, 2), (4, 4), (5, 1), (37, 29), (64, 7)] {
            let n_bytes = width * height * u32::from(channels);
            let data = (0..n_bytes).map(|i| (i * 151 % 251) as u8).collect();
            let mut bytes = Vec::new();
            encode_bmp(&Pixels { width, height, channels, data }, &mut bytes).unwrap();
            // Rows from the bottom, then from the top.
            for from_top in [false, true] {
                let stored_height = if from_top { -(height as i32) } else { height as i32 };
                bytes[22..26].copy_from_slice(&stored_height.to_le_bytes());
                let header = probe(&bytes).unwrap();
                let bmp = PlainBmp::of(&bytes, &header).unwrap();
                let mut out = vec![9; 7];
                bmp.read(whole(&header), &mut out);
                assert_eq!(out, oracle(&bytes, &header), "{width}x{height}x{channels}");
            }
        }
    }
}

#[test]
fn bmps_without_what_some_writers_leave_out_have_their_pixels() {
    let data = (0..18).collect();
    let mut whole = Vec::new();
    encode_bmp(&Pixels { width: 3, height: 2, channels: 3, data }, &mut whole).unwrap();
    let header = probe(&whole).unwrap();
    let pixels = oracle(&whole, &header);
    // Without the number of planes, and without the padding of the last row.
    let mut open = whole.clone();
    open[26] = 0;
    assert_eq!(oracle(&open, &header), pixels);
    for n_missing in 1..=3 {
        assert_eq!(oracle(&whole[..whole.len() - n_missing], &header), pixels);
        assert_eq!(oracle(&open[..whole.len() - n_missing], &header), pixels);
    }
    let cut = whole[..whole.len() - 4].to_vec();
    let decoded = crate::Decoder::new().decode(
        "k",
        &Encoded::new(Codec::Bmp, 3, 2, cut.into()),
        &Limits::DEFAULT,
    );
    assert!(decoded.is_err());
}

#[test]
fn run_lengths_may_go_from_the_top() {
    let mut bytes = b"BM\0\0\0\0\0\0\0\0\x3e\0\0\0\x28\0\0\0\x02\0\0\0".to_vec();
    bytes.extend((-2_i32).to_le_bytes());
    bytes.extend(b"\x01\0\x08\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0");
    // Two colours, and two rows of two pixels.
    bytes.extend([1, 2, 3, 0, 4, 5, 6, 0, 2, 0, 0, 0, 2, 1, 0, 1]);
    let pixels = oracle(&bytes, &probe(&bytes).unwrap());
    assert_eq!(pixels, [3, 2, 1, 3, 2, 1, 6, 5, 4, 6, 5, 4]);
}

/// A 1-bit BMP of noise.
fn bits(width: u32, height: u32, levels: [u8; 2], noise: u32) -> (Bilevel, Vec<u8>) {
    let n_bytes = Bilevel::byte_len(width, height) as u32;
    let byte = |at: u32| ((at + noise).wrapping_mul(2_654_435_761) >> 13) as u8;
    let mut image = Bilevel { width, height, levels, bits: (0..n_bytes).map(byte).collect() };
    let row_bytes = width.div_ceil(8) as usize;
    let beyond = if width.is_multiple_of(8) { 0 } else { 0xff_u8 >> (width % 8) };
    image.bits.chunks_mut(row_bytes).for_each(|row| row[row_bytes - 1] &= !beyond);
    let mut bytes = Vec::new();
    encode_bilevel(&image, &mut bytes).unwrap();
    (image, bytes)
}

proptest! {
    #[test]
    fn one_bit_is_read_as_the_library_reads_it_and_in_parts(
        (width, height) in (1u32..90, 1u32..9),
        levels: [u8; 2],
        noise: u32,
        colors: Option<[[u8; 4]; 2]>,
        from_top: bool,
        at: [prop::sample::Index; 4],
    ) {
        let (image, mut bytes) = bits(width, height, levels, noise % 65_536);
        if let Some(colors) = colors {
            bytes[HEADERS..HEADERS + 8].copy_from_slice(colors.as_flattened());
        } else if !from_top {
            let stored = Encoded::new(Codec::Bmp, width, height, bytes.clone().into());
            prop_assert_eq!(stored_bilevel(&stored), Some(image));
        }
        if from_top {
            bytes[22..26].copy_from_slice(&(-(height as i32)).to_le_bytes());
        }
        let header = probe(&bytes).unwrap();
        let bmp = PlainBmp::of(&bytes, &header).unwrap();
        let (mut all, mut part) = (vec![9; 7], vec![9; 7]);
        bmp.read(whole(&header), &mut all);
        prop_assert_eq!(&all, &oracle(&bytes, &header));
        let span = |from: prop::sample::Index, len: prop::sample::Index, side: u32| {
            let from = from.index(side as usize) as u32;
            (from, 1 + len.index((side - from) as usize) as u32)
        };
        let ((x, part_width), (y, part_height)) = (span(at[0], at[1], width), span(at[2], at[3], height));
        bmp.read(Region { x, y, width: part_width, height: part_height }, &mut part);
        let rows = all.chunks((width * 3) as usize).skip(y as usize).take(part_height as usize);
        let expected = rows.flat_map(|row| &row[(x * 3) as usize..((x + part_width) * 3) as usize]);
        prop_assert!(part.iter().eq(expected), "{}x{} at {},{}", part_width, part_height, x, y);
    }
}

#[test]
fn bits_beyond_the_last_column_are_left_behind() {
    let (image, mut bytes) = bits(11, 3, [0, 127], 1);
    for row in bytes[HEADERS + 8..].as_chunks_mut::<4>().0 {
        row[1] |= 0x1f;
        row[2..].fill(0xff);
    }
    let stored = Encoded::new(Codec::Bmp, 11, 3, bytes.into());
    assert_eq!(stored_bilevel(&stored), Some(image));
}

#[test]
fn only_two_gray_levels_are_bilevel() {
    let (_, bytes) = bits(11, 3, [0, 127], 1);
    let bilevel =
        |bytes: &[u8]| stored_bilevel(&Encoded::new(Codec::Bmp, 11, 3, bytes.to_vec().into()));
    assert!(bilevel(&bytes).is_some());
    // A colour, a palette of one entry, and a truncated palette.
    for (at, value) in [(HEADERS + 4, 126), (46, 1), (10, 58)] {
        let mut other = bytes.clone();
        other[at] = value;
        assert_eq!(bilevel(&other), None, "byte {at}");
    }
    assert_eq!(bilevel(&bytes[..bytes.len() - 1]), None);
    let mut gray = Vec::new();
    let pixels = Pixels { width: 11, height: 3, channels: 1, data: vec![7; 33] };
    encode_bmp(&pixels, &mut gray).unwrap();
    assert_eq!(bilevel(&gray), None);
}

#[test]
fn leaves_the_others_to_the_library() {
    let mut bytes = Vec::new();
    let pixels = Pixels { width: 5, height: 3, channels: 1, data: vec![7; 15] };
    encode_bmp(&pixels, &mut bytes).unwrap();
    let header = probe(&bytes).unwrap();
    assert!(PlainBmp::of(&bytes, &header).is_some());
    for len in 0..bytes.len() {
        assert!(PlainBmp::of(&bytes[..len], &header).is_none(), "cut at {len}");
    }
    for (at, value) in [(0, b'X'), (14, 124), (26, 2), (28, 4), (30, 1), (54 + 4 * 9, 8)] {
        let mut other = bytes.clone();
        other[at] = value;
        assert!(PlainBmp::of(&other, &header).is_none(), "byte {at}");
    }
}
