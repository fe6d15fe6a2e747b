//! A zip or a tar in place of a folder: its members by path. See `SPEC.md`, "Reading a zip".
mod directory;
mod inflate;
mod names;
mod tar;
mod wrapping;

use crate::{folder::objects::Objects, tarball};
use bytes::Bytes;
use directory::Directory;
use fdconvert_core::{Error, Ignored, Limits, MaxDecompressed, Result, option};
use fdconvert_storage::{
    map, os,
    place::{self, Kind, is_url},
};
use rawzip::{CompressionMethod, ZipArchiveEntryWayfinder, ZipSliceArchive};
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// An open zip or tar. Its bytes are mapped; any number of threads may read members at the same
/// time.
pub(crate) struct Archive {
    path: PathBuf,
    stored: Stored,
    /// The members below the wrapping folder; the tag is the number of the member.
    objects: Objects,
    /// Links, and members that are not files.
    ignored: Ignored,
    /// The folder that contains everything in the archive, if there is one.
    wrapping: Option<String>,
    /// Changes when a member is written again.
    stamp: [u8; 16],
    max_decompressed: MaxDecompressed,
}

/// Bytes of an archive, and places of its members.
enum Stored {
    Zip {
        zip: ZipSliceArchive<Bytes>,
        members: Vec<Member>,
    },
    /// Members by offset and length.
    Tar {
        bytes: Bytes,
        members: Vec<(u64, u64)>,
    },
}

/// Returns true if a path is that of a zip or a tar. In a store only the name counts, and tars are
/// not supported.
pub(crate) fn looks_like_one(path: &Path) -> bool {
    directory::looks_like_zip(path) || is_tar(path)
}

fn is_tar(path: &Path) -> bool {
    !is_url(path) && tarball::is_name(path) && place::is_file(path) && tarball::starts_as_one(path)
}

/// Place of a member, and the facts needed to read it.
#[derive(Debug, Clone, Copy)]
struct Member {
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    is_encrypted: bool,
}

impl Archive {
    /// Opens the zip or tar at `path`; `None` if that is a folder.
    ///
    /// # Errors
    /// `Corrupt` for a zip with an invalid directory, and for an invalid tar; `Usage` for a zip in
    /// a store, `Limit`, `Io`.
    pub(crate) fn open(path: &Path, max_decompressed: MaxDecompressed) -> Result<Option<Self>> {
        if is_url(path) {
            if directory::looks_like_zip(path) && place::look(path)? == Some(Kind::File) {
                return Err(refuse_away(path));
            }
            return Ok(None);
        }
        if place::look_at(path)? != Kind::File {
            return Ok(None);
        }
        let bytes = map(path)?;
        if is_tar(path) {
            return tar::open(path, bytes, max_decompressed).map(Some);
        }
        Self::of_bytes(path, bytes, max_decompressed).map(Some)
    }

    /// Opens the zip `bytes`; messages call it `path`.
    ///
    /// # Errors
    /// `Corrupt`, as for [`open`](Self::open).
    pub(crate) fn of_bytes(
        path: &Path,
        bytes: Bytes,
        max_decompressed: MaxDecompressed,
    ) -> Result<Self> {
        let directory = Directory::read(path, bytes)?;
        let Directory { zip, members, objects, ignored, wrapping, stamp } = directory;
        let path = path.to_path_buf();
        let stored = Stored::Zip { zip, members };
        Ok(Self { path, stored, objects, ignored, wrapping, stamp, max_decompressed })
    }

    pub(crate) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Name of the kind of archive.
    pub(crate) fn container(&self) -> &'static str {
        match self.stored {
            Stored::Zip { .. } => "zip",
            Stored::Tar { .. } => "tar",
        }
    }

    /// Entries skipped so far: links, and members that are not files.
    pub(crate) fn ignored(&self) -> &Ignored {
        &self.ignored
    }

    pub(crate) fn stamp(&self) -> [u8; 16] {
        self.stamp
    }

    /// Tells the user about the wrapping folder.
    pub(crate) fn remark(&self) -> Option<String> {
        let wrapping = self.wrapping.as_ref()?;
        Some(format!(
            "all of {} is in its folder {wrapping}, which was taken as the source",
            self.path.display()
        ))
    }

    /// The path of the member for a path through the zip, such as `photos.zip/labels.csv`.
    pub(crate) fn member_of(&self, path: &Path) -> Option<Vec<u8>> {
        let member = path.strip_prefix(&self.path).ok()?;
        let below = self.wrapping.as_ref().and_then(|folder| member.strip_prefix(folder).ok());
        Some(os::slashed(below.unwrap_or(member)).into_owned())
    }

    /// The bytes of a member, checked against its checksum; `None` if there is no member of that
    /// path. A stored member is a slice of the map.
    ///
    /// # Errors
    /// `Sample` for a member that cannot be read or is damaged, `Limit` if it is too large.
    pub(crate) fn read(&self, key: &str, path: &[u8], limits: &Limits) -> Result<Option<Bytes>> {
        let Some(object) = self.objects.find(path) else { return Ok(None) };
        let shown = || self.path.join(String::from_utf8_lossy(path).as_ref());
        let refuse =
            |what: String| Error::sample(key, format!("{} {what}", String::from_utf8_lossy(path)));
        if object.len > limits.max_file_bytes {
            return Err(Error::Limit {
                what: format!("the size of {}", shown().display()),
                asked: object.len,
                most: limits.max_file_bytes,
                option: option::MAX_FILE_BYTES,
            });
        }
        let number = usize::try_from(object.tag).unwrap_or(usize::MAX);
        let (zip, member) = match &self.stored {
            Stored::Zip { zip, members } => (zip, members.get(number)),
            Stored::Tar { bytes, members } => {
                let range = members.get(number).and_then(|&(start, len)| {
                    let start = usize::try_from(start).ok()?;
                    Some(start..start.checked_add(usize::try_from(len).ok()?)?)
                });
                // Entries must be inside the archive.
                let range = range.filter(|range| range.end <= bytes.len());
                return Ok(range.map(|range| bytes.slice(range)));
            }
        };
        let Some(member) = member else { return Ok(None) };
        if member.is_encrypted {
            let what = "is encrypted; unpack the zip with its password, e.g. by `7z x`, and pack \
                        the folder";
            return Err(refuse(what.into()));
        }
        let entry = zip.get_entry(member.place).map_err(|cause| {
            refuse(format!("cannot be found in the zip, which is damaged: {cause}"))
        })?;
        let (start, end) = entry.compressed_data_range();
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let Some((start, end)) = range else { return Ok(None) };
        let stored = zip.get_ref().slice(start..end);
        let n_stored = stored.len() as u64;
        let bytes = match member.method {
            CompressionMethod::STORE if n_stored == object.len => stored,
            CompressionMethod::STORE => {
                let len = object.len;
                let what = format!("is damaged: it has {n_stored} bytes and claims {len}");
                return Err(refuse(what));
            }
            CompressionMethod::DEFLATE if object.len > self.max_decompressed.of(n_stored) => {
                return Err(self.max_decompressed.refuse(&shown(), n_stored, object.len));
            }
            CompressionMethod::DEFLATE => inflate::inflate(&stored, object.len).map_err(refuse)?,
            method => {
                let what = format!(
                    "is compressed by method {method}; of zips only stored and deflated files \
                     are read: unpack it and pack the folder, or zip that by `zip -0 -r`"
                );
                return Err(refuse(what));
            }
        };
        let expected = entry.claim_verifier().crc;
        let found = crc32fast::hash(&bytes);
        if found != expected {
            let what = format!(
                "is damaged: its checksum (CRC-32) is {found:08x}, the zip says {expected:08x}"
            );
            return Err(refuse(what));
        }
        Ok(Some(bytes))
    }
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").field("path", &self.path).finish_non_exhaustive()
    }
}

fn refuse_away(path: &Path) -> Error {
    let what = format!(
        "{} is a zip in a store, and zips are read from a disk only: copy it here, or unpack it in \
         the store and give the folder",
        path.display()
    );
    Error::usage("source", what)
}
