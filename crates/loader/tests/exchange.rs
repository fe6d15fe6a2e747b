//! Samples of moved rows from the ranks that own them: the batches of plain training, each sample
//! read once by all ranks together, and only additional reads after failures.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::Memory;
use fdconvert_core::Source;
use fdconvert_loader::{Batch, Datasets, Exchange, Loader, Options, Stats, ThreadExchange, World};
use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, PoisonError},
    thread,
};
use xxhash_rust::xxh3::xxh3_64;

const N_SAMPLES: u64 = 250;
const GLOBAL_BATCH: u32 = 24;

/// Pixels and label of each sample in a step.
type Step = BTreeMap<u64, (u64, i64)>;

fn base() -> Options {
    let augment = common::transform("{\"TrivialAugmentWide\": {}}");
    common::random_and([augment]).seed(5).batch_size(GLOBAL_BATCH)
}

/// Fault of a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Flips every bit of the answers' last bytes.
    WrongAnswers,
    /// Fails from that call on.
    Gone(u64),
    /// Damages only that call.
    Garbled(u64),
    Panic(u64),
}

#[derive(Debug)]
struct Faulty {
    fault: Fault,
    calls: Mutex<(u64, Option<Arc<ThreadExchange>>)>,
}

impl Exchange for Faulty {
    fn all_to_all(&self, mut messages: Vec<Vec<u8>>) -> io::Result<Vec<Vec<u8>>> {
        let (call, exchange) = {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.0 += 1;
            if matches!(self.fault, Fault::Gone(at) | Fault::Panic(at) if at == calls.0) {
                calls.1 = None;
            }
            (calls.0, calls.1.clone())
        };
        let is_answer = call % 2 == 0;
        match self.fault {
            Fault::WrongAnswers if is_answer => {
                messages.iter_mut().for_each(|message| *message.last_mut().unwrap() ^= 0xff);
            }
            Fault::Garbled(at) if at == call => messages.iter_mut().for_each(|it| it.truncate(9)),
            Fault::Panic(at) if at == call => panic!("told to panic"),
            _ => {}
        }
        exchange.ok_or(io::ErrorKind::TimedOut)?.all_to_all(messages)
    }
}

/// All ranks of a training over one dataset, which counts its reads.
struct Ranks {
    reader: Arc<Memory>,
    loaders: Vec<Loader>,
}

impl Ranks {
    fn new(size: u32, faults: &[(u32, Fault)], change: impl Fn(Options) -> Options) -> Self {
        let reader = Memory::new(N_SAMPLES);
        let loader = |(exchange, rank): (ThreadExchange, u32)| {
            let fault = faults.iter().find(|(at, _)| *at == rank).map_or(Fault::None, |it| it.1);
            let calls = Mutex::new((0, Some(Arc::new(exchange))));
            let options = change(
                base()
                    .batch_size(GLOBAL_BATCH / size)
                    .world(World { rank, size })
                    .cache_bytes(800_000 / u64::from(size))
                    .locality(true)
                    .exchange(Some(Arc::new(Faulty { fault, calls }))),
            );
            Loader::new(Datasets::one(reader.clone()).unwrap(), options).unwrap()
        };
        let loaders: Vec<_> =
            ThreadExchange::of_ranks(size).into_iter().zip(0..).map(loader).collect();
        assert_eq!(loaders[0].residents(), [(N_SAMPLES, N_SAMPLES)]);
        Self { reader, loaders }
    }

    /// Runs up to `n_steps` steps of an epoch, on all ranks at once.
    fn steps(&mut self, n_steps: usize) -> Vec<Step> {
        let of_ranks: Vec<Vec<Step>> = thread::scope(|scope| {
            let take = |loader| scope.spawn(move || steps_of(loader, n_steps));
            let threads: Vec<_> = self.loaders.iter_mut().map(take).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        together(of_ranks)
    }

    fn epoch(&mut self) -> Vec<Step> {
        self.steps(usize::MAX)
    }

    fn sum(&self, of: fn(&Stats) -> u64) -> u64 {
        self.loaders.iter().map(|loader| of(&loader.stats())).sum()
    }

    fn failures(&self) -> Vec<String> {
        self.loaders.iter().filter_map(Loader::exchange_failure).collect()
    }
}

fn step(batch: &Batch) -> Step {
    let row_bytes = batch.images().len() / batch.len().max(1);
    let rows = batch.samples().iter().zip(batch.labels().unwrap()).enumerate();
    let row = |(row, (sample, label)): (usize, (&u64, &i64))| {
        (*sample, (xxh3_64(&batch.images()[row * row_bytes..][..row_bytes]), *label))
    };
    rows.map(row).collect()
}

fn steps_of(loader: &mut Loader, n_steps: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    while steps.len() < n_steps
        && let Some(batch) = loader.next_batch()
    {
        steps.push(step(&batch.unwrap()));
    }
    steps
}

/// Joins the steps of all ranks.
fn together(of_ranks: Vec<Vec<Step>>) -> Vec<Step> {
    let mut all = vec![Step::new(); of_ranks[0].len()];
    for steps in of_ranks {
        assert_eq!(steps.len(), all.len(), "all ranks make the same number of steps");
        for (all, step) in all.iter_mut().zip(steps) {
            let n_before = all.len() + step.len();
            all.extend(step);
            assert_eq!(all.len(), n_before, "a sample comes twice in a step");
        }
    }
    all
}

/// Runs epochs of one rank without a cache.
fn plain(n_epochs: u64) -> Vec<Vec<Step>> {
    let mut loader = common::loader(&Memory::new(N_SAMPLES), base());
    (0..n_epochs).map(|_| steps_of(&mut loader, usize::MAX)).collect()
}

#[test]
fn batches_are_those_of_plain_training_and_every_sample_is_read_once() {
    let plain = plain(4);
    for size in [1, 2, 3, 8] {
        for fetch_threads in [0, 2] {
            let mut ranks = Ranks::new(size, &[], |options| options.fetch_threads(fetch_threads));
            for epoch in &plain {
                assert_eq!(&ranks.epoch(), epoch, "{size} ranks");
                assert_eq!(ranks.reader.n_reads(), N_SAMPLES, "{size} ranks");
            }
            let moved = ranks.sum(|stats| stats.moved);
            assert_eq!(moved > 0, size > 1, "otherwise there was nothing to exchange");
            assert_eq!(ranks.sum(|stats| stats.exchanged), moved);
            assert_eq!(ranks.sum(|stats| stats.exchanged_bytes) > moved, size > 1);
            assert_eq!(ranks.sum(|stats| stats.not_exchanged), 0);
            assert_eq!(ranks.sum(|stats| stats.reads), N_SAMPLES);
            assert_eq!(ranks.failures(), [""; 0]);
        }
    }
}

/// Ranks at different steps also serve each other's requests: here each takes a whole epoch before
/// the next one begins it.
#[test]
fn ranks_may_stand_at_different_steps() {
    let mut ranks = Ranks::new(3, &[], |options| options);
    for epoch in plain(2) {
        let one = |loader| steps_of(loader, usize::MAX);
        assert_eq!(together(ranks.loaders.iter_mut().map(one).collect()), epoch);
    }
    assert_eq!(ranks.reader.n_reads(), N_SAMPLES);
    assert_eq!(ranks.sum(|stats| stats.not_exchanged), 0);
}

/// A loop that ends an epoch early ends at the same batch on all ranks, but each is ahead of it by
/// another number of steps.
#[test]
fn epochs_may_end_early() {
    let plain = plain(5);
    let mut ranks = Ranks::new(3, &[], |options| options.prefetch(1));
    for (number, n_steps) in [(0, 1), (1, 8), (2, 5), (4, 3), (0, 6), (3, 99)] {
        ranks.loaders.iter_mut().for_each(|loader| loader.set_epoch(number).unwrap());
        let due = &plain[number as usize];
        assert_eq!(ranks.steps(n_steps), due[..n_steps.min(due.len())]);
    }
    assert_eq!(ranks.sum(|stats| stats.not_exchanged), 0);
    assert_eq!(ranks.failures(), [""; 0]);
}

/// A run resumes with other ranks, with and without an exchange.
#[test]
fn an_epoch_resumes_with_other_ranks() {
    let plain = plain(1);
    let mut four = Ranks::new(4, &[], |options| options);
    assert_eq!(four.steps(2), plain[0][..2]);
    let state = four.loaders[3].state();
    drop(four);
    let mut three = Ranks::new(3, &[], |options| options);
    three.loaders.iter_mut().for_each(|loader| loader.restore(&state).unwrap());
    assert_eq!(three.epoch(), plain[0][2..]);
    assert_eq!(three.sum(|stats| stats.not_exchanged), 0);
    let mut two = Ranks::new(2, &[], |options| options.exchange(None));
    two.loaders.iter_mut().for_each(|loader| loader.restore(&state).unwrap());
    assert_eq!(two.epoch(), plain[0][2..]);
    assert_eq!(two.sum(|stats| stats.exchanged + stats.not_exchanged), 0);
}

#[test]
fn wrong_bytes_cost_reads_only() {
    let plain = plain(3);
    let mut ranks = Ranks::new(3, &[(1, Fault::WrongAnswers)], |options| options);
    for epoch in &plain {
        assert_eq!(&ranks.epoch(), epoch);
    }
    let lost = ranks.sum(|stats| stats.not_exchanged);
    assert!(lost > 0, "rank 1 owns nothing that moved");
    // The rank that needs a missing sample reads it, in addition to its owner.
    assert_eq!(ranks.reader.n_reads(), N_SAMPLES + lost);
    assert_eq!(ranks.sum(|stats| stats.exchanged) + lost, ranks.sum(|stats| stats.moved));
    assert_eq!(ranks.failures(), [""; 0]);
}

#[test]
fn a_rank_that_is_gone_costs_reads_only() {
    let plain = plain(3);
    for fault in [Fault::Gone(1), Fault::Gone(6), Fault::Garbled(5), Fault::Panic(6)] {
        let mut ranks = Ranks::new(4, &[(2, fault)], |options| options);
        for epoch in &plain {
            assert_eq!(&ranks.epoch(), epoch, "{fault:?}");
        }
        let lost = ranks.sum(|stats| stats.not_exchanged);
        assert!(lost > 0, "{fault:?}");
        assert_eq!(ranks.sum(|stats| stats.exchanged) + lost, ranks.sum(|stats| stats.moved));
        let failures = ranks.failures();
        assert!(!failures.is_empty(), "{fault:?}: no one missed a sample");
        let said = ["rank 2 is gone", "timed out", "something else", "has closed", "panicked"];
        for failure in failures {
            assert!(said.iter().any(|said| failure.contains(said)), "{fault:?}: {failure}");
        }
    }
}

#[test]
fn a_closed_loader_is_missed_by_the_others() {
    let plain = plain(3);
    let mut ranks = Ranks::new(3, &[], |options| options);
    assert_eq!(ranks.epoch(), plain[0]);
    drop(ranks.loaders.pop());
    let of_two = ranks.epoch();
    assert!(
        of_two
            .iter()
            .zip(&plain[1])
            .all(|(two, all)| two.iter().all(|(sample, row)| all[sample] == *row))
    );
    assert!(ranks.sum(|stats| stats.not_exchanged) > 0);
    assert_eq!(ranks.failures()[0], "rank 2 has closed its loader");
}

#[test]
fn ranks_that_load_something_else_are_told() {
    let mut ranks = Ranks::new(2, &[], |options| {
        let seed = options.seed + u64::from(options.world.rank);
        options.seed(seed)
    });
    let n_rows: usize = ranks.loaders.iter_mut().map(|loader| common::epoch(loader).len()).sum();
    assert!(n_rows > 0);
    let failures = ranks.failures();
    assert!(failures.iter().any(|it| it.contains("another seed")), "{failures:?}");
}

#[test]
fn what_does_not_fit_is_read_from_storage() {
    let plain = plain(2);
    let mut ranks = Ranks::new(3, &[], |options| options.ahead_bytes(1));
    for epoch in &plain {
        assert_eq!(&ranks.epoch(), epoch);
    }
    assert_eq!(ranks.sum(|stats| stats.exchanged), 0);
    assert_eq!(ranks.sum(|stats| stats.not_exchanged), ranks.sum(|stats| stats.moved));
    assert_eq!(ranks.failures(), [""; 0]);
}

/// Two machines of two ranks each, with a folder on each; with room for all samples, a folder also
/// keeps those from the other machine.
#[test]
fn machines_with_folders_read_every_sample_once() {
    for (cache_bytes, keeps_all) in [(180_000, false), (1_000_000, true)] {
        let folder = tempfile::tempdir().unwrap();
        let mut ranks = Ranks::new(4, &[], |options| {
            let machine = options.world.rank / 2;
            let cache_folder = Some(folder.path().join(machine.to_string()));
            options.cache_folder(cache_folder).cache_bytes(cache_bytes).ranks_per_cache(2)
        });
        for epoch in plain(5) {
            assert_eq!(ranks.epoch(), epoch);
        }
        assert_eq!(ranks.reader.n_reads(), N_SAMPLES);
        assert_eq!(ranks.sum(|it| it.not_exchanged), 0);
        let [moved, exchanged] = [ranks.sum(|it| it.moved), ranks.sum(|it| it.exchanged)];
        assert!(exchanged > 0, "{exchanged} of {moved}");
        assert_eq!(exchanged < moved, keeps_all, "{exchanged} of {moved}");
    }
}

#[test]
fn samples_that_fail_do_so_where_they_are_shown() {
    let reader = Memory::new(N_SAMPLES).broken(&[7]);
    assert_eq!(reader.len(), N_SAMPLES);
    let exchanges = ThreadExchange::of_ranks(2).into_iter().zip(0..);
    let mut loaders: Vec<Loader> = exchanges
        .map(|(exchange, rank)| {
            let options = base()
                .world(World { rank, size: 2 })
                .batch_size(1)
                .cache_bytes(400_000)
                .locality(true)
                .exchange(Some(Arc::new(exchange)))
                .failures(fdconvert_loader::Failures {
                    on_error: fdconvert_loader::OnError::Skip,
                    ..Default::default()
                });
            common::loader(&reader, options)
        })
        .collect();
    let invalid: usize = thread::scope(|scope| {
        let take = |loader| scope.spawn(move || common::epoch(loader));
        let threads: Vec<_> = loaders.iter_mut().map(take).collect();
        let seen = threads.into_iter().flat_map(|thread| thread.join().unwrap());
        seen.flat_map(|it| it.valid).filter(|valid| !valid).count()
    });
    assert_eq!(invalid, 1);
}

#[test]
fn an_exchange_without_owners_is_refused() {
    let refused = |options: Options| {
        let reader = Memory::new(N_SAMPLES);
        let said = Loader::new(Datasets::one(reader).unwrap(), options).err().unwrap();
        said.to_string()
    };
    let exchange: Arc<dyn Exchange> = Arc::new(ThreadExchange::of_ranks(1).remove(0));
    let with = base().exchange(Some(exchange)).cache_bytes(1000);
    assert!(refused(with.clone()).contains("locality"));
    assert!(refused(with.locality(true).ahead_bytes(0)).contains("ahead_bytes"));
}
