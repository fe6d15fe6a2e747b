//! The sampler as defined, a point at a time: runs on every machine, and is the reference for the
//! vector code, which must match it bit for bit.
use super::key::Hash;
use super::points::{Bounds, LANES, Mapping, Step, next};
use super::table::Table;

/// Advances the lanes from the first step through all others and returns the bounds of the others.
pub(super) fn iterate(table: &Table, hash: Hash, steps: &mut [Step]) -> Bounds {
    let mut bounds = Bounds::ORIGIN;
    let mut steps = steps.iter_mut();
    let Some(mut before) = steps.next() else { return bounds };
    let mut counter = 0_u32;
    for step in steps {
        for lane in 0..LANES {
            let (x, y) = next(table, hash.at(counter), before.x[lane], before.y[lane]);
            (step.x[lane], step.y[lane]) = (x, y);
            bounds.add(x, y);
            counter = counter.wrapping_add(1);
        }
        before = step;
    }
    bounds
}

/// Writes `value(ordinal)` at the place of each point, in order; ordinals count from 1.
pub(super) fn plot<T>(
    steps: &[Step],
    mapping: &Mapping,
    canvas: &mut [T],
    value: impl Fn(u32) -> T,
) {
    let last = canvas.len().saturating_sub(1);
    let mut ordinal = 0;
    for step in steps {
        for (&x, &y) in step.x.iter().zip(&step.y) {
            ordinal += 1;
            let place = (mapping.place(x, y) as usize).min(last);
            if let Some(pixel) = canvas.get_mut(place) {
                *pixel = value(ordinal);
            }
        }
    }
}

/// Turns bytes that are 0 or 1 into bits, the first byte in the lowest bit.
pub(super) fn pack(bytes: &[u8], words: &mut [u64]) {
    // Moves bit 8 i of a number to bit 56 + i; no two of the products meet below that.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<64>().0) {
        let eights = bytes.as_chunks::<8>().0.iter();
        *word = eights.rev().fold(0, |word, &eight| {
            word << 8 | u64::from_le_bytes(eight).wrapping_mul(GATHER) >> 56
        });
    }
}
