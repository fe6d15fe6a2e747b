//! The text of XML files, before it is parsed.
use quick_xml::{Reader, events::Event};
use std::borrow::Cow;

/// Limit of the line that declares the encoding, in bytes.
const MAX_DECLARATION: usize = 200;

/// The text of a file in its declared encoding: UTF-8, or one that needs no table.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    let cure = |encoding: &str| {
        format!(
            "it is written in {encoding}; convert it: `iconv -f {encoding} -t UTF-8 < OLD > NEW`, and \
             name UTF-8 in its first line"
        )
    };
    let is_wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    if is_wide || bytes.contains(&0) {
        return Err(cure("UTF-16"));
    }
    let declared = declared(bytes).unwrap_or_default().to_ascii_lowercase();
    match (declared.as_str(), str::from_utf8(bytes)) {
        // Some programs declare UTF-16 for everything they write.
        ("" | "utf-8" | "utf8" | "utf-16", Ok(text)) => {
            Ok(text.strip_prefix('\u{feff}').unwrap_or(text).into())
        }
        (_, Ok(text)) if text.is_ascii() => Ok(text.into()),
        ("" | "utf-8" | "utf8" | "utf-16", Err(_)) => Err(
            "it is not UTF-8; convert it by `iconv -f ENCODING -t UTF-8 < OLD > NEW` from the encoding \
             that it is in"
                .to_owned(),
        ),
        // Its bytes are the first characters of Unicode.
        ("iso-8859-1" | "iso8859-1" | "latin-1" | "latin1", _) => {
            Ok(bytes.iter().map(|&byte| char::from(byte)).collect::<String>().into())
        }
        (other, _) => Err(cure(other)),
    }
}

/// The encoding in the first line.
fn declared(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let rest = bytes.strip_prefix(b"<?xml")?;
    let end = rest.windows(2).take(MAX_DECLARATION).position(|it| it == b"?>")?;
    let line = str::from_utf8(rest.get(..end)?).ok()?;
    let (_, value) = line.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    let (name, _) = value.get(1..)?.split_once(quote)?;
    // It is shown in a command.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    name.bytes().all(is_plain).then(|| name.to_owned())
}

/// Name of the first element.
pub(super) fn root_of(text: &str) -> Option<String> {
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) | Event::Empty(tag) => {
                return Some(String::from_utf8_lossy(tag.name().as_ref()).into_owned());
            }
            Event::Eof => return None,
            _ => {}
        }
    }
}
