//! Files that are open for direct reads: a bounded number, each opened once.
use fdconvert_core::Result;
use fdconvert_storage::DirectFile;
use lru::LruCache;
use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Small enough for the limits of most systems. More files are open only while more threads read
/// from different ones.
const MAX_OPEN: usize = 64;

/// The most recently used files.
#[derive(Default)]
pub(super) struct Files {
    slots: Mutex<Slots>,
}

struct Slots {
    by_path: LruCache<Arc<Path>, Arc<Opening>>,
    cached_because: Option<String>,
}

/// A file that the first thread opens, while other threads that need it wait and all others go on.
#[derive(Default)]
struct Opening(Mutex<Option<Arc<DirectFile>>>);

impl Files {
    /// Returns the file at a path, and opens it if needed.
    ///
    /// # Errors
    /// The errors of [`DirectFile::open`]; the next call tries again.
    pub(super) fn get(&self, path: &Arc<Path>) -> Result<Arc<DirectFile>> {
        let opening = self.lock().opening(path);
        let mut opened = opening.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &*opened {
            return Ok(file.clone());
        }
        let file = Arc::new(DirectFile::open(path)?);
        if let Some(why) = file.cached_because() {
            let said = || format!("{}: {why}", path.display());
            self.lock().cached_because.get_or_insert_with(said);
        }
        *opened = Some(file.clone());
        Ok(file)
    }

    /// Returns the reason why direct reads come from the page cache or from memory, for the first
    /// such file.
    pub(super) fn cached_because(&self) -> Option<String> {
        self.lock().cached_because.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Slots {
    fn default() -> Self {
        Self { by_path: LruCache::unbounded(), cached_because: None }
    }
}

impl Slots {
    fn opening(&mut self, path: &Arc<Path>) -> Arc<Opening> {
        let file = self.by_path.get_or_insert(path.clone(), Arc::default).clone();
        if self.by_path.len() > MAX_OPEN {
            self.by_path.pop_lru();
        }
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_files_are_open_than_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<Arc<Path>> =
            (0..3 * MAX_OPEN).map(|number| folder.path().join(number.to_string()).into()).collect();
        for path in &paths {
            std::fs::write(path, b"abc").unwrap();
        }
        let files = Files::default();
        let first = files.get(&paths[0]).unwrap();
        for path in &paths {
            assert_eq!(files.get(path).unwrap().read(1, 1).unwrap(), &b"b"[..]);
            assert!(Arc::ptr_eq(&files.get(&paths[0]).unwrap(), &first), "the newest are kept");
        }
        assert_eq!(files.lock().by_path.len(), MAX_OPEN);
        std::fs::remove_file(&paths[1]).unwrap();
        assert!(files.get(&paths[1]).is_err());
        std::fs::write(&paths[1], b"abc").unwrap();
        assert!(files.get(&paths[1]).is_ok());
    }
}
