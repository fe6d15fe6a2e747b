//! The bytes of header, descriptors, rows and table: `SPEC.md` as code, without files or policy.
use fdconvert_core::{
    ArraySpec, DType, FieldSpec, Kind,
    bytes::{u16_at, u32_at, u64_at},
};

pub(crate) const FORMAT: &str = "beton";
pub(crate) const VERSION: u16 = 2;
pub(crate) const HEADER_LEN: u64 = 24;
pub(crate) const DESCRIPTOR_LEN: usize = 1041;
pub(crate) const ENTRY_LEN: u64 = 24;
pub(crate) const NAME_LEN: usize = 16;

const SHAPE_AT: usize = 17;
const MAX_DIMS: usize = 32;
const DTYPE_LEN_AT: usize = SHAPE_AT + 8 * MAX_DIMS;
const DTYPE_AT: usize = DTYPE_LEN_AT + 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) version: u16,
    pub(crate) n_fields: u16,
    pub(crate) page_bytes: u32,
    pub(crate) n_samples: u64,
    /// 0 while the file is unfinished.
    pub(crate) table_offset: u64,
}

/// How a field is stored: the type in its descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Storage {
    Float,
    Int,
    Image,
    Bytes,
    Json,
    /// Bytes of every value.
    Array(u64),
}

/// Place of a field in the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) storage: Storage,
    pub(crate) offset: usize,
    /// Position among the sample's regions, for values stored outside the row.
    pub(crate) region: Option<u32>,
}

/// Layout of the row, as a C struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowLayout {
    pub(crate) columns: Vec<Column>,
    pub(crate) row_bytes: usize,
    pub(crate) n_regions: u32,
}

/// Entry of the allocation table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) sample: u64,
    pub(crate) pointer: u64,
    pub(crate) len: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ImageCell {
    pub(crate) mode: u8,
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) pointer: u64,
}

const POINTER_AT: usize = 5;

pub(crate) const MODE_JPEG: u8 = 0;
pub(crate) const MODE_RAW: u8 = 1;

impl Header {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            version: u16_at(bytes, 0)?,
            n_fields: u16_at(bytes, 2)?,
            page_bytes: u32_at(bytes, 4)?,
            n_samples: u64_at(bytes, 8)?,
            table_offset: u64_at(bytes, 16)?,
        })
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_LEN as usize] {
        let mut bytes = [0; HEADER_LEN as usize];
        bytes[0..2].copy_from_slice(&self.version.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.n_fields.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.page_bytes.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.n_samples.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.table_offset.to_le_bytes());
        bytes
    }

    pub(crate) fn rows_offset(&self) -> u64 {
        HEADER_LEN + DESCRIPTOR_LEN as u64 * u64::from(self.n_fields)
    }
}

impl Storage {
    /// Returns how values of this kind are stored; `None` if they cannot be.
    pub(crate) fn of(kind: &Kind) -> Option<Self> {
        Some(match kind {
            Kind::Float => Self::Float,
            Kind::Int => Self::Int,
            Kind::Image => Self::Image,
            Kind::Bytes | Kind::Images => Self::Bytes,
            Kind::Json | Kind::Text => Self::Json,
            Kind::Array(spec) => Self::Array(spec.byte_len()?),
            _ => return None,
        })
    }

    fn size_and_alignment(&self) -> (usize, usize) {
        match self {
            Self::Float | Self::Int | Self::Array(_) => (8, 8),
            Self::Image => (13, 1),
            Self::Bytes | Self::Json => (16, 1),
        }
    }
}

impl RowLayout {
    pub(crate) fn new(storages: impl IntoIterator<Item = Storage>) -> Self {
        let (mut end, mut largest, mut n_regions, mut columns) = (0_usize, 1, 0, Vec::new());
        for storage in storages {
            let (size, alignment) = storage.size_and_alignment();
            let offset = end.next_multiple_of(alignment);
            let stored = !matches!(storage, Storage::Float | Storage::Int);
            let region = stored.then_some(n_regions);
            n_regions += u32::from(stored);
            (end, largest) = (offset + size, largest.max(alignment));
            columns.push(Column { storage, offset, region });
        }
        Self { columns, row_bytes: end.next_multiple_of(largest), n_regions }
    }
}

impl Entry {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (sample, pointer) = (u64_at(bytes, 0)?, u64_at(bytes, 8)?);
        Some(Self { sample, pointer, len: u64_at(bytes, 16)? })
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.sample.to_le_bytes());
        out.extend_from_slice(&self.pointer.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
    }
}

impl ImageCell {
    pub(crate) fn parse(row: &[u8], at: usize) -> Option<Self> {
        Some(Self {
            mode: *row.get(at)?,
            width: u16_at(row, at + 1)?,
            height: u16_at(row, at + 3)?,
            pointer: u64_at(row, at + POINTER_AT)?,
        })
    }

    pub(crate) fn encode(&self) -> [u8; 13] {
        let mut cell = [0; 13];
        cell[0] = self.mode;
        cell[1..3].copy_from_slice(&self.width.to_le_bytes());
        cell[3..5].copy_from_slice(&self.height.to_le_bytes());
        cell[POINTER_AT..].copy_from_slice(&self.pointer.to_le_bytes());
        cell
    }
}

/// Encodes the descriptor of a field.
///
/// # Errors
/// The reason why the field has no descriptor in this format.
pub(crate) fn encode_descriptor(field: &FieldSpec) -> Result<Vec<u8>, String> {
    let name = field.name.as_bytes();
    if !field.name.is_ascii() || name.is_empty() || name.len() > NAME_LEN || name.contains(&0) {
        let message = format!("field names are 1 to {NAME_LEN} ASCII characters: `{}`", field.name);
        return Err(message);
    }
    let mut bytes = vec![0; DESCRIPTOR_LEN];
    bytes[0] = match &field.kind {
        Kind::Float => 0,
        Kind::Int => 1,
        Kind::Image => 2,
        Kind::Bytes | Kind::Images => 3,
        Kind::Json | Kind::Text => 5,
        Kind::Array(spec) => {
            encode_array(spec, &mut bytes)
                .map_err(|problem| format!("field `{}`: {problem}", field.name))?;
            if spec.torch { 6 } else { 4 }
        }
        kind => return Err(format!("field `{}`: no {} in a beton", field.name, kind.name())),
    };
    bytes[1..=name.len()].copy_from_slice(name);
    Ok(bytes)
}

fn encode_array(spec: &ArraySpec, bytes: &mut [u8]) -> Result<(), String> {
    if spec.shape.len() > MAX_DIMS || spec.shape.contains(&0) {
        let shape = &spec.shape;
        return Err(format!("arrays have at most {MAX_DIMS} dimensions, none empty: {shape:?}"));
    }
    for (dim, at) in stored_shape(&spec.shape).iter().zip((SHAPE_AT..).step_by(8)) {
        bytes[at..at + 8].copy_from_slice(&dim.to_le_bytes());
    }
    let dtype = format!("[[\"\", \"{}\"]]", spec.dtype.numpy());
    bytes[DTYPE_LEN_AT..DTYPE_AT].copy_from_slice(&(dtype.len() as u64).to_le_bytes());
    bytes[DTYPE_AT..DTYPE_AT + dtype.len()].copy_from_slice(dtype.as_bytes());
    Ok(())
}

/// FFCV cannot read a descriptor without dimensions, so a scalar becomes an array of one element.
pub(crate) fn stored_shape(shape: &[u64]) -> &[u64] {
    if shape.is_empty() { &[1] } else { shape }
}

/// Why a descriptor gives no field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadField {
    /// It breaks the layout.
    Damaged(String),
    /// It may be valid, but only its writer or NumPy can interpret it.
    Unsupported(String),
}

impl<S: Into<String>> From<S> for BadField {
    fn from(what: S) -> Self {
        Self::Damaged(what.into())
    }
}

/// Parses a descriptor.
pub(crate) fn parse_descriptor(bytes: &[u8]) -> Result<FieldSpec, BadField> {
    let name = bytes.get(1..=NAME_LEN).ok_or("the descriptor is cut short")?;
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let name = match std::str::from_utf8(name) {
        Ok(name) if name.is_ascii() && !name.is_empty() => name,
        _ => return Err("a field's name is not ASCII text".into()),
    };
    let kind = match bytes.first() {
        Some(0) => Kind::Float,
        Some(1) => Kind::Int,
        Some(2) => Kind::Image,
        Some(3) => Kind::Bytes,
        Some(5) => Kind::Json,
        Some(&code @ (4 | 6)) => {
            Kind::Array(parse_array(bytes, code == 6).map_err(|problem| match problem {
                BadField::Damaged(what) => format!("field `{name}`: {what}").into(),
                BadField::Unsupported(what) => {
                    BadField::Unsupported(format!("field `{name}`: {what}"))
                }
            })?)
        }
        Some(255) => {
            let what = format!(
                "field `{name}` is of a custom type that only its writer knows; write the dataset \
                 again without it"
            );
            return Err(BadField::Unsupported(what));
        }
        code => return Err(format!("field `{name}` is of unknown type {code:?}").into()),
    };
    Ok(FieldSpec::new(name, kind))
}

fn parse_array(bytes: &[u8], torch: bool) -> Result<ArraySpec, BadField> {
    let dim = |i: usize| u64_at(bytes, SHAPE_AT + 8 * i).ok_or("the descriptor is cut short");
    let mut shape = (0..MAX_DIMS).map(dim).collect::<Result<Vec<_>, _>>()?;
    let n_dims = shape.iter().rposition(|&dim| dim != 0).map_or(0, |last| last + 1);
    shape.truncate(n_dims);
    let dtype = u64_at(bytes, DTYPE_LEN_AT)
        .and_then(|len| usize::try_from(len).ok())
        .and_then(|len| bytes.get(DTYPE_AT..DESCRIPTOR_LEN)?.get(..len))
        .ok_or("the element type's length is out of bounds")?;
    let described: Vec<(String, String)> =
        serde_json::from_slice(dtype).map_err(|_| "the element type is not a NumPy description")?;
    let dtype = match &described[..] {
        [(_, name)] => DType::from_numpy(name).ok_or_else(|| {
            BadField::Unsupported(format!("elements of type `{name}` are not supported"))
        })?,
        _ => {
            let what = "structured element types are not supported";
            return Err(BadField::Unsupported(what.into()));
        }
    };
    let spec = ArraySpec { dtype, shape, torch };
    spec.byte_len().ok_or("the shape overflows")?;
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks against NumPy's offsets and size for the same fields with `align=True`.
    #[test]
    fn rows_are_laid_out_as_numpy_does() {
        use Storage::{Array, Bytes, Float, Image, Int, Json};
        let check = |storages: &[Storage], offsets: &[usize], row_bytes| {
            let layout = RowLayout::new(storages.iter().cloned());
            let found: Vec<_> = layout.columns.iter().map(|column| column.offset).collect();
            assert_eq!((&found[..], layout.row_bytes), (offsets, row_bytes), "{storages:?}");
        };
        check(&[Image, Int], &[0, 16], 24);
        check(&[Int, Image], &[0, 8], 24);
        check(&[Image], &[0], 13);
        check(&[Image, Bytes], &[0, 13], 29);
        check(&[Image, Int, Float, Bytes, Json, Array(4)], &[0, 16, 24, 32, 48, 64], 72);
        check(&[Image, Image, Array(4), Image], &[0, 13, 32, 40], 56);
        check(&[Int, Float], &[0, 8], 16);
        check(&[], &[], 0);
    }

    #[test]
    fn descriptors_come_back() {
        let array = |shape: &[u64], torch| {
            Kind::Array(ArraySpec { dtype: DType::F16, shape: shape.to_vec(), torch })
        };
        for kind in [
            Kind::Float,
            Kind::Int,
            Kind::Image,
            Kind::Bytes,
            Kind::Json,
            array(&[2, 3], false),
            array(&[1; 32], true),
        ] {
            let field = FieldSpec::new("sixteen_letters_", kind);
            assert_eq!(parse_descriptor(&encode_descriptor(&field).unwrap()), Ok(field));
        }
        for name in ["", "seventeen_letters", "ü", "a\0b"] {
            assert!(encode_descriptor(&FieldSpec::new(name, Kind::Int)).is_err(), "{name}");
        }
        for shape in [&[3, 0][..], &[0], &[1; 33]] {
            assert!(encode_descriptor(&FieldSpec::new("a", array(shape, false))).is_err());
        }
    }

    #[test]
    fn custom_fields_are_refused_by_name() {
        let mut bytes = encode_descriptor(&FieldSpec::new("mine", Kind::Int)).unwrap();
        bytes[0] = 255;
        let problem = parse_descriptor(&bytes).unwrap_err();
        let BadField::Unsupported(what) = problem else { panic!("{problem:?}") };
        assert!(what.contains("`mine`") && what.contains("custom"), "{what}");
    }
}
