//! The keys of the samples to keep, in the form of packing's option `keys`.
use super::{Datasets, Group};
use fdconvert_core::{Error, Result, Shown, option};
use std::collections::BTreeSet;
use xxhash_rust::xxh3::xxh3_64;

/// Refuses datasets with ambiguous keys before any work.
pub(super) fn check(set: &Datasets<'_>) -> Result<()> {
    let n_samples = set.len() as u32;
    let mut hashed: Vec<(u64, u32)> = Vec::with_capacity(n_samples as usize);
    for id in 0..n_samples {
        let key = set.key(id);
        if key.is_empty() || key.contains(['\n', '\r']) {
            let what = format!("the key `{}` cannot stand on a line of a list", Shown(&key));
            return Err(Error::usage(option::KEYS, what));
        }
        hashed.push((xxh3_64(key.as_bytes()), id));
    }
    hashed.sort_unstable();
    for same in hashed.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
        let mut keys = BTreeSet::new();
        for (_, id) in same {
            let key = set.key(*id);
            if keys.contains(&key) {
                let what = format!(
                    "two samples are called `{}`, and a list of keys cannot keep one of them alone",
                    Shown(&key)
                );
                return Err(Error::usage(option::KEYS, what));
            }
            keys.insert(key);
        }
    }
    Ok(())
}

/// Returns a line for each sample except the later ones of the groups, and the number of lines.
pub(super) fn list(set: &Datasets<'_>, groups: &[Group]) -> (String, u64) {
    let later = groups.iter().flat_map(|group| group.samples.iter().skip(1));
    let later: BTreeSet<(usize, u64)> = later.map(|it| (it.dataset, it.index)).collect();
    let (mut text, mut n_keys) = (String::new(), 0);
    for id in 0..set.len() as u32 {
        if !later.contains(&set.place(id)) {
            text.push_str(&set.key(id));
            text.push('\n');
            n_keys += 1;
        }
    }
    (text, n_keys)
}
