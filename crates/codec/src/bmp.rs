//! The BMP that everybody writes, read without a detour: 24 bits per pixel or 8 with a palette of
//! gray levels, not compressed. A mixed set has its raw images in this form, so that reading it is
//! to cost no more than moving the pixels; all other BMPs go through the crate `image`.

use crate::Region;
use fdconvert_core::{
    Codec, ImageHeader,
    bytes::{i32_at, u16_at, u32_at},
};

/// Where the pixels of such a file are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainBmp<'a> {
    /// Whole rows, padded, in the order of the file.
    rows: &'a [u8],
    stride: usize,
    height: u32,
    from_top: bool,
    /// 3, or 1 for gray levels.
    bytes_per_pixel: usize,
}

/// Length of the two headers.
const HEADERS: usize = 14 + 40;
/// Where the second header begins.
const INFO: usize = 14;

impl<'a> PlainBmp<'a> {
    /// `None` for any other BMP, for one that is cut off, and for other images.
    pub(crate) fn of(bytes: &'a [u8], header: &ImageHeader) -> Option<Self> {
        if header.codec != Codec::Bmp {
            return None;
        }
        let pixels_at = usize::try_from(u32_at(bytes, 10)?).ok()?;
        let info = bytes.get(INFO..)?;
        let (info_len, width, height) = (u32_at(info, 0)?, i32_at(info, 4)?, i32_at(info, 8)?);
        let (planes, bits, compression) = (u16_at(info, 12)?, u16_at(info, 14)?, u32_at(info, 16)?);
        let is_plain =
            bytes.starts_with(b"BM") && info_len == 40 && planes == 1 && compression == 0;
        let is_that_size = width > 0
            && width.unsigned_abs() == header.width
            && height.unsigned_abs() == header.height;
        if !is_plain || !is_that_size || pixels_at < HEADERS {
            return None;
        }
        let bytes_per_pixel = match bits {
            24 => 3,
            8 => {
                // Entries beyond those that are used are black, in one program or the other.
                let palette = bytes.get(HEADERS..pixels_at)?.as_chunks::<4>().0;
                let is_level = |(level, entry): (usize, &[u8; 4])| {
                    entry[..3].iter().all(|value| usize::from(*value) == level)
                };
                if palette.len() != 256 || !palette.iter().enumerate().all(is_level) {
                    return None;
                }
                1
            }
            _ => return None,
        };
        let row_bytes = usize::try_from(header.width).ok()?.checked_mul(bytes_per_pixel)?;
        let stride = row_bytes.checked_next_multiple_of(4)?;
        let len = stride.checked_mul(usize::try_from(header.height).ok()?)?;
        let rows = bytes.get(pixels_at..pixels_at.checked_add(len)?)?;
        let (height, from_top) = (header.height, height < 0);
        Some(Self { rows, stride, height, from_top, bytes_per_pixel })
    }

    /// RGB of a region that lies in the image, rows from the top without gaps, replacing `out`.
    pub(crate) fn read(&self, region: Region, out: &mut Vec<u8>) {
        let width = region.width as usize;
        out.clear();
        out.resize(width * region.height as usize * 3, 0);
        let first = region.x as usize * self.bytes_per_pixel;
        for (y, to) in (region.y..).zip(out.chunks_exact_mut((width * 3).max(1))) {
            let row = if self.from_top { y } else { self.height.saturating_sub(y + 1) };
            let at = row as usize * self.stride + first;
            let from = self.rows.get(at..at + width * self.bytes_per_pixel).unwrap_or_default();
            if self.bytes_per_pixel == 1 {
                gray_to_rgb(from, to);
            } else {
                swap(from, to);
            }
        }
    }
}

/// BGR to RGB, four pixels at a time as three words: a byte at a time takes three times as long.
fn swap(from: &[u8], to: &mut [u8]) {
    let (from_words, from_rest) = from.as_chunks::<12>();
    let (to_words, to_rest) = to.as_chunks_mut::<12>();
    for (from, to) in from_words.iter().zip(to_words) {
        let [b0, g0, r0, b1, g1, r1, b2, g2, r2, b3, g3, r3] = *from;
        *to = [r0, g0, b0, r1, g1, b1, r2, g2, b2, r3, g3, b3];
    }
    let (from_rest, to_rest) = (from_rest.as_chunks::<3>().0, to_rest.as_chunks_mut::<3>().0);
    for (&[b, g, r], to) in from_rest.iter().zip(to_rest) {
        *to = [r, g, b];
    }
}

fn gray_to_rgb(from: &[u8], to: &mut [u8]) {
    for (level, to) in from.iter().zip(to.as_chunks_mut::<3>().0) {
        *to = [*level; 3];
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::{lossless::encode_bmp, other::decode_other, region::whole};
    use fdconvert_core::probe::probe;
    use fdconvert_core::{Limits, Pixels};

    /// As the crate `image` reads it.
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
}
