//! Manifests: descriptions of datasets of shards, written last.
use fdconvert_core::{Error, Result};
#[cfg(feature = "write")]
use fdconvert_storage::{fingerprint_hex, place::is_url, read_if_there, replace};
use fdconvert_storage::{os, place, seal_json, unseal_json};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Next to the shards, except in mixed sets, where each folder of shards has one.
pub(crate) const NAME: &str = "fdconvert.json";
/// Version of the manifests of all formats.
pub(crate) const VERSION: u64 = 1;
pub(crate) const MAX_BYTES: u64 = 1 << 30;
/// Length of the start, which contains checksum and format.
const START_BYTES: usize = 256;
/// Start of manifests from before they had a checksum.
const UNSEALED_START: &[u8] = b"{\n  \"format\": ";

/// A file of the dataset that has no checksum inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileFacts {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) xxh3: String,
}

impl FileFacts {
    pub(crate) fn new(name: String, contents: &[u8]) -> Self {
        let xxh3 = format!("{:016x}", xxh3_64(contents));
        Self { name, bytes: contents.len() as u64, xxh3 }
    }
}

/// Returns a manifest as text, with its checksum. MDS manifests have no newline at the end, since
/// their first version.
pub(crate) fn to_json<T: Serialize>(manifest: &T, end: &[u8]) -> Vec<u8> {
    // Strings, numbers and maps with string keys cannot fail.
    let mut text = serde_json::to_vec_pretty(manifest).unwrap_or_default();
    text.extend_from_slice(end);
    seal_json(&text)
}

/// End of a manifest without a checksum, if its format ever wrote one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsealed {
    /// There were none.
    Never,
    /// They end with these bytes.
    EndsWith(&'static [u8]),
}

/// Writes the manifest of a run, the last file of a dataset. A store decides which of several
/// writers is the first, and another run's manifest is not replaced there: it was written since
/// this run began.
///
/// # Errors
/// `Usage` if another run has completed a dataset there, `Io`.
#[cfg(feature = "write")]
pub(crate) fn publish(path: &Path, text: &[u8], fingerprint: [u8; 16]) -> Result<()> {
    if !is_url(path) {
        return replace(path, text);
    }
    if place::put_new(path, text)? {
        return Ok(());
    }
    let found = read_if_there(path, MAX_BYTES)?.and_then(|found| fingerprint_of(&found));
    if found.is_some_and(|found| found != fingerprint_hex(fingerprint)) {
        return super::existing::holds_another(path.parent().unwrap_or(path));
    }
    replace(path, text)
}

/// Returns the run of a manifest, as far as it can be read.
#[cfg(feature = "write")]
fn fingerprint_of(text: &[u8]) -> Option<String> {
    let object: serde_json::Value = serde_json::from_slice(&unseal_json(text).ok()?).ok()?;
    Some(object.get("fingerprint")?.as_str()?.to_owned())
}

/// Parses a manifest of this format, of version 1; `path` is for messages.
///
/// # Errors
/// `Corrupt` if it is damaged or no such manifest, `Version` for another version.
pub(crate) fn parse<T: DeserializeOwned>(
    text: &[u8],
    format: &'static str,
    path: &Path,
    unsealed: Unsealed,
) -> Result<T> {
    let damaged = |what: String| Error::corrupt(format, path, 0, what);
    let object = match unsealed {
        Unsealed::EndsWith(end) if text.starts_with(UNSEALED_START) => {
            if !text.ends_with(end) {
                return Err(damaged("it is cut short".into()));
            }
            text.to_vec()
        }
        _ => unseal_json(text).map_err(damaged)?,
    };
    let loose: serde_json::Value =
        serde_json::from_slice(&object).map_err(|cause| damaged(cause.to_string()))?;
    if loose.get("format").and_then(|name| name.as_str()) != Some(format) {
        return Err(damaged(format!("`format` is not `{format}`")));
    }
    let found = loose.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if found != VERSION {
        return Err(Error::Version { format, path: path.to_path_buf(), found, supported: "1" });
    }
    serde_json::from_value(loose).map_err(|cause| damaged(cause.to_string()))
}

/// Returns the format of a folder's manifest, if it has one, from the first lines, which are a
/// small part of it.
pub(crate) fn format_of(folder: &Path) -> Option<String> {
    let start = place::read_start(&folder.join(NAME), START_BYTES).ok()?;
    let start = String::from_utf8_lossy(&start);
    let (_, behind) = start.split_once("\"format\": \"")?;
    Some(behind.split_once('"')?.0.to_owned())
}

/// Returns the first name that is not one of a file below the dataset's folder.
pub(crate) fn name_outside<'a>(mut names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    names.find(|name| !is_below(name))
}

/// Returns true if a name refers to a file below its folder.
pub(crate) fn is_below(name: &str) -> bool {
    let is_name = |part| !matches!(part, "" | "." | "..") && os::unfit(part.as_bytes()).is_none();
    !name.contains('\0') && name.split('/').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An existing checksum cannot be left out, nor an older manifest truncated.
    #[test]
    fn what_has_no_checksum_is_taken_only_where_it_was_written() {
        let text = b"{\n  \"format\": \"toy\",\n  \"version\": 1\n}\n";
        let read = |text: &[u8], unsealed| {
            parse::<serde_json::Value>(text, "toy", Path::new("m.json"), unsealed).is_ok()
        };
        assert!(read(text, Unsealed::EndsWith(b"\n")));
        assert!(!read(&text[..text.len() - 1], Unsealed::EndsWith(b"\n")));
        assert!(!read(text, Unsealed::Never));
        assert!(read(&seal_json(text), Unsealed::Never));
    }

    #[test]
    fn names_lead_nowhere_else() {
        for fine in ["a.tar", "val/index.json", "a b"] {
            assert!(is_below(fine), "{fine}");
        }
        for wrong in ["", "/etc/passwd", "../a", "a/../../b", ".", "a//b", "a\0b"] {
            assert!(!is_below(wrong), "{wrong}");
        }
    }
}
