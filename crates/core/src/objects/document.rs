//! The text of a document of objects: the only place that parses it.
use super::{BOXES, CLASS_NAMES, classes::Entries, is_class_key, transposed};
use crate::StoredRunLengths;
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
        value::MapAccessDeserializer,
    },
};
use serde_json::{Map, Value as Json};
use std::{borrow::Cow, fmt};

/// How much of a document is parsed; other values are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Lists of classes, and the number of boxes.
    Classes,
    /// Everything except polygons and run lengths.
    Boxes,
    Shapes,
}

/// The stored lists, not compared with each other.
#[derive(Default)]
pub(super) struct Document {
    pub(super) size: Option<[f64; 2]>,
    /// `None` for a document without a list of boxes.
    pub(super) n_boxes: Option<usize>,
    pub(super) bbox: Option<Vec<[f64; 4]>>,
    pub(super) area: Option<Vec<Option<f64>>>,
    pub(super) iscrowd: Option<Vec<Flag>>,
    pub(super) id: Option<Vec<Option<i64>>>,
    pub(super) keypoints: Option<Vec<Option<Vec<f64>>>>,
    n_segmentations: Option<usize>,
    pub(super) segmentation: Option<Vec<Segmentation>>,
    /// The lists `difficult`, `truncated` and `occluded`, by name; nothing else depends on them, so
    /// that any entry is accepted.
    pub(super) marks: Vec<(String, Vec<f64>)>,
    /// Other lists, by name, that may hold the classes.
    pub(super) others: Vec<(String, Entries)>,
}

/// A flag: a boolean or a number.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Flag {
    Bool(bool),
    Int(i64),
    None,
}

/// An entry of a list of marks: a flag, or how much.
#[derive(Deserialize)]
#[serde(untagged)]
enum Mark {
    Bool(bool),
    Number(f64),
    None,
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Marks {
    List(Vec<Mark>),
    NoList(IgnoredAny),
}

pub(super) enum Segmentation {
    Polygons(Vec<Vec<f64>>),
    RunLengths(StoredRunLengths),
}

/// The name of a member of an object.
#[derive(Deserialize)]
pub(super) struct Key<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl Document {
    pub(super) fn parse(json: &[u8], depth: Depth) -> serde_json::Result<Self> {
        let mut text = serde_json::Deserializer::from_slice(json);
        let found = depth.deserialize(&mut text)?;
        text.end()?;
        Ok(found)
    }

    /// Returns the lengths of the lists with a fixed meaning besides the boxes.
    pub(super) fn lens(&self) -> impl Iterator<Item = (&'static str, usize)> {
        fn len<T>(list: &Option<Vec<T>>) -> Option<usize> {
            list.as_ref().map(Vec::len)
        }
        let lens = [
            ("area", len(&self.area)),
            ("iscrowd", len(&self.iscrowd)),
            ("id", len(&self.id)),
            ("keypoints", len(&self.keypoints)),
            ("segmentation", self.n_segmentations),
        ];
        lens.into_iter().filter_map(|(name, len)| Some((name, len?)))
    }
}

impl<'de> DeserializeSeed<'de> for Depth {
    type Value = Document;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Document, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Depth {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of lists, or a list of objects")
    }

    fn visit_unit<E>(self) -> Result<Document, E> {
        Ok(Document::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Document, A::Error> {
        let mut objects = Vec::new();
        while let Some(object) = list.next_element::<Map<String, Json>>()? {
            objects.push(Json::Object(object));
        }
        let lists = Json::Object(transposed([], objects));
        self.deserialize(lists).map_err(A::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut found = Document::default();
        while let Some(Key(key)) = map.next_key()? {
            match &*key {
                BOXES if self == Self::Classes => found.n_boxes = n_skipped(&mut map)?,
                BOXES => {
                    found.bbox = map.next_value()?;
                    found.n_boxes = found.bbox.as_ref().map(Vec::len);
                }
                name if self == Self::Classes && name != CLASS_NAMES && !is_class_key(name) => {
                    map.next_value::<IgnoredAny>()?;
                }
                "size" => found.size = map.next_value()?,
                "area" => found.area = map.next_value()?,
                "iscrowd" => found.iscrowd = map.next_value()?,
                "id" => found.id = map.next_value()?,
                "keypoints" => found.keypoints = map.next_value()?,
                "segmentation" if self == Self::Boxes => {
                    found.n_segmentations = n_skipped(&mut map)?;
                }
                "segmentation" => {
                    found.segmentation = map.next_value()?;
                    found.n_segmentations = found.segmentation.as_ref().map(Vec::len);
                }
                "difficult" | "truncated" | "occluded" => {
                    if let Marks::List(marks) = map.next_value()? {
                        let marks = marks.iter().map(Mark::number).collect();
                        found.marks.push((key.into_owned(), marks));
                    }
                }
                _ => {
                    let entries = map.next_value::<Option<Entries>>()?;
                    found.others.extend(entries.map(|entries| (key.into_owned(), entries)));
                }
            }
        }
        Ok(found)
    }
}

impl Mark {
    fn number(&self) -> f64 {
        match *self {
            Self::Bool(is) => f64::from(u8::from(is)),
            Self::Number(number) => number,
            Self::None => 0.0,
            Self::Other(_) => f64::NAN,
        }
    }
}

/// Skips a list, and returns its length; `None` for null.
fn n_skipped<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<usize>, A::Error> {
    let list = map.next_value::<Option<Vec<IgnoredAny>>>()?;
    Ok(list.map(|list| list.len()))
}

impl<'de> Deserialize<'de> for Segmentation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Segmentation;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("polygons or run lengths")
            }

            fn visit_unit<E>(self) -> Result<Segmentation, E> {
                Ok(Segmentation::Polygons(Vec::new()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut lists: A) -> Result<Segmentation, A::Error> {
                let mut polygons = Vec::new();
                while let Some(polygon) = lists.next_element()? {
                    polygons.push(polygon);
                }
                Ok(Segmentation::Polygons(polygons))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Segmentation, A::Error> {
                let stored = StoredRunLengths::deserialize(MapAccessDeserializer::new(map));
                stored.map(Segmentation::RunLengths)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
