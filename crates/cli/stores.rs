//! Options of stores as typed.

/// `NAME=VALUE`.
pub(crate) fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not NAME=VALUE; write e.g. region=eu-west-1")),
    }
}
