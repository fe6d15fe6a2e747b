//! The one EXIF tag that changes pixels (EXIF 2.32, tag 0x0112), from a TIFF structure.
use crate::bytes::{u16_at, u16_be_at, u32_at, u32_be_at};

const ORIENTATION: u16 = 0x0112;
const SHORT: u16 = 3;

/// Reads an integer at an offset.
type At<T> = fn(&[u8], usize) -> Option<T>;

/// The orientation, 1 to 8, of the first image directory; `None` when absent or malformed.
#[must_use]
pub fn orientation(tiff: &[u8]) -> Option<u8> {
    let (short, long): (At<u16>, At<u32>) = match tiff.get(..4)? {
        [b'I', b'I', 42, 0] => (u16_at, u32_at),
        [b'M', b'M', 0, 42] => (u16_be_at, u32_be_at),
        _ => return None,
    };
    let directory = usize::try_from(long(tiff, 4)?).ok()?;
    let entries = usize::from(short(tiff, directory)?);
    for entry in 0..entries {
        let at = directory.checked_add(2 + 12 * entry)?;
        if short(tiff, at)? == ORIENTATION && short(tiff, at.checked_add(2)?)? == SHORT {
            let value = short(tiff, at.checked_add(8)?)?;
            return u8::try_from(value).ok().filter(|value| (1..=8).contains(value));
        }
    }
    None
}
