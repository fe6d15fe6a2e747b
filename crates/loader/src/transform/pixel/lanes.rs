//! A block of pixels at a time, each in a lane of 32 bits, the form in which their channels can be
//! computed side by side: compilers turn the loops over a block into vector instructions, while
//! those over pixels of three bytes stay scalar.

use super::Pixel;
use std::hint::select_unpredictable as select;

/// Pixels per block.
const N_LANES: usize = 64;

const N_BYTES: usize = 3 * N_LANES;

type Lanes = [u32; N_LANES];

/// Replaces the pixels of an image, each as red in the low byte, green and blue above it, and 0.
#[inline(always)]
pub(super) fn map(image: &mut [Pixel], change: impl Fn(u32) -> u32) {
    for bytes in image.as_flattened_mut().chunks_mut(N_BYTES) {
        let mut lanes = unpack(bytes);
        // A single call, which is compiled into the loop.
        lanes.iter_mut().for_each(|lane| *lane = change(*lane));
        match bytes.first_chunk_mut() {
            Some(block) => pack(&lanes, block),
            None => {
                let mut block = [0; N_BYTES];
                pack(&lanes, &mut block);
                bytes.copy_from_slice(&block[..bytes.len()]);
            }
        }
    }
}

/// Adds up a number of each pixel. Black ones count 0.
#[inline(always)]
pub(super) fn sum(image: &[Pixel], number: impl Fn(u32) -> u32) -> u64 {
    let blocks = image.as_flattened().chunks(N_BYTES);
    blocks.map(|bytes| u64::from(unpack(bytes).iter().map(|&it| number(it)).sum::<u32>())).sum()
}

/// Returns a channel of a lane.
#[inline(always)]
pub(super) fn channel(lane: u32, number: u32) -> f32 {
    // Signed numbers have an instruction for this.
    ((lane >> (8 * number)) & 255) as i32 as f32
}

/// Returns a lane of three levels below 256.
#[inline(always)]
pub(super) fn lane([red, green, blue]: [u32; 3]) -> u32 {
    red | green << 8 | blue << 16
}

/// Cuts off the fraction of a number from 0 to 2^22: `as u32`, in operations that compilers turn
/// into vector instructions. From 2^23 on, floats are whole numbers, so that the sum is rounded and
/// its low bits are the number. If it was rounded up, one is subtracted again.
#[inline(always)]
pub(super) fn whole(number: f32) -> u32 {
    const WHOLE: f32 = 8_388_608.0;
    let sum = number + WHOLE;
    (sum.to_bits() - WHOLE.to_bits()).wrapping_sub(u32::from(sum - WHOLE > number))
}

/// Returns the nearest whole number, and of halves the even one, of a number up to 2^22 in size:
/// floats of the size of the sum are whole numbers, so that it is rounded and its low bits are the
/// number.
#[inline(always)]
pub(super) fn nearest(number: f32) -> i32 {
    const WHOLE: f32 = 12_582_912.0;
    ((number + WHOLE).to_bits() as i32).wrapping_sub(WHOLE.to_bits() as i32)
}

/// Rounds a number up to 2^22 in size down.
#[inline(always)]
pub(super) fn floor(number: f32) -> f32 {
    const WHOLE: f32 = 12_582_912.0;
    let rounded = number + WHOLE - WHOLE;
    rounded - select(rounded > number, 1.0, 0.0)
}

#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Returns the nearer end of a range for a number outside it.
#[inline(always)]
pub(super) fn limit(number: f32, low: f32, high: f32) -> f32 {
    number.max(low).min(high)
}

/// Returns the pixels of a block, and black ones if it is shorter.
#[inline(always)]
fn unpack(bytes: &[u8]) -> Lanes {
    let mut copy = [0; N_BYTES];
    let block = bytes.first_chunk().unwrap_or_else(|| {
        copy[..bytes.len()].copy_from_slice(bytes);
        &copy
    });
    std::array::from_fn(|index| {
        // Four bytes of which three count; the last pixel ends its four.
        let start = (3 * index).min(N_BYTES - 4);
        let bytes = [block[start], block[start + 1], block[start + 2], block[start + 3]];
        (u32::from_le_bytes(bytes) >> (8 * (3 * index - start))) & 0x00ff_ffff
    })
}

#[inline(always)]
fn pack(lanes: &Lanes, block: &mut [u8; N_BYTES]) {
    let (quads, _) = lanes.as_chunks::<4>();
    let (to, _) = block.as_chunks_mut::<12>();
    for (&[a, b, c, d], to) in quads.iter().zip(to) {
        let words = [a | b << 24, b >> 8 | c << 16, c >> 16 | d << 8];
        let (to, _) = to.as_chunks_mut::<4>();
        to.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{floor, nearest, whole};

    #[test]
    fn numbers_are_rounded_like_by_the_library() {
        for at in 0..200_000 {
            let number = at as f32 * 0.031_25 - 1000.0;
            for number in [number, number.next_up(), number.next_down()] {
                assert_eq!(floor(number), number.floor(), "{number}");
                assert_eq!(nearest(number), number.round_ties_even() as i32, "{number}");
                let positive = number.abs();
                assert_eq!(whole(positive), positive as u32, "{positive}");
            }
        }
    }
}
