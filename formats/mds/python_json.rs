//! JSON byte for byte as Python's `json.dumps` writes it, with keys in the given order.
use serde::Serialize;
use serde_json::{Serializer, ser::Formatter};
use std::io::{self, Write};

/// The JSON of `value`; empty if it cannot be serialised, which holds for none of fdconvert's
/// types.
pub(crate) fn dumps(value: &impl Serialize) -> Vec<u8> {
    let mut text = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut text, Python));
    if written.is_err() {
        text.clear();
    }
    text
}

struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { out.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.begin_array_value(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for character in fragment.chars() {
            if matches!(character, ' '..='~') {
                out.write_all(&[character as u8])?;
                continue;
            }
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_as_python_does() {
        // Made with Python 3.11: json.dumps({"a": [1, None, "é\"\\\n\x01\x7f😀"], "b": {}}).
        let value = serde_json::json!({"a": [1, null, "é\"\\\n\u{1}\u{7f}😀"], "b": {}});
        let expected = r#"{"a": [1, null, "\u00e9\"\\\n\u0001\u007f\ud83d\ude00"], "b": {}}"#;
        assert_eq!(String::from_utf8(dumps(&value)).unwrap(), expected);
    }
}
