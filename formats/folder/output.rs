//! The folder that a run writes: files, links, and long files that grow with the samples, all below
//! a scratch folder; or, if the finished folder of the same run exists, compared with it.
use crate::folder::{
    layout::{join, key_of_path},
    there::There,
};
use bytes::Bytes;
use fdconvert_core::{Create, Error, Result, option};
use fdconvert_storage::{Scratch, ScratchDir, create_new, os::symlink, partial_path, read_file};
use std::{
    collections::{BTreeSet, HashSet},
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

/// Bytes of a long file per write, approximately.
const FLUSH_BYTES: usize = 1 << 20;

/// The files of one run.
pub(crate) struct Output {
    to: To,
    out: PathBuf,
    /// Hashes of the paths of all files written: 16 bytes each instead of about 50 for a path.
    written: HashSet<u128>,
    folders: BTreeSet<Vec<u8>>,
    bytes: u64,
}

/// Destination of the files.
enum To {
    New(ScratchDir),
    /// The finished folder of the same run exists: files are only compared.
    There(There),
}

impl Output {
    pub(crate) fn create(request: &Create<'_>) -> Result<Self> {
        if request.shard.of > 1 {
            return Err(Error::usage(option::SHARDS, "a folder is written in one piece"));
        }
        // Without a trailing slash or dots, so that the scratch folder is beside it.
        let out: PathBuf = request.out.components().collect();
        if out.file_name().is_none() {
            let what = format!("{} is not a name for a new folder", request.out.display());
            return Err(Error::usage("output", what));
        }
        let to = match if request.overwrite { None } else { There::look(&out) } {
            Some(there) => To::There(there),
            None => {
                check_free(&out, request.overwrite)?;
                To::New(ScratchDir::open(&out, request.stamp, request.overwrite)?)
            }
        };
        let (written, folders) = (HashSet::new(), BTreeSet::new());
        Ok(Self { to, out, written, folders, bytes: 0 })
    }

    /// Returns true if files are only compared with those of the finished folder.
    pub(crate) fn is_there(&self) -> bool {
        matches!(self.to, To::There(_))
    }

    /// Returns true if a file of this path was written.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.written.contains(&xxh3_128(path))
    }

    /// Writes a file; the error belongs to the sample if only the file's name causes it.
    pub(crate) fn file(&mut self, key: &str, path: &[u8], bytes: &Bytes) -> Result<()> {
        self.put(key, path, bytes.len() as u64, |to| match to {
            Ok(there) => there.check_file(path, bytes),
            Err((target, resumed)) => create(target, bytes, resumed),
        })
    }

    /// Makes a symbolic link to a file of the source.
    pub(crate) fn link(&mut self, key: &str, path: &[u8], to_file: &Path) -> Result<()> {
        self.put(key, path, 0, |to| match to {
            Ok(there) => there.check_link(path, to_file),
            Err((target, resumed)) => {
                if resumed && fs::symlink_metadata(target).is_ok() {
                    fs::remove_file(target).map_err(Error::io("remove", target))?;
                }
                symlink(to_file, target).map_err(Error::io("make the link", target))
            }
        })
    }

    /// Checks a file of the finished folder, or makes a new one at the path that is given with
    /// whether files of an interrupted run may exist.
    fn put(
        &mut self,
        key: &str,
        path: &[u8],
        n_bytes: u64,
        make: impl FnOnce(Result<&There, (&Path, bool)>) -> Result<()>,
    ) -> Result<()> {
        let made = match &self.to {
            To::There(there) => make(Ok(there)),
            To::New(folder) => {
                let (target, resumed) = (join(folder.path(), path), folder.resumed());
                let parent = self.make_parent(path);
                parent.and_then(|()| make(Err((&target, resumed))))
            }
        };
        made.map_err(|error| blame(key, path, error))?;
        self.written.insert(xxh3_128(path));
        self.bytes += n_bytes;
        Ok(())
    }

    fn make_parent(&mut self, path: &[u8]) -> Result<()> {
        let To::New(folder) = &self.to else { return Ok(()) };
        let parent = path.iter().rposition(|&byte| byte == b'/').and_then(|end| path.get(..end));
        if let Some(parent) = parent.filter(|parent| !self.folders.contains(*parent)) {
            let above = join(folder.path(), parent);
            fs::create_dir_all(&above).map_err(Error::io("create the folder", &above))?;
            self.folders.insert(parent.to_vec());
        }
        Ok(())
    }

    /// Removes files of a sample that counts as not written.
    pub(crate) fn take_back(&mut self, paths: &[Vec<u8>]) -> Result<()> {
        for path in paths.iter().filter(|path| self.written.remove(&xxh3_128(path))) {
            let To::New(folder) = &self.to else { continue };
            let target = join(folder.path(), path);
            fs::remove_file(&target).map_err(Error::io("remove", &target))?;
        }
        Ok(())
    }

    /// Begins a long file.
    pub(crate) fn long_file(&mut self, path: &str) -> Result<LongFile> {
        self.make_parent(path.as_bytes())?;
        let to = match &self.to {
            To::New(folder) => {
                let partial = partial_path(&folder.path().join(path));
                Ok(Scratch::start(&partial, folder.resumed())?)
            }
            To::There(_) => Err(Xxh3Default::new()),
        };
        Ok(LongFile { path: path.to_owned(), to, pending: Vec::new(), len: 0 })
    }

    /// Completes a long file.
    pub(crate) fn complete(&mut self, mut file: LongFile) -> Result<()> {
        file.flush()?;
        match (&self.to, file.to) {
            (To::New(folder), Ok(scratch)) => {
                scratch.commit(&folder.path().join(&file.path), true)?;
            }
            (To::There(there), Err(hash)) => {
                there.check_hash(file.path.as_bytes(), (file.len, hash.digest()))?;
            }
            _ => {}
        }
        self.written.insert(xxh3_128(file.path.as_bytes()));
        self.bytes += file.len;
        Ok(())
    }

    /// Syncs and renames the folder; returns its path and size.
    pub(crate) fn finish(self) -> Result<(PathBuf, u64)> {
        match &self.to {
            To::New(folder) if folder.resumed() => self.remove_stale(folder.path(), b"")?,
            To::New(_) => {}
            To::There(there) => {
                there.refuse_others(&|path| self.written.contains(&xxh3_128(path)))?;
            }
        }
        if let To::New(folder) = self.to {
            folder.commit(&self.out)?;
        }
        Ok((self.out, self.bytes))
    }

    /// Removes files that a killed run of the same plan wrote and this one did not, because it could
    /// not read their source.
    fn remove_stale(&self, folder: &Path, path: &[u8]) -> Result<()> {
        for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
            let entry = entry.map_err(Error::io("list", folder))?;
            let name = entry.file_name();
            let target = entry.path();
            let kind = entry.file_type().map_err(Error::io("access", &target))?;
            let is_root = path.is_empty();
            let path = if is_root {
                name.as_encoded_bytes().to_vec()
            } else {
                [path, b"/", name.as_encoded_bytes()].concat()
            };
            if kind.is_dir() {
                self.remove_stale(&target, &path)?;
                if !self.has_folder(path) {
                    fs::remove_dir(&target).map_err(Error::io("remove", &target))?;
                }
                continue;
            }
            let is_mark = is_root && name == OsStr::new(ScratchDir::MARK);
            if !is_mark && !self.has(&path) {
                fs::remove_file(&target).map_err(Error::io("remove", &target))?;
            }
        }
        Ok(())
    }

    /// Returns true if a file was written into this folder or one below it.
    fn has_folder(&self, mut path: Vec<u8>) -> bool {
        if self.folders.contains(&path) {
            return true;
        }
        path.push(b'/');
        let next = self.folders.range(path.clone()..).next();
        next.is_some_and(|folder| folder.starts_with(&path))
    }
}

/// A file that grows with the samples, on its way to the disk.
pub(crate) struct LongFile {
    path: String,
    /// The hash of its bytes if the folder is only compared.
    to: Result<Scratch, Xxh3Default>,
    pending: Vec<u8>,
    len: u64,
}

impl LongFile {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        match &mut self.to {
            Ok(scratch) => scratch.write_all_at(&self.pending, self.len)?,
            Err(hash) => hash.update(&self.pending),
        }
        self.len += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Removes the file: it would become part of the dataset.
    pub(crate) fn discard(self) -> Result<()> {
        let Ok(scratch) = self.to else { return Ok(()) };
        let path = scratch.path();
        fs::remove_file(path).map_err(Error::io("remove", path))
    }
}

/// Creates a file, unless an interrupted run has left the same one.
fn create(target: &Path, bytes: &Bytes, resumed: bool) -> Result<()> {
    if resumed && target.is_file() {
        if read_file(target, bytes.len() as u64).is_ok_and(|found| found == bytes) {
            return Ok(());
        }
        fs::remove_file(target).map_err(Error::io("remove", target))?;
    }
    create_new(target, bytes)
}

/// Makes an error of the sample of one that only the name of its file causes.
fn blame(key: &str, path: &[u8], error: Error) -> Error {
    match &error {
        Error::Io { source, .. } => match source.kind() {
            io::ErrorKind::AlreadyExists
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory => {
                let what = format!("`{}` is in the way of another name", key_of_path(path));
                Error::sample(key, what)
            }
            io::ErrorKind::InvalidFilename => Error::sample(key, source.to_string()),
            _ => error,
        },
        _ => error,
    }
}

/// Replaces nothing that this run did not make, except an empty folder.
fn check_free(out: &Path, overwrite: bool) -> Result<()> {
    let refused = |why: &str| Error::usage("output", format!("{} {why}", out.display()));
    let refuse = |why: &str| Err(refused(why));
    match fs::symlink_metadata(out) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(Error::io("access", out)(cause)),
        Ok(metadata) if !metadata.is_dir() => refuse("exists and is not a folder; move it away"),
        Ok(_) => {
            let mut entries = fs::read_dir(out).map_err(Error::io("list", out))?;
            match entries.next() {
                Some(_) if overwrite => refuse(
                    "has files in it, and `overwrite` does not delete folders: move it away or \
                     name another",
                ),
                Some(_) => refuse("exists; name another folder or move it away"),
                None if overwrite => Ok(()),
                None => {
                    Err(refused("exists")
                        .cure("to replace it, as it is empty", option::OVERWRITE.on()))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_folder_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        check_free(&out, false).unwrap();
        fs::create_dir(&out).unwrap();
        assert!(check_free(&out, false).is_err());
        check_free(&out, true).unwrap();
        fs::write(out.join("precious"), b"x").unwrap();
        assert!(check_free(&out, true).is_err());
        assert!(check_free(&out.join("precious"), true).is_err());
    }
}
