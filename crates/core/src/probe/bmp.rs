//! Windows bitmaps: file header (14 bytes) and info header (`BITMAPCOREHEADER` and up).
use crate::{
    Codec, Color, ImageHeader,
    bytes::{i32_at, u16_at, u32_at},
};

const INFO: usize = 14;
const CORE_HEADER: u32 = 12;
/// Length of the short OS/2 2.x header, which ends after the bits per pixel.
const SHORT_HEADER: u32 = 16;
/// Length of the full OS/2 2.x header.
const OS2_HEADER: u32 = 64;
const BI_RGB: u32 = 0;
const BI_RLE8: u32 = 1;
const BI_RLE4: u32 = 2;
const BI_BITFIELDS: u32 = 3;

struct Info {
    header_bytes: u32,
    pixels_at: usize,
    width: u32,
    height: u32,
    bits: u16,
    compression: u32,
}

/// `BM` also starts plain text, so the info header must have one of the known sizes.
pub(crate) fn looks_like(bytes: &[u8]) -> bool {
    matches!(u32_at(bytes, INFO), Some(12 | 16 | 40 | 52 | 56 | 64 | 108 | 124))
}

fn info(bytes: &[u8]) -> Option<Info> {
    let pixels_at = usize::try_from(u32_at(bytes, 10)?).ok()?;
    let header_bytes = u32_at(bytes, INFO)?;
    if header_bytes == CORE_HEADER {
        return Some(Info {
            header_bytes,
            pixels_at,
            width: u32::from(u16_at(bytes, INFO + 4)?),
            height: u32::from(u16_at(bytes, INFO + 6)?),
            bits: u16_at(bytes, INFO + 10)?,
            compression: BI_RGB,
        });
    }
    Some(Info {
        header_bytes,
        pixels_at,
        width: i32_at(bytes, INFO + 4)?.unsigned_abs(),
        // Negative heights mean rows from the top.
        height: i32_at(bytes, INFO + 8)?.unsigned_abs(),
        bits: u16_at(bytes, INFO + 14)?,
        compression: if header_bytes == SHORT_HEADER { BI_RGB } else { u32_at(bytes, INFO + 16)? },
    })
}

pub(crate) fn header(bytes: &[u8]) -> Result<ImageHeader, String> {
    let info = info(bytes).ok_or("the BMP is cut off inside its header")?;
    // An embedded file of another format need not state its bits.
    if not_decoded(bytes).is_none() && !matches!(info.bits, 1 | 2 | 4 | 8 | 16 | 24 | 32) {
        return Err(format!("the BMP has {} bits per pixel, which does not exist", info.bits));
    }
    if info.header_bytes != CORE_HEADER && i32_at(bytes, INFO + 4).is_some_and(i32::is_negative) {
        return Err("the BMP has a width below zero, which cannot be".into());
    }
    let bits_with_alpha = info.bits == 32 && info.compression != BI_RGB;
    Ok(ImageHeader {
        codec: Codec::Bmp,
        width: info.width,
        height: info.height,
        color: if bits_with_alpha { Color::Rgba } else { Color::Rgb },
        bits: 8,
        orientation: 1,
        progressive: false,
    })
}

/// Returns why a BMP is not supported; `None` for a supported one.
pub(crate) fn not_decoded(bytes: &[u8]) -> Option<String> {
    let info = info(bytes)?;
    let what = match (info.compression, info.header_bytes) {
        (3, OS2_HEADER) => "fax of OS/2",
        (4, OS2_HEADER) => "run lengths of 24 bits of OS/2",
        (0..=3, _) => return None,
        (4, _) => "JPEG",
        (5, _) => "PNG",
        (6, _) => "masks of Windows CE",
        (11..=13, _) => "four inks (CMYK)",
        _ => "a compression that is not known",
    };
    Some(format!("BMP that holds {what} is not supported"))
}

/// Uncompressed rows, padded to four bytes, must be inside the file; the padding of the last one
/// may be missing.
pub(crate) fn check_rows(bytes: &[u8]) -> Result<(), String> {
    let info = info(bytes).ok_or("the BMP is cut off inside its header")?;
    let planes = if info.header_bytes == CORE_HEADER { INFO + 8 } else { INFO + 12 };
    // Readers ignore it, and some writers leave it 0.
    if !matches!(u16_at(bytes, planes), Some(0 | 1)) {
        return Err("the BMP has another number of planes than 1, which cannot be".into());
    }
    let is_known = match (info.compression, info.header_bytes) {
        (BI_RLE8, _) => info.bits == 8,
        (BI_RLE4, _) => info.bits == 4,
        (BI_BITFIELDS, _) => matches!(info.bits, 16 | 32),
        (_, CORE_HEADER) => matches!(info.bits, 1 | 4 | 8 | 24),
        _ => true,
    };
    if !is_known {
        let (bits, compression) = (info.bits, info.compression);
        return Err(format!(
            "the BMP has {bits} bits per pixel in compression {compression}, which cannot be"
        ));
    }
    if matches!(info.compression, BI_RLE8 | BI_RLE4) {
        // For run lengths, only decoding can tell.
        let (pixels_at, len) = (info.pixels_at, bytes.len());
        if pixels_at >= len {
            return Err(format!("the BMP is cut off: pixels at byte {pixels_at} of {len}"));
        }
        return Ok(());
    }
    info.check_palette(bytes)?;
    let (end, padding) = info.rows_end();
    let needed = end.saturating_sub(padding);
    if (bytes.len() as u64) < needed {
        let (width, height, len) = (info.width, info.height, bytes.len());
        return Err(format!(
            "the BMP is cut off: {width}x{height} needs {needed} bytes, the file has {len}"
        ));
    }
    Ok(())
}

/// Returns the number of padding bytes missing after the last pixel, as some writers omit them; 0
/// if none is missing, or if pixels are missing as well.
#[must_use]
pub fn bmp_lacks_padding(bytes: &[u8]) -> usize {
    let Some(info) = info(bytes).filter(|it| matches!(it.compression, BI_RGB | BI_BITFIELDS))
    else {
        return 0;
    };
    let (end, padding) = info.rows_end();
    let n_missing = end.saturating_sub(bytes.len() as u64);
    if n_missing <= padding { n_missing as usize } else { 0 }
}

impl Info {
    /// The offset after the rows, and the bytes of padding of each.
    fn rows_end(&self) -> (u64, u64) {
        let row_bits = u64::from(self.width) * u64::from(self.bits);
        let row = row_bits.div_ceil(32) * 4;
        let end = row.saturating_mul(self.height.into()).saturating_add(self.pixels_at as u64);
        (end, row - row_bits.div_ceil(8))
    }

    /// A palette has no more colours than there are indices, and is inside the file.
    fn check_palette(&self, bytes: &[u8]) -> Result<(), String> {
        if self.bits > 8 {
            return Ok(());
        }
        let most = 1_u32 << self.bits;
        let used = if self.header_bytes < 40 { 0 } else { u32_at(bytes, INFO + 32).unwrap_or(0) };
        if used > most {
            return Err(format!(
                "the BMP has a palette of {used} colours, more than the {most} of {} bits",
                self.bits
            ));
        }
        let color_bytes = if self.header_bytes == CORE_HEADER { 3 } else { 4 };
        let start = INFO + self.header_bytes as usize;
        let n_colors = if used == 0 { most } else { used } as usize;
        let end = start.saturating_add(n_colors * color_bytes);
        if end > bytes.len() || self.pixels_at == start {
            return Err("the BMP has no palette, which its pixels need".into());
        }
        Ok(())
    }
}
