//! Batches of several sizes: buckets, patches, and images of their own sizes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod common;

use common::{
    Memory, list,
    shapes::{N_SAMPLES, Stored, dataset},
    steps::check,
};
use fdconvert_core::Reader;
use fdconvert_loader::{
    Batch, DType, Datasets, Failures, Last, Layout, Loader, MaskOptions, ObjectOptions, OnError,
    Options, Patches, SizeBuckets, Sizes, State, Transform, ViewGroup, World,
    parts::{DrawKey, Transformer},
};
use fdconvert_testkit::fixtures;
use std::{collections::BTreeMap, sync::Arc};

const SEED: u64 = 5;

fn buckets() -> SizeBuckets {
    SizeBuckets::new(vec![[16, 16], [12, 20], [20, 12], [8, 32]]).unwrap()
}

fn options(sizes: Sizes, transforms: &[Transform]) -> Options {
    Options::default()
        .batch_size(4)
        .threads(2)
        .seed(SEED)
        .sizes(sizes)
        .transform(list(transforms))
        .objects(Some(ObjectOptions::of("objects")))
}

fn open(reader: &Arc<dyn Reader>, options: Options) -> Loader {
    Loader::new(Datasets::one(reader.clone()).unwrap(), options).unwrap()
}

fn flipped() -> Vec<Transform> {
    vec![Transform::random_horizontal_flip(), Transform::Grayscale {}]
}

/// Returns the row of a sample by a list, from its pixels.
fn row(
    stored: &Stored,
    sample: u64,
    epoch: u64,
    transforms: &[Transform],
) -> (Vec<u8>, (u32, u32)) {
    let key = DrawKey { seed: SEED, epoch, sample, occurrence: 0, view: 0 };
    let pixels = fixtures::pixels(stored.size.0, stored.size.1, 3, sample).data;
    let applied = Transformer::default().apply(&list(transforms), &pixels, stored.size, key);
    let (row, output) = applied.unwrap();
    (row, output.size)
}

fn once(mut samples: Vec<u64>) {
    samples.sort_unstable();
    assert!(samples.into_iter().eq(0..N_SAMPLES));
}

#[test]
fn batches_have_the_size_of_one_bucket() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, stored) = dataset(&folder.path().join("d"));
    for random in [false, true] {
        let sizes = Sizes::Buckets(buckets().random(random));
        let options = options(sizes, &flipped())
            .fields(["depth", "view"].map(str::to_owned).to_vec())
            .masks(vec![MaskOptions { field: "mask".into(), fill: 255 }]);
        let seen = [1, 4].map(|threads| {
            let mut loader = open(&reader, options.clone().threads(threads));
            let (mut samples, mut seen) = (Vec::new(), Vec::new());
            for batch in loader.by_ref().map(Result::unwrap) {
                let shape = batch.shape();
                let size = [shape.height, shape.width];
                let cover = Transform::Cover { size, random };
                let transforms = [&[cover], &flipped()[..]].concat();
                for (row_bytes, &sample) in
                    batch.images().chunks_exact(shape.row_bytes()).zip(batch.samples())
                {
                    let stored = &stored[sample as usize];
                    let nearest = buckets().nearest(stored.size);
                    assert_eq!(buckets().sizes()[usize::from(nearest)], size);
                    assert_eq!(row(stored, sample, 0, &transforms).0, row_bytes);
                }
                // Masks, further images and objects follow.
                let same = options.clone().transform(list(transforms));
                let _ = check(&batch, &same, &stored);
                samples.extend(batch.samples());
                seen.push((batch.samples().to_vec(), batch.images().to_vec()));
            }
            once(samples);
            seen
        });
        assert!(seen[0] == seen[1] && seen[0].len() > 4);
    }
}

#[test]
fn an_epoch_in_buckets_continues_with_other_ranks_and_batches() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, _) = dataset(&folder.path().join("d"));
    let with = |batch: u32, world: World| {
        let options = options(Sizes::Buckets(buckets()), &[]).last(Last::Pad);
        open(&reader, options.batch_size(batch).world(world))
    };
    for (n_first, batch, size) in [(1, 4, 1), (3, 2, 2), (2, 3, 2), (3, 1, 3)] {
        let mut first = with(4, World::ALONE);
        let mut samples = Vec::new();
        let valid = |batch: &Batch| {
            let rows = batch.samples().iter().zip(batch.valid()).filter(|(_, valid)| **valid);
            rows.map(|(sample, _)| *sample).collect::<Vec<_>>()
        };
        for batch in first.by_ref().take(n_first) {
            samples.extend(valid(&batch.unwrap()));
        }
        let state = State::from_bytes(&first.state().to_bytes()).unwrap();
        let ranks = (0..size).map(|rank| {
            let mut loader = with(batch, World { rank, size });
            loader.restore(&state).unwrap();
            loader.map(Result::unwrap).collect::<Vec<_>>()
        });
        let ranks: Vec<_> = ranks.collect();
        for step in 0..ranks[0].len() {
            let shape = |rank: &Vec<Batch>| rank[step].shape();
            assert!(ranks.iter().all(|rank| shape(rank) == shape(&ranks[0])));
            samples.extend(ranks.iter().flat_map(|rank| valid(&rank[step])));
        }
        once(samples);
    }
}

#[test]
fn images_keep_their_own_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, stored) = dataset(&folder.path().join("d"));
    let resize: Transform = common::transform(r#"{"Resize": {"size": 20, "max_size": 30}}"#);
    let form =
        [Transform::ToDtype { dtype: DType::F32 }, Transform::ToLayout { layout: Layout::Nchw }];
    for transforms in [vec![], vec![resize.clone()], [&[resize], &flipped()[..], &form].concat()] {
        let mut loader = open(&reader, options(Sizes::Own, &transforms));
        let mut samples = Vec::new();
        for batch in loader.by_ref().map(Result::unwrap) {
            assert_eq!((batch.rows().count(), batch.images().len()), (batch.len(), 0));
            for (image, &sample) in batch.rows().zip(batch.samples()) {
                let (expected, (width, height)) =
                    row(&stored[sample as usize], sample, 0, &transforms);
                assert_eq!((image.shape.width, image.shape.height), (width, height));
                assert_eq!((image.bytes, image.offset % 64), (&expected[..], 0));
            }
            samples.extend(batch.samples());
        }
        once(samples);
        // Memory comes back, and is used again.
        assert_eq!(loader.by_ref().map(|batch| batch.unwrap().len()).sum::<usize>(), 24);
    }
}

#[test]
fn images_are_patches_in_their_own_shape() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, stored) = dataset(&folder.path().join("d"));
    let patches = Patches { most: 12, side: 4 };
    let mut loader = open(&reader, options(Sizes::Patches(patches), &flipped()));
    let mut samples = Vec::new();
    for batch in loader.by_ref().map(Result::unwrap) {
        let rows = batch.images().chunks_exact(12 * 4 * 4 * 3);
        assert_eq!(rows.len(), batch.len());
        for ((row_bytes, grid), &sample) in rows.zip(batch.patches()).zip(batch.samples()) {
            let stored = &stored[sample as usize];
            let size = [grid.0 * 4, grid.1 * 4];
            let resize = common::transform(&format!("{{\"Resize\": {{\"size\": {size:?}}}}}"));
            let (resized, shown) = row(stored, sample, 0, &[resize]);
            let key = DrawKey { seed: SEED, epoch: 0, sample, occurrence: 0, view: 0 };
            let list = list(flipped());
            let (pixels, _) = Transformer::default().apply(&list, &resized, shown, key).unwrap();
            let pixel =
                |y: u32, x: u32, channel: u32| pixels[((y * size[1] + x) * 3 + channel) as usize];
            let mut expected = Vec::new();
            for (row, column) in (0..grid.0).flat_map(|y| (0..grid.1).map(move |x| (y, x))) {
                for (y, x) in (0..4).flat_map(|y| (0..4).map(move |x| (y, x))) {
                    expected.extend((0..3).map(|it| pixel(row * 4 + y, column * 4 + x, it)));
                }
            }
            expected.resize(row_bytes.len(), 0);
            assert_eq!(row_bytes, expected);
            assert!(grid.0 * grid.1 <= 12 && (grid.0 + 1) * (grid.1 + 1) > 12);
        }
        samples.extend(batch.samples());
    }
    once(samples);
}

#[test]
fn a_sample_that_fails_has_an_empty_row() {
    let reader: Arc<dyn Reader> = Memory::new(12).broken(&[3, 7]);
    let failures = Failures { on_error: OnError::Skip, ..Failures::default() };
    let patches = Sizes::Patches(Patches { most: 9, side: 4 });
    for sizes in [Sizes::Own, Sizes::Buckets(buckets()), patches] {
        let options =
            Options::default().batch_size(3).sizes(sizes.clone()).failures(failures.clone());
        let mut empty = BTreeMap::new();
        for batch in open(&reader, options).map(Result::unwrap) {
            for (at, &sample) in
                batch.samples().iter().enumerate().filter(|it| !batch.valid()[it.0])
            {
                let pixels = match sizes {
                    Sizes::Own => batch.rows().nth(at).unwrap().bytes.to_vec(),
                    _ => batch.images().chunks(batch.shape().row_bytes()).nth(at).unwrap().to_vec(),
                };
                empty.insert(sample, pixels.iter().all(|byte| *byte == 0));
            }
        }
        assert_eq!(empty, BTreeMap::from([(3, true), (7, true)]));
    }
}

#[test]
fn sizes_that_do_not_fit_the_other_options_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (reader, _) = dataset(&folder.path().join("d"));
    let refused = |options: Options, part: &str| {
        let error = Loader::new(Datasets::one(reader.clone()).unwrap(), options);
        let error = error.err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    };
    let all = [Sizes::Own, Sizes::Buckets(buckets()), Sizes::Patches(Patches { most: 4, side: 4 })];
    for sizes in all {
        let mixed = [common::transform(r#"{"MixUp": {"num_classes": 3}}"#)];
        refused(options(sizes, &mixed), "MixUp");
    }
    let many = options(Sizes::Buckets(buckets()), &[]).batch_size(20).last(Last::Drop);
    refused(many, "no bucket has the 20 samples");
    let crop = [Transform::center_crop(4)];
    refused(options(Sizes::Buckets(buckets()), &crop), "leave out what cuts");
    let patches = |most, side| Sizes::Patches(Patches { most, side });
    refused(options(patches(4, 4), &crop), "leave out those");
    refused(options(patches(0, 4), &[]), "0 patches");
    refused(options(patches(4, 257), &[]), "257 pixels");
    refused(options(patches(4, 4), &[Transform::ToLayout { layout: Layout::Nchw }]), "ToLayout");
    let mask = vec![MaskOptions { field: "mask".into(), fill: 0 }];
    refused(options(Sizes::Own, &[]).masks(mask), "masks");
    refused(options(Sizes::Own, &[]).fields(vec!["view".into()]), "further images");
    let views = vec![ViewGroup::new("a", 2, list([]))];
    refused(options(Sizes::Own, &[]).views(views), "one view");
}
