//! Rewrites BMPs that the crate `image` does not read, or reads differently from other programs:
//! with headers of OS/2, with run lengths, and with parts that some writers omit.

use super::HEADERS;
use fdconvert_core::{
    bytes::{i32_at, u16_at, u32_at},
    probe::bmp_lacks_padding,
};

/// Offset of the second header.
const INFO: usize = 14;
/// Length of the second header as written here.
const INFO_BYTES: usize = 40;
const RLE8: u32 = 1;
const RLE4: u32 = 2;

/// Rewrites run lengths and headers of OS/2 as a BMP that the decoder reads; `None` if it reads the
/// file as it is.
pub(crate) fn rewritten(bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let cut = || "the BMP is cut off inside its header".to_owned();
    let header_bytes = u32_at(bytes, INFO).ok_or_else(cut)? as usize;
    let mended = mended(bytes, header_bytes);
    let bytes = mended.as_deref().unwrap_or(bytes);
    let plain = match header_bytes {
        16 | 64 => Some(without_os2(bytes, header_bytes).ok_or_else(cut)?),
        _ => None,
    };
    let bytes = plain.as_deref().unwrap_or(bytes);
    let header_bytes = if plain.is_some() { INFO_BYTES } else { header_bytes };
    let bits = u16_at(bytes, INFO + 14);
    match (header_bytes, u32_at(bytes, INFO + 16), bits) {
        (INFO_BYTES.., Some(RLE8), Some(8)) | (INFO_BYTES.., Some(RLE4), Some(4)) => {
            expanded(bytes, header_bytes, bits == Some(4)).map(Some)
        }
        _ => Ok(plain.or(mended)),
    }
}

/// Adds the number of planes and the padding of the last row, which some writers omit; `None` if
/// nothing is missing.
fn mended(bytes: &[u8], header_bytes: usize) -> Option<Vec<u8>> {
    let planes_at = if header_bytes == 12 { INFO + 8 } else { INFO + 12 };
    let n_missing = bmp_lacks_padding(bytes);
    if u16_at(bytes, planes_at)? != 0 && n_missing == 0 {
        return None;
    }
    let mut out = bytes.to_vec();
    *out.get_mut(planes_at)? = 1;
    out.resize(out.len() + n_missing, 0);
    Some(out)
}

/// Replaces a header of OS/2 2.x, which begins as that of Windows, and may end after the bits of a
/// pixel.
fn without_os2(bytes: &[u8], header_bytes: usize) -> Option<Vec<u8>> {
    let header = bytes.get(INFO..INFO + header_bytes)?;
    let mut info = header.get(..INFO_BYTES).unwrap_or(header).to_vec();
    info.resize(INFO_BYTES, 0);
    info.get_mut(..4)?.copy_from_slice(&(INFO_BYTES as u32).to_le_bytes());
    // OS/2 gives larger numbers to other compressions than Windows does; headers with them have
    // already been refused.
    if u32_at(&info, 16)? > RLE4 {
        return None;
    }
    let pixels_at = (u32_at(bytes, 10)? as usize + INFO_BYTES).checked_sub(header_bytes)?;
    let mut out = bytes.get(..10)?.to_vec();
    out.extend(u32::try_from(pixels_at).ok()?.to_le_bytes());
    out.extend(info);
    out.extend(bytes.get(INFO + header_bytes..)?);
    Some(out)
}

/// Makes a BMP of a byte for each pixel. Pixels that no run reaches have the first colour, and runs
/// are cut off at the end of a row, as by Pillow.
fn expanded(bytes: &[u8], header_bytes: usize, is_rle4: bool) -> Result<Vec<u8>, String> {
    const COLORS: usize = 256;
    let cut = || "the BMP is cut off".to_owned();
    let (width, height) = i32_at(bytes, INFO + 4).zip(i32_at(bytes, INFO + 8)).ok_or_else(cut)?;
    if u16_at(bytes, INFO + 12) != Some(1) {
        return Err("the BMP has another number of planes than 1".into());
    }
    if width <= 0 {
        return Err("the BMP has a width below zero".into());
    }
    // Runs go from the first row of the file to the last, whichever way up the image is.
    let (width, height) = (width as usize, height.unsigned_abs() as usize);
    let pixels_at = u32_at(bytes, 10).ok_or_else(cut)? as usize;
    let palette = bytes.get(INFO + header_bytes..pixels_at).ok_or_else(cut)?;
    let runs = bytes.get(pixels_at..).ok_or_else(cut)?;
    let stride = width.next_multiple_of(4);
    let mut rows = vec![0; stride.checked_mul(height).ok_or_else(cut)?];
    expand(runs, is_rle4, (width, stride), &mut rows)?;

    let mut out = Vec::with_capacity(HEADERS + COLORS * 4 + rows.len());
    out.extend_from_slice(bytes.get(..10).unwrap_or_default());
    out.extend(((HEADERS + COLORS * 4) as u32).to_le_bytes());
    out.extend((INFO_BYTES as u32).to_le_bytes());
    out.extend_from_slice(bytes.get(INFO + 4..INFO + 12).unwrap_or_default());
    out.extend([1, 0, 8, 0]);
    out.resize(HEADERS, 0);
    out.extend(palette.iter().take(COLORS * 4));
    out.resize(HEADERS + COLORS * 4, 0);
    out.extend(rows);
    Ok(out)
}

/// Writes colour indices into rows, from the bottom of the image.
fn expand(
    mut runs: &[u8],
    is_rle4: bool,
    (width, stride): (usize, usize),
    rows: &mut [u8],
) -> Result<(), String> {
    let (mut x, mut y) = (0, 0);
    let nibbles = |byte: u8| [byte >> 4, byte & 15];
    while y * stride < rows.len() {
        let Some((&[n_pixels, value], rest)) = runs.split_first_chunk() else {
            return Err(format!("the BMP's run lengths end in row {y} from the bottom"));
        };
        runs = rest;
        let row = rows.get_mut(y * stride..y * stride + width).unwrap_or_default();
        let to = row.get_mut(x..).unwrap_or_default();
        match (n_pixels, value) {
            (0, 0) => (x, y) = (0, y + 1),
            (0, 1) => return Ok(()),
            (0, 2) => {
                let [right, up] = *runs.first_chunk().ok_or("the BMP's run lengths are cut off")?;
                runs = runs.get(2..).unwrap_or_default();
                (x, y) = (x + usize::from(right), y + usize::from(up));
            }
            (0, n_pixels) => {
                let n_pixels = usize::from(n_pixels);
                let n_bytes = if is_rle4 { n_pixels.div_ceil(2) } else { n_pixels };
                let stored = runs.get(..n_bytes).ok_or("the BMP's run lengths are cut off")?;
                if is_rle4 {
                    let values = stored.iter().flat_map(|byte| nibbles(*byte)).take(n_pixels);
                    to.iter_mut().zip(values).for_each(|(to, value)| *to = value);
                } else {
                    to.iter_mut().zip(stored).for_each(|(to, value)| *to = *value);
                }
                // Padded to an even number of bytes.
                runs = runs.get(n_bytes.next_multiple_of(2)..).unwrap_or_default();
                x += n_pixels;
            }
            (n_pixels, value) => {
                let pair = if is_rle4 { nibbles(value) } else { [value; 2] };
                let to = to.iter_mut().take(n_pixels.into());
                to.zip(pair.into_iter().cycle()).for_each(|(to, value)| *to = value);
                x += usize::from(n_pixels);
            }
        }
    }
    Ok(())
}
