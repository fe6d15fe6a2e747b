//! Groups of samples and images in memory: every sample exactly once with any cache, in uniform
//! batches.
//!
//! `LOADER_CASES=10000 cargo test --release -p fdconvert-loader --test cache` tries that number of
//! cases; the default is some two hundred.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{
    groups::{Groups, budget, samples},
    legs::{Leg, leg},
    list,
};
use fdconvert_core::Reader;
use fdconvert_loader::{
    CachePolicy, Datasets, Last, Loader, Options, Sampling, State, Transform, World,
    research::LIQUID,
};
use proptest::prelude::*;
use std::{collections::BTreeSet, sync::Arc};

fn options(leg: &Leg, rank: u32, cache_bytes: u64, cache_policy: CachePolicy) -> Options {
    Options::default()
        .batch_size(leg.batch)
        .seed(11)
        .world(World { rank, size: leg.world })
        .last(Last::Short)
        .transform(list([Transform::squeeze([1, 1])]))
        .threads(leg.threads)
        .fetch_threads(leg.fetch_threads)
        .prefetch(leg.prefetch)
        .cache_bytes(cache_bytes)
        .cache_policy(cache_policy)
}

fn loader(reader: &Arc<Groups>, options: Options) -> Loader {
    Loader::new(Datasets::one(reader.clone()).unwrap(), options).unwrap()
}

/// Returns `bytes`, or 0 if they would keep no image, which is refused.
fn kept(reader: &Arc<Groups>, bytes: u64, policy: CachePolicy) -> u64 {
    let leg = Leg { world: 1, batch: 1, threads: 1, fetch_threads: 0, prefetch: 1, steps: 0 };
    let options = options(&leg, 0, bytes, policy);
    match Loader::new(Datasets::one(reader.clone()).unwrap(), options) {
        Ok(_) => bytes,
        Err(error) => {
            assert!(error.to_string().contains("keep no image"), "{error}");
            0
        }
    }
}

fn sorted(samples: &[u64]) -> Vec<u64> {
    let mut samples = samples.to_vec();
    samples.sort_unstable();
    samples
}

/// Returns the number of samples by which a stratum may miss its share in a batch, see
/// `order/mod.rs`.
fn limit(share: f64, n_strata: usize) -> f64 {
    1.0 + share * n_strata.saturating_sub(2) as f64 + 1e-9
}

/// Checks the order and the reads of whole epochs of one rank.
fn check_epochs(
    reader: &Arc<Groups>,
    leg: &Leg,
    bytes: u64,
    policy: CachePolicy,
) -> Result<(), TestCaseError> {
    let alone = Leg { world: 1, ..leg.clone() };
    let mut running = loader(reader, options(&alone, 0, bytes, policy));
    let slots = running.residents();
    let n_slots: u64 = slots.iter().map(|(_, n_slots)| n_slots).sum();
    prop_assert_eq!(slots.iter().map(|it| it.0).collect::<Vec<_>>(), reader.strata());
    for epoch in 0..3 {
        let before = running.stats();
        reader.forget_reads();
        let steps: Vec<Vec<u64>> = samples(&mut running);
        let all = sorted(&steps.concat());
        prop_assert!(all.iter().copied().eq(0..reader.n_samples()), "epoch {}: {:?}", epoch, all);
        let reads = reader.reads();
        let read: BTreeSet<u64> = reads.iter().copied().collect();
        prop_assert_eq!(read.len(), reads.len(), "nothing is read twice");
        let expected = if epoch == 0 { reader.n_samples() } else { reader.n_samples() - n_slots };
        prop_assert_eq!(reads.len() as u64, expected, "epoch {}", epoch);
        let stats = running.stats();
        prop_assert_eq!(stats.reads - before.reads, expected);
        prop_assert_eq!(stats.hits - before.hits, reader.n_samples() - expected);
        prop_assert_eq!(
            stats.strata.clone(),
            reader.strata().iter().map(|len| len * (epoch + 1)).collect::<Vec<_>>()
        );
        prop_assert_eq!(stats.storage_bytes - before.storage_bytes, 3 * expected);
        for step in &steps {
            for (stratum, (len, n_slots)) in slots.iter().enumerate() {
                let rows: Vec<u64> =
                    step.iter().copied().filter(|it| reader.stratum_of(*it) == stratum).collect();
                let share = *len as f64 / reader.n_samples() as f64;
                let off = (rows.len() as f64 - share * step.len() as f64).abs();
                prop_assert!(off <= limit(share, slots.len()), "{off} of stratum {stratum}");
                let hits = rows.iter().filter(|row| !read.contains(row)).count() as f64;
                let due = rows.len() as f64 * *n_slots as f64 / *len as f64;
                if epoch > 0 && policy == CachePolicy::RESIDENT {
                    prop_assert!((hits - due).abs() <= 1.0 + 1e-9, "{hits} hits, {due} are due");
                }
            }
        }
    }
    Ok(())
}

/// An epoch in legs, on any number of ranks, equals the line of an uninterrupted one.
fn check_legs(
    reader: &Arc<Groups>,
    legs: &[Leg],
    epoch: u64,
    bytes: u64,
    policy: CachePolicy,
) -> Result<(), TestCaseError> {
    let single = Leg { world: 1, batch: 1, threads: 2, fetch_threads: 0, prefetch: 3, steps: 0 };
    let mut unbroken = loader(reader, options(&single, 0, bytes, policy));
    unbroken.set_epoch(epoch).unwrap();
    let line: Vec<u64> = samples(&mut unbroken).concat();
    let mut state: Option<State> = None;
    let mut consumed = 0;
    for (number, leg) in legs.iter().enumerate() {
        let rank = |rank| {
            let mut loader = loader(reader, options(leg, rank, bytes, policy));
            loader.set_epoch(epoch).unwrap();
            loader
        };
        let mut ranks: Vec<Loader> = (0..leg.world).map(rank).collect();
        if let Some(state) = &state {
            ranks.iter_mut().for_each(|rank| rank.restore(state).unwrap());
            if ranks[0].epoch() > epoch {
                break;
            }
        }
        let mut steps = 0;
        while number + 1 == legs.len() || steps < leg.steps {
            let batches: Vec<_> = ranks.iter_mut().map(Loader::next_batch).collect();
            if batches.iter().all(Option::is_none) {
                break;
            }
            let mut of_step = Vec::new();
            for batch in batches {
                let batch = batch.expect("all ranks make the same steps").unwrap();
                for (row, sample) in batch.samples().iter().enumerate() {
                    prop_assert_eq!(batch.labels().unwrap()[row], *sample as i64);
                    let pixel = &batch.images()[row * 3..row * 3 + 3];
                    prop_assert_eq!(pixel, [*sample as u8, (*sample >> 8) as u8, 7]);
                }
                of_step.extend_from_slice(batch.samples());
                state = Some(batch.state());
            }
            let end = state.unwrap().consumed as usize;
            prop_assert_eq!(sorted(&of_step), sorted(&line[consumed..end]));
            consumed = end;
            steps += 1;
        }
    }
    prop_assert_eq!(consumed, line.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(
        std::env::var("LOADER_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
    ) })]

    #[test]
    fn every_sample_comes_once_whatever_is_kept(
        strata in prop::collection::vec(prop_oneof![1..40u64, 1..300u64], 1..5),
        share in prop_oneof![Just(0.0), 0.0..1.1f64, Just(1.0)],
        liquid in any::<bool>(),
        epoch in 0..3u64,
        legs in prop::collection::vec(leg(24, 8), 1..5),
    ) {
        let reader = Groups::new(&strata);
        let policy = if liquid { LIQUID } else { CachePolicy::RESIDENT };
        let bytes = kept(&reader, budget(&reader, share), policy);
        prop_assert!(bytes > 0 || share < 1.0);
        check_epochs(&reader, &legs[0], bytes, policy)?;
        check_legs(&reader, &legs, epoch, bytes, policy)?;
    }
}

#[test]
fn two_strata_keep_their_share_within_one_and_a_half() {
    for strata in [[700, 300], [299, 1], [150, 151]] {
        let reader = Groups::new(&strata);
        let leg = Leg { world: 1, batch: 32, threads: 2, fetch_threads: 0, prefetch: 2, steps: 0 };
        for bytes in [0, budget(&reader, 0.3)] {
            let mut running = loader(&reader, options(&leg, 0, bytes, CachePolicy::RESIDENT));
            for step in samples(&mut running) {
                let first = step.iter().filter(|it| reader.stratum_of(**it) == 0).count() as f64;
                let n = reader.n_samples() as f64;
                let share = strata[0] as f64 / n * step.len() as f64;
                assert!((first - share).abs() <= 1.5, "{first} of {share}");
            }
        }
    }
}

/// The meaning of states includes the order of a mixed set with residents, which must never change.
#[test]
fn the_order_of_groups_and_residents_never_changes() {
    let reader = Groups::new(&[7, 5]);
    let leg = Leg { world: 1, batch: 12, threads: 1, fetch_threads: 0, prefetch: 1, steps: 0 };
    let order = |bytes, policy| {
        let mut running = loader(&reader, options(&leg, 0, bytes, policy));
        samples(&mut running).concat()
    };
    let bytes = budget(&reader, 0.5);
    let found = [
        order(0, CachePolicy::RESIDENT),
        order(bytes, CachePolicy::RESIDENT),
        order(bytes, LIQUID),
    ];
    assert_eq!(found, PINNED);
}

const PINNED: [[u64; 12]; 3] = [
    [4, 7, 6, 1, 5, 9, 0, 8, 2, 11, 10, 3],
    [6, 9, 0, 5, 1, 7, 4, 2, 11, 10, 8, 3],
    [11, 9, 0, 7, 3, 5, 2, 8, 10, 6, 4, 1],
];

#[test]
fn what_fits_is_kept_and_no_more() {
    let reader = Groups::new(&[90, 210]);
    let leg = Leg { world: 1, batch: 10, threads: 3, fetch_threads: 2, prefetch: 2, steps: 0 };
    for share in [0.01, 0.3, 0.99, 1.0, 3.0] {
        let bytes = budget(&reader, share);
        let mut running = loader(&reader, options(&leg, 0, bytes, CachePolicy::RESIDENT));
        samples(&mut running);
        reader.forget_reads();
        samples(&mut running);
        let read: BTreeSet<u64> = reader.reads().into_iter().collect();
        let kept = (0..300).filter(|sample| !read.contains(sample));
        let kept_bytes: u64 = kept.map(|sample| reader.size(sample)).sum();
        let all: u64 = (0..300).map(|sample| reader.size(sample)).sum();
        assert!(kept_bytes <= bytes, "{kept_bytes} of {bytes}");
        // Each stratum may leave room for less than its next image.
        assert!(kept_bytes + 2 * 6 >= bytes.min(all), "{kept_bytes} of {bytes}");
        let shares: Vec<f64> =
            running.residents().iter().map(|(len, n)| *n as f64 / *len as f64).collect();
        assert!((shares[0] - shares[1]).abs() < 0.1, "{shares:?}");
    }
}

#[test]
fn states_of_another_cache_are_refused() {
    let reader = Groups::new(&[90, 210]);
    let leg = Leg { world: 1, batch: 10, threads: 1, fetch_threads: 0, prefetch: 1, steps: 0 };
    let of = |share, policy| loader(&reader, options(&leg, 0, budget(&reader, share), policy));
    let mut running = of(0.3, CachePolicy::RESIDENT);
    running.next_batch().unwrap().unwrap();
    let state = running.state();
    of(0.3, CachePolicy::RESIDENT).restore(&state).unwrap();
    for other in [of(0.0, CachePolicy::RESIDENT), of(0.5, CachePolicy::RESIDENT), of(0.3, LIQUID)] {
        let mut other = other;
        let said = other.restore(&state).unwrap_err().to_string();
        assert!(said.contains("size of the cache"), "{said}");
    }
    let mut liquid = of(0.3, LIQUID);
    liquid.next_batch().unwrap().unwrap();
    let state = liquid.state();
    of(0.3, LIQUID).restore(&state).unwrap();
    assert!(of(0.4, LIQUID).restore(&state).is_err());
}

#[test]
fn caches_that_cannot_be_are_refused() {
    let reader = Groups::new(&[9, 4]);
    let leg = Leg { world: 1, batch: 4, threads: 1, fetch_threads: 0, prefetch: 1, steps: 0 };
    let base = || options(&leg, 0, 20, CachePolicy::RESIDENT);
    let refused = |datasets: Datasets, options: Options, words: &str| {
        let said = Loader::new(datasets, options).err().unwrap().to_string();
        assert!(said.contains(words), "{said}");
    };
    let one = || Datasets::one(reader.clone()).unwrap();
    refused(one(), base().sampling(Sampling::Sequential), "the sampling `Shuffle`");
    let windowed = Sampling::Windowed { chunk: 2, window: 4 };
    refused(one(), base().sampling(windowed), "the sampling `Shuffle`");
    let unknown: Arc<dyn Reader> = Groups::new(&[9]).without_sizes();
    refused(Datasets::one(unknown).unwrap(), base(), "groups does not know the size");
    let changing: Arc<dyn Reader> = Groups::new(&[9]).new_every_epoch();
    refused(Datasets::one(changing).unwrap(), base(), "new images in every epoch");
    let weighted = Datasets::weighted(vec![(reader.clone(), 0.5)]).unwrap();
    let liquid = base().cache_policy(LIQUID);
    refused(weighted.clone(), liquid, "no weights");
    assert!(Loader::new(weighted, base()).is_ok());
}

/// Weights hold for each group; a batch in a dataset's own order ignores groups.
#[test]
fn weights_are_shared_among_groups() {
    let reader = Groups::new(&[5, 6, 1]);
    let leg = Leg { world: 1, batch: 7, threads: 2, fetch_threads: 0, prefetch: 1, steps: 0 };
    for (weight, bytes) in [(2.5, 0), (0.3, 0), (2.5, 20), (0.3, 20)] {
        let datasets = Datasets::weighted(vec![(reader.clone(), weight)]).unwrap();
        let options = options(&leg, 0, bytes, CachePolicy::RESIDENT);
        let all = samples(&mut Loader::new(datasets, options).unwrap()).concat();
        assert_eq!(all.len() as f64, (12.0 * weight).round());
        for (stratum, len) in [5.0, 6.0, 1.0].into_iter().enumerate() {
            let n = all.iter().filter(|it| reader.stratum_of(**it) == stratum).count() as f64;
            assert!((n - len * weight).abs() < 1.0);
        }
    }
    let nothing = Datasets::weighted(vec![(reader.clone(), 0.0)]).unwrap();
    let refused = Loader::new(nothing, options(&leg, 0, 20, CachePolicy::RESIDENT)).err().unwrap();
    assert!(refused.to_string().contains("no dataset gives a sample"), "{refused}");
    let straight = options(&leg, 0, 0, CachePolicy::RESIDENT).sampling(Sampling::Sequential);
    let all = samples(&mut loader(&reader, straight)).concat();
    assert!(all.into_iter().eq(0..12));
}
