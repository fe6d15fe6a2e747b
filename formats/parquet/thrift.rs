//! Parses page headers in Thrift's compact protocol, to learn a page's size before it is
//! decompressed.
//!
//! The library that decodes pages trusts the sizes in their headers; this module reads them first,
//! so that a page that would exceed the memory limit is refused.

use std::collections::BTreeSet;

/// Deeper than the headers of the specification can nest, even with extensions.
const MAX_DEPTH: u32 = 8;

/// Contents of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// Values, and their definition and repetition levels.
    Data,
    /// The values that data pages refer to by number.
    Dictionary,
    /// Anything else, which readers skip.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageHeader {
    pub(crate) kind: PageKind,
    pub(crate) len: u64,
    /// Bytes of the page after the header.
    pub(crate) stored_bytes: u64,
    /// Bytes of the page after decompression.
    pub(crate) raw_bytes: u64,
    /// Including nulls.
    pub(crate) n_values: u64,
    /// `None` if the header does not have it.
    pub(crate) n_rows: Option<u64>,
    /// True if values are indices into the dictionary.
    pub(crate) needs_dictionary: bool,
}

impl PageHeader {
    /// Parses the header at the start of `bytes`; `None` if there is none.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut input = Input { bytes, at: 0 };
        let (mut kind, mut raw, mut stored) = (None, None, None);
        let (mut n_values, mut n_rows, mut encoding) = (0, None, 0);
        let mut field = 0;
        while let Some(wire) = input.field(&mut field)? {
            match (field, wire) {
                (1, Wire::Int) => {
                    kind = Some(match input.int()? {
                        0 | 3 => PageKind::Data,
                        2 => PageKind::Dictionary,
                        _ => PageKind::Other,
                    });
                }
                (2, Wire::Int) => raw = Some(input.size()?),
                (3, Wire::Int) => stored = Some(input.size()?),
                // All three kinds of pages start with the number of values; only one has the number
                // of rows.
                (5 | 7 | 8, Wire::Struct) => {
                    let mut inner = 0;
                    while let Some(wire) = input.field(&mut inner)? {
                        match (inner, wire, field) {
                            (1, Wire::Int, _) => n_values = input.size()?,
                            (3, Wire::Int, 8) => n_rows = Some(input.size()?),
                            (2, Wire::Int, 5) | (4, Wire::Int, 8) => encoding = input.int()?,
                            _ => input.skip(wire, 1)?,
                        }
                    }
                }
                _ => input.skip(wire, 0)?,
            }
        }
        Some(Self {
            kind: kind?,
            len: input.at as u64,
            stored_bytes: stored?,
            raw_bytes: raw?,
            n_values,
            n_rows,
            // PLAIN_DICTIONARY and RLE_DICTIONARY.
            needs_dictionary: matches!(encoding, 2 | 8),
        })
    }
}

/// Numbers of the columns that are encrypted in any row group. The footer itself need not be
/// encrypted. `None` if the bytes are no footer.
pub(crate) fn encrypted_columns(footer: &[u8]) -> Option<BTreeSet<usize>> {
    let mut input = Input { bytes: footer, at: 0 };
    let (mut found, mut field) = (BTreeSet::new(), 0);
    while let Some(wire) = input.field(&mut field)? {
        match (field, wire) {
            (4, Wire::List) => {
                for _ in 0..input.list()?.0 {
                    input.encrypted_columns_of_group(&mut found)?;
                }
            }
            _ => input.skip(wire, 0)?,
        }
    }
    Some(found)
}

/// Encoding of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wire {
    Bool,
    Byte,
    Int,
    Double,
    Binary,
    List,
    Map,
    Struct,
}

struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn int(&mut self) -> Option<i64> {
        let zigzag = self.varint()?;
        Some((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    /// A non-negative 32-bit size.
    fn size(&mut self) -> Option<u64> {
        u64::try_from(i32::try_from(self.int()?).ok()?).ok()
    }

    /// Reads the next field of a struct and sets `field` to its number; `Some(None)` at the end.
    fn field(&mut self, field: &mut i64) -> Option<Option<Wire>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *field = match head >> 4 {
            0 => self.int()?,
            delta => field.checked_add(i64::from(delta))?,
        };
        wire(head & 0xf).map(Some)
    }

    fn advance(&mut self, n_bytes: u64) -> Option<()> {
        let at = self.at.checked_add(usize::try_from(n_bytes).ok()?)?;
        self.at = at;
        (at <= self.bytes.len()).then_some(())
    }

    fn skip(&mut self, kind: Wire, depth: u32) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match kind {
            Wire::Bool => {}
            Wire::Byte => self.advance(1)?,
            Wire::Int => drop(self.varint()?),
            Wire::Double => self.advance(8)?,
            Wire::Binary => {
                let len = self.varint()?;
                self.advance(len)?;
            }
            Wire::List => {
                let (len, element) = self.list()?;
                for _ in 0..len {
                    self.element(element, depth)?;
                }
            }
            Wire::Map => {
                let len = self.varint()?;
                let kinds = if len == 0 { 0 } else { self.byte()? };
                for _ in 0..len {
                    self.element(wire(kinds >> 4)?, depth)?;
                    self.element(wire(kinds & 0xf)?, depth)?;
                }
            }
            Wire::Struct => {
                let mut field = 0;
                while let Some(inner) = self.field(&mut field)? {
                    self.skip(inner, depth + 1)?;
                }
            }
        }
        Some(())
    }

    /// The length of a list, and the type of its elements.
    fn list(&mut self) -> Option<(u64, Wire)> {
        let head = self.byte()?;
        let len = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        Some((len, wire(head & 0xf)?))
    }

    fn encrypted_columns_of_group(&mut self, found: &mut BTreeSet<usize>) -> Option<()> {
        const COLUMNS: i64 = 1;
        const CRYPTO_METADATA: i64 = 8;
        let mut field = 0;
        while let Some(wire) = self.field(&mut field)? {
            if (field, wire) != (COLUMNS, Wire::List) {
                self.skip(wire, 0)?;
                continue;
            }
            for number in 0..self.list()?.0 {
                let mut of_chunk = 0;
                while let Some(wire) = self.field(&mut of_chunk)? {
                    if of_chunk == CRYPTO_METADATA {
                        found.insert(usize::try_from(number).ok()?);
                    }
                    self.skip(wire, 0)?;
                }
            }
        }
        Some(())
    }

    /// An element takes at least a byte, so no length exceeds that of the input.
    fn element(&mut self, kind: Wire, depth: u32) -> Option<()> {
        match kind {
            Wire::Bool => self.advance(1),
            kind => self.skip(kind, depth + 1),
        }
    }
}

fn wire(code: u8) -> Option<Wire> {
    Some(match code {
        1 | 2 => Wire::Bool,
        3 => Wire::Byte,
        4..=6 => Wire::Int,
        7 => Wire::Double,
        8 => Wire::Binary,
        9 | 10 => Wire::List,
        11 => Wire::Map,
        12 => Wire::Struct,
        _ => return None,
    })
}
