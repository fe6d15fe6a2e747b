//! Crops leave out work without changing pixels.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it has compared"
)]

use crate::common::{Named, of_all_sorts, originals, photographs, small};
use crate::synthetic;
use fdconvert_gpu::{Crop, Limits, Order, Output, Plan, Request, SampleType, Status, Tensor, Work};
use fdconvert_gpu_emul::decode;
use fdconvert_jpeg::{EntryPoints, GRIDS_BITS, Jpeg, parse, region};
use fdconvert_testkit::{fixtures::Random, needs_shared, workload::resized_crop};
use std::ops::Range;

/// Whole pixels, so that any wrong pixel changes the output.
const OUTPUT: Output = Output::Tensor(Tensor {
    width: 19,
    height: 23,
    sample_type: SampleType::F32,
    order: Order::Nchw,
    mean: [0.0; 3],
    deviation: [1.0; 3],
});

fn limits() -> Limits {
    Limits { chunk_blocks: 3000, ..Limits::DEFAULT }
}

fn fraction(random: &mut Random) -> f64 {
    random.below(1 << 20) as f64 / f64::from(1 << 20)
}

/// Draws a crop as for training.
fn for_training(random: &mut Random, width: u32, height: u32) -> Crop {
    let part = resized_crop(random, width, height);
    let (width, height) = (f64::from(width), f64::from(height));
    let (left, top) = ((part.x / width) as f32, (part.y / height) as f32);
    let (width, height) = ((part.width / width) as f32, (part.height / height) as f32);
    Crop { left, top, width: width.min(1.0 - left), height: height.min(1.0 - top) }
}

/// Draws any part, including single pixels and narrow stripes.
fn any_crop(random: &mut Random) -> Crop {
    let mut axis = || {
        let start = fraction(random) * 0.999;
        let part = fraction(random).powi(1 + random.below(4) as i32).max(1e-3);
        (start as f32, (part * (1.0 - start)) as f32)
    };
    let ((left, width), (top, height)) = (axis(), axis());
    Crop { left, top, width, height }
}

/// Returns the pixels that a part of an axis touches.
fn touched(start: f32, part: f32, n_pixels: u32) -> Range<u32> {
    let (start, n) = (f64::from(start), f64::from(n_pixels));
    let first = (start * n + 1e-5).floor().min(n - 1.0) as u32;
    let end = ((start + f64::from(part)) * n).min(n) - 1e-5;
    first..(end.ceil() as u32).clamp(first + 1, n_pixels)
}

/// Returns the work that `fdconvert_jpeg` requires for a crop, decoded without holes except between
/// restarts: from where the prediction is known before the first segment, and from restarts before
/// others.
fn expected_work(jpeg: &Jpeg, entry_points: &EntryPoints, crop: Crop) -> Work {
    let rows = touched(crop.top, crop.height, jpeg.height);
    let columns = touched(crop.left, crop.width, jpeg.width);
    let needed = region(jpeg, entry_points, rows, columns);
    let segments = entry_points.segments();
    let first = needed.segments.first().map_or(0, |first| *first as usize);
    let start = entry_points.anchor_before(first).map_or(0, |anchor| anchor.segment as usize);
    let mut decoded = vec![false; segments.len()];
    for last in needed.segments.iter().map(|last| *last as usize) {
        let reset = segments[..=last].iter().rposition(|it| it.resets).unwrap_or(0);
        let from = if last == first { start } else { reset.max(start) };
        decoded[from..=last].fill(true);
    }
    let n_mcus = needed.mcu_columns.len() as u64 * needed.mcu_rows.len() as u64;
    Work {
        n_segments: segments.len() as u64,
        n_decoded_segments: decoded.iter().filter(|it| **it).count() as u64,
        n_blocks: jpeg.n_blocks.into(),
        n_transformed_blocks: n_mcus * u64::from(jpeg.blocks_per_mcu()),
    }
}

/// Numbers of comparisons, and the work of both.
#[derive(Default)]
struct Sums {
    n_crops: usize,
    work: Work,
    unstuffed: u64,
    all_unstuffed: u64,
}

impl Sums {
    fn report(&self, what: &str) {
        let share = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        let Work { n_segments, n_decoded_segments, n_blocks, n_transformed_blocks } = self.work;
        println!(
            "{what}: {} crops equal to those of all; {:.1} % of the scans read, {:.1} % of the \
             segments decoded, {:.1} % of the blocks transformed",
            self.n_crops,
            share(self.unstuffed, self.all_unstuffed),
            share(n_decoded_segments, n_segments),
            share(n_transformed_blocks, n_blocks),
        );
        assert!(self.n_crops > 0);
    }
}

/// Decodes crops of one image in one batch, with only the needed parts and with everything.
fn check(name: &str, bytes: &[u8], grid_bits: u32, crops: &[Crop], sums: &mut Sums) {
    let Ok(jpeg) = parse(bytes) else { return };
    let entry_points = EntryPoints::build(&jpeg, bytes, grid_bits).unwrap();
    let stored = entry_points.to_bytes();
    let requests: Vec<_> = crops
        .iter()
        .enumerate()
        .map(|(number, crop)| {
            let flip = number % 2 == 1;
            Request { crop: *crop, flip, ..Request::whole(bytes, Some(&stored)) }
        })
        .collect();
    let plan = Plan::new(&requests, OUTPUT, limits());
    let all = Plan::of_whole_images(&requests, OUTPUT, limits());
    let (found, expected) = (decode(&plan, &requests), decode(&all, &requests));
    let statuses = plan.statuses(&found.states);
    assert!(statuses.iter().all(|status| *status == Status::Decoded), "{name}: {statuses:?}");
    for (number, crop) in crops.iter().enumerate() {
        let place = plan.place(number).unwrap().bytes;
        let part = place.start as usize..place.end as usize;
        let equal = found.output[part.clone()] == expected.output[part];
        assert!(equal, "{name}, {grid_bits} bits, {crop:?}");
        let one = Plan::new(&requests[number..=number], OUTPUT, limits()).work();
        let work = expected_work(&jpeg, &entry_points, *crop);
        assert_eq!(one, work, "{name}, {grid_bits} bits, {crop:?}");
    }
    let work = plan.work();
    assert_eq!(all.work().n_decoded_segments, work.n_segments);
    assert_eq!(all.work().n_transformed_blocks, work.n_blocks);
    sums.n_crops += crops.len();
    sums.work.n_segments += work.n_segments;
    sums.work.n_decoded_segments += work.n_decoded_segments;
    sums.work.n_blocks += work.n_blocks;
    sums.work.n_transformed_blocks += work.n_transformed_blocks;
    sums.unstuffed += found.states.iter().map(|state| u64::from(state.n_bytes)).sum::<u64>();
    sums.all_unstuffed += expected.states.iter().map(|it| u64::from(it.n_bytes)).sum::<u64>();
}

fn check_all(what: &str, images: &[Named], n_crops: usize) {
    let (mut random, mut sums) = (Random::new(11), Sums::default());
    for (number, (name, bytes)) in images.iter().enumerate() {
        let crops: Vec<_> = (0..n_crops).map(|_| any_crop(&mut random)).collect();
        check(name, bytes, GRIDS_BITS[number % 4], &crops, &mut sums);
    }
    sums.report(what);
}

#[test]
fn crops_of_small_images() {
    check_all("small images", &small(), 12);
}

#[test]
fn crops_of_photographs() {
    check_all("photographs", &photographs(2), 6);
}

/// Every sampling, with restarts in the middle of rows, so that segments between others are left
/// out.
#[test]
fn crops_of_any_sampling() {
    let (mut random, mut sums) = (Random::new(12), Sums::default());
    for (seed, sampling) in (1..).zip([
        &[(4, 1), (1, 1), (1, 1)][..],
        &[(1, 4), (1, 1), (1, 1)],
        &[(4, 2), (1, 1), (1, 1)],
        &[(1, 1), (2, 2), (1, 2)],
        &[(2, 2), (2, 1), (1, 2)],
        &[(4, 1), (2, 1), (1, 1)],
        &[(2, 2), (1, 1), (1, 1)],
        &[(1, 2), (1, 1), (1, 1)],
        &[(2, 2)],
    ]) {
        for (width, height) in [(3, 2), (40, 70), (150, 131)] {
            for restart_interval in [0, 1, 2, 5] {
                let recipe = synthetic::Recipe {
                    restart_interval,
                    seed,
                    ..synthetic::Recipe::new(width, height, sampling)
                };
                let (bytes, _) = synthetic::jpeg(&recipe);
                let crops: Vec<_> = (0..8).map(|_| any_crop(&mut random)).collect();
                check(&format!("{recipe:?}"), &bytes, 512, &crops, &mut sums);
            }
        }
    }
    sums.report("made up");
}

/// Decodes crops of each image, and returns their work.
fn cropped_for_training(images: &[Named]) -> Sums {
    let (mut random, mut sums) = (Random::new(13), Sums::default());
    for (name, bytes) in images {
        let Ok(jpeg) = parse(bytes) else { continue };
        let crops: Vec<_> =
            (0..4).map(|_| for_training(&mut random, jpeg.width, jpeg.height)).collect();
        check(name, bytes, 2048, &crops, &mut sums);
    }
    sums.report("crops for training");
    sums
}

#[test]
fn crops_of_all_sorts_for_training() {
    check_work(&cropped_for_training(&of_all_sorts()));
}

needs_shared! {
    fn crops_of_originals_for_training() {
        check_work(&cropped_for_training(&originals()));
    }
}

/// Checks that much of the work is saved.
fn check_work(sums: &Sums) {
    assert!(sums.work.n_decoded_segments * 10 < sums.work.n_segments * 9);
    assert!(sums.work.n_transformed_blocks * 3 < sums.work.n_blocks * 2);
}

/// Scans are read in tiles. A crop with its last bits just after a tile needs one tile more.
#[test]
fn scans_are_read_just_far_enough() {
    const TILE_BYTES: usize = 4096;
    let mut n_crops = 0;
    for (name, bytes) in photographs(2) {
        let jpeg = parse(&bytes).unwrap();
        if jpeg.restart_interval != 0 {
            continue;
        }
        let scan = &bytes[jpeg.scan.clone()];
        let n_stuffed = |end: usize| scan[..end].windows(2).filter(|it| *it == [0xFF, 0]).count();
        let tiles = (TILE_BYTES..scan.len()).step_by(TILE_BYTES);
        let kept: Vec<_> = tiles.map(|end| (end - n_stuffed(end)) as u32).collect();
        let entry_points = EntryPoints::build(&jpeg, &bytes, 512).unwrap();
        let (max_h, max_v) = jpeg.max_sampling();
        let (width, height) = (jpeg.width as f32, jpeg.height as f32);
        let mut crops = Vec::new();
        for mcu in 0..jpeg.mcus_x * jpeg.mcus_y {
            // A pixel in its middle needs no neighbour.
            let x = mcu % jpeg.mcus_x * 8 * max_h + 4 * max_h;
            let y = mcu / jpeg.mcus_x * 8 * max_v + 4 * max_v;
            let needed = region(&jpeg, &entry_points, y..y + 1, x..x + 1);
            let Some(last) = needed.segments.last() else { continue };
            let n_bytes = entry_points.segment_bits(*last as usize).end.div_ceil(8);
            if kept.iter().any(|kept| (1..=2).contains(&n_bytes.wrapping_sub(*kept))) {
                let (left, top) = ((x as f32 + 0.25) / width, (y as f32 + 0.25) / height);
                crops.push(Crop { left, top, width: 0.5 / width, height: 0.5 / height });
            }
        }
        if !crops.is_empty() {
            n_crops += crops.len();
            check(&name, &bytes, 512, &crops, &mut Sums::default());
        }
    }
    println!("{n_crops} crops end behind a tile");
    assert!(n_crops > 10);
}

/// Damage after the crop is ignored; damage within it is found.
#[test]
fn only_damage_that_matters_is_found() {
    let mut damaged = small().into_iter().find(|(name, _)| name.starts_with("100x75")).unwrap().1;
    let jpeg = parse(&damaged).unwrap();
    let entry_points = EntryPoints::build(&jpeg, &damaged, 512).unwrap().to_bytes();
    let end = jpeg.scan.end;
    damaged[end - 60..end - 40].fill(0x5A);
    let upper = Crop { height: 0.2, ..Crop::WHOLE };
    let lower = Crop { top: 0.8, height: 0.2, ..Crop::WHOLE };
    let image = Request::whole(&damaged, Some(&entry_points));
    let requests = [upper, lower, Crop::WHOLE].map(|crop| Request { crop, ..image });
    let plan = Plan::new(&requests, OUTPUT, limits());
    let statuses = plan.statuses(&decode(&plan, &requests).states);
    let [Status::Decoded, Status::Damaged(_), Status::Damaged(_)] = &statuses[..] else {
        panic!("{statuses:?}");
    };
    let plan = Plan::of_whole_images(&requests, OUTPUT, limits());
    let statuses = plan.statuses(&decode(&plan, &requests).states);
    assert!(statuses.iter().all(|status| matches!(status, Status::Damaged(_))), "{statuses:?}");
}
