//! Rows for the ranks that own their samples: the global batches of plain training, every sample
//! once, and hardly a read once the caches are full.
//!
//! `LOADER_CASES=10000 cargo test --release -p fdconvert-loader --test locality` tries that number
//! of cases; the default is some hundred.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{
    groups::{Groups, budget},
    legs::{Leg, leg},
    list, transform,
};
use fdconvert_core::Source;
use fdconvert_loader::{
    Batch, CachePolicy, Datasets, Exchange, Last, Loader, Options, Sampling, State, ThreadExchange,
    Transform, World,
    parts::{Batching, Order, Owners, Place, Row, Steps, Stratum, Worker, assign},
    research::LIQUID,
};
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    f64::consts::PI,
    sync::Arc,
};
use xxhash_rust::xxh3::xxh3_64;

const SEED: u64 = 11;

fn cases() -> ProptestConfig {
    let cases = std::env::var("LOADER_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(cases.unwrap_or(100)) }
}

/// Returns options for single pixels.
fn options(batch_size: u32, [rank, size]: [u32; 2], cache_bytes: u64) -> Options {
    Options::default()
        .batch_size(batch_size)
        .seed(SEED)
        .world(World { rank, size })
        .transform(list([Transform::squeeze([1, 1])]))
        .threads(1)
        .cache_bytes(cache_bytes)
        .locality(cache_bytes > 0)
}

/// All ranks of a training, each with a view of the dataset that records its reads.
struct Ranks {
    readers: Vec<Arc<Groups>>,
    loaders: Vec<Loader>,
}

impl Ranks {
    fn new(strata: &[u64], size: u32, options: impl Fn(u32) -> Options) -> Self {
        let readers: Vec<_> = (0..size).map(|_| Groups::new(strata)).collect();
        let loader = |(rank, reader): (u32, &Arc<Groups>)| {
            Loader::new(Datasets::one(reader.clone()).unwrap(), options(rank)).unwrap()
        };
        Self { loaders: (0..).zip(&readers).map(loader).collect(), readers }
    }

    /// Returns the batches of the next step on all ranks; none at the end of the epoch.
    fn step(&mut self) -> Vec<Batch> {
        let batches: Vec<_> = self.loaders.iter_mut().map(Loader::next_batch).collect();
        assert!(batches.iter().all(|it| it.is_some() == batches[0].is_some()));
        batches.into_iter().flatten().map(|batch| batch.unwrap()).collect()
    }

    /// Runs an epoch; returns the assigned and the read samples of each rank.
    fn epoch(&mut self) -> Vec<[Vec<u64>; 2]> {
        self.readers.iter().for_each(|reader| reader.forget_reads());
        let mut dealt = vec![Vec::new(); self.loaders.len()];
        loop {
            let batches = self.step();
            if batches.is_empty() {
                break;
            }
            dealt.iter_mut().zip(&batches).for_each(|(to, it)| to.extend_from_slice(it.samples()));
        }
        dealt.into_iter().zip(&self.readers).map(|(dealt, it)| [dealt, it.reads()]).collect()
    }

    /// Returns the number of reads on all ranks in each of the next epochs.
    fn reads(&mut self, n_epochs: usize) -> Vec<usize> {
        let mut reads = || self.epoch().iter().map(|[_, reads]| reads.len()).sum();
        (0..n_epochs).map(|_| reads()).collect()
    }
}

fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort_unstable();
    items
}

/// Returns the expected part of a global batch that moves, with `rows` rows on each of `ranks`.
fn expected_share(ranks: u32, rows: u32) -> f64 {
    (1.0 - 1.0 / f64::from(ranks)).sqrt() / (2.0 * PI * f64::from(rows)).sqrt()
}

/// Returns the owners of all samples of a stratum.
fn owners_of_all(len: u64, n_caches: u32) -> Owners {
    let mut owners = Owners::new(SEED, n_caches).unwrap();
    owners.add_stratum(len, |_, _| Ok(true)).unwrap();
    owners
}

proptest! {
    #![proptest_config(cases())]

    /// With any world, batch, dataset, seed and epoch, only the assignment of rows changes.
    #[test]
    fn steps_have_the_rows_of_plain_training(
        strata in prop::collection::vec(0..80u64, 1..4),
        resident in 0.0..1.0f64,
        (n_caches, ranks_per_cache) in (1..6u32, 1..4u32),
        per_rank in 1..9u32,
        extra in 0..5u32,
        last in prop_oneof![Just(Last::Drop), Just(Last::Short), Just(Last::Pad)],
        (seed, epoch) in (any::<u64>(), 0..100u64),
        stopped in 0..100u64,
    ) {
        let size = n_caches * ranks_per_cache;
        let global_batch = size * per_rank + extra.min(size - 1);
        let whole = strata.iter().copied().map(Stratum::whole).collect();
        let order = Order::new(whole, &Sampling::Shuffle, seed, epoch).unwrap();
        let mut owners = Owners::new(seed, n_caches).unwrap();
        for len in &strata {
            let mut left = (*len as f64 * resident) as u64;
            let keeps = |_, _| {
                let has_room = left > 0;
                left = left.saturating_sub(1);
                Ok(has_room)
            };
            owners.add_stratum(*len, keeps).unwrap();
        }
        let owners = Arc::new(owners);
        let plain = |rank| {
            let world = World { rank, size };
            Steps::new(&order, Batching { global_batch, world, last, uneven: true }).unwrap()
        };
        let state = State { consumed: stopped.min(order.len()), ..plain(0).start(9).state() };
        let ranks: Vec<_> = (0..size)
            .map(|rank| {
                let dealt = plain(rank).with_owners(order.clone(), owners.clone()).unwrap();
                let [plain, dealt] = [plain(rank), dealt].map(|it| it.resume(9, &state).unwrap());
                (plain.collect::<Vec<_>>(), dealt.collect::<Vec<_>>())
            })
            .collect();
        let dealt = plain(0).with_owners(order.clone(), owners.clone()).unwrap();
        let cursor = dealt.resume(9, &state).unwrap();
        for id in 0..3 {
            let steps = cursor.clone().of_worker(Worker { id, count: 3 }).unwrap();
            prop_assert!(steps.eq(ranks[0].1.iter().skip(id as usize).step_by(3).cloned()));
        }
        for step in 0..ranks[0].0.len() {
            let key = |row: &Row| (row.position, row.valid);
            let plain = ranks.iter().flat_map(|(plain, _)| plain[step].rows.iter().map(key));
            let dealt = ranks.iter().flat_map(|(_, dealt)| dealt[step].rows.iter().map(key));
            prop_assert_eq!(sorted(plain), sorted(dealt));
            for (plain, dealt) in &ranks {
                let (plain, dealt) = (&plain[step], &dealt[step]);
                prop_assert_eq!((plain.rows.len(), plain.state), (dealt.rows.len(), dealt.state));
                prop_assert_eq!(plain.index, dealt.index);
            }
        }
    }

    /// An epoch in legs, each with another world and batch, has the line of plain training.
    #[test]
    fn an_epoch_resumes_with_any_world(
        strata in prop::collection::vec(1..120u64, 1..4),
        share in prop_oneof![0.05..1.0f64, Just(1.5)],
        epoch in 0..3u64,
        legs in prop::collection::vec(leg(24, 8), 1..5),
    ) {
        let reader = Groups::new(&strata);
        let mut plain = Ranks::new(&strata, 1, |_| options(1, [0, 1], 0));
        plain.loaders[0].set_epoch(epoch).unwrap();
        let line = plain.epoch()[0][0].clone();
        let mut state: Option<State> = None;
        let mut consumed = 0;
        for (number, leg) in legs.iter().enumerate() {
            let bytes = (budget(&reader, share) / u64::from(leg.world)).max(1);
            let mut ranks = Ranks::new(&strata, leg.world, |rank| options(leg.batch, [rank, leg.world], bytes).threads(leg.threads).fetch_threads(leg.fetch_threads).prefetch(leg.prefetch));
            for loader in &mut ranks.loaders {
                loader.set_epoch(epoch).unwrap();
                state.iter().for_each(|state| loader.restore(state).unwrap());
            }
            if ranks.loaders[0].epoch() > epoch {
                break;
            }
            let Leg { steps, .. } = leg;
            let mut left = if number + 1 == legs.len() { usize::MAX } else { *steps };
            while left > 0 {
                let batches = ranks.step();
                let Some(batch) = batches.first() else { break };
                let end = batch.state().consumed as usize;
                prop_assert!(batches.iter().all(|it| it.state() == batch.state()));
                let dealt = batches.iter().flat_map(|batch| batch.samples().iter().copied());
                let due = line[consumed..end].iter().copied();
                prop_assert_eq!(sorted(dealt), sorted(due));
                (consumed, state, left) = (end, Some(batch.state()), left - 1);
            }
        }
        prop_assert_eq!(consumed, line.len());
    }

    /// No cache exceeds its budget, and its owner never reads a kept sample again.
    #[test]
    fn each_rank_keeps_what_it_owns_within_its_budget(
        strata in prop::collection::vec(1..150u64, 1..4),
        share in 0.02..1.2f64,
        size in 1..5u32,
        batch in 1..20u32,
    ) {
        let reader = Groups::new(&strata);
        let bytes = (budget(&reader, share) / u64::from(size)).max(1);
        let mut ranks = Ranks::new(&strata, size, |rank| options(batch, [rank, size], bytes));
        let kept_in_all: u64 = ranks.loaders[0].residents().iter().map(|it| it.1).sum();
        let mut of_all = BTreeSet::new();
        let mut of_ranks = vec![BTreeSet::new(); size as usize];
        for _ in 0..4 {
            for (hits, [dealt, reads]) in of_ranks.iter_mut().zip(ranks.epoch()) {
                let reads: BTreeSet<u64> = reads.into_iter().collect();
                hits.extend(dealt.into_iter().filter(|sample| !reads.contains(sample)));
            }
        }
        for hits in of_ranks {
            let n_bytes: u64 = hits.iter().map(|sample| reader.size(*sample)).sum();
            prop_assert!(n_bytes <= bytes, "{n_bytes} of {bytes}");
            for sample in hits {
                prop_assert!(of_all.insert(sample), "two ranks keep sample {sample}");
            }
        }
        prop_assert!(of_all.len() as u64 <= kept_in_all);
        if size == 1 {
            prop_assert_eq!(of_all.len() as u64, kept_in_all);
        }
    }
}

/// Crops, flips and augmentations belong to the sample: on any rank its pixels are those of plain
/// training.
#[test]
fn samples_have_the_pixels_of_plain_training() {
    let reader = common::Memory::new(90);
    let base = common::random_and([transform("{\"TrivialAugmentWide\": {}}")]).seed(5);
    let batches = |loaders: &mut [Loader]| {
        let mut steps = Vec::new();
        loop {
            let batches: Vec<_> = loaders.iter_mut().filter_map(Loader::next_batch).collect();
            let mut seen = BTreeMap::new();
            for batch in batches {
                let batch = batch.unwrap();
                let row_bytes = batch.images().len() / batch.len().max(1);
                for (row, sample) in batch.samples().iter().enumerate() {
                    let pixels = &batch.images()[row * row_bytes..][..row_bytes];
                    let label = batch.labels().unwrap()[row];
                    let twice = seen.insert(*sample, (xxh3_64(pixels), label));
                    assert!(twice.is_none(), "sample {sample} twice in a step");
                }
            }
            if seen.is_empty() {
                return steps;
            }
            steps.push(seen);
        }
    };
    let mut plain = [common::loader(&reader, base.clone().batch_size(24))];
    let epochs: Vec<_> = (0..3).map(|_| batches(&mut plain)).collect();
    assert_eq!(epochs[0].iter().map(BTreeMap::len).sum::<usize>(), 90);
    assert_ne!(epochs[0][0].values().next(), epochs[1][0].values().next());
    for size in [1, 2, 3, 4, 8] {
        let rank = |rank| {
            let world = World { rank, size };
            let batch = 24 / size;
            let cache_bytes = 200_000 / u64::from(size);
            let options =
                base.clone().batch_size(batch).world(world).cache_bytes(cache_bytes).locality(true);
            common::loader(&reader, options)
        };
        let mut ranks: Vec<Loader> = (0..size).map(rank).collect();
        assert_eq!(ranks[0].residents(), [(90, 90)]);
        for epoch in &epochs {
            assert_eq!(&batches(&mut ranks), epoch, "{size} ranks");
        }
        let moved: u64 = ranks.iter().map(|rank| rank.stats().moved).sum();
        assert_eq!(moved > 0, size > 1, "otherwise rows were not dealt at all");
    }
}

/// A rank reads only rows that moved, and those of its own that it has not had yet.
#[test]
fn once_the_caches_are_full_only_moved_rows_are_read() {
    const SIZE: u32 = 8;
    const N_SAMPLES: u64 = 4096;
    let owners = owners_of_all(N_SAMPLES, SIZE);
    let bytes = budget(&Groups::new(&[N_SAMPLES]), 1.1 / f64::from(SIZE));
    let mut ranks = Ranks::new(&[N_SAMPLES], SIZE, |rank| options(64, [rank, SIZE], bytes));
    assert_eq!(ranks.loaders[0].residents(), [(N_SAMPLES, N_SAMPLES)]);
    let mut kept = vec![BTreeSet::new(); SIZE as usize];
    let (mut n_moved, mut n_rows) = (0, 0);
    for epoch in 0..6 {
        let before: Vec<u64> = ranks.loaders.iter().map(|it| it.stats().moved).collect();
        for (rank, [dealt, reads]) in ranks.epoch().into_iter().enumerate() {
            let owner = |id: &u64| owners.of(Place { stratum: 0, id: *id }).unwrap().cache;
            let (own, moved): (Vec<u64>, Vec<u64>) =
                dealt.iter().copied().partition(|id| owner(id) as usize == rank);
            let new = own.iter().copied().filter(|id| kept[rank].insert(*id));
            assert_eq!(sorted(reads), sorted(new.chain(moved.iter().copied())), "epoch {epoch}");
            let counted = ranks.loaders[rank].stats().moved - before[rank];
            assert_eq!(counted, moved.len() as u64);
            n_moved += moved.len();
            n_rows += dealt.len();
        }
    }
    // The mean of 48 steps varies by 3 percent.
    let (found, expected) = (n_moved as f64 / n_rows as f64, expected_share(SIZE, 64));
    assert!(found < 1.1 * expected, "{found}, {expected} expected");
    assert!(found > 0.8 * expected, "{found}, {expected} expected");
}

/// ImageNet on 256 ranks of 128 rows: 3.5 percent move.
#[test]
fn few_rows_move_at_scale() {
    const SIZE: u32 = 256;
    const N_SAMPLES: u64 = 1_281_167;
    let order = Order::new(vec![Stratum::whole(N_SAMPLES)], &Sampling::Shuffle, SEED, 3).unwrap();
    let owners = owners_of_all(N_SAMPLES, SIZE);
    let shares = vec![128; SIZE as usize];
    let (mut n_moved, mut n_rows) = (0, 0);
    for step in 0..8 {
        let places = order.iter_from(step * 128 * u64::from(SIZE));
        let cache = |place| owners.of(place).map(|slot| slot.cache);
        let of_rows: Vec<_> = places.take(128 * SIZE as usize).map(cache).collect();
        n_moved += assign(&of_rows, &shares).moved.len();
        n_rows += of_rows.len();
    }
    let (found, expected) = (n_moved as f64 / n_rows as f64, expected_share(SIZE, 128));
    assert!((expected - 0.0352).abs() < 1e-4);
    assert!(found < 0.036, "{found}, {expected} expected");
}

/// Four ranks train, one is lost: three resume, and the epoch has each sample once.
#[test]
fn a_smaller_world_completes_the_epoch() {
    let strata = [50, 31];
    let bytes = budget(&Groups::new(&strata), 0.3);
    let mut four = Ranks::new(&strata, 4, |rank| options(3, [rank, 4], bytes));
    four.epoch();
    let mut seen: Vec<u64> = Vec::new();
    let mut state = None;
    for batch in (0..3).flat_map(|_| four.step()) {
        seen.extend_from_slice(batch.samples());
        state = Some(batch.state());
    }
    assert_eq!(seen.len(), 36);
    let mut three = Ranks::new(&strata, 3, |rank| options(5, [rank, 3], bytes));
    three.loaders.iter_mut().for_each(|it| it.restore(&state.unwrap()).unwrap());
    assert_eq!(three.loaders[0].epoch(), 1);
    seen.extend(three.epoch().into_iter().flat_map(|[dealt, _]| dealt));
    assert!(sorted(seen).into_iter().eq(0..81));
}

/// States are those of a run without a cache, for any caches.
#[test]
fn a_run_resumes_with_and_without_locality() {
    let strata = [60, 21];
    let run =
        |size, bytes| Ranks::new(&strata, size, |rank| options(6 / size, [rank, size], bytes));
    let mut runs = [run(1, 0), run(2, 40), run(3, 90), run(3, 1)];
    let states: Vec<State> = runs.iter_mut().map(|it| it.step()[0].state()).collect();
    assert!(states.iter().all(|state| *state == states[0]));
    runs[0].loaders[0].stop();
    let rest = sorted(run_from(run(1, 0), &states[1]));
    assert_eq!(rest.len(), 75);
    assert_eq!(rest, sorted(run_from(run(3, 200), &states[0])));
}

fn run_from(mut ranks: Ranks, state: &State) -> Vec<u64> {
    ranks.loaders.iter_mut().for_each(|it| it.restore(state).unwrap());
    ranks.epoch().into_iter().flat_map(|[dealt, _]| dealt).collect()
}

/// Ranks of one machine that share a folder with room for all samples read the dataset once.
#[test]
fn ranks_that_share_a_folder_read_every_sample_once() {
    let all = budget(&Groups::new(&[300]), 1.0);
    for size in [1, 3, 8] {
        for (locality, ranks_per_cache) in [(false, 1), (true, size), (true, 1)] {
            let root = tempfile::tempdir().unwrap();
            let mut ranks = Ranks::new(&[300], size, |rank| {
                options(5, [rank, size], all)
                    .cache_folder(Some(root.path().join("cache")))
                    .locality(locality)
                    .ranks_per_cache(ranks_per_cache)
            });
            assert_eq!(ranks.reads(4), [300, 0, 0, 0], "{size} ranks, locality {locality}");
            assert!(ranks.loaders.iter().all(|it| it.stats().not_kept == 0));
            let moved: u64 = ranks.loaders.iter().map(|it| it.stats().moved).sum();
            assert_eq!(moved > 0, locality && ranks_per_cache < size);
        }
    }
}

/// Two machines of four ranks, each with a folder for half of the dataset.
#[test]
fn machines_own_samples_together() {
    let roots = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let bytes = budget(&Groups::new(&[2000]), 0.55);
    let mut ranks = Ranks::new(&[2000], 8, |rank| {
        options(25, [rank, 8], bytes)
            .cache_folder(Some(roots[rank as usize / 4].path().join("cache")))
            .ranks_per_cache(4)
    });
    assert_eq!(ranks.loaders[0].residents(), [(2000, 2000)]);
    let reads = ranks.reads(5);
    assert_eq!(reads[0], 2000);
    // A machine has 100 rows.
    let due = 2000.0 * expected_share(2, 100);
    assert!(reads[2..].iter().all(|n| (*n as f64) < 2.0 * due), "{reads:?}, {due} expected");
    let copies = |root: &tempfile::TempDir| {
        let folder = std::fs::read_dir(root.path().join("cache")).unwrap().next().unwrap();
        std::fs::read_dir(folder.unwrap().path()).unwrap().count()
    };
    assert!(roots.iter().map(copies).all(|n| n <= 1000), "each keeps its own");
}

/// The table of the guide, `docs/guide/rank-caches.md`: reads on all ranks in each epoch.
#[test]
fn reads_are_as_in_the_guide() {
    let all = budget(&Groups::new(&[8192]), 1.1);
    let mut table = Vec::new();
    for size in [1, 4, 8] {
        for way in ["no", "yes", "yes, with `exchange`"] {
            let bytes = all / u64::from(size);
            let exchanges = ThreadExchange::of_ranks(size).into_iter();
            let exchanges: Vec<Arc<dyn Exchange>> =
                exchanges.map(|it| Arc::new(it) as Arc<dyn Exchange>).collect();
            let mut ranks = Ranks::new(&[8192], size, |rank| {
                options(64, [rank, size], bytes)
                    .locality(way != "no")
                    .exchange(way.contains("exchange").then(|| exchanges[rank as usize].clone()))
            });
            table.push((size, way, ranks.reads(4)));
        }
    }
    let guide = std::fs::read_to_string("../../docs/guide/rank-caches.md").unwrap();
    let line = |(size, way, reads): (u32, &str, Vec<usize>)| {
        let reads: Vec<String> = reads.iter().map(ToString::to_string).collect();
        format!("| {size} | {way} | {} |\n", reads.join(" | "))
    };
    let lines: String = table.into_iter().map(line).collect();
    assert!(guide.contains(&lines), "not in the guide:\n{lines}");
}

#[test]
fn caches_that_cannot_own_samples_are_refused() {
    let reader = Groups::new(&[30]);
    let base = || options(2, [0, 4], 20);
    let folder = Some("never-made".into());
    let cases = [
        (base().cache_bytes(0), "locality"),
        (base().cache_policy(LIQUID), "cache_policy"),
        (base().sampling(Sampling::Sequential), "cache_bytes"),
        (base().ranks_per_cache(2), "cache_folder"),
        (base().ranks_per_cache(0), "ranks_per_cache"),
        (base().ranks_per_cache(3).cache_folder(folder.clone()), "divisor of 4"),
        (base().ranks_per_cache(2).locality(false).cache_folder(folder), "locality"),
    ];
    for (options, words) in cases {
        let said = Loader::new(Datasets::one(reader.clone()).unwrap(), options).err().unwrap();
        assert!(said.to_string().contains(words), "{said}, not {words}");
    }
    assert_eq!(base().cache_policy, CachePolicy::RESIDENT);
    let order = Order::new(vec![Stratum::whole(reader.len())], &Sampling::Shuffle, 1, 0).unwrap();
    let batching =
        Batching { global_batch: 8, world: World::ALONE, last: Last::Drop, uneven: false };
    let steps = Steps::new(&order, batching).unwrap();
    let said = steps.with_owners(order, Arc::new(owners_of_all(30, 2))).err().unwrap();
    assert!(said.to_string().contains("equally"), "{said}");
}
