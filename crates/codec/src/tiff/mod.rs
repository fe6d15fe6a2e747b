//! TIFF: decodes the first image of a file to 8 bits per channel.
//!
//! Strips and tiles are unpacked one by one ([`unpack`]), their rows become samples of 8 bits
//! ([`rows`]), and these form the image. The samples are interpreted at the end, for the image as a
//! whole.

mod bands;
mod rows;
mod unpack;
mod ycbcr;

use crate::{Notes, convert, jpeg::JpegDecoder};
pub(crate) use bands::decode_tiff_bands;
use fdconvert_core::probe::{Numbers, Tiff, TiffColors};
use fdconvert_core::{ImageHeader, Limits};
use rows::Rows;
use unpack::Unpacker;

/// Decodes to 1, 3 or 4 channels of 8 bits.
pub(crate) fn decode_tiff(
    bytes: &[u8],
    header: &ImageHeader,
    limits: &Limits,
    jpeg: &mut JpegDecoder,
    out: &mut Vec<u8>,
) -> Result<(u8, Notes), String> {
    let tiff = Tiff::parse(bytes)?;
    if let Some(what) = tiff.not_decoded() {
        return Err(what);
    }
    let colors = tiff.colors().ok_or("its samples are no colours")?;
    let mut unpacker = Unpacker::new(&tiff, jpeg, limits)?;
    let n_shown = colors.n_samples() + u16::from(tiff.has_alpha());
    let mut image = Image::new(&tiff, n_shown, colors == TiffColors::Palette, out)?;
    let (across, down) = tiff.grid();
    for plane in 0..tiff.n_planes().min(n_shown) {
        for y in 0..down {
            for x in 0..across {
                let chunk = unpacker.chunk(u64::from(plane), (x, y))?;
                image.place(chunk, plane, (x, y));
            }
        }
    }
    let channels = meant(&tiff, colors, header.pixels() as usize, out)?;
    let notes = Notes::DEPTH_REDUCED.when(tiff.bits > 8)
        | Notes::CMYK_CONVERTED.when(colors == TiffColors::Cmyk)
        | Notes::CHANNELS_LEFT_OUT.when(tiff.n_further() > 0);
    Ok((channels, notes))
}

/// The image under construction.
struct Image<'a> {
    rows: Rows,
    out: &'a mut [u8],
    /// Columns and rows.
    size: (usize, usize),
    /// Columns and rows of a strip or tile.
    chunk: (usize, usize),
    /// Decoded samples of a pixel.
    n_shown: usize,
    /// Samples of a pixel in a strip or tile.
    n_stored: usize,
}

impl<'a> Image<'a> {
    fn new(
        tiff: &Tiff<'_>,
        n_shown: u16,
        are_indices: bool,
        out: &'a mut Vec<u8>,
    ) -> Result<Self, String> {
        let size = (tiff.width as usize, tiff.height as usize);
        let n_shown = usize::from(n_shown);
        let n_bytes = size.0.checked_mul(size.1).and_then(|pixels| pixels.checked_mul(n_shown));
        let n_bytes = n_bytes.ok_or("it has more pixels than memory can hold")?;
        out.clear();
        out.resize(n_bytes, 0);
        Ok(Self {
            rows: Rows::new(tiff, are_indices),
            out,
            size,
            chunk: (tiff.chunk.0 as usize, tiff.chunk.1 as usize),
            n_shown,
            n_stored: if tiff.is_planar { 1 } else { usize::from(tiff.samples) },
        })
    }

    /// Copies a strip or tile, or one channel of it, to its place.
    fn place(&mut self, chunk: unpack::Chunk<'_>, plane: u16, (across, down): (u32, u32)) {
        let (x, y) = (across as usize * self.chunk.0, down as usize * self.chunk.1);
        let width = self.chunk.0.min(self.size.0.saturating_sub(x));
        let n_taken = if self.n_stored == 1 { 1 } else { self.n_shown };
        let stride = self.size.0 * self.n_shown;
        let to = self.out.chunks_exact_mut(stride.max(1)).skip(y);
        for (row, to) in chunk.rows().zip(to) {
            let Some(to) = to.get_mut(x * self.n_shown..(x + width) * self.n_shown) else { return };
            let samples = self.rows.samples(row, chunk.is_final);
            if self.n_stored == self.n_shown {
                if let Some(samples) = samples.get(..to.len()) {
                    to.copy_from_slice(samples);
                }
                continue;
            }
            let pixels = samples.chunks_exact(self.n_stored);
            for (to, from) in to.chunks_exact_mut(self.n_shown).zip(pixels) {
                let at = if self.n_stored == 1 { usize::from(plane) } else { 0 };
                for (to, from) in to.iter_mut().skip(at).zip(from.iter().take(n_taken)) {
                    *to = *from;
                }
            }
        }
    }
}

/// Converts the samples to the channels they stand for; returns their number.
fn meant(
    tiff: &Tiff<'_>,
    colors: TiffColors,
    n_pixels: usize,
    out: &mut Vec<u8>,
) -> Result<u8, String> {
    const MULTIPLIED: Option<u16> = Some(1);
    let is_multiplied = tiff.extra() == MULTIPLIED;
    match (colors, tiff.has_alpha()) {
        (TiffColors::Gray { white_is_zero }, has_alpha) => {
            let n_samples = if has_alpha { 2 } else { 1 };
            if white_is_zero {
                out.iter_mut().step_by(n_samples).for_each(|level| *level = 255 - *level);
            }
            if !has_alpha {
                return Ok(1);
            }
            if is_multiplied {
                convert::unpremultiply::<2>(out);
            }
            let mut rgba = Vec::new();
            convert::gray_alpha_to_rgba(out, &mut rgba);
            *out = rgba;
            Ok(4)
        }
        (TiffColors::Rgb | TiffColors::Ycbcr, false) => Ok(3),
        (TiffColors::Rgb | TiffColors::Ycbcr, true) => {
            if is_multiplied {
                convert::unpremultiply::<4>(out);
            }
            Ok(4)
        }
        (TiffColors::Palette, _) => {
            let map = tiff.color_map().ok_or("the TIFF has a palette of no colours")?;
            let palette = palette(&map, tiff.bits)?;
            let mut rgb = Vec::with_capacity(n_pixels.saturating_mul(3));
            for index in out.iter() {
                rgb.extend(palette.get(usize::from(*index)).copied().unwrap_or_default());
            }
            *out = rgb;
            Ok(3)
        }
        (TiffColors::Cmyk, _) => {
            out.iter_mut().for_each(|ink| *ink = 255 - *ink);
            convert::inverted_cmyk_to_rgb(out);
            Ok(3)
        }
    }
}

/// Returns the colours of a palette. They have 16 bits; old writers store 8, recognised, as by
/// libtiff, by no value being larger.
fn palette(map: &Numbers<'_>, bits: u16) -> Result<Vec<[u8; 3]>, String> {
    let n_colors = 1_u64 << bits;
    let are_wide = map.iter().any(|value| value > 255);
    let level = |at: u64| {
        let value = u16::try_from(map.get(at)?).ok()?;
        let [high, low] = value.to_be_bytes();
        Some(if are_wide { high } else { low })
    };
    let color =
        |index: u64| Some([level(index)?, level(n_colors + index)?, level(2 * n_colors + index)?]);
    let n_values = map.n_values();
    (0..n_colors)
        .map(color)
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| format!("the TIFF's palette of {n_colors} colours has {n_values} values"))
}
