//! The text of a document: lists of equal length.
use bytes::Bytes;
use serde::Serialize;
use serde_json::Number;

/// Integers up to this size survive as a float.
const EXACT_IN_FLOAT: f64 = 9_007_199_254_740_992.0;

/// Limit of a category's name in bytes: it is repeated for every object of the category.
const MAX_NAME_BYTES: usize = 1000;

/// A list of the document under construction.
#[derive(Debug)]
pub(super) struct List {
    name: &'static str,
    text: String,
}

impl List {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, text: String::new() }
    }

    pub(super) fn push(&mut self, value: &impl Serialize) {
        // Numbers, texts and lists of them always serialise.
        let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
        self.push_text(&json);
    }

    /// Adds JSON text, without the spaces between its parts.
    pub(super) fn push_json(&mut self, json: &str) {
        self.separate();
        if !json.contains([' ', '\n', '\r', '\t']) {
            self.text.push_str(json);
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

/// The document of a sample: the size of its image, if known, and the lists.
pub(super) fn document(size: Option<[u64; 2]>, lists: &[List]) -> Bytes {
    let size = size.map(|[width, height]| format!("\"size\":[{width},{height}]"));
    let lists = lists.iter().map(|List { name, text }| format!("\"{name}\":[{text}]"));
    let members: Vec<String> = size.into_iter().chain(lists).collect();
    format!("{{{}}}", members.join(",")).into()
}

/// Refuses a name that would make documents many times as large as the annotations.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    if name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    Err(format!("the name of a category has {} bytes, over {MAX_NAME_BYTES}", name.len()))
}

/// Formats keys for messages: the first few of many.
pub(super) fn keys<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MAX: usize = 8;
    let mut shown: Vec<&str> = names.take(MAX + 1).collect();
    let more = if shown.len() > MAX { ", ..." } else { "" };
    shown.truncate(MAX);
    format!("the keys {}{more}", shown.join(", "))
}

/// Numbers as a JSON list.
pub(super) fn numbers(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|it| number(*it).to_string()).collect();
    format!("[{}]", values.join(","))
}

/// Left, top, width and height of the box around points; `None` for no points.
pub(super) fn around(points: impl Iterator<Item = [f64; 2]>) -> Option<[f64; 4]> {
    let wider = |[left, top, right, bottom]: [f64; 4], [x, y]: [f64; 2]| {
        [left.min(x), top.min(y), right.max(x), bottom.max(y)]
    };
    let bounds = points.fold(None, |bounds: Option<[f64; 4]>, [x, y]| {
        Some(bounds.map_or([x, y, x, y], |bounds| wider(bounds, [x, y])))
    });
    bounds.map(|[left, top, right, bottom]| [left, top, right - left, bottom - top])
}

/// A number as people write it: without a fraction if it is whole.
pub(super) fn number(value: f64) -> Number {
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
        let text = document(Some([3, 4]), &[list, List::new("b")]);
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
