//! A folder of disposable copies: missing or damaged ones are fetched again.
use crate::opening;
use bytes::Bytes;
use fdconvert_core::{Error, Result, bytes::u64_at};
use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes before a copy: magic, length and checksum.
const HEADER_LEN: usize = 24;
const MAGIC: &[u8; 8] = b"FDCOPY01";

/// A folder of copies that several processes may share. A copy appears under its name only when
/// complete; a truncated or changed one fails its checksum and counts as missing. Nothing is
/// synced: a copy lost in a crash is made again.
#[derive(Debug)]
pub struct CacheFolder {
    folder: PathBuf,
    /// Distinguishes the unfinished files of this process.
    number: AtomicU64,
}

impl CacheFolder {
    /// Opens a folder, and creates it if it is missing; its parent must exist.
    ///
    /// # Errors
    /// `Io`.
    pub fn open(folder: &Path) -> Result<Self> {
        match fs::create_dir(folder) {
            Ok(()) => {}
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(cause) => return Err(Error::io("create the folder", folder)(cause)),
        }
        Ok(Self { folder: folder.to_owned(), number: AtomicU64::new(0) })
    }

    /// Returns the copy of that name; `None` if it is missing or incomplete.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Bytes> {
        let mut file = opening::open(&self.folder.join(name)).ok()?;
        let found = file.metadata().ok()?;
        let len = usize::try_from(found.len()).ok().filter(|_| found.is_file())?;
        let mut bytes = vec![0; len];
        file.read_exact(&mut bytes).ok()?;
        let bytes = Bytes::from(bytes);
        let content = bytes.get(HEADER_LEN..)?;
        let is_whole = bytes.starts_with(MAGIC)
            && u64_at(&bytes, 8) == Some(content.len() as u64)
            && u64_at(&bytes, 16) == Some(xxh3_64(content));
        is_whole.then(|| bytes.slice(HEADER_LEN..))
    }

    /// Returns true if there is a copy of that name, complete or not.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.folder.join(name).is_file()
    }

    /// Stores a copy, given as consecutive parts.
    ///
    /// # Errors
    /// `Io`; then no file remains.
    pub fn put(&self, name: &str, parts: &[&[u8]]) -> Result<()> {
        let content = parts.concat();
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.folder.join(format!(".{name}.{}.{number}", process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&unfinished)
            .map_err(Error::io("create", &unfinished))?;
        let mut header = MAGIC.to_vec();
        header.extend((content.len() as u64).to_le_bytes());
        header.extend(xxh3_64(&content).to_le_bytes());
        let written = file
            .write_all(&header)
            .and_then(|()| file.write_all(&content))
            .and_then(|()| fs::rename(&unfinished, self.folder.join(name)));
        written.map_err(|cause| {
            // This process made it, because of `create_new`.
            let _ = fs::remove_file(&unfinished);
            Error::io("write", &unfinished)(cause)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_whole_or_not_there() {
        let root = tempfile::tempdir().unwrap();
        let cache = CacheFolder::open(&root.path().join("cache")).unwrap();
        assert!(cache.get("a").is_none());
        cache.put("a", &[b"some", b" bytes"]).unwrap();
        assert_eq!(cache.get("a").unwrap(), &b"some bytes"[..]);
        cache.put("a", &[b"others"]).unwrap();
        let again = CacheFolder::open(&root.path().join("cache")).unwrap();
        assert_eq!(again.get("a").unwrap(), &b"others"[..]);
        let path = root.path().join("cache/a");
        let sound = fs::read(&path).unwrap();
        for at in 0..sound.len() {
            let mut bad = sound.clone();
            bad[at] ^= 1;
            fs::write(&path, bad).unwrap();
            assert!(cache.get("a").is_none(), "byte {at}");
            fs::write(&path, &sound[..at]).unwrap();
            assert!(cache.get("a").is_none(), "cut at {at}");
        }
        assert_eq!(fs::read_dir(root.path().join("cache")).unwrap().count(), 1);
        assert!(CacheFolder::open(&root.path().join("x/y")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_no_copy() {
        let root = tempfile::tempdir().unwrap();
        let cache = CacheFolder::open(root.path()).unwrap();
        for (name, made) in [("pipe", "mkfifo"), ("folder", "mkdir")] {
            let status = process::Command::new(made).arg(root.path().join(name)).status().unwrap();
            assert!(status.success());
            assert!(cache.get(name).is_none() && !cache.has(name));
            // Opening it must not block either.
            let path = root.path().join(name);
            assert!(crate::map(&path).is_err() && crate::hash_file(&path).is_err());
        }
        std::os::unix::fs::symlink("/dev/zero", root.path().join("device")).unwrap();
        assert!(cache.get("device").is_none());
        cache.put("pipe", &[b"bytes"]).unwrap();
        assert_eq!(cache.get("pipe").unwrap(), &b"bytes"[..]);
    }
}
