//! Assembles the value of a field in a row from its columns.
use super::{
    ParquetReader,
    cell::{Cell, utf8},
    columns::{How, Nested},
    features::repetition,
    leaf::{Cursor, Leaf, Node},
};
use bytes::Bytes;
use fdconvert_core::{Encoded, Error, Kind, Result, Value};

impl ParquetReader {
    /// The value of a column in a sample, if it is not inside a list.
    pub(crate) fn flat(&self, index: u64, leaf: usize) -> Result<Cell> {
        let (rows, at) = self.rows(index, leaf)?;
        let (_, part, _) = self.part_of(index)?;
        let leaf = part.file.leaves.get(leaf);
        let cell = leaf.and_then(|leaf| Some(rows.cell(leaf, rows.levels(at)?.start)));
        let cell = cell.ok_or_else(|| part.file.corrupt(0, "a row has no value"))?;
        cell.map_err(|what| {
            let column = leaf.map(|leaf| leaf.descr.path().string()).unwrap_or_default();
            part.file.corrupt(0, format!("column `{column}`: {what}"))
        })
    }

    /// A value made from several columns, or from lists.
    fn nested(&self, index: u64, node: &Node) -> Result<Cell> {
        let (_, part, _) = self.part_of(index)?;
        let leaves = node.leaves();
        let field = part.file.leaves.get(leaves.start).map_or("", Leaf::field);
        let failed = |what: String| part.file.corrupt(0, format!("column `{field}`: {what}"));
        let rows = leaves.clone().map(|leaf| self.rows(index, leaf)).collect::<Result<Vec<_>>>()?;
        let mut cursors = Vec::with_capacity(rows.len());
        for (leaf, (rows, at)) in leaves.clone().zip(&rows) {
            let found = part.file.leaves.get(leaf).zip(rows.levels(*at));
            let (leaf, levels) = found.ok_or_else(|| failed("a row has no levels".to_owned()))?;
            cursors.push(Cursor { leaf, rows, at: levels.start, end: levels.end });
        }
        node.read(&mut cursors, leaves.start).map_err(failed)
    }

    /// The value of the field at that position.
    pub(super) fn stored_value(&self, index: u64, field: usize) -> Result<Value<Encoded>> {
        let (_, part, _) = self.part_of(index)?;
        let column = part.columns.get(field);
        let column = column.ok_or_else(|| part.file.corrupt(0, "a column is missing"))?;
        let name = &column.field.name;
        let wrong = |what: &str| self.bad_value(index, name, what);
        Ok(match &column.how {
            How::Image { bytes, path } => {
                let bytes = match self.flat(index, *bytes)? {
                    Cell::Bytes(bytes) => bytes,
                    _ => return Err(self.no_image(index, name, *path)),
                };
                let header = fdconvert_core::probe::probe(&bytes).map_err(|what| wrong(&what))?;
                let (codec, width, height) = (header.codec, header.width, header.height);
                Value::Image(Encoded::new(codec, width, height, bytes))
            }
            How::Images(node) => {
                let images = self.nested(index, node)?.images().map_err(|what| wrong(&what))?;
                Value::Images(images)
            }
            How::Bytes { bytes, .. } => match self.flat(index, *bytes)? {
                Cell::Bytes(bytes) => Value::Bytes(bytes),
                _ => return Err(self.null(index, name)),
            },
            How::Int(leaf) => match self.flat(index, *leaf)? {
                Cell::Int(int) => Value::Int(int),
                Cell::Bool(truth) => Value::Int(truth.into()),
                Cell::UInt(int) => Value::Int(i64::try_from(int).map_err(|_| {
                    wrong(&format!("{int} is over the largest integer of 64 bits with a sign"))
                })?),
                _ => return Err(self.null(index, name)),
            },
            How::Float(leaf) => match self.flat(index, *leaf)? {
                Cell::Float(float) => Value::Float(float),
                Cell::Single(single) => Value::Float(single.into()),
                _ => Value::Float(f64::NAN),
            },
            How::Text(leaf) => match self.flat(index, *leaf)? {
                Cell::Text(text) => Value::Text(utf8(&text).map_err(|what| wrong(&what))?),
                _ => return Err(self.null(index, name)),
            },
            How::JsonText(leaf) => match self.flat(index, *leaf)? {
                Cell::Text(text) => Value::Json(text),
                _ => Value::Json(Bytes::from_static(b"null")),
            },
            How::Json(nested) => Value::Json(self.document(index, name, nested)?),
            How::Null => match column.field.kind {
                Kind::Json => Value::Json(Bytes::from_static(b"null")),
                Kind::Float => Value::Float(f64::NAN),
                Kind::Image => return Err(self.no_image(index, name, None)),
                Kind::Images => Value::Images(Vec::new()),
                _ => return Err(self.null(index, name)),
            },
            How::Constant(value) => value.clone(),
            How::Array { leaf, shape, size } => {
                Value::Array(self.array(index, name, *leaf, shape, *size)?)
            }
        })
    }

    fn document(&self, index: u64, name: &str, nested: &Nested) -> Result<Bytes> {
        let wrong = |what: String| self.bad_value(index, name, &what);
        let cell = self.nested(index, &nested.node)?;
        if let Some(path) = cell.path_alone().filter(|_| nested.has_files) {
            return Err(wrong(only_path(path)));
        }
        let document = cell.to_json().map_err(wrong)?;
        let document = match &nested.members {
            Some(members) => members.arrange(document),
            None => document,
        };
        Ok(document.to_string().into())
    }

    fn array(
        &self,
        index: u64,
        name: &str,
        leaf: usize,
        shape: &[u64],
        size: u64,
    ) -> Result<Bytes> {
        let (rows, at) = self.rows(index, leaf)?;
        let levels = rows.levels(at).unwrap_or_default();
        let n_elements: u64 = shape.iter().product();
        if n_elements == 0 {
            return Ok(Bytes::new());
        }
        let has_shape = levels.len() as u64 == n_elements
            && levels
                .clone()
                .zip(0_u64..)
                .all(|(level, number)| rows.rep(level) == repetition(shape, number));
        let numbers = if has_shape { rows.numbers(levels, size) } else { None };
        numbers.ok_or_else(|| {
            let what = format!("it is not an array of {shape:?} numbers");
            self.bad_value(index, name, &what)
        })
    }

    fn bad_value(&self, index: u64, field: &str, what: &str) -> Error {
        self.bad(index, format!("field `{field}`: {what}"))
    }

    #[cold]
    fn null(&self, index: u64, field: &str) -> Error {
        self.bad_value(index, field, "its value is null, and no value can stand for null")
    }

    #[cold]
    fn no_image(&self, index: u64, field: &str, path: Option<usize>) -> Error {
        let named = path.map(|path| self.flat(index, path));
        match named {
            Some(Ok(Cell::Text(path))) => self.bad_value(index, field, &only_path(&path)),
            _ => self.bad_value(index, field, "its image is null"),
        }
    }
}

pub(super) fn only_path(path: &[u8]) -> String {
    let path = String::from_utf8_lossy(path);
    format!(
        "only the path `{path}` is stored and not the image; write the file again with the images in it"
    )
}
