//! Cuts splits into shards.
use crate::{Plan, ahead::Pieces, unreadable::Unreadable};
use fdconvert_codec::{Encode, Policy, Worker};
use fdconvert_core::{Amount, Error, Format, Result, Source, Value, option};
use std::ops::Range;

/// Number of images to encode for an estimate of their size, if it is not known otherwise.
const PROBED: u64 = 64;

/// Number of shards planned if the number of samples is unknown: with those of 256 MiB, 16 TiB.
const MOST_OPEN: u64 = 1 << 16;

/// Division of a split into shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharding {
    /// Criterion of the division.
    pub by: ShardBy,
    /// Divisor of the number of shards, so that ranks and workers share them evenly; above 1,
    /// shards are of equal size within one sample.
    pub multiple_of: u64,
}

/// Criterion for the number of samples of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardBy {
    /// Maximum number of samples.
    Count(u64),
    /// Maximum number of bytes, including framing; a larger sample gets a separate shard.
    Bytes(u64),
    /// Number of shards of equal size within one sample.
    Number(u64),
}

impl Default for Sharding {
    fn default() -> Self {
        Self { by: ShardBy::Bytes(256 << 20), multiple_of: 1 }
    }
}

/// Inputs for the sizes of samples.
pub(crate) struct Measure<'a> {
    pub(crate) source: &'a dyn Source,
    pub(crate) policy: &'a Policy,
    pub(crate) format: &'a dyn Format,
    pub(crate) plan: &'a Plan,
    pub(crate) unreadable: &'a Unreadable,
}

impl Sharding {
    /// Returns non-empty ranges of positions that cover `range` in order. `split` is the name of
    /// the range in messages, if it is one of several.
    pub(crate) fn cut(
        &self,
        how: &Measure<'_>,
        range: Range<u64>,
        split: Option<&String>,
    ) -> Result<Vec<Range<u64>>> {
        if how.source.facts().is_open() {
            return self.cut_open(how, &range);
        }
        let n_samples = range.end - range.start;
        let n_shards = match self.by {
            ShardBy::Count(0) => return Err(Error::usage(option::SHARD_COUNT, "give 1 or more")),
            ShardBy::Number(0) => return Err(Error::usage(option::SHARDS, "give 1 or more")),
            ShardBy::Bytes(0) => {
                return Err(Error::usage(option::SHARD_SIZE, "give 1 byte or more"));
            }
            ShardBy::Count(count) if self.multiple_of <= 1 => {
                return Ok(by_count(&range, count).collect());
            }
            ShardBy::Count(count) => n_samples.div_ceil(count),
            ShardBy::Number(number) => number,
            ShardBy::Bytes(bytes) => {
                let cuts = match how.cut_known(&range, bytes)? {
                    Some(cuts) => cuts,
                    None => {
                        let mean = how.mean(&range)?;
                        by_bytes(&range, bytes, |_| Ok(Some(mean)))?.unwrap_or_default()
                    }
                };
                if self.multiple_of <= 1 {
                    return Ok(cuts);
                }
                cuts.len() as u64
            }
        };
        let multiple = self.multiple_of.max(1);
        let n_shards = n_shards.div_ceil(multiple).saturating_mul(multiple);
        if n_shards > n_samples {
            let samples = if n_samples == 1 { "sample" } else { "samples" };
            let of_split =
                split.map_or_else(String::new, |split| format!(" of the split `{split}`"));
            let what = format!(
                "{n_shards} shards of {n_samples} {samples}{of_split} would leave some empty; \
                 {n_samples} is the most"
            );
            // The option that requested this number.
            let option = if multiple > 1 { option::SHARDS_MULTIPLE_OF } else { option::SHARDS };
            return Err(Error::usage(option, what));
        }
        Ok(equal(&range, n_shards))
    }

    /// Does the same as [`cut`](Self::cut) for a range that may end early: into shards that are
    /// filled one after another, more of them than there will be.
    fn cut_open(&self, how: &Measure<'_>, range: &Range<u64>) -> Result<Vec<Range<u64>>> {
        let unknown = "it takes the number of samples, which is not known here";
        if self.multiple_of > 1 {
            return Err(Error::usage(option::SHARDS_MULTIPLE_OF, unknown));
        }
        let count = match self.by {
            ShardBy::Number(_) => return Err(Error::usage(option::SHARDS, unknown)),
            ShardBy::Count(0) => return Err(Error::usage(option::SHARD_COUNT, "give 1 or more")),
            ShardBy::Bytes(0) => {
                return Err(Error::usage(option::SHARD_SIZE, "give 1 byte or more"));
            }
            ShardBy::Count(count) => count,
            ShardBy::Bytes(bytes) => (bytes / how.mean(range)?).max(1),
        };
        let end = range.end.min(range.start.saturating_add(count.saturating_mul(MOST_OPEN)));
        Ok(by_count(&(range.start..end), count).collect())
    }
}

fn by_count(range: &Range<u64>, count: u64) -> impl Iterator<Item = Range<u64>> {
    let end = range.end;
    let starts = (0..(range.end - range.start).div_ceil(count)).map({
        let start = range.start;
        move |n| start + n * count
    });
    starts.map(move |start| start..end.min(start + count))
}

/// Cuts into sizes that differ by one sample at most, the larger ones first.
fn equal(range: &Range<u64>, n_shards: u64) -> Vec<Range<u64>> {
    let n_samples = range.end - range.start;
    let (each, larger) = (n_samples / n_shards, n_samples % n_shards);
    let start_of = |n: u64| range.start + n * each + n.min(larger);
    (0..n_shards).map(|n| start_of(n)..start_of(n + 1)).collect()
}

/// Cuts by the sizes of the samples at the positions; `None` if one of them is unknown.
fn by_bytes(
    range: &Range<u64>,
    limit: u64,
    size_of: impl Fn(u64) -> Result<Option<u64>>,
) -> Result<Option<Vec<Range<u64>>>> {
    let mut cuts = Vec::new();
    let (mut start, mut filled) = (range.start, 0_u64);
    for position in range.clone() {
        let Some(size) = size_of(position)? else { return Ok(None) };
        if position > start && filled.saturating_add(size) > limit {
            cuts.push(start..position);
            (start, filled) = (position, 0);
        }
        filled = filled.saturating_add(size);
    }
    cuts.push(start..range.end);
    Ok(Some(cuts))
}

impl Measure<'_> {
    /// Cuts by the sizes of images that do not change, if the source knows them.
    fn cut_known(&self, range: &Range<u64>, limit: u64) -> Result<Option<Vec<Range<u64>>>> {
        let policy = self.policy;
        let is_kept = policy.encode == Encode::Keep && policy.size.is_none();
        if !is_kept || policy.mixture.is_some() || policy.baseline {
            return Ok(None);
        }
        by_bytes(range, limit, |position| self.known(position))
    }

    /// Returns the mean size of a few samples, which it encodes.
    fn mean(&self, range: &Range<u64>) -> Result<u64> {
        let mut worker = Worker::default();
        let (mut n_good, mut total) = (0, 0);
        // A source that is not complete is packed in its own order, as one split.
        let n_samples = (range.end - range.start).min(self.source.facts().n_ready());
        let n_probed = n_samples.min(PROBED);
        // Evenly spread, so that the plan does not depend on chance.
        let position = |n: u64| range.start + n * n_samples / n_probed;
        let positions: Vec<u64> = (0..n_probed).map(position).collect();
        let indices: Vec<u64> = positions.iter().map(|it| self.plan.source_index(*it)).collect();
        let mut left = positions.iter();
        // Sequential reads would each wait for a store, or for the thread that has the samples.
        for (piece, _ahead) in Pieces::new(self.source, &indices) {
            for &position in left.by_ref().take(piece.len()) {
                let encoded = self.encoded(position, &mut worker);
                if let Some(bytes) = self.unreadable.settle(position, encoded)? {
                    total += bytes;
                    n_good += 1;
                }
            }
        }
        // No image could be read: the run will report this for each sample.
        Ok(total.checked_div(n_good).unwrap_or(1).max(1))
    }

    /// Returns the bytes of a sample that does not change, if the source knows them; 0 for one that
    /// the run will leave out.
    fn known(&self, position: u64) -> Result<Option<u64>> {
        let bytes = self.source.bytes(self.plan.source_index(position), Amount::Planned);
        Ok(match self.unreadable.settle(position, bytes)? {
            Some(bytes) => bytes.map(|n| self.format.sample_bytes(self.source.schema(), n)),
            None => Some(0),
        })
    }

    /// Returns the bytes of an encoded sample.
    fn encoded(&self, position: u64, worker: &mut Worker) -> Result<u64> {
        let Self { source, policy, format, plan, .. } = self;
        let sample = source.read(plan.source_index(position))?;
        let (key, form) = (sample.key.clone(), plan.form(position));
        let apply = |image| policy.apply_as(form, &key, image, *format, worker);
        let encoded = sample.try_map_image(apply)?;
        let images = encoded.values.iter().flat_map(Value::images);
        let image_bytes = images.map(|outcome| outcome.encoded.bytes.len() as u64);
        Ok(format.sample_bytes(source.schema(), image_bytes.sum()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn covers(cuts: &[Range<u64>], range: &Range<u64>) {
        assert_eq!(cuts.first().unwrap().start, range.start);
        assert_eq!(cuts.last().unwrap().end, range.end);
        assert!(cuts.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert!(cuts.iter().all(|cut| cut.start < cut.end));
    }

    proptest! {
        #[test]
        fn every_cut_covers_the_range_once(start in 0_u64..50, len in 1_u64..500, k in 1_u64..60) {
            let range = start..start + len;
            let cuts: Vec<_> = by_count(&range, k).collect();
            covers(&cuts, &range);
            prop_assert!(cuts.iter().all(|cut| cut.end - cut.start <= k));

            let cuts = equal(&range, k.min(len));
            covers(&cuts, &range);
            let lens: Vec<_> = cuts.iter().map(|cut| cut.end - cut.start).collect();
            prop_assert!(lens.iter().max().unwrap() - lens.iter().min().unwrap() <= 1);

            let size_of = |position: u64| (position - start) * 7919 % 40;
            let cuts = by_bytes(&range, k, |position| Ok(Some(size_of(position))));
            let cuts = cuts.unwrap().unwrap();
            covers(&cuts, &range);
            for cut in cuts {
                let bytes: u64 = cut.clone().map(size_of).sum();
                prop_assert!(bytes <= k || cut.end - cut.start == 1);
            }
        }
    }
}
