//! COCO: one JSON file for all images.
mod annotation;
mod captions;
mod entries;
mod id;
mod images;
mod objects;
mod shapes;
mod unpacked;
#[cfg(feature = "write")]
mod writer;

pub(crate) use captions::Captions;
pub(crate) use objects::Objects;
#[cfg(feature = "write")]
pub(in crate::folder) use writer::CocoWriter;

use super::{Annotated, Made, lists::check_name};
use crate::folder::{
    Folder,
    table::{Column, Table},
};
use annotation::Annotation;
use bytes::Bytes;
use entries::{Document, StoredCategory, entry};
use fdconvert_core::{
    Error, FieldSpec, Ignored, Kind, Result, Schema,
    objects::{Category, FIELD},
    option, with_null_for,
};
use fdconvert_storage::{LargeText, sigbus::caught};
use id::Id;
use images::Images;
use serde_json::value::RawValue;
use std::path::Path;
use unpacked::Unpacked;

/// Reads a file of annotations.
pub(crate) fn read(file: &Path, how: &Folder) -> Result<Annotated> {
    let text = LargeText::open(file, how.limits.max_file_bytes)?;
    caught(|| {
        parse(&text)
            .map_err(|what| Error::usage(option::LABELS, format!("{}: {what}", file.display())))
    })
}

pub(super) fn parse(file: &LargeText) -> Result<Annotated, String> {
    let error = match parse_text(file.bytes(), file) {
        Ok(annotated) => return Ok(annotated),
        Err(error) => error,
    };
    let text = std::str::from_utf8(file.bytes())
        .map_err(|error| format!("it is not UTF-8 from byte {} on", error.valid_up_to()))?;
    // Python writes numbers that JSON lacks; only search for them after a failure.
    let Some((text, n_others)) = with_null_for(&["NaN", "Infinity", "-Infinity"], text) else {
        return Err(error);
    };
    let text = LargeText::from(Bytes::from(text));
    let hint = "`null` stands for NaN and Infinity, which JSON has not";
    let parsed = parse_text(text.bytes(), &text);
    let mut annotated = parsed.map_err(|what| format!("{what}; {hint}"))?;
    annotated.identity = Bytes::copy_from_slice(&file.hash().to_le_bytes());
    if let Some(Column::Made(Made::Coco(objects))) = annotated.table.columns.last_mut() {
        let shown = objects.bad.values_mut().filter(|what| what.contains("null"));
        shown.for_each(|what| what.push_str(" (null is NaN or Infinity there)"));
    }
    let are = if n_others == 1 { "number is" } else { "numbers are" };
    annotated.remarks.push(format!("{n_others} {are} NaN or Infinity, and taken as null"));
    Ok(annotated)
}

/// `text` is that of the file.
fn parse_text<'a>(text: &'a [u8], file: &LargeText) -> Result<Annotated, String> {
    let without_mark = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let document: Document<'a> = Document::parse(without_mark, &|n_bytes| file.used(n_bytes))?;
    let images = document.images.ok_or("it has no `images`; is it a file of COCO annotations?")?;
    let mut unpacked = Unpacked::default();
    let images = Images::read(text, &images, &mut unpacked)?;
    let list = document.annotations.unwrap_or_default();
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
    let (field, made) = if is_captions {
        let captions = images.captions(text, &list, &mut unpacked, &mut remarks)?;
        (FieldSpec::new("captions", Kind::Json), Made::Captions(captions))
    } else {
        let list_of = document.categories.unwrap_or_default();
        let categories = categories(text, &list_of, &mut unpacked, &mut remarks)?;
        let objects = images.objects(text, file, &list, categories, &mut unpacked, &mut remarks)?;
        (FieldSpec::objects(FIELD, objects.categories()), Made::Coco(objects))
    };
    remarks.extend(unpacked.remarks());
    let (id_kind, ids) = images.id_column();
    let fields =
        vec![FieldSpec::new("image", Kind::Image), FieldSpec::new("image_id", id_kind), field];
    let schema = Schema::new(fields).map_err(|error| error.to_string())?;
    let Images { paths, .. } = images;
    let columns = vec![Column::FirstImage, ids, Column::Made(made)];
    Ok(Annotated {
        schema,
        table: Table { paths, columns },
        identity: Bytes::copy_from_slice(&file.hash().to_le_bytes()),
        division: None,
        remarks,
        ignored: Ignored::default(),
        lists: true,
    })
}

/// The categories, sorted by id.
fn categories(
    text: &[u8],
    list: &[&RawValue],
    unpacked: &mut Unpacked,
    remarks: &mut Vec<String>,
) -> Result<Vec<(Id, Category)>, String> {
    let mut categories: Vec<(Id, Category)> = Vec::with_capacity(list.len());
    let mut n_numbers = 0;
    for (at, raw) in list.iter().copied().enumerate() {
        unpacked.look("categories", raw);
        let category: StoredCategory<'_> = entry(text, "categories", at, raw)?;
        let in_entry = |what| format!("`categories`, entry {}: {what}", at + 1);
        let (name, is_number) = category.name().map_err(in_entry)?;
        check_name(&name).map_err(in_entry)?;
        n_numbers += usize::from(is_number);
        let (category, unread) = category.named(name);
        unpacked.add("categories", unread.into_iter());
        categories.push(category);
    }
    if n_numbers > 0 {
        let are = if n_numbers == 1 { "category is" } else { "categories are" };
        remarks.push(format!("{n_numbers} {are} called by a number, which is taken as a text"));
    }
    categories.sort_by(|(id, _), (other, _)| id.cmp(other));
    let mut pairs = categories.iter().zip(categories.iter().skip(1));
    if let Some(((id, first), (_, second))) = pairs.find(|((id, _), (next, _))| id == next) {
        let (first, second) = (&first.name, &second.name);
        return Err(format!("the categories `{first}` and `{second}` both have the id {id}"));
    }
    Ok(categories)
}
