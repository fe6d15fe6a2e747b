//! The columns of a file that hold values, and how fields are assembled from them.
use super::{cell::Cell, values::Rows};
use ::parquet::{
    basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical},
    schema::types::{BasicTypeInfo, ColumnDescPtr, Type},
};
use fdconvert_core::DType;
use std::sync::Arc;

/// Limit of a 256-bit type.
pub(crate) const MAX_DECIMALS: u32 = 76;
/// A deeper schema could exhaust the stack.
const MAX_DEPTH: usize = 32;

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeafKind {
    Bool,
    /// Signed integers; times and dates keep their stored integers.
    Int,
    Unsigned,
    Half,
    Single,
    Double,
    Text,
    Bytes,
    /// With this many decimals.
    Decimal(u32),
    /// Only nulls.
    Null,
}

/// A column of values.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) descr: ColumnDescPtr,
    pub(crate) kind: LeafKind,
}

impl Leaf {
    pub(crate) fn new(descr: ColumnDescPtr) -> Self {
        let info = descr.get_basic_info();
        let kind = match descr.physical_type() {
            _ if matches!(info.logical_type_ref(), Some(LogicalType::Unknown)) => LeafKind::Null,
            _ if info.converted_type() == ConvertedType::DECIMAL => {
                LeafKind::Decimal(u32::try_from(descr.type_scale()).unwrap_or(u32::MAX))
            }
            Physical::BOOLEAN => LeafKind::Bool,
            Physical::INT32 | Physical::INT64 if is_unsigned(info) => LeafKind::Unsigned,
            Physical::INT32 | Physical::INT64 | Physical::INT96 => LeafKind::Int,
            Physical::FLOAT => LeafKind::Single,
            Physical::DOUBLE => LeafKind::Double,
            Physical::FIXED_LEN_BYTE_ARRAY
                if matches!(info.logical_type_ref(), Some(LogicalType::Float16)) =>
            {
                LeafKind::Half
            }
            _ if is_text(info) => LeafKind::Text,
            _ => LeafKind::Bytes,
        };
        Self { descr, kind }
    }
}

impl Leaf {
    /// The field that contains it.
    pub(crate) fn field(&self) -> &str {
        self.descr.path().parts().first().map_or("", String::as_str)
    }

    /// Returns true if it belongs to one of these fields.
    pub(crate) fn is_in(&self, fields: &[String]) -> bool {
        fields.iter().any(|field| field == self.field())
    }

    /// Unit of its integers, if they are not plain numbers.
    pub(crate) fn unit(&self) -> Option<&'static str> {
        let info = self.descr.get_basic_info();
        Some(match (self.descr.physical_type(), info.logical_type_ref()) {
            (Physical::INT96, _) => "times in nanoseconds",
            (_, Some(LogicalType::Date)) => "dates in days",
            (_, Some(LogicalType::Timestamp(it))) => match it.unit {
                TimeUnit::MILLIS => "times in milliseconds",
                TimeUnit::MICROS => "times in microseconds",
                TimeUnit::NANOS => "times in nanoseconds",
            },
            (_, Some(LogicalType::Time(it))) => match it.unit {
                TimeUnit::MILLIS => "times of a day in milliseconds",
                TimeUnit::MICROS => "times of a day in microseconds",
                TimeUnit::NANOS => "times of a day in nanoseconds",
            },
            _ => match info.converted_type() {
                ConvertedType::DATE => "dates in days",
                ConvertedType::TIMESTAMP_MILLIS => "times in milliseconds",
                ConvertedType::TIMESTAMP_MICROS => "times in microseconds",
                ConvertedType::TIME_MILLIS => "times of a day in milliseconds",
                ConvertedType::TIME_MICROS => "times of a day in microseconds",
                _ => return None,
            },
        })
    }

    /// The element type, if values are numbers of one size.
    pub(crate) fn dtype(&self) -> Option<DType> {
        use ConvertedType::{INT_8, INT_16, UINT_8, UINT_16};
        let is_wide = self.descr.physical_type() == Physical::INT64;
        Some(match (self.kind, self.descr.converted_type()) {
            (LeafKind::Bool, _) => DType::Bool,
            (LeafKind::Int, INT_8) => DType::I8,
            (LeafKind::Int, INT_16) => DType::I16,
            (LeafKind::Int, _) if self.descr.physical_type() == Physical::INT96 => return None,
            (LeafKind::Int, _) => {
                if is_wide {
                    DType::I64
                } else {
                    DType::I32
                }
            }
            (LeafKind::Unsigned, UINT_8) => DType::U8,
            (LeafKind::Unsigned, UINT_16) => DType::U16,
            (LeafKind::Unsigned, _) => {
                if is_wide {
                    DType::U64
                } else {
                    DType::U32
                }
            }
            (LeafKind::Half, _) => DType::F16,
            (LeafKind::Single, _) => DType::F32,
            (LeafKind::Double, _) => DType::F64,
            _ => return None,
        })
    }
}

fn is_unsigned(info: &BasicTypeInfo) -> bool {
    use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
    matches!(info.converted_type(), UINT_8 | UINT_16 | UINT_32 | UINT_64)
}

fn is_text(info: &BasicTypeInfo) -> bool {
    use ConvertedType::{ENUM, JSON, UTF8};
    matches!(info.converted_type(), UTF8 | ENUM | JSON)
        || matches!(
            info.logical_type_ref(),
            Some(LogicalType::String | LogicalType::Enum | LogicalType::Json)
        )
}

/// Structure of nested values.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// It is null below this definition level; 0 if it is never null.
    pub(crate) null_below: i16,
    /// First column at or below it.
    first_leaf: usize,
    n_leaves: usize,
    pub(crate) shape: Shape,
}

#[derive(Debug, Clone)]
pub(crate) enum Shape {
    /// The number of the column.
    Leaf(usize),
    Struct(Vec<(Arc<str>, Node)>),
    /// Elements: each starts at this repetition level, and the list is empty below this definition
    /// level.
    List {
        rep: i16,
        def: i16,
        element: Box<Node>,
    },
    /// As a list of structs of a key and a value.
    Map {
        rep: i16,
        def: i16,
        entry: Box<Node>,
    },
}

impl Node {
    pub(crate) fn roots(schema: &Type) -> Result<Vec<(Arc<str>, Self)>, String> {
        let mut next_leaf = 0;
        let fields = schema.get_fields().iter();
        let root = |field: &Arc<Type>| {
            let node = node(field, 0, 0, &mut next_leaf, 0)?;
            Ok((Arc::from(field.name()), node))
        };
        fields.map(root).collect()
    }

    /// Number of the only column of values.
    pub(crate) fn as_leaf(&self) -> Option<usize> {
        match &self.shape {
            Shape::Leaf(leaf) => Some(*leaf),
            _ => None,
        }
    }

    /// Column number of a member of a struct.
    pub(crate) fn member_leaf(&self, name: &str) -> Option<usize> {
        let Shape::Struct(members) = &self.shape else { return None };
        members.iter().find(|(member, _)| **member == *name)?.1.as_leaf()
    }

    /// Returns true if the first member of a struct is a column.
    fn begins_with_leaf(&self) -> bool {
        matches!(&self.shape, Shape::Struct(members)
            if members.first().is_some_and(|(_, member)| member.as_leaf().is_some()))
    }

    /// The element of a list.
    pub(crate) fn element(&self) -> Option<&Self> {
        match &self.shape {
            Shape::List { element, .. } => Some(element),
            _ => None,
        }
    }

    /// Range of the column numbers at and below it.
    pub(crate) fn leaves(&self) -> std::ops::Range<usize> {
        self.first_leaf..self.first_leaf + self.n_leaves
    }
}

fn is_list(info: &BasicTypeInfo) -> bool {
    info.converted_type() == ConvertedType::LIST
        || matches!(info.logical_type_ref(), Some(LogicalType::List))
}

fn is_map(info: &BasicTypeInfo) -> bool {
    use ConvertedType::{MAP, MAP_KEY_VALUE};
    matches!(info.converted_type(), MAP | MAP_KEY_VALUE)
        || matches!(info.logical_type_ref(), Some(LogicalType::Map))
}

fn repetition(ty: &Type) -> Repetition {
    let info = ty.get_basic_info();
    if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED }
}

fn node(
    ty: &Type,
    def: i16,
    rep: i16,
    next_leaf: &mut usize,
    depth: usize,
) -> Result<Node, String> {
    if depth > MAX_DEPTH {
        return Err(format!("its columns nest more than {MAX_DEPTH} deep"));
    }
    let first_leaf = *next_leaf;
    match repetition(ty) {
        // A list without the groups that the specification now requires around lists.
        Repetition::REPEATED => {
            let (def, rep) = (def + 1, rep + 1);
            let element = Box::new(content(ty, 0, def, rep, next_leaf, depth)?);
            let shape = Shape::List { rep, def, element };
            Ok(Node { null_below: 0, first_leaf, n_leaves: *next_leaf - first_leaf, shape })
        }
        Repetition::OPTIONAL => content(ty, def + 1, def + 1, rep, next_leaf, depth),
        Repetition::REQUIRED => content(ty, 0, def, rep, next_leaf, depth),
    }
}

/// Content of a type, apart from its repetition.
fn content(
    ty: &Type,
    null_below: i16,
    def: i16,
    rep: i16,
    next_leaf: &mut usize,
    depth: usize,
) -> Result<Node, String> {
    let first_leaf = *next_leaf;
    let shape = if ty.is_primitive() {
        *next_leaf += 1;
        Shape::Leaf(first_leaf)
    } else {
        let repeated = match ty.get_fields() {
            [only] if repetition(only) == Repetition::REPEATED => Some(only),
            _ => None,
        };
        match repeated {
            Some(repeated) if is_list(ty.get_basic_info()) => {
                let (def, rep) = (def + 1, rep + 1);
                let element = element(ty, repeated, def, rep, next_leaf, depth + 1)?;
                Shape::List { rep, def, element: Box::new(element) }
            }
            Some(repeated) if is_map(ty.get_basic_info()) && repeated.is_group() => {
                let (def, rep) = (def + 1, rep + 1);
                let entry = content(repeated, 0, def, rep, next_leaf, depth + 1)?;
                Shape::Map { rep, def, entry: Box::new(entry) }
            }
            _ => {
                let member = |field: &Arc<Type>| {
                    let node = node(field, def, rep, next_leaf, depth + 1)?;
                    Ok::<_, String>((Arc::from(field.name()), node))
                };
                Shape::Struct(ty.get_fields().iter().map(member).collect::<Result<_, _>>()?)
            }
        }
    };
    Ok(Node { null_below, first_leaf, n_leaves: *next_leaf - first_leaf, shape })
}

/// The element of a list, by the specification's rules for backward compatibility.
fn element(
    list: &Type,
    repeated: &Type,
    def: i16,
    rep: i16,
    next_leaf: &mut usize,
    depth: usize,
) -> Result<Node, String> {
    let is_element = !repeated.is_group()
        || repeated.get_fields().len() != 1
        || repeated.name() == "array"
        || repeated.name() == format!("{}_tuple", list.name());
    match repeated.get_fields_checked() {
        Some([only]) if !is_element => node(only, def, rep, next_leaf, depth),
        _ => content(repeated, 0, def, rep, next_leaf, depth),
    }
}

trait GroupFields {
    fn get_fields_checked(&self) -> Option<&[Arc<Type>]>;
}

impl GroupFields for Type {
    /// The fields of a group; the library's own call panics for other types.
    fn get_fields_checked(&self) -> Option<&[Arc<Type>]> {
        self.is_group().then(|| self.get_fields())
    }
}

/// Position within one column of the row being read.
pub(crate) struct Cursor<'a> {
    pub(crate) leaf: &'a Leaf,
    pub(crate) rows: &'a Rows,
    pub(crate) at: usize,
    pub(crate) end: usize,
}

impl Cursor<'_> {
    /// Definition and repetition of the next level.
    fn peek(&self) -> Option<(i16, i16)> {
        (self.at < self.end).then(|| (self.rows.def(self.at), self.rows.rep(self.at)))
    }
}

const DISAGREE: &str = "the levels of its columns do not agree";

impl Node {
    /// Assembles the value at the cursors, which start at column number `first`, and moves them
    /// past it.
    pub(crate) fn read(&self, cursors: &mut [Cursor<'_>], first: usize) -> Result<Cell, String> {
        let lead = self.first_leaf.checked_sub(first).ok_or(DISAGREE)?;
        let peek = |cursors: &[Cursor<'_>]| cursors.get(lead).and_then(Cursor::peek);
        let Some((def, _)) = peek(cursors) else {
            // A struct without members has no column that could tell.
            return if self.n_leaves == 0 { Ok(Cell::Null) } else { Err(DISAGREE.to_owned()) };
        };
        if def < self.null_below {
            self.pass(cursors, first)?;
            return Ok(Cell::Null);
        }
        match &self.shape {
            Shape::Leaf(_) => {
                let cursor = cursors.get_mut(lead).ok_or(DISAGREE)?;
                let cell = cursor.rows.cell(cursor.leaf, cursor.at)?;
                cursor.at += 1;
                Ok(cell)
            }
            Shape::Struct(members) => members
                .iter()
                .map(|(name, member)| Ok((name.clone(), member.read(cursors, first)?)))
                .collect::<Result<_, String>>()
                .map(Cell::Struct),
            Shape::List { rep, def: least, element }
            | Shape::Map { rep, def: least, entry: element } => {
                let mut elements = Vec::new();
                if def < *least {
                    self.pass(cursors, first)?;
                } else {
                    loop {
                        elements.push(element.read(cursors, first)?);
                        match peek(cursors) {
                            Some((_, next)) if next >= *rep => {}
                            _ => break,
                        }
                    }
                }
                Ok(match &self.shape {
                    Shape::Map { entry, .. } => {
                        let key = cursors.get(lead).map(|cursor| cursor.leaf.kind);
                        let of_texts = entry.begins_with_leaf() && key == Some(LeafKind::Text);
                        Cell::Map { of_texts, pairs: elements.into_iter().map(pair).collect() }
                    }
                    _ => Cell::List(elements),
                })
            }
        }
    }

    /// Moves all cursors past the single level of an absent value.
    fn pass(&self, cursors: &mut [Cursor<'_>], first: usize) -> Result<(), String> {
        for leaf in self.leaves() {
            let cursor = leaf.checked_sub(first).and_then(|at| cursors.get_mut(at));
            let cursor = cursor.ok_or(DISAGREE)?;
            if cursor.at >= cursor.end {
                return Err(DISAGREE.to_owned());
            }
            cursor.at += 1;
        }
        Ok(())
    }
}

fn pair(entry: Cell) -> (Cell, Cell) {
    let Cell::Struct(members) = entry else { return (entry, Cell::Null) };
    let mut members = members.into_iter().map(|(_, cell)| cell);
    (members.next().unwrap_or(Cell::Null), members.next().unwrap_or(Cell::Null))
}
