//! Windows bitmaps: file header (14 bytes) and info header (`BITMAPCOREHEADER` and up).
use crate::{
    Codec, Color, ImageHeader,
    bytes::{i32_at, u16_at, u32_at},
};

const INFO: usize = 14;
const CORE_HEADER: u32 = 12;
/// Length of the short header of OS/2 2.x, which ends after the bits per pixel.
const SHORT_HEADER: u32 = 16;
/// Length of the full header of OS/2 2.x.
const OS2_HEADER: u32 = 64;
const BI_RGB: u32 = 0;
const BI_BITFIELDS: u32 = 3;
const BI_ALPHABITFIELDS: u32 = 6;

struct Info {
    pixels_at: usize,
    width: u32,
    height: u32,
    bits: u16,
    compression: u32,
}

/// `BM` also starts plain text, so the size of the info header must be one that exists.
pub(crate) fn looks_like(bytes: &[u8]) -> bool {
    matches!(u32_at(bytes, INFO), Some(12 | 16 | 40 | 52 | 56 | 64 | 108 | 124))
}

fn info(bytes: &[u8]) -> Option<Info> {
    let pixels_at = usize::try_from(u32_at(bytes, 10)?).ok()?;
    if u32_at(bytes, INFO)? == CORE_HEADER {
        return Some(Info {
            pixels_at,
            width: u32::from(u16_at(bytes, INFO + 4)?),
            height: u32::from(u16_at(bytes, INFO + 6)?),
            bits: u16_at(bytes, INFO + 10)?,
            compression: BI_RGB,
        });
    }
    Some(Info {
        pixels_at,
        width: i32_at(bytes, INFO + 4)?.unsigned_abs(),
        // Negative: rows are stored from the top.
        height: i32_at(bytes, INFO + 8)?.unsigned_abs(),
        bits: u16_at(bytes, INFO + 14)?,
        compression: if u32_at(bytes, INFO)? == SHORT_HEADER {
            BI_RGB
        } else {
            u32_at(bytes, INFO + 16)?
        },
    })
}

pub(crate) fn header(bytes: &[u8]) -> Result<ImageHeader, String> {
    let info = info(bytes).ok_or("the BMP is cut off inside its header")?;
    if !matches!(info.bits, 1 | 2 | 4 | 8 | 16 | 24 | 32) {
        return Err(format!("the BMP has {} bits per pixel, which does not exist", info.bits));
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

/// Returns why a BMP is not decoded here; `None` for one that is.
pub(crate) fn not_decoded(bytes: &[u8]) -> Option<String> {
    let what = match (info(bytes)?.compression, u32_at(bytes, INFO)) {
        (3, Some(OS2_HEADER)) => "fax of OS/2",
        (4, Some(OS2_HEADER)) => "run lengths of 24 bits of OS/2",
        (4, _) => "JPEG",
        (5, _) => "PNG",
        (11..=13, _) => "four inks (CMYK)",
        _ => return None,
    };
    Some(format!("BMP that holds {what} is not supported"))
}

/// Uncompressed rows, padded to four bytes, must lie inside the file.
pub(crate) fn check_rows(bytes: &[u8]) -> Result<(), String> {
    let info = info(bytes).ok_or("the BMP is cut off inside its header")?;
    let planes = if u32_at(bytes, INFO) == Some(CORE_HEADER) { INFO + 8 } else { INFO + 12 };
    if u16_at(bytes, planes) != Some(1) {
        return Err("the BMP has another number of planes than 1, which cannot be".into());
    }
    if !matches!(info.compression, BI_RGB | BI_BITFIELDS | BI_ALPHABITFIELDS) {
        // Of run lengths only decoding can tell.
        let (pixels_at, len) = (info.pixels_at, bytes.len());
        if pixels_at >= len {
            return Err(format!("the BMP is cut off: pixels at byte {pixels_at} of {len}"));
        }
        return Ok(());
    }
    let row = (u64::from(info.width) * u64::from(info.bits)).div_ceil(32) * 4;
    let needed = row.saturating_mul(u64::from(info.height)).saturating_add(info.pixels_at as u64);
    if (bytes.len() as u64) < needed {
        let (width, height, len) = (info.width, info.height, bytes.len());
        return Err(format!(
            "the BMP is cut off: {width}x{height} needs {needed} bytes, the file has {len}"
        ));
    }
    Ok(())
}
