//! Strata, and the sample of each draw from one of them.
use super::key::{Purpose, derive};
use super::merge::Merge;
use super::permutation::Permutation;
use super::windowed::Windowed;

/// Similar samples, with a fixed number of draws per epoch.
///
/// With `count == len` each sample comes exactly once per epoch. With more draws, the samples come
/// in several passes, each in a new order and the last one incomplete: no sample comes more than
/// once more often than another. With fewer, each epoch gets a new random choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stratum {
    /// Number of samples; their ids are `0..len`.
    pub len: u64,
    /// Number of draws per epoch.
    pub count: u64,
}

impl Stratum {
    /// Creates a stratum with each sample once per epoch.
    #[must_use]
    pub fn whole(len: u64) -> Self {
        Self { len, count: len }
    }
}

/// Order of the samples of a stratum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// Any order, as likely as any other.
    Shuffled,
    /// Ids ascending. Fewer draws than samples are at even distances.
    Straight,
    /// Chunks in a random order, samples displaced by less than the window.
    Windowed { chunk: u64, window: u64 },
}

#[derive(Debug, Clone)]
pub(crate) struct Draws {
    stratum: Stratum,
    arrangement: Arrangement,
    key: u64,
    first: Pass,
    split: Option<Box<Split>>,
}

/// A stratum of two parts, resident and not, merged like strata: every stretch of the stratum's
/// draws has its share of residents, up or down by one.
#[derive(Debug, Clone)]
struct Split {
    /// Resident samples have ids below this.
    n_residents: u64,
    parts: [Draws; 2],
}

/// One pass over the samples of a stratum.
#[derive(Debug, Clone)]
enum Pass {
    Straight,
    Permuted(Permutation),
    Windowed(Windowed),
}

impl Draws {
    /// Creates the draws of stratum number `at`, which has samples if it has draws.
    pub(crate) fn new(
        stratum: Stratum,
        arrangement: Arrangement,
        seed: u64,
        epoch: u64,
        at: u32,
    ) -> Self {
        let key = derive(seed, Purpose::Stratum, [epoch, u64::from(at)]);
        Self::of_key(stratum, arrangement, key)
    }

    fn of_key(stratum: Stratum, arrangement: Arrangement, key: u64) -> Self {
        let first = Pass::new(stratum.len, arrangement, key, 0);
        Self { stratum, arrangement, key, first, split: None }
    }

    /// Splits the stratum in two parts, the first with `n_residents` samples, at most all of them.
    pub(crate) fn split(self, n_residents: u64) -> Self {
        let Stratum { len, count } = self.stratum;
        // Rounded to the nearest; both parts then have no more draws than their samples if the
        // stratum has no more, and else the same whole passes.
        let twice = 2 * u128::from(count) * u128::from(n_residents) + u128::from(len);
        // At most the count.
        let drawn = twice.checked_div(2 * u128::from(len)).unwrap_or_default() as u64;
        let part = |number, len, count| {
            let key = derive(self.key, Purpose::Resident, [number, 0]);
            Self::of_key(Stratum { len, count }, self.arrangement, key)
        };
        let parts = [
            part(0, n_residents, drawn),
            part(1, len.saturating_sub(n_residents), count.saturating_sub(drawn)),
        ];
        Self { split: Some(Box::new(Split { n_residents, parts })), ..self }
    }

    pub(crate) fn stratum(&self) -> Stratum {
        self.stratum
    }

    /// Returns the number of earlier draws of the sample of draw number `index`: each pass draws it
    /// once.
    pub(crate) fn pass(&self, index: u64) -> u64 {
        match &self.split {
            Some(split) => split.pass(self.stratum.count, index),
            None => index.checked_div(self.stratum.len).unwrap_or_default(),
        }
    }

    /// Returns the id of draw number `index`, which is below `count`.
    #[inline]
    pub(crate) fn id(&self, index: u64) -> u64 {
        let Stratum { len, count } = self.stratum;
        if let Some(split) = &self.split {
            return split.id(count, index);
        }
        if index < len {
            return match &self.first {
                Pass::Straight if count < len => at_even_distance(index, len, count),
                pass => pass.at(index),
            };
        }
        // There is a draw, hence a sample; the division is checked all the same.
        let pass = index.checked_div(len).unwrap_or_default();
        Pass::new(len, self.arrangement, self.key, pass).at(index - pass * len)
    }
}

impl Split {
    /// Returns the part of a draw of the stratum, and the number of the draw in the part; `None`
    /// beyond the last.
    fn draw(&self, count: u64, index: u64) -> Option<(u32, u64)> {
        let counts = self.parts.iter().map(|part| part.stratum.count);
        Merge::at(counts, count, index).next()
    }

    fn pass(&self, count: u64, index: u64) -> u64 {
        let Some((part, index)) = self.draw(count, index) else { return 0 };
        self.parts.get(part as usize).map_or(0, |part| part.pass(index))
    }

    fn id(&self, count: u64, index: u64) -> u64 {
        match (self.draw(count, index), &self.parts) {
            (Some((0, index)), [resident, _]) => resident.id(index),
            (Some((_, index)), [_, other]) => self.n_residents + other.id(index),
            // Only beyond the last draw.
            (None, _) => 0,
        }
    }
}

impl Pass {
    #[inline]
    fn new(len: u64, arrangement: Arrangement, key: u64, number: u64) -> Self {
        let key = derive(key, Purpose::Pass, [number, 0]);
        match arrangement {
            Arrangement::Straight => Self::Straight,
            Arrangement::Shuffled => Self::Permuted(Permutation::new(len, key)),
            Arrangement::Windowed { chunk, window } => {
                Self::Windowed(Windowed::new(len, chunk, window, key))
            }
        }
    }

    #[inline]
    fn at(&self, index: u64) -> u64 {
        match self {
            Self::Straight => index,
            Self::Permuted(permutation) => permutation.at(index),
            Self::Windowed(windowed) => windowed.at(index),
        }
    }
}

/// Returns sample `index` of `count` samples spread evenly among `len`: ascending and different,
/// because there are at least as many samples as draws.
fn at_even_distance(index: u64, len: u64, count: u64) -> u64 {
    let product = u128::from(index) * u128::from(len);
    // The quotient is below `len`, because the index is below the count.
    product.checked_div(u128::from(count)).unwrap_or_default() as u64
}

#[cfg(test)]
mod tests {
    use super::{Arrangement, Draws, Stratum};

    const ARRANGEMENTS: [Arrangement; 3] = [
        Arrangement::Shuffled,
        Arrangement::Straight,
        Arrangement::Windowed { chunk: 4, window: 9 },
    ];

    fn ids(stratum: Stratum, arrangement: Arrangement, epoch: u64) -> Vec<u64> {
        let draws = Draws::new(stratum, arrangement, 7, epoch, 0);
        (0..stratum.count).map(|index| draws.id(index)).collect()
    }

    #[test]
    fn draws_come_in_whole_passes() {
        for arrangement in ARRANGEMENTS {
            for (len, count) in [(1, 1), (10, 10), (10, 3), (10, 25), (17, 170), (1, 5)] {
                for pass in ids(Stratum { len, count }, arrangement, 2).chunks(len as usize) {
                    let mut pass = pass.to_vec();
                    pass.sort_unstable();
                    pass.dedup();
                    let whole = pass.len() as u64 == len;
                    assert!(whole || pass.len() as u64 == count % len, "{arrangement:?}");
                    assert!(pass.iter().all(|id| *id < len));
                }
            }
        }
    }

    #[test]
    fn passes_and_epochs_are_in_fresh_orders() {
        for arrangement in [ARRANGEMENTS[0], ARRANGEMENTS[2]] {
            let twice = ids(Stratum { len: 100, count: 200 }, arrangement, 0);
            assert_ne!(twice[..100], twice[100..]);
            let part = Stratum { len: 100, count: 40 };
            let chosen = |epoch| {
                let mut chosen = ids(part, arrangement, epoch);
                chosen.sort_unstable();
                chosen
            };
            assert_ne!(chosen(0), chosen(1), "{arrangement:?}");
        }
    }

    #[test]
    fn parts_share_every_stretch_and_keep_their_passes() {
        for (len, count) in [(1, 1), (10, 10), (300, 300), (300, 100), (7, 40), (20, 30)] {
            for n_residents in [0, 1, len / 3, len - 1, len] {
                let stratum = Stratum { len, count };
                let draws = Draws::new(stratum, Arrangement::Shuffled, 7, 2, 0).split(n_residents);
                let ids: Vec<u64> = (0..count).map(|index| draws.id(index)).collect();
                let mut times = vec![0; len as usize];
                ids.iter().for_each(|id| times[*id as usize] += 1);
                assert!(times.iter().max().unwrap() - times.iter().min().unwrap() <= 1);
                let share = ids.iter().filter(|id| **id < n_residents).count() as f64;
                assert!((share - count as f64 * n_residents as f64 / len as f64).abs() <= 0.5);
                let mut found = 0.0;
                for (id, n) in ids.iter().zip(1..) {
                    found += f64::from(u8::from(*id < n_residents));
                    assert!((found - share / count as f64 * f64::from(n)).abs() <= 0.5 + 1e-9);
                }
            }
        }
    }

    #[test]
    fn straight_ids_ascend() {
        assert_eq!(ids(Stratum { len: 10, count: 4 }, Arrangement::Straight, 5), [0, 2, 5, 7]);
        assert_eq!(ids(Stratum { len: 3, count: 5 }, Arrangement::Straight, 5), [0, 1, 2, 0, 1]);
        assert_eq!(ids(Stratum::whole(3), Arrangement::Straight, 5), [0, 1, 2]);
    }
}
