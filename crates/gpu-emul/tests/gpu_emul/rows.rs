//! 8-bit images: changed, drawn, and written. `crates/loader/tests/device_rows.rs` shows that the
//! pixels are those of the loader's augmentations and of `crates/fractal`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use crate::{
    common::{photographs, small},
    host::{LIMITS, Set, check, open},
};
use fdconvert_core::LanesImage;
use fdconvert_fractal::{Bitmap, Frame, Key, LanesSampler, LanesScratch, LanesSystem, System};
use fdconvert_gpu::{
    Change, Decoder, Fallback, Order, Output, Plan, Request, SampleType, Source, Status, Tensor,
    Warp,
};
use fdconvert_gpu_emul::{FakeDriver, decode};
use std::array;

const LEVELS: Tensor = Tensor {
    width: 24,
    height: 20,
    sample_type: SampleType::U8,
    order: Order::Nhwc,
    mean: [0.0; 3],
    deviation: [1.0; 3],
};

const FLOATS: Tensor = Tensor {
    sample_type: SampleType::F32,
    order: Order::Nchw,
    mean: [0.485, 0.456, 0.406],
    deviation: [0.229, 0.224, 0.225],
    ..LEVELS
};

/// Every change, and several in a row that read other pixels.
fn changes() -> Vec<Vec<Change>> {
    let warp = |x: i64, step: i32| {
        let (start, right) = ([x << 16, 1 << 15], [step, 300]);
        Change::Warp(Warp { start, right, down: [-700, 1 << 16] })
    };
    vec![
        vec![],
        vec![warp(0, 1 << 16)],
        vec![warp(-5, 70_000), Change::Sharpness(1.9), warp(30, -50_000)],
        vec![Change::Sharpness(0.1), Change::Color(0.3)],
        vec![Change::Brightness(1.7), Change::Equalize],
        vec![Change::Contrast(0.2), Change::AutoContrast],
        vec![Change::Posterize(0xE0), Change::Solarize(100), Change::Invert],
        vec![Change::Equalize, Change::Contrast(1.8), Change::Sharpness(1.2)],
        vec![Change::Solarize(256), Change::Brightness(f32::NAN), Change::Invert],
    ]
}

fn system() -> LanesSystem {
    let maps = vec![[0.5, 0.1, -0.2, 0.5, 0.3, 0.1], [0.4, 0.0, 0.1, -0.6, -0.5, 0.7]];
    let system = LanesSystem::new(&System::new(maps, vec![0.4, 0.6]).unwrap());
    assert!(!system.exact_orbit());
    system
}

fn key(instance: u32) -> Key {
    Key { seed: 1, class: 2, instance }
}

/// Returns the pixels that the points of a picture cover, drawn by the CPU.
fn covered(instance: u32) -> Bitmap {
    let frame = Frame::new(32, 4, 400).unwrap();
    let mut bitmap = frame.bitmap();
    let mut scratch = LanesScratch::default();
    LanesSampler::new(frame).coverage(&system(), key(instance), &mut scratch, &mut bitmap);
    bitmap
}

fn picture(instance: u32) -> LanesImage {
    LanesImage {
        parameters: *system().parameters(),
        words: *system().words(),
        key: key(instance).words(),
        side: 32,
        pad: 4,
        points: 400,
        patches: instance % 3 == 1,
        least: 0,
        mirror: instance & 1 != 0,
        turn: instance & 2 != 0,
        level: 127,
    }
}

/// Threads of a block run forwards in one program and backwards in the other.
#[test]
fn the_order_of_threads_changes_nothing() {
    let fake = FakeDriver::take().unwrap();
    let (set, changes) = (Set::new(small().into_iter().take(40)), changes());
    let pictures: [_; 9] = array::from_fn(|instance| picture(instance as u32));
    let mut requests = set.requests();
    requests.extend(pictures.iter().map(|it| Request::drawn(it, (3, 9))));
    // Drawings of other canvases in between.
    let larger = LanesImage { side: 40, points: 900, ..picture(4) };
    requests.insert(7, Request::drawn(&larger, (16, 20)));
    for (request, changes) in requests.iter_mut().zip(changes.iter().cycle()) {
        request.changes = changes;
    }
    requests.push(Request::whole(b"no JPEG", None));
    {
        let mut decoder = Decoder::new(&open().unwrap(), LIMITS).unwrap();
        for tensor in [LEVELS, FLOATS, Tensor { sample_type: SampleType::Bf16, ..FLOATS }] {
            for output in [Output::Changed(tensor), Output::Tensor(tensor)] {
                let batch = decoder.decode(&requests, output).unwrap();
                let n_decoded = batch.statuses().iter().filter(|it| **it == Status::Decoded);
                assert_eq!(n_decoded.count(), requests.len() - 1);
                assert!(check(&batch, &requests, output) > 0);
            }
        }
    }
    assert!(fake.counters().is_clean(), "{:?}", fake.counters());
}

/// Without changes, 8-bit rows equal a tensor of bytes, also when mirrored.
#[test]
fn without_changes_levels_stay_what_they_are() {
    let set = Set::new(small().into_iter().take(20));
    let requests = set.requests();
    let made = |output| decode(&Plan::new(&requests, output, LIMITS), &requests).output;
    for order in [Order::Nhwc, Order::Nchw] {
        let tensor = Tensor { order, ..LEVELS };
        assert!(made(Output::Changed(tensor)) == made(Output::Tensor(tensor)));
    }
    let levels = made(Output::Tensor(Tensor { order: Order::Nchw, ..LEVELS }));
    let floats = made(Output::Changed(FLOATS));
    let (plane, n_channels) = ((LEVELS.width * LEVELS.height) as usize, 3);
    for (at, (level, value)) in levels.iter().zip(floats.as_chunks::<4>().0).enumerate() {
        let channel = at / plane % n_channels;
        let (mean, deviation) = (FLOATS.mean[channel], FLOATS.deviation[channel]);
        let expected = (f32::from(*level) / 255.0 - mean) / deviation;
        assert_eq!(f32::from_ne_bytes(*value).to_bits(), expected.to_bits(), "{at}");
    }
}

/// Damaged images and refused ones are black before changes, and affect no other image.
#[test]
fn what_is_not_decoded_is_black() {
    let set = Set::new(photographs(1).into_iter().take(4));
    let good = set.requests();
    let mut bytes = match good[1].image {
        Source::Bytes { bytes, .. } => bytes.to_vec(),
        _ => panic!("they travel"),
    };
    let middle = bytes.len() * 2 / 3;
    bytes[middle..middle + 3].fill(0x55);
    let mut bad = good.clone();
    if let Source::Bytes { entry_points, .. } = good[1].image {
        bad[1].image = Source::Bytes { bytes: &bytes, entry_points };
    }
    bad[2].image = Source::Bytes { bytes: b"no JPEG", entry_points: None };
    let invert = [Change::Invert];
    let image_bytes = (LEVELS.width * LEVELS.height * 3) as usize;
    for (changes, level) in [(&invert[..], 255), (&[][..], 0)] {
        let made = |requests: &[Request<'_>]| {
            let mut requests = requests.to_vec();
            requests.iter_mut().for_each(|it| it.changes = changes);
            let plan = Plan::new(&requests, Output::Changed(LEVELS), LIMITS);
            let decoded = decode(&plan, &requests);
            (plan.statuses(&decoded.states), decoded.output)
        };
        let ((_, good), (statuses, bad)) = (made(&good), made(&bad));
        assert!(matches!(statuses[1], Status::Damaged(_)), "{statuses:?}");
        assert!(matches!(statuses[2], Status::Fallback(_)), "{statuses:?}");
        let images = good.chunks_exact(image_bytes).zip(bad.chunks_exact(image_bytes));
        for (number, (good, bad)) in images.enumerate() {
            if statuses[number] == Status::Decoded {
                assert!(good == bad, "{number}");
            } else {
                assert!(bad.iter().all(|it| *it == level), "{number}");
            }
        }
    }
}

/// A drawing shows the requested corner of the image, turned as requested.
#[test]
fn drawings_show_their_part() {
    let pictures: Vec<_> = (0..4).map(|n| LanesImage { patches: false, ..picture(n) }).collect();
    let requests: Vec<_> = pictures.iter().map(|it| Request::drawn(it, (5, 7))).collect();
    let plan = Plan::new(&requests, Output::Tensor(LEVELS), LIMITS);
    let decoded = decode(&plan, &requests);
    let images = decoded.output.chunks_exact((LEVELS.width * LEVELS.height * 3) as usize);
    let mut n_lit = 0;
    for ((picture, pixels), instance) in pictures.iter().zip(images).zip(0..) {
        let bitmap = covered(instance);
        for (number, pixel) in (0..).zip(pixels.as_chunks::<3>().0) {
            let (x, y) = (number % LEVELS.width + 5, number / LEVELS.width + 7);
            let column = if picture.mirror { 31 - x } else { x };
            let row = if picture.turn { 31 - y } else { y };
            let level = if bitmap.get(column, row) { 127 } else { 0 };
            assert_eq!(*pixel, [level; 3], "{instance}: {x} {y}");
            n_lit += u32::from(level > 0);
        }
    }
    assert!(n_lit > 100, "{n_lit}");
}

#[test]
fn drawings_that_cannot_be_are_left() {
    let good = picture(0);
    let small = LanesImage { side: 23, ..good };
    let few = LanesImage { points: 127, ..good };
    let tight = LanesImage { pad: 3, ..good };
    let n_covered = covered(0).count() as u32;
    let enough = LanesImage { least: n_covered, ..good };
    let empty = LanesImage { least: n_covered + 1, ..good };
    // Contracts on average, but throws points beyond single precision.
    let maps = vec![[1e30, 0.0, 0.0, 1e30, 1.0, 1.0], [1e-35, 0.0, 0.0, 1e-35, 0.5, 0.25]];
    let system = LanesSystem::new(&System::new(maps, vec![0.5, 0.5]).unwrap());
    let (parameters, words) = (*system.parameters(), *system.words());
    let infinite = LanesImage { parameters, words, ..good };
    let statuses = |requests: &[Request<'_>], output| {
        let plan = Plan::new(requests, output, LIMITS);
        let decoded = decode(&plan, requests);
        (plan.statuses(&decoded.states), decoded.output)
    };
    let left = |reason| Status::Fallback(reason);
    for (image, corner, expected) in [
        (&good, (0, 0), Status::Decoded),
        (&good, (8, 12), Status::Decoded),
        (&good, (9, 12), left(Fallback::Canvas)),
        (&good, (8, 13), left(Fallback::Canvas)),
        (&good, (u32::MAX, 0), left(Fallback::Canvas)),
        (&small, (0, 0), left(Fallback::Canvas)),
        (&few, (0, 0), left(Fallback::Canvas)),
        (&tight, (0, 0), left(Fallback::Canvas)),
        (&enough, (0, 0), Status::Decoded),
        (&empty, (0, 0), left(Fallback::Empty)),
        (&infinite, (0, 0), left(Fallback::Orbit)),
    ] {
        for output in [Output::Tensor(LEVELS), Output::Changed(LEVELS)] {
            let requests = [Request::drawn(image, corner), Request::drawn(&good, (0, 0))];
            let (found, pixels) = statuses(&requests, output);
            assert_eq!(found, [expected.clone(), Status::Decoded], "{corner:?}");
            let (first, second) = pixels.split_at(pixels.len() / 2);
            assert!(second.contains(&127));
            let is_black = first.iter().all(|level| *level == 0);
            assert_eq!(is_black, expected != Status::Decoded, "{corner:?}");
        }
        let (found, pixels) = statuses(&[Request::drawn(image, corner)], Output::Native);
        assert_eq!((found, pixels), (vec![left(Fallback::Canvas)], vec![]));
    }
}
