//! A row group: samples that are kept until there are enough, and then become columns.
use super::{
    features::{repetition, stored},
    sink::Sink,
    thrift::PageHeader,
};
use crate::index::{Range, Region};
use ::parquet::{
    data_type::{
        BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
        FloatType, Int32Type, Int64Type,
    },
    errors::{ParquetError, Result},
    file::{
        metadata::RowGroupMetaData,
        writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter},
    },
};
use fdconvert_core::{ArraySpec, DType, Encoded, FieldSpec, Kind, Sample, Schema, Value};
use xxhash_rust::xxh3::Xxh3;

/// The header of a page of images is shorter.
const HEADER_BYTES: usize = 128;

/// Writes samples as a row group.
pub(crate) fn write(
    file: &mut SerializedFileWriter<Sink>,
    schema: &Schema,
    samples: &[Sample<Encoded>],
) -> Result<RowGroupMetaData> {
    let mut group = file.next_row_group()?;
    let mut has_key = false;
    for (at, field) in schema.fields.iter().enumerate() {
        let values: Vec<&Value<Encoded>> =
            samples.iter().filter_map(|sample| sample.values.get(at)).collect();
        if field.kind == Kind::Image {
            let mut column = next(&mut group)?;
            images(&mut column, &values)?;
            column.close()?;
            // The first image bears the key.
            let keys: Vec<ByteArray> = match has_key {
                true => Vec::new(),
                false => samples.iter().map(|sample| sample.key.as_str().into()).collect(),
            };
            let def = if has_key { 1 } else { 2 };
            let mut column = next(&mut group)?;
            let levels = vec![def; values.len()];
            column.typed::<ByteArrayType>().write_batch(&keys, Some(&levels), None)?;
            column.close()?;
            has_key = true;
        } else {
            let mut column = next(&mut group)?;
            plain(&mut column, field, &values)?;
            column.close()?;
        }
    }
    let written = group.close()?;
    Ok(RowGroupMetaData::clone(&written))
}

fn next<'a>(
    group: &'a mut SerializedRowGroupWriter<'_, Sink>,
) -> Result<SerializedColumnWriter<'a>> {
    group.next_column()?.ok_or_else(|| ParquetError::General("there are more columns".into()))
}

fn images(column: &mut SerializedColumnWriter<'_>, values: &[&Value<Encoded>]) -> Result<()> {
    let typed = column.typed::<ByteArrayType>();
    for value in values {
        if let Value::Image(image) = value {
            // One by one, so that each may end a page.
            typed.write_batch(&[ByteArray::from(image.bytes.clone())], Some(&[2]), None)?;
        }
    }
    Ok(())
}

fn plain(
    column: &mut SerializedColumnWriter<'_>,
    field: &FieldSpec,
    values: &[&Value<Encoded>],
) -> Result<()> {
    let levels = vec![1; values.len()];
    match &field.kind {
        Kind::Int => {
            let ints = values.iter().filter_map(|value| match value {
                Value::Int(int) => Some(*int),
                _ => None,
            });
            let ints: Vec<i64> = ints.collect();
            column.typed::<Int64Type>().write_batch(&ints, Some(&levels), None)?;
        }
        Kind::Float => {
            let floats = values.iter().filter_map(|value| match value {
                Value::Float(float) => Some(*float),
                _ => None,
            });
            let floats: Vec<f64> = floats.collect();
            column.typed::<DoubleType>().write_batch(&floats, Some(&levels), None)?;
        }
        Kind::Array(spec) => arrays(column, spec, values)?,
        _ => {
            let bytes = values.iter().filter_map(|value| match value {
                Value::Text(text) => Some(text.as_str().into()),
                Value::Bytes(bytes) | Value::Json(bytes) => Some(ByteArray::from(bytes.clone())),
                _ => None,
            });
            let bytes: Vec<ByteArray> = bytes.collect();
            column.typed::<ByteArrayType>().write_batch(&bytes, Some(&levels), None)?;
        }
    }
    Ok(())
}

fn arrays(
    column: &mut SerializedColumnWriter<'_>,
    spec: &ArraySpec,
    values: &[&Value<Encoded>],
) -> Result<()> {
    let (shape, _) = stored(spec);
    // Lists are empty from a dimension without elements on.
    let depth = shape.iter().position(|&size| size == 0);
    let outer = shape.get(..depth.unwrap_or(shape.len())).unwrap_or_default();
    let n_levels: u64 = outer.iter().product();
    let def = 2 * outer.len() as i16 + 1;
    let reps: Vec<i16> = (0..n_levels).map(|number| repetition(outer, number)).collect();
    let defs = vec![def; reps.len()];
    for value in values {
        let Value::Array(bytes) = value else { continue };
        let levels = (Some(&defs[..]), Some(&reps[..]));
        write_array(column, spec.dtype, bytes, levels)?;
    }
    Ok(())
}

/// Levels of definition and of repetition.
type Levels<'a> = (Option<&'a [i16]>, Option<&'a [i16]>);

fn write_array(
    column: &mut SerializedColumnWriter<'_>,
    dtype: DType,
    bytes: &[u8],
    (defs, reps): Levels<'_>,
) -> Result<()> {
    macro_rules! write {
        ($column:ty, $element:ty, $from:expr) => {{
            let elements = bytes.as_chunks::<{ size_of::<$element>() }>().0.iter();
            let values: Vec<_> = elements.map($from).collect();
            column.typed::<$column>().write_batch(&values, defs, reps)?
        }};
    }
    match dtype {
        DType::Bool => write!(BoolType, u8, |byte| byte[0] != 0),
        DType::I8 => write!(Int32Type, i8, |it| i32::from(i8::from_le_bytes(*it))),
        DType::U8 => write!(Int32Type, u8, |it| i32::from(it[0])),
        DType::I16 => write!(Int32Type, i16, |it| i32::from(i16::from_le_bytes(*it))),
        DType::U16 => write!(Int32Type, u16, |it| i32::from(u16::from_le_bytes(*it))),
        DType::I32 | DType::U32 => write!(Int32Type, i32, |it| i32::from_le_bytes(*it)),
        DType::I64 | DType::U64 => write!(Int64Type, i64, |it| i64::from_le_bytes(*it)),
        DType::F16 => write!(FixedLenByteArrayType, u16, |it| FixedLenByteArray::from(it.to_vec())),
        DType::F32 | DType::C64 => write!(FloatType, f32, |it| f32::from_le_bytes(*it)),
        DType::F64 | DType::C128 => write!(DoubleType, f64, |it| f64::from_le_bytes(*it)),
    };
    Ok(())
}

/// Where the images of a row group were written, field after field: the library tells where each
/// column begins, and the values of a page end with the page.
pub(crate) fn places(
    sink: &Sink,
    schema: &Schema,
    samples: &[Sample<Encoded>],
    written: &RowGroupMetaData,
) -> fdconvert_core::Result<Option<Vec<Vec<u64>>>> {
    let mut leaf = 0;
    let mut all = Vec::new();
    for (at, field) in schema.fields.iter().enumerate() {
        if field.kind != Kind::Image {
            leaf += 1;
            continue;
        }
        let lens = samples.iter().filter_map(|sample| match sample.values.get(at) {
            Some(Value::Image(image)) => Some(image.bytes.len() as u64),
            _ => None,
        });
        let lens: Vec<u64> = lens.collect();
        let start = written.columns().get(leaf).map(|chunk| chunk.data_page_offset());
        let start = start.and_then(|start| u64::try_from(start).ok());
        let Some(places) = start.map(|start| of_chunk(sink, start, &lens)).transpose()?.flatten()
        else {
            return Ok(None);
        };
        all.push(places);
        leaf += 2;
    }
    Ok(Some(all))
}

fn of_chunk(sink: &Sink, start: u64, lens: &[u64]) -> fdconvert_core::Result<Option<Vec<u64>>> {
    let (mut at, mut places) = (start, Vec::with_capacity(lens.len()));
    while places.len() < lens.len() {
        let mut head = vec![0; HEADER_BYTES.min(sink.at.saturating_sub(at) as usize)];
        sink.read(at, &mut head)?;
        let Some(header) = PageHeader::parse(&head) else { return Ok(None) };
        let n_values = usize::try_from(header.n_values).unwrap_or(usize::MAX);
        let of_page = lens.get(places.len()..places.len().saturating_add(n_values));
        let Some(of_page) = of_page.filter(|lens| !lens.is_empty()) else { return Ok(None) };
        let end = at + header.len + header.stored_bytes;
        // Each value is its length, in four bytes, and its bytes.
        let mut value = end.checked_sub(of_page.iter().map(|len| len + 4).sum());
        for len in of_page {
            let Some(from) = value else { return Ok(None) };
            places.push(from + 4);
            value = Some(from + 4 + len);
        }
        at = end;
    }
    Ok(Some(places))
}

/// The checksum of what lies between the images of a part of the file.
pub(crate) fn between(
    sink: &Sink,
    (start, end): (u64, u64),
    images: &[Region],
) -> fdconvert_core::Result<Range> {
    let (mut at, mut hash) = (start, Xxh3::new());
    let mut gap = Vec::new();
    let ends = images.iter().map(|region| (region.offset, region.len)).chain([(end, 0)]);
    for (offset, len) in ends {
        gap.resize(usize::try_from(offset.saturating_sub(at)).unwrap_or(0), 0);
        sink.read(at, &mut gap)?;
        hash.update(&gap);
        at = offset + len;
    }
    Ok(Range { offset: start, len: end - start, xxh3: hash.digest() })
}

/// The eight bytes of each integer and float of a sample.
pub(crate) fn cells(sample: &Sample<Encoded>) -> Vec<[u8; 8]> {
    let cell = |value: &Value<Encoded>| match value {
        Value::Int(int) => Some(int.to_le_bytes()),
        Value::Float(float) => Some(float.to_le_bytes()),
        _ => None,
    };
    sample.values.iter().filter_map(cell).collect()
}
