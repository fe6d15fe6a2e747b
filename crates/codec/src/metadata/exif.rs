//! EXIF as a TIFF structure (EXIF 2.32, TIFF 6.0): removal of the position in place, and the
//! smallest EXIF that sets an orientation.
//!
//! Offsets in a TIFF are from its start, and maker notes contain offsets that only their maker
//! understands. So nothing is moved: the GPS directory and its values are overwritten with zeros,
//! and the entry that points to it is removed from its directory, where later entries move up.
use fdconvert_core::{
    bytes::{u16_at, u16_be_at, u32_at, u32_be_at},
    probe::exif_orientation,
};
use std::ops::Range;

const GPS_DIRECTORY: u16 = 0x8825;
const EXIF_DIRECTORY: u16 = 0x8769;
/// The only entry of a GPS directory that reveals no place.
const GPS_VERSION: u16 = 0;
const LONG: u16 = 4;
const IFD: u16 = 13;
const ENTRY_BYTES: usize = 12;
/// Limit of directories in one EXIF: of the image, of its thumbnail, and any that a writer has
/// added.
const MAX_DIRECTORIES: usize = 8;
/// EXIF defines 32 of them.
const MAX_GPS_ENTRIES: usize = 64;

/// Error for an EXIF that cannot be parsed, or has overlapping parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damaged;

/// Returns an EXIF with only this orientation.
pub(super) fn minimal(orientation: u8) -> Vec<u8> {
    let mut tiff = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
    tiff.extend_from_slice(&[orientation, 0, 0, 0, 0, 0, 0, 0]);
    tiff
}

/// Returns true if the EXIF block has a GPS position, or a pointer to data that may hold one.
pub(super) fn has_position(tiff: &[u8]) -> bool {
    let (Ok(directories), Some(reader)) = (directories(tiff), Tiff::new(tiff)) else {
        return false;
    };
    let pointers = pointers(&directories);
    let leads_to_one = |entry: &Entry| {
        let gps = reader.directory(entry.value());
        gps.is_none_or(|gps| gps.entries.iter().any(|entry| entry.tag != GPS_VERSION))
    };
    pointers.len() > MAX_DIRECTORIES || pointers.iter().any(|(_, entry)| leads_to_one(entry))
}

/// Returns the entries that point to a GPS directory, each with its own directory.
fn pointers(directories: &[Directory]) -> Vec<(&Directory, &Entry)> {
    let all = directories
        .iter()
        .flat_map(|directory| directory.entries.iter().map(move |entry| (directory, entry)));
    all.filter(|(_, entry)| entry.tag == GPS_DIRECTORY).collect()
}

/// Removes the position; `None` if there is none.
pub(super) fn without_gps(tiff: &[u8]) -> Result<Option<Vec<u8>>, Damaged> {
    let directories = directories(tiff)?;
    let reader = Tiff::new(tiff).ok_or(Damaged)?;
    let pointers = pointers(&directories);
    if pointers.len() > MAX_DIRECTORIES {
        return Err(Damaged);
    }
    let mut zeroed: Vec<Range<usize>> = Vec::new();
    for (_, pointer) in &pointers {
        if !matches!(pointer.kind, LONG | IFD) || pointer.count != 1 {
            return Err(Damaged);
        }
        let gps = reader.directory(pointer.value()).ok_or(Damaged)?;
        if gps.entries.len() > MAX_GPS_ENTRIES {
            return Err(Damaged);
        }
        for entry in &gps.entries {
            zeroed.extend(entry.outside(tiff.len())?);
        }
        zeroed.push(gps.range);
    }
    if zeroed.is_empty() {
        return Ok(None);
    }
    // No other data may be where zeros are written: a value that two directories share, or a
    // pointer into another directory.
    for directory in &directories {
        let others = directory.entries.iter().filter(|entry| entry.tag != GPS_DIRECTORY);
        let values = others.filter_map(|entry| entry.outside(tiff.len()).ok().flatten());
        let kept: Vec<_> = values.chain([0..8, directory.range.clone()]).collect();
        let meets = |kept: &Range<usize>| {
            zeroed.iter().any(|gone| gone.start < kept.end && kept.start < gone.end)
        };
        if kept.iter().any(meets) {
            return Err(Damaged);
        }
    }
    let mut out = tiff.to_vec();
    for range in zeroed {
        out.get_mut(range).ok_or(Damaged)?.fill(0);
    }
    // From the last to the first, so that the places of entries stay valid.
    for (directory, pointer) in pointers.into_iter().rev() {
        let end = directory.range.end;
        if end < pointer.at + ENTRY_BYTES {
            return Err(Damaged);
        }
        out.copy_within(pointer.at + ENTRY_BYTES..end, pointer.at);
        out.get_mut(end - ENTRY_BYTES..end).ok_or(Damaged)?.fill(0);
        let at = directory.range.start;
        let now = Tiff::new(&out).and_then(|now| now.short(at)).ok_or(Damaged)?;
        let count = now.checked_sub(1).ok_or(Damaged)?;
        let count = if reader.is_big { count.to_be_bytes() } else { count.to_le_bytes() };
        out.get_mut(at..at + 2).ok_or(Damaged)?.copy_from_slice(&count);
    }
    if has_position(&out) || exif_orientation(&out) != exif_orientation(tiff) {
        return Err(Damaged);
    }
    Ok(Some(out))
}

/// A TIFF with known byte order.
struct Tiff<'a> {
    bytes: &'a [u8],
    is_big: bool,
}

struct Directory {
    entries: Vec<Entry>,
    /// From the number of entries to the end of the next directory's offset, if that exists.
    range: Range<usize>,
    next: usize,
}

struct Entry {
    at: usize,
    tag: u16,
    kind: u16,
    count: u32,
    number: u32,
}

impl Entry {
    fn value(&self) -> usize {
        usize::try_from(self.number).unwrap_or(usize::MAX)
    }

    /// Returns the place of the value unless it is in the entry itself. The length of an unknown
    /// type is unknown.
    fn outside(&self, tiff_bytes: usize) -> Result<Option<Range<usize>>, Damaged> {
        let unit = match self.kind {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            4 | 9 | 11 | 13 => 4,
            5 | 10 | 12 => 8,
            _ => return Err(Damaged),
        };
        let bytes = usize::try_from(self.count).ok().and_then(|count| count.checked_mul(unit));
        let bytes = bytes.ok_or(Damaged)?;
        if bytes <= 4 {
            return Ok(None);
        }
        let end = self.value().checked_add(bytes).filter(|end| *end <= tiff_bytes);
        Ok(Some(self.value()..end.ok_or(Damaged)?))
    }
}

/// Returns all directories that may contain values: the chain, and those of the camera.
fn directories(tiff: &[u8]) -> Result<Vec<Directory>, Damaged> {
    let reader = Tiff::new(tiff).ok_or(Damaged)?;
    let mut found: Vec<Directory> = Vec::new();
    let mut waiting = vec![reader.long(4).ok_or(Damaged)? as usize];
    while let Some(at) = waiting.pop() {
        if found.len() == MAX_DIRECTORIES || found.iter().any(|known| known.range.start == at) {
            return Err(Damaged);
        }
        let directory = reader.directory(at).ok_or(Damaged)?;
        waiting.extend((directory.next != 0).then_some(directory.next));
        let camera = directory.entries.iter().filter(|entry| entry.tag == EXIF_DIRECTORY);
        waiting.extend(camera.map(Entry::value));
        found.push(directory);
    }
    Ok(found)
}

impl<'a> Tiff<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        match bytes.get(..4)? {
            [b'I', b'I', 42, 0] => Some(Self { bytes, is_big: false }),
            [b'M', b'M', 0, 42] => Some(Self { bytes, is_big: true }),
            _ => None,
        }
    }

    fn short(&self, at: usize) -> Option<u16> {
        if self.is_big { u16_be_at(self.bytes, at) } else { u16_at(self.bytes, at) }
    }

    fn long(&self, at: usize) -> Option<u32> {
        if self.is_big { u32_be_at(self.bytes, at) } else { u32_at(self.bytes, at) }
    }

    fn directory(&self, start: usize) -> Option<Directory> {
        // The header comes first.
        if start < 8 {
            return None;
        }
        let n_entries = usize::from(self.short(start)?);
        let end = start.checked_add(2 + ENTRY_BYTES * n_entries)?;
        if end > self.bytes.len() {
            return None;
        }
        let entry = |number: usize| {
            let at = start + 2 + ENTRY_BYTES * number;
            Some(Entry {
                at,
                tag: self.short(at)?,
                kind: self.short(at + 2)?,
                count: self.long(at + 4)?,
                number: self.long(at + 8)?,
            })
        };
        let entries = (0..n_entries).map(entry).collect::<Option<Vec<_>>>()?;
        // Some writers omit the last offset.
        let next = self.long(end);
        let range = start..if next.is_some() { end + 4 } else { end };
        Some(Directory { entries, range, next: next.unwrap_or(0) as usize })
    }
}
