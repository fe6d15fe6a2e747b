//! Each class equally often.
//!
//! A *turn* is as many consecutive positions as there are classes, and has each class once, in an
//! order of its own. Draw `k` of a class, counted over all epochs, is in the pass `k / len` over its
//! `len` samples, each of which has an order of its own. So every position is computed alone, and no
//! sample comes again before its class is through.
use super::{
    key::{Purpose, derive},
    permutation::shuffled,
};
use fdconvert_core::{Error, Result};
use std::{collections::BTreeMap, sync::Arc};
use xxhash_rust::xxh3::Xxh3;

/// The class that is none.
const NO_CLASS: i64 = -1;

/// The samples of each class: 4 bytes for each sample.
#[derive(Debug)]
pub struct Classes {
    /// Class after class, ascending; within a class by number.
    samples: Vec<u32>,
    /// The first sample of each class, and the end of the last one.
    starts: Vec<u32>,
    n_all: u64,
    fingerprint: u64,
}

impl Classes {
    /// Sorts samples by their classes, which may be any numbers; -1 is none. Takes another 4 bytes
    /// for each sample.
    ///
    /// # Errors
    /// The errors of the iterator; `Usage` for 2^32 samples and more, and if none has a class.
    pub fn new(labels: impl IntoIterator<Item = Result<i64>>) -> Result<Self> {
        let refuse = |what: &str| Err(Error::usage("sampling", what));
        // The classes by their numbers here, which are those of their first samples.
        let mut numbers = BTreeMap::<i64, u32>::new();
        let mut counts = Vec::<u32>::new();
        let mut of_samples = Vec::<u32>::new();
        // Neighbours are often of one class.
        let mut last = (NO_CLASS, u32::MAX);
        for label in labels {
            let label = label?;
            if label != last.0 {
                let next = counts.len() as u32;
                let number = if label == NO_CLASS {
                    u32::MAX
                } else {
                    *numbers.entry(label).or_insert(next)
                };
                if number == next {
                    counts.push(0);
                }
                last = (label, number);
            }
            if let Some(count) = counts.get_mut(last.1 as usize) {
                *count += 1;
            }
            if of_samples.len() >= u32::MAX as usize {
                return refuse("at most 2^32 - 1 samples are balanced");
            }
            of_samples.push(last.1);
        }
        if counts.is_empty() {
            return refuse("no sample has a class, so there is nothing to balance");
        }
        let mut hash = Xxh3::new();
        let mut starts = Vec::with_capacity(counts.len() + 1);
        let mut ends = vec![0; counts.len()];
        let mut end = 0;
        for (label, number) in &numbers {
            starts.push(end);
            if let Some(slot) = ends.get_mut(*number as usize) {
                *slot = end;
            }
            end += counts.get(*number as usize).copied().unwrap_or_default();
            hash.update(&label.to_le_bytes());
            hash.update(&end.to_le_bytes());
        }
        starts.push(end);
        let mut samples = vec![0; end as usize];
        for (class, sample) in of_samples.iter().zip(0..) {
            let Some(end) = ends.get_mut(*class as usize) else { continue };
            if let Some(slot) = samples.get_mut(*end as usize) {
                *slot = sample;
            }
            *end += 1;
        }
        samples.iter().for_each(|sample: &u32| hash.update(&sample.to_le_bytes()));
        let n_all = of_samples.len() as u64;
        hash.update(&n_all.to_le_bytes());
        Ok(Self { samples, starts, n_all, fingerprint: hash.digest() })
    }

    /// Returns the number of classes that have samples.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.starts.len().saturating_sub(1) as u64
    }

    /// Returns true if there is no class, which never happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of samples, with those of no class.
    pub(crate) fn n_all(&self) -> u64 {
        self.n_all
    }

    /// Returns a hash of the classes and their samples.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns the mean number of samples of a class, rounded up.
    pub(crate) fn mean(&self) -> u64 {
        (self.samples.len() as u64).div_ceil(self.len().max(1))
    }

    /// Returns the first of the sorted samples that is of a class, and their number.
    #[inline]
    fn range(&self, class: u64) -> (u64, u64) {
        let bound = |at: u64| self.starts.get(at as usize).copied().unwrap_or_default();
        let start = bound(class);
        (start.into(), bound(class + 1).saturating_sub(start).into())
    }

    /// Returns one of the sorted samples.
    #[inline]
    fn at(&self, index: u64) -> u64 {
        self.samples.get(index as usize).copied().unwrap_or_default().into()
    }
}

/// The balanced draws of one epoch.
#[derive(Debug, Clone)]
pub(crate) struct Balanced {
    pub(crate) classes: Arc<Classes>,
    pub(crate) per_class: u64,
    pub(crate) seed: u64,
    pub(crate) epoch: u64,
}

/// Draw of a class.
struct Draw {
    class: u64,
    /// The first of its samples, and their number.
    range: (u64, u64),
    /// Number of the pass over its samples, from the first epoch on.
    pass: u64,
    /// Number of the draw in the pass.
    index: u64,
}

impl Balanced {
    /// Returns the sample at a position.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> u64 {
        self.classes.at(self.index(position))
    }

    /// Replaces positions by their samples. Memory is asked for all of them before the first one is
    /// used: among many samples that takes a fraction of the time of waiting for each.
    pub(crate) fn at_all(&self, numbers: &mut [u64]) {
        numbers.iter_mut().for_each(|number| *number = self.index(*number));
        numbers.iter_mut().for_each(|number| *number = self.classes.at(*number));
    }

    /// Returns the place of the sample at a position among the sorted ones.
    #[inline]
    fn index(&self, position: u64) -> u64 {
        let Draw { class, range: (start, len), pass, index } = self.draw(position);
        let key = derive(self.seed, Purpose::Class, [class, pass]);
        start + shuffled(len, key, index)
    }

    /// Returns a number that differs between the occurrences of a sample in the epoch: that of the
    /// pass, counted from the epoch's first one.
    pub(crate) fn occurrence(&self, position: u64) -> u64 {
        let Draw { range: (_, len), pass, .. } = self.draw(position);
        let first = self.epoch.wrapping_mul(self.per_class) / len.max(1);
        pass.wrapping_sub(first)
    }

    #[inline]
    fn draw(&self, position: u64) -> Draw {
        let n_classes = self.classes.len().max(1);
        let (turn, at) = (position / n_classes, position % n_classes);
        let key = derive(self.seed, Purpose::Turn, [self.epoch, turn]);
        let class = shuffled(n_classes, key, at);
        let range = self.classes.range(class);
        let n_before = self.epoch.wrapping_mul(self.per_class).wrapping_add(turn);
        // Every class has samples.
        let len = range.1.max(1);
        Draw { class, range, pass: n_before / len, index: n_before % len }
    }
}

#[cfg(test)]
mod tests {
    use super::{Balanced, Classes};
    use std::sync::Arc;

    fn classes(labels: &[i64]) -> Arc<Classes> {
        Arc::new(Classes::new(labels.iter().map(|label| Ok(*label))).unwrap())
    }

    fn epoch(classes: &Arc<Classes>, per_class: u64, epoch: u64) -> Vec<u64> {
        let balanced = Balanced { classes: classes.clone(), per_class, seed: 7, epoch };
        (0..per_class * classes.len()).map(|position| balanced.at(position)).collect()
    }

    #[test]
    fn the_balanced_order_of_a_seed_never_changes() {
        let classes = classes(&[3, 3, 0, 3, -1, 3, 0, 9]);
        assert_eq!(epoch(&classes, 4, 1), PINNED);
    }

    const PINNED: [u64; 12] = [7, 5, 6, 0, 7, 2, 2, 7, 1, 7, 3, 6];

    #[test]
    fn samples_are_sorted_by_class() {
        let classes = classes(&[7, -5, 7, -1, 0, -5, 7]);
        let ranges: Vec<_> = (0..classes.len()).map(|class| classes.range(class)).collect();
        assert_eq!(ranges, [(0, 2), (2, 1), (3, 3)]);
        assert_eq!(classes.samples, [1, 5, 4, 0, 2, 6]);
        assert_eq!((classes.n_all(), classes.mean()), (7, 2));
        for nothing in [&[][..], &[-1, -1]] {
            let refused = Classes::new(nothing.iter().map(|label| Ok(*label))).unwrap_err();
            assert!(refused.to_string().contains("no sample has a class"), "{refused}");
        }
    }

    #[test]
    fn fingerprints_tell_classes_apart() {
        let base = classes(&[0, 1, 1]).fingerprint();
        assert_eq!(base, classes(&[0, 1, 1]).fingerprint());
        for other in [&[0, 1, 0][..], &[1, 0, 0], &[0, 2, 2], &[0, 1, 1, 1], &[0, 1, 1, -1]] {
            assert_ne!(base, classes(other).fingerprint());
        }
    }

    /// No sample of a class comes again before all of them came, from epoch to epoch.
    #[test]
    fn passes_of_a_class_continue_over_epochs() {
        let labels: Vec<i64> = (0..100).map(|sample| [0, 1, 1, 2, 2, 2, 2][sample % 7]).collect();
        let classes = classes(&labels);
        let per_class = 11;
        let all: Vec<u64> = (0..40).flat_map(|at| epoch(&classes, per_class, at)).collect();
        for class in 0..3 {
            let len = labels.iter().filter(|label| **label == class).count();
            let of: Vec<u64> =
                all.iter().copied().filter(|at| labels[*at as usize] == class).collect();
            assert_eq!(of.len() as u64, 40 * per_class);
            for pass in of.chunks_exact(len) {
                let mut pass = pass.to_vec();
                pass.sort_unstable();
                pass.dedup();
                assert_eq!(pass.len(), len);
            }
        }
    }

    /// In a million draws each class is at each place of a turn equally often, and so are the
    /// samples of a class that gives few of them to an epoch.
    #[test]
    fn classes_and_their_samples_are_drawn_evenly() {
        let labels: Vec<i64> = (0..2000).map(|at| if at < 1100 { 0 } else { 1 + at % 9 }).collect();
        let classes = classes(&labels);
        let (n_epochs, n_classes) = (10_000, classes.len());
        let mut places = vec![0.0; (n_classes * n_classes) as usize];
        let mut pairs = vec![0.0; 121];
        for at in 0..n_epochs {
            let mut firsts = Vec::new();
            for (place, sample) in (0..).zip(epoch(&classes, 10, at)) {
                let class = labels[sample as usize].unsigned_abs();
                places[(class * n_classes + place % n_classes) as usize] += 1.0;
                if class == 0 && firsts.len() < 2 {
                    firsts.push(sample / 100);
                }
            }
            pairs[(firsts[0] * 11 + firsts[1]) as usize] += 1.0;
        }
        let chi_square = |counts: &[f64], degrees: f64| {
            let expected = counts.iter().sum::<f64>() / counts.len() as f64;
            let sum: f64 = counts.iter().map(|it| (it - expected).powi(2) / expected).sum();
            let limit = 1.0 + 5.0 * (2.0 / degrees).sqrt();
            assert!(sum / degrees < limit, "{} of {limit}", sum / degrees);
        };
        chi_square(&places, 81.0);
        chi_square(&pairs, 120.0);
    }

    #[test]
    fn occurrences_differ_whenever_a_sample_comes_again() {
        let labels: Vec<i64> = (0..30).map(|sample| i64::from(sample < 4)).collect();
        let classes = classes(&labels);
        for at in [0, 1, 5, u64::MAX] {
            let balanced = Balanced { classes: classes.clone(), per_class: 15, seed: 7, epoch: at };
            let draw = |position| (balanced.at(position), balanced.occurrence(position));
            let draws: std::collections::BTreeSet<_> = (0..30).map(draw).collect();
            assert_eq!(draws.len(), 30);
            assert!(draws.iter().all(|(_, occurrence)| *occurrence < 6));
        }
    }
}
