//! Which field a column becomes.
use super::{
    features::{Feature, stored},
    file::File,
    leaf::{Leaf, LeafKind, Node, Shape},
};
use fdconvert_core::{ArraySpec, DType, FieldSpec, Kind};
use std::sync::Arc;

/// The field whose JSON holds annotations of objects.
const OBJECTS: &str = "objects";

/// A field, and where its values lie.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) field: FieldSpec,
    pub(crate) node: Node,
    pub(crate) how: How,
}

/// Conversion of columns to the value of a field.
#[derive(Debug, Clone)]
pub(crate) enum How {
    /// Bytes, with the column of their name where there is one.
    Image {
        bytes: usize,
        path: Option<usize>,
    },
    /// Bytes that may turn out to be images.
    Bytes {
        bytes: usize,
        path: Option<usize>,
        may_be_image: bool,
    },
    Int(usize),
    Float(usize),
    Text(usize),
    /// A text that is a document.
    JsonText(usize),
    /// A nested value, written as a document.
    Json {
        /// True for annotations of objects.
        objects: bool,
        /// Names of the categories of objects.
        categories: Option<Arc<[String]>>,
    },
    Array {
        leaf: usize,
        /// Shape in the file.
        shape: Vec<u64>,
        /// Bytes of an element in the file.
        size: u64,
    },
}

/// The columns of a file, where `documents` are texts that this tool has written as JSON.
pub(crate) fn columns(file: &File, documents: &[String]) -> Vec<Column> {
    let column = |(name, node): &(Arc<str>, Node)| {
        let feature = file.features.of(name);
        let is_document = documents.iter().any(|document| **document == **name);
        let (kind, how) = match kind(name, node, &file.leaves, feature, is_document) {
            (Kind::Json, how) => fixed_list(file, name, node).unwrap_or((Kind::Json, how)),
            known => known,
        };
        let class_names = match kind {
            Kind::Int => feature.and_then(Feature::class_names),
            _ => None,
        };
        let field = FieldSpec { name: name.to_string(), kind, class_names };
        Column { field, node: node.clone(), how }
    };
    file.roots.iter().map(column).collect()
}

/// An array, if the column holds lists of a fixed length of numbers.
fn fixed_list(file: &File, name: &str, node: &Node) -> Option<(Kind, How)> {
    let (_, shape) = file.fixed_lists.iter().find(|(list, _)| list == name)?;
    let leaf = file.leaves.get(node.leaves().start)?;
    let spec = ArraySpec { dtype: leaf.dtype()?, shape: shape.clone(), torch: false };
    spec.byte_len()?;
    array(node, &file.leaves, spec)
}

fn kind(
    name: &str,
    node: &Node,
    leaves: &[Leaf],
    feature: Option<Feature<'_>>,
    is_document: bool,
) -> (Kind, How) {
    let kind_of = |leaf: usize| leaves.get(leaf).map(|leaf| leaf.kind);
    let class = feature.and_then(Feature::class);
    if let Some(leaf) = node.as_leaf() {
        return match kind_of(leaf) {
            Some(LeafKind::Bool | LeafKind::Int | LeafKind::Unsigned) => {
                (Kind::Int, How::Int(leaf))
            }
            Some(LeafKind::Half | LeafKind::Single | LeafKind::Double) => {
                (Kind::Float, How::Float(leaf))
            }
            Some(LeafKind::Text) if is_document || class == Some("Json") => {
                (Kind::Json, How::JsonText(leaf))
            }
            Some(LeafKind::Text) => (Kind::Text, How::Text(leaf)),
            Some(LeafKind::Bytes) if class == Some("Image") => {
                (Kind::Image, How::Image { bytes: leaf, path: None })
            }
            Some(LeafKind::Bytes) => {
                (Kind::Bytes, How::Bytes { bytes: leaf, path: None, may_be_image: true })
            }
            _ => json(name, feature),
        };
    }
    if let Some((bytes, path)) = file_struct(node, leaves) {
        return match class {
            Some("Image") => (Kind::Image, How::Image { bytes, path: Some(path) }),
            // Sounds and films are stored alike, and are not images.
            Some(_) => (Kind::Bytes, How::Bytes { bytes, path: Some(path), may_be_image: false }),
            None => (Kind::Bytes, How::Bytes { bytes, path: Some(path), may_be_image: true }),
        };
    }
    match feature.and_then(Feature::array) {
        Some(spec) => array(node, leaves, spec).unwrap_or_else(|| json(name, feature)),
        None => json(name, feature),
    }
}

fn json(name: &str, feature: Option<Feature<'_>>) -> (Kind, How) {
    let objects = name == OBJECTS;
    let category = feature.filter(|_| objects).and_then(|feature| {
        feature.member("category").or_else(|| feature.element()?.member("category"))
    });
    let categories = category
        .and_then(|category| category.class_names().or_else(|| category.element()?.class_names()));
    (Kind::Json, How::Json { objects, categories })
}

/// The columns of `bytes` and `path`, if a struct has those and nothing else.
fn file_struct(node: &Node, leaves: &[Leaf]) -> Option<(usize, usize)> {
    let Shape::Struct(members) = &node.shape else { return None };
    let (bytes, path) = (node.member_leaf("bytes")?, node.member_leaf("path")?);
    let kinds = (leaves.get(bytes)?.kind, leaves.get(path)?.kind);
    // A column of which all is null has no type of its own.
    let fits = matches!(kinds, (LeafKind::Bytes, LeafKind::Text | LeafKind::Null));
    (fits && members.len() == 2).then_some((bytes, path))
}

/// An array of that type and shape, if the column holds such.
fn array(node: &Node, leaves: &[Leaf], spec: ArraySpec) -> Option<(Kind, How)> {
    let (shape, name) = stored(&spec);
    let mut inner = node;
    for _ in &shape {
        inner = inner.element()?;
    }
    let leaf = inner.as_leaf()?;
    let kind = leaves.get(leaf)?.kind;
    let dtype = DType::ALL.into_iter().find(|dtype| dtype.name() == name)?;
    let fits = match dtype {
        DType::Bool => kind == LeafKind::Bool,
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => kind == LeafKind::Int,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => kind == LeafKind::Unsigned,
        DType::F16 => kind == LeafKind::Half,
        DType::F32 => kind == LeafKind::Single,
        DType::F64 => kind == LeafKind::Double,
        DType::C64 | DType::C128 => false,
    };
    fits.then(|| (Kind::Array(spec), How::Array { leaf, shape, size: dtype.size() }))
}

impl How {
    /// Returns whether a first value decides what the column is.
    pub(crate) fn may_be_image(&self) -> bool {
        matches!(self, Self::Bytes { may_be_image: true, .. })
    }
}

impl Column {
    /// The same as another file of the dataset has it.
    pub(crate) fn same_field(&self, other: &Self) -> bool {
        let (mine, theirs) = (&self.field, &other.field);
        let class_names = mine.class_names == theirs.class_names;
        let how = std::mem::discriminant(&self.how) == std::mem::discriminant(&other.how);
        mine.name == theirs.name && mine.kind == theirs.kind && class_names && how
    }

    /// Makes a column of bytes one of images.
    pub(crate) fn becomes_image(&mut self) {
        if let How::Bytes { bytes, path, .. } = self.how {
            self.how = How::Image { bytes, path };
            self.field.kind = Kind::Image;
        }
    }

    /// The kind of field that this tool has written under that description.
    pub(crate) fn agrees(&self, written: &FieldSpec) -> bool {
        let kind = match (&self.field.kind, &written.kind) {
            // How tensors are handed out is not in the file's own schema.
            (Kind::Array(mine), Kind::Array(theirs)) => {
                let (mine, theirs) = (stored(mine), stored(theirs));
                mine == theirs
            }
            (mine, theirs) => mine == theirs,
        };
        kind && self.field.name == written.name
    }
}
