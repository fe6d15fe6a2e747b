//! Directories of a TIFF: entries of 12 bytes, and of 20 in a BigTIFF.
use crate::bytes::{array_at, u16_at, u16_be_at, u32_at, u32_be_at, u64_at};

/// A directory anywhere in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Directory<'a> {
    file: File<'a>,
    /// Offset of the first entry.
    at: usize,
    n_entries: usize,
}

/// The bytes of a file, and its number format.
#[derive(Debug, Clone, Copy)]
struct File<'a> {
    bytes: &'a [u8],
    is_big_endian: bool,
    /// True if offsets and counts have eight bytes.
    is_big: bool,
}

impl<'a> Directory<'a> {
    /// The first directory of a file.
    pub(super) fn first(bytes: &'a [u8]) -> Option<Self> {
        let (is_big_endian, is_big) = match *bytes.first_chunk()? {
            [b'I', b'I', 42, 0] => (false, false),
            [b'I', b'I', 43, 0] => (false, true),
            [b'M', b'M', 0, 42] => (true, false),
            [b'M', b'M', 0, 43] => (true, true),
            _ => return None,
        };
        let file = File { bytes, is_big_endian, is_big };
        file.directory(file.offset(if is_big { 8 } else { 4 })?)
    }

    /// The directory after this one.
    pub(super) fn next(&self) -> Option<Self> {
        let end = self.at.checked_add(self.n_entries.checked_mul(self.file.entry_bytes())?)?;
        self.file.directory(self.file.offset(end)?)
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.file.bytes
    }

    pub(super) fn is_big_endian(&self) -> bool {
        self.file.is_big_endian
    }

    /// The values of an entry of integers or bytes; `None` if there is no such entry.
    ///
    /// # Errors
    /// A text for a sample's error: the entry exists, but its values cannot be read.
    pub(super) fn numbers(&self, tag: u16) -> Result<Option<Numbers<'a>>, String> {
        let Some(at) = self.entry(tag) else { return Ok(None) };
        let kind = self.file.short(at + 2).unwrap_or_default();
        let value_bytes = match kind {
            1 | 6 | 7 => 1,
            3 | 8 => 2,
            4 | 9 | 13 => 4,
            16..=18 => 8,
            _ => {
                return Err(format!("the TIFF's tag {tag} has values of type {kind}, not numbers"));
            }
        };
        let numbers = self.values(at, value_bytes, 1).ok_or_else(|| self.is_cut_off(tag))?;
        let has_sign = matches!(kind, 6 | 8 | 9 | 17);
        if has_sign && (0..numbers.n_values()).any(|index| numbers.is_negative(index)) {
            return Err(format!("the TIFF's tag {tag} has values below zero, which cannot be"));
        }
        Ok(Some(numbers))
    }

    /// The first value of such an entry.
    pub(super) fn number(&self, tag: u16) -> Result<Option<u64>, String> {
        Ok(self.numbers(tag)?.and_then(|numbers| numbers.get(0)))
    }

    /// The values of an entry of fractions, as alternating numerators and denominators; `None` if
    /// there is no entry of fractions.
    pub(super) fn fractions(&self, tag: u16) -> Result<Option<Numbers<'a>>, String> {
        const RATIONAL: u16 = 5;
        let at = self.entry(tag).filter(|at| self.file.short(at + 2) == Some(RATIONAL));
        at.map(|at| self.values(at, 4, 2).ok_or_else(|| self.is_cut_off(tag))).transpose()
    }

    /// The bytes of a text entry; `None` if there is no readable one.
    pub(super) fn text(&self, tag: u16) -> Option<&'a [u8]> {
        const ASCII: u16 = 2;
        let at = self.entry(tag).filter(|at| self.file.short(at + 2) == Some(ASCII))?;
        Some(self.values(at, 1, 1)?.bytes())
    }

    /// The offset of a tag's entry.
    pub(super) fn entry(&self, tag: u16) -> Option<usize> {
        let entry = |index: usize| self.at + index * self.file.entry_bytes();
        // Searches linearly, because some writers violate the rule to sort the tags.
        (0..self.n_entries).map(entry).find(|at| self.file.short(*at) == Some(tag))
    }

    /// The values of the entry at offset `at`, each of `n_each` numbers of `value_bytes`; `None` if
    /// they exceed the file.
    fn values(&self, at: usize, value_bytes: usize, n_each: usize) -> Option<Numbers<'a>> {
        let count = usize::try_from(self.file.count(at + 4)?).ok()?;
        let len = count.checked_mul(value_bytes)?.checked_mul(n_each)?;
        // Short values are stored in place of their offset.
        let value_at = at + self.file.entry_bytes() - self.file.offset_bytes();
        let start =
            if len <= self.file.offset_bytes() { value_at } else { self.file.offset(value_at)? };
        let bytes = self.file.bytes.get(start..start.checked_add(len)?)?;
        Some(Numbers { file: File { bytes, ..self.file }, value_bytes })
    }

    fn is_cut_off(&self, tag: u16) -> String {
        let len = self.file.bytes.len();
        format!("the TIFF is cut off: the values of its tag {tag} are behind its {len} bytes")
    }
}

impl<'a> File<'a> {
    fn short(&self, at: usize) -> Option<u16> {
        if self.is_big_endian { u16_be_at(self.bytes, at) } else { u16_at(self.bytes, at) }
    }

    fn long(&self, at: usize) -> Option<u32> {
        if self.is_big_endian { u32_be_at(self.bytes, at) } else { u32_at(self.bytes, at) }
    }

    fn very_long(&self, at: usize) -> Option<u64> {
        if self.is_big_endian {
            array_at(self.bytes, at).map(u64::from_be_bytes)
        } else {
            u64_at(self.bytes, at)
        }
    }

    fn count(&self, at: usize) -> Option<u64> {
        if self.is_big { self.very_long(at) } else { self.long(at).map(u64::from) }
    }

    fn offset(&self, at: usize) -> Option<usize> {
        usize::try_from(self.count(at)?).ok()
    }

    fn offset_bytes(&self) -> usize {
        if self.is_big { 8 } else { 4 }
    }

    fn entry_bytes(&self) -> usize {
        if self.is_big { 20 } else { 12 }
    }

    /// The directory at an offset, with all its entries inside the file.
    fn directory(self, start: usize) -> Option<Directory<'a>> {
        // The header comes before it.
        if start < 8 {
            return None;
        }
        let (n_entries, at) = if self.is_big {
            (usize::try_from(self.very_long(start)?).ok()?, start.checked_add(8)?)
        } else {
            (usize::from(self.short(start)?), start.checked_add(2)?)
        };
        let len = n_entries.checked_mul(self.entry_bytes())?;
        self.bytes.get(at..at.checked_add(len)?)?;
        Some(Directory { file: self, at, n_entries })
    }
}

/// The values of an entry, read in place.
#[derive(Debug, Clone, Copy)]
pub struct Numbers<'a> {
    file: File<'a>,
    value_bytes: usize,
}

impl<'a> Numbers<'a> {
    /// Returns the value at an index.
    #[must_use]
    pub fn get(&self, index: u64) -> Option<u64> {
        let at = usize::try_from(index).ok()?.checked_mul(self.value_bytes)?;
        match self.value_bytes {
            1 => self.file.bytes.get(at).copied().map(u64::from),
            2 => self.file.short(at).map(u64::from),
            4 => self.file.long(at).map(u64::from),
            _ => self.file.very_long(at),
        }
    }

    /// Returns the number of values.
    #[must_use]
    pub fn n_values(&self) -> usize {
        self.file.bytes.len() / self.value_bytes
    }

    /// Returns true if the sign bit of a value is set.
    fn is_negative(&self, index: usize) -> bool {
        let sign = 8 * self.value_bytes - 1;
        self.get(index as u64).is_some_and(|value| value >> sign == 1)
    }

    /// Iterates over the values.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        (0..).map_while(|index| self.get(index))
    }

    /// Returns the stored bytes.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.file.bytes
    }
}
