//! An order of the user's own: the samples of an epoch as a list.
use fdconvert_core::{Error, Result};
use std::{collections::BTreeMap, fmt, sync::Arc};
use xxhash_rust::xxh3::Xxh3;

/// The list of an epoch.
type ByEpoch = dyn Fn(u64) -> Result<Vec<u64>> + Send + Sync;

/// Samples of an epoch in their order, for [`Sampling::Order`](crate::Sampling::Order): their numbers
/// among the samples of all datasets, one after the other. They may repeat, and then have other
/// crops and augmentations each time.
///
/// ```
/// use fdconvert_loader::{SampleList, Sampling};
///
/// let fixed = Sampling::Order(SampleList::from(vec![4, 0, 4, 2]));
/// // A curriculum that takes more samples in every epoch.
/// let growing = SampleList::by_epoch(|epoch| Ok((0..1000 * (epoch + 1)).collect()));
/// # let _ = (fixed, growing);
/// ```
#[derive(Clone)]
pub enum SampleList {
    /// The same list in all epochs.
    Fixed(Arc<[u64]>),
    /// The list of an epoch. The function is called when the first batch of an epoch is requested,
    /// or its number of batches before that, and again where a run resumes: it must then give the
    /// same list.
    ByEpoch(Arc<ByEpoch>),
}

impl SampleList {
    /// Creates lists by a function of the epoch.
    pub fn by_epoch(list: impl Fn(u64) -> Result<Vec<u64>> + Send + Sync + 'static) -> Self {
        Self::ByEpoch(Arc::new(list))
    }

    /// Returns the list of an epoch.
    pub(crate) fn of(&self, epoch: u64) -> Result<Arc<[u64]>> {
        match self {
            Self::Fixed(list) => Ok(list.clone()),
            Self::ByEpoch(list) => list(epoch).map(Into::into),
        }
    }
}

impl From<Vec<u64>> for SampleList {
    fn from(list: Vec<u64>) -> Self {
        Self::Fixed(list.into())
    }
}

impl fmt::Debug for SampleList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(list) => write!(f, "list of {}", list.len()),
            Self::ByEpoch(_) => f.write_str("list by epoch"),
        }
    }
}

/// A list that was checked.
#[derive(Debug)]
pub(crate) struct Listed {
    samples: Arc<[u64]>,
    /// Number of earlier occurrences of the sample at each position; `None` if none repeats.
    occurrences: Option<Vec<u32>>,
    fingerprint: u64,
}

impl Listed {
    /// Checks a list of samples that are among `n_all`.
    ///
    /// # Errors
    /// `Usage`, with the position, for a sample that is not there, and for an empty list.
    pub(crate) fn new(samples: Arc<[u64]>, n_all: u64) -> Result<Self> {
        let refuse = |what: String| Err(Error::usage("sampling", what));
        let wrong = samples.iter().zip(0_u64..).find(|(sample, _)| **sample >= n_all);
        if let Some((sample, position)) = wrong {
            return refuse(format!(
                "position {position} of the order is sample {sample}, and the datasets have \
                 {n_all}, which are numbered from 0"
            ));
        }
        if samples.is_empty() {
            return refuse("the order has no samples".into());
        }
        let mut hash = Xxh3::new();
        samples.iter().for_each(|sample| hash.update(&sample.to_le_bytes()));
        let occurrences = occurrences(&samples, n_all);
        Ok(Self { samples, occurrences, fingerprint: hash.digest() })
    }

    pub(crate) fn len(&self) -> u64 {
        self.samples.len() as u64
    }

    /// Returns a hash of the samples.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    pub(crate) fn repeats(&self) -> bool {
        self.occurrences.is_some()
    }

    /// Returns the sample at a position.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> u64 {
        self.samples.get(position as usize).copied().unwrap_or_default()
    }

    /// Returns the number of earlier occurrences of the sample at a position.
    pub(crate) fn occurrence(&self, position: u64) -> u64 {
        let of = |occurrences: &Vec<u32>| occurrences.get(position as usize).copied();
        self.occurrences.as_ref().and_then(of).unwrap_or_default().into()
    }
}

/// Counts the earlier occurrences of each sample of a list; `None` if none repeats.
fn occurrences(samples: &[u64], n_all: u64) -> Option<Vec<u32>> {
    let mut repeats = false;
    let mut count = |n: &mut u32| {
        let before = *n;
        *n = before.saturating_add(1);
        repeats |= before > 0;
        before
    };
    let counted: Vec<u32> = if n_all / 16 <= samples.len() as u64 {
        let mut counts = vec![0; n_all as usize];
        let mut of = |sample: &u64| counts.get_mut(*sample as usize).map_or(0, &mut count);
        samples.iter().map(&mut of).collect()
    } else {
        // A few of very many.
        let mut counts = BTreeMap::<u64, u32>::new();
        samples.iter().map(|sample| count(counts.entry(*sample).or_default())).collect()
    };
    repeats.then_some(counted)
}

#[cfg(test)]
mod tests {
    use super::Listed;

    #[test]
    fn occurrences_are_counted_in_small_and_large_datasets() {
        for n_all in [10, 1 << 40] {
            let listed = Listed::new([4, 0, 4, 9, 4, 0].into(), n_all).unwrap();
            let counted: Vec<u64> = (0..6).map(|position| listed.occurrence(position)).collect();
            assert_eq!(counted, [0, 0, 1, 0, 2, 1]);
            assert!(listed.repeats());
            let once = Listed::new([4, 0, 9].into(), n_all).unwrap();
            assert!(!once.repeats() && once.occurrence(2) == 0);
        }
    }

    #[test]
    fn samples_that_are_not_there_are_refused_by_position() {
        let refused = Listed::new([4, 0, 10, 3].into(), 10).unwrap_err().to_string();
        assert!(refused.contains("position 2 of the order is sample 10"), "{refused}");
        let refused = Listed::new([].into(), 10).unwrap_err().to_string();
        assert!(refused.contains("no samples"), "{refused}");
    }
}
