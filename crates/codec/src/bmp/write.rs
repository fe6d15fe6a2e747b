//! BMPs, bottom-up and uncompressed: the oldest and most widely supported form.

use super::HEADERS;
use fdconvert_core::{Bilevel, Pixels};

/// Size of a pixel in a BMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// One bit, with a palette of two gray levels.
    Bit,
    /// One byte, with a palette of all gray levels.
    Gray,
    /// Three bytes.
    Color,
}

impl Depth {
    fn bits(self) -> u16 {
        match self {
            Self::Bit => 1,
            Self::Gray => 8,
            Self::Color => 24,
        }
    }

    fn palette_bytes(self) -> u64 {
        match self {
            Self::Bit => 2 * 4,
            Self::Gray => 256 * 4,
            Self::Color => 0,
        }
    }

    /// Returns the bytes of a row, a multiple of four.
    fn stride(self, width: u32) -> u64 {
        (u64::from(width) * u64::from(self.bits())).div_ceil(32) * 4
    }

    fn image_bytes(self, width: u32, height: u32) -> u64 {
        self.stride(width).saturating_mul(u64::from(height))
    }

    fn file_bytes(self, width: u32, height: u32) -> u64 {
        let in_front = HEADERS as u64 + self.palette_bytes();
        self.image_bytes(width, height).saturating_add(in_front)
    }
}

/// Returns the size of a BMP of this many pixels; `None` if BMP cannot hold it.
pub(crate) fn bmp_len(width: u32, height: u32, depth: Depth) -> Option<u64> {
    u32::try_from(depth.file_bytes(width, height)).ok().map(u64::from)
}

/// Writes a BMP, replacing `out`: 24 bits per pixel, or 8 with a gray palette.
pub(crate) fn encode_bmp(pixels: &Pixels, out: &mut Vec<u8>) -> Result<(), String> {
    let depth = match pixels.channels {
        1 => Depth::Gray,
        3 => Depth::Color,
        other => return Err(format!("BMP cannot hold {other} channels")),
    };
    headers(pixels.width, pixels.height, depth, out)?;
    if depth == Depth::Gray {
        out.extend((0..=255u8).flat_map(|gray| [gray, gray, gray, 0]));
    }
    let row_bytes = u64::from(pixels.width) * u64::from(pixels.channels);
    let padding = depth.stride(pixels.width) - row_bytes;
    // `chunks_exact` does not accept 0, the length of an empty row.
    for row in pixels.data.chunks_exact(row_bytes.max(1) as usize).rev() {
        if depth == Depth::Gray {
            out.extend_from_slice(row);
        } else {
            let (colors, _) = row.as_chunks::<3>();
            out.extend(colors.iter().flat_map(|&[r, g, b]| [b, g, r]));
        }
        out.resize(out.len() + padding as usize, 0);
    }
    Ok(())
}

/// Writes a BMP of one bit per pixel with a palette of the two levels, replacing `out`. The image
/// has already been checked.
pub(crate) fn encode_bilevel(image: &Bilevel, out: &mut Vec<u8>) -> Result<(), String> {
    headers(image.width, image.height, Depth::Bit, out)?;
    out.extend(image.levels.iter().flat_map(|&gray| [gray, gray, gray, 0]));
    let row_bytes = image.width.div_ceil(8) as usize;
    let padding = (Depth::Bit.stride(image.width) as usize).saturating_sub(row_bytes);
    for row in image.bits.chunks_exact(row_bytes.max(1)).rev() {
        out.extend_from_slice(row);
        out.resize(out.len() + padding, 0);
    }
    Ok(())
}

/// Writes the headers before palette and pixels, replacing `out`, and reserves room for the file.
fn headers(width: u32, height: u32, depth: Depth, out: &mut Vec<u8>) -> Result<(), String> {
    let file_bytes = depth.file_bytes(width, height);
    let too_large = || format!("{file_bytes} bytes are more than BMP can hold");
    let file_bytes = u32::try_from(file_bytes).map_err(|_| too_large())?;
    let palette_bytes = depth.palette_bytes() as u32;
    let offset = HEADERS as u32 + palette_bytes;
    out.clear();
    out.reserve(file_bytes as usize);
    out.extend(b"BM");
    // File size, reserved, start of the pixels.
    out.extend([file_bytes, 0, offset].map(u32::to_le_bytes).as_flattened());
    // Size of the second header, columns, rows (positive: bottom-up).
    out.extend([40, width, height].map(u32::to_le_bytes).as_flattened());
    // Planes, bits per pixel.
    out.extend([1, depth.bits()].map(u16::to_le_bytes).as_flattened());
    // No compression, pixel bytes, 72 dots per inch twice, palette entries used and important.
    let image_bytes = file_bytes - offset;
    let rest = [0, image_bytes, 2835, 2835, palette_bytes / 4, 0];
    out.extend(rest.map(u32::to_le_bytes).as_flattened());
    Ok(())
}
