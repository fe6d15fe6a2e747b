//! The lists in a document of objects, and the choice of the one that holds the classes.
use fdconvert_core::objects::{
    BOXES, CLASS_NAMES, CLASSES, ClassNumbers, Entries, ObjectClasses, transposed,
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value as Json};
use std::{fmt, marker::PhantomData};

/// Lists that do not hold classes, although they may have integers or texts.
const OTHERS: [&str; 14] = [
    "attributes",
    "bbox_id",
    "difficult",
    "ignore",
    "image_id",
    "num_keypoints",
    "occluded",
    "pose",
    "score",
    "scores",
    "supercategory",
    "track_id",
    "truncated",
    "visibility",
];

/// The stored lists, with the shapes parsed as `S`.
pub(super) struct Document<S> {
    pub(super) size: Option<[f64; 2]>,
    bbox: Option<Vec<[f64; 4]>>,
    pub(super) area: Option<Vec<Option<f64>>>,
    pub(super) iscrowd: Option<Vec<Flag>>,
    pub(super) id: Option<Vec<Option<i64>>>,
    pub(super) keypoints: Option<Vec<Option<Vec<f64>>>>,
    pub(super) segmentation: Option<Vec<S>>,
    /// Other lists, by name, that may hold the classes.
    others: Vec<(String, Entries)>,
}

/// A flag: a boolean or a number.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Flag {
    Bool(bool),
    Int(i64),
    None,
}

impl<S> Default for Document<S> {
    fn default() -> Self {
        Self {
            size: None,
            bbox: None,
            area: None,
            iscrowd: None,
            id: None,
            keypoints: None,
            segmentation: None,
            others: Vec::new(),
        }
    }
}

impl<S: DeserializeOwned> Document<S> {
    /// Parses a document; `null` is one without objects.
    pub(super) fn parse(json: &[u8]) -> Result<Self, String> {
        let document: Self = serde_json::from_slice(json)
            .map_err(|error| format!("its JSON cannot be read: {error}"))?;
        match document.keys() {
            keys if document.bbox.is_none() && !keys.is_empty() => {
                Err(format!("it has no `{BOXES}`, only `{}`", keys.join("`, `")))
            }
            _ => Ok(document),
        }
    }
}

impl<S> Document<S> {
    /// Takes the boxes of the objects.
    pub(super) fn boxes(&mut self) -> Vec<[f64; 4]> {
        self.bbox.take().unwrap_or_default()
    }

    /// Returns the names of the non-empty lists besides the boxes.
    fn keys(&self) -> Vec<&str> {
        fn len<T>(list: &Option<Vec<T>>) -> usize {
            list.as_ref().map_or(0, Vec::len)
        }
        let known = [
            ("area", len(&self.area)),
            ("iscrowd", len(&self.iscrowd)),
            ("id", len(&self.id)),
            ("keypoints", len(&self.keypoints)),
            ("segmentation", len(&self.segmentation)),
        ];
        let others = self.others.iter().map(|(name, entries)| (name.as_str(), entries.n_entries()));
        known.into_iter().chain(others).filter(|(_, len)| *len > 0).map(|(name, _)| name).collect()
    }

    /// Returns the class numbers, by a list of names if there is one; `None` if no list could hold
    /// classes. Lists with another length than the boxes are refused.
    pub(super) fn classes(
        &mut self,
        wanted: Option<&ClassNumbers>,
    ) -> Result<Option<Vec<i64>>, String> {
        let n_objects = self.bbox.as_ref().map_or(0, Vec::len);
        let check = |name: &str, len: Option<usize>| match len {
            Some(len) if len != n_objects => {
                Err(format!("`{name}` has {len} entries for {n_objects} of `bbox`"))
            }
            _ => Ok(()),
        };
        check("area", self.area.as_ref().map(Vec::len))?;
        check("iscrowd", self.iscrowd.as_ref().map(Vec::len))?;
        check("id", self.id.as_ref().map(Vec::len))?;
        check("keypoints", self.keypoints.as_ref().map(Vec::len))?;
        check("segmentation", self.segmentation.as_ref().map(Vec::len))?;
        let lists = std::mem::take(&mut self.others);
        let found = ObjectClasses::find(&lists, n_objects)?;
        if let Some(wanted) = wanted
            && (found.numbers.is_some() || found.names.is_some())
        {
            let number = |at| wanted.of_object(&found, at).map(|(number, _)| number);
            return (0..n_objects).map(number).collect::<Result<_, _>>().map(Some);
        }
        let ObjectClasses { numbers, names, .. } = found;
        if numbers.is_some() || n_objects == 0 {
            return Ok(numbers);
        }
        if let Some((name, _)) = names {
            return Err(format!(
                "its classes, `{name}`, are texts, and batches have numbers: give each class a number, \
                 in a list `{CLASSES}`, and keep the texts as `{CLASS_NAMES}`, or give the names \
                 in the order of their numbers (`classes`)"
            ));
        }
        let may_be_classes = |(_, entries): &&(String, Entries)| {
            entries.n_entries() == n_objects
                && matches!(entries, Entries::Numbers(_) | Entries::Texts(_))
        };
        let unknown: Vec<&String> =
            lists.iter().filter(may_be_classes).map(|(name, _)| name).collect();
        if unknown.iter().all(|name| OTHERS.contains(&name.as_str())) {
            return Ok(None);
        }
        let names: Vec<_> = unknown.iter().map(|name| format!("`{name}`")).collect();
        Err(format!(
            "no list of classes is known among {}: call the one with their numbers `{CLASSES}`, or \
             leave the others out",
            names.join(", ")
        ))
    }
}

impl<'de, S: DeserializeOwned> Deserialize<'de> for Document<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<S>(PhantomData<S>);
        impl<'de, S: DeserializeOwned> Visitor<'de> for Either<S> {
            type Value = Document<S>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of lists, or a list of objects")
            }

            fn visit_unit<E>(self) -> Result<Document<S>, E> {
                Ok(Document::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Document<S>, A::Error> {
                let mut objects = Vec::new();
                while let Some(object) = list.next_element::<Map<String, Json>>()? {
                    objects.push(Json::Object(object));
                }
                let lists = Json::Object(transposed([], objects));
                Document::deserialize(lists).map_err(A::Error::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document<S>, A::Error> {
                let mut document = Document::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "size" => document.size = map.next_value()?,
                        BOXES => document.bbox = map.next_value()?,
                        "area" => document.area = map.next_value()?,
                        "iscrowd" => document.iscrowd = map.next_value()?,
                        "id" => document.id = map.next_value()?,
                        "keypoints" => document.keypoints = map.next_value()?,
                        "segmentation" => document.segmentation = map.next_value()?,
                        _ => {
                            let entries = map.next_value::<Option<Entries>>()?;
                            document.others.extend(entries.map(|entries| (key, entries)));
                        }
                    }
                }
                Ok(document)
            }
        }
        deserializer.deserialize_any(Either(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IgnoredAny;

    fn classes(json: &str) -> Result<Option<Vec<i64>>, String> {
        Document::<IgnoredAny>::parse(json.as_bytes())?.classes(None)
    }

    #[test]
    fn classes_are_found_under_their_many_names() {
        for key in ["category", "categories", "label", "labels", "category_id", "class", "classId"]
        {
            let lists = format!("{{\"bbox\":[[1,2,3,4]],\"score\":[1],\"{key}\":[3]}}");
            assert_eq!(classes(&lists), Ok(Some(vec![3])), "{key}");
            let list = format!("[{{\"{key}\":3.0,\"bbox\":[1,2,3,4]}}]");
            assert_eq!(classes(&list), Ok(Some(vec![3])), "{key}");
        }
        let texts_beside = r#"{"bbox":[[1,2,3,4]],"category":["cat"],"category_id":[7]}"#;
        assert_eq!(classes(texts_beside), Ok(Some(vec![7])));
        let both = r#"{"bbox":[[1,2,3,4]],"label":[2],"category":[7]}"#;
        assert_eq!(classes(both), Ok(Some(vec![7])));
        assert_eq!(classes(r#"{"bbox":[[1,2,3,4]],"label":[2],"class":[2]}"#), Ok(Some(vec![2])));
    }

    #[test]
    fn what_could_be_a_class_and_is_none_is_refused_by_name() {
        for (lists, what) in [
            (
                r#""label":[2],"class":[3]"#,
                "`label` and `class` could both be the classes, and differ",
            ),
            (r#""label":["cat"]"#, "its classes, `label`, are texts"),
            (r#""category_name":["cat"]"#, "its classes, `category_name`, are texts"),
            (
                r#""kind":[2],"score":[1]"#,
                "no list of classes is known among `kind`, `score`: call",
            ),
            (r#""kind":["cat"]"#, "no list of classes is known among `kind`"),
        ] {
            let said = classes(&format!("{{\"bbox\":[[1,2,3,4]],{lists}}}")).unwrap_err();
            assert!(said.contains(what), "{said}");
        }
    }

    #[test]
    fn objects_without_anything_like_a_class_have_none() {
        for lists in [
            r#"{"bbox":[[1,2,3,4]],"score":[0.5],"difficult":[1],"pose":[""],"mask":[null]}"#,
            r#"{"bbox":[[1,2,3,4]],"image_id":5,"parts":[[1,2]],"hidden":[true],"category":null}"#,
            r#"{"bbox":[],"label":[]}"#,
            r#"{"category":[],"label":[]}"#,
            "[]",
            "{}",
            "null",
        ] {
            assert_eq!(classes(lists), Ok(None), "{lists}");
        }
    }
}
