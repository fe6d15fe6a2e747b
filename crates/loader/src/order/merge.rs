//! Merges many strata into one line: draw `j` of a stratum with `n` draws is at the fraction
//! `(2j + 1) / 2n` of the epoch, and all draws are sorted by it, ties by stratum.
//!
//! Before the fraction `t` a stratum has `n t` draws, up or down by a half. So the draws of all `F`
//! strata before `t` are `N t`, up or down by `F / 2`, and position `p` is found by starting at
//! `t = (p - F / 2) / N`, where at most `p` draws can have passed, and taking the at most `F`
//! missing ones one by one. That is `O(F log F)` for any position.
//!
//! This also bounds how evenly strata are spread. Among the first `p` samples, the number from a
//! stratum with the share `s` of the epoch differs from `s p` by at most `(1 + s (F - 2)) / 2`: by
//! a half with two strata, by less than one with three, and among many by less than one as long as
//! no stratum has more than the share `1 / (F - 2)`.
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The draws from a position on: number of the stratum and number of the draw in it.
#[derive(Debug, Clone)]
pub(crate) struct Merge {
    heads: BinaryHeap<Reverse<Head>>,
}

/// The next draw of one stratum.
#[derive(Debug, Clone, Copy)]
struct Head {
    index: u64,
    count: u64,
    stratum: u32,
}

impl Merge {
    /// Starts at a position below `total`, the sum of the counts and at most 2^63.
    pub(crate) fn at(counts: impl ExactSizeIterator<Item = u64>, total: u64, at: u64) -> Self {
        // Twice N t, with t from the module docs.
        let twice = (2 * u128::from(at)).saturating_sub(counts.len() as u128);
        let mut n_passed = 0;
        let mut heads = Vec::with_capacity(counts.len());
        for (count, stratum) in counts.zip(0..) {
            let index = n_before(twice, count, total);
            n_passed += index;
            if index < count {
                heads.push(Reverse(Head { index, count, stratum }));
            }
        }
        let mut merge = Self { heads: heads.into() };
        for _ in n_passed..at {
            merge.next();
        }
        merge
    }
}

impl Iterator for Merge {
    type Item = (u32, u64);

    #[inline]
    fn next(&mut self) -> Option<(u32, u64)> {
        let mut head = self.heads.peek_mut()?;
        let Head { index, count, stratum } = head.0;
        if index + 1 < count {
            head.0.index += 1;
        } else {
            PeekMut::pop(head);
        }
        Some((stratum, index))
    }
}

/// Returns the number of draws of a stratum before the fraction `twice / 2 total` of the epoch:
/// those with `2j + 1 < count * twice / total`. The product fits, because counts are at most 2^63.
fn n_before(twice: u128, count: u64, total: u64) -> u64 {
    let total = u128::from(total);
    let Some(above) = (u128::from(count) * twice).checked_sub(total) else { return 0 };
    // At most the count, because the fraction is below one.
    above.div_ceil(2 * total.max(1)) as u64
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        // Exact comparison of the fractions by cross-multiplication; 64 bits times 63.
        let ours = (2 * u128::from(self.index) + 1) * u128::from(other.count);
        let theirs = (2 * u128::from(other.index) + 1) * u128::from(self.count);
        ours.cmp(&theirs).then(self.stratum.cmp(&other.stratum))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

#[cfg(test)]
mod tests {
    use super::{Head, Merge};

    const CASES: [&[u64]; 9] = [
        &[1],
        &[5, 5],
        &[700, 300],
        &[0, 3, 0],
        &[333, 1, 1, 665],
        &[1281, 7, 512],
        &[1, 1, 1, 1, 1, 1, 1, 400],
        &[10; 20],
        &[97, 89, 83, 79, 73, 71, 67, 61, 59, 53],
    ];

    /// The slow, obvious way: all draws, sorted.
    fn sorted(counts: &[u64]) -> Vec<(u32, u64)> {
        let draws = counts.iter().zip(0..).flat_map(|(&count, stratum)| {
            (0..count).map(move |index| Head { index, count, stratum })
        });
        let mut draws: Vec<Head> = draws.collect();
        draws.sort();
        draws.into_iter().map(|head| (head.stratum, head.index)).collect()
    }

    #[test]
    fn the_line_is_sorted_from_wherever_it_is_entered() {
        for counts in CASES {
            let expected = sorted(counts);
            let total = expected.len() as u64;
            let from = |at| Merge::at(counts.iter().copied(), total, at);
            assert!(from(0).eq(expected.iter().copied()), "{counts:?}");
            for at in 0..total {
                let found: Vec<_> = from(at).take(3).collect();
                assert!(expected[at as usize..].starts_with(&found), "{counts:?} {at}");
            }
        }
    }

    #[test]
    fn strata_are_spread_evenly() {
        for counts in CASES {
            let n_strata = counts.iter().filter(|count| **count > 0).count() as f64;
            let total: u64 = counts.iter().sum();
            let mut taken = vec![0.0; counts.len()];
            for ((stratum, _), n_taken) in sorted(counts).into_iter().zip(1..) {
                taken[stratum as usize] += 1.0;
                for (taken, count) in taken.iter().zip(counts) {
                    let share = *count as f64 / total as f64;
                    let limit = (1.0 + share * (n_strata - 2.0)).max(0.0) / 2.0 + 1e-9;
                    let off = (taken - share * f64::from(n_taken)).abs();
                    assert!(off <= limit, "{counts:?}: {off} at {n_taken}");
                }
            }
        }
    }

    #[test]
    fn the_largest_counts_do_not_overflow() {
        let counts = [(1 << 63) - 2, 1, 1];
        let total = 1 << 63;
        for at in [0, 1 << 62, total - 3] {
            assert_eq!(Merge::at(counts.into_iter(), total, at).take(3).count(), 3);
        }
        let middle: Vec<_> = Merge::at(counts.into_iter(), total, (1 << 62) - 1).take(3).collect();
        assert_eq!(middle, [(1, 0), (2, 0), (0, (1 << 62) - 1)]);
    }
}
