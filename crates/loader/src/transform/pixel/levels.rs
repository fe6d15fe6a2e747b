//! The levels that occur in an image, and those that changes of levels begin at.

use super::Pixel;

/// Returns the mask of the upper bits of a level.
pub(crate) fn upper_bits(n_bits: u32) -> u8 {
    (0xff00_u32 >> n_bits.min(8)) as u8
}

/// Returns the first whole level that is not below the threshold, which torch compares with levels
/// in single precision; 256 without one.
pub(crate) fn first_level(threshold: f64) -> u16 {
    (threshold as f32).ceil().clamp(0.0, 256.0) as u16
}

/// How often each level occurs in each channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) [[u32; 256]; 3]);

impl Counts {
    /// Counts the levels of an image. Keeps two counts per level, added at the end: neighbours are
    /// often alike, and a count that was just written cannot be read at once.
    pub(crate) fn of(image: &[Pixel]) -> Self {
        let mut counts = [[[0_u32; 256]; 3]; 2];
        let [even, odd] = &mut counts;
        let count = |counts: &mut [[u32; 256]; 3], pixel: &Pixel| {
            for (counts, &level) in counts.iter_mut().zip(pixel) {
                counts[usize::from(level)] += 1;
            }
        };
        let (pairs, rest) = image.as_chunks::<2>();
        for [first, second] in pairs {
            count(even, first);
            count(odd, second);
        }
        rest.iter().for_each(|pixel| count(even, pixel));
        let [mut even, odd] = counts;
        for (even, odd) in even.iter_mut().flatten().zip(odd.iter().flatten()) {
            *even += odd;
        }
        Self(even)
    }

    /// Returns the counts of the image that [`Curves`](super::Curves) make of this one, without
    /// looking at it again.
    pub(crate) fn after(&self, curves: &super::Curves) -> Self {
        let mut after = [[0; 256]; 3];
        for ((after, counts), curve) in after.iter_mut().zip(&self.0).zip(&curves.0) {
            for (&count, &level) in counts.iter().zip(curve) {
                after[usize::from(level)] += count;
            }
        }
        Self(after)
    }

    /// Returns the darkest and brightest level per channel; 255 and 0 without pixels.
    pub(crate) fn extremes(&self) -> ([u8; 3], [u8; 3]) {
        let occurs = |channel: usize| {
            let counts = self.0[channel].iter().zip(0..=255_u8);
            counts.filter(|(count, _)| **count > 0).map(|(_, level)| level)
        };
        let darkest = |channel| occurs(channel).min().unwrap_or(255);
        let brightest = |channel| occurs(channel).max().unwrap_or(0);
        (std::array::from_fn(darkest), std::array::from_fn(brightest))
    }
}
