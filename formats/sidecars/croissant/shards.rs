//! `croissant.json`: MLCommons Croissant 1.0, and a table of all values that are not images.
//!
//! Croissant takes fields from the files of an archive by name, but joins a set of files with at
//! most one table, so labels and other values are columns of `croissant.csv`.
use super::{data_type, document, field, object, record_set};
use crate::{
    sidecars::{Output, Shards},
    tar::groups,
};
use fdconvert_core::{Codec, Error, FieldSpec, Kind, Result, option};
use fdconvert_storage::Blob;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const TABLE: &str = "croissant.csv";

pub(in crate::sidecars) fn files(shards: &Shards<'_>) -> Result<Vec<Output>> {
    let n_images = shards.schema.fields.iter().filter(|field| field.kind == Kind::Image).count();
    if n_images != 1 {
        let what = format!("`croissant` describes samples of one image, not of {n_images}");
        return Err(Error::usage(option::SIDECARS, what));
    }
    let columns = Column::of(shards);
    let mut table = "key,split".to_owned();
    columns.iter().for_each(|column| column.put_header(&mut table));
    table.push_str("\r\n");
    let mut distribution = Vec::new();
    for file in shards.files {
        let archive = Blob::open(&file.path)?.whole()?;
        let sha256 = Sha256::digest(&archive);
        distribution.push(object(&file.name, "application/x-tar", file.bytes, &sha256));
        for group in groups(&archive) {
            let group = group.map_err(|error| error.at(&file.path))?;
            let key = String::from_utf8_lossy(&group.key).into_owned();
            put(&mut table, &key);
            table.push(',');
            put(&mut table, &file.split);
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
    let samples = record_set("samples", Some("key"), &fields(&columns));
    let what = "Images in WebDataset shards";
    let document = document(what, shards.provenance, &distribution, &[samples]);
    let path = |name: &str| shards.out.join(name);
    Ok(vec![(path("croissant.json"), document), (path(TABLE), table)])
}

/// A column of the table.
struct Column<'a> {
    field: &'a FieldSpec,
    /// Names of its members, separated by `;`.
    members: &'a str,
    name: String,
}

impl<'a> Column<'a> {
    /// Columns for all fields that a table can hold.
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

/// Appends a value of a table, quoted if necessary (RFC 4180).
fn put(table: &mut String, text: &str) {
    if text.contains(['"', ',', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        table.push('"');
        table.push_str(&text.replace('"', "\"\""));
        table.push('"');
    } else {
        table.push_str(text);
    }
}

/// Describes the images of all shards.
fn images(shards: &Shards<'_>) -> Result<Value> {
    let names = shards.schema.first_image().and_then(|at| shards.members.get(at));
    let names: Vec<&str> = names.map_or_else(Vec::new, |names| names.split(';').collect());
    let archives = shards.files.iter().map(|file| Ok(json!({"@id": file.name})));
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
    let of_files = |property: &str| json!({"fileSet": {"@id": "images"}, "extract": {"fileProperty": property}});
    let of_table =
        |column: &str| json!({"fileObject": {"@id": TABLE}, "extract": {"column": column}});
    let mut of_key = of_files("fullpath");
    if let Value::Object(of_key) = &mut of_key {
        // A key ends at the first dot of the last part of its path.
        let regex = json!({"regex": r"^((?:.*/)?[^/.]+)\.[^/]*$"});
        of_key.insert("transform".to_owned(), regex);
    }
    let field = |name: &str, kind: Value, source: Value| field("samples", name, &kind, &source);
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
        let kind = data_type(&column.field.kind).unwrap_or("sc:Text");
        all.push(field(&column.name, json!(kind), of_table(&column.name)));
        if column.field.class_names.is_some() {
            let name = column.class_column();
            all.push(field(&name, json!("sc:Text"), of_table(&name)));
        }
    }
    all
}

/// The media type of images of that name.
fn by_image(name: &str) -> &'static str {
    match name.rsplit('.').next().and_then(Codec::from_extension) {
        Some(Codec::Jpeg) => "image/jpeg",
        Some(Codec::Png) => "image/png",
        Some(Codec::Webp) => "image/webp",
        Some(Codec::Bmp) => "image/bmp",
        Some(Codec::Gif) => "image/gif",
        Some(Codec::Tiff) => "image/tiff",
        Some(Codec::Avif) => "image/avif",
        Some(Codec::Jxl) => "image/jxl",
        _ => "image/*",
    }
}
