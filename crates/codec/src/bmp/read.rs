//! A fast path for the common BMPs: uncompressed, with 24 bits per pixel, 8 with a palette of gray
//! levels, or 1 with a palette of two colours. A mixed set stores its raw images in this form, so
//! reading them should cost no more than moving the pixels; all other BMPs go through the crate
//! `image`.

use super::{HEADERS, colors::TwoColors};
use crate::Region;
use fdconvert_core::{
    Bilevel, Codec, Encoded, ImageHeader,
    bytes::{i32_at, u16_at, u32_at},
    probe::probe,
};

/// Place and form of the pixels of a plain BMP.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainBmp<'a> {
    /// Whole rows, padded, in the order of the file.
    rows: &'a [u8],
    stride: usize,
    width: u32,
    height: u32,
    from_top: bool,
    pixel: Pixel,
}

#[derive(Debug, Clone, Copy)]
enum Pixel {
    /// A bit, which chooses one of two colours (red, green, blue).
    Bit([[u8; 3]; 2]),
    /// A gray level.
    Gray,
    /// Blue, green, red.
    Color,
}

/// Offset of the second header.
const INFO: usize = 14;

impl<'a> PlainBmp<'a> {
    /// Parses a plain BMP; `None` for any other BMP, a truncated one, and other images.
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
        if !is_plain || !is_that_size {
            return None;
        }
        let palette = bytes.get(HEADERS..pixels_at)?;
        let pixel = match bits {
            24 => Pixel::Color,
            8 => of_gray_levels(palette)?,
            1 => of_two_colors(palette, u32_at(info, 32)?)?,
            _ => return None,
        };
        let row_bits = u64::from(header.width) * u64::from(bits);
        let stride = usize::try_from(row_bits.div_ceil(32) * 4).ok()?;
        let len = stride.checked_mul(usize::try_from(header.height).ok()?)?;
        let rows = bytes.get(pixels_at..pixels_at.checked_add(len)?)?;
        let (width, height, from_top) = (header.width, header.height, height < 0);
        Some(Self { rows, stride, width, height, from_top, pixel })
    }

    /// Writes RGB of a region within the image, rows from the top without gaps, replacing `out`.
    pub(crate) fn read(&self, region: Region, out: &mut Vec<u8>) {
        let width = region.width as usize;
        out.clear();
        out.resize(width * region.height as usize * 3, 0);
        let to = out.chunks_exact_mut((width * 3).max(1));
        let rows = (region.y..).map(|y| self.row(y)).zip(to);
        let x = region.x as usize;
        match self.pixel {
            Pixel::Color => rows.for_each(|(row, to)| {
                swap(row.get(x * 3..(x + width) * 3).unwrap_or_default(), to);
            }),
            Pixel::Gray => rows.for_each(|(row, to)| {
                gray_to_rgb(row.get(x..x + width).unwrap_or_default(), to);
            }),
            Pixel::Bit(colors) => {
                let colors = TwoColors::new(colors);
                rows.for_each(|(row, to)| colors.expand(row, x, to));
            }
        }
    }

    /// Returns the image with its bits unchanged, if it has two gray levels.
    pub(crate) fn to_bilevel(self) -> Option<Bilevel> {
        let levels = self.levels()?;
        let row_bytes = self.width.div_ceil(8) as usize;
        // Bits beyond the last column are arbitrary in a file, and zero in a `Bilevel`.
        let within = match self.width % 8 {
            0 => 0xff,
            columns => !(0xff_u8 >> columns),
        };
        let mut bits = Vec::with_capacity(row_bytes * self.height as usize);
        for y in 0..self.height {
            bits.extend_from_slice(self.row(y).get(..row_bytes)?);
            if let Some(last) = bits.last_mut() {
                *last &= within;
            }
        }
        Some(Bilevel { width: self.width, height: self.height, levels, bits })
    }

    /// Returns the gray levels of a two-level image.
    pub(crate) fn levels(&self) -> Option<[u8; 2]> {
        let Pixel::Bit(colors) = self.pixel else { return None };
        let is_gray = |[r, g, b]: &[u8; 3]| r == g && g == b;
        colors.iter().all(is_gray).then(|| colors.map(|[level, ..]| level))
    }

    /// Returns row `y` from the top, with its padding.
    fn row(&self, y: u32) -> &'a [u8] {
        let row = if self.from_top { y } else { self.height.saturating_sub(y + 1) };
        let at = row as usize * self.stride;
        self.rows.get(at..at + self.stride).unwrap_or_default()
    }
}

/// Returns the image of a 1-bit BMP of two gray levels, with its bits unchanged; `None` for all
/// other images.
#[must_use]
pub fn stored_bilevel(encoded: &Encoded) -> Option<Bilevel> {
    if encoded.codec != Codec::Bmp {
        return None;
    }
    let header = probe(&encoded.bytes).ok()?;
    PlainBmp::of(&encoded.bytes, &header)?.to_bilevel()
}

/// Programs differ in the entries that they leave black beyond the used ones, so all must exist.
fn of_gray_levels(palette: &[u8]) -> Option<Pixel> {
    let entries = palette.as_chunks::<4>().0;
    let is_level = |(level, entry): (usize, &[u8; 4])| {
        entry[..3].iter().all(|value| usize::from(*value) == level)
    };
    let is_gray = entries.len() == 256 && entries.iter().enumerate().all(is_level);
    is_gray.then_some(Pixel::Gray)
}

/// `used` is the number of entries, 0 for the maximum.
fn of_two_colors(palette: &[u8], used: u32) -> Option<Pixel> {
    let [zero, one] = <[[u8; 4]; 2]>::try_from(palette.as_chunks().0).ok()?;
    let color = |[b, g, r, _]: [u8; 4]| [r, g, b];
    matches!(used, 0 | 2).then(|| Pixel::Bit([color(zero), color(one)]))
}

/// Converts BGR to RGB, four pixels at a time as three words: one byte at a time takes three times
/// as long.
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
