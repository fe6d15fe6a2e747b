use crate::{opening, sigbus::Mapping};
use bytes::Bytes;
use fdconvert_core::{Error, Result};
use memmap2::Mmap;
use std::{fs::File, path::Path};

/// Maps a whole file for reading. Slices of the result are free and keep the map alive; an empty
/// file gives empty bytes. The file is opened read-only.
///
/// No program can rule out that another process truncates a file while it is mapped, so that is the
/// operator's duty: access beyond the new end then raises SIGBUS, as in every program that maps
/// files; so does an unreadable page. Within [`sigbus::caught`](crate::sigbus::caught) that is an
/// error. fdconvert itself never truncates a mapped file: it writes datasets once, under another
/// name, and renames them when complete (see [`Scratch`](crate::Scratch)).
///
/// # Errors
/// `Io` when the file cannot be opened or mapped, or is not a regular file.
pub fn map(path: &Path) -> Result<Bytes> {
    crate::fault::on_read(path, 0).map_err(Error::io("map", path))?;
    map_open(&opening::open(path).map_err(Error::io("open", path))?, path)
}

/// Maps an open file, such as an unnamed one; messages call it `path`. See [`map`].
///
/// # Errors
/// `Io` when the file cannot be mapped, or is not a regular file.
pub fn map_open(file: &File, path: &Path) -> Result<Bytes> {
    let metadata = file.metadata().map_err(Error::io("access", path))?;
    if !metadata.is_file() {
        let cause = std::io::Error::other("it is not a regular file");
        return Err(Error::io("map", path)(cause));
    }
    if metadata.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the mapping is private to this `Bytes`, read-only, and lives as long as any slice of
    // it. Its contents can change only if another process writes to the file in place, which the
    // function's contract makes the operator's duty (as `memmap2` documents it); no code of this
    // workspace writes to a file under its final name, or to one that it has mapped.
    #[allow(unsafe_code)]
    let mapping = unsafe { Mmap::map(file) }.map_err(Error::io("map", path))?;
    let mapping = Mapping::new(mapping, file, path).map_err(Error::io("map", path))?;
    Ok(Bytes::from_owner(mapping))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_files_and_refuses_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"abc").unwrap();
        assert_eq!(map(&path).unwrap().slice(1..), &b"bc"[..]);
        std::fs::write(&path, b"").unwrap();
        assert!(map(&path).unwrap().is_empty());
        assert!(map(folder.path()).is_err());
        assert!(map(&folder.path().join("missing")).is_err());
    }
}
