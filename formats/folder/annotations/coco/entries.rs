//! What stands in a file of COCO annotations, entry by entry, and what it has to be.
use super::{id::Id, shapes};
use crate::folder::annotations::lists::{number, numbers};
use fdconvert_core::StoredRunLengths;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

/// Keys that are not packed are looked for in so many annotations.
const LOOKED_AT: usize = 1000;
/// Keys that are packed, or that packed ones tell.
const KNOWN: [&str; 9] = [
    "id",
    "image_id",
    "category_id",
    "bbox",
    "area",
    "iscrowd",
    "segmentation",
    "keypoints",
    "num_keypoints",
];

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
pub(super) struct Picture<'a> {
    pub(super) id: Option<Id>,
    #[serde(borrow)]
    pub(super) file_name: Option<Cow<'a, str>>,
    /// What LVIS has in the place of names.
    #[serde(borrow)]
    pub(super) coco_url: Option<Cow<'a, str>>,
    #[serde(borrow)]
    width: Option<&'a RawValue>,
    #[serde(borrow)]
    height: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Category {
    pub(super) id: Id,
    pub(super) name: String,
}

/// Of a damaged annotation at least which image it is of.
#[derive(Debug, Deserialize)]
pub(super) struct Owner {
    pub(super) image_id: Option<Id>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Annotation<'a> {
    pub(super) id: Option<Id>,
    pub(super) image_id: Option<Id>,
    pub(super) category_id: Option<Id>,
    #[serde(borrow)]
    bbox: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) area: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) iscrowd: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) segmentation: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) keypoints: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) caption: Option<Cow<'a, str>>,
    /// Only panoptic ones have it.
    pub(super) segments_info: Option<IgnoredAny>,
}

impl Picture<'_> {
    /// Width and height, where both are said; 0 says nothing.
    pub(super) fn size(&self) -> Result<Option<[u64; 2]>, String> {
        let side = |name: &str, raw: Option<&RawValue>| -> Result<Option<u64>, String> {
            let Some(raw) = raw else { return Ok(None) };
            let number = raw.get().trim_matches('"').parse::<f64>().ok();
            let number = number.filter(|number| (0.0..1e9).contains(number));
            let number = number
                .ok_or_else(|| format!("its `{name}` is no number of pixels: {}", shown(raw)))?;
            Ok((number >= 1.0).then_some(number as u64))
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
        serde_json::from_str(text).map_err(|error| {
            let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
            let at = error.column().saturating_sub(1);
            let near = line.as_bytes().get(at.saturating_sub(1)..).unwrap_or_default();
            let is_nan = [&b"NaN"[..], b"Infinity", b"-Infinity"];
            let is_nan = is_nan.iter().any(|name| {
                near.starts_with(name) || near.get(1..).is_some_and(|it| it.starts_with(name))
            });
            let cure = if is_nan { "; JSON has no NaN and no Infinity" } else { "" };
            format!("not a JSON document of COCO annotations: {error}{cure}")
        })
    }
}

impl<'a> Annotation<'a> {
    /// Returns whether it says something in words, and nothing of places.
    pub(super) fn is_caption(&self) -> bool {
        self.caption.is_some() && self.bbox.is_none() && self.segmentation.is_none()
    }

    /// The box as it is written, or the one around what else tells where the object is.
    pub(super) fn bbox(&self) -> Result<(Cow<'a, str>, [f64; 4]), String> {
        let Some(raw) = self.bbox.filter(|raw| raw.get() != "[]") else {
            let shapes = [
                self.segmentation.map(shapes::around_segmentation),
                self.keypoints.map(shapes::around_keypoints),
            ];
            let around = shapes.into_iter().flatten().find_map(Result::transpose);
            let around = around.transpose()?.ok_or("it has no `bbox`")?;
            return Ok((numbers(&around).into(), around));
        };
        let bbox: [f64; 4] = parsed("bbox", "four numbers", raw)?;
        let [_, _, width, height] = bbox;
        if width < 0.0 || height < 0.0 {
            return Err(format!("its `bbox` is {width} wide and {height} high"));
        }
        Ok((raw.get().into(), bbox))
    }

    /// The area, or that of the box where it is not said.
    pub(super) fn area(&self, [_, _, width, height]: [f64; 4]) -> Result<Cow<'a, str>, String> {
        let Some(raw) = self.area else { return Ok(number(width * height).to_string().into()) };
        let _: f64 = parsed("area", "a number", raw)?;
        Ok(raw.get().into())
    }

    pub(super) fn iscrowd(&self) -> Result<u8, String> {
        let Some(raw) = self.iscrowd else { return Ok(0) };
        let text = raw.get().trim_matches('"');
        match (text, text.parse::<f64>()) {
            ("false", _) => Ok(0),
            ("true", _) => Ok(1),
            (_, Ok(0.0)) => Ok(0),
            (_, Ok(1.0)) => Ok(1),
            _ => Err(format!("its `iscrowd` is neither 0 nor 1: {}", shown(raw))),
        }
    }

    /// Polygons or run lengths, as they are.
    pub(super) fn segmentation(&self) -> Result<Option<&'a str>, String> {
        let Some(raw) = self.segmentation else { return Ok(None) };
        if raw.get().starts_with('{') {
            let runs: StoredRunLengths = parsed("segmentation", "run lengths", raw)?;
            runs.decode()?;
        } else {
            let odd = shapes::odd_polygon(raw)?;
            if let Some(odd) = odd {
                return Err(format!("a polygon of its `segmentation` has {odd} numbers, no pairs"));
            }
        }
        Ok(Some(raw.get()))
    }

    /// Numbers, three for each keypoint, in one list.
    pub(super) fn keypoints(&self) -> Result<Option<Cow<'a, str>>, String> {
        let Some(raw) = self.keypoints else { return Ok(None) };
        if let Ok(triples) = serde_json::from_str::<Vec<[f64; 3]>>(raw.get())
            && !triples.is_empty()
        {
            return Ok(Some(numbers(triples.as_flattened()).into()));
        }
        let n_numbers = shapes::n_numbers("keypoints", raw)?;
        if n_numbers % 3 != 0 {
            return Err(format!("its `keypoints` are {n_numbers} numbers, no triples"));
        }
        Ok(Some(raw.get().into()))
    }
}

/// Reads a part of an annotation; the error is the end of a sentence that names it.
pub(super) fn parsed<'a, T: Deserialize<'a>>(
    name: &str,
    what: &str,
    raw: &'a RawValue,
) -> Result<T, String> {
    serde_json::from_str(raw.get())
        .map_err(|_| format!("its `{name}` is not {what}: {}", shown(raw)))
}

fn shown(raw: &RawValue) -> String {
    let text = raw.get();
    let end = text.char_indices().nth(40).map_or(text.len(), |(at, _)| at);
    let more = if end < text.len() { "..." } else { "" };
    format!("{}{more}", text.get(..end).unwrap_or(text))
}

/// The entries of a list of the document, unread.
pub(super) fn entries<'a>(name: &str, list: &'a RawValue) -> Result<Vec<&'a RawValue>, String> {
    serde_json::from_str(list.get()).map_err(|_| format!("`{name}` is not a list"))
}

/// An entry, read.
pub(super) fn entry<'a, T: Deserialize<'a>>(
    text: &str,
    list: &str,
    at: usize,
    raw: &'a RawValue,
) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|error| {
        let start = raw.get().as_ptr().addr().saturating_sub(text.as_ptr().addr());
        let error = error.to_string();
        // Its place in the entry; where that starts says more.
        let error = error.rsplit_once(" at line").map_or(error.as_str(), |(what, _)| what);
        format!("`{list}`, entry {} (at byte {start}): {error}", at + 1)
    })
}

/// Keys that are not packed, for people; `None` without any.
pub(super) fn unknown_keys(annotations: &[&RawValue], is_captions: bool) -> Option<String> {
    let mut names = BTreeSet::new();
    for raw in annotations.iter().take(LOOKED_AT) {
        let keys = serde_json::from_str::<BTreeMap<Cow<'_, str>, IgnoredAny>>(raw.get());
        let keys = keys.unwrap_or_default().into_keys();
        let is_known = |key: &str| KNOWN.contains(&key) || (is_captions && key == "caption");
        names.extend(keys.filter(|key| !is_known(key)).map(Cow::into_owned));
    }
    let shown: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
    let more = if names.len() > shown.len() { ", ..." } else { "" };
    (!shown.is_empty()).then(|| format!("the keys {}{more}", shown.join(", ")))
}
