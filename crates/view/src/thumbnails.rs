//! Recently made small images, within a budget of bytes.
use crate::answer::Answer;
use lru::LruCache;
use std::sync::{Mutex, PoisonError};

/// Enough for some thousand images, for scrolling back.
const BUDGET: usize = 64 << 20;

/// Identifies an image: whether of the second dataset, sample, field, and side.
pub(crate) type Key = (bool, u64, usize, u32);

/// The most recently requested images, and their total bytes.
#[derive(Debug)]
pub(crate) struct Thumbnails(Mutex<(LruCache<Key, Answer>, usize)>);

impl Default for Thumbnails {
    fn default() -> Self {
        Self(Mutex::new((LruCache::unbounded(), 0)))
    }
}

impl Thumbnails {
    pub(crate) fn get(&self, key: Key) -> Option<Answer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.get(&key).cloned()
    }

    pub(crate) fn put(&self, key: Key, answer: &Answer) {
        let (images, bytes) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *bytes += answer.body.len();
        if let Some(old) = images.put(key, answer.clone()) {
            *bytes -= old.body.len();
        }
        while *bytes > BUDGET
            && let Some((_, oldest)) = images.pop_lru()
        {
            *bytes -= oldest.body.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Content, Shown};

    #[test]
    fn the_oldest_go_when_the_budget_is_spent() {
        let thumbnails = Thumbnails::default();
        let image = || Answer::new(Content::Image(Shown::Jpeg), vec![0; BUDGET / 4]);
        let key = |sample| (false, sample, 0, 256);
        for sample in 0..4 {
            thumbnails.put(key(sample), &image());
            thumbnails.put(key(sample), &image());
        }
        assert!(thumbnails.get(key(0)).is_some());
        thumbnails.put(key(4), &image());
        assert!(thumbnails.get(key(1)).is_none());
        assert!([0, 2, 3, 4].iter().all(|sample| thumbnails.get(key(*sample)).is_some()));
    }
}
