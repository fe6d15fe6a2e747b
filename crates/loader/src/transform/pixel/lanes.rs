//! Sixteen pixels at a time, each in 32 bits, which is the form in which their channels can be
//! computed side by side: compilers turn the loops over a block into vector instructions, while
//! those over pixels of three bytes stay scalar.

use super::Pixel;

/// Pixels per block.
pub(super) const N_LANES: usize = 16;

/// Red in the low byte, green and blue above it, and 0.
pub(super) type Lanes = [u32; N_LANES];

/// Replaces the pixels of an image, block by block.
#[inline(always)]
pub(super) fn map(image: &mut [Pixel], change: impl Fn(&mut Lanes)) {
    let (blocks, rest) = image.as_flattened_mut().as_chunks_mut::<{ 3 * N_LANES }>();
    for block in blocks {
        let mut lanes = unpack(block);
        change(&mut lanes);
        pack(&lanes, block);
    }
    if !rest.is_empty() {
        let mut block = [0; 3 * N_LANES];
        block[..rest.len()].copy_from_slice(rest);
        let mut lanes = unpack(&block);
        change(&mut lanes);
        pack(&lanes, &mut block);
        rest.copy_from_slice(&block[..rest.len()]);
    }
}

/// Looks at the pixels of an image, block by block. The last block ends with black.
#[inline(always)]
pub(super) fn each(image: &[Pixel], mut look: impl FnMut(&Lanes)) {
    let (blocks, rest) = image.as_flattened().as_chunks::<{ 3 * N_LANES }>();
    blocks.iter().for_each(|block| look(&unpack(block)));
    if !rest.is_empty() {
        let mut block = [0; 3 * N_LANES];
        block[..rest.len()].copy_from_slice(rest);
        look(&unpack(&block));
    }
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

/// Cuts off the fraction of a number from 0 to 2^22: `as u32`, in operations that compilers turn into
/// vector instructions. From 2^23 on, floats are whole numbers, so that the sum is rounded and its
/// low bits are the number. If it was rounded up, one is subtracted again.
#[inline(always)]
pub(super) fn whole(number: f32) -> u32 {
    const WHOLE: f32 = 8_388_608.0;
    let sum = number + WHOLE;
    (sum.to_bits() - WHOLE.to_bits()).wrapping_sub(u32::from(sum - WHOLE > number))
}

/// Returns the nearer end of a range for a number outside it.
#[inline(always)]
pub(super) fn limit(number: f32, low: f32, high: f32) -> f32 {
    // `clamp` would also take care of what is not a number.
    let number = if number > low { number } else { low };
    if number < high { number } else { high }
}

#[inline(always)]
fn unpack(block: &[u8; 3 * N_LANES]) -> Lanes {
    std::array::from_fn(|index| {
        // Four bytes of which three count; the last pixel ends its four.
        let start = (3 * index).min(3 * N_LANES - 4);
        let bytes = [block[start], block[start + 1], block[start + 2], block[start + 3]];
        u32::from_le_bytes(bytes) >> (8 * (3 * index - start)) & 0x00ff_ffff
    })
}

#[inline(always)]
fn pack(lanes: &Lanes, block: &mut [u8; 3 * N_LANES]) {
    let (quads, _) = lanes.as_chunks::<4>();
    let (to, _) = block.as_chunks_mut::<12>();
    for (&[a, b, c, d], to) in quads.iter().zip(to) {
        let words = [a | b << 24, b >> 8 | c << 16, c >> 16 | d << 8];
        let (to, _) = to.as_chunks_mut::<4>();
        to.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
    }
}
