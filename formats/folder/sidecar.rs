//! `labels.jsonl` and `fdconvert.json`: facts that the tree of images alone cannot express.
use crate::folder::{
    archive::Archive,
    layout::{META, ROWS, key_of_path, path_of_key},
    table::{Column, Table},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use fdconvert_core::{
    Encoded, Error, FieldSpec, Kind, Limits, Provenance, Result, Sample, Schema, Splits, Value,
    split_ranges,
};
use fdconvert_storage::{
    place::{self, is_url},
    read_file,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::{fs, io, ops::Range, path::Path};

const FORMAT: &str = "folder";
const VERSION: u64 = 1;
/// The key with the path of a sample; no field may have this name.
pub(crate) const PATH: &str = "path";
/// Key that wraps a JSON document which would not be restored byte for byte from the row itself.
const VERBATIM: &str = "$json";

/// `fdconvert.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    format: String,
    version: u64,
    samples: u64,
    schema: Schema,
    provenance: Provenance,
    /// Runs of lines of one split; empty if there are no splits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    splits: Vec<SplitRun>,
}

/// A number of consecutive lines of one split.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SplitRun {
    split: String,
    samples: u64,
}

/// The contents of `fdconvert.json`.
pub(crate) fn meta(
    schema: &Schema,
    samples: u64,
    provenance: &Provenance,
    splits: Splits,
) -> Result<Vec<u8>> {
    let run =
        |(split, range): (String, Range<u64>)| SplitRun { split, samples: range.end - range.start };
    let meta = Meta {
        splits: splits.into_iter().map(run).collect(),
        format: FORMAT.to_owned(),
        version: VERSION,
        samples,
        schema: schema.clone(),
        provenance: provenance.clone(),
    };
    let mut text = serde_json::to_vec_pretty(&meta)
        .map_err(|cause| Error::usage("schema", format!("cannot be written as JSON: {cause}")))?;
    text.push(b'\n');
    Ok(text)
}

/// The line of one sample, with its line break. `images` are the paths of its images, in schema
/// order, those of lists included; without an image field, the key takes the place of the path.
pub(crate) fn row(
    schema: &Schema,
    sample: &Sample<Encoded>,
    images: &[Vec<u8>],
) -> Result<Vec<u8>> {
    let mut row = Map::new();
    let of_list = |value: &&Value<Encoded>| !matches!(value, Value::Image(_));
    let before = sample.values.iter().take_while(of_list).map(|value| value.images().len());
    let own = schema.first_image().and_then(|_| images.get(before.sum::<usize>()));
    let path = own.map_or_else(|| sample.key.clone(), |path| key_of_path(path));
    row.insert(PATH.to_owned(), Json::String(path));
    let mut images = images.iter();
    let mut first_image = true;
    for (field, value) in schema.fields.iter().zip(&sample.values) {
        let cell = match value {
            Value::Image(_) => {
                let path = images.next().map(|path| key_of_path(path)).unwrap_or_default();
                if std::mem::take(&mut first_image) {
                    continue;
                }
                Json::String(path)
            }
            Value::Images(list) => {
                let paths = images.by_ref().take(list.len());
                paths.map(|path| Json::String(key_of_path(path))).collect()
            }
            Value::Int(int) => (*int).into(),
            Value::Float(float) if float.is_finite() => (*float).into(),
            Value::Float(float) => float.to_string().into(),
            Value::Text(text) => text.as_str().into(),
            Value::Bytes(bytes) | Value::Array(bytes) => BASE64.encode(bytes).into(),
            Value::Json(text) => document(text).ok_or_else(|| {
                let what = format!("the JSON of field `{}` is not UTF-8", field.name);
                Error::sample(&sample.key, what)
            })?,
            _ => {
                let what = format!("a folder cannot hold the value of field `{}`", field.name);
                return Err(Error::sample(&sample.key, what));
            }
        };
        row.insert(field.name.clone(), cell);
    }
    let mut line = Json::Object(row).to_string().into_bytes();
    line.push(b'\n');
    Ok(line)
}

/// A JSON document as a cell: directly if it survives unchanged, else as text.
fn document(text: &[u8]) -> Option<Json> {
    let parsed = serde_json::from_slice::<Json>(text).ok();
    let is_wrapper = |json: &Json| json.get(VERBATIM).is_some();
    if let Some(json) =
        parsed.filter(|json| !is_wrapper(json) && json.to_string().as_bytes() == text)
    {
        return Some(json);
    }
    let text = std::str::from_utf8(text).ok()?;
    Some(Json::Object(Map::from_iter([(VERBATIM.to_owned(), text.into())])))
}

/// Result of [`read`].
pub(crate) struct Sidecar {
    pub(crate) schema: Schema,
    pub(crate) table: Table,
    pub(crate) provenance: Provenance,
    pub(crate) splits: Splits,
    /// Identifies the dataset.
    pub(crate) rows: Bytes,
}

/// Returns true if a file directly in a folder is one of these files.
pub(crate) fn is_name(name: &[u8]) -> bool {
    name == META.as_bytes() || name == ROWS.as_bytes()
}

/// Returns true if both files are in a folder.
pub(crate) fn is_there(root: &Path) -> bool {
    [META, ROWS].iter().all(|name| root.join(name).is_file())
}

/// Reads both files if both exist.
pub(crate) fn read(
    root: &Path,
    archive: Option<&Archive>,
    limits: &Limits,
) -> Result<Option<Sidecar>> {
    let (meta_path, rows_path) = (root.join(META), root.join(ROWS));
    let (text, rows) = if let Some(archive) = archive {
        let read = |name: &str| archive.read(name, name.as_bytes(), limits);
        let Some((text, rows)) = read(META)?.zip(read(ROWS)?) else { return Ok(None) };
        (text, rows)
    } else {
        if !is_file(&meta_path)? || !is_file(&rows_path)? {
            return Ok(None);
        }
        let read = |path| read_file(path, limits.max_file_bytes);
        (read(&meta_path)?, read(&rows_path)?)
    };
    let damaged = |what: String| Error::corrupt(FORMAT, &meta_path, 0, what);
    let loose: Json = serde_json::from_slice(&text)
        .map_err(|cause| damaged(format!("not a JSON document: {cause}")))?;
    if loose.get("format").and_then(Json::as_str) != Some(FORMAT) {
        return Err(damaged(format!("`format` is not `{FORMAT}`")));
    }
    let found = loose.get("version").and_then(Json::as_u64).unwrap_or(0);
    if found != VERSION {
        return Err(Error::Version { format: FORMAT, path: meta_path, found, supported: "1" });
    }
    let meta: Meta = serde_json::from_value(loose).map_err(|cause| damaged(cause.to_string()))?;
    let schema = Schema::new(meta.schema.fields).map_err(|cause| damaged(cause.to_string()))?;
    let table = parse_rows(&rows, &schema)
        .map_err(|(offset, what)| Error::corrupt(FORMAT, &rows_path, offset as u64, what))?;
    if table.len() != meta.samples {
        let what = format!("{} lines; {META} says {}", table.len(), meta.samples);
        return Err(Error::corrupt(FORMAT, &rows_path, rows.len() as u64, what));
    }
    let splits = split_ranges(meta.splits.iter().map(|run| (run.split.as_str(), run.samples)));
    let n_divided = splits.last().map_or(meta.samples, |(_, range)| range.end);
    if n_divided != meta.samples {
        let what = format!("its splits have {n_divided} samples, not {}", meta.samples);
        return Err(damaged(what));
    }
    Ok(Some(Sidecar { schema, table, provenance: meta.provenance, splits, rows }))
}

/// Returns true if the file exists. Only a missing file gives `false`: ignoring any other failure
/// would turn the folder into another dataset.
fn is_file(path: &Path) -> Result<bool> {
    if is_url(path) {
        return Ok(place::look(path)? == Some(place::Kind::File));
    }
    match fs::metadata(path) {
        Ok(metadata) => Ok(metadata.is_file()),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) if cause.kind() == io::ErrorKind::NotADirectory => Ok(false),
        Err(cause) => Err(Error::io("access", path)(cause)),
    }
}

/// Every line must have exactly the fields of the schema. The error has the offset of its line.
fn parse_rows(rows: &[u8], schema: &Schema) -> Result<Table, (usize, String)> {
    let first_image = schema.first_image();
    let empty = |(i, field): (usize, &FieldSpec)| match field.kind {
        Kind::Image if Some(i) == first_image => Some(Column::FirstImage),
        Kind::Image => Some(Column::Image(Vec::new())),
        Kind::Images => Some(Column::Images(Vec::new())),
        Kind::Int => Some(Column::Int(Vec::new())),
        Kind::Float => Some(Column::Float(Vec::new())),
        Kind::Text => Some(Column::Text(Vec::new())),
        Kind::Json => Some(Column::Json(Vec::new())),
        Kind::Bytes => Some(Column::Bytes(Vec::new())),
        Kind::Array(_) => Some(Column::Array(Vec::new())),
        _ => None,
    };
    let columns: Option<Vec<Column>> = schema.fields.iter().enumerate().map(empty).collect();
    let columns =
        columns.ok_or_else(|| (0, "the schema has a kind that folders lack".to_owned()))?;
    let mut table = Table { paths: Vec::new(), columns };
    let mut offset = 0;
    for line in rows.split_inclusive(|&byte| byte == b'\n') {
        let fail = |what: String| (offset, format!("line {}: {what}", table.paths.len() + 1));
        let mut row: Map<String, Json> =
            serde_json::from_slice(line).map_err(|cause| fail(cause.to_string()))?;
        let path = take_text(&mut row, PATH).map_err(fail)?;
        let path = if first_image.is_some() {
            path_of_key(&path).map_err(|why| fail(format!("`{PATH}` {why}")))?
        } else {
            path.into_bytes()
        };
        for (field, column) in schema.fields.iter().zip(&mut table.columns) {
            push(column, field, &mut row)
                .map_err(|why| fail(format!("field `{}`: {why}", field.name)))?;
        }
        table.paths.push(path.into());
        offset += line.len();
    }
    Ok(table)
}

fn take_text(row: &mut Map<String, Json>, name: &str) -> Result<String, String> {
    match row.remove(name) {
        Some(Json::String(text)) => Ok(text),
        _ => Err(format!("no text under `{name}`")),
    }
}

fn push(column: &mut Column, field: &FieldSpec, row: &mut Map<String, Json>) -> Result<(), String> {
    let number = "no number of the right kind".to_owned();
    let bytes = |row: &mut Map<String, Json>| {
        let decoded = BASE64.decode(take_text(row, &field.name)?);
        decoded.map(Bytes::from).map_err(|cause| format!("not base64: {cause}"))
    };
    match column {
        // Generated documents are stored as JSON.
        Column::FirstImage | Column::Made(_) => {}
        Column::Image(paths) => {
            paths.push(path_of_key(&take_text(row, &field.name)?)?.into());
        }
        Column::Images(lists) => {
            let Some(Json::Array(paths)) = row.remove(&field.name) else {
                return Err("is not a list of paths".to_owned());
            };
            let path = |path: &Json| {
                let text = path.as_str().ok_or("is not a list of texts")?;
                Ok::<Box<[u8]>, String>(path_of_key(text)?.into())
            };
            lists.push(paths.iter().map(path).collect::<Result<_, _>>()?);
        }
        Column::Int(ints) => {
            ints.push(row.remove(&field.name).and_then(|cell| cell.as_i64()).ok_or(number)?);
        }
        Column::Float(floats) => {
            let float = match row.remove(&field.name) {
                Some(Json::String(text)) => {
                    text.parse().ok().filter(|float: &f64| !float.is_finite())
                }
                Some(cell) => cell.as_f64(),
                None => None,
            };
            floats.push(float.ok_or(number)?);
        }
        Column::Text(texts) => texts.push(take_text(row, &field.name)?),
        Column::Json(documents) => {
            let cell = row.remove(&field.name).ok_or("is missing")?;
            let verbatim = cell.get(VERBATIM).and_then(Json::as_str).map(str::to_owned);
            documents.push(verbatim.unwrap_or_else(|| cell.to_string()).into());
        }
        Column::Bytes(values) => values.push(bytes(row)?),
        Column::Array(values) => {
            let value = bytes(row)?;
            let Kind::Array(spec) = &field.kind else { return Err("is not an array".to_owned()) };
            if spec.byte_len() != Some(value.len() as u64) {
                return Err(format!("{} bytes do not fill the array's shape", value.len()));
            }
            values.push(value);
        }
    }
    Ok(())
}
