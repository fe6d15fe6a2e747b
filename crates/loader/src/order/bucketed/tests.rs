use crate::order::{
    Batching, BucketNumbers, Cursor, Last, Order, Place, Row, Sampling, State, Steps, Stratum,
    World,
};
use proptest::{collection::vec, prelude::*};
use std::sync::Arc;

const DATASET: u64 = 9;

fn order(buckets: &[u16], sampling: &Sampling, epoch: u64, len: u64) -> Order {
    let n = buckets.len() as u64;
    let strata = vec![Stratum::whole(n / 3), Stratum::whole(n - n / 3)];
    let plain = Order::new(strata, sampling, 7, epoch).unwrap();
    let buckets = Arc::new(BucketNumbers::new(buckets.to_vec(), 5).unwrap());
    plain.in_buckets(buckets, len).unwrap()
}

fn number(Place { stratum, id }: Place, n: usize) -> usize {
    id as usize + if stratum == 1 { n / 3 } else { 0 }
}

/// Runs as they are defined: a list per bucket.
fn slow_runs(buckets: &[u16], sampling: &Sampling, epoch: u64, len: usize) -> Vec<Vec<usize>> {
    let n = buckets.len();
    let strata = vec![Stratum::whole(n as u64 / 3), Stratum::whole((n - n / 3) as u64)];
    let plain = Order::new(strata, sampling, 7, epoch).unwrap();
    let (mut complete, mut filling) = (Vec::new(), vec![Vec::new(); 5]);
    for position in 0..n as u64 {
        let sample = number(plain.at(position).unwrap(), n);
        let run = &mut filling[usize::from(buckets[sample])];
        run.push(sample);
        if run.len() == len {
            complete.push(std::mem::take(run));
        }
    }
    complete.into_iter().chain(filling.into_iter().filter(|run| !run.is_empty())).collect()
}

fn cursor(order: &Order, batch: u32, world: World, last: Last, state: Option<&State>) -> Cursor {
    let batching = Batching { global_batch: batch, world, last, uneven: true };
    let steps = Steps::new(order, batching).unwrap();
    match state {
        Some(state) => steps.resume(DATASET, state).unwrap(),
        None => steps.start(DATASET),
    }
}

fn samples(order: &Order, rows: &[Row], n: usize) -> Vec<usize> {
    let valid = rows.iter().filter(|row| row.valid);
    valid.map(|row| number(order.at(row.position).unwrap(), n)).collect()
}

proptest! {
    #[test]
    fn steps_are_the_runs_of_one_bucket(
        buckets in vec(0_u16..5, 1..200), len in 1_u32..12, epoch in 0_u64..3, size in 1_u32..4,
    ) {
        let size = size.min(len);
        for sampling in [Sampling::Shuffle, Sampling::Sequential] {
            let order = order(&buckets, &sampling, epoch, len.into());
            let expected = slow_runs(&buckets, &sampling, epoch, len as usize);
            let mut ranks: Vec<Cursor> = (0..size)
                .map(|rank| cursor(&order, len, World { rank, size }, Last::Short, None))
                .collect();
            prop_assert!(ranks.iter().all(|rank| rank.remaining() == expected.len() as u64));
            for run in expected {
                let steps: Vec<_> = ranks.iter_mut().map(|rank| rank.next().unwrap()).collect();
                let bucket = buckets[run[0]];
                prop_assert!(steps.iter().all(|step| step.bucket == bucket));
                let mut found: Vec<usize> = steps
                    .iter()
                    .flat_map(|step| samples(&order, &step.rows, buckets.len()))
                    .collect();
                let mut run = run;
                found.sort_unstable();
                run.sort_unstable();
                prop_assert_eq!(found, run);
            }
            prop_assert!(ranks.iter_mut().all(|rank| rank.next().is_none()));
        }
    }

    #[test]
    fn runs_that_continue_with_other_batches_lose_and_repeat_nothing(
        buckets in vec(0_u16..5, 1..200),
        first in 1_u32..12,
        stops in vec((1_usize..5, 1_u32..20, 1_u32..4), 0..5),
    ) {
        let (n, mut seen) = (buckets.len(), Vec::new());
        let mut order = order(&buckets, &Sampling::Shuffle, 1, first.into());
        let mut state = cursor(&order, first, World::ALONE, Last::Short, None).state();
        let last_leg = (usize::MAX, first, 1);
        for (n_steps, batch, size) in stops.into_iter().chain([last_leg]) {
            // What the state says of runs is all that a new loader knows.
            let len = if state.consumed == 0 { batch } else { state.global_batch };
            order = super::tests::order(&buckets, &Sampling::Shuffle, 1, len.into());
            let size = size.min(batch);
            let mut ranks: Vec<Cursor> = (0..size)
                .map(|rank| cursor(&order, batch, World { rank, size }, Last::Short, Some(&state)))
                .collect();
            for _ in 0..n_steps {
                let steps: Vec<_> = ranks.iter_mut().filter_map(Iterator::next).collect();
                let Some(step) = steps.first() else { break };
                prop_assert_eq!(steps.len(), size as usize);
                state = step.state;
                for step in &steps {
                    let rows = samples(&order, &step.rows, n);
                    prop_assert!(rows.iter().all(|sample| buckets[*sample] == steps[0].bucket));
                    prop_assert_eq!((step.state, step.bucket), (state, steps[0].bucket));
                    seen.extend(rows);
                }
            }
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..n).collect::<Vec<_>>());
    }

    #[test]
    fn steps_and_positions_lead_to_each_other(
        buckets in vec(0_u16..5, 1..200), len in 1_u32..12, batch in 1_u32..16,
    ) {
        let order = order(&buckets, &Sampling::Shuffle, 0, len.into());
        for last in [Last::Drop, Last::Short, Last::Pad] {
            let batching = Batching { global_batch: batch, world: World::ALONE, last, uneven: false };
            let steps = Steps::new(&order, batching).unwrap();
            let mut start = 0;
            for step in 0..steps.len() {
                prop_assert_eq!((steps.start_of(step), steps.step_of(start)), (start, step));
                let rows = steps.rows(step);
                prop_assert!(last != Last::Pad || rows.len() == batch as usize);
                let bucket = |row: &Row| {
                    buckets[number(order.at(row.position).unwrap(), buckets.len())]
                };
                prop_assert!(rows.iter().all(|row| bucket(row) == steps.bucket(start)));
                start = steps.end_of_step(start);
            }
            prop_assert_eq!(start, steps.end());
        }
    }
}

#[test]
fn incomplete_runs_are_dropped_and_filled_up_as_asked() {
    let buckets = [0, 0, 0, 1, 1, 1, 1, 2];
    let order = order(&buckets, &Sampling::Sequential, 0, 2);
    let lens = |last| {
        cursor(&order, 2, World::ALONE, last, None)
            .map(|step| (step.bucket, step.rows.iter().filter(|row| row.valid).count()))
            .collect::<Vec<_>>()
    };
    assert_eq!(lens(Last::Drop), [(0, 2), (1, 2), (1, 2)]);
    assert_eq!(lens(Last::Short), [(0, 2), (1, 2), (1, 2), (0, 1), (2, 1)]);
    assert_eq!(lens(Last::Pad), lens(Last::Short));
}

#[test]
fn buckets_that_fit_nothing_are_refused() {
    assert!(BucketNumbers::new(vec![0, 1], 1).is_err());
    assert!(BucketNumbers::new(vec![], 0).is_err());
    let order = Order::new(vec![Stratum::whole(3)], &Sampling::Shuffle, 1, 0).unwrap();
    let buckets = |of: &[u16]| Arc::new(BucketNumbers::new(of.to_vec(), 2).unwrap());
    assert!(order.clone().in_buckets(buckets(&[0, 1]), 2).is_err());
    let one = order.clone().in_buckets(buckets(&[0, 1, 1]), 2).unwrap();
    let other = order.clone().in_buckets(buckets(&[1, 1, 1]), 2).unwrap();
    let fingerprints = [&order, &one, &other].map(|order| order.fingerprint(1));
    assert!(fingerprints[0] != fingerprints[1] && fingerprints[1] != fingerprints[2]);
}
