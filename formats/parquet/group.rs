//! A row group: collects samples, then writes them as columns.
use super::{
    features::{repetition, stored},
    sink::Sink,
    thrift::PageHeader,
};
use ::parquet::{
    column::writer::{ColumnWriter, get_typed_column_writer_mut as typed},
    data_type::{
        BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
        FloatType, Int32Type, Int64Type,
    },
    errors::{ParquetError, Result},
    file::writer::SerializedFileWriter,
};
use fdconvert_core::{
    ArraySpec, DType, Encoded, FieldSpec, Kind, Sample, Schema, Value, bytes::u32_at,
};
use std::ops::Range;

/// Upper bound for the header and levels of a page of images.
const HEAD_BYTES: u64 = 96;

/// Writes samples as a row group, and returns the places of their image bytes, field by field.
pub(crate) fn write(
    file: &mut SerializedFileWriter<Sink>,
    schema: &Schema,
    samples: &[Sample<Encoded>],
) -> Result<Vec<Vec<Range<u64>>>> {
    let mut group = file.next_row_group()?;
    // For each image field: its first column, and the lengths of its images.
    let (mut n_columns, mut images) = (0, Vec::new());
    for (at, field) in schema.fields.iter().enumerate() {
        let values: Vec<&Value<Encoded>> =
            samples.iter().filter_map(|sample| sample.values.get(at)).collect();
        let mut column = group.next_column()?.ok_or_else(too_few_columns)?;
        if field.kind == Kind::Images {
            for (bytes, levels) in lists(&values) {
                let (defs, reps) = (Some(&levels.bytes[..]), Some(&levels.repetitions[..]));
                typed::<ByteArrayType>(column.untyped()).write_batch(&bytes, defs, reps)?;
            }
            column.close()?;
            let mut column = group.next_column()?.ok_or_else(too_few_columns)?;
            for (_, levels) in lists(&values) {
                let (defs, reps) = (Some(&levels.paths[..]), Some(&levels.repetitions[..]));
                typed::<ByteArrayType>(column.untyped()).write_batch(&[], defs, reps)?;
            }
            column.close()?;
            n_columns += 2;
            continue;
        }
        if field.kind != Kind::Image {
            plain(column.untyped(), field, &values)?;
            column.close()?;
            n_columns += 1;
            continue;
        }
        let mut lens = Vec::with_capacity(values.len());
        for value in values {
            let Value::Image(image) = value else { continue };
            // One by one, so that each may end a page.
            let bytes = [ByteArray::from(image.bytes.clone())];
            typed::<ByteArrayType>(column.untyped()).write_batch(&bytes, Some(&[2]), None)?;
            lens.push(image.bytes.len() as u64);
        }
        column.close()?;
        let mut column = group.next_column()?.ok_or_else(too_few_columns)?;
        names(column.untyped(), samples, images.is_empty())?;
        column.close()?;
        images.push((n_columns, lens));
        n_columns += 2;
    }
    let group = group.close()?;
    file.flush()?;
    let start = |number: usize| group.columns().get(number).map(|chunk| chunk.data_page_offset());
    let places = images.into_iter().map(|(number, lens)| {
        let start = start(number).and_then(|at| u64::try_from(at).ok());
        places(file.inner(), start.ok_or_else(lost)?, &lens)
    });
    places.collect()
}

/// The levels of one list of images.
struct ListLevels {
    bytes: Vec<i16>,
    /// Definition levels of the paths, which are null.
    paths: Vec<i16>,
    repetitions: Vec<i16>,
}

/// The images of each list, and their levels. Lists are written one by one, so that each may end a
/// page.
fn lists<'a>(
    values: &'a [&Value<Encoded>],
) -> impl Iterator<Item = (Vec<ByteArray>, ListLevels)> + 'a {
    values.iter().map(|value| {
        let images = value.images();
        let bytes = images.iter().map(|image| ByteArray::from(image.bytes.clone())).collect();
        // The list, its element and the member may each be null, and the list may be empty.
        let levels = |of_image: i16| match images.len() {
            0 => vec![1],
            n => vec![of_image; n],
        };
        let mut repetitions = levels(1);
        repetitions[0] = 0;
        (bytes, ListLevels { bytes: levels(4), paths: levels(3), repetitions })
    })
}

/// Finds images of these lengths in the pages of their column.
fn places(sink: &Sink, start: u64, lens: &[u64]) -> Result<Vec<Range<u64>>> {
    let (mut places, mut at) = (Vec::with_capacity(lens.len()), start);
    while let Some(rest) = lens.get(places.len()..).filter(|rest| !rest.is_empty()) {
        let head =
            sink.read(at, HEAD_BYTES).map_err(|cause| ParquetError::External(cause.into()))?;
        let header = PageHeader::parse(&head).filter(|header| header.n_values > 0);
        let header = header.ok_or_else(lost)?;
        let n_levels = u32_at(&head, header.len as usize).ok_or_else(lost)?;
        let mut place = at + header.len + 4 + u64::from(n_levels);
        for len in rest.iter().take(header.n_values as usize) {
            place += 4;
            places.push(place..place + len);
            place += len;
        }
        at += header.len + header.stored_bytes;
        if at != place {
            return Err(lost());
        }
    }
    Ok(places)
}

fn too_few_columns() -> ParquetError {
    ParquetError::General("the schema has fewer columns".into())
}

fn lost() -> ParquetError {
    ParquetError::General("images are not where they were written".into())
}

/// Writes the names of images: that of the first one is the key.
pub(crate) fn names(
    column: &mut ColumnWriter<'_>,
    samples: &[Sample<Encoded>],
    is_first: bool,
) -> Result<()> {
    let keys: Vec<ByteArray> = match is_first {
        true => samples.iter().map(|sample| sample.key.as_str().into()).collect(),
        false => Vec::new(),
    };
    let levels = vec![if is_first { 2 } else { 1 }; samples.len()];
    typed::<ByteArrayType>(column).write_batch(&keys, Some(&levels), None)?;
    Ok(())
}

pub(crate) fn plain(
    column: &mut ColumnWriter<'_>,
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
            typed::<Int64Type>(column).write_batch(&ints, Some(&levels), None)?;
        }
        Kind::Float => {
            let floats = values.iter().filter_map(|value| match value {
                Value::Float(float) => Some(*float),
                _ => None,
            });
            let floats: Vec<f64> = floats.collect();
            typed::<DoubleType>(column).write_batch(&floats, Some(&levels), None)?;
        }
        Kind::Array(spec) => arrays(column, spec, values)?,
        _ => {
            let bytes = values.iter().filter_map(|value| match value {
                Value::Text(text) => Some(text.as_str().into()),
                Value::Bytes(bytes) | Value::Json(bytes) => Some(ByteArray::from(bytes.clone())),
                _ => None,
            });
            let bytes: Vec<ByteArray> = bytes.collect();
            typed::<ByteArrayType>(column).write_batch(&bytes, Some(&levels), None)?;
        }
    }
    Ok(())
}

fn arrays(
    column: &mut ColumnWriter<'_>,
    spec: &ArraySpec,
    values: &[&Value<Encoded>],
) -> Result<()> {
    let (shape, _) = stored(spec);
    // Lists are empty from the first dimension of size 0 on.
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

/// Definition and repetition levels.
type Levels<'a> = (Option<&'a [i16]>, Option<&'a [i16]>);

fn write_array(
    column: &mut ColumnWriter<'_>,
    dtype: DType,
    bytes: &[u8],
    (defs, reps): Levels<'_>,
) -> Result<()> {
    macro_rules! write {
        ($column:ty, $element:ty, $from:expr) => {{
            let elements = bytes.as_chunks::<{ size_of::<$element>() }>().0.iter();
            let values: Vec<_> = elements.map($from).collect();
            typed::<$column>(column).write_batch(&values, defs, reps)?
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

/// The eight bytes of each integer and float of a sample.
pub(crate) fn cells(sample: &Sample<Encoded>) -> Vec<[u8; 8]> {
    let cell = |value: &Value<Encoded>| match value {
        Value::Int(int) => Some(int.to_le_bytes()),
        Value::Float(float) => Some(float.to_le_bytes()),
        _ => None,
    };
    sample.values.iter().filter_map(cell).collect()
}
