//! Finds the list of classes in a document of objects: the same for all code that numbers, compares
//! or shows classes.
use super::{
    BOXES, CLASS_NAMES, CLASSES,
    document::{Depth, Document},
    is_class_key,
};
use serde::{Deserialize, Deserializer, de::IgnoredAny};

/// Lists that do not hold classes, although they may have integers or texts.
const OTHERS: [&str; 11] = [
    "attributes",
    "bbox_id",
    "ignore",
    "image_id",
    "num_keypoints",
    "pose",
    "score",
    "scores",
    "supercategory",
    "track_id",
    "visibility",
];

/// Contents of a document's key, as far as they matter for classes.
#[derive(Debug, PartialEq)]
pub(super) enum Entries {
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
pub struct ObjectClasses {
    /// The number of boxes.
    pub n_objects: usize,
    /// Keys of the lists of numbers, which are equal; empty if there are only texts, or nothing.
    pub keys: Vec<String>,
    /// The number of each object; -1 for one without a class.
    pub numbers: Option<Vec<i64>>,
    /// The key of the list of names; empty without names.
    pub names_key: String,
    /// The name of each object.
    pub names: Option<Vec<Option<String>>>,
    /// Without numbers and names: lists that may be the classes under an unknown key, and others
    /// next to them.
    pub unknown: Vec<String>,
}

/// A list, its key, and its position.
type Candidate<'a> = (usize, &'a str, &'a Entries);

impl ObjectClasses {
    /// Finds the classes in a document, an object of lists or a list of objects, of which nothing
    /// else is checked. `None` for a document without boxes, and for any other text.
    ///
    /// # Errors
    /// A description of the fault: lists of another length, several candidates, or entries that are
    /// no classes.
    #[must_use]
    pub fn of(json: &[u8]) -> Option<Result<Self, String>> {
        let document = Document::parse(json, Depth::Classes).ok()?;
        Some(Self::find(document.others, document.n_boxes?))
    }

    /// Finds the classes among the lists of a document with `n_objects` boxes.
    pub(super) fn find(
        mut lists: Vec<(String, Entries)>,
        n_objects: usize,
    ) -> Result<Self, String> {
        let (numbers, names) = chosen(&lists, n_objects)?;
        let mut found = Self { n_objects, ..Self::default() };
        if numbers.is_empty() && names.is_none() {
            found.unknown = unknown(&lists, n_objects);
        }
        let mut taken = |at: usize| {
            lists.get_mut(at).map(|list| std::mem::replace(list, (String::new(), Entries::NoList)))
        };
        for (key, entries) in numbers.into_iter().filter_map(&mut taken) {
            if let Entries::Numbers(numbers) = entries {
                found.keys.push(key);
                found.numbers.get_or_insert(numbers);
            }
        }
        if let Some((key, Entries::Texts(names))) = names.and_then(taken) {
            (found.names_key, found.names) = (key, Some(names));
        }
        Ok(found)
    }
}

/// Chooses the lists with the numbers, and the one with the names.
fn chosen(
    lists: &[(String, Entries)],
    n_objects: usize,
) -> Result<(Vec<usize>, Option<usize>), String> {
    let all = || lists.iter().enumerate().map(|(at, (name, entries))| (at, &**name, entries));
    let find = |key: &str| all().find(|(_, name, _)| *name == key);
    for (_, name, entries) in [CLASSES, CLASS_NAMES].into_iter().filter_map(find) {
        check(name, entries, n_objects)?;
    }
    let own = find(CLASSES).filter(|(.., entries)| matches!(entries, Entries::Numbers(_)));
    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    for (at, name, entries) in all().filter(|(_, name, _)| is_class_key(name)) {
        // If the standard key has the numbers, other lists may contain anything.
        let is_list = !matches!(entries, Entries::NoList);
        if is_list && own.is_none() {
            check(name, entries, n_objects)?;
        }
        if is_list && entries.n_entries() == n_objects {
            candidates.push((at, name, entries));
        }
    }
    let is_number = |list: &Candidate<'_>| matches!(list.2, Entries::Numbers(_));
    let is_own = |list: &Candidate<'_>| own.is_none_or(|(_, own, _)| own == list.1);
    let numbers = candidates.iter().copied().filter(is_number).filter(is_own);
    let numbers: Vec<Candidate<'_>> = numbers.collect();
    if let Some((_, first, entries)) = numbers.first()
        && let Some((_, other, _)) = numbers.iter().find(|(.., others)| others != entries)
    {
        return Err(ambiguous(first, other, CLASSES));
    }
    let is_text = |list: &Candidate<'_>| matches!(list.2, Entries::Texts(_));
    let mut names = find(CLASS_NAMES).filter(is_text);
    if names.is_none() {
        let mut texts = candidates.iter().copied().filter(is_text);
        names = texts.next();
        if let Some((_, first, entries)) = names
            && let Some((_, other, _)) = texts.find(|(.., others)| *others != entries)
        {
            return Err(ambiguous(first, other, CLASS_NAMES));
        }
    }
    if n_objects > 0 && numbers.is_empty() && names.is_none() {
        let unfit = find(CLASSES).into_iter().chain(candidates.iter().copied());
        let mut unfit = unfit.filter(|(.., it)| matches!(it, Entries::Others(_)));
        if let Some((_, name, _)) = unfit.next() {
            return Err(format!(
                "its classes, `{name}`, are neither whole numbers nor texts: give each class a \
                 number, in a list `{CLASSES}`"
            ));
        }
    }
    Ok((numbers.into_iter().map(|(at, ..)| at).collect(), names.map(|(at, ..)| at)))
}

/// Returns the lists that may be the classes, or nothing if all of them are known to be none.
fn unknown(lists: &[(String, Entries)], n_objects: usize) -> Vec<String> {
    let may_be_classes = |(_, entries): &&(String, Entries)| {
        n_objects > 0
            && entries.n_entries() == n_objects
            && matches!(entries, Entries::Numbers(_) | Entries::Texts(_))
    };
    let names: Vec<&str> = lists.iter().filter(may_be_classes).map(|(name, _)| &**name).collect();
    if names.iter().all(|name| OTHERS.contains(name)) {
        return Vec::new();
    }
    names.into_iter().map(str::to_owned).collect()
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
    pub(super) fn n_entries(&self) -> usize {
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
    use super::ObjectClasses;

    /// Summarises the numbers, their keys and the names.
    fn found(json: &str) -> Result<String, String> {
        let classes = ObjectClasses::of(json.as_bytes()).ok_or("no objects")??;
        let names = classes.names.map(|names| names.into_iter().flatten().collect::<Vec<_>>());
        let names = names.map(|names| (classes.names_key, names));
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
