//! What was just asked for.
//!
//! To open a dataset each format looks at the same few objects to see whether it is one of its own.
//! Answers are remembered for a moment, so that this is one request and not five. An object that
//! is written to in that moment is noticed when it is read: by its length or its entity tag.
use bytes::Bytes;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

const KEPT_FOR: Duration = Duration::from_secs(2);
/// Answers.
const MAX_KEPT: usize = 4096;

/// The start of an object, or that there is none.
#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) len: u64,
    pub(crate) e_tag: Option<String>,
    pub(crate) bytes: Bytes,
}

/// Answers by URL.
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
        // Those that are too old hold memory for nothing.
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
