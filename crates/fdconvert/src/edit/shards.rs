//! Which shards of a version stay, and which are written again.
use fdconvert_core::{NextShard, Shard, Version};
use std::collections::{BTreeMap, BTreeSet};

/// The shards of the next version: those of the current one with fewer or changed samples.
pub(super) struct Shards {
    next: Vec<ShardPlan>,
}

enum ShardPlan {
    Kept(usize),
    /// A shard to write, and the samples of the dataset that it gets.
    New(Shard, Vec<u64>),
}

impl Shards {
    /// Removes samples, ascending.
    pub(super) fn without(version: &Version, removed: &[u64]) -> Self {
        Self::new(version, |shard| {
            let of_shard = within(removed, shard);
            let is_removed = |index: &u64| of_shard.binary_search(index).is_ok();
            let left = || shard.samples.clone().filter(|index| !is_removed(index)).collect();
            (!of_shard.is_empty()).then(left)
        })
    }

    /// Writes the shards of changed samples, ascending, again; or all of them.
    pub(super) fn with_changed(version: &Version, changed: &[u64], all: bool) -> Self {
        Self::new(version, |shard| {
            let is_changed = all || !within(changed, shard).is_empty();
            is_changed.then(|| shard.samples.clone().collect())
        })
    }

    /// `rewritten` returns the samples of a shard that is written again.
    fn new(version: &Version, rewritten: impl Fn(&Shard) -> Option<Vec<u64>>) -> Self {
        let mut next: Vec<ShardPlan> = version
            .shards
            .iter()
            .enumerate()
            .map(|(at, shard)| match rewritten(shard) {
                Some(samples) => ShardPlan::New(shard.clone(), samples),
                None => ShardPlan::Kept(at),
            })
            .collect();
        close_gaps(version, &mut next);
        Self { next }
    }

    /// Returns the samples to write, and the shards that they become.
    pub(super) fn plan(&self) -> (Vec<u64>, Vec<Shard>) {
        let (mut order, mut shards) = (Vec::new(), Vec::new());
        for part in &self.next {
            let ShardPlan::New(shard, samples) = part else { continue };
            let start = order.len() as u64;
            order.extend_from_slice(samples);
            shards.push(Shard { samples: start..order.len() as u64, ..shard.clone() });
        }
        (order, shards)
    }

    /// Returns the shards of the next version.
    pub(super) fn next(&self) -> Vec<NextShard> {
        let next = self.next.iter().map(|part| match part {
            ShardPlan::Kept(at) => NextShard::Kept(*at),
            ShardPlan::New(shard, _) => NextShard::New(shard.clone()),
        });
        next.collect()
    }
}

/// The part of ascending indices that a shard has.
fn within<'a>(indices: &'a [u64], shard: &Shard) -> &'a [u64] {
    let start = indices.partition_point(|index| *index < shard.samples.start);
    let end = indices.partition_point(|index| *index < shard.samples.end);
    indices.get(start..end).unwrap_or_default()
}

/// Leaves out shards without a sample. The last shards of their split are written again under the
/// numbers of those, so that the names of the files stay a sequence for readers that expand
/// `train-{000000..000123}.tar`; the order of the samples does not change.
fn close_gaps(version: &Version, next: &mut Vec<ShardPlan>) {
    let mut gaps: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    next.retain(|part| {
        let ShardPlan::New(shard, samples) = part else { return true };
        if samples.is_empty() {
            gaps.entry(shard.split.clone()).or_default().insert(shard.number);
        }
        !samples.is_empty()
    });
    for (split, mut free) in gaps {
        loop {
            let last = next.iter_mut().filter(|part| part.shard(version).split == split);
            let last = last.max_by_key(|part| part.shard(version).number);
            let (Some(last), Some(gap)) = (last, free.pop_first()) else { break };
            let shard = last.shard(version).clone();
            if shard.number < gap {
                break;
            }
            let all = || shard.samples.clone().collect();
            let samples = match last {
                ShardPlan::Kept(_) => all(),
                ShardPlan::New(_, samples) => std::mem::take(samples),
            };
            free.insert(shard.number);
            *last = ShardPlan::New(Shard { number: gap, ..shard }, samples);
        }
    }
}

impl ShardPlan {
    fn shard<'a>(&'a self, version: &'a Version) -> &'a Shard {
        match self {
            // Positions are those of the version.
            Self::Kept(at) => &version.shards[*at],
            Self::New(shard, _) => shard,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fdconvert_core::{Common, FieldSpec, Kind, Provenance, Schema};
    use proptest::prelude::*;

    fn version(sizes: &[u64]) -> Version {
        let mut end = 0;
        let shard = |(number, size): (usize, &u64)| {
            let start = end;
            end += size;
            Shard { number, of: 0, samples: start..end, split: "train".into() }
        };
        Version {
            number: 1,
            fingerprint: String::new(),
            edit: None,
            schema: Schema::new(vec![FieldSpec::new("image", Kind::Image)]).unwrap(),
            common: Common::default(),
            provenance: Provenance::default(),
            shards: sizes.iter().enumerate().map(shard).collect(),
        }
    }

    proptest! {
        /// The order of what is left does not change, numbers stay a sequence, and only shards that
        /// must be written are.
        #[test]
        fn what_is_left_keeps_its_order_and_its_names_their_sequence(
            sizes in prop::collection::vec(1_u64..4, 1..12),
            chosen in prop::collection::vec(any::<bool>(), 48),
        ) {
            let version = version(&sizes);
            let n = version.n_samples();
            let removed: Vec<u64> = (0..n).filter(|index| chosen[*index as usize]).collect();
            let shards = Shards::without(&version, &removed);
            let mut left = Vec::new();
            let mut numbers = BTreeSet::new();
            let mut n_new = 0;
            for part in &shards.next {
                numbers.insert(part.shard(&version).number);
                match part {
                    ShardPlan::Kept(at) => left.extend(version.shards[*at].samples.clone()),
                    ShardPlan::New(_, samples) => {
                        n_new += 1;
                        left.extend_from_slice(samples);
                    }
                }
            }
            let expected: Vec<u64> = (0..n).filter(|index| !chosen[*index as usize]).collect();
            prop_assert_eq!(&left, &expected);
            prop_assert!(numbers.iter().copied().eq(0..shards.next.len()));
            let n_hit = version.shards.iter().filter(|it| !within(&removed, it).is_empty()).count();
            prop_assert!(n_new <= n_hit);
            let (order, planned) = shards.plan();
            prop_assert_eq!(order.len() as u64, planned.last().map_or(0, |it| it.samples.end));
        }
    }
}
