//! Keys of samples in other tools' files: the path beside the image, or the row number. The latter
//! has no extension, since finding it would require reading every image.
use super::{ParquetReader, cell::Cell, columns::How, open::Part};
use fdconvert_core::{Codec, Kind, Result};
use std::{collections::BTreeMap, ops::Range};

/// Longer paths are not used as keys.
const MAX_KEY_BYTES: usize = 1024;

/// The keys that are not row numbers.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    by_index: BTreeMap<u64, Box<str>>,
    /// Samples with unreadable paths.
    pub(crate) unread: Vec<Range<u64>>,
}

impl Keys {
    /// Reads the paths of all samples. A sample with an unreadable path gets its number as key, and
    /// reading it is [an error](Self::check).
    pub(crate) fn read(reader: &ParquetReader) -> Self {
        let (mut keys, mut taken, mut unread) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        for part in &reader.parts {
            let Some(path) = path_of(part) else { continue };
            let end = part.first.saturating_add(part.file.n_rows);
            let mut index = part.first;
            while index < end {
                match reader.flat(index, path) {
                    Ok(Cell::Text(text)) => {
                        if let Some(key) = std::str::from_utf8(&text).ok().and_then(safe) {
                            keys.insert(index, unique(key, &mut taken).into_boxed_str());
                        }
                        index += 1;
                    }
                    Ok(_) => index += 1,
                    // Its row group is damaged: trying each of its rows would be slow.
                    Err(_) => {
                        let end = reader.group_end(index);
                        unread.push(index..end);
                        index = end;
                    }
                }
            }
        }
        if keys.len() as u64 != reader.facts.len {
            // A row number must not equal the key of a row without a name.
            let stem = |key: &str| Codec::strip_extension(key).unwrap_or(key).to_owned();
            keys.retain(|_, key| !stem(key).bytes().all(|byte| byte.is_ascii_digit()));
        }
        Self { by_index: keys, unread }
    }

    pub(crate) fn get(&self, index: u64) -> Option<&str> {
        self.by_index.get(&index).map(AsRef::as_ref)
    }

    /// Refuses a sample with an unreadable path: its number would be the wrong key.
    ///
    /// # Errors
    /// What is wrong with the path, or that something was wrong.
    pub(crate) fn check(&self, reader: &ParquetReader, index: u64) -> Result<()> {
        if !self.unread.iter().any(|range| range.contains(&index)) {
            return Ok(());
        }
        let (_, part, _) = reader.part_of(index)?;
        if let Some(path) = path_of(part) {
            reader.flat(index, path)?;
        }
        // The store failed temporarily, or the row follows a damaged one.
        Err(reader.bad(index, "paths of its row group could not be read, so its name is not known"))
    }
}

/// The column of the paths of the first images.
fn path_of(part: &Part) -> Option<usize> {
    let mut images = part.columns.iter().filter(|column| column.field.kind == Kind::Image);
    match images.next()?.how {
        How::Image { path, .. } => path,
        _ => None,
    }
}

/// The key for a path, without `.` and `..` parts; `None` if it is no usable key.
fn safe(path: &str) -> Option<String> {
    let is_name = |part: &&str| !part.is_empty() && !matches!(*part, "." | "..");
    let parts: Vec<&str> = path.split(['/', '\\']).filter(is_name).collect();
    let key = parts.join("/");
    let is_safe = !key.is_empty() && key.len() <= MAX_KEY_BYTES && !key.contains(char::is_control);
    is_safe.then_some(key)
}

/// The key, or its first unused variant: `a-1.jpg`, `a-2.jpg`. `taken` maps each used key to the
/// next number to try.
fn unique(key: String, taken: &mut BTreeMap<String, u64>) -> String {
    let Some(next) = taken.get(&key).copied() else {
        taken.insert(key.clone(), 1);
        return key;
    };
    let stem = Codec::strip_extension(&key).unwrap_or(&key);
    let extension = key.get(stem.len()..).unwrap_or_default();
    let mut number = next;
    let free = loop {
        let name = format!("{stem}-{number}{extension}");
        number += 1;
        if !taken.contains_key(&name) {
            break name;
        }
    };
    taken.insert(key, number);
    taken.insert(free.clone(), 1);
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_keys_that_lead_nowhere_else() {
        let keys = [
            ("a/b.jpg", Some("a/b.jpg")),
            ("/root/../etc/x.png", Some("root/etc/x.png")),
            ("C:\\images\\x.png", Some("C:/images/x.png")),
            ("./x", Some("x")),
            ("../..", None),
            ("", None),
            ("a\0b", None),
        ];
        for (path, key) in keys {
            assert_eq!(safe(path).as_deref(), key, "{path}");
        }
    }

    #[test]
    fn the_same_path_twice_gives_two_keys() {
        let mut taken = BTreeMap::new();
        let paths = ["a.jpg", "a-2.jpg", "a.jpg", "a.jpg", "a-1.jpg"];
        let keys = paths.map(|path| unique(path.to_owned(), &mut taken));
        assert_eq!(keys, ["a.jpg", "a-2.jpg", "a-1.jpg", "a-3.jpg", "a-1-1.jpg"]);
    }
}
