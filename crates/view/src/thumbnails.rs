//! Small images that were made lately, within a budget of bytes.
use crate::answer::Answer;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Some thousand of them: what one scrolls back to.
const BUDGET: usize = 64 << 20;

/// Which image: of the second dataset, sample, field, and side.
pub(crate) type Key = (bool, u64, usize, u32);

/// The images by what they are of, and by when they were asked for.
#[derive(Debug, Default)]
pub(crate) struct Thumbnails(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    images: BTreeMap<Key, (Answer, u64)>,
    /// By the time of the last request, the oldest first.
    by_time: BTreeMap<u64, Key>,
    time: u64,
    bytes: usize,
}

impl Thumbnails {
    pub(crate) fn get(&self, key: Key) -> Option<Answer> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.time += 1;
        let now = kept.time;
        let (answer, time) = kept.images.get_mut(&key)?;
        let (answer, before) = (answer.clone(), std::mem::replace(time, now));
        kept.by_time.remove(&before);
        kept.by_time.insert(now, key);
        Some(answer)
    }

    pub(crate) fn put(&self, key: Key, answer: &Answer) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.time += 1;
        let now = kept.time;
        kept.bytes += answer.body.len();
        if let Some((old, before)) = kept.images.insert(key, (answer.clone(), now)) {
            kept.bytes -= old.body.len();
            kept.by_time.remove(&before);
        }
        kept.by_time.insert(now, key);
        while kept.bytes > BUDGET {
            let Some((_, oldest)) = kept.by_time.pop_first() else { return };
            if let Some((old, _)) = kept.images.remove(&oldest) {
                kept.bytes -= old.body.len();
            }
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
