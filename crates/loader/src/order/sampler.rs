//! A sampling with all that it needs: what the epochs of a run have in common.
use super::{
    balanced::{Balanced, Classes},
    bucketed::BucketNumbers,
    cursor::of_dataset,
    epoch::{Drawn, Order},
    kept::Kept,
    key::{Purpose, derive},
    line::Line,
    list::{Listed, SampleList},
    sampling::Sampling,
    state::State,
    strata::{Arrangement, Stratum},
    weighted::{Weighted, without_replacement},
    weights::Weights,
};
use fdconvert_core::{Error, Result};
use std::sync::Arc;

/// Limit on the samples of an epoch, and of a stratum. Twice as many would overflow sums.
const MAX_SAMPLES: u64 = 1 << 63;

/// The sampling of a run, checked against its samples.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    strata: Vec<Stratum>,
    /// Number of the first sample of each stratum among all samples.
    starts: Vec<u64>,
    /// Number of the samples of each stratum that are spread evenly; empty for none.
    residents: Vec<u64>,
    method: Method,
    seed: u64,
}

#[derive(Debug, Clone)]
enum Method {
    /// All strata, each sample `each` times in a row.
    Line {
        arrangement: Arrangement,
        each: u64,
    },
    Balanced {
        classes: Arc<Classes>,
        per_class: u64,
    },
    With {
        weights: Weights,
        n: u64,
    },
    Without {
        weights: Weights,
        n: u64,
        samples: Arc<Kept<Vec<u32>>>,
    },
    Fixed(Arc<Listed>),
    ByEpoch {
        list: SampleList,
        listed: Arc<Kept<Listed>>,
    },
}

impl Sampler {
    /// Checks a sampling of these strata. `classes` returns the classes by a field.
    ///
    /// # Errors
    /// `Usage` for samplings that are impossible, or impossible with these samples, and the errors
    /// of `classes`.
    pub(crate) fn new(
        strata: Vec<Stratum>,
        sampling: &Sampling,
        classes: impl FnOnce(&str) -> Result<Classes>,
        seed: u64,
    ) -> Result<Self> {
        let refuse = |what: String| Err(Error::usage("sampling", what));
        let (starts, n_all, n_drawn) = numbered(&strata)?;
        if sampling.numbers_all() && strata.iter().any(|stratum| stratum.count != stratum.len) {
            return refuse(
                "it chooses among all samples itself, so the shares of a mix have no \
                 effect: join the datasets without shares"
                    .into(),
            );
        }
        let once = |arrangement| Method::Line { arrangement, each: 1 };
        let method = match sampling {
            Sampling::Shuffle => once(Arrangement::Shuffled),
            Sampling::Sequential => once(Arrangement::Straight),
            Sampling::Windowed { chunk, window } => {
                for (name, n) in [("chunk", *chunk), ("window", *window)] {
                    if n == 0 {
                        return refuse(format!("its {name} must hold at least one sample"));
                    }
                }
                once(Arrangement::Windowed { chunk: *chunk, window: *window })
            }
            Sampling::Repeated(each) => {
                if *each == 0 || n_drawn.checked_mul(*each).is_none_or(|n| n > MAX_SAMPLES) {
                    let what =
                        format!("{n_drawn} samples cannot come {each} times: take 2 or more");
                    return refuse(what);
                }
                Method::Line { arrangement: Arrangement::Shuffled, each: *each }
            }
            Sampling::Balanced { label, per_class } => {
                let classes = Arc::new(classes(label)?);
                if classes.n_all() != n_all {
                    return refuse(format!("{} classes for {n_all} samples", classes.n_all()));
                }
                let per_class = per_class.unwrap_or_else(|| classes.mean());
                let n = per_class.checked_mul(classes.len());
                if per_class == 0 || n.is_none_or(|n| n > MAX_SAMPLES) {
                    let what = format!("an epoch cannot have {per_class} samples of each class");
                    return refuse(what);
                }
                Method::Balanced { classes, per_class }
            }
            Sampling::Weighted { weights, n, replacement } => {
                if weights.len() != n_all {
                    let n_weights = weights.len();
                    return refuse(format!("{n_weights} weights for {n_all} samples"));
                }
                let most = if *replacement { MAX_SAMPLES } else { weights.n_positive() };
                let usual = if *replacement { n_all } else { most };
                let n = n.unwrap_or(usual);
                if n == 0 || n > MAX_SAMPLES {
                    return refuse(format!("an epoch cannot have {n} draws"));
                }
                if n > most {
                    return refuse(format!(
                        "{n} draws are more than the {most} samples with a positive weight: take \
                         fewer, or draw with replacement"
                    ));
                }
                let weights = weights.clone();
                match replacement {
                    true => Method::With { weights, n },
                    false => Method::Without { weights, n, samples: Arc::default() },
                }
            }
            Sampling::Order(SampleList::Fixed(samples)) => {
                Method::Fixed(Arc::new(Listed::new(samples.clone(), n_all)?))
            }
            Sampling::Order(list) => Method::ByEpoch { list: list.clone(), listed: Arc::default() },
        };
        Ok(Self { strata, starts, residents: Vec::new(), method, seed })
    }

    /// As [`Order::with_residents`].
    pub(crate) fn with_residents(self, residents: &[u64]) -> Result<Self> {
        let wrong = |what: String| Err(Error::usage("residents", what));
        let shuffled = Arrangement::Shuffled;
        if !matches!(self.method, Method::Line { arrangement, each: 1 } if arrangement == shuffled)
        {
            return wrong("only the sampling `Shuffle` can spread them evenly".into());
        }
        if residents.len() != self.strata.len() {
            return wrong(format!("{} of {} strata", residents.len(), self.strata.len()));
        }
        let too_many = |(stratum, n): &(&Stratum, &u64)| stratum.len < **n;
        if let Some((stratum, n)) = self.strata.iter().zip(residents).find(too_many) {
            return wrong(format!("{n} of a stratum of {}", stratum.len));
        }
        Ok(Self { residents: residents.to_vec(), ..self })
    }

    /// Returns the order of an epoch. The lists of one epoch are kept.
    ///
    /// # Errors
    /// `Usage` for a list that is wrong, and the errors of the function that makes it.
    pub(crate) fn order(&self, epoch: u64) -> Result<Order> {
        let seed = self.seed;
        let (drawn, n) = match &self.method {
            Method::Line { arrangement, each } => {
                let line = Line::new(&self.strata, *arrangement, &self.residents, seed, epoch);
                let n = line.len() * each;
                (Drawn::Line { line, each: *each }, n)
            }
            Method::Balanced { classes, per_class } => {
                let (classes, per_class) = (classes.clone(), *per_class);
                let n = classes.len() * per_class;
                (Drawn::Balanced(Balanced { classes, per_class, seed, epoch }), n)
            }
            Method::With { weights, n } => {
                let weights = weights.clone();
                (Drawn::Weighted(Weighted::With { weights, seed, epoch }), *n)
            }
            Method::Without { weights, n, samples } => {
                let make = || Ok(without_replacement(weights, *n, seed, epoch));
                (Drawn::Weighted(Weighted::Without(samples.of(epoch, make)?)), *n)
            }
            Method::Fixed(listed) => (Drawn::Listed(listed.clone()), listed.len()),
            Method::ByEpoch { list, listed } => {
                let listed = listed.of(epoch, || Listed::new(list.of(epoch)?, self.n_all()))?;
                let n = listed.len();
                (Drawn::Listed(listed), n)
            }
        };
        Ok(Order::of(self.clone(), drawn, n, epoch))
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns true if the number of samples of an epoch is only known once its list is made.
    pub(crate) fn is_by_epoch(&self) -> bool {
        matches!(self.method, Method::ByEpoch { .. })
    }

    /// Returns a hash of everything that decides the samples at the positions of any epoch, for a
    /// dataset with this hash, except for lists that a function makes.
    pub(crate) fn fingerprint(&self, dataset: u64) -> u64 {
        let [kind, a, b] = match &self.method {
            Method::Line { arrangement: Arrangement::Shuffled, each: 1 } => [0, 0, 0],
            Method::Line { arrangement: Arrangement::Straight, .. } => [1, 0, 0],
            Method::Line { arrangement: Arrangement::Windowed { chunk, window }, .. } => {
                [2, *chunk, *window]
            }
            Method::Line { each, .. } => [3, *each, 0],
            Method::Balanced { classes, per_class } => [4, *per_class, classes.fingerprint()],
            Method::With { weights, n } => [5, *n, weights.fingerprint()],
            Method::Without { weights, n, .. } => [6, *n, weights.fingerprint()],
            Method::Fixed(listed) => [7, listed.len(), listed.fingerprint()],
            Method::ByEpoch { .. } => [8, 0, 0],
        };
        let parts = [[kind, self.strata.len() as u64], [a, b]].into_iter();
        let strata = self.strata.iter().map(|stratum| [stratum.len, stratum.count]);
        // Empty for orders without residents, so that their states do not change.
        let residents = self.residents.iter().map(|n| [*n, 1]);
        parts
            .chain(strata)
            .chain(residents)
            .fold(dataset, |hash, pair| derive(hash, Purpose::Fingerprint, pair))
    }

    /// Returns the state before the first step of an epoch, without its list.
    pub(crate) fn start(
        &self,
        buckets: Option<&BucketNumbers>,
        dataset: u64,
        epoch: u64,
        global_batch: u32,
    ) -> State {
        let order = self.fingerprint(0);
        let order = buckets.map_or(order, |buckets| buckets.fingerprint(order));
        let fingerprint = of_dataset(order, dataset);
        State { fingerprint, seed: self.seed, epoch, consumed: 0, global_batch }
    }

    /// Returns the number of the first sample of each stratum among all samples.
    pub(crate) fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Returns the stratum of a sample, by its number among all samples, and its number there.
    #[inline]
    pub(crate) fn placed(&self, number: u64) -> Option<(u32, u64)> {
        if self.starts.len() == 1 {
            return Some((0, number));
        }
        let stratum = self.starts.partition_point(|start| *start <= number).checked_sub(1)?;
        let start = self.starts.get(stratum)?;
        Some((u32::try_from(stratum).ok()?, number - start))
    }

    pub(crate) fn n_all(&self) -> u64 {
        self.strata.iter().fold(0, |sum, stratum| sum.saturating_add(stratum.len))
    }
}

/// Returns the number of the first sample of each stratum among all samples, and the numbers of all
/// samples and of all draws.
///
/// # Errors
/// `Usage` if a stratum has draws but no samples, or if the strata are too large to count.
fn numbered(strata: &[Stratum]) -> Result<(Vec<u64>, u64, u64)> {
    let wrong = |what: String| Err(Error::usage("strata", what));
    if u32::try_from(strata.len()).is_err() {
        return wrong(format!("{} of them; at most 2^32 - 1 are counted", strata.len()));
    }
    let mut starts = Vec::with_capacity(strata.len());
    let (mut n_all, mut n_drawn) = (0_u64, 0_u64);
    for (at, Stratum { len, count }) in strata.iter().enumerate() {
        if *len == 0 && *count > 0 {
            return wrong(format!("{count} draws from stratum {at}, which has no samples"));
        }
        let sum = n_drawn.checked_add(*count);
        let sum = sum.filter(|sum| *sum <= MAX_SAMPLES && *len <= MAX_SAMPLES);
        let Some(sum) = sum else {
            return wrong(format!("more than 2^63 samples with stratum {at}"));
        };
        starts.push(n_all);
        // Only exact where it is used: there are as many draws as samples then.
        n_all = n_all.saturating_add(*len);
        n_drawn = sum;
    }
    Ok((starts, n_all, n_drawn))
}
