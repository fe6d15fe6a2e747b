//! Entries of a file of COCO annotations.
use super::id::Id;
use crate::folder::annotations::frame::side;
use serde::Deserialize;
use serde_json::{Value as Json, value::RawValue};
use std::borrow::Cow;

/// A whole file, its lists unread.
#[derive(Debug, Deserialize)]
pub(super) struct Document<'a> {
    #[serde(borrow)]
    pub(super) images: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) categories: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an image with `id` and `file_name`")]
pub(super) struct Picture<'a> {
    pub(super) id: Option<Id>,
    #[serde(borrow)]
    pub(super) file_name: Option<Cow<'a, str>>,
    /// LVIS has this in place of names.
    #[serde(borrow)]
    pub(super) coco_url: Option<Cow<'a, str>>,
    #[serde(borrow)]
    width: Option<&'a RawValue>,
    #[serde(borrow)]
    height: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "a category with `id` and `name`")]
pub(super) struct Category<'a> {
    pub(super) id: Id,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
}

/// The image of a damaged annotation.
#[derive(Debug, Deserialize)]
pub(super) struct Owner {
    pub(super) image_id: Option<Id>,
}

impl Category<'_> {
    /// Its name, and whether that is written as a number.
    pub(super) fn name(&self) -> Result<(String, bool), String> {
        let Some(raw) = self.name else { return Err("it has no `name`".to_owned()) };
        match serde_json::from_str(raw.get()) {
            Ok(Json::String(name)) => Ok((name, false)),
            Ok(Json::Number(number)) => Ok((number.to_string(), true)),
            _ => Err(format!("its `name` is not a text: {}", shown(raw))),
        }
    }
}

impl Picture<'_> {
    /// Width and height, if both are present; 0 counts as missing.
    pub(super) fn size(&self) -> Result<Option<[u64; 2]>, String> {
        let side = |name: &str, raw: Option<&RawValue>| {
            side(name, raw.map_or("", |raw| raw.get().trim_matches('"')))
        };
        let sides = (side("width", self.width)?, side("height", self.height)?);
        Ok(sides.0.zip(sides.1).map(|(width, height)| [width, height]))
    }
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        if text.trim_start().starts_with('[') {
            return Err(
                "it is a list, as results of detectors are; annotations are an object with \
                        `images`"
                    .to_owned(),
            );
        }
        serde_json::from_str(text)
            .map_err(|error| format!("not a JSON document of COCO annotations: {error}"))
    }
}

/// Parses a part of an annotation; the error completes a sentence that names the annotation.
pub(super) fn parsed<'a, T: Deserialize<'a>>(
    name: &str,
    what: &str,
    raw: &'a RawValue,
) -> Result<T, String> {
    serde_json::from_str(raw.get())
        .map_err(|_| format!("its `{name}` is not {what}: {}", shown(raw)))
}

pub(super) fn shown(raw: &RawValue) -> String {
    let text = raw.get();
    let end = text.char_indices().nth(40).map_or(text.len(), |(at, _)| at);
    let more = if end < text.len() { "..." } else { "" };
    format!("{}{more}", text.get(..end).unwrap_or(text))
}

/// The entries of a list of the document, unread.
pub(super) fn entries<'a>(name: &str, list: &'a RawValue) -> Result<Vec<&'a RawValue>, String> {
    serde_json::from_str(list.get()).map_err(|_| format!("`{name}` is not a list"))
}

/// Parses an entry.
pub(super) fn entry<'a, T: Deserialize<'a>>(
    text: &str,
    list: &str,
    at: usize,
    raw: &'a RawValue,
) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|error| {
        let start = raw.get().as_ptr().addr().saturating_sub(text.as_ptr().addr());
        let error = error.to_string();
        // Drop the position inside the entry; that of the entry says more.
        let error = error.rsplit_once(" at line").map_or(error.as_str(), |(what, _)| what);
        format!("`{list}`, entry {} (at byte {start}): {error}", at + 1)
    })
}
