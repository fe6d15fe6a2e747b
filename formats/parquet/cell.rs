//! One value of a column, whatever its type, and the JSON that stands for it.
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::{Map, Number, Value as Json};
use std::sync::Arc;

/// A value, nested as its column is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    /// An unsigned integer of 64 bits.
    UInt(u64),
    Single(f32),
    Float(f64),
    Text(Bytes),
    Bytes(Bytes),
    /// A number with a fixed count of decimals, as text.
    Decimal(String),
    List(Vec<Self>),
    Struct(Vec<(Arc<str>, Self)>),
    /// Pairs of a key and a value.
    Map(Vec<(Self, Self)>),
}

impl Cell {
    /// The document that stands for it. Numbers that JSON does not know (NaN, infinity) are null,
    /// byte strings are base64, and a map is an object where all of its keys are texts.
    pub(crate) fn to_json(&self) -> Result<Json, String> {
        Ok(match self {
            Self::Null => Json::Null,
            Self::Bool(truth) => Json::Bool(*truth),
            Self::Int(int) => (*int).into(),
            Self::UInt(int) => (*int).into(),
            // As short as a single is written, not as the double that is next to it.
            Self::Single(single) => {
                let short = single.to_string().parse().ok();
                short.and_then(Number::from_f64).map_or(Json::Null, Json::Number)
            }
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
            Self::Map(pairs) => map(pairs)?,
        })
    }
}

fn map(pairs: &[(Cell, Cell)]) -> Result<Json, String> {
    if pairs.iter().all(|(key, _)| matches!(key, Cell::Text(_))) {
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

/// Bytes as text.
pub(crate) fn utf8(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned).map_err(|_| "its text is not UTF-8".to_owned())
}

/// Annotations of objects as [the guide](https://huggingface.co/docs/datasets) has them: an object
/// of lists. A list of objects becomes that, and the names of the categories stand beside their
/// numbers where they are known.
pub(crate) fn objects(document: Json, category_names: Option<&[String]>) -> Json {
    let mut lists = match document {
        Json::Object(lists) => lists,
        Json::Array(objects) if objects.iter().all(Json::is_object) => transposed(&objects),
        other => return other,
    };
    let names = category_names.filter(|_| !lists.contains_key("category_name"));
    if let (Some(names), Some(Json::Array(numbers))) = (names, lists.get("category")) {
        let name = |number: &Json| {
            let position = usize::try_from(number.as_u64()?).ok()?;
            names.get(position).map(|name| Json::String(name.clone()))
        };
        let found = numbers.iter().map(|number| name(number).unwrap_or(Json::Null)).collect();
        lists.insert("category_name".into(), Json::Array(found));
    }
    Json::Object(lists)
}

fn transposed(objects: &[Json]) -> Map<String, Json> {
    let mut lists = Map::new();
    for (number, object) in objects.iter().enumerate() {
        for (name, value) in object.as_object().into_iter().flatten() {
            let list = lists.entry(name.clone()).or_insert_with(|| Json::Array(Vec::new()));
            if let Json::Array(list) = list {
                list.resize(number, Json::Null);
                list.push(value.clone());
            }
        }
    }
    for list in lists.values_mut() {
        if let Json::Array(list) = list {
            list.resize(objects.len(), Json::Null);
        }
    }
    lists
}
