//! What goes to standard output: text or one JSON document.
use fdconvert_core::{Error, Result};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// Version of the JSON documents; raised when a key changes its meaning or goes.
const JSON_VERSION: u32 = 1;

/// Writes to standard output.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(Error::io("write", "standard output"))
}

/// Writes text that ends in a line break.
pub(crate) fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes one document: what it is, its version, and its fields.
pub(crate) fn print_json(document: &str, fields: Map<String, Value>) -> Result<()> {
    let mut whole = Map::new();
    whole.insert("document".into(), json!(format!("fdconvert-{document}")));
    whole.insert("version".into(), json!(JSON_VERSION));
    whole.extend(fields);
    let mut text = serde_json::to_string_pretty(&whole)
        .map_err(|cause| Error::io("write", "standard output")(io::Error::other(cause)))?;
    text.push('\n');
    print(&text)
}

/// Whether the reader of our output has gone away, which is no failure.
pub(crate) fn is_broken_pipe(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}

/// `12.3 MiB`, or `512 B`.
pub(crate) fn size(bytes: u64) -> String {
    indicatif::HumanBytes(bytes).to_string()
}

/// `1,281,167`.
pub(crate) fn count(n: u64) -> String {
    indicatif::HumanCount(n).to_string()
}
