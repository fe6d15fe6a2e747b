//! Tar archives in memory: the regular files of an archive, without copying.
//!
//! Accepted: V7, USTAR, GNU long names, PAX headers, sizes in octal and in base 256. Refused by
//! name: links, devices, sparse files, volumes of a larger archive, because a shard is data that
//! can be read at an offset. Archives on which programs disagree (a directory with contents, a
//! global header that renames everything, a lone block of zeros between entries) are refused as
//! well, so that all readers of a shard see the same samples.
//!
//! The end is the first pair of zero blocks, whatever follows, except another archive: archives
//! joined by `cat` are refused, because all but the first would be lost. The end may be missing, as
//! in Python's `tarfile`: writers are often stopped before it, at an entry's border.

mod group;
mod header;
mod pax;
#[cfg(test)]
mod tests;

pub(crate) use group::{Group, SORT, groups, groups_and_rest, split_key};
pub(crate) use header::is_header;

use fdconvert_core::Error;
use header::{BLOCK, Header};
use pax::Records;
use std::{borrow::Cow, path::Path};

/// A regular file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// Its name as stored: prefix joined, GNU and PAX long names applied. Any bytes but NUL:
    /// absolute names and `..` are accepted, because a name is only a key here. A caller that makes
    /// a path of it must refuse them.
    pub(crate) name: Cow<'a, [u8]>,
    /// Offset of its first header block, including extension headers.
    pub(crate) header: u64,
    /// Offset of its bytes, which are within the archive.
    pub(crate) data: u64,
    pub(crate) len: u64,
}

/// A problem of an archive, with its offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TarError {
    /// Byte offset in the archive.
    pub(crate) offset: u64,
    /// The problem: what was expected and found, and the cure when known.
    pub(crate) what: String,
    /// True if the archive is sound, but not supported.
    pub(crate) unsupported: bool,
}

impl TarError {
    fn damaged(offset: usize, what: impl Into<String>) -> Self {
        Self { offset: offset as u64, what: what.into(), unsupported: false }
    }

    fn unsupported(offset: usize, what: impl Into<String>) -> Self {
        Self { offset: offset as u64, what: what.into(), unsupported: true }
    }

    /// Returns the error of the archive at `path`.
    pub(crate) fn at(self, path: &Path) -> Error {
        let Self { offset, what, unsupported } = self;
        if unsupported {
            let what = format!("at byte {offset}: {what}");
            return Error::Unsupported {
                format: "tar",
                path: path.to_path_buf(),
                what: what.into(),
            };
        }
        Error::corrupt("tar", path, offset, what)
    }
}

/// Yields the regular files of an archive, in order. Ends after the first error.
pub(crate) fn entries(archive: &[u8]) -> impl Iterator<Item = Result<Entry<'_>, TarError>> {
    entries_and_folders(archive, |_| {})
}

/// As [`entries`], and calls a function with the names of directories in between.
pub(crate) fn entries_and_folders<'a>(
    archive: &'a [u8],
    folder: impl FnMut(&[u8]),
) -> impl Iterator<Item = Result<Entry<'a>, TarError>> {
    Walk { archive, at: Some(0), folder }
}

struct Walk<'a, F> {
    archive: &'a [u8],
    /// Offset of the next header; `None` at the end.
    at: Option<usize>,
    /// Receives the names of directories.
    folder: F,
}

/// Facts from extension headers about the next entry. The first of two equal keywords counts, as in
/// Python.
#[derive(Default)]
struct Extension<'a> {
    /// Offset of the first extension header.
    start: Option<usize>,
    name: Option<&'a [u8]>,
    size: Option<u64>,
    /// True if PAX keywords of a sparse file were among them.
    sparse: bool,
}

impl<'a, F: FnMut(&[u8])> Iterator for Walk<'a, F> {
    type Item = Result<Entry<'a>, TarError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.at.map(|at| self.entry_from(at))?;
        if !matches!(found, Ok(Some(_))) {
            self.at = None;
        }
        found.transpose()
    }
}

impl<'a, F: FnMut(&[u8])> Walk<'a, F> {
    /// Returns the first regular file at or after `at`, if any.
    fn entry_from(&mut self, mut at: usize) -> Result<Option<Entry<'a>>, TarError> {
        let mut extension = Extension::default();
        loop {
            let Some(block) = self.block(at)? else {
                return match extension.start {
                    Some(start) => {
                        Err(TarError::damaged(start, "an extension header, but no entry after it"))
                    }
                    None => Ok(None),
                };
            };
            let header = Header::parse(block).map_err(|what| TarError::damaged(at, what))?;
            let data = at + BLOCK;
            match header.kind() {
                b'x' | b'X' => {
                    extension.start.get_or_insert(at);
                    let bytes = self.contents(data, header.size(), "an extension header")?;
                    read_pax(bytes, &mut extension).map_err(|what| TarError::damaged(at, what))?;
                    at = after(data, bytes.len());
                }
                b'L' | b'K' => {
                    extension.start.get_or_insert(at);
                    let bytes = self.contents(data, header.size(), "a long name")?;
                    if header.kind() == b'L' {
                        extension.name.get_or_insert(header::until_nul(bytes));
                    }
                    at = after(data, bytes.len());
                }
                b'g' => {
                    let bytes = self.contents(data, header.size(), "a global header")?;
                    check_global(bytes).map_err(|what| TarError::damaged(at, what))?;
                    at = after(data, bytes.len());
                }
                // A volume label, which is not a file, and directories.
                b'V' => {
                    let len = self.contents(data, header.size(), "a volume label")?.len();
                    at = after(data, len);
                    extension = Extension::default();
                }
                b'5' | b'\0' if header.is_directory() => {
                    if extension.size.unwrap_or(header.size()) != 0 {
                        let what = "a directory with contents, which programs read differently";
                        return Err(TarError::damaged(at, what));
                    }
                    let name = extension.name.map_or_else(|| header.name(), Cow::Borrowed);
                    (self.folder)(&name);
                    at = data;
                    extension = Extension::default();
                }
                kind => {
                    let name = extension.name.map_or_else(|| header.name(), Cow::Borrowed);
                    if let Some(what) = refusal(kind, extension.sparse) {
                        let name = String::from_utf8_lossy(&name);
                        return Err(TarError::unsupported(at, format!("`{name}` is {what}")));
                    }
                    let size = extension.size.unwrap_or(header.size());
                    let len = match self.contents(data, size, "an entry") {
                        Ok(bytes) => bytes.len(),
                        Err(mut error) => {
                            error.what =
                                format!("`{}`: {}", String::from_utf8_lossy(&name), error.what);
                            return Err(error);
                        }
                    };
                    self.at = Some(after(data, len));
                    let header = extension.start.unwrap_or(at) as u64;
                    return Ok(Some(Entry { name, header, data: data as u64, len: len as u64 }));
                }
            }
        }
    }

    /// Returns the header block at `at`; `None` at the end of the archive.
    fn block(&self, at: usize) -> Result<Option<&'a [u8; BLOCK]>, TarError> {
        let rest = self.archive.get(at..).unwrap_or_default();
        let Some((block, rest)) = rest.split_first_chunk::<BLOCK>() else {
            return match (at, rest) {
                (0, []) => Err(TarError::damaged(0, "the file is empty")),
                (_, rest) if is_zero(rest) => Ok(None),
                _ => Err(TarError::damaged(at, "the file ends amid a header")),
            };
        };
        if block[0] != 0 || !is_zero(block) {
            return Ok(Some(block));
        }
        let following = rest.get(..BLOCK).unwrap_or(rest);
        if !is_zero(following) {
            let what = "a lone block of zeros where an entry or the end was expected";
            return Err(TarError::damaged(at, what));
        }
        let mut behind = rest.as_chunks::<BLOCK>().0.iter();
        let Some(first) = behind.position(|block| !is_zero(block)) else { return Ok(None) };
        let rest = rest.get(first * BLOCK..).unwrap_or_default();
        match rest.first_chunk().map(Header::parse) {
            Some(Ok(_)) => {
                let what = format!(
                    "another archive of {} bytes is behind the end of this one, where few \
                     programs look: join them by `tar --concatenate`, or unpack all by `tar \
                     --ignore-zeros` and make one of the files",
                    rest.len()
                );
                Err(TarError::unsupported(self.archive.len() - rest.len(), what))
            }
            _ => Ok(None),
        }
    }

    /// Returns `len` bytes at `data`; they and their padding must be within the archive.
    fn contents(&self, data: usize, len: u64, whose: &str) -> Result<&'a [u8], TarError> {
        let rest = self.archive.get(data..).unwrap_or_default();
        let padded = usize::try_from(len).ok().and_then(|len| len.checked_next_multiple_of(BLOCK));
        match padded {
            // The padding is at most a block, so that `len` fits if the padded length does.
            Some(padded) if padded <= rest.len() => Ok(rest.get(..len as usize).unwrap_or(rest)),
            _ => {
                let left = rest.len();
                let what = format!(
                    "the contents of {whose} of {len} bytes run over the end of the file, which is \
                     {left} bytes away: the file is cut short or the length is wrong"
                );
                Err(TarError::damaged(data, what))
            }
        }
    }
}

/// Returns the offset after contents that are within the archive together with their padding.
fn after(data: usize, len: usize) -> usize {
    data + len.next_multiple_of(BLOCK)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |or, byte| or | byte) == 0
}

fn read_pax<'a>(bytes: &'a [u8], extension: &mut Extension<'a>) -> Result<(), String> {
    for record in Records::new(bytes) {
        let (key, value) = record?;
        match key {
            b"path" => {
                if value.is_empty() || value.contains(&0) {
                    return Err("a PAX header with a name that is empty or has a NUL".to_owned());
                }
                extension.name.get_or_insert(header::trim_end(value, b'/'));
            }
            b"size" => {
                extension.size.get_or_insert(pax::number(value)?);
            }
            key => extension.sparse |= key.starts_with(b"GNU.sparse."),
        }
    }
    Ok(())
}

/// Checks a global header, which applies to all later entries: comments and times are allowed.
fn check_global(bytes: &[u8]) -> Result<(), String> {
    for record in Records::new(bytes) {
        let (key, _) = record?;
        if key == b"path" || key == b"size" || key.starts_with(b"GNU.sparse.") {
            let key = String::from_utf8_lossy(key);
            return Err(format!("a global PAX header sets `{key}` for all entries"));
        }
    }
    Ok(())
}

/// Returns why an entry of this type is not supported, and the cure.
fn refusal(kind: u8, sparse: bool) -> Option<String> {
    let what = match kind {
        _ if sparse => "a sparse file; pack the archive again without --sparse",
        b'0' | b'\0' | b'7' => return None,
        b'1' => "a hard link; pack the archive again with GNU tar's --hard-dereference",
        b'2' => "a symbolic link; pack the archive again with GNU tar's --dereference",
        b'3' | b'4' => "a device; pack the archive again without it",
        b'6' => "a named pipe; pack the archive again without it",
        b'S' => "a sparse file; pack the archive again without --sparse",
        b'M' => "continued from another volume; pack the archive again without --multi-volume",
        b'D' => "a directory of an incremental archive; pack again without --incremental",
        b'5' => return Some("a directory".to_owned()),
        kind => {
            let kind = kind.escape_ascii();
            return Some(format!("an entry of the unknown type `{kind}`; pack the archive again"));
        }
    };
    Some(what.to_owned())
}
