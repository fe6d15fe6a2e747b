//! One value of a column of any type, and its JSON form.
use super::row::only_path;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use fdconvert_core::{Encoded, image_list, objects::short};
use serde_json::{Map, Number, Value as Json};
use std::sync::Arc;

/// A value, nested like its column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    /// An unsigned 64-bit integer.
    UInt(u64),
    Single(f32),
    Float(f64),
    Text(Bytes),
    Bytes(Bytes),
    /// A number with a fixed count of decimals, as text.
    Decimal(String),
    List(Vec<Self>),
    Struct(Vec<(Arc<str>, Self)>),
    /// Pairs of a key and a value; the type of the column determines whether keys are texts.
    Map {
        of_texts: bool,
        pairs: Vec<(Self, Self)>,
    },
}

impl Cell {
    /// The path of a file that is referenced without its bytes, if the value has one.
    pub(crate) fn path_alone(&self) -> Option<&[u8]> {
        match self {
            Self::List(cells) => cells.iter().find_map(Self::path_alone),
            Self::Map { pairs, .. } => pairs.iter().find_map(|(_, value)| value.path_alone()),
            Self::Struct(members) => {
                let member = |name: &str| members.iter().find(|it| *it.0 == *name).map(|it| &it.1);
                match (member("bytes"), member("path")) {
                    (Some(Self::Null), Some(Self::Text(path))) => Some(path),
                    _ => members.iter().find_map(|(_, cell)| cell.path_alone()),
                }
            }
            _ => None,
        }
    }

    /// Returns the images of a list of files or of bytes; null is the empty list.
    ///
    /// # Errors
    /// Which image is wrong.
    pub(crate) fn images(self) -> Result<Vec<Encoded>, String> {
        let cells = match self {
            Self::Null => Vec::new(),
            Self::List(cells) => cells,
            _ => return Err("it is not a list".to_owned()),
        };
        let image = |(number, cell): (usize, Self)| {
            let wrong = |what: String| Err(format!("image {number}: {what}"));
            if let Some(path) = cell.path_alone() {
                return wrong(only_path(path));
            }
            let member = match cell {
                Self::Struct(members) => members.into_iter().find(|(name, _)| **name == *"bytes"),
                cell => Some(("bytes".into(), cell)),
            };
            match member {
                Some((_, Self::Bytes(bytes))) => image_list::read(bytes, number),
                _ => wrong("it is null".to_owned()),
            }
        };
        cells.into_iter().enumerate().map(image).collect()
    }

    /// Converts to JSON. Numbers that JSON lacks (NaN, infinity) become null, byte strings base64,
    /// and a map an object if its keys are texts.
    pub(crate) fn to_json(&self) -> Result<Json, String> {
        Ok(match self {
            Self::Null => Json::Null,
            Self::Bool(truth) => Json::Bool(*truth),
            Self::Int(int) => (*int).into(),
            Self::UInt(int) => (*int).into(),
            Self::Single(single) => short(*single),
            Self::Float(float) => Number::from_f64(*float).map_or(Json::Null, Json::Number),
            Self::Text(text) => Json::String(utf8(text)?),
            Self::Bytes(bytes) => Json::String(STANDARD.encode(bytes)),
            Self::Decimal(text) => Json::String(text.clone()),
            Self::List(cells) => {
                Json::Array(cells.iter().map(Self::to_json).collect::<Result<_, _>>()?)
            }
            Self::Struct(members) => Json::Object(
                members
                    .iter()
                    .map(|(name, cell)| Ok((name.to_string(), cell.to_json()?)))
                    .collect::<Result<Map<_, _>, String>>()?,
            ),
            Self::Map { of_texts, pairs } => map(*of_texts, pairs)?,
        })
    }
}

fn map(of_texts: bool, pairs: &[(Cell, Cell)]) -> Result<Json, String> {
    if of_texts && pairs.iter().all(|(key, _)| matches!(key, Cell::Text(_))) {
        let mut object = Map::new();
        for (key, value) in pairs {
            if let Cell::Text(key) = key {
                object.insert(utf8(key)?, value.to_json()?);
            }
        }
        return Ok(Json::Object(object));
    }
    let pair = |(key, value): &(Cell, Cell)| Ok(vec![key.to_json()?, value.to_json()?].into());
    Ok(Json::Array(pairs.iter().map(pair).collect::<Result<_, String>>()?))
}

/// Converts bytes to text.
pub(crate) fn utf8(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned).map_err(|_| "its text is not UTF-8".to_owned())
}
