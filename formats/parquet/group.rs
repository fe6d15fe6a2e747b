//! A row group: samples that are kept until there are enough, and then become columns.
use super::{
    features::{repetition, stored},
    target::Target,
};
use ::parquet::{
    column::writer::{ColumnWriter, get_typed_column_writer_mut as typed},
    data_type::{
        BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
        FloatType, Int32Type, Int64Type,
    },
    errors::Result,
};
use fdconvert_core::{ArraySpec, DType, Encoded, FieldSpec, Kind, Sample, Schema, Value};

/// Writes samples as a row group, and returns where the bytes of its images are, field after field.
pub(crate) fn write(
    file: &mut Target,
    schema: &Schema,
    samples: &[Sample<Encoded>],
) -> Result<Vec<Vec<u64>>> {
    let mut places = Vec::new();
    for (at, field) in schema.fields.iter().enumerate() {
        let values: Vec<&Value<Encoded>> =
            samples.iter().filter_map(|sample| sample.values.get(at)).collect();
        if field.kind == Kind::Image {
            let images = values.iter().filter_map(|value| match value {
                Value::Image(image) => Some(image.bytes.clone()),
                _ => None,
            });
            let is_first = places.is_empty();
            places.push(file.images(&images.collect::<Vec<_>>())?);
            file.column(|column| names(column, samples, is_first))?;
        } else {
            file.column(|column| plain(column, field, &values))?;
        }
    }
    file.end_group()?;
    Ok(places)
}

/// Writes the names of images: the first one bears the key.
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

/// Writes values that are not images.
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
