use crate::folder::annotations::Made;
use bytes::Bytes;
use fdconvert_core::{Encoded, Kind, Value};

/// Samples listed in a file: their paths, and their other values by column.
#[derive(Debug)]
pub(crate) struct Table {
    /// The path of each sample's (first) image, relative to the root.
    pub(crate) paths: Vec<Box<[u8]>>,
    pub(crate) columns: Vec<Column>,
}

/// All values of one field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Column {
    /// The image at the sample's path.
    FirstImage,
    /// Further images: their paths relative to the root.
    Image(Vec<Box<[u8]>>),
    /// Lists of images: their paths relative to the root.
    Images(Vec<Vec<Box<[u8]>>>),
    Int(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<String>),
    Json(Vec<Bytes>),
    Bytes(Vec<Bytes>),
    Array(Vec<Bytes>),
    /// Documents generated when their sample is read.
    Made(Made),
}

/// A value in memory, or an image in a file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell<'a> {
    /// The image at the sample's own path.
    FirstImage,
    /// The image at that path.
    Image(&'a [u8]),
    /// The images at those paths.
    Images(&'a [Box<[u8]>]),
    /// A value of that kind, in the file at that path.
    Beside(Vec<u8>, &'a Kind),
    Value(Value<Encoded>),
    /// The generated document of that row, which needs the size of the first image.
    Made(&'a Made, usize),
}

impl Table {
    pub(crate) fn len(&self) -> u64 {
        self.paths.len() as u64
    }

    pub(crate) fn path(&self, index: u64) -> Option<&[u8]> {
        self.paths.get(usize::try_from(index).ok()?).map(|path| &**path)
    }

    /// The paths of the images in the lists of one row.
    pub(crate) fn in_lists(&self, index: u64) -> impl Iterator<Item = &[u8]> {
        let i = usize::try_from(index).unwrap_or(usize::MAX);
        let lists = self.columns.iter().filter_map(move |column| match column {
            Column::Images(lists) => lists.get(i),
            _ => None,
        });
        lists.flatten().map(|path| &**path)
    }

    /// The cells of one row, in schema order; `None` beyond the last row.
    pub(crate) fn row(&self, index: u64) -> Option<Vec<Cell<'_>>> {
        let i = usize::try_from(index).ok()?;
        let cell = |column| match column {
            &Column::FirstImage => Some(Cell::FirstImage),
            Column::Image(paths) => Some(Cell::Image(paths.get(i)?)),
            Column::Images(lists) => Some(Cell::Images(lists.get(i)?)),
            Column::Int(ints) => Some(Cell::Value(Value::Int(*ints.get(i)?))),
            Column::Float(floats) => Some(Cell::Value(Value::Float(*floats.get(i)?))),
            Column::Text(texts) => Some(Cell::Value(Value::Text(texts.get(i)?.clone()))),
            Column::Json(documents) => Some(Cell::Value(Value::Json(documents.get(i)?.clone()))),
            Column::Bytes(bytes) => Some(Cell::Value(Value::Bytes(bytes.get(i)?.clone()))),
            Column::Array(bytes) => Some(Cell::Value(Value::Array(bytes.get(i)?.clone()))),
            Column::Made(made) => Some(Cell::Made(made, i)),
        };
        self.columns.iter().map(cell).collect()
    }
}
