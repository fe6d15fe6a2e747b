//! COCO: one JSON file for all images.
mod annotation;
mod captions;
mod entries;
mod id;
mod images;
mod objects;
mod shapes;
mod unpacked;

pub(crate) use captions::Captions;
pub(crate) use objects::Objects;

use super::{Annotated, Made, lists::check_name};
use crate::folder::{
    Folder,
    table::{Column, Table},
};
use annotation::Annotation;
use bytes::Bytes;
use entries::{Category, Document, entries, entry};
use fdconvert_core::{Error, FieldSpec, Ignored, Kind, Result, Schema, option, with_null_for};
use fdconvert_storage::read_file;
use id::Id;
use images::Images;
use serde_json::value::RawValue;
use std::path::Path;
use unpacked::Unpacked;

/// Reads a file of annotations.
pub(super) fn read(file: &Path, how: &Folder) -> Result<Annotated> {
    let bytes = read_file(file, how.limits.max_file_bytes)?;
    parse(&bytes)
        .map_err(|what| Error::usage(option::LABELS, format!("{}: {what}", file.display())))
}

pub(super) fn parse(file: &Bytes) -> Result<Annotated, String> {
    let text = std::str::from_utf8(file)
        .map_err(|error| format!("it is not UTF-8 from byte {} on", error.valid_up_to()))?;
    let error = match parse_text(text, file) {
        Ok(annotated) => return Ok(annotated),
        Err(error) => error,
    };
    // Python writes numbers that JSON lacks; only search for them after a failure.
    let Some((text, n_others)) = with_null_for(&["NaN", "Infinity", "-Infinity"], text) else {
        return Err(error);
    };
    let bytes = Bytes::from(text);
    let text = std::str::from_utf8(&bytes).map_err(|error| error.to_string())?;
    let hint = "`null` stands for NaN and Infinity, which JSON has not";
    let mut annotated = parse_text(text, &bytes).map_err(|what| format!("{what}; {hint}"))?;
    annotated.identity = file.clone();
    if let Some(Column::Made(Made::Coco(objects))) = annotated.table.columns.last_mut() {
        let shown = objects.bad.values_mut().filter(|what| what.contains("null"));
        shown.for_each(|what| what.push_str(" (null is NaN or Infinity there)"));
    }
    let are = if n_others == 1 { "number is" } else { "numbers are" };
    annotated.remarks.push(format!("{n_others} {are} NaN or Infinity, and taken as null"));
    Ok(annotated)
}

/// `bytes` contain the text.
fn parse_text<'a>(text: &'a str, bytes: &Bytes) -> Result<Annotated, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: Document<'a> = Document::parse(text)?;
    let images = file.images.ok_or("it has no `images`; is it a file of COCO annotations?")?;
    let mut unpacked = Unpacked::default();
    let images = Images::read(text, images, &mut unpacked)?;
    let list = file.annotations.map_or(Ok(Vec::new()), |list| entries("annotations", list))?;
    let read = |raw: &&'a RawValue| serde_json::from_str::<Annotation<'a>>(raw.get()).ok();
    if list.first().and_then(read).is_some_and(|first| first.segments_info.is_some()) {
        return Err(
            "these are panoptic annotations (`segments_info`), which are not read; give the \
                    instances, and the folder of PNGs as one more image of every sample"
                .to_owned(),
        );
    }
    let mut remarks = Vec::new();
    // The first annotation with either decides.
    let told = list.iter().filter_map(read).find_map(|annotation| annotation.is_caption());
    let is_captions = told == Some(true);
    let (name, made) = if is_captions {
        let captions = images.captions(text, &list, &mut unpacked, &mut remarks)?;
        ("captions", Made::Captions(captions))
    } else {
        let categories = categories(text, file.categories, &mut unpacked, &mut remarks)?;
        let objects =
            images.objects(text, bytes, &list, categories, &mut unpacked, &mut remarks)?;
        ("objects", Made::Coco(objects))
    };
    remarks.extend(unpacked.remarks());
    let (id_kind, ids) = images.id_column();
    let fields = vec![
        FieldSpec::new("image", Kind::Image),
        FieldSpec::new("image_id", id_kind),
        FieldSpec::new(name, Kind::Json),
    ];
    let schema = Schema::new(fields).map_err(|error| error.to_string())?;
    let Images { paths, .. } = images;
    let columns = vec![Column::FirstImage, ids, Column::Made(made)];
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

/// Names of categories, sorted by id.
fn categories(
    text: &str,
    list: Option<&RawValue>,
    unpacked: &mut Unpacked,
    remarks: &mut Vec<String>,
) -> Result<Vec<(Id, String)>, String> {
    let list = list.map_or(Ok(Vec::new()), |list| entries("categories", list))?;
    let mut categories: Vec<(Id, String)> = Vec::with_capacity(list.len());
    let mut n_numbers = 0;
    for (at, raw) in list.into_iter().enumerate() {
        unpacked.look("categories", raw);
        let category: Category<'_> = entry(text, "categories", at, raw)?;
        let in_entry = |what| format!("`categories`, entry {}: {what}", at + 1);
        let (name, is_number) = category.name().map_err(in_entry)?;
        check_name(&name).map_err(in_entry)?;
        n_numbers += usize::from(is_number);
        categories.push((category.id, name));
    }
    if n_numbers > 0 {
        let are = if n_numbers == 1 { "category is" } else { "categories are" };
        remarks.push(format!("{n_numbers} {are} called by a number, which is taken as a text"));
    }
    categories.sort_by(|(id, _), (other, _)| id.cmp(other));
    let mut pairs = categories.iter().zip(categories.iter().skip(1));
    if let Some(((id, first), (_, second))) = pairs.find(|((id, _), (next, _))| id == next) {
        return Err(format!("the categories `{first}` and `{second}` both have the id {id}"));
    }
    Ok(categories)
}
