//! The guarantees for training: each sample once, over all ranks, through every stop.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]
use fdconvert_loader::{
    Last, Sampling, State, World,
    parts::{Batching, Cursor, Order, Place, Row, Step, Steps, Stratum, Worker},
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Instant;

const DATASET: u64 = 0x1234;

/// One process group's part of an epoch: its batching, and the number of steps before it stops.
#[derive(Debug, Clone)]
struct Run {
    global_batch: u32,
    world_size: u32,
    n_workers: u32,
    n_steps: usize,
}

fn strata() -> impl Strategy<Value = Vec<Stratum>> {
    let exact = (0_u64..30).prop_map(Stratum::whole);
    let drawn = (1_u64..20, 0_u64..45).prop_map(|(len, count)| Stratum { len, count });
    prop::collection::vec(prop_oneof![exact, drawn], 0..5)
}

fn sampling() -> impl Strategy<Value = Sampling> {
    let windowed = (1_u64..12, 1_u64..20);
    prop_oneof![
        Just(Sampling::Shuffle),
        Just(Sampling::Sequential),
        windowed.prop_map(|(chunk, window)| Sampling::Windowed { chunk, window }),
    ]
}

fn last() -> impl Strategy<Value = Last> {
    prop_oneof![Just(Last::Drop), Just(Last::Short), Just(Last::Pad)]
}

/// Generates a world and a batch that it can share, evenly or not.
fn run() -> impl Strategy<Value = Run> {
    let batch = prop_oneof![(1_u32..5).prop_map(|per_rank| (per_rank, 0)), (1_u32..5, 0_u32..4)];
    let sizes = (1_u32..5, batch, 1_u32..4, 0_usize..6);
    sizes.prop_map(|(world_size, (per_rank, extra), n_workers, n_steps)| Run {
        global_batch: world_size * per_rank + extra % world_size,
        world_size,
        n_workers,
        n_steps,
    })
}

fn cursors(order: &Order, run: &Run, last: Last, state: Option<State>) -> Vec<Cursor> {
    let Run { global_batch, world_size, .. } = *run;
    let uneven = global_batch % world_size != 0;
    let cursor = |rank| {
        let world = World { rank, size: world_size };
        let batching = Batching { global_batch, world, last, uneven };
        let steps = Steps::new(order, batching).unwrap();
        match state {
            None => steps.start(DATASET),
            Some(state) => steps.resume(DATASET, &state).unwrap(),
        }
    };
    (0..world_size).map(cursor).collect()
}

fn sorted(mut positions: Vec<u64>) -> Vec<u64> {
    positions.sort_unstable();
    positions
}

/// Returns the valid positions of one step over all ranks, in rank order.
fn valid(ranks: &[Step]) -> Vec<u64> {
    let rows = ranks.iter().flat_map(|step| &step.rows);
    rows.filter(|row| row.valid).map(|row| row.position).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 10_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Runs that stop and continue with other batches, worlds and workers see each sample once.
    #[test]
    fn each_sample_comes_once_through_every_change(
        strata in strata(), sampling in sampling(), last in last(),
        runs in prop::collection::vec(run(), 1..5), seed: u64, epoch in 0_u64..3,
    ) {
        let order = Order::new(strata, &sampling, seed, epoch).unwrap();
        let n_samples = order.len();
        let mut state: Option<State> = None;
        for (at, run) in runs.iter().enumerate() {
            let is_last = at + 1 == runs.len();
            let mut ranks: Vec<Vec<Cursor>> = cursors(&order, run, last, state)
                .into_iter()
                .map(|cursor| {
                    let worker = |id| Worker { id, count: run.n_workers };
                    let of = |id| cursor.clone().of_worker(worker(id)).unwrap();
                    (0..run.n_workers).map(of).collect()
                })
                .collect();
            for turn in 0..if is_last { usize::MAX } else { run.n_steps } {
                // Collected from the workers in turn, like a `DataLoader`.
                let worker = turn % run.n_workers as usize;
                let steps: Vec<Option<Step>> =
                    ranks.iter_mut().map(|workers| workers[worker].next()).collect();
                // Ranks end together: none waits for a step that does not come.
                let n_steps = steps.iter().flatten().count();
                prop_assert!(n_steps == 0 || n_steps == steps.len());
                let steps: Vec<Step> = steps.into_iter().flatten().collect();
                let Some(first) = steps.first() else { break };
                prop_assert!(steps.iter().all(|step| step.state == first.state));
                // Exactly the positions between the two states, each on one rank.
                let before = state.map_or(0, |state| state.consumed);
                let expected: Vec<u64> = (before..first.state.consumed).collect();
                prop_assert_eq!(sorted(valid(&steps)), expected);
                prop_assert!(first.state.consumed > before);
                check_sizes(&steps, run, last)?;
                state = Some(State::from_bytes(&first.state.to_bytes()).unwrap());
            }
        }
        let consumed = state.map_or(0, |state| state.consumed);
        let batch = u64::from(runs.last().unwrap().global_batch);
        match last {
            // Only a rest smaller than the batch is left out.
            Last::Drop => prop_assert!(n_samples - consumed < batch),
            Last::Short | Last::Pad => prop_assert_eq!(consumed, n_samples),
        }
        // The samples at the positions are the other half of "each sample once".
        check_draws(&order)?;
    }

    /// A run that stops anywhere and continues equals an uninterrupted one, row by row.
    #[test]
    fn a_resumed_run_is_the_unbroken_one(
        strata in strata(), sampling in sampling(), last in last(), run in run(), seed: u64,
    ) {
        let order = Order::new(strata, &sampling, seed, 1).unwrap();
        let whole = |state| cursors(&order, &run, last, state);
        let unbroken: Vec<Vec<Step>> = whole(None).into_iter().map(Iterator::collect).collect();
        for (rank, steps) in unbroken.iter().enumerate() {
            let cursor = &whole(None)[rank];
            prop_assert_eq!(cursor.remaining(), steps.len() as u64);
            let Some(step) = steps.get(run.n_steps) else { continue };
            let resumed = whole(Some(step.state)).swap_remove(rank);
            prop_assert_eq!(resumed.remaining() as usize, steps.len() - run.n_steps - 1);
            prop_assert!(resumed.eq(steps[run.n_steps + 1..].iter().cloned()));
        }
        // Another number of ranks divides the same line: the global batches do not change.
        let alone = Run { world_size: 1, ..run.clone() };
        let alone: Vec<Step> = cursors(&order, &alone, last, None).swap_remove(0).collect();
        for (at, step) in alone.iter().enumerate() {
            let ranks: Vec<Step> = unbroken.iter().map(|steps| steps[at].clone()).collect();
            prop_assert_eq!(valid(&ranks), valid(std::slice::from_ref(step)));
        }
    }

    /// The order does not depend on the kind of iteration.
    #[test]
    fn every_way_through_the_order_agrees(
        strata in strata(), sampling in sampling(), seed: u64, from in 0_u64..100,
    ) {
        let order = Order::new(strata, &sampling, seed, 0).unwrap();
        let all: Vec<Place> = order.iter_from(0).collect();
        prop_assert_eq!(all.len() as u64, order.len());
        prop_assert!((0..order.len()).map(|at| order.at(at).unwrap()).eq(all.iter().copied()));
        let rest = all.get(from as usize..).unwrap_or_default();
        prop_assert!(order.iter_from(from).eq(rest.iter().copied()));
        prop_assert_eq!(order.iter_from(from).size_hint(), (rest.len(), Some(rest.len())));
        prop_assert_eq!(order.at(order.len()), None);
    }
}

/// Checks that each rank has its part: as many rows as the others, or one more.
fn check_sizes(steps: &[Step], run: &Run, last: Last) -> Result<(), TestCaseError> {
    let sizes: Vec<usize> = steps.iter().map(|step| step.rows.len()).collect();
    let n_valid = |step: &Step| step.rows.iter().filter(|row| row.valid).count();
    for counts in [sizes.clone(), steps.iter().map(n_valid).collect()] {
        prop_assert!(counts.iter().max() <= counts.iter().min().map(|min| min + 1).as_ref());
        prop_assert!(counts.is_sorted_by(|a, b| a >= b));
    }
    if last == Last::Pad {
        prop_assert_eq!(sizes.iter().sum::<usize>(), run.global_batch as usize);
    }
    Ok(())
}

/// Checks that each stratum gives its count, in passes with each sample once.
fn check_draws(order: &Order) -> Result<(), TestCaseError> {
    let mut times = BTreeMap::<u32, BTreeMap<u64, u64>>::new();
    for Place { stratum, id } in order.iter_from(0) {
        *times.entry(stratum).or_default().entry(id).or_default() += 1;
    }
    let drawn: u64 = times.values().flat_map(BTreeMap::values).sum();
    prop_assert_eq!(drawn, order.len());
    for times in times.values() {
        let (min, max) = (times.values().min().unwrap(), times.values().max().unwrap());
        prop_assert!(max - min <= 1);
    }
    Ok(())
}

#[test]
fn strata_keep_their_shares_in_every_batch() {
    let counts = [700, 300, 50];
    let order = Order::new(counts.map(Stratum::whole).to_vec(), &Sampling::Shuffle, 1, 2).unwrap();
    let places: Vec<Place> = order.iter_from(0).collect();
    for batch in places.chunks(64) {
        for (stratum, count) in (0..).zip(counts) {
            let found = batch.iter().filter(|place| place.stratum == stratum).count() as f64;
            let share = count as f64 / 1050.0 * batch.len() as f64;
            assert!((found - share).abs() <= 1.5, "stratum {stratum}: {found} of {share}");
        }
    }
}

#[test]
fn epochs_and_seeds_give_other_orders_of_the_same_samples() {
    let order = |seed| Order::new(vec![Stratum::whole(1000)], &Sampling::Shuffle, seed, 0).unwrap();
    let ids = |order: Order| order.iter_from(0).map(|place| place.id).collect::<Vec<_>>();
    let orders = [ids(order(0)), ids(order(1)), ids(order(0).with_epoch(1).unwrap())];
    for (at, one) in orders.iter().enumerate() {
        assert!(sorted(one.clone()).into_iter().eq(0..1000));
        for other in &orders[..at] {
            let n_same = one.iter().zip(other).filter(|(a, b)| a == b).count();
            assert!(n_same < 10, "{n_same} samples at the same position");
        }
    }
}

#[test]
fn a_trillion_samples_take_no_longer() {
    let large = 1 << 40;
    let strata = || {
        let drawn = Stratum { len: 1 << 20, count: 3 << 20 };
        vec![Stratum::whole(large), drawn, Stratum::whole(large / 3), Stratum::whole(1)]
    };
    let windowed = Sampling::Windowed { chunk: 10_000, window: 1 << 22 };
    for sampling in [&Sampling::Shuffle, &windowed, &Sampling::Sequential] {
        let order = Order::new(strata(), sampling, 5, 6).unwrap();
        let n_samples = order.len();
        let mut seen = std::collections::BTreeSet::new();
        for start in [0, 12_345, n_samples / 3, n_samples / 2 - 500, n_samples - 1000] {
            let places: Vec<Place> = order.iter_from(start).take(1000).collect();
            assert_eq!(places.len(), 1000);
            for (position, place) in (start..).zip(places) {
                assert_eq!(order.at(position), Some(place));
                assert!(place.stratum == 1 || seen.insert(place), "{place:?} comes twice");
            }
        }
        let world = World { rank: 5, size: 8 };
        let batching = Batching { global_batch: 4096, world, last: Last::Pad, uneven: false };
        let steps = Steps::new(&order, batching).unwrap();
        let last = steps.len() - 1;
        assert_eq!(steps.len(), n_samples.div_ceil(4096));
        assert_eq!(steps.rows(last).len(), 512);
        let consumed = last * 4096;
        let state = State { consumed, ..steps.clone().start(DATASET).state() };
        let rows: Vec<Row> = steps.clone().resume(DATASET, &state).unwrap().next().unwrap().rows;
        assert_eq!(rows, steps.rows(last));
    }
}

/// Prints the cost of a position. Run with `cargo test --release -- --ignored --nocapture`.
#[test]
#[ignore = "measures, checks nothing"]
fn what_a_position_costs() {
    let windowed = Sampling::Windowed { chunk: 1000, window: 100_000 };
    for n in [1_280_000_u64, 1_000_000_000] {
        let whole = vec![Stratum::whole(n)];
        let four = [n / 10, n / 5, n / 5, n / 2].map(Stratum::whole).to_vec();
        let many = vec![Stratum::whole(n / 100); 100];
        for (strata, name) in [(whole, "1 stratum"), (four, "4 strata"), (many, "100 strata")] {
            for sampling in [&Sampling::Shuffle, &windowed, &Sampling::Sequential] {
                let order = Order::new(strata.clone(), sampling, 1, 2).unwrap();
                let n_calls = 500_000_u64;
                let mut sum = 0;
                let start = Instant::now();
                for call in 0..n_calls {
                    let position = call.wrapping_mul(0x9e37_79b9_7f4a_7c15) % order.len();
                    sum ^= order.at(position).unwrap().id;
                }
                let at = start.elapsed().as_nanos() as f64 / n_calls as f64;
                let start = Instant::now();
                for place in order.iter_from(n / 3).take(n_calls as usize) {
                    sum ^= place.id;
                }
                let iterated = start.elapsed().as_nanos() as f64 / n_calls as f64;
                println!("{n} {name} {sampling:?}: at {at:.0} ns, next {iterated:.0} ns ({sum})");
            }
        }
    }
}
