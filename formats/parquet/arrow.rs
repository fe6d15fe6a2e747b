//! Lists of a fixed length. Only the Arrow schema, a flatbuffer beside the Parquet schema, declares
//! them; the rest of it is ignored.
use base64::{Engine, engine::general_purpose::STANDARD};
use fdconvert_core::bytes::{u16_at, u32_at};

/// Its key in the metadata of a file.
pub(crate) const KEY: &str = "ARROW:schema";

/// More than any array has.
const MAX_DIMENSIONS: usize = 16;
/// Number of the list type in the flatbuffer.
const FIXED_SIZE_LIST: u8 = 16;

/// A table of the flatbuffer.
#[derive(Debug, Clone, Copy)]
struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Lists the columns of fixed-length lists, possibly nested, with their lengths. Empty if the
/// schema cannot be parsed.
pub(crate) fn fixed_lists(text: &str) -> Vec<(String, Vec<u64>)> {
    let bytes = STANDARD.decode(text.trim()).unwrap_or_default();
    fields(&bytes).unwrap_or_default()
}

fn fields(bytes: &[u8]) -> Option<Vec<(String, Vec<u64>)>> {
    // A marker and a length come first; files of the first versions have only the length.
    let start = if u32_at(bytes, 0)? == u32::MAX { 8 } else { 4 };
    let message = Table::root(bytes.get(start..)?)?;
    let schema = message.table(2)?;
    let mut found = Vec::new();
    for field in schema.tables(1)? {
        let shape = shape(field);
        if !shape.is_empty() {
            found.push((field.text(0)?, shape));
        }
    }
    Some(found)
}

fn shape(field: Table<'_>) -> Vec<u64> {
    let (mut field, mut shape) = (field, Vec::new());
    while field.byte(2) == Some(FIXED_SIZE_LIST) && shape.len() < MAX_DIMENSIONS {
        let size = field.table(3).and_then(|list| list.word(0)).unwrap_or(0);
        shape.push(u64::from(size));
        let inner = field.tables(5).and_then(|mut children| children.next());
        let Some(inner) = inner else { return Vec::new() };
        field = inner;
    }
    shape
}

impl<'a> Table<'a> {
    fn root(bytes: &'a [u8]) -> Option<Self> {
        Some(Self { bytes, at: u32_at(bytes, 0)? as usize })
    }

    /// Offset of the member with that number.
    fn member(self, number: usize) -> Option<usize> {
        let back = u32_at(self.bytes, self.at)?.cast_signed();
        let table = i64::try_from(self.at).ok()?.checked_sub(i64::from(back))?;
        let table = usize::try_from(table).ok()?;
        let slot = 4 + 2 * number;
        if slot + 2 > usize::from(u16_at(self.bytes, table)?) {
            return None;
        }
        match u16_at(self.bytes, table.checked_add(slot)?)? {
            0 => None,
            offset => self.at.checked_add(usize::from(offset)),
        }
    }

    fn byte(self, number: usize) -> Option<u8> {
        self.bytes.get(self.member(number)?).copied()
    }

    fn word(self, number: usize) -> Option<u32> {
        u32_at(self.bytes, self.member(number)?)
    }

    /// Follows the offset stored at `at`.
    fn follow(self, at: usize) -> Option<usize> {
        at.checked_add(u32_at(self.bytes, at)? as usize)
    }

    fn table(self, number: usize) -> Option<Self> {
        Some(Self { at: self.follow(self.member(number)?)?, ..self })
    }

    fn tables(self, number: usize) -> Option<impl Iterator<Item = Self>> {
        let list = self.follow(self.member(number)?)?;
        let len = u32_at(self.bytes, list)? as usize;
        // Each takes four bytes.
        let len = len.min(self.bytes.len() / 4);
        let at = move |number: usize| self.follow(list + 4 + 4 * number);
        Some((0..len).map_while(at).map(move |at| Self { at, ..self }))
    }

    fn text(self, number: usize) -> Option<String> {
        let at = self.follow(self.member(number)?)?;
        let (start, len) = (at.checked_add(4)?, u32_at(self.bytes, at)? as usize);
        let text = self.bytes.get(start..start.checked_add(len)?)?;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }
}
