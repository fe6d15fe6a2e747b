//! Short-term memory of answers.
//!
//! When a dataset is opened, each format checks the same few objects. Remembering answers for a
//! moment makes this one request instead of five. If an object changes in that time, reading it
//! reveals that by its length or its entity tag.
use bytes::Bytes;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

const KEPT_FOR: Duration = Duration::from_secs(2);
/// Maximum number of answers.
const MAX_KEPT: usize = 4096;

/// The start of an object, or its absence.
#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) len: u64,
    pub(crate) e_tag: Option<String>,
    pub(crate) bytes: Bytes,
}

pub(crate) struct Memo<T>(Mutex<Option<BTreeMap<PathBuf, (Instant, T)>>>);

impl<T: Clone> Memo<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    pub(crate) fn get(&self, path: &Path) -> Option<T> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, answer) = kept.as_ref()?.get(path)?;
        (at.elapsed() < KEPT_FOR).then(|| answer.clone())
    }

    pub(crate) fn forget(&self, path: &Path) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &mut *kept {
            kept.remove(path);
        }
    }

    pub(crate) fn put(&self, path: &Path, answer: T) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.get_or_insert_default();
        // Expired answers only waste memory.
        kept.retain(|_, (at, _)| at.elapsed() < KEPT_FOR);
        if kept.len() < MAX_KEPT {
            kept.insert(path.to_owned(), (Instant::now(), answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_kept_for_a_moment() {
        let memo = Memo::new();
        let path = Path::new("s3://b/k");
        assert_eq!(memo.get(path), None);
        memo.put(path, 3);
        assert_eq!(memo.get(path), Some(3));
        memo.forget(path);
        assert_eq!(memo.get(path), None);
        memo.put(path, 3);
        std::thread::sleep(KEPT_FOR);
        assert_eq!(memo.get(path), None);
    }
}
