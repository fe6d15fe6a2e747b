//! Decoded values of some rows of one column, and their levels.
use super::{
    cell::Cell,
    leaf::{Leaf, LeafKind},
};
use ::parquet::{
    basic::Compression,
    column::reader::{ColumnReader, get_column_reader},
    data_type::{ByteArray, FixedLenByteArray, Int96},
    file::{metadata::ColumnChunkMetaData, serialized_reader::SerializedPageReader},
};
use bytes::Bytes;
use fdconvert_core::caught;
use half::f16;
use std::{ops::Range, sync::Arc};

/// The non-null values, in order.
#[derive(Debug)]
enum Values {
    Bool(Vec<bool>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<Int96>),
    Single(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

/// The rows of a page, or of a column chunk with pages that do not say where rows begin.
#[derive(Debug)]
pub(crate) struct Rows {
    n_rows: usize,
    max_def: i16,
    defs: Vec<i16>,
    reps: Vec<i16>,
    /// For each level the index of its value, if it has one.
    slots: Vec<u32>,
    /// Start of the levels of each row, and end of the last; empty if each row has one level.
    starts: Vec<u32>,
    values: Values,
    /// Bytes of the underlying pages.
    bytes: usize,
}

/// Pages to decode: the dictionary and the data pages, each with its header.
pub(crate) struct Encoded {
    pub(crate) bytes: Bytes,
    /// Bytes of the dictionary page at the start.
    pub(crate) dictionary: u64,
    pub(crate) compression: Compression,
    pub(crate) n_values: u64,
    pub(crate) n_rows: u64,
}

impl Rows {
    /// Decodes pages. A panic in the library becomes an error.
    pub(crate) fn decode(leaf: &Leaf, encoded: &Encoded) -> Result<Self, String> {
        caught(|| decode(leaf, encoded)).unwrap_or_else(|_| {
            Err("its decoder fails, which is a fault of the decoder".to_owned())
        })
    }

    /// Approximate memory in bytes.
    pub(crate) fn cost(&self) -> usize {
        let levels = self.defs.len() * 2 + self.reps.len() * 2 + self.slots.len() * 4;
        self.bytes + levels + self.starts.len() * 4 + 64
    }

    /// The levels of a row.
    pub(crate) fn levels(&self, row: usize) -> Option<Range<usize>> {
        if self.starts.is_empty() {
            return (row < self.n_rows).then_some(row..row + 1);
        }
        let (start, end) = (*self.starts.get(row)?, *self.starts.get(row + 1)?);
        Some(start as usize..end as usize)
    }

    pub(crate) fn def(&self, level: usize) -> i16 {
        self.defs.get(level).copied().unwrap_or(self.max_def)
    }

    pub(crate) fn rep(&self, level: usize) -> i16 {
        self.reps.get(level).copied().unwrap_or(0)
    }

    /// The value at a level; null if it has none.
    pub(crate) fn cell(&self, leaf: &Leaf, level: usize) -> Result<Cell, String> {
        if self.def(level) < self.max_def {
            return Ok(Cell::Null);
        }
        let at = self.slots.get(level).map_or(level, |&slot| slot as usize);
        self.values.cell(leaf.kind, at).ok_or_else(|| "a value is missing".to_owned())?
    }

    /// The numbers at these levels as little-endian elements of `size` bytes each; `None` if one is
    /// null or of another type.
    pub(crate) fn numbers(&self, levels: Range<usize>, size: u64) -> Option<Bytes> {
        if levels.clone().any(|level| self.def(level) < self.max_def) {
            return None;
        }
        let at = |level: usize| self.slots.get(level).map_or(level, |&slot| slot as usize);
        let range = match levels.is_empty() {
            true => 0..0,
            // Without nulls, the values are contiguous.
            false => at(levels.start)..at(levels.end - 1) + 1,
        };
        let size = usize::try_from(size).ok()?;
        let mut out = Vec::with_capacity(range.len().saturating_mul(size));
        match &self.values {
            Values::Bool(values) => out.extend(values.get(range)?.iter().map(|&it| u8::from(it))),
            Values::Int32(values) => {
                for value in values.get(range)? {
                    out.extend_from_slice(value.to_le_bytes().get(..size)?);
                }
            }
            Values::Int64(values) => {
                values.get(range)?.iter().for_each(|it| out.extend_from_slice(&it.to_le_bytes()));
            }
            Values::Single(values) => {
                values.get(range)?.iter().for_each(|it| out.extend_from_slice(&it.to_le_bytes()));
            }
            Values::Double(values) => {
                values.get(range)?.iter().for_each(|it| out.extend_from_slice(&it.to_le_bytes()));
            }
            Values::Fixed(values) => {
                values.get(range)?.iter().for_each(|it| out.extend_from_slice(it.data()));
            }
            Values::Int96(_) | Values::Bytes(_) => return None,
        }
        Some(out.into())
    }
}

impl Values {
    fn cell(&self, kind: LeafKind, at: usize) -> Option<Result<Cell, String>> {
        Some(Ok(match (self, kind) {
            (Self::Bool(values), _) => Cell::Bool(*values.get(at)?),
            (Self::Int32(values), LeafKind::Unsigned) => {
                Cell::Int(i64::from(values.get(at)?.cast_unsigned()))
            }
            (Self::Int32(values), LeafKind::Decimal(scale)) => {
                Cell::Decimal(decimal(i128::from(*values.get(at)?), scale))
            }
            (Self::Int32(values), _) => Cell::Int(i64::from(*values.get(at)?)),
            (Self::Int64(values), LeafKind::Unsigned) => {
                Cell::UInt(values.get(at)?.cast_unsigned())
            }
            (Self::Int64(values), LeafKind::Decimal(scale)) => {
                Cell::Decimal(decimal(i128::from(*values.get(at)?), scale))
            }
            (Self::Int64(values), _) => Cell::Int(*values.get(at)?),
            (Self::Int96(values), _) => match nanoseconds(values.get(at)?) {
                Some(time) => Cell::Int(time),
                None => return Some(Err(FAR.to_owned())),
            },
            (Self::Single(values), _) => Cell::Single(*values.get(at)?),
            (Self::Double(values), _) => Cell::Float(*values.get(at)?),
            (Self::Bytes(values), _) => return Some(bytes_cell(slice(values.get(at)?), kind)),
            (Self::Fixed(values), _) => return Some(bytes_cell(slice(values.get(at)?), kind)),
        }))
    }
}

/// Why a time cannot be converted.
const FAR: &str = "its time is before the year 1678 or after 2261, and nanoseconds of 64 bits reach \
                   no further; write the column again in microseconds";

/// Converts a day's Julian number and the nanoseconds of the day to nanoseconds since 1970; `None`
/// if they do not fit into 64 bits.
fn nanoseconds(time: &Int96) -> Option<i64> {
    const DAY_OF_1970: i128 = 2_440_588;
    const DAY: i128 = 86_400_000_000_000;
    let &[low, high, day] = time.data() else { return None };
    let of_day = (u64::from(high) << 32 | u64::from(low)).cast_signed();
    let days = i128::from(day.cast_signed()) - DAY_OF_1970;
    i64::try_from(days * DAY + i128::from(of_day)).ok()
}

fn bytes_cell(bytes: Option<Bytes>, kind: LeafKind) -> Result<Cell, String> {
    let bytes = bytes.ok_or("a value is missing")?;
    Ok(match kind {
        LeafKind::Text => Cell::Text(bytes),
        LeafKind::Half => match bytes[..] {
            [low, high] => Cell::Single(f16::from_le_bytes([low, high]).to_f32()),
            _ => return Err("a half float is not of two bytes".to_owned()),
        },
        LeafKind::Decimal(scale) => {
            if bytes.len() > 32 {
                return Err("a decimal of more than 32 bytes is not read".to_owned());
            }
            let is_negative = bytes.first().is_some_and(|byte| byte >> 7 == 1);
            Cell::Decimal(point(is_negative, digits(&bytes, is_negative), scale))
        }
        _ => Cell::Bytes(bytes),
    })
}

/// The bytes of a value, as a slice of its page.
fn slice(value: &ByteArray) -> Option<Bytes> {
    // The library only lends them, and frees the page after the last slice.
    Some(Bytes::from_owner(value.clone()))
}

/// Formats -1205 with two decimals as `-12.05`.
fn decimal(value: i128, scale: u32) -> String {
    point(value < 0, value.unsigned_abs().to_string(), scale)
}

/// The decimal digits of a number in two's complement, without its sign.
fn digits(bytes: &[u8], is_negative: bool) -> String {
    // Least significant first. For a negative number, add one to the complement.
    let mut digits = vec![0_u8];
    let flip = if is_negative { 0xff } else { 0 };
    for (at, byte) in bytes.iter().enumerate() {
        let is_last = at + 1 == bytes.len();
        let mut carry = u32::from(byte ^ flip) + u32::from(is_negative && is_last);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        while carry > 0 {
            digits.push((carry % 10) as u8);
            carry /= 10;
        }
    }
    digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect()
}

fn point(is_negative: bool, digits: String, scale: u32) -> String {
    let digits = format!("{digits:0>width$}", width = scale as usize + 1);
    let (whole, rest) = digits.split_at(digits.len().saturating_sub(scale as usize));
    let sign = if is_negative { "-" } else { "" };
    if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

fn decode(leaf: &Leaf, encoded: &Encoded) -> Result<Rows, String> {
    let failed = |error: ::parquet::errors::ParquetError| error.to_string();
    let descr = leaf.descr.clone();
    let (max_def, max_rep) = (descr.max_def_level(), descr.max_rep_level());
    let dictionary = i64::try_from(encoded.dictionary).unwrap_or(i64::MAX);
    let chunk = ColumnChunkMetaData::builder(descr.clone())
        .set_compression(encoded.compression)
        .set_num_values(i64::try_from(encoded.n_values).unwrap_or(i64::MAX))
        .set_total_compressed_size(encoded.bytes.len() as i64)
        .set_total_uncompressed_size(encoded.bytes.len() as i64)
        .set_dictionary_page_offset((dictionary > 0).then_some(0))
        .set_data_page_offset(dictionary)
        .build()
        .map_err(failed)?;
    let n_rows = usize::try_from(encoded.n_rows).map_err(|_| "too many rows".to_owned())?;
    let bytes = Arc::new(encoded.bytes.clone());
    let pages = SerializedPageReader::new(bytes, &chunk, n_rows, None).map_err(failed)?;
    let (mut defs, mut reps) = (Vec::new(), Vec::new());
    macro_rules! read {
        ($reader:expr, $variant:ident) => {{
            let mut values = Vec::new();
            let mut n_read = 0;
            while n_read < n_rows {
                let (def, rep) = (Some(&mut defs), Some(&mut reps));
                let read = $reader.read_records(n_rows - n_read, def, rep, &mut values);
                match read.map_err(failed)? {
                    (0, ..) => break,
                    (n, ..) => n_read += n,
                }
            }
            (Values::$variant(values), n_read)
        }};
    }
    let (values, n_read) = match get_column_reader(descr, Box::new(pages)) {
        ColumnReader::BoolColumnReader(mut reader) => read!(reader, Bool),
        ColumnReader::Int32ColumnReader(mut reader) => read!(reader, Int32),
        ColumnReader::Int64ColumnReader(mut reader) => read!(reader, Int64),
        ColumnReader::Int96ColumnReader(mut reader) => read!(reader, Int96),
        ColumnReader::FloatColumnReader(mut reader) => read!(reader, Single),
        ColumnReader::DoubleColumnReader(mut reader) => read!(reader, Double),
        ColumnReader::ByteArrayColumnReader(mut reader) => read!(reader, Bytes),
        ColumnReader::FixedLenByteArrayColumnReader(mut reader) => read!(reader, Fixed),
    };
    if n_read != n_rows {
        return Err(format!("its pages hold {n_read} rows, not {n_rows}"));
    }
    let slots = slots(&defs, max_def);
    let starts = if max_rep == 0 { Vec::new() } else { starts(&reps) };
    if max_rep > 0 && starts.len() != n_rows + 1 {
        return Err("its repetition levels are not those of its rows".to_owned());
    }
    let bytes = encoded.bytes.len();
    Ok(Rows { n_rows, max_def, defs, reps, slots, starts, values, bytes })
}

/// For each level the index of its value.
fn slots(defs: &[i16], max_def: i16) -> Vec<u32> {
    let mut next = 0;
    let slot = |&def: &i16| {
        let slot = next;
        next += u32::from(def == max_def);
        slot
    };
    // Without nulls, the index is that of the level.
    if defs.iter().all(|&def| def == max_def) {
        Vec::new()
    } else {
        defs.iter().map(slot).collect()
    }
}

fn starts(reps: &[i16]) -> Vec<u32> {
    let starts = reps.iter().enumerate().filter(|(_, rep)| **rep == 0);
    let starts = starts.map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX));
    starts.chain([u32::try_from(reps.len()).unwrap_or(u32::MAX)]).collect()
}
