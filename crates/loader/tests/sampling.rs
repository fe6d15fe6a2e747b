//! Every sampling gives the same global order for any ranks, threads and stops.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{Memory, random_crop};
use cpu_time::ThreadTime;
use fdconvert_core::{Error, Reader, Value};
use fdconvert_loader::{
    Datasets, Last, Loader, Options, SampleList, Sampling, State, Weights, World,
    parts::{Batching, Classes, Order, Place, Steps, Stratum},
};
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};
use xxhash_rust::xxh3::xxh3_64;

const DATASET: u64 = 0x1234;

fn weights(of: &[f64]) -> Weights {
    Weights::new(of.iter().copied()).unwrap()
}

fn balanced(per_class: Option<u64>) -> Sampling {
    Sampling::Balanced { label: "label".into(), per_class }
}

fn weighted(of: &[f64], n: Option<u64>, replacement: bool) -> Sampling {
    Sampling::Weighted { weights: weights(of), n, replacement }
}

/// Every sampling of `n` samples, by these random numbers.
fn samplings(n: u64, numbers: &[u64]) -> Vec<Sampling> {
    let number = |at: u64| numbers[at as usize % numbers.len()];
    let of: Vec<f64> = (0..n).map(|at| (number(at) % 5) as f64 + f64::from(at == 0)).collect();
    let n_positive = of.iter().filter(|weight| **weight > 0.0).count() as u64;
    let list = move |epoch: u64, numbers: &[u64]| {
        numbers.iter().map(|number| (number >> 7 ^ epoch) % n).collect::<Vec<_>>()
    };
    let numbers: Arc<[u64]> = numbers.into();
    vec![
        Sampling::Shuffle,
        Sampling::Sequential,
        Sampling::Windowed { chunk: 3, window: 7 },
        Sampling::Repeated(1 + number(0) % 3),
        weighted(&of, None, true),
        weighted(&of, Some(1 + number(1) % 90), true),
        weighted(&of, None, false),
        weighted(&of, Some(1 + number(2) % n_positive), false),
        Sampling::Order(list(0, &numbers).into()),
        Sampling::Order(SampleList::by_epoch(move |epoch| Ok(list(epoch, &numbers)))),
        balanced(None),
        balanced(Some(1 + number(3) % 20)),
    ]
}

fn order(
    sampling: &Sampling,
    strata: &[Stratum],
    labels: &[i64],
    seed: u64,
    epoch: u64,
) -> fdconvert_core::Result<Order> {
    match sampling {
        Sampling::Balanced { per_class, .. } => {
            let classes = Classes::new(labels.iter().map(|label| Ok(*label)))?;
            Order::balanced(strata.to_vec(), classes, *per_class, seed, epoch)
        }
        sampling => Order::new(strata.to_vec(), sampling, seed, epoch),
    }
}

/// Returns the numbers of the samples at all positions.
fn numbers(order: &Order, strata: &[Stratum]) -> Vec<u64> {
    let before =
        |place: &Place| strata[..place.stratum as usize].iter().map(|it| it.len).sum::<u64>();
    order.iter_from(0).map(|place| before(&place) + place.id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// The order is that of the list made in full, and of what the sampling promises.
    #[test]
    fn orders_are_what_their_samplings_promise(
        lens in prop::collection::vec(1_u64..30, 1..4), seed: u64, epoch in 0_u64..5,
        random in prop::collection::vec(any::<u64>(), 1..60), n_classes in 1_i64..50,
    ) {
        let strata: Vec<Stratum> = lens.into_iter().map(Stratum::whole).collect();
        let n: u64 = strata.iter().map(|it| it.len).sum();
        let labels: Vec<i64> =
            (0..n).map(|at| (random[at as usize % random.len()] >> 5) as i64 % n_classes).collect();
        for sampling in samplings(n, &random) {
            let order = order(&sampling, &strata, &labels, seed, epoch).unwrap();
            let all = numbers(&order, &strata);
            prop_assert_eq!(all.len() as u64, order.len(), "{:?}", sampling);
            prop_assert!((0..order.len()).map(|at| order.at(at).unwrap()).eq(order.iter_from(0)));
            prop_assert_eq!(order.at(order.len()), None);
            prop_assert!(all.iter().all(|number| *number < n));
            let times = |number: u64| all.iter().filter(|it| **it == number).count() as u64;
            match &sampling {
                Sampling::Shuffle | Sampling::Windowed { .. } => {
                    prop_assert!((0..n).all(|number| times(number) == 1));
                }
                Sampling::Sequential => prop_assert!(all.iter().copied().eq(0..n)),
                Sampling::Repeated(each) => {
                    let once = Order::new(strata.clone(), &Sampling::Shuffle, seed, epoch).unwrap();
                    let once = numbers(&once, &strata);
                    let due = once.iter().flat_map(|it| std::iter::repeat_n(*it, *each as usize));
                    prop_assert!(all.iter().copied().eq(due));
                }
                Sampling::Weighted { weights, n: drawn, replacement } => {
                    let positive = |at: u64| random[at as usize % random.len()] % 5 > 0 || at == 0;
                    prop_assert!(all.iter().all(|number| positive(*number)));
                    let usual = if *replacement { weights.len() } else {
                        (0..n).filter(|at| positive(*at)).count() as u64
                    };
                    prop_assert_eq!(order.len(), drawn.unwrap_or(usual));
                    prop_assert!(*replacement || (0..n).all(|number| times(number) <= 1));
                }
                Sampling::Order(list) => {
                    let due: Vec<u64> = match list {
                        SampleList::Fixed(list) => list.to_vec(),
                        SampleList::ByEpoch(list) => list(epoch).unwrap(),
                    };
                    prop_assert_eq!(&all, &due);
                }
                Sampling::Balanced { per_class, .. } => {
                    let classes: BTreeSet<i64> = labels.iter().copied().collect();
                    let n_classes = classes.len();
                    let mean = n.div_ceil(n_classes as u64);
                    prop_assert_eq!(order.len(), per_class.unwrap_or(mean) * n_classes as u64);
                    for turn in all.chunks(n_classes) {
                        let of: BTreeSet<i64> = turn.iter().map(|it| labels[*it as usize]).collect();
                        prop_assert_eq!(&of, &classes);
                    }
                }
            }
        }
    }

    /// The steps of any ranks, through a stop with other ranks and another batch, are the order.
    #[test]
    fn ranks_and_stops_change_nothing(
        n in 1_u64..60, seed: u64, random in prop::collection::vec(any::<u64>(), 1..40),
        worlds in prop::collection::vec((1_u32..4, 1_u32..5, 0_usize..5), 1..4),
    ) {
        let strata = [Stratum::whole(n)];
        let labels: Vec<i64> = (0..n).map(|at| at as i64 % 7).collect();
        for sampling in samplings(n, &random) {
            let order = order(&sampling, &strata, &labels, seed, 1).unwrap();
            let each = if let Sampling::Repeated(each) = sampling { each as u32 } else { 1 };
            let mut state: Option<State> = None;
            let mut seen = Vec::new();
            for (number, (size, per_rank, n_steps)) in worlds.iter().enumerate() {
                let is_last = number + 1 == worlds.len();
                let n_steps = if is_last { usize::MAX } else { *n_steps };
                let after = state;
                let mut of_ranks = Vec::new();
                for rank in 0..*size {
                    let world = World { rank, size: *size };
                    let global_batch = size * per_rank * each;
                    let batching = Batching { global_batch, world, last: Last::Short, uneven: false };
                    let steps = Steps::new(&order, batching).unwrap();
                    let cursor = match after {
                        None => steps.start(DATASET),
                        Some(after) => steps.resume(DATASET, &after).unwrap(),
                    };
                    of_ranks.push(cursor.take(n_steps).collect::<Vec<_>>());
                }
                for at in 0..of_ranks[0].len() {
                    let mut rows = Vec::new();
                    for steps in &of_ranks {
                        prop_assert_eq!(steps[at].state, of_ranks[0][at].state);
                        state = Some(steps[at].state);
                        rows.extend(steps[at].rows.iter().map(|row| row.position));
                    }
                    rows.sort_unstable();
                    seen.extend(rows);
                }
            }
            prop_assert!(seen.iter().copied().eq(0..order.len()), "{:?}", sampling);
        }
    }
}

fn open(readers: &[Arc<dyn Reader>], options: Options) -> fdconvert_core::Result<Loader> {
    let weighted = readers.iter().map(|reader| (reader.clone(), 1.0)).collect();
    Loader::new(Datasets::weighted(weighted)?, options)
}

fn refused(readers: &[Arc<dyn Reader>], options: Options) -> String {
    open(readers, options).map(drop).unwrap_err().to_string()
}

fn two() -> Vec<Arc<dyn Reader>> {
    vec![Memory::new(20), Memory::new(14)]
}

/// Sample and pixels of each row of a global batch.
type Rows = Vec<(u64, u64)>;

fn rows(ranks: &mut [Loader]) -> Option<Rows> {
    let mut rows = Rows::new();
    for rank in ranks {
        let batch = rank.next_batch()?.unwrap();
        let images = batch.images().chunks(batch.shape().row_bytes());
        rows.extend(batch.samples().iter().copied().zip(images.map(xxh3_64)));
    }
    Some(rows)
}

fn of_loaders() -> Vec<Sampling> {
    let of: Vec<f64> = (0..34).map(|at| f64::from(at % 4)).collect();
    vec![
        Sampling::Shuffle,
        Sampling::Repeated(3),
        balanced(None),
        balanced(Some(11)),
        weighted(&of, Some(50), true),
        weighted(&of, None, false),
        Sampling::Order(vec![33, 0, 33, 33, 7, 0, 19, 20, 20, 1, 2, 3, 4, 5].into()),
        Sampling::Order(SampleList::by_epoch(|epoch| {
            Ok((0..20).map(|at| at * epoch % 34).collect())
        })),
    ]
}

#[test]
fn loaders_of_any_ranks_and_threads_make_the_same_batches() {
    let readers = two();
    for sampling in of_loaders() {
        let ranks = |size: u32, threads| -> Vec<Loader> {
            let rank = |rank| {
                let options = random_crop()
                    .batch_size(12 / size)
                    .world(World { rank, size })
                    .threads(threads)
                    .sampling(sampling.clone());
                open(&readers, options).unwrap()
            };
            (0..size).map(rank).collect()
        };
        let unbroken = |mut ranks: Vec<Loader>| -> Vec<Rows> {
            let two_epochs = (0..2).flat_map(|_| {
                let epoch: Vec<Rows> = std::iter::from_fn(|| rows(&mut ranks)).collect();
                // With several ranks the others see the end, too.
                ranks.iter_mut().skip(1).for_each(|rank| assert!(rank.next_batch().is_none()));
                epoch
            });
            two_epochs.collect()
        };
        let expected = unbroken(ranks(1, 1));
        for (size, threads) in [(1, 4), (2, 2), (3, 1)] {
            assert_eq!(unbroken(ranks(size, threads)), expected, "{sampling:?}");
        }
        // A stop after the first batch, with three ranks from there on.
        let mut alone = ranks(1, 2);
        assert_eq!(rows(&mut alone).unwrap(), expected[0]);
        let mut three = ranks(3, 2);
        three.iter_mut().for_each(|rank| rank.restore(&alone[0].state()).unwrap());
        assert_eq!(rows(&mut three).unwrap(), expected[1], "{sampling:?}");
        // Samples that come again have other pixels.
        let n_batches = alone[0].len() as usize;
        let first: Vec<_> = expected[..n_batches].concat();
        let distinct: BTreeSet<_> = first.iter().collect();
        assert_eq!(distinct.len(), first.len(), "{sampling:?}");
        assert_eq!(first.len() as u64, alone[0].n_samples());
    }
}

#[test]
fn classes_are_balanced_by_their_numbers_in_batches() {
    let one = Memory::new(12).with_classes(3, &["cat", "dog", "emu"]);
    let other = Memory::new(5).with_classes(2, &["bird", "cat"]);
    let readers: Vec<Arc<dyn Reader>> = vec![one, other];
    let options = || random_crop().sampling(balanced(Some(6)));
    let mut loader = open(&readers, options()).unwrap();
    let mut times = BTreeMap::<i64, u64>::new();
    for batch in std::iter::from_fn(|| loader.next_batch()) {
        batch.unwrap().labels().unwrap().iter().for_each(|it| *times.entry(*it).or_default() += 1);
    }
    assert_eq!(times, [(0, 6), (1, 6), (2, 6), (3, 6)].into());
    // No labels in batches are needed for it.
    let unlabelled = open(&readers, options().label(fdconvert_loader::Label::None)).unwrap();
    assert_eq!(unlabelled.n_samples(), 24);
}

#[test]
fn what_cannot_be_sampled_is_refused_with_the_cure() {
    let one: Vec<Arc<dyn Reader>> = vec![Memory::new(20)];
    let of = |sampling| refused(&one, random_crop().sampling(sampling));
    let by = |name: &str| Sampling::Balanced { label: name.into(), per_class: None };
    for (sampling, words) in [
        (by("colour"), "memory has no field `colour` of integers: balance it by `label`"),
        (by("image"), "memory has no field `image` of integers"),
        (balanced(Some(0)), "0 samples of each class"),
        (weighted(&[1.0; 19], None, true), "19 weights for 20 samples"),
        (weighted(&[1.0; 20], Some(0), true), "0 draws"),
        (weighted(&[1.0; 20], Some(21), false), "21 draws are more than the 20 samples"),
        (Sampling::Repeated(0), "0 times"),
        (Sampling::Repeated(3), "multiple of 3: take another `batch_size`"),
        (Sampling::Windowed { chunk: 0, window: 1 }, "chunk must hold"),
        (Sampling::Windowed { chunk: 1, window: 0 }, "window must hold"),
        (Sampling::Order(vec![3, 20].into()), "position 1 of the order is sample 20"),
        (Sampling::Order(vec![].into()), "no samples"),
    ] {
        let said = of(sampling);
        assert!(said.starts_with("sampling: ") && said.contains(words), "{said}");
    }
    let texts = Memory::new(4).with_fields(&[("text", Value::Text("a".into()))]);
    let texts: Vec<Arc<dyn Reader>> = vec![texts];
    let options = random_crop().label(fdconvert_loader::Label::None);
    let said = refused(&texts, options.sampling(by("text")));
    assert!(said.contains("it has no field of integers"), "{said}");
    for sampling in of_loaders().into_iter().skip(1) {
        let said =
            refused(&two(), random_crop().batch_size(12).sampling(sampling).cache_bytes(9000));
        assert!(said.contains("needs the sampling `Shuffle`"), "{said}");
    }
    for sampling in of_loaders().into_iter().skip(2) {
        let datasets = Datasets::weighted(two().into_iter().map(|it| (it, 2.0)).collect()).unwrap();
        let options = random_crop().batch_size(12).sampling(sampling);
        let said = Loader::new(datasets, options).err().unwrap().to_string();
        assert!(said.contains("the shares of a mix"), "{said}");
    }
}

#[test]
fn states_of_other_samplings_are_refused() {
    let readers = two();
    let of = |at: u64| f64::from(at as u32 % 4);
    let mut all = of_loaders();
    all.push(weighted(&(0..34).map(|at| of(at + 1)).collect::<Vec<_>>(), Some(50), true));
    all.push(Sampling::Order(vec![1; 14].into()));
    all.push(Sampling::Repeated(4));
    let open = |sampling: &Sampling| {
        open(&readers, random_crop().batch_size(12).sampling(sampling.clone())).unwrap()
    };
    let state = |sampling| {
        let mut loader = open(sampling);
        loader.next_batch().unwrap().unwrap();
        loader.state()
    };
    for (at, one) in all.iter().enumerate() {
        let state = state(one);
        for (other, sampling) in all.iter().enumerate() {
            assert_eq!(open(sampling).restore(&state).is_ok(), at == other, "{one:?} {sampling:?}");
        }
    }
}

#[test]
fn lists_by_epoch_are_made_when_their_epoch_begins() {
    let readers = two();
    let (n_calls, shift) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let list = {
        let (n_calls, shift) = (n_calls.clone(), shift.clone());
        SampleList::by_epoch(move |epoch| {
            n_calls.fetch_add(1, SeqCst);
            match epoch {
                3 => Err(Error::usage("sampling", "no third")),
                4 => Ok(vec![34]),
                5 => Ok(vec![]),
                epoch => Ok((0..epoch + 4).map(|at| at + shift.load(SeqCst)).collect()),
            }
        })
    };
    let new =
        || open(&readers, random_crop().batch_size(4).sampling(Sampling::Order(list.clone())));
    let mut loader = new().unwrap();
    let calls = || n_calls.load(SeqCst);
    let samples = |loader: &mut Loader| -> Vec<u64> {
        let mut all = Vec::new();
        while let Some(batch) = loader.next_batch() {
            all.extend_from_slice(batch.unwrap().samples());
        }
        all
    };
    assert_eq!(calls(), 0);
    assert_eq!((loader.len(), loader.n_samples(), calls()), (1, 4, 1));
    assert_eq!(samples(&mut loader), [0, 1, 2, 3]);
    assert_eq!(calls(), 1);
    // What happens between two epochs still counts.
    shift.store(10, SeqCst);
    let between = loader.state();
    let batch = loader.next_batch().unwrap().unwrap();
    assert_eq!((batch.samples(), calls()), (&[10, 11, 12, 13][..], 2));
    let within = loader.state();
    // A state between epochs is one of any list; one within an epoch of the same.
    new().unwrap().restore(&within).unwrap();
    shift.store(11, SeqCst);
    new().unwrap().restore(&between).unwrap();
    let said = new().unwrap().restore(&within).unwrap_err().to_string();
    assert!(said.contains("sampling"), "{said}");
    for (epoch, words) in [(3, "no third"), (4, "is sample 34"), (5, "no samples")] {
        loader.set_epoch(epoch).unwrap();
        assert_eq!(loader.len(), 0);
        let said = loader.next_batch().unwrap().err().unwrap().to_string();
        assert!(said.contains(words), "{said}");
    }
}

/// Returns the bytes of memory in use, where the system tells them.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or_default() << 10
}

/// Prints the memory of a hundred million samples, and the processor time of a position. Run with
/// `cargo test --release --test sampling -- --ignored --nocapture`.
#[test]
#[ignore = "measures, checks nothing"]
fn what_a_hundred_million_samples_cost() {
    let n = 100_000_000_u64;
    let strata = || vec![Stratum::whole(n)];
    let measure = |name: &str, before: u64, order: &Order| {
        let held = resident().saturating_sub(before);
        let n_calls = 2_000_000;
        let mut sum = 0;
        let start = ThreadTime::now();
        (0..n_calls).for_each(|position| sum ^= order.at(position).unwrap().id);
        let alone = start.elapsed().as_nanos() as f64 / n_calls as f64;
        let start = ThreadTime::now();
        order.iter_from(0).take(n_calls as usize).for_each(|place| sum ^= place.id);
        let iterated = start.elapsed().as_nanos() as f64 / n_calls as f64;
        let bytes = held as f64 / n as f64;
        println!(
            "{name}: {bytes:.2} bytes a sample, {alone:.0} ns at, {iterated:.0} ns next ({sum})"
        );
    };
    measure("shuffle", resident(), &Order::new(strata(), &Sampling::Shuffle, 1, 2).unwrap());
    for n_classes in [2, 10, 1000, 20_000, 1_000_000] {
        let before = resident();
        let start = ThreadTime::now();
        let labels = (0..n).map(|at| Ok((at.wrapping_mul(0x9e37_79b9) >> 7) as i64 % n_classes));
        let classes = Classes::new(labels).unwrap();
        let order = Order::balanced(strata(), classes, None, 1, 2).unwrap();
        println!("{:.1} s to sort by class", start.elapsed().as_secs_f64());
        measure(&format!("balanced, {n_classes} classes"), before, &order);
    }
    for skew in [0, 3, 30] {
        let before = resident();
        let start = ThreadTime::now();
        let weight = |at: u64| f64::from(at.wrapping_mul(0x9e37_79b9) as u32).powi(skew);
        let weights = Weights::new((0..n).map(weight)).unwrap();
        println!("{:.1} s to sum weights", start.elapsed().as_secs_f64());
        let with = Sampling::Weighted { weights: weights.clone(), n: None, replacement: true };
        let order = Order::new(strata(), &with, 1, 2).unwrap();
        measure(&format!("with replacement, weights to the power {skew}"), before, &order);
        let start = ThreadTime::now();
        let without = Sampling::Weighted { weights, n: None, replacement: false };
        let order = Order::new(strata(), &without, 1, 2).unwrap();
        println!("{:.1} s for the list without replacement", start.elapsed().as_secs_f64());
        measure("without replacement", before, &order);
    }
}
