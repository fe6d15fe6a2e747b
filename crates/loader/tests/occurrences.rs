//! Samples that repeat in an epoch because of their weight come in different crops.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{Memory, random_and, random_crop, transform};
use fdconvert_core::Reader;
use fdconvert_loader::{Datasets, Last, Loader, Options, Sampling, State};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use xxhash_rust::xxh3::xxh3_64;

fn open(weight: f64, options: Options) -> Loader {
    let reader: Arc<dyn Reader> = Memory::new(30);
    Loader::new(Datasets::weighted(vec![(reader, weight)]).unwrap(), options).unwrap()
}

/// Returns the hashes of the valid rows of each sample, in order.
fn rows(loader: &mut Loader) -> BTreeMap<u64, Vec<u64>> {
    let mut rows: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    while let Some(batch) = loader.next_batch() {
        let batch = batch.unwrap();
        let images = batch.images().chunks(batch.shape().row_bytes());
        for ((image, sample), valid) in images.zip(batch.samples()).zip(batch.valid()) {
            if *valid {
                rows.entry(*sample).or_default().push(xxh3_64(image));
            }
        }
    }
    rows
}

#[test]
fn copies_by_weight_are_drawn_again_and_the_first_is_as_it_was() {
    let augmented = || random_and([transform("{\"RandAugment\": {}}")]);
    for (sampling, cache_bytes, last, base) in [
        (Sampling::Shuffle, 0, Last::Short, random_crop()),
        (Sampling::Shuffle, 0, Last::Short, augmented()),
        (Sampling::Shuffle, 12_000, Last::Pad, random_crop()),
        (Sampling::Sequential, 0, Last::Drop, random_crop()),
        (Sampling::Windowed { chunk: 4, window: 7 }, 0, Last::Short, random_crop()),
    ] {
        let options = || {
            let options = base.clone().sampling(sampling.clone());
            options.cache_bytes(cache_bytes).last(last).seed(5)
        };
        let (once, thrice) = (rows(&mut open(1.0, options())), rows(&mut open(3.0, options())));
        assert_eq!(
            thrice.values().map(Vec::len).sum::<usize>(),
            if last == Last::Drop { 88 } else { 90 }
        );
        for (sample, copies) in &thrice {
            let distinct: BTreeSet<_> = copies.iter().collect();
            assert_eq!(distinct.len(), copies.len(), "sample {sample} with {sampling:?}");
            // Batches shuffle their rows, so that the first may be any of the copies.
            if let Some(first) = once.get(sample) {
                assert!(copies.contains(&first[0]), "sample {sample} with {sampling:?}");
            }
        }
    }
}

#[test]
fn a_resumed_epoch_counts_occurrences_on() {
    let options = || random_crop().seed(5);
    let mut whole = open(2.5, options());
    let mut state: Option<State> = None;
    let mut rest = Vec::new();
    while let Some(batch) = whole.next_batch() {
        let batch = batch.unwrap();
        if batch.step() == 4 {
            state = Some(batch.state());
        } else if batch.step() > 4 {
            rest.push(xxh3_64(batch.images()));
        }
    }
    let mut resumed = open(2.5, options());
    resumed.restore(&state.unwrap()).unwrap();
    let again: Vec<u64> = std::iter::from_fn(|| resumed.next_batch())
        .map(|it| xxh3_64(it.unwrap().images()))
        .collect();
    assert_eq!(rest, again);
}
