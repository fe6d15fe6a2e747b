//! Texts as JSON strings, byte for byte as Python's `json.dumps` writes them.
use std::fmt::Write as _;

/// Quotes a text and escapes it to ASCII.
pub(crate) fn to_json(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            ' '..='~' => json.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(json, "\\u{unit:04x}");
                }
            }
        }
    }
    json.push('"');
    json
}

/// Parses a JSON string; `None` for any other JSON.
pub(crate) fn from_json(json: &[u8]) -> Option<String> {
    serde_json::from_slice(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_as_python_does() {
        // Made with Python 3.11: json.dumps('é"\\/
        // \r\t\b\f\x00\x7f 😀~').
        let text = "é\"\\/\n\r\t\u{8}\u{c}\0\u{7f} 😀~";
        let expected = r#""\u00e9\"\\/\n\r\t\b\f\u0000\u007f \ud83d\ude00~""#;
        assert_eq!(to_json(text), expected);
        assert_eq!(from_json(expected.as_bytes()).as_deref(), Some(text));
    }
}
