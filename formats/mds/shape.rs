//! Arrays with a shape, and perhaps an element type, in front of each value: as a field, all have
//! those of the first.
use crate::mds::{MdsReader, columns::LEAVE_OUT, encoding::Encoding, layout::FORMAT};
use bytes::Bytes;
use fdconvert_core::{ArraySpec, DType, Error, FieldSpec, Kind, Remark, Result, option};

/// Samples to read for a first value.
const LOOKED_AT: u64 = 16;
/// NumPy's limit in all its versions.
pub(crate) const MAX_DIMS: usize = 32;

/// Turns the columns of such arrays into fields, with type and shape of their first value.
///
/// # Errors
/// `Io`; `Unsupported` if the first values are not arrays.
pub(crate) fn find(reader: &mut MdsReader) -> Result<()> {
    for at in 0..reader.fields.columns.len() {
        let column = reader.fields.columns.get(at).copied().unwrap_or(usize::MAX);
        let encoding = reader.columns.get(column).map(|column| column.encoding.clone());
        let Some(Encoding::Shaped(dtype)) = encoding else { continue };
        let mut found = None;
        for index in 0..reader.facts.len.min(LOOKED_AT) {
            found = match reader.stored(index) {
                Ok(stored) => array(&stored.value(column), dtype).ok().map(|(spec, _)| spec),
                Err(error @ Error::Io { .. }) => return Err(error),
                Err(_) => None,
            };
            if found.is_some() {
                break;
            }
        }
        let Some(field) = reader.facts.schema.fields.get_mut(at) else { continue };
        let Some(spec) = found else {
            let what = format!("column `{}`: its first values have no shape", field.name);
            let drop = option::DROP_FIELDS.with(&field.name);
            let (path, what) = (reader.path.clone(), Remark::from(what).cure(LEAVE_OUT, drop));
            return Err(Error::Unsupported { format: FORMAT, path, what });
        };
        field.kind = Kind::Array(spec);
    }
    Ok(())
}

/// The elements of a value; it must have the field's type and shape.
///
/// The error completes a sentence such as "the field ...".
pub(crate) fn elements(
    field: &FieldSpec,
    dtype: Option<DType>,
    value: &Bytes,
) -> Result<Bytes, String> {
    let (found, elements) = array(value, dtype)?;
    match &field.kind {
        Kind::Array(spec) if *spec == found => Ok(elements),
        Kind::Array(ArraySpec { dtype, shape, .. }) => Err(format!(
            "an array of {} {:?}, and the first of the dataset is of {} {shape:?}: write the column \
             again as `bytes`, or leave the column out",
            found.dtype.name(),
            found.shape,
            dtype.name(),
        )),
        _ => Err("a kind of value that MDS does not hold".to_owned()),
    }
}

/// Parses a value into its type and shape, and its elements.
fn array(value: &Bytes, dtype: Option<DType>) -> Result<(ArraySpec, Bytes), String> {
    const CUT: &str = "an array that is cut short";
    let mut at = 0;
    let mut take = |len: usize| -> Result<&[u8], String> {
        let bytes = value.get(at..).and_then(|rest| rest.get(..len)).ok_or(CUT)?;
        at += len;
        Ok(bytes)
    };
    let dtype = match dtype {
        Some(dtype) => dtype,
        None => match take(1)? {
            [code] => numbered(*code).ok_or("an array of a type that is not known")?,
            _ => return Err(CUT.to_owned()),
        },
    };
    let head = take(1)?.first().copied().unwrap_or(0);
    let (n_dims, dim_bytes) = (usize::from(head >> 2), 1_usize << (head & 3));
    if n_dims == 0 || n_dims > MAX_DIMS {
        return Err(format!("an array of {n_dims} dimensions"));
    }
    let dims = take(n_dims * dim_bytes)?.chunks_exact(dim_bytes).map(|dim| {
        let mut word = [0; 8];
        dim.iter().zip(&mut word).for_each(|(from, to)| *to = *from);
        u64::from_le_bytes(word)
    });
    let spec = ArraySpec { dtype, shape: dims.collect(), torch: false };
    let elements = value.slice(at..);
    if spec.byte_len() != Some(elements.len() as u64) || elements.is_empty() {
        return Err(format!("{} bytes do not fill the array's shape", elements.len()));
    }
    Ok((spec, elements))
}

/// The element type with this number.
fn numbered(code: u8) -> Option<DType> {
    Some(match code {
        8 => DType::U8,
        9 => DType::I8,
        16 => DType::U16,
        17 => DType::I16,
        18 => DType::F16,
        32 => DType::U32,
        33 => DType::I32,
        34 => DType::F32,
        64 => DType::U64,
        65 => DType::I64,
        66 => DType::F64,
        _ => return None,
    })
}
