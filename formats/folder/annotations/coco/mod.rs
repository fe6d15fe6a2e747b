//! COCO: one JSON file for all images.
mod entries;
mod id;
mod images;
mod objects;
mod shapes;

pub(crate) use objects::Objects;

use super::{Annotated, Made, lists::check_name};
use crate::folder::{
    Folder,
    table::{Column, Table},
};
use bytes::Bytes;
use entries::{Annotation, Category, Document, entries, entry, unknown_keys};
use fdconvert_core::{Error, FieldSpec, Ignored, Kind, Result, Schema, named};
use fdconvert_storage::read_file;
use id::Id;
use images::Images;
use serde_json::value::RawValue;
use std::path::Path;

/// Reads a file of annotations.
pub(super) fn read(file: &Path, how: &Folder) -> Result<Annotated> {
    let bytes = read_file(file, how.limits.max_file_bytes)?;
    parse(&bytes).map_err(|what| Error::usage(named::LABELS, format!("{}: {what}", file.display())))
}

pub(super) fn parse(bytes: &Bytes) -> Result<Annotated, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("it is not UTF-8 from byte {} on", error.valid_up_to()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: Document<'_> = Document::parse(text)?;
    let images = file.images.ok_or("it has no `images`; is it a file of COCO annotations?")?;
    let images = Images::read(text, images)?;
    let list = file.annotations.map_or(Ok(Vec::new()), |list| entries("annotations", list))?;
    let first =
        list.first().and_then(|raw| entry::<Annotation<'_>>(text, "annotations", 0, raw).ok());
    if first.as_ref().is_some_and(|first| first.segments_info.is_some()) {
        return Err(
            "these are panoptic annotations (`segments_info`), which are not read; give the \
                    instances, and the folder of PNGs as one more image of every sample"
                .to_owned(),
        );
    }
    let mut remarks = Vec::new();
    let is_captions = first.is_some_and(|first| first.is_caption());
    if let Some(keys) = unknown_keys(&list, is_captions) {
        remarks.push(format!("{keys} of the annotations are not packed"));
    }
    let (name, column) = if is_captions {
        ("captions", images.captions(text, &list, &mut remarks)?)
    } else {
        let categories = categories(text, file.categories)?;
        let objects = images.objects(text, bytes, &list, categories, &mut remarks)?;
        ("objects", Column::Made(Made::Coco(objects)))
    };
    let (id_kind, ids) = images.id_column();
    let fields = vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::new("image_id", id_kind),
        FieldSpec::new(name, Kind::Json),
    ];
    let schema = Schema::new(fields).map_err(|error| error.to_string())?;
    let Images { paths, .. } = images;
    let columns = vec![Column::FirstImage, ids, column];
    Ok(Annotated {
        schema,
        table: Table { paths, columns },
        identity: bytes.clone(),
        division: None,
        remarks,
        ignored: Ignored::default(),
        lists: true,
    })
}

/// Names of categories in the order of their ids.
fn categories(text: &str, list: Option<&RawValue>) -> Result<Vec<(Id, String)>, String> {
    let list = list.map_or(Ok(Vec::new()), |list| entries("categories", list))?;
    let mut categories: Vec<(Id, String)> = Vec::with_capacity(list.len());
    for (at, raw) in list.into_iter().enumerate() {
        let Category { id, name } = entry(text, "categories", at, raw)?;
        check_name(&name)?;
        categories.push((id, name));
    }
    categories.sort_by(|(id, _), (other, _)| id.cmp(other));
    let mut pairs = categories.iter().zip(categories.iter().skip(1));
    if let Some(((id, first), (_, second))) = pairs.find(|((id, _), (next, _))| id == next) {
        return Err(format!("the categories `{first}` and `{second}` both have the id {id}"));
    }
    Ok(categories)
}
