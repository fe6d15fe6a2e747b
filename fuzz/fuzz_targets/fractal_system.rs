//! Any numbers as an iterated function system: no sampler panics or writes outside the canvas, and
//! all vector instructions draw the same. The input is sizes, then maps as bytes of doubles.
#![no_main]
use fdconvert_fractal::{
    Coin, Draw, ExactLevel, ExactSampler, ExactScratch, Flip, Frame, Key, LanesLevel, LanesSampler,
    LanesScratch, LanesSystem, MersenneTwister, NO_WEIGHTS, PatchScratch, System, coin_bitmap,
    patch, weights,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&[size, points, rest_points, row, n_maps, ..], data)) = data.split_first_chunk::<8>()
    else {
        return;
    };
    let points = 128 + u32::from(points) * 8 + u32::from(rest_points) % 64;
    let Ok(frame) = Frame::new(9 + u32::from(size) % 120, 4, points) else { return };
    let mut numbers = data.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes));
    let (mut maps, mut probabilities) = (Vec::new(), Vec::new());
    for _ in 0..1 + n_maps % 8 {
        let mut map = [0.5; 6];
        map.iter_mut().zip(&mut numbers).for_each(|(value, number)| *value = number);
        maps.push(map);
        probabilities.push(numbers.next().unwrap_or(0.3));
    }
    let Ok(system) = System::new(maps, probabilities) else { return };
    let rows = [NO_WEIGHTS, weights(0.4)[usize::from(row) % 25]];

    let mut expected = None;
    for level in ExactLevel::available() {
        let sampler = ExactSampler::new(frame).with_level(level);
        let mut bitmaps = Vec::new();
        sampler.coverage(&system, &rows, &mut bitmaps, &mut ExactScratch::default());
        let expected = expected.get_or_insert_with(|| bitmaps.clone());
        assert_eq!(*expected, bitmaps);
    }
    let exact = ExactSampler::new(frame);
    for draw in Draw::ALL {
        exact.render(&system, draw, &mut MersenneTwister::python(7));
    }

    let prepared = LanesSystem::new(&system);
    let key = Key { seed: 1, class: u32::from(row), instance: u32::from(size) };
    let mut expected = None;
    for level in LanesLevel::available() {
        let sampler = LanesSampler::new(frame).with_level(level);
        let (mut scratch, mut bitmap) = (LanesScratch::default(), frame.bitmap());
        sampler.coverage(&prepared, key, &mut scratch, &mut bitmap);
        let owners = sampler.owners(&prepared, key, &mut scratch);
        assert_eq!(owners.coverage(), bitmap);
        let expected = expected.get_or_insert_with(|| bitmap.clone());
        assert_eq!(*expected, bitmap);
    }
    let Some(points) = expected else { return };
    let coin = Coin::new(key.words());
    let mut patches = frame.bitmap();
    patch(&points, coin, &mut patches, &mut PatchScratch::default());
    let coins = coin_bitmap(coin, frame.size(), frame.size());
    exact.owners(&system).patch_color(&coins, Flip::Flip2);
    assert!(patches.count() <= coins.count());
});
