//! Entries of a file of COCO annotations.
use super::{id::Id, unpacked::Key};
use crate::folder::annotations::frame::side;
use fdconvert_core::objects::Category;
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
    },
};
use serde_json::{Value as Json, value::RawValue};
use std::{borrow::Cow, fmt};

/// A whole file, the entries of its lists unread.
#[derive(Debug, Default)]
pub(super) struct Document<'a> {
    pub(super) images: Option<Vec<&'a RawValue>>,
    pub(super) annotations: Option<Vec<&'a RawValue>>,
    pub(super) categories: Option<Vec<&'a RawValue>>,
}

/// Reads a document and notes the bytes that were passed.
struct Whole<'f>(&'f dyn Fn(usize));

/// The entries of the list of that name, of which none is read.
struct Entries<'f>(&'static str, &'f dyn Fn(usize));

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = Document<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document<'de>, A::Error> {
        let mut document = Document::default();
        while let Some(Key(key)) = map.next_key()? {
            let (name, list) = match &*key {
                "images" => ("images", &mut document.images),
                "annotations" => ("annotations", &mut document.annotations),
                "categories" => ("categories", &mut document.categories),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if list.is_some() {
                return Err(A::Error::custom(format_args!("`{name}` occurs twice")));
            }
            *list = map.next_value_seed(Entries(name, self.0))?;
        }
        Ok(document)
    }
}

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = Option<Vec<&'de RawValue>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = Option<Vec<&'de RawValue>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list for `{}`", self.0)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = list.next_element::<&'de RawValue>()? {
            (self.1)(entry.get().len());
            entries.push(entry);
        }
        Ok(Some(entries))
    }
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
pub(super) struct StoredCategory<'a> {
    id: Id,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    supercategory: Option<&'a RawValue>,
    #[serde(borrow)]
    keypoints: Option<&'a RawValue>,
    #[serde(borrow)]
    skeleton: Option<&'a RawValue>,
}

/// The image of a damaged annotation.
#[derive(Debug, Deserialize)]
pub(super) struct Owner {
    pub(super) image_id: Option<Id>,
}

impl StoredCategory<'_> {
    /// The category of that name, and the keys whose values are not what COCO has there.
    pub(super) fn named(self, name: String) -> ((Id, Category), Vec<&'static str>) {
        fn read<T: DeserializeOwned + Default>(
            key: &'static str,
            raw: Option<&RawValue>,
            unread: &mut Vec<&'static str>,
        ) -> T {
            let parsed = raw.map(|raw| serde_json::from_str(raw.get()));
            unread.extend(parsed.as_ref().and_then(|parsed| parsed.is_err().then_some(key)));
            parsed.and_then(Result::ok).unwrap_or_default()
        }
        let mut unread = Vec::new();
        let category = Category {
            name,
            id: self.id.number(),
            supercategory: read("supercategory", self.supercategory, &mut unread),
            keypoints: read("keypoints", self.keypoints, &mut unread),
            skeleton: read("skeleton", self.skeleton, &mut unread),
        };
        ((self.id, category), unread)
    }

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
    /// Calls `used` with the length of each entry in bytes.
    pub(super) fn parse(text: &'a [u8], used: &dyn Fn(usize)) -> Result<Self, String> {
        if text.trim_ascii_start().starts_with(b"[") {
            return Err(
                "it is a list, as results of detectors are; annotations are an object with \
                        `images`"
                    .to_owned(),
            );
        }
        let mut parser = serde_json::Deserializer::from_slice(text);
        let document = parser.deserialize_map(Whole(used)).and_then(|it| parser.end().map(|()| it));
        document.map_err(|error| {
            let said = error.to_string();
            match said.split_once("expected a list for `").and_then(|it| it.1.split_once('`')) {
                Some((name, _)) => format!("`{name}` is not a list"),
                None => format!("not a JSON document of COCO annotations: {said}"),
            }
        })
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

/// Parses an entry.
pub(super) fn entry<'a, T: Deserialize<'a>>(
    text: &[u8],
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
