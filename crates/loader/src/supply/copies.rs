//! Resident samples as bytes, in files and for other ranks: a line of JSON, the image, the values
//! of the other requested fields, and the entry points.
use crate::{
    dataset::Fetched,
    fields::{self, RowValues},
};
use bytes::Bytes;
use fdconvert_core::{Codec, Encoded, Result};
use fdconvert_storage::CacheFolder;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A folder with the samples of one choice of residents.
pub(super) struct Copies(CacheFolder);

#[derive(Serialize, Deserialize)]
struct Head {
    key: String,
    label: i64,
    codec: Codec,
    width: u32,
    height: u32,
    n_bytes: usize,
    /// Bytes of the values of other fields, which follow the image; the rest are its entry points.
    /// Omitted without fields, so that the bytes stay those of copies without fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n_field_bytes: Option<usize>,
    has_entry_points: bool,
}

impl Copies {
    /// Opens the samples of `identity`, which separates datasets and choices, within `folder`.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn open(folder: &Path, identity: u64) -> Result<Self> {
        // Both, so that `cache_folder` need not exist.
        CacheFolder::open(folder)?;
        Ok(Self(CacheFolder::open(&folder.join(format!("{identity:016x}")))?))
    }

    /// Returns a sample if it has an undamaged copy.
    pub(super) fn get(&self, name: &str) -> Option<Fetched> {
        parse(self.0.get(name)?)
    }

    /// Returns true if there is a copy, damaged or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.has(name)
    }

    /// # Errors
    /// `Io`.
    pub(super) fn put(&self, name: &str, fetched: &Fetched) -> Result<()> {
        with_parts(fetched, |parts| self.0.put(name, &parts))
    }
}

/// Calls `take` with the bytes of a sample, in four parts.
pub(crate) fn with_parts<T>(fetched: &Fetched, take: impl FnOnce([&[u8]; 4]) -> T) -> T {
    let image = &fetched.image;
    let entry_points = image.entry_points.as_ref();
    let fields = fetched.values.fields.as_deref().map(fields::to_bytes);
    let head = Head {
        key: fetched.key.clone(),
        label: fetched.values.label,
        codec: image.codec,
        width: image.width,
        height: image.height,
        n_bytes: image.bytes.len(),
        n_field_bytes: fields.as_ref().map(Vec::len),
        has_entry_points: entry_points.is_some(),
    };
    // Strings and numbers always convert to JSON.
    let mut line = serde_json::to_vec(&head).unwrap_or_default();
    line.push(b'\n');
    let fields = fields.as_deref().unwrap_or_default();
    take([&line, &image.bytes, fields, entry_points.map_or(&[], Bytes::as_ref)])
}

/// Parses a sample if its bytes are complete.
pub(crate) fn parse(copy: Bytes) -> Option<Fetched> {
    let head_len = copy.iter().position(|&byte| byte == b'\n')?;
    let head: Head = serde_json::from_slice(copy.get(..head_len)?).ok()?;
    let end = head_len.checked_add(1)?.checked_add(head.n_bytes)?;
    let bytes = (end <= copy.len()).then(|| copy.slice(head_len + 1..end))?;
    let begin = end;
    let end = begin.checked_add(head.n_field_bytes.unwrap_or_default())?;
    let stored = copy.get(begin..end)?;
    let fields = match head.n_field_bytes {
        Some(_) => Some(fields::from_bytes(stored)?),
        None => None,
    };
    let image = Encoded::new(head.codec, head.width, head.height, bytes);
    let image = image.with_entry_points(head.has_entry_points.then(|| copy.slice(end..)));
    let values = RowValues { label: head.label, fields };
    Some(Fetched { key: head.key, values, image, is_owned: true })
}
