//! Keys of a file that are not packed.
use crate::folder::annotations::lists::keys;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// Keys of images that are packed, or say nothing about the content.
const OF_IMAGES: [&str; 9] = [
    "id",
    "file_name",
    "coco_url",
    "width",
    "height",
    "license",
    "flickr_url",
    "date_captured",
    "url",
];
/// Keys of categories that are packed.
const OF_CATEGORIES: [&str; 5] = ["id", "name", "supercategory", "keypoints", "skeleton"];

/// Keys that are not packed, by list.
#[derive(Debug, Default)]
pub(super) struct Unpacked(BTreeMap<&'static str, BTreeSet<String>>);

impl Unpacked {
    pub(super) fn add<'k>(&mut self, list: &'static str, keys: impl Iterator<Item = &'k str>) {
        for key in keys {
            let known = self.0.entry(list).or_default();
            if !known.contains(key) {
                known.insert(key.to_owned());
            }
        }
    }

    /// Notes the unpacked keys of an entry of the list `images` or `categories`.
    pub(super) fn look(&mut self, list: &'static str, raw: &RawValue) {
        let known = if list == "images" { &OF_IMAGES[..] } else { &OF_CATEGORIES };
        let Ok(Names(names)) = serde_json::from_str(raw.get()) else { return };
        self.add(list, names.iter().map(|key| &**key).filter(|key| !known.contains(key)));
    }

    /// The remarks, as sentences.
    pub(super) fn remarks(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|(list, names)| {
            format!("{} of the {list} are not packed", keys(names.iter().map(String::as_str)))
        })
    }
}

/// The name of a member of an object.
#[derive(Deserialize)]
pub(super) struct Key<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The names of all members.
struct Names<'a>(Vec<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Names<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Names<'de>;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names<'de>, A::Error> {
                let mut names = Vec::new();
                while let Some((Key(name), IgnoredAny)) = map.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
