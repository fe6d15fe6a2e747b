//! The order of one epoch.
use super::key::{Purpose, derive};
use super::merge::Merge;
use super::strata::{Draws, Shuffle, Stratum};
use fdconvert_core::{Error, Result};

/// Limit on the samples of an epoch, and of a stratum. Twice as many would overflow sums.
const MAX_SAMPLES: u64 = 1 << 63;

/// The sample at each position of an epoch.
///
/// It takes memory only for the strata, and finds any position without those before it.
///
/// ```
/// use fdconvert_loader::{Shuffle, parts::{Order, Stratum}};
///
/// # fn main() -> fdconvert_core::Result<()> {
/// let strata = vec![Stratum::whole(700), Stratum::whole(300)];
/// let order = Order::new(strata, Shuffle::Global, 7, 0)?;
/// assert_eq!(order.len(), 1000);
/// let resumed: Vec<_> = order.iter_from(990).collect();
/// assert_eq!(resumed.len(), 10);
/// assert_eq!(Some(resumed[0]), order.at(990));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Order {
    draws: Vec<Draws>,
    /// Position of the first sample of each stratum, if strata follow one another.
    starts: Vec<u64>,
    n_samples: u64,
    shuffle: Shuffle,
    seed: u64,
    epoch: u64,
}

/// Sample, by its stratum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Number of the stratum, in the given order.
    pub stratum: u32,
    /// Number of the sample within the stratum.
    pub id: u64,
}

impl Order {
    /// Creates the order of an epoch.
    ///
    /// # Errors
    /// If a stratum has draws but no samples, if the strata are too large to count, or if a chunk
    /// or window is empty.
    pub fn new(strata: Vec<Stratum>, shuffle: Shuffle, seed: u64, epoch: u64) -> Result<Self> {
        if let Shuffle::Windowed { chunk, window } = shuffle {
            for (option, n) in [("chunk", chunk), ("window", window)] {
                if n == 0 {
                    return Err(Error::usage(option, "it must hold at least one sample"));
                }
            }
        }
        let wrong = |what: String| Err(Error::usage("strata", what));
        if u32::try_from(strata.len()).is_err() {
            return wrong(format!("{} of them; at most 2^32 - 1 are counted", strata.len()));
        }
        let mut starts = Vec::with_capacity(strata.len());
        let mut n_samples = 0_u64;
        for (at, Stratum { len, count }) in strata.iter().enumerate() {
            if *len == 0 && *count > 0 {
                return wrong(format!("{count} draws from stratum {at}, which has no samples"));
            }
            let sum = n_samples.checked_add(*count);
            let sum = sum.filter(|sum| *sum <= MAX_SAMPLES && *len <= MAX_SAMPLES);
            let Some(sum) = sum else {
                return wrong(format!("more than 2^63 samples with stratum {at}"));
            };
            starts.push(n_samples);
            n_samples = sum;
        }
        let draws = |(stratum, at)| Draws::new(stratum, shuffle, seed, epoch, at);
        let draws = strata.into_iter().zip(0..).map(draws).collect();
        Ok(Self { draws, starts, n_samples, shuffle, seed, epoch })
    }

    /// Spreads a part of each stratum over its draws as evenly as the strata over the epoch: the
    /// samples with ids below the number given for the stratum, such as those kept in memory. The
    /// strata at the positions do not change.
    ///
    /// # Errors
    /// If there is not one number per stratum, if one is larger than its stratum, or if the shuffle
    /// is not global.
    pub fn with_residents(self, n_residents: &[u64]) -> Result<Self> {
        let wrong = |what: String| Err(Error::usage("residents", what));
        if self.shuffle != Shuffle::Global {
            return wrong("only a global shuffle can spread them evenly".into());
        }
        if n_residents.len() != self.draws.len() {
            return wrong(format!("{} of {} strata", n_residents.len(), self.draws.len()));
        }
        let too_many = |(draws, n): &(&Draws, &u64)| draws.stratum().len < **n;
        if let Some((draws, n)) = self.draws.iter().zip(n_residents).find(too_many) {
            return wrong(format!("{n} of a stratum of {}", draws.stratum().len));
        }
        let draws = self.draws.into_iter().zip(n_residents).map(|(draws, n)| draws.split(*n));
        Ok(Self { draws: draws.collect(), ..self })
    }

    /// Returns the order of another epoch of the same samples.
    #[must_use]
    pub fn with_epoch(&self, epoch: u64) -> Self {
        let again = |(draws, at): (&Draws, u32)| {
            let new = Draws::new(draws.stratum(), self.shuffle, self.seed, epoch, at);
            match draws.n_residents() {
                Some(n_residents) => new.split(n_residents),
                None => new,
            }
        };
        let draws = self.draws.iter().zip(0..).map(again).collect();
        Self { draws, epoch, starts: self.starts.clone(), ..*self }
    }

    /// Returns the number of samples in the epoch.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.n_samples
    }

    /// Returns true if the epoch has no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n_samples == 0
    }

    /// Returns the seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the shuffle.
    #[must_use]
    pub fn shuffle(&self) -> Shuffle {
        self.shuffle
    }

    /// Returns the sample at a position; `None` from the end of the epoch on.
    #[inline]
    #[must_use]
    pub fn at(&self, position: u64) -> Option<Place> {
        let (stratum, index) = self.draw(position)?;
        self.place(stratum, index)
    }

    /// Returns true if any sample repeats in the epoch.
    pub(crate) fn repeats(&self) -> bool {
        let strata = self.draws.iter().map(Draws::stratum);
        strata.into_iter().any(|Stratum { len, count }| count > len)
    }

    /// Returns the number of earlier occurrences in the epoch of the sample at a position.
    pub(crate) fn occurrence(&self, position: u64) -> u64 {
        let Some((stratum, index)) = self.draw(position) else { return 0 };
        self.draws.get(stratum as usize).map_or(0, |draws| draws.pass(index))
    }

    /// Returns the stratum at a position, and the number of the draw from it.
    #[inline]
    pub(crate) fn draw(&self, position: u64) -> Option<(u32, u64)> {
        if position >= self.n_samples {
            return None;
        }
        if self.draws.len() == 1 {
            return Some((0, position));
        }
        match self.shuffle {
            Shuffle::None => self.concatenated(position),
            Shuffle::Global | Shuffle::Windowed { .. } => self.merged(position).next(),
        }
    }

    /// Yields the samples from a position on, faster than a lookup of each.
    pub fn iter_from(&self, position: u64) -> Places<'_> {
        let merges = self.shuffle != Shuffle::None && position < self.n_samples;
        let merge = merges.then(|| self.merged(position));
        Places { order: self, position: position.min(self.n_samples), merge }
    }

    /// Returns a hash of everything that decides the samples at the positions of any epoch, for a
    /// dataset with this hash: two orders with the same fingerprint and seed are the same.
    #[must_use]
    pub fn fingerprint(&self, dataset: u64) -> u64 {
        let shuffle = match self.shuffle {
            Shuffle::Global => [0, 0, 0],
            Shuffle::None => [1, 0, 0],
            Shuffle::Windowed { chunk, window } => [2, chunk, window],
        };
        let [kind, chunk, window] = shuffle;
        let parts = [[kind, self.draws.len() as u64], [chunk, window]].into_iter();
        let strata = self.draws.iter().map(|draws| [draws.stratum().len, draws.stratum().count]);
        // Empty for orders without residents, so that their states do not change.
        let residents = self.draws.iter().filter_map(Draws::n_residents).map(|n| [n, 1]);
        parts
            .chain(strata)
            .chain(residents)
            .fold(dataset, |hash, pair| derive(hash, Purpose::Fingerprint, pair))
    }

    fn merged(&self, position: u64) -> Merge {
        let counts = self.draws.iter().map(|draws| draws.stratum().count);
        Merge::at(counts, self.n_samples, position)
    }

    fn concatenated(&self, position: u64) -> Option<(u32, u64)> {
        // The last stratum that starts at or before the position: empty ones come before it.
        let stratum = self.starts.partition_point(|start| *start <= position).checked_sub(1)?;
        let start = self.starts.get(stratum)?;
        Some((u32::try_from(stratum).ok()?, position - start))
    }

    #[inline]
    fn place(&self, stratum: u32, index: u64) -> Option<Place> {
        let draws = self.draws.get(stratum as usize)?;
        Some(Place { stratum, id: draws.id(index) })
    }
}

/// Samples of an epoch from a position on, see [`Order::iter_from`].
#[derive(Debug, Clone)]
pub struct Places<'a> {
    order: &'a Order,
    position: u64,
    merge: Option<Merge>,
}

impl Iterator for Places<'_> {
    type Item = Place;

    #[inline]
    fn next(&mut self) -> Option<Place> {
        let place = match &mut self.merge {
            Some(merge) => merge.next().and_then(|(stratum, at)| self.order.place(stratum, at)),
            None => self.order.at(self.position),
        }?;
        self.position += 1;
        Some(place)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.order.n_samples - self.position);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Place, Shuffle, Stratum};

    #[test]
    fn the_order_of_a_seed_never_changes() {
        let strata = vec![Stratum::whole(5), Stratum { len: 3, count: 5 }];
        let orders = [Shuffle::Global, Shuffle::Windowed { chunk: 2, window: 4 }];
        let found = orders.map(|shuffle| {
            let order = Order::new(strata.clone(), shuffle, 7, 1).unwrap();
            order.iter_from(0).map(|place| (place.stratum, place.id)).collect::<Vec<_>>()
        });
        assert_eq!(found, PINNED);
    }

    const PINNED: [[(u32, u64); 10]; 2] = [
        [(0, 2), (1, 0), (0, 3), (1, 2), (0, 4), (1, 1), (0, 1), (1, 0), (0, 0), (1, 1)],
        [(0, 0), (1, 2), (0, 2), (1, 0), (0, 1), (1, 1), (0, 3), (1, 1), (0, 4), (1, 2)],
    ];

    #[test]
    fn the_order_with_residents_never_changes() {
        let strata = vec![Stratum::whole(6), Stratum::whole(4)];
        let order = Order::new(strata.clone(), Shuffle::Global, 7, 1).unwrap();
        let split = order.clone().with_residents(&[2, 1]).unwrap();
        let places = |order: &Order| {
            order.iter_from(0).map(|place| (place.stratum, place.id)).collect::<Vec<_>>()
        };
        assert_eq!(places(&split), PINNED_SPLIT);
        assert_eq!(places(&split.with_epoch(3).with_epoch(1)), PINNED_SPLIT);
        let of = |order: &Order| order.iter_from(0).map(|it| it.stratum).collect::<Vec<_>>();
        assert_eq!(of(&split), of(&order));
        assert_ne!(split.fingerprint(1), order.fingerprint(1));
        let other = order.clone().with_residents(&[2, 2]).unwrap();
        assert_ne!(split.fingerprint(1), other.fingerprint(1));
        assert!(order.clone().with_residents(&[2]).is_err());
        assert!(order.with_residents(&[2, 5]).is_err());
        let straight = Order::new(strata, Shuffle::None, 7, 1).unwrap();
        assert!(straight.with_residents(&[2, 1]).is_err());
    }

    const PINNED_SPLIT: [(u32, u64); 10] =
        [(0, 4), (1, 3), (0, 1), (1, 0), (0, 3), (0, 2), (1, 1), (0, 0), (1, 2), (0, 5)];

    #[test]
    fn without_a_shuffle_strata_follow_one_another() {
        let strata = [0, 2, 0, 1, 0].map(Stratum::whole);
        let order = Order::new(strata.to_vec(), Shuffle::None, 7, 1).unwrap();
        let expected = [(1, 0), (1, 1), (3, 0)].map(|(stratum, id)| Place { stratum, id });
        assert!(order.iter_from(0).eq(expected));
    }

    #[test]
    fn impossible_orders_are_refused() {
        let order = |strata: &[(u64, u64)], shuffle| {
            let strata = strata.iter().map(|&(len, count)| Stratum { len, count }).collect();
            Order::new(strata, shuffle, 0, 0)
        };
        assert!(order(&[(0, 1)], Shuffle::Global).is_err());
        assert!(order(&[(1, 1 << 63), (1, 1)], Shuffle::Global).is_err());
        assert!(order(&[((1 << 63) + 1, 1)], Shuffle::Global).is_err());
        assert!(order(&[(1, 1)], Shuffle::Windowed { chunk: 0, window: 1 }).is_err());
        assert!(order(&[(1, 1)], Shuffle::Windowed { chunk: 1, window: 0 }).is_err());
        for empty in [order(&[], Shuffle::Global), order(&[(0, 0)], Shuffle::None)] {
            let empty = empty.unwrap();
            assert!(empty.is_empty() && empty.at(0).is_none() && empty.iter_from(0).count() == 0);
        }
    }

    #[test]
    fn fingerprints_differ_with_all_that_matters() {
        let strata = || vec![Stratum::whole(5), Stratum::whole(4)];
        let swapped = vec![Stratum::whole(4), Stratum::whole(5)];
        let windowed = Shuffle::Windowed { chunk: 2, window: 4 };
        let order = |strata, shuffle| Order::new(strata, shuffle, 1, 2).unwrap();
        let base = order(strata(), Shuffle::Global);
        let others = [
            base.fingerprint(2),
            order(swapped, Shuffle::Global).fingerprint(1),
            order(strata(), windowed).fingerprint(1),
            order(strata(), Shuffle::None).fingerprint(1),
        ];
        assert!(others.iter().all(|other| *other != base.fingerprint(1)));
        assert_eq!(base.fingerprint(1), base.with_epoch(9).fingerprint(1));
    }
}
