//! Maps columns to fields.
use super::{
    features::{Feature, stored},
    file::File,
    layout::Note,
    leaf::{Leaf, LeafKind, Node, Shape},
};
use fdconvert_core::{
    ArraySpec, DType, Encoded, FieldSpec, InnerClasses, Kind, Value,
    objects::{Member, Members},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A field, and where its values are stored.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) field: FieldSpec,
    pub(crate) how: How,
    /// Class names of numbers inside its lists and structs.
    pub(crate) inner: Vec<InnerClasses>,
    /// Units of its integer columns, if they are times.
    units: Vec<Option<&'static str>>,
}

/// How to convert columns to the value of a field.
#[derive(Debug, Clone)]
pub(crate) enum How {
    /// Bytes, and the column of their name if there is one.
    Image {
        bytes: usize,
        path: Option<usize>,
    },
    /// A list of such structs, or of bytes.
    Images(Node),
    /// Bytes that may turn out to be images.
    Bytes {
        bytes: usize,
        path: Option<usize>,
        may_be_image: bool,
    },
    Int(usize),
    Float(usize),
    Text(usize),
    /// A text that is a JSON document.
    JsonText(usize),
    /// A nested value, converted to a document.
    Json(Nested),
    Array {
        leaf: usize,
        /// Shape in the file.
        shape: Vec<u64>,
        /// Bytes of an element in the file.
        size: u64,
    },
    /// Only nulls, in this file.
    Null,
    /// The same in all rows, from the name of a folder.
    Constant(Value<Encoded>),
}

/// A value made from several columns, or from lists.
#[derive(Debug, Clone)]
pub(crate) struct Nested {
    pub(crate) node: Node,
    pub(crate) members: Option<Members>,
    /// True if it contains structs of bytes and a path, either of which may be missing.
    pub(crate) has_files: bool,
    /// Columns of the bytes of a struct, or of the elements of a list, which may turn out to be
    /// images, and of their path.
    image: Option<(usize, Option<usize>)>,
}

/// The columns of a file; the note says what fdconvert wrote as JSON.
pub(crate) fn columns(file: &File, note: Option<&Note>) -> Vec<Column> {
    let column = |(name, node): &(Arc<str>, Node)| {
        let feature = file.features.of(name);
        let documents = note.map_or(&[][..], |note| &note.json);
        let is_document = documents.iter().any(|document| **document == **name);
        let (kind, how) = match kind(name, node, &file.leaves, feature, is_document) {
            (Kind::Json, how) => fixed_list(file, name, node).unwrap_or((Kind::Json, how)),
            known => known,
        };
        let class_names = match kind {
            Kind::Int => feature.and_then(Feature::class_names),
            _ => None,
        };
        let categories = note.and_then(|note| note.categories.get(&**name).cloned());
        let field = FieldSpec { name: name.to_string(), kind, class_names, categories };
        let inner = feature.map_or_else(Vec::new, |feature| inner_classes(feature, &field, &how));
        let leaves = file.leaves.get(node.leaves()).unwrap_or_default();
        Column { field, how, inner, units: leaves.iter().map(Leaf::unit).collect() }
    };
    file.roots.iter().map(column).collect()
}

/// Class names inside a column that is not a class column itself.
fn inner_classes(feature: Feature<'_>, field: &FieldSpec, how: &How) -> Vec<InnerClasses> {
    if !matches!(field.kind, Kind::Json | Kind::Array(_)) {
        return Vec::new();
    }
    let told = match how {
        How::Json(Nested { members: Some(members), .. }) => members.classes().map(|(key, _)| key),
        _ => None,
    };
    let lists = feature.inner_class_names().into_iter();
    let inner = lists.map(|(key, names)| InnerClasses { are_told: told == Some(&key), key, names });
    inner.collect()
}

/// The array type, if the column has fixed-length lists of numbers.
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
            Some(LeafKind::Null) => (Kind::Json, How::Null),
            _ => json(name, node, leaves, feature),
        };
    }
    if let Some((bytes, path)) = file_struct(node, leaves) {
        return match class {
            Some("Image") => (Kind::Image, How::Image { bytes, path: Some(path) }),
            // Audio and video are stored alike, and are not images.
            Some(_) => (Kind::Bytes, How::Bytes { bytes, path: Some(path), may_be_image: false }),
            None => (Kind::Bytes, How::Bytes { bytes, path: Some(path), may_be_image: true }),
        };
    }
    if is_image_list(node, leaves, feature) {
        return (Kind::Images, How::Images(node.clone()));
    }
    let json = || json(name, node, leaves, feature);
    match feature.and_then(Feature::array) {
        Some(spec) => array(node, leaves, spec).unwrap_or_else(json),
        None => json(),
    }
}

fn json(name: &str, node: &Node, leaves: &[Leaf], feature: Option<Feature<'_>>) -> (Kind, How) {
    let members = Members::of(name, members(node, feature));
    let has_files = has_files(node, leaves);
    let list = || node.element().filter(|_| feature.is_none());
    let image = image_struct(node, leaves).or_else(|| list().and_then(|node| file(node, leaves)));
    (Kind::Json, How::Json(Nested { node: node.clone(), members, has_files, image }))
}

/// The members of the structs in a list, or of a struct of lists.
fn members(node: &Node, feature: Option<Feature<'_>>) -> Vec<Member> {
    let Shape::Struct(members) = &node.element().unwrap_or(node).shape else { return Vec::new() };
    let of = |(key, _): &(Arc<str>, Node)| {
        let feature = feature
            .and_then(|feature| feature.member(key).or_else(|| feature.element()?.member(key)));
        let class_names = feature
            .and_then(|feature| feature.class_names().or_else(|| feature.element()?.class_names()));
        Member { key: key.to_string(), class_names, is_single: false }
    };
    members.iter().map(of).collect()
}

/// Returns true if it contains structs of bytes and a path.
fn has_files(node: &Node, leaves: &[Leaf]) -> bool {
    match &node.shape {
        Shape::Leaf(_) => false,
        Shape::Struct(members) => {
            file_struct(node, leaves).is_some()
                || members.iter().any(|(_, member)| has_files(member, leaves))
        }
        Shape::List { element, .. } | Shape::Map { entry: element, .. } => {
            has_files(element, leaves)
        }
    }
}

/// The columns of `bytes` and, if present, `path`, of a struct with more members than those of a
/// file.
fn image_struct(node: &Node, leaves: &[Leaf]) -> Option<(usize, Option<usize>)> {
    let bytes = node.member_leaf("bytes")?;
    let is_bytes = leaves.get(bytes)?.kind == LeafKind::Bytes;
    let path = node.member_leaf("path");
    let path = path.filter(|path| leaves.get(*path).is_some_and(|it| it.kind == LeafKind::Text));
    is_bytes.then_some((bytes, path))
}

/// The columns of bytes, and of their path if they have one, of a struct of a file, or of bytes
/// alone.
fn file(node: &Node, leaves: &[Leaf]) -> Option<(usize, Option<usize>)> {
    let alone = node.as_leaf().filter(|leaf| is_of_bytes(*leaf, leaves)).map(|leaf| (leaf, None));
    alone.or_else(|| file_struct(node, leaves).map(|(bytes, path)| (bytes, Some(path))))
}

fn is_of_bytes(leaf: usize, leaves: &[Leaf]) -> bool {
    leaves.get(leaf).is_some_and(|leaf| leaf.kind == LeafKind::Bytes)
}

/// The columns of `bytes` and `path`, if a struct has exactly those members.
fn file_struct(node: &Node, leaves: &[Leaf]) -> Option<(usize, usize)> {
    let Shape::Struct(members) = &node.shape else { return None };
    let (bytes, path) = (node.member_leaf("bytes")?, node.member_leaf("path")?);
    let kinds = (leaves.get(bytes)?.kind, leaves.get(path)?.kind);
    // A column with only nulls has no type.
    let fits = matches!(kinds, (LeafKind::Bytes, LeafKind::Text | LeafKind::Null));
    (fits && members.len() == 2).then_some((bytes, path))
}

/// Returns true for a list of files or bytes that the features call images.
fn is_image_list(node: &Node, leaves: &[Leaf], feature: Option<Feature<'_>>) -> bool {
    let class = feature.and_then(Feature::element).and_then(Feature::class);
    class == Some("Image") && node.element().is_some_and(|node| file(node, leaves).is_some())
}

/// The array of that type and shape, if the column can hold it.
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

impl Column {
    /// A column with one value for all rows, from the name of a folder.
    pub(crate) fn constant(field: FieldSpec, value: Value<Encoded>) -> Self {
        Self { field, how: How::Constant(value), inner: Vec::new(), units: Vec::new() }
    }

    /// Returns true if the type of the column depends on its first value.
    pub(crate) fn may_be_image(&self) -> bool {
        match &self.how {
            How::Bytes { may_be_image, .. } => *may_be_image,
            How::Json(nested) => nested.image.is_some(),
            _ => false,
        }
    }

    /// Returns true if the file stores its values.
    pub(crate) fn is_stored(&self) -> bool {
        !matches!(self.how, How::Constant(_))
    }

    /// Its first column in the file, if it has values there.
    pub(crate) fn first_leaf(&self) -> Option<usize> {
        match &self.how {
            How::Image { bytes: leaf, .. }
            | How::Bytes { bytes: leaf, .. }
            | How::Int(leaf)
            | How::Float(leaf)
            | How::Text(leaf)
            | How::JsonText(leaf)
            | How::Array { leaf, .. } => Some(*leaf),
            How::Json(Nested { node, .. }) | How::Images(node) => Some(node.leaves().start),
            How::Null | How::Constant(_) => None,
        }
    }

    /// The column of the bytes that decide whether it is an image.
    pub(crate) fn bytes_leaf(&self) -> Option<usize> {
        match &self.how {
            How::Bytes { bytes, .. } | How::Image { bytes, .. } => Some(*bytes),
            How::Json(Nested { image, .. }) => image.map(|(bytes, _)| bytes),
            _ => None,
        }
    }

    /// Turns a column of bytes into one of images, and one of lists of bytes into one of lists of
    /// images. Returns the members of the struct that are not
    /// part of the image.
    pub(crate) fn becomes_image(&mut self) -> Vec<String> {
        let mut others = Vec::new();
        self.how = match &self.how {
            How::Bytes { bytes, path, .. } => How::Image { bytes: *bytes, path: *path },
            How::Json(Nested { image: Some(_), node, .. }) if node.element().is_some() => {
                self.field.kind = Kind::Images;
                self.how = How::Images(node.clone());
                return others;
            }
            How::Json(Nested { image: Some((bytes, path)), node, .. }) => {
                if let Shape::Struct(members) = &node.shape {
                    let is_other = |name: &&(Arc<str>, Node)| !matches!(&*name.0, "bytes" | "path");
                    others.extend(members.iter().filter(is_other).map(|it| it.0.to_string()));
                }
                How::Image { bytes: *bytes, path: *path }
            }
            _ => return others,
        };
        self.field.kind = Kind::Image;
        others
    }

    /// Describes this column and the other file's column in its place, if they differ.
    pub(crate) fn difference(&self, other: &Self) -> Option<(String, String)> {
        let (mine, theirs) = (&self.field, &other.field);
        if mine.kind != theirs.kind {
            return Some((kind_text(&mine.kind), kind_text(&theirs.kind)));
        }
        // Documents may be made of different columns, but not of different units.
        if let Some((a, b)) = self.units.iter().zip(&other.units).find(|(a, b)| a != b) {
            return Some([a, b].map(|unit| unit.unwrap_or("plain numbers").to_owned()).into());
        }
        let names = |field: &FieldSpec| field.class_names.clone();
        class_difference(names(mine), names(theirs)).or_else(|| {
            let named = |column: &Self| -> BTreeMap<String, Arc<[String]>> {
                column.inner.iter().map(|it| (it.key.clone(), it.names.clone())).collect()
            };
            let (mut a, mut b) = (named(self), named(other));
            let keys: BTreeSet<String> = a.keys().chain(b.keys()).cloned().collect();
            keys.into_iter().find_map(|key| {
                let (mine, theirs) = class_difference(a.remove(&key), b.remove(&key))?;
                let of_key = |names| match key.as_str() {
                    "" => names,
                    key => format!("{names} of `{key}`"),
                };
                Some((of_key(mine), of_key(theirs)))
            })
        })
    }

    /// Returns true if fdconvert may have written this column for the given field.
    pub(crate) fn agrees(&self, written: &FieldSpec) -> bool {
        let kind = match (&self.field.kind, &written.kind) {
            // The file's own schema does not say how tensors are returned.
            (Kind::Array(mine), Kind::Array(theirs)) => {
                let (mine, theirs) = (stored(mine), stored(theirs));
                mine == theirs
            }
            (mine, theirs) => mine == theirs,
        };
        kind && self.field.name == written.name
    }
}

fn kind_text(kind: &Kind) -> String {
    match kind {
        Kind::Array(ArraySpec { dtype, shape, .. }) => {
            format!("array of {} {shape:?}", dtype.name())
        }
        kind => format!("values of kind {}", kind.name()),
    }
}

/// Compares two lists of classes from the first number that differs.
fn class_difference(
    a: Option<Arc<[String]>>,
    b: Option<Arc<[String]>>,
) -> Option<(String, String)> {
    let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
    let differs = a.iter().zip(b.iter()).position(|(a, b)| a != b);
    let at = differs.unwrap_or(a.len().min(b.len()));
    (a != b).then(|| (class_text(&a, at), class_text(&b, at)))
}

/// Lists the classes from number `at` on.
fn class_text(names: &[String], at: usize) -> String {
    match names.get(at) {
        Some(name) => format!("`{name}` as class {at}"),
        None if names.is_empty() => "numbers without names".to_owned(),
        None => format!("{} classes", names.len()),
    }
}
