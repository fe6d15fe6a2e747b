//! A document of objects as its lists, each entry as it is written: for code that copies entries.
use super::{BOXES, CLASS_NAMES, ObjectClasses, classes::Entries, document::Key, is_class_key};
use serde::{
    Deserialize,
    de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// The lists of a document of objects; entries are JSON texts of the document.
#[derive(Debug, Default)]
pub struct ObjectLists<'a> {
    /// Width and height of the image that coordinates are pixels of.
    pub size: Option<[f64; 2]>,
    /// Number of objects, which is the length of every list.
    pub n_objects: usize,
    lists: Vec<(Cow<'a, str>, Vec<Option<&'a RawValue>>)>,
}

impl<'a> ObjectLists<'a> {
    /// Parses a document: an object of lists, a list of objects, or `null`. Of the entries it checks
    /// only that they are JSON.
    ///
    /// # Errors
    /// A description of the fault: another text, or lists of different lengths.
    pub fn parse(json: &'a [u8]) -> Result<Self, String> {
        let found: Self = serde_json::from_slice(json)
            .map_err(|error| format!("its JSON cannot be read: {error}"))?;
        let boxes = found.get(BOXES).map(<[_]>::len);
        let longest = || found.lists.iter().map(|(_, list)| list.len()).max();
        let n_objects = match (boxes, longest()) {
            (Some(n_objects), _) => n_objects,
            (None, None | Some(0)) => 0,
            (None, Some(_)) => return Err(format!("it has no `{BOXES}`")),
        };
        if let Some((name, list)) = found.lists.iter().find(|(_, list)| list.len() != n_objects) {
            let len = list.len();
            return Err(format!("`{name}` has {len} entries for {n_objects} of `{BOXES}`"));
        }
        Ok(Self { n_objects, ..found })
    }

    /// Returns the list of that key; `None` entries are missing or null.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&[Option<&'a RawValue>]> {
        self.lists.iter().find(|(name, _)| name == key).map(|(_, list)| &**list)
    }

    /// Returns the entry of an object; `None` if it is missing, null or an empty list.
    #[must_use]
    pub fn raw(&self, key: &str, object: usize) -> Option<&'a RawValue> {
        let raw = self.get(key).and_then(|list| *list.get(object)?);
        raw.filter(|raw| raw.get() != "[]")
    }

    /// Parses the entry of an object; `None` if it is missing, null or an empty list.
    ///
    /// # Errors
    /// A description of the fault, with the object.
    pub fn entry<T: Deserialize<'a>>(&self, key: &str, object: usize) -> Result<Option<T>, String> {
        let Some(raw) = self.raw(key, object) else { return Ok(None) };
        let parsed = serde_json::from_str(raw.get());
        parsed.map(Some).map_err(|error| format!("object {object}: its `{key}`: {error}"))
    }

    /// Iterates over all lists.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Option<&'a RawValue>])> {
        self.lists.iter().map(|(name, list)| (&**name, &**list))
    }

    /// Finds the classes of the objects.
    ///
    /// # Errors
    /// Those of [`ObjectClasses::of`].
    pub fn classes(&self) -> Result<ObjectClasses, String> {
        let lists = self.lists.iter().filter(|(key, _)| key == CLASS_NAMES || is_class_key(key));
        let lists = lists.map(|(key, list)| {
            // Mostly numbers, which need no parser.
            let numbers = list.iter().map(|entry| entry.as_ref()?.get().parse().ok());
            if let Some(numbers) = numbers.collect::<Option<Vec<i64>>>().filter(|it| !it.is_empty())
            {
                return Ok((key.to_string(), Entries::Numbers(numbers)));
            }
            let entries: Vec<&str> =
                list.iter().map(|entry| entry.map_or("null", RawValue::get)).collect();
            let entries = serde_json::from_str(&format!("[{}]", entries.join(",")));
            Ok((key.to_string(), entries.map_err(|error| error.to_string())?))
        });
        ObjectClasses::find(lists.collect::<Result<_, String>>()?, self.n_objects)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ObjectLists<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = ObjectLists<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of lists, or a list of objects")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(ObjectLists::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = ObjectLists::default();
        while let Some(Key(key)) = map.next_key()? {
            if key == "size" {
                found.size = map.next_value()?;
                continue;
            }
            // Other members than lists say nothing of single objects.
            if let List(Some(list)) = map.next_value()? {
                found.lists.push((key, list));
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut objects: A) -> Result<Self::Value, A::Error> {
        let mut found = ObjectLists::default();
        while let Some(Members(members)) = objects.next_element()? {
            let number = found.n_objects;
            found.n_objects += 1;
            for (key, value) in members {
                let at = found.lists.iter().position(|(name, _)| *name == key);
                let at = at.unwrap_or_else(|| {
                    found.lists.push((key, Vec::new()));
                    found.lists.len() - 1
                });
                if let Some((_, list)) = found.lists.get_mut(at) {
                    list.resize(number, None);
                    list.push(Some(value).filter(|value| value.get() != "null"));
                }
            }
        }
        let n_objects = found.n_objects;
        found.lists.iter_mut().for_each(|(_, list)| list.resize(n_objects, None));
        Ok(found)
    }
}

/// The entries of a list; `None` for any other value.
struct List<'a>(Option<Vec<Option<&'a RawValue>>>);

impl<'de: 'a, 'a> Deserialize<'de> for List<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = List<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = list.next_element::<&RawValue>()? {
                    entries.push(Some(entry).filter(|entry| entry.get() != "null"));
                }
                Ok(List(Some(entries)))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<List<'de>, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(List(None))
            }

            fn visit_unit<E>(self) -> Result<List<'de>, E> {
                Ok(List(None))
            }

            fn visit_bool<E>(self, _: bool) -> Result<List<'de>, E> {
                Ok(List(None))
            }

            fn visit_i64<E>(self, _: i64) -> Result<List<'de>, E> {
                Ok(List(None))
            }

            fn visit_u64<E>(self, _: u64) -> Result<List<'de>, E> {
                Ok(List(None))
            }

            fn visit_f64<E>(self, _: f64) -> Result<List<'de>, E> {
                Ok(List(None))
            }

            fn visit_str<E>(self, _: &str) -> Result<List<'de>, E> {
                Ok(List(None))
            }
        }
        deserializer.deserialize_any(Entries)
    }
}

/// The members of one object of a list of objects.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Key(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectLists;

    #[test]
    fn entries_stay_as_they_are_written() {
        let json =
            br#"{"size":[4,3],"bbox":[[1,2.50,3,4],[0,0,1,1]],"score":[1e-3,null],"note":"x"}"#;
        let lists = ObjectLists::parse(json).unwrap();
        assert_eq!((lists.n_objects, lists.size), (2, Some([4.0, 3.0])));
        let boxes = lists.get("bbox").unwrap();
        assert_eq!(boxes[0].unwrap().get(), "[1,2.50,3,4]");
        assert_eq!(lists.entry::<f64>("score", 0).unwrap(), Some(0.001));
        assert_eq!(lists.entry::<f64>("score", 1).unwrap(), None);
        let transposed = br#"[{"bbox":[1,2,3,4]},{"bbox":[5,6,7,8],"label":3}]"#;
        let lists = ObjectLists::parse(transposed).unwrap();
        assert_eq!(lists.entry::<i64>("label", 1).unwrap(), Some(3));
        assert_eq!(lists.entry::<i64>("label", 0).unwrap(), None);
        assert_eq!(lists.classes().unwrap().n_objects, 2);
        for empty in ["null", "{}", "[]", r#"{"bbox":[],"category":[]}"#] {
            assert_eq!(ObjectLists::parse(empty.as_bytes()).unwrap().n_objects, 0, "{empty}");
        }
    }

    #[test]
    fn lists_of_other_lengths_are_refused() {
        for (json, part) in [
            (r#"{"bbox":[[1,2,3,4]],"area":[]}"#, "`area` has 0 entries for 1"),
            (r#"{"area":[1]}"#, "no `bbox`"),
            ("1", "cannot be read"),
            ("{", "cannot be read"),
            ("[1]", "cannot be read"),
        ] {
            let said = ObjectLists::parse(json.as_bytes()).unwrap_err();
            assert!(said.contains(part), "{json}: {said}");
        }
        let deep = format!("{{\"bbox\":{}", "[".repeat(100_000));
        assert!(ObjectLists::parse(deep.as_bytes()).is_err());
    }
}
