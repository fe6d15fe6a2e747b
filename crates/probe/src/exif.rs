//! The one EXIF tag that changes pixels (EXIF 2.32, tag 0x0112), from a TIFF structure.
use crate::bytes::array;

const ORIENTATION: u16 = 0x0112;
const SHORT: u16 = 3;

/// The orientation, 1 to 8, of the first image directory; `None` when absent or malformed.
pub(crate) fn orientation(tiff: &[u8]) -> Option<u8> {
    let little = match tiff.get(..4)? {
        [b'I', b'I', 42, 0] => true,
        [b'M', b'M', 0, 42] => false,
        _ => return None,
    };
    let u16_at = |at| {
        let raw = array(tiff, at)?;
        Some(if little { u16::from_le_bytes(raw) } else { u16::from_be_bytes(raw) })
    };
    let raw = array(tiff, 4)?;
    let directory = if little { u32::from_le_bytes(raw) } else { u32::from_be_bytes(raw) };
    let directory = usize::try_from(directory).ok()?;
    let entries = usize::from(u16_at(directory)?);
    for entry in 0..entries {
        let at = directory.checked_add(2 + 12 * entry)?;
        if u16_at(at)? == ORIENTATION && u16_at(at.checked_add(2)?)? == SHORT {
            let value = u16_at(at.checked_add(8)?)?;
            return u8::try_from(value).ok().filter(|value| (1..=8).contains(value));
        }
    }
    None
}
