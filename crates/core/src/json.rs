//! JSON as Python's `json` accepts it.
use serde::de::IgnoredAny;

/// Python's spelling of numbers that JSON lacks.
const NUMBERS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Checks that a text is one JSON document in UTF-8. Accepts `NaN` and `Infinity` as numbers, like
/// Python, and skips a byte order mark.
///
/// The error completes a sentence such as "the field ...".
///
/// ```
/// use fdconvert_core::check_json;
///
/// assert!(check_json(br#"{"score": NaN}"#).is_ok());
/// assert_eq!(check_json(b"").unwrap_err(), "is empty, and not JSON");
/// ```
///
/// # Errors
/// What is wrong with the text.
pub fn check_json(text: &[u8]) -> Result<(), String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if text.trim_ascii().is_empty() {
        return Err("is empty, and not JSON".to_owned());
    }
    let Ok(text) = std::str::from_utf8(text) else {
        return Err("is not JSON: it is not text in UTF-8".to_owned());
    };
    let Err(cause) = serde_json::from_str::<IgnoredAny>(text) else { return Ok(()) };
    match with_null_for(&NUMBERS, text) {
        Some((plain, _)) if serde_json::from_str::<IgnoredAny>(&plain).is_ok() => Ok(()),
        _ => Err(format!("is not JSON: {cause}")),
    }
}

/// Replaces each of these words by `null` outside strings of a JSON text, and returns the number of
/// replacements; `None` if there are none. The words are `NaN`, `Infinity` and `-Infinity`,
/// Python's spelling of numbers.
///
/// ```
/// use fdconvert_core::with_null_for;
///
/// let (text, n) = with_null_for(&["NaN"], r#"{"score": NaN, "name": "NaN"}"#).unwrap();
/// assert_eq!((text.as_str(), n), (r#"{"score": null, "name": "NaN"}"#, 1));
/// ```
#[must_use]
pub fn with_null_for(words: &[&str], text: &str) -> Option<(String, u64)> {
    let mut plain = String::new();
    let (mut at, mut kept, mut in_string, mut n_words) = (0, 0, false, 0);
    let bytes = text.as_bytes();
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let word = words.iter().find(|word| !in_string && rest.starts_with(word.as_bytes()));
        match (rest.first(), word) {
            (_, Some(word)) => {
                plain.push_str(text.get(kept..at)?);
                plain.push_str("null");
                at += word.len();
                (kept, n_words) = (at, n_words + 1);
                continue;
            }
            (Some(b'\\'), _) => at += 1,
            (Some(b'"'), _) => in_string = !in_string,
            _ => {}
        }
        at += 1;
    }
    plain.push_str(text.get(kept..)?);
    (n_words > 0).then_some((plain, n_words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_reads_is_json() {
        for text in [
            "{}",
            " 3 ",
            "\u{feff}[1]",
            r#"{"a": NaN, "b": [-Infinity, Infinity], "c": "a \" NaN"}"#,
            r#""\ud800""#,
            "123456789012345678901234567890",
            &format!("{}{}", "[".repeat(5000), "]".repeat(5000)),
        ] {
            assert_eq!(check_json(text.as_bytes()), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_told() {
        for (text, why) in [
            (&b""[..], "empty"),
            (b" \n", "empty"),
            (b"{\"a\": 1", "EOF"),
            (b"{'a': 1}", "key must be a string"),
            (b"{} {}", "trailing"),
            (b"NaN NaN", "line 1"),
            (b"\"\xff\"", "UTF-8"),
            (b"a caption", "expected value"),
        ] {
            let said = check_json(text).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }
}
