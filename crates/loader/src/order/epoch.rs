//! The order of one epoch.
use super::{
    balanced::{Balanced, Classes},
    bucketed::{BucketNumbers, Bucketed, Runs},
    key::{Purpose, derive},
    line::Line,
    list::Listed,
    merge::Merge,
    sampler::Sampler,
    sampling::Sampling,
    strata::Stratum,
    weighted::Weighted,
};
use fdconvert_core::{Error, Result};
use std::sync::Arc;

/// Positions that are looked up together.
const AHEAD: u64 = 32;

/// The sample at each position of an epoch.
///
/// It finds any position without those before it, and takes memory only for the strata, and for what
/// the [`Sampling`] needs.
///
/// ```
/// use fdconvert_loader::{Sampling, parts::{Order, Stratum}};
///
/// # fn main() -> fdconvert_core::Result<()> {
/// let strata = vec![Stratum::whole(700), Stratum::whole(300)];
/// let order = Order::new(strata, &Sampling::Shuffle, 7, 0)?;
/// assert_eq!(order.len(), 1000);
/// let resumed: Vec<_> = order.iter_from(990).collect();
/// assert_eq!(resumed.len(), 10);
/// assert_eq!(Some(resumed[0]), order.at(990));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Order {
    sampler: Sampler,
    drawn: Drawn,
    buckets: Option<(Arc<BucketNumbers>, Arc<Bucketed>)>,
    n_samples: u64,
    epoch: u64,
}

/// The samples of an epoch.
#[derive(Debug, Clone)]
pub(crate) enum Drawn {
    /// Those of a line, each `each` times in a row.
    Line {
        line: Line,
        each: u64,
    },
    Balanced(Balanced),
    Weighted(Weighted),
    Listed(Arc<Listed>),
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
    /// If a stratum has draws but no samples, if the strata are too large to count, if the sampling
    /// does not fit them, or if it is [`Sampling::Balanced`], for which [`balanced`](Self::balanced)
    /// takes the classes.
    pub fn new(strata: Vec<Stratum>, sampling: &Sampling, seed: u64, epoch: u64) -> Result<Self> {
        let unknown = |_: &str| {
            Err(Error::usage("sampling", "the classes of the samples that it balances are missing"))
        };
        Sampler::new(strata, sampling, unknown, seed)?.order(epoch)
    }

    /// Creates the order of an epoch that has `per_class` samples of each class; `None` for the mean
    /// number of samples of a class, rounded up.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the classes are not those of as many samples.
    pub fn balanced(
        strata: Vec<Stratum>,
        classes: Classes,
        per_class: Option<u64>,
        seed: u64,
        epoch: u64,
    ) -> Result<Self> {
        let sampling = Sampling::Balanced { label: String::new(), per_class };
        Sampler::new(strata, &sampling, |_| Ok(classes), seed)?.order(epoch)
    }

    pub(crate) fn of(sampler: Sampler, drawn: Drawn, n_samples: u64, epoch: u64) -> Self {
        Self { sampler, drawn, buckets: None, n_samples, epoch }
    }

    /// Puts the samples into runs of one bucket each, of `len` samples as far as they go, so that no
    /// step of at most as many samples has two.
    ///
    /// # Errors
    /// `Usage` for buckets of other samples, and for 2^32 draws or more.
    pub fn in_buckets(self, buckets: Arc<BucketNumbers>, len: u64) -> Result<Self> {
        if buckets.n_samples() != self.sampler.n_all() {
            let (n, n_all) = (buckets.n_samples(), self.sampler.n_all());
            return Err(Error::usage("sizes", format!("buckets of {n} samples for {n_all}")));
        }
        let plain = Self { buckets: None, ..self };
        let made = buckets.order(&plain, plain.sampler.starts(), len)?;
        Ok(Self { buckets: Some((buckets, made)), ..plain })
    }

    pub(crate) fn has_buckets(&self) -> bool {
        self.buckets.is_some()
    }

    /// Returns the runs of positions that no step crosses.
    pub(crate) fn runs(&self) -> Runs {
        match &self.buckets {
            Some((_, made)) => made.runs.clone(),
            None => Runs::whole(self.n_samples),
        }
    }

    /// Spreads a part of each stratum over its draws as evenly as the strata over the epoch: the
    /// samples with ids below the number given for the stratum, such as those kept in memory. The
    /// strata at the positions do not change.
    ///
    /// # Errors
    /// If there is not one number per stratum, if one is larger than its stratum, or if the sampling
    /// is not [`Sampling::Shuffle`].
    pub fn with_residents(self, n_residents: &[u64]) -> Result<Self> {
        self.sampler.with_residents(n_residents)?.order(self.epoch)
    }

    /// Returns the order of another epoch of the same samples.
    ///
    /// # Errors
    /// The errors of a function that makes the list of the epoch.
    pub fn with_epoch(&self, epoch: u64) -> Result<Self> {
        self.sampler.order(epoch)
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
        self.sampler.seed()
    }

    /// Returns the epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the number of times that each sample comes in a row, in one global batch.
    pub(crate) fn each(&self) -> u64 {
        if let Drawn::Line { each, .. } = &self.drawn { *each } else { 1 }
    }

    /// Returns true if rows are shuffled within a step.
    pub(crate) fn is_shuffled(&self) -> bool {
        match &self.drawn {
            Drawn::Line { line, .. } => line.is_shuffled(),
            Drawn::Balanced(_) | Drawn::Weighted(_) => true,
            Drawn::Listed(_) => false,
        }
    }

    /// Returns the sample at a position; `None` from the end of the epoch on.
    #[inline]
    #[must_use]
    pub fn at(&self, position: u64) -> Option<Place> {
        if position >= self.n_samples {
            return None;
        }
        let position = self.drawn_at(position)?;
        let number = match &self.drawn {
            Drawn::Line { line, each: 1 } => return line.at(position),
            Drawn::Line { line, each } => return line.at(position.checked_div(*each)?),
            Drawn::Balanced(balanced) => balanced.at(position),
            Drawn::Weighted(weighted) => weighted.at(position),
            Drawn::Listed(listed) => listed.at(position),
        };
        self.placed(number)
    }

    /// Returns the number of the draw at a position.
    #[inline]
    fn drawn_at(&self, position: u64) -> Option<u64> {
        match &self.buckets {
            None => Some(position),
            Some((_, made)) => made.at(position),
        }
    }

    /// Puts the samples at the next few positions into a list, the last one first, if they are found
    /// together in less time.
    fn look_ahead(&self, position: u64, numbers: &mut Vec<u64>) {
        if !numbers.is_empty() || position >= self.n_samples || self.buckets.is_some() {
            return;
        }
        let positions = position..position.saturating_add(AHEAD).min(self.n_samples);
        match &self.drawn {
            Drawn::Balanced(balanced) => {
                numbers.extend(positions.rev());
                balanced.at_all(numbers);
            }
            Drawn::Weighted(weighted) => {
                numbers.extend(positions.rev());
                weighted.at_all(numbers);
            }
            Drawn::Line { .. } | Drawn::Listed(_) => {}
        }
    }

    /// Returns the place of a sample by its number among all samples.
    #[inline]
    fn placed(&self, number: u64) -> Option<Place> {
        let (stratum, id) = self.sampler.placed(number)?;
        Some(Place { stratum, id })
    }

    /// Returns true if any sample may repeat in the epoch.
    pub(crate) fn repeats(&self) -> bool {
        match &self.drawn {
            Drawn::Line { line, each } => *each > 1 || line.repeats(),
            Drawn::Balanced(_) | Drawn::Weighted(Weighted::With { .. }) => true,
            Drawn::Weighted(Weighted::Without(_)) => false,
            Drawn::Listed(listed) => listed.repeats(),
        }
    }

    /// Returns a number that differs between the occurrences in the epoch of the sample at a
    /// position: that of earlier ones, if it is known without looking at all earlier positions.
    pub(crate) fn occurrence(&self, position: u64) -> u64 {
        let Some(position) = self.drawn_at(position) else { return 0 };
        match &self.drawn {
            Drawn::Line { line, each: 1 } => line.occurrence(position),
            Drawn::Line { line, each } => {
                let of_line = position.checked_div(*each).unwrap_or_default();
                let among = position.checked_rem(*each).unwrap_or_default();
                line.occurrence(of_line).saturating_mul(*each).saturating_add(among)
            }
            Drawn::Balanced(balanced) => balanced.occurrence(position),
            Drawn::Weighted(weighted) => weighted.occurrence(position),
            Drawn::Listed(listed) => listed.occurrence(position),
        }
    }

    /// Returns the stratum at a position, and the number of the draw from it, if there is a line of
    /// strata.
    #[inline]
    pub(crate) fn draw(&self, position: u64) -> Option<(u32, u64)> {
        let position = self.drawn_at(position)?;
        match &self.drawn {
            Drawn::Line { line, each: 1 } => line.draw(position),
            _ => None,
        }
    }

    /// Yields the samples from a position on, faster than a lookup of each.
    pub fn iter_from(&self, position: u64) -> Places<'_> {
        let merge = match &self.drawn {
            Drawn::Line { line, each: 1 } if self.buckets.is_none() => {
                line.merge_from(position).map(|merge| (line, merge))
            }
            _ => None,
        };
        let position = position.min(self.n_samples);
        Places { order: self, position, merge, ahead: Vec::new() }
    }

    /// Returns a hash of everything that decides the samples at the positions of any epoch, for a
    /// dataset with this hash: two orders with the same fingerprint and seed are the same. With
    /// lists that a function makes, it is of the list of this epoch.
    #[must_use]
    pub fn fingerprint(&self, dataset: u64) -> u64 {
        let fingerprint = self.opening_fingerprint(dataset);
        match &self.drawn {
            Drawn::Listed(listed) if self.sampler.is_by_epoch() => {
                let list = [listed.len(), listed.fingerprint()];
                derive(fingerprint, Purpose::Fingerprint, list)
            }
            _ => fingerprint,
        }
    }

    /// Returns the [`fingerprint`](Self::fingerprint) for a state at the start of the epoch, for
    /// which the list of a function is not made yet.
    pub(crate) fn opening_fingerprint(&self, dataset: u64) -> u64 {
        let fingerprint = self.sampler.fingerprint(dataset);
        self.buckets.as_ref().map_or(fingerprint, |(buckets, _)| buckets.fingerprint(fingerprint))
    }
}

/// Samples of an epoch from a position on, see [`Order::iter_from`].
#[derive(Debug, Clone)]
pub struct Places<'a> {
    order: &'a Order,
    position: u64,
    merge: Option<(&'a Line, Merge)>,
    /// Numbers of the next samples, the last one first, if they are found together.
    ahead: Vec<u64>,
}

impl Iterator for Places<'_> {
    type Item = Place;

    #[inline]
    fn next(&mut self) -> Option<Place> {
        let place = match &mut self.merge {
            Some((line, merge)) => merge.next().and_then(|(stratum, at)| line.place(stratum, at)),
            None => {
                self.order.look_ahead(self.position, &mut self.ahead);
                match self.ahead.pop() {
                    Some(number) => self.order.placed(number),
                    None => self.order.at(self.position),
                }
            }
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
    use super::{Order, Place, Sampling, Stratum};

    #[test]
    fn the_order_of_a_seed_never_changes() {
        let strata = vec![Stratum::whole(5), Stratum { len: 3, count: 5 }];
        let orders = [Sampling::Shuffle, Sampling::Windowed { chunk: 2, window: 4 }];
        let found = orders.map(|sampling| {
            let order = Order::new(strata.clone(), &sampling, 7, 1).unwrap();
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
        let order = Order::new(strata.clone(), &Sampling::Shuffle, 7, 1).unwrap();
        let split = order.clone().with_residents(&[2, 1]).unwrap();
        let places = |order: &Order| {
            order.iter_from(0).map(|place| (place.stratum, place.id)).collect::<Vec<_>>()
        };
        assert_eq!(places(&split), PINNED_SPLIT);
        assert_eq!(places(&split.with_epoch(3).unwrap().with_epoch(1).unwrap()), PINNED_SPLIT);
        let of = |order: &Order| order.iter_from(0).map(|it| it.stratum).collect::<Vec<_>>();
        assert_eq!(of(&split), of(&order));
        assert_ne!(split.fingerprint(1), order.fingerprint(1));
        let other = order.clone().with_residents(&[2, 2]).unwrap();
        assert_ne!(split.fingerprint(1), other.fingerprint(1));
        assert!(order.clone().with_residents(&[2]).is_err());
        assert!(order.with_residents(&[2, 5]).is_err());
        let straight = Order::new(strata, &Sampling::Sequential, 7, 1).unwrap();
        assert!(straight.with_residents(&[2, 1]).is_err());
    }

    const PINNED_SPLIT: [(u32, u64); 10] =
        [(0, 4), (1, 3), (0, 1), (1, 0), (0, 3), (0, 2), (1, 1), (0, 0), (1, 2), (0, 5)];

    #[test]
    fn in_the_order_of_the_dataset_strata_follow_one_another() {
        let strata = [0, 2, 0, 1, 0].map(Stratum::whole);
        let order = Order::new(strata.to_vec(), &Sampling::Sequential, 7, 1).unwrap();
        let expected = [(1, 0), (1, 1), (3, 0)].map(|(stratum, id)| Place { stratum, id });
        assert!(order.iter_from(0).eq(expected));
    }

    #[test]
    fn impossible_orders_are_refused() {
        let order = |strata: &[(u64, u64)], sampling: Sampling| {
            let strata = strata.iter().map(|&(len, count)| Stratum { len, count }).collect();
            Order::new(strata, &sampling, 0, 0)
        };
        assert!(order(&[(0, 1)], Sampling::Shuffle).is_err());
        assert!(order(&[(1, 1 << 63), (1, 1)], Sampling::Shuffle).is_err());
        assert!(order(&[((1 << 63) + 1, 1)], Sampling::Shuffle).is_err());
        assert!(order(&[(1, 1)], Sampling::Windowed { chunk: 0, window: 1 }).is_err());
        assert!(order(&[(1, 1)], Sampling::Windowed { chunk: 1, window: 0 }).is_err());
        for empty in [order(&[], Sampling::Shuffle), order(&[(0, 0)], Sampling::Sequential)] {
            let empty = empty.unwrap();
            assert!(empty.is_empty() && empty.at(0).is_none() && empty.iter_from(0).count() == 0);
        }
    }

    #[test]
    fn fingerprints_differ_with_all_that_matters() {
        let strata = || vec![Stratum::whole(5), Stratum::whole(4)];
        let swapped = vec![Stratum::whole(4), Stratum::whole(5)];
        let windowed = Sampling::Windowed { chunk: 2, window: 4 };
        let order = |strata, sampling: Sampling| Order::new(strata, &sampling, 1, 2).unwrap();
        let base = order(strata(), Sampling::Shuffle);
        let others = [
            base.fingerprint(2),
            order(swapped, Sampling::Shuffle).fingerprint(1),
            order(strata(), windowed).fingerprint(1),
            order(strata(), Sampling::Sequential).fingerprint(1),
        ];
        assert!(others.iter().all(|other| *other != base.fingerprint(1)));
        assert_eq!(base.fingerprint(1), base.with_epoch(9).unwrap().fingerprint(1));
    }
}
