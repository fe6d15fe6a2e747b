//! Matches the samples of two datasets.
use crate::Cancel;
use fdconvert_core::{Error, Reader, Result};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

/// Number of samples between two checks of the cancel switch.
const CHUNK: u64 = 1 << 16;

/// Samples of both datasets, by number, and samples of one alone.
#[derive(Debug, Default)]
pub struct Matched {
    /// Samples of both, in the order of the first.
    pub both: Vec<[u64; 2]>,
    /// Samples of the first alone, in its order.
    pub only_a: Vec<u64>,
    /// Samples of the second alone, in its order.
    pub only_b: Vec<u64>,
}

/// Matches samples by key: equal keys at the same position directly, the others by a sorted list of
/// the hashes of their keys, 16 bytes each.
pub(super) fn matched(a: &dyn Reader, b: &dyn Reader, cancel: &Cancel) -> Result<Matched> {
    let len = a.len().max(b.len());
    let mut in_place = Vec::new();
    for start in (0..len).step_by(CHUNK as usize) {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let same = |index: u64| index < a.len() && index < b.len() && a.key(index) == b.key(index);
        let chunk: Vec<bool> = (start..len.min(start + CHUNK)).into_par_iter().map(same).collect();
        in_place.extend(chunk);
    }
    let rest = |reader: &dyn Reader| -> Vec<(u64, u64)> {
        let at = (0..reader.len()).zip(&in_place).filter(|(_, in_place)| !**in_place);
        let at: Vec<u64> = at.map(|(index, _)| index).collect();
        at.into_par_iter().map(|index| (xxh3_64(reader.key(index).as_bytes()), index)).collect()
    };
    let (rest_a, mut rest_b) = (rest(a), rest(b));
    rest_b.par_sort_unstable();
    let mut is_taken = vec![false; rest_b.len()];
    let mut found = Matched::default();
    for (hash, index) in rest_a {
        let first = rest_b.partition_point(|(other, _)| *other < hash);
        let candidates = rest_b.iter().enumerate().skip(first);
        // Different keys may have equal hashes, and keys may repeat.
        let partner = candidates
            .take_while(|(_, (other, _))| *other == hash)
            .find(|(at, (_, other))| {
                is_taken.get(*at) == Some(&false) && a.key(index) == b.key(*other)
            })
            .map(|(at, (_, other))| (at, *other));
        match partner {
            Some((at, other)) => {
                if let Some(is_taken) = is_taken.get_mut(at) {
                    *is_taken = true;
                }
                found.both.push([index, other]);
            }
            None => found.only_a.push(index),
        }
    }
    let left = rest_b.iter().zip(&is_taken).filter(|(_, is_taken)| !**is_taken);
    found.only_b = left.map(|((_, index), _)| *index).collect();
    found.only_b.sort_unstable();
    let here = (0..len).zip(&in_place).filter(|(_, in_place)| **in_place);
    found.both.extend(here.map(|(index, _)| [index, index]));
    found.both.sort_unstable();
    Ok(found)
}
