//! Subsets, shuffles and splits. Every random choice compares keyed hashes (XXH3), so that it is
//! the same on every machine and with every version of every library.
use crate::PlanRequest;
use fdconvert_core::{Error, OptionName, Result, Source, option};
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Selection of a source's samples, in the source's order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Only these samples, ascending, such as those of a [`KeyList`](crate::KeyList) or a
    /// [`Condition`](crate::Condition); `None` for all.
    pub listed: Option<Vec<u64>>,
    /// Options that produced [`listed`](Self::listed), for messages.
    pub listed_by: Vec<OptionName>,
    /// Share of the remaining samples to draw, from 0 to 1, and its seed.
    pub share: Option<(f64, u64)>,
    /// Whether the share applies to every class separately, with at least one sample of each.
    pub per_class: bool,
}

/// Part of the dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// Name, e.g. `val`.
    pub name: String,
    /// Share of the samples, from 0 to 1.
    pub share: f64,
}

impl Selection {
    /// Returns the error for an empty selection from a source of `n_samples`.
    pub(crate) fn took_nothing(&self, n_samples: u64) -> Error {
        let share = self.share.map(|_| option::SAMPLE);
        let given: Vec<_> = self.listed_by.iter().copied().chain(share).collect();
        if n_samples == 0 || given.is_empty() {
            return Error::usage("source", "no sample was written");
        }
        if let ([_], Some((share, _))) = (&given[..], self.share) {
            let what = format!("a share of {share} of {n_samples} samples is empty; take more");
            return Error::usage(option::SAMPLE, what);
        }
        let given: Vec<_> = given.into_iter().map(|option| format!("`{option}`")).collect();
        let given = given.join(" and ");
        let what = format!("none of the {n_samples} samples is left by {given}");
        Error::usage("source", what)
    }

    /// Returns the selected indices, ascending; `None` for all.
    pub(crate) fn apply(&self, source: &dyn Source) -> Result<Option<Vec<u64>>> {
        let Some((share, seed)) = self.share else { return Ok(self.listed.clone()) };
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::usage(option::SAMPLE, format!("{share} is not from 0 to 1")));
        }
        let indices = self.listed.clone().unwrap_or_else(|| (0..source.len()).collect());
        Ok(Some(if self.per_class {
            share_of_classes(source, indices, share, seed)?
        } else {
            let n_taken = (share * indices.len() as f64).round() as usize;
            first_by_hash(source, indices, n_taken, seed)
        }))
    }
}

/// Draws the share of every class like a share of the whole. Samples without a label form a class.
fn share_of_classes(
    source: &dyn Source,
    indices: Vec<u64>,
    share: f64,
    seed: u64,
) -> Result<Vec<u64>> {
    if source.schema().label().is_none() {
        let what =
            "the source has no labels, so there are no classes to take a share of; leave it out";
        return Err(Error::usage(option::PER, what).cure("to give them by a table", option::LABELS));
    }
    let mut classes: BTreeMap<Option<i64>, Vec<u64>> = BTreeMap::new();
    for index in indices {
        classes.entry(source.label(index)?).or_default().push(index);
    }
    let mut taken = Vec::new();
    for class in classes.into_values() {
        let n_taken = n_of_class(share, class.len());
        taken.extend(first_by_hash(source, class, n_taken, seed));
    }
    taken.sort_unstable();
    Ok(taken)
}

/// Returns the size of the share of a class: rounded half up, and at least one, unless the share is
/// zero.
fn n_of_class(share: f64, n_samples: usize) -> usize {
    if share <= 0.0 || n_samples == 0 {
        return 0;
    }
    let exact = share * n_samples as f64;
    // A share such as 29 % is no binary fraction, and its product may be just below a half that the
    // decimal product reaches: by less than this.
    let rounded = (exact + exact * 4.0 * f64::EPSILON + 0.5).floor() as usize;
    rounded.clamp(1, n_samples)
}

/// Returns the `n` samples with the smallest hashes of their keys, ascending by index. The choice
/// depends on the keys alone: it does not change when samples are added elsewhere in the order.
fn first_by_hash(source: &dyn Source, indices: Vec<u64>, n: usize, seed: u64) -> Vec<u64> {
    let mut ranked: Vec<(u64, u64)> =
        indices.into_iter().map(|index| (key_hash(source, index, seed), index)).collect();
    ranked.sort_unstable();
    ranked.truncate(n);
    let mut taken: Vec<u64> = ranked.into_iter().map(|(_, index)| index).collect();
    taken.sort_unstable();
    taken
}

fn key_hash(source: &dyn Source, index: u64, seed: u64) -> u64 {
    xxh3_64_with_seed(source.key(index).as_bytes(), seed)
}

/// Sorts by the hash of the index: a permutation that is as good as random. Hashes are computed for
/// each comparison: stored, they would take twice the memory of the indices.
pub(crate) fn shuffle(indices: &mut [u64], seed: u64) {
    indices.sort_unstable_by_key(|index| (xxh3_64_with_seed(&index.to_le_bytes(), seed), *index));
}

/// Groups the indices by split, each in order, and returns the size of each.
pub(crate) fn split(
    source: &dyn Source,
    indices: &mut Vec<u64>,
    request: &PlanRequest,
) -> Result<Vec<(String, u64)>> {
    let PlanRequest { splits, split_seed: seed, drop_rest, .. } = request;
    let wrong = |what: String| Err(Error::usage(option::SPLIT, what));
    let total: f64 = splits.iter().map(|split| split.share).sum();
    if splits.iter().any(|split| split.share.is_nan() || split.share <= 0.0) || total > 1.0 + 1e-9 {
        return wrong("shares must be above 0 and add up to at most 1".into());
    }
    if total < 1.0 - 1e-9 && !drop_rest {
        let rest = (1.0 - total) * 100.0;
        return wrong(format!(
            "the shares leave {rest:.3} % of the samples out; make them add up to 1, or add \
             rest=drop"
        ));
    }
    for (at, split) in splits.iter().enumerate() {
        let named = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if !named(&split.name) || splits[..at].iter().any(|other| other.name == split.name) {
            return wrong(format!(
                "`{}` is not a name of its own (letters, digits, _)",
                split.name
            ));
        }
    }
    let n_samples = indices.len();
    let mut ranked: Vec<(u64, usize)> = indices
        .iter()
        .enumerate()
        .map(|(position, &index)| (key_hash(source, index, *seed), position))
        .collect();
    ranked.sort_unstable();
    let mut sizes = Vec::new();
    let mut grouped = Vec::with_capacity(n_samples);
    let (mut share, mut start) = (0.0, 0);
    for split in splits {
        share += split.share;
        let end = ((share * n_samples as f64).round() as usize).min(n_samples);
        let mut positions: Vec<usize> =
            ranked.get(start..end).unwrap_or_default().iter().map(|(_, at)| *at).collect();
        if positions.is_empty() {
            return wrong(format!("`{}` would be empty", split.name));
        }
        positions.sort_unstable();
        grouped.extend(positions.iter().filter_map(|&at| indices.get(at).copied()));
        sizes.push((split.name.clone(), positions.len() as u64));
        start = end;
    }
    *indices = grouped;
    Ok(sizes)
}
