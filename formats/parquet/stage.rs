//! Checks samples before they are kept for their row group, and maps a schema to columns.
use super::{
    features::stored,
    layout::{CREATED_BY, IMAGE_PAGE_BYTES, MAX_VALUE_BYTES, PAGE_ROWS},
};
use ::parquet::{
    basic::{
        Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel,
    },
    errors::ParquetError,
    file::properties::{EnabledStatistics, WriterProperties, WriterVersion},
    schema::types::{ColumnPath, Type, TypePtr},
};
use fdconvert_core::{
    ArraySpec, Codec, DType, Encoded, Error, FieldSpec, Kind, Result, Sample, Schema, Value,
};
use std::sync::Arc;

/// Checks whether a sample can be stored.
pub(crate) fn check(schema: &Schema, sample: &Sample<Encoded>) -> Result<()> {
    schema.check(sample)?;
    let mut bytes = sample.key.len() as u64;
    for (field, value) in schema.fields.iter().zip(&sample.values) {
        let refuse =
            |what: String| Error::sample(&sample.key, format!("field `{}`: {what}", field.name));
        bytes += match value {
            Value::Int(_) | Value::Float(_) => 8,
            Value::Image(image) => {
                check_image(image).map_err(refuse)?;
                image.bytes.len() as u64
            }
            Value::Images(images) => {
                images.iter().try_for_each(check_image).map_err(refuse)?;
                images.iter().map(|image| 4 + image.bytes.len() as u64).sum()
            }
            Value::Json(json) if std::str::from_utf8(json).is_err() => {
                return Err(refuse("its JSON is not UTF-8".to_owned()));
            }
            Value::Text(text) => text.len() as u64,
            Value::Bytes(bytes) | Value::Json(bytes) | Value::Array(bytes) => bytes.len() as u64,
            _ => return Err(refuse("a kind of value that Parquet does not hold".to_owned())),
        };
    }
    if bytes > MAX_VALUE_BYTES {
        let what = format!("its {bytes} bytes are more than a page holds: {MAX_VALUE_BYTES}");
        return Err(Error::sample(&sample.key, what));
    }
    Ok(())
}

/// Readers detect codec and size from the content, so these must match.
fn check_image(image: &Encoded) -> Result<(), String> {
    if image.codec == Codec::Raw {
        return Err("other readers cannot name raw pixels".to_owned());
    }
    let header = fdconvert_core::probe::probe(&image.bytes)?;
    let said = (image.codec, image.width, image.height);
    let found = (header.codec, header.width, header.height);
    if said == found { Ok(()) } else { Err(format!("said to be {said:?}, it is {found:?}")) }
}

pub(crate) fn message(schema: &Schema) -> Result<TypePtr, ParquetError> {
    let fields = schema.fields.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?))
}

fn column(field: &FieldSpec) -> Result<TypePtr, ParquetError> {
    let name = &field.name;
    let plain = |physical| primitive(name, physical, None, ConvertedType::NONE, None);
    Ok(Arc::new(match &field.kind {
        Kind::Image => image(name)?,
        Kind::Images => list(name, image("element")?)?,
        Kind::Int => plain(Physical::INT64)?,
        Kind::Float => plain(Physical::DOUBLE)?,
        Kind::Bytes => plain(Physical::BYTE_ARRAY)?,
        Kind::Array(spec) => array(name, spec)?,
        _ => text(name)?,
    }))
}

fn image(name: &str) -> Result<Type, ParquetError> {
    let bytes = primitive("bytes", Physical::BYTE_ARRAY, None, ConvertedType::NONE, None)?;
    let members = vec![Arc::new(bytes), Arc::new(text("path")?)];
    group(name, Repetition::OPTIONAL, None, ConvertedType::NONE, members)
}

fn list(name: &str, element: Type) -> Result<Type, ParquetError> {
    let elements = vec![Arc::new(element)];
    let list = group("list", Repetition::REPEATED, None, ConvertedType::NONE, elements)?;
    let (logical, converted) = (Some(LogicalType::List), ConvertedType::LIST);
    group(name, Repetition::OPTIONAL, logical, converted, vec![Arc::new(list)])
}

fn primitive(
    name: &str,
    physical: Physical,
    logical: Option<LogicalType>,
    converted: ConvertedType,
    len: Option<i32>,
) -> Result<Type, ParquetError> {
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .with_converted_type(converted)
        .with_length(len.unwrap_or(-1))
        .build()
}

fn text(name: &str) -> Result<Type, ParquetError> {
    let logical = Some(LogicalType::String);
    primitive(name, Physical::BYTE_ARRAY, logical, ConvertedType::UTF8, None)
}

fn group(
    name: &str,
    repetition: Repetition,
    logical: Option<LogicalType>,
    converted: ConvertedType,
    fields: Vec<TypePtr>,
) -> Result<Type, ParquetError> {
    Type::group_type_builder(name)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .with_converted_type(converted)
        .with_fields(fields)
        .build()
}

/// Nested lists, one per dimension of the array.
fn array(name: &str, spec: &ArraySpec) -> Result<Type, ParquetError> {
    let (shape, _) = stored(spec);
    let integer = |bits: i8, signed: bool, converted| {
        let physical = if bits == 64 { Physical::INT64 } else { Physical::INT32 };
        primitive("element", physical, Some(LogicalType::integer(bits, signed)), converted, None)
    };
    let plain = |physical| primitive("element", physical, None, ConvertedType::NONE, None);
    let mut inner = match spec.dtype {
        DType::Bool => plain(Physical::BOOLEAN)?,
        DType::I8 => integer(8, true, ConvertedType::INT_8)?,
        DType::U8 => integer(8, false, ConvertedType::UINT_8)?,
        DType::I16 => integer(16, true, ConvertedType::INT_16)?,
        DType::U16 => integer(16, false, ConvertedType::UINT_16)?,
        DType::I32 => plain(Physical::INT32)?,
        DType::U32 => integer(32, false, ConvertedType::UINT_32)?,
        DType::I64 => plain(Physical::INT64)?,
        DType::U64 => integer(64, false, ConvertedType::UINT_64)?,
        DType::F16 => {
            let (physical, logical) = (Physical::FIXED_LEN_BYTE_ARRAY, LogicalType::Float16);
            primitive("element", physical, Some(logical), ConvertedType::NONE, Some(2))?
        }
        DType::F32 | DType::C64 => plain(Physical::FLOAT)?,
        DType::F64 | DType::C128 => plain(Physical::DOUBLE)?,
    };
    for depth in (0..shape.len()).rev() {
        inner = list(if depth == 0 { name } else { "element" }, inner)?;
    }
    Ok(inner)
}

/// Properties for the writer: images are stored uncompressed with a page each, everything else in
/// small pages compressed by Zstandard.
pub(crate) fn properties(schema: &Schema) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_created_by(format!("{CREATED_BY}{}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::PLAIN)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .set_max_row_group_row_count(None);
    for field in &schema.fields {
        let parts = match field.kind {
            Kind::Image => &["bytes"][..],
            Kind::Images => &["list", "element", "bytes"],
            _ => &[],
        };
        if !parts.is_empty() {
            let parts = parts.iter().map(|part| (*part).to_owned());
            let path = ColumnPath::new([field.name.clone()].into_iter().chain(parts).collect());
            properties = properties
                .set_column_compression(path.clone(), Compression::UNCOMPRESSED)
                .set_column_data_page_size_limit(path, IMAGE_PAGE_BYTES);
        }
    }
    Ok(properties.build())
}
