//! `NAME.croissant.json` next to a Parquet file: a description that depends only on the file.
use super::{data_type, document, field, object, record_set};
use fdconvert_core::{FieldSpec, Kind, Provenance, Schema};
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

const SAMPLES: &str = "samples";

/// A complete file.
pub(crate) struct Described<'a> {
    pub(crate) path: &'a Path,
    pub(crate) bytes: u64,
    pub(crate) sha256: [u8; 32],
    pub(crate) schema: &'a Schema,
    pub(crate) made: &'a Provenance,
}

/// Path of the description of a file: the file's whole name plus a suffix, so that several files in
/// a folder do not collide.
pub(crate) fn path_of(file: &Path) -> PathBuf {
    let mut name = OsString::from(file.as_os_str());
    name.push(".croissant.json");
    name.into()
}

impl Described<'_> {
    pub(crate) fn document(&self) -> Vec<u8> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let file = object(&name, "application/x-parquet", self.bytes, &self.sha256);
        let mut names = Names(Vec::new());
        let (mut fields, mut record_sets) = (Vec::new(), Vec::new());
        let column = |column: &str, member: Option<&str>| {
            let mut source = json!({"fileObject": {"@id": &*name}, "extract": {"column": column}});
            if let (Some(member), Value::Object(source)) = (member, &mut source) {
                source.insert("transform".to_owned(), json!({"jsonPath": member}));
            }
            source
        };
        let first = self.schema.first_image().and_then(|at| self.schema.fields.get(at));
        if let Some(image) = first {
            let of_path = column(&image.name, Some("path"));
            fields.push(field(SAMPLES, &names.free("key"), &json!("sc:Text"), &of_path));
        }
        for spec in &self.schema.fields {
            let (kind, member) = match data_type(&spec.kind) {
                Some(kind) => (kind, None),
                None if spec.kind == Kind::Image => ("sc:ImageObject", Some("bytes")),
                None => continue,
            };
            let name = names.free(&spec.name);
            let source = column(&spec.name, member);
            let mut described = field(SAMPLES, &name, &json!(kind), &source);
            if let (Some(classes), Value::Object(described)) =
                (classes(&name, spec), &mut described)
            {
                let number = json!({"@id": format!("{name}_classes/number")});
                described.insert("references".to_owned(), json!({ "field": number }));
                record_sets.push(classes);
            }
            fields.push(described);
        }
        record_sets.insert(0, record_set(SAMPLES, first.map(|_| "key"), &fields));
        document("Images in a Parquet file", Some(self.made), &[file], &record_sets)
    }
}

/// The field names so far.
struct Names(Vec<String>);

impl Names {
    /// Returns an unused name, by appending `_` if necessary.
    fn free(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.0.contains(&name) {
            name.push('_');
        }
        self.0.push(name.clone());
        name
    }
}

/// The class names of a label, by number.
fn classes(name: &str, spec: &FieldSpec) -> Option<Value> {
    let names = spec.class_names.as_ref()?;
    let id = format!("{name}_classes");
    let rows = names.iter().enumerate().map(
        |(number, class)| json!({format!("{id}/number"): number, format!("{id}/name"): class}),
    );
    let column = |column: &str, kind: &str| {
        let id = format!("{id}/{column}");
        json!({"@type": "cr:Field", "@id": id, "name": column, "dataType": kind})
    };
    let fields = [column("number", "sc:Integer"), column("name", "sc:Text")];
    let mut classes = record_set(&id, Some("number"), &fields);
    if let Value::Object(classes) = &mut classes {
        classes.insert("dataType".to_owned(), json!("sc:Enumeration"));
        classes.insert("data".to_owned(), rows.collect());
    }
    Some(classes)
}
