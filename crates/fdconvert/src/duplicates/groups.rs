//! Builds groups of equal samples from pairs.
use super::{Datasets, exact::Link, scan::Scan};
use fdconvert_core::{Splits, split_named};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Samples with equal images.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// Two or more samples, in the order of the datasets and of their samples.
    pub samples: Vec<Member>,
}

/// Sample of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// Number of its dataset.
    pub dataset: usize,
    /// Number of the sample in its dataset.
    pub index: u64,
    /// Key of the sample.
    pub key: String,
    /// Split of the sample, if the dataset has splits; for a folder of files, its first folder if
    /// that is called `train`, `val` or `test`.
    pub split: Option<String>,
    /// True if its image has the stored bytes of an earlier one in the group.
    pub is_exact: bool,
    /// Number of bits that differ between the hash of its image and that of the group's first;
    /// `None` without hashes.
    pub distance: Option<u32>,
}

impl Group {
    /// Returns the number of pairs of its samples in different splits or datasets.
    #[must_use]
    pub fn leaks(&self) -> u64 {
        let mut places: BTreeMap<(usize, Option<&str>), u64> = BTreeMap::new();
        for member in &self.samples {
            *places.entry((member.dataset, member.split.as_deref())).or_default() += 1;
        }
        let pairs = |n: u64| n * n.saturating_sub(1) / 2;
        pairs(self.samples.len() as u64) - places.values().map(|n| pairs(*n)).sum::<u64>()
    }

    pub(super) fn to_json(&self) -> Json {
        let samples = self.samples.iter().map(|member| {
            json!({
                "dataset": member.dataset,
                "index": member.index,
                "key": member.key,
                "split": member.split,
                "exact": member.is_exact,
                "distance": member.distance,
            })
        });
        json!({"leaks": self.leaks(), "samples": samples.collect::<Vec<_>>()})
    }
}

/// Groups samples that are linked directly or through others.
pub(super) fn grouped(
    set: &Datasets<'_>,
    scan: &Scan,
    exact: &[Link],
    near: &[Link],
) -> Vec<Group> {
    let mut firsts = Firsts::default();
    exact.iter().chain(near).for_each(|(a, b)| firsts.join(*a, *b));
    let linked: Vec<u32> = firsts.0.keys().copied().collect();
    let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for id in linked {
        groups.entry(firsts.of(id)).or_default().push(id);
    }
    let splits: Vec<Splits> = set.readers.iter().map(|reader| reader.splits().to_vec()).collect();
    let member = |id: u32, first_id: u32| {
        let (dataset, index) = set.place(id);
        let of_dataset = splits.get(dataset).into_iter().flatten();
        let recorded = of_dataset.clone().find(|(_, range)| range.contains(&index));
        let key = set.key(id);
        // A folder of files is opened whole, with its folders `train` and `val` as parts of the
        // keys.
        let is_folder = set.folders.get(dataset).is_some_and(|it| *it);
        let first = key.split_once('/').filter(|_| is_folder).and_then(|it| split_named(it.0));
        let split = recorded.map(|(name, _)| name.as_str()).or(first).map(str::to_owned);
        let hash = |id: u32| scan.hashes.get(id as usize).copied();
        let has_hash = scan.state(id) == super::scan::State::Seen;
        let distance = hash(id).zip(hash(first_id)).filter(|_| has_hash);
        Member {
            dataset,
            index,
            key,
            split,
            is_exact: exact.binary_search_by_key(&id, |link| link.0).is_ok(),
            distance: distance.map(|(hash, first)| (hash ^ first).count_ones()),
        }
    };
    let group = |(first, ids): (u32, Vec<u32>)| Group {
        samples: ids.into_iter().map(|id| member(id, first)).collect(),
    };
    groups.into_iter().map(group).collect()
}

/// The first sample of the group, for each grouped sample.
#[derive(Default)]
struct Firsts(BTreeMap<u32, u32>);

impl Firsts {
    fn of(&mut self, id: u32) -> u32 {
        let mut first = id;
        while let Some(before) = self.0.get(&first).filter(|before| **before != first) {
            first = *before;
        }
        // Shortens the next search to one step.
        self.0.insert(id, first);
        first
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.of(a), self.of(b));
        self.0.insert(a.max(b), a.min(b));
    }
}
