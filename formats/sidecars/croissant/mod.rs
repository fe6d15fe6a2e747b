//! Descriptions in MLCommons Croissant 1.0: their vocabulary, and those of shards and of tables.

pub(super) mod shards;
#[cfg(feature = "parquet")]
mod table;

#[cfg(feature = "parquet")]
pub(crate) use table::{Described, path_of};

use super::json;
use fdconvert_core::{Kind, Provenance};
use serde_json::{Map, Value, json};

/// Returns a document about a dataset: a description (`what`), its files, and their contents.
fn document(
    what: &str,
    made: Option<&Provenance>,
    distribution: &[Value],
    record_sets: &[Value],
) -> Vec<u8> {
    let by = made.map(|made| format!(", made by {} of {}", made.tool, made.source));
    json(&json!({
        "@context": context(),
        "@type": "sc:Dataset",
        "name": made.map_or("images", |made| &made.source),
        "description": format!("{what}{}.", by.unwrap_or_default()),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "distribution": distribution,
        "recordSet": record_sets,
    }))
}

/// Returns a file, by its name next to the document.
fn object(name: &str, format: &str, bytes: u64, sha256: &[u8]) -> Value {
    let sha256: String = sha256.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": format!("{bytes} B"),
        "encodingFormat": format,
        "sha256": sha256,
    })
}

/// Returns records of these fields; `key` is the name of the field that identifies them.
fn record_set(name: &str, key: Option<&str>, fields: &[Value]) -> Value {
    let mut records = Map::new();
    let mut add = |name: &str, value| records.insert(name.to_owned(), value);
    add("@type", json!("cr:RecordSet"));
    add("@id", json!(name));
    add("name", json!(name));
    if let Some(key) = key {
        add("key", json!({"@id": format!("{name}/{key}")}));
    }
    add("field", json!(fields));
    Value::Object(records)
}

/// Returns a field of the records with that name, and the source of its values.
fn field(records: &str, name: &str, kind: &Value, source: &Value) -> Value {
    json!({
        "@type": "cr:Field",
        "@id": format!("{records}/{name}"),
        "name": name,
        "dataType": kind,
        "source": source,
    })
}

/// Returns the type of the values of a kind, for a column of a table.
fn data_type(kind: &Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Int => "sc:Integer",
        Kind::Float => "sc:Float",
        Kind::Text | Kind::Json => "sc:Text",
        _ => return None,
    })
}

/// Returns the context that version 1.0 prescribes.
fn context() -> Value {
    let cr = |name: &str| (name.to_owned(), json!(format!("cr:{name}")));
    let with = |name: &str, kind: &str| {
        (name.to_owned(), json!({"@id": format!("cr:{name}"), "@type": kind}))
    };
    let pair = |name: &str, value: &str| (name.to_owned(), json!(value));
    let entries = [
        pair("@language", "en"),
        pair("@vocab", "https://schema.org/"),
        cr("citeAs"),
        cr("column"),
        pair("conformsTo", "dct:conformsTo"),
        pair("cr", "http://mlcommons.org/croissant/"),
        pair("rai", "http://mlcommons.org/croissant/RAI/"),
        with("data", "@json"),
        with("dataType", "@vocab"),
        pair("dct", "http://purl.org/dc/terms/"),
        cr("equivalentProperty"),
        with("examples", "@json"),
        cr("extract"),
        cr("field"),
        cr("fileProperty"),
        cr("fileObject"),
        cr("fileSet"),
        cr("format"),
        cr("includes"),
        cr("isLiveDataset"),
        cr("jsonPath"),
        cr("key"),
        cr("md5"),
        cr("parentField"),
        cr("path"),
        cr("recordSet"),
        cr("references"),
        cr("regex"),
        cr("repeated"),
        cr("replace"),
        cr("samplingRate"),
        pair("sc", "https://schema.org/"),
        cr("separator"),
        cr("source"),
        cr("subField"),
        cr("transform"),
    ];
    Value::Object(entries.into_iter().collect())
}
