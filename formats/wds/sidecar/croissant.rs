//! `croissant.json`: MLCommons Croissant 1.0, and a table of what is not an image.
//!
//! Croissant takes fields from the files of an archive by their names, but joins one set of files with
//! one table at most, so labels and other values are a column each of `croissant.csv`.
use super::{Output, Shards, by_image, json};
use crate::wds::tar::groups;
use fdconvert_core::{Error, FieldSpec, Kind, Result, named};
use fdconvert_storage::Blob;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const TABLE: &str = "croissant.csv";

pub(super) fn files(shards: &Shards<'_>) -> Result<Vec<Output>> {
    let n_images = shards.schema.fields.iter().filter(|field| field.kind == Kind::Image).count();
    if n_images != 1 {
        let what = format!("`croissant` describes samples of one image, not of {n_images}");
        return Err(Error::usage(named::SIDECARS, what));
    }
    let columns = Column::of(shards);
    let mut table = "key,split".to_owned();
    columns.iter().for_each(|column| column.put_header(&mut table));
    table.push_str("\r\n");
    let mut distribution = Vec::new();
    for file in shards.files {
        let archive = Blob::open(file.path)?.whole()?;
        let sha256 = Sha256::digest(&archive);
        distribution.push(object(&shards.name_of(file)?, "application/x-tar", file.bytes, &sha256));
        for group in groups(&archive) {
            let group = group.map_err(|error| error.at(file.path))?;
            let key = String::from_utf8_lossy(&group.key).into_owned();
            put(&mut table, &key);
            table.push(',');
            put(&mut table, file.split);
            for column in &columns {
                let entry = group.entries.iter().find(|entry| {
                    let name = entry.name.get(group.key.len() + 1..).unwrap_or_default();
                    column.members.split(';').any(|member| member.as_bytes() == name)
                });
                let bytes = entry.and_then(|entry| {
                    let start = usize::try_from(entry.data).ok()?;
                    archive.get(start..start.checked_add(usize::try_from(entry.len).ok()?)?)
                });
                let text = String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
                column.put(&mut table, &text);
            }
            table.push_str("\r\n");
        }
    }
    let table = table.into_bytes();
    distribution.push(object(TABLE, "text/csv", table.len() as u64, &Sha256::digest(&table)));
    distribution.push(images(shards)?);
    let made = shards.provenance.map(|made| format!(", made by {} of {}", made.tool, made.source));
    let document = json!({
        "@context": context(),
        "@type": "sc:Dataset",
        "name": shards.provenance.map_or("images", |made| &made.source),
        "description": format!("Images in WebDataset shards{}.", made.unwrap_or_default()),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "distribution": distribution,
        "recordSet": [{
            "@type": "cr:RecordSet",
            "@id": "samples",
            "name": "samples",
            "key": {"@id": "samples/key"},
            "field": fields(&columns),
        }],
    });
    let path = |name: &str| shards.out.join(name);
    Ok(vec![(path("croissant.json"), json(&document)), (path(TABLE), table)])
}

/// A column of the table.
struct Column<'a> {
    field: &'a FieldSpec,
    /// Names of its members, with `;` between them.
    members: &'a str,
    name: String,
}

impl<'a> Column<'a> {
    /// Of all fields that a table can hold.
    fn of(shards: &'a Shards<'_>) -> Vec<Self> {
        let fields = shards.schema.fields.iter().zip(shards.members);
        let plain =
            fields.filter(|(field, _)| matches!(field.kind, Kind::Int | Kind::Float | Kind::Text));
        let named = plain.map(|(field, members)| {
            let is_taken = ["key", "split", "image"].contains(&field.name.as_str());
            let name = if is_taken { format!("{}_", field.name) } else { field.name.clone() };
            Self { field, members, name }
        });
        named.collect()
    }

    fn put_header(&self, table: &mut String) {
        table.push(',');
        put(table, &self.name);
        if self.field.class_names.is_some() {
            table.push(',');
            put(table, &self.class_column());
        }
    }

    fn put(&self, table: &mut String, text: &str) {
        table.push(',');
        put(table, text);
        if let Some(names) = &self.field.class_names {
            let number = text.trim().parse().ok();
            table.push(',');
            put(table, number.and_then(|number: usize| names.get(number)).map_or("", |it| it));
        }
    }

    fn class_column(&self) -> String {
        format!("{}_name", self.name)
    }
}

/// A value of a table, in quotes where it needs them (RFC 4180).
fn put(table: &mut String, text: &str) {
    if text.contains(['"', ',', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        table.push('"');
        table.push_str(&text.replace('"', "\"\""));
        table.push('"');
    } else {
        table.push_str(text);
    }
}

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

/// The images in all shards.
fn images(shards: &Shards<'_>) -> Result<Value> {
    let names = shards.schema.first_image().and_then(|at| shards.members.get(at));
    let names: Vec<&str> = names.map_or_else(Vec::new, |names| names.split(';').collect());
    let archives = shards.files.iter().map(|file| Ok(json!({"@id": shards.name_of(file)?})));
    Ok(json!({
        "@type": "cr:FileSet",
        "@id": "images",
        "name": "images",
        "containedIn": archives.collect::<Result<Vec<_>>>()?,
        "encodingFormat": names.first().map_or("image/*", |name| by_image(name)),
        "includes": names.iter().map(|name| format!("*.{name}")).collect::<Vec<_>>(),
    }))
}

fn fields(columns: &[Column<'_>]) -> Vec<Value> {
    let field = |name: &str, kind: Value, source: Value| {
        json!({
            "@type": "cr:Field",
            "@id": format!("samples/{name}"),
            "name": name,
            "dataType": kind,
            "source": source,
        })
    };
    let of_files = |property: &str| json!({"fileSet": {"@id": "images"}, "extract": {"fileProperty": property}});
    let of_table =
        |column: &str| json!({"fileObject": {"@id": TABLE}, "extract": {"column": column}});
    let mut of_key = of_files("fullpath");
    if let Value::Object(of_key) = &mut of_key {
        // A key ends at the first dot of the last part of its path.
        let regex = json!({"regex": r"^((?:.*/)?[^/.]+)\.[^/]*$"});
        of_key.insert("transform".to_owned(), regex);
    }
    let mut key = field("key", json!("sc:Text"), of_key);
    if let Value::Object(key) = &mut key {
        key.insert("references".to_owned(), of_table("key"));
    }
    let mut all = vec![
        key,
        field("image", json!("sc:ImageObject"), of_files("content")),
        field("split", json!(["sc:Text", "cr:Split"]), of_table("split")),
    ];
    for column in columns {
        let kind = match column.field.kind {
            Kind::Int => "sc:Integer",
            Kind::Float => "sc:Float",
            _ => "sc:Text",
        };
        all.push(field(&column.name, json!(kind), of_table(&column.name)));
        if column.field.class_names.is_some() {
            let name = column.class_column();
            all.push(field(&name, json!("sc:Text"), of_table(&name)));
        }
    }
    all
}

/// The context that version 1.0 prescribes.
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
