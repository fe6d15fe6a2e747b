//! Finds the list of classes in a document of objects: the same for all code that numbers, compares
//! or shows classes.
use super::{BOXES, CLASS_NAMES, CLASSES, is_class_key, transposed};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value as Json};
use std::fmt;

/// Contents of a document's key, as far as they matter for classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entries {
    /// A list of whole numbers, with -1 for null.
    Numbers(Vec<i64>),
    /// A list of texts, with `None` for null and for an empty text.
    Texts(Vec<Option<String>>),
    /// A list of only nulls and empty texts: its length.
    Nothing(usize),
    /// Any other list: its length.
    Others(usize),
    /// Not a list.
    NoList,
}

/// The classes of a document's objects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectClasses<'a> {
    /// Keys of the lists of numbers, which are equal; empty if there are only texts, or nothing.
    pub keys: Vec<&'a str>,
    /// The number of each object; -1 for one without a class.
    pub numbers: Option<Vec<i64>>,
    /// The names, and the key of their list.
    pub names: Option<(&'a str, &'a [Option<String>])>,
}

impl<'a> ObjectClasses<'a> {
    /// Finds the classes among the lists of a document with `n_objects` boxes. Ignores lists with
    /// keys that are not class keys.
    ///
    /// # Errors
    /// A description of the fault: lists of another length, several candidates, or entries that are
    /// no classes.
    pub fn find(lists: &'a [(String, Entries)], n_objects: usize) -> Result<Self, String> {
        let find = |key: &str| lists.iter().find(|(name, _)| name == key);
        for (name, entries) in [CLASSES, CLASS_NAMES].into_iter().filter_map(find) {
            check(name, entries, n_objects)?;
        }
        let own = find(CLASSES).filter(|(_, entries)| matches!(entries, Entries::Numbers(_)));
        let mut candidates = Vec::new();
        for list in lists.iter().filter(|(name, _)| is_class_key(name)) {
            let (name, entries) = list;
            // If the standard key has the numbers, other lists may contain anything.
            let is_list = !matches!(entries, Entries::NoList);
            if is_list && own.is_none() {
                check(name, entries, n_objects)?;
            }
            if is_list && entries.n_entries() == n_objects {
                candidates.push(list);
            }
        }
        let mut found = Self::default();
        for (name, entries) in own.iter().copied().chain(candidates.iter().copied()) {
            let Entries::Numbers(numbers) = entries else { continue };
            match &found.numbers {
                _ if own.is_some_and(|(own, _)| own != name) => {}
                Some(others) if others != numbers => {
                    let first = found.keys.first().copied().unwrap_or(CLASSES);
                    return Err(ambiguous(first, name, CLASSES));
                }
                Some(_) if found.keys.contains(&name.as_str()) => {}
                _ => {
                    found.keys.push(name);
                    found.numbers = Some(numbers.clone());
                }
            }
        }
        let texts = |(name, entries): &'a (String, Entries)| match entries {
            Entries::Texts(names) => Some((name.as_str(), names.as_slice())),
            _ => None,
        };
        found.names = find(CLASS_NAMES).and_then(texts);
        if found.names.is_none() {
            let mut texts = candidates.iter().copied().filter_map(texts);
            found.names = texts.next();
            if let Some((first, names)) = found.names
                && let Some((other, _)) = texts.find(|(_, others)| *others != names)
            {
                return Err(ambiguous(first, other, CLASS_NAMES));
            }
        }
        if n_objects > 0 && found.numbers.is_none() && found.names.is_none() {
            let unfit = find(CLASSES).into_iter().chain(candidates.iter().copied());
            let mut unfit = unfit.filter(|(_, it)| matches!(it, Entries::Others(_)));
            if let Some((name, _)) = unfit.next() {
                return Err(format!(
                    "its classes, `{name}`, are neither whole numbers nor texts: give each class a \
                     number, in a list `{CLASSES}`"
                ));
            }
        }
        Ok(found)
    }
}

fn check(name: &str, entries: &Entries, n_objects: usize) -> Result<(), String> {
    match entries {
        Entries::NoList => Err(format!("`{name}` is not a list, and `{BOXES}` is one")),
        entries if entries.n_entries() != n_objects => Err(format!(
            "`{name}` has {} entries for {n_objects} of `{BOXES}`",
            entries.n_entries()
        )),
        _ => Ok(()),
    }
}

fn ambiguous(first: &str, other: &str, key: &str) -> String {
    format!(
        "`{first}` and `{other}` could both be the classes, and differ: call the one that is `{key}`"
    )
}

/// The possible class lists of a document of objects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClassLists {
    /// The number of boxes; `None` for a document without a list of boxes.
    n_objects: Option<usize>,
    lists: Vec<(String, Entries)>,
}

impl ClassLists {
    /// Finds boxes and classes in a document, an object of lists or a list of objects. `None` for a
    /// document without boxes, and for any other text.
    #[must_use]
    pub fn of(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok().filter(|found: &Self| found.n_objects.is_some())
    }

    /// Returns the number of boxes.
    #[must_use]
    pub fn n_objects(&self) -> usize {
        self.n_objects.unwrap_or_default()
    }

    /// Returns the classes of its objects.
    ///
    /// # Errors
    /// Those of [`ObjectClasses::find`].
    pub fn classes(&self) -> Result<ObjectClasses<'_>, String> {
        ObjectClasses::find(&self.lists, self.n_objects())
    }
}

impl<'de> Deserialize<'de> for ClassLists {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ClassLists;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of lists, or a list of objects")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ClassLists, A::Error> {
                let mut objects = Vec::new();
                while let Some(object) = list.next_element::<Map<String, Json>>()? {
                    objects.push(Json::Object(object));
                }
                let lists = Json::Object(transposed([], objects));
                ClassLists::deserialize(lists).map_err(A::Error::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ClassLists, A::Error> {
                let mut found = ClassLists::default();
                while let Some(key) = map.next_key::<String>()? {
                    if key == BOXES {
                        let boxes = map.next_value::<Option<Vec<IgnoredAny>>>()?;
                        found.n_objects = boxes.map(|boxes| boxes.len());
                    } else if key == CLASS_NAMES || is_class_key(&key) {
                        let entries = map.next_value::<Option<Entries>>()?;
                        found.lists.extend(entries.map(|entries| (key, entries)));
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(found)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// A possible list, and a possible class entry.
#[derive(Deserialize)]
#[serde(untagged)]
enum Anything {
    List(Vec<Option<Entry>>),
    NoList(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Whole(i64),
    Float(f64),
    Text(String),
    Other(IgnoredAny),
}

impl Entry {
    fn number(&self) -> Option<i64> {
        match self {
            Self::Whole(number) => Some(*number),
            // pandas converts integers beside nulls to floats.
            Self::Float(float) if float.fract() == 0.0 && float.abs() < 1e15 => Some(*float as i64),
            _ => None,
        }
    }
}

impl Entries {
    /// Returns the number of entries; 1 for a value that is no list.
    #[must_use]
    pub fn n_entries(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Texts(texts) => texts.len(),
            Self::Nothing(len) | Self::Others(len) => *len,
            Self::NoList => 1,
        }
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Anything::List(entries) = Anything::deserialize(deserializer)? else {
            return Ok(Self::NoList);
        };
        let is_told = |entry: &&Entry| !matches!(entry, Entry::Text(text) if text.is_empty());
        if entries.iter().flatten().find(is_told).is_none() {
            return Ok(Self::Nothing(entries.len()));
        }
        let number = |entry: &Option<Entry>| entry.as_ref().map_or(Some(-1), Entry::number);
        if let Some(numbers) = entries.iter().map(number).collect() {
            return Ok(Self::Numbers(numbers));
        }
        let len = entries.len();
        let text = |entry| match entry {
            None => Some(None),
            Some(Entry::Text(text)) => Some((!text.is_empty()).then_some(text)),
            _ => None,
        };
        let texts: Option<Vec<Option<String>>> = entries.into_iter().map(text).collect();
        Ok(texts.map_or(Self::Others(len), Self::Texts))
    }
}

#[cfg(test)]
mod tests {
    use super::ClassLists;

    /// Summarises the numbers, their keys and the names.
    fn found(json: &str) -> Result<String, String> {
        let lists = ClassLists::of(json.as_bytes()).ok_or("no objects")?;
        let classes = lists.classes()?;
        let names =
            classes.names.map(|(key, names)| (key, names.iter().flatten().collect::<Vec<_>>()));
        Ok(format!("{:?} {:?} {names:?}", classes.keys, classes.numbers))
    }

    #[test]
    fn one_list_is_the_classes_and_another_one_their_names() {
        for (lists, expected) in [
            (
                r#""label":[0.0],"category_name":["cat"]"#,
                r#"["label"] Some([0]) Some(("category_name", ["cat"]))"#,
            ),
            (
                r#""category":["cat"],"category_id":[7]"#,
                r#"["category_id"] Some([7]) Some(("category", ["cat"]))"#,
            ),
            (
                r#""category":[1],"category_id":[7],"classes":["cat","dog"]"#,
                r#"["category"] Some([1]) None"#,
            ),
            (r#""label":[2],"class":[2]"#, r#"["label", "class"] Some([2]) None"#),
            (r#""labels":["cat"]"#, r#"[] None Some(("labels", ["cat"]))"#),
            (r#""label":3,"category":null,"class":[null],"kind":[1]"#, "[] None None"),
        ] {
            assert_eq!(
                found(&format!("{{\"bbox\":[[1,2,3,4]],{lists}}}")),
                Ok(expected.into()),
                "{lists}"
            );
        }
        let list = r#"[{"bbox":[1,2,3,4],"class":1},{"bbox":[1,2,3,4],"category_name":"dog"}]"#;
        let expected = r#"["class"] Some([1, -1]) Some(("category_name", ["dog"]))"#;
        assert_eq!(found(list), Ok(expected.into()));
        for json in
            ["", "null", "[]", "{}", "[1]", r#"{"category":[0]}"#, r#"{"bbox":null,"label":[1]}"#]
        {
            assert_eq!(found(json), Err("no objects".into()), "{json}");
        }
    }

    #[test]
    fn lists_that_cannot_be_the_classes_of_the_boxes_are_refused() {
        for (lists, expected) in [
            (r#""label":[1]"#, "`label` has 1 entries for 2 of `bbox`"),
            (r#""category":[1,2],"category_name":["cat"]"#, "`category_name` has 1 entries"),
            (r#""category":3"#, "`category` is not a list"),
            (r#""category":[true,false]"#, "neither whole numbers nor texts"),
            (r#""cls":[0.5,1]"#, "neither whole numbers nor texts"),
            (r#""label":[1,2],"class":[2,1]"#, "`label` and `class` could both be the classes"),
            (r#""label":["a","b"],"class":["c","d"]"#, "call the one that is `category_name`"),
        ] {
            let said = found(&format!("{{\"bbox\":[[1,2,3,4],[1,2,3,4]],{lists}}}")).unwrap_err();
            assert!(said.contains(expected), "{said}");
        }
    }
}
