//! Finds hashes of 64 bits that differ in a few bits, without comparing all with all.
//!
//! A hash has four bands of 16 bits. If two hashes differ in at most `d = 4 q + r` bits, either one
//! of the first `r + 1` bands differs in at most `q` bits, or one of the others in at most `q - 1`:
//! otherwise they would differ in `(r + 1) (q + 1) + (3 - r) q = d + 1` bits. So it is enough to
//! compare each hash with those that have one of a few values in a band (multi-index hashing).
use crate::Context;
use fdconvert_core::{Error, Result};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

const BANDS: u32 = 4;
const BITS: u32 = 16;
/// Number of values of a band.
const VALUES: u32 = 1 << BITS;
/// The largest distance: bands then differ in at most three bits.
pub(super) const MAX_DISTANCE: u32 = 15;
/// Limit on the pairs in memory, 512 MiB of them.
const MAX_PAIRS: usize = 1 << 26;

/// Two positions, the smaller one first.
pub(super) type Pair = (u32, u32);

/// Returns the positions of hashes that differ in at most `distance` bits, in order. All hashes
/// must be different.
///
/// # Errors
/// `Usage` for too many pairs; `Cancelled`.
pub(super) fn near(hashes: &[u64], distance: u32, context: Context<'_>) -> Result<Vec<Pair>> {
    let n_found = AtomicUsize::new(0);
    let mut pairs = Vec::new();
    for band in 0..BANDS {
        let Some(radius) = radius(band, distance) else { continue };
        let buckets = Buckets::of(hashes, band);
        let masks = masks(radius);
        let search = |value: u32| {
            if context.cancel.is_cancelled() || n_found.load(Ordering::Relaxed) > MAX_PAIRS {
                return Vec::new();
            }
            let found = buckets.near(value, &masks, (band, distance));
            n_found.fetch_add(found.len(), Ordering::Relaxed);
            found
        };
        let found: Vec<Vec<Pair>> = (0..VALUES).into_par_iter().map(search).collect();
        if context.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if n_found.load(Ordering::Relaxed) > MAX_PAIRS {
            let what = format!(
                "at {distance} bits more than {MAX_PAIRS} pairs of hashes are near; ask for fewer bits"
            );
            return Err(Error::usage("distance", what));
        }
        pairs.extend(found.into_iter().flatten());
    }
    pairs.par_sort_unstable();
    Ok(pairs)
}

/// Returns the number of bits in which a band may differ; `None` if other bands find all pairs.
fn radius(band: u32, distance: u32) -> Option<u32> {
    let (whole, rest) = (distance / BANDS, distance % BANDS);
    if band <= rest { Some(whole) } else { whole.checked_sub(1) }
}

fn band_of(hash: u64, band: u32) -> u32 {
    (hash >> (band * BITS)) as u32 & (VALUES - 1)
}

/// Returns the values with at most `radius` bits set.
fn masks(radius: u32) -> Vec<u32> {
    (0..VALUES).filter(|mask| mask.count_ones() <= radius).collect()
}

/// Hashes by the values of a band.
struct Buckets {
    /// Start of the hashes of each value, followed by the end of the last ones.
    starts: Vec<u32>,
    /// Hashes and their positions, value by value.
    hashes: Vec<u64>,
    positions: Vec<u32>,
}

impl Buckets {
    fn of(hashes: &[u64], band: u32) -> Self {
        let mut positions: Vec<u32> = (0..hashes.len() as u32).collect();
        let hash = |position: u32| hashes.get(position as usize).copied().unwrap_or(0);
        positions.par_sort_unstable_by_key(|position| (band_of(hash(*position), band), *position));
        let hashes: Vec<u64> = positions.iter().map(|position| hash(*position)).collect();
        let mut starts = vec![0_u32; VALUES as usize + 1];
        for hash in &hashes {
            if let Some(n) = starts.get_mut(band_of(*hash, band) as usize + 1) {
                *n += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        Self { starts, hashes, positions }
    }

    /// Returns the hashes with that value in the band, and their positions.
    fn bucket(&self, value: u32) -> (&[u64], &[u32]) {
        let at = value as usize;
        let range = match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(start), Some(end)) => *start as usize..*end as usize,
            _ => 0..0,
        };
        let hashes = self.hashes.get(range.clone()).unwrap_or_default();
        (hashes, self.positions.get(range).unwrap_or_default())
    }

    /// Returns pairs of one hash with this value and another one with this or a larger value,
    /// unless an earlier band finds them.
    fn near(&self, value: u32, masks: &[u32], (band, distance): (u32, u32)) -> Vec<Pair> {
        let mut found = Vec::new();
        let (hashes, positions) = self.bucket(value);
        if hashes.is_empty() {
            return found;
        }
        for mask in masks {
            let other = value ^ mask;
            if other < value {
                continue;
            }
            let (others, other_positions) = self.bucket(other);
            for (number, (hash, position)) in hashes.iter().zip(positions).enumerate() {
                // Within the same bucket, each pair once.
                let skipped = if *mask == 0 { number + 1 } else { 0 };
                let others = others.iter().zip(other_positions).skip(skipped);
                for (other, other_position) in others {
                    let differs = hash ^ other;
                    if differs.count_ones() <= distance && is_new(differs, band, distance) {
                        let (a, b) = (*position, *other_position);
                        found.push((a.min(b), a.max(b)));
                    }
                }
            }
        }
        found
    }
}

/// Returns true if no earlier band finds the pair.
fn is_new(differs: u64, band: u32, distance: u32) -> bool {
    (0..band).all(|earlier| {
        let n_bits = band_of(differs, earlier).count_ones();
        radius(earlier, distance).is_none_or(|radius| n_bits > radius)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use fdconvert_core::KeyedRandom;
    use fdconvert_pipeline::Cancel;

    /// Compares all with all, which the index avoids.
    fn slowly(hashes: &[u64], distance: u32) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for (a, hash) in hashes.iter().enumerate() {
            for (b, other) in hashes.iter().enumerate().skip(a + 1) {
                if (hash ^ other).count_ones() <= distance {
                    pairs.push((a as u32, b as u32));
                }
            }
        }
        pairs
    }

    #[test]
    fn the_index_finds_all_pairs_and_each_once() {
        let mut random = KeyedRandom::new(&[11]);
        let mut hashes: Vec<u64> = (0..400).map(|_| random.next_u64()).collect();
        for number in 0..1200 {
            // Up to 17 bits away from one of the first, some in one band alone.
            let mut hash = hashes[number % 400];
            for _ in 0..random.below(18) {
                let bit = if number % 3 == 0 { random.below(16) } else { random.below(64) };
                hash ^= 1 << bit;
            }
            hashes.push(hash);
        }
        hashes.sort_unstable();
        hashes.dedup();
        let cancel = Cancel::default();
        let context = Context { cancel: &cancel, progress: &() };
        for distance in 0..=MAX_DISTANCE {
            let found = near(&hashes, distance, context).unwrap();
            assert_eq!(found, slowly(&hashes, distance), "{distance} bits");
        }
        assert!(near(&hashes, 6, context).unwrap().len() > 100);
        assert_eq!(near(&[], 6, context).unwrap(), []);
        cancel.cancel();
        assert!(near(&hashes, 6, Context { cancel: &cancel, progress: &() }).is_err());
    }
}
