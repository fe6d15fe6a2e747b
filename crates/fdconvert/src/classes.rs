//! The option `classes`: a file or a dataset becomes a list of class names.
use crate::{Classes, Context, PackOptions, sources::Opening};
use fdconvert_core::{Error, Remark, Result, Schema, option};
use fdconvert_formats::folder::alike_classes;
use fdconvert_pipeline::ClassList;
use fdconvert_storage::place::{self, Kind};
use std::{borrow::Cow, path::Path};
use xxhash_rust::xxh3::Xxh3;

/// Returns the options with the names themselves, so that no run reads another list than its plan
/// did.
pub(crate) fn resolved<'a>(
    options: &'a PackOptions,
    context: Context<'_>,
) -> Result<Cow<'a, PackOptions>> {
    let Some(Classes::Of(path)) = &options.classes else { return Ok(Cow::Borrowed(options)) };
    let names = if is_text(path)? { names_in(path)? } else { names_of(path, context)? };
    let mut options = options.clone();
    options.classes = Some(Classes::Names(names));
    Ok(Cow::Owned(options))
}

/// Returns the list in resolved options.
pub(crate) fn list(options: &PackOptions) -> Result<Option<ClassList>> {
    match &options.classes {
        Some(Classes::Names(names)) => ClassList::new(names.clone()).map(Some),
        _ => Ok(None),
    }
}

/// Returns the parameter to record, by name.
pub(crate) fn param(options: &PackOptions) -> Option<(String, String)> {
    let Some(Classes::Names(names)) = &options.classes else { return None };
    let mut hash = Xxh3::new();
    for name in names {
        hash.update(name.as_bytes());
        hash.update(b"\n");
    }
    let value = format!("{} names, xxh3 {:032x}", names.len(), hash.digest128());
    Some(("classes".to_owned(), value))
}

/// Reports classes of a source that people would read as one.
pub(crate) fn alike(schema: &Schema) -> impl Iterator<Item = Remark> + '_ {
    let named = schema.fields.iter().filter_map(|field| field.class_names.as_deref());
    named.filter_map(alike_classes).map(Remark::from)
}

/// Returns true if a path leads to a text file, and not to anything that opens as a dataset.
fn is_text(path: &Path) -> Result<bool> {
    let is_dataset = || fdconvert_reader::formats().iter().any(|format| format.detect(path));
    Ok(place::look_at(path)? == Kind::File && !is_dataset())
}

fn names_in(path: &Path) -> Result<Vec<String>> {
    let wrong = |what: &str| Error::usage(option::CLASSES, format!("{}: {what}", path.display()));
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if ["json", "yaml", "yml"].iter().any(|other| ending.eq_ignore_ascii_case(other)) {
        return Err(wrong(
            "the list is a text with one name a line; write the names into such a file",
        ));
    }
    let bytes = place::whole(path)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| wrong("it is not UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Ok(text.trim_end().lines().map(|line| line.trim().to_owned()).collect())
}

/// Returns the class names of a dataset.
fn names_of(path: &Path, context: Context<'_>) -> Result<Vec<String>> {
    let options = PackOptions::default();
    let source = Opening { options: &options, context }.open(&[path.to_owned()])?;
    let schema = source.schema();
    let names = schema.label().and_then(|at| schema.fields.get(at)?.class_names.clone());
    names.map(|names| names.to_vec()).ok_or_else(|| {
        let what = format!(
            "{} has no names of classes; write them into a text file, one a line",
            path.display()
        );
        Error::usage(option::CLASSES, what)
    })
}
