//! Any bytes as a JPEG, and the rest of them as its entry points. The slow decoder must accept
//! everything that the fast walk accepts, and decoding from entry points must give the same.
#![no_main]
use fdconvert_jpeg::{
    EntryPoints, GRIDS_BITS, Jpeg, marker_segments, parse, reference, region, unstuff,
};
use libfuzzer_sys::fuzz_target;

/// Limits the time of the slow decoder.
const MAX_BLOCKS: u32 = 1 << 12;

fuzz_target!(|data: &[u8]| {
    let Some((&[grid, split], rest)) = data.split_first_chunk() else { return };
    let (stored, bytes) = rest.split_at(usize::from(split).min(rest.len()));
    let ends: Vec<_> = marker_segments(bytes).map(|segment| segment.end).collect();
    assert!(ends.is_sorted() && ends.iter().all(|end| *end <= bytes.len()));
    let Ok(jpeg) = parse(bytes) else { return };
    let grid_bits = GRIDS_BITS[usize::from(grid) % GRIDS_BITS.len()];
    if let Ok(made) = EntryPoints::build(&jpeg, bytes, grid_bits) {
        assert_eq!(EntryPoints::from_bytes(&made.to_bytes(), &jpeg).as_ref(), Ok(&made));
        if jpeg.n_blocks <= MAX_BLOCKS {
            let sequential = reference::coefficients(&jpeg, bytes).expect("walked, not decoded");
            let parallel = reference::coefficients_from(&jpeg, bytes, &made).expect("walked");
            assert!(sequential == parallel);
        }
        let whole = region(&jpeg, &made, 0..jpeg.height, 0..jpeg.width);
        assert_eq!(whole.segments.len(), made.segments().len());
    }
    if let Ok(read) = EntryPoints::from_bytes(stored, &jpeg) {
        explore(&jpeg, bytes, &read, grid.into());
    }
});

/// Explores accepted entry points, which may belong to another image.
fn explore(jpeg: &Jpeg, bytes: &[u8], read: &EntryPoints, at: u32) {
    let mut block = 0;
    for segment in read.segments() {
        assert_eq!(segment.block, block);
        assert!(segment.n_blocks > 0);
        block += segment.n_blocks;
    }
    assert_eq!(block, jpeg.n_blocks);
    assert_eq!(EntryPoints::from_bytes(&read.to_bytes(), jpeg).as_ref(), Ok(read));
    let part = region(jpeg, read, at..at + 20, at / 2..at);
    for number in 0..read.segments().len() {
        let anchor = read.anchor_before(number).expect("segment 0 is one");
        assert!(anchor.segment as usize <= number);
    }
    assert!(part.n_bits <= part.n_walked_bits);
    let Ok(data) = unstuff(jpeg, bytes) else { return };
    for segment in read.segments().iter().take(64) {
        drop(reference::segment(jpeg, &data, segment));
    }
}
