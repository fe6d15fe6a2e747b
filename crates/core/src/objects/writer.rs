//! The text of a document of objects: the only place that writes one.
use super::{CLASS_IDS, CLASS_NAMES, CLASSES, NumberedClass, ObjectClasses};
use bytes::Bytes;
use serde::Serialize;
use serde_json::{Number, Value as Json};
use std::fmt::Write as _;

/// Integers up to this size survive as a float.
const EXACT_IN_FLOAT: f64 = 9_007_199_254_740_992.0;

/// A list of a document under construction.
#[derive(Debug)]
pub struct List {
    name: &'static str,
    text: String,
}

impl List {
    /// Creates an empty list of that key.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, text: String::new() }
    }

    /// Adds an entry.
    pub fn push(&mut self, value: &impl Serialize) {
        // Numbers, texts and lists of them always serialise.
        let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
        self.push_text(&json);
    }

    /// Adds a whole number.
    pub fn push_int(&mut self, number: i64) {
        self.separate();
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{number}");
    }

    /// Adds an entry of JSON text, without the spaces between its parts.
    pub fn push_json(&mut self, json: &str) {
        self.separate();
        // In pieces without a way out, of which the compiler makes vector instructions.
        let has_space = |piece: &[u8]| piece.iter().fold(false, |has, byte| has | (*byte <= b' '));
        if !json.as_bytes().chunks(256).any(has_space) {
            self.text.push_str(json);
            return;
        }
        if !json.contains('"') {
            json.split_ascii_whitespace().for_each(|piece| self.text.push_str(piece));
            return;
        }
        let (mut in_text, mut escaped) = (false, false);
        self.text.extend(json.chars().filter(|&char| {
            let is_kept = in_text || !char.is_ascii_whitespace();
            match char {
                '"' if !escaped => in_text = !in_text,
                _ => {}
            }
            escaped = in_text && char == '\\' && !escaped;
            is_kept
        }));
    }

    fn push_text(&mut self, json: &str) {
        self.separate();
        self.text.push_str(json);
    }

    fn separate(&mut self) {
        if !self.text.is_empty() {
            self.text.push(',');
        }
    }
}

/// Writes a document: the size of its image, if known, and the lists that are given.
///
/// ```
/// use fdconvert_core::objects::{List, written};
///
/// let mut boxes = List::new("bbox");
/// boxes.push(&[1, 2, 3, 4]);
/// let text = written(Some([640, 480]), [Some(boxes), None]);
/// assert_eq!(text, r#"{"size":[640,480],"bbox":[[1,2,3,4]]}"#);
/// ```
#[must_use]
pub fn written(size: Option<[u64; 2]>, lists: impl IntoIterator<Item = Option<List>>) -> Bytes {
    let lists: Vec<List> = lists.into_iter().flatten().collect();
    let n_bytes: usize = lists.iter().map(|list| list.name.len() + list.text.len() + 6).sum();
    let mut text = String::with_capacity(n_bytes + 40);
    text.push('{');
    if let Some([width, height]) = size {
        // Writing to a string cannot fail.
        let _ = write!(text, "\"size\":[{width},{height}]");
    }
    for list in &lists {
        let comma = if text.len() > 1 { "," } else { "" };
        for part in [comma, "\"", list.name, "\":[", &list.text, "]"] {
            text.push_str(part);
        }
    }
    text.push('}');
    text.into()
}

/// Replaces the classes of a document, which were found in it as `found`, by one for each box.
/// Without `keeps_ids`, the ids that its categories have in their file are left out. `None` if the
/// document stays as it is.
#[must_use]
pub fn with_classes(
    document: &[u8],
    found: &ObjectClasses,
    classes: &[NumberedClass<'_>],
    keeps_ids: bool,
) -> Option<Bytes> {
    let mut document = serde_json::from_slice(document).ok()?;
    let own = [CLASSES.to_owned()];
    let keys = if found.keys.is_empty() { &own[..] } else { &found.keys };
    match &mut document {
        Json::Object(lists) => {
            if classes.is_empty() && keys.iter().all(|key| !lists.contains_key(key)) {
                return None;
            }
            let numbers: Json = classes.iter().map(|(number, _)| *number).collect();
            for key in keys {
                lists.insert(key.clone(), numbers.clone());
            }
            let names = classes.iter().map(|(_, name)| *name).collect();
            lists.insert(CLASS_NAMES.to_owned(), names);
            if !keeps_ids {
                lists.remove(CLASS_IDS);
            }
        }
        Json::Array(objects) => {
            for (object, (number, name)) in objects.iter_mut().zip(classes) {
                let (Json::Object(object), Some(name)) = (object, name) else { continue };
                for key in keys {
                    object.insert(key.clone(), (*number).into());
                }
                object.insert(CLASS_NAMES.to_owned(), (*name).into());
                if !keeps_ids {
                    object.remove(CLASS_IDS);
                }
            }
        }
        _ => {}
    }
    Some(document.to_string().into())
}

/// Returns numbers as the text of a JSON list.
#[must_use]
pub fn numbers(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|it| number(*it).to_string()).collect();
    format!("[{}]", values.join(","))
}

/// Returns a number as people write it: without a fraction if it is whole.
#[must_use]
pub fn number(value: f64) -> Number {
    if value.fract() == 0.0 && value.abs() <= EXACT_IN_FLOAT {
        return Number::from(value as i64);
    }
    // Unreachable for infinities and NaN: reading refuses them.
    Number::from_f64(value).unwrap_or_else(|| Number::from(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_go_but_for_those_in_texts() {
        let mut list = List::new("a");
        list.push_json("[ 1 ,\n 2.50 ]");
        list.push_json(r#"{"counts": "a b\" c\\", "size": [1, 2]}"#);
        list.push(&"x y");
        let text = written(Some([3, 4]), [Some(list), Some(List::new("b"))]);
        let expected =
            r#"{"size":[3,4],"a":[[1,2.50],{"counts":"a b\" c\\","size":[1,2]},"x y"],"b":[]}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn numbers_without_a_fraction_have_none() {
        assert_eq!(number(64.0).to_string(), "64");
        assert_eq!(number(-0.5).to_string(), "-0.5");
        assert_eq!(number(1e300).to_string(), "1e+300");
    }
}
