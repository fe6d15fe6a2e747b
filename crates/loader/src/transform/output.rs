//! The form of a batch's rows, and the pass that writes them.
//!
//! An 8-bit channel has 256 values, so that any conversion of it is a table of 256 entries per
//! channel. The tables are computed with the operations of torchvision in its order, and a lookup
//! rounds nothing: the bits are the same on every machine, and equal to torchvision's. Computing
//! `v * a + b` would be no faster and would differ in the last bit.

use fdconvert_core::{Error, Result};
use half::{bf16, f16};
use serde::{Deserialize, Serialize};

/// Element type of a batch, in the byte order of the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// Bytes, as decoded.
    #[default]
    U8,
    /// 16-bit integers, for bands alone.
    U16,
    /// 16-bit integers with a sign, for bands alone.
    I16,
    /// Half precision: the single-precision result, rounded once.
    F16,
    /// bfloat16: the single-precision result, rounded once.
    Bf16,
    /// Single precision.
    F32,
}

impl DType {
    /// Returns the bytes per number.
    #[must_use]
    pub fn n_bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
        }
    }
}

/// Order of the numbers of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Channels last: the three numbers of a pixel are adjacent.
    #[default]
    Nhwc,
    /// Channels first: three planes.
    Nchw,
}

/// torchvision's `Normalize`, for images from 0 to 1: `(v / 255 - mean) / std`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normalise {
    /// Means per channel, on the scale of 0 to 1.
    pub mean: [f32; 3],
    /// Standard deviations per channel, on the scale of 0 to 1; not 0.
    pub std: [f32; 3],
}

impl Normalise {
    /// The statistics of ImageNet that torchvision's models were trained with.
    pub const IMAGENET: Self = Self { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };

    /// Takes the numbers of a list of transforms.
    ///
    /// # Errors
    /// `Usage` unless there are three of each.
    pub(super) fn of((mean, std): (&[f32], &[f32])) -> Result<Self> {
        match (mean.try_into(), std.try_into()) {
            (Ok(mean), Ok(std)) => Ok(Self { mean, std }),
            _ => {
                let (means, deviations) = (mean.len(), std.len());
                let what = format!(
                    "Normalize: {means} means and {deviations} deviations are not three each, and \
                     images are RGB unless Bands says otherwise"
                );
                Err(Error::usage("transform", what))
            }
        }
    }
}

/// One row of a batch: an RGB image of fixed size, or one of bands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Output {
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// Type of the numbers.
    pub dtype: DType,
    /// Order of the numbers.
    pub layout: Layout,
    /// Numbers of a pixel: 3, or those of the bands.
    pub channels: u32,
    /// Normalisation of floats of RGB. Without it floats are `v / 255`, as from torchvision's `ToTensor`.
    pub normalise: Option<Normalise>,
}

impl Output {
    /// Largest side: far larger than for any model, and small enough that products of two fit
    /// anywhere.
    pub const MAX_SIDE: u32 = 16_384;

    /// Returns the bytes per row of the batch.
    #[must_use]
    pub fn n_bytes(&self) -> usize {
        let n_pixels = self.size.0 as usize * self.size.1 as usize;
        n_pixels * self.channels as usize * self.dtype.n_bytes()
    }

    /// Checks the request, once for a run.
    ///
    /// # Errors
    /// `Usage` for a side of 0 or over [`Self::MAX_SIDE`], for normalised bytes, and for a
    /// normalisation that divides by 0, contains NaN, gives numbers outside the type's range, or is
    /// for values up to 255.
    pub fn check(&self) -> Result<()> {
        let (width, height) = self.size;
        if !(1..=Self::MAX_SIDE).contains(&width) || !(1..=Self::MAX_SIDE).contains(&height) {
            let what = format!("{width}x{height} is not within 1 to {}", Self::MAX_SIDE);
            return Err(Error::usage("transform", what));
        }
        let Some(Normalise { mean, std }) = self.normalise else { return Ok(()) };
        if self.dtype == DType::U8 {
            let what = "bytes cannot be normalised; ask for f16 or f32, or leave it to the model";
            return Err(Error::usage("transform", format!("Normalize: {what}")));
        }
        let is_sound = |std: &f32| *std > 0.0 && (1.0 / std).is_finite();
        if !mean.iter().all(|mean| mean.is_finite()) || !std.iter().all(is_sound) {
            let what = format!("mean {mean:?} and std {std:?} must be numbers, and std above 0");
            return Err(Error::usage("transform", format!("Normalize: {what}")));
        }
        if mean.iter().chain(&std).any(|value| *value > 1.0) {
            let what = format!(
                "mean {mean:?} and std {std:?} are for values from 0 to 255, and here they are from 0 \
                 to 1: divide both by 255"
            );
            return Err(Error::usage("transform", format!("Normalize: {what}")));
        }
        let most = if self.dtype == DType::F16 { f16::MAX.to_f32() } else { f32::MAX };
        let mut ends = (0..3).flat_map(|channel| [0, 255].map(|byte| self.value(channel, byte)));
        if ends.any(|end| end.abs() > most) {
            let what = format!(
                "mean {mean:?} and std {std:?} make numbers beyond {most:e}, which `dtype` cannot hold: \
                 take those of values from 0 to 1"
            );
            return Err(Error::usage("transform", format!("Normalize: {what}")));
        }
        Ok(())
    }

    /// Returns the number for a byte of this channel; for bytes, the caller decides on its use.
    pub(super) fn value(&self, channel: usize, byte: u8) -> f32 {
        let value = f32::from(byte) / 255.0;
        match self.normalise {
            Some(Normalise { mean, std }) => match (mean.get(channel), std.get(channel)) {
                (Some(mean), Some(std)) => (value - mean) / std,
                _ => value,
            },
            None => value,
        }
    }
}

/// The tables of an [`Output`], ready for use.
#[derive(Debug)]
pub(crate) enum Tables {
    Bytes,
    Halves(Box<[[[u8; 2]; 256]; 3]>),
    Singles(Box<[[[u8; 4]; 256]; 3]>),
}

impl Tables {
    pub(crate) fn new(output: &Output) -> Self {
        match output.dtype {
            // Bands have no tables: `BandForm`.
            DType::U8 | DType::U16 | DType::I16 => Self::Bytes,
            DType::F16 => Self::Halves(table(|channel, byte| {
                f16::from_f32(output.value(channel, byte)).to_ne_bytes()
            })),
            DType::Bf16 => Self::Halves(table(|channel, byte| {
                bf16::from_f32(output.value(channel, byte)).to_ne_bytes()
            })),
            DType::F32 => {
                Self::Singles(table(|channel, byte| output.value(channel, byte).to_ne_bytes()))
            }
        }
    }

    /// Writes `rgb` into `dst` in this layout, mirrored if `flip`. The caller has checked that both
    /// have the same number of pixels; the excess of a longer one is ignored.
    pub(super) fn write(
        &self,
        rgb: &[u8],
        width: usize,
        layout: Layout,
        flip: bool,
        dst: &mut [u8],
    ) {
        match (self, layout) {
            (Self::Bytes, Layout::Nhwc) => copy(rgb, width, flip, dst),
            (Self::Bytes, Layout::Nchw) => {
                // The identity through a table: one byte is read and written either way.
                planes(rgb, width, flip, dst, |_, byte| [byte]);
            }
            (Self::Halves(tables), Layout::Nhwc) => interleaved(rgb, width, flip, dst, tables),
            (Self::Singles(tables), Layout::Nhwc) => interleaved(rgb, width, flip, dst, tables),
            (Self::Halves(tables), Layout::Nchw) => {
                planes(rgb, width, flip, dst, |channel, byte| tables[channel][usize::from(byte)]);
            }
            (Self::Singles(tables), Layout::Nchw) => {
                planes(rgb, width, flip, dst, |channel, byte| tables[channel][usize::from(byte)]);
            }
        }
    }
}

fn table<const N: usize>(value: impl Fn(usize, u8) -> [u8; N]) -> Box<[[[u8; N]; 256]; 3]> {
    let mut tables = Box::new([[[0; N]; 256]; 3]);
    for (channel, table) in tables.iter_mut().enumerate() {
        for (byte, entry) in (0..=255).zip(table) {
            *entry = value(channel, byte);
        }
    }
    tables
}

/// Mirrors or copies rows of bytes.
fn copy(rgb: &[u8], width: usize, flip: bool, dst: &mut [u8]) {
    if !flip {
        let n_bytes = rgb.len().min(dst.len());
        if let (Some(dst), Some(rgb)) = (dst.get_mut(..n_bytes), rgb.get(..n_bytes)) {
            dst.copy_from_slice(rgb);
        }
        return;
    }
    let row_bytes = (width * 3).max(1);
    for (from, to) in rgb.chunks_exact(row_bytes).zip(dst.chunks_exact_mut(row_bytes)) {
        mirror(from, to);
    }
}

/// Mirrors one row, five pixels at a time. Each pixel moves four bytes, and the next one overwrites
/// the surplus byte: half the time of moving three.
fn mirror(from: &[u8], to: &mut [u8]) {
    let (mut from, mut to) = (from, to);
    while let (Some(source), Some(target)) = (from.last_chunk::<16>(), to.first_chunk_mut::<16>()) {
        // The five pixels are the last fifteen bytes. No byte follows the very last pixel, so that
        // it moves with the one before it.
        let [.., a, b, c, d] = *source;
        let last = u32::from_le_bytes([a, b, c, d]) >> 8;
        target[..4].copy_from_slice(&last.to_le_bytes());
        target[3..7].copy_from_slice(&source[10..14]);
        target[6..10].copy_from_slice(&source[7..11]);
        target[9..13].copy_from_slice(&source[4..8]);
        target[12..].copy_from_slice(&source[1..5]);
        (from, to) = (from.split_at(from.len() - 15).0, to.split_at_mut(15).1);
    }
    let (from, _) = from.as_chunks::<3>();
    let (to, _) = to.as_chunks_mut::<3>();
    to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from);
}

fn interleaved<const N: usize>(
    rgb: &[u8],
    width: usize,
    flip: bool,
    dst: &mut [u8],
    tables: &[[[u8; N]; 256]; 3],
) {
    let [red_table, green_table, blue_table] = tables;
    let (dst, _) = dst.as_chunks_mut::<N>();
    let (dst, _) = dst.as_chunks_mut::<3>();
    let (rgb, _) = rgb.as_chunks::<3>();
    let width = width.max(1);
    let write = |to: &mut [[u8; N]; 3], &[red, green, blue]: &[u8; 3]| {
        let (red, green, blue) = (usize::from(red), usize::from(green), usize::from(blue));
        *to = [red_table[red], green_table[green], blue_table[blue]];
    };
    for (from, to) in rgb.chunks_exact(width).zip(dst.chunks_exact_mut(width)) {
        if flip {
            to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| write(to, from));
        } else {
            to.iter_mut().zip(from).for_each(|(to, from)| write(to, from));
        }
    }
}

#[inline(always)]
fn planes<const N: usize>(
    rgb: &[u8],
    width: usize,
    flip: bool,
    dst: &mut [u8],
    value: impl Fn(usize, u8) -> [u8; N],
) {
    let (rgb, _) = rgb.as_chunks::<3>();
    let (dst, _) = dst.as_chunks_mut::<N>();
    let n_pixels = rgb.len();
    let Some((red_plane, rest)) = dst.split_at_mut_checked(n_pixels) else { return };
    let Some((green_plane, rest)) = rest.split_at_mut_checked(n_pixels) else { return };
    let Some(blue_plane) = rest.get_mut(..n_pixels) else { return };
    let width = width.max(1);
    let rows = red_plane
        .chunks_exact_mut(width)
        .zip(green_plane.chunks_exact_mut(width))
        .zip(blue_plane.chunks_exact_mut(width));
    for (from, ((reds, greens), blues)) in rgb.chunks_exact(width).zip(rows) {
        let to = reds.iter_mut().zip(greens).zip(blues);
        let write = |((red, green), blue): ((&mut _, &mut _), &mut _), from: &[u8; 3]| {
            *red = value(0, from[0]);
            *green = value(1, from[1]);
            *blue = value(2, from[2]);
        };
        if flip {
            to.zip(from.iter().rev()).for_each(|(to, from)| write(to, from));
        } else {
            to.zip(from).for_each(|(to, from)| write(to, from));
        }
    }
}

#[cfg(test)]
mod tests;
