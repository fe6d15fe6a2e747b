//! Documents in JSON, as Python's `json` takes them.
use serde::de::IgnoredAny;

/// Words that Python writes for numbers that JSON has not.
const NUMBERS: [&[u8]; 2] = [b"NaN", b"Infinity"];

/// Checks that a text is one JSON document in UTF-8. `NaN` and `Infinity` count as numbers, as for
/// Python, and a byte order mark is passed over.
///
/// The error says what is wrong, as the end of a sentence such as "the field ...".
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
    if std::str::from_utf8(text).is_err() {
        return Err("is not JSON: it is not text in UTF-8".to_owned());
    }
    let Err(cause) = serde_json::from_slice::<IgnoredAny>(text) else { return Ok(()) };
    match with_plain_numbers(text) {
        Some(plain) if serde_json::from_slice::<IgnoredAny>(&plain).is_ok() => Ok(()),
        _ => Err(format!("is not JSON: {cause}")),
    }
}

/// The text with a 0 in the place of each number that JSON has not; `None` where there is none.
fn with_plain_numbers(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain = text.to_vec();
    let (mut at, mut in_string, mut has_any) = (0, false, false);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let number = NUMBERS.iter().find(|number| !in_string && rest.starts_with(number));
        match (rest.first(), number) {
            (_, Some(number)) => {
                let place = plain.get_mut(at..at + number.len())?;
                place.fill(b' ');
                *place.first_mut()? = b'0';
                has_any = true;
                at += number.len();
                continue;
            }
            (Some(b'\\'), _) => at += 1,
            (Some(b'"'), _) => in_string = !in_string,
            _ => {}
        }
        at += 1;
    }
    has_any.then_some(plain)
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
