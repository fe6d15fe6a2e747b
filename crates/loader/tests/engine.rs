//! Batches from end to end: the same for any number of threads, exactly once, resumable anywhere.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod common;

use common::{Memory, epoch, list, loader, options, random_crop, seen};
use fdconvert_core::Reader;
use fdconvert_loader::{
    DType, Datasets, Last, Layout, Loader, Sampling, State, Transform, TransformList, Verdict,
    ViewGroup, ViewLayout, Waited, World,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use xxhash_rust::xxh3::xxh3_64;

#[test]
fn batches_do_not_depend_on_threads_or_prefetch() {
    let reader = Memory::new(50);
    let expected = epoch(&mut loader(&reader, random_crop().threads(1)));
    assert_eq!(expected.len(), 7);
    for (threads, fetch_threads, prefetch) in
        [(2, 0, 1), (4, 0, 5), (1, 1, 2), (3, 7, 3), (8, 64, 9)]
    {
        let options =
            random_crop().threads(threads).fetch_threads(fetch_threads).prefetch(prefetch);
        assert_eq!(epoch(&mut loader(&reader, options)), expected, "{threads} {fetch_threads}");
    }
    let mut samples: Vec<u64> = expected.iter().flat_map(|seen| seen.samples.clone()).collect();
    samples.sort_unstable();
    assert!(samples.iter().copied().eq(0..50), "every sample once");
    for seen in &expected {
        let mut rows = seen.samples.iter().zip(&seen.labels);
        assert!(rows.all(|(sample, label)| *label == *sample as i64 % 7));
        assert!(seen.valid.iter().all(|valid| *valid));
    }
}

/// Entry points inside a JPEG save time and change nothing.
#[test]
fn entry_points_change_no_pixel() {
    let options = |orient| random_crop().orient(orient);
    let expected = epoch(&mut loader(&Memory::large(12), options(true)));
    let with = Memory::large(12).with_entry_points();
    assert!((0..12).all(|sample| with.entry_points(sample, 0).unwrap().is_some()));
    for orient in [true, false] {
        assert_eq!(epoch(&mut loader(&with, options(orient))), expected);
    }
}

#[test]
fn epochs_differ_and_come_back() {
    let reader = Memory::new(30);
    let mut running = loader(&reader, random_crop());
    assert_eq!((running.len(), running.epoch()), (4, 0));
    let epochs: Vec<_> = (0..3).map(|_| epoch(&mut running)).collect();
    assert_eq!(running.epoch(), 3);
    assert!(epochs[0] != epochs[1] && epochs[1] != epochs[2]);
    running.set_epoch(1).unwrap();
    assert_eq!(epoch(&mut running), epochs[1]);
    // Also in the middle of an epoch.
    drop(running.next_batch());
    running.set_epoch(0).unwrap();
    assert_eq!(epoch(&mut running), epochs[0]);
    let other = random_crop().seed(1);
    assert_ne!(epoch(&mut loader(&reader, other)), epochs[0]);
}

/// Two epochs, stopped after every batch in turn: the batches after the state are unchanged, for
/// any number of threads, including prefetched batches.
#[test]
fn resumed_runs_go_on_exactly() {
    let reader = Memory::new(29);
    let mut unbroken = loader(&reader, random_crop());
    let mut expected = epoch(&mut unbroken);
    expected.extend(epoch(&mut unbroken));
    for stop in 0..=expected.len() {
        let mut first = loader(&reader, random_crop().threads(2));
        let mut taken = Vec::new();
        while taken.len() < stop {
            if let Some(batch) = first.next_batch() {
                taken.push(seen(&batch.unwrap()));
            }
        }
        let state = State::from_bytes(&first.state().to_bytes()).unwrap();
        drop(first);
        let mut second = loader(&reader, random_crop().threads(1).prefetch(1));
        second.restore(&state).unwrap();
        // As in a training loop: setting the current epoch changes nothing.
        second.set_epoch(second.epoch()).unwrap();
        while taken.len() < expected.len() {
            if let Some(batch) = second.next_batch() {
                taken.push(seen(&batch.unwrap()));
            }
        }
        assert!(taken == expected, "stopped after {stop}");
    }
}

#[test]
fn restoring_is_refused_where_it_would_repeat_or_mix() {
    let reader = Memory::new(29);
    let mut running = loader(&reader, random_crop());
    let state = running.state();
    drop(running.next_batch());
    assert!(running.restore(&state).unwrap_err().to_string().contains("under way"));
    running.stop();
    running.restore(&state).unwrap();
    let refused = |mut loader: Loader| loader.restore(&state).unwrap_err().to_string();
    let said = refused(loader(&Memory::new(30), random_crop()));
    assert!(said.contains("dataset"), "{said}");
    let said = refused(loader(&reader, random_crop().seed(5)));
    assert!(said.contains("seed"), "{said}");
}

/// The state of any rank lets another number of ranks continue; each sample has the same crop on
/// any rank.
#[test]
fn ranks_share_the_epoch_and_may_change_in_the_middle() {
    let reader = Memory::new(53);
    let of_world = |size: u32, rank| {
        let (world, batch) = (World { rank, size }, 12 / size);
        loader(&reader, random_crop().world(world).batch_size(batch).last(Last::Short))
    };
    let (mut steps, mut pixels_of) = (Vec::new(), BTreeMap::new());
    let mut single = of_world(1, 0);
    while let Some(batch) = single.next_batch() {
        let batch = batch.unwrap();
        let rows = batch.images().chunks(batch.shape().row_bytes());
        pixels_of.extend(batch.samples().iter().copied().zip(rows.map(xxh3_64)));
        steps.push(batch.samples().to_vec());
    }
    assert_eq!(pixels_of.len(), 53);
    for sizes in [[2, 2], [3, 4], [1, 6]] {
        let mut ranks: Vec<_> = (0..sizes[0]).map(|rank| of_world(sizes[0], rank)).collect();
        for (step, expected) in steps.iter().enumerate() {
            if step == 2 {
                let state = ranks[0].state();
                assert!(ranks.iter().all(|rank| rank.state() == state));
                ranks = (0..sizes[1]).map(|rank| of_world(sizes[1], rank)).collect();
                ranks.iter_mut().for_each(|rank| rank.restore(&state).unwrap());
            }
            let mut of_step = Vec::new();
            for rank in &mut ranks {
                let batch = rank.next_batch().unwrap().unwrap();
                let rows = batch.images().chunks(batch.shape().row_bytes());
                for (sample, row) in batch.samples().iter().zip(rows) {
                    assert_eq!(pixels_of[sample], xxh3_64(row));
                    of_step.push(*sample);
                }
            }
            assert_eq!(&of_step, expected, "step {step}");
        }
        assert!(ranks.iter_mut().all(|rank| rank.next_batch().is_none()));
    }
}

#[test]
fn last_batches_are_short_padded_or_left_out() {
    let reader = Memory::new(21);
    let with = |last, sampling| options(8, 16).last(last).sampling(sampling);
    let sizes = |last| {
        let batches = epoch(&mut loader(&reader, with(last, Sampling::Shuffle)));
        batches.iter().map(|seen| seen.samples.len()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(Last::Short), [8, 8, 5]);
    assert_eq!(sizes(Last::Drop), [8, 8]);
    assert_eq!(sizes(Last::Pad), [8, 8, 8]);
    let padded = epoch(&mut loader(&reader, with(Last::Pad, Sampling::Sequential)));
    let valid = |batch: usize| padded[batch].valid.iter().filter(|valid| **valid).count();
    assert_eq!([valid(0), valid(1), valid(2)], [8, 8, 5]);
    // More ranks than samples in the last batch: an empty batch comes, so that no rank waits.
    for rank in 0..8 {
        let world = World { rank, size: 8 };
        let few = options(2, 16).world(world).last(Last::Short);
        let batches = epoch(&mut loader(&Memory::new(19), few));
        assert_eq!(batches.len(), 2);
        assert_eq!(batches[1].samples.len(), usize::from(rank < 3), "rank {rank}");
    }
}

#[test]
fn layouts_and_types_hold_the_same_images() {
    let reader = Memory::new(6);
    let of = |dtype, layout| {
        let middle = [Transform::resize(20), Transform::CenterCrop { size: [12, 20] }];
        let form = [Transform::ToDtype { dtype }, Transform::ToLayout { layout }];
        let transform = list([middle, form].concat());
        let mut loader = loader(&reader, options(6, 16).transform(transform));
        loader.next_batch().unwrap().unwrap()
    };
    let base = of(DType::U8, Layout::Nhwc);
    assert_eq!(base.shape().dimensions(), [6, 12, 20, 3]);
    assert_eq!(base.images().len(), 6 * 12 * 20 * 3);
    assert_eq!(base.images().as_ptr() as usize % 64, 0);
    let planes = of(DType::F32, Layout::Nchw);
    assert_eq!(planes.shape().dimensions(), [6, 3, 12, 20]);
    for (at, value) in planes.images().as_chunks::<4>().0.iter().enumerate() {
        let (row, rest) = (at / 720, at % 720);
        let (channel, pixel) = (rest / 240, rest % 240);
        let byte = base.images()[row * 720 + pixel * 3 + channel];
        assert_eq!(f32::from_ne_bytes(*value), f32::from(byte) / 255.0);
    }
}

#[test]
fn a_consumer_that_keeps_batches_stops_the_threads() {
    let reader = Memory::new(200);
    let prefetch_bytes = 3 * 10 * 16 * 16 * 3;
    let running = options(10, 16).prefetch(2).prefetch_bytes(prefetch_bytes).threads(3);
    let mut running = loader(&reader, running);
    let mut kept = Vec::new();
    for _ in 0..3 {
        kept.push(running.next_batch().unwrap().unwrap());
    }
    let waited = running.next_for(Duration::from_millis(50)).unwrap();
    assert!(matches!(waited, Waited::NotYet), "all three buffers are kept");
    assert_eq!(reader.n_reads(), 30);
    kept.pop();
    assert!(matches!(running.next_for(Duration::from_secs(20)).unwrap(), Waited::Batch(_)));
    drop(running);
    // Batches outlive their loader.
    assert_eq!(kept[0].len(), 10);
    assert!(kept[0].images().iter().any(|value| *value != 0));
}

#[test]
fn several_datasets_are_mixed_by_weight() {
    let (small, large) = (Memory::new(10), Memory::new(40));
    let of = |weights: [f64; 2]| {
        let readers: Vec<(Arc<dyn Reader>, f64)> =
            vec![(small.clone(), weights[0]), (large.clone(), weights[1])];
        let datasets = Datasets::weighted(readers).unwrap();
        let mut loader = Loader::new(datasets, options(10, 16)).unwrap();
        let (mut counts, mut of_small) = ([0u32; 50], Vec::new());
        while let Some(batch) = loader.next_batch() {
            let batch = batch.unwrap();
            batch.samples().iter().for_each(|sample| counts[*sample as usize] += 1);
            of_small.push(batch.samples().iter().filter(|sample| **sample < 10).count());
        }
        (counts, of_small)
    };
    let (counts, of_small) = of([1.0, 1.0]);
    assert_eq!(counts, [1; 50]);
    assert_eq!(of_small, [2; 5], "spread evenly");
    let (counts, _) = of([3.0, 0.5]);
    assert!(counts[..10].iter().all(|count| *count == 3));
    assert_eq!(counts[10..].iter().sum::<u32>(), 20);
    let bad: Vec<(Arc<dyn Reader>, f64)> = vec![(small.clone(), f64::NAN)];
    assert!(Datasets::weighted(bad).is_err());
    assert!(Datasets::weighted(vec![]).is_err());
}

/// A slow store gets requests for many samples at a time.
#[test]
fn latency_is_hidden_by_requests_in_flight() {
    let most = |fetch_threads: usize, n_samples: u64| {
        let reader = Memory::new(n_samples).slow(Duration::from_millis(65));
        let options = options(16, 8).fetch_threads(fetch_threads).threads(1).prefetch(8);
        let mut running = loader(&reader, options);
        let n_rows: usize = epoch(&mut running).iter().map(|seen| seen.samples.len()).sum();
        assert_eq!(n_rows as u64, n_samples);
        assert!(fetch_threads > 1 || running.stats().verdict == Verdict::Disk);
        reader.most_in_flight()
    };
    assert_eq!(most(1, 16), 1);
    assert_eq!(most(64, 1280), 64);
}

#[test]
fn statistics_add_up() {
    let reader = Memory::new(40);
    let mut running = loader(&reader, options(8, 16));
    epoch(&mut running);
    let stats = running.stats();
    assert_eq!((stats.samples, stats.batches, stats.failures), (40, 5, 0));
    assert!(stats.fetched_bytes > 0 && stats.decode > Duration::ZERO);
    assert!(stats.first_batch.is_some() && stats.render > Duration::ZERO);
    running.reset_stats();
    assert_eq!(running.stats().samples, 0);
}

#[test]
fn impossible_options_are_refused() {
    let reader = Memory::new(4);
    let base = || options(4, 16);
    let view = |name, n_views| ViewGroup::new(name, n_views, TransformList::default());
    let mixup = Transform::MixUp { alpha: 0.2, num_classes: Some(7) };
    let mixed = ViewGroup::new("a", 2, list([Transform::center_crop(16), mixup]));
    for (options, words) in [
        (base().batch_size(0), "batch"),
        (base().world(World { rank: 2, size: 2 }), "rank: must be 0 to 1"),
        (base().world(World { rank: 0, size: 0 }), "world_size"),
        (base().batch_size(u32::MAX).world(World { rank: 0, size: 3 }), "batch"),
        (base().threads(100_000), "threads"),
        (base().fetch_threads(100_000), "fetch_threads"),
        (base().transform(list([Transform::resize(16)])), "this list leaves images of several"),
        (base().views(vec![view("a", 0)]), "views: 0 of `a`"),
        (base().views(vec![view("a", 1), view("a", 2)]), "views: two groups are called `a`"),
        (base().views(vec![view("a", 257)]), "views: 257 of `a`"),
        (base().views(vec![mixed]), "views: MixUp and CutMix"),
        (options(5, 16).last(Last::Drop), "an epoch has no batch"),
    ] {
        let refused = Loader::new(Datasets::one(reader.clone()).unwrap(), options);
        let said = refused.err().unwrap().to_string();
        assert!(said.contains(words), "{said}");
    }
    for (weight, words) in [
        (f64::NAN, "is not from 0 to 1000"),
        (-1.0, "is not from 0 to 1000"),
        (1e-300, "is less than one of its 4 samples"),
    ] {
        let refused = Datasets::weighted(vec![(reader.clone(), weight)]).err().unwrap().to_string();
        assert!(refused.contains(words), "{refused}");
    }
    let refused = Datasets::weighted(Vec::new()).err().unwrap().to_string();
    assert!(refused.contains("the list of datasets is empty"), "{refused}");
}

#[test]
fn impossible_lists_are_refused() {
    let random = |scale, ratio| vec![Transform::RandomResizedCrop { size: [16, 16], scale, ratio }];
    let normalised = |mean: [f32; 3], std: [f32; 3]| {
        vec![
            Transform::center_crop(16),
            Transform::Normalize { mean: mean.into(), std: std.into() },
        ]
    };
    for (transforms, words) in [
        (vec![Transform::RandomHorizontalFlip { p: 2.0 }], "RandomHorizontalFlip: p=2"),
        (vec![Transform::resize(0)], "Resize: size=[0]"),
        (random([0.0, 0.0], [1.0, 1.0]), "scale"),
        (random([0.5, 1.5], [1.0, 1.0]), "scale"),
        (random([f64::NAN, 1.0], [1.0, 1.0]), "scale"),
        (random([0.1, 1.0], [1.0, 0.0]), "ratio"),
        (random([0.1, 1.0], [1.0, f64::INFINITY]), "ratio"),
        (normalised([0.5; 3], [0.0; 3]), "std above 0"),
        (normalised([0.5; 3], [-1.0; 3]), "std above 0"),
        (normalised([f32::NAN; 3], [1.0; 3]), "must be numbers"),
        (normalised([123.675, 116.28, 103.53], [58.395, 57.12, 57.375]), "divide both by 255"),
        (normalised([0.0; 3], [255.0; 3]), "divide both by 255"),
    ] {
        let said = TransformList::new(transforms).unwrap_err().to_string();
        assert!(said.contains("transform: ") && said.contains(words), "{words}: {said}");
    }
}

/// Views are one after the other in memory, those of a group together, and each is what a loader
/// with only this view shows.
#[test]
fn views_lie_side_by_side() {
    let reader = Memory::new(20);
    let small = list([common::random_part([9, 12]), Transform::to_dtype(DType::F32)]);
    let groups = || {
        let large = random_crop().views[0].transform.clone();
        vec![ViewGroup::new("global", 2, large), ViewGroup::new("local", 3, small.clone())]
    };
    let batch = |layout| {
        let options = random_crop().views(groups()).view_layout(layout).batch_size(20);
        loader(&reader, options).next_batch().unwrap().unwrap()
    };
    let (views, rows) = (batch(ViewLayout::Views), batch(ViewLayout::Rows));
    let single = loader(&reader, random_crop().batch_size(20)).next_batch().unwrap().unwrap();
    let [global, local] = views.groups().collect::<Vec<_>>().try_into().ok().unwrap();
    assert_eq!(global.dimensions(), [2, 20, 16, 16, 3]);
    assert_eq!(local.dimensions(), [3, 20, 9, 12, 3]);
    assert_eq!((global.name, local.name), ("global", "local"));
    assert_eq!((global.offset, local.offset % 64), (0, 0));
    assert_eq!((local.shape.dtype, views.shape()), (DType::F32, single.shape()));
    assert!(global.bytes.starts_with(single.images()), "the first view is the only one of others");
    for (by_view, by_row) in views.groups().zip(rows.groups()) {
        assert_eq!(by_row.dimensions()[..2], [20, by_view.n_views]);
        let (n_views, n_bytes) = (by_view.n_views, by_view.shape.row_bytes());
        let row = |bytes: &[u8], at: usize| bytes[at * n_bytes..][..n_bytes].to_vec();
        let mut distinct = BTreeMap::new();
        for (view, number) in (0..n_views).flat_map(|view| (0..20).map(move |row| (view, row))) {
            let shown = row(by_view.bytes, view * 20 + number);
            assert_eq!(row(by_row.bytes, number * n_views + view), shown);
            distinct.insert(shown, ());
        }
        assert_eq!(distinct.len(), n_views * 20);
    }
}

/// Create, use and drop loaders, two at a time: no thread and no memory remains.
#[test]
fn a_thousand_loaders_leave_nothing_behind() {
    let reader = Memory::new(60);
    let count = |what: &str| -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with(what)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let cycle = |number: usize| {
        let fetch_threads = number % 3;
        let mut first = loader(&reader, random_crop().fetch_threads(fetch_threads));
        let mut second = loader(&reader, random_crop().threads(1));
        for _ in 0..number % 4 {
            let (a, b) = (first.next_batch().unwrap(), second.next_batch().unwrap());
            assert_eq!(seen(&a.unwrap()), seen(&b.unwrap()));
        }
    };
    (0..50).for_each(cycle);
    let memory = count("VmRSS:");
    (0..1000).for_each(cycle);
    // Other tests run in parallel: this leaves room for their memory.
    let grown = count("VmRSS:").saturating_sub(memory);
    assert!(grown < 100 << 10, "{grown} KiB more after a thousand cycles");
    assert!(count("Threads:") < 300);
}

/// A consumer may keep batches up to the memory limit; then the loader waits and reports it.
#[test]
fn batches_that_are_kept_get_memory_up_to_the_limit() {
    let reader = Memory::new(40);
    let bytes = 4 * 16 * 16 * 3;
    for (prefetch_bytes, most) in [(1 << 30, 10), (bytes * 6, 6), (bytes * 10, 10), (0, 2)] {
        for fetch_threads in [0, 2] {
            let options = options(4, 16)
                .prefetch(1)
                .prefetch_bytes(prefetch_bytes)
                .fetch_threads(fetch_threads);
            let mut running = loader(&reader, options);
            let mut kept = Vec::new();
            let mut wait = || running.next_for(Duration::from_millis(300)).unwrap();
            let waited = loop {
                match wait() {
                    Waited::Batch(batch) => kept.push(batch),
                    waited => break waited,
                }
            };
            assert_eq!(kept.len(), most);
            if most == 10 {
                assert!(matches!(waited, Waited::End) && !running.waits_for_memory());
                continue;
            }
            assert!(matches!(waited, Waited::NotYet) && running.waits_for_memory());
            kept.clear();
            assert_eq!(epoch(&mut running).len(), 10 - most);
        }
    }
}
