//! Zips for tests, made byte by byte, so that they can contain wrong values.
use flate2::{Compression, write::DeflateEncoder};
use std::{fs, io::Write as _, path::Path};

/// A file of a zip. Every field can be set to a wrong value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Name, in any encoding.
    pub name: Vec<u8>,
    /// Stored bytes.
    pub stored: Vec<u8>,
    /// Number of the compression method: 0 is stored, 8 deflated.
    pub method: u16,
    /// General purpose flags: 1 is encrypted, 0x800 a UTF-8 name.
    pub flags: u16,
    /// Checksum of the content.
    pub crc: u32,
    /// Length of the content in the directory.
    pub len: u32,
    /// Unix mode with the kind of the file; 0 for none.
    pub mode: u32,
    /// Extra fields of the directory.
    pub extra: Vec<u8>,
    /// The offset in the directory, if not the true one.
    pub offset: Option<u32>,
}

impl Entry {
    /// Creates a stored file.
    #[must_use]
    pub fn stored(name: &str, bytes: &[u8]) -> Self {
        Self {
            name: name.into(),
            stored: bytes.to_vec(),
            method: 0,
            flags: 0,
            crc: crc32fast::hash(bytes),
            len: u32::try_from(bytes.len()).unwrap(),
            mode: 0,
            extra: Vec::new(),
            offset: None,
        }
    }

    /// Creates a deflated file.
    #[must_use]
    pub fn deflated(name: &str, bytes: &[u8]) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        let stored = encoder.finish().unwrap();
        Self { stored, method: 8, ..Self::stored(name, bytes) }
    }

    fn fixed(&self, len: u32, stored: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend(self.method.to_le_bytes());
        // Midnight of the first of January 1980.
        bytes.extend([0, 0, 0x21, 0]);
        for word in [self.crc, stored, len] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(short(self.name.len()));
        bytes
    }
}

/// Returns folders and files below `folder`, in the order of their paths, with `prefix` before the
/// paths.
pub fn of_folder(
    folder: &Path,
    prefix: &str,
    entry: impl Fn(&str, &[u8]) -> Entry + Copy,
) -> Vec<Entry> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            all.push(Entry::stored(&format!("{name}/"), b""));
            all.extend(of_folder(&path, &format!("{name}/"), entry));
        } else {
            all.push(entry(&name, &fs::read(path).unwrap()));
        }
    }
    all
}

/// Returns a zip of these files, in order.
#[must_use]
pub fn zip(entries: &[Entry]) -> Vec<u8> {
    build(entries, false)
}

/// Returns a zip with the records for large files.
#[must_use]
pub fn zip64(entries: &[Entry]) -> Vec<u8> {
    build(entries, true)
}

fn build(entries: &[Entry], is_large: bool) -> Vec<u8> {
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = entry.offset.unwrap_or_else(|| word(zip.len()));
        let stored = word(entry.stored.len());
        zip.extend(b"PK\x03\x04\x14\0");
        zip.extend(entry.fixed(entry.len, stored));
        zip.extend(short(0));
        zip.extend(&entry.name);
        zip.extend(&entry.stored);
        let mut extra = entry.extra.clone();
        let [len, stored, offset] = if is_large {
            extra.extend(b"\x01\0\x18\0");
            for value in [entry.len, stored, offset] {
                extra.extend(u64::from(value).to_le_bytes());
            }
            [u32::MAX; 3]
        } else {
            [entry.len, stored, offset]
        };
        // Made by Unix, version 3.0; needs 2.0.
        directory.extend(b"PK\x01\x02\x1e\x03\x14\0");
        directory.extend(entry.fixed(len, stored));
        directory.extend(short(extra.len()));
        // No comment, on the first disk, no internal attributes.
        directory.extend([0; 6]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(&entry.name);
        directory.extend(extra);
    }
    let (start, len) = (zip.len(), directory.len());
    zip.extend(directory);
    if is_large {
        let at = zip.len() as u64;
        zip.extend(b"PK\x06\x06\x2c\0\0\0\0\0\0\0\x1e\x03\x2d\0\0\0\0\0\0\0\0\0");
        for value in [entries.len(), entries.len(), len, start] {
            zip.extend((value as u64).to_le_bytes());
        }
        zip.extend(b"PK\x06\x07\0\0\0\0");
        zip.extend(at.to_le_bytes());
        zip.extend([1, 0, 0, 0]);
    }
    zip.extend(b"PK\x05\x06\0\0\0\0");
    let n = if is_large { [0xff; 2] } else { short(entries.len()) };
    zip.extend([n, n].concat());
    zip.extend(if is_large { [0xff; 4] } else { word(len).to_le_bytes() });
    zip.extend(if is_large { [0xff; 4] } else { word(start).to_le_bytes() });
    zip.extend([0, 0]);
    zip
}

fn short(len: usize) -> [u8; 2] {
    u16::try_from(len).unwrap().to_le_bytes()
}

fn word(len: usize) -> u32 {
    u32::try_from(len).unwrap()
}
