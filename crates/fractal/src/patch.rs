//! The draw "patch_gray", for all points at once.
//!
//! The original pastes a 3x3 block of random pixels for every point, with its corner one pixel
//! right of and above the point, and each paste overwrites the pixels below it, black as well as
//! gray. So of all the blocks that cover a pixel only the last one shows, and it shows one random
//! bit there. The bits of a block are independent of each other and of other blocks: the picture
//! has the distribution of *the pixels that any block covers, each lit by the toss of a separate
//! coin*. No order of points, no blocks: three shifts, three rows and a hash.
//!
//! The difference: the original draws a block as a number from 1 to 511, so never an empty one. Its
//! coin is lit with probability 256/511 instead of 1/2, a fifth of a percent more, and the nine
//! pixels of a block are not quite independent: they are never all black, as independent ones would
//! be with probability 1/512. Neither is visible in pictures, nor measurable in fewer than some
//! hundreds of them.
use crate::bitmap::{Bitmap, WORD};
use crate::lanes::{Hash, Loop, vectorized};

/// Fair coins, one per pixel: the same words give the same tosses.
#[derive(Debug, Clone, Copy)]
pub struct Coin(Hash);

impl Coin {
    /// Creates the coins of any pair of words, such as those of a [`Key`](crate::Key). They are
    /// independent of the key's choice of maps.
    ///
    /// The words, the first in the low half of 64 bits, plus `0x9e3779b97f4a7c15`, go through the
    /// same mixture as a key, and give the two words of the hash.
    #[must_use]
    pub fn new(words: (u32, u32)) -> Self {
        Self(Hash::of_any(words))
    }

    /// Returns the tosses for word `index` of a bitmap, where rows start at a word: number `2
    /// index` of the hash, in the low half, and `2 index + 1`.
    #[inline(always)]
    fn word(self, index: u32) -> u64 {
        let (low, high) = (index.wrapping_mul(2), index.wrapping_mul(2).wrapping_add(1));
        u64::from(self.0.at(high)) << 32 | u64::from(self.0.at(low))
    }
}

/// Buffers of [`patch`], reused for the next image.
#[derive(Debug, Clone, Default)]
pub struct PatchScratch {
    smeared: Vec<u64>,
}

/// Rows and columns that a patch reaches beyond its point.
const REACH: usize = 3;

/// Draws a patch for every pixel of `coverage` into `out`, which gets the same size: the pixels one
/// to three to the right of and above a set one, each if its coin is. Patches are cut off at the
/// border.
pub fn patch(coverage: &Bitmap, coin: Coin, out: &mut Bitmap, scratch: &mut PatchScratch) {
    out.reshape(coverage.width(), coverage.height());
    let row_words = coverage.row_words();
    if coverage.words().is_empty() {
        return;
    }
    let smeared = &mut scratch.smeared;
    smeared.resize(coverage.words().len() + REACH * row_words, 0);
    let coverage = coverage.words();
    vectorized(Patch { coverage, row_words, coin, smeared, out: out.words_mut() });
    out.clear_spare();
}

/// Returns the bitmap of all tosses: [`patch`] of a picture that is covered everywhere.
#[must_use]
pub fn coin_bitmap(coin: Coin, width: u32, height: u32) -> Bitmap {
    let mut tosses = Bitmap::new(width, height);
    for (index, word) in tosses.words_mut().iter_mut().enumerate() {
        *word = coin.word(index as u32);
    }
    tosses.clear_spare();
    tosses
}

struct Patch<'a> {
    coverage: &'a [u64],
    row_words: usize,
    coin: Coin,
    /// The coverage smeared to the right, below three empty rows.
    smeared: &'a mut [u64],
    out: &'a mut [u64],
}

impl Loop for Patch<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { coverage, row_words, coin, smeared, out } = self;
        let (below, rows) = smeared.split_at_mut(REACH * row_words);
        below.fill(0);
        // All rows as one, for long vectorised loops. Bits that run over from the end of one row
        // into the next are fixed afterwards.
        for ((smeared, word), before) in rows.iter_mut().skip(1).zip(&coverage[1..]).zip(coverage) {
            *smeared =
                smear(*word) | before >> (WORD - 1) | before >> (WORD - 2) | before >> (WORD - 3);
        }
        for (smeared, word) in rows.iter_mut().zip(coverage).step_by(row_words) {
            *smeared = smear(*word);
        }
        let (second, third) = (&smeared[row_words..], &smeared[2 * row_words..]);
        let words = out.iter_mut().zip(smeared.iter()).zip(second).zip(third);
        for (index, (((out, first), second), third)) in words.enumerate() {
            *out = (first | second | third) & coin.word(index as u32);
        }
    }
}

/// Smears a word one to three pixels to the right.
#[inline(always)]
fn smear(word: u64) -> u64 {
    word << 1 | word << 2 | word << 3
}

const _: () = assert!(REACH == 3, "the shifts above are written out");

#[cfg(test)]
mod tests {
    use super::*;
    use fdconvert_testkit::fixtures::Random;
    use proptest::prelude::*;

    fn random(width: u32, height: u32, seed: u64) -> Bitmap {
        let mut random = Random::new(seed);
        let mut bitmap = Bitmap::new(width, height);
        for y in 0..height {
            for x in 0..width {
                if random.below(9) == 0 {
                    bitmap.set(x, y);
                }
            }
        }
        bitmap
    }

    proptest! {
        #[test]
        fn as_point_by_point(width in 0_u32..200, height in 0_u32..20, seed: u64) {
            let coverage = random(width, height, seed);
            let coin = Coin::new((seed as u32, 7));
            let tosses = coin_bitmap(coin, width, height);
            let mut expected = Bitmap::new(width, height);
            for y in 0..height {
                for x in 0..width {
                    let offsets = (1..=3).flat_map(|dy| (1..=3).map(move |dx| (dx, dy)));
                    offsets
                        .filter(|(dx, dy)| coverage.get(x, y) && tosses.get(x + dx, y + dy))
                        .for_each(|(dx, dy)| expected.set(x + dx, y + dy));
                }
            }
            let mut out = random(3, 70, 1);
            let mut scratch = PatchScratch { smeared: vec![u64::MAX; 99] };
            patch(&coverage, coin, &mut out, &mut scratch);
            prop_assert_eq!(&out, &expected);
        }
    }

    #[test]
    fn coins_are_fair_and_their_neighbours_independent() {
        let size = 512;
        let tosses = coin_bitmap(Coin::new((1, 2)), size, size);
        let other = coin_bitmap(Coin::new((1, 3)), size, size);
        let n = f64::from(size * size);
        let fair = |count: u64| (count as f64 - n / 2.0).abs() < 4.0 * (n / 4.0).sqrt();
        assert!(fair(tosses.count()));
        let alike = |f: &dyn Fn(u32, u32) -> bool| {
            let places = (0..size).flat_map(|y| (0..size).map(move |x| (x, y)));
            places.filter(|&(x, y)| tosses.get(x, y) == f(x, y)).count() as u64
        };
        assert!(fair(alike(&|x, y| tosses.get((x + 1) % size, y))));
        assert!(fair(alike(&|x, y| tosses.get(x, (y + 1) % size))));
        assert!(fair(alike(&|x, y| other.get(x, y))));
    }
}
