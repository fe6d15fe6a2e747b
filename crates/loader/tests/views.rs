//! Several views of an image: one read, and each view as if it were alone.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod common;

use common::{Memory, loader, options};
use fdconvert_codec::Decoder;
use fdconvert_core::{Limits, Reader, Value};
use fdconvert_loader::{
    Batch, Last, Loader, Options, Transform, TransformList, ViewGroup, ViewLayout, World,
    parts::{DrawKey, Transformer},
};
use std::collections::BTreeMap;

const SEED: u64 = 11;

fn list(side: u32, more: Vec<Transform>) -> TransformList {
    let mut list = vec![Transform::random_resized_crop(side), Transform::random_horizontal_flip()];
    list.extend(more);
    TransformList::new(list).unwrap()
}

fn groups() -> Vec<ViewGroup> {
    let gray = Transform::RandomGrayscale { p: 0.5 };
    let solarize = Transform::RandomSolarize { threshold: 128.0, p: 0.5 };
    vec![
        ViewGroup::new("global", 2, list(16, vec![gray])),
        ViewGroup::new("local", 3, list(9, vec![solarize])),
    ]
}

fn viewing(batch_size: u32) -> Options {
    options(batch_size, 16).views(groups()).seed(SEED)
}

/// Returns the views of each row of a batch, by sample.
fn views(batch: &Batch) -> BTreeMap<u64, Vec<Vec<u8>>> {
    let mut rows: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    let n_rows = batch.len();
    for group in batch.groups() {
        let row_bytes = group.shape.row_bytes();
        assert_eq!(group.bytes.len(), group.n_views * n_rows * row_bytes);
        assert_eq!(group.dimensions().iter().product::<usize>(), group.bytes.len());
        for view in 0..group.n_views {
            for (row, sample) in batch.samples().iter().enumerate() {
                let at = match group.layout {
                    ViewLayout::Views => view * n_rows + row,
                    ViewLayout::Rows => row * group.n_views + view,
                };
                if batch.valid()[row] {
                    let bytes = group.bytes[at * row_bytes..][..row_bytes].to_vec();
                    rows.entry(*sample).or_default().push(bytes);
                }
            }
        }
    }
    rows
}

fn epoch(mut loader: Loader) -> BTreeMap<u64, Vec<Vec<u8>>> {
    let mut rows = BTreeMap::new();
    while let Some(batch) = loader.next_batch() {
        for (sample, views) in views(&batch.unwrap()) {
            assert_eq!(views.len(), 5);
            assert!(rows.insert(sample, views).is_none(), "sample {sample} came twice");
        }
    }
    rows
}

/// Returns the pixels of a sample as RGB, and width and height.
fn decoded(memory: &Memory, sample: u64) -> (Vec<u8>, (u32, u32)) {
    let stored = memory.get(sample).unwrap();
    let Some(Value::Image(image)) = stored.values.first() else { panic!("no image") };
    let mut pixels = Vec::new();
    let decoded = Decoder::new().decode_into("x", image, &Limits::DEFAULT, &mut pixels);
    let (header, channels, _) = decoded.unwrap();
    if channels == 1 {
        pixels = pixels.iter().flat_map(|level| [*level; 3]).collect();
    }
    (pixels, (header.width, header.height))
}

/// The slow way: each view by itself, of the whole image.
#[test]
fn each_view_is_that_of_its_list_alone() {
    let memory = Memory::new(20);
    let found = epoch(loader(&memory, viewing(6)));
    assert_eq!(found.len(), 20);
    let mut transformer = Transformer::default();
    for (sample, views) in found {
        let (rgb, size) = decoded(&memory, sample);
        let lists = groups()
            .into_iter()
            .flat_map(|group| std::iter::repeat_n(group.transform, group.n_views as usize));
        for (view, list) in lists.enumerate() {
            let view_number = view as u64;
            let key = DrawKey { seed: SEED, epoch: 0, sample, occurrence: 0, view: view_number };
            let (row, _) = transformer.apply(&list, &rgb, size, key).unwrap();
            assert_eq!(views[view], row, "view {view} of sample {sample}");
        }
    }
}

#[test]
fn layout_threads_ranks_and_resuming_change_nothing() {
    let memory = Memory::new(37);
    let expected = epoch(loader(&memory, viewing(6)));
    assert_eq!(epoch(loader(&memory, viewing(6).view_layout(ViewLayout::Rows))), expected);
    for threads in [1, 8] {
        assert_eq!(epoch(loader(&memory, viewing(5).threads(threads))), expected);
    }
    for size in [2, 7] {
        let ranks = (0..size).flat_map(|rank| {
            let world = World { rank, size };
            epoch(loader(&memory, viewing(2).world(world).last(Last::Pad)))
        });
        assert_eq!(ranks.collect::<BTreeMap<_, _>>(), expected, "{size} ranks");
    }
    let mut first = loader(&memory, viewing(6));
    let mut found = views(&first.next_batch().unwrap().unwrap());
    let mut second = loader(&memory, viewing(4).threads(3));
    second.restore(&first.state()).unwrap();
    found.extend(epoch(second));
    assert_eq!(found, expected);
}

#[test]
fn an_image_is_read_once_for_all_its_views() {
    let memory = Memory::new(12);
    let mut loader = loader(&memory, viewing(4));
    while let Some(batch) = loader.next_batch() {
        let batch = batch.unwrap();
        assert_eq!(batch.groups().map(|group| group.n_views).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(batch.images(), batch.groups().next().unwrap().bytes);
        assert!(batch.groups().all(|group| group.offset.is_multiple_of(64)));
    }
    assert_eq!((loader.stats().samples, memory.n_reads()), (12, 12));
}
