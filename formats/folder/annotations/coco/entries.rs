//! What stands in a file of COCO annotations, entry by entry, and what it has to be.
use crate::folder::annotations::lists::number;
use fdconvert_core::StoredRunLengths;
use serde::{
    Deserialize,
    de::{Deserializer, Error as _, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Keys that are not packed are looked for in so many annotations.
const LOOKED_AT: usize = 1000;
/// Keys that are packed, or that packed ones tell.
const KNOWN: [&str; 10] = [
    "id",
    "image_id",
    "category_id",
    "bbox",
    "area",
    "iscrowd",
    "segmentation",
    "keypoints",
    "num_keypoints",
    "caption",
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
    pub(super) id: Option<i64>,
    #[serde(borrow)]
    pub(super) file_name: Option<Cow<'a, str>>,
    pub(super) width: Option<u64>,
    pub(super) height: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Category {
    pub(super) id: i64,
    pub(super) name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Annotation<'a> {
    pub(super) id: Option<i64>,
    pub(super) image_id: Option<i64>,
    pub(super) category_id: Option<i64>,
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
    pub(super) fn bbox(&self) -> Result<&'a str, String> {
        let raw = self.bbox.ok_or("it has no `bbox`")?;
        let [_, _, width, height]: [f64; 4] = parsed("bbox", "four numbers", raw)?;
        if width < 0.0 || height < 0.0 {
            return Err(format!("its `bbox` is {width} wide and {height} high"));
        }
        Ok(raw.get())
    }

    /// The area, or that of the box where it is not said.
    pub(super) fn area(&self) -> Result<Cow<'a, str>, String> {
        match (self.area, self.bbox) {
            (Some(raw), _) => {
                let _: f64 = parsed("area", "a number", raw)?;
                Ok(raw.get().into())
            }
            (None, Some(raw)) => {
                let [_, _, width, height]: [f64; 4] = parsed("bbox", "four numbers", raw)?;
                Ok(number(width * height).to_string().into())
            }
            (None, None) => Err("it has no `bbox`".to_owned()),
        }
    }

    pub(super) fn iscrowd(&self) -> Result<u8, String> {
        match self.iscrowd.map(RawValue::get) {
            None | Some("0" | "false") => Ok(0),
            Some("1" | "true") => Ok(1),
            Some(_) => Err("its `iscrowd` is neither 0 nor 1".to_owned()),
        }
    }

    /// Polygons or run lengths, as they are.
    pub(super) fn segmentation(&self) -> Result<Option<&'a str>, String> {
        let Some(raw) = self.segmentation else { return Ok(None) };
        if raw.get().starts_with('{') {
            let runs: StoredRunLengths = parsed("segmentation", "run lengths", raw)?;
            runs.decode()?;
        } else {
            let polygons: Vec<Length> = parsed("segmentation", "lists of numbers", raw)?;
            if let Some(Length(odd)) = polygons.iter().find(|Length(len)| len % 2 == 1) {
                return Err(format!("a polygon of its `segmentation` has {odd} numbers, no pairs"));
            }
        }
        Ok(Some(raw.get()))
    }

    pub(super) fn keypoints(&self) -> Result<Option<&'a str>, String> {
        let Some(raw) = self.keypoints else { return Ok(None) };
        let Length(n_numbers) = parsed("keypoints", "a list of numbers", raw)?;
        if n_numbers % 3 != 0 {
            return Err(format!("its `keypoints` are {n_numbers} numbers, no triples"));
        }
        Ok(Some(raw.get()))
    }
}

/// Length of a list of numbers.
struct Length(u64);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Numbers)
    }
}

struct Numbers;

impl<'de> Visitor<'de> for Numbers {
    type Value = Length;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list of numbers")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Length, A::Error> {
        let mut n_numbers = 0;
        while let Some(number) = list.next_element::<f64>()? {
            if !number.is_finite() {
                return Err(A::Error::custom("a number is not finite"));
            }
            n_numbers += 1;
        }
        Ok(Length(n_numbers))
    }
}

fn parsed<'a, T: Deserialize<'a>>(name: &str, what: &str, raw: &'a RawValue) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|_| {
        let text = raw.get();
        let end = text.char_indices().nth(40).map_or(text.len(), |(at, _)| at);
        let shown = text.get(..end).unwrap_or(text);
        let more = if end < text.len() { "..." } else { "" };
        format!("its `{name}` is not {what}: {shown}{more}")
    })
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
pub(super) fn unknown_keys(annotations: &[&RawValue]) -> Option<String> {
    let mut names = BTreeSet::new();
    for raw in annotations.iter().take(LOOKED_AT) {
        let keys = serde_json::from_str::<BTreeMap<Cow<'_, str>, IgnoredAny>>(raw.get());
        let keys = keys.unwrap_or_default().into_keys();
        names.extend(keys.filter(|key| !KNOWN.contains(&&**key)).map(Cow::into_owned));
    }
    let shown: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
    let more = if names.len() > shown.len() { ", ..." } else { "" };
    (!shown.is_empty()).then(|| format!("the keys {}{more}", shown.join(", ")))
}
