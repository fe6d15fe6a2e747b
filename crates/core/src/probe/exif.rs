//! The only EXIF tag that affects pixels (EXIF 2.32, tag 0x0112), from a TIFF structure.
use crate::bytes::{u16_at, u16_be_at, u32_at, u32_be_at};

const ORIENTATION: u16 = 0x0112;
const BYTE: u16 = 1;
const SHORT: u16 = 3;
const LONG: u16 = 4;
const SIGNED_SHORT: u16 = 8;

/// Reads an integer at an offset.
type At<T> = fn(&[u8], usize) -> Option<T>;

/// Returns the orientation, 1 to 8, from the first image directory; `None` when absent or
/// malformed. EXIF demands a SHORT, but some writers store other integers.
#[must_use]
pub fn orientation(tiff: &[u8]) -> Option<u8> {
    let (short, long) = readers(tiff)?;
    let directory = usize::try_from(long(tiff, 4)?).ok()?;
    let entries = usize::from(short(tiff, directory)?);
    for entry in 0..entries {
        let at = directory.checked_add(2 + 12 * entry)?;
        if short(tiff, at)? != ORIENTATION {
            continue;
        }
        let value_at = at.checked_add(8)?;
        let value = match short(tiff, at.checked_add(2)?)? {
            BYTE => u32::from(*tiff.get(value_at)?),
            SHORT | SIGNED_SHORT => u32::from(short(tiff, value_at)?),
            LONG => long(tiff, value_at)?,
            _ => continue,
        };
        return u8::try_from(value).ok().filter(|value| (1..=8).contains(value));
    }
    None
}

/// Returns true if the bytes start with a TIFF header. An EXIF longer than one JPEG segment
/// continues in segments without one.
#[must_use]
pub fn starts_exif(bytes: &[u8]) -> bool {
    readers(bytes).is_some()
}

/// The readers for the byte order in the first bytes.
fn readers(tiff: &[u8]) -> Option<(At<u16>, At<u32>)> {
    match tiff.get(..4)? {
        [b'I', b'I', 42, 0] => Some((u16_at, u32_at)),
        [b'M', b'M', 0, 42] => Some((u16_be_at, u32_be_at)),
        _ => None,
    }
}
