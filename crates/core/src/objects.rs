//! The common form of annotations of the objects in an image, whatever their origin: an object of
//! lists of equal length, one entry per object.
//!
//! ```json
//! {"bbox": [[10, 20, 300, 200]], "category": [17], "category_name": ["cat"]}
//! ```
//!
//! Tables often have the transposed form, a list of objects with a box each, and various names for
//! the classes. Formats that make such documents, and all that reads them, share this module:
//! [`Annotations`] is what one says, [`ObjectClasses`] only the classes, and [`written`] its text.
mod annotations;
mod category;
mod chosen;
mod classes;
mod document;
mod lists;
mod numbers;
mod scaled;
mod writer;

pub use annotations::Annotations;
pub use category::Category;
pub use chosen::chosen;
pub use classes::ObjectClasses;
pub use lists::ObjectLists;
pub use numbers::{ClassNumbers, NumberedClass};
pub use scaled::scaled;
use serde::Deserialize;
use serde_json::{Map, Number, Value as Json};
use std::sync::Arc;
pub use writer::{List, number, numbers, with_classes, written};

/// The list of boxes, which identifies such documents.
pub const BOXES: &str = "bbox";
/// The list of class numbers.
pub const CLASSES: &str = "category";
/// The list of the ids that classes have in the file they come from.
pub const CLASS_IDS: &str = "category_id";
/// The list of class names.
pub const CLASS_NAMES: &str = "category_name";

/// A field of this name holds annotations, whatever its contents.
pub const FIELD: &str = "objects";

/// Returns true if a key is that of a list of object classes: `category`, `label` and `class`, in
/// the singular or plural, or followed by `id`, `index` or `number`.
///
/// ```
/// use fdconvert_core::objects::is_class_key;
///
/// assert!(["category", "labels", "class_id", "categoryIds", "cls"].into_iter().all(is_class_key));
/// assert!(!["category_name", "id", "area", "classified"].into_iter().any(is_class_key));
/// ```
#[must_use]
pub fn is_class_key(key: &str) -> bool {
    let mut word: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    word.make_ascii_lowercase();
    let word = ["object", "obj", "bbox", "gt"]
        .iter()
        .find_map(|start| word.strip_prefix(start))
        .unwrap_or(&word);
    let ends = ["ids", "id", "indices", "index", "idx", "numbers", "number"];
    let word = ends.iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    let words = [
        "category",
        "categories",
        "cat",
        "class",
        "classes",
        "cls",
        "label",
        "labels",
        "classlabel",
        "classlabels",
    ];
    words.contains(&word)
}

/// A member of annotations, from the description of a column.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Member {
    /// Key in the document.
    pub key: String,
    /// Class names of its numbers, if it is a class.
    #[serde(default)]
    pub class_names: Option<Arc<[String]>>,
    /// True if its numbers are 32-bit floats, which are written with as few digits as those need.
    #[serde(default)]
    pub is_single: bool,
}

/// Members of a column's annotations, from its description.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Members(Vec<Member>);

impl Members {
    /// The members of the objects in the field `name`; `None` if these are no annotations.
    #[must_use]
    pub fn of(name: &str, members: Vec<Member>) -> Option<Self> {
        let is_it = name == FIELD || members.iter().any(|member| member.key == BOXES);
        (is_it && !members.is_empty()).then_some(Self(members))
    }

    /// Iterates over the members.
    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.0.iter()
    }

    /// Converts the document to an object of lists. A list of objects, even an empty one, becomes
    /// one list per member; known class names are added beside their numbers. Anything else stays
    /// unchanged.
    #[must_use]
    pub fn arrange(&self, document: Json) -> Json {
        let mut lists = match document {
            Json::Object(lists) => lists,
            Json::Array(objects) if objects.iter().all(Json::is_object) => {
                transposed(self.0.iter().map(|member| &member.key), objects)
            }
            other => return other,
        };
        for member in self.0.iter().filter(|member| member.is_single) {
            lists.get_mut(&member.key).into_iter().for_each(shorten);
        }
        if let Some((key, names)) = self.classes()
            && !lists.contains_key(CLASS_NAMES)
            && let Some(Json::Array(numbers)) = lists.get(key)
        {
            let name = |number: &Json| {
                let position = usize::try_from(number.as_u64()?).ok()?;
                names.get(position).map(|name| Json::String(name.clone()))
            };
            let found = numbers.iter().map(|number| name(number).unwrap_or(Json::Null)).collect();
            lists.insert(CLASS_NAMES.into(), Json::Array(found));
        }
        Json::Object(lists)
    }

    /// Returns the class member's key, and its class names.
    #[must_use]
    pub fn classes(&self) -> Option<(&str, &[String])> {
        let mut named: Vec<(&str, &[String])> = Vec::new();
        named.extend(self.0.iter().filter_map(|it| Some((&*it.key, it.class_names.as_deref()?))));
        if let Some(at) = named.iter().position(|(key, _)| *key == CLASSES) {
            return named.get(at).copied();
        }
        if named.len() > 1 {
            named.retain(|(key, _)| is_class_key(key));
        }
        match named[..] {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// Transposes a list of objects to an object of lists, with null for missing members. The lists of
/// `keys` always exist, and come first.
fn transposed<'a>(
    keys: impl IntoIterator<Item = &'a String>,
    objects: Vec<Json>,
) -> Map<String, Json> {
    let n_objects = objects.len();
    let mut lists: Map<String, Json> = Map::new();
    lists.extend(keys.into_iter().map(|key| (key.clone(), Json::Array(Vec::new()))));
    for (number, object) in objects.into_iter().enumerate() {
        let Json::Object(object) = object else { continue };
        for (name, value) in object {
            let list = lists.entry(name).or_insert_with(|| Json::Array(Vec::new()));
            if let Json::Array(list) = list {
                list.resize(number, Json::Null);
                list.push(value);
            }
        }
    }
    for list in lists.values_mut() {
        if let Json::Array(list) = list {
            list.resize(n_objects, Json::Null);
        }
    }
    lists
}

/// The 32-bit float with as few digits as it needs, not those of the equal double.
#[must_use]
pub fn short(single: f32) -> Json {
    let short = single.to_string().parse().ok();
    short.and_then(Number::from_f64).map_or(Json::Null, Json::Number)
}

fn shorten(value: &mut Json) {
    match value {
        Json::Array(list) => list.iter_mut().for_each(shorten),
        Json::Number(number) => {
            if let Some(double) = number.as_f64().filter(|_| number.is_f64()) {
                *value = short(double as f32);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn member(key: &str, names: &[&str]) -> Member {
        let class_names =
            (!names.is_empty()).then(|| names.iter().map(|it| (*it).into()).collect());
        Member { key: key.into(), class_names, is_single: key == BOXES }
    }

    fn arranged(members: &[Member], document: Json) -> String {
        Members::of("digits", members.to_vec()).unwrap().arrange(document).to_string()
    }

    #[test]
    fn an_empty_list_has_the_keys_of_the_others() {
        let members = [member("bbox", &[]), member("label", &["cat", "dog"])];
        assert_eq!(arranged(&members, json!([])), r#"{"bbox":[],"label":[],"category_name":[]}"#);
        let double = f64::from(0.1_f32);
        let one = json!([{"bbox": [double, 2.0], "label": 1}, {"label": -1, "bbox": null}]);
        let expected = r#"{"bbox":[[0.1,2.0],null],"label":[1,-1],"category_name":["dog",null]}"#;
        assert_eq!(arranged(&members, one), expected);
        assert_eq!(arranged(&members, Json::Null), "null");
        assert_eq!(arranged(&members, json!(["a"])), r#"["a"]"#);
    }

    #[test]
    fn names_are_those_of_the_classes_and_not_of_other_lists() {
        let (kind, label) = (member("kind", &["big", "small"]), member("label", &["cat"]));
        let (bbox, category) = (member("bbox", &[]), member("category", &["dog"]));
        let zeros = json!({"bbox": [], "kind": [0], "label": [0], "category": [0]});
        let named = |members: &[Member]| {
            let all = [std::slice::from_ref(&bbox), members].concat();
            let found: Json = serde_json::from_str(&arranged(&all, zeros.clone())).unwrap();
            found[CLASS_NAMES].clone()
        };
        assert_eq!(named(std::slice::from_ref(&kind)), json!(["big"]));
        assert_eq!(named(&[kind.clone(), label.clone()]), json!(["cat"]));
        assert_eq!(named(&[label.clone(), category, kind]), json!(["dog"]));
        assert_eq!(named(&[label, member("class", &["eel"])]), Json::Null);
    }

    #[test]
    fn what_has_no_boxes_is_no_annotation() {
        assert_eq!(Members::of("people", vec![member("name", &[])]), None);
        assert_eq!(Members::of("objects", Vec::new()), None);
        assert!(Members::of("objects", vec![member("name", &[])]).is_some());
    }
}
